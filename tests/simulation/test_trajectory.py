"""Trajectories: access by name, states between records, what follows from states, and forces of constraints."""

from __future__ import annotations

import pickle
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

import qdot
from qdot.algebra import as_array
from qdot.errors import PictureError, QdotError, UnknownNameError, ValueShapeError
from qdot.joints import Free, Planar, Prismatic, Revolute, Universal
from qdot.model import library
from qdot.simulation import afterwards
from qdot.simulation.constraint_forces import force_units, forces_of
from qdot.simulation.phase import Phase
from qdot.simulation.projecting import projected
from qdot.simulation.simulate import Simulation, simulate
from qdot.simulation.system import Inputs, Setup, System
from qdot.simulation.trajectory import Trajectory
from qdot.simulation.units import constraint_units, coordinate_units, freedom_units
from qdot.spatial import Inertia, Transform
from tests.formulations.systems import four_bar, four_bar_state

SOLID = Inertia.about_com(1.3, (0.1, 0.2, -0.05), (0.04, 0.05, 0.03))
CLOSE = 1e-12
"""Relative: the same formula by another way around, in double precision."""


@pytest.fixture(scope="module")
def floating() -> Trajectory:
    """A free body that carries a link, tumbling: quaternions, a plain joint, gravity."""
    world = qdot.Mechanism("floating")
    world.add("base", Free(), SOLID).add("link", Revolute("y"), SOLID, at=(0.2, 0, 0.1))
    model = qdot.assemble(world)
    rng = np.random.default_rng(3)
    return simulate(model, (model.home(), rng.normal(size=model.nv)), 0.5, 1 / 512)


@pytest.fixture(scope="module")
def batch() -> Trajectory:
    model = library.cart_pole()
    rng = np.random.default_rng(1)
    return simulate(model, (rng.normal(size=(5, 2)), rng.normal(size=(5, 2))), 0.2, 0.01, ledger=True)


@pytest.fixture(scope="module")
def closed() -> Trajectory:
    return simulate(four_bar(), four_bar_state(1.0, 2.0), 0.4, 1e-3, ledger=True)


# ── access ───────────────────────────────────────────────────────────────────────────────────────


def test_joints_by_name(floating: Trajectory, batch: Trajectory) -> None:
    for run in (floating, batch):
        for body in run.model.bodies:
            q, v = run[body.joint_name], run.velocity(body.joint_name)
            assert q.shape == run.q.shape[:-1] + ((body.joint.nq,) if body.joint.nq != 1 else ())
            assert np.array_equal(q.reshape(*run.q.shape[:-1], -1), run.q[..., body.qs])
            assert np.array_equal(v.reshape(*run.v.shape[:-1], -1), run.v[..., body.dofs])


def test_unknown_names_are_answered_with_near_ones(closed: Trajectory) -> None:
    for ask in (closed.__getitem__, closed.velocity):
        with pytest.raises(UnknownNameError, match="crank_joint"):
            ask("crank_join")
    with pytest.raises(UnknownNameError, match="pivot"):
        closed.pose("pivo")


def test_runs_by_number(batch: Trajectory) -> None:
    assert len(batch) == 5
    assert [np.array_equal(one.q, row) for one, row in zip(batch, batch.q, strict=True)] == [True] * 5
    assert batch[3].batch is None
    assert batch[-1].q.base is not None  # a look at the same memory
    assert np.array_equal(batch[1:3].q, batch.q[1:3])
    assert np.array_equal(batch[[4, 0]].work, batch.work[[4, 0]])
    for wrong in (5, 1.5, None, (0, 1)):
        with pytest.raises(ValueShapeError, match="5 runs"):
            batch[wrong]


def test_a_single_run_is_a_batch_of_itself(floating: Trajectory) -> None:
    assert len(floating) == 1
    assert [one is floating for one in floating] == [True]
    assert floating[0] is floating


def test_one_state_of_many_runs_is_refused(batch: Trajectory) -> None:
    for ask in (lambda: batch.state, lambda: batch.at(0.1)):
        with pytest.raises(ValueShapeError, match=r"run\[0\]"):
            ask()


# ── between records ──────────────────────────────────────────────────────────────────────────────


def test_records_come_back_at_their_times(floating: Trajectory, batch: Trajectory) -> None:
    for run in (floating, batch):
        again = run.resampled(run.time)
        assert np.allclose(again.q, run.q, rtol=0, atol=1e-15)
        assert np.allclose(again.v, run.v, rtol=0, atol=1e-14)
        assert np.array_equal(again.work, run.work)


def test_cubics_are_of_their_order(floating: Trajectory) -> None:
    """Of thinned records of one run, against the records left out: q is off by dt⁴, v by dt³."""
    steps, errors = np.array([8, 16, 32, 64]), []
    for n in steps:
        again = floating.thinned(int(n)).resampled(floating.time)
        apart = qdot.difference(floating.model, floating.q, again.q)
        errors.append([np.abs(apart).max(), np.abs(again.v - floating.v).max()])
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slopes == pytest.approx([4, 3], abs=0.2)


def test_states_between_records_are_on_the_manifold(floating: Trajectory) -> None:
    times = np.random.default_rng(0).uniform(0, 0.5, 40)
    again = floating.thinned(64).resampled(times)
    assert np.abs(np.linalg.norm(again.q[:, :4], axis=-1) - 1).max() < 1e-14
    assert again.time is not floating.time
    one = floating.thinned(64).at(float(times[7]))
    assert np.allclose(one.q, again.q[7], rtol=0, atol=1e-15)


def test_velocities_between_records_are_those_of_the_positions(floating: Trajectory) -> None:
    """A second way: central differences of the interpolated motion on the manifold."""
    thin, h = floating.thinned(32), 1e-5
    times = np.linspace(0.01, 0.49, 23)
    before, at, after = (thin.resampled(times + x) for x in (-h, 0, h))
    rate = qdot.difference(thin.model, before.q, after.q) / (2 * h)
    assert np.allclose(rate, at.v, atol=1e-6)


@pytest.mark.parametrize("wrong", [[-0.1], [0.6], [np.nan], [[0.1]], "soon", 0.1])
def test_times_that_a_run_does_not_have(floating: Trajectory, wrong: object) -> None:
    with pytest.raises(ValueShapeError):
        floating.resampled(wrong)


def test_thinned_keeps_first_and_last(floating: Trajectory) -> None:
    thin = floating.thinned(100)
    assert thin.time.tolist() == [floating.time[k] for k in (0, 100, 200, 256)]
    assert np.array_equal(thin.q[-1], floating.q[-1])
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueShapeError, match="1 or more"):
            floating.thinned(wrong)


# ── what follows from states ─────────────────────────────────────────────────────────────────────


def test_derived_quantities_are_those_of_each_state(floating: Trajectory, batch: Trajectory) -> None:
    for run in (floating.thinned(50), batch.thinned(10)):
        model = run.model
        rows = np.ndindex(run.q.shape[:-1])
        body = model.bodies[-1].name
        found = {
            "energy": run.energy(), "kinetic": run.kinetic_energy(), "potential": run.potential_energy(),
            "momentum": run.momentum(), "com": run.center_of_mass(), "pose": run.pose(body),
        }  # fmt: skip
        for at in rows:
            q, v = run.q[at], run.v[at]
            wanted = {
                "energy": qdot.energy(model, q, v), "kinetic": qdot.kinetic_energy(model, q, v),
                "potential": qdot.potential_energy(model, q), "momentum": as_array(qdot.momentum(model, q, v)),
                "com": qdot.center_of_mass(model, q), "pose": as_array(qdot.frame_pose(model, q, body)),
            }  # fmt: skip
            for name, value in wanted.items():
                assert np.allclose(found[name][at], value, rtol=CLOSE, atol=CLOSE), name


def test_points_move_with_their_frame(closed: Trajectory) -> None:
    point = (0.3, -0.2, 0.1)
    X = closed.pose("rocker")
    wanted = np.einsum("tij,j->ti", X, [*point, 1])[:, :3]
    assert np.allclose(closed.point("rocker", point), wanted, rtol=0, atol=1e-15)
    assert np.allclose(closed.position("end"), [1, 0, 0], atol=1e-9)  # where the loop holds it
    for wrong in ((1, 2), "xyz", (1, 2, np.nan), None):
        with pytest.raises(ValueShapeError, match="three numbers"):
            closed.point("rocker", wrong)


def test_constants_of_each_run_are_used(batch: Trajectory) -> None:
    """A mass for each run: each has the energy of a model with that mass."""
    path, masses = "pole.mass", np.linspace(0.5, 2.0, 5)
    run = replace(batch, parameters={path: masses, "gravity": np.array([0.0, 0.0, -3.7])})
    for k, one in enumerate(run):
        model = qdot.programs.parameters.with_parameters(
            batch.model, {path: float(masses[k]), "gravity": [0.0, 0.0, -3.7]}
        )
        assert np.allclose(run.energy()[k], qdot.energy(model, one.q, one.v), rtol=CLOSE)
        assert np.allclose(one.energy(), run.energy()[k], rtol=CLOSE)


def test_a_summary_names_what_there_is(closed: Trajectory, batch: Trajectory) -> None:
    from rich.console import Console

    console = Console(width=100, record=True, file=StringIO())
    for run in (closed, batch):
        console.print(run.table())
        console.print(run.ledger_table())
    text = console.export_text()
    for said in ("four_bar", "401", "5 runs", "closes within", "drift", "stabilisation", "residual", "most [J]"):
        assert said in text


# ── forces of constraints ────────────────────────────────────────────────────────────────────────


def pair(*joints: qdot.joints.Joint, **options: object) -> qdot.Mechanism:
    """Two bodies on the world, each with a frame."""
    world = qdot.Mechanism("pair", gravity=(0.3, -0.2, -9.81))
    for k, joint in enumerate(joints):
        part = world.world.add(f"body{k}", joint, SOLID, at=Transform.rpy(0.3 * k, 0.2, 0.1, (0.7 * k, 0, 0)))
        part.frame(f"site{k}", at=Transform.rpy(0.4, -0.3 * k, 0.2, (0.1, 0.05, 0.2)))
    return world


def multipliers(model: qdot.Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and the force of each row at a state, by the text that simulations compile."""
    system = System(model, Setup())
    phase = Phase(0.0, q.tolist(), v.tolist(), [], [])
    found = system.acting(phase, Inputs([], [0.0] * model.nv), 0.01)
    return np.array(found.rates.v, dtype=float), np.array([found.multipliers], dtype=float)


def forces_at(model: qdot.Model, q: np.ndarray, v: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The forces of all constraints at a state, and what the mechanism without them would lack: M a + c + g."""
    a, rows = multipliers(model, q, v)
    names = tuple(System(model, Setup()).row_names)
    found = forces_of(model, names, [np.array([x]) for x in q], rows)
    return {name: x[0] for name, x in found.items()}, qdot.inverse_dynamics(model, q, v, a)


def across(model: qdot.Model, q: np.ndarray, one: str, other: str) -> np.ndarray:
    """Of the velocity of one frame relative to another, in world axes about the world's origin."""
    J = [qdot.jacobian(model, q, frame, coordinates=qdot.Coordinates.WORLD) for frame in (one, other)]
    return J[0] - J[1]


@pytest.mark.parametrize("joint", [Revolute("z"), Universal("x", "y"), Planar("z")], ids=lambda j: type(j).__name__)
def test_the_wrench_of_a_loop_moves_the_open_chain(joint: qdot.joints.Joint) -> None:
    """M a + c + g = Jᵀ w, where J v is the velocity of the successor relative to the predecessor."""
    world = pair(Free(), Free())
    model = qdot.assemble(world)
    pose = qdot.frame_pose(model, model.home(), "site0")
    held = pose @ joint.transform([0.3] * joint.nq) @ model.frame("site1").placement.inv().transform()
    start = model.bodies[1].joint.coordinates_at(model.bodies[1].placement.inv() @ held)
    world.close("loop", joint, "site0", "site1")
    model = qdot.assemble(world)
    q = np.array([*model.home()[:7], *start], dtype=float)
    v = projected(model, model.state(q, np.random.default_rng(4).normal(size=12))).v
    forces, lacking = forces_at(model, q, v)
    there = as_array(qdot.frame_pose(model, q, "site1") @ qdot.spatial.Force.of(forces["loop"]))
    assert np.allclose(across(model, q, "site1", "site0").T @ there, lacking, atol=1e-9)
    assert np.abs(lacking).max() > 0.1


@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_the_forces_of_points_and_welds_move_the_open_chain(kind: str) -> None:
    """The force on frame 1 at the point held, and the moment of a weld, in world axes; the opposite on frame 2."""
    world = pair(Free(), Free())
    if kind == "connect":
        world.connect("held", "site0", "site1", (0.1, 0.2, 0.3), (0, 0, 0))
    else:
        world.weld("held", "site0", "site1")
    model = qdot.assemble(world)
    state = projected(model, model.state(model.home(), np.random.default_rng(2).normal(size=12)))
    forces, lacking = forces_at(model, state.q, state.v)
    force = forces["held"]
    moment = force[:3] if kind == "weld" else np.zeros(3)
    p = as_array(qdot.frame_pose(model, state.q, "site1").position).astype(float)
    there = np.concatenate([moment + np.cross(p, force[-3:]), force[-3:]])
    assert np.allclose(across(model, state.q, "site0", "site1").T @ there, lacking, atol=1e-8)
    assert np.abs(lacking).max() > 0.1
    assert force_units(model, {}) == {"held": "N" if kind == "connect" else "N·m, N"}


def test_forces_are_those_of_the_record(closed: Trajectory) -> None:
    found = closed.constraint_forces()["closing"]
    assert closed.force_units() == {"closing": "N·m, N"}
    for k in (0, 57, 400):
        forces, _ = forces_at(closed.model, closed.q[k], closed.v[k])
        assert np.allclose(found[k], forces["closing"], rtol=1e-9, atol=1e-9)


def test_forces_where_not_every_step_is_recorded(closed: Trajectory) -> None:
    thin = closed.thinned(10).constraint_forces()["closing"]
    assert np.allclose(thin, closed.constraint_forces()["closing"][::10], atol=1e-9)


def test_a_rod_that_holds_a_weight_pulls() -> None:
    world = qdot.Mechanism("hanging", gravity=(0, 0, -10))
    world.world.add(
        "weight", Prismatic("z"), Inertia.about_com(2.0, (0, 0, 0), (1, 1, 1)), at=(0, 0, -1), joint_name="slide"
    )
    world.distance("rod", "world", "weight")
    run = simulate(qdot.assemble(world), None, 0.02, 0.01)
    assert run.constraint_forces()["rod"] == pytest.approx(-20)
    assert run.force_units() == {"rod": "N"}


def test_units_are_asked_of_joints_and_constraints() -> None:
    from qdot.algorithms.constraints.kinds import Driven, Holonomic, Nonholonomic, Rolling

    world = qdot.Mechanism("units")
    world.world.add("cart", Prismatic("x"), SOLID, joint_name="slide")
    world.world.add("arm", Revolute("y"), SOLID, joint_name="turn")
    world.world.add("ball", Free(), SOLID)
    model = qdot.assemble(world)
    assert coordinate_units(model) == ["m", "rad", "", "", "", "", "m", "m", "m"]
    assert freedom_units(model) == ["m", "rad", "rad", "rad", "rad", "m", "m", "m"]
    given = [
        Driven("slide", lambda t: t), Driven("turn", lambda t: t), Holonomic("path", lambda q: [q[0]], "m"),
        Nonholonomic("edge", lambda q, v: [v[1]], "rad/s"), Holonomic("odd", lambda q: [q[0]], "m²"),
        Holonomic("silent", lambda q: [q[0]]), Rolling("rolling", "ball", 0.1),
    ]  # fmt: skip
    assert list(constraint_units(model, given).values()) == ["N", "N·m", "N", "N·m", "J/(m²)", "", "N"]


def test_multipliers_are_found_out_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a record, whoever asks first: a part of a run, one made of it, or all of it; later steps change nothing."""
    found, real = [], afterwards._multipliers

    def counted(system, part, *given):
        found.append(part["count"].size)
        return real(system, part, *given)

    monkeypatch.setattr(afterwards, "_multipliers", counted)
    model, (q, v) = four_bar(), four_bar_state(1.0, 2.0)
    started = np.tile(q, (2, 1)), np.stack([np.array(v), 0.5 * np.array(v)])
    run = Simulation(model, started, 1e-3, integrator="rk4")
    run.advance(0.02)
    half = run.trajectory
    one, few, moved = half[1], half.thinned(7), half.resampled(half.time[2:5])
    run.advance(0.02)
    whole = run.trajectory
    assert not found
    np.testing.assert_array_equal(one.multipliers, half.multipliers[1])
    assert sum(found) == 2 * 21
    np.testing.assert_array_equal(whole.multipliers[:, :21], half.multipliers)
    np.testing.assert_array_equal(few.multipliers, half.multipliers[:, [0, 7, 14, 20]])
    np.testing.assert_allclose(moved.multipliers, half.multipliers[:, 2:5], rtol=CLOSE)
    assert sum(found) == 2 * 41
    later = simulate(model, half, 0.02, integrator="rk4")
    joined = half.joined(later)
    assert sum(found) == 2 * 41
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(joined)).multipliers, whole.multipliers)


# ── pages and pictures ───────────────────────────────────────────────────────────────────────────


def test_replay_is_a_page(batch: Trajectory, tmp_path) -> None:
    for run in (batch, batch[0]):
        page = run.replay(tmp_path / "run.html", title="swing").read_text()
        assert "swing" in page
        assert ("run 4" in page) == (run is batch)
    with pytest.raises(PictureError, match="folder"):
        batch.replay(tmp_path / "none" / "run.html")


def test_no_method_lets_a_foreign_error_out(closed: Trajectory) -> None:
    for ask in (lambda: closed.resampled(object()), lambda: closed.at("now"), lambda: closed.point("crank", object())):
        with pytest.raises(QdotError):
            ask()
