"""Events: where a function of the state passes zero, against closed forms, for every kind of run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk

import qdot
from qdot.algebra import where
from qdot.errors import SimulationError, ValueShapeError
from qdot.geometry import Sphere
from qdot.joints import Prismatic
from qdot.model.library import pendulum
from qdot.simulation import Event, JointForce
from qdot.simulation.integrators import INTEGRATORS, DormandPrince
from tests.formulations.systems import four_bar, four_bar_state

G = 9.81
PENDULUM = pendulum(1.0, 1.0, G)
TIGHT = DormandPrince(rtol=1e-12, atol=1e-13)


def thrown() -> qdot.Model:
    """A ball that moves up and down."""
    world = qdot.Mechanism("thrown", gravity=(0, 0, -G))
    world.add("ball", Prismatic("z"), Sphere(0.1, mass=1.0))
    return qdot.assemble(world)


BALL = thrown()
TO_ZERO = Event("zero", lambda q, v: q[0])


def quarter(amplitude: float) -> float:
    """A quarter of the period of a pendulum of 1 m: K(sin²(A/2)) / √g."""
    return float(ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(G))


@pytest.mark.parametrize("integrator", ["rk4", TIGHT], ids=["rk4", "dormand-prince"])
def test_a_pendulum_passes_zero_at_odd_quarters_of_its_period(integrator: Any) -> None:
    """1e-9: rk4 leaves (2e-3)⁴ times some number below 10, the location itself 1e-16."""
    run = qdot.simulate(PENDULUM, ([1.2], [0.0]), 3.0, 2e-3, integrator=integrator, events=[TO_ZERO])
    T = quarter(1.2)
    assert [e.name for e in run.events] == ["zero"] * 3
    assert np.allclose([e.time for e in run.events], [T, 3 * T, 5 * T], rtol=0, atol=1e-9)
    speed = 2 * np.sqrt(G) * np.sin(0.6)
    assert np.allclose([e.state.v[0] for e in run.events], [-speed, speed, -speed], rtol=0, atol=1e-9)
    assert all(abs(e.state.q[0]) < 1e-14 and e.run is None for e in run.events)
    assert np.isnan(run.ended)


@pytest.mark.parametrize("integrator", sorted(INTEGRATORS))
def test_every_integrator_finds_them_on_its_own_path(integrator: str) -> None:
    """Between the records before and after, at zero; the path itself is off by dt in methods of order 1."""
    run = qdot.simulate(PENDULUM, ([1.2], [0.0]), 0.8, 1e-3, integrator=integrator, events=[TO_ZERO])
    (event,) = run.events
    k = int(np.searchsorted(run.time, event.time))
    assert run.q[k - 1, 0] > 0 >= run.q[k, 0]
    assert abs(event.state.q[0]) < 1e-12
    assert event.time == pytest.approx(quarter(1.2), abs=2e-3)


@pytest.mark.parametrize(("direction", "expected"), [(1, [3]), (-1, [1, 5]), (0, [1, 3, 5])])
def test_only_crossings_in_the_direction_asked_for_count(direction: int, expected: list[int]) -> None:
    event = Event("zero", lambda q, v: q[0], direction)
    run = qdot.simulate(PENDULUM, ([1.2], [0.0]), 3.0, 2e-3, events=[event])
    assert np.allclose([e.time for e in run.events], np.array(expected) * quarter(1.2), atol=1e-9)


def test_the_top_of_a_throw_is_where_its_speed_passes_zero() -> None:
    """v₀/g and v₀²/2g: rk4 is exact on a parabola."""
    run = qdot.simulate(BALL, ([0.0], [5.0]), 1.1, 0.1, events=[Event("top", lambda q, v: v[0]), TO_ZERO])
    (top, back) = run.events
    assert (top.name, back.name) == ("top", "zero")
    assert top.time == pytest.approx(5 / G, abs=1e-14)
    assert top.state.q[0] == pytest.approx(12.5 / G, abs=1e-14)
    assert back.time == pytest.approx(10 / G, abs=1e-14)


def test_a_start_at_zero_is_no_event_and_a_record_at_zero_is_one() -> None:
    """The fourth record lies on zero exactly; it is met once."""
    run = qdot.simulate(BALL, ([0.0], [0.0]), 0.5, 0.05, events=[TO_ZERO])
    assert run.events == ()
    clock = Event("half past", lambda t, q, v: t - 0.25)
    run = qdot.simulate(BALL, ([0.0], [0.0]), 0.5, 0.0625, events=[clock])
    assert [e.time for e in run.events] == [0.25]


def test_several_events_in_one_step_come_in_order_of_time() -> None:
    """One step of 0.5 s, events at 0.1, 0.2, 0.3 s given in another order."""
    times = {"b": 0.2, "c": 0.3, "a": 0.1}
    events = [Event(name, lambda t, q, v, at=at: t - at) for name, at in times.items()]
    run = qdot.simulate(BALL, ([1.0], [0.0]), 0.5, 0.5, events=events)
    assert [e.name for e in run.events] == ["a", "b", "c"]
    assert np.allclose([e.time for e in run.events], [0.1, 0.2, 0.3], rtol=0, atol=1e-15)
    heights = [1 - G * t * t / 2 for t in (0.1, 0.2, 0.3)]
    assert np.allclose([e.state.q[0] for e in run.events], heights, rtol=0, atol=1e-14)


LANDING = Event("landing", lambda q, v: q[0], -1, terminal=True)


@pytest.mark.parametrize("record", [1, 7])
def test_a_terminal_event_ends_the_run_at_its_state(record: int) -> None:
    """What comes later in the same step does not happen."""
    late = Event("late", lambda q, v: q[0] + 1e-3)
    run = qdot.simulate(BALL, ([1.0], [0.0]), 2.0, 0.01, record=record, events=[late, LANDING])
    fall = np.sqrt(2 / G)
    assert [e.name for e in run.events] == ["landing"]
    assert run.ended == run.events[0].time == pytest.approx(fall, abs=1e-14)
    assert run.time[-1] == pytest.approx(fall, abs=1e-14)
    assert run.q[-1] == pytest.approx(0.0, abs=1e-13)
    assert run.v[-1, 0] == pytest.approx(-G * fall, abs=1e-12)
    assert np.array_equal(run.time[:-1], np.arange(len(run.time) - 1) * record * 0.01)
    assert np.all(run.time[:-1] < fall)


@pytest.mark.parametrize("integrator", ["rk4", TIGHT], ids=["rk4", "dormand-prince"])
def test_a_run_goes_on_from_its_terminal_event(integrator: Any) -> None:
    """Below the floor it meets no more events; it is where free fall is, at times counted from the landing."""
    run = qdot.Simulation(BALL, ([1.0], [0.0]), 0.01, integrator=integrator, events=[LANDING])
    run.advance(2.0)
    landed = run.time
    run.advance(0.5)
    whole = run.trajectory
    assert len(whole.events) == 1
    assert np.isnan(whole.ended)
    assert run.time == pytest.approx(landed + 0.5, abs=1e-14)
    assert np.allclose(whole.q[:, 0], 1 - G * whole.time**2 / 2, rtol=0, atol=1e-12)


def test_runs_of_a_batch_end_each_on_their_own() -> None:
    """Dropped from several heights, one thrown up and one from so high that it never lands; times are √(2h/g)."""
    heights, speeds = np.array([0.3, 1.0, 0.6, 50.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, 2.0])
    start = heights[:, None], speeds[:, None]
    top = Event("top", lambda q, v: v[0] - 1e-3, -1)
    run = qdot.simulate(BALL, start, 1.0, 0.01, events=[LANDING, top], ledger=True)
    fall = (speeds + np.sqrt(speeds**2 + 2 * G * heights)) / G
    assert np.allclose(run.ended[[0, 1, 2, 4]], fall[[0, 1, 2, 4]], rtol=0, atol=1e-13)
    assert np.isnan(run.ended[3])
    assert [(e.name, e.run) for e in run.events] == [
        ("top", 4),
        ("landing", 0),
        ("landing", 2),
        ("landing", 4),
        ("landing", 1),
    ]
    for k in (0, 1, 2, 4):
        after = run.time > run.ended[k]
        before = ~after
        assert np.all(run.q[k, after] == run.q[k, -1])
        assert np.all(run.v[k, after] == run.v[k, -1])
        assert np.allclose(run.q[k, after], 0, atol=1e-13)
        t = run.time[before]
        assert np.allclose(run.q[k, before, 0], heights[k] + speeds[k] * t - G * t * t / 2, rtol=0, atol=1e-12)
    assert np.allclose(run.q[3, :, 0], 50 - G * run.time**2 / 2, rtol=0, atol=1e-12)


def test_a_batch_that_has_ended_stops_and_stays() -> None:
    run = qdot.Simulation(BALL, ([[0.3], [0.6]], np.zeros((2, 1))), 0.01, events=[LANDING], integrator="dormand-prince")
    run.advance(5.0)
    first = run.trajectory
    assert first.time[-1] == pytest.approx(np.ceil(first.ended.max() * 100) / 100)
    run.advance(1.0)
    second = run.trajectory
    assert np.array_equal(first.time, second.time)
    assert np.array_equal(first.ended, second.ended)


@pytest.mark.parametrize("integrator", ["rk4", "dormand-prince"])
def test_events_of_a_batch_are_those_of_single_runs_bit_for_bit(integrator: str) -> None:
    angles = np.array([[0.5], [1.0], [1.5]])
    ends = Event("fast", lambda q, v: v[0] * v[0] - 6.0, 1, terminal=True)
    options: dict[str, Any] = {"integrator": integrator, "events": [TO_ZERO, ends]}
    batch = qdot.simulate(PENDULUM, (angles, np.zeros((3, 1))), 1.0, 0.01, **options)
    for k, angle in enumerate(angles):
        one = qdot.simulate(PENDULUM, (angle, [0.0]), 1.0, 0.01, **options)
        own = [e for e in batch.events if e.run == k]
        assert [(e.name, e.time, *e.state.q, *e.state.v) for e in own] == [
            (e.name, e.time, *e.state.q, *e.state.v) for e in one.events
        ]
        assert one.events
        assert np.array_equal(batch.ended[k], one.ended, equal_nan=True)


def test_events_are_seen_where_inputs_come_from_python_or_by_rows() -> None:
    """A ball held by its weight and pushed at 1 N from a given step on: x = ½ t² of a mass of 1 kg."""
    event = Event("there", lambda q, v: q[0] - 0.3)
    called = qdot.simulate(BALL, ([0.0], [0.0]), 1.0, 0.1, tau=lambda t, q, v: [G + 1.0], events=[event])
    given = qdot.simulate(BALL, ([0.0], [0.0]), 1.0, 0.1, tau=np.full((10, 1), G + 1.0), events=[event])
    for run in (called, given):
        assert [e.time for e in run.events] == [pytest.approx(np.sqrt(0.6), abs=1e-13)]


def test_each_run_of_a_batch_has_its_parameters_and_constraints_in_events_too() -> None:
    """Cranks of several masses: each ends as it does alone, with its constraint forces."""
    model, (q, v) = four_bar(), four_bar_state(1.0, 2.0)
    options: dict[str, Any] = {"events": [Event("turned", lambda q, v: q[0] - 0.9, terminal=True)], "record": 3}
    masses = np.array([0.1, 0.3, 2.0])
    batch = qdot.simulate(model, (q, v), 0.5, 0.01, parameters={"crank.mass": masses}, **options)
    for k, value in enumerate(masses):
        one = qdot.simulate(model, (q, v), 0.5, 0.01, parameters={"crank.mass": value}, **options)
        assert one.ended == batch.ended[k]
        assert np.array_equal(one.q[-1], batch.q[k, -1])
        assert np.array_equal(one.multipliers[-1], batch.multipliers[k, -1])
    assert len(set(batch.ended)) == 3


def test_what_comes_after_a_run_has_failed_did_not_happen() -> None:
    """One of two runs leaves the numbers at 0.31 s; the other would meet its event at 0.5 s, in the same piece."""
    event, early = (Event(name, lambda t, q, v, at=at: t - at) for name, at in (("late", 0.5), ("early", 0.105)))
    bad = JointForce("bad", lambda t, q, v: [where((t > 0.305) & (q[0] > 1), 0.0, 1.0) ** -0.5])
    with pytest.raises(SimulationError) as caught:
        qdot.simulate(BALL, ([[0.0], [9.0]], np.zeros((2, 1))), 0.6, 0.01, forces=[bad], events=[event, early])
    run = caught.value.run
    assert run.time[-1] < 0.32
    assert [(e.name, e.run) for e in run.events] == [("early", 0), ("early", 1)]


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(ValueShapeError, match="direction"):
        Event("e", lambda q, v: q[0], 2)
    with pytest.raises(ValueShapeError, match="two events are called 'e'"):
        qdot.Simulation(BALL, events=[Event("e", lambda q, v: q[0]), Event("e", lambda q, v: v[0])])
    with pytest.raises(ValueShapeError, match="one number"):
        qdot.Simulation(BALL, events=[Event("e", lambda q, v: list(q))])
    with pytest.raises(ValueShapeError, match="Event"):
        qdot.Simulation(BALL, events=[lambda q, v: q[0]])  # type: ignore[list-item]
