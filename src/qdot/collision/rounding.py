"""The capsule about a shape: a quick bound on how near two shapes can be, tight for what is long and thin."""

from __future__ import annotations

from functools import lru_cache
from math import hypot
from typing import NamedTuple

import numpy as np

from qdot.algebra import Scalar, Vec3, maximum
from qdot.collision.capsules import PARALLEL, Segments
from qdot.collision.hulls import corners_of
from qdot.collision.narrow import sizes_of
from qdot.collision.vectors import clipped
from qdot.geometry import Box, Capsule, Cylinder, Ellipsoid, HeightField, Plane, Shape, Sphere


class Around(NamedTuple):
    """A ball of this radius [m], rolled to both sides by `half` [m] along an axis (0, 1 or 2) of the shape's frame."""

    radius: float
    axis: int
    half: float


@lru_cache(maxsize=1024)
def around(shape: Shape) -> Around | None:
    """The capsule that holds a shape, about its origin; none for a plane, which nothing holds, and for
    terrain, whose box is better."""
    match shape:
        case Plane() | HeightField():
            return None
        case Sphere():
            return Around(sizes_of(shape)[0], 2, 0.0)
        case Capsule() | Cylinder():
            return Around(sizes_of(shape)[0], 2, sizes_of(shape)[1])
        case Box() | Ellipsoid():
            sizes = sizes_of(shape)
            k = max(range(3), key=lambda i: sizes[i])
            across = [x for i, x in enumerate(sizes) if i != k]
            return Around(hypot(*across) if isinstance(shape, Box) else max(across), k, sizes[k])
        case _:
            corners = corners_of(shape)
            squares = [(np.delete(corners, k, axis=1) ** 2).sum(axis=1).max() for k in range(3)]
            found = [Around(float(squares[k] ** 0.5), k, float(abs(corners[:, k]).max())) for k in range(3)]
            return min(found, key=lambda a: a.radius * a.radius * (a.half + a.radius))


def gap(p: Vec3, u: Vec3, h: Scalar, c: Vec3, w: Vec3, k: Scalar) -> Scalar:
    """The square of the distance between two segments: p ± h u and c ± k w, u and w of unit length [m²]."""
    lines = Segments.of(p, u, h, c, w, k)
    x = clipped((lines.us - lines.uw * lines.ws) / maximum(1 - lines.uw * lines.uw, PARALLEL), h)
    y = lines.y_of(x)
    x = clipped(lines.uw * y + lines.us, h)  # of parallel segments, too: from any point by its nearest to the nearest
    between = (c + w * y) - (p + u * x)
    return between.dot(between)
