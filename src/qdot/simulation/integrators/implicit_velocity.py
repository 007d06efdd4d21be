"""Euler's method, semi-implicit, with forces at the new velocity: stable with dampers however stiff. Order 1.

    (M - dt D) Δv = dt (f - c) + dt Jᵀ λ,   J Δv = -dt b,   D = ∂f/∂v,   q ⊕ dt (v + Δv)

with as much of b as `System.chord_share` says.

f are all forces: dampers, actuators, drag of a fluid, users'. D is exact, by dual numbers along each freedom. It need
not be symmetric (a magnet's force on a moving charge is not), so M - dt D is eliminated as it stands, constraints with
it; `solver` is not asked. MuJoCo's `implicitfast` is the same with D made symmetric, and `implicit` with `coriolis`
(Todorov, Erez, Tassa, IROS 2012, and the chapter on computation of its documentation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, derivative, is_zero
from qdot.algebra.elimination import Eliminated
from qdot.algebra.linalg import TreeFactors, dot, matvec
from qdot.algorithms.configuration import carried_rate
from qdot.algorithms.constraints.rows import times, transposed_times
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.maps import added, unit
from qdot.algorithms.rnea import newton_euler
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.integrators.semi_implicit_euler import along_chord
from qdot.simulation.phase import Phase
from qdot.simulation.stabilisation import pull
from qdot.simulation.system import Inputs, System


@dataclass(frozen=True)
class ImplicitVelocity(Integrator):
    """With `coriolis` the velocity-product forces c are at the new velocity, too: for fast spins."""

    coriolis: bool = False

    name = "implicit velocity"
    order = 1

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        model, n = system.model, system.model.nv

        def forces(dv: Scalars) -> list[Scalar]:
            v = added(phase.v, dv)
            found = [sum(column) for column in zip(*system.forces(phase.changed(v=v), inputs).values(), strict=True)]
            if self.coriolis:
                found = [f - x for f, x in zip(found, _products(system, phase, v), strict=True)]
            return found

        D = [derivative(forces, unit(n, k)) for k in range(n)]  # by columns
        M = mass_matrix(model, phase.q, frames=system.frames)
        still, _ = newton_euler(model, phase.q, phase.v, [0] * n, frames=system.frames)
        c = added(still, matvec(M, carried_rate(model, phase.v)))
        A = [[M[i][k] - dt * D[k][i] for k in range(n)] for i in range(n)]
        f = added(forces([0] * n), system.pushed(phase, inputs))
        side = [dt * (x if self.coriolis else x - y) for x, y in zip(f, c, strict=True)]
        rows = system.rows(phase.time, phase.q, phase.v)
        if not rows.J and all(is_zero(x) for k, column in enumerate(D) for i, x in enumerate(column) if i != k):
            v = added(phase.v, TreeFactors.of(A, model.dof_parents).solve(side))  # it branches as M does
            work = self._powers(system, phase, inputs, v, [0] * n)
            return Stepped(along_chord(system, phase, v, [0] * n, work, inputs, dt))
        turned = times(rows.J, carried_rate(model, phase.v))
        bias = [b + x for b, x in zip(rows.bias, turned, strict=True)]
        equations = Eliminated.saddle(A, rows.J, rows.J)
        pulled = pull(system.setup.stabilisation, rows, dt)

        def solved(share: float) -> list[Scalar]:
            return equations.solve([*side, *(-dt * (share * b + s) for b, s in zip(bias, pulled, strict=True))])

        found, multipliers = solved(system.chord_share), [x / dt for x in solved(1.0)[n:]]
        v = added(phase.v, found[:n])
        work = self._powers(system, phase, inputs, v, transposed_times(rows.J, multipliers, n))
        return Stepped(along_chord(system, phase, v, self._corrections(system, phase, inputs, dt), work, inputs, dt))

    def _corrections(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar) -> list[Scalar]:
        """What leads positions back: q̇ - v."""
        if not system.row_count:
            return [0] * system.model.nv
        return [x - y for x, y in zip(system.rates(phase, inputs, dt).q, phase.v, strict=True)]

    def _powers(self, system: System, phase: Phase, inputs: Inputs, v: Scalars, constraints: Scalars) -> list[Scalar]:
        """Of the forces at the new velocity, whose work changes the kinetic energy."""
        if not system.ledger:
            return []
        forces = {**system.forces(phase.changed(v=v), inputs), "constraints": constraints}
        mean = [(x + y) / 2 for x, y in zip(phase.v, v, strict=True)]
        return [dot(forces[name], mean) if name in forces else 0 for name in system.ledger]


def _products(system: System, phase: Phase, v: Scalars) -> list[Scalar]:
    """c(q, v) + g(q), and what turning axes do to velocities, (nv,)."""
    return newton_euler(system.model, phase.q, v, carried_rate(system.model, v), frames=system.frames)[0]
