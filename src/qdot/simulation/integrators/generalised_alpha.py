"""The generalised-α method of Chung and Hulbert on the manifold, for stiff springs. Order 2.

    M(q') v̇' + c(q', v') - f(t', q', v') = Jᵀ(q') λ',   φ(q') = 0
    q' = q ⊕ dt (v + dt (½ - β) a + dt β a'),   v' = v + dt ((1 - γ) a + γ a')
    (1 - α_m) a' + α_m a = (1 - α_f) v̇' + α_f v̇

a is an acceleration between steps. With the spectral radius ρ at infinite frequency, α_m = (2ρ - 1)/(ρ + 1),
α_f = ρ/(ρ + 1), γ = ½ + α_f - α_m, β = ¼ (γ + ½)²: vibrations that steps cannot follow shrink by ρ a step, slow motion
is hardly damped. Forces and constraints are those at the end of the step, found by Newton's method. Positions obey
constraints by themselves (index 3), velocities within the order of the method; what they are off is not told, but goes
into the next step.

Sources: Chung, Hulbert, J. Appl. Mech. 60 (1993); Brüls, Cardona, Arnold, Mech. Mach. Theory 48 (2012). λ is scaled by
dt² as there: corrections of accelerations and of positions are a factor of β dt² apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, absolute, derivative, is_number, scalars_in, where, where_needed
from qdot.algebra.elimination import Eliminated
from qdot.algebra.linalg import dot
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row, sparse_rows
from qdot.algorithms.configuration import normalized, retract
from qdot.algorithms.constraints.rows import dense, is_of_velocities, transposed_times
from qdot.algorithms.limits import rubbing
from qdot.algorithms.maps import added, unit
from qdot.algorithms.passive import armature
from qdot.algorithms.rnea import newton_euler
from qdot.errors import ValueShapeError
from qdot.simulation.integrators import newton
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.integrators.covectors import RIGHT, series
from qdot.simulation.integrators.remembered import chosen, filled
from qdot.simulation.phase import Phase, along
from qdot.simulation.system import Inputs, System

SAME = 1e-12
"""Of the size of a number, or of 1: what projections and unit quaternions leave where nothing has changed."""


@dataclass(frozen=True)
class GeneralisedAlpha(Integrator):
    """`spectral_radius` from 0, which takes fast vibrations away at once, to 1, which keeps them all."""

    spectral_radius: float = 0.8

    name = "generalised alpha"
    order = 2
    settles = True
    takes_soft = False

    def __post_init__(self) -> None:
        if not is_number(self.spectral_radius) or not 0 <= self.spectral_radius <= 1:
            raise ValueShapeError(
                f"GeneralisedAlpha's spectral_radius is a number from 0 to 1, got {self.spectral_radius!r}"
            )

    def memory(self, system: System) -> list[float]:
        return list(scalars_in(_Last.blank(system)))

    def failure(self, memory: Sequence[float]) -> str | None:
        return newton.failure(memory[0])

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        n = system.model.nv
        last = filled(_Last.blank(system), memory).taken_up(system, phase, inputs, dt)
        begin = phase.changed(v=added(phase.v, last.across))
        leap = _Leap.of(self.spectral_radius, system, begin, inputs, dt, last.acceleration, last.auxiliary)
        state_size = ((1 + newton.largest(phase.q)) / dt + newton.largest(phase.v)) / dt
        found, size = newton.solved([*last.acceleration, *last.multipliers], leap.correction, n, state_size)
        end, forces = leap.end(found[:n]), found[n:]
        rates = zip(system.activation_rates_of(begin, inputs), system.activation_rates_of(end, inputs), strict=True)
        powers = zip(
            _powers(system, begin, inputs, last.multipliers), _powers(system, end, inputs, forces), strict=True
        )
        end = replace(
            end,
            q=normalized(system.model, end.q),
            activation=along(phase.activation, [(x + y) / 2 for x, y in rates], dt),
            work=along(phase.work, [(x + y) / 2 for x, y in powers], dt),
        )
        across = _across(system, end)
        end = end.changed(v=[x - y for x, y in zip(end.v, across, strict=True)])
        auxiliary = leap.auxiliary_after(found[:n])
        after = _Last(size, found[:n], auxiliary, forces, across, _known(end, inputs))
        return Stepped(end, list(scalars_in(after)))


@dataclass(frozen=True)
class _Last:
    """What the last step leaves to the next."""

    size: Scalar
    """Of the last correction; negative before the first step."""
    acceleration: Sequence[Scalar]
    """v̇."""
    auxiliary: Sequence[Scalar]
    """a."""
    multipliers: Sequence[Scalar]
    across: Sequence[Scalar]
    """The part of its velocity that the constraints do not allow, which is not told."""
    known: Sequence[Scalar]
    """The state that was told, and the inputs."""

    holds_scalars: ClassVar[bool] = True

    @staticmethod
    def blank(system: System) -> _Last:
        model, n = system.model, system.model.nv
        held = len(rubbing(model, model.home().tolist())) + 2 * n if system.is_bounded else 0
        known = model.nq + n + model.na + model.nu + n + held
        return _Last(-1.0, *([0.0] * size for size in (n, n, system.row_count, n, known)))

    def taken_up(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar) -> _Last:
        """For a step from this phase, with these inputs.

        Where they are not those of the last step (inputs jump, something was struck, a state was set) v̇ and λ are
        computed anew, and a jumps by as much as v̇: what lies between a and v̇, a matter of dt, goes on. To begin with
        a = v̇ would be of order 1, where inputs change with every step.
        """
        known = _known(phase, inputs)
        same = or_rounding(SAME, 16)
        moved = [absolute(x - y) - same * (1 + absolute(y)) for x, y in zip(known, self.known, strict=True)]
        changed = sum((where(x > 0, 1.0, 0.0) for x in moved), start=0.0)

        def anew(at: Phase) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
            acting = system.acting(at, inputs, dt)
            return list(acting.rates.v), acting.multipliers

        begins = self.size < 0
        fresh = begins | (changed > 0)
        acceleration, multipliers = where_needed(fresh, phase, anew, (self.acceleration, self.multipliers))
        jumped = [a + (x - y) for a, x, y in zip(self.auxiliary, acceleration, self.acceleration, strict=True)]
        return replace(
            self,
            acceleration=acceleration,
            auxiliary=chosen(begins, list(acceleration), chosen(fresh, jumped, list(self.auxiliary))),
            multipliers=multipliers,
            across=[where(fresh, 0.0, x) for x in self.across],
        )


def _known(phase: Phase, inputs: Inputs) -> list[Scalar]:
    """What v̇ depends on beside the time, which does not jump."""
    held = [] if inputs.held is None else scalars_in(inputs.held)
    return [*phase.q, *phase.v, *phase.activation, *inputs.control, *inputs.tau, *held]


def _across(system: System, phase: Phase) -> list[Scalar]:
    """The part of a velocity that the constraints do not allow, (nv,)."""
    if not system.row_count:
        return [0] * system.model.nv
    rows = system.rows(phase.time, phase.q, phase.v)
    return system.solver(system.mass(phase.q), rows).correction(rows.rate)[0]


def _powers(system: System, phase: Phase, inputs: Inputs, multipliers: Scalars) -> list[Scalar]:
    """Of each entry of the ledger."""
    if not system.ledger:
        return []
    J = system.rows(phase.time, phase.q, phase.v).J
    forces = {
        **system.forces(phase, inputs), "constraints": transposed_times(J, multipliers, system.model.nv)
    }  # fmt: skip
    return [dot(forces[name], phase.v) if name in forces else 0 for name in system.ledger]


@dataclass(frozen=True)
class _Leap:
    """One step as a function of the acceleration x = v̇' at its end: a' = fixed + share x."""

    system: System
    inputs: Inputs
    dt: Scalar
    start: Phase
    auxiliary: Sequence[Scalar]
    fixed: Sequence[Scalar]
    share: float
    beta: float
    gamma: float

    @staticmethod
    def of(
        radius: float,
        system: System,
        phase: Phase,
        inputs: Inputs,
        dt: Scalar,
        acceleration: Sequence[Scalar],
        auxiliary: Sequence[Scalar],
    ) -> _Leap:
        a_m, a_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
        gamma = 0.5 + a_f - a_m
        fixed = [(a_f * x - a_m * a) / (1 - a_m) for x, a in zip(acceleration, auxiliary, strict=True)]
        start = replace(phase, activation=along(phase.activation, system.activation_rates_of(phase, inputs), dt))
        share, beta = (1 - a_f) / (1 - a_m), (gamma + 0.5) ** 2 / 4
        return _Leap(system, inputs, dt, start, auxiliary, fixed, share, beta, gamma)

    def auxiliary_after(self, x: Scalars) -> list[Scalar]:
        """a'."""
        return along(self.fixed, x, self.share)

    def path(self, x: Scalars) -> list[Scalar]:
        """q' ⊖ q."""
        a, dt = self.auxiliary_after(x), self.dt
        rows = zip(self.start.v, self.auxiliary, a, strict=True)
        return [dt * v + dt * dt * ((0.5 - self.beta) * before + self.beta * after) for v, before, after in rows]

    def end(self, x: Scalars) -> Phase:
        a, dt = self.auxiliary_after(x), self.dt
        rows = zip(self.start.v, self.auxiliary, a, strict=True)
        v = [v + dt * ((1 - self.gamma) * before + self.gamma * after) for v, before, after in rows]
        q = retract(self.system.model, self.start.q, self.path(x))
        return replace(self.start, time=self.start.time + dt, q=q, v=v)

    def missing(self, x: Scalars) -> list[Scalar]:
        """M v̇' + c - f, (nv,): the force that is still needed for this motion."""
        model, end = self.system.model, self.end(x)
        needed, _ = newton_euler(model, end.q, end.v, x, frames=self.system.frames)
        forces = zip(*self.system.forces(end, self.inputs).values(), strict=True)
        return [t + d * a - sum(f) for t, d, a, f in zip(needed, armature(model), x, forces, strict=True)]

    def correction(self, unknowns: list[Scalar]) -> list[Scalar]:
        """Of x and λ by Newton's method; how Jᵀ λ changes with x, a matter of dt², is left out."""
        model, n, dt = self.system.model, self.system.model.nv, self.dt
        x, multipliers = unknowns[:n], unknowns[n:]
        tangent = [derivative(lambda dx: self.missing(added(x, dx)), unit(n, k)) for k in range(n)]  # by columns
        end, path = self.end(x), self.path(x)
        rows = self.system.rows(end.time, end.q, end.v)
        side = [f - g for f, g in zip(transposed_times(rows.J, multipliers, n), self.missing(x), strict=True)]
        along_x: list[Row] = []
        for row, phi, rate in zip(rows.J, rows.phi, rows.rate, strict=True):
            if is_of_velocities(phi):
                along_x.append(row)
                side.append(-rate / (self.gamma * self.share * dt))
            else:
                along_x += sparse_rows([series(model, path, dense([row], n)[0], RIGHT)])
                side.append(-phi / (self.beta * self.share * dt * dt))
        A = [list(row) for row in zip(*tangent, strict=True)]
        return Eliminated.saddle(A, rows.J, along_x).solve(side)
