"""Euler's method, explicit: order 1, and energy grows. Here to be compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qdot.algebra import Scalar
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase
from qdot.simulation.system import Inputs, System


@dataclass(frozen=True)
class ExplicitEuler(Integrator):
    """q ⊕ dt v, v + dt a(q, v)."""

    name = "explicit euler"
    order = 1

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        acting = system.acting(phase, inputs, dt)
        after = phase.moved(system.model, acting.rates, dt)
        activation = system.later_activations(phase, inputs, dt)
        return Stepped(replace(after, activation=activation))
