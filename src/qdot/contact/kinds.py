"""How bodies touch: by name or with settings, `contact="hard"` or `contact=Hard(restitution=0.5)`.

`Soft` gives way by a law of its own (`soft`). `Hard` and `Lcp` solve for impulses that let nothing pass within a step,
`Impulse` parts steps where bodies meet, and `Penalty` puts springs between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

from qdot.algebra import Scalar, Scalars, is_number, maximum, where
from qdot.contact.coulomb import Impulses, coulomb
from qdot.contact.impact import Impact, impact, impacts
from qdot.contact.polyhedral import polyhedral, polyhedral_forces
from qdot.contact.problem import rows_of
from qdot.contact.soft import Soft
from qdot.errors import UnknownNameError, ValueShapeError


@dataclass(frozen=True)
class Hard:
    """Velocities after a step obey Signorini's law and Coulomb's, with the round cone: true stick, no creep.

    What approaches faster than `resting` [m/s] parts with `restitution` times that, or less where that would give
    energy. `solver` is "coulomb", which solves the law to rounding, or "pgs", at most so many `sweeps` from contact to
    contact, for piles of bodies. What has got into each other is parted by "projection", at the end of each step and
    without speed, or by "baumgarte", a fifth of it in each step. `room` is how many contacts between bodies there may
    be at a time, of those that are alike: where there are more, a run stops and says so. None: as many as it needs.
    """

    restitution: float = 0.0
    solver: str = "coulomb"
    sweeps: int = 100
    position: str = "projection"
    resting: float = 0.01
    room: int | None = None

    def __post_init__(self) -> None:
        require_share("Hard", "restitution", self.restitution)
        require_one_of("Hard", "solver", self.solver, ("coulomb", "pgs"))
        require_sweeps("Hard", self.sweeps)
        require_one_of("Hard", "position", self.position, POSITIONS)
        require_positive("Hard", "resting", self.resting, zero=True)
        require_room("Hard", self.room)

    def impulses(
        self, W: Sequence[Scalars], b: Scalars, friction: Sequence[Scalars], present: Scalars, start: Scalars
    ) -> Impulses:
        """That turn the velocities b of all rows into W z + b; `start` is where sweeps that remember begin."""
        return coulomb(W, b, friction, present)


@dataclass(frozen=True)
class Lcp:
    """The textbook's linear complementarity problem (U15): a pyramid of so many `directions` is the cone.

    `level` is "velocity", or "acceleration": then forces hold what rests or slides, found from accelerations, and
    impulses act only on what strikes, or where there are no such forces (Painlevé). `solver` is "lemke", whose walk
    ends in a solution, or "pgs", at most so many `sweeps` by projected Gauss–Seidel, which end where none changes a
    velocity by more than 1e-10 of the largest. All else is as in `Hard`.
    """

    directions: int = 4
    level: str = "velocity"
    solver: str = "lemke"
    sweeps: int = 100
    restitution: float = 0.0
    position: str = "projection"
    resting: float = 0.01
    room: int | None = None

    def __post_init__(self) -> None:
        n = self.directions
        if not isinstance(n, int) or isinstance(n, bool) or n < 4 or n % 2:
            raise ValueShapeError(f"Lcp's directions are an even number of at least 4, got {n!r}")
        require_one_of("Lcp", "level", self.level, ("velocity", "acceleration"))
        require_one_of("Lcp", "solver", self.solver, ("lemke", "pgs"))
        require_sweeps("Lcp", self.sweeps)
        require_share("Lcp", "restitution", self.restitution)
        require_one_of("Lcp", "position", self.position, POSITIONS)
        require_positive("Lcp", "resting", self.resting, zero=True)
        require_room("Lcp", self.room)

    def impulses(
        self, W: Sequence[Scalars], b: Scalars, friction: Sequence[Scalars], present: Scalars, start: Scalars
    ) -> Impulses:
        sweeps = self.sweeps if self.solver == "pgs" else None
        return polyhedral(W, b, friction, present, self.directions, sweeps=sweeps, start=start)

    def forces(
        self,
        W: Sequence[Scalars],
        b: Scalars,
        friction: Sequence[Scalars],
        present: Scalars,
        velocities: Scalars,
        start: Scalars,
    ) -> list[Scalar]:
        """That turn the accelerations b of all rows into W f + b; none where no such forces are found."""
        sweeps = self.sweeps if self.solver == "pgs" else None
        found = polyhedral_forces(W, b, friction, present, velocities, self.directions, sweeps=sweeps, start=start)
        return [where(found.converged > 0, x, 0.0) for x in found.f]


@dataclass(frozen=True)
class Impulse:
    """Event-driven: a step is parted where bodies meet, and impulses act there (U13).

    `law` of restitution is "newton" or "poisson", `order` "together" or "in turn" (see `impact`). What approaches
    slower than `resting` [m/s] rests, and is held by forces (U14). With these, and between impacts, bodies move by any
    integrator's rule. All contacts that may be are looked at, so there is no question of room.
    """

    restitution: float = 1.0
    law: str = "newton"
    order: str = "in turn"
    resting: float = 0.01

    def __post_init__(self) -> None:
        require_share("Impulse", "restitution", self.restitution)
        require_one_of("Impulse", "law", self.law, ("newton", "poisson"))
        require_one_of("Impulse", "order", self.order, ("together", "in turn"))
        require_positive("Impulse", "resting", self.resting, zero=True)

    def impact(
        self, W: Sequence[Scalars], before: Scalars, e: Scalars, friction: Sequence[Scalars], present: Scalars
    ) -> Impact:
        """Of the velocities of all rows, with a coefficient of restitution for each point; what approaches slower than
        `resting` is stopped."""
        if self.order == "in turn":
            return impacts(W, before, e, friction, present, self.law, resting=self.resting)
        fast: Scalar = 0.0
        for rows, there in zip(rows_of(friction), present, strict=True):
            fast = maximum(fast, where(before[rows[0]] < -self.resting, there, 0.0))
        return impact(W, before, [fast * x for x in e], friction, present, self.law)


@dataclass(frozen=True)
class Penalty:
    """A spring and a damper at every point (T19): f = k δ + c δ̇ while shapes overlap by δ, and never a pull.

    Friction is μ f against the slip, and less below the speed `slip` [m/s], so what should stick creeps. It is a force
    like others: any integrator may be used, with steps that are short beside √(m / k).
    """

    stiffness: float = 1e4
    damping: float = 100.0
    slip: float = 0.01
    room: int | None = None

    def __post_init__(self) -> None:
        require_positive("Penalty", "stiffness", self.stiffness)
        require_positive("Penalty", "damping", self.damping, zero=True)
        require_positive("Penalty", "slip", self.slip)
        require_room("Penalty", self.room)


Stepping: TypeAlias = Hard | Lcp
"""Kinds that are solved for the velocities at the end of a step."""

Kind: TypeAlias = Soft | Hard | Lcp | Impulse | Penalty

BY_NAME: dict[str, type[Kind]] = {
    "soft": Soft, "hard": Hard, "lcp": Lcp, "impulse": Impulse, "penalty": Penalty
}  # fmt: skip

POSITIONS = ("projection", "baumgarte")


def kind_of(given: Any) -> Kind | None:
    """From a name or a kind with settings; None and "none": nothing touches."""
    if given is None or isinstance(given, (Soft, Hard, Lcp, Impulse, Penalty)):
        return given
    if isinstance(given, str) and given in BY_NAME:
        return BY_NAME[given]()
    if given == "none":
        return None
    raise UnknownNameError("kind of contact", given, ("none", *BY_NAME), "qdot.simulate")


def require_share(kind: str, name: str, value: Any) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueShapeError(f"{kind}'s {name} is a number from 0 to 1, got {value!r}")


def require_positive(kind: str, name: str, value: Any, *, zero: bool = False) -> None:
    if not is_number(value) or not 0 <= value < inf or (value == 0 and not zero):
        raise ValueShapeError(
            f"{kind}'s {name} is a {'number that is not negative' if zero else 'positive number'}, got {value!r}"
        )


def require_sweeps(kind: str, sweeps: Any) -> None:
    if not isinstance(sweeps, int) or isinstance(sweeps, bool) or sweeps < 1:
        raise ValueShapeError(f"{kind}'s sweeps are a whole number of at least 1, got {sweeps!r}")


def require_one_of(kind: str, name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UnknownNameError(f"{kind}'s {name}", value, allowed, "qdot.contact")


def require_room(kind: str, room: Any) -> None:
    if room is not None and (not isinstance(room, int) or isinstance(room, bool) or room < 1):
        raise ValueShapeError(f"{kind}'s room is a whole number of contacts, at least 1, or None, got {room!r}")
