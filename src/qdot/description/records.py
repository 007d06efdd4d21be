"""What a mechanism is, as plain frozen records by name: written by the builder and the loaders, read by `assemble`.

Records say what was described and no more; nothing here is numbered, checked against the rest, or computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from qdot.algebra import Scalar, Vec3
from qdot.geometry import Shape
from qdot.joints import Joint
from qdot.spatial import Inertia, Transform

WORLD = "world"
"""The name of body 0."""


@dataclass(frozen=True, slots=True)
class Material:
    """How a surface looks: red, green, blue, opacity, each from 0 to 1."""

    name: str = ""
    color: tuple[float, float, float, float] = (0.62, 0.68, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class ShapeRecord:
    """A shape on a body: what it is seen as, what it collides with, or both."""

    shape: Shape
    visual: bool = True
    collision: bool = True
    material: Material = field(default_factory=Material)


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


@dataclass(frozen=True, slots=True)
class BodyRecord:
    """A body, and the joint that holds it: `placement` is the pose of the joint's frame in the parent's frame."""

    name: str
    parent: str
    joint: Joint
    joint_name: str
    placement: Transform
    inertia: Inertia
    passive: Passive = field(default_factory=Passive)
    shapes: tuple[ShapeRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """A named frame (a site) on a body."""

    name: str
    body: str
    placement: Transform


@dataclass(frozen=True, slots=True)
class LoopRecord:
    """A joint that closes a loop: it holds frame `successor` to frame `predecessor`, in addition to the tree."""

    name: str
    joint: Joint
    predecessor: str
    successor: str


@dataclass(frozen=True, slots=True)
class Description:
    """A whole mechanism; gravity is the acceleration of free fall in the world's frame [m/s²].

    `allow_unphysical` lets in inertias that no body can have, as published tables sometimes hold.
    """

    name: str
    gravity: Vec3
    bodies: tuple[BodyRecord, ...] = ()
    frames: tuple[FrameRecord, ...] = ()
    loops: tuple[LoopRecord, ...] = ()
    world_shapes: tuple[ShapeRecord, ...] = ()
    allow_unphysical: bool = False
