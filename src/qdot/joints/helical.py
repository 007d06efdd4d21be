"""A screw: a turn about an axis that slides along it."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3, plain, scalar_problem
from qdot.errors import JointError
from qdot.joints.base import AxisLike, Limits, LimitsLike, limits_of, set_fields, unit_axis
from qdot.joints.plain import ScrewJoint, straight_difference


@dataclass(frozen=True, slots=True, init=False)
class Helical(ScrewJoint):
    """Turns by q [rad] about an axis and slides by pitch·q along it; pitch in metres per radian."""

    axis: Vec3
    pitch: Scalar
    limits: Limits

    turn = 1

    def __init__(self, axis: AxisLike = "z", pitch: Scalar = 0.0, *, limits: LimitsLike = None) -> None:
        problem = scalar_problem(pitch)
        if problem is not None:
            raise JointError(f"helical joint: its pitch is given in metres per radian: {problem}")
        set_fields(self, axis=unit_axis(axis), pitch=plain(pitch), limits=limits_of(limits, "helical", 1, 1))

    @property
    def slide(self) -> Scalar:
        return self.pitch

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def scaled(self, factor: Scalar) -> Helical:
        return Helical(self.axis, self.pitch * factor, limits=self.limits)
