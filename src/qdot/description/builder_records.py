"""What the methods of `Mechanism` share: the records so far, names and numbers that are checked as they come in, and
where things are at home."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, TypeVar

from qdot.algebra import Scalar, Vec3, is_number, map_scalars, plain, scalar_problem, sqrt
from qdot.description.actuators import ActuatorRecord, Range
from qdot.description.bushings import BushingRecord, Three
from qdot.description.constraints import ConstraintRecord, LoopRecord
from qdot.description.records import WORLD, BodyRecord, FrameRecord, ShapeRecord
from qdot.description.tendons import TendonRecord
from qdot.errors import ModelError, UnknownNameError, ValueShapeError
from qdot.spatial import IDENTITY, Transform, pose_problem

R = TypeVar("R", bound=ConstraintRecord | TendonRecord | BushingRecord | ActuatorRecord)


class Named(Protocol):
    """What stands for its name: a `Part`."""

    @property
    def name(self) -> str: ...


Place: TypeAlias = str | Named
"""A frame or a body, by its name or as the part that was added."""

Placement: TypeAlias = Transform | Iterable[Scalar] | None
PerAxis: TypeAlias = Scalar | Iterable[Scalar]
Bounds: TypeAlias = Iterable[float] | None


class Records:
    """The records of a mechanism, by kind and name."""

    name: str

    def __init__(self) -> None:
        self._bodies: dict[str, BodyRecord] = {}
        self._frames: dict[str, FrameRecord] = {}
        self._loops: dict[str, LoopRecord] = {}
        self._world_shapes: tuple[ShapeRecord, ...] = ()
        self._constraints: dict[str, ConstraintRecord] = {}
        self._tendons: dict[str, TendonRecord] = {}
        self._bushings: dict[str, BushingRecord] = {}
        self._actuators: dict[str, ActuatorRecord] = {}

    # ── names ────────────────────────────────────────────────────────────────────────────────────

    def _what(self, kind: str, name: Any, taken: dict[str, Any]) -> str:
        """A new thing in words, for messages; raises where its name is none, or is taken."""
        if not isinstance(name, str) or not name:
            raise ModelError(f"mechanism {self.name!r}: a {kind} needs a name that is a string, got {name!r}")
        if name in taken:
            raise ModelError(f"mechanism {self.name!r}: two {kind}s are named {name!r}; give one another name")
        return f"mechanism {self.name!r}: {kind} {name!r}"

    def _keep(self, record: R, records: dict[str, R]) -> str:
        records[record.name] = record
        return record.name

    def _frame(self, place: Any, what: str) -> str:
        """The name of a frame or body that is there."""
        name = name_of(place)
        if not isinstance(name, str) or not (name == WORLD or name in self._bodies or name in self._frames):
            raise UnknownNameError("frame or body", name, [WORLD, *self._bodies, *self._frames], what)
        return name

    def _two_frames(self, place1: Any, place2: Any, what: str) -> tuple[str, str]:
        one, two = self._frame(place1, what), self._frame(place2, what)
        if one == two:
            raise ModelError(f"{what} runs from {one!r} to itself; give it two frames")
        return one, two

    def _joint(self, joint: Any, what: str) -> str:
        """The name of a joint that is there; a part stands for the joint that holds it."""
        name = name_of(joint)
        if name is not joint and name in self._bodies:
            return self._bodies[name].joint_name
        known = [body.joint_name for body in self._bodies.values()]
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError("joint", name, known, what)
        return name

    def _tendon(self, tendon: Any, what: str) -> str:
        if not isinstance(tendon, str) or tendon not in self._tendons:
            raise UnknownNameError("tendon", tendon, self._tendons, what)
        return tendon

    # ── at home ──────────────────────────────────────────────────────────────────────────────────

    def _at_home(self, frame: str) -> Transform:
        """X_WF at home: where every joint is in the configuration that its body starts in."""
        record = self._frames.get(frame)
        X, name = (IDENTITY, frame) if record is None else (record.placement, record.body)
        while name != WORLD:
            body = self._bodies[name]
            X = body.placement @ body.joint.transform(body.home or body.joint.neutral()) @ X
            name = body.parent
        return X

    def _apart_at_home(self, frame1: str, point1: Vec3, frame2: str, point2: Vec3) -> Scalar:
        d = self._at_home(frame1) @ point1 - self._at_home(frame2) @ point2
        return sqrt(d.dot(d))

    def _position_at_home(self, joint: str, what: str) -> Scalar:
        body = next(b for b in self._bodies.values() if b.joint_name == joint)
        if body.joint.nv != 1:
            raise ModelError(f"{what} needs joints of one freedom, but {joint!r} has {body.joint.nv}")
        return (body.home or body.joint.neutral())[0]


def name_of(place: Any) -> Any:
    """The name that a place stands for; what is none stays as it is."""
    return place if isinstance(place, str) else getattr(place, "name", place)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


def number(value: Any, what: str) -> Scalar:
    """One number or symbol."""
    x = plain(value)
    problem = "it is not one number" if isinstance(x, Iterable) else scalar_problem(x)
    if problem is not None:
        raise ModelError(f"{what} is one number, got {value!r}: {problem}")
    return x


def numbers(values: Any, what: str) -> tuple[Scalar, ...]:
    """Some numbers or symbols in a row."""
    if isinstance(values, (str, dict)) or not isinstance(values, Iterable):
        raise ModelError(f"{what} are numbers in a row, got {values!r}")
    return tuple(number(x, f"{what}: each") for x in values)


def per_axis(value: Any, what: str) -> Three:
    """One number for all three axes, or one for each."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        x = number(value, what)
        return (x, x, x)
    row = numbers(value, what)
    if len(row) != 3:
        raise ModelError(f"{what} is one number, or three for the axes x, y, z, got {value!r}")
    return row


def point(value: Any, what: str) -> Vec3:
    """A point (x, y, z)."""
    try:
        return Vec3(*numbers(tuple(Vec3.of(value)), what))
    except ValueShapeError as error:
        raise ModelError(f"{what}: {error}") from None


def pose(at: Any, what: str) -> Transform:
    """A pose as people write it: a transform, a rotation, a position, or nothing."""
    try:
        return map_scalars(plain, Transform.of(at))
    except ValueShapeError as error:
        raise ModelError(f"{what}: {error}") from None


def checked_pose(at: Any, what: str) -> Transform:
    """A pose whose numbers make one."""
    X = pose(at, what)
    problem = pose_problem(X)
    if problem is not None:
        raise ModelError(f"{what}: {problem}")
    return X


def bounds(value: Any, what: str) -> Range | None:
    """(low, high), or None for no bounds."""
    if value is None:
        return None
    pair = tuple(plain(x) for x in value) if isinstance(value, Iterable) else ()
    if len(pair) != 2 or not all(is_number(x) and x == x for x in pair) or not pair[0] <= pair[1]:
        raise ModelError(f"{what} is two numbers, the lower one first, got {value!r}")
    return pair
