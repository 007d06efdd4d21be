"""Joints of URDF: kind, axis, limits, damping and friction, and the joints that mimic others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from qdot.description import CouplingRecord, Passive, Severity
from qdot.errors import JointError
from qdot.formats.urdf_schema import Findings
from qdot.formats.xml import Element
from qdot.joints import Continuous, Fixed, Free, Joint, Limits, Planar, Prismatic, Revolute

FIXED = Fixed()
_AXES: dict[tuple[float, ...], str] = {
    (1.0, 0.0, 0.0): "x",
    (0.0, 1.0, 0.0): "y",
    (0.0, 0.0, 1.0): "z",
    (-1.0, 0.0, 0.0): "-x",
    (0.0, -1.0, 0.0): "-y",
    (0.0, 0.0, -1.0): "-z",
}
STILL = Passive()
_MOVING: dict[str, Any] = {"revolute": Revolute, "prismatic": Prismatic, "continuous": Continuous}
_WHOLE: dict[str, tuple[str, ...]] = {
    "fixed": ("axis", "limit", "dynamics"),
    "floating": ("axis", "limit", "dynamics"),
    "planar": ("limit", "dynamics"),
}
"""Kinds for which some elements say nothing: URDF has one number for each, and they have no freedom or several."""


class Moving(NamedTuple):
    """A joint, and what it does by itself."""

    joint: Joint
    passive: Passive


def joint_of(element: Element, name: str, findings: Findings) -> Moving:
    """The joint that an element describes."""
    kind = element.required("type", "revolute, continuous, prismatic, fixed, floating or planar")
    for tag in _WHOLE.get(kind, ()):
        meaningless = element.child(tag)
        if meaningless is not None:
            severity = Severity.NOTE if kind == "fixed" or tag == "axis" else Severity.IGNORED
            findings.add(severity, f"{kind} joints", f"<{tag}>", "left out: it says nothing about them", meaningless)
    try:
        match kind:
            case "fixed":
                return Moving(FIXED, STILL)
            case "floating":
                return Moving(Free(), STILL)
            case "planar":
                return Moving(Planar(_axis(element)), STILL)
            case "revolute" | "prismatic" | "continuous":
                axis, limits = _axis(element), _limits(element, kind, name, findings)
                return Moving(_MOVING[kind](axis, limits=limits), _passive(element, name))
    except JointError as error:
        raise element.error(f"joint {name!r}: {error}") from None
    raise element.error(
        f"joint {name!r} has the type {kind!r}; URDF has revolute, continuous, prismatic, fixed, floating and planar"
    )


def _axis(element: Element) -> Any:
    axis = element.child("axis")
    if axis is None:
        return "x"
    xyz = axis.numbers("xyz", 3)
    return _AXES.get(xyz, xyz)


def _limits(element: Element, kind: str, name: str, findings: Findings) -> Limits | None:
    """Bounds of position, speed and effort; URDF asks for them but at continuous joints."""
    limit = element.child("limit")
    if limit is None:
        if kind == "continuous":
            return None
        remedy = "give it lower, upper, effort and velocity" + (", or type 'continuous'" if kind == "revolute" else "")
        raise element.error(f"joint {name!r} is {kind} but has no <limit>; {remedy}")
    speed, effort = (limit.number("velocity"),), (limit.number("effort"),)
    if kind == "continuous":
        if "lower" in limit.attributes or "upper" in limit.attributes:
            done = "left out: such a joint turns without end"
            findings.add(Severity.IGNORED, "continuous joints", "lower and upper limits", done, limit)
        return Limits((), (), speed, effort)
    return Limits((limit.number("lower", 0.0),), (limit.number("upper", 0.0),), speed, effort)


def _passive(element: Element, name: str) -> Passive:
    dynamics = element.child("dynamics")
    if dynamics is None:
        return STILL
    if not dynamics.attributes.keys() & {"damping", "friction"}:
        raise dynamics.error(f"joint {name!r}: <dynamics> has neither damping nor friction; give one, or leave it out")
    damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    if damping < 0 or friction < 0:
        raise dynamics.error(f"joint {name!r}: damping and friction are zero or more; a negative one drives the joint")
    return Passive(damping=(damping,), friction=(friction,)) if damping or friction else STILL


def coupling_of(
    element: Element, name: str, joints: Mapping[str, Moving], names: Mapping[str, str], findings: Findings
) -> CouplingRecord | None:
    """The coupling of a joint that mimics another: y = offset + multiplier · x.

    `joints` are the robot's by the names of the file, `names` what the records call them.
    """
    mimic = element.child("mimic")
    if mimic is None:
        return None
    driver = mimic.required("joint", "the name of the joint to follow")
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    subject, found = f"joint {name!r}", f"it mimics joint {driver!r}"
    if driver == name:
        raise mimic.error(f"{subject} mimics itself; name another joint, or leave <mimic> out")
    if joints[name].joint.nv == 0:
        findings.add(Severity.NOTE, subject, found, "left out: it is fixed", mimic)
        return None
    if driver not in joints:
        done = "left out, it moves freely: the file has no such joint"
        findings.add(Severity.IGNORED, subject, found, done, mimic)
        return None
    if joints[name].joint.nv > 1 or joints[driver].joint.nv > 1:
        done = "left out, it moves freely: only joints of one freedom can mimic and be mimicked"
        findings.add(Severity.PHYSICS, subject, found, done, mimic)
        return None
    done = "kept as a constraint; its freedom is still there in q and v"
    findings.add(Severity.KEPT, subject, found, done, mimic)
    if joints[driver].joint.nv == 0:
        return CouplingRecord(names[name], names[name], None, (offset,))
    return CouplingRecord(names[name], names[name], names[driver], (offset, multiplier))
