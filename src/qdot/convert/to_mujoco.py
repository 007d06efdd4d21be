"""How MuJoCo writes joints: qpos, qvel, qacc, qfrc.

Hinge, slide and ball have qdot's numbers. A free joint is (position in the world, quaternion), its velocity (velocity
of the origin in world axes, ω in body axes). Other joints are several of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from qdot.algebra import Mat3, Quaternion, Scalars, Vec3
from qdot.convert.bridge import Bridge, Convention
from qdot.convert.match import Place, Unit, bridge, places_in_order
from qdot.errors import ModelError
from qdot.formats.chains import Move, chain_of, compose, depth_first, split_for_mujoco
from qdot.formats.mjcf_read_names import read_names
from qdot.joints import Continuous, Free, Prismatic, Revolute, Spherical
from qdot.model.model import Model, require_model
from qdot.spatial import Transform

MUJOCO = "MuJoCo"
UNITS = ("free", "ball", "slide", "hinge")
"""By the numbers of MjModel.jnt_type."""


def mujoco(model: Model, order: Any = None) -> Bridge:
    """The bridge between a model and MuJoCo's vectors.

    `order` is the `mujoco.MjModel`, read by joint names, or a list of joint names; without it the joints are branch by
    branch, as in a file that `qdot.save` writes; for models from MJCF that is their own order.
    """
    require_model(model, "qdot.convert.mujoco")
    known = hasattr(order, "jnt_type")
    places = _places(order) if known else places_in_order(model, MUJOCO, order, depth_first(model))
    return bridge(model, MUJOCO, places, split_for_mujoco, partial(_writing, model))


def _places(mj_model: Any) -> list[Place]:
    """The joints of an MjModel; those without a name have the one that `qdot.load` gives them."""
    names = read_names(mj_model, ()).of
    joints = zip(names["joint"], mj_model.jnt_type.tolist(), mj_model.jnt_bodyid.tolist(), strict=True)
    return [Place(name, (Unit(UNITS[kind], names["body"][body]),)) for name, kind, body in joints]


@dataclass(frozen=True)
class FreeBody(Convention):
    """Position in the world, then quaternion; velocity of the origin in world axes, then ω in body axes."""

    unit: str = "free"
    nq: int = 7
    placement: Transform = field(default_factory=Transform.identity)
    """Of the joint in the world: qdot's coordinates start there, MuJoCo's at the world's origin."""

    def q_to(self, q: Scalars) -> Scalars:
        return [*(self.placement @ Vec3(*q[4:])), *self._attitude(q)]

    def q_from(self, peer_q: Scalars) -> Scalars:
        attitude = self.placement.quaternion().conjugate() * Quaternion(*peer_q[3:])
        return [*attitude, *(self.placement.inv() @ Vec3(*peer_q[:3]))]

    def v_to(self, q: Scalars, v: Scalars) -> Scalars:
        return [*(self._attitude(q).rotation() @ Vec3(*v[3:])), *v[:3]]

    def v_from(self, q: Scalars, peer_v: Scalars) -> Scalars:
        return [*peer_v[3:], *(self._attitude(q).rotation().T @ Vec3(*peer_v[:3]))]

    def _attitude(self, q: Scalars) -> Quaternion:
        """Of the body in the world."""
        return self.placement.quaternion() * Quaternion(*q[:4])


@dataclass(frozen=True)
class TurnedBall(Convention):
    """A ball on a body with other axes than those it moves: R' = Cᵀ R C, ω' = Cᵀ ω."""

    unit: str = "ball"
    nq: int = 4
    turn: Mat3 = field(default_factory=Mat3.identity)
    """C, the axes of MuJoCo's body, in those that the ball moves."""

    def q_to(self, q: Scalars) -> Scalars:
        return [q[0], *(self.turn.T @ Vec3(*q[1:]))]

    def q_from(self, peer_q: Scalars) -> Scalars:
        return [peer_q[0], *(self.turn @ Vec3(*peer_q[1:]))]

    def v_to(self, q: Scalars, v: Scalars) -> Scalars:
        return list(self.turn.T @ Vec3(*v))

    def v_from(self, q: Scalars, peer_v: Scalars) -> Scalars:
        return list(self.turn @ Vec3(*peer_v))


def _writing(model: Model, move: Move, unit: Unit | None) -> Convention | None:
    match move.joint:
        case Revolute() | Continuous():
            return Convention("hinge", 1)
        case Prismatic():
            return Convention("slide", 1)
        case Spherical():
            return _ball(model, move, _own_frame(move, unit))
        case Free():
            return _free(model, move, _own_frame(move, unit))
    return None


def _own_frame(move: Move, unit: Unit | None) -> Transform:
    """Of MuJoCo's body in the frame that the last joint of qdot's moves: that of the body of this name where it is
    known to carry the joint; `qdot.save` puts it on a body of its own where the two differ."""
    named = unit is not None and unit.body == move.body.name
    return move.body.record.frame if named else Transform.identity()


def _ball(model: Model, ball: Move, frame: Transform) -> Convention:
    later = _moves(ball)[_moves(ball).index(ball) + 1 :]
    if not all(isinstance(move.joint, Prismatic) for move in later):
        raise ModelError(
            f"model {model.name!r}: in joint {ball.body.joint_name!r} turns follow a ball, which {MUJOCO} does not "
            "have; put a body between them"
        )
    turn = Mat3.identity()
    for move in later:
        turn = turn @ move.before.rotation
    turn = turn @ frame.rotation
    return Convention("ball", 4) if turn == Mat3.identity() else TurnedBall(turn=turn)


def _free(model: Model, free: Move, frame: Transform) -> Convention:
    if frame != Transform.identity():
        raise ModelError(
            f"model {model.name!r}: free joint {free.body.joint_name!r} moves another frame here than the own one of "
            f"body {free.body.name!r}, which {MUJOCO} moves; write the model with qdot.save, and give that to {MUJOCO}"
        )
    if free.body.parent != 0 or len(_moves(free)) > 1:
        raise ModelError(
            f"model {model.name!r}: free joint {free.body.joint_name!r} does not hold its body to the world by itself; "
            f"{MUJOCO} has no other free joints"
        )
    return FreeBody(placement=compose(free.body.placement, free.before))


def _moves(move: Move) -> tuple[Move, ...]:
    """All the elementary joints of its body."""
    return chain_of(move.body, Transform.identity(), split_for_mujoco).moves
