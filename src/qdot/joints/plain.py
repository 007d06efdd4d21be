"""What joints with plain coordinates share: nq = nv, v = q̇, and moving by adding."""

from __future__ import annotations

from abc import abstractmethod

from qdot.algebra import Scalar, Scalars, Vec3
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


def straight_difference(q0: Scalars, q1: Scalars) -> list[Scalar]:
    """q1 - q0, for coordinates on lines."""
    return [b - a for a, b in zip(q0, q1, strict=True)]
