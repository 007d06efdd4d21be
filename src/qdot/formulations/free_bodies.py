"""A mechanism taken apart: every body that moves is held by nothing but constraints (U5, U11, U16).

Each body gets a free joint on the world, or a planar one where all motion lies in one plane; what was its joint becomes
one that closes a loop, under the same name. Bodies that cannot move in their parent stay on it, and so does a body
that was free before. Springs, dampers and drives of joints that only turn or only slide become such between the two
bodies; there they know an angle up to half a turn. What needs a coordinate of a joint otherwise has no place any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from qdot.algebra import Mat3, Scalar, Scalars, Vec3, is_number, is_zero
from qdot.description import (
    WORLD,
    ActuatorRecord,
    BodyRecord,
    BushingRecord,
    CouplingRecord,
    Description,
    FrameRecord,
    Item,
    LoopRecord,
    OnFrame,
    OnJoint,
    Passive,
    Report,
    Severity,
    Weighted,
)
from qdot.errors import ModelError
from qdot.joints import Free, Joint, Planar
from qdot.joints.base import AxisLike, unit_axis
from qdot.model.model import Body, Model
from qdot.spatial import IDENTITY, Inertia, Motion, Transform

EXACT = 1e-12
"""Of unit vectors: what is less is rounding."""


def taken_apart(model: Model, planar: AxisLike | bool | None) -> Description:
    """The description of the free bodies; without keyframes, whose states are others."""
    poses = _poses(model, [body.joint.neutral() for body in model.bodies])
    parts = _Parts(model, poses, _plane(model, poses, planar))
    for body in model.bodies:
        parts.add(body)
    return parts.description()


# ── planes ───────────────────────────────────────────────────────────────────────────────────────


def _plane(model: Model, poses: Sequence[Transform], wanted: AxisLike | bool | None) -> Vec3 | None:
    """The normal of the plane in which all bodies move, or None for motion in space. None finds out, False is space."""
    if wanted is False:
        return None
    motions = [(b, poses[b.index] @ s) for b in model.bodies for s in b.joint.subspace(b.joint.neutral())]
    found = _normal(s for _, s in motions) if wanted is None or wanted is True else unit_axis(wanted)
    across = next((body for body, s in motions if found is None or not _lies_in(s, found)), None)
    if found is not None and across is None:
        return found
    if wanted is None:
        return None
    which = "one plane" if wanted is True else f"the plane of normal {tuple(unit_axis(wanted))}"
    name = "nothing moves" if across is None else f"joint {across.joint_name!r} leads out of it"
    raise ModelError(f"to_maximal: model {model.name!r} does not move in {which}: {name}; leave planar out")


def _normal(motions: Iterable[Motion]) -> Vec3 | None:
    """The direction about which things turn; of slides alone, the one across them."""
    listed = [s for s in motions if all(is_number(x) for x in s)]
    turns = [s.ang for s in listed if s.ang.norm() > EXACT]
    slides = [s.lin for s in listed if s.ang.norm() <= EXACT]
    crossed = [a.cross(b) for a in slides[:1] for b in slides if a.cross(b).norm() > EXACT]
    across = [Planar(slides[0]).across] if slides and not crossed else []
    for n in (*turns, *crossed, *across):
        largest = max(n, key=abs)
        return _snapped(n / (n.norm() if largest > 0 else -n.norm()))
    return None


def _lies_in(s: Motion, n: Vec3) -> bool:
    """Whether a motion is a turn about n, a slide across it, or both."""
    off = [*s.ang.cross(n), s.lin.dot(n)]
    return all(is_zero(x) or (is_number(x) and abs(x) < EXACT) for x in off)


def _snapped(a: Vec3) -> Vec3:
    """A direction with entries next to 0 and ±1 made those: rounding would hide from a program what is not there."""
    return Vec3(*(round(x) if is_number(x) and abs(x - round(x)) < EXACT else x for x in a))


def _poses(model: Model, rows: Sequence[Scalars]) -> list[Transform]:
    """The pose of each body in the world, the world's first, with its joint at the configuration in its row."""
    X = [IDENTITY]
    for body, q in zip(model.bodies, rows, strict=True):
        X.append(X[body.parent] @ body.placement @ body.joint.transform(q))
    return X


# ── parts ────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Parts:
    """Records of the free bodies, as they are collected."""

    tree: Model
    poses: list[Transform]
    """At the neutral configuration."""
    normal: Vec3 | None
    bodies: list[BodyRecord] = field(default_factory=list)
    frames: list[FrameRecord] = field(default_factory=list)
    loops: list[LoopRecord] = field(default_factory=list)
    bushings: list[BushingRecord] = field(default_factory=list)
    within_half_a_turn: list[Item] = field(default_factory=list)
    freed: dict[str, Body] = field(default_factory=dict)
    """Bodies that were taken off their joints, by the names of these."""
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._joint_names = {b.joint_name for b in self.tree.bodies} | {c.name for c in self.tree.loops}
        self._frame_names = set(self.tree.frames)
        self._on_world = {0}
        """Bodies that cannot move."""
        homes = [body.record.home or body.joint.neutral() for body in self.tree.bodies]
        self._home_poses = _poses(self.tree, homes)
        self._rigid = _rigid_inertias(self.tree)

    def add(self, body: Body) -> None:
        """One body with its joint; parents come before their children."""
        freedoms = 6 if self.normal is None else 3
        if body.joint.nv == 0:
            self.bodies.append(body.record)
            if body.parent in self._on_world:
                self._on_world.add(body.index)
            return
        self._require_inertia(body)
        if body.parent in self._on_world and body.joint.nv == freedoms:
            self.bodies.append(body.record)
            return
        self.freed[body.joint_name] = body
        self.bodies.append(self._free(body))
        self._hold(body)
        self._passive(body)

    def _free(self, body: Body) -> BodyRecord:
        joint, placement = self._freedom(body)
        return replace(
            body.record,
            parent=WORLD,
            joint=joint,
            joint_name=self._new(f"{body.name} free", self._joint_names),
            placement=placement,
            passive=Passive(),
            home=self._home(body, joint, placement),
            compensated_by_drive=False,
            drive_range=None,
        )

    def _freedom(self, body: Body) -> tuple[Joint, Transform]:
        """The joint of a free body. In a plane its position is counted in directions of the world, for all bodies
        alike, and its angle from the neutral configuration."""
        if self.normal is None:
            return Free(), IDENTITY
        X, n = self.poses[body.index], self.normal
        R = Mat3(_snapped(X.rotation.r0), _snapped(X.rotation.r1), _snapped(X.rotation.r2))
        joint = Planar(_snapped(R.T @ n), _snapped(R.T @ Planar(n).across))
        return joint, Transform(R, n * n.dot(X.position))

    def _home(self, body: Body, joint: Joint, placement: Transform) -> tuple[Scalar, ...]:
        at = joint.coordinates_at(placement.inv() @ self._home_poses[body.index])
        return tuple(at) if at is not None and all(is_number(x) for x in at) else ()

    def _hold(self, body: Body) -> None:
        if body.joint.nv >= 6:
            return  # it holds nothing
        parent = WORLD if body.parent == 0 else self.tree.bodies[body.parent - 1].name
        before = self._frame(f"{body.joint_name} on {parent}", parent, body.placement)
        after = self._frame(f"{body.joint_name} on {body.name}", body.name, IDENTITY)
        self.loops.append(LoopRecord(body.joint_name, body.joint, before, after))

    def _frame(self, name: str, body: str, placement: Transform) -> str:
        """A frame at a pose on a body: the body's own where that is there, else a new one."""
        if self.tree.frame(body).placement == placement:
            return body
        free = self._new(name, self._frame_names)
        self.frames.append(FrameRecord(free, body, placement))
        return free

    @staticmethod
    def _new(name: str, taken: set[str]) -> str:
        while name in taken:
            name += "'"
        taken.add(name)
        return name

    # -- what needs coordinates of joints ------------------------------------------------------------------------------

    def _passive(self, body: Body) -> None:
        own, what = body.passive, f"of joint {body.joint_name!r}"
        for name in ("armature", "friction"):
            if _acts(getattr(own, name)):
                self.refused.append(f"the {name} {what}")
        if body.record.drive_range is not None:
            self.refused.append(f"the range of drive forces {what}")
        if not _acts(own.stiffness) and not _acts(own.damping):
            return
        along = _turn_or_slide(body.joint)
        if along is None:
            self.refused.append(f"the springs or dampers {what}, which neither turns nor slides only")
            return
        turns, axis = along
        parent = WORLD if body.parent == 0 else self.tree.bodies[body.parent - 1].name
        Q = _with_third_axis(axis)
        seat = body.placement @ body.joint.transform(body.joint.neutral()) @ Q
        rest = seat.inv() @ (body.placement @ body.joint.transform(own.rest) @ Q)
        before = self._frame(f"spring of {body.joint_name} on {parent}", parent, seat)
        after = self._frame(f"spring of {body.joint_name} on {body.name}", body.name, Q)
        spring, damper = (0, 0, own.stiffness[0]), (0, 0, own.damping[0])
        kinds = ("rotational", "rotational_damping") if turns else ("translational", "translational_damping")
        name = f"spring of {body.joint_name}"
        if turns and _acts(own.stiffness):
            said = (
                "its spring counts the angle between two bodies, within half a turn of its rest; a joint counts turns"
            )
            self.within_half_a_turn.append(Item(Severity.NOTE, f"joint {body.joint_name!r}", said, "kept as a bushing"))
        self.bushings.append(
            BushingRecord(name, before, after, rest=rest, **dict(zip(kinds, (spring, damper), strict=True)))
        )

    def _actuator(self, record: ActuatorRecord) -> ActuatorRecord:
        drive = record.transmission
        if not isinstance(drive, OnJoint) or drive.joint not in self.freed:
            return record
        body = self.freed[drive.joint]
        along = _turn_or_slide(body.joint)
        if along is None:
            self.refused.append(
                f"actuator {record.name!r} on joint {drive.joint!r}, which neither turns nor slides only"
            )
            return record
        turns, axis = along
        parent = WORLD if body.parent == 0 else self.tree.bodies[body.parent - 1].name
        seat = body.placement @ body.joint.transform(body.joint.neutral())
        before = self._frame(f"drive of {body.joint_name} on {parent}", parent, seat)
        after = self._frame(f"drive of {body.joint_name} on {body.name}", body.name, IDENTITY)
        x, y, z = axis * drive.gear[0]
        gear = (0, 0, 0, x, y, z) if turns else (x, y, z, 0, 0, 0)
        return replace(record, transmission=OnFrame(after, gear, before))

    def _require_inertia(self, body: Body) -> None:
        """Raise where a body, with those that are fixed to it, could be moved by no force."""
        entries = [x for row in self._rigid[body.index].entries() for x in row]
        if not all(is_number(x) for x in entries):
            return
        n, M = self.normal, np.array(entries, dtype=float).reshape(6, 6)
        if n is not None:
            n = self.poses[body.index].rotation.T @ n
            first = Planar(n).across
            S = np.zeros((6, 3))
            S[:3, 0], S[3:, 1], S[3:, 2] = list(n), list(first), list(n.cross(first))
            M = S.T @ M @ S
        values = np.linalg.eigvalsh(M)
        if values[0] <= EXACT * max(values[-1], 0.0):
            raise ModelError(
                f"to_maximal: body {body.name!r} of model {self.tree.name!r} has no mass, or no inertia about some "
                "axis; on its own it would follow from no force: give it an inertia (qdot.model.edit.with_inertia), or "
                "fix it to another body"
            )

    # -- all together --------------------------------------------------------------------------------------------------

    def description(self) -> Description:
        old = self.tree.description
        actuators = tuple(self._actuator(a) for a in old.actuators)
        for record in old.constraints:
            if isinstance(record, CouplingRecord) and not record.tendons:
                self._refuse_over(f"coupling {record.name!r}", (record.follower, record.driver))
        for tendon in old.tendons:
            joints = [e.joint for e in tendon.path if isinstance(e, Weighted)]
            self._refuse_over(f"tendon {tendon.name!r}", joints)
        if self.refused:
            raise ModelError(
                f"to_maximal: model {self.tree.name!r} has what needs coordinates of joints, which free bodies do not "
                f"have: {'; '.join(self.refused)}. Take it out, or simulate the model as it is"
            )
        blind = [s for s in old.sensors if s.object_kind == "joint" and s.object_name in self.freed]
        return replace(
            old,
            bodies=tuple(self.bodies),
            frames=old.frames + tuple(self.frames),
            loops=tuple(self.loops) + old.loops,
            bushings=old.bushings + tuple(self.bushings),
            actuators=actuators,
            sensors=tuple(s for s in old.sensors if s not in blind),
            keyframes=(),
            report=old.report + Report((*self._without_limits(), *self.within_half_a_turn, *map(_removed, blind))),
        )

    def _refuse_over(self, what: str, joints: Sequence[str | None]) -> None:
        over = next((j for j in joints if j in self.freed), None)
        if over is not None:
            self.refused.append(f"{what} over joint {over!r}")

    def _without_limits(self) -> list[Item]:
        names = [j for j, b in self.freed.items() if any(map(isfinite, b.joint.limits.lower + b.joint.limits.upper))]
        if not names:
            return []
        found = f"joint {names[0]!r}" if len(names) == 1 else f"{len(names)} joints, {names[0]!r} the first,"
        return [Item(Severity.PHYSICS, "limits", f"{found} had limits", "free bodies have no coordinates to limit")]


def _removed(sensor: object) -> Item:
    name = getattr(sensor, "name", "")
    return Item(Severity.NOTE, f"sensor {name!r}", "it is on a joint, which free bodies do not have", "removed")


def _rigid_inertias(model: Model) -> list[Inertia]:
    """Of each body with all that is fixed to it, in its frame; the world's first, which counts for nothing."""
    total = [Inertia.zero(), *(body.inertia for body in model.bodies)]
    for body in reversed(model.bodies):
        if body.joint.nv == 0:
            X = body.placement @ body.joint.transform(())
            total[body.parent] = total[body.parent] + X @ total[body.index]
    return total


def _acts(row: Sequence[Scalar]) -> bool:
    return not all(is_zero(x) for x in row)


def _turn_or_slide(joint: Joint) -> tuple[bool, Vec3] | None:
    """Of a joint of one freedom that turns about its body's origin, or slides: which, and its axis on the body."""
    if joint.nv != 1:
        return None
    (s,) = joint.subspace(joint.neutral())
    for turns, along, other in ((True, s.ang, s.lin), (False, s.lin, s.ang)):
        if abs(along.norm() - 1) < EXACT and other.norm() < EXACT:
            return turns, along
    return None


def _with_third_axis(z: Vec3) -> Transform:
    """A turn to axes of which the third is this."""
    x = Planar(z).across
    return Transform(Mat3(x, z.cross(x), z).T, Vec3.zero())
