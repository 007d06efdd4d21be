"""Stiff dampers and springs: integrators that stay stable, beside those that do not; and MuJoCo, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qdot
from qdot.errors import ValueShapeError
from qdot.joints import Prismatic, Revolute, Spherical
from qdot.simulation.forces import JointForce
from qdot.simulation.integrators import INTEGRATORS, GeneralisedAlpha, ImplicitVelocity, Integrator
from qdot.simulation.phase import Phase
from qdot.simulation.system import Inputs, Setup, System
from qdot.spatial import Inertia
from tests.formulations.systems import four_bar, four_bar_state

MASS, DT = 2.0, 0.01


def slider(pull: float = 1.0, **passive: Any) -> qdot.Model:
    """2 kg along x, pulled by 1 m/s²."""
    world = qdot.Mechanism("slider", gravity=(pull, 0, 0))
    world.add("body", Prismatic("x"), Inertia.about_com(MASS, (0, 0, 0), (1, 1, 1)), **passive)
    return qdot.assemble(world)


def last(model: qdot.Model, integrator: Integrator, q: float, v: float, steps: int) -> tuple[float, float]:
    """(q, v) after some steps, on plain numbers; nothing is said of a motion that explodes."""
    system, memory = System(model, Setup()), integrator.memory(System(model, Setup()))
    phase = Phase(0.0, [q], [v], [], [])
    for _ in range(steps):
        stepped = integrator.step(system, phase, Inputs([], [0.0]), DT, memory)
        phase, memory = stepped.phase, list(stepped.memory)
    return phase.q[0], phase.v[0]


# -- dampers -----------------------------------------------------------------------------------------------------------


def test_a_stiff_damper() -> None:
    """d dt / m = 5000: the speed comes to that at which the damper carries the pull, 2e-6 m/s, at once."""
    model = slider(damping=5000 * MASS / DT)
    _, v = last(model, ImplicitVelocity(), 0.0, 1.0, 5)
    assert v == pytest.approx(DT / 5000, rel=1e-9)
    assert abs(last(model, INTEGRATORS["semi-implicit euler"](), 0.0, 1.0, 5)[1]) > 1e18


def test_the_work_of_a_stiff_damper_is_what_the_motion_loses() -> None:
    run = qdot.simulate(
        slider(damping=500 * MASS / DT), ([0.0], [1.0]), 0.1, DT, integrator="implicit velocity", ledger=True
    )
    E = qdot.energy(run.model, run.q, run.v)
    # Δv M v̄ is the change of kinetic energy to rounding; the pull does no work yet that q does not show
    assert run.work[:, 0] == pytest.approx(E - E[0], abs=0.02 * E[0])


def test_a_stiff_damper_in_a_closed_loop() -> None:
    """A damper of 1e4 on the joint of a four-bar's coupler: it creeps, and the loop stays closed."""

    def force(q: Any, v: Any) -> list[Any]:
        return [0, -1e4 * v[1], 0]

    state = four_bar_state(1.0, 0.0)
    run = qdot.simulate(
        four_bar(), state, 1.0, DT, integrator="implicit velocity", forces=[JointForce("damper", force)]
    )
    assert 0 < np.abs(run.v[1:, 1]).max() < 1e-3
    assert run.drift[1:].max() < 1e-9


def test_forces_that_are_not_symmetric_in_velocities() -> None:
    """A magnetic field on a charge that moves in the plane: it turns v, whose length a step changes by its order only.

    By hand: (1 - dt B) Δv = dt B v, with B = [[0, b], [-b, 0]], so |v'|² = |v|² / (1 + (dt b)²).
    """
    world = qdot.Mechanism("charge", gravity=(0, 0, 0))
    cart = world.add("cart", Prismatic("x"), Inertia.point(0.0, (0, 0, 0)), armature=1.0)
    cart.add("charge", Prismatic("y"), Inertia.point(0.0, (0, 0, 0)), armature=1.0)
    model, b = qdot.assemble(world), 40.0
    field = JointForce("field", lambda q, v: [b * v[1], -b * v[0]])
    run = qdot.simulate(model, ([0.0, 0.0], [3.0, 0.0]), 10 * DT, DT, integrator="implicit velocity", forces=[field])
    lengths = np.hypot(*run.v.T)
    assert lengths == pytest.approx(3.0 * (1 + (DT * b) ** 2) ** (-np.arange(11) / 2), rel=1e-12)


ARM = """<mujoco>
<option gravity="0 0 -9.81" timestep="0.01" integrator="{integrator}"><flag contact="disable"/></option>
<worldbody><body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0" damping="3" armature="0.02"/>
  <inertial pos="0 0 -.2" mass="1.2" diaginertia=".02 .03 .01"/>
  <body name="b" pos="0 0 -.4"><joint name="j2" axis="1 0 0" damping=".7" stiffness="2"/>
    <inertial pos=".05 0 -.15" mass=".8" diaginertia=".01 .02 .01"/>
    <body name="c" pos="0 .1 -.3"><joint name="j3" type="slide" axis="0 0 1" damping="20"/>
      <inertial pos="0 0 -.1" mass=".5" diaginertia=".01 .01 .01"/></body></body></body></worldbody>
<actuator><position joint="j1" kp="30" kv="4"/><velocity joint="j2" kv="2"/>
  <general joint="j3" gaintype="affine" gainprm="2 0 -3" biastype="affine" biasprm="0 -5 -1"/></actuator></mujoco>"""


@pytest.mark.parametrize(("peer", "coriolis"), [("implicitfast", False), ("implicit", True)])
def test_steps_are_those_of_mujoco(peer: str, coriolis: bool) -> None:
    """Dampers, springs, and actuators whose gains depend on velocity: to rounding, step by step."""
    mujoco = pytest.importorskip("mujoco")
    text = ARM.format(integrator=peer)
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u = [0.3, -0.8, 0.05], [1.0, -2.0, 0.7], [0.2, 0.5, 1.5]
    run = qdot.simulate(qdot.load(text), (q, v), 0.1, DT, control=u, integrator=ImplicitVelocity(coriolis=coriolis))
    for k in range(1, 11):
        mujoco.mj_step(theirs, data)
        assert run.q[k] == pytest.approx(data.qpos, abs=1e-10)
        assert run.v[k] == pytest.approx(data.qvel, abs=1e-10)


# -- springs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.2, 0.5, 0.8, 1.0])
def test_a_stiff_spring(radius: float) -> None:
    """k dt² / m = 1e6, far beyond what steps can follow: the oscillation shrinks by the spectral radius a step, and rk4
    explodes. -ρ is a threefold root, nearly, so x_n goes like n² ρⁿ: from 60 to 100 steps that is 2.6 % a step more."""
    model = slider(0.0, stiffness=1e6 * MASS / DT**2)
    behind, ahead = (abs(last(model, GeneralisedAlpha(radius), 1e-3, 0.0, n)[0]) for n in (60, 100))
    assert (ahead / behind) ** (1 / 40) == pytest.approx(radius, rel=0.06)
    assert ahead <= 1.001e-3
    assert abs(last(model, INTEGRATORS["rk4"](), 1e-3, 0.0, 10)[0]) > 1e20


def test_the_spectral_radius_0_takes_a_fast_vibration_away_at_once() -> None:
    model = slider(0.0, stiffness=1e6 * MASS / DT**2)
    assert abs(last(model, GeneralisedAlpha(0.0), 1e-3, 0.0, 5)[0]) < 1e-8


def test_slow_motion_beside_a_stiff_spring() -> None:
    """A pendulum on a mount that hardly gives way, kp dt² / m = 1e4: it swings as one on a point does."""
    length, g, angle = 1.0, 9.81, 0.1

    def pendulum(mounted: bool) -> qdot.Model:
        world = qdot.Mechanism("pendulum", gravity=(0, 0, -g))
        mount = world.world
        if mounted:
            stiff = 1e4 * MASS / DT**2
            mount = world.add("mount", Prismatic("x"), Inertia.about_com(MASS, (0, 0, 0), (1, 1, 1)), stiffness=stiff)
        mount.add("rod", Revolute("y"), Inertia.point(1.0, (0, 0, -length)))
        return qdot.assemble(world)

    on_a_point = qdot.simulate(pendulum(False), ([angle], [0.0]), 5.0, DT, integrator="rk4")
    mounted = qdot.simulate(pendulum(True), ([0.0, angle], [0.0, 0.0]), 5.0, DT, integrator="generalised alpha")
    # second order: phase errors of (dt ω)²/12 of 16 radians, and a little numerical damping
    assert np.abs(mounted.q[:, 1] - on_a_point.q[:, 0]).max() < 0.02 * angle


def test_the_heavy_top() -> None:
    """The benchmark of Geradin, Cardona (2001) and Brüls, Cardona, Arnold (2012): 150 rad/s about a horizontal axis.

    Where the centre of mass is after 1 s. v is in the body, where it turns at some 150 rad/s: at dt = 1e-3 a method of
    order 2 is off by centimetres, so steps are shorter.
    """
    world = qdot.Mechanism("top", gravity=(0, 0, -9.81))
    world.add("top", Spherical(), Inertia.about_com(15.0, (0, 1, 0), (0.234375, 0.46875, 0.234375)))
    model, state = qdot.assemble(world), ([1.0, 0, 0, 0], [0.0, 150.0, -4.61538])
    reference = np.array([0.1733439640976475, 0.6400885920743503, -0.7484907911299926])
    errors = []
    for dt in (1e-4, 5e-5, 2.5e-5):
        run = qdot.simulate(model, state, 1.0, dt, integrator="generalised alpha", record=1000)
        errors.append(np.abs(qdot.center_of_mass(model, run.q[-1]) - reference).max())
    assert errors[-1] < 1e-4
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([2, 2], abs=0.05)


def test_generalised_alpha_keeps_constraints_by_itself() -> None:
    """Without projection: positions by the method; of velocities what is across is not told."""
    run = qdot.simulate(
        four_bar(), four_bar_state(1.0, 3.0), 1.0, 0.004, integrator="generalised alpha", stabilisation="none"
    )
    assert run.drift[1:].max() < 1e-12


def test_generalised_alpha_at_rest() -> None:
    """A four-bar in balance: accelerations are zero, and rounding of positions, over dt², is all that is corrected."""
    world = qdot.Mechanism("window", gravity=(0, 0, -9.81))
    bars = [Inertia.about_com(1.0, (0, 0, 0.5), (0.1, 0.1, 0.1))] * 3
    part = world.world
    for name, bar, at, turn in zip("abc", bars, (0, 1, 1), (0, np.pi / 2, np.pi / 2), strict=True):
        part = part.add(name, Revolute("y"), bar, at=(0, 0, at), home=turn)
    part.frame("end", at=(0, 0, 1))
    world.frame("base", at=(1, 0, 0))
    world.connect("closing", "base", "end")
    for dt in (1e-2, 1e-5):
        run = qdot.simulate(qdot.assemble(world), None, 100 * dt, dt, integrator="generalised alpha")
        assert np.abs(run.v).max() < 1e-10


def test_generalised_alpha_follows_stops() -> None:
    """A double pendulum that strikes stops some twenty times: the ledger closes to order 2. With what it remembered
    from before an impact it would gain 1 % of its energy there, whatever dt."""
    world = qdot.Mechanism("arm", gravity=(0, 0, -9.81))
    rod = Inertia.about_com(1.0, (0, 0, -0.5), (1 / 12, 1 / 12, 1e-3))
    upper = world.add("upper", Revolute("y", limits=(-0.5, 0.5)), rod)
    upper.add("lower", Revolute("y", limits=(-0.4, 0.6)), rod, at=(0, 0, -1))
    model = qdot.assemble(world)
    gaps = []
    for dt in (2e-3, 1e-3):
        run = qdot.simulate(model, ([0.1, 0.1], [5.0, -5.0]), 2.0, dt, integrator="generalised alpha", ledger=True)
        assert run.q.max(axis=0) == pytest.approx([0.5, 0.6], abs=1e-9)
        gaps.append(np.abs(run.balance()).max())
    assert gaps[1] < 1e-4
    assert 3 < gaps[0] / gaps[1] < 5


def test_generalised_alpha_goes_on_from_a_state_that_was_set() -> None:
    """Someone stops a pendulum and lifts it: the next step is as good as one without anything behind it."""
    world = qdot.Mechanism("pendulum", gravity=(0, 0, -9.81))
    world.add("rod", Revolute("y"), Inertia.point(1.0, (0, 0, -1)))
    system, integrator = System(qdot.assemble(world), Setup()), GeneralisedAlpha()

    def stepped(q: float, v: float, memory: Any, steps: int, kind: Integrator = integrator) -> tuple[Phase, Any]:
        phase = Phase(0.0, [q], [v], [], [])
        for _ in range(steps):
            done = kind.step(system, phase, Inputs([], [0.0]), DT, memory)
            phase, memory = done.phase, list(done.memory)
        return phase, memory

    _, behind = stepped(1.5, 2.0, integrator.memory(system), 5)
    exact, _ = stepped(-0.3, 0.0, [], 5, INTEGRATORS["rk4"]())
    fresh, _ = stepped(-0.3, 0.0, integrator.memory(system), 5)
    after, _ = stepped(-0.3, 0.0, behind, 5)
    assert abs(after.v[0] - exact.v[0]) < 1e-3  # with 9.8 m/s² from before it would be off by 0.05
    assert abs(after.v[0] - fresh.v[0]) < 1e-3
    assert abs(after.q[0] - exact.q[0]) < 1e-4


@pytest.mark.parametrize("radius", [0.2, 0.8])
def test_a_stiff_spring_that_is_pushed_differently_in_every_step(radius: float) -> None:
    """k dt² / m = 1e6: it gives way some times as far as the push asks for, since what a jump excites shrinks by ρ a
    step only; nothing grows."""
    stiffness = 1e6 * MASS / DT**2
    push = np.random.default_rng(0).uniform(-1, 1, size=(500, 1))
    run = qdot.simulate(
        slider(0.0, stiffness=stiffness), None, 500 * DT, DT, tau=push, integrator=GeneralisedAlpha(radius)
    )
    assert np.abs(run.q).max() < 20 / stiffness
    assert np.abs(run.q[250:]).max() < 2 * np.abs(run.q[:250]).max()


def test_equations_that_are_not_solved_give_no_state() -> None:
    """A force without any solution at the end of the step, x² + 1 = 0."""
    model = slider()
    setup = Setup(forces=(JointForce("none", lambda q, v: [1e9 * (q[0] * q[0] + 1)]),))
    system, integrator = System(model, setup), GeneralisedAlpha()
    stepped = integrator.step(
        system, Phase(0.0, [0.0], [0.0], [], []), Inputs([], [0.0]), 0.1, integrator.memory(system)
    )
    assert np.isnan(stepped.phase.v[0])
    assert "take a shorter dt" in str(integrator.failure([float(x) for x in stepped.memory]))


@pytest.mark.parametrize("radius", [-0.1, 1.1, float("nan"), "large"])
def test_spectral_radii_that_are_refused(radius: Any) -> None:
    with pytest.raises(ValueShapeError, match="from 0 to 1"):
        GeneralisedAlpha(radius)
