"""Limits and dry friction: what is stopped stays, what sticks does not creep, and energy is accounted for."""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot.algebra import sin
from qdot.joints import Prismatic, Revolute, Spherical
from qdot.simulation import JointForce, SoftStops, Stops
from qdot.spatial import Inertia

INTEGRATORS = ("semi-implicit euler", "rk4")


def block(friction: float = 0.0, limits: tuple[float, float] | None = None, gravity: float = -9.81) -> qdot.Model:
    world = qdot.Mechanism("block", gravity=(0, 0, gravity))
    world.add("block", Prismatic("z", limits=limits), Inertia.point(2.0, (0, 0, 0)), friction=friction)
    return qdot.assemble(world)


def balance(run: qdot.Trajectory) -> float:
    """What the ledger leaves open [J]."""
    E = qdot.energy(run.model, run.q, run.v)
    return float(E[-1] - E[0] - run.work[-1].sum())


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_falls_on_a_stop_and_stays(integrator: str) -> None:
    run = qdot.simulate(block(limits=(-1, 2)), None, 2.0, 1e-3, integrator=integrator, ledger=True)
    assert run.q.min() == -1
    assert run.q[-1] == -1
    assert run.v[-1] == 0
    impacts = run.work[-1, run.ledger.index("impacts")]
    assert impacts == pytest.approx(-2 * 9.81, rel=5e-3)  # all of it, up to what a step of Euler's leaves


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
def test_bounces_to_the_height_that_restitution_gives(restitution: float) -> None:
    run = qdot.simulate(block(limits=(-1, 2)), None, 1.5, 1e-4, limits=Stops(restitution), ledger=True)
    first = int(np.argmax(run.v[:, 0] > 0))
    rest = run.q[first:, 0]
    assert rest.max() + 1 == pytest.approx(restitution**2, abs=2e-3)  # a step is 0.44 mm long there
    assert abs(balance(run)) < 1e-9


def test_soft_stop_gives_way_and_returns() -> None:
    run = qdot.simulate(block(limits=(-1, 2)), None, 2.0, 1e-3, limits=SoftStops(time=0.02), ledger=True)
    assert -1.1 < run.q.min() < -1.01
    assert run.q[-1, 0] == pytest.approx(-1, abs=1e-6)
    assert abs(balance(run)) < 1e-6


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_friction_holds_what_it_can_without_creeping(integrator: str) -> None:
    """Weight 19.62 N: 20 N of friction hold it for good, 19 N let it slide with 0.31 m/s²."""
    held = qdot.simulate(block(friction=20.0), None, 10.0, 1e-2, integrator=integrator)
    assert (held.q == 0).all()
    slides = qdot.simulate(block(friction=19.0), None, 1.0, 1e-3, integrator=integrator)
    assert slides.q[-1, 0] == pytest.approx(-0.5 * 0.62 / 2, rel=5e-3)


def test_sliding_stops_where_it_should() -> None:
    """v² / 2 μ: with 4 N on 2 kg and 3 m/s, after 2.25 m and 1.5 s; then it stays."""
    run = qdot.simulate(block(friction=4.0, gravity=0), (np.zeros(1), np.array([3.0])), 3.0, 1e-3, ledger=True)
    assert run.q[-1, 0] == pytest.approx(2.25, abs=3e-3)
    moving = run.time[np.abs(run.v[:, 0]) > 0]
    assert moving[-1] == pytest.approx(1.5, abs=2e-3)
    assert run.v[-1] == 0
    assert abs(balance(run)) < 1e-9


def test_a_joint_sticks_while_others_move() -> None:
    """A cart held by friction under a swinging pole: it does not move at all until the pole pulls harder."""
    world = qdot.Mechanism("cart")
    cart = world.add("cart", Prismatic("x"), Inertia.point(2.0, (0, 0, 0)), friction=30.0)
    cart.add("pole", Revolute("y"), Inertia.point(1.0, (0, 0, -1)))
    model = qdot.assemble(world)
    run = qdot.simulate(model, (np.array([0, 1.2]), np.zeros(2)), 3.0, 1e-3)
    assert (run.q[:, 0] == 0).all()
    free = qdot.simulate(qdot.model.library.pendulum(), (np.array([1.2]), np.zeros(1)), 3.0, 1e-3)
    np.testing.assert_allclose(run.q[:, 1], free.q[:, 0], atol=5e-4)  # held within a step, not along it: first order


def test_friction_is_overcome_and_returns() -> None:
    """A slowly growing push: nothing moves before it reaches the friction; then the motion is that of the rest."""
    push = JointForce("push", lambda t, q, v: [8.0 * sin(t)])
    run = qdot.simulate(block(friction=5.0, gravity=0), None, 3.0, 1e-3, forces=[push], ledger=True)
    started = run.time[np.argmax(run.v[:, 0] > 0)]
    assert started == pytest.approx(np.arcsin(5 / 8), abs=2e-3)
    assert abs(balance(run)) < 1e-4


def test_two_limits_in_one_chain() -> None:
    """An arm falls on the limits of both joints and rests there; forces balance its weight."""
    world = qdot.Mechanism("arm")
    upper = world.add("upper", Revolute("y", limits=(-0.5, 0.5)), Inertia.point(1.0, (1, 0, 0)))
    upper.add("lower", Revolute("y", limits=(-0.3, 0.3)), Inertia.point(1.0, (1, 0, 0)), at=(1, 0, 0))
    model = qdot.assemble(world)
    run = qdot.simulate(model, None, 3.0, 1e-3, ledger=True)
    np.testing.assert_allclose(run.q[-1], [0.5, 0.3], atol=1e-12)
    np.testing.assert_allclose(run.v[-1], 0, atol=1e-12)
    assert (run.q <= np.array([0.5, 0.3])).all()


def test_limit_of_a_ball_joint() -> None:
    """The angle of a spherical joint is bounded, whichever way it tilts."""
    world = qdot.Mechanism("ball")
    world.add("rod", Spherical(limits=(0, 0.7)), Inertia.about_com(1.0, (0, 0, 0.5), (0.1, 0.1, 0.02)))
    model = qdot.assemble(world)
    q = np.array([np.cos(0.1), np.sin(0.1) * 0.6, np.sin(0.1) * 0.8, 0])
    run = qdot.simulate(model, (q, np.zeros(3)), 3.0, 1e-3)
    angles = 2 * np.arccos(np.clip(np.abs(run.q[:, 0]), 0, 1))
    assert angles.max() < 0.71  # passed within one step at most
    assert angles[-1] == pytest.approx(0.7, abs=0.01)


def test_batch_row_is_single_run() -> None:
    """Each run of a batch stops, sticks and bounces on its own."""
    model = block(friction=3.0, limits=(-0.4, 0.6))
    speeds = np.array([[0.0], [2.0], [-1.0], [4.0], [0.5], [-3.0], [1.0], [0.1], [6.0]])
    batch = qdot.simulate(model, (np.zeros((9, 1)), speeds), 0.5, 1e-3, limits=Stops(0.5))
    for k in (1, 4, 8):
        one = qdot.simulate(model, (np.zeros(1), speeds[k]), 0.5, 1e-3, limits=Stops(0.5))
        assert np.array_equal(batch.q[k], one.q)
        assert np.array_equal(batch.v[k], one.v)


@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_elastic_bounces_keep_their_energy(dt: float) -> None:
    """A hundred seconds of them: the speed at the stop, and the time since, are those of a constant acceleration."""
    run = qdot.simulate(block(limits=(-1, 2)), None, 100.0, dt, limits=Stops(1.0), record=10)
    assert np.ptp(run.energy()) < 1e-9


def test_a_loop_meets_a_limit_and_stays_closed() -> None:
    """A parallelogram with a limit at its last joint: it stops there, rests, and keeps its constraint."""
    world = qdot.Mechanism("loop")
    part, at = world.world, (0.0, 0.0, 0.0)
    for k, limits in enumerate([None, None, (0.3, 1.9)]):
        part = part.add(f"bar{k}", Revolute("y", limits=limits), Inertia.about_com(1.0, (0, 0, 0.5), (0.1, 0.1, 0.01)),
                        at=at, home=[0.6, 0.9, 1.0][k])  # fmt: skip
        at = (0.0, 0.0, 1.0)
    part.frame("end", at=at)
    world.frame("pivot", at=(0.0, 0.0, 0.0))
    home = qdot.frame_pose(qdot.assemble(world), [0.6, 0.9, 1.0], "end").position
    world.frame("held", at=tuple(home))
    world.close("closing", Revolute("y"), "held", "end")
    model = qdot.assemble(world)
    for push in (3.0, -3.0):
        q, v = qdot.projected(model, (model.home(), np.array([push, 0, 0])))
        run = qdot.simulate(model, (q, v), 1.5, 1e-3)
        assert np.nanmax(run.drift[:, 0]) < 1e-9
        last = run.q[:, 2]
        assert last.max() < 1.9 + 1e-6  # projected back on the loop, of second order
        assert last.min() > 0.3 - 1e-6


def test_friction_of_a_tendon_keeps_the_order_of_the_integrator() -> None:
    """A tendon that rubs while its lever changes: slipping friction is followed at every stage."""
    world = qdot.Mechanism("rope", gravity=(0, 0, 0))
    arm = world.add("arm", Revolute("y"), Inertia.point(1.0, (0, 0, -1)))
    arm.frame("hand", at=(0, 0, -1))
    world.frame("wall", at=(2, 0, 0))
    world.tendon("rope", ["wall", "hand"], friction=0.5)
    model = qdot.assemble(world)
    ends = [qdot.simulate(model, ([0.3], [2.0]), 0.4, dt, record=1000).q[-1, 0] for dt in (0.02, 0.01, 0.005, 1e-4)]
    errors = np.abs(np.array(ends[:3]) - ends[3])
    assert errors[0] / errors[1] > 8
    assert errors[1] / errors[2] > 8


def stacked(second: tuple[float, float] | None = None) -> qdot.Model:
    """A block on a block, one above the other on slides; the lower has a floor."""
    world = qdot.Mechanism("stacked", gravity=(0, 0, -10))
    lower = world.add("lower", Prismatic("z", limits=(0, 5)), Inertia.point(1.0, (0, 0, 0)))
    lower.add("upper", Prismatic("z", limits=second), Inertia.point(1.0, (0, 0, 0)))
    return qdot.assemble(world)


def test_what_is_carried_by_a_bouncing_block_does_not_feel_it() -> None:
    """The upper block falls freely, whatever the lower does."""
    run = qdot.simulate(stacked(), ([1.0, 5.0], [0.0, 0.0]), 1.0, 1e-2, limits=Stops(1.0))
    np.testing.assert_allclose(run.q.sum(axis=1), 6 - 5 * run.time**2, atol=1e-12)
    assert np.ptp(run.energy()) < 1e-10


@pytest.mark.parametrize("integrator", [*INTEGRATORS, "dormand-prince"])
def test_what_starts_at_a_stop_and_moves_out_bounces_once(integrator: str) -> None:
    model = block(limits=(0, 10), gravity=0)
    run = qdot.simulate(model, ([0.0], [-3.0]), 0.1, 1e-2, limits=Stops(0.5), integrator=integrator)
    np.testing.assert_allclose(run.v[1:], 1.5, rtol=1e-9)


@pytest.mark.parametrize(("restitution", "gain"), [(0.0, 1e-8), (0.9, 1e-8), (1.0, 1e-5)])
def test_coupled_joints_bounce_without_gaining_energy(restitution: float, gain: float) -> None:
    """Two rods between stops, 32 starts, three seconds: energy falls, up to rk4's own 2e-9; where none is lost, motion
    stays fast, and rk4 gains 1e-6 of it."""
    world = qdot.Mechanism("rods")
    inertia = Inertia.about_com(1.0, (0, 0, -0.5), (0.09, 0.09, 0.001))
    first = world.add("first", Revolute("y", limits=(-0.5, 0.5)), inertia)
    first.add("second", Revolute("y", limits=(-0.4, 0.6)), inertia, at=(0, 0, -1))
    model = qdot.assemble(world)
    rng = np.random.default_rng(0)
    start = rng.uniform(-0.35, 0.45, size=(32, 2)), 6 * rng.normal(size=(32, 2))
    run = qdot.simulate(model, start, 3.0, 1e-3, limits=Stops(restitution))
    E = run.energy()
    assert ((E - E[:, :1]).max(axis=1) / run.kinetic_energy()[:, 0]).max() < gain
    assert (np.abs(run.q - np.array([0, 0.1])) <= 0.5 + 1e-12).all()


def test_forces_at_a_stop_are_those_of_statics() -> None:
    """A block of 3 kg hangs on a gear of 1.3 from one of 1 kg that rests on its floor: the gear carries 30 N."""
    world = qdot.Mechanism("geared", gravity=(0, 0, -10))
    world.add("a", Prismatic("z", limits=(0, 1)), Inertia.point(1.0, (0, 0, 0)))
    world.add("b", Prismatic("z"), Inertia.point(3.0, (0, 0, 0)), at=(1, 0, 0))
    world.gear("gear", "b", "a", 1.3)
    run = qdot.simulate(qdot.assemble(world), ([0.2, 0.26], [0.0, 0.0]), 2.0, 1e-3)
    np.testing.assert_allclose(run.constraint_forces()["gear"][1500:], 30.0, rtol=1e-9)
