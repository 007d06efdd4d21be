"""Two turns about axes that meet: a Cardan joint."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3, is_number
from qdot.errors import JointError
from qdot.joints.base import AxisLike, Limits, LimitsLike, limits_of, set_fields, unit_axis
from qdot.joints.plain import PlainJoint, straight_difference
from qdot.spatial import Basis, Motion, Transform, axis_rotation


@dataclass(frozen=True, slots=True, init=False)
class Universal(PlainJoint):
    """q = (α, β) [rad]: a turn by α about `first`, which is fixed in the joint's frame, then by β about `second`, which
    is fixed in the body. R = R₁(α) R₂(β)."""

    first: Vec3
    second: Vec3
    limits: Limits

    nq = 2
    nv = 2

    def __init__(self, first: AxisLike = "x", second: AxisLike = "y", *, limits: LimitsLike = None) -> None:
        a, b = unit_axis(first), unit_axis(second)
        n = a.cross(b)
        if all(is_number(x) for x in n) and n.dot(n) < 1e-12:
            raise JointError(
                f"universal joint: its axes {tuple(a)} and {tuple(b)} are parallel, so that it would have one freedom; "
                "use a Revolute, or turn one of them"
            )
        set_fields(self, first=a, second=b, limits=limits_of(limits, "universal", 2, 2))

    def transform(self, q: Scalars) -> Transform:
        R = axis_rotation(self.first, q[0]) @ axis_rotation(self.second, q[1])
        return Transform(R, Vec3.zero())

    def _first_in_body(self, beta: Scalar) -> Vec3:
        return axis_rotation(self.second, beta).T @ self.first

    def subspace(self, q: Scalars) -> Basis[Motion]:
        first = self._first_in_body(q[1])
        return Basis.motions(Motion(first, Vec3.zero()), Motion(self.second, Vec3.zero()))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        # The first axis, seen from the body, turns with -β̇ about the second.
        return Motion(self._first_in_body(q[1]).cross(self.second) * (v[0] * v[1]), Vec3.zero())

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def scaled(self, factor: Scalar) -> Universal:
        return self
