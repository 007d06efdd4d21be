"""Tendons: a length that depends on the configuration, and the forces it passes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from qdot.algebra import Scalar
from qdot.description.contact import Softness


@dataclass(frozen=True, slots=True)
class Weighted:
    """A joint of one freedom in a fixed tendon: it adds coefficient · q to the length."""

    joint: str
    coefficient: Scalar


@dataclass(frozen=True, slots=True)
class Via:
    """A frame whose origin a spatial tendon runs through."""

    frame: str


@dataclass(frozen=True, slots=True)
class Wrap:
    """A sphere, or a cylinder without end about z, in a frame; a tendon between two `Via` winds round it where the
    straight line would pass through it. `side` names the frame on whose side it runs; one inside makes it run inside.
    """

    frame: str
    radius: Scalar
    cylinder: bool = False
    side: str | None = None


@dataclass(frozen=True, slots=True)
class Pulley:
    """A branch: what follows counts 1/divisor of its length."""

    divisor: Scalar


PathElement: TypeAlias = Weighted | Via | Wrap | Pulley


@dataclass(frozen=True, slots=True)
class TendonRecord:
    """A fixed tendon, whose path is `Weighted` joints (L = Σ cᵢ qᵢ), or a spatial one, whose path runs through frames.

    Its spring pulls with stiffness · (L - rest) [N/m] outside the slack interval rest[0] … rest[1] [m], its damper
    with damping · L̇ [N·s/m]; `friction` is dry friction [N], `armature` the inertia of a drive at it [kg]. `range`
    limits its length [m], `force_range` the sum of actuator forces on it [N]. `offset` adds to the length.
    """

    name: str
    path: tuple[PathElement, ...]
    stiffness: Scalar = 0
    damping: Scalar = 0
    rest: tuple[Scalar, Scalar] = (0, 0)
    offset: Scalar = 0
    friction: Scalar = 0
    armature: Scalar = 0
    range: tuple[float, float] | None = None
    margin: float = 0.0
    limit_softness: Softness = field(default_factory=Softness)
    friction_softness: Softness = field(default_factory=Softness)
    force_range: tuple[float, float] | None = None
    width: float = 0.003
    color: tuple[float, float, float, float] = (0.5, 0.5, 0.5, 1.0)

    @property
    def fixed(self) -> bool:
        """Whether the length is a weighted sum of joint positions."""
        return all(isinstance(element, Weighted) for element in self.path)
