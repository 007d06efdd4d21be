"""Methods of Runge and Kutta on the manifold (Munthe-Kaas, BIT 38, 1998).

Stages are points q ⊕ u near the start of the step. The rate of u that belongs to a velocity v there is
u̇ = v + ½ [u, v] + 1/12 [u, [u, v]] - …, so sums of rates are sums of vectors, and quaternions stay unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qdot.algebra import Scalar, Scalars, is_zero
from qdot.model.model import Model
from qdot.simulation.phase import Phase, Rates
from qdot.simulation.system import Inputs, System


def stage(
    system: System, phase: Phase, inputs: Inputs, dt: Scalar, weights: Sequence[float], before: Sequence[Rates]
) -> Rates:
    """The rates at phase ⊕ dt Σ wᵢ kᵢ, written at the start of the step."""
    total = Rates.combined(weights, before)
    there = replace(phase.moved(system.model, total, dt), time=phase.time + sum(weights) * dt)
    rates = system.rates(there, inputs, dt)
    return replace(rates, q=pulled_back(system.model, [dt * x for x in total.q], rates.q))


def pulled_back(model: Model, u: Scalars, v: Scalars) -> list[Scalar]:
    """u̇ with d/dt (q ⊕ u) = v, up to order 5 in u: v + ½ [u, v] + 1/12 [u, [u, v]] - 1/720 [u, [u, [u, [u, v]]]]."""
    found: list[Scalar] = []
    for body in model.bodies:
        own, w = u[body.dofs], list(v[body.dofs])
        series, nested = list(w), w
        for factor in (1 / 2, 1 / 12, 0, -1 / 720):
            nested = body.joint.bracket(own, nested)
            if factor:
                series = [x if is_zero(y) else x + factor * y for x, y in zip(series, nested, strict=True)]
        found += series
    return found
