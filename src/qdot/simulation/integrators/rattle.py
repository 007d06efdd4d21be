"""RATTLE: the variational integrator with constraints. Order 2; steps end on the constraints, energy does not drift.

    p + J(q)ᵀ Λ = -∂L_d/∂q,   φ(q') = 0        (SHAKE: impulses Λ at the start keep positions)
    p' = ∂L_d/∂q' + J(q')ᵀ μ,   J(q') v' = 0   (RATTLE: impulses μ at the end keep velocities)

with L_d of `variational`, in any coordinates: reduced, or maximal, where every body is free and all joints are
constraints. Constraints on velocities hold at the middle of the step, then at its end.

v and Λ are found by iteration: v is led to φ(q') = 0 across J(q'), and Λ are the impulses across J(q) that come nearest
to that. No row of the one is divided by one of the other, so that a mechanism may pass places where rows vanish or
repeat others, and J changes its sign (all bars in one line).

Sources: Ryckaert, Ciccotti, Berendsen, J. Comput. Phys. 23 (1977); Andersen, 52 (1983); Hairer, Lubich, Wanner,
Geometric Numerical Integration (2006), VII.1; for velocities McLachlan, Perlmutter, J. Nonlinear Sci. 16 (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qdot.algebra import Scalar
from qdot.algebra.linalg import dot
from qdot.algebra.sparse import sparse_rows
from qdot.algorithms.configuration import normalized
from qdot.algorithms.constraints.rows import Rows, dense, is_of_velocities, times, transposed_times
from qdot.algorithms.maps import added
from qdot.simulation.integrators import newton
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.integrators.covectors import RIGHT, series
from qdot.simulation.integrators.variational import STRONG, Leap, Variational
from qdot.simulation.phase import Phase
from qdot.simulation.system import Inputs, System


@dataclass(frozen=True)
class Rattle(Integrator):
    """Of a model without constraints this is the variational integrator."""

    name = "rattle"
    order = 2
    settles = True
    takes_soft = False

    def memory(self, system: System) -> list[float]:
        """The size of the last correction."""
        return [0.0]

    def failure(self, memory: Sequence[float]) -> str | None:
        return newton.failure(memory[0], STRONG)

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        if not system.row_count:
            return Variational().step(system, phase, inputs, dt, memory)
        model, n = system.model, system.model.nv
        leap, mass = Leap(system, phase, inputs, dt), system.mass(phase.q)
        rows = system.rows(phase.time, phase.q, phase.v)
        p, solver = leap.momentum, system.solver(mass, rows)

        def pushed(impulses: Sequence[Scalar]) -> list[Scalar]:
            return added(p, transposed_times(rows.J, impulses, n))

        def correction(unknowns: list[Scalar]) -> list[Scalar]:
            v, impulses = unknowns[:n], unknowns[n:]
            free = mass.solve(leap.missing(pushed(impulses), v))
            there = self._off(leap, rows, v)
            missed = [-(x + y) for x, y in zip(there.rate, times(there.J, free), strict=True)]
            change, _ = system.solver(mass, there).correction(missed)
            _, more = solver.correction(times(rows.J, change))
            return [*added(free, change), *more]

        found, size = newton.solved([*phase.v, *([0.0] * len(rows.J))], correction, n, leap.state_size)
        v, impulses = found[:n], found[n:]
        end = leap.end(v)
        end = end.changed(q=normalized(model, end.q), v=system.mass(end.q).solve(leap.after(pushed(impulses), v)))
        after = system.rows(end.time, end.q, end.v)
        change, last = system.solver(system.mass(end.q), after).correction([-x for x in after.rate])
        forces = added(transposed_times(rows.J, impulses, n), transposed_times(after.J, last, n))
        end = replace(end.changed(v=added(end.v, change)), work=self._work(system, end, dot(forces, v)))
        return Stepped(end, [size])

    def _off(self, leap: Leap, start: Rows, v: Sequence[Scalar]) -> Rows:
        """By how much v fails to keep the constraints, as rates, φ(q') / dt or ψ at the middle; J is how that changes
        with v."""
        system, model, dt, end = leap.system, leap.system.model, leap.dt, leap.end(v)
        rows = system.rows(end.time, end.q, end.v)
        path = [dt * x for x in v]
        J = sparse_rows(series(model, path, row, RIGHT) for row in dense(rows.J, model.nv))
        rates = [x / dt for x in rows.phi]
        on_velocities = [k for k, phi in enumerate(start.phi) if is_of_velocities(phi)]
        if on_velocities:
            middle = leap.middle(v)
            halfway = system.rows(middle.time, middle.q, middle.v)
            for k in on_velocities:
                rates[k], J[k] = halfway.rate[k], halfway.J[k]
        return replace(rows, rate=rates, J=J)

    def _work(self, system: System, end: Phase, done: Scalar) -> list[Scalar]:
        """With that of the constraints, which only those do that move with time."""
        return [w + done if name == "constraints" else w for name, w in zip(system.ledger, end.work, strict=True)]
