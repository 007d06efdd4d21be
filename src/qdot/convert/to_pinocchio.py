"""How Pinocchio writes joints.

Quaternions are (x, y, z, w). The free flyer is (position, quaternion), its velocity (linear, angular) in body axes. An
angle without end is (cos θ, sin θ). The planar joint is (x, y, cos θ, sin θ), its velocity along the body's axes.
Pinocchio orders joints by the names of their siblings, so its model is needed for robots with branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qdot.algebra import Scalars, atan2, cos, sin
from qdot.convert.bridge import Bridge, Convention
from qdot.convert.match import Place, bridge, places_in_order
from qdot.formats.chains import Move, Piece
from qdot.joints import Continuous, Free, Joint, Planar, Spherical
from qdot.model.model import Model, require_model

PINOCCHIO = "Pinocchio"
UNITS = {"JointModelFreeFlyer": "free", "JointModelSpherical": "ball", "JointModelPlanar": "plane"}
"""By Pinocchio's names of joints; the others are lines and circles, by their numbers of coordinates."""


def pinocchio(model: Model, order: Any = None) -> Bridge:
    """The bridge between a model and Pinocchio's vectors.

    `order` is the `pinocchio.Model`, read by joint names, or a list of joint names; without it the joints are in the
    model's own order. Where only names are known, `Continuous` joints are taken to be (cos, sin) there, others not.
    """
    require_model(model, "qdot.convert.pinocchio")
    places = _places(order) if hasattr(order, "idx_qs") else places_in_order(model, PINOCCHIO, order)
    return bridge(model, PINOCCHIO, places, _whole, _writing)


def _places(pin_model: Any) -> list[Place]:
    """The joints of a pinocchio.Model but for the first, which is the world."""
    pairs = list(zip(pin_model.names, pin_model.joints, strict=True))[1:]
    return [Place(str(name), tuple(_units(joint))) for name, joint in pairs]


def _units(joint: Any) -> Iterator[str]:
    kind = joint.shortname()
    if kind == "JointModelComposite":
        for part in joint.extract().joints:
            yield from _units(part)
    elif kind in UNITS:
        yield UNITS[kind]
    elif (joint.nq, joint.nv) == (2, 1):
        yield "circle"
    elif joint.nq == joint.nv > 0:
        yield from ["line"] * joint.nv
    else:
        yield kind


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
    """(x, y, cos θ, sin θ); velocity (along the body's two axes in the plane, θ̇)."""

    unit: str = "plane"
    nq: int = 4

    def q_to(self, q: Scalars) -> Scalars:
        return [*q[1:], cos(q[0]), sin(q[0])]

    def q_from(self, peer_q: Scalars) -> Scalars:
        return [atan2(peer_q[3], peer_q[2]), *peer_q[:2]]

    def v_to(self, q: Scalars, v: Scalars) -> Scalars:
        c, s = cos(q[0]), sin(q[0])
        return [c * v[1] + s * v[2], c * v[2] - s * v[1], v[0]]

    def v_from(self, q: Scalars, peer_v: Scalars) -> Scalars:
        c, s = cos(q[0]), sin(q[0])
        return [peer_v[2], c * peer_v[0] - s * peer_v[1], s * peer_v[0] + c * peer_v[1]]


def _whole(joint: Joint) -> list[Piece] | None:
    """Pinocchio takes no joint apart but those that consist of parts."""
    return None


def _writing(move: Move, unit: str | None) -> Convention | None:
    """Whether an angle is a line or a circle there is the peer's choice, where it is known."""
    match move.joint:
        case Free():
            return FreeFlyer()
        case Spherical():
            return Ball()
        case Planar():
            return Plane()
    if (move.joint.nq, move.joint.nv) != (1, 1):
        return None
    circle = isinstance(move.joint, Continuous) if unit is None else unit == Circle.unit
    return Circle() if circle else Convention("line", 1)
