"""URDF: a tree of links and joints, as ROS writes it (https://wiki.ros.org/urdf/XML).

What is an error follows urdfdom, the reader that ROS and Pinocchio use, and goes beyond it where that would drop
something without a word. Each link becomes a body whose frame is the link's; each joint keeps its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from itertools import count
from typing import NamedTuple
from xml.etree.ElementTree import Element

from qdot.algebra import Vec3
from qdot.description import WORLD, BodyRecord, Description, JointSoftness, Severity
from qdot.formats.reading import Reading
from qdot.formats.resolve import Resolver
from qdot.formats.urdf_joints import FIXED, STILL, Moving, couplings_of, joint_of
from qdot.formats.urdf_poses import MASSLESS, Poses, inertia_of
from qdot.formats.urdf_schema import ROBOT, ROBOT_WITHOUT_SHAPES, Findings, report_the_rest
from qdot.formats.urdf_shapes import Shapes
from qdot.formats.xml import Document, ElementError, required
from qdot.joints import Free
from qdot.spatial import IDENTITY

GRAVITY = Vec3(0, 0, -9.81)
"""URDF says nothing about it; this is what its users mean."""

VERSIONS = ("1.0", "1.1", "1.2")
ROOT_JOINT = "root_joint"
_SOFTNESS = JointSoftness()


def read_urdf(document: Document, *, free_base: bool = False, resolver: Resolver, with_shapes: bool = True) -> Reading:
    """The description of a `<robot>`; its root link stands on the world, or floats with `free_base`.

    A root link called "world" is the world itself. With `free_base` it floats all the same, as in Pinocchio, under
    another name.
    """
    try:
        return _read(document, free_base, resolver, with_shapes)
    except ElementError as error:
        raise error.placed(document) from None


def _read(document: Document, free_base: bool, resolver: Resolver, with_shapes: bool) -> Reading:
    robot = document.root
    if "name" not in robot.attrib:
        raise ElementError(robot, "the robot has no name; give it one: <robot name=...>")
    version = robot.get("version", "1.0")
    if version not in VERSIONS:
        raise ElementError(robot, f"the robot is in version {version!r} of URDF; qdot reads {', '.join(VERSIONS)}")
    findings = Findings(document)
    report_the_rest([robot], ROBOT if with_shapes else ROBOT_WITHOUT_SHAPES, findings)
    tree = _tree(robot)
    poses = Poses(findings, quaternions=version != "1.0")
    shapes = Shapes(robot, poses, resolver, findings)
    body_names, joint_names = _names(tree, free_base, findings)
    joints = {name: joint_of(element, name, findings) for name, element in tree.joints.items()}

    bodies: list[BodyRecord] = []
    massive: dict[str, Element] = {}
    for name, link in tree.links.items():
        inertial = link.find("inertial")
        body = body_names[name]
        if body == WORLD:
            if inertial is not None:
                done = "left out: the world stands still"
                findings.add(Severity.IGNORED, f"link {name!r}", "an inertia", done, inertial)
            continue
        massive[body] = link if inertial is None else inertial
        if name == tree.root:
            parent, placement = WORLD, IDENTITY
            moving = Moving(Free() if free_base else FIXED, STILL)
            joint_name = _unused(ROOT_JOINT, joint_names.values())
        else:
            holder = tree.holders[name]
            parent, placement = body_names[holder.parent], poses.of(tree.joints[holder.joint])
            moving, joint_name = joints[holder.joint], joint_names[holder.joint]
        bodies.append(
            BodyRecord(
                body,
                parent,
                moving.joint,
                joint_name,
                placement,
                MASSLESS if inertial is None else inertia_of(inertial, poses),
                moving.passive,
                shapes.of(link) if with_shapes else (),
                IDENTITY,
                softness=_SOFTNESS,
            )
        )
    is_world = with_shapes and body_names[tree.root] == WORLD
    description = Description(
        robot.attrib["name"],
        GRAVITY,
        tuple(bodies),
        world_shapes=shapes.of(tree.links[tree.root]) if is_world else (),
        constraints=tuple(couplings_of(tree.joints, joints, joint_names, findings)),
        report=findings.report(),
    )

    @cache
    def lines() -> dict[str, int]:
        return dict(zip(massive, document.lines([*massive.values()]), strict=True))

    return Reading(description, lambda body: lines()[body])


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────


class Holder(NamedTuple):
    """What holds a link: a joint, and the link on its other side."""

    joint: str
    parent: str


class Tree(NamedTuple):
    """Links and joints by name, what holds each link but the root."""

    links: dict[str, Element]
    joints: dict[str, Element]
    holders: dict[str, Holder]
    root: str


def _tree(robot: Element) -> Tree:
    links, joints = _named(robot, "link"), _named(robot, "joint")
    if not links:
        raise ElementError(robot, "the robot has no <link>; a model needs one at least")
    holders: dict[str, Holder] = {}
    for name, joint in joints.items():
        parent, child = _end(joint, name, "parent", links), _end(joint, name, "child", links)
        if child == parent:
            raise ElementError(joint, f"joint {name!r} holds link {child!r} to itself; name two links")
        if child in holders:
            raise ElementError(
                joint,
                f"link {child!r} is the child of two joints, {holders[child].joint!r} and {name!r}; URDF is a tree: "
                "remove one, and close the loop with a loop joint of qdot.Mechanism or in MJCF",
            )
        holders[child] = Holder(name, parent)
    roots = [name for name in links if name not in holders]
    if len(roots) > 1:
        raise ElementError(
            links[roots[1]],
            f"the robot has {len(roots)} roots, {', '.join(map(repr, roots[:4]))}{' …' if len(roots) > 4 else ''}; "
            "hold all but one by joints, of type 'fixed' if need be",
        )
    _require_no_circle(joints, holders)
    return Tree(links, joints, holders, roots[0])


def _named(robot: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    why = f"a name of its own; every {tag} has one"
    for element in robot.findall(tag):
        name = element.get("name") or required(element, "name", why)
        if name in found:
            raise ElementError(element, f"two {tag}s are named {name!r}; give one another name")
        found[name] = element
    return found


def _end(joint: Element, name: str, tag: str, links: Mapping[str, Element]) -> str:
    """The link that a joint names as its parent or child."""
    end = joint.find(tag)
    if end is None:
        raise ElementError(joint, f"joint {name!r} has no <{tag}>; name the link: <{tag} link=.../>")
    link = end.get("link") or required(end, "link", f"the {tag} link of joint {name!r}")
    if link not in links:
        raise ElementError(
            end, f"{tag} link {link!r} of joint {name!r} is not in the file; add it, or correct the name"
        )
    return link


def _require_no_circle(joints: Mapping[str, Element], holders: Mapping[str, Holder]) -> None:
    rooted: set[str] = set()
    for start in holders:
        path: dict[str, None] = {}
        link = start
        while link in holders and link not in rooted:
            if link in path:
                circle = [*path][[*path].index(link) :]
                raise ElementError(
                    joints[holders[link].joint],
                    f"the links {' → '.join(map(repr, [*circle, link]))} hold each other in a circle; a tree needs a "
                    "root: remove one of their joints",
                )
            path[link] = None
            link = holders[link].parent
        rooted.update(path)


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def _names(tree: Tree, free_base: bool, findings: Findings) -> tuple[dict[str, str], dict[str, str]]:
    """What bodies and joints are called, by link and joint: their own names, but "world" is qdot's."""
    bodies, joints = {name: name for name in tree.links}, {name: name for name in tree.joints}
    if WORLD in bodies and (tree.root != WORLD or free_base):
        bodies[WORLD] = _unused("world_link", bodies)
        done = f"called {bodies[WORLD]!r}: the name is that of the world itself"
        findings.add(Severity.NOTE, "link 'world'", "a body with this name", done, tree.links[WORLD])
    if WORLD in joints:
        joints[WORLD] = _unused("world_joint", joints)
        done = f"called {joints[WORLD]!r}: the name is that of the world itself"
        findings.add(Severity.NOTE, "joint 'world'", "a joint with this name", done, tree.joints[WORLD])
    return bodies, joints


def _unused(name: str, taken: Collection[str]) -> str:
    """The name, or the first of name_1, name_2 … that is free."""
    if name not in taken:
        return name
    return next(other for k in count(1) if (other := f"{name}_{k}") not in taken)
