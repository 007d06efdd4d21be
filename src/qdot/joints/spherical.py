"""A ball in a socket: any rotation."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

from qdot.algebra import Quaternion, Scalar, Scalars, Vec3, sqrt, where
from qdot.algebra.lie import exp_so3, log_so3
from qdot.joints.base import Joint, Limits, LimitsLike, limits_of, set_fields
from qdot.spatial import Basis, Motion, Transform


@dataclass(frozen=True, slots=True, init=False)
class Spherical(Joint):
    """q is the unit quaternion (w, x, y, z) of R_JB; v is the angular velocity in the body's coordinates [rad/s].

    `limits` bound the angle of the rotation, e.g. (0, 1.2).
    """

    limits: Limits

    nq = 4
    nv = 3

    def __init__(self, *, limits: LimitsLike = None) -> None:
        set_fields(self, limits=limits_of(limits, "spherical", 1, 3))

    def transform(self, q: Scalars) -> Transform:
        return Transform(Quaternion(*q).rotation(), Vec3.zero())

    def subspace(self, q: Scalars) -> Basis[Motion]:
        axes = (Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1))
        return Basis.motions(*(Motion(e, Vec3.zero()) for e in axes))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def retract(self, q: Scalars, dv: Scalars) -> list[Scalar]:
        return list(Quaternion(*q) * exp_so3(Vec3(*dv)))

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return list(log_so3(Quaternion(*q0).conjugate() * Quaternion(*q1)))

    def bracket(self, u: Scalars, w: Scalars) -> list[Scalar]:
        return list(Vec3(*u).cross(Vec3(*w)))

    def rate(self, q: Scalars, v: Scalars) -> list[Scalar]:
        half = (x / 2 for x in v)
        return list(Quaternion(*q) * Quaternion(0, *half))

    def neutral(self) -> list[float]:
        return [1.0, 0.0, 0.0, 0.0]

    def normalized(self, q: Scalars) -> list[Scalar]:
        return list(Quaternion(*q).normalized())

    def limited(self, q: Scalars) -> list[Scalar]:
        return [log_so3(Quaternion(*q)).norm()]

    def limited_gradients(self, q: Scalars) -> list[list[Scalar]]:
        """The angle grows at the rate at which the body turns about its axis."""
        turn = log_so3(Quaternion(*q))
        square = turn.dot(turn)
        return [list(turn / sqrt(where(square > 0, square, 1)))]

    def coordinates_at(self, X: Transform) -> list[Scalar]:
        return list(X.quaternion())

    def scaled(self, factor: Scalar) -> Spherical:
        return self

    def drive(self, q: Scalars, gear: Scalars, in_parent: bool) -> tuple[Scalar, list[Scalar], Scalar]:
        """l is the rotation vector along gear[:3], which are axes of the body or, `in_parent`, of the joint's frame."""
        axis = Vec3(*gear[:3])
        moment = self.transform(q).rotation.T @ axis if in_parent else axis
        return log_so3(Quaternion(*q)).dot(axis), [*moment], 2 * pi * axis.norm()
