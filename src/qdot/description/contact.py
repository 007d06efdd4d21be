"""How shapes meet: parameters of contacts, and which pairs of shapes or bodies may touch at all.

The meanings and the defaults are MuJoCo's (its documentation, chapter Computation): other formats say less.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Softness:
    """How a constraint gives way: `solref` is (time constant [s], damping ratio), or (-stiffness, -damping) where
    negative; `solimp` is (d₀, d_width, width, midpoint, power) of the impedance d ∈ (0, 1) against the violation."""

    solref: tuple[float, ...] = (0.02, 1.0)
    solimp: tuple[float, ...] = (0.9, 0.95, 0.001, 0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Contact:
    """How a shape takes part in contacts.

    Two shapes may touch if `kind` of one shares a bit with `affinity` of the other. `dimension` is 1 (no friction), 3
    (sliding), 4 (and torsion) or 6 (and rolling); `friction` is (sliding, torsional [m], rolling [m]). Contacts exist
    below the distance `margin + gap` and act below `margin` [m]. Where two shapes differ, the higher `priority`
    counts; at equal ones softness is averaged with weights `mix`, and the larger friction counts.
    """

    kind: int = 1
    affinity: int = 1
    dimension: int = 3
    friction: tuple[float, float, float] = (1.0, 0.005, 0.0001)
    softness: Softness = field(default_factory=Softness)
    margin: float = 0.0
    gap: float = 0.0
    priority: int = 0
    mix: float = 1.0


@dataclass(frozen=True, slots=True)
class PairRecord:
    """Two shapes, by name, that may touch, with parameters of their own; friction is (sliding, sliding, torsional,
    rolling, rolling). `friction_solref`, where given, is that of the friction directions."""

    name: str
    shape1: str
    shape2: str
    dimension: int = 3
    friction: tuple[float, ...] = (1.0, 1.0, 0.005, 0.0001, 0.0001)
    softness: Softness = field(default_factory=Softness)
    friction_solref: tuple[float, ...] = ()
    margin: float = 0.0
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class ExclusionRecord:
    """Two bodies, by name, whose shapes never touch."""

    name: str
    body1: str
    body2: str
