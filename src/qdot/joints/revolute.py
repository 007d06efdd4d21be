"""A turn about an axis, within limits."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.joints.base import AxisLike, Limits, LimitsLike, limits_of, set_fields, unit_axis
from qdot.joints.plain import ScrewJoint, straight_difference


@dataclass(frozen=True, slots=True, init=False)
class Revolute(ScrewJoint):
    """Turns by q [rad] about an axis; a turn counts, so q and q + 2π are two configurations."""

    axis: Vec3
    limits: Limits

    turn = 1
    slide = 0

    def __init__(self, axis: AxisLike = "z", *, limits: LimitsLike = None) -> None:
        set_fields(self, axis=unit_axis(axis), limits=limits_of(limits, "revolute", 1, 1))

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def scaled(self, factor: Scalar) -> Revolute:
        return self
