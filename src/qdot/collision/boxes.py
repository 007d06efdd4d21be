"""Two boxes: separating axes, then the corners of what two faces have in common, or one point of two edges.

Of 15 directions, six face normals and nine products of edges u_i × w_j, the one along which the boxes are farthest
apart, or overlap least, is the normal (Gottschalk, Lin, Manocha, OBBTree, 1996). A product of edges is the touch of two
edges. A face meets the face of the other box that looks towards it most: both are cut off at each other's sides, seen
along the normal. Each of their eight sides is a side of the common polygon at most once, so eight places hold its
corners: where the sides begin. Each corner is a touch, halfway between both faces.

Where a product of edges is hardly better than a face, the face counts, for it has more touches: within 8° of it and 5 %
of its depth. That, and the rest of what is chosen, is as in MuJoCo 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra import Mat3, Scalar, Scalars, Vec3, absolute, maximum, minimum, sign, sqrt, where
from qdot.algebra.rounding import or_rounding
from qdot.collision.touch import FAR, Touch
from qdot.collision.vectors import axis, clipped, either, touches_where_needed
from qdot.spatial import Transform

CORNERS = 8
_ROUNDING = 1e-13
"""Of separations, relative to the size of both boxes."""
_PARALLEL = 1e-12
"""sin² of edges so nearly parallel that their product has no direction."""
_FAVOUR = 1e-6
"""By what share of its depth a product of edges must beat what was found before."""
_ALIKE, _SHARE, _TIE = 0.99, 0.05, 1e-9
"""A face stands in for a product of edges whose normal has this cosine with its own, within this share of its depth or
this share of the size of both boxes."""
_OVERHANG = 1e-12
"""How far beyond its sides a face reaches when it cuts, relative to its size, so that rounding loses nothing."""
_ONE_PLACE = 1e-7
"""Corners within this distance, relative to a face's, are one."""
_LEVEL = 1e-30
"""The smallest slope that is divided by; what is reached along it is far away."""
_RING = ((1, 1), (-1, 1), (-1, -1), (1, -1))


@dataclass(frozen=True, slots=True)
class Sides:
    """Three directions, and how far a box reaches along them; seen from its first face, (out, along, across)."""

    x: Vec3
    y: Vec3
    z: Vec3
    extent: Vec3

    holds_scalars: ClassVar[bool] = True

    @staticmethod
    def of(X: Transform, half: Scalars) -> Sides:
        return Sides(axis(X, 0), axis(X, 1), axis(X, 2), Vec3(*half))

    def from_face(self, first: Scalar, second: Scalar) -> Sides:
        """The same, turned so that x is the first, the second or else the third of them."""
        x, y, z, (a, b, c) = self.x, self.y, self.z, self.extent
        later = either(second, Sides(y, z, x, Vec3(b, c, a)), Sides(z, x, y, Vec3(c, a, b)))
        return either(first, self, later)


@dataclass(frozen=True, slots=True)
class Axis:
    """A separating axis: how far apart along it, the face's number 0 … 5 or the edges', and for edges its direction in
    the first box's axes."""

    apart: Scalar
    number: Scalar
    direction: Vec3

    holds_scalars: ClassVar[bool] = True


def box_box(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """Up to eight touches of two faces, or one of two edges."""
    s = X_b.position - X_a.position
    R = X_a.rotation.T @ X_b.rotation
    size = a[0] + a[1] + a[2] + b[0] + b[1] + b[2]
    reach = margin + or_rounding(_ROUNDING, 16) * size
    face = _best_face(a, b, R, X_a.rotation.T @ s, X_b.rotation.T @ s)
    apart, edges = _best_edges(a, b, R, X_a.rotation.T @ s, face)
    nothing = [Touch(FAR, X_b.position, axis(X_b, 0)) for _ in range(CORNERS)]

    def touches(given: tuple[Sides, Sides, Vec3, Axis, Axis]) -> list[Touch]:
        one, two, s, face, edges = given
        reference, other, way = _faces(one, two, s, face.number)
        normal = X_a.rotation @ edges.direction
        unlike = absolute(normal.dot(reference.x)) <= _ALIKE
        better = edges.apart >= face.apart + _SHARE * absolute(face.apart) + or_rounding(_TIE, 16) * size
        by_edges = (edges.apart > face.apart) & (unlike | better)

        def of_edges(given: tuple[Sides, Sides, Vec3, Axis, Vec3]) -> list[Touch]:
            touch = _between_edges(*given)
            distance = where(touch.distance > reach, FAR, touch.distance)
            first = Touch(distance, X_a.position + touch.position, touch.normal)
            return [first, *(Touch(FAR, first.position, first.normal) for _ in range(CORNERS - 1))]

        def of_faces(given: tuple[Sides, Sides, Vec3]) -> list[Touch]:
            reference, other, way = given
            owner = either(face.number < 3, X_a.position, X_b.position)
            outward = where(face.number < 3, 1, -1)
            return [
                Touch(t.distance, owner + t.position, t.normal * outward) for t in _between_faces(reference, other, way)
            ]

        found = touches_where_needed(by_edges, (one, two, s, edges, _along(normal, s)), of_edges, nothing)
        return touches_where_needed(where(by_edges, 0, 1) > 0, (reference, other, way), of_faces, found)

    given = Sides.of(X_a, a), Sides.of(X_b, b), s, face, edges
    return touches_where_needed(apart <= reach, given, touches, nothing)


def _best_face(a: Scalars, b: Scalars, R: Mat3, s_a: Vec3, s_b: Vec3) -> Axis:
    """Of six face normals, the one along which the boxes are farthest apart."""
    best = Axis(-FAR, 0, Vec3(0, 0, 0))
    both = (0, R, a, b, s_a), (3, R.T, b, a, s_b)
    for first, turn, own, others, s in both:
        for k, (row, place) in enumerate(zip((turn.r0, turn.r1, turn.r2), s, strict=True)):
            apart = absolute(place) - own[k] - sum(absolute(x) * half for x, half in zip(row, others, strict=True))
            best = either(apart > best.apart, Axis(apart, first + k, best.direction), best)
    return best


def _best_edges(a: Scalars, b: Scalars, R: Mat3, s: Vec3, face: Axis) -> tuple[Scalar, Axis]:
    """How far apart the boxes are along any direction, and of nine products of edges the one farthest beyond the face.

    (u_i × w_j)·w_k = ±R_il for j, k, l all different, so extents along it need no more than entries of R.
    """
    rows, S = (tuple(R.r0), tuple(R.r1), tuple(R.r2)), tuple(s)
    widest, best = face.apart, Axis(face.apart, 0, Vec3(0, 0, 0))
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            along, across = -rows[i2][j], rows[i1][j]
            square = along * along + across * across
            crossing = square >= _PARALLEL
            scale = 1 / sqrt(where(crossing, square, 1.0))
            extent = a[i1] * absolute(along) + a[i2] * absolute(across)
            extent = extent + b[j1] * absolute(rows[i][j2]) + b[j2] * absolute(rows[i][j1])
            apart = where(crossing, (absolute(along * S[i1] + across * S[i2]) - extent) * scale, -FAR)
            widest = maximum(widest, apart)
            better = (apart - or_rounding(_FAVOUR, 16) * absolute(apart) > best.apart) & (apart > face.apart)
            entries = {i: 0, i1: along * scale, i2: across * scale}
            best = either(better, Axis(apart, 3 * i + j, Vec3(entries[0], entries[1], entries[2])), best)
    return widest, best


def _faces(one: Sides, two: Sides, s: Vec3, number: Scalar) -> tuple[Sides, Sides, Vec3]:
    """The box of the face and the other, each seen from the face that meets; and the way from centre to centre."""
    is_first = number < 3
    k = number - where(is_first, 0, 3)
    reference = either(is_first, one, two).from_face(k < 1, k < 2)
    other, way = either(is_first, two, one), either(is_first, s, -s)
    reference = Sides(_along(reference.x, way), reference.y, reference.z, reference.extent)
    x, y, z = (absolute(reference.x.dot(side)) for side in (other.x, other.y, other.z))
    other = other.from_face((x >= y) & (x >= z), y >= z)
    return reference, Sides(_along(other.x, -reference.x), other.y, other.z, other.extent), way


def _along(v: Vec3, way: Vec3) -> Vec3:
    """v or -v, whichever goes that way."""
    return v * where(v.dot(way) < 0, -1, 1)


def _between_edges(one: Sides, two: Sides, s: Vec3, edges: Axis, normal: Vec3) -> Touch:
    """The nearest points of the two edges that reach farthest along the normal, from the first box's centre."""
    i = where(edges.number < 3, 0, where(edges.number < 6, 1, 2))
    corners, lines = [], []
    for box, k, towards in ((one, i, normal), (two, edges.number - 3 * i, -normal)):
        sides, extent = (box.x, box.y, box.z), tuple(box.extent)
        corner = Vec3(0, 0, 0)
        for m, side in enumerate(sides):
            corner = corner + side * where(absolute(k - m) < 0.5, 0.0, extent[m] * sign(side.dot(towards)))
        corners.append(corner)
        line = box.from_face(k < 1, k < 2)
        lines.append((line.x, line.extent.x))
    (u, h), (w, k) = lines
    p, c = corners[0], s + corners[1]
    e, uw = c - p, u.dot(w)
    ue, we = u.dot(e), w.dot(e)
    sine = 1 - uw * uw
    x = clipped((ue - uw * we) / where(sine > or_rounding(_PARALLEL, 8), sine, 1.0), h)
    y = clipped(uw * x - we, k)
    x = clipped(ue + uw * y, h)
    p, c = p + u * x, c + w * y
    return Touch(normal.dot(c - p), (p + c) * 0.5, normal)


def _between_faces(face: Sides, other: Sides, way: Vec3) -> list[Touch]:
    """The corners that both faces have in common, from the centre of the first one's box.

    In the face's plane the other face is c + u d + v e, |u|, |v| ≤ 1. Its sides are cut in coordinates (x, y) of the
    first, the first one's in (u, v); heights z over the first face are linear in both.
    """
    top = face.extent.x
    l, m = face.extent.y, face.extent.z
    c, d, e = (
        Vec3(face.y.dot(v), face.z.dot(v), face.x.dot(v))
        for v in (way + other.x * other.extent.x, other.y * other.extent.y, other.z * other.extent.z)
    )
    area = d.x * e.y - d.y * e.x
    theirs = [c + d * u + e * v for u, v in _RING]
    turn = where(area < 0, -1, 1)  # so that both rings run the same way round
    ours = [(l, m), (-l * turn, m * turn), (-l, -m), (l * turn, -m * turn)]
    seen = []
    for x, y in ours:
        x, y = x - c.x, y - c.y
        seen.append(Vec3((x * e.y - y * e.x) / area, (y * d.x - x * d.y) / area, 0))
    share = or_rounding(_OVERHANG, 16)
    overhang = share * (l + m)
    starts = _starts(theirs, l + overhang, m + overhang)
    starts += [(there, c + d * p.x + e * p.y) for there, p in _starts(seen, 1 + share, 1 + share)]
    near = or_rounding(_ONE_PLACE, 16) ** 2 * (l * l + m * m)
    touches = []
    for k, (there, p) in enumerate(starts):
        for was_there, q in starts[:k]:
            x, y = p.x - q.x, p.y - q.y
            there = there & (where(was_there, x * x + y * y, FAR) >= near)
        height = p.z - top
        position = face.y * p.x + face.z * p.y + face.x * (top + height * 0.5)
        touches.append(Touch(where(there, height, FAR), position, face.x))
    return touches


def _starts(ring: list[Vec3], l: Scalar, m: Scalar) -> list[tuple[Scalar, Vec3]]:
    """Of each side of a ring, whether some of it lies in the rectangle |x| ≤ l, |y| ≤ m, and where that begins."""
    found = []
    for p, q in zip(ring, ring[1:] + ring[:1], strict=True):
        start, end = 0.0, 1.0
        for half, place, step in ((l, p.x, q.x - p.x), (m, p.y, q.y - p.y)):
            up = where(step < 0, -1, 1)
            slope = maximum(absolute(step), _LEVEL)
            start = maximum(start, (-half - up * place) / slope)
            end = minimum(end, (half - up * place) / slope)
        found.append((start <= end, p + (q - p) * minimum(start, 1.0)))
    return found
