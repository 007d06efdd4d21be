"""What holds a mechanism together beside its tree: loop joints, points and poses held together, rods, couplings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from qdot.algebra import Scalar, Vec3
from qdot.description.contact import Softness
from qdot.joints import Joint
from qdot.spatial import Transform


@dataclass(frozen=True, slots=True)
class LoopRecord:
    """A joint that closes a loop: it holds frame `successor` to frame `predecessor`, in addition to the tree."""

    name: str
    joint: Joint
    predecessor: str
    successor: str


@dataclass(frozen=True, slots=True)
class ConnectRecord:
    """A point of one frame held to a point of another; three rows: p₁ - p₂ = 0 in world axes [m]."""

    name: str
    frame1: str
    point1: Vec3
    frame2: str
    point2: Vec3
    active: bool = True
    softness: Softness = field(default_factory=Softness)


@dataclass(frozen=True, slots=True)
class WeldRecord:
    """Frame 2 held to a pose on frame 1; six rows: p₁ - p₂ [m], and `torque_scale` times the vector part of the
    quaternion of R₂ᵀ R₁ (half the angle between them) [m].

    `placement1` is the pose on frame 1; from frame 2 its axes are taken, and the point `point2` on it.
    """

    name: str
    frame1: str
    placement1: Transform
    frame2: str
    point2: Vec3
    torque_scale: float = 1.0
    active: bool = True
    softness: Softness = field(default_factory=Softness)


@dataclass(frozen=True, slots=True)
class DistanceRecord:
    """A rod without mass: two points, each on its frame, held `length` [m] apart; one row: |p₁ - p₂| - length = 0 [m].

    The length is positive: points that lie together are held by a `ConnectRecord`.
    """

    name: str
    frame1: str
    point1: Vec3
    frame2: str
    point2: Vec3
    length: Scalar
    active: bool = True
    softness: Softness = field(default_factory=Softness)


@dataclass(frozen=True, slots=True)
class CouplingRecord:
    """A coordinate that follows another: y - y₀ = a₀ + a₁ (x - x₀) + … + a₄ (x - x₀)⁴; one row.

    y and x are positions of joints of one freedom, or lengths of tendons (`tendons` tells which); without a `driver`
    y is held at y₀ + a₀. `reference` is (y₀, x₀). A mimic joint or a gear is a₀ + a₁ x.
    """

    name: str
    follower: str
    driver: str | None
    coefficients: tuple[Scalar, ...]
    reference: tuple[Scalar, Scalar] = (0, 0)
    tendons: bool = False
    active: bool = True
    softness: Softness = field(default_factory=Softness)


ConstraintRecord: TypeAlias = ConnectRecord | WeldRecord | DistanceRecord | CouplingRecord
