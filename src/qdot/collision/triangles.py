"""Meshes as they are, not by their hulls (U12): surfaces of triangles, near each other or through each other.

Two triangles apart are nearest at a corner of one and the face of the other, or at two edges: fifteen closed forms, of
which the least counts. Where they cut, the least shift that parts them is along one of the normals of their faces or a
cross product of their edges: the faces of the polyhedron of all differences of their points.

A mesh is a surface: what floats inside a closed one is apart from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qdot.algebra import Scalar, Vec3, as_array, map_scalars, maximum, minimum, sqrt, where
from qdot.collision.bvh import Indices, Tree, leaves_within, nearest_leaves, opener, pair_opener, tree_of
from qdot.collision.convex import Nearest, nearest
from qdot.collision.support import NOTHING, Convex, chosen, root
from qdot.geometry.mesh import Polyhedron
from qdot.geometry.quadrature import Floats
from qdot.spatial import Transform

FLAT = 1e-14
"""Of the longest edge and its square: axes shorter than this have no direction."""


@dataclass(frozen=True, slots=True)
class Triangle:
    """Three corners [m]; they may lie on a line, or in one point."""

    p: Vec3
    q: Vec3
    r: Vec3

    holds_scalars: ClassVar[bool] = True

    def corners(self) -> tuple[Vec3, Vec3, Vec3]:
        return self.p, self.q, self.r

    def edges(self) -> tuple[Vec3, Vec3, Vec3]:
        return self.q - self.p, self.r - self.q, self.p - self.r

    def normal(self) -> Vec3:
        """Not of unit length."""
        return (self.q - self.p).cross(self.r - self.p)

    def convex(self) -> Convex:
        normal = self.normal()

        def support(n: Vec3) -> Vec3:
            best = chosen(self.q.dot(n) > self.p.dot(n), self.q, self.p)
            return chosen(self.r.dot(n) > best.dot(n), self.r, best)

        return Convex(support, (self.p + self.q + self.r) / 3, axes=(normal / root(normal.dot(normal)),))


def triangles_nearest(a: Triangle, b: Triangle) -> Nearest:
    """Where two triangles come nearest, or by what shift they would come apart soonest."""
    longest = _longest(a, b)
    on_a, on_b, square = _nearest_points(a, b)
    cut, pierced = _cut(a, b, (on_a + on_b) * 0.5)
    length = sqrt(square)
    separate = (length > FLAT * longest) & (pierced < 0.5)
    overlap, normal = _least_overlap(a, b, longest)
    n = chosen(separate, (on_b - on_a) / where(separate, length, 1.0), normal)
    distance = where(separate, length, -overlap)
    shift = n * (distance * 0.5)
    return Nearest(distance, chosen(separate, on_a, cut - shift), chosen(separate, on_b, cut + shift), n, 0.0)


def _longest(a: Triangle, b: Triangle) -> Scalar:
    square = 0.0
    for e in (*a.edges(), *b.edges()):
        square = maximum(square, e.dot(e))
    return sqrt(square)


def _least_overlap(a: Triangle, b: Triangle, longest: Scalar) -> tuple[Scalar, Vec3]:
    """The least overlap along any axis on which triangles that meet may come apart, and that axis, from a to b; zero
    for triangles that are edges in a line, or points."""
    least: Scalar = longest * 2
    normal = Vec3(0.0, 0.0, 1.0)
    for axis in (a.normal(), b.normal(), *(e.cross(f) for e in a.edges() for f in b.edges())):
        length = root(axis.dot(axis))
        n = axis / length
        low_a, high_a = _extent(a, n)
        low_b, high_b = _extent(b, n)
        for side, overlap in ((n, high_a - low_b), (-n, high_b - low_a)):
            less = (axis.dot(axis) > NOTHING) & (length > FLAT * longest * longest) & (overlap < least)
            least, normal = where(less, overlap, least), chosen(less, side, normal)
    return where(least < longest * 2, maximum(least, 0.0), 0.0), normal


def _extent(t: Triangle, n: Vec3) -> tuple[Scalar, Scalar]:
    x, y, z = (corner.dot(n) for corner in t.corners())
    return minimum(x, minimum(y, z)), maximum(x, maximum(y, z))


def _nearest_points(a: Triangle, b: Triangle) -> tuple[Vec3, Vec3, Scalar]:
    """The nearest points of the borders and of corners to faces, and the square of their distance."""
    found = [_edges_nearest(p, e, q, f) for p, e in _sides(a) for q, f in _sides(b)]
    found += [(p, _on_face(p, b, q)) for p, q in zip(a.corners(), b.corners(), strict=True)]
    found += [(_on_face(q, a, p), q) for p, q in zip(a.corners(), b.corners(), strict=True)]
    on_a, on_b = found[0]
    square = (on_b - on_a).dot(on_b - on_a)
    for p, q in found[1:]:
        here = (q - p).dot(q - p)
        on_a, on_b, square = chosen(here < square, p, on_a), chosen(here < square, q, on_b), minimum(here, square)
    return on_a, on_b, square


def _sides(t: Triangle) -> list[tuple[Vec3, Vec3]]:
    return list(zip(t.corners(), t.edges(), strict=True))


def _edges_nearest(p: Vec3, e: Vec3, q: Vec3, f: Vec3) -> tuple[Vec3, Vec3]:
    """The nearest points of two segments p + s e and q + t f (Ericson, Real-Time Collision Detection, 5.1.9)."""
    r = p - q
    ee, ff, ef, er, fr = e.dot(e), f.dot(f), e.dot(f), e.dot(r), f.dot(r)
    det = ee * ff - ef * ef
    turned = det > FLAT * ee * ff
    s = where(turned, _unit((ef * fr - er * ff) / where(turned, det, 1.0)), 0.0)  # parallel: any s will do
    t = _unit((ef * s + fr) / where(ff > NOTHING, ff, 1.0))
    s = _unit((ef * t - er) / where(ee > NOTHING, ee, 1.0))
    return p + e * s, q + f * t


def _unit(x: Scalar) -> Scalar:
    """The number of [0, 1] nearest to x."""
    return minimum(maximum(x, 0.0), 1.0)


def _on_face(p: Vec3, t: Triangle, instead: Vec3) -> Vec3:
    """The point of a face below p; a corner where that is none of it."""
    n = t.normal()
    nn = n.dot(n)
    by = 1 / where(nn > NOTHING, nn, 1.0)
    w = p - t.p
    v, u = n.dot((t.q - t.p).cross(w)) * by, n.dot(w.cross(t.r - t.p)) * by
    inside = (nn > NOTHING) & (u >= 0) & (v >= 0) & (u + v <= 1)
    return chosen(inside, p - n * (n.dot(w) * by), instead)


def _cut(a: Triangle, b: Triangle, instead: Vec3) -> tuple[Vec3, Scalar]:
    """The middle of the points at which edges of one triangle pierce the other, and how many they are; `instead` where
    there are none."""
    total, count = Vec3.zero(), 0.0
    for t, other in ((a, b), (b, a)):
        n = other.normal()
        for p, e in _sides(t):
            slope, height = n.dot(e), n.dot(p - other.p)
            steep = slope * slope > NOTHING
            s = -height / where(steep, slope, 1.0)
            x = p + e * s
            turns = [n.dot(f.cross(x - q)) for q, f in _sides(other)]
            hit = steep & (s >= 0) & (s <= 1) & (minimum(turns[0], minimum(turns[1], turns[2])) >= 0)
            total, count = chosen(hit, total + x, total), where(hit, count + 1.0, count)
    return chosen(count > 0, total / where(count > 0, count, 1.0), instead), count


# ── meshes, in numbers ───────────────────────────────────────────────────────────────────────────────────────────────


def mesh_mesh(a: Polyhedron, X_a: Transform, b: Polyhedron, X_b: Transform) -> Nearest:
    """Where two surfaces come nearest; where they cut, the pair of triangles that lies deepest."""
    pairs = _Pairs(a, X_a, b, X_b)
    best, _ = nearest_leaves(pairs.start, pairs.bound, pairs.opened, lambda found: pairs.nearest(found).distance)
    assert best is not None  # distances are finite, so one is the least
    return _row(pairs.nearest(best[None, :]), 0).moved(X_a)


def mesh_mesh_within(a: Polyhedron, X_a: Transform, b: Polyhedron, X_b: Transform, limit: float) -> list[Nearest]:
    """All pairs of triangles nearer than a limit [m]."""
    pairs = _Pairs(a, X_a, b, X_b)
    found = pairs.nearest(leaves_within(pairs.start, pairs.bound, pairs.opened, limit))
    return [row.moved(X_a) for row in rows_within(found, limit)]


def mesh_convex(mesh: Polyhedron, X: Transform, other: Convex) -> Nearest:
    """Where a surface comes nearest to a convex shape; where it cuts it, the triangle that lies deepest in it."""
    rows = _Rows(mesh, X, other)
    best, _ = nearest_leaves(rows.start, rows.bound, rows.opened, lambda found: rows.nearest(found).distance)
    assert best is not None
    return _row(rows.nearest(np.array([best])), 0).moved(X)


def mesh_convex_within(mesh: Polyhedron, X: Transform, other: Convex, limit: float) -> list[Nearest]:
    """All triangles nearer to a convex shape than a limit [m]."""
    rows = _Rows(mesh, X, other)
    near = leaves_within(rows.start, rows.bound, rows.opened, limit)
    return [row.moved(X) for row in rows_within(rows.nearest(near), limit)] if len(near) else []


class _Rows:
    """Nodes of a mesh's tree against a convex shape, in the mesh's frame."""

    def __init__(self, mesh: Polyhedron, X: Transform, other: Convex) -> None:
        self.tree = tree_of(mesh)
        self.other = other.at(X.inv().transform())
        self.start = np.zeros(1, dtype=np.int64)
        self.opened = opener(self.tree)
        self.low, self.high = box_of(self.other)

    def bound(self, nodes: Indices) -> Floats:
        return _gap(self.tree.lower[nodes] - self.high, self.low - self.tree.upper[nodes])

    def nearest(self, nodes: Indices) -> Nearest:
        return nearest(triangles(self.tree, nodes).convex(), self.other)


class _Pairs:
    """Pairs of nodes of two trees, in the first one's frame."""

    def __init__(self, a: Polyhedron, X_a: Transform, b: Polyhedron, X_b: Transform) -> None:
        self.a, self.b = tree_of(a), tree_of(b)
        X = X_a.inv() @ X_b
        self.X, R, p = X, as_array(X.rotation), as_array(X.position)
        middle, half = (self.b.upper + self.b.lower) / 2, (self.b.upper - self.b.lower) / 2
        middle, half = middle @ R.T + p, half @ np.abs(R).T
        self.low, self.high = middle - half, middle + half
        self.start = np.zeros((1, 2), dtype=np.int64)
        self.opened = pair_opener(self.a, self.b)

    def bound(self, pairs: Indices) -> Floats:
        i, j = pairs.T
        return _gap(self.a.lower[i] - self.high[j], self.low[j] - self.a.upper[i])

    def nearest(self, pairs: Indices) -> Nearest:
        a, b = triangles(self.a, pairs[:, 0]), triangles(self.b, pairs[:, 1])
        return triangles_nearest(a, Triangle(*(self.X @ corner for corner in b.corners())))


def _gap(below: Floats, above: Floats) -> Floats:
    """The distance of two boxes by what they are apart along x, y, z; less where they overlap: how deep at most."""
    along = np.maximum(below, above)
    apart: Floats = np.linalg.norm(np.maximum(along, 0.0), axis=1)
    return np.where(along.max(axis=1) > 0, apart, -np.inf)


def triangles(tree: Tree, nodes: Indices) -> Triangle:
    """The triangles of leaves, as lanes."""
    corners = tree.corners[tree.leaf(nodes)]
    return Triangle(*(Vec3(*np.ascontiguousarray(corners[:, k].T)) for k in range(3)))


def box_of(shape: Convex) -> tuple[Floats, Floats]:
    """The lowest and highest corner of the box along x, y, z that holds a convex shape."""
    axes = [Vec3(*map(float, row)) for row in np.eye(3)]
    high = [n.dot(shape.support(n)) + shape.radius for n in axes]
    low = [n.dot(shape.support(-n)) - shape.radius for n in axes]
    return np.array(low, dtype=float), np.array(high, dtype=float)


def rows_within(found: Nearest, limit: float) -> list[Nearest]:
    """Those of many that are nearer than a limit, in plain numbers, nearest first."""
    distances = np.asarray(found.distance)
    return [_row(found, int(k)) for k in np.argsort(distances, kind="stable") if distances[k] < limit]


def _row(found: Nearest, k: int) -> Nearest:
    row: Nearest = map_scalars(lambda x: float(x if np.ndim(x) == 0 else x[k]), found)
    return row
