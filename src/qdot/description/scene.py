"""What a file says about its use: sensors, keyframes, and options of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Scalar
from qdot.quick import quick
from qdot.spatial import Transform


@quick
@dataclass(frozen=True, slots=True)
class SensorRecord:
    """A sensor by its MJCF kind ("gyro", "framepos", …), on a named object ("site", "body", "joint", …), seen from a
    reference where it has one. Results have `size` entries, cut off at ±`cutoff` where positive; `noise` is the
    standard deviation of noise that a simulation may add."""

    name: str
    kind: str
    object_kind: str = ""
    object_name: str = ""
    reference_kind: str = ""
    reference_name: str = ""
    size: int = 1
    cutoff: float = 0.0
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class KeyframeRecord:
    """A state by name, in qdot's conventions; empty means at home, at rest, or zero."""

    name: str
    time: float = 0.0
    q: tuple[Scalar, ...] = ()
    v: tuple[Scalar, ...] = ()
    activation: tuple[Scalar, ...] = ()
    control: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Fluid:
    """The medium all bodies move in: density [kg/m³], viscosity [Pa·s], and its own velocity [m/s]."""

    density: Scalar = 0
    viscosity: Scalar = 0
    wind: tuple[Scalar, Scalar, Scalar] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class DragBox:
    """What of a body the medium meets: a box of side lengths x, y, z [m] about the pose `placement` on the body."""

    placement: Transform
    x: Scalar
    y: Scalar
    z: Scalar


@dataclass(frozen=True, slots=True)
class Options:
    """How the file wants to be simulated, in MuJoCo's terms; `disabled` and `enabled` are names of its flags."""

    timestep: float = 0.002
    integrator: str = "Euler"
    cone: str = "pyramidal"
    solver: str = "Newton"
    iterations: int = 100
    tolerance: float = 1e-8
    impratio: float = 1.0
    noslip_iterations: int = 0
    noslip_tolerance: float = 1e-6
    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()
