"""A turn about an axis and a slide along it, independent of each other."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.joints.base import AxisLike, Limits, LimitsLike, limits_of, set_fields, unit_axis
from qdot.joints.plain import PlainJoint, angle_about, straight_difference
from qdot.spatial import Basis, Motion, Transform, axis_rotation


@dataclass(frozen=True, slots=True, init=False)
class Cylindrical(PlainJoint):
    """q = (angle [rad], slide [m]) about and along one axis."""

    axis: Vec3
    limits: Limits

    nq = 2
    nv = 2

    def __init__(self, axis: AxisLike = "z", *, limits: LimitsLike = None) -> None:
        set_fields(self, axis=unit_axis(axis), limits=limits_of(limits, "cylindrical", 2, 2))

    def transform(self, q: Scalars) -> Transform:
        angle, slide = q
        return Transform(axis_rotation(self.axis, angle), self.axis * slide)

    def subspace(self, q: Scalars) -> Basis[Motion]:
        return Basis.motions(Motion(self.axis, Vec3.zero()), Motion(Vec3.zero(), self.axis))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def coordinates_at(self, X: Transform) -> list[Scalar]:
        return [angle_about(self.axis, X.rotation), self.axis.dot(X.position)]

    def stretched(self, q: Scalars, factor: Scalar) -> list[Scalar]:
        return [q[0], q[1] * factor]

    def scaled(self, factor: Scalar) -> Cylindrical:
        return Cylindrical(self.axis, limits=self.limits.stretched(1, factor))
