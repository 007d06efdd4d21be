"""Subspaces of motions and of forces by their columns: the matrices S and T of a joint (F9–F12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from qdot.algebra import Scalar, Scalars, map_scalars
from qdot.spatial.vectors import Force, Motion

if TYPE_CHECKING:
    from qdot.spatial.transform import Transform

V = TypeVar("V", Motion, Force)


@dataclass(frozen=True, slots=True)
class Basis(Generic[V]):
    """Columns of one kind: `S @ alpha` combines them, `S.T @ f` are their products with a vector of the dual space."""

    columns: tuple[V, ...]
    kind: type[V]

    @staticmethod
    def motions(*columns: Motion) -> Basis[Motion]:
        return Basis(columns, Motion)

    @staticmethod
    def forces(*columns: Force) -> Basis[Force]:
        return Basis(columns, Force)

    def __matmul__(self, coefficients: Scalars) -> V:
        terms = [column * c for column, c in zip(self.columns, coefficients, strict=True)]
        if not terms:
            return self.kind.zero()
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    @property
    def T(self) -> Transposed:
        return Transposed(self.columns)

    def __iter__(self) -> Iterator[V]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def outward(self, X: Transform) -> Basis[V]:
        return Basis(tuple(column.outward(X) for column in self.columns), self.kind)

    def inward(self, X: Transform) -> Basis[V]:
        return Basis(tuple(column.inward(X) for column in self.columns), self.kind)

    def map_scalars(self, f: Callable[[Scalar], Any]) -> Basis[V]:
        return Basis(map_scalars(f, self.columns), self.kind)

    def entries(self) -> tuple[tuple[Scalar, ...], ...]:
        """The 6 × n matrix, by rows."""
        return tuple(zip(*(s.entries() for s in self.columns), strict=True)) if self.columns else ((),) * 6


@dataclass(frozen=True, slots=True)
class Transposed:
    """Sᵀ or Tᵀ."""

    columns: tuple[Any, ...]

    def __matmul__(self, other: Motion | Force) -> list[Scalar]:
        return [column.dot(other) for column in self.columns]
