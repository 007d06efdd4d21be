"""The order of every integrator, by regression: the error after a given time against the length of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qdot
from qdot.algebra import cos, sin
from qdot.algorithms.constraints.kinds import Holonomic, Nonholonomic
from qdot.joints import Free, Planar, Prismatic
from qdot.model.library import double_pendulum
from qdot.simulation.forces import JointForce
from qdot.simulation.integrators import INTEGRATORS, DormandPrince, Integrator
from qdot.spatial import Inertia
from tests.formulations.systems import four_bar, four_bar_state

STEPS = {1: (1000, 2000, 4000), 2: (200, 400, 800), 4: (80, 160, 320), 5: (40, 80, 160)}
"""In one second, for each order: error terms of higher order are small, and so is rounding."""

EXACT = DormandPrince(rtol=1e-13, atol=1e-13)

SECOND = [name for name, kind in INTEGRATORS.items() if kind.order == 2]

CONSTRAINED = ["implicit velocity", "generalised alpha", "rattle"]


def of_length(name: str, dt: float) -> Integrator:
    """An integrator with steps of this length; the one that chooses them itself is kept from it."""
    if name == DormandPrince.name:
        return DormandPrince(rtol=1e6, atol=1e6, first=dt, longest=dt)
    return INTEGRATORS[name]()


def slope(name: str, model: qdot.Model, state: Any, exact: np.ndarray, **options: Any) -> float:
    sizes, errors = [1 / n for n in STEPS[INTEGRATORS[name].order]], []
    for dt in sizes:
        run = qdot.simulate(model, state, 1.0, dt, integrator=of_length(name, dt), **options)
        errors.append(np.abs(end(run) - exact).max())
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def end(run: Any) -> np.ndarray:
    """The last q and v."""
    return np.concatenate([run.q[-1], run.v[-1]])


def body(joint: Any, inertia: Inertia, **options: Any) -> qdot.Model:
    world = qdot.Mechanism("body", gravity=(0, 0, 0))
    world.add("body", joint, inertia, **options)
    return qdot.assemble(world)


DOUBLE = double_pendulum(), ([1.0, 0.5], [0.3, -0.2])
ASYMMETRIC = (
    body(Free(), Inertia.about_com(2.0, (0.1, 0.2, -0.1), (0.3, 0.5, 0.7))),
    ([1.0, 0, 0, 0, 0, 0, 0], [1.0, 2.0, -1.5, 0.3, 0.2, 0.1]),
)


@pytest.mark.parametrize("name", INTEGRATORS)
@pytest.mark.parametrize(("model", "state"), [DOUBLE, ASYMMETRIC], ids=["double pendulum", "free body"])
def test_order_of_free_motion(name: str, model: qdot.Model, state: Any) -> None:
    exact = end(qdot.simulate(model, state, 1.0, 0.1, integrator=EXACT))
    assert slope(name, model, state, exact) == pytest.approx(INTEGRATORS[name].order, abs=0.25)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_order_of_a_driven_damped_oscillator(name: str) -> None:
    """m ẍ + d ẋ + k x = F cos ωt against its closed form, so the time within a step counts, too."""
    m, d, k, F, w, x0, v0 = 2.0, 0.6, 30.0, 5.0, 3.0, 0.4, -0.3
    model = body(Prismatic("x"), Inertia.about_com(m, (0, 0, 0), (1, 1, 1)), stiffness=k, damping=d)
    drive = JointForce("drive", lambda t, q, v: [F * cos(w * t)])
    free = np.roots([m, d, k])
    forced = F / (k - m * w * w + 1j * d * w)  # x = Re(forced eⁱʷᵗ) + Σ cᵢ eʳᵗ
    c = np.linalg.solve([[1, 1], free], [x0 - forced.real, v0 - (1j * w * forced).real])
    factors, exponents = np.array([forced, *c]), np.array([1j * w, *free])
    exact = [(factors * exponents**n * np.exp(exponents)).sum().real for n in (0, 1)]
    assert slope(name, model, ([x0], [v0]), np.array(exact), forces=[drive]) == pytest.approx(
        INTEGRATORS[name].order, abs=0.25
    )


@pytest.mark.parametrize("name", CONSTRAINED)
def test_order_of_a_closed_loop(name: str) -> None:
    model, state = four_bar(), four_bar_state(1.0, 3.0)
    exact = end(qdot.simulate(model, state, 1.0, 0.1, integrator=EXACT))
    assert slope(name, model, state, exact) == pytest.approx(INTEGRATORS[name].order, abs=0.25)


@pytest.mark.parametrize("name", CONSTRAINED)
def test_order_of_constraints_on_velocities_and_of_time(name: str) -> None:
    """A sleigh on an edge that does not slip sideways, which is turned as a function of time."""
    model = body(Planar("z"), Inertia.about_com(1.0, (0.2, 0, 0), (0.2, 0.2, 0.3)))
    edge = Nonholonomic("edge", lambda q, v: [cos(q[0]) * v[2] - sin(q[0]) * v[1]])
    turn = Holonomic("turn", lambda t, q: [q[0] - sin(2 * t)])
    constraints = [edge, turn]
    state = [0.0, 0.0, 0.0], [2.0, 1.0, 0.0]
    exact = end(qdot.simulate(model, state, 1.0, 0.1, integrator=EXACT, constraints=constraints))
    assert slope(name, model, state, exact, constraints=constraints) == pytest.approx(INTEGRATORS[name].order, abs=0.25)


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("jumps", [True, False], ids=["one jump", "every step"])
def test_order_with_inputs_that_change_from_step_to_step(name: str, jumps: bool) -> None:
    """Joint forces that are held during each step, against short steps with the same forces: what an integrator
    remembers of the last step belongs to others."""
    model, state = DOUBLE
    sizes, errors = [1 / n for n in STEPS[2]], []
    for n in STEPS[2]:
        time = np.arange(n) / n
        wave = np.where(time < 0.5, 4.0, -4.0) if jumps else 4 * np.cos(9 * time)
        tau = np.stack([wave, -wave / 3], axis=1)
        run = qdot.simulate(model, state, 1.0, 1 / n, integrator=name, tau=tau)
        exact = qdot.simulate(model, state, 1.0, 1 / (8 * n), integrator="rk4", tau=np.repeat(tau, 8, axis=0))
        errors.append(np.abs(end(run) - end(exact)).max())
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(2, abs=0.25)
