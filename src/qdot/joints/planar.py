"""Motion in a plane: a turn about its normal and two slides within it."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3, is_number
from qdot.errors import JointError
from qdot.joints.base import AXES, AxisLike, Limits, LimitsLike, limits_of, set_fields, unit_axis
from qdot.joints.plain import PlainJoint, angle_about, straight_difference
from qdot.spatial import Basis, Motion, Transform, axis_rotation


@dataclass(frozen=True, slots=True, init=False)
class Planar(PlainJoint):
    """q = (θ, x, y): position (x, y) [m] of the body's origin in the plane, and its angle θ [rad] about the normal.

    v = q̇, so ẋ and ẏ are along the fixed directions `across` and `up` = normal × across. For the normals x, y, z,
    `across` is y, z, x.
    """

    normal: Vec3
    across: Vec3
    limits: Limits

    nq = 3
    nv = 3

    def __init__(self, normal: AxisLike = "z", across: AxisLike | None = None, *, limits: LimitsLike = None) -> None:
        n = unit_axis(normal)
        e = _across(n) if across is None else unit_axis(across)
        if all(is_number(x) for x in (*n, *e)) and abs(n.dot(e)) > 1e-9:
            raise JointError(
                f"planar joint: `across` {tuple(e)} does not lie in the plane of normal {tuple(n)}; leave it out, or "
                "give a direction at right angles to the normal"
            )
        set_fields(self, normal=n, across=e, limits=limits_of(limits, "planar", 3, 3))

    @property
    def up(self) -> Vec3:
        return self.normal.cross(self.across)

    def transform(self, q: Scalars) -> Transform:
        theta, x, y = q
        return Transform(axis_rotation(self.normal, theta), self.across * x + self.up * y)

    def subspace(self, q: Scalars) -> Basis[Motion]:
        R_T = axis_rotation(self.normal, q[0]).T
        zero = Vec3.zero()
        return Basis.motions(Motion(self.normal, zero), Motion(zero, R_T @ self.across), Motion(zero, R_T @ self.up))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        # The plane's directions, seen from the body, turn with -θ̇ about the normal.
        slide = axis_rotation(self.normal, q[0]).T @ (self.across * v[1] + self.up * v[2])
        return Motion(Vec3.zero(), slide.cross(self.normal) * v[0])

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def coordinates_at(self, X: Transform) -> list[Scalar]:
        return [angle_about(self.normal, X.rotation), self.across.dot(X.position), self.up.dot(X.position)]

    def stretched(self, q: Scalars, factor: Scalar) -> list[Scalar]:
        return [q[0], q[1] * factor, q[2] * factor]

    def scaled(self, factor: Scalar) -> Planar:
        return Planar(self.normal, self.across, limits=self.limits.stretched(1, factor, factor))


def _across(normal: Vec3) -> Vec3:
    """A direction in the plane: the coordinate axis after the normal's largest one, made perpendicular."""
    sizes = [abs(float(x)) if is_number(x) else 1.0 for x in normal]
    following = AXES["yzx"[sizes.index(max(sizes))]]
    return unit_axis(following - normal * normal.dot(following))
