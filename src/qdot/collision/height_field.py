"""Terrain against convex shapes: prisms below the shape's footprint, one touch each.

Between four heights the top is two triangles; each is the lid of a prism that reaches down to the base. Those prisms
that lie below the box around the shape meet it one by one, as lanes of one convex narrow phase; this is MuJoCo's
scheme too. A shape wider than a cell touches several of them, which holds it up at all its corners.
"""

from __future__ import annotations

import numpy as np

from qdot.algebra import Vec3
from qdot.collision.convex import Nearest, nearest
from qdot.collision.support import Convex
from qdot.collision.terrain import prism
from qdot.collision.triangles import box_of, rows_within
from qdot.geometry import HeightField
from qdot.geometry.quadrature import Floats
from qdot.spatial import Transform


def field_convex_within(field: HeightField, X: Transform, other: Convex, limit: float) -> list[Nearest]:
    """All prisms nearer to a convex shape than a limit [m], each with its nearest points and the normal from it."""
    shape = other.at(X.inv().transform())
    lids = _lids_below(field, *box_of(shape), limit)
    if len(lids) == 0:
        return []
    a, b, c = (Vec3(*np.ascontiguousarray(lids[:, k].T)) for k in range(3))  # all prisms as lanes
    found = nearest(prism((a, b, c), -float(field.base)), shape)
    return [row.moved(X) for row in rows_within(found, limit)]


def _lids_below(field: HeightField, low: Floats, high: Floats, limit: float) -> Floats:
    """Corners of the lids that may come nearer to a box than a limit, shape (n, 3, 3)."""
    rows, columns = field.heights.shape
    half, cells = np.array([field.x, field.y], dtype=float), np.array([columns - 1, rows - 1])
    first = np.clip(np.floor((low[:2] - limit + half) / (2 * half) * cells), 0, cells).astype(int)
    last = np.clip(np.ceil((high[:2] + limit + half) / (2 * half) * cells), 0, cells).astype(int)
    x, y = (np.linspace(-h, h, n + 1)[i : j + 1] for h, n, i, j in zip(half, cells, first, last, strict=True))
    z = float(field.z) * field.heights[first[1] : last[1] + 1, first[0] : last[0] + 1]
    points = np.stack([*np.meshgrid(x, y), z], axis=-1)
    a, b, c, d = (points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1])
    lids = np.concatenate([np.stack(t, axis=-2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])
    reached = (lids[:, :, 2].max(axis=1) >= low[2] - limit) & (high[2] + limit >= -float(field.base))
    kept: Floats = lids[reached]
    return kept
