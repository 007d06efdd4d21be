"""Runs in files: what was written comes back to the last bit, and files that are none of qdot's do no harm."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import qdot
from qdot.description import Severity
from qdot.errors import ModelError
from qdot.geometry import Box, ConvexHull, HeightField, Mesh, MeshFile, Plane, Sphere
from qdot.joints import (
    Compound,
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from qdot.model import library
from qdot.simulation import saving
from qdot.simulation.checkpoint import Checkpoint
from qdot.simulation.events import Happened
from qdot.simulation.model_data import KNOWN, data_of, description_of
from qdot.simulation.simulate import simulate
from qdot.simulation.trajectory import ROWS, Trajectory
from qdot.spatial import Inertia, Transform
from tests.formulations.systems import four_bar, four_bar_state
from tests.model.samples import mixed

ENDINGS = [".npz", ".h5"]
SOLID = Inertia.about_com(1.3, (0.1, 0.2, -0.05), (0.04, 0.05, 0.03))
CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


@pytest.fixture(scope="module")
def run() -> Trajectory:
    made = simulate(four_bar(), four_bar_state(1.0, 2.0), 0.05, 0.01, ledger=True)
    return replace(
        made,
        constraint_units={"extra": "N"},
        parameters={"gravity": np.array([0.0, 0.0, -1 / 3])},
        checkpoint=Checkpoint(0.1, 0.01, "rk4", np.array([5.0]), np.array([0.1, np.nan])),
        computing=0.25,
        events=(Happened("top", None, 0.0123, made.at(0.0123)),),
        ended=0.05,
    )


@pytest.fixture(scope="module")
def batch() -> Trajectory:
    rng = np.random.default_rng(0)
    return simulate(library.cart_pole(), (rng.normal(size=(3, 2)), np.zeros((3, 2))), 0.05, 0.01)


def of_records(count: int, model: qdot.Model) -> Trajectory:
    """A run that was never simulated: it stands still."""
    shape = np.empty((count, 0))
    q = np.tile(model.home(), (count, 1))
    time = np.linspace(0, 1, count)
    return Trajectory(model, time, q, np.zeros((count, model.nv)), shape, shape, (), np.empty(0), (), np.empty(0))


# ── round trips ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ENDINGS)
def test_everything_comes_back(run: Trajectory, batch: Trajectory, ending: str, tmp_path: Path) -> None:
    for made in (run, batch):
        path = tmp_path / f"{made.model.name}{ending}"
        assert not made.save(path)
        back = Trajectory.load(path)
        assert back.model == made.model
        for name in ("time", "multipliers", *ROWS):
            assert np.array_equal(getattr(back, name), getattr(made, name), equal_nan=True), name
        for name in ("ledger", "row_names", "constraint_units", "computing"):
            assert getattr(back, name) == getattr(made, name), name
        assert np.array_equal(back.ended, made.ended, equal_nan=True)
        assert back.events == made.events
        assert back.parameters.keys() == made.parameters.keys()
        assert np.array_equal(back.energy(), made.energy())
    back, point = Trajectory.load(tmp_path / f"four_bar{ending}"), run.checkpoint
    assert (back.checkpoint.start, back.checkpoint.dt, back.checkpoint.integrator) == (0.1, 0.01, "rk4")
    assert np.array_equal(back.checkpoint.count, point.count)
    assert np.array_equal(back.checkpoint.memory, point.memory, equal_nan=True)
    assert np.array_equal(back.parameters["gravity"], run.parameters["gravity"])


def jointed() -> qdot.Model:
    """Every kind of joint, with limits and odd axes; every kind of shape; a loop."""
    world = qdot.Mechanism("all", gravity=(0.1, 0.2, -9.7))
    kinds = [
        Revolute((0.3, 0.4, 0.1), limits=(-1, 2)), Continuous("-y"), Prismatic((1, 1, 1)), Helical("x", 0.1 / 3),
        Cylindrical((1, 2, 3)), Universal("x", (0.1, 1, 0)), Planar((1, 0.2, 0)), Spherical(limits=(0, 1.2)), Free(),
        Fixed(Transform.rpy(0.1, 0.2, 0.3, (1, 2, 3))),
        Compound(Fixed((0, 0, 0.1)), Revolute("z"), Prismatic((0, 1, 3))),
    ]  # fmt: skip
    for k, joint in enumerate(kinds):
        world.add(f"body{k}", joint, SOLID, at=Transform.rpy(0.1 * k, 0.2, 0.3, (k, 0, 0)))
    world.frame("here", at=(0, 0, 1 / 3))
    world.close("loop", Revolute("z"), "here", "body0")
    shapes = [
        Box(1, 2, 3).at(0.1, 0.2, 0.3), Mesh(CORNERS, FACES, mass=0.4), ConvexHull(CORNERS), Sphere(0.1 / 3),
        HeightField(np.array([[0.0, 0.5], [0.25, 1 / 3]]), 1, 1, 1, 0.1), MeshFile("nowhere.stl", 0.001), Plane(),
    ]  # fmt: skip
    for shape in shapes:
        world.world.show(shape)
    return qdot.assemble(world)


@pytest.mark.parametrize("model", [jointed, mixed, library.puma560, four_bar], ids=lambda f: f.__name__)
def test_descriptions_come_back_as_they_were(model) -> None:
    made = model().description
    data, arrays = data_of(made)
    back = description_of(json.loads(json.dumps(data, allow_nan=False)), arrays)
    assert back == made
    assert hash(back) == hash(made)
    assert repr(back) == repr(made)  # whole numbers stay whole, and signs of zeros


def test_all_classes_of_a_description_can_be_written() -> None:
    wanted = {*qdot.description.__all__, *qdot.joints.__all__, *qdot.geometry.__all__, *qdot.spatial.__all__}
    missing = {name for name in wanted - set(KNOWN) if name[0].isupper()}
    assert missing == {"IDENTITY", "WORLD", "Joint", "Part", "Shape"}  # a constant, a name, what is never a record


@dataclass(frozen=True)
class Wobbling(Revolute):
    """A joint of a user's own."""

    def __init__(self) -> None:
        super().__init__("y")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_users_joint_needs_the_model_again(ending: str, tmp_path: Path) -> None:
    world = qdot.Mechanism("own")
    world.add("link", Wobbling(), SOLID)
    model = qdot.assemble(world)
    made, path = of_records(4, model), tmp_path / f"own{ending}"
    (item,) = made.save(path)
    assert item.severity is Severity.NOTE
    assert "'link': its joint is of class" in item.found
    assert "Wobbling" in item.found
    with pytest.raises(ModelError, match=r"does not hold its model 'own'.*Wobbling.*model=…"):
        Trajectory.load(path)
    back = Trajectory.load(path, model)
    assert back.model is model
    assert np.array_equal(back.q, made.q)
    with pytest.raises(ModelError, match="with coordinates link"):
        Trajectory.load(path, four_bar())


def test_a_density_that_is_a_function_is_no_data(tmp_path: Path) -> None:
    world = qdot.Mechanism("dense")
    world.add("link", Revolute("y"), Box(1, 1, 1, density=lambda x, y, z: 1 + x**2))
    (item,) = of_records(2, qdot.assemble(world)).save(tmp_path / "run.npz")
    assert "density" in item.found


# ── paths ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_are_not_overwritten_unasked(run: Trajectory, batch: Trajectory, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    run.save(path)
    with pytest.raises(ModelError, match="overwrite=True"):
        batch.save(path)
    assert Trajectory.load(path).batch is None
    batch.save(path, overwrite=True)
    assert Trajectory.load(path).batch == 3
    assert os.listdir(tmp_path) == [path.name]


def test_a_write_that_fails_leaves_what_was_there(run: Trajectory, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    before = path.read_bytes()

    def full(stream, **arrays) -> None:
        stream.write(b"half a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving.np, "savez", full)
    with pytest.raises(ModelError, match="No space left"):
        run.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]


@pytest.mark.parametrize("path", ["run.csv", "run", 3, b"run.npz", "none/run.npz", "none/run.h5", "a\0b.npz"])
def test_paths_that_cannot_be(run: Trajectory, path: object, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError):
        run.save(path)
    with pytest.raises(ModelError):
        Trajectory.load(path)
    assert os.listdir(tmp_path) == []


def test_without_h5py_it_says_how_to_get_it(run: Trajectory, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ModelError, match=r"qdot\[hdf5\]"):
        run.save(tmp_path / "run.h5")


# ── files of others ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_that_were_cut_off(run: Trajectory, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    run.save(path)
    whole = path.read_bytes()
    for size in [0, 1, 100, *np.linspace(200, len(whole) - 1, 12).astype(int)]:
        path.write_bytes(whole[:size])
        with pytest.raises(ModelError, match="cut off"):
            Trajectory.load(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_that_are_something_else(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    for content in (b"", b"not a run", os.urandom(4000)):
        path.write_bytes(content)
        with pytest.raises(ModelError, match="no run of qdot's"):
            Trajectory.load(path)


def written(path: Path, run: Trajectory, change) -> None:
    """A file with its text changed."""
    arrays, about, _ = saving._content(run)
    change(about)
    np.savez(path, **arrays, about=np.array(json.dumps(about)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: a.update(version=99), "version 99"),
        (lambda a: a.update(format="other"), "no run of qdot's"),
        (lambda a: a.pop("ledger"), "no run of qdot's"),
        (lambda a: a["model"].update({"is": "os.system"}), "no description"),
        (lambda a: a["model"].update({"is": "Report"}), "no description"),
        (lambda a: a["model"].update(extra=1), "no description"),
        (lambda a: a["model"]["bodies"][0]["joint"].update(axis=[0, 0, 0]), "axis"),
        (lambda a: a["model"].update(bodies=a["model"]["bodies"][:1], loops=[], frames=[]), "does not fit model"),
        (lambda a: a.update(model=[1, 2]), "no description"),
        (lambda a: a["checkpoint"].update(more=1), "no run of qdot's"),
    ],
)
def test_texts_that_were_changed(run: Trajectory, change, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    written(path, run, lambda about: None)
    Trajectory.load(path)
    written(path, run, change)
    with pytest.raises(qdot.errors.QdotError, match=said):
        Trajectory.load(path)


class Trap:
    """What a file must not be able to do."""

    def __reduce__(self) -> tuple:
        return os.mkdir, ("sprung",)


def test_nothing_in_a_file_is_run(run: Trajectory, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    arrays, about, _ = saving._content(run)
    arrays["q"] = np.array([Trap()], dtype=object)
    np.savez("run.npz", **arrays, about=np.array(json.dumps(about)))
    with pytest.raises(ModelError, match="no run of qdot's"):
        Trajectory.load("run.npz")
    assert not Path("sprung").exists()
