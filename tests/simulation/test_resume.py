"""A run that was interrupted, and perhaps saved and loaded, goes on bit for bit as if it had not been."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qdot.algebra import sin
from qdot.algorithms.constraints.kinds import Driven
from qdot.errors import ModelError, ValueShapeError
from qdot.model import library
from qdot.simulation import records
from qdot.simulation.controls import compilable
from qdot.simulation.events import Event
from qdot.simulation.simulate import Simulation, simulate
from qdot.simulation.stabilisation import Drifting
from qdot.simulation.trajectory import ROWS, Trajectory
from tests.formulations.systems import four_bar, four_bar_state


def same(a: Trajectory, b: Trajectory) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in ("time", "multipliers", *ROWS)
    )


def pushed(t, q, v):
    return [0.3 * sin(7 * t), 0]


@pytest.mark.parametrize("integrator", ["rk4", "dormand-prince", "generalised alpha"])
def test_time_and_memory_go_on(integrator: str, tmp_path: Path) -> None:
    """Forces that depend on time, an odd start, a step that is no binary fraction; integrators that remember."""
    model = library.double_pendulum()
    options = {"integrator": integrator, "tau": compilable(pushed), "ledger": True}
    whole = simulate(model, ([0.5, 0.1], [0.0, 1.0]), 0.3, 0.003, start=1 / 3, **options)
    half = simulate(model, ([0.5, 0.1], [0.0, 1.0]), 0.12, 0.003, start=1 / 3, **options)
    half.save(tmp_path / "half.npz")
    for begun in (half, Trajectory.load(tmp_path / "half.npz")):
        rest = simulate(begun.model, begun, 0.18, **options)
        assert rest.time[0] == half.time[-1]
        assert same(begun.joined(rest), whole)


def test_batches_constraints_and_constants_go_on() -> None:
    q, v = four_bar_state(1.0, 2.0)
    state = np.tile(q, (3, 1)), np.tile(v, (3, 1))
    options = {"ledger": True, "record": 3, "constraints": [Driven("crank_joint", lambda t: 1.0 + 2.0 * t)]}
    masses = {"rocker.mass": np.array([0.3, 0.5, 0.9])}
    whole = simulate(four_bar(), state, 0.12, 0.01, parameters=masses, **options)
    half = simulate(four_bar(), state, 0.06, 0.01, parameters=masses, **options)
    rest = simulate(four_bar(), half, 0.06, **options)
    assert same(half.joined(rest), whole)
    assert same(half[1].joined(rest[1]), whole[1])
    alone = simulate(four_bar(), half[1], 0.06, **options)
    assert same(half[1].joined(alone), whole[1])
    assert whole.force_units() == {"closing": "N·m, N", "drive of crank_joint": "N·m"}
    assert np.abs(whole.balance()).max() < 1e-6
    for name, force in whole.constraint_forces().items():
        assert np.array_equal(force[1], whole[1].constraint_forces()[name], equal_nan=True)
    assert np.ptp(whole.kinetic_energy()[:, 0]) > 0.01  # each run has its own mass


def test_a_run_that_drifted_goes_on() -> None:
    """Only a start has to obey the constraints closely."""
    options = {"stabilisation": Drifting(), "integrator": "semi-implicit euler"}
    begun = simulate(four_bar(), four_bar_state(1.0, 2.0), 0.5, 0.01, **options)
    assert begun.drift[-1, 0] > 1e-4
    rest = simulate(four_bar(), begun, 0.5, **options)
    whole = simulate(four_bar(), four_bar_state(1.0, 2.0), 1.0, 0.01, **options)
    assert same(begun.joined(rest), whole)


def test_another_step_counts_from_where_the_run_is() -> None:
    model = library.double_pendulum()
    begun = simulate(model, ([0.5, 0.1], [0.0, 1.0]), 0.1, 0.01)
    rest = simulate(model, begun, 0.1, 0.005)
    assert rest.time[0] == begun.time[-1]
    assert np.diff(rest.time) == pytest.approx(0.005)
    direct = simulate(model, begun.state, 0.1, 0.005)
    assert np.array_equal(rest.q, direct.q)


def test_a_run_that_met_its_end_goes_on_if_asked() -> None:
    model = library.pendulum()
    through = Event("through zero", lambda q, v: q[0], terminal=True)
    begun = simulate(model, ([0.5], [0.0]), 2.0, 0.01, events=[through])
    assert begun.ended == begun.time[-1]
    on = Simulation(model, ([0.5], [0.0]), 0.01, events=[through])
    on.advance(2.0)
    on.advance(0.2)
    rest = simulate(model, begun, 0.2, events=[through])
    assert np.array_equal(begun.joined(rest).q, on.trajectory.q)
    starts = np.array([[0.5], [0.05]]), np.array([[0.0], [-1.0]])
    many = simulate(model, starts, 0.3, 0.01, events=[through])
    assert np.isfinite(many.ended).tolist() == [False, True]
    with pytest.raises(ValueShapeError, match="run 1 of these met a terminal event"):
        simulate(model, many, 0.1)
    simulate(model, many[:1], 0.1)


def test_what_cannot_go_on() -> None:
    model = library.double_pendulum()
    begun = simulate(model, ([0.5, 0.1], [0.0, 1.0]), 0.1, 0.01)
    with pytest.raises(ModelError, match="'double_pendulum', not of 'four_bar'"):
        simulate(four_bar(), begun, 0.1)
    with pytest.raises(ValueShapeError, match="resampled"):
        simulate(model, begun.resampled([0.0, 0.05]), 0.1)
    with pytest.raises(ValueShapeError, match="does not go on"):
        begun.joined(begun)


def test_how_long_it_took_is_kept() -> None:
    model = library.double_pendulum()
    begun = simulate(model, ([0.5, 0.1], [0.0, 1.0]), 0.1, 0.01)
    rest = simulate(model, begun, 0.1)
    assert begun.computing > 0
    assert begun.joined(rest).computing == begun.computing + rest.computing
    assert "steps/s" in str([*begun.table().columns[1].cells])


def test_rows_that_were_kept_stay_where_a_run_ends_early_and_goes_on_with_fewer() -> None:
    """There is room left beside them, and windows of which no row is kept."""
    model = library.double_pendulum()
    options = {"events": [Event("there", lambda t, q, v: t - 0.1, 0, True)], "tau": lambda t, q, v: [0.0, 0.0]}
    run = Simulation(model, ([0.5, 0.1], [0.0, 1.0]), 0.003, **options)
    run.advance(3.0)
    before = run.trajectory
    assert 0.1 <= run.time < 0.2
    run.advance(0.003 * 500, record=250)
    after = run.trajectory
    assert len(after.time) == len(before.time) + 2
    assert np.array_equal(after.q[: len(before.time)], before.q)
    assert np.array_equal(after.time[: len(before.time)], before.time)


@pytest.mark.parametrize("window", [2**28, 3000], ids=["together", "apart"])
@pytest.mark.parametrize("runs", [None, 3, 20])
def test_rows_that_lie_together_are_those_of_pieces(runs: int | None, window: int, monkeypatch) -> None:
    """A run at once, in two halves, and with every state kept beside every third: the same bits, also where memory
    holds a part of it only; and what people do to a trajectory does nothing to the run."""
    monkeypatch.setattr(records, "MOST_MEMORY", window)
    model = library.double_pendulum()
    v = [0.0, 1.0] if runs is None else np.random.default_rng(0).normal(size=(runs, 2))
    start = ([0.5, 0.1] if runs is None else np.tile([0.5, 0.1], (runs, 1)), v)
    whole = simulate(model, start, 0.3, 0.003, ledger=True)
    halves = Simulation(model, start, 0.003, ledger=True)
    halves.advance(0.12)
    first = halves.trajectory
    for x in (first.q, first.v, first.work):
        x[...] = np.nan
    halves.advance(0.18)
    assert same(halves.trajectory, whole)
    sparse = Simulation(model, start, 0.003, ledger=True)
    sparse.advance(0.12)
    sparse.advance(0.18, record=3)
    few = sparse.trajectory
    assert np.array_equal(few.q, np.concatenate([whole.q[..., :41, :], whole.q[..., 43::3, :]], axis=-2))
    assert np.array_equal(few.work, np.concatenate([whole.work[..., :41, :], whole.work[..., 43::3, :]], axis=-2))
