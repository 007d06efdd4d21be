"""How constraints are kept in time: integrating J a + b = 0 alone lets positions drift off (U8)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi
from typing import TypeAlias

from qdot.algebra import Scalar
from qdot.algorithms.constraints.rows import Rows, is_of_velocities
from qdot.errors import ValueShapeError


@dataclass(frozen=True)
class Drifting:
    """Nothing is done: the drift shows."""


@dataclass(frozen=True)
class Baumgarte:
    """φ̈ + 2 ζ ω φ̇ + ω² φ = 0 in place of φ̈ = 0: errors die away like a damped oscillation (U9; Baumgarte 1972).

    `frequency` is ω / 2π [Hz], well below that of steps; ζ = 1 returns without overshoot. Of constraints on velocities,
    ψ̇ + ω ψ = 0.
    """

    frequency: float
    damping: float = 1.0

    def __post_init__(self) -> None:
        for name in ("frequency", "damping"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not isfinite(value) or value < 0:
                raise ValueShapeError(f"Baumgarte's {name} is a number that is not negative, got {value!r}")


@dataclass(frozen=True)
class Projection:
    """After each step q and v are moved to the nearest that obey the constraints, in the metric M.

    `rounds` are Newton's steps for positions: one is enough where a step leaves little.
    """

    rounds: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise ValueShapeError(f"projection takes 1 round or more, got {self.rounds!r}")


@dataclass(frozen=True)
class GearGuptaLeimkuhler:
    """q̇ = v + M⁻¹ Jᵀ μ: positions are led back by multipliers of their own, not by accelerations, and velocities by
    theirs; both errors shrink by 1/e in `time` seconds (one step, unless given). Gear, Gupta, Leimkuhler 1985."""

    time: float | None = None

    def __post_init__(self) -> None:
        if self.time is not None and not (isinstance(self.time, (int, float)) and 0 < self.time < float("inf")):
            raise ValueShapeError(f"GearGuptaLeimkuhler's time is a positive number of seconds, got {self.time!r}")

    def gain(self, dt: Scalar) -> Scalar:
        return 1 / (dt if self.time is None else self.time)


Stabilisation: TypeAlias = Drifting | Baumgarte | Projection | GearGuptaLeimkuhler

BY_NAME: dict[str, Stabilisation] = {"none": Drifting(), "projection": Projection(), "ggl": GearGuptaLeimkuhler()}


def pull(kind: Stabilisation, rows: Rows, dt: Scalar) -> list[Scalar]:
    """What is added to b so that errors die away."""
    if isinstance(kind, Baumgarte):
        w = 2 * pi * kind.frequency
        return [
            w * rate if is_of_velocities(phi) else 2 * kind.damping * w * rate + w * w * phi
            for phi, rate in zip(rows.phi, rows.rate, strict=True)
        ]
    if isinstance(kind, GearGuptaLeimkuhler):
        return [kind.gain(dt) * rate for rate in rows.rate]
    return [0] * len(rows.J)
