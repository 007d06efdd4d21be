"""Terrain in steps: the prisms below a shape, gone through one by one, and the few touches that hold it.

Between four heights the top is two triangles; each is the lid of a prism that reaches down to the base (see
`height_field`, which asks the same in queries). The cells below the box around the shape are gone through in one loop,
which each lane leaves when it has seen its own; heights lie in a table. A prism can only be near if the shape comes
near the plane of its lid: all others cost one support point.

A prism meets a shape in one point, as convex shapes do. That is a touch of terrain only if there is no other prism
behind the wall through which the shape comes out: where it does so over an edge, terrain has to fall away behind that.
And where it comes out through the lid, it rests on the plane of that as on any plane, in those of its points below
which the terrain is in that plane; the prism's own touch counts only where none of these is as deep. So flat terrain is
a plane, however large the cells are: a box stands on its corners, and nothing that slides is stopped where cells meet.

Of all touches five are kept: the deepest, and those that are deepest if depth counts a little more towards each of four
sides. Of touches that lie close together, as where an edge of a neighbour is met from above, the deepest remains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from qdot.algebra import (
    Mat3,
    Scalar,
    Scalars,
    Vec3,
    absolute,
    floor,
    iterated,
    looked_up,
    maximum,
    minimum,
    where,
    where_needed,
)
from qdot.algebra.rounding import or_rounding
from qdot.collision.convex import convex_touches
from qdot.collision.support import Convex, X, Y, Z, chosen, root
from qdot.collision.touch import FAR, Narrow, Touch
from qdot.collision.vectors import axis, either
from qdot.geometry import HeightField
from qdot.spatial import Transform

TOUCHES = 5
"""The deepest, and one towards each of four sides."""
LEAN = 0.05
"""How much deeper a touch counts, of how far it lies to a side."""
CLOSE = 0.1
"""Touches nearer to each other than this, of the shape's size, are one: what leaning by LEAN takes on a ball."""
EVEN = 1e-6
"""Of the shape's size: depths that differ by less are the same."""
THROUGH_LID = 1e-6
"""1 less the cosine of the angle up to which a normal is that of the lid."""
SHALLOW = 0.1
"""Of a cell's side: what is less deep below the plane of a lid does not come out through a wall."""
BEYOND = 0.01
"""Of a cell's side: how far behind an edge is looked whether terrain falls away."""
LEVEL = 1e-3
"""The angle below which it does not."""
WORST = -1e30

Found: TypeAlias = tuple[Scalar, Vec3, Vec3]
"""Distance, position and normal of a touch."""
Best: TypeAlias = list[tuple[Scalar, Found]]
"""For each side the touch that counts most there, after how much it does."""
Lid: TypeAlias = tuple[Vec3, Vec3, Vec3]
"""Corners, counterclockwise from above."""


def over_field(field: HeightField, convex: Callable[[Scalars], Convex], on_plane: Narrow) -> Narrow:
    """The narrow phase of terrain and a convex shape, which has one with planes."""
    rows, columns = field.heights.shape
    heights = tuple((z,) for z in (float(field.z) * field.heights).reshape(-1).tolist())
    half, cells = (float(field.x), float(field.y)), (columns - 1, rows - 1)
    sides = tuple(2 * h / n for h, n in zip(half, cells, strict=True))
    bottom, shallow, step = -float(field.base), SHALLOW * min(sides), BEYOND * min(sides)

    def corner(i: Scalar, j: Scalar) -> Vec3:
        (z,) = looked_up(heights, j * columns + i)
        return Vec3(i * sides[0] - half[0], j * sides[1] - half[1], z)

    def top(x: Scalar, y: Scalar) -> Vec3:
        """The point of the surface there."""
        u, v = (x + half[0]) / sides[0], (y + half[1]) / sides[1]
        i, j = floor(u), floor(v)
        u, v = u - i, v - j
        near, far = corner(i, j).z, corner(i + 1, j + 1).z
        beside = corner(where(v > u, i, i + 1), where(v > u, j + 1, j)).z
        return Vec3(x, y, near + (beside - near) * maximum(u, v) + (far - beside) * minimum(u, v))

    def is_within(p: Vec3) -> Scalar:
        return (absolute(p.x) <= half[0]) & (absolute(p.y) <= half[1])

    def falls_away(p: Vec3, n: Vec3) -> Scalar:
        """Whether terrain is below the plane through p with normal n, a step along n from there; or ends."""
        ahead = step / root(n.x * n.x + n.y * n.y)
        there = top(p.x + n.x * ahead, p.y + n.y * ahead)
        return where(is_within(there), n.dot(there - p), 0.0) < LEVEL * step

    def narrow(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
        pose = X_a.inv().transform() @ X_b
        shape = convex(b).at(pose)
        low, high = _box_about(shape)
        spans = [_span(*of, margin) for of in zip(list(low)[:2], list(high)[:2], half, sides, cells, strict=True)]
        (first_i, wide), (first_j, deep) = spans
        reached = (low.z - margin < max(heights)[0]) & (high.z + margin > bottom)
        count = where(reached, 2 * wide * deep, 0.0)
        width = where(wide > 0, wide, 1.0)
        size = (high - low).norm() / 2
        leans = _leans(pose)
        level = LEVEL * step + or_rounding(0.0, 64) * max(half)

        def counted(best: Best, touch: Touch, there: Scalar) -> Best:
            """With one more touch, if it is there."""
            found: Found = (touch.distance, touch.position, touch.normal)
            there = there & (touch.distance < margin)
            rates = [n.dot(touch.position - shape.centre) - touch.distance for n in leans]
            return [either(there & (rate > old[0]), (rate, found), old) for rate, old in zip(rates, best, strict=True)]

        def touching(given: tuple[Best, Lid, Scalar]) -> Best:
            best, lid, height = given
            (found,) = convex_touches(prism(lid, bottom), shape, margin)
            plane = _plane_of(lid)
            up = axis(plane, 2)
            through_lid = found.normal.dot(up) > 1 - or_rounding(THROUGH_LID, 64)
            deepest: Scalar = FAR
            for touch in on_plane((), plane, b, pose, margin):
                point = touch.position + up * (touch.distance / 2)
                off = absolute(up.dot(top(point.x, point.y) - lid[0]))
                rests = is_within(point) & (off < level) & (through_lid | (touch.distance > -shallow))
                best = counted(best, touch, rests)
                deepest = where(rests, minimum(deepest, touch.distance), deepest)
            on_edge = found.position - found.normal * (found.distance / 2)
            over_edge = falls_away(on_edge, found.normal) | (height < -shallow)
            alone = where(deepest > found.distance + or_rounding(EVEN, 64) * size, 1.0, 0.0)
            return counted(best, found, where(through_lid, alone, where(over_edge, 1.0, 0.0)) > 0.5)

        def turn(state: tuple[Scalar, Best]) -> tuple[Scalar, tuple[Scalar, Best]]:
            k, best = state
            cell = floor(k / 2)
            second, line = k - 2 * cell > 0.5, floor((cell + 0.5) / width)
            i, j = first_i + (cell - line * width), first_j + line
            near, far = corner(i, j), corner(i + 1, j + 1)
            beside = corner(where(second, i, i + 1), where(second, j + 1, j))
            lid = near, chosen(second, far, beside), chosen(second, beside, far)
            up = _up(lid)
            height = up.dot(shape.support(-up) - near) - shape.radius
            there = (height < margin) & (k < count)
            return k < count, (k + 1, where_needed(there, (best, lid, height), touching, best))

        nothing: Found = (FAR, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 1.0))
        _, best = iterated(2 * cells[0] * cells[1], (0.0, [(WORST, nothing)] * TOUCHES), turn)
        return [
            Touch(distance, X_a @ position, X_a.rotation @ normal)
            for distance, position, normal in _apart([found for _, found in best], CLOSE * size)
        ]

    return narrow


def _box_about(shape: Convex) -> tuple[Vec3, Vec3]:
    """The lowest and the highest coordinates of a shape."""
    low, high = ([n.dot(shape.support(n * side)) + side * shape.radius for n in (X, Y, Z)] for side in (-1.0, 1.0))
    return Vec3(*low), Vec3(*high)


def _span(low: Scalar, high: Scalar, half: float, side: float, cells: int, margin: Scalar) -> tuple[Scalar, Scalar]:
    """The first cell along an axis that a shape comes near to, and how many there are."""
    first = maximum(floor((low - margin + half) / side), 0.0)
    last = minimum(floor((high + margin + half) / side), cells - 1.0)
    return first, maximum(last - first + 1, 0.0)


def _leans(pose: Transform) -> list[Vec3]:
    """What is added to the depth of a touch for each metre off the centre: nothing, or towards one of the four lower
    corners of a box with this pose."""
    x, y, z = (axis(pose, k) * (LEAN / 3**0.5) for k in range(3))
    diagonals = (x + y + z, y + z - x, x + z - y, z - x - y)
    return [Vec3(0.0, 0.0, 0.0), *(d * where(d.z > 0, -1.0, 1.0) for d in diagonals)]


def _apart(found: list[Found], close: Scalar) -> list[Found]:
    """With those FAR that lie close to one before them."""
    kept: list[Found] = []
    for distance, position, normal in found:
        for other, at, _ in kept:
            between = position - at
            distance = where((other < FAR) & (between.dot(between) < close * close), FAR, distance)
        kept.append((distance, position, normal))
    return kept


def _up(lid: Lid) -> Vec3:
    """The unit normal of a lid."""
    n = (lid[1] - lid[0]).cross(lid[2] - lid[0])
    return n * (1 / n.norm())


def _plane_of(lid: Lid) -> Transform:
    """The frame of the plane that a lid is in."""
    along, up = lid[1] - lid[0], _up(lid)
    along = along * (1 / along.norm())
    return Transform(Mat3(along, up.cross(along), up).T, lid[0])


def prism(lid: Lid, bottom: float) -> Convex:
    """What is below a lid."""

    def support(n: Vec3) -> Vec3:
        best, *others = (Vec3(c.x, c.y, where(n.z < 0, bottom, c.z)) for c in lid)
        for point in others:
            best = chosen(point.dot(n) > best.dot(n), point, best)
        return best

    middle = (lid[0] + lid[1] + lid[2]) / 3
    return Convex(support, Vec3(middle.x, middle.y, (middle.z + bottom) / 2), axes=(_up(lid),))
