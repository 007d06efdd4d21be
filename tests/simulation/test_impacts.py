"""Things that bounce off their stops: impacts are found within steps, and motion keeps the order of its integrator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import qdot
from qdot.algebra import sin
from qdot.joints import Prismatic, Revolute, Spherical
from qdot.simulation import Driven, Stops
from qdot.simulation.integrators import INTEGRATORS
from qdot.spatial import Inertia

LOWER, UPPER = np.array([-0.5, -0.4]), np.array([0.5, 0.6])
GENTLE = np.array([0.1, -0.1]), np.array([1.5, 2.0])


def rods() -> qdot.Model:
    """A double pendulum between stops."""
    world = qdot.Mechanism("rods")
    inertia = Inertia.about_com(1.0, (0, 0, -0.5), (0.09, 0.09, 0.001))
    first = world.add("first", Revolute("y", limits=(LOWER[0], UPPER[0])), inertia)
    first.add("second", Revolute("y", limits=(LOWER[1], UPPER[1])), inertia, at=(0, 0, -1))
    return qdot.assemble(world)


def reference(seconds: float, restitution: float) -> tuple[np.ndarray, int]:
    """Of the rods from a gentle start, by SciPy's events at 1e-13, and the number of impacts; the impulse at joint k
    goes along column k of M⁻¹."""
    model = rods()

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[2:], qdot.forward_dynamics(model, y[:2], y[2:], np.zeros(2))])

    def meeting(k: int, side: int):
        def gap(t: float, y: np.ndarray) -> float:
            return float(y[k] - UPPER[k] if side > 0 else LOWER[k] - y[k])

        gap.terminal, gap.direction = True, 1.0  # type: ignore[attr-defined]
        return gap

    met = [meeting(k, side) for k in (0, 1) for side in (-1, 1)]
    time, y, impacts = 0.0, np.concatenate(GENTLE), 0
    while True:
        piece = solve_ivp(rates, (time, seconds), y, method="DOP853", rtol=1e-13, atol=1e-13, events=met)
        time, y = piece.t[-1], piece.y[:, -1].copy()
        if piece.status == 0:
            return y, impacts
        impacts += 1
        k = next(n for n, times in enumerate(piece.t_events) if len(times)) // 2
        column = np.linalg.inv(qdot.mass_matrix(model, y[:2]))[:, k]
        y[2:] -= column / column[k] * (1 + restitution) * y[2 + k]
        y[k] = np.clip(y[k], LOWER[k] + 1e-15, UPPER[k] - 1e-15)


@pytest.fixture(scope="module")
def half_elastic() -> np.ndarray:
    state, impacts = reference(1.0, 0.5)
    assert impacts == 4
    return state


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_motion_across_impacts_keeps_the_order_of_the_integrator(integrator: str, half_elastic: np.ndarray) -> None:
    """Four impacts in a second, both joints coupled, against events located by another program."""
    steps, errors = [5e-3, 2.5e-3, 1.25e-3], []
    for dt in steps:
        run = qdot.simulate(rods(), GENTLE, 1.0, dt, limits=Stops(0.5), integrator=integrator, record=1000)
        errors.append(np.abs(np.concatenate([run.q[-1], run.v[-1]]) - half_elastic).max())
    if integrator == "dormand-prince":
        assert max(errors) < 1e-8  # its tolerance, however long dt is
        return
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(INTEGRATORS[integrator].order, abs=0.25)


def test_elastic_bounces_of_coupled_joints_keep_their_energy() -> None:
    """32 fast starts (up to 20 rad/s), some 60 impacts each: what is lost is rk4's own, and shrinks like dt⁴ or
    faster."""
    rng = np.random.default_rng(0)
    start = rng.uniform(-0.35, 0.45, size=(32, 2)), 6 * rng.normal(size=(32, 2))
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        run = qdot.simulate(rods(), start, 3.0, dt, limits=Stops(1.0))
        E = run.energy()
        errors.append((np.abs(E - E[:, :1]).max(axis=1) / run.kinetic_energy()[:, 0]).max())
        assert (run.q >= LOWER).all()
        assert (run.q <= UPPER).all()
    assert errors[1] < 1e-4  # 15 to 20 % where impacts are put at the end of steps
    assert errors[0] / errors[1] > 14
    assert errors[1] / errors[2] > 14


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_runs_go_on_and_batches_are_single_runs(integrator: str) -> None:
    """Bit for bit, what integrators remember included; and the ledger tells what impacts took."""
    options = {"limits": Stops(0.6), "integrator": integrator, "ledger": True}
    q, v = np.tile(GENTLE[0], (3, 1)), np.outer([1.0, -0.8, 1.7], GENTLE[1])
    batch = qdot.simulate(rods(), (q, v), 0.6, 1e-3, **options)
    for k in range(3):
        half = qdot.simulate(rods(), (q[k], v[k]), 0.3, 1e-3, **options)
        run = half.joined(qdot.simulate(rods(), half, 0.3, **options))
        for name in ("q", "v", "work"):
            assert np.array_equal(getattr(run, name), getattr(batch, name)[k])
    assert (batch.work[:, -1, batch.ledger.index("impacts")] < -0.9).all()
    open_by = {1: 0.05, 2: 2e-4}.get(INTEGRATORS[integrator].order, 1e-9)  # the integrator's own error of energy [J]
    assert np.abs(batch.balance()[:, -1]).max() < open_by


def block(gravity: float = -10.0, friction: float = 0.0) -> qdot.Model:
    world = qdot.Mechanism("block", gravity=(0, 0, gravity))
    world.add("block", Prismatic("z", limits=(-1, 1)), Inertia.point(2.0, (0, 0, 0)), friction=friction)
    return qdot.assemble(world)


@pytest.mark.parametrize("integrator", ["semi-implicit euler", "rk4", "dormand-prince", "generalised alpha"])
@pytest.mark.parametrize("resting", [0.01, 0.0])
def test_bouncing_comes_to_an_end(integrator: str, resting: float) -> None:
    """Infinitely many bounces in √(2 h / g) (1 + e) / (1 - e) = 1.34 s; then it rests on the stop, and stays."""
    run = qdot.simulate(block(), None, 3.0, 1e-2, limits=Stops(0.5, resting), integrator=integrator)
    ended = run.time >= 1.4
    assert (run.q[ended] == -1).all()
    assert (run.v[ended] == 0).all()
    assert (run.v[(run.time > 0.5) & (run.time < 1.2)] != 0).all()


def test_friction_acts_between_impacts() -> None:
    """v² falls by 2 μ s along the way, and to e² of it at each stop: from 9 it comes to rest at -0.6832."""
    run = qdot.simulate(block(gravity=0, friction=1.0), ([0.0], [3.0]), 8.0, 1e-2, limits=Stops(0.6), ledger=True)
    assert run.q[-1, 0] == pytest.approx(-0.6832, abs=2.5e-5)  # ½ a dt²: where it rests, is told at the end of a step
    assert run.v[-1] == 0
    assert np.abs(run.balance()).max() < 1e-12


def test_stops_that_are_met_at_once_act_together() -> None:
    """Two arms of a falling body, each the other's mirror image, meet their stops at the same time: they stay so, and
    come to rest, the body on its floor."""
    world = qdot.Mechanism("bird")
    body = world.add("body", Prismatic("z", limits=(0, 3)), Inertia.point(1.0, (0, 0, 0)))
    for side in (1, -1):
        inertia = Inertia.about_com(1.0, (side * 0.5, 0, 0), (0.1, 0.1, 0.1))
        body.add(f"arm{side}", Revolute("y", limits=(-0.4, 0.4)), inertia)
    model = qdot.assemble(world)
    run = qdot.simulate(model, ([0.5, 0.1, -0.1], [-1.0, 2.0, -2.0]), 6.0, 1e-3, limits=Stops(0.7), ledger=True)
    np.testing.assert_allclose(run.q[:, 1], -run.q[:, 2], atol=1e-10)
    np.testing.assert_allclose(run.q[-1], [0, 0.4, -0.4], atol=1e-12)
    np.testing.assert_allclose(run.v[-1], 0, atol=1e-12)
    assert np.diff(run.energy()).max() < 1e-6  # rk4's own
    assert np.abs(run.balance()).max() < 1e-8


def test_what_curves_bounces_elastically() -> None:
    """A weight on a rope of 1 m, and the angle of a slender rod on a ball joint, at a long step."""
    world = qdot.Mechanism("rope")
    side = world.add("side", Prismatic("x"), Inertia.point(0.0, (0, 0, 0)))
    side.add("weight", Prismatic("z"), Inertia.point(1.0, (0, 0, 0))).frame("hand")
    world.frame("hook")
    world.tendon("rope", ["hook", "hand"], range=(0, 1.0))
    run = qdot.simulate(qdot.assemble(world), ([0.5, 0.1], [1.0, 1.0]), 4.0, 1e-2, limits=Stops(1.0))
    assert np.hypot(*run.q.T).max() < 1 + 1e-9
    assert np.ptp(run.energy()) < 1e-9  # parabolas: rk4 is exact
    world = qdot.Mechanism("ball")
    world.add("rod", Spherical(limits=(0, 0.7)), Inertia.about_com(1.0, (0, 0, 0.5), (0.083, 0.083, 1e-4)))
    q = np.array([np.cos(0.1), np.sin(0.1) * 0.6, np.sin(0.1) * 0.8, 0])
    run = qdot.simulate(qdot.assemble(world), (q, np.array([1.0, -2.0, 3.0])), 3.0, 1e-2, limits=Stops(1.0))
    assert (2 * np.arccos(np.abs(run.q[:, 0]))).max() < 0.7 + 1e-9
    E = run.energy()
    assert np.abs(E - E[0]).max() < 1e-3 * E[0]  # rk4's own: it loses, never gains
    assert (E - E[0]).max() < 1e-6


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_what_is_driven_past_its_stop_leaves_others_alone(restitution: float) -> None:
    """No impulse moves a cart that is driven; the pole on it keeps to its own stops all the same."""
    world = qdot.Mechanism("cart")
    cart = world.add("cart", Prismatic("x", limits=(-0.2, 0.2)), Inertia.point(2.0, (0, 0, 0)))
    cart.add("pole", Revolute("y", limits=(-0.5, 0.5)), Inertia.point(1.0, (0, 0, -1)))
    drive = Driven("cart", lambda t: 0.3 * sin(3 * t))
    state = [0.0, 0.1], [0.9, 0.0]
    run = qdot.simulate(qdot.assemble(world), state, 3.0, 1e-3, limits=Stops(restitution), constraints=[drive])
    np.testing.assert_allclose(run.q[:, 0], 0.3 * np.sin(3 * run.time), atol=1e-12)
    assert np.abs(run.q[:, 1]).max() == pytest.approx(0.5, abs=1e-3)  # it comes there
    assert np.abs(run.q[:, 1]).max() < 0.5 + 1e-12


def test_a_loop_bounces_elastically() -> None:
    """A four-bar linkage whose last joint has stops: constraint and energy are kept."""
    world = qdot.Mechanism("loop")
    part, at = world.world, (0.0, 0.0, 0.0)
    home = [0.6, 0.9, 1.0]
    for k, limits in enumerate([None, None, (0.3, 1.9)]):
        inertia = Inertia.about_com(1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
        part = part.add(f"bar{k}", Revolute("y", limits=limits), inertia, at=at, home=home[k])
        at = (0.0, 0.0, 1.0)
    part.frame("end", at=at)
    world.frame("held", at=tuple(qdot.frame_pose(qdot.assemble(world), home, "end").position))
    world.close("closing", Revolute("y"), "held", "end")
    model = qdot.assemble(world)
    run = qdot.simulate(model, qdot.projected(model, (home, np.array([3.0, 0, 0]))), 1.5, 1e-3, limits=Stops(1.0))
    assert np.diff(np.sign(run.v[:, 2])).any()
    assert np.nanmax(run.drift[:, 0]) < 1e-12
    E = run.energy()
    assert np.abs(E - E[0]).max() < 1e-7  # rk4's own is 2e-8
    assert run.q[:, 2].max() < 1.9 + 1e-9
    assert run.q[:, 2].min() > 0.3 - 1e-9
