"""No freedom: the body is part of its parent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, map_scalars, plain
from qdot.errors import JointError, ValueShapeError
from qdot.joints.base import Limits, set_fields
from qdot.joints.plain import PlainJoint, straight_difference
from qdot.spatial import Basis, Motion, Transform, pose_problem


@dataclass(frozen=True, slots=True, init=False)
class Fixed(PlainJoint):
    """Holds the body at a constant pose in the joint's frame; as a part of a compound joint it is an offset."""

    placement: Transform

    nq = 0
    nv = 0
    limits = Limits()

    def __init__(self, placement: Transform | Iterable[Scalar] | None = None) -> None:
        try:
            pose = Transform.of(placement)
        except ValueShapeError as error:
            raise JointError(f"fixed joint: {error}") from None
        problem = pose_problem(pose)
        if problem is not None:
            raise JointError(f"fixed joint: {problem}")
        set_fields(self, placement=map_scalars(plain, pose))

    def transform(self, q: Scalars) -> Transform:
        return self.placement

    def subspace(self, q: Scalars) -> Basis[Motion]:
        return Basis.motions()

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        return straight_difference(q0, q1)

    def coordinates_at(self, X: Transform) -> list[Scalar]:
        return []

    def scaled(self, factor: Scalar) -> Fixed:
        return Fixed(Transform(self.placement.rotation, self.placement.position * factor))
