"""Unit quaternions (w, x, y, z), Hamilton's convention: R_AB as q_AB, so that q_AC = q_AB * q_BC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra.scalar import Scalar, maximum, sqrt, where
from qdot.algebra.vec import Mat3, Vec3
from qdot.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Quaternion:
    """w + x i + y j + z k."""

    w: Scalar
    x: Scalar
    y: Scalar
    z: Scalar

    holds_scalars: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None

    @staticmethod
    def identity() -> Quaternion:
        return Quaternion(1, 0, 0, 0)

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.w, self.x, self.y, self.z))

    @property
    def vector(self) -> Vec3:
        return Vec3(self.x, self.y, self.z)

    def __mul__(self, other: Quaternion) -> Quaternion:
        a, u, b, v = self.w, self.vector, other.w, other.vector
        return Quaternion(a * b - u.dot(v), *(v * a + u * b + u.cross(v)))

    def conjugate(self) -> Quaternion:
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    def __neg__(self) -> Quaternion:
        return Quaternion(-self.w, -self.x, -self.y, -self.z)

    def norm(self) -> Scalar:
        return sqrt(self.w * self.w + self.vector.dot(self.vector))

    def normalized(self) -> Quaternion:
        n = self.norm()
        return Quaternion(*(c / n for c in self))

    def rotation(self) -> Mat3:
        """The rotation matrix of a unit quaternion."""
        w, x, y, z = self
        x2, y2, z2 = x + x, y + y, z + z
        xx, yy, zz = x * x2, y * y2, z * z2
        xy, xz, yz = x * y2, x * z2, y * z2
        wx, wy, wz = w * x2, w * y2, w * z2
        return Mat3(
            Vec3(1 - (yy + zz), xy - wz, xz + wy),
            Vec3(xy + wz, 1 - (xx + zz), yz - wx),
            Vec3(xz - wy, yz + wx, 1 - (xx + yy)),
        )

    @staticmethod
    def from_rotation(R: Mat3) -> Quaternion:
        """The unit quaternion of a rotation matrix, w ≥ 0 where w is not zero.

        Each of the four entries is found once as a square root and three times by division; the largest one is taken
        as divisor (Shepperd 1978), so the result is accurate for every rotation, half turns included.
        """
        (a, b, c), (d, e, f), (g, h, i) = R.r0, R.r1, R.r2
        squares = (1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i)  # 4w², 4x², 4y², 4z²
        rows = (  # 4 wq, 4 xq, 4 yq, 4 zq for q = (w, x, y, z)
            (squares[0], h - f, c - g, d - b),
            (h - f, squares[1], b + d, c + g),
            (c - g, b + d, squares[2], f + h),
            (d - b, c + g, f + h, squares[3]),
        )
        largest = squares[0]
        chosen = rows[0]
        for square, row in zip(squares[1:], rows[1:], strict=True):
            larger = square > largest
            largest = maximum(largest, square)
            chosen = tuple(where(larger, x, y) for x, y in zip(row, chosen, strict=True))
        scale = where(chosen[0] < 0, -0.5, 0.5) / sqrt(largest)
        return Quaternion(*(x * scale for x in chosen))

    def entries(self) -> tuple[Scalar, ...]:
        return (self.w, self.x, self.y, self.z)
