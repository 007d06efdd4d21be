"""Forces that a user adds to a simulation: functions of time and state, written over any scalar and compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.algorithms.applied import joint_forces
from qdot.algorithms.constraints.kinds import require_scalars, with_time
from qdot.algorithms.kinematics import kinematics
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.spatial import Force


@dataclass(frozen=True)
class JointForce:
    """Joint forces f(q, v) or f(t, q, v), a number for each freedom of the model [N·m, N]."""

    name: str
    force: Callable[..., Any]

    def at(self, model: Model, time: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        given = with_time(self.force, 2, f"force {self.name!r}")(time, q, v)
        return numbers_of(given, model.nv, f"force {self.name!r}", "one for each freedom")


@dataclass(frozen=True)
class FrameForce:
    """A wrench on a frame: f(X, V) or f(t, X, V) of its pose and of its velocity, in world axes at its origin.

    It returns a `Force`, or six numbers: moment about the frame's origin [N·m], then force [N], in world axes; or
    three, a force alone. Wind and drag are such functions.
    """

    name: str
    frame: str
    force: Callable[..., Any]

    def at(self, model: Model, time: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        motion = kinematics(model, q, v)
        X = motion.pose(self.frame)
        given = with_time(self.force, 2, f"force {self.name!r}")(time, X, motion.velocity(self.frame))
        wrench = given if isinstance(given, Force) else self._wrench(given)
        there = Force(wrench.ang + X.position.cross(wrench.lin), wrench.lin)
        return joint_forces(model, q, motion.poses, {model.frame(self.frame).body: there})

    def _wrench(self, given: Any) -> Force:
        size = 3 if isinstance(given, Vec3) or (hasattr(given, "__len__") and len(given) == 3) else 6
        row = numbers_of(given, size, f"force {self.name!r} on {self.frame!r}", "a moment and a force, or a force")
        return Force(Vec3.zero() if size == 3 else Vec3(*row[:3]), Vec3(*row[-3:]))


AppliedForce: TypeAlias = JointForce | FrameForce


def numbers_of(given: Any, size: int, what: str, meaning: str) -> list[Scalar]:
    """What a user's function returned, as so many scalars."""
    row = list(given) if hasattr(given, "__iter__") and not isinstance(given, str) else [given]
    if len(row) != size:
        raise ValueShapeError(f"{what} returns {size} numbers, {meaning}; got {len(row)}: {given!r}")
    require_scalars(row, f"{what} returns {size} numbers, {meaning}")
    return row
