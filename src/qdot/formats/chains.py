"""Joints as chains of elementary ones, for formats that know turns and slides but no universal joint.

The frame F of a body, in the frame of its parent, is
    X(q) = C₁ · J₁(q₁) · C₂ · J₂(q₂) · … · Jₙ(qₙ) · C,
with constant poses C between elementary joints J: `Move.before`, and `Chain.after`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from qdot.algebra import Scalar, Scalars
from qdot.description import WORLD
from qdot.joints import Compound, Cylindrical, Fixed, Joint, Limits, Planar, Prismatic, Revolute, Universal
from qdot.model.model import Body, Model
from qdot.spatial import IDENTITY, Transform

Piece: TypeAlias = tuple[Joint, int, int]
"""A joint in a chain, and where its entries start in q and v of the whole."""

Split: TypeAlias = Callable[[Joint], "list[Piece] | None"]
"""How a format takes a joint apart; None for one that it keeps whole."""


@dataclass(frozen=True, slots=True)
class Move:
    """An elementary joint of a body, after a constant pose; `q0` and `v0` are where it starts in q and v of the body's
    whole joint."""

    name: str
    body: Body
    joint: Joint
    before: Transform
    q0: int
    v0: int

    def per_freedom(self, row: Iterable[Scalar]) -> tuple[Scalar, ...]:
        """The entries of a row of the body's freedoms that belong to this joint."""
        return tuple(row)[self.v0 : self.v0 + self.joint.nv]

    def configuration(self, q: Scalars) -> tuple[Scalar, ...]:
        """The entries of a configuration of the body's joint that belong to this one."""
        return tuple(q)[self.q0 : self.q0 + self.joint.nq]

    @property
    def home(self) -> tuple[Scalar, ...]:
        """The configuration it starts in."""
        return self.configuration(self.body.record.home or self.body.joint.neutral())


class Chain(NamedTuple):
    """Moves from the parent to the body, and the pose of the body's own frame in the frame that the last one moves."""

    moves: tuple[Move, ...]
    after: Transform


def chain_of(body: Body, before: Transform, split: Split) -> Chain:
    """The chain of a body; `before` is the pose of its joint's frame where the chain starts."""
    pieces = list(_elementary(body.joint, split))
    several = sum(not isinstance(joint, Fixed) for joint, *_ in pieces) > 1
    moves, X = [], before
    for joint, q0, v0 in pieces:
        if isinstance(joint, Fixed):
            X = compose(X, joint.placement)
        else:
            name = f"{body.joint_name}_{v0}" if several else body.joint_name
            moves.append(Move(name, body, joint, X, q0, v0))
            X = IDENTITY
    return Chain(tuple(moves), compose(X, body.record.frame))


def depth_first(model: Model) -> Iterator[Body]:
    """All bodies branch by branch, children in the order of the model: how MuJoCo orders what is nested in a file."""
    below: dict[int, list[Body]] = {body: [] for body in range(len(model.bodies) + 1)}
    for body in model.bodies:
        below[body.parent].append(body)
    rest = below[0][::-1]
    while rest:
        body = rest.pop()
        yield body
        rest.extend(reversed(below[body.index]))


def compose(first: Transform, second: Transform) -> Transform:
    """first · second, with the numbers as they are where one of them is the identity."""
    return second if first == IDENTITY else first if second == IDENTITY else first @ second


def seen_from(frame: Transform, pose: Transform) -> Transform:
    """A pose in the coordinates of a frame, both given in the same one: frame⁻¹ · pose."""
    return pose if frame == IDENTITY else IDENTITY if frame == pose else frame.inv() @ pose


def own_frames(model: Model) -> dict[str, Transform]:
    """The own frame of each body in the frame that its joint moves, by name; the world's too."""
    return {WORLD: IDENTITY, **{body.name: body.record.frame for body in model.bodies}}


def _elementary(joint: Joint, split: Split) -> Iterator[Piece]:
    pieces = split(joint) or _pieces(joint)
    if pieces is None:
        yield joint, 0, 0
        return
    for piece, q0, v0 in pieces:
        for part, q1, v1 in _elementary(piece, split):
            yield part, q0 + q1, v0 + v1


def _pieces(joint: Joint) -> list[Piece] | None:
    if isinstance(joint, Compound):
        pieces, q0, v0 = [], 0, 0
        for part in joint.parts:
            pieces.append((part, q0, v0))
            q0, v0 = q0 + part.nq, v0 + part.nv
        return pieces
    if isinstance(joint, Universal):
        return [
            (Revolute(joint.first, limits=bounds(joint, 0)), 0, 0),
            (Revolute(joint.second, limits=bounds(joint, 1)), 1, 1),
        ]
    if isinstance(joint, Cylindrical):
        return [
            (Revolute(joint.axis, limits=bounds(joint, 0)), 0, 0),
            (Prismatic(joint.axis, limits=bounds(joint, 1)), 1, 1),
        ]
    return None


def bounds(joint: Joint, k: int) -> Limits:
    """The limits of one coordinate of a joint with plain coordinates."""
    limits = joint.limits
    return Limits((limits.lower[k],), (limits.upper[k],), (limits.velocity[k],), (limits.effort[k],))


def split_for_mujoco(joint: Joint) -> list[Piece] | None:
    """What MuJoCo has no joint for: a motion in a plane is two slides, then a turn."""
    if not isinstance(joint, Planar):
        return None
    return [
        (Prismatic(joint.across, limits=bounds(joint, 1)), 1, 1),
        (Prismatic(joint.up, limits=bounds(joint, 2)), 2, 2),
        (Revolute(joint.normal, limits=bounds(joint, 0)), 0, 0),
    ]
