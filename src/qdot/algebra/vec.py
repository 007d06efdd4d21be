"""Vectors and matrices of three, over any scalar: Vec3, Mat3, and Sym3 for symmetric matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from qdot.algebra.scalar import Scalar, is_number, plain, scalar_problem, sqrt
from qdot.errors import ValueShapeError
from qdot.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Vec3:
    """(x, y, z)."""

    x: Scalar
    y: Scalar
    z: Scalar

    holds_scalars: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None  # lanes * vector is ours to compute, not NumPy's

    @staticmethod
    def zero() -> Vec3:
        return Vec3(0, 0, 0)

    @staticmethod
    def of(values: Vec3 | Iterable[Scalar]) -> Vec3:
        """A Vec3 from any three numbers."""
        if isinstance(values, Vec3):
            return values
        entries = () if isinstance(values, (str, dict)) or not np.iterable(values) else tuple(plain(x) for x in values)
        if len(entries) != 3 or getattr(values, "ndim", 1) != 1:
            raise ValueShapeError(f"a vector of 3 numbers was expected, got {values!r}")
        for x in entries:
            problem = scalar_problem(x)
            if problem is not None and not (is_number(x) or isinstance(x, np.ndarray)):
                raise ValueShapeError(f"a vector of 3 numbers was expected, got {values!r}: {problem}")
        return Vec3(*entries)

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, s: Scalar) -> Vec3:
        return Vec3(self.x * s, self.y * s, self.z * s)

    def __rmul__(self, s: Scalar) -> Vec3:
        return self * s

    def __truediv__(self, s: Scalar) -> Vec3:
        return Vec3(self.x / s, self.y / s, self.z / s)

    def dot(self, other: Vec3) -> Scalar:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def norm(self) -> Scalar:
        return sqrt(self.dot(self))

    def outer(self, other: Vec3) -> Mat3:
        """The matrix a bᵀ."""
        return Mat3(other * self.x, other * self.y, other * self.z)

    def skew(self) -> Mat3:
        """The matrix r̃ with r̃ b = r × b (T3)."""
        return Mat3(
            Vec3(0, -self.z, self.y),
            Vec3(self.z, 0, -self.x),
            Vec3(-self.y, self.x, 0),
        )

    def entries(self) -> tuple[Scalar, ...]:
        return (self.x, self.y, self.z)


@quick
@dataclass(frozen=True, slots=True)
class Mat3:
    """A 3 × 3 matrix by its rows."""

    r0: Vec3
    r1: Vec3
    r2: Vec3

    holds_scalars: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None

    @staticmethod
    def identity() -> Mat3:
        return Mat3(Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1))

    @staticmethod
    def zero() -> Mat3:
        return Mat3(Vec3.zero(), Vec3.zero(), Vec3.zero())

    @staticmethod
    def of(rows: Iterable[Iterable[Scalar]]) -> Mat3:
        """A Mat3 from three rows of three numbers."""
        vectors = tuple(Vec3.of(tuple(row)) for row in rows)
        if len(vectors) != 3:
            raise ValueShapeError(f"a matrix of 3 rows was expected, got {len(vectors)}")
        return Mat3(*vectors)

    @property
    def T(self) -> Mat3:
        a, b, c = self.r0, self.r1, self.r2
        return Mat3(Vec3(a.x, b.x, c.x), Vec3(a.y, b.y, c.y), Vec3(a.z, b.z, c.z))

    def __add__(self, other: Mat3) -> Mat3:
        return Mat3(self.r0 + other.r0, self.r1 + other.r1, self.r2 + other.r2)

    def __sub__(self, other: Mat3) -> Mat3:
        return Mat3(self.r0 - other.r0, self.r1 - other.r1, self.r2 - other.r2)

    def __neg__(self) -> Mat3:
        return Mat3(-self.r0, -self.r1, -self.r2)

    def __mul__(self, s: Scalar) -> Mat3:
        return Mat3(self.r0 * s, self.r1 * s, self.r2 * s)

    def __truediv__(self, s: Scalar) -> Mat3:
        return Mat3(self.r0 / s, self.r1 / s, self.r2 / s)

    def __rmul__(self, s: Scalar) -> Mat3:
        return self * s

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Mat3) -> Mat3: ...
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vec3):
            return Vec3(self.r0.dot(other), self.r1.dot(other), self.r2.dot(other))
        if isinstance(other, Mat3):
            columns = other.T
            return Mat3(columns @ self.r0, columns @ self.r1, columns @ self.r2)
        return NotImplemented

    def twist(self) -> Vec3:
        """What of it is not symmetric, as a vector; of a rotation, its axis times twice the sine of its angle."""
        return Vec3(self.r2.y - self.r1.z, self.r0.z - self.r2.x, self.r1.x - self.r0.y)

    def entries(self) -> tuple[tuple[Scalar, ...], ...]:
        return (self.r0.entries(), self.r1.entries(), self.r2.entries())


@quick
@dataclass(frozen=True, slots=True)
class Sym3:
    """A symmetric 3 × 3 matrix by its six numbers."""

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yy: Scalar
    yz: Scalar
    zz: Scalar

    holds_scalars: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None

    @staticmethod
    def zero() -> Sym3:
        return Sym3(0, 0, 0, 0, 0, 0)

    @staticmethod
    def diagonal(x: Scalar, y: Scalar, z: Scalar) -> Sym3:
        return Sym3(x, 0, 0, y, 0, z)

    @staticmethod
    def upper(m: Mat3) -> Sym3:
        """The upper triangle of a matrix known to be symmetric."""
        return Sym3(m.r0.x, m.r0.y, m.r0.z, m.r1.y, m.r1.z, m.r2.z)

    @staticmethod
    def square(r: Vec3) -> Sym3:
        """The matrix r rᵀ."""
        return Sym3(r.x * r.x, r.x * r.y, r.x * r.z, r.y * r.y, r.y * r.z, r.z * r.z)

    def full(self) -> Mat3:
        return Mat3(Vec3(self.xx, self.xy, self.xz), Vec3(self.xy, self.yy, self.yz), Vec3(self.xz, self.yz, self.zz))

    def trace(self) -> Scalar:
        return self.xx + self.yy + self.zz

    def __add__(self, other: Sym3) -> Sym3:
        return Sym3(
            self.xx + other.xx,
            self.xy + other.xy,
            self.xz + other.xz,
            self.yy + other.yy,
            self.yz + other.yz,
            self.zz + other.zz,
        )

    def __sub__(self, other: Sym3) -> Sym3:
        return Sym3(
            self.xx - other.xx,
            self.xy - other.xy,
            self.xz - other.xz,
            self.yy - other.yy,
            self.yz - other.yz,
            self.zz - other.zz,
        )

    def __neg__(self) -> Sym3:
        return Sym3(-self.xx, -self.xy, -self.xz, -self.yy, -self.yz, -self.zz)

    def __mul__(self, s: Scalar) -> Sym3:
        return Sym3(self.xx * s, self.xy * s, self.xz * s, self.yy * s, self.yz * s, self.zz * s)

    def __rmul__(self, s: Scalar) -> Sym3:
        return self * s

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Mat3) -> Mat3: ...
    def __matmul__(self, other: Any) -> Any:
        return self.full() @ other

    def congruence(self, A: Mat3) -> Sym3:
        """A I Aᵀ."""
        I = self.full()
        a, b, c = I @ A.r0, I @ A.r1, I @ A.r2  # the rows of A I, for I is its own transpose
        return Sym3(a.dot(A.r0), a.dot(A.r1), a.dot(A.r2), b.dot(A.r1), b.dot(A.r2), c.dot(A.r2))

    def six(self) -> tuple[Scalar, ...]:
        """(xx, xy, xz, yy, yz, zz)."""
        return (self.xx, self.xy, self.xz, self.yy, self.yz, self.zz)

    def entries(self) -> tuple[tuple[Scalar, ...], ...]:
        return self.full().entries()


def steiner(c: Vec3, m: Scalar = 1) -> Sym3:
    """-m c̃ c̃ = m ((c·c) 1 - c cᵀ): what the parallel-axis theorem adds for a mass at c."""
    x, y, z = c.x, c.y, c.z
    xx, yy, zz = x * x, y * y, z * z
    return Sym3((yy + zz) * m, -(x * y) * m, -(x * z) * m, (xx + zz) * m, -(y * z) * m, (xx + yy) * m)
