"""No freedom: the body is part of its parent."""

from __future__ import annotations

from dataclasses import dataclass, field

from qdot.algebra import Scalar, Scalars
from qdot.joints.base import Limits
from qdot.joints.plain import PlainJoint, straight_difference
from qdot.spatial import Basis, Motion, Transform


@dataclass(frozen=True, slots=True)
class Fixed(PlainJoint):
    """Holds the body at a constant pose in the joint's frame; as a part of a compound joint it is an offset."""

    placement: Transform = field(default_factory=Transform.identity)

    nq = 0
    nv = 0
    limits = Limits()

    def transform(self, q: Scalars) -> Transform:
        return self.placement

    def subspace(self, q: Scalars) -> Basis[Motion]:
        return Basis.motions()

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def scaled(self, factor: Scalar) -> Fixed:
        return Fixed(Transform(self.placement.rotation, self.placement.position * factor))
