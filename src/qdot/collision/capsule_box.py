"""A capsule and a box: balls about up to two points of the capsule's axis, each against the box.

The first point is the one nearest to the box: an end of the axis over a face, or the point nearest to one of the twelve
edges. The second is where the axis, followed from there over the box, leaves it or ends:
    from an end over a face, as far as it stays over that face;
    from a corner, along an edge if the axis lies within 45° of it, or else over a face;
    from a point within an edge, over the face to which the axis is inclined least.
An axis that only points at a corner or an edge has no second point. Both points are those of MuJoCo 4. They are exact
where the axis does not pierce the box; where it does, they are points at which the two push each other apart.

In the box's axes the points are p + x h, |x| ≤ 1, of the axis, and e + y s_j, |y| ≤ 1, of an edge along j, where
e_k = σ_k s_k with signs σ_k = ±1 for k ≠ j, and e_j = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, Vec3, absolute, maximum, minimum, where
from qdot.algebra.rounding import or_rounding
from qdot.collision.spheres import ball_and_box
from qdot.collision.touch import FAR, Touch
from qdot.collision.vectors import TINY, axis, clipped, either
from qdot.spatial import Transform

_PARALLEL = 1e-12
"""Edges are along the axis below this sin² of the angle between them."""
_LEVEL = 1e-30
"""The smallest slope that is divided by; what is reached along it is far away."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Where the axis is nearest to the box: the squared distance, and x. On an edge also y, the signs σ with σ_j = 0,
    and ±1 where the edge ends there, else 0; over a face these are zero, and `over` is 1 along its normal. An end
    within the box is over no face."""

    square: Scalar
    x: Scalar
    y: Scalar
    end: Scalar
    signs: Vec3
    over: Vec3

    holds_scalars: ClassVar[bool] = True


def capsule_box(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """The point nearest to the box, and one at the other end of where the axis lies over it."""
    radius, half = a
    p = X_b.inv() @ X_a.position
    h = (X_b.rotation.T @ axis(X_a, 2)) * half
    nearest = _on_edges(p, h, b, _over_face(p, h, b))
    is_there, move = _second(nearest, p, h, b)
    first, second = (ball_and_box(X_b @ (p + h * x), radius, b, X_b) for x in (nearest.x, nearest.x + move))
    return [first, Touch(where(is_there > 0, second.distance, FAR), second.position, second.normal)]


def _over_face(p: Vec3, h: Vec3, s: Scalars) -> Nearest:
    """The nearer of those ends that are over a face or inside; far away where there is none."""
    none = Vec3(0, 0, 0)
    best = Nearest(FAR * FAR, 0, 0, 0, none, none)
    for x in (-1, 1):
        end = p + h * x
        beyond = Vec3(*(absolute(t) - side for t, side in zip(end, s, strict=True)))
        over = Vec3(*(where(t > 0, 1, 0) for t in beyond))
        way = Vec3(*(maximum(t, 0.0) for t in beyond))
        square = way.dot(way)
        nearer = (over.x + over.y + over.z <= 1) & (square < best.square)
        best = either(nearer, Nearest(square, x, 0, 0, none, over), best)
    return best


def _on_edges(p: Vec3, h: Vec3, s: Scalars, best: Nearest) -> Nearest:
    """The nearest of the twelve edges, where one is nearer; edges along the axis are left to their neighbours."""
    P, H, hh = tuple(p), tuple(h), h.dot(h)
    tie = or_rounding(TINY, 4) * (hh + s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
    for j in range(3):
        k, l = (j + 1) % 3, (j + 2) % 3
        ss, sh, sp = s[j] * s[j], s[j] * H[j], s[j] * P[j]
        determinant = ss * hh - sh * sh
        crosses = determinant > or_rounding(_PARALLEL, 8) * (ss * hh)
        safe = where(crosses, determinant, 1.0)
        for sign_k, sign_l in product((-1, 1), repeat=2):
            signs = {k: sign_k, l: sign_l, j: 0}
            he = H[k] * (sign_k * s[k] - P[k]) + H[l] * (sign_l * s[l] - P[l]) - H[j] * P[j]
            free = (hh * sp + sh * he) / safe
            y, end = clipped(free, 1.0), _beyond(free)
            x_free = (he + sh * y) / hh
            x, ends = clipped(x_free, 1.0), absolute(x_free) > 1
            back = (sp + sh * x) / ss  # nearest to that end of the axis
            y = where(ends, clipped(back, 1.0), y)
            end = where(ends & (absolute(back) > 1), _beyond(back), end)
            edge = Vec3(*(signs[i] * s[i] + (y * s[i] if i == j else 0) for i in range(3)))
            way = edge - p - h * x
            square = way.dot(way)
            candidate = Nearest(square, x, y, end, Vec3(signs[0], signs[1], signs[2]), best.over)
            best = either(crosses & (square < best.square - tie), candidate, best)
    return best


def _second(nearest: Nearest, p: Vec3, h: Vec3, s: Scalars) -> tuple[Scalar, Scalar]:
    """1 where there is a second point, else 0, and how far it is from the first, in x."""
    x, y, end, signs, over = nearest.x, nearest.y, nearest.end, tuple(nearest.signs), tuple(nearest.over)
    H, size = tuple(h), [absolute(t) for t in h]
    steep = [maximum(t, _LEVEL) for t in size]
    upward = [where(t > 0, 1, -1) for t in H]
    # +1 where going along +h leads into the box's extent along an axis, -1 where along -h
    inward = [-up * where(absolute(sign) > 0, sign, end) for up, sign in zip(upward, signs, strict=True)]
    across = [2 * side / t for side, t in zip(s, steep, strict=True)]

    there, move = 0, 0.0  # at a corner: one axis k differs from the others in which way is in
    for k in range(3):
        l, n = (k + 1) % 3, (k + 2) % 3
        odd = (inward[k] * inward[l] < 0) & (inward[k] * inward[n] < 0)
        m = inward[k]
        along = m * minimum(1 - m * x, across[k])
        aside = -m * minimum(1 + m * x, minimum(across[l], across[n]))
        there = where(odd, 1, there)
        move = where(odd, where(2 * (H[k] * H[k]) > h.dot(h), along, aside), move)

    for k in range(3):  # within an edge along k
        l, n = (k + 1) % 3, (k + 2) % 3
        here = (absolute(signs[k]) + absolute(end) < 1) & (absolute(signs[l]) > 0)
        first = size[l] > size[n]
        m = where(first, inward[l], inward[n])
        reach = minimum(1 - m * x, where(first, across[l], across[n]))
        reach = minimum(reach, s[k] * (1 - upward[k] * m * y) / steep[k])
        there = where(here, where(inward[l] * inward[n] < 0, 1, 0), there)
        move = where(here, m * reach, move)

    ends = absolute(signs[0]) + absolute(signs[1]) < 1  # then both are over a face, or inside
    reach = 2.0
    for start, t, side, up, is_over in zip(p + h * x, steep, s, upward, over, strict=True):
        room = (side + x * up * start) / t
        reach = where((room > 0) & (is_over < 1), minimum(reach, room), reach)
    return where(ends, over[0] + over[1] + over[2], there), where(ends, -x * reach, move)


def _beyond(t: Scalar) -> Scalar:
    """±1 where a number is outside [-1, 1], else 0."""
    return where(t > 1, 1, where(t < -1, -1, 0))
