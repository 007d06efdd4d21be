"""The box about a shape, along the axes of its own frame: a bound on how near two shapes can be, tight for hulls.

Two boxes are apart if one of fifteen directions tells them apart: the axes of both, and the cross products of these
(Gottschalk, Lin, Manocha 1996). How far they are apart along any is less than their distance.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from qdot.algebra import Scalar, Vec3, absolute, maximum
from qdot.collision.hulls import corners_of
from qdot.collision.narrow import is_hull, sizes_of
from qdot.collision.vectors import axis
from qdot.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, HeightField, Shape, Sphere
from qdot.spatial import Transform


class BoundingBox(NamedTuple):
    """Its middle in the shape's frame, and half of its sides [m]."""

    middle: Vec3
    half: Vec3


@lru_cache(maxsize=1024)
def box_about(shape: Shape) -> BoundingBox:
    """The box that holds a shape; of a plane, nothing."""
    sizes = sizes_of(shape)
    match shape:
        case Sphere():
            return BoundingBox(Vec3.zero(), Vec3(*sizes * 3))
        case Box() | Ellipsoid():
            return BoundingBox(Vec3.zero(), Vec3(*sizes))
        case Cylinder() | Cone():
            return BoundingBox(Vec3.zero(), Vec3(sizes[0], sizes[0], sizes[1]))
        case Capsule():
            return BoundingBox(Vec3.zero(), Vec3(sizes[0], sizes[0], sizes[0] + sizes[1]))
        case HeightField():
            top, bottom = float(shape.z * shape.heights.max()), -float(shape.base)
            half = Vec3(float(shape.x), float(shape.y), (top - bottom) / 2)
            return BoundingBox(Vec3(0.0, 0.0, (top + bottom) / 2), half)
        case _ if is_hull(shape):
            corners = corners_of(shape)
            low, high = corners.min(axis=0), corners.max(axis=0)
            return BoundingBox(Vec3(*((low + high) / 2).tolist()), Vec3(*((high - low) / 2).tolist()))
    return BoundingBox(Vec3.zero(), Vec3.zero())


def height_of_box(X_a: Transform, box: BoundingBox, X_b: Transform) -> Scalar:
    """How far a box is above the plane z = 0 of a frame, or below it."""
    n = axis(X_a, 2)
    across = X_b.rotation.T @ n
    reach = sum((half * absolute(x) for half, x in zip(box.half, across, strict=True)), start=0)
    return n.dot(X_b @ box.middle - X_a.position) - reach


def gap_of_boxes(a: BoundingBox, X_a: Transform, b: BoundingBox, X_b: Transform) -> Scalar:
    """Not more than the distance between two boxes, by the axes of both; less than zero where these do not tell them
    apart. Axes across two edges would tell it of one pair in thirty more of a robot's, for as many operations again."""
    to_a = X_a.rotation.T
    R = [list(line) for line in (to_a @ X_b.rotation).entries()]  # axes of b along those of a, as columns
    size = [[absolute(x) for x in line] for line in R]
    between = to_a @ (X_b @ b.middle - X_a @ a.middle)
    p, h, k = list(between), list(a.half), list(b.half)
    q = [sum((p[i] * R[i][j] for i in range(3)), start=0) for j in range(3)]
    gaps = [absolute(p[i]) - h[i] - sum((size[i][j] * k[j] for j in range(3)), start=0) for i in range(3)]
    gaps += [absolute(q[j]) - k[j] - sum((size[i][j] * h[i] for i in range(3)), start=0) for j in range(3)]
    largest = gaps[0]
    for gap in gaps[1:]:
        largest = maximum(largest, gap)
    return largest
