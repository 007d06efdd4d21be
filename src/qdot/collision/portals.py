"""How deep two convex shapes lie in each other, for steps of a simulation: rays through portals.

Let D = A - B be all differences of their points, with 0 inside, and h its support function. A ray from 0 in direction r
leaves D at a distance of ρ(r), through a face with normal n. All of D is on one side of that face, so h(n) = ρ(r) n·r,
and ρ(n) ≤ h(n) ≤ ρ(r) ≤ h(r): the normal of the face that is met is a shorter way out, and a ray along it leaves D
sooner still. Rays follow each other, and end at a face that is met at a right angle: the depth is locally least.

Which face a ray meets is told by portals (Snethen 2008): triangles of points of D that the ray passes through. The
farthest point of D along a portal's normal makes it three smaller ones farther out, of which the ray passes through
one; where there is no point farther out, the portal is part of a face. That is not waited for: once D reaches so much
less far along a portal's normal than along the ray that what is left to find out matters little, that normal is the
next ray. A portal that a ray passes by is left over the edge that is most in its way, for the farthest point of D
beyond that edge.

So a step costs one support point of each shape and little else, whether a ray goes on or another begins; all lanes take
the same steps. The first ray is the line of centres, or an axis along which shapes overlap less: a thin plate is left
through a face. Its portal has the corners that the search for a gap had found.
Round shapes that are deep in each other can take long: the best ray is where a search that suits them better goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from qdot.algebra import Scalar, Vec3, iterated, maximum, minimum, where
from qdot.algebra.rounding import or_rounding
from qdot.collision.support import Convex, chosen, height, root, supports

LIMIT = 50
"""Steps; flat shapes take some ten, round ones twenty, and where the depth is not small more than these."""
FLAT = 1e-11
"""Of the size: a portal is part of a face if no point is farther out."""
STEADY = 1e-11
"""Of the size: a ray that gains less is the last."""
FIRST, OF_HULLS = 0.05, 0.5
"""Of the depth: how far out of the first ray's portal a point may be for the next ray to begin; of two hulls, whose
faces are found all the same."""
SLACK = 3.0
"""Of what a new ray gains: how far out of the portal a point may be for it to begin. More is a little sooner at its
end, but round shapes that move have it jump more often."""
TILT = 0.02
"""Of the first ray, towards the line of centres: along an axis itself portals may have no area."""
UNKNOWN = 1e30


@dataclass(frozen=True, slots=True)
class Portal:
    """The ray, how far D reaches along it (UNKNOWN at first), three points of D, counted counterclockwise seen from
    outside, each with the point of A it is made of, and how many steps it took."""

    ray: Vec3
    height: Scalar
    corners: list[Vec3]
    on_a: list[Vec3]
    steps: Scalar

    holds_scalars: ClassVar[bool] = True


class WayOut(NamedTuple):
    """Whether it was found, 1 or 0: else n is the best ray; how far the cores overlap, the unit normal along which they
    come apart, and a point on the surface of A."""

    found: Scalar
    depth: Scalar
    n: Vec3
    point: Vec3


def first_ray(a: Convex, b: Convex, towards: Vec3) -> Vec3:
    """Of the line of centres, the axes of both to its side, and what is across an axis that is alone, the direction
    along which they overlap least."""
    if not (axes := (*a.axes, *b.axes)):
        return towards
    tried = [axis * where(axis.dot(towards) < 0, -1.0, 1.0) for axis in axes]
    for shape in (a, b):
        if len(shape.axes) == 1:
            tried.append(_unit(towards - shape.axes[0] * shape.axes[0].dot(towards)))
    ray, least = towards, height(a, b, towards)
    for n in tried:
        overlap = where(n.dot(n) > 0.5, height(a, b, n), UNKNOWN)  # nothing may be across
        ray, least = chosen(overlap < least, n, ray), minimum(overlap, least)
    return _unit(ray + towards * TILT)


def first_portal(ray: Vec3, on_a: Sequence[Vec3], on_b: Sequence[Vec3], enclosed: Scalar) -> Portal:
    """Of three points of both shapes, with 0 not in their plane where that is enclosed: 1, else 0, and nothing is
    found."""
    corners = [x - y for x, y in zip(on_a, on_b, strict=True)]
    clockwise = corners[0].dot(corners[1].cross(corners[2])) < 0
    return Portal(
        ray, UNKNOWN, _turned(corners, clockwise), _turned(on_a, clockwise), where(enclosed > 0.5, 0.0, LIMIT)
    )


def way_out(a: Convex, b: Convex, size: Scalar, start: Portal) -> WayOut:
    """From a first portal."""
    flat_enough, areas = or_rounding(FLAT, 64) * size, 1 / (size * size)
    first_enough = OF_HULLS if a.normals and b.normals else FIRST

    def step(s: Portal) -> tuple[Scalar, Portal]:
        planes = _planes(s.corners)
        sides = [s.ray.dot(m) for m in planes]
        least = minimum(sides[0], minimum(sides[1], sides[2]))
        through, past = least >= 0, least < 0
        over = [sides[0] <= least, (sides[0] > least) & (sides[1] <= least), (sides[0] > least) & (sides[1] > least)]
        edge = chosen(over[0], planes[0], chosen(over[1], planes[1], planes[2]))
        n = _unit(chosen(through, _normal(s.corners), -edge) * areas)
        on_a, on_b = supports(a, b, n)
        new = on_a - on_b
        reach = n.dot(new)
        farther = reach - n.dot(s.corners[0])
        flat = farther <= flat_enough
        # The new point and the ray span a plane, which tells the corner that is on neither side of the ray.
        x, y, z = (new.cross(s.ray).dot(corner) for corner in s.corners)
        first, third = (z > 0) & (y <= 0), (y > 0) & (x <= 0)
        second = ((z <= 0) | (y > 0)) & ((y <= 0) | (x > 0))
        grows = through & (farther > flat_enough)
        places = [(grows & here) | (past & there) for here, there in zip((first, second, third), over, strict=True)]
        gain = s.height - reach
        turns = through & (
            flat | ((gain > 0) & (farther <= SLACK * gain) & ((s.height < UNKNOWN) | (farther <= first_enough * reach)))
        )
        upright = minimum(n.dot(planes[0]), minimum(n.dot(planes[1]), n.dot(planes[2]))) >= 0
        at_end = through & flat & (upright | (gain <= or_rounding(STEADY, 4) * size))
        return (s.steps < LIMIT) & (where(at_end, 0.0, 1.0) > 0.5), Portal(
            chosen(turns, n, s.ray),
            where(turns, reach, s.height),
            _turned([chosen(here, new, u) for here, u in zip(places, s.corners, strict=True)], past),
            _turned([chosen(here, on_a, u) for here, u in zip(places, s.on_a, strict=True)], past),
            s.steps + 1,
        )

    end = iterated(LIMIT, start, step)
    found = end.steps < LIMIT
    n = chosen(found, _unit(_normal(end.corners) * areas), end.ray)
    weights = [maximum(n.dot(m), 0.0) for m in _planes(end.corners)]
    total = weights[0] + weights[1] + weights[2]
    weights = [weight / where(total > 0, total, 1.0) for weight in weights]
    x, y, z = (u * weight for u, weight in zip(end.on_a, weights, strict=True))
    return WayOut(where(found, 1.0, 0.0), n.dot(end.corners[0]), n, x + y + z)


def _planes(corners: Sequence[Vec3]) -> list[Vec3]:
    """Opposite to each corner, the plane of 0 and the edge, by its normal: a ray through the portal is above it."""
    u, v, w = corners
    return [v.cross(w), w.cross(u), u.cross(v)]


def _normal(corners: Sequence[Vec3]) -> Vec3:
    u, v, w = corners
    return (v - u).cross(w - u)


def _turned(three: Sequence[Vec3], condition: Scalar) -> list[Vec3]:
    """Counted the other way round where the condition holds."""
    first, second, third = three
    return [first, chosen(condition, third, second), chosen(condition, second, third)]


def _unit(v: Vec3) -> Vec3:
    return v / root(v.dot(v))
