"""A slide along an axis."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.joints.base import AxisLike, Limits, LimitsLike, limits_of, set_fields, unit_axis
from qdot.joints.plain import ScrewJoint, straight_difference


@dataclass(frozen=True, slots=True, init=False)
class Prismatic(ScrewJoint):
    """Slides by q [m] along an axis."""

    axis: Vec3
    limits: Limits

    turn = 0
    slide = 1

    def __init__(self, axis: AxisLike = "z", *, limits: LimitsLike = None) -> None:
        set_fields(self, axis=unit_axis(axis), limits=limits_of(limits, "prismatic", 1, 1))

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def scaled(self, factor: Scalar) -> Prismatic:
        return Prismatic(self.axis, limits=self.limits.stretched(factor))
