"""How far two convex shapes are apart, or how deep they lie in each other.

Let D = A - B be all differences of their points. Its support function h(n) = max {n·x : x in D} tells how far A reaches
beyond B in direction n, and the signed distance is
    d = max {-h(n) : |n| = 1},
the distance of 0 from D outside of it, less than zero inside; n is the normal from A to B. Both cases come down to
one question: which point of D is nearest to a point p outside of D?

Apart: p = 0, and there is one maximum. The question is answered by GJK (Gilbert, Johnson, Keerthi 1988): a simplex of
support points walks towards p. A triangle and a new point are seven ways to be nearest, all tried; no case is special.

Overlapping: -h has several local maxima. From a direction n₀, p = s n₀ with s > h(n₀) lies outside, and the normal n₁
of its nearest point obeys s n₀·n₁ - h(n₁) ≥ s - h(n₀), so h(n₁) ≤ h(n₀): depths never grow, a face is found at once,
and on round parts n converges linearly, which Aitken's extrapolation speeds up. It starts from the best few of many
directions: axes and faces of the shapes, cross products of axes, the line of centres, and points spread over the
sphere. Any n gives a depth that suffices to separate the shapes. In random poses deep in each other, fewer than one
pair of round shapes in 10⁴, and of hulls of many faces one in a hundred, comes out with a little more than the least.

Steps of a simulation have no time for that: one local maximum is enough for them, found from the line of centres or
from an axis (`portals`). A descent ends what takes long there, and starts where 0 is on the surface of D.

Loops are bounded, memory is static, and nothing is decided by looking at values: it runs on lanes, and compiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import ClassVar, TypeAlias

from qdot.algebra import Scalar, Vec3, cos, iterated, maximum, minimum, repeated, sin, sqrt, where, where_needed
from qdot.algebra.rounding import or_rounding
from qdot.collision.portals import first_portal, first_ray, way_out
from qdot.collision.support import NOTHING, Convex, X, Y, Z, chosen, height, root, supports
from qdot.collision.touch import Touch
from qdot.collision.vectors import either
from qdot.spatial import Transform

LIMIT = 100
"""Steps of GJK; flat shapes take some ten, round ones up to sixty."""
GAP = 1e-12
"""Of the square of a distance: where GJK stops."""
FLAT = 1e-14
"""A triangle with a smaller angle is an edge."""
TOUCHING = 1e-6
"""Of the size: nearer than this, a normal by the difference of two points is not sharp enough."""
BLIND = 1e-12
"""Of the size: nearer than this, the difference of two points is rounding."""
NEAR = 1e-9
"""Of the size: nearer than this, steps of a simulation take shapes to overlap."""
TOLERANCE = 1e-8
"""Of the size: how far bounds of a distance may lie apart."""
SPREAD = 64
"""Directions over a half sphere that are tried, on either side."""
STARTS = 6
"""Directions from which the least depth is sought."""
ALIKE = 0.95
"""The cosine of the angle below which two directions are held to lead to the same place."""
DESCENTS = 60
"""Steps of a descent; flat shapes take two or three, round ones ten, those that are all but balls many."""
SHALLOW = 0.01
"""Of the size: overlaps of less are not sought for a second time; and how far p lies outside of D."""
SLACK = 0.1
"""Of the square of a step of a descent: how far it may end from where it should."""
STEADY = 1e-11
"""Of the size: a descent that gains less is at its end."""
UNKNOWN = 1e30
AWAY = 1e9
"""[m]: farther than any point, but less than FAR."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Signed distance [m], the points of the two surfaces, the unit normal from the first shape to the second, and 1
    where the bounds of the distance did not come together within the steps allowed, else 0."""

    distance: Scalar
    on_a: Vec3
    on_b: Vec3
    normal: Vec3
    failed: Scalar

    holds_scalars: ClassVar[bool] = True

    def moved(self, X: Transform) -> Nearest:
        """The same, written in the outer frame of a pose."""
        return Nearest(self.distance, X @ self.on_a, X @ self.on_b, X.rotation @ self.normal, self.failed)

    def turned(self) -> Nearest:
        """The same with the shapes exchanged."""
        return Nearest(self.distance, self.on_b, self.on_a, -self.normal, self.failed)

    def touch(self) -> Touch:
        return Touch(self.distance, (self.on_a + self.on_b) * 0.5, self.normal)


Parts: TypeAlias = tuple[Scalar, Vec3, Vec3]
"""Distance, position and normal of a touch."""


def convex_touches(a: Convex, b: Convex, margin: Scalar) -> list[Touch]:
    """The one point at which two convex shapes meet or come nearest, if that is nearer than the margin; where they
    overlap, the shift is the least of those near the line of their centres, or near an axis if that is shorter."""
    size, towards, radii = _size(a, b), _towards(a, b), a.radius + b.radius
    s = _gjk(a, b, Vec3.zero(), towards, beyond=margin + radii)
    square = s.y.dot(s.y)
    length, near = root(square), or_rounding(NEAR, 64) * size
    on_a, on_b = s.points()
    n = s.y / -length
    apart = length - radii, (on_a + on_b + n * (a.radius - b.radius)) * 0.5, n

    def deep(given: tuple[Vec3, Scalar, Scalar, Corners]) -> Parts:
        towards, size, enclosed, corners = given
        out = way_out(a, b, size, first_portal(first_ray(a, b, towards), *corners, enclosed))
        found = -out.depth - radii, out.point + out.n * ((a.radius - b.radius - out.depth) * 0.5), out.n
        return where_needed(out.found < 0.5, (out.n, size), descended, found)

    def descended(given: tuple[Vec3, Scalar]) -> Parts:
        n, size = given
        touch = _descent(a, b, Nearest(-UNKNOWN, a.centre, b.centre, n, 1.0), n, size).touch()
        return touch.distance, touch.position, touch.normal

    given = towards, size, s.inside, (s.a, s.b)
    return [Touch(*where_needed((s.inside > 0.5) | (square <= near * near), given, deep, apart))]


def gap_of_centres(a: Convex, b: Convex) -> Scalar:
    """Not more than the distance of two shapes: how far they are apart along the line of their centres, or bounds of it
    are where those are quicker."""
    n = _towards(a, b)
    return -(a.reaching(n) + b.reaching(-n)) - (a.radius + b.radius)


def nearest(a: Convex, b: Convex) -> Nearest:
    """Where two convex shapes come nearest, or by what shift they would come apart soonest; the same with the shapes
    exchanged."""
    size, towards = _size(a, b), _towards(a, b)
    apart = _gjk(a, b, Vec3.zero(), towards)
    length = root(apart.y.dot(apart.y))
    limit = or_rounding(TOUCHING, 2**10) * size
    overlap = (apart.inside > 0.5) | (apart.y.dot(apart.y) <= limit * limit)
    outside = _answer(a, b, apart, apart.y / -length, size)
    noise = or_rounding(BLIND, 64) * size  # a point so near to 0 tells no direction
    is_blind = (apart.inside > 0.5) | (apart.y.dot(apart.y) <= noise * noise)
    start = chosen(overlap & is_blind, towards, outside.normal)

    def deep(given: tuple[Vec3, Scalar]) -> Nearest:
        return _deepest_of_both(a, b, *given)

    return where_needed(overlap, (start, size), deep, outside)


def _towards(a: Convex, b: Convex) -> Vec3:
    """The direction of the line of centres."""
    between = b.centre - a.centre
    far = between.dot(between) > NOTHING
    return chosen(far, between, Vec3(0.0, 0.0, 1.0)) / root(where(far, between.dot(between), 1.0))


# ── the nearest point of D ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Simplex:
    """Up to three points of A and B with their weights, the nearest point y of their differences, seen from p, and 1
    where four of them enclosed p, else 0."""

    a: list[Vec3]
    b: list[Vec3]
    weights: list[Scalar]
    y: Vec3
    inside: Scalar

    holds_scalars: ClassVar[bool] = True

    def points(self) -> tuple[Vec3, Vec3]:
        """Of A and of B, whose difference y is."""
        on_a, on_b = (x * self.weights[0] + y * self.weights[1] + z * self.weights[2] for x, y, z in (self.a, self.b))
        return on_a, on_b


Corners: TypeAlias = tuple[list[Vec3], list[Vec3]]
"""Three points of A, and of B."""


def _gjk(
    a: Convex,
    b: Convex,
    p: Vec3,
    n: Vec3,
    slack: float = 0.0,
    beyond: Scalar | None = None,
    known: Corners | None = None,
) -> Simplex:
    """The point of D that is nearest to p, sought first in the unit direction n, beside corners that are known: then p
    has to be outside.

    Where only the way from n to the true direction counts, `slack` is which share of its square may be left; where only
    shorter distances than `beyond` count, it stops as soon as this one is known not to be.
    """
    on_a, on_b = known or _centres(a, b)
    start = Simplex(on_a, on_b, [1.0, 0.0, 0.0], n * -AWAY, 0.0)  # of which anything is better

    def step(s: Simplex) -> tuple[Scalar, Simplex]:
        on_a, on_b = supports(a, b, -s.y)
        w, yy = on_a - on_b - p, s.y.dot(s.y)
        corners = [u - v - p for u, v in zip(s.a, s.b, strict=True)]
        y, square, (new, *old) = _nearest_of(w, corners)
        inside = where(_encloses(w, corners), 1.0, 0.0) if known is None else 0.0
        way = 2 * (1 + s.y.dot(n) / root(yy)) if slack else 0.0
        gap = (or_rounding(GAP, 4) + slack * way) * yy
        go_on = (s.inside < 0.5) & (yy - s.y.dot(w) > gap) & ((square < yy) | (inside > 0.5))
        if beyond is not None:
            go_on = go_on & (s.y.dot(w) <= beyond * root(yy))
        # The new point takes the place of the first that is not needed; one is not, for it took part itself.
        places = [old[0] <= 0, (old[0] > 0) & (old[1] <= 0), (old[0] > 0) & (old[1] > 0)]
        return go_on, Simplex(
            [chosen(here, on_a, u) for here, u in zip(places, s.a, strict=True)],
            [chosen(here, on_b, u) for here, u in zip(places, s.b, strict=True)],
            [where(here, new, x) for here, x in zip(places, old, strict=True)],
            y,
            inside,
        )

    return iterated(LIMIT, start, step)


Candidate: TypeAlias = tuple[Vec3, Scalar, list[Scalar]]
"""A point, the square of its distance from 0, and the weights of the points it is made of."""


def _nearest_of(w: Vec3, corners: list[Vec3]) -> Candidate:
    """The point nearest to 0 of what w spans with one or two of three corners."""
    best: Candidate = (w, w.dot(w), [1.0, 0.0, 0.0, 0.0])
    edges = [u - w for u in corners]
    for i, e in enumerate(edges):
        ee = e.dot(e)
        t = -w.dot(e) / where(ee > NOTHING, ee, 1.0)
        weights = [1 - t, 0.0, 0.0, 0.0]
        weights[1 + i] = t
        y = w + e * t
        best = _better((t > 0) & (t < 1) & (ee > NOTHING), (y, y.dot(y), weights), best)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        e, f = edges[i], edges[j]
        m = e.cross(f)
        mm = m.dot(m)
        full = mm > or_rounding(FLAT, 16) ** 2 * e.dot(e) * f.dot(f)
        by = 1 / where(full, mm, 1.0)
        s, t = m.dot(f.cross(w)) * by, m.dot(w.cross(e)) * by
        weights = [1 - s - t, 0.0, 0.0, 0.0]
        weights[1 + i], weights[1 + j] = s, t
        y = m * (m.dot(w) * by)
        best = _better(full & (s > 0) & (t > 0) & (s + t < 1), (y, y.dot(y), weights), best)
    return best


def _better(valid: Scalar, new: Candidate, old: Candidate) -> Candidate:
    taken = valid & (new[1] < old[1])
    weights = [where(taken, x, y) for x, y in zip(new[2], old[2], strict=True)]
    return chosen(taken, new[0], old[0]), where(taken, new[1], old[1]), weights


def _encloses(w: Vec3, corners: list[Vec3]) -> Scalar:
    """Whether 0 is within four points: seen from it, all four faces turn the same way."""
    u, v, x = corners
    turns = (u.dot(v.cross(x)), w.dot(x.cross(v)), w.dot(u.cross(x)), w.dot(v.cross(u)))
    least, most = turns[0], turns[0]
    for turn in turns[1:]:
        least, most = minimum(least, turn), maximum(most, turn)
    return (least > 0) | (most < 0)


def _answer(a: Convex, b: Convex, s: Simplex, n: Vec3, size: Scalar) -> Nearest:
    """What a simplex tells: its points, moved from the cores to the surfaces; -h(n) bounds the distance from below."""
    on_a, on_b = s.points()
    bound = -height(a, b, n)
    off = on_b - on_a - n * bound
    most = or_rounding(TOLERANCE, 64) * size
    failed = where((off.dot(n) > most) | (off.dot(off) > most * size), 1.0, 0.0)
    return Nearest(bound - (a.radius + b.radius), on_a + n * a.radius, on_b - n * b.radius, n, failed)


# ── the least depth ──────────────────────────────────────────────────────────────────────────────────────────────────


def _centres(a: Convex, b: Convex) -> Corners:
    return [a.centre] * 3, [b.centre] * 3


def _deepest_of_both(a: Convex, b: Convex, n: Vec3, size: Scalar) -> Nearest:
    """The better one of both orders, in which directions are tried in turn: so no order has an answer of its own."""
    one, other = _deepest(a, b, n, size), _deepest(b, a, -n, size).turned()
    return either(other.distance > one.distance, other, one)


def _deepest(a: Convex, b: Convex, n: Vec3, size: Scalar) -> Nearest:
    """The best of what is found from several directions; n is one of them."""
    nothing = Nearest(-UNKNOWN, a.centre, b.centre, n, 1.0)

    def another(k: Scalar, state: tuple[Nearest, list[Vec3]]) -> tuple[Nearest, list[Vec3]]:
        best, (n, *others) = state
        deep = best.distance + (a.radius + b.radius) < -SHALLOW * size
        found = where_needed(deep, (n, size), lambda given: _descent(a, b, nothing, *given), best)
        return either(found.distance > best.distance, found, best), [*others, n]

    return repeated(STARTS, (nothing, _starts(a, b, n)), another)[0]


def _descent(a: Convex, b: Convex, nothing: Nearest, n: Vec3, size: Scalar) -> Nearest:
    """From a direction to one of locally least depth."""

    State: TypeAlias = tuple[Nearest, Vec3, Scalar, Vec3, Corners, Scalar]
    radii = a.radius + b.radius

    def step(state: State) -> tuple[Scalar, State]:
        return state[-1] > 0.5, where_needed(state[-1] > 0.5, state, again, state)

    def again(state: State) -> State:
        last, n, high, before, corners, _ = state
        s = _gjk(a, b, n * (maximum(high, 0.0) + SHALLOW * size), n, SLACK, known=corners)
        n1 = s.y / -root(s.y.dot(s.y))
        found = _answer(a, b, s, n1, size)
        after, square = n1 - n, before.dot(before)
        rate = minimum(maximum(after.dot(before) / where(square > NOTHING, square, 1.0), 0.0), 0.999)
        limit = n1 + after * (rate / (1 - rate))
        limit = limit / root(limit.dot(limit))
        ahead, here = height(a, b, limit), -(found.distance + radii)
        sooner = (rate > 0) & (ahead < here)
        # Two steps make a limit; the two steps from there on make the next.
        gain = where(found.distance > last.distance + or_rounding(STEADY, 4) * size, 1.0, 0.0)
        # The step that gains nothing is the last one taken: at rest its points lie on the normal.
        n, high = chosen(sooner, limit, n1), where(sooner, ahead, here)
        return found, n, high, chosen(sooner, Vec3.zero(), after), (s.a, s.b), gain

    start = nothing, n, height(a, b, n), Vec3.zero(), _centres(a, b), 1.0
    return iterated(DESCENTS, start, step)[0]


Start: TypeAlias = tuple[Scalar, Vec3]
"""A direction after its h."""


def _starts(a: Convex, b: Convex, n: Vec3) -> list[Vec3]:
    """The best few of many directions, best first, none close to another."""
    axes = [*a.axes, *b.axes]
    crossed = [*(u.cross(v) for u in a.axes for v in b.axes), *(n - axis * axis.dot(n) for axis in axes)]
    units = [c / root(c.dot(c)) for c in crossed]

    def tried(m: Vec3, best: list[Start]) -> list[Start]:
        m = m * where(m.dot(n) < 0, -1.0, 1.0)  # the order of trial turns round with the shapes
        real = m.dot(m) > 0.5  # axes that are parallel have no cross product
        for side in (m, -m):
            best = _sorted_in((where(real, height(a, b, side), UNKNOWN), side), best)
        return best

    best: list[Start] = [(UNKNOWN, n) for _ in range(STARTS)]
    for m in (n, *axes, *units):
        best = tried(m, best)
    for normals in (a.normals, b.normals):
        best = normals.through(best, lambda best, m: tried(m, best)) if normals else best
    best = repeated(SPREAD, best, lambda k, best: tried(_spread(k), best))
    return [direction for _, direction in best]


def _sorted_in(new: Start, best: list[Start]) -> list[Start]:
    """The best few with one more, which pushes out what is worse and close to it, or the worst."""
    kept = []
    for h, n in best:
        less = new[0] < h
        kept.append((where(less, new[0], h), chosen(less, new[1], n)))
        h, n = where(less, h, new[0]), chosen(less, n, new[1])
        new = (where(n.dot(kept[-1][1]) > ALIKE, UNKNOWN, h), n)
    return kept


def _spread(k: Scalar) -> Vec3:
    """Direction k of those spread evenly over the upper half sphere (Fibonacci's spiral)."""
    z, turn = (k + 0.5) / SPREAD, k * (pi * (3 - 5**0.5))
    across = sqrt(1 - z * z)
    return Vec3(across * cos(turn), across * sin(turn), z)


def _size(a: Convex, b: Convex) -> Scalar:
    """How wide both are together [m]; 1 where they are points."""
    width = _width(a) + _width(b)
    return where(width > 0, width, 1.0)


def _width(a: Convex) -> Scalar:
    """As it is known, or else the largest along x, y, z."""
    if a.width is not None:
        return a.width
    x, y, z = (height(a, a, n) for n in (X, Y, Z))
    return maximum(x, maximum(y, z))
