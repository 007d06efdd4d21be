"""Where a ray o + t d, t ≥ 0, first meets the surface of a shape; from inside, where it leaves.

A convex solid is met in one interval of t: the intersection of the intervals of what bounds it (slabs of a box, the
wall and the ends of a cylinder), or the hull of the intervals of what it is made of (a capsule's cylinder and two
balls). Ellipsoids are balls in stretched space. Meshes and terrain ask a tree of boxes which triangles a ray may meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qdot.algebra import Scalar, Scalars, Vec3, maximum, minimum, sqrt, where
from qdot.collision.bvh import Indices, Tree, nearest_leaves, opener
from qdot.collision.support import NOTHING, root
from qdot.collision.touch import FAR
from qdot.collision.vectors import either
from qdot.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Shape, Sphere
from qdot.geometry.quadrature import Floats


@dataclass(frozen=True, slots=True)
class Hit:
    """How far along a unit direction a ray meets a surface [m], and the unit normal there, out of the shape; FAR and
    any unit vector where it does not."""

    distance: Scalar
    normal: Vec3

    holds_scalars: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Interval:
    """What a ray has in common with a convex part: from `start` to `end`, with the outward normals there; none where
    start > end."""

    start: Scalar
    end: Scalar
    first: Vec3
    last: Vec3

    holds_scalars: ClassVar[bool] = True

    def within(self, other: Interval) -> Interval:
        """The part in both."""
        later, sooner = other.start > self.start, other.end < self.end
        return Interval(
            maximum(self.start, other.start),
            minimum(self.end, other.end),
            either(later, other.first, self.first),
            either(sooner, other.last, self.last),
        )

    def joined(self, other: Interval) -> Interval:
        """The hull of both, where they are parts of one convex body."""
        mine, others = self.start <= self.end, other.start <= other.end
        begins, ends = others & (other.start < self.start), others & (other.end > self.end)
        hull = either(ends, Interval(self.start, other.end, self.first, other.last), self)
        hull = either(begins, Interval(other.start, hull.end, other.first, hull.last), hull)
        return either(mine, hull, other)

    def hit(self) -> Hit:
        real = (self.start <= self.end) & (self.end >= 0)
        outside = self.start >= 0
        distance = where(outside, self.start, self.end)
        return Hit(where(real, distance, FAR), either(outside, self.first, self.last))


def _slab(o: Scalar, d: Scalar, half: Scalar, axis: Vec3) -> Interval:
    """|o + t d| ≤ half along an axis."""
    along = d * d > NOTHING
    by = 1 / where(along, d, 1.0)
    turned = where(d < 0, -1.0, 1.0)
    within = (o <= half) & (o >= -half)
    start, end = (-half * turned - o) * by, (half * turned - o) * by
    return Interval(
        where(along, start, where(within, -FAR, FAR)),
        where(along, end, where(within, FAR, -FAR)),
        axis * -turned,
        axis * turned,
    )


def _round(a: Scalar, b: Scalar, c: Scalar, normal: Callable[[Scalar], Vec3]) -> Interval:
    """a t² + 2 b t + c ≤ 0 with a ≥ 0; without an end where a = 0."""
    curved = a > NOTHING
    square = b * b - a * c
    half = sqrt(maximum(square, 0.0))
    # The root of larger size first, the other by Vieta: no digits cancel.
    far = -(b + where(b < 0, -half, half))
    one = far / where(curved, a, 1.0)
    other = where(far * far > NOTHING, c / where(far * far > NOTHING, far, 1.0), one)
    start, end = minimum(one, other), maximum(one, other)
    meets = square >= 0
    return Interval(
        where(curved, where(meets, start, FAR), where(c <= 0, -FAR, FAR)),
        where(curved, where(meets, end, -FAR), where(c <= 0, FAR, -FAR)),
        normal(where(curved & meets, start, 0.0)),
        normal(where(curved & meets, end, 0.0)),
    )


def _unit(v: Vec3) -> Vec3:
    square = v.dot(v)
    return either(square > NOTHING, v / root(square), Vec3(0.0, 0.0, 1.0))


def _ball(o: Vec3, d: Vec3, r: Scalar) -> Interval:
    return _round(d.dot(d), o.dot(d), o.dot(o) - r * r, lambda t: _unit(o + d * t))


def _tube(o: Vec3, d: Vec3, r: Scalar) -> Interval:
    """The cylinder about z without ends."""
    across = d.x * d.x + d.y * d.y
    nothing, along = 0 * o.x, o.x * d.x + o.y * d.y
    return _round(
        across, along, o.x * o.x + o.y * o.y - r * r, lambda t: _unit(Vec3(o.x + d.x * t, o.y + d.y * t, nothing))
    )


X, Y, Z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)


def ray_sphere(sizes: Scalars, o: Vec3, d: Vec3) -> Hit:
    return _ball(o, d, sizes[0]).hit()


def ray_ellipsoid(sizes: Scalars, o: Vec3, d: Vec3) -> Hit:
    a, b, c = sizes
    p, e = Vec3(o.x / a, o.y / b, o.z / c), Vec3(d.x / a, d.y / b, d.z / c)

    def normal(t: Scalar) -> Vec3:
        x = p + e * t
        return _unit(Vec3(x.x / a, x.y / b, x.z / c))

    return _round(e.dot(e), p.dot(e), p.dot(p) - 1, normal).hit()


def ray_capsule(sizes: Scalars, o: Vec3, d: Vec3) -> Hit:
    r, l = sizes
    ends = [_ball(o - Z * z, d, r) for z in (l, -l)]
    return _tube(o, d, r).within(_slab(o.z, d.z, l, Z)).joined(ends[0]).joined(ends[1]).hit()


def ray_cylinder(sizes: Scalars, o: Vec3, d: Vec3) -> Hit:
    r, l = sizes
    return _tube(o, d, r).within(_slab(o.z, d.z, l, Z)).hit()


def ray_box(sizes: Scalars, o: Vec3, d: Vec3) -> Hit:
    a, b, c = sizes
    return _slab(o.x, d.x, a, X).within(_slab(o.y, d.y, b, Y)).within(_slab(o.z, d.z, c, Z)).hit()


def ray_cone(sizes: Scalars, o: Vec3, d: Vec3) -> Hit:
    """ρ ≤ k (l - z) below the apex: what is above it, on the other half of the double cone, does not count."""
    r, l = sizes
    k = r / (2 * l)
    p = Vec3(o.x, o.y, l - o.z)  # from the apex, down
    a, b, c = (
        d.x * d.x + d.y * d.y - (k * d.z) * (k * d.z),
        p.x * d.x + p.y * d.y + k * k * p.z * d.z,
        p.x * p.x + p.y * p.y - (k * p.z) * (k * p.z),
    )
    curved = a * a > NOTHING
    root_ = sqrt(maximum(b * b - a * c, 0.0))
    walls = [(-b + sign * root_) / where(curved, a, 1.0) for sign in (-1, 1)]
    straight = -c / (2 * where(b * b > NOTHING, b, 1.0))
    base = (-l - o.z) / where(d.z * d.z > NOTHING, d.z, 1.0)
    at_base = o + d * base
    found = Hit(FAR, Z)
    for t, valid in (
        *((t, curved & (b * b - a * c >= 0)) for t in walls),
        (straight, (a * a <= NOTHING) & (b * b > NOTHING)),
    ):
        x = o + d * t
        valid = valid & (t >= 0) & (x.z <= l) & (x.z >= -l) & (t < found.distance)
        normal = _unit(Vec3(x.x, x.y, k * k * (l - x.z)))
        found = either(valid, Hit(t, normal), found)
    on_base = (d.z * d.z > NOTHING) & (base >= 0) & (base < found.distance)
    return either(on_base & (at_base.x * at_base.x + at_base.y * at_base.y <= r * r), Hit(base, -Z), found)


def ray_plane(sizes: Scalars, o: Vec3, d: Vec3) -> Hit:
    t = -o.z / where(d.z * d.z > NOTHING, d.z, 1.0)
    return Hit(where((d.z * d.z > NOTHING) & (t >= 0), t, FAR), Z)


RAYS: dict[type[Shape], Callable[[Scalars, Vec3, Vec3], Hit]] = {
    Sphere: ray_sphere,
    Capsule: ray_capsule,
    Ellipsoid: ray_ellipsoid,
    Cylinder: ray_cylinder,
    Box: ray_box,
    Cone: ray_cone,
    Plane: ray_plane,
}
"""By kind of shape: a text of its sizes, and of the ray in its own frame."""


def ray_tree(tree: Tree, o: Floats, d: Floats) -> tuple[float, int]:
    """How far along a ray the first triangle of a tree lies, and its number in the mesh; FAR and -1 without one."""
    with np.errstate(divide="ignore"):
        by = 1 / d  # infinite where the ray runs along a side of the boxes

    def bound(nodes: Indices) -> Floats:
        with np.errstate(invalid="ignore"):
            one, other = (tree.lower[nodes] - o) * by, (tree.upper[nodes] - o) * by
        # 0 · ∞: the ray runs in the side itself, which is no bound.
        near = np.where(np.isnan(one), -np.inf, np.fmin(one, other)).max(axis=1)
        far = np.where(np.isnan(other), np.inf, np.fmax(one, other)).min(axis=1)
        met = (np.maximum(near, 0.0) <= far * ROUNDING) | (far == np.inf)
        return np.where(met, np.maximum(near, 0.0), np.inf)

    def measured(nodes: Indices) -> Floats:
        p, q, r = np.moveaxis(tree.corners[tree.leaf(nodes)] - o, 1, 0)
        # Volumes with the ray tell on which side of each edge it passes: neighbours agree about an edge they share.
        u, v, w = (np.einsum("j,ij->i", d, np.cross(x, y)) for x, y in ((q, r), (r, p), (p, q)))
        total = u + v + w
        passes = ((np.minimum(np.minimum(u, v), w) >= 0) | (np.maximum(np.maximum(u, v), w) <= 0)) & (total != 0)
        n = np.cross(q - p, r - p)
        slope = n @ d
        t = np.einsum("ij,ij->i", n, p) / np.where(slope == 0, 1.0, slope)
        return np.where(passes & (slope != 0) & (t >= 0), t, np.inf)

    best, distance = nearest_leaves(np.zeros(1, dtype=np.int64), bound, opener(tree), measured, FAR)
    return (FAR, -1) if best is None else (distance, int(tree.faces[tree.leaf(best)]))


ROUNDING = 1 + 1e-14
"""Boxes are met a little more often than numbers say."""
