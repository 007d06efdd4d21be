"""Spheres with other round shapes and boxes: one touch each, in closed form.

A ball and a shape come nearest on the line from the ball's centre p to the point s of the shape's surface nearest to p:
n = (s - p)/|s - p|, and the distance is |s - p| - r. With p inside the shape, s is where the way out is shortest, n is
turned round and |s - p| counts negative. The choices of MuJoCo 4 are kept where more than one point is nearest.
"""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, Vec3, absolute, minimum, sqrt, where
from qdot.collision.touch import Touch
from qdot.collision.vectors import TINY, axis, clipped, direction, either
from qdot.spatial import Transform


def sphere_sphere(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """Two balls."""
    return [between_balls(X_a.position, a[0], X_b.position, b[0], axis(X_b, 0))]


def sphere_capsule(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """A ball, and the ball about the nearest point of the capsule's axis."""
    z = axis(X_b, 2)
    along = clipped(z.dot(X_a.position - X_b.position), b[1])
    return [between_balls(X_a.position, a[0], X_b.position + z * along, b[0], axis(X_b, 0))]


def sphere_cylinder(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """Of the ball's centre at height z and radius ρ on the cylinder (r, h): beside it, over a lid, or off its rim.

    Beside it, the cylinder is a ball about the axis; off its rim, a point of the rim. Within it, the side or the lid
    counts, whichever is nearer.
    """
    radius, height = b
    up = axis(X_b, 2)
    apart = X_a.position - X_b.position
    z = up.dot(apart)
    outward = apart - up * z
    square = outward.dot(outward)
    rho = sqrt(where(square > TINY * TINY, square, 1.0))
    beside, over = absolute(z) < height, square < radius * radius
    lid_is_nearer = height - absolute(z) < radius - where(square > TINY * TINY, rho, 0.0)
    lid = over & ((absolute(z) >= height) | lid_is_nearer)
    lid_side = where(z > 0, 1.0, -1.0)
    rim = outward * (radius / rho) + up * (lid_side * height)
    centre = X_b.position + either(beside, up * z, rim)
    side = between_balls(X_a.position, a[0], centre, where(beside, radius, 0.0), axis(X_b, 0))
    distance = absolute(z) - height - a[0]
    normal = up * -lid_side
    on_lid = Touch(distance, X_a.position + normal * (a[0] + distance * 0.5), normal)
    return [either(lid, on_lid, side)]


def sphere_box(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """In the box's axes s is p cut off at the sides; with p inside, p moved out through the nearest face."""
    return [ball_and_box(X_a.position, a[0], b, X_b)]


def ball_and_box(centre: Vec3, radius: Scalar, half: Scalars, X_b: Transform) -> Touch:
    """A ball about a point of the world, and a box of half sides."""
    p = X_b.inv() @ centre
    cut = Vec3(*(clipped(x, side) for x, side in zip(p, half, strict=True)))
    way = cut - p
    square = way.dot(way)
    outside = square > TINY * TINY
    length = sqrt(where(outside, square, 1.0))
    depths = [minimum(side + x, side - x) for x, side in zip(p, half, strict=True)]
    least = minimum(depths[0], minimum(depths[1], depths[2]))
    first, second = depths[0] <= least, depths[1] <= least
    through = (
        where(first, 1.0, 0.0),
        where(first, 0.0, where(second, 1.0, 0.0)),
        where(first, 0.0, where(second, 0.0, 1.0)),
    )
    # Halfway between two faces, as in planar mechanisms, rounding decides for none: the lower one counts.
    inward = Vec3(*(where(s - x < s + x, -k, k) for x, s, k in zip(p, half, through, strict=True)))
    normal = either(outside, way * (1 / length), inward)
    surface = either(outside, cut, p - inward * least)
    distance = where(outside, length, -least) - radius
    return Touch(distance, X_b @ ((surface + p + normal * radius) * 0.5), X_b.rotation @ normal)


def between_balls(p: Vec3, r: Scalar, c: Vec3, s: Scalar, instead: Vec3) -> Touch:
    """Balls of radii r and s about p and c; with one centre, the normal is `instead`.

    The position is written so that exchanging the balls changes no bit.
    """
    length, normal = direction(c - p, instead)
    return Touch(length - (r + s), ((p + normal * r) + (c - normal * s)) * 0.5, normal)
