"""A mesh that stays in its file until somebody asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Any, final

from qdot.algebra import Scalar
from qdot.errors import GeometryError
from qdot.geometry.mesh import Mesh
from qdot.geometry.quadrature import Rule
from qdot.geometry.solid import Solid
from qdot.geometry.surface import Surface
from qdot.spatial import Inertia

UNSCALED = (1.0, 1.0, 1.0)


@final
@dataclass(frozen=True, slots=True, repr=False)
class MeshFile(Solid):
    """The mesh in a file at `path`, in meters times `scale`: one factor, or one per axis.

    The file is read when volume, inertia, surface or an integral is asked for, and once only. Two are equal when path
    and scale are: what the file holds is not looked at.
    """

    path: str
    scale: Any = UNSCALED
    _loaded: Mesh | None = field(default=None, init=False, repr=False, compare=False)

    def mesh(self) -> Mesh:
        """The mesh itself; a `GeometryError` where the file is missing or cannot be read."""
        if self._loaded is None:
            object.__setattr__(self, "_loaded", Mesh.load(self.path, self.scale))
        assert self._loaded is not None
        return self._loaded

    def volume(self) -> Scalar:
        return self.mesh().volume()

    def uniform(self, mass: Scalar) -> Inertia:
        return self.mesh().uniform(mass)

    def rules(self, order: int) -> Iterator[Rule]:
        return self.mesh().rules(order)

    def surface(self, resolution: int = 24) -> Surface:
        return self.mesh().surface(resolution)

    def _settle(self) -> None:
        if not isinstance(self.path, str):
            object.__setattr__(self, "path", os.fspath(self.path))
        if self.scale is UNSCALED:
            return
        try:
            factors = tuple(map(float, self.scale))
        except TypeError:
            factors = _one_for_all(self.scale)
        except ValueError:
            factors = ()
        if len(factors) != 3 or not all(isfinite(x) and x != 0 for x in factors):
            raise GeometryError(
                f"mesh file {self.path!r}: scale must be one number or three, finite and not zero, got {self.scale!r}"
            )
        object.__setattr__(self, "scale", factors)

    def _lengths(self, factor: Scalar) -> dict[str, Any]:
        return {"scale": tuple(x * factor for x in self.scale)}

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        # Without what was loaded: whoever unpickles it may never ask.
        return partial(MeshFile, self.path, self.scale, mass=self.mass, density=self.density), ()


def _one_for_all(scale: Any) -> tuple[float, ...]:
    try:
        return (float(scale),) * 3
    except (TypeError, ValueError):
        return ()
