"""Constraints of users and models in time: closed forms and published cases, every way to solve and hold them."""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot.algebra import Scalar, Scalars, Vec3, cos, sin
from qdot.algorithms.kinematics import frame_pose
from qdot.joints import Free, Planar, Prismatic, Revolute
from qdot.simulation import (
    Baumgarte,
    Drifting,
    Driven,
    GearGuptaLeimkuhler,
    Holonomic,
    Nonholonomic,
    Projection,
    Rolling,
)
from qdot.spatial import Inertia, Transform
from tests.formulations.systems import four_bar, four_bar_state

SOLVERS = ("range space", "sparse", "kkt", "null space", "penalty")


def knife_edge(q: Scalars, v: Scalars) -> list[Scalar]:
    """The velocity of the edge across itself."""
    return [-sin(q[0]) * v[1] + cos(q[0]) * v[2]]


def test_chaplygin_sleigh() -> None:
    """Chaplygin 1911; Bloch, Nonholonomic Mechanics and Control: m = 1, I = 0.5, a = 0.4, v0 = 0.2, ω0 = 2."""
    world = qdot.Mechanism("sleigh", gravity=(0, 0, 0))
    world.add("body", Planar("z"), Inertia.about_com(1.0, (0.4, 0, 0), (0.3, 0.3, 0.5)))
    edge = Nonholonomic("edge", knife_edge, "m/s")
    run = qdot.simulate(
        qdot.assemble(world), (np.zeros(3), np.array([2.0, 0.2, 0.0])), 3.0, 1e-3, constraints=[edge], record=100
    )
    angle, v = run.q[-1, 0], run.v[-1]
    assert v[1] * np.cos(angle) + v[2] * np.sin(angle) == pytest.approx(1.6304297625981417, abs=1e-9)
    assert v[0] == pytest.approx(0.18132003029202903, abs=1e-9)
    assert np.nanmax(run.drift) < 1e-14  # projected to rounding


def test_ball_rolls_down_a_slope() -> None:
    """x = ½ g t² / (1 + I / m r²); friction and weight are the forces of the rows [N]."""
    world = qdot.Mechanism("ball", gravity=(1.0, 0, -9.81))
    world.add("ball", Free(), Inertia.about_com(1.0, (0, 0, 0), (0.004,) * 3))
    start = np.array([1, 0, 0, 0, 0, 0, 0.1]), np.zeros(6)
    run = qdot.simulate(qdot.assemble(world), start, 1.0, 1e-3, constraints=[Rolling("rolls", "ball", 0.1)], record=100)
    assert run.q[-1, 4] == pytest.approx(0.5 / 1.4, abs=1e-9)  # rounding of a thousand steps, and of the quaternion
    np.testing.assert_allclose(np.abs(run.multipliers[1]), [9.81, 0, 1 - 1 / 1.4], atol=1e-9)


def test_disc_rolls_and_keeps_its_energy() -> None:
    """Nonholonomic and conservative: energy is constant, the contact stays, the disc tilts and turns."""
    world = qdot.Mechanism("disc")
    world.add("disc", Free(), Inertia.about_com(1.0, (0, 0, 0), (0.0025, 0.005, 0.0025)))
    model = qdot.assemble(world)
    tilt = Transform.rpy(0.2, 0, 0)
    start = np.array([*tilt.quaternion(), 0, 0, 0.1 * np.cos(0.2)]), np.array([0, 8.0, 0, 0.8, 0, 0])
    roll = Rolling("rolls", "disc", 0.1, axis=(0, 1, 0))
    run = qdot.simulate(model, start, 1.0, 1e-3, constraints=[roll], record=50)
    E = qdot.energy(model, run.q, run.v)
    assert np.ptp(E) < 1e-9 * E[0]  # of order dt⁴ with rates of some 10 rad/s
    assert np.nanmax(run.drift) < 1e-13


def test_driven_joint_follows_and_its_work_is_accounted() -> None:
    world = qdot.Mechanism("shaken")
    cart = world.add("cart", Prismatic("x"), Inertia.point(1.0, (0, 0, 0)))
    cart.add("pole", Revolute("y"), Inertia.point(1.0, (0, 0, -1)))
    model = qdot.assemble(world)
    drive = Driven("cart", lambda t: 0.1 * (1 - cos(3 * t)))
    run = qdot.simulate(model, None, 2.0, 1e-3, constraints=[drive], ledger=True)
    np.testing.assert_allclose(run.q[:, 0], 0.1 * (1 - np.cos(3 * run.time)), atol=1e-14)
    E = qdot.energy(model, run.q, run.v)
    assert E[-1] - E[0] == pytest.approx(run.work[-1].sum(), abs=1e-10)
    assert abs(run.work[-1, run.ledger.index("constraints")]) > 0.1  # a shaken pendulum takes power


def test_users_function_is_a_loop() -> None:
    """φ(q) = 0 that closes a four-bar, written by hand, moves as the loop joint does."""
    closed, open_ = four_bar(), four_bar(closed=False)
    start = four_bar_state(1.0, 2.0)

    def phi(q: Scalars) -> list[Scalar]:
        p: Vec3 = frame_pose(open_, q, "end").position
        return [p.x - 1.0, p.y]

    expected = qdot.simulate(closed, start, 0.5, 1e-3, record=500)
    found = qdot.simulate(open_, start, 0.5, 1e-3, constraints=[Holonomic("end", phi, "m")], record=500)
    np.testing.assert_allclose(found.q[-1], expected.q[-1], atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_agree(solver: str) -> None:
    """On a planar four-bar closed by a spatial joint: three of its five rows say nothing."""
    model, start = four_bar(), four_bar_state(1.0, 2.0)
    expected = qdot.simulate(model, start, 0.2, 1e-3, record=200)
    found = qdot.simulate(model, start, 0.2, 1e-3, solver=solver, record=200)
    np.testing.assert_allclose(found.q[-1], expected.q[-1], atol=1e-10)
    forces = [np.abs(run.multipliers[-1]).max() for run in (found, expected)]
    assert forces[0] == pytest.approx(forces[1], rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "bound"),
    [(Drifting(), 1e-7), (Baumgarte(10.0), 1e-7), (Projection(), 1e-14), (GearGuptaLeimkuhler(), 1e-5)],
)
def test_drift_of_each_stabilisation(kind: object, bound: float) -> None:
    model, start = four_bar(), four_bar_state(1.0, 2.0)
    run = qdot.simulate(model, start, 2.0, 1e-3, stabilisation=kind)
    worst = np.nanmax(run.drift[:, 0])
    assert worst < bound
    if not isinstance(kind, Projection):
        assert worst > 1e-12  # there is something to hold


def circle(q: Scalars) -> list[Scalar]:
    return [q[0] ** 2 + q[1] ** 2 - 1]


def test_point_leaves_its_circle_without_stabilisation() -> None:
    """U8 and U9: with accelerations alone the point drifts off; Baumgarte's terms keep it."""
    world = qdot.Mechanism("point", gravity=(0, -9.81, 0))
    slide = world.add("slide", Prismatic("x"))
    slide.add("point", Prismatic("y"), Inertia.point(1.0, (0, 0, 0)))
    model = qdot.assemble(world)

    def drift(kind: object) -> float:
        hold = [Holonomic("circle", circle, "m²")]
        start = np.array([1.0, 0.0]), np.zeros(2)
        run = qdot.simulate(
            model, start, 10.0, 0.01, constraints=hold, stabilisation=kind, integrator="semi-implicit euler"
        )
        return float(np.abs(np.hypot(*run.q[-100:].T) - 1).max())

    assert drift(Drifting()) > 0.05
    assert drift(Baumgarte(3.0)) < 0.02  # a step is a fifth of its time constant
    assert drift(Projection()) < 1e-5  # one of Newton's steps: the square of what a step of Euler's leaves
    assert drift(Projection(rounds=3)) < 1e-13


def test_models_own_constraints_hold() -> None:
    """A point held, a distance, a gear and a mimic joint, in one mechanism, all without drift; energy is kept."""
    world = qdot.Mechanism("held")
    for k in range(4):
        rod = world.add(f"rod{k}", Revolute("y"), Inertia.point(1.0, (0, 0, -1)), at=(k, 0, 0), joint_name=f"j{k}")
        rod.frame(f"tip{k}", at=(0, 0, -1))
    world.distance("strut", "tip0", "tip1")
    world.gear("gear", "j2", "j1", -2.0)
    world.mimic("copy", "j3", "j0", 1.0, 0.0)
    model = qdot.assemble(world)
    start = np.zeros(4), np.zeros(4)
    J = qdot.constraint_jacobian(model, start[0])
    v = np.linalg.svd(J)[2][-1]
    run = qdot.simulate(model, (start[0], 2 * v), 2.0, 1e-3)
    assert np.nanmax(run.drift) < 1e-12
    np.testing.assert_allclose(run.q[:, 3], run.q[:, 0], atol=1e-12)
    np.testing.assert_allclose(run.q[:, 2], -2 * run.q[:, 1], atol=1e-12)
    E = qdot.energy(model, run.q, run.v)
    assert np.ptp(E) < 1e-8
    assert np.abs(run.v).max() > 0.5
