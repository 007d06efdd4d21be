"""What people get wrong: each error names thing, cause and remedy, and nothing that was recorded is lost."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import qdot
from qdot.algebra import sqrt
from qdot.errors import (
    ConvergenceError,
    ModelError,
    QdotError,
    SimulationError,
    SingularError,
    UnknownNameError,
    ValueShapeError,
)
from qdot.joints import Fixed, Free, Revolute
from qdot.model import library
from qdot.simulation import Driven, FrameForce, Holonomic, JointForce
from qdot.simulation.arguments import step_of, steps_of
from qdot.simulation.projecting import projected, redundancy
from qdot.simulation.simulate import Simulation, simulate
from qdot.spatial import Inertia
from tests.formulations.systems import end_of_four_bar, four_bar, four_bar_state, rod

PENDULUM = library.double_pendulum()
START = ([0.3, 0.2], [0.0, 0.0])


# -- numbers -----------------------------------------------------------------------------------------------------------


@given(st.one_of(st.floats(max_value=0.0), st.just(float("nan")), st.just(float("inf")), st.text(), st.booleans()))
def test_dt_is_a_positive_number(dt):
    if dt is True:  # a number to Python; what is_number says of it is settled elsewhere
        return
    with pytest.raises(ValueShapeError, match="dt"):
        step_of(PENDULUM, dt)


@given(st.integers(0, 10**6), st.floats(1e-6, 1.0))
def test_a_whole_number_of_steps_is_counted(steps, dt):
    assert steps_of(steps * dt, dt, 1) == steps


@given(st.integers(0, 1000), st.floats(0.01, 0.99))
def test_a_part_of_a_step_is_refused_with_what_fits(steps, share):
    with pytest.raises(ValueShapeError, match="whole number of steps"):
        steps_of((steps + share) * 0.5, 0.5, 1)


@pytest.mark.parametrize("record", [0, -1, 1.5, True, None])
def test_record_is_a_count(record):
    with pytest.raises(ValueShapeError, match="record"):
        steps_of(1.0, 0.5, record)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "1", None])
def test_seconds_are_a_time(seconds):
    with pytest.raises(ValueShapeError, match="seconds"):
        steps_of(seconds, 0.5, 1)


# -- names and shapes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        ({"integrator": "rk5"}, "rk4"),
        ({"solver": "ktt"}, "kkt"),
        ({"stabilisation": "projecton"}, "projection"),
        ({"limits": "stop"}, "stops"),
        ({"parameters": {"rod2.mas": 1.0}}, "rod2.mass"),
        ({"constraints": [Driven("joint3", lambda t: t)]}, "joint"),
        ({"forces": [FrameForce("wind", "tipp", lambda X, V: [0, 0, 0])]}, "tip"),
    ],
)
def test_unknown_names_are_told_with_the_closest(options, offered):
    with pytest.raises(UnknownNameError, match=offered):
        Simulation(PENDULUM, START, 0.01, **options)


@pytest.mark.parametrize(
    ("state", "options"),
    [
        (([0.3], [0.0, 0.0]), {}),
        (([0.3, 0.2, 0.1], [0.0, 0.0]), {}),
        (([0.3, np.nan], [0.0, 0.0]), {}),
        ((np.zeros((3, 2)), np.zeros((4, 2))), {}),
        ("home", {}),
        ((np.zeros((3, 2)), np.zeros(2)), {"parameters": {"rod2.mass": np.ones(4)}}),
        (START, {"tau": [1.0, 2.0, 3.0]}),
        (START, {"tau": [np.nan, 0.0]}),
        (START, {"start": np.inf}),
        (START, {"parameters": {"rod2.mass": np.nan}}),
        (START, {"forces": [JointForce("short", lambda q, v: [0.0])]}),
    ],
)
def test_what_does_not_fit_is_refused(state, options):
    with pytest.raises(ValueShapeError):
        Simulation(PENDULUM, state, 0.01, **options)


def test_states_of_other_models_are_refused():
    with pytest.raises(ModelError, match="double_pendulum"):
        Simulation(PENDULUM, library.pendulum().state(), 0.01)


def test_names_are_given_once():
    twice = [Holonomic("same", lambda q: [q[0]]), Holonomic("same", lambda q: [q[1]])]
    with pytest.raises(ModelError, match="'same'"):
        Simulation(PENDULUM, None, 0.01, constraints=twice)
    with pytest.raises(ModelError, match="'springs'"):  # would take the place of the model's own
        Simulation(PENDULUM, START, 0.01, forces=[JointForce("springs", lambda q, v: [0, 0])])
    with pytest.raises(ModelError, match="closing"):
        Simulation(four_bar(), four_bar_state(1.0, 0.0), 0.01, constraints=[Holonomic("closing", lambda q: [q[0]])])


@pytest.mark.parametrize("given", [JointForce, lambda q, v: [0, 0], 3, "wind"])
def test_forces_are_a_list_of_forces(given):
    for forces in (given, [given]):
        with pytest.raises(ModelError, match="forces"):
            Simulation(PENDULUM, START, 0.01, forces=forces)


# -- functions that are called -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("found", [[1.0], [1.0, np.nan], "ab", [[1.0, 2.0, 3.0]]])
def test_what_a_called_function_returns_is_checked(found):
    run = Simulation(PENDULUM, START, 0.01, tau=lambda t, q, v: found if t > 0.025 else [0.0, 0.0])
    with pytest.raises(ValueShapeError, match="tau"):
        run.advance(0.1)
    assert run.trajectory.q.shape == (4, 2)  # the start and three good steps


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError])
def test_exceptions_come_through_and_records_stay(kind):
    def tau(t, q, v):
        if t > 0.045:
            raise kind
        return [0.0, 0.0]

    run = Simulation(PENDULUM, START, 0.01, tau=tau)
    with pytest.raises(kind):
        run.advance(1.0)
    whole = simulate(PENDULUM, START, 0.05, 0.01)
    assert np.array_equal(run.trajectory.q, whole.q)


# -- small and large ---------------------------------------------------------------------------------------------------


def test_zero_steps_leave_the_start():
    run = simulate(PENDULUM, START, 0.0, 0.01)
    assert run.q.tolist() == [START[0]]


def test_models_without_freedoms_or_bodies_stay_as_they_are():
    held = qdot.Mechanism("held")
    held.add("block", Fixed(), Inertia.about_com(1.0, (0, 0, 0), (1.0, 1.0, 1.0)))
    for mechanism in (held, qdot.Mechanism("empty")):
        run = simulate(qdot.assemble(mechanism), None, 0.05, 0.01)
        assert run.q.shape == (6, 0)
        assert projected(qdot.assemble(mechanism)).q.shape == (0,)


def test_a_large_batch_is_many_single_runs():
    q = np.linspace(-1, 1, 2 * 5000).reshape(5000, 2)
    run = simulate(PENDULUM, (q, np.zeros_like(q)), 0.03, 0.01)
    assert np.array_equal(run.q[4321], simulate(PENDULUM, (q[4321], [0, 0]), 0.03, 0.01).q)


# -- constraints -------------------------------------------------------------------------------------------------------


def test_an_inconsistent_start_tells_the_residual_and_how_to_project():
    model, (q, v) = four_bar(), four_bar_state(1.0, 2.0)
    with pytest.raises(ModelError, match=r"'closing'.*off by .*projected"):
        Simulation(model, (q + 0.1, v), 0.01)
    Simulation(model, projected(model, (q + 0.1, v)), 0.01)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.floats(-0.2, 0.2), min_size=6, max_size=6))
def test_projected_states_obey_the_loop(noise):
    model, (q, v) = four_bar(), four_bar_state(1.0, 2.0)
    q, v = projected(model, (q + noise[:3], v + np.array(noise[3:])))
    J = qdot.formulations.partials(end_of_four_bar, q)
    assert np.abs(end_of_four_bar(q)).max() < 1e-9  # the tolerance asked for is 1e-10 of each row
    assert np.abs(J @ v).max() < 1e-8


def test_projection_leaves_a_good_state_and_takes_batches():
    model, (q, v) = four_bar(), four_bar_state(1.0, 2.0)
    state = projected(model, model.state(q, v))
    assert np.allclose(state.q, q, atol=1e-9)
    assert np.allclose(state.v, v, atol=1e-8)
    Q, V = projected(model, (q + np.array([[0.0], [0.1], [-0.1]]), v))
    one = projected(model, (q + 0.1, v))
    assert np.allclose(Q[1], one[0], atol=1e-9)
    assert np.allclose(V[1], one[1], atol=1e-8)


def test_a_velocity_is_projected_in_the_metric_of_the_mass():
    model, (q, v) = four_bar(), four_bar_state(1.0, 2.0)
    given = v + np.array([0.3, -0.2, 0.5])
    found = projected(model, (q, given))[1]
    allowed = v / np.linalg.norm(v)  # one freedom: all velocities are along this one
    M = qdot.mass_matrix(model, q)
    assert np.allclose(found, allowed * (allowed @ M @ given) / (allowed @ M @ allowed), atol=1e-7)


def test_what_cannot_be_projected_says_how_far_it_came():
    far = Holonomic("too far", lambda q: [q[0] ** 2 + 1])
    with pytest.raises(ConvergenceError, match=r"off to 1 .*'too far'"):
        projected(PENDULUM, START, constraints=[far])


def parallelogram():
    world = qdot.Mechanism("parallelogram")
    part, at = world.world, 0.0
    for name, length in (("crank", 0.5), ("coupler", 1.0), ("rocker", 0.5)):
        part = part.add(name, Revolute("z"), rod(1.0, length), at=(at, 0, 0), joint_name=f"{name}_joint")
        at = length
    part.frame("end", at=(at, 0, 0))
    world.frame("pivot", at=(1.0, 0, 0))
    world.close("closing", Revolute("z"), "pivot", "end")
    return qdot.assemble(world)


def test_redundancy_tells_what_repeats_and_where():
    everywhere = redundancy(parallelogram(), [0.5, -0.5, np.pi + 0.5])
    assert (everywhere.rows, everywhere.rank, everywhere.freedoms) == (5, 2, 1)
    assert everywhere.repeats == {"closing": 3}
    assert not everywhere.singular
    flat = redundancy(parallelogram(), [0.0, 0.0, np.pi])
    assert (flat.rank, flat.nearby, flat.singular) == (1, 2, True)
    assert "singular" in str(flat)
    same = [Holonomic("first", lambda q: [q[0] - q[1]]), Holonomic("again", lambda q: [3 * q[1] - 3 * q[0]])]
    assert redundancy(PENDULUM, [0.2, 0.2], same).repeats == {"again": 1}


def test_a_simulation_reports_redundancy():
    assert Simulation(four_bar(), four_bar_state(1.0, 0.0), 0.01).redundancy.repeats == {"closing": 3}


# -- runs that go wrong ------------------------------------------------------------------------------------------------


def failed(*args, **options) -> SimulationError:
    with pytest.raises(SimulationError) as caught:
        simulate(*args, **options)
    assert np.isfinite(caught.value.run.q).all()
    assert np.isfinite(caught.value.run.v).all()
    assert caught.value.run.time[-1] == caught.value.time
    return caught.value


def test_stiff_springs_are_named_with_their_number():
    # One freedom: stiffness·dt² is k dt² / I, here 1e6 · 1e-4 / 1.
    spring = JointForce("spring", lambda q, v: [-1e6 * q[0]])
    error = failed(library.pendulum(gravity=0.0), ([0.3], [0.0]), 1.0, 0.01, forces=[spring])
    assert "force 'spring' is too stiff" in error.cause
    assert "stiffness·dt² = 100 at 'joint1'" in error.cause
    assert "dt below 0.0028 s" in str(error)  # √(8 / 1e6)
    assert "generalised alpha" in str(error)


def test_stiff_dampers_are_named_with_their_number():
    brake = JointForce("brake", lambda q, v: [-1e4 * v[0]])
    error = failed(library.pendulum(), ([0.3], [0.1]), 1.0, 0.01, forces=[brake])
    assert "damping·dt = 100 at 'joint1'" in error.cause
    assert "implicit velocity" in str(error)


def test_gains_of_a_called_function_are_named():
    error = failed(PENDULUM, START, 10.0, 0.01, tau=lambda t, q, v: -1e5 * q)
    assert "`tau` is too stiff" in error.cause


def test_a_force_that_is_not_finite_at_some_time_is_named():
    root = JointForce("root", lambda t, q, v: [sqrt(0.505 - t), 0])
    error = failed(PENDULUM, START, 1.0, 0.01, forces=[root])
    assert "force 'root' is not finite" in error.cause
    assert error.time == pytest.approx(0.5)
    good = simulate(PENDULUM, START, 0.5, 0.01, forces=[root])
    assert np.array_equal(error.run.q, good.q)


def test_the_run_of_a_batch_that_failed_is_named():
    q = np.tile(START[0], (5, 1))
    spring = JointForce("spring", lambda q, v: [0, -100 * q[1]])
    masses = {"rod2.mass": np.array([1, 1, 1e-12, 1, 1.0])}
    error = failed(PENDULUM, (q, np.zeros_like(q)), 1.0, 0.01, forces=[spring], parameters=masses)
    assert error.row == 2
    assert "run 2 of 5" in str(error)


def test_the_last_good_state_is_recorded_whatever_is_kept():
    root = JointForce("root", lambda t, q, v: [sqrt(0.505 - t), 0])
    error = failed(PENDULUM, START, 1.0, 0.01, forces=[root], record=7)
    assert error.run.time[-1] == pytest.approx(0.5)
    assert len(error.run.time) == 1 + 7 + 1  # the start, every seventh of 50, and the last


def test_a_mechanism_driven_out_of_reach_is_told():
    model, (q, _) = four_bar(), four_bar_state(1.0, 0.0)
    error = failed(model, (q, np.zeros(3)), 3.0, 1e-3, constraints=[Driven("rocker_joint", lambda t: q[2] + t * t)])
    assert "no state nearby obeys all constraints" in str(error)


def test_the_error_survives_pickling():
    spring = JointForce("spring", lambda q, v: [-1e6 * q[0]])
    error = failed(library.pendulum(), ([0.3], [0.0]), 1.0, 0.01, forces=[spring])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.time, again.row, again.cause) == (str(error), error.time, error.row, error.cause)
    assert isinstance(again, QdotError)


# -- motion that is only fast ------------------------------------------------------------------------------------------


def test_falling_for_hours_is_no_failure():
    world = qdot.Mechanism("stone")
    world.add("stone", Free(), Inertia.about_com(1.0, (0, 0, 0), (0.1, 0.2, 0.3)))
    run = simulate(qdot.assemble(world), None, 10000.0, 0.1, record=1000)
    assert np.abs(run.v[-1]).max() == pytest.approx(9.81 * 10000, rel=1e-2)


def test_a_top_that_spins_fast_is_no_failure():
    world = qdot.Mechanism("top")
    world.add("top", Revolute("z"), Inertia.about_com(1.0, (0, 0, 0), (1e-3, 1e-3, 1e-3)))
    run = simulate(qdot.assemble(world), ([0.0], [1e6]), 1.0, 0.01)
    assert run.v[-1, 0] == 1e6


# -- what functions of users return ------------------------------------------------------------------------------------


@pytest.mark.parametrize("returned", [None, [1j, 0], ["a", "b"], [None, 1.0], [1.0], [float("nan"), 0.0]])
def test_called_functions_return_real_numbers(returned):
    with pytest.raises(ValueShapeError, match="tau") as caught:
        simulate(PENDULUM, START, 0.02, 0.01, tau=lambda t, q, v: returned)
    assert any("t = 0 s" in note for note in [*getattr(caught.value, "__notes__", []), str(caught.value)])


@pytest.mark.parametrize("returned", [None, [1j, 0], ["a", "b"], [1.0]])
def test_compiled_forces_return_real_numbers(returned):
    with pytest.raises(QdotError, match="push"):
        simulate(PENDULUM, START, 0.02, 0.01, forces=[JointForce("push", lambda q, v: returned)])


def test_an_exception_in_a_function_tells_when():
    def fails(t, q, v):
        if t > 0.015:
            raise RuntimeError("sensor lost")
        return [0.0, 0.0]

    run = Simulation(PENDULUM, START, 0.01, tau=fails)
    with pytest.raises(RuntimeError, match="sensor lost") as caught:
        run.advance(0.1)
    assert caught.value.__notes__ == ["in tau at t = 0.02 s"]
    assert run.trajectory.records == 3


def test_what_moves_no_mass_is_named():
    world = qdot.Mechanism("massless")
    world.add("arm", Revolute("y")).add("hand", Revolute("y"), rod(1.0, 1.0)).add("ghost", Revolute("z"))
    with pytest.raises(SingularError, match="'ghost' moves no mass"):
        simulate(qdot.assemble(world), seconds=0.01, dt=0.01)
    at_home = simulate_failing(library.floating_two_link())
    assert "moves no mass" in at_home.cause


def simulate_failing(model):
    with pytest.raises(SimulationError) as caught:
        simulate(model, seconds=0.01, dt=0.01)
    return caught.value
