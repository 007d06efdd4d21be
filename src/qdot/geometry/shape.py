"""What every shape answers, and a shape placed somewhere in another frame.

A shape is a region B of space about a frame of its own, with or without mass. It answers
    volume()           ∫_B dV [m³],
    inertia()          its mass, first moment and rotational inertia about its frame,
    quadrature(order)  points r_k and weights w_k with ∫_B f dV = Σ w_k f(r_k),
    surface()          triangles to draw,
    at(...)            the same shape somewhere else,
    scaled(factor)     the same shape, larger or smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from qdot.algebra import Scalar, as_array
from qdot.errors import GeometryError
from qdot.geometry.quadrature import Floats, Rule
from qdot.geometry.surface import Surface
from qdot.spatial import Inertia, Transform, pose_problem


class Shape(ABC):
    """A region of space about its own frame; see the module's text for what its methods mean."""

    __slots__ = ()

    @abstractmethod
    def volume(self) -> Scalar:
        """∫_B dV [m³]."""

    @abstractmethod
    def inertia(self) -> Inertia:
        """Mass [kg], first moment [kg·m] and rotational inertia [kg·m²] about the frame; zero where none is given."""

    @abstractmethod
    def rules(self, order: int) -> Iterator[Rule]:
        """The rule of `quadrature` in parts of bounded size."""

    @abstractmethod
    def surface(self, resolution: int = 24) -> Surface:
        """Vertices [m], shape (n, 3), and faces, shape (m, 3), counterclockwise seen from outside.

        `resolution` is the number of segments around a round shape.
        """

    @abstractmethod
    def at(self, *pose: Any) -> Placed:
        """This shape placed in another frame: `at(x, y, z)` [m], or `at(transform)`."""

    @abstractmethod
    def scaled(self, factor: Scalar) -> Shape:
        """The same shape `factor` times as long in every direction, of the same stuff: masses grow with factor³."""

    def quadrature(self, order: int) -> Rule:
        """Points [m], shape (n, 3), and weights [m³], shape (n,), exact for polynomials of degree 2·order - 1."""
        points, weights = zip(*self.rules(order), strict=True)
        return np.concatenate(points), np.concatenate(weights)


@final
@dataclass(frozen=True, slots=True)
class Placed(Shape):
    """A shape in another frame A, at the pose X_AB of the shape's own frame B; itself a shape of A."""

    shape: Shape
    placement: Transform

    def __post_init__(self) -> None:
        problem = pose_problem(self.placement)
        if problem is not None:
            raise GeometryError(f"the place of {self.shape!r}: {problem}; scale the shape's dimensions, not its pose")

    def volume(self) -> Scalar:
        return self.shape.volume()

    def inertia(self) -> Inertia:
        return self.placement @ self.shape.inertia()

    def rules(self, order: int) -> Iterator[Rule]:
        for points, weights in self.shape.rules(order):
            yield self._moved(points), weights

    def surface(self, resolution: int = 24) -> Surface:
        vertices, faces = self.shape.surface(resolution)
        return self._moved(vertices), faces

    def at(self, *pose: Any) -> Placed:
        return Placed(self.shape, pose_of(*pose) @ self.placement)

    def scaled(self, factor: Scalar) -> Placed:
        X = self.placement
        return Placed(self.shape.scaled(factor), Transform(X.rotation, X.position * factor))

    def _moved(self, points: Floats) -> Floats:
        """R p + c of each row p."""
        R, c = as_array(self.placement.rotation), as_array(self.placement.position)
        if R.dtype == object or c.dtype == object:
            raise GeometryError(
                f"{self.shape!r} is placed by symbols, and points in space need numbers; substitute them first"
            )
        moved: Floats = points @ R.T + c
        return moved


def pose_of(*pose: Any) -> Transform:
    """The transform that people write as (x, y, z) [m] or as one transform, rotation or position."""
    if len(pose) == 3:
        return Transform.translation(*pose)
    if len(pose) == 1 and pose[0] is not None:
        return Transform.of(pose[0])
    raise GeometryError(f"a shape is placed by at(x, y, z) or at(transform), got at{pose!r}")
