"""No constraint at all: a floating body."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Quaternion, Scalar, Scalars, Vec3
from qdot.algebra.lie import exp_se3, exp_so3, log_se3
from qdot.joints.base import Joint, Limits, LimitsLike, limits_of, set_fields
from qdot.spatial import Basis, Motion, Transform


@dataclass(frozen=True, slots=True, init=False)
class Free(Joint):
    """q = (w, x, y, z, px, py, pz): unit quaternion, then position [m]. v is the body's spatial velocity in its own
    coordinates: (ω [rad/s], velocity of its origin [m/s])."""

    limits: Limits

    nq = 7
    nv = 6

    def __init__(self, *, limits: LimitsLike = None) -> None:
        set_fields(self, limits=limits_of(limits, "free", 0, 6))

    def transform(self, q: Scalars) -> Transform:
        return Transform(Quaternion(*q[:4]).rotation(), Vec3(*q[4:]))

    def subspace(self, q: Scalars) -> Basis[Motion]:
        return Basis.motions(*(Motion.of(1 if i == j else 0 for j in range(6)) for i in range(6)))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def retract(self, q: Scalars, dv: Scalars) -> list[Scalar]:
        turn, step = exp_se3(Vec3(*dv[:3]), Vec3(*dv[3:]))
        return [*(Quaternion(*q[:4]) * turn), *(self.transform(q) @ step)]

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        turn = Quaternion(*q0[:4]).conjugate() * Quaternion(*q1[:4])
        phi, rho = log_se3(turn, self.transform(q0).inv() @ Vec3(*q1[4:]))
        return [*phi, *rho]

    def bracket(self, u: Scalars, w: Scalars) -> list[Scalar]:
        return list(Motion.of(u).cross(Motion.of(w)))

    def carried(self, v: Scalars, step: Scalars) -> list[Scalar]:
        """The velocity of the origin keeps its direction in space."""
        return [*v[:3], *(exp_so3(Vec3(*step[:3])).rotation().T @ Vec3(*v[3:]))]

    def straight(self, dv: Scalars) -> list[Scalar]:
        phi, rho = log_se3(exp_so3(Vec3(*dv[:3])), Vec3(*dv[3:]))
        return [*phi, *rho]

    def rate(self, q: Scalars, v: Scalars) -> list[Scalar]:
        Q = Quaternion(*q[:4])
        half = (x / 2 for x in v[:3])
        return [*(Q * Quaternion(0, *half)), *(Q.rotation() @ Vec3(*v[3:]))]

    def neutral(self) -> list[float]:
        return [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]

    def normalized(self, q: Scalars) -> list[Scalar]:
        return [*Quaternion(*q[:4]).normalized(), *q[4:]]

    def limited(self, q: Scalars) -> list[Scalar]:
        return []

    def limited_gradients(self, q: Scalars) -> list[list[Scalar]]:
        return []

    def coordinates_at(self, X: Transform) -> list[Scalar]:
        return [*X.quaternion(), *X.position]

    def stretched(self, q: Scalars, factor: Scalar) -> list[Scalar]:
        return [*q[:4], *(x * factor for x in q[4:])]

    def scaled(self, factor: Scalar) -> Free:
        return self

    def drive(self, q: Scalars, gear: Scalars, in_parent: bool) -> tuple[Scalar, list[Scalar], Scalar]:
        """A wrench: force gear[:3] in the joint's axes, moment gear[3:] in the body's or, `in_parent`, those; l = 0."""
        R = self.transform(q).rotation
        force, moment = Vec3(*gear[:3]), Vec3(*gear[3:])
        return 0, [*(R.T @ moment if in_parent else moment), *(R.T @ force)], 0
