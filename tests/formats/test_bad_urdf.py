"""URDF files that are wrong: each is refused with file, line, cause and remedy, or loads; nothing else comes out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from copy import deepcopy
from functools import cache
from math import inf

import pytest
from hypothesis import given, settings, strategies as st

import qdot
from benchmarks.robots import in_wheels
from qdot.algebra import Vec3
from qdot.description import Severity
from qdot.errors import ModelError, QdotError
from qdot.joints import Continuous, Planar

LINKS = '<link name="a"/><link name="b"/><link name="c"/>\n'
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def joint(name: str, parent: str, child: str, kind: str = "fixed", inner: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inner}</joint>\n'


AB, BC = joint("j", "a", "b"), joint("k", "b", "c")


def inertial(inner: str) -> str:
    return f'<link name="a">\n<inertial>\n{inner}</inertial></link>'


MASS = '<mass value="1"/>'
MOMENTS = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'

REFUSED = {
    "no links": ("", 1, "no <link>"),
    "link without a name": ("<link/>", 2, "<link>: the attribute 'name' is missing"),
    "link with an empty name": ('<link name=""/>', 2, "<link>: the attribute 'name' is empty"),
    "joint without a name": (LINKS + AB + '<joint type="fixed"/>', 4, "<joint>: the attribute 'name' is missing"),
    "joint without a type": (LINKS + AB + BC.replace('type="fixed"', ""), 4, "'type' is missing; give it revolute"),
    "joint of an unknown type": (LINKS + AB + joint("k", "b", "c", "ball"), 4, "joint 'k' has the type 'ball'"),
    "two links of one name": ('<link name="a"/>\n<link name="a"/>', 3, "two links are named 'a'"),
    "two joints of one name": (LINKS + AB + joint("j", "b", "c"), 4, "two joints are named 'j'"),
    "two materials of one name": (
        '<link name="a"/>\n<material name="m"><color rgba="1 0 0 1"/></material>\n'
        '<material name="m"><color rgba="1 0 0 1"/></material>',
        4,
        "two materials are named 'm'",
    ),
    "no parent": (LINKS + AB + BC.replace('<parent link="b"/>', ""), 4, "joint 'k' has no <parent>"),
    "no child": (LINKS + AB + BC.replace('<child link="c"/>', ""), 4, "joint 'k' has no <child>"),
    "parent without a link": (LINKS + AB + BC.replace('link="b"', ""), 4, "<parent>: the attribute 'link' is missing"),
    "unknown parent": (LINKS + AB + joint("k", "x", "c"), 4, "parent link 'x' of joint 'k' is not in the file"),
    "unknown child": (LINKS + AB + joint("k", "b", "x"), 4, "child link 'x' of joint 'k' is not in the file"),
    "joint to itself": (LINKS + AB + joint("k", "c", "c"), 4, "joint 'k' holds link 'c' to itself"),
    "two holders": (LINKS + AB + BC + joint("l", "a", "c"), 5, "link 'c' is the child of two joints, 'k' and 'l'"),
    "two roots": (LINKS + AB, 2, "the robot has 2 roots, 'a', 'c'"),
    "circle of all": (LINKS + AB + BC + joint("l", "c", "a"), 3, "'b' → 'a' → 'c' → 'b' hold each other in a circle"),
    "circle beside the tree": (LINKS + joint("j", "b", "c") + joint("k", "c", "b"), 3, "hold each other in a circle"),
    "no limit": (LINKS + AB + joint("k", "b", "c", "revolute"), 4, "joint 'k' is revolute but has no <limit>"),
    "no effort": (
        LINKS + AB + joint("k", "b", "c", "revolute", '<limit velocity="1"/>'), 4, "the attribute 'effort' is missing"
    ),
    "axis without numbers": (LINKS + AB + joint("k", "b", "c", "continuous", "<axis/>"), 4, "'xyz' is missing"),
    "empty dynamics": (LINKS + AB + joint("k", "b", "c", "continuous", "<dynamics/>"), 4, "neither damping nor"),
    "mimic of nothing": (LINKS + AB + joint("k", "b", "c", "continuous", "<mimic/>"), 4, "'joint' is missing"),
    "origin of two numbers": (LINKS + AB + joint("k", "b", "c", inner='<origin xyz="1 2"/>'), 4, "needs 3 numbers"),
    "origin with a comma": (LINKS + AB + joint("k", "b", "c", inner='<origin rpy="1,5 0 0"/>'), 4, "needs 3 numbers"),
    "no mass": (inertial(MOMENTS), 3, "<inertial> has no <mass>"),
    "no moments": (inertial(MASS), 3, "<inertial> has no <inertia>"),
    "mass without a value": (inertial("<mass/>" + MOMENTS), 4, "<mass>: the attribute 'value' is missing"),
    "missing moment": (inertial(MASS + MOMENTS.replace('ixy="0"', "")), 4, "<inertia>: the attribute 'ixy' is missing"),
    "negative mass": (
        inertial('<mass value="-1"/>' + MOMENTS), 3, "its inertia: the mass is negative: -1 kg; it cannot be simulated"
    ),
    "infinite mass": (inertial('<mass value="inf"/>' + MOMENTS), 4, "<mass>: the attribute 'value' needs one number"),
    "sphere without a radius": (
        '<link name="a">\n<visual><geometry><sphere/></geometry></visual></link>', 3, "'radius' is missing"
    ),
    "mesh without a file": (
        '<link name="a">\n<visual><geometry><mesh/></geometry></visual></link>', 3, "'filename' is missing"
    ),
    "xacro": ('<xacro:macro name="leg"/>', 2, "<xacro:macro> is for xacro"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_robots_are_refused_with_their_place(case: str) -> None:
    inner, line, message = REFUSED[case]
    with pytest.raises(ModelError, match=rf"^text:{line}: .*{re.escape(message)}"):
        qdot.load(f'<robot name="rig">\n{inner}</robot>')


CHANGED = {
    "crossing limits": (
        joint("k", "b", "c", "revolute", '<limit lower="2" upper="1" velocity="1" effort="1"/>'),
        "joint 'k': its lower limit 2 is above its upper limit 1; left out: it moves without end",
        lambda joint, _: (joint.limits.lower, joint.limits.upper) == ((-inf,), (inf,)),
    ),
    "negative effort": (
        joint("k", "b", "c", "continuous", '<limit velocity="1" effort="-3"/>'),
        "joint 'k': its effort is negative: -3; taken as inf",
        lambda joint, _: (joint.limits.velocity, joint.limits.effort) == ((1,), (inf,)),
    ),
    "zero axis": (
        joint("k", "b", "c", "prismatic", LIMIT + '<axis xyz="0 0 0"/>'),
        "joint 'k': its axis is zero; taken as 1 0 0",
        lambda joint, _: joint.axis == Vec3(1, 0, 0),
    ),
    "zero axis of a plane": (
        joint("k", "b", "c", "planar", '<axis xyz="0 0 1e-300"/>'),
        "joint 'k': its axis is zero; taken as 1 0 0",
        lambda joint, _: joint == Planar("x"),
    ),
    "negative damping": (
        joint("k", "b", "c", "continuous", '<dynamics damping="-1" friction="2"/>'),
        "joint 'k': its damping is negative: -1; taken as 0",
        lambda _, passive: (passive.damping, passive.friction) == ((0,), (2,)),
    ),
    "negative friction": (
        joint("k", "b", "c", "continuous", '<dynamics friction="-1"/>'),
        "joint 'k': its friction is negative: -1; taken as 0",
        lambda _, passive: passive.friction == (0,),
    ),
    "mimic of itself": (
        joint("k", "b", "c", "continuous", '<mimic joint="k"/>'),
        "joint 'k': it mimics joint 'k'; left out, it moves freely",
        lambda joint, _: joint == Continuous("x"),
    ),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_cannot_move_as_the_file_says_is_refused_or_told(case: str) -> None:
    """Pinocchio loads all but the negative effort; strict=False does, with something else in place of what is wrong."""
    inner, message, holds = CHANGED[case]
    text = f'<robot name="rig">\n{LINKS}{AB}{inner}</robot>'
    with pytest.raises(ModelError, match=rf"(?s)^text: the motion would not .*\n  text:4: {re.escape(message)}"):
        qdot.load(text)
    model = qdot.load(text, strict=False)
    (item,) = model.report.of(Severity.PHYSICS)
    assert str(item).startswith(f"text:4: {message}")
    assert holds(model.body("c").joint, model.body("c").passive)


SLIPS = {
    "<Inertial>": ('<link name="c"><Inertial/></link>', "<link>", "did you mean <inertial>?"),
    "<intertial>": ('<link name="c"><intertial/></link>', "<link>", "did you mean <inertial>?"),
    "<Joint>": ("<Joint/>", "<robot>", "did you mean <joint>?"),
    "<mimick>": (joint("k", "a", "b", "continuous", '<mimick joint="j"/>'), "<joint>", "did you mean <mimic>?"),
    "<axes>": (joint("k", "a", "b", "continuous", '<axes xyz="0 0 1"/>'), "<joint>", "did you mean <axis>?"),
    "damping_": (
        joint("k", "a", "b", "continuous", '<dynamics friction="1" damping_="1"/>'), "<dynamics>", "mean 'damping'?"
    ),
    "Lower": (
        joint("k", "a", "b", "revolute", '<limit Lower="-1" upper="1" velocity="1" effort="1"/>'), "<limit>", "'lower'?"
    ),
    "multipler": (joint("k", "a", "b", "continuous", '<mimic joint="j" multipler="2"/>'), "<mimic>", "'multiplier'?"),
    "ryp": (joint("k", "a", "b", inner='<origin xyz="1 0 0" rpyy="0 0 1"/>'), "<origin>", "mean 'rpy'?"),
    "<orign> of a collision": (
        '<link name="c"><collision><orign xyz="1 0 0"/><geometry><sphere radius="1"/></geometry></collision></link>',
        "<collision>",
        "did you mean <origin>?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SLIPS)
def test_slips_of_the_pen_that_change_the_motion_are_refused(case: str) -> None:
    inner, subject, hint = SLIPS[case]
    links = '<link name="a"/>' if "joint" not in inner else '<link name="a"/><link name="b"/>'
    hold = joint("h", "a", "c") if 'name="c"' in inner else ""
    text = f'<robot name="rig">{links}\n{inner}{hold}</robot>'
    with pytest.raises(ModelError, match=rf"(?s)^text: .*\n  text:2: {subject}: .*{re.escape(hint)}"):
        qdot.load(text)
    assert [item.severity for item in qdot.load(text, strict=False).report].count(Severity.PHYSICS) == 1


def test_slips_of_the_pen_in_what_is_only_seen_are_told() -> None:
    seen = '<visual><orign xyz="1 0 0"/><geometry><sphere radius="1"/></geometry></visual>'
    (item,) = qdot.load(f'<robot name="rig"><link name="a">{seen}</link></robot>').report
    assert item.severity is Severity.IGNORED
    assert "did you mean <origin>?" in item.done


def test_other_things_that_urdf_does_not_have_are_no_slips() -> None:
    """Robots that others use have these: <limit gear_velocity=...> in ANYmal."""
    limit = LIMIT.replace("/>", ' gear_velocity="10"/>')
    text = f'<robot name="rig">{LINKS}{AB}{joint("k", "b", "c", "revolute", limit + "<hardware/>")}</robot>'
    assert {item.severity for item in qdot.load(text).report} == {Severity.IGNORED}


def test_wrong_roots_are_refused() -> None:
    with pytest.raises(ModelError, match=r"^text:1: the robot has no name"):
        qdot.load('<robot><link name="a"/></robot>')
    with pytest.raises(ModelError, match=r"^text:1: the robot is in version '2\.0'"):
        qdot.load('<robot name="rig" version="2.0"><link name="a"/></robot>')


@pytest.mark.parametrize(
    ("attributes", "message"),
    [('quat_xyzw="0 0 0 2"', "'quat_xyzw' has length 2"), ('rpy="0 0 1" quat_xyzw="0 0 0 1"', "has both")],
)
def test_wrong_quaternions_are_refused(attributes: str, message: str) -> None:
    turned = joint("j", "a", "b", inner=f"<origin {attributes}/>")
    with pytest.raises(ModelError, match=rf"^text:2: <origin>.*{message}"):
        qdot.load(f'<robot name="rig" version="1.1"><link name="a"/><link name="b"/>\n{turned}</robot>')


# ── real files, broken ───────────────────────────────────────────────────────────────────────────

ROBOTS = (
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "panda_description/urdf/panda.urdf",
    "solo_description/robots/solo12.urdf",
    "tiago_description/robots/tiago_no_hand.urdf",
)
GARBAGE = (
    *("", "nan", "-inf", "1e999", "1e308", "-1e300", "1e-320", "0", "-1", "1,5", "1 2 3 4 5 6 7", "1e200 -1e200 1e200"),
    *("world", "ﬁ", "package://x/y.stl", "panda_link1", "revolute", "planar", "floating", "fixed"),
)


@cache
def text_of(robot: str) -> str:
    path = in_wheels(f"share/example-robot-data/robots/{robot}")
    assert path is not None
    return path.read_text("utf-8")


def refusal(text: str) -> str | None:
    """Why a text is refused; None for one that loads."""
    try:
        qdot.load(text, strict=False)
    except QdotError as error:
        return str(error)
    return None


def loads_or_is_refused(text: str) -> None:
    why = refusal(text)
    assert why is None or re.match(r"text:\d+: ", why)


index = st.integers(0, 10_000)
changes = st.one_of(
    st.tuples(st.just("delete"), index, index),
    st.tuples(st.just("double"), index, index),
    st.tuples(st.just("exchange"), index, index),
    st.tuples(st.just("move"), index, index),
    st.tuples(st.just("forget"), index, index),
    st.tuples(st.just("retag"), index, index),
    st.tuples(st.just("write"), index, index, st.sampled_from(GARBAGE) | st.text(max_size=10)),
    st.tuples(st.just("copy value"), index, index),
)


def changed(root: ET.Element, change: tuple) -> None:
    """Apply one change to elements that are chosen by number."""
    parents = {child: parent for parent in root.iter() for child in parent}
    elements = [element for element in root.iter() if element is not root]
    if not elements:
        return
    kind, i, j, *value = change
    one, other = elements[i % len(elements)], elements[j % len(elements)]
    names = sorted(one.attrib)
    name = names[j % len(names)] if names else None
    if kind == "delete":
        parents[one].remove(one)
    elif kind == "double":
        parents[other].append(deepcopy(one))
    elif kind == "exchange":
        one.attrib, other.attrib = other.attrib, one.attrib
    elif kind == "move" and other not in one.iter():
        parents[one].remove(one)
        other.append(one)
    elif kind == "retag":
        one.tag = other.tag
    elif name is not None and kind == "forget":
        del one.attrib[name]
    elif name is not None and kind == "write":
        one.attrib[name] = "".join(x for x in value[0] if x.isprintable())
    elif name is not None and kind == "copy value" and name in other.attrib:
        one.attrib[name] = other.attrib[name]


@pytest.mark.parametrize("robot", ROBOTS)
@settings(max_examples=60)
@given(data=st.data())
def test_changed_robots_load_or_are_refused(robot: str, data: st.DataObject) -> None:
    root = ET.fromstring(text_of(robot))
    for change in data.draw(st.lists(changes, min_size=1, max_size=4)):
        changed(root, change)
    loads_or_is_refused(ET.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("robot", ROBOTS)
@settings(max_examples=40)
@given(data=st.data())
def test_cut_and_overwritten_texts_load_or_are_refused(robot: str, data: st.DataObject) -> None:
    text = text_of(robot)
    start = data.draw(st.integers(1, len(text)))
    stop = data.draw(st.integers(start, min(start + 50, len(text))) | st.just(len(text)))
    written = data.draw(st.text(max_size=5))
    loads_or_is_refused(text[:start] + written + text[stop:])


def test_a_file_that_refers_to_itself_through_entities_is_refused() -> None:
    bomb = '<!DOCTYPE robot [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    with pytest.raises(ModelError, match=r"^text:1: the DOCTYPE"):
        qdot.load(f'{bomb}<robot name="&b;"><link name="a"/></robot>')
    outside = '<!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    with pytest.raises(ModelError, match=r"^text:1: the DOCTYPE"):
        qdot.load(f'{outside}<robot name="rig"><link name="&a;"/></robot>')


def test_an_endless_attribute_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^text:2: what begins here goes on"):
        qdot.load('<robot name="rig">\n<link name="' + "a" * 100_000_000 + '"/></robot>')


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^text:1: <link> lies within more than"):
        qdot.load('<robot name="rig">' + "<link>" * 100_000 + "</link>" * 100_000 + "</robot>")
