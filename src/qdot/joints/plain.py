"""What joints with plain coordinates share: nq = nv, v = q̇, and moving by adding."""

from __future__ import annotations

from abc import abstractmethod
from math import pi

from qdot.algebra import Mat3, Scalar, Scalars, Vec3, atan2, floor, is_zero
from qdot.joints.base import Joint
from qdot.spatial import Basis, Motion, Transform, axis_rotation


class PlainJoint(Joint):
    """A joint whose configuration is nv free numbers and whose velocity is their rate."""

    __slots__ = ()

    def retract(self, q: Scalars, dv: Scalars) -> list[Scalar]:
        return [a + b for a, b in zip(q, dv, strict=True)]

    def bracket(self, u: Scalars, w: Scalars) -> list[Scalar]:
        return [0] * self.nv

    def rate(self, q: Scalars, v: Scalars) -> list[Scalar]:
        return list(v)

    def neutral(self) -> list[float]:
        return [0.0] * self.nq

    def normalized(self, q: Scalars) -> list[Scalar]:
        return list(q)

    def limited(self, q: Scalars) -> list[Scalar]:
        return list(q)


class ScrewJoint(PlainJoint):
    """One freedom along a fixed screw: q turns the body by `turn`·q about the axis and slides it by `slide`·q along."""

    __slots__ = ()

    nq = 1
    nv = 1

    @property
    @abstractmethod
    def axis(self) -> Vec3:
        """Unit axis, the same in the joint's and the body's frame."""

    @property
    @abstractmethod
    def turn(self) -> int:
        """1 for a joint that turns, 0 for one that slides only."""

    @property
    @abstractmethod
    def slide(self) -> Scalar:
        """Slide per unit of q: 0 for a pure turn, 1 for a pure slide, the pitch [m/rad] of a screw."""

    def transform(self, q: Scalars) -> Transform:
        turned = Transform.identity().rotation if self.turn == 0 else axis_rotation(self.axis, q[0])
        return Transform(turned, self.axis * (self.slide * q[0]))

    def stretched(self, q: Scalars, factor: Scalar) -> list[Scalar]:
        return [q[0] if self.turn else q[0] * factor]

    def subspace(self, q: Scalars) -> Basis[Motion]:
        return Basis.motions(Motion(self.axis * self.turn, self.axis * self.slide))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def coordinates_at(self, X: Transform) -> list[Scalar]:
        """From the angle, of a screw with whole turns from its slide."""
        slid = self.axis.dot(X.position)
        if not self.turn:
            return [slid / self.slide]
        angle = angle_about(self.axis, X.rotation)
        if is_zero(self.slide):
            return [angle]
        return [angle + 2 * pi * floor((slid / self.slide - angle) / (2 * pi) + 0.5)]


def angle_about(axis: Vec3, R: Mat3) -> Scalar:
    """The angle of the turn about a unit axis that is nearest to a rotation [rad], within ±π."""
    return atan2(axis.dot(R.twist()), R.r0.x + R.r1.y + R.r2.z - axis.dot(R @ axis))


def straight_difference(q0: Scalars, q1: Scalars) -> list[Scalar]:
    """q1 - q0, for coordinates on lines."""
    return [b - a for a, b in zip(q0, q1, strict=True)]
