"""The methods of `Mechanism` that describe forces: springs, bushings, tendons and actuators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

from qdot.algebra import Scalar, Vec3, is_number, is_zero
from qdot.description.actuators import ActuatorRecord, Affine, Gear, OnFrame, OnJoint, OnTendon, Transmission
from qdot.description.builder_records import (
    Bounds,
    PerAxis,
    Place,
    Placement,
    Records,
    bounds,
    checked_pose,
    number,
    numbers,
    per_axis,
)
from qdot.description.bushings import BushingRecord
from qdot.description.tendons import PathElement, Pulley, TendonRecord, Via, Weighted, Wrap
from qdot.errors import ModelError

Path: TypeAlias = Mapping[Any, Scalar] | Iterable[Place | PathElement]
"""Joints with coefficients, or frames to run through with what is between them."""


class Exerts(Records):
    """Forces between frames, along tendons and at joints; each method returns the name of what it describes."""

    def spring(
        self, name: str, frame1: Place, frame2: Place, stiffness: Scalar, damping: Scalar = 0,
        rest: Scalar | Iterable[Scalar] | None = None,
    ) -> str:  # fmt: skip
        """A straight spring with a damper between the origins of two frames: a tendon of that name.

        It pulls with stiffness · (length - rest) + damping · rate [N/m, N·s/m, m] and pushes where it is shorter; its
        rest is the length at home if not given.
        """
        what = self._what("tendon", name, self._tendons)
        ends = self._two_frames(frame1, frame2, what)
        return self.tendon(name, ends, stiffness=stiffness, damping=damping, rest=rest)

    def bushing(
        self, name: str, frame1: Place, frame2: Place, *, rotational: PerAxis = 0, translational: PerAxis = 0,
        rotational_damping: PerAxis = 0, translational_damping: PerAxis = 0, rest: Placement = None,
    ) -> str:  # fmt: skip
        """Springs and dampers that draw frame 2 to a pose on frame 1, the one it has at home if not given.

        Stiffness is [N·m/rad] and [N/m], damping [N·m·s/rad] and [N·s/m]; each is one number, or three for the axes of
        the rest. See `BushingRecord`.
        """
        what = self._what("bushing", name, self._bushings)
        one, two = self._two_frames(frame1, frame2, what)
        drawn = self._at_home(one).inv() @ self._at_home(two) if rest is None else checked_pose(rest, what)
        rows = {
            "rotational": rotational,
            "translational": translational,
            "rotational_damping": rotational_damping,
            "translational_damping": translational_damping,
        }
        three = {key: per_axis(row, f"{what}: {key}") for key, row in rows.items()}
        return self._keep(BushingRecord(name, one, two, **three, rest=drawn), self._bushings)

    def tendon(
        self, name: str, path: Path, *, stiffness: Scalar = 0, damping: Scalar = 0,
        rest: Scalar | Iterable[Scalar] | None = None, friction: Scalar = 0, armature: Scalar = 0,
        range: Bounds = None, force_range: Bounds = None,
    ) -> str:  # fmt: skip
        """A tendon: joints with coefficients, {"hip": 0.05, "knee": -0.03}, whose length is Σ cᵢ qᵢ; or a path of
        frames to run through, with `Wrap` and `Pulley` of qdot.description between them.

        Units as in `TendonRecord`. `rest` is a length, or two between which the spring is slack; the length at home if
        not given.
        """
        what = self._what("tendon", name, self._tendons)
        elements = self._path(path, what)
        values = {"stiffness": stiffness, "damping": damping, "friction": friction, "armature": armature}
        scalars = {key: number(value, f"{what}: its {key}") for key, value in values.items()}
        record = TendonRecord(
            name,
            elements,
            **scalars,
            rest=self._rest(rest, elements, scalars["stiffness"], what),
            range=bounds(range, f"{what}: its range of lengths"),
            force_range=bounds(force_range, f"{what}: its range of forces"),
        )
        return self._keep(record, self._tendons)

    def motor(
        self, name: str, joint: Place | None = None, *, tendon: str | None = None, frame: Place | None = None,
        gear: Scalar | Iterable[Scalar] = 1, control_range: Bounds = None, force_range: Bounds = None,
    ) -> str:  # fmt: skip
        """A force that is its control, f = u, times gear: at a joint, along a tendon, or on a frame, in its axes.

        The gear is one number, or for joints and frames up to six: force x, y, z, then moment x, y, z.
        """
        drive = self._drive(name, joint, tendon, frame, gear)
        return self._actuator(name, drive, Affine(1), Affine(), control_range, force_range)

    def position_servo(
        self, name: str, joint: Place | None = None, *, stiffness: Scalar, damping: Scalar = 0,
        tendon: str | None = None, gear: Scalar | Iterable[Scalar] = 1, control_range: Bounds = None,
        force_range: Bounds = None,
    ) -> str:  # fmt: skip
        """A drive to the position u, f = stiffness · (u - l) - damping · l̇, with l the gear times the joint's position
        or the tendon's length."""
        drive = self._drive(name, joint, tendon, None, gear)
        k, d = self._gain("stiffness", stiffness, name), self._gain("damping", damping, name)
        return self._actuator(name, drive, Affine(k), Affine(0, -k, -d), control_range, force_range)

    def velocity_servo(
        self, name: str, joint: Place | None = None, *, damping: Scalar, tendon: str | None = None,
        gear: Scalar | Iterable[Scalar] = 1, control_range: Bounds = None, force_range: Bounds = None,
    ) -> str:  # fmt: skip
        """A drive to the velocity u, f = damping · (u - l̇), with l̇ the gear times the rate of the joint or tendon."""
        drive = self._drive(name, joint, tendon, None, gear)
        d = self._gain("damping", damping, name)
        return self._actuator(name, drive, Affine(d), Affine(0, 0, -d), control_range, force_range)

    def actuator(self, record: ActuatorRecord) -> str:
        """Any actuator, as a record: with activation dynamics, or a gain that depends on length and velocity."""
        if not isinstance(record, ActuatorRecord):
            raise ModelError(f"mechanism {self.name!r}: an actuator is an ActuatorRecord, got {record!r}")
        self._what("actuator", record.name, self._actuators)
        return self._keep(record, self._actuators)

    # ── what they are made of ────────────────────────────────────────────────────────────────────

    def _path(self, path: Any, what: str) -> tuple[PathElement, ...]:
        if isinstance(path, Mapping):
            coefficients = ((joint, number(c, f"{what}: each coefficient")) for joint, c in path.items())
            return tuple(Weighted(self._joint(joint, what), c) for joint, c in coefficients)
        if isinstance(path, str) or not isinstance(path, Iterable):
            raise ModelError(f"{what}: its path is frames in a row, or a dict of joints and coefficients, got {path!r}")
        kinds = (Weighted, Via, Wrap, Pulley)
        return tuple(e if isinstance(e, kinds) else Via(self._frame(e, what)) for e in path)

    def _rest(self, rest: Any, path: tuple[PathElement, ...], stiffness: Scalar, what: str) -> tuple[Scalar, Scalar]:
        if rest is None:
            length = 0 if is_zero(stiffness) else self._length_at_home(path, what)
            return length, length
        if not isinstance(rest, Iterable):
            length = number(rest, f"{what}: its rest")
            return length, length
        interval = numbers(rest, f"{what}: its rest")
        if len(interval) != 2:
            raise ModelError(f"{what}: its rest is a length, or two between which it is slack, got {rest!r}")
        return interval

    def _length_at_home(self, path: tuple[PathElement, ...], what: str) -> Scalar:
        frames = [e.frame for e in path if isinstance(e, Via)]
        terms = [e for e in path if isinstance(e, Weighted)]
        if len(frames) + len(terms) != len(path):
            raise ModelError(
                f"{what} is a spring round something or over pulleys, so its rest has to be told; describe it "
                "with rest=0 and read the length with qdot.tendon_lengths(model, model.home())"
            )
        straight = (self._apart_at_home(a, Vec3.zero(), b, Vec3.zero()) for a, b in pairwise(frames))
        turned = (e.coefficient * self._position_at_home(e.joint, what) for e in terms)
        return sum(straight, start=0) + sum(turned, start=0)

    def _drive(self, name: str, joint: Any, tendon: Any, frame: Any, gear: Any) -> Transmission:
        what = self._what("actuator", name, self._actuators)
        given = [x for x in (joint, tendon, frame) if x is not None]
        if len(given) != 1:
            raise ModelError(f"{what} drives one thing, a joint, a tendon= or a frame=; got {len(given)} of them")
        one = isinstance(gear, str) or not isinstance(gear, Iterable)
        row = (number(gear, f"{what}: its gear"),) if one else numbers(gear, f"{what}: its gear")
        if not 1 <= len(row) <= (6 if tendon is None else 1):
            raise ModelError(
                f"{what}: its gear is one number, or for a joint or a frame up to six: force x, y, z, then moment; "
                f"got {gear!r}"
            )
        if tendon is not None:
            return OnTendon(self._tendon(tendon, what), row[0])
        six: Gear = (*row, 0, 0, 0, 0, 0)[:6]
        return OnFrame(self._frame(frame, what), six) if joint is None else OnJoint(self._joint(joint, what), six)

    def _gain(self, kind: str, value: Any, name: str) -> Scalar:
        what = f"mechanism {self.name!r}: actuator {name!r}: its {kind}"
        x = number(value, what)
        if is_number(x) and x < 0:
            raise ModelError(f"{what} must be zero or positive, got {value!r}; a servo pulls back, it does not push on")
        return x

    def _actuator(
        self, name: str, drive: Transmission, gain: Affine, bias: Affine, control_range: Bounds, force_range: Bounds
    ) -> str:
        what = f"mechanism {self.name!r}: actuator {name!r}"
        controls = bounds(control_range, f"{what}: its range of controls")
        forces = bounds(force_range, f"{what}: its range of forces")
        record = ActuatorRecord(name, drive, gain, bias, control_range=controls, force_range=forces)
        return self._keep(record, self._actuators)
