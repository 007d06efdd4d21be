"""Euler's method, semi-implicit: velocities first, then positions with the new ones. Order 1.

    v' = v + dt a(q, v),   q ⊕ dt v'

Velocities that are written in axes of a body, those of free ones, are stepped in axes that do not turn, so that a body
on which nothing acts flies straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar
from qdot.algorithms.configuration import carried, retract, straight
from qdot.algorithms.maps import added
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase, along
from qdot.simulation.system import Inputs, System


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """One evaluation a step; of closed loops and chains it keeps energy better than its order tells."""

    name = "semi-implicit euler"
    order = 1

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        acting = system.acting(phase, inputs, dt, chord=True)
        led_back = [x - y for x, y in zip(acting.rates.q, phase.v, strict=True)]
        v = along(phase.v, acting.rates.v, dt)
        work = acting.work_rates([(x + y) / 2 for x, y in zip(phase.v, v, strict=True)])
        return Stepped(along_chord(system, phase, v, led_back, work, inputs, dt))


def along_chord(
    system: System,
    phase: Phase,
    v: Sequence[Scalar],
    led_back: Sequence[Scalar],
    work: Sequence[Scalar],
    inputs: Inputs,
    dt: Scalar,
) -> Phase:
    """The phase after a step along the new velocity v, in the axes of the start; `led_back` is added to it for q."""
    model, step = system.model, [dt * x for x in v]
    q = retract(model, phase.q, added(straight(model, step), [dt * x for x in led_back]))
    activation = system.later_activations(phase, inputs, dt)
    return Phase(phase.time + dt, q, carried(model, v, step), activation, along(phase.work, work, dt))
