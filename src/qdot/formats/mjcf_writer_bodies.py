"""Bodies of a model as MuJoCo's: nested, each with any number of joints, which move it one after the other.

MuJoCo puts a body where it is at home, and lets each joint act about an axis through an anchor, both given on the body
there. With the chain X(q) = C₁ J₁(q₁) C₂ J₂(q₂) … C of `chains`, and Yₖ = Cₖ₊₁ Jₖ₊₁(home) … C after joint k, that is
    X(q) = X(home) E₁ … Eₙ,   Eₖ = Yₖ⁻¹ Jₖ(qₖ - homeₖ) Yₖ:
the axis is Yₖ⁻¹ applied to the joint's, the anchor is the origin of Yₖ⁻¹. A ball's and a free joint's configuration are
the same on both sides if Yₖ does not turn; where the body's own frame does, it is welded to one that does not.
"""

from __future__ import annotations

from collections import defaultdict
from xml.etree.ElementTree import Element

import numpy as np

from qdot.algebra import Mat3, Quaternion, Vec3, as_array
from qdot.description import (
    WORLD,
    CouplingRecord,
    Description,
    FrameRecord,
    OnContacts,
    OnFrame,
    OnSliderCrank,
    Severity,
    ShapeRecord,
    Via,
    Wrap,
)
from qdot.errors import ModelError
from qdot.formats.chains import Chain, Move, chain_of, compose, depth_first, own_frames, seen_from, split_for_mujoco
from qdot.formats.mesh_writer import bare
from qdot.formats.mjcf_writer_joints import Joints
from qdot.formats.mjcf_writer_shapes import GRAY, HIDDEN, Geoms, posed, sized
from qdot.formats.written import MASSLESS, Names, Remarks, child, unless, written
from qdot.joints import Free, Spherical
from qdot.model.model import Body, Model
from qdot.spatial import IDENTITY, Inertia, Transform, nearest_physical
from qdot.spatial.physical import TOLERANCE

LEAST = 1e-15
"""The least mass [kg] and moment of inertia [kg·m²] that MuJoCo takes for a body that moves (its mjMINVAL)."""

_USUAL_SITE = ("sphere", (0.005,))


class Bodies:
    """Writes the tree; keeps where each body was put."""

    def __init__(self, model: Model, geoms: Geoms, remarks: Remarks) -> None:
        self.model, self.geoms, self.remarks = model, geoms, remarks
        self.elements: dict[str, Element] = {}
        self.joints = Joints(model, remarks)
        self._frames = own_frames(model)
        self._sites: dict[str, str] = {}
        self._children: dict[str, list[Body]] = defaultdict(list)
        for body in model.bodies:
            self._children[body.record.parent].append(body)
        self._referred = frames_named(model.description)
        links = {body.name for body in model.bodies if self._is_link(body)}
        self._names = Names(model.frames.keys() - links)

    def write(self, world: Element, shapes: dict[str, list[ShapeRecord]], frames: list[FrameRecord]) -> None:
        """All bodies below the world, each with its shapes and with the frames that are on it as sites."""
        on: dict[str, list[FrameRecord]] = defaultdict(list)
        for frame in frames:
            on[frame.body].append(frame)
        links: list[Body] = []
        for body in (None, *depth_first(self.model)):
            name = WORLD if body is None else body.name
            if body is not None and self._is_link(body):
                links.append(body)  # the next one is the only one on it
                continue
            element = world if body is None else self._body(body, tuple(links))
            links = []
            self.elements[name] = element
            still = bool(shapes[name]) and self._is_still(body)
            for shape in shapes[name]:
                self.geoms.add(element, name, shape, self._frames[name], still)
            for frame in on[name]:
                self._sites[frame.name] = frame.name
                self._site(element, frame)

    # ── frames ───────────────────────────────────────────────────────────────────────────────────

    def site_of(self, frame: str) -> str:
        """The site that a frame was written as; made now for the own frame of a body."""
        if frame not in self._sites:
            self._sites[frame] = self.add_site(f"{frame}_site", frame, IDENTITY)
        return self._sites[frame]

    def add_site(self, wanted: str, frame: str, pose: Transform) -> str:
        """A site at a pose in a frame, for something that MuJoCo wants a site for."""
        body, place = self.on_body(frame)
        name = self._names.free(wanted)
        child(self.elements[body], "site", name=name, **posed(compose(place, pose)))
        self.remarks.add(Severity.NOTE, "frame", frame, "needed as a site", "added one")
        return name

    def on_body(self, frame: str) -> tuple[str, Transform]:
        """The body that a frame is on, and its pose in the body's own frame."""
        found = self.model.frame(frame)
        body = WORLD if found.body == 0 else self.model.bodies[found.body - 1].name
        return body, seen_from(self._frames[body], found.placement)

    def _site(self, element: Element, record: FrameRecord) -> None:
        look: dict[str, object | None] = {}
        if record.region is not None:
            shape, pose = bare(record.region.shape)
            simple = sized(shape)
            if simple is None or simple[0] == "plane" or pose != IDENTITY:
                found = "the region about it, of a kind or at a place that MuJoCo does not have for sites"
                self.remarks.lost("frame", record.name, found, False)
            else:
                group = max(record.region.group, 0 if record.region.visual else HIDDEN)
                kind, size = (None, None) if simple == _USUAL_SITE else simple
                color = unless(GRAY, record.region.material.color)
                look = {"type": kind, "size": size, "group": unless(0, group), "rgba": color}
        pose = seen_from(self._frames[record.body], record.placement)
        child(element, "site", name=record.name, **posed(pose), **look)

    # ── bodies ───────────────────────────────────────────────────────────────────────────────────

    def _is_link(self, body: Body) -> bool:
        """Whether a body only stands between joints of another: a reader calls it after that one and its own joint."""
        record, below = body.record, self._children[body.name]
        stem = body.name.removesuffix(f":{body.joint_name}")
        return (
            len(below) == 1
            and stem != body.name
            and below[0].name in (stem, f"{stem}:{below[0].joint_name}")
            and record.inertia == MASSLESS
            and record.frame == IDENTITY
            and not record.shapes
            and body.name not in self._referred
        )

    def _is_still(self, body: Body | None) -> bool:
        """Whether a body never moves: nothing between it and the world does."""
        while body is not None and body.joint.nv == 0:
            body = self.model.bodies[body.parent - 1] if body.parent else None
        return body is None

    def _chain(self, body: Body, links: tuple[Body, ...]) -> Chain:
        """The moves of a body, after those of the links before it."""
        first, *rest = (*links, body)
        moves, after = chain_of(first, seen_from(self._frames[first.record.parent], first.placement), split_for_mujoco)
        for part in rest:
            more, after = chain_of(part, compose(after, part.placement), split_for_mujoco)
            moves += more
        return Chain(moves, after)

    def _body(self, body: Body, links: tuple[Body, ...]) -> Element:
        """The element of a body, with its joints and its inertia."""
        record, (moves, after) = body.record, self._chain(body, links)
        first = (*links, body)[0]
        parent, on_world = self.elements[first.record.parent], first.parent == 0
        self._check(body, moves, on_world)
        free = any(isinstance(move.joint, Free) for move in moves)
        balls = any(isinstance(move.joint, Spherical) for move in moves)
        welded = (free and after != IDENTITY) or (balls and after.rotation != IDENTITY.rotation)
        X, laid = laid_out(moves, IDENTITY if welded else after)
        if welded:
            moved = child(parent, "body", name=self._names.free(f"{body.name}:{moves[-1].name}"), **posed(X))
            element = child(moved, "body", name=body.name, **posed(after))
        else:
            moved = element = child(parent, "body", name=body.name, **posed(X))
        if record.target and on_world:
            element.set("mocap", "true")
        if record.gravity_compensation:
            element.set("gravcomp", written(record.gravity_compensation))
        for move, Y in laid:
            self.joints.add(moved, move, Y)
        self._inertial(element, body, bool(moves))
        return element

    def _check(self, body: Body, moves: tuple[Move, ...], on_world: bool) -> None:
        record = body.record
        if any(isinstance(move.joint, Free) for move in moves):
            if len(moves) > 1 or not on_world:
                raise ModelError(
                    f"joint {body.joint_name!r}: MuJoCo has free joints on the world only; write it as "
                    "Compound(Prismatic('x'), Prismatic('y'), Prismatic('z'), Spherical()), or hang it on the world"
                )
            if moves[0].before != IDENTITY:
                found, done = "a free joint off the world's origin", "MuJoCo's configuration is the pose in the world"
                self.remarks.add(Severity.NOTE, "joint", body.joint_name, found, done)
        if not moves and body.joint_name != f"{body.name}:fixed":
            self.remarks.lost("joint", body.joint_name, "the name of a fixed joint, which MuJoCo does not have", False)
        if record.target and not on_world:
            self.remarks.lost("body", body.name, "moved from outside, which MuJoCo allows on the world only")
        own = [move for move in moves if move.body is body]
        if len(own) > 1:
            self.remarks.add(
                Severity.NOTE,
                "joint",
                body.joint_name,
                f"a {type(body.joint).__name__} joint, which MuJoCo does not have",
                f"wrote {', '.join(move.name for move in own)} on one body",
            )

    def _inertial(self, element: Element, body: Body, moves: bool) -> None:
        """Mass, centre of mass, and principal moments: MuJoCo would find them with less care."""
        frame, inertia = body.record.frame, body.inertia
        inertia = inertia if frame == IDENTITY else frame.inv() @ inertia
        least = LEAST if moves and not self._weighs(body) else 0.0
        if inertia == MASSLESS and not least:
            return
        if inertia.mass < 0:
            raise ModelError(f"body {body.name!r}: MuJoCo takes no mass below zero, got {inertia.mass}; correct it")
        mass = max(float(inertia.mass), least)
        com = inertia.com if inertia.mass != 0 else Vec3.zero()
        moments, axes = _principal(inertia)
        low, middle, high = sorted(moments)
        if low + middle < high:
            slack = TOLERANCE * max(abs(x) for x in body.inertia.rotational.six())  # point masses leave roundings of it
            if low + middle < high - slack or low < -slack:
                weight = inertia.mass or LEAST  # published tables have moments without a mass
                moments, axes = _principal(nearest_physical(Inertia(weight, inertia.moment, inertia.rotational)))
                found, done = "an inertia that no body can have, which MuJoCo refuses", "wrote the nearest one"
                self.remarks.add(Severity.PHYSICS, "body", body.name, found, done)
            low, middle, high = sorted(moments)
            moments = tuple(min(x, max(low, 0.0) + middle) for x in moments)  # so that rounding does not break it
        if least and (mass != inertia.mass or low < least):
            found, done = "moves without mass or inertia, which MuJoCo refuses", f"wrote {LEAST:g} for it"
            self.remarks.add(Severity.NOTE, "body", body.name, found, done)
        child(
            element,
            "inertial",
            pos=com,
            quat=unless((1, 0, 0, 0), tuple(axes)),
            mass=mass,
            diaginertia=tuple(max(x, least) for x in moments),
        )

    def _weighs(self, body: Body) -> bool:
        """Whether MuJoCo finds mass and inertia enough on a body, or on one that is welded to it."""
        if body.inertia.mass >= LEAST and min(_principal(body.inertia)[0]) >= LEAST:
            return True
        return any(below.joint.nv == 0 and self._weighs(below) for below in self._children[body.name])


def frames_named(d: Description, *, wound: bool = True) -> set[str | None]:
    """The bodies and frames that records refer to; those that a tendon winds round only if asked for."""
    names: list[str | None] = [frame.body for frame in d.frames]
    names += [name for e in d.exclusions for name in (e.body1, e.body2)]
    names += [name for loop in d.loops for name in (loop.predecessor, loop.successor)]
    for c in d.constraints:
        names += () if isinstance(c, CouplingRecord) else (c.frame1, c.frame2)
    for element in (element for tendon in d.tendons for element in tendon.path):
        match element:
            case Via():
                names.append(element.frame)
            case Wrap():
                names += [element.side] + [element.frame] * wound
    for actuator in d.actuators:
        match actuator.transmission:
            case OnFrame(frame=one, reference=two) | OnSliderCrank(crank=one, slider=two):
                names += [one, two]
            case OnContacts(body=body):
                names.append(body)
    for s in d.sensors:
        seen = ((s.object_kind, s.object_name), (s.reference_kind, s.reference_name))
        names += [name for kind, name in seen if kind in ("site", "body", "xbody")]
    return set(names)


def laid_out(moves: tuple[Move, ...], after: Transform) -> tuple[Transform, list[tuple[Move, Transform]]]:
    """X(home), where MuJoCo starts, and each move with its Y."""
    X, laid = after, []
    for move in reversed(moves):
        ball = isinstance(move.joint, Spherical)  # it starts at zero in MuJoCo, come what may
        at_home = IDENTITY if ball or list(move.home) == move.joint.neutral() else move.joint.transform(move.home)
        laid.append((move, X))
        X = compose(move.before, compose(at_home, X))
    return X, laid[::-1]


def _principal(inertia: Inertia) -> tuple[tuple[float, ...], Quaternion]:
    """Principal moments about the centre of mass, and the rotation to their axes."""
    I_C = inertia.at_com if inertia.mass != 0 else inertia.rotational
    if max(abs(I_C.xy), abs(I_C.xz), abs(I_C.yz)) <= 1e-15 * abs(I_C.xx + I_C.yy + I_C.zz):  # zero but for rounding
        return (float(I_C.xx), float(I_C.yy), float(I_C.zz)), Quaternion.identity()
    moments, axes = np.linalg.eigh(as_array(I_C).astype(float))
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return tuple(moments.tolist()), Quaternion.from_rotation(Mat3(*(Vec3(*row) for row in axes.tolist()))).normalized()
