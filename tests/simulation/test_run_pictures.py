"""Pictures of runs show what there is, with names and units, and refuse what cannot be drawn."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

import qdot
from qdot.errors import PictureError, UnknownNameError, ValueShapeError
from qdot.joints import Free
from qdot.model import library
from qdot.simulation import Driven
from qdot.simulation.forces import JointForce
from qdot.simulation.pictures import plot_compare, plot_ledger, plot_trajectory
from qdot.simulation.simulate import simulate
from qdot.simulation.trajectory import Trajectory
from qdot.spatial import Inertia
from tests.formulations.systems import four_bar, four_bar_state


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def closed() -> Trajectory:
    brake = JointForce("brake", lambda q, v: [-0.3 * v[0], 0, 0])
    return simulate(four_bar(), four_bar_state(1.0, 2.0), 0.1, 0.01, forces=[brake], ledger=True)


@pytest.fixture(scope="module")
def batch() -> Trajectory:
    rng = np.random.default_rng(0)
    model = library.cart_pole()
    return simulate(model, (rng.normal(size=(9, 2)), np.zeros((9, 2))), 0.1, 0.01, tau=[1.0, 0.0], ledger=True)


def labels(figure) -> list[str]:
    return [axes.get_ylabel().replace("\n", " ") for axes in figure.axes]


def named(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_every_quantity_has_its_axes(closed: Trajectory) -> None:
    figure = plot_trajectory(closed, ("q", "v", "energy", "momentum", "forces", "drift"))
    figure.canvas.draw()
    assert labels(figure) == [
        "q [rad]", "v [rad/s]", "energy [J]", "angular momentum [kg·m²/s]", "momentum [kg·m/s]",
        "moment of closing [N·m]", "force of closing [N]", "largest error of constraints",
    ]  # fmt: skip
    assert named(figure.axes[0]) == ["crank_joint", "coupler_joint", "rocker_joint"]
    for line, row in zip(figure.axes[0].lines, closed.q.T, strict=True):
        assert np.array_equal(line.get_ydata(), row)
    assert figure.axes[-1].get_yscale() == "log"
    assert figure.axes[-1].get_xlabel() == "time [s]"


def test_errors_that_are_zero_lie_at_the_lower_end_of_the_axis() -> None:
    driven = simulate(library.pendulum(), None, 0.1, 0.01, constraints=[Driven("joint1", lambda t: 0 * t)])
    assert np.nanmax(driven.drift[1:]) == 0
    axes = plot_trajectory(driven, "drift").axes[0]
    assert axes.get_yscale() == "log"
    for line in axes.lines:
        assert np.nanmin(line.get_ydata()) == np.nanmax(line.get_ydata()) == 1e-17


def test_units_that_differ_have_axes_of_their_own(batch: Trajectory) -> None:
    assert labels(plot_trajectory(batch, "q")) == ["q [m]", "q [rad]"]
    world = qdot.Mechanism("ball")
    world.add("ball", Free(), Inertia.about_com(1, (0, 0, 0), (1, 2, 3)))
    run = simulate(qdot.assemble(world), None, 0.02, 0.01)
    assert labels(plot_trajectory(run, ["q", "v"])) == ["q", "q [m]", "v [rad/s]", "v [m/s]"]


def test_batches_are_bands(batch: Trajectory) -> None:
    figure = plot_trajectory(batch, "q")
    figure.canvas.draw()
    above = figure.axes[0]
    assert np.allclose(above.lines[0].get_ydata(), np.median(batch.q[..., 0], axis=0))
    every, half = (band.get_paths()[0].get_extents() for band in above.collections)
    assert every.y0 == pytest.approx(batch.q[..., 0].min())
    assert every.y1 == pytest.approx(batch.q[..., 0].max())
    assert half.height < every.height
    assert "9 runs" in above.get_title(loc="left")


def test_a_ledger_is_stacked_work(closed: Trajectory, batch: Trajectory) -> None:
    for run in (closed, batch):
        figure = plot_ledger(run)
        figure.canvas.draw()
        above, below = figure.axes
        assert named(above) == [*run.works(), "change of energy"]
        top = sum(np.maximum(w.mean(axis=0) if run.batch else w, 0)[-1] for w in run.works().values())
        assert max(c.get_paths()[0].vertices[:, 1].max() for c in above.collections) >= top
        assert labels(figure)[1] == "residual [J]"
        assert np.allclose(below.lines[0].get_ydata(), np.median(np.atleast_2d(run.balance()), axis=0))


def test_comparisons_name_the_runs(closed: Trajectory) -> None:
    rough = simulate(four_bar(), four_bar_state(1.0, 2.0), 0.1, 0.02, integrator="semi-implicit euler")
    figure = plot_compare({"fine": closed, "rough": rough})
    figure.canvas.draw()
    assert labels(figure)[-2:] == ["change of energy [J]", "distance from fine"]
    assert named(figure.axes[0]) == ["fine", "rough"]
    (distance,) = figure.axes[-1].lines
    apart = np.linalg.norm(rough.q - closed.q[::2], axis=-1)
    assert np.allclose(distance.get_ydata()[1:], apart[1:], rtol=1e-6)
    other = simulate(four_bar(closed=False), four_bar_state(1.0, 2.0), 0.1, 0.01)
    assert len(plot_compare({"closed": closed, "open": other}).axes) == 4  # no distance between two models


def test_long_lists_are_cut_short() -> None:
    model = library.n_pendulum(15)
    q = np.tile(model.home(), (3, 1))
    empty = np.empty((3, 0))
    run = Trajectory(model, np.arange(3.0), q, 0 * q, empty, empty, (), np.empty(0), (), np.empty(0))
    assert named(plot_trajectory(run, "q").axes[0])[-1] == "… 15 in all"


def test_what_cannot_be_drawn(closed: Trajectory, batch: Trajectory, monkeypatch) -> None:
    with pytest.raises(UnknownNameError, match="energy"):
        plot_trajectory(closed, "energi")
    with pytest.raises(PictureError, match="nothing of drift"):
        plot_trajectory(batch, "drift")
    with pytest.raises(PictureError, match="Trajectory"):
        plot_trajectory(closed.q)
    for wrong in ({}, [closed], {"a": batch}, {"a": None}):
        with pytest.raises(PictureError):
            plot_compare(wrong)
    plain = simulate(library.pendulum(), ([0.5], [0.0]), 0.02, 0.01)
    with pytest.raises(ValueShapeError, match="ledger=True"):
        plot_ledger(plain)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PictureError, match=r"qdot\[plots\]"):
        plot_trajectory(closed)
