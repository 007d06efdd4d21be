"""Terrain: a grid of heights over a rectangle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, final

import numpy as np

from qdot.algebra import Scalar
from qdot.errors import GeometryError
from qdot.geometry import polyhedron
from qdot.geometry.quadrature import Floats, Rule
from qdot.geometry.shape import Placed, Shape, pose_of
from qdot.geometry.solid import require_real
from qdot.geometry.surface import Surface
from qdot.spatial import Inertia


@final
@dataclass(frozen=True, slots=True)
class HeightField(Shape):
    """Terrain over the rectangle |x| ≤ `x`, |y| ≤ `y` [m]; its top is at z · heights, its bottom at -base [m].

    Rows of `heights` run along y, columns along x, both upwards, two or more of each; between four neighbours the top
    is two triangles. It is ground, and carries no mass.
    """

    heights: Floats = field(compare=False, repr=False)
    x: Scalar
    y: Scalar
    z: Scalar
    base: Scalar
    digest: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            heights = np.asarray(self.heights, dtype=np.float64) + 0.0
        except (TypeError, ValueError) as error:
            raise GeometryError(f"the heights of a height field are rows of numbers: {error}") from error
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise GeometryError(
                "the heights of a height field are finite numbers, two or more rows and columns of them, got shape "
                f"{heights.shape}"
            )
        for name in ("x", "y", "z", "base"):
            require_real(getattr(self, name), f"the {name} of a height field", positive=name in "xy")
        frozen = np.frombuffer(heights.tobytes()).reshape(heights.shape)  # in memory that nobody can write to
        object.__setattr__(self, "heights", frozen)
        digest = blake2b(repr(heights.shape).encode() + heights.tobytes(), digest_size=16).digest()
        object.__setattr__(self, "digest", digest)

    def volume(self) -> float:
        return polyhedron.moments(*self.surface()).volume

    def inertia(self) -> Inertia:
        """Zero: terrain carries no mass."""
        return Inertia.zero()

    def rules(self, order: int) -> Iterator[Rule]:
        return polyhedron.rules(*self.surface(), order)

    def surface(self, resolution: int = 24) -> Surface:
        rows, columns = self.heights.shape
        x, y = np.linspace(-self.x, self.x, columns), np.linspace(-self.y, self.y, rows)
        ground = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        top = np.column_stack([ground, self.z * self.heights.reshape(-1)])
        bottom = np.column_stack([ground, np.full(len(ground), -float(self.base))])
        index = np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = (g.reshape(-1) for g in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
        lid = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
        rim = np.concatenate([index[0, :-1], index[:-1, -1], index[-1, :0:-1], index[:0:-1, 0]])  # counterclockwise
        after, below = np.roll(rim, -1), len(ground)
        walls = [np.stack([rim + below, after + below, after], axis=1), np.stack([rim + below, after, rim], axis=1)]
        return np.concatenate([top, bottom]), np.concatenate([lid, lid[:, ::-1] + below, *walls])

    def at(self, *pose: Any) -> Placed:
        return Placed(self, pose_of(*pose))

    def scaled(self, factor: Scalar) -> HeightField:
        return HeightField(self.heights, *(getattr(self, name) * factor for name in ("x", "y", "z", "base")))

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        # Made anew, for unpickled arrays could be written to.
        return partial(HeightField, self.heights, self.x, self.y, self.z, self.base), ()
