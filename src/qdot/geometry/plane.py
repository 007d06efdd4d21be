"""The ground: everything below a plane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Never, final

import numpy as np

from qdot.algebra import Scalar
from qdot.errors import GeometryError
from qdot.geometry.quadrature import Rule
from qdot.geometry.shape import Placed, Shape, pose_of
from qdot.geometry.solid import require_real
from qdot.geometry.surface import Surface
from qdot.spatial import Inertia

_DRAWN = 10.0
"""Half of the side that is drawn of a plane without end [m]."""


@final
@dataclass(frozen=True, slots=True)
class Plane(Shape):
    """The half space z ≤ 0. It has no end, but is drawn as a rectangle of half sides x, y [m]; 0 means far."""

    x: Scalar = 0
    y: Scalar = 0

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            require_real(getattr(self, name), f"half the side {name} of {self!r}", positive=False)

    def volume(self) -> Never:
        raise self._endless("volume")

    def inertia(self) -> Inertia:
        """Zero: a plane is the ground and carries no mass."""
        return Inertia.zero()

    def rules(self, order: int) -> Iterator[Rule]:
        raise self._endless("integral")

    def surface(self, resolution: int = 24) -> Surface:
        x, y = (float(side) or _DRAWN for side in (self.x, self.y))
        corners = np.array([[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]])
        return corners, np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int64)

    def at(self, *pose: Any) -> Placed:
        return Placed(self, pose_of(*pose))

    def scaled(self, factor: Scalar) -> Plane:
        return Plane(self.x * factor, self.y * factor)

    def _endless(self, what: str) -> GeometryError:
        return GeometryError(f"{self!r} has no {what}: it is a half space without end; take a Box for a slab")
