"""Dormand–Prince: its order, what tolerances promise, dense output, and published motions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import qdot
from qdot.algebra import where
from qdot.description import Activation, ActuatorRecord, OnJoint
from qdot.errors import ValueShapeError
from qdot.geometry import Sphere
from qdot.joints import Prismatic, Spherical
from qdot.model.library import double_pendulum, pendulum
from qdot.simulation import Event, JointForce, Stops, compilable
from qdot.simulation.integrators import DormandPrince
from qdot.simulation.phase import Phase
from qdot.simulation.system import Inputs, Setup, System
from qdot.spatial import Inertia
from tests.formulations.systems import four_bar, four_bar_state

G = 9.81
TIGHT = DormandPrince(rtol=1e-12, atol=1e-13)
DOUBLE = double_pendulum((1.0, 1.0), (1.0, 1.0), G)


def fixed(h: float) -> DormandPrince:
    """Steps of this length, whatever the error."""
    return DormandPrince(rtol=1e6, atol=1e6, first=h, longest=h)


def body(joint: Any, inertia: Inertia, gravity: float = G) -> qdot.Model:
    world = qdot.Mechanism("body", gravity=(0, 0, -gravity))
    world.add("body", joint, inertia)
    return qdot.assemble(world)


ASYMMETRIC = body(Spherical(), Inertia.about_com(1.0, (0, 0, 0), (1.0, 2.0, 3.0)), 0.0)
TURNING = [1.0, 0.0, 0.0, 0.0], [1.0, 1.5, 0.7]


def slider(**options: Any) -> qdot.Model:
    """1 kg along x, without gravity."""
    world = qdot.Mechanism("slider", gravity=(0, 0, 0))
    world.add("ball", Prismatic("x", limits=options.pop("limits", None)), Sphere(0.1, mass=1.0), **options)
    return qdot.assemble(world)


SLIDER = slider()


@pytest.mark.parametrize(
    ("model", "state"), [(DOUBLE, ([1.0, 0.5], [0.0, 2.0])), (ASYMMETRIC, TURNING)], ids=["plain", "manifold"]
)
def test_fixed_steps_have_order_5_at_records_between_them_too(model: qdot.Model, state: Any) -> None:
    """Records lie at all places within steps: the curve through a step is as good as its end."""
    exact = qdot.simulate(model, state, 1.5, 0.03, integrator=TIGHT)
    sizes = np.array([0.05, 0.035, 0.025, 0.0175])
    errors = []
    for h in sizes:
        run = qdot.simulate(model, state, 1.5, 0.03, integrator=fixed(float(h)))
        errors.append(max(np.abs(run.q - exact.q).max(), np.abs(run.v - exact.v).max()))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert 4.75 < slope < 5.5


def test_errors_are_proportional_to_the_tolerance() -> None:
    state = [1.0, 0.5], [0.0, 2.0]
    exact = qdot.simulate(DOUBLE, state, 2.0, 0.05, integrator=DormandPrince(rtol=1e-13, atol=1e-14))
    tolerances = 10.0 ** -np.arange(5, 11)
    errors = []
    for tolerance in tolerances:
        run = qdot.simulate(DOUBLE, state, 2.0, 0.05, integrator=DormandPrince(rtol=tolerance, atol=tolerance))
        errors.append(np.abs(run.q - exact.q).max())
    assert 0.85 < np.polyfit(np.log(tolerances), np.log(errors), 1)[0] < 1.15
    assert np.all(np.array(errors) < 100 * tolerances)


def test_dt_changes_neither_steps_nor_accuracy() -> None:
    """The same points to rounding, at records a hundred times closer."""
    integrator = DormandPrince(first=1e-3)
    coarse = qdot.simulate(DOUBLE, ([1.0, 0.5], [0.0, 2.0]), 2.0, 0.1, integrator=integrator)
    fine = qdot.simulate(DOUBLE, ([1.0, 0.5], [0.0, 2.0]), 2.0, 0.001, record=100, integrator=integrator)
    assert np.allclose(coarse.q, fine.q, rtol=0, atol=1e-13)
    assert np.allclose(coarse.v, fine.v, rtol=0, atol=1e-13)


def test_records_cost_no_evaluations() -> None:
    """On floats, with a force that counts: ten times the records take not one evaluation more."""

    def evaluations(dt: float, records: int) -> int:
        calls = 0

        def nothing(q: Any, v: Any) -> list[float]:
            nonlocal calls
            calls += 1
            return [0.0]

        integrator = DormandPrince(first=1e-2, longest=1.0)  # so that the function bounds no step
        system = System(pendulum(), Setup(forces=(JointForce("counts", nothing),)))
        phase, memory = Phase(0.0, [1.0], [0.0], [], []), list(integrator.memory(system))
        for k in range(records):
            done = integrator.step(system, replace(phase, time=k * dt), Inputs([], [0.0]), dt, memory)
            phase, memory = done.phase, list(done.memory)
        return calls

    assert evaluations(0.002, 500) == evaluations(0.02, 50) < 7 * 100


# ── published motions ────────────────────────────────────────────────────────────────────────────


def test_pendulum_a01() -> None:
    """IFToMM/LIM benchmark A01 (Gonzalez et al. 2006): released horizontal at x = -L."""
    back = Event("back", lambda q, v: v[0], -1)
    run = qdot.simulate(pendulum(1.0, 1.0, G), ([np.pi / 2], [0.0]), 10.0, 0.05, integrator=TIGHT, events=[back])
    x, y = -np.sin(run.q[-1, 0]), -np.cos(run.q[-1, 0])
    assert x == pytest.approx(-0.27508746257611727, abs=1e-9)
    assert y == pytest.approx(-0.9614192050991249, abs=1e-9)
    times = [e.time for e in run.events]
    assert np.allclose(np.diff([0.0, *times]), 2.3678419475762373, rtol=0, atol=1e-10)


def test_double_pendulum_from_horizontal() -> None:
    """Classical: equal point masses, both rods along +x at rest; the reduced and the Cartesian form agree."""
    run = qdot.simulate(DOUBLE, ([-np.pi / 2, 0.0], [0.0, 0.0]), 2.0, 0.1, integrator=TIGHT)
    a, b = run.q[-1, 0], run.q[-1].sum()
    assert -np.sin(a) - np.sin(b) == pytest.approx(-1.434124817464475, abs=1e-9)
    assert -np.cos(a) - np.cos(b) == pytest.approx(-1.1298701956473152, abs=1e-9)


def test_heavy_top() -> None:
    """Geradin, Cardona 2001; Brüls, Cardona, Arnold 2012: symmetric, about a fixed point, spinning about y at 150
    rad/s. Its tip is y of the body, and lowest where its velocity has no part along z."""

    def rising(q: Any, v: Any) -> Any:
        w, x, y, z = q
        return -v[2] * 2 * (x * z - w * y) + v[0] * (1 - 2 * (x * x + y * y))

    top = body(Spherical(), Inertia.about_com(15.0, (0, 1, 0), (0.234375, 0.46875, 0.234375)))
    start = [1.0, 0.0, 0.0, 0.0], [0.0, 150.0, -4.61538]
    lowest = Event("lowest", rising, 1)
    run = qdot.simulate(top, start, 1.0, 0.01, integrator=TIGHT, events=[lowest])

    def tip(q: np.ndarray) -> np.ndarray:
        w, x, y, z = q
        return np.array([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)])

    expected = [0.1733439640976475, 0.6400885920743503, -0.7484907911299926]
    assert np.allclose(tip(run.q[-1]), expected, rtol=0, atol=1e-8)
    heights = [tip(e.state.q)[2] for e in run.events]
    assert min(heights) == pytest.approx(-0.9999999999997377, abs=1e-9)
    assert np.allclose(np.sum(run.q**2, axis=1), 1, rtol=0, atol=1e-14)


def test_dzhanibekov() -> None:
    """Landau, Lifshitz, Mechanics § 37: spun about its middle axis it turns over at a fixed interval."""
    flip = Event("flip", lambda q, v: v[1])
    run = qdot.simulate(ASYMMETRIC, ([1.0, 0, 0, 0], [0.0, 1.0, 0.001]), 60.0, 0.5, integrator=TIGHT, events=[flip])
    (first, second) = (e.time for e in run.events)
    assert second - first == pytest.approx(26.828560929167697, abs=1e-7)
    assert run.v[40, 1] == pytest.approx(-0.9990048757708301, abs=1e-8)


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit() -> None:
    state = [1.0, 0.5], [0.0, 2.0]
    run = qdot.Simulation(DOUBLE, state, 0.013, integrator="dormand-prince")
    for seconds in (0.013, 0.13, 0.26):
        run.advance(seconds)
        pieces = run.trajectory
    whole = qdot.simulate(DOUBLE, state, 0.403, 0.013, integrator="dormand-prince")
    assert np.array_equal(pieces.q, whole.q)
    assert np.array_equal(pieces.v, whole.v)


def test_rows_of_a_batch_have_steps_of_their_own_and_are_single_runs_bit_for_bit() -> None:
    """Slow and fast motions side by side."""
    q = np.array([[1.0, 0.5], [0.01, 0.0], [-2.0, 1.0], [0.0, 0.0], [0.5, 0.5]])
    v = np.array([[0.0, 2.0], [0.0, 0.0], [30.0, -50.0], [0.0, 0.0], [1.0, 1.0]])
    batch = qdot.simulate(DOUBLE, (q, v), 0.5, 0.02, integrator="dormand-prince")
    for k in range(len(q)):
        one = qdot.simulate(DOUBLE, (q[k], v[k]), 0.5, 0.02, integrator="dormand-prince")
        assert np.array_equal(batch.q[k], one.q)
        assert np.array_equal(batch.v[k], one.v)


def test_inputs_that_change_from_record_to_record_are_followed() -> None:
    """Pushed and pulled in turns by 1 N: a chain of parabolas, exact but for rounding."""
    push = np.where(np.arange(40) % 3 == 0, 1.0, -0.5)[:, None]
    given = qdot.simulate(SLIDER, None, 4.0, 0.1, tau=push, integrator="dormand-prince")
    called = qdot.simulate(
        SLIDER, None, 4.0, 0.1, tau=lambda t, q, v: push[round(t / 0.1)], integrator="dormand-prince"
    )
    v = np.concatenate([[0.0], np.cumsum(0.1 * push[:, 0])])
    x = np.concatenate([[0.0], np.cumsum(0.1 * (v[:-1] + v[1:]) / 2)])
    for run in (given, called):
        assert np.allclose(run.q[:, 0], x, rtol=0, atol=1e-13)
        assert np.allclose(run.v[:, 0], v, rtol=0, atol=1e-13)


def test_a_motion_that_any_step_would_follow_is_not_stepped_over_to_infinity() -> None:
    """Under a constant push the error of every step is zero; 1e4 records later points between still are exact."""
    run = qdot.simulate(SLIDER, None, 1e3, 0.1, tau=[1.0], record=100, integrator="dormand-prince")
    assert np.allclose(run.q[:, 0], run.time**2 / 2, rtol=1e-12, atol=0)


def test_constraints_are_kept_and_the_loop_moves_as_with_rk4() -> None:
    model, state = four_bar(), four_bar_state(1.0, 2.0)
    run = qdot.simulate(model, state, 2.0, 0.02, integrator=DormandPrince(rtol=1e-10, atol=1e-11), ledger=True)
    fine = qdot.simulate(model, state, 2.0, 1e-4, record=200)
    assert np.allclose(run.q, fine.q, rtol=0, atol=1e-8)
    system = System(model, Setup())
    for k in (0, 13, 99):
        there = Phase(0.0, run.q[k].tolist(), run.v[k].tolist(), [], [])
        forces = system.acting(there, Inputs([], [0.0] * 3), 0.02).multipliers
        assert np.allclose(run.multipliers[k], forces, rtol=0, atol=1e-9)
    assert run.drift[1:, 0].max() < 1e-12
    assert run.drift[1:, 1].max() < 1e-12
    E = qdot.energy(model, run.q, run.v)
    assert np.abs(E - E[0] - run.work.sum(axis=1)).max() < 1e-8


def test_stops_are_met() -> None:
    """A slide of 2 m/s meets a stop after 0.25 s and returns with half its speed."""
    run = qdot.simulate(
        slider(limits=(-1.0, 0.5)), ([0.0], [2.0]), 0.75, 1e-3, integrator="dormand-prince", limits=Stops(0.5)
    )
    assert run.q.max() == pytest.approx(0.5, abs=1e-12)
    assert run.v[-1] == pytest.approx(-1.0, abs=1e-12)
    assert run.q[-1] == pytest.approx(0.0, abs=1e-12)  # the stop is met within a step, and bounced off there


def test_activations_and_the_ledger_go_along() -> None:
    """ẇ = (u - w)/T with u = 1, and v̇ = w - v/2: closed forms; the ledger closes, and keeping it changes nothing."""
    T = 0.3
    plain = slider(damping=0.5)
    motor = ActuatorRecord("motor", OnJoint("ball"), dynamics=Activation("filter", T))
    model = qdot.assemble(replace(plain.description, actuators=(motor,)))
    options: dict[str, Any] = {"control": [1.0], "integrator": DormandPrince(rtol=1e-11, atol=1e-12)}
    run = qdot.simulate(model, None, 2.0, 0.1, ledger=True, **options)
    t = run.time
    assert np.allclose(run.activation[:, 0], 1 - np.exp(-t / T), rtol=0, atol=1e-10)
    c = 1 / (1 / T - 0.5)
    v = 2 * (1 - np.exp(-t / 2)) + c * (np.exp(-t / T) - np.exp(-t / 2))
    assert np.allclose(run.v[:, 0], v, rtol=0, atol=1e-10)
    E = qdot.energy(model, run.q, run.v)
    assert np.allclose(run.work.sum(axis=1), E - E[0], rtol=0, atol=1e-9)
    unwatched = qdot.simulate(model, None, 2.0, 0.1, **options)
    assert np.allclose(unwatched.q, run.q, rtol=0, atol=1e-13)


def test_a_compiled_function_of_time_is_followed_within_the_tolerance() -> None:
    """A push of cos 5 t: x = (1 - cos 5 t)/25."""

    @compilable
    def push(t: Any, q: Any, v: Any) -> list[Any]:
        return [qdot.algebra.cos(5 * t)]

    run = qdot.simulate(SLIDER, None, 3.0, 0.25, tau=push, integrator=DormandPrince(rtol=1e-10, atol=1e-10), start=0.0)
    assert np.allclose(run.q[:, 0], (1 - np.cos(5 * run.time)) / 25, rtol=0, atol=1e-8)


@pytest.mark.parametrize("longest", [None, 0.1])
def test_a_short_push_is_not_stepped_over(longest: float | None) -> None:
    """One that lasts for dt: it leaves 1 N·s. Steps of any length, up to the given one, pass it by unseen."""
    push = compilable(lambda t, q, v: [where(t > 0.513, where(t < 0.523, 100.0, 0.0), 0.0)])
    run = qdot.simulate(SLIDER, None, 2.0, 0.01, tau=push, integrator=DormandPrince(longest=longest))
    seen = run.v[-1, 0] == pytest.approx(1.0, abs=1e-6)
    assert seen == (longest is None)


# ── failure ──────────────────────────────────────────────────────────────────────────────────────


def last_of(integrator: DormandPrince, force: Any, dt: float, records: int) -> tuple[Phase, list[float]]:
    """Where a text on floats leads: the phase and the memory."""
    system = System(SLIDER, Setup(forces=(JointForce("force", force),)))
    phase, memory = Phase(0.0, [1.0], [-1.0], [], []), list(integrator.memory(system))
    for k in range(records):
        done = integrator.step(system, replace(phase, time=k * dt), Inputs([], [0.0]), dt, memory)
        phase, memory = done.phase, list(done.memory)
    return phase, memory


def test_a_step_that_would_have_to_be_too_short_is_told() -> None:
    """Attraction by 1/x² reaches its centre in finite time."""
    integrator = DormandPrince(shortest=1e-6)
    phase, memory = last_of(integrator, lambda q, v: [-1 / (q[0] * q[0])], 0.1, 3)
    assert np.isfinite(phase.q[0])
    assert integrator.failure(memory) is None
    phase, memory = last_of(integrator, lambda q, v: [-1 / (q[0] * q[0])], 0.1, 12)
    assert np.isnan(phase.q[0])
    assert "1e-06" in str(integrator.failure(memory))


def test_too_many_steps_between_records_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qdot.simulation.integrators.dormand_prince.MOST_STEPS", 50)
    integrator = DormandPrince(first=1e-3, longest=1e-3)
    phase, memory = last_of(integrator, lambda q, v: [0.0], 0.04, 2)
    assert integrator.failure(memory) is None
    phase, memory = last_of(integrator, lambda q, v: [0.0], 0.06, 2)
    assert np.isnan(phase.q[0])
    assert "50 steps" in str(integrator.failure(memory))


@pytest.mark.parametrize(
    "bad", [{"rtol": -1.0}, {"atol": 0.0}, {"atol": "small"}, {"first": 0.0}, {"shortest": 1.0, "longest": 0.1}]
)
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueShapeError, match="DormandPrince"):
        DormandPrince(**bad)
