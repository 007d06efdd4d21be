"""Transform X_AB: the pose of frame B in frame A, and the map that takes coordinates from B to A.

`X_AB @ x` takes anything written in B (a point, a motion, a force, an inertia, another pose) to A;
`X_AB.inv() @ x` takes it from A to B, without forming the inverse.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Protocol, TypeVar, overload

from qdot.algebra import Mat3, Quaternion, Scalar, Vec3, cos, is_number, scalar_problem, scalars_in, sin
from qdot.errors import ValueShapeError
from qdot.quick import quick

C = TypeVar("C", bound="Carried")


class Carried(Protocol):
    """What a transform carries between frames: its coordinates in the outer frame A or the inner frame B of X_AB."""

    def outward(self: C, X: Transform) -> C: ...

    def inward(self: C, X: Transform) -> C: ...


@quick
@dataclass(frozen=True, slots=True)
class Transform:
    """X_AB: rotation R_AB, and position of B's origin in A [m]."""

    rotation: Mat3
    position: Vec3

    holds_scalars: ClassVar[bool] = True

    @staticmethod
    def identity() -> Transform:
        return Transform(Mat3.identity(), Vec3.zero())

    @staticmethod
    def translation(x: Scalar, y: Scalar, z: Scalar) -> Transform:
        return Transform(Mat3.identity(), Vec3(x, y, z))

    @staticmethod
    def about(axis: Vec3, angle: Scalar) -> Transform:
        """A turn by `angle` [rad] about a unit axis through the origin."""
        return Transform(axis_rotation(axis, angle), Vec3.zero())

    @staticmethod
    def rpy(roll: Scalar, pitch: Scalar, yaw: Scalar, position: Iterable[Scalar] = (0, 0, 0)) -> Transform:
        """Roll about x, then pitch about y, then yaw about z, axes fixed (the URDF convention): Rz Ry Rx."""
        cr, sr, cp, sp, cy, sy = cos(roll), sin(roll), cos(pitch), sin(pitch), cos(yaw), sin(yaw)
        R = Mat3(
            Vec3(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            Vec3(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            Vec3(0 - sp, cp * sr, cp * cr),  # not -sp: zero would become -0.0
        )
        return Transform(R, Vec3.of(position))

    @staticmethod
    def of(value: Transform | Quaternion | Iterable[Scalar] | None) -> Transform:
        """A transform from what people write: a transform, a rotation, a position (x, y, z), or nothing."""
        if value is None:
            return Transform.identity()
        if isinstance(value, Transform):
            return value
        if isinstance(value, Quaternion):
            X = Transform(value.rotation(), Vec3.zero())
            square = value.norm() ** 2
            if is_number(square) and not abs(square - 1) < 1e-6:
                raise ValueShapeError(f"a pose by a quaternion needs one of unit length, got {value!r}; normalize it")
            return X
        try:
            return Transform(Mat3.identity(), Vec3.of(value))
        except ValueShapeError:
            raise ValueShapeError(
                f"a pose is a qdot.spatial.Transform or a position (x, y, z), got {value!r}"
            ) from None

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: C) -> C: ...
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vec3):
            return self.rotation @ other + self.position
        return other.outward(self)

    def inv(self) -> Inverse:
        return Inverse(self)

    def outward(self, X: Transform) -> Transform:
        return Transform(X.rotation @ self.rotation, X.rotation @ self.position + X.position)

    def inward(self, X: Transform) -> Transform:
        R_T = X.rotation.T
        return Transform(R_T @ self.rotation, R_T @ (self.position - X.position))

    def quaternion(self) -> Quaternion:
        return Quaternion.from_rotation(self.rotation)

    def entries(self) -> tuple[tuple[Scalar, ...], ...]:
        """The homogeneous 4 × 4 matrix, by rows."""
        R, p = self.rotation, self.position
        return ((*R.r0, p.x), (*R.r1, p.y), (*R.r2, p.z), (0, 0, 0, 1))


IDENTITY = Transform.identity()
"""No turn and no shift."""


@quick
@dataclass(frozen=True, slots=True)
class Inverse:
    """X_BA, seen through X_AB."""

    of: Transform

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: C) -> C: ...
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vec3):
            return self.of.rotation.T @ (other - self.of.position)
        return other.inward(self.of)

    def transform(self) -> Transform:
        """The inverse as a transform of its own."""
        R_T = self.of.rotation.T
        return Transform(R_T, -(R_T @ self.of.position))


def axis_rotation(axis: Vec3, angle: Scalar) -> Mat3:
    """The rotation by an angle about a unit axis, R = c 1 + s ã + (1 - c) a aᵀ (Rodrigues)."""
    c, s = cos(angle), sin(angle)
    x, y, z = axis
    # Along a coordinate axis the general formula would only add zeros: written out, the result stays exact.
    along = tuple(axis) if all(is_number(k) for k in axis) else None
    if along == (1, 0, 0):
        return Mat3(Vec3(1, 0, 0), Vec3(0, c, -s), Vec3(0, s, c))
    if along == (0, 1, 0):
        return Mat3(Vec3(c, 0, s), Vec3(0, 1, 0), Vec3(-s, 0, c))
    if along == (0, 0, 1):
        return Mat3(Vec3(c, -s, 0), Vec3(s, c, 0), Vec3(0, 0, 1))
    d = 1 - c
    return Mat3(
        Vec3(c + d * (x * x), d * (x * y) - s * z, d * (x * z) + s * y),
        Vec3(d * (x * y) + s * z, c + d * (y * y), d * (y * z) - s * x),
        Vec3(d * (x * z) - s * y, d * (y * z) + s * x, c + d * (z * z)),
    )


def pose_problem(X: Any) -> str | None:
    """What keeps X from being a pose, in words; None for one that is, or that has symbols in it."""
    if not isinstance(X, Transform):
        return f"a pose is a qdot.spatial.Transform, got {X!r}"
    if _is_plainly_a_pose(X):
        return None
    for x in scalars_in(X):
        problem = scalar_problem(x)
        if problem is not None:
            return f"its pose has an entry that cannot be: {problem}"
    error = rotation_error(X.rotation)
    if error > ROTATION_TOLERANCE:
        cause = "mirrors space" if error == 2.0 else f"is off by {error:.1e}"
        return (
            f"the rotation of its pose is not a rotation matrix ({cause}); its columns must be a right-handed set of "
            "unit vectors: make it with Transform.about, Transform.rpy or a unit Quaternion"
        )
    return None


def _is_plainly_a_pose(X: Transform) -> bool:
    """Whether X is of floats and surely a pose; files hold thousands, so the numbers are written out."""
    R, p = X.rotation, X.position
    x, y, z = p.x, p.y, p.z
    for entry in (x, y, z):
        if type(entry) is not float and type(entry) is not int:
            return False
    if R is IDENTITY.rotation:  # that of most poses in a file
        return isfinite(x + y + z)
    a, b, c, d, e, f, g, h, i = R.r0.x, R.r0.y, R.r0.z, R.r1.x, R.r1.y, R.r1.z, R.r2.x, R.r2.y, R.r2.z
    for entry in (a, b, c, d, e, f, g, h, i):
        if type(entry) is not float and type(entry) is not int:
            return False
    tolerance = ROTATION_TOLERANCE / 2
    return (
        abs(a * a + d * d + g * g - 1) < tolerance
        and abs(b * b + e * e + h * h - 1) < tolerance
        and abs(c * c + f * f + i * i - 1) < tolerance
        and abs(a * b + d * e + g * h) < tolerance
        and abs(a * c + d * f + g * i) < tolerance
        and abs(b * c + e * f + h * i) < tolerance
        and (b * f - c * e) * g + (c * d - a * f) * h + (a * e - b * d) * i > 0
        and isfinite(x + y + z)
    )


ROTATION_TOLERANCE = 1e-6
"""Of RᵀR - 1: a file's decimals pass, a scaled or mirrored frame does not."""


def rotation_error(R: Mat3) -> float:
    """How far a numeric matrix is from a rotation: the largest entry of |RᵀR - 1|, or 2 for a reflection."""
    if not all(is_number(x) for x in scalars_in(R)):
        return 0.0
    deviation = (R.T @ R) - Mat3.identity()
    if R.r0.cross(R.r1).dot(R.r2) < 0:
        return 2.0
    return max(abs(float(x)) for x in scalars_in(deviation))
