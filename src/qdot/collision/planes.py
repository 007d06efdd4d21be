"""The half space z ≤ 0 of a plane with other shapes: the points that reach deepest below it.

With the plane's normal n and a point s of the shape's surface, the distance is n·(s - o), and the position lies half of
it below s. A round shape has one lowest point, a capsule one at each end, a box four corners. A cylinder has up to
four, those of MuJoCo 4: the lowest of each rim, and two more of the lower rim, a third of a turn away to both sides. A
hull has up to four, of its corners below the margin: the lowest, the one farthest from it, and the ones farthest to
both sides of these two; beside the lowest, those corners are asked that are lowest on planes a little aslant, to all
sides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin, sqrt as root

from qdot.algebra import Scalar, Scalars, Vec3, absolute, each, sqrt, where, where_needed
from qdot.collision.hulls import Hulls
from qdot.collision.support import chosen
from qdot.collision.touch import FAR, NOT_TOLD, Touch
from qdot.collision.vectors import TINY, axis, either
from qdot.spatial import Transform

CORNERS = 4
"""How many touches a hull has at most."""
_APART = 0.1
"""Corners of a hull that are nearer to each other than this, relative to its radius, are not two touches."""
_ASLANT = [[slope * cos(k * pi / 4), slope * sin(k * pi / 4)] for slope in (0.02, 0.3) for k in range(8)]
"""Slopes of planes on which a hull has other lowest corners: of a face that lies flat, or nearly, and of one that is
pressed in askew."""


def plane_sphere(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """The lowest point of the ball."""
    n = axis(X_a, 2)
    return [below(X_a, X_b.position - n * b[0])]


def plane_capsule(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """The lowest points of the balls at both ends; friction is measured along the axis and across it."""
    lowest, z = X_b.position - axis(X_a, 2) * b[0], axis(X_b, 2)
    return [below(X_a, lowest + z * b[1], z), below(X_a, lowest - z * b[1], z)]


def plane_ellipsoid(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """s = c - R A² Rᵀn / |A Rᵀn|, where A has the semi-axes on its diagonal."""
    across = X_b.rotation.T @ axis(X_a, 2)
    stretched = Vec3(*(x * half for x, half in zip(across, b, strict=True)))
    scale = 1 / stretched.norm()
    lowest = Vec3(*(x * half * scale for x, half in zip(stretched, b, strict=True)))
    return [below(X_a, X_b @ -lowest)]


def plane_cylinder(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """The lowest point of each rim, and two beside it on the lower one."""
    radius, height = b
    n, z = axis(X_a, 2), axis(X_b, 2)
    rise = n.dot(z)
    down = z * where(rise > 0, -height, height)
    slope = z * rise - n  # what of -n lies in the lids
    square = slope.dot(slope)
    tilted = square >= TINY * TINY
    out = either(tilted, slope * (radius / sqrt(where(tilted, square, 1.0))), axis(X_b, 0) * radius)
    beside = z.cross(out) * (root(3) / 2)
    c = X_b.position
    points = (c + down + out, c - down + out, c + down - out * 0.5 + beside, c + down - out * 0.5 - beside)
    return [below(X_a, point) for point in points]


def plane_box(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """Of each two corners across the box, the lower one."""
    n = axis(X_a, 2)
    x, y, z = (axis(X_b, k) * half for k, half in enumerate(b))
    diagonals = (x + y + z, y + z - x, x + z - y, z - x - y)
    return [below(X_a, X_b.position + d * where(n.dot(d) > 0, -1.0, 1.0)) for d in diagonals]


def plane_hull(hulls: Hulls) -> Callable[[Scalars, Transform, Scalars, Transform, Scalar], list[Touch]]:
    """The narrow phase of a plane and any of these hulls."""

    def narrow(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
        n = X_b.rotation.T @ axis(X_a, 2)
        limit = margin - axis(X_a, 2).dot(X_b.position - X_a.position)
        support = hulls.convex(b).support
        lowest = support(-n)
        others = where_needed(
            n.dot(lowest) < limit,
            (n, lowest, limit),
            lambda given: _others(support, _APART * b[-1], *given),
            [(0.0, lowest)] * (CORNERS - 1),
        )
        touches = [below(X_a, X_b @ lowest)]
        for is_there, corner in others:
            touch = below(X_a, X_b @ corner)
            touches.append(Touch(where(is_there > 0.5, touch.distance, FAR), touch.position, touch.normal))
        return touches

    return narrow


def _others(
    support: Callable[[Vec3], Vec3], apart: Scalar, n: Vec3, lowest: Vec3, limit: Scalar
) -> list[tuple[Scalar, Vec3]]:
    """Of corners of a hull below a plane with this normal that lie beside the lowest: the farthest, and those farthest
    to both sides of it; each after 1 where it is far enough from the lowest, else 0."""
    x, y = _across(n)
    beside = [Vec3(*row) for row in each(_ASLANT, lambda row: list(support(x * row[0] + y * row[1] - n)))]

    def rated(rate: Callable[[Vec3], Scalar]) -> tuple[Scalar, Vec3]:
        best: tuple[Scalar, Vec3] = (0.0, lowest)
        for corner in beside:
            rated = where(n.dot(corner) < limit, rate(corner - lowest), 0.0)
            better = rated > best[0]
            best = where(better, rated, best[0]), chosen(better, corner, best[1])
        return best

    square, farthest = rated(lambda v: v.dot(v))
    aside = n.cross(farthest - lowest)
    sides = rated(lambda v: aside.dot(v)), rated(lambda v: -aside.dot(v))
    wide = apart * aside.norm()
    found = [(square > apart * apart, farthest), *((rate > wide, corner) for rate, corner in sides)]
    return [(where(is_there, 1.0, 0.0), corner) for is_there, corner in found]


def _across(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors across a third, and across each other."""
    steep = absolute(n.x) > 0.5
    x = n.cross(Vec3(where(steep, 0.0, 1.0), where(steep, 1.0, 0.0), 0.0))
    x = x * (1 / x.norm())
    return x, n.cross(x)


def below(X_a: Transform, s: Vec3, tangent: Vec3 = NOT_TOLD) -> Touch:
    """The touch of a point s of a surface."""
    n = axis(X_a, 2)
    distance = n.dot(s - X_a.position)
    return Touch(distance, s - n * (distance * 0.5), n, tangent)
