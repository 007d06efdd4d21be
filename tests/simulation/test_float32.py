"""Simulations of 32 bits: the same motion up to rounding, by every integrator that takes them; kept as such in files
and when a run goes on; and a word where 32 bits are not enough.

A step rounds every number to EPS = 2⁻²³ of itself, and M⁻¹ makes of that as much more as M's condition tells: most of
all where steps go from velocities to momenta and back. Of n steps such errors add up. Where conditions are near 1, as
those of most models here, 100 EPS are allowed for some 50 steps, and seen are 3 to 40.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qdot
from qdot.algebra import Scalar, Scalars, sin
from qdot.algebra.rounding import or_rounding, rounded_as
from qdot.algorithms.constraints.solvers import SOLVERS
from qdot.contact import Hard, Impulse, Lcp, Penalty, Soft
from qdot.errors import ValueShapeError
from qdot.joints import Prismatic, Revolute
from qdot.model import library
from qdot.simulation import Event, Stops
from qdot.simulation.controls import compilable
from qdot.simulation.integrators import INTEGRATORS
from qdot.simulation.phase import Phase
from qdot.simulation.precision import DTYPES
from qdot.simulation.simulate import Simulation, simulate
from qdot.simulation.softly import problem_of
from qdot.simulation.system import Inputs, Setup, System
from qdot.simulation.trajectory import ROWS, Trajectory
from qdot.spatial import Inertia
from tests.contact.models import GRAVITY, ball, box, scene
from tests.formats.corpora import mjcf_files
from tests.formulations.systems import four_bar, four_bar_state
from tests.simulation.test_loop_cases import bricard, pushed, windows

EPS = 2.0**-23
STANDING = 1.28
"""Height of the humanoid [m] at which its feet are on the floor."""

OFFERED = [name for name in INTEGRATORS if name != "dormand-prince"]


def bodies() -> tuple[qdot.Model, Any]:
    """On quaternions."""
    model = library.random_tree(2, 2, ("free", "spherical"))
    q, v, _ = library.random_state(model, 3)
    return model, (q, v)


MODELS: dict[str, tuple[qdot.Model, Any]] = {
    "pendulum": (library.pendulum(), ([1.0], [0.5])),
    "cart": (library.cart_pole(), ([0.1, 0.7], [0.3, -0.2])),
    "bodies": bodies(),
    "loop": (four_bar(), four_bar_state(1.0, 2.0)),
}


def apart(long: Trajectory, short: Trajectory) -> float:
    """The largest difference of q, and of v by the largest speed."""
    speed = max(1.0, float(np.abs(long.v).max()))
    return float(max(np.abs(long.q - short.q).max(), np.abs(long.v - short.v).max() / speed))


def both(model: qdot.Model, state: Any, seconds: float, dt: float | None, **options: Any) -> list[Trajectory]:
    return [simulate(model, state, seconds, dt, dtype=dtype, **options) for dtype in ("float64", "float32")]


# ── the same motion ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("integrator", OFFERED)
@pytest.mark.parametrize("name", MODELS)
def test_every_integrator(name: str, integrator: str) -> None:
    model, state = MODELS[name]
    if model.loops and integrator == "variational":
        pytest.skip("knows no constraints")
    long, short = both(model, state, 0.1, 0.005, integrator=integrator, ledger=True)
    assert short.q.dtype == short.v.dtype == short.work.dtype == np.float32
    assert np.array_equal(long.time, short.time)
    by_momenta = integrator in ("variational", "rattle")
    rounding = 20 * EPS * (float(np.linalg.cond(qdot.mass_matrix(model, long.q[0]))) if by_momenta else 2.0)
    assert 0 < apart(long, short) < rounding
    assert np.abs(short.balance() - long.balance()).max() < 5 * rounding * max(1.0, np.abs(long.energy()).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_loops_with_rows_that_repeat_each_other(solver: str) -> None:
    """Ten rows, of which six repeat others; the way of penalties is as exact as its weights
    of 2⁸ let it be in three rounds, 2⁻²⁴ of forces, with 2⁸ EPS of rounding."""
    model = windows(2)
    long, short = both(model, pushed(model), 0.25, 0.005, solver=solver)
    assert apart(long, short) < 100 * EPS
    assert short.drift[1:].max() < 20 * EPS  # lengths of 1 m
    forces = [run.constraint_forces()["pin1"] for run in (long, short)]
    assert forces[1].dtype == np.float64
    assert np.abs(forces[0] - forces[1]).max() < 1000 * EPS * np.abs(forces[0]).max()


def test_a_loop_that_moves_against_the_count() -> None:
    long, short = both(bricard(), None, 0.2, 0.005)
    assert apart(long, short) < 100 * EPS


@pytest.mark.parametrize("integrator", ["rk4", "variational"])
def test_energy_stays(integrator: str) -> None:
    """Rounding gives n EPS of the energy at most in n steps, beside what the integrator does."""
    model, state = library.double_pendulum(), ([1.0, 0.3], [0.0, 0.0])
    long, short = both(model, state, 5.0, 0.005, integrator=integrator)
    scale = np.abs(long.energy()).max()
    gained = np.abs(short.energy() - short.energy()[0]).max() - np.abs(long.energy() - long.energy()[0]).max()
    assert gained < 1000 * EPS * scale


def test_stops_and_dry_friction_hold() -> None:
    """What comes to rest at a stop, or where it rubs, stays there to the last bit; a gear at a stop carries what
    statics tells: 30 N for 3 kg."""
    world = qdot.Mechanism("geared", gravity=(0, 0, -10))
    world.add("a", Prismatic("z", limits=(0, 1)), Inertia.point(1.0, (0, 0, 0)))
    world.add("b", Prismatic("z"), Inertia.point(3.0, (0, 0, 0)), at=(1, 0, 0))
    world.gear("gear", "b", "a", 1.3)
    run = simulate(qdot.assemble(world), ([0.2, 0.26], [0.0, 0.0]), 1.0, 1e-3, dtype="float32")
    np.testing.assert_allclose(run.constraint_forces()["gear"][700:], 30.0, rtol=20 * EPS)
    world = qdot.Mechanism("blocks", gravity=(0, 0, -10))
    world.add("falls", Prismatic("z", limits=(-0.3, 1)), Inertia.point(2.0, (0, 0, 0)))
    world.add("rubs", Prismatic("x"), Inertia.point(1.0, (0, 0, 0)), friction=2.0)
    run = simulate(qdot.assemble(world), ([0.0, 0.0], [0.0, 1.0]), 1.0, 1e-3, dtype="float32")
    assert (run.q[500:, 0] == np.float32(-0.3)).all()
    assert np.ptp(run.q[600:, 1]) == 0
    assert run.q[-1, 1] == pytest.approx(0.25, rel=1e-3)  # v² / 2 a, and half a step of it


def test_bounces() -> None:
    world = qdot.Mechanism("rods")
    inertia = Inertia.about_com(1.0, (0, 0, -0.5), (0.09, 0.09, 0.001))
    first = world.add("first", Revolute("y", limits=(-0.5, 0.5)), inertia)
    first.add("second", Revolute("y", limits=(-0.4, 0.6)), inertia, at=(0, 0, -1))
    long, short = both(qdot.assemble(world), ([0.1, -0.1], [1.5, 2.0]), 0.5, 1e-3, limits=Stops(0.8))
    assert apart(long, short) < 1000 * EPS  # 500 steps and three impacts
    assert (np.abs(short.q - np.float32([0, 0.1])) <= 0.5 + EPS).all()


# ── contact ──────────────────────────────────────────────────────────────────────────────────────


def humanoid() -> qdot.Model:
    return qdot.load(next(f.path for f in mjcf_files() if str(f.path).endswith("suite/humanoid.xml")), strict=False)


@pytest.mark.no_cover
def test_a_humanoid_lands() -> None:
    """Soft contacts are springs of 20 ms: they answer to a rounding of the height by 1/(20 ms)² of it, so after 0.1 s
    differences are some 25 times what they are without."""
    model = humanoid()
    q = model.home()
    q[model.joint("root").qs.stop - 1] = STANDING
    long, short = both(model, (q, np.full(model.nv, 0.1)), 0.1, 0.005, contact="soft")
    assert len(long.contacts()) == len(short.contacts()) >= 2
    assert apart(long, short) < 1000 * EPS


CAPSULE = """<body pos="0 0 {}"><freejoint/><geom type="capsule" size="0.05 0.1" euler="90 0 {}" mass="1"/></body>"""


def falling(name: str) -> qdot.Model:
    shapes = {
        "ball": ball(at="0 0 0.105"),
        "box": box("box", "0 0 0.105", "0.1 0.1 0.1"),
        "capsules": "".join(CAPSULE.format(*at) for at in ((0.06, 5), (0.161, 45))),
    }
    return scene(shapes[name])


KINDS = [
    Soft(), Penalty(stiffness=1e3, damping=10.0, slip=0.1), Hard(), Hard(solver="pgs"), Hard(restitution=0.5), Lcp(),
]  # fmt: skip


@pytest.mark.parametrize("contact", KINDS)
@pytest.mark.parametrize("name", ["ball", "box", "capsules"])
def test_things_that_fall(name: str, contact: Any) -> None:
    model = falling(name)
    long, short = both(model, None, 0.1, 0.002, contact=contact, residuals=True)
    assert apart(long, short) < 1000 * EPS
    assert short.contact.dtype == np.float32
    if isinstance(contact, (Hard, Lcp)):
        assert short.contact_residuals["unsolved"].max() == 0
        assert max(short.contact_residuals[name].max() for name in ("penetration", "cone")) < 1e-5
    else:
        assert len(long.contacts()) == len(short.contacts()) > 0


@pytest.mark.parametrize(("order", "law"), [("together", "newton"), ("in turn", "newton"), ("together", "poisson")])
@pytest.mark.parametrize("name", ["ball", "box", "capsules"])
def test_impacts_obey_their_law(name: str, order: str, law: str) -> None:
    """Whichever of several points that are met at once rounding has struck first: nothing passes by more than a few
    roundings of a metre, all impacts are solved, and energy does not grow by more."""
    model = falling(name)
    short = simulate(model, None, 0.2, 0.002, contact=Impulse(0.5, law, order), residuals=True, dtype="float32")
    assert short.contact_residuals["unsolved"].max() == 0
    assert short.contact_residuals["penetration"].max() < 2e-6
    assert np.diff(short.energy()).max() < 100 * EPS * np.abs(short.energy()).max()


@pytest.mark.parametrize("name", ["ball", "box", "capsules"])
def test_what_does_not_bounce_lies_where_it_does_in_64_bits(name: str) -> None:
    """Within what counts as touching, 8 EPS of a metre; it may hover there, and fall: with √(2 g 8 EPS) at most."""
    long, short = both(falling(name), None, 0.1, 0.002, contact=Impulse(restitution=0.0))
    assert np.abs(long.q - short.q).max() < 20 * EPS
    assert np.abs(long.v - short.v).max() < (2 * GRAVITY * 8 * EPS) ** 0.5


def test_a_row_of_balls_hands_its_motion_on() -> None:
    """Newton's cradle, a ball that bounces, and a box that does so once, on four corners (the next time rounding has
    turned it, and one is first): as in 64 bits, to some roundings for each step."""
    joint = '<joint type="slide" axis="1 0 0"/>'
    model = scene("".join(ball(f"ball{k}", f"{0.2 * k} 0 0.5", joint) for k in range(4)))
    long, short = both(model, ([-0.3, 0, 0, 0], [1.0, 0, 0, 0]), 0.6, 0.002, contact=Impulse(restitution=1.0))
    np.testing.assert_allclose(short.v[-1], [0, 0, 0, 1], atol=10 * EPS)
    assert apart(long, short) < 100 * EPS
    for body, seconds in ((ball(at="0 0 1"), 2.0), (box("box", "0 0 1", "0.1 0.1 0.1"), 0.7)):
        for law in ("newton", "poisson"):
            bounces = both(scene(body), None, seconds, 0.002, contact=Impulse(0.8, law, "together"))
            assert apart(*bounces) < 1000 * EPS
            assert bounces[0].v[:, 5].max() > 3  # 0.8 √(2 g 0.9 m) = 3.4


def test_the_soft_solver_ends_at_rounding() -> None:
    """However small a tolerance is asked for: a few steps of Newton's, and never as many as are allowed."""
    model, kind = falling("box"), Soft(1e-12, 100)

    def turns(model: qdot.Model, q: Scalars, v: Scalars, a: Scalars) -> Scalar:
        inputs = Inputs([], [0.0] * model.nv, 0.002, guess=a)
        phase = Phase(0.0, list(q), list(v), [], [])
        problem = problem_of(System(model, Setup(contact=kind)), kind, phase, inputs, [0.0] * model.nv)
        return problem.solved(inputs.guess).turns

    program = qdot.compile(turns, model, dtype="float32")
    random = np.random.default_rng(0)
    q = np.tile(model.home(), (64, 1))
    q[:, 2] = 0.1 - 1e-3 * random.random(64)
    took = program(q, 0.1 * random.normal(size=(64, 6)), 10 * random.normal(size=(64, 6)))
    assert took.max() <= 20


# ── batches, files, and going on ─────────────────────────────────────────────────────────────────


def pushing(t: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
    return [0.3 * sin(7 * t), 0]


def same(a: Trajectory, b: Trajectory) -> bool:
    rows = [(getattr(a, name), getattr(b, name)) for name in ("time", *ROWS)]
    return all(x.dtype == y.dtype and np.array_equal(x, y, equal_nan=True) for x, y in rows)


@pytest.mark.parametrize("given", ["compiled", "called", "rows", "held"])
def test_runs_of_a_batch_are_single_runs(given: str) -> None:
    """Bit for bit, whatever drives them, with constants of their own; 18 are more than a vector of 16."""
    model, random = library.double_pendulum(), np.random.default_rng(0)
    q, v, masses = random.normal(size=(18, 2)), random.normal(size=(18, 2)), random.uniform(0.5, 2, 18)
    tau = {
        "compiled": compilable(pushing),
        "called": lambda t, q, v: -0.1 * v,
        "rows": random.normal(size=(30, 2)),
        "held": np.array([0.1, -0.2]),
    }[given]
    options = {"dt": 0.01, "tau": tau, "dtype": "float32"}
    many = simulate(model, (q, v), 0.3, parameters={"rod1.mass": masses}, **options)
    assert many.q.dtype == many.parameters["rod1.mass"].dtype == np.float32
    for k in (0, 7, 17):
        alone = simulate(model, (q[k], v[k]), 0.3, parameters={"rod1.mass": masses[k]}, **options)
        assert np.array_equal(alone.q, many.q[k])
        assert np.array_equal(alone.v, many.v[k])


@pytest.mark.parametrize("ending", [".npz", ".h5"])
@pytest.mark.parametrize("integrator", ["rk4", "generalised alpha"])
def test_runs_go_on_bit_for_bit(integrator: str, ending: str, tmp_path: Path) -> None:
    """From memory and from a file, without a word about the type."""
    model, state = library.double_pendulum(), ([0.5, 0.1], [0.0, 1.0])
    options = {"integrator": integrator, "tau": compilable(pushing), "ledger": True}
    whole = simulate(model, state, 0.3, 0.003, start=1 / 3, dtype="float32", **options)
    half = simulate(model, state, 0.12, 0.003, start=1 / 3, dtype="float32", **options)
    half.save(tmp_path / f"half{ending}")
    for begun in (half, Trajectory.load(tmp_path / f"half{ending}")):
        assert same(begun, half)
        rest = simulate(begun.model, begun, 0.18, **options)
        assert same(begun.joined(rest), whole)


def test_runs_of_loops_with_contacts_go_on() -> None:
    for model, state, more in ((*MODELS["loop"], {}), (falling("box"), None, {"contact": "soft"})):
        whole = simulate(model, state, 0.06, 0.002, dtype="float32", **more)
        half = simulate(model, state, 0.02, 0.002, dtype="float32", **more)
        rest = simulate(model, half, 0.04, **more)
        assert same(half.joined(rest), whole)


def test_a_run_goes_on_with_more_bits_where_that_is_asked_for() -> None:
    model, state = MODELS["cart"]
    begun = simulate(model, state, 0.1, 0.01, dtype="float32")
    rest = simulate(model, begun, 0.1, dtype="float64")
    assert rest.q.dtype == np.float64
    assert np.array_equal(rest.q[0], begun.q[-1])
    assert rest.time[-1] == pytest.approx(0.2, rel=1e-12)


# ── what is found out afterwards ─────────────────────────────────────────────────────────────────


def test_what_follows_from_records_has_64_bits() -> None:
    """So it is exact for the states that were recorded."""
    model, state = bodies()
    run = simulate(model, state, 0.05, 0.005, dtype="float32", ledger=True)
    q, v = run.q.astype(float), run.v.astype(float)
    assert np.array_equal(run.energy(), qdot.energy(model, q, v))
    assert np.array_equal(run.center_of_mass(), qdot.center_of_mass(model, q))
    assert run.at(0.0125).q.dtype == np.float64
    assert run.resampled(run.time).q == pytest.approx(q, abs=10 * EPS)
    assert run.balance().dtype == run.time.dtype == np.float64
    assert run.table().row_count > 3
    assert run.ledger_table().row_count > 3


def test_events_are_found_to_rounding() -> None:
    """Of a throw: v = 0 at v₀ / g; 51 steps before it and the share of its own are rounded."""
    world = qdot.Mechanism("thrown", gravity=(0, 0, -10))
    world.add("stone", Prismatic("z"), Inertia.point(1.0, (0, 0, 0)))
    top = Event("top", lambda q, v: v[0], terminal=True)
    run = simulate(qdot.assemble(world), ([0.0], [5.123]), 1.0, 0.01, events=[top], dtype="float32")
    assert run.ended == pytest.approx(0.5123, rel=50 * EPS)
    assert run.time[-1] == pytest.approx(run.ended, rel=EPS)
    assert run.q[-1, 0] == pytest.approx(5.123**2 / 20, rel=100 * EPS)


# ── where 32 bits are not enough ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", ["float16", "double precision", "int64", np.complex64, 32, {"a": 1}, ">f4"])
def test_other_types(dtype: Any) -> None:
    with pytest.raises(ValueShapeError, match=r"'float64' or 'float32'; got .* Leave it out for float64"):
        Simulation(library.pendulum(), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32"), "f4"])
def test_names_of_the_type(dtype: Any) -> None:
    run = Simulation(library.pendulum(), dt=0.01, dtype=dtype)
    assert run.dtype == np.float32
    run.advance(0.02)
    assert run.trajectory.q.dtype == np.float32


def test_steps_by_errors() -> None:
    with pytest.raises(ValueShapeError, match=r"'dormand-prince' chooses its steps by errors .* such as 'rk4'"):
        Simulation(library.pendulum(), integrator="dormand-prince", dtype="float32")


def test_more_steps_than_can_be_counted() -> None:
    """2²⁴ + 1 is no number of 32 bits: time would stand still."""
    run = Simulation(library.pendulum(), dt=0.001, dtype="float32")
    with pytest.raises(ValueShapeError, match=r"16777217 steps .* than float32 counts, 16777216; .*start=run\.time"):
        run.advance(16777.217)


def test_a_state_of_32_bits_is_a_start() -> None:
    """Of a loop, whose constraints it obeys to rounding, and of a joint at its stop, whose bound is no number of 32
    bits."""
    q, v = (np.asarray(x, np.float32) for x in four_bar_state(1.0, 2.0))
    assert simulate(four_bar(), (q, v), 0.02, 0.01, dtype="float32").records == 3
    world = qdot.Mechanism("block", gravity=(0, 0, -10))
    world.add("block", Prismatic("z", limits=(-0.3, 1)), Inertia.point(2.0, (0, 0, 0)))
    start = np.full(1, -0.3, np.float32)
    assert float(start[0]) < -0.3
    run = simulate(qdot.assemble(world), (start, [0.0]), 0.02, 0.01, dtype="float32")
    assert (run.q == start).all()


def test_tolerances_are_no_finer_than_rounding() -> None:
    assert or_rounding(1e-12, 64) == 1e-12
    with rounded_as("float32"):
        assert or_rounding(1e-12, 64) == 64 * EPS
        assert or_rounding(1e-3, 64) == 1e-3
        with rounded_as("float64"):
            assert or_rounding(1e-12, 64) == 1e-12
        assert or_rounding(1e-12, 64) == 64 * EPS
    assert or_rounding(1e-12, 64) == 1e-12


def test_hulls_fall_in_32_bits() -> None:
    """Two tetrahedra on a floor: constants of the search for touches are none that 32 bits cannot hold, and the pile
    ends where it does in 64 bits, to 1e-3 m after bounces that multiply rounding."""
    model = qdot.load("""<mujoco><asset><mesh name="tip" vertex="0 0 0  .2 0 0  0 .2 0  0 0 .2"/></asset>
      <worldbody><geom type="plane" size="2 2 1"/>
        <body name="low" pos="0 0 .01"><freejoint/><geom type="mesh" mesh="tip"/></body>
        <body name="high" pos=".01 .01 .14"><freejoint/><geom type="mesh" mesh="tip"/></body></worldbody></mujoco>""")
    ends = [qdot.simulate(model, None, 0.1, 0.002, contact="soft", dtype=dtype).q[-1] for dtype in DTYPES]
    assert np.abs(np.asarray(ends[0], float) - ends[1]).max() < 1e-3
