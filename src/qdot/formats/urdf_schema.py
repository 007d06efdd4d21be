"""What the reader of URDF takes over, as a table of tags and attributes; and reports of everything else.

The reader picks what it knows. Whatever lies outside this table is found here, so nothing can be left out unsaid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from qdot.description import Item, Report, Severity
from qdot.formats.xml import Document, ElementError


class Findings:
    """What a reader has to report while it reads; things of one kind become one item, with their number."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._kinds: dict[tuple[Severity, str, str, str], list[Element]] = {}

    def add(self, severity: Severity, subject: str, found: str, done: str, *elements: Element) -> None:
        """An item about one element or more; the same words about others add to its number."""
        self._kinds.setdefault((severity, subject, found, done), []).extend(elements)

    def report(self) -> Report:
        """All items, in the order in which they were found first; their lines are found when somebody asks."""
        items = []
        for (severity, subject, found, done), elements in self._kinds.items():
            number = f" ({len(elements)} times, first here)" if len(elements) > 1 else ""
            items.append(Item(severity, subject, found + number, done, self.document.source.file))
        return Report(items, self.document.lines_later([elements[0] for elements in self._kinds.values()]))


@dataclass(frozen=True, slots=True)
class Tag:
    """The attributes and children of an element that are read; `once` are the children that may come but once."""

    attributes: frozenset[str]
    children: dict[str, Tag]
    once: frozenset[str]


def _tag(attributes: str = "", many: str = "", **children: Tag) -> Tag:
    return Tag(frozenset(attributes.split()), children, frozenset(children.keys() - many.split()))


_ORIGIN = _tag("xyz rpy quat_xyzw")
_MATERIAL = _tag("name", color=_tag("rgba"))
_GEOMETRY = _tag(
    box=_tag("size"),
    sphere=_tag("radius"),
    cylinder=_tag("radius length"),
    capsule=_tag("radius length"),
    mesh=_tag("filename scale"),
)
_INERTIAL = _tag(origin=_ORIGIN, mass=_tag("value"), inertia=_tag("ixx ixy ixz iyy iyz izz"))
_VISUAL = _tag("name", origin=_ORIGIN, geometry=_GEOMETRY, material=_MATERIAL)
_COLLISION = _tag("name", origin=_ORIGIN, geometry=_GEOMETRY)
_JOINT = _tag(
    "name type",
    origin=_ORIGIN,
    parent=_tag("link"),
    child=_tag("link"),
    axis=_tag("xyz"),
    limit=_tag("lower upper velocity effort"),
    dynamics=_tag("damping friction"),
    mimic=_tag("joint multiplier offset"),
)
UNREAD = _tag()
"""Of an element that is not asked for, whatever is in it."""


def _robot(visual: Tag, collision: Tag) -> Tag:
    link = _tag("name", many="visual collision", inertial=_INERTIAL, visual=visual, collision=collision)
    return _tag("name version", many="link joint material", link=link, joint=_JOINT, material=_MATERIAL)


ROBOT, ROBOT_WITHOUT_SHAPES = _robot(_VISUAL, _COLLISION), _robot(UNREAD, UNREAD)

_ONLY_SEEN = frozenset(("visual", "material", "name"))
"""What has no part in the motion; a link or a joint without a name is refused anyway."""

_WHY_LEFT_OUT = {
    "transmission": "it tells a controller how a motor drives a joint",
    "ros2_control": "it tells a controller how a motor drives a joint",
    "sensor": "sensors of URDF are not part of the mechanism",
    "safety_controller": "it tells a controller where to stop",
    "calibration": "it tells a controller where a joint is",
    "texture": "materials of qdot have a color only",
    "contact": "it is PyBullet's, for contacts",
    "surface": "it is SDF's, for contacts",
    "gravity": "it is SDF's; in URDF all links have weight",
    "kinematic": "it is SDF's",
}

_WHAT_GAZEBO_DOES = {
    "implicitSpringDamper": "it chooses how Gazebo integrates damping",
    "dampingFactor": "Gazebo would slow the body down",
    "damping": "Gazebo would slow the joint down",
    "friction": "Gazebo would add dry friction",
    "springStiffness": "Gazebo would add a spring",
    "springReference": "Gazebo would add a spring",
    "selfCollide": "Gazebo would let the links of the robot touch each other",
    "self_collide": "Gazebo would let the links of the robot touch each other",
    "initial_joint_position": "Gazebo would start there",
    "static": "Gazebo would hold the whole model still",
    "kinematic": "Gazebo would move the link without dynamics",
    "enable_wind": "Gazebo would let wind push it",
    "mu1": "it is for Gazebo's contacts",
    "mu2": "it is for Gazebo's contacts",
    "fdir1": "it is for Gazebo's contacts",
    "kp": "it is for Gazebo's contacts",
    "kd": "it is for Gazebo's contacts",
    "minDepth": "it is for Gazebo's contacts",
    "maxVel": "it is for Gazebo's contacts",
    "maxContacts": "it is for Gazebo's contacts",
    "stopKp": "it is how hard Gazebo's joint limits are",
    "stopKd": "it is how hard Gazebo's joint limits are",
    "stopCfm": "it is how hard Gazebo's joint limits are",
    "stopErp": "it is how hard Gazebo's joint limits are",
    "joint": "Gazebo would hold two links together by it and close a loop",
    "joint:hinge": "Gazebo would hold two links together by it and close a loop",
    "joint:slider": "Gazebo would hold two links together by it and close a loop",
    "plugin": "it is a program for Gazebo, which may move joints",
}


def report_the_rest(elements: list[Element], known: Tag, findings: Findings, moves: bool = True) -> None:
    """Report what elements of one tag hold beyond what is read of them, down to the leaves.

    `moves` tells whether they have a part in the motion; what looks like a slip of the pen then changes the motion.
    """
    if not known.attributes.issuperset(set().union(*[element.attrib for element in elements])):
        for element in elements:
            for attribute in sorted(element.attrib.keys() - known.attributes):
                _report_attribute(element, attribute, known, findings, moves)
    for tag, children in _by_tag(elements, known, findings).items():
        below = known.children.get(tag)
        if below is None:
            _report_unknown(elements[0].tag, tag, children, known, findings, moves)
        elif below is not UNREAD:
            report_the_rest(children, below, findings, moves and tag not in _ONLY_SEEN)


def _by_tag(elements: list[Element], known: Tag, findings: Findings) -> dict[str, list[Element]]:
    """All children of elements of one tag, but for second ones where the first one counts."""
    found: defaultdict[str, list[Element]] = defaultdict(list)
    once = known.once
    for element in filter(len, elements):
        seen = set()
        for child in element[:]:  # a list: quicker to go through than the element itself
            tag = child.tag
            if tag in once:
                if tag in seen:
                    what, done = f"more than one <{tag}>", "the first one counts, as for ROS"
                    findings.add(Severity.NOTE, f"<{element.tag}>", what, done, child)
                    continue
                seen.add(tag)
            found[tag].append(child)
    return found


def _report_attribute(element: Element, attribute: str, known: Tag, findings: Findings, moves: bool) -> None:
    if not attribute.startswith("xmlns"):
        found = f"the attribute {attribute!r}"
        severity, done = _judged(attribute, known.attributes, "{!r}", moves)
        findings.add(severity, f"<{element.tag}>", found, done, element)


def _report_unknown(
    parent: str, tag: str, elements: list[Element], known: Tag, findings: Findings, moves: bool
) -> None:
    """Report children, all of one tag, that elements of the tag `parent` cannot have."""
    if tag == "gazebo":
        _report_gazebo(elements, findings)
        return
    if tag.startswith("xacro:"):
        raise ElementError(
            elements[0],
            f"<{tag}> is for xacro, which makes URDF files; run it first: xacro robot.urdf.xacro > robot.urdf",
        )
    why = _WHY_LEFT_OUT.get(tag)
    if parent == "collision" and tag == "material":
        why = "what collides is not seen"
    severity, done = Severity.IGNORED, f"left out: {why}"
    if why is None:
        severity, done = _judged(tag, known.children, "<{}>", moves)
    findings.add(severity, f"<{parent}>", f"the element <{tag}>", done, *elements)


def _judged(name: str, known: Iterable[str], form: str, moves: bool) -> tuple[Severity, str]:
    """What an unknown name means: a slip of the pen, <Inertial> or <mimick>, changes the motion."""
    done = "left out: it is not part of URDF"
    similar = [other for other in known if abs(len(other) - len(name)) <= 2]  # names may be of any length
    near = min(similar, key=lambda other: _slips(name.lower(), other), default="")
    if not near or _slips(name.lower(), near) > (2 if len(near) > 4 else 1):
        return Severity.IGNORED, done
    severity = Severity.PHYSICS if moves and near not in _ONLY_SEEN else Severity.IGNORED
    return severity, f"{done}; did you mean {form.format(near)}?"


def _slips(one: str, other: str) -> int:
    """How many letters must be put in, left out or changed to make one word of another (Levenshtein)."""
    row = [*range(len(other) + 1)]
    for i, letter in enumerate(one):
        above, row = row, [i + 1]
        for j, x in enumerate(other):
            row.append(min(above[j] + (letter != x), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def _report_gazebo(elements: list[Element], findings: Findings) -> None:
    for tag, children in _by_tag(elements, UNREAD, findings).items():
        found, why = f"the element <{tag}>", _WHAT_GAZEBO_DOES.get(tag, "it is for Gazebo")
        if tag not in ("turnGravityOff", "gravity"):
            findings.add(Severity.IGNORED, "<gazebo>", found, f"left out: {why}", *children)
            continue
        for child, content in zip(children, findings.document.contents(children), strict=True):
            is_off = (content.lower() in ("true", "1")) == (tag == "turnGravityOff")
            why = "Gazebo would take the weight off the link" if is_off else "it is what URDF says anyway"
            findings.add(Severity.IGNORED, "<gazebo>", found, f"left out: {why}", child)
    empty = [element for element in elements if not len(element)]
    if empty:
        findings.add(Severity.NOTE, "<gazebo>", "an empty element", "it says nothing", *empty)
