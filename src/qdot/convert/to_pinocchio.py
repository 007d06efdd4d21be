"""How Pinocchio writes joints.

Quaternions are (x, y, z, w). The free flyer is (position, quaternion), its velocity (linear, angular) in body axes. An
angle without end is (cos θ, sin θ). The planar joint is (x, y, cos θ, sin θ) in the plane of x and y of its own frame,
its velocity along the body's axes; what a URDF says of its normal Pinocchio does not read. Pinocchio orders joints by
the names of their siblings, so its model is needed for robots with branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from qdot.algebra import Mat3, Scalars, Vec3, as_array, atan2, cos, sin
from qdot.convert.bridge import Bridge, Convention
from qdot.convert.match import Place, Unit, bridge, places_in_order
from qdot.errors import ModelError
from qdot.formats.chains import Move, Piece, chain_of
from qdot.joints import Continuous, Free, Joint, Planar, Spherical
from qdot.model.model import Model, require_model

PINOCCHIO = "Pinocchio"
UNITS = {"JointModelFreeFlyer": "free", "JointModelSpherical": "ball", "JointModelPlanar": "plane"}
"""By Pinocchio's names of joints; the others are lines and circles, by their numbers of coordinates."""

_SAME = 1e-9
"""Entries of rotations that differ by no more are the same: both sides round angles and quaternions of a file."""


def pinocchio(model: Model, order: Any = None) -> Bridge:
    """The bridge between a model and Pinocchio's vectors.

    `order` is the `pinocchio.Model`, read by joint names, or a list of joint names; without it the joints are in the
    model's own order. Where only names are known, `Continuous` joints are taken to be (cos, sin) there, others not.
    """
    require_model(model, "qdot.convert.pinocchio")
    known = hasattr(order, "idx_qs")
    places = _places(order) if known else places_in_order(model, PINOCCHIO, order, model.bodies)
    return bridge(model, PINOCCHIO, places, _whole, partial(_writing, model))


def _places(pin_model: Any) -> list[Place]:
    """The joints of a pinocchio.Model but for the first, which is the world."""
    places, axes = [], [np.eye(3)]  # of each joint in the world at neutral, where no joint turns anything
    for k in range(1, len(pin_model.joints)):
        own = axes[pin_model.parents[k]] @ pin_model.jointPlacements[k].rotation
        parts = list(_parts(pin_model.joints[k], own))
        axes.append(parts[-1][1])
        places.append(Place(str(pin_model.names[k]), tuple(unit for part in parts for unit in _units(*part))))
    return places


def _parts(joint: Any, axes: Any) -> Iterator[tuple[Any, Any]]:
    """The joints that a composite one consists of, with the axes of each in the world; others are their only part."""
    if joint.shortname() != "JointModelComposite":
        yield joint, axes
        return
    composite = joint.extract()
    for part, placement in zip(composite.joints, composite.jointPlacements, strict=True):
        for last in _parts(part, axes @ placement.rotation):
            yield last
            axes = last[1]


def _units(joint: Any, axes: Any) -> Iterator[Unit]:
    kind = joint.shortname()
    if kind in UNITS:
        yield Unit(UNITS[kind], axes=_mat3(axes))
    elif (joint.nq, joint.nv) == (2, 1):
        yield Unit("circle")
    elif joint.nq == joint.nv > 0:
        yield from [Unit("line")] * joint.nv
    else:
        yield Unit(kind)


@dataclass(frozen=True)
class Circle(Convention):
    """An angle as (cos θ, sin θ)."""

    unit: str = "circle"
    nq: int = 2

    def q_to(self, q: Scalars) -> Scalars:
        return [cos(q[0]), sin(q[0])]

    def q_from(self, peer_q: Scalars) -> Scalars:
        return [atan2(peer_q[1], peer_q[0])]


@dataclass(frozen=True)
class Ball(Convention):
    """The quaternion as (x, y, z, w)."""

    unit: str = "ball"
    nq: int = 4

    def q_to(self, q: Scalars) -> Scalars:
        return [*q[1:], q[0]]

    def q_from(self, peer_q: Scalars) -> Scalars:
        return [peer_q[3], *peer_q[:3]]


@dataclass(frozen=True)
class FreeFlyer(Convention):
    """Position, then quaternion (x, y, z, w); (linear, angular) velocity in body axes."""

    unit: str = "free"
    nq: int = 7

    def q_to(self, q: Scalars) -> Scalars:
        return [*q[4:], *q[1:4], q[0]]

    def q_from(self, peer_q: Scalars) -> Scalars:
        return [peer_q[6], *peer_q[3:6], *peer_q[:3]]

    def v_to(self, q: Scalars, v: Scalars) -> Scalars:
        return [*v[3:], *v[:3]]

    def v_from(self, q: Scalars, peer_v: Scalars) -> Scalars:
        return [*peer_v[3:], *peer_v[:3]]


@dataclass(frozen=True)
class Plane(Convention):
    """(x', y', cos θ', sin θ'); velocity (along the body's two axes in the plane, θ̇').

    D = (across, up, normal) in Pinocchio's axes is a turn about its z, or upside down: (x', y', θ') = D (x, y, θ).
    """

    unit: str = "plane"
    nq: int = 4
    turn: Mat3 = field(default_factory=Mat3.identity)
    """D."""

    def q_to(self, q: Scalars) -> Scalars:
        x, y, theta = self.turn @ Vec3(q[1], q[2], q[0])
        return [x, y, cos(theta), sin(theta)]

    def q_from(self, peer_q: Scalars) -> Scalars:
        x, y, theta = self.turn.T @ Vec3(peer_q[0], peer_q[1], atan2(peer_q[3], peer_q[2]))
        return [theta, x, y]

    def v_to(self, q: Scalars, v: Scalars) -> Scalars:
        *_, c, s = self.q_to(q)
        x, y, theta = self.turn @ Vec3(v[1], v[2], v[0])
        return [c * x + s * y, c * y - s * x, theta]

    def v_from(self, q: Scalars, peer_v: Scalars) -> Scalars:
        *_, c, s = self.q_to(q)
        along, across, spin = peer_v
        x, y, theta = self.turn.T @ Vec3(c * along - s * across, s * along + c * across, spin)
        return [theta, x, y]


def _whole(joint: Joint) -> list[Piece] | None:
    """Pinocchio takes no joint apart but those that consist of parts."""
    return None


def _plane(model: Model, move: Move, joint: Planar, unit: Unit | None) -> Convention:
    """Pinocchio's plane is that of x and y of its joint's frame, wherever that is."""
    own = Mat3(joint.across, joint.up, joint.normal).T
    if unit is None or unit.axes is None:
        if own == Mat3.identity():
            return Plane()
        raise ModelError(
            f"model {model.name!r}: joint {move.body.joint_name!r} is not in the plane of x and y, along x, and "
            f"{PINOCCHIO} knows no other; give the pinocchio.Model, which tells how its frame is turned"
        )
    D = as_array(unit.axes.T @ _axes_at_neutral(model, move) @ own).astype(float)
    if np.abs([D[:2, 2], D[2, :2]]).max() > _SAME:
        raise ModelError(
            f"model {model.name!r}: joint {move.body.joint_name!r} moves in another plane here than in {PINOCCHIO}, "
            "which does not read the normal from a URDF: these are not the same mechanism; write the model with "
            f"qdot.save, and give that to {PINOCCHIO}"
        )
    if np.abs(D - np.eye(3)).max() <= _SAME:
        return Plane()
    D[:2, 2], D[2] = 0, (0, 0, np.sign(D[2, 2]))
    return Plane(turn=_mat3(D))


def _mat3(rows: Any) -> Mat3:
    return Mat3(*(Vec3(*row) for row in rows.tolist()))


def _axes_at_neutral(model: Model, move: Move) -> Mat3:
    """Of the frame that a joint acts in, in the world, where all are at neutral."""
    R = Mat3.identity()
    for part in chain_of(move.body, move.body.placement, _whole).moves:
        R = R @ part.before.rotation
        if (part.q0, part.v0) == (move.q0, move.v0):
            break
    parent = move.body.parent
    while parent:
        body = model.bodies[parent - 1]
        R = body.placement.rotation @ body.joint.transform(body.joint.neutral()).rotation @ R
        parent = body.parent
    return R


def _writing(model: Model, move: Move, unit: Unit | None) -> Convention | None:
    """Whether an angle is a line or a circle there is the peer's choice, where it is known."""
    match move.joint:
        case Free():
            return FreeFlyer()
        case Spherical():
            return Ball()
        case Planar() as joint:
            return _plane(model, move, joint, unit)
    if (move.joint.nq, move.joint.nv) != (1, 1):
        return None
    circle = isinstance(move.joint, Continuous) if unit is None else unit.kind == Circle.unit
    return Circle() if circle else Convention("line", 1)
