"""A turn about an axis without end."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.algebra.lie import wrap_angle
from qdot.joints.base import AxisLike, Limits, LimitsLike, limits_of, set_fields, unit_axis
from qdot.joints.plain import ScrewJoint


@dataclass(frozen=True, slots=True, init=False)
class Continuous(ScrewJoint):
    """Turns by q [rad] about an axis, as a wheel does: q and q + 2π are one configuration, so differences wrap.

    It has no position limits; `limits` may bound its speed and effort.
    """

    axis: Vec3
    limits: Limits

    turn = 1
    slide = 0

    def __init__(self, axis: AxisLike = "z", *, limits: LimitsLike = None) -> None:
        set_fields(self, axis=unit_axis(axis), limits=limits_of(limits, "continuous", 0, 1))

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return [wrap_angle(q1[0] - q0[0])]

    def limited(self, q: Scalars) -> list[Scalar]:
        return []

    def scaled(self, factor: Scalar) -> Continuous:
        return self
