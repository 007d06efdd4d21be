"""A variational integrator: the motion between two steps makes a discrete action stationary. Order 2.

    L_d(q, q') = dt L(m, v),   m = q ⊕ ½ dt v,   q' = q ⊕ dt v,   L = ½ vᵀ M v - P
    p = -∂L_d/∂q,   p' = ∂L_d/∂q'

q and the momentum p = M v are carried on: v follows from the first equation by iteration, q' and p' are then explicit.
So the map from (q, p) to (q', p') is symplectic, momenta that belong to symmetries are conserved to rounding, and the
energy oscillates but does not drift. With the momenta P, P' = P + dt (∂L/∂m + f) of start and end as seen at m, and
u = ½ dt v,

    M(m) v = ½ (LEFTᵀ p + LEFTᵀ P'),   P = e^(adᵀ) p,   p' = e^(adᵀ) P'

(see `covectors`), which for plain coordinates is M(m) v = p + ½ dt (∂L/∂m + f), p' = p + dt (∂L/∂m + f). Forces
f without a potential are at m. Sources: Marsden, West, Acta Numerica 10 (2001); on groups Bou-Rabee, Marsden, Found.
Comput. Math. 9 (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qdot.algebra import Scalar, Scalars
from qdot.algebra.linalg import dot
from qdot.algorithms.bias import gravity_forces
from qdot.algorithms.configuration import retract
from qdot.algorithms.hamiltonian import generalized_momentum, momentum_forces
from qdot.errors import ModelError
from qdot.simulation.integrators import newton
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.integrators.covectors import BRACKET, CARRIED, LEFT, series
from qdot.simulation.phase import Phase, along
from qdot.simulation.system import Inputs, System

STRONG = ", or integrator='generalised alpha' where springs or dampers are strong (dt² k / m near 4, dt d / m near 2)"
"""The iteration has M alone for a tangent; forces that change faster with v, it does not follow."""


@dataclass(frozen=True)
class Variational(Integrator):
    """For models without constraints; `Rattle` is the same with them."""

    name = "variational"
    order = 2
    takes_soft = False

    def memory(self, system: System) -> list[float]:
        """The size of the last correction."""
        return [0.0]

    def failure(self, memory: Sequence[float]) -> str | None:
        return newton.failure(memory[0], STRONG)

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        if system.row_count:
            raise ModelError(
                f"model {system.model.name!r} has constraints, {system.row_names[0]!r} among them, and integrator "
                "'variational' knows none; take integrator='rattle', which is the same with constraints"
            )
        mass, leap = system.mass(phase.q), Leap(system, phase, inputs, dt)
        p = leap.momentum
        v, size = newton.solved(phase.v, lambda v: mass.solve(leap.missing(p, v)), system.model.nv, leap.state_size)
        end = leap.end(v)
        return Stepped(replace(end, v=system.mass(end.q).solve(leap.after(p, v))), [size])


@dataclass(frozen=True)
class Leap:
    """A step from a phase as a function of the momentum p at its start and of the velocity v that leads through it."""

    system: System
    start: Phase
    inputs: Inputs
    dt: Scalar

    @property
    def momentum(self) -> list[Scalar]:
        """p of the start, (nv,)."""
        return generalized_momentum(self.system.model, self.start.q, self.start.v)

    @property
    def state_size(self) -> Scalar:
        """Of coordinates, as a velocity."""
        return (1 + newton.largest(self.start.q)) / self.dt

    def missing(self, p: Scalars, v: Scalars) -> list[Scalar]:
        """½ (LEFTᵀ p + LEFTᵀ P') - M(m) v: zero for the v that belongs to p."""
        model, u = self.system.model, self._half(v)
        both = [x + y for x, y in zip(p, self._pushed(p, v), strict=True)]
        mean = [x / 2 for x in series(model, u, both, LEFT)]
        return [x - y for x, y in zip(mean, generalized_momentum(model, self.middle(v).q, v), strict=True)]

    def after(self, p: Scalars, v: Scalars) -> list[Scalar]:
        """p' at the end."""
        return series(self.system.model, self._half(v), self._pushed(p, v), CARRIED)

    def middle(self, v: Scalars) -> Phase:
        start, half = self.start, self.dt / 2
        q = retract(self.system.model, start.q, self._half(v))
        activation = along(start.activation, self.system.activation_rates_of(start, self.inputs), half)
        return replace(start, time=start.time + half, q=q, v=list(v), activation=activation)

    def end(self, v: Scalars) -> Phase:
        """Where v leads, with the work of the forces on the way; its own velocity is still that of the way."""
        system, start, middle = self.system, self.start, self.middle(v)
        q = retract(system.model, start.q, [self.dt * x for x in v])
        activation = along(start.activation, system.activation_rates_of(middle, self.inputs), self.dt)
        work = list(start.work)
        if system.ledger:
            forces = system.forces(middle, self.inputs)
            work = along(work, [dot(forces[name], v) if name in forces else 0 for name in system.ledger], self.dt)
        return Phase(start.time + self.dt, q, list(v), activation, work)

    def _half(self, v: Scalars) -> list[Scalar]:
        return [self.dt / 2 * x for x in v]

    def _pushed(self, p: Scalars, v: Scalars) -> list[Scalar]:
        """P' = P + dt (∂L/∂m + f), with ∂L/∂m = ½ vᵀ ∂M v - g by sweeps, as in Hamilton's equations."""
        model, middle = self.system.model, self.middle(v)
        own = generalized_momentum(model, middle.q, v)
        pushes = zip(
            series(model, self._half(v), p, CARRIED),
            momentum_forces(model, middle.q, v),
            series(model, v, own, BRACKET),
            gravity_forces(model, middle.q),
            zip(*self.system.forces(middle, self.inputs).values(), strict=True),
            strict=True,
        )
        return [P + self.dt * (moving - turning - g + sum(f)) for P, moving, turning, g, f in pushes]
