"""Triangles from a file, through trimesh: STL, OBJ, PLY, GLB, OFF, and with pycollada DAE."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from qdot.errors import GeometryError
from qdot.geometry.quadrature import Floats
from qdot.geometry.surface import Faces


def read_triangles(path: str | os.PathLike[str], scale: Any) -> tuple[Floats, Faces]:
    """Vertices [m] times the scale (one factor, or one per axis) and faces; vertices in the same place are merged."""
    factors = _factors(path, scale)
    vertices, faces = _read(Path(path))
    vertices, place = np.unique(vertices, axis=0, return_inverse=True)
    faces = place.reshape(-1)[faces]
    if np.prod(factors) < 0:  # a mirror turns every face inside out
        faces = faces[:, ::-1]
    return vertices * factors, faces


def _factors(path: str | os.PathLike[str], scale: Any) -> Floats:
    try:
        factors = np.broadcast_to(np.asarray(scale, dtype=np.float64), (3,))
    except (TypeError, ValueError):
        factors = np.zeros(3)
    if not np.isfinite(factors).all() or (factors == 0).any():
        raise GeometryError(
            f"mesh file {str(path)!r}: scale must be one number or three, finite and not zero, got {scale!r}"
        )
    return factors


def _read(path: Path) -> tuple[Floats, Faces]:
    if not path.is_file():
        raise GeometryError(
            f"mesh file {str(path)!r} does not exist; give an absolute path, or one from {str(Path.cwd())!r}"
        )
    import trimesh

    try:
        loaded: Any = trimesh.load(path, force="mesh", process=False)
        vertices = np.asarray(loaded.vertices, dtype=np.float64)
        faces = np.asarray(loaded.faces, dtype=np.int64)
    except Exception as error:  # a reader of some format may raise anything on a broken file
        raise GeometryError(
            f"mesh file {str(path)!r} cannot be read ({type(error).__name__}: {error}); convert it to STL, OBJ or PLY, "
            "or install the package that reads its format (pip install 'qdot[dae]' for .dae)"
        ) from error
    if len(faces) == 0:
        raise GeometryError(
            f"mesh file {str(path)!r} holds no triangles; export it as a surface, not as points or lines"
        )
    return vertices, faces
