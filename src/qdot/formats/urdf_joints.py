"""Joints of URDF: kind, axis, limits, damping and friction, and the joints that mimic others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from qdot.description import CouplingRecord, Passive, Severity
from qdot.errors import JointError
from qdot.formats.axes import WRITTEN, named_axis
from qdot.formats.urdf_schema import Findings
from qdot.formats.xml import ElementError, number, numbers, required
from qdot.joints import Continuous, Fixed, Free, Joint, Limits, Planar, Prismatic, Revolute

FIXED = Fixed()
STILL = Passive()
SHORTEST = 1e-12
"""An axis of smaller numbers is none."""

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
    kind = required(element, "type", "revolute, continuous, prismatic, fixed, floating or planar")
    for tag in _WHOLE.get(kind, ()):
        meaningless = element.find(tag)
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
                return Moving(Planar(_axis(element, name, findings)), STILL)
            case "revolute" | "prismatic" | "continuous":
                axis, limits = _axis(element, name, findings), _limits(element, kind, name, findings)
                return Moving(_MOVING[kind](axis, limits=limits), _passive(element, name, findings))
    except JointError as error:
        raise ElementError(element, f"joint {name!r}: {error}") from None
    raise ElementError(
        element,
        f"joint {name!r} has the type {kind!r}; URDF has revolute, continuous, prismatic, fixed, floating and planar",
    )


def _axis(element: Element, name: str, findings: Findings) -> Any:
    axis = element.find("axis")
    if axis is None:
        return "x"
    name_of_axis = WRITTEN.get(axis.get("xyz", ""))
    if name_of_axis is not None:
        return name_of_axis
    xyz = numbers(axis, "xyz", 3)
    if max(map(abs, xyz)) < SHORTEST:
        done = "taken as 1 0 0, which URDF means where there is none"
        findings.add(Severity.PHYSICS, f"joint {name!r}", "its axis is zero", done, axis)
        return "x"
    return named_axis(xyz)


def _limits(element: Element, kind: str, name: str, findings: Findings) -> Limits | None:
    """Bounds of position, speed and effort; URDF asks for them but at continuous joints."""
    limit = element.find("limit")
    if limit is None:
        if kind == "continuous":
            return None
        remedy = "give it lower, upper, effort and velocity" + (", or type 'continuous'" if kind == "revolute" else "")
        raise ElementError(element, f"joint {name!r} is {kind} but has no <limit>; {remedy}")
    speed = _magnitude(limit, "velocity", inf, name, findings)
    effort = _magnitude(limit, "effort", inf, name, findings)
    if kind == "continuous":
        if "lower" in limit.attrib or "upper" in limit.attrib:
            done = "left out: such a joint turns without end"
            findings.add(Severity.IGNORED, "continuous joints", "lower and upper limits", done, limit)
        return Limits((), (), (speed,), (effort,))
    lower, upper = number(limit, "lower", 0.0), number(limit, "upper", 0.0)
    if lower > upper:
        found = f"its lower limit {lower:g} is above its upper limit {upper:g}"
        findings.add(Severity.PHYSICS, f"joint {name!r}", found, "left out: it moves without end", limit)
        lower, upper = -inf, inf
    return Limits((lower,), (upper,), (speed,), (effort,))


def _passive(element: Element, name: str, findings: Findings) -> Passive:
    dynamics = element.find("dynamics")
    if dynamics is None:
        return STILL
    has_damping, has_friction = "damping" in dynamics.attrib, "friction" in dynamics.attrib
    if not has_damping and not has_friction:
        raise ElementError(
            dynamics, f"joint {name!r}: <dynamics> has neither damping nor friction; give one, or leave it out"
        )
    damping = _magnitude(dynamics, "damping", 0.0, name, findings) if has_damping else 0.0
    friction = _magnitude(dynamics, "friction", 0.0, name, findings) if has_friction else 0.0
    return Passive(damping=(damping,), friction=(friction,)) if damping or friction else STILL


def _magnitude(element: Element, attribute: str, otherwise: float, name: str, findings: Findings) -> float:
    """A number that is zero or more; a negative one is reported, and `otherwise` taken."""
    value = number(element, attribute)
    if value >= 0:
        return value
    found, done = f"its {attribute} is negative: {value:g}", f"taken as {otherwise:g}"
    findings.add(Severity.PHYSICS, f"joint {name!r}", found, done, element)
    return otherwise


# ── mimic joints ─────────────────────────────────────────────────────────────────────────────────


def couplings_of(
    elements: Mapping[str, Element], joints: Mapping[str, Moving], names: Mapping[str, str], findings: Findings
) -> Iterator[CouplingRecord]:
    """The couplings of joints that mimic others: y = offset + multiplier · x.

    `elements` and `joints` are the robot's by the names of the file, `names` what the records call them.
    """
    mimics = {name: mimic for name, element in elements.items() if (mimic := element.find("mimic")) is not None}
    drivers = {name: required(mimic, "joint", "the name of the joint to follow") for name, mimic in mimics.items()}
    for name, mimic in mimics.items():
        driver = drivers[name]
        multiplier, offset = number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0)
        severity, done = _settled(name, drivers, joints)
        findings.add(severity, f"joint {name!r}", f"it mimics joint {driver!r}", done, mimic)
        if done != _COUPLED:
            continue
        if joints[driver].joint.nv == 0:
            yield CouplingRecord(names[name], names[name], None, (offset,))
        else:
            yield CouplingRecord(names[name], names[name], names[driver], (offset, multiplier))


_COUPLED = "kept as a constraint; its freedom is still there in q and v"


def _settled(name: str, drivers: Mapping[str, str], joints: Mapping[str, Moving]) -> tuple[Severity, str]:
    """What becomes of the mimic of a joint."""
    driver = drivers[name]
    if joints[name].joint.nv == 0:
        return Severity.NOTE, "left out: it is fixed"
    if driver not in joints:
        return Severity.KEPT, "left out, it moves freely, as in Pinocchio: the file has no joint of that name"
    if joints[name].joint.nv > 1 or joints[driver].joint.nv > 1:
        return Severity.PHYSICS, "left out, it moves freely: only joints of one freedom can mimic and be mimicked"
    if _leads_back(name, drivers):
        return Severity.PHYSICS, "left out, it moves freely: that one follows it in turn, and no joint leads"
    return Severity.KEPT, _COUPLED


def _leads_back(name: str, drivers: Mapping[str, str]) -> bool:
    """Whether a joint follows itself, by way of others."""
    joint = drivers[name]
    for _ in drivers:  # a way longer than this is in a circle that it is not part of
        if joint == name or joint not in drivers:
            break
        joint = drivers[joint]
    return joint == name
