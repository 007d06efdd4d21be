"""Joints of a model as MuJoCo's: where they act, their bounds, and what they do by themselves."""

from __future__ import annotations

from math import inf
from xml.etree.ElementTree import Element

from qdot.algebra import Vec3
from qdot.description import Severity
from qdot.errors import ModelError
from qdot.formats.chains import Move
from qdot.formats.mjcf_writer_shapes import interval, soft
from qdot.formats.written import FAR, Names, Remarks, child, unless
from qdot.joints import Continuous, Free, Joint, Prismatic, Revolute, Spherical
from qdot.model.model import Model
from qdot.spatial import IDENTITY, Transform

_PASSIVE = {"armature": "armature", "damping": "damping", "friction": "frictionloss", "stiffness": "stiffness"}
_KINDS: dict[type[Joint], str] = {
    Revolute: "hinge",
    Continuous: "hinge",
    Prismatic: "slide",
    Spherical: "ball",
    Free: "free",
}


class Joints:
    """Writes joints to bodies; `names` are those they got, in MuJoCo's order."""

    def __init__(self, model: Model, remarks: Remarks) -> None:
        self.remarks = remarks
        self.names: dict[Move, str] = {}
        self._taken = Names(body.joint_name for body in model.bodies)

    def add(self, element: Element, move: Move, Y: Transform) -> None:
        """A joint on the body that it moves; Y is the pose of the body at home in the frame that the joint moves."""
        record, joint = move.body.record, move.joint
        name = move.name if move.name == move.body.joint_name else self._taken.free(move.name)
        self.names[move] = name
        kind = _KINDS.get(type(joint))
        if kind is None:
            raise ModelError(
                f"joint {move.body.joint_name!r}: MuJoCo has no {type(joint).__name__} joint, nor any that move alike; "
                "replace it by turns and slides"
            )
        if isinstance(joint, Continuous):
            found, done = "a turn without end", "wrote a hinge, which counts full turns"
            self.remarks.add(Severity.NOTE, "joint", name, found, done)
        axis = Y.rotation.T @ joint.axis if isinstance(joint, (Revolute, Continuous, Prismatic)) else None
        anchor = Y.inv() @ Vec3.zero() if kind != "free" else None
        if isinstance(joint, Spherical) and Y.rotation != IDENTITY.rotation:
            found, done = "a ball before other joints on the body", "its quaternion is in the axes of the body at home"
            self.remarks.add(Severity.NOTE, "joint", name, found, done)
        if isinstance(joint, Spherical) and move.home != (1, 0, 0, 0):
            self.remarks.lost("joint", name, "starts turned, where MuJoCo starts balls at zero", False)
        child(
            element,
            "joint",
            name=name,
            type=kind,
            pos=unless(Vec3.zero(), anchor),
            axis=axis,
            ref=unless(0, move.home[0]) if joint.nq == 1 else None,
            **self._range(name, move),
            **self._passive(name, move),
            margin=unless(0, record.softness.margin),
            actuatorgravcomp=unless(False, record.compensated_by_drive),
            **soft(record.softness.limit, "solreflimit", "solimplimit"),
            **soft(record.softness.friction, "solreffriction", "solimpfriction"),
        )

    def _range(self, name: str, move: Move) -> dict[str, object | None]:
        """The bounds of position and of the force of drives; MuJoCo has none of speed."""
        record, limits = move.body.record, move.joint.limits
        lower, upper = (*limits.lower, -inf)[0], (*limits.upper, inf)[0]
        bounded = (lower, upper) != (-inf, inf)
        if bounded:
            if inf in (-lower, upper):
                self.remarks.add(Severity.NOTE, "joint", name, "bounded on one side", f"wrote {FAR:g} for the other")
            if isinstance(move.joint, Spherical) and lower > 0:
                self.remarks.lost("joint", name, "a least angle, which MuJoCo does not have for balls")
                lower = 0.0
        drive = record.drive_range
        effort = min(limits.effort, default=inf)
        if drive is None and effort < inf and move.joint.nv == 1:
            drive = (-effort, effort)
        elif effort < inf and drive != (-effort, effort):
            self.remarks.lost("joint", name, "bounds of effort beside those of its drive", False)
        if min(limits.velocity, default=inf) < inf:
            self.remarks.lost("joint", name, "bounds of speed, which MuJoCo does not have", False)
        return {
            "limited": bounded or None,
            "range": interval((max(lower, -FAR), min(upper, FAR))) if bounded else None,
            "actuatorfrclimited": drive and True,
            "actuatorfrcrange": interval(drive),
        }

    def _passive(self, name: str, move: Move) -> dict[str, object | None]:
        """Armature, damping, dry friction and a spring; MuJoCo has one number of each for a joint."""
        passive, joint = move.body.passive, move.joint
        values: dict[str, object | None] = {}
        for kind, attribute in _PASSIVE.items():
            row = move.per_freedom(getattr(passive, kind))
            values[attribute] = unless(0, row[0])
            if any(x != row[0] for x in row):
                found, done = f"{kind} that differs between its freedoms", f"wrote {row[0]} for all"
                self.remarks.add(Severity.PHYSICS, "joint", name, found, done)
        rest = move.configuration(passive.rest)
        if joint.nq == 1:
            values["springref"] = unless(0, rest[0])
        elif values["stiffness"] and rest != (move.home if isinstance(joint, Free) else (1, 0, 0, 0)):
            self.remarks.lost("joint", name, "a spring at rest elsewhere than where the joint starts")
        if isinstance(joint, Free) and (values["armature"] or values["frictionloss"]):
            found = "armature or dry friction of a free joint"
            done = "MuJoCo lets it act along the world's axes, qdot along the body's"
            self.remarks.add(Severity.PHYSICS, "joint", name, found, done)
        return values
