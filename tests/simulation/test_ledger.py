"""The energy ledger closes: E(t) - E(0) = Σ work, up to the integrator's error, whatever acts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import simpson

import qdot
from qdot.algebra import sin
from qdot.algorithms.constraints.kinds import Driven
from qdot.errors import ValueShapeError
from qdot.joints import Prismatic, Revolute
from qdot.model import library
from qdot.simulation.forces import FrameForce, JointForce
from qdot.simulation.simulate import simulate
from qdot.simulation.stabilisation import Baumgarte
from qdot.simulation.trajectory import Trajectory
from qdot.spatial import Inertia
from tests.formulations.systems import four_bar, four_bar_state, rod


def crane() -> qdot.Model:
    """A cart on a rail with a damped arm that a spring pulls up, and a motor on the cart."""
    world = qdot.Mechanism("crane")
    cart = world.add("cart", Prismatic("x"), Inertia.about_com(2.0, (0, 0, 0), (1, 1, 1)), joint_name="rail")
    arm = cart.add("arm", Revolute("y"), rod(1.5, 0.8), joint_name="pivot", damping=0.4, stiffness=3.0, rest=1.0)
    arm.frame("tip", at=(0.8, 0, 0))
    world.spring("cable", "world", "tip", 20.0, damping=1.0)
    world.motor("drive", "rail")
    return qdot.assemble(world)


def crane_run(dt: float) -> Trajectory:
    wind = FrameForce("wind", "tip", lambda X, V: V.lin * -0.2)
    push = JointForce("push", lambda t, q, v: [0, 0.3 * sin(3 * t)])
    return simulate(
        crane(), (np.array([0.1, 0.5]), np.array([0.3, -0.2])), 1.0, dt, control=[2.0], tau=[0.0, 0.1],
        forces=[wind, push], ledger=True,
    )  # fmt: skip


def driven_run(dt: float) -> Trajectory:
    drive = Driven("crank_joint", lambda t: 1.0 + 2.0 * t + 0.3 * sin(2 * t))
    q, v = four_bar_state(1.0, 2.6)
    return simulate(four_bar(), (q, v), 1.0, dt, constraints=[drive], ledger=True)


def baumgarte_run(dt: float) -> Trajectory:
    motor = JointForce("motor", lambda q, v: [1.5, 0, 0])
    start = four_bar_state(1.0, 2.0)
    return simulate(four_bar(), start, 1.0, dt, forces=[motor], stabilisation=Baumgarte(1.0), ledger=True)


def projection_run(dt: float) -> Trajectory:
    brake = JointForce("brake", lambda q, v: [-0.3 * v[0], 0, 0])
    return simulate(four_bar(), four_bar_state(1.0, 2.0), 1.0, dt, forces=[brake], ledger=True)


RUNS: dict[str, tuple[Callable[[float], Trajectory], float]] = {
    "forces": (crane_run, 1 / 128),
    "driven joint": (driven_run, 1 / 64),
    "Baumgarte": (baumgarte_run, 1 / 256),
    "projection": (projection_run, 1 / 128),
}
"""With the longest of four steps [s], each half of the one before: short enough for the order to show, long enough for
rounding not to."""


@pytest.mark.parametrize("kind", RUNS)
def test_what_does_not_close_is_of_the_integrators_order(kind: str) -> None:
    """Fourth order, or better, of halved steps; a missing or wrong entry would leave a residual that stays."""
    run, longest = RUNS[kind]
    steps = longest / 2.0 ** np.arange(4)
    runs = [run(float(dt)) for dt in steps]
    sizes = [np.abs(run.balance()).max() for run in runs]
    assert np.polyfit(np.log(steps), np.log(sizes), 1)[0] > 3.5
    assert sizes[-1] < 1e-6 * max(np.abs(w).max() for w in runs[-1].works().values())


def test_works_are_those_of_the_forces() -> None:
    """A second way: power at the records, force times velocity, and Simpson's rule, which is of order 4 too."""
    run = crane_run(1 / 512)
    t, v = run.time, run.v
    tip = qdot.compile(tip_velocity, run.model)(run.q, v)
    wanted = {
        "actuators": 2.0 * v[:, 0], "joint forces": 0.1 * v[:, 1], "push": 0.3 * np.sin(3 * t) * v[:, 1],
        "wind": -0.2 * (tip**2).sum(axis=-1),
    }  # fmt: skip
    for name, power in wanted.items():
        assert run.works()[name][-1] == pytest.approx(simpson(power, x=t), rel=1e-8), name
    damped = 0.4 * v[:, 1] ** 2 + stretching(run) ** 2
    assert run.works()["dampers"][-1] == pytest.approx(-simpson(damped, x=t), rel=1e-8)
    assert (np.diff(run.works()["dampers"]) <= 0).all()
    assert set(run.works()) == {*wanted, "dampers"}  # what did not act is not listed


def tip_velocity(model: qdot.Model, q: list, v: list) -> list:
    return list(qdot.algorithms.kinematics.kinematics(model, q, v).velocity("tip").lin)


def stretching(run: Trajectory) -> np.ndarray:
    """The rate of the cable's length."""
    return np.einsum("tk,tk->t", qdot.tendon_jacobian(run.model, run.q)[:, 0], run.v)


def test_a_drive_does_the_work_of_its_force() -> None:
    run = driven_run(1 / 512)
    speed = 2.0 + 0.6 * np.cos(2 * run.time)
    torque = run.constraint_forces()["drive of crank_joint"][:, 0]
    assert run.works()["constraints"][-1] == pytest.approx(simpson(torque * speed, x=run.time), rel=1e-6)


def sliding(friction: float) -> qdot.Model:
    world = qdot.Mechanism("sliding", gravity=(0, 0, 0))
    inertia = Inertia.about_com(2.0, (0, 0, 0), (1, 1, 1))
    world.add("block", Prismatic("x", limits=(-1.0, 0.4)), inertia, friction=friction, joint_name="rail")
    return qdot.assemble(world)


def test_friction_and_stops_are_accounted_for() -> None:
    """A block of 2 kg slides at 2 m/s against 1 N, meets a stop after 0.4 m, and stays: ½ m v² goes to both."""
    run = simulate(sliding(1.0), ([0.0], [2.0]), 1.0, 1 / 256, ledger=True)
    works = {name: w[-1] for name, w in run.works().items()}
    assert np.abs(run.balance()).max() < 1e-12
    assert works["friction"] == pytest.approx(-1.0 * 0.4, abs=2 / 256)  # up to the step in which it stops
    assert sum(works.values()) == pytest.approx(-4.0, abs=1e-12)


def test_friction_that_ends_a_motion_takes_all_of_it() -> None:
    run = simulate(sliding(8.0), ([-0.9], [2.0]), 1.0, 1 / 256, ledger=True)
    assert run.v[-1] == 0
    assert np.abs(run.balance()).max() < 1e-12
    assert run.works()["friction"][-1] == pytest.approx(-4.0, abs=8 * 2 / 256)


def test_a_conservative_motion_has_nothing_to_tell() -> None:
    run = simulate(library.double_pendulum(), ([1.0, 0.5], [0.0, 0.0]), 0.5, 1 / 128, ledger=True)
    assert run.works() == {}
    assert np.allclose(run.balance(), run.energy() - run.energy()[0], rtol=0, atol=1e-15)
    assert "residual" in {str(cell) for cell in run.ledger_table().columns[0].cells}


def test_batches_have_a_ledger_each() -> None:
    starts = np.array([[0.1, 0.5], [0.0, -0.4], [0.2, 1.0]])
    many = simulate(crane(), (starts, np.zeros((3, 2))), 0.5, 1 / 128, control=[2.0], ledger=True)
    for k, one in enumerate(many):
        assert np.array_equal(one.balance(), many.balance()[k])
        assert np.array_equal(one.works()["actuators"], many.works()["actuators"][k])
    assert len(many.ledger_table().columns) == 4


def test_a_run_without_a_ledger_says_how_to_have_one() -> None:
    run = simulate(sliding(1.0), ([0.0], [2.0]), 0.125, 1 / 256)
    for ask in (run.works, run.balance, run.ledger_table):
        with pytest.raises(ValueShapeError, match="ledger=True"):
            ask()
