"""The classical method of Runge and Kutta, order 4, on the manifold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.integrators.munthe_kaas import stage
from qdot.simulation.phase import Phase, Rates
from qdot.simulation.system import Inputs, System


@dataclass(frozen=True)
class RungeKutta4(Integrator):
    """Four evaluations a step."""

    name = "rk4"
    order = 4

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        k1 = system.rates(phase, inputs, dt)
        k2 = stage(system, phase, inputs, dt, [0.5], [k1])
        k3 = stage(system, phase, inputs, dt, [0.0, 0.5], [k1, k2])
        k4 = stage(system, phase, inputs, dt, [0.0, 0.0, 1.0], [k1, k2, k3])
        mean = Rates.combined([1 / 6, 1 / 3, 1 / 3, 1 / 6], [k1, k2, k3, k4])
        return Stepped(phase.moved(system.model, mean, dt))
