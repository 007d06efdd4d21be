"""Room for contacts between bodies: where none is given, runs take what they need, and are as they would have been."""

import logging
from dataclasses import replace

import numpy as np
import pytest

import qdot
from qdot.contact import Hard, Lcp, Penalty, Soft
from qdot.errors import SimulationError, ValueShapeError
from qdot.simulation import Event, room
from qdot.simulation.integrators import INTEGRATORS
from qdot.simulation.simulate import Simulation
from tests.contact.models import ball, scene

SMOOTH = 'condim="1"'
KINDS = [Soft(), Hard(), Hard(solver="pgs"), Lcp(), Penalty()]
DT = 2e-3


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing is known of any model, and there is little room at first: programs of much take long to compile."""
    room._needed.cache_clear()
    monkeypatch.setattr(room, "FIRST", 2)
    monkeypatch.setattr(room, "first_room", lambda model: 2)
    yield
    room._needed.cache_clear()


@pytest.fixture(scope="module")
def row():
    """Six balls in a row, 5 mm apart: what pushes from the left meets one after the other."""
    slide = '<joint type="slide" axis="1 0 0"/>'
    return scene("".join(ball(f"b{k}", f"{0.205 * k} 0 0", slide, 1.0, SMOOTH) for k in range(6)), floor=False)


def moving(n=None):
    """The first is pushed towards the others, in a batch by this many speeds, so that only some meet all."""
    v = np.zeros((n or 1, 6))
    v[:, 0] = np.linspace(1.0, 0.0, n) if n else 1.0
    v[:, 5] = -v[:, 0]
    return (np.zeros_like(v), v) if n else (np.zeros(6), v[0])


def taken(run: Simulation) -> int:
    return run.setup.contact.room


def same(run: qdot.Trajectory, other: qdot.Trajectory) -> None:
    """Bit for bit: places that are empty add zeros."""
    for name in ("time", "q", "v", "contact", "work"):
        np.testing.assert_array_equal(getattr(run, name), getattr(other, name))
    np.testing.assert_array_equal(run.checkpoint.memory, other.checkpoint.memory)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("batch", [None, 9])
def test_runs_take_the_room_they_need(row, kind, batch, caplog):
    """As a run with so much from the start; later ones begin with it, and where room is given, there is no more."""
    caplog.set_level(logging.INFO, "qdot.simulation")
    run = Simulation(row, moving(batch), DT, contact=kind)
    assert taken(run) == 2
    run.advance(0.1)
    assert taken(run) >= 5
    assert "now there is room for" in caplog.text
    same(run.trajectory, qdot.simulate(row, moving(batch), 0.1, DT, contact=replace(kind, room=taken(run))))
    assert taken(Simulation(row, moving(), DT, contact=kind)) == taken(run)
    with pytest.raises(SimulationError, match=r"found no room.*room=\d+\).*leave it out") as error:
        qdot.simulate(row, moving(batch), 0.1, DT, contact=replace(kind, room=2))
    assert error.value.row == (None if batch is None else 0)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_rounding_may_count_fewer(row, kind, monkeypatch):
    """What was too many for a step may be as many as there is room for where they are counted again."""
    counted = room._beyond
    monkeypatch.setattr(room, "_beyond", lambda half, *more: min(counted(half, *more), half))
    run = Simulation(row, moving(), DT, contact=kind)
    run.advance(0.1)
    assert taken(run) >= 5
    same(run.trajectory, qdot.simulate(row, moving(), 0.1, DT, contact=replace(kind, room=taken(run))))


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("kind", [Soft(), Penalty()], ids=str)
def test_no_integrator_leaves_contacts_out(row, kind, integrator):
    """Whatever an integrator asks of what is soft, accelerations or forces: what finds no room must reach the state.
    Each ball begins 5 mm within the next."""
    start = (-0.01 * np.arange(6.0), np.zeros(6))
    if kind == Soft() and not INTEGRATORS[integrator].takes_soft:
        with pytest.raises(ValueShapeError, match="as if nothing touched"):
            Simulation(row, start, DT, contact=kind, integrator=integrator)
        return
    run = Simulation(row, start, DT, contact=kind, integrator=integrator)
    run.advance(0.02)
    assert taken(run) >= 5
    same(run.trajectory, qdot.simulate(row, start, 0.02, DT, contact=replace(kind, room=8), integrator=integrator))


@pytest.mark.parametrize("kind", [Soft(), Hard(solver="pgs")], ids=str)
def test_records_events_and_functions_are_as_with_room_from_the_start(row, kind):
    """Every third record, a function that counts its calls and so must be asked once a step, and an event on the way;
    a terminal one that some of a batch meet, too."""

    def run(kind):
        asked = []

        def push(t, q, v):
            asked.append(t)
            return [0.1 * len(asked), 0, 0, 0, 0, 0]

        events = [Event("touched", lambda q, v: v[1] - 0.1)]
        return qdot.simulate(row, moving(), 0.1, DT, contact=kind, tau=push, events=events, record=3)

    def batch(kind):
        events = [Event("end", lambda q, v: v[2] - 0.3, terminal=True)]
        return qdot.simulate(row, moving(5), 0.1, DT, contact=kind, events=events)

    for made in (run, batch):
        found = made(kind)
        assert found.checkpoint.room > 2
        given = made(replace(kind, room=found.checkpoint.room))
        same(found, given)
        np.testing.assert_array_equal(found.ended, given.ended)
        assert [(e.name, e.run, e.time) for e in found.events] == [(e.name, e.run, e.time) for e in given.events]
        assert found.events


@pytest.mark.parametrize("kind", [Soft(), Hard(solver="pgs")], ids=str)
def test_what_goes_on_from_a_file_has_its_room(row, kind, tmp_path):
    """In another process nothing is known of the model but what the file tells; and what began with little room goes on
    where there is more, impulses in their places."""
    whole = qdot.simulate(row, moving(), 0.1, DT, contact=kind)
    room._needed.cache_clear()
    for seconds in (0.004, 0.06):
        before = qdot.simulate(row, moving(), seconds, DT, contact=kind)
        before.save(tmp_path / "run.npz", overwrite=True)
        for more in (0, 5):
            room._needed.cache_clear()
            loaded = qdot.Trajectory.load(tmp_path / "run.npz")
            assert loaded.checkpoint.room == before.checkpoint.room
            later = Simulation(loaded.model, loaded, contact=replace(kind, room=more or None))
            later.advance(0.1 - seconds)
            np.testing.assert_array_equal(before.joined(later.trajectory).q, whole.q)
    assert later.trajectory.checkpoint.room is None  # for it was given


def test_stages_within_a_step_take_room_too(row):
    """A step of Runge and Kutta that is long: at its start too few touch for it to be known there."""
    fast = (np.zeros(6), np.array([2.0, 1.0, 0.5, -0.5, -1.0, -2.0]))
    run = Simulation(row, fast, 8e-3, contact=Penalty(), integrator="rk4")
    run.advance(0.08)
    same(run.trajectory, qdot.simulate(row, fast, 0.08, 8e-3, contact=Penalty(room=taken(run)), integrator="rk4"))
    assert taken(run) > 2
