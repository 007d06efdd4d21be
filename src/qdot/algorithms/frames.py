"""In which coordinates an algorithm works: each body's own, or one frame for all.

In body frames a quantity is carried from parent to child and back; in one frame, with the world's axes and its
origin at the root body, quantities are written there once and then only added. Which takes fewer operations depends
on the algorithm and the mechanism: body frames keep zeros of axes along x, y, z, one frame saves the carrying. The
texts are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from qdot.algebra import Scalars
from qdot.algorithms.kinematics import local_poses, world_poses
from qdot.model.model import Model
from qdot.spatial import Basis, Motion, Transform

V = TypeVar("V")


class Carrier(Protocol):
    """What carries quantities between the frames of parent and child."""

    def __matmul__(self, value: Any, /) -> Any: ...

    def inv(self) -> Any: ...


class Here:
    """Between equal frames there is nothing to carry."""

    def __matmul__(self, value: V, /) -> V:
        return value

    def inv(self) -> Here:
        return self


@dataclass(frozen=True)
class Frames:
    """For each body, the world first: what carries from it to its parent (X), its joint's motions (S), and where to
    write what is given in its own coordinates."""

    X: list[Carrier]
    S: list[Basis[Motion]]
    places: list[Transform] | None

    def placed(self, i: int, value: Any) -> Any:
        """A quantity of body i, from the body's own coordinates to those in use."""
        return value if self.places is None else self.places[i] @ value


Choice: TypeAlias = Callable[[Model, Scalars], Frames]
"""`body_frames` or `root_frame`."""


def body_frames(model: Model, q: Scalars) -> Frames:
    """Each body's own frame."""
    S = [Basis.motions(), *(body.joint.subspace(q[body.qs]) for body in model.bodies)]
    return Frames(list(local_poses(model, q)), S, None)


def root_frame(model: Model, q: Scalars) -> Frames:
    """One frame for all bodies: world axes, at the first body's origin, so that numbers stay small far from home."""
    poses = world_poses(model, q)
    if model.bodies:
        origin = poses[1].position
        poses = [Transform(X.rotation, X.position - origin) for X in poses]
    S = [Basis.motions(), *(poses[b.index] @ b.joint.subspace(q[b.qs]) for b in model.bodies)]
    return Frames([Here()] * len(poses), S, poses)
