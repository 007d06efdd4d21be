"""Surfaces as files that a text refers to: OBJ, whose decimals keep every vertex as it is."""

from __future__ import annotations

import re
from pathlib import Path

from qdot.errors import ModelError
from qdot.formats.chains import compose
from qdot.formats.written import Names, number
from qdot.geometry import Placed, Shape
from qdot.geometry.surface import Surface
from qdot.spatial import IDENTITY, Transform

RESOLUTION = 48
"""Segments around a round shape that is written as triangles."""


class Meshes:
    """The files of a model; equal shapes share one."""

    def __init__(self, model: str) -> None:
        self.assets: dict[str, bytes] = {}
        self._prefix = model
        self._names = Names()
        self._files: dict[Shape, str] = {}
        self._copies: dict[str, str] = {}

    def file_of(self, shape: Shape, owner: str) -> str:
        """The name of the file with the surface of a shape, written now if there is none yet."""
        if shape not in self._files:
            self._files[shape] = self._keep(obj(shape.surface(RESOLUTION)), owner, ".obj")
        return self._files[shape]

    def address(self, path: str, copy: bool, scheme: str = "") -> str:
        """What to call a file: its copy, its absolute path, or as it was called where it cannot be found."""
        if copy:
            return self.copy_of(path)
        return f"{scheme}{Path(path).absolute()}" if Path(path).exists() else path

    def copy_of(self, path: str) -> str:
        """The name of a copy of a file."""
        if path not in self._copies:
            try:
                content = Path(path).read_bytes()
            except OSError as error:
                raise ModelError(f"mesh file {path!r} cannot be copied ({error}); refer to it instead") from None
            self._copies[path] = self._keep(content, Path(path).stem, Path(path).suffix)
        return self._copies[path]

    def _keep(self, content: bytes, owner: str, ending: str) -> str:
        stem = re.sub(r"[^\w.-]+", "_", f"{self._prefix}_{owner}")
        name = f"{self._names.free(stem)}{ending}"
        self.assets[name] = content
        return name


def bare(shape: Shape) -> tuple[Shape, Transform]:
    """A shape about its own frame, and the pose of that frame."""
    pose = IDENTITY
    while isinstance(shape, Placed):
        pose, shape = compose(pose, shape.placement), shape.shape
    return shape, pose


def obj(surface: Surface) -> bytes:
    """A surface as an OBJ file."""
    vertices, faces = surface
    lines = [f"v {number(x)} {number(y)} {number(z)}" for x, y, z in vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()]
    return ("\n".join(lines) + "\n").encode()
