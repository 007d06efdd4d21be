"""What a mechanism is, as plain frozen records by name: written by the builder and the loaders, read by `assemble`.

Records say what was described and no more; nothing here is numbered, checked against the rest, or computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from qdot.algebra import Scalar, Vec3
from qdot.description.actuators import ActuatorRecord
from qdot.description.bushings import BushingRecord
from qdot.description.constraints import ConstraintRecord, LoopRecord
from qdot.description.contact import Contact, ExclusionRecord, PairRecord, Softness
from qdot.description.report import Report
from qdot.description.scene import DragBox, Fluid, KeyframeRecord, Options, SensorRecord
from qdot.description.tendons import TendonRecord
from qdot.geometry import Shape
from qdot.joints import Joint
from qdot.quick import quick
from qdot.spatial import IDENTITY, Inertia, Transform

WORLD = "world"
"""The name of body 0."""


@quick
@dataclass(frozen=True, slots=True)
class Material:
    """How a surface looks: red, green, blue, opacity, each from 0 to 1."""

    name: str = ""
    color: tuple[float, float, float, float] = (0.62, 0.68, 0.75, 1.0)


@quick
@dataclass(frozen=True, slots=True)
class ShapeRecord:
    """A shape on a body: what it is seen as, what it collides with, or both; `name` where something refers to it."""

    shape: Shape
    visual: bool = True
    collision: bool = True
    material: Material = field(default_factory=Material)
    name: str = ""
    contact: Contact = field(default_factory=Contact)
    group: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Passive:
    """What a joint does by itself, a value for each freedom; `rest` is a configuration (empty: the neutral one).

    armature: inertia of the drive, reflected to the joint [kg·m², kg]; damping: viscous friction [N·m·s/rad, N·s/m];
    friction: dry friction [N·m, N]; stiffness: of a spring that pulls towards `rest` [N·m/rad, N/m].
    """

    armature: tuple[Scalar, ...] = ()
    damping: tuple[Scalar, ...] = ()
    friction: tuple[Scalar, ...] = ()
    stiffness: tuple[Scalar, ...] = ()
    rest: tuple[Scalar, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class JointSoftness:
    """How the limits of a joint and its dry friction give way; `margin` is how far before a limit it acts [rad, m]."""

    limit: Softness = field(default_factory=Softness)
    friction: Softness = field(default_factory=Softness)
    margin: float = 0.0


@quick
@dataclass(frozen=True, slots=True)
class BodyRecord:
    """A body, and the joint that holds it: `placement` is the pose of the joint's frame in the parent's frame.

    Inertia, shapes and frames are written in the frame that the joint moves. A file may call another frame, at pose
    `frame` in that one, the body's own: the body's name stands for it. `home` is the configuration the body starts in
    (empty: the neutral one). `gravity_compensation` is the fraction of its weight that is held up from outside, or by
    the drive of the joint where `compensated_by_drive`. `drive_range` bounds the sum of actuator forces at the joint
    [N·m, N]. A `target` has no joint but is moved by whoever runs the simulation (MuJoCo's mocap body). `drag` is what
    the fluid meets of it.
    """

    name: str
    parent: str
    joint: Joint
    joint_name: str
    placement: Transform
    inertia: Inertia
    passive: Passive = Passive()
    shapes: tuple[ShapeRecord, ...] = ()
    frame: Transform = IDENTITY
    home: tuple[Scalar, ...] = ()
    gravity_compensation: Scalar = 0
    compensated_by_drive: bool = False
    drive_range: tuple[float, float] | None = None
    softness: JointSoftness = JointSoftness()
    target: bool = False
    drag: tuple[DragBox, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class FrameRecord:
    """A named frame (a site) on a body; `region` is the space about it that a touch sensor, say, watches."""

    name: str
    body: str
    placement: Transform
    region: ShapeRecord | None = None


@quick
@dataclass(frozen=True, slots=True)
class Description:
    """A whole mechanism; gravity is the acceleration of free fall in the world's frame [m/s²].

    `allow_unphysical` lets in inertias that no body can have, as published tables sometimes hold. The `report` of
    whoever read it tells what was not taken over as it stood; it is not part of what the mechanism is.
    """

    name: str
    gravity: Vec3
    bodies: tuple[BodyRecord, ...] = ()
    frames: tuple[FrameRecord, ...] = ()
    loops: tuple[LoopRecord, ...] = ()
    world_shapes: tuple[ShapeRecord, ...] = ()
    allow_unphysical: bool = False
    constraints: tuple[ConstraintRecord, ...] = ()
    tendons: tuple[TendonRecord, ...] = ()
    actuators: tuple[ActuatorRecord, ...] = ()
    bushings: tuple[BushingRecord, ...] = ()
    pairs: tuple[PairRecord, ...] = ()
    exclusions: tuple[ExclusionRecord, ...] = ()
    sensors: tuple[SensorRecord, ...] = ()
    keyframes: tuple[KeyframeRecord, ...] = ()
    fluid: Fluid = field(default_factory=Fluid)
    options: Options = field(default_factory=Options)
    report: Report = field(default_factory=Report, compare=False)
