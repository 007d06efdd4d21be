"""Triangulated surfaces for drawing: closed, with faces that turn counterclockwise seen from outside."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qdot.errors import GeometryError
from qdot.geometry.quadrature import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

Faces: TypeAlias = "NDArray[np.int64]"
Surface: TypeAlias = tuple[Floats, Faces]
"""Vertices [m], shape (n, 3), and the three vertex indices of each face, shape (m, 3)."""


def box(x: float, y: float, z: float) -> Surface:
    """The 12 triangles of a box of side lengths x, y, z [m]."""
    corners = np.array([[i, j, k] for k in (-0.5, 0.5) for j in (-0.5, 0.5) for i in (-0.5, 0.5)])
    quads = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    return corners * (x, y, z), np.array(faces, dtype=np.int64)


def segments(resolution: int) -> int:
    """The number of segments around an axis that a resolution means."""
    if not isinstance(resolution, (int, np.integer)) or resolution < 3:
        raise GeometryError(
            f"the resolution of a surface is its number of segments around, 3 or more, got {resolution!r}"
        )
    return int(resolution)


def arc(radius: float, start: float, end: float, count: int, height: float = 0.0) -> list[tuple[float, float]]:
    """Points (r, z) [m] on a circle about (0, height), from one latitude [rad] to another."""
    latitudes = np.linspace(start, end, count + 1)
    return [(radius * float(np.cos(a)), height + radius * float(np.sin(a))) for a in latitudes]


def revolved(profile: list[tuple[float, float]], resolution: int) -> Surface:
    """A profile of points (r, z) [m] turned about z; it starts and ends on the axis, and touches it nowhere else."""
    n, rings = segments(resolution), profile[1:-1]
    angles = 2 * pi / n * np.arange(n)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    poles = [[0.0, 0.0, profile[0][1]]], [[0.0, 0.0, profile[-1][1]]]
    layers = [np.column_stack([r * circle, np.full(n, z)]) for r, z in rings]
    vertices = np.concatenate([poles[0], *layers, poles[1]])
    i = np.arange(n)
    j = (i + 1) % n
    first, last, top = 1, 1 + n * (len(rings) - 1), len(vertices) - 1
    faces = [np.stack([np.zeros(n, dtype=np.int64), first + j, first + i], axis=1)]
    for low in range(first, last, n):
        high = low + n
        faces.append(np.stack([low + i, low + j, high + j], axis=1))
        faces.append(np.stack([low + i, high + j, high + i], axis=1))
    faces.append(np.stack([np.full(n, top), last + i, last + j], axis=1))
    return vertices, np.concatenate(faces).astype(np.int64)
