"""Functions and lists of users that do not fit: the error names the thing and says how to write it."""

import math

import numpy as np
import pytest
import sympy as sp

import qdot
from qdot.errors import CompileError, ModelError, QdotError, UnknownNameError, ValueShapeError
from qdot.geometry import Sphere
from qdot.joints import Free, Revolute
from qdot.model import library
from qdot.simulation import Driven, Event, FrameForce, Holonomic, JointForce, Nonholonomic, Rolling, compilable
from qdot.simulation.arguments import batch_of, stabilisation_of
from qdot.simulation.events import events_of
from qdot.simulation.projecting import projected
from qdot.simulation.simulate import Simulation

PENDULUM = library.pendulum()
START = [0.0], [0.0]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"constraints": [Holonomic("held", lambda q: [np.sin(q[0])])]}, "constraint 'held'"),
        ({"constraints": [Holonomic("held", lambda q: [math.sin(q[0])])]}, "constraint 'held'"),
        ({"constraints": [Nonholonomic("edge", lambda q, v: [np.cos(q[0]) * v[0]])]}, "constraint 'edge'"),
        ({"constraints": [Driven("joint1", lambda t: np.sin(t))]}, "drive of joint1"),
        ({"constraints": [Driven("joint1", lambda: 0.0)]}, "drive of joint1"),
        ({"forces": [JointForce("push", lambda q, v: [np.sin(q[0])])]}, "force 'push'"),
        ({"forces": [JointForce("push", lambda q, v: -q)]}, "force 'push'"),
        ({"forces": [FrameForce("wind", "tip", lambda X, V: [np.sin(X.position.x), 0, 0])]}, "force 'wind'"),
        ({"events": [Event("low", lambda q, v: np.sin(q[0]))]}, "event 'low'"),
        ({"tau": compilable(lambda q, v: [np.sin(q[0])])}, "tau"),
        ({"tau": compilable(lambda q, v: [1.0 if q[0] > 0 else 0.0])}, "tau"),
    ],
)
def test_functions_that_are_compiled_use_the_algebra(options, named):
    with pytest.raises(
        CompileError, match=rf"^{named}: .*functions of qdot\.algebra .*not with those of math or NumPy"
    ):
        Simulation(PENDULUM, START, 0.01, **options)


def test_functions_that_are_called_may_use_anything_and_fail_as_they_like():
    Simulation(PENDULUM, START, 0.01, tau=lambda q, v: np.sin(q)).advance(0.02)
    with pytest.raises(TypeError, match="NoneType") as caught:
        Simulation(PENDULUM, START, 0.01, tau=lambda q, v: q + None).advance(0.02)
    assert not isinstance(caught.value, QdotError)


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        (Driven("joint1", lambda t: None), "drive of joint1 returns numbers: None"),
        (Driven("joint1", lambda t: "up"), "drive of joint1 returns numbers: 'up'"),
        (Driven("joint1", lambda t: [0.0, t]), "2 numbers, not 1"),
        (Holonomic("held", lambda q: ["up"]), "constraint 'held' returns numbers: 'up'"),
        (Holonomic("held", lambda q: None), "constraint 'held' returns a list"),
    ],
)
def test_what_a_constraint_returns_is_checked(constraint, said):
    with pytest.raises(ValueShapeError, match=said):
        Simulation(PENDULUM, START, 0.01, constraints=[constraint])


def test_a_motion_is_a_function():
    with pytest.raises(ModelError, match="drive of joint1 is given by a function"):
        Simulation(PENDULUM, START, 0.01, constraints=[Driven("joint1", 0.3)])


@pytest.mark.parametrize("state", [START, (np.zeros((3, 1)), np.zeros((3, 1)))])
def test_an_event_is_a_number_and_no_truth(state):
    with pytest.raises(ValueShapeError, match="event 'low': g returns a truth; return the number that passes zero"):
        Simulation(PENDULUM, state, 0.01, events=[Event("low", lambda q, v: q[0] > 0)])


@pytest.mark.parametrize("value", [None, "up", {}, [0.0], 1j])
def test_an_event_is_one_number(value):
    with pytest.raises(ValueShapeError, match="event 'low': g returns one number"):
        Simulation(PENDULUM, START, 0.01, events=[Event("low", lambda q, v: value)])


@pytest.mark.parametrize("given", [Event("low", lambda q, v: q[0]), 3, "low", [3]])
def test_events_are_a_list(given):
    with pytest.raises(ValueShapeError, match=r"events=\[…\]"):
        events_of(given)


def test_other_things_that_do_not_fit():
    with pytest.raises(UnknownNameError, match="projection"):
        stabilisation_of([])
    with pytest.raises(ValueShapeError, match="q is a batch of no runs"):
        batch_of({"q": 0, "v": 0})


def test_symbols_have_no_motion():
    mass, length = sp.symbols("m l", positive=True)
    world = qdot.Mechanism("symbolic")
    world.add("ball", Revolute("y"), Sphere(0.1, mass=mass).at(0, 0, -1))
    model = qdot.assemble(world)
    for parameters in (None, {"ball.mass": 2.0}):
        with pytest.raises(ModelError, match=r"body 'ball': its inertia has m in it.*with_mass"):
            Simulation(model, START, 0.01, parameters=parameters)
    with pytest.raises(ModelError, match="body 'ball'"):
        projected(model)
    placed = qdot.Mechanism("placed")
    placed.add("ball", Revolute("y"), Sphere(0.1, mass=1.0), at=(0, 0, length))
    with pytest.raises(ModelError, match="its placement has l in it"):
        Simulation(qdot.assemble(placed), START, 0.01)


def test_a_truth_is_no_number():
    joint = PENDULUM.bodies[0].joint_name
    with pytest.raises(CompileError, match=r"qdot\.algebra\.where"):
        Simulation(PENDULUM, START, 0.01, constraints=[Driven(joint, lambda t: 0.2 * (t > 0.5))])


def test_rows_are_counted_where_the_run_starts():
    """A disc that lies flat at home has no lowest point there, and is simulated and projected upright."""
    world = qdot.Mechanism("disc")
    world.add("disc", Free(), Sphere(0.1, mass=1.0))
    model = qdot.assemble(world)
    rolls = Rolling("rolls", "disc", 0.2, axis=(0, 0, 1))
    upright = np.array([np.sqrt(0.5), np.sqrt(0.5), 0, 0, 0, 0, 0.21])
    q, v = projected(model, (upright, np.zeros(6)), constraints=[rolls])
    assert q[6] == pytest.approx(0.2, abs=1e-9)
    assert qdot.simulate(model, (q, v), 0.02, 0.01, constraints=[rolls]).records == 3
