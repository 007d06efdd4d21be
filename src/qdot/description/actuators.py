"""Actuators: how a control signal becomes a force, and where the force acts.

    f = gain(l, l̇) · u + bias(l, l̇),   τ = (∂l/∂q)ᵀ f,

with the length l of the transmission and its rate; u is the control, or the activation of an actuator with `dynamics`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from qdot.algebra import Scalar
from qdot.quick import quick

Gear: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
"""Force, then moment, for one unit of actuator force: (fx, fy, fz, nx, ny, nz); where one number counts, the first."""

Range: TypeAlias = tuple[float, float]


@quick
@dataclass(frozen=True, slots=True)
class OnJoint:
    """At a joint: l = gear[0] · q for one freedom, Σ gear_k q_k for several plain ones; what spherical and free joints
    take, with axes of the body or `in_parent` of the joint's frame, is told by their method `drive`."""

    joint: str
    gear: Gear = (1, 0, 0, 0, 0, 0)
    in_parent: bool = False


@dataclass(frozen=True, slots=True)
class OnTendon:
    """Along a tendon: l = gear · its length."""

    tendon: str
    gear: Scalar = 1


@dataclass(frozen=True, slots=True)
class OnFrame:
    """A wrench on a frame, in its axes; l is zero. With a `reference` frame, l is the pose in that frame along gear
    (position, then rotation vector), and the wrench acts between the two."""

    frame: str
    gear: Gear = (1, 0, 0, 0, 0, 0)
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class OnSliderCrank:
    """A crank that turns frame `crank` through a rod of length `rod` [m] and a slider along z of frame `slider`:
    l = gear · the slider's position."""

    crank: str
    slider: str
    rod: Scalar
    gear: Scalar = 1


@dataclass(frozen=True, slots=True)
class OnContacts:
    """Adhesion: a force that pulls the body to whatever it touches, along the contact normals."""

    body: str
    gear: Scalar = 1


Transmission: TypeAlias = OnJoint | OnTendon | OnFrame | OnSliderCrank | OnContacts


@quick
@dataclass(frozen=True, slots=True)
class Affine:
    """constant + length · l + velocity · l̇."""

    constant: Scalar = 0
    length: Scalar = 0
    velocity: Scalar = 0


@quick
@dataclass(frozen=True, slots=True)
class Activation:
    """An activation w between control u and force: "integrator": ẇ = u; "filter" and "filterexact": ẇ = (u - w)/time,
    the latter to be integrated exactly. With `early`, the force uses the w of the end of the step."""

    kind: str
    time: Scalar = 0
    range: Range | None = None
    early: bool = False


@quick
@dataclass(frozen=True, slots=True)
class ActuatorRecord:
    """One actuator with one control; ranges clamp control, activation and force where given."""

    name: str
    transmission: Transmission
    gain: Affine = field(default_factory=lambda: Affine(1))
    bias: Affine = field(default_factory=Affine)
    dynamics: Activation | None = None
    control_range: Range | None = None
    force_range: Range | None = None
    group: int = 0
