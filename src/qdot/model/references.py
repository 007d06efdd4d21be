"""Checks of what refers to bodies, frames, joints and tendons by name: constraints, tendons, actuators, contacts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

from qdot.algebra import is_number, scalar_problem
from qdot.description import (
    WORLD,
    ActuatorRecord,
    Affine,
    BushingRecord,
    ConnectRecord,
    CouplingRecord,
    Description,
    DistanceRecord,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
    Pulley,
    TendonRecord,
    Via,
    Weighted,
    WeldRecord,
    Wrap,
)
from qdot.description.actuators import Range
from qdot.description.constraints import ConstraintRecord
from qdot.errors import ModelError, UnknownNameError
from qdot.joints import Joint
from qdot.model.model import Frame
from qdot.spatial import IDENTITY, pose_problem

ACTIVATIONS = ("integrator", "filter", "filterexact")
_PLAIN = (float, int)


class References:
    """The names of a description, and what is said of them when something refers to one that is not there."""

    def __init__(self, description: Description, frames: Mapping[str, Frame], where: str) -> None:
        self.where = where
        self.frames = frames
        self.description = description

    @cached_property
    def bodies(self) -> set[str]:
        return {WORLD, *(b.name for b in self.description.bodies)}

    @cached_property
    def joints(self) -> dict[str, Joint]:
        return {b.joint_name: b.joint for b in self.description.bodies}

    @cached_property
    def tendons(self) -> set[str]:
        return {t.name for t in self.description.tendons}

    @cached_property
    def shapes(self) -> set[str]:
        groups = (self.description.world_shapes, *(b.shapes for b in self.description.bodies))
        return {s.name for shapes in groups for s in shapes}

    @cached_property
    def sensed(self) -> dict[str, Iterable[str]]:
        """By the kind of thing that a sensor may be on: the names there are."""
        return {
            "body": self.bodies,
            "xbody": self.bodies,
            "joint": self.joints,
            "site": self.frames,
            "tendon": self.tendons,
            "actuator": {a.name for a in self.description.actuators},
        }

    def check(self) -> None:
        """Raise where some record refers to nothing, or holds what cannot be."""
        description = self.description
        for kind in ("tendons", "actuators", "bushings", "pairs", "exclusions", "sensors", "keyframes"):
            self._distinct(kind, [record.name for record in getattr(description, kind)])
        self._distinct("constraints", [record.name for record in (*description.loops, *description.constraints)])
        for constraint in description.constraints:
            self._constraint(constraint, f"{self.where}: constraint {constraint.name!r}")
        for tendon in description.tendons:
            self._tendon(tendon, f"{self.where}: tendon {tendon.name!r}")
        for actuator in description.actuators:
            self._actuator(actuator, f"{self.where}: actuator {actuator.name!r}")
        for bushing in description.bushings:
            self._bushing(bushing, f"{self.where}: bushing {bushing.name!r}")
        for sensor in description.sensors:
            for kind, name in (
                (sensor.object_kind, sensor.object_name),
                (sensor.reference_kind, sensor.reference_name),
            ):
                if kind in self.sensed:
                    self._known(kind, name, self.sensed[kind], f"{self.where}: sensor {sensor.name!r}")
        for pair in description.pairs:
            for shape in (pair.shape1, pair.shape2):
                self._known("shape", shape, self.shapes, f"{self.where}: contact pair {pair.name!r}")
        for exclusion in description.exclusions:
            for body in (exclusion.body1, exclusion.body2):
                self._known("body", body, self.bodies, f"{self.where}: exclusion {exclusion.name!r}")

    def _constraint(self, record: ConstraintRecord, what: str) -> None:
        if isinstance(record, CouplingRecord):
            for name in (record.follower, record.driver):
                if name is not None and record.tendons:
                    self._known("tendon", name, self.tendons, what)
                elif name is not None:
                    self._one_freedom(name, what)
            _numbers((*record.coefficients, *record.reference), what)
        elif isinstance(record, (ConnectRecord, WeldRecord, DistanceRecord)):
            for frame in (record.frame1, record.frame2):
                self._known("frame or body", frame, self.frames, what)
            self._places(record, what)
        else:
            raise ModelError(f"{what}: a constraint of qdot.description is expected, got {record!r}")

    def _places(self, record: ConnectRecord | WeldRecord | DistanceRecord, what: str) -> None:
        _numbers(record.point2, what)
        if isinstance(record, WeldRecord):
            check_pose(record.placement1, what)
        else:
            _numbers(record.point1, what)
        if isinstance(record, DistanceRecord):
            _numbers((record.length,), what)
            if is_number(record.length) and not record.length > 0:
                raise ModelError(
                    f"{what}: the length of a rod must be positive, got {record.length!r}; hold points that lie "
                    "together with connect"
                )

    def _tendon(self, record: TendonRecord, what: str) -> None:
        if not record.path:
            raise ModelError(f"{what} has no path; give it joints with coefficients, or frames to run through")
        if record.fixed:
            for term in record.path:
                assert isinstance(term, Weighted)
                self._one_freedom(term.joint, what)
        else:
            self._route(record.path, what)
        _numbers((record.stiffness, record.damping, record.friction, record.armature, *record.rest), what)
        for name in ("stiffness", "damping", "friction", "armature"):
            if is_number(getattr(record, name)) and getattr(record, name) < 0:
                raise ModelError(f"{what}: its {name} must be zero or positive, got {getattr(record, name)}")
        _ordered(record.range, "range of lengths", what)
        _ordered(record.force_range, "range of forces", what)

    def _route(self, path: Iterable[Any], what: str) -> None:
        """Frames to run through, one at least on each side of what is wound round, and two between pulleys."""
        for branch in _branches(path):
            if len(branch) < 2 or not isinstance(branch[0], Via) or not isinstance(branch[-1], Via):
                raise ModelError(f"{what}: each branch of its path starts at a frame and ends at another")
            for before, after in pairwise(branch):
                if isinstance(before, Wrap) and isinstance(after, Wrap):
                    raise ModelError(
                        f"{what} winds round {before.frame!r} and {after.frame!r}; put a frame between them"
                    )
            for element in branch:
                if not isinstance(element, (Via, Wrap)):
                    raise ModelError(
                        f"{what}: its path is of Weighted joints, or of Via, Wrap and Pulley; got {element!r}"
                    )
                self._known("frame or body", element.frame, self.frames, what)
                if isinstance(element, Wrap):
                    _positive(element.radius, "radius", what)
                    if element.side is not None:
                        self._known("frame or body", element.side, self.frames, what)
        for element in path:
            if isinstance(element, Pulley):
                _positive(element.divisor, "divisor of a pulley", what)

    def _actuator(self, record: ActuatorRecord, what: str) -> None:
        drive = record.transmission
        if isinstance(drive, OnJoint):
            self._known("joint", drive.joint, self.joints, what)
            joint = self.joints[drive.joint]
            if joint.nv == 0:
                raise ModelError(f"{what} drives joint {drive.joint!r}, which cannot move; drive another, or a frame")
            joint.drive(joint.neutral(), drive.gear, drive.in_parent)  # raises where gears cannot
        elif isinstance(drive, OnTendon):
            self._known("tendon", drive.tendon, self.tendons, what)
        elif isinstance(drive, OnFrame):
            for name in (drive.frame, drive.reference):
                if name is not None:
                    self._known("frame or body", name, self.frames, what)
        elif isinstance(drive, OnSliderCrank):
            for name in (drive.crank, drive.slider):
                self._known("frame or body", name, self.frames, what)
        elif isinstance(drive, OnContacts):
            self._known("body", drive.body, self.bodies, what)
        else:
            raise ModelError(f"{what}: its transmission is one of qdot.description.On…, got {drive!r}")
        if record.dynamics is not None:
            if record.dynamics.kind not in ACTIVATIONS:
                raise ModelError(
                    f"{what}: its dynamics are {record.dynamics.kind!r}; choose from {', '.join(ACTIVATIONS)}"
                )
            _ordered(record.dynamics.range, "range of activations", what)
        for law in (record.gain, record.bias):
            if not isinstance(law, Affine):
                raise ModelError(f"{what}: its gain and bias are qdot.description.Affine, got {law!r}")
            _numbers((law.constant, law.length, law.velocity), what)
        _ordered(record.control_range, "range of controls", what)
        _ordered(record.force_range, "range of forces", what)

    def _bushing(self, record: BushingRecord, what: str) -> None:
        for frame in (record.frame1, record.frame2):
            self._known("frame or body", frame, self.frames, what)
        check_pose(record.rest, what)
        for name in ("rotational", "translational", "rotational_damping", "translational_damping"):
            row = getattr(record, name)
            if len(row) != 3:
                raise ModelError(f"{what}: {name} is three numbers, one for each axis, got {row!r}")
            _numbers(row, what)
            if any(is_number(x) and x < 0 for x in row):
                raise ModelError(f"{what}: {name} must be zero or positive, got {row!r}")

    def _one_freedom(self, joint: str, what: str) -> None:
        self._known("joint", joint, self.joints, what)
        nv = self.joints[joint].nv
        if nv != 1:
            raise ModelError(f"{what} needs joints of one freedom, but {joint!r} has {nv}")

    def _known(self, kind: str, name: Any, known: Iterable[str], what: str) -> None:
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError(kind, name, known, what)

    def _distinct(self, kind: str, names: list[Any]) -> None:
        seen: set[str] = set()
        for name in names:
            if not isinstance(name, str) or not name:
                raise ModelError(f"{self.where}: {kind} have names that are strings, got {name!r}")
            if name in seen:
                raise ModelError(f"{self.where}: two {kind} are named {name!r}; give one another name")
            seen.add(name)


def _branches(path: Iterable[Any]) -> list[list[Any]]:
    """The path, cut at its pulleys."""
    branches: list[list[Any]] = [[]]
    for element in path:
        if isinstance(element, Pulley):
            branches.append([])
        else:
            branches[-1].append(element)
    return branches if branches[0] else branches[1:]  # a pulley may stand first


def _numbers(values: Iterable[Any], what: str) -> None:
    for x in values:
        problem = None if type(x) in _PLAIN and isfinite(x) else scalar_problem(x)  # files hold thousands of them
        if problem is not None:
            raise ModelError(f"{what} has an entry that cannot be: {problem}")


def check_pose(placement: Any, what: str) -> None:
    """Raise where a placement is no pose."""
    problem = None if placement is IDENTITY else pose_problem(placement)
    if problem is not None:
        raise ModelError(f"{what}: {problem}")


def _positive(value: Any, name: str, what: str) -> None:
    _numbers((value,), what)
    if is_number(value) and not value > 0:
        raise ModelError(f"{what}: a {name} must be positive, got {value!r}")


def _ordered(bounds: Range | None, name: str, what: str) -> None:
    if bounds is not None and not bounds[0] <= bounds[1]:
        raise ModelError(f"{what}: its {name} runs from {bounds[0]} to {bounds[1]}; give the lower one first")
