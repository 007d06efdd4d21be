"""A string wound round a circle, and so round a sphere or a cylinder: where it touches, and how long it lies on it.

In the plane of the circle (radius r, centre 0) the string runs from point a to point b. The tangent points of a are
    t = (r² a ± r √(a² - r²) a⊥) / a²,
and one of the two ways round is taken: the shorter one, or with a point given to its side, the one that leaves the
circle on the other side of the string. If that point lies
within the circle, the string runs inside, and touches at one point m, where it is reflected: both angles of incidence
are equal. The choices are those of MuJoCo 4, so that models made for it keep their meaning.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

from qdot.algebra import Scalar, Vec3, absolute, acos, asin, cos, is_number, maximum, minimum, sin, sqrt, where
from qdot.algebra.rounding import or_rounding
from qdot.spatial import Transform

TINY = 1e-15
FAR = 1e4
TURNS = 20
"""Newton steps for the point of reflection; it converges quadratically from one side."""


class Wound(NamedTuple):
    """1 where the string touches, else 0; where it meets and leaves (world); the length on the surface [m]."""

    touches: Scalar
    start: Vec3
    end: Vec3
    length: Scalar


class Flat(NamedTuple):
    """A point or vector of the plane."""

    x: Scalar
    y: Scalar

    def dot(self, other: Flat) -> Scalar:
        return self.x * other.x + self.y * other.y

    def cross(self, other: Flat) -> Scalar:
        return self.x * other.y - self.y * other.x

    def plus(self, other: Flat, times: Scalar = 1) -> Flat:
        return Flat(self.x + other.x * times, self.y + other.y * times)

    def times(self, s: Scalar) -> Flat:
        return Flat(self.x * s, self.y * s)

    def unit(self) -> Flat:
        return self.times(1 / length_of(self.dot(self)))


def wound(a: Vec3, b: Vec3, X_WG: Transform, radius: Scalar, cylinder: bool, side: Vec3 | None) -> Wound:
    """The string from a to b in the world round a sphere, or a cylinder about z, at pose X_WG; `side` is a point in
    coordinates of the latter."""
    p, r = X_WG.inv() @ a, X_WG.inv() @ b
    e0, e1 = (Vec3(1, 0, 0), Vec3(0, 1, 0)) if cylinder else _plane_of(p, r)
    d0, d1 = Flat(p.dot(e0), p.dot(e1)), Flat(r.dot(e0), r.dot(e1))
    if side is None:
        touches, t0, t1, arc = _round_circle(d0, d1, None, radius)
    else:
        beside = Flat(side.dot(e0), side.dot(e1)).unit()
        inside = side.dot(side) < radius * radius
        if is_number(side.dot(side)) and is_number(radius):  # it does not move there: one way is enough
            touches, t0, t1, arc = _inside_circle(d0, d1, radius) if inside else _round_circle(d0, d1, beside, radius)
        else:
            ways = _inside_circle(d0, d1, radius), _round_circle(d0, d1, beside, radius)
            touches, arc = (where(inside, ways[0][k], ways[1][k]) for k in (0, 3))
            t0, t1 = (Flat(*(where(inside, x, y) for x, y in zip(ways[0][k], ways[1][k], strict=True))) for k in (1, 2))
    start, end = e0 * t0.x + e1 * t0.y, e0 * t1.x + e1 * t1.y
    if cylinder:  # a straight line on the unrolled surface
        l0, l1 = (length_of(d.plus(t, -1).dot(d.plus(t, -1))) for d, t in ((d0, t0), (d1, t1)))
        rise = (r.z - p.z) / (l0 + arc + l1)
        start, end = Vec3(start.x, start.y, p.z + rise * l0), Vec3(end.x, end.y, p.z + rise * (l0 + arc))
        arc = sqrt(arc * arc + (rise * arc) * (rise * arc))
    return Wound(touches, X_WG @ start, X_WG @ end, arc)


def length_of(square: Scalar) -> Scalar:
    """√ of a square of a length, of 1 where it is zero: safe to divide by."""
    return sqrt(where(square > TINY * TINY, square, 1.0))


def _plane_of(p: Vec3, r: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors that span the plane of two points and the centre; the first points at p.

    Where all lie on a line any plane through it will do: the one that MuJoCo takes.
    """
    e0 = p / length_of(p.dot(p))
    normal = p.cross(r)
    x, y, z = (absolute(c) for c in e0)
    largest = maximum(x, maximum(y, z))
    other = Vec3(*(where(c < largest, 1.0, 0.0) for c in (x, y, z)))
    on_a_line = normal.dot(normal) < TINY * TINY
    instead = e0.cross(other)
    normal = Vec3(*(where(on_a_line, u, v) for u, v in zip(instead, normal, strict=True)))
    e1 = normal.cross(e0)
    return e0, e1 / length_of(e1.dot(e1))


def _round_circle(d0: Flat, d1: Flat, side: Flat | None, r: Scalar) -> tuple[Scalar, Flat, Flat, Scalar]:
    """(touches, first and last point on the circle, length of arc) of a string round the outside."""
    rr, dd0, dd1 = r * r, d0.dot(d0), d1.dot(d1)
    along = d1.plus(d0, -1)
    dd = along.dot(along)
    outside = (dd0 >= rr) & (dd1 >= rr) & (dd > TINY)
    nearest = d0.plus(along, minimum(maximum(-along.dot(d0) / where(dd > TINY, dd, 1.0), 0.0), 1.0))
    in_the_way = nearest.dot(nearest) <= rr
    ways = [_tangents(d0, d1, r, turn) for turn in (1, -1)]
    crossed = [_cross(d0, t0, d1, t1) for t0, t1 in ways]
    if side is None:  # the shorter way round
        apart = [t0.plus(t1, -1) for t0, t1 in ways]
        good = [where(bad, -FAR, -gap.dot(gap)) for bad, gap in zip(crossed, apart, strict=True)]
        first = good[0] > good[1]
    else:  # the longer one where the far side of the centre lies between the two points
        away, turn = side.times(-1), d0.cross(d1)
        beyond = (d0.cross(away) * turn >= 0) & (away.cross(d1) * turn >= 0)
        in_the_way = in_the_way | beyond
        longer = where(beyond, 1.0, 0.0)
        first = where(turn > 0, longer, 1 - longer) > 0
    t0, t1 = (Flat(*(where(first, u, v) for u, v in zip(ways[0][k], ways[1][k], strict=True))) for k in (0, 1))
    crossing = where(first, *(where(bad, 1.0, 0.0) for bad in crossed)) > 0
    angle = acos(minimum(maximum(t0.unit().dot(t1.unit()), -1.0), 1.0))
    turn = t1.cross(t0) * where(first, 1.0, -1.0)
    arc = r * where(turn < 0, 2 * pi - angle, angle)
    return where(outside & in_the_way, where(crossing, 0.0, 1.0), 0.0), t0, t1, arc


def _tangents(d0: Flat, d1: Flat, r: Scalar, turn: int) -> tuple[Flat, Flat]:
    """The tangent points of two points outside, one way round."""
    points = []
    for d, sense in ((d0, turn), (d1, -turn)):
        dd = where(d.dot(d) > TINY, d.dot(d), 1.0)
        root = sqrt(maximum(dd - r * r, 0.0))
        points.append(Flat((d.x * r * r + sense * r * d.y * root) / dd, (d.y * r * r - sense * r * d.x * root) / dd))
    return points[0], points[1]


def _cross(a: Flat, b: Flat, c: Flat, d: Flat) -> Scalar:
    """Whether the segments a–b and c–d meet."""
    u, w, offset = b.plus(a, -1), d.plus(c, -1), a.plus(c, -1)
    det = w.y * u.x - w.x * u.y
    apart = absolute(det) < TINY
    safe = where(apart, 1.0, det)
    s, t = (w.x * offset.y - w.y * offset.x) / safe, (u.x * offset.y - u.y * offset.x) / safe
    s = where(apart, -1.0, s)
    return (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)


def _inside_circle(d0: Flat, d1: Flat, r: Scalar) -> tuple[Scalar, Flat, Flat, Scalar]:
    """(touches, the point of reflection, once more, 0) of a string that is held to the inside of a circle.

    With z = sin of the angle of incidence, asin(r z/|d₀|) + asin(r z/|d₁|) - 2 asin z + γ = 0, γ the angle between the
    points; solved by Newton's method from z ≈ 1, where the left side is convex.
    """
    l0, l1 = length_of(d0.dot(d0)), length_of(d1.dot(d1))
    along = d1.plus(d0, -1)
    dd = along.dot(along)
    at = -along.dot(d0) / where(dd > TINY, dd, 1.0)
    nearest = d0.plus(along, at)
    passes = (at > 0) & (at < 1) & (nearest.dot(nearest) <= r * r) & (dd > TINY)
    outside = (l0 > r) & (l1 > r)
    A, B = minimum(r / l0, 1.0), minimum(r / l1, 1.0)
    cosine = minimum(maximum((l0 * l0 + l1 * l1 - dd) / (2 * l0 * l1), -1.0), 1.0)
    gamma = acos(cosine)
    z: Scalar = 1 - 1e-7
    solvable = asin(A * z) + asin(B * z) - 2 * asin(z) + gamma <= 0
    for _ in range(TURNS):
        f = asin(A * z) + asin(B * z) - 2 * asin(z) + gamma
        slope = A / _leg(A * z) + B / _leg(B * z) - 2 / _leg(z)
        z = maximum(minimum(z - f / where(slope < -TINY, slope, -1.0), z), 0.0)
    left = d0.cross(d1) > 0
    angle = asin(z) - where(left, asin(A * z), asin(B * z))
    u0, u1 = d0.unit(), d1.unit()
    u = Flat(where(left, u0.x, u1.x), where(left, u0.y, u1.y))
    c, s = cos(angle), sin(angle)
    reflected = Flat(c * u.x - s * u.y, s * u.x + c * u.y)
    straight = d0.plus(d1).unit()  # between points on one ray the string touches on it
    close = or_rounding(TINY, 4)
    sound = solvable & (cosine < 1 - close)
    m = Flat(*(r * where(sound, x, y) for x, y in zip(reflected, straight, strict=True)))
    touches = where(outside & (cosine > -1 + close), where(passes, 0.0, 1.0), 0.0)
    return touches, m, m, 0.0


def _leg(x: Scalar) -> Scalar:
    """√(1 - x²), not zero."""
    return sqrt(maximum(1 - x * x, TINY * TINY))
