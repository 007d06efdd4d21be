"""Spatial vectors (Featherstone, RBDA 2008, ch. 2): motions and forces live in dual spaces, so they are two types.

Both hold their angular part first and refer to the origin of the frame they are written in. `v.cross(x)` is the
motion cross product v × for a motion x and the force cross product v ×* for a force x.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, final, overload

from qdot.algebra import Scalar, Vec3, plain
from qdot.errors import ValueShapeError
from qdot.quick import quick

if TYPE_CHECKING:
    from qdot.spatial.transform import Transform


@quick
@dataclass(frozen=True, slots=True)
class SpatialVector:
    """An angular and a linear part: what motions and forces have in common, which is to add and to scale."""

    ang: Vec3
    lin: Vec3

    holds_scalars: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None  # lanes * vector is ours to compute, not NumPy's

    @classmethod
    def zero(cls) -> Self:
        return cls(Vec3.zero(), Vec3.zero())

    @classmethod
    def of(cls, six: Self | Iterable[Scalar]) -> Self:
        """From six numbers: angular x, y, z, then linear x, y, z."""
        return six if isinstance(six, cls) else cls(*_halves(six))

    def __iter__(self) -> Iterator[Scalar]:
        return iter((*self.ang, *self.lin))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.ang + other.ang, self.lin + other.lin)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.ang - other.ang, self.lin - other.lin)

    def __neg__(self) -> Self:
        return type(self)(-self.ang, -self.lin)

    def __mul__(self, s: Scalar) -> Self:
        return type(self)(self.ang * s, self.lin * s)

    def __rmul__(self, s: Scalar) -> Self:
        return self * s

    def entries(self) -> tuple[Scalar, ...]:
        return (*self.ang, *self.lin)


@final
@quick
@dataclass(frozen=True, slots=True)
class Motion(SpatialVector):
    """A velocity or acceleration (ω, v): angular [rad/s], and linear of the body point at the origin [m/s]."""

    def dot(self, f: Force) -> Scalar:
        """Power v · f [W]."""
        return self.ang.dot(f.ang) + self.lin.dot(f.lin)

    @overload
    def cross(self, other: Motion) -> Motion: ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: Any) -> Any:
        """v × m for a motion, v ×* f for a force (F8)."""
        w, v = self.ang, self.lin
        if isinstance(other, Motion):
            return Motion(w.cross(other.ang), w.cross(other.lin) + v.cross(other.ang))
        return Force(w.cross(other.ang) + v.cross(other.lin), w.cross(other.lin))

    def at(self, point: Vec3) -> Motion:
        """The same motion referred to another point of the frame: v_P = v_O + ω × OP (T1)."""
        return Motion(self.ang, self.lin + self.ang.cross(point))

    def outward(self, X: Transform) -> Motion:
        w = X.rotation @ self.ang
        return Motion(w, X.rotation @ self.lin + X.position.cross(w))

    def inward(self, X: Transform) -> Motion:
        R_T = X.rotation.T
        return Motion(R_T @ self.ang, R_T @ (self.lin - X.position.cross(self.ang)))


@final
@quick
@dataclass(frozen=True, slots=True)
class Force(SpatialVector):
    """A force or momentum (n, f): moment about the origin [N·m], and linear force [N]."""

    def dot(self, v: Motion) -> Scalar:
        """Power f · v [W]."""
        return v.dot(self)

    def at(self, point: Vec3) -> Force:
        """The same wrench with its moment about another point: n_P = n_O - OP × f (T2)."""
        return Force(self.ang - point.cross(self.lin), self.lin)

    def outward(self, X: Transform) -> Force:
        f = X.rotation @ self.lin
        return Force(X.rotation @ self.ang + X.position.cross(f), f)

    def inward(self, X: Transform) -> Force:
        R_T = X.rotation.T
        return Force(R_T @ (self.ang - X.position.cross(self.lin)), R_T @ self.lin)


def _halves(six: Iterable[Scalar]) -> tuple[Vec3, Vec3]:
    entries = tuple(plain(x) for x in six)
    if len(entries) != 6:
        raise ValueShapeError(
            f"a spatial vector has 6 entries (angular x, y, z, then linear x, y, z), got {len(entries)}: {entries!r}"
        )
    return Vec3(*entries[:3]), Vec3(*entries[3:])
