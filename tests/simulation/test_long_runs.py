"""What variational integrators keep over long times: energy without drift, momenta, constraints; and what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qdot
from qdot.errors import ModelError, SimulationError
from qdot.joints import Free, Prismatic, Revolute, Spherical
from qdot.model.library import double_pendulum, pendulum
from qdot.simulation.integrators import Rattle, Variational
from qdot.simulation.phase import Phase
from qdot.simulation.system import Inputs, Setup, System
from qdot.spatial import Inertia
from tests.formulations.systems import four_bar, four_bar_state
from tests.simulation.test_loop_cases import bricard

STEPS = 100_000


def solid(mass: float = 2.0, com: tuple[float, float, float] = (0, 0, 0)) -> Inertia:
    return Inertia.about_com(mass, com, (0.3, 0.5, 0.7))


def body(joint: Any, gravity: float = 0.0, com: tuple[float, float, float] = (0, 0, 0)) -> qdot.Model:
    world = qdot.Mechanism("body", gravity=(0, 0, -gravity))
    world.add("body", joint, solid(com=com))
    return qdot.assemble(world)


def free_pendulum() -> qdot.Model:
    """A free body, 1 m below a pivot in the world to which a loop holds it: maximal coordinates."""
    world = qdot.Mechanism("pendulum", gravity=(0, 0, -9.81))
    world.add("body", Free(), solid()).frame("hook", at=(0, 0, 1.0))
    world.frame("pivot")
    world.close("hinge", Revolute("y"), "pivot", "hook")
    return qdot.assemble(world)


def hanging(angle: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of the free pendulum."""
    s, c = np.sin(angle), np.cos(angle)
    q = np.array([np.cos(angle / 2), 0, np.sin(angle / 2), 0, -s, 0, -c])
    return q, np.array([0, rate, 0, -rate, 0, 0])


def parts_of_energy(run: Any) -> tuple[np.ndarray, np.ndarray]:
    """The energy less its first value, in the first and in the last tenth of a run."""
    e = qdot.energy(run.model, run.q, run.v)
    n = len(e) // 10
    return e[:n] - e[0], e[-n:] - e[0]


@pytest.mark.parametrize(
    ("model", "state", "dt", "integrator"),
    [
        (pendulum(), ([2.0], [0.0]), 0.02, "variational"),
        (body(Spherical()), ([1.0, 0, 0, 0], [0.1, 2.0, 0.1]), 0.05, "variational"),
        (free_pendulum(), hanging(2.0, 0.0), 0.02, "rattle"),
    ],
    ids=["pendulum", "asymmetric body", "free body on a loop"],
)
def test_energy_oscillates_without_drift(model: qdot.Model, state: Any, dt: float, integrator: str) -> None:
    """Its error is as large at the end as at the beginning, while that of rk4 grows with time, after 100 000 steps to
    many times the first. Means are of some thousand periods: where they begin and end makes a difference of less than
    1 % of the amplitude."""
    run = qdot.simulate(model, state, STEPS * dt, dt, integrator=integrator)
    first, last = parts_of_energy(run)
    amplitude = np.ptp(first)
    assert 0 < amplitude < 0.01 * (1 + abs(qdot.energy(model, run.q[0], run.v[0])))
    assert np.ptp(last) == pytest.approx(amplitude, rel=1e-2)
    assert last.mean() == pytest.approx(first.mean(), abs=1e-2 * amplitude)


def test_rk4_would_drift() -> None:
    """The measure of the test above sees drift where there is some."""
    first, last = parts_of_energy(qdot.simulate(pendulum(), ([2.0], [0.0]), STEPS * 0.02, 0.02, integrator="rk4"))
    assert abs(last.mean()) > 10 * np.ptp(first[:200])


def test_momentum_of_a_free_chain_is_conserved() -> None:
    """Angular and linear, to rounding: it tumbles for 100 s and comes 90 m far."""
    world = qdot.Mechanism("chain", gravity=(0, 0, 0))
    part = world.add("a", Free(), solid(1.0, (0.1, 0, 0.3)))
    part = part.add("b", Revolute("y"), solid(1.0, (0.1, 0, 0.3)), at=(0, 0, 0.5))
    part.add("c", Spherical(), solid(1.0, (0.1, 0, 0.3)), at=(0, 0, 0.5))
    model = qdot.assemble(world)
    v = np.random.default_rng(0).normal(size=model.nv)
    run = qdot.simulate(model, (model.home(), v), 100.0, 0.01, integrator="variational", record=100)
    momenta = np.array([list(qdot.momentum(model, q, v)) for q, v in zip(run.q, run.v, strict=True)])
    assert np.abs(momenta - momenta[0]).max() < 1e-10


def test_rattle_stays_on_the_constraints() -> None:
    """Without projection, in a mechanism that turns over: positions and velocities to rounding."""
    model = four_bar()
    run = qdot.simulate(model, four_bar_state(1.0, 8.0), 20.0, 2e-3, integrator="rattle", stabilisation="none")
    assert abs(run.q[-1, 0] - run.q[0, 0]) > 10
    assert run.drift[1:].max() < 1e-12
    first, last = parts_of_energy(run)
    assert np.ptp(last) < 1.5 * np.ptp(first)


def parallelogram(tilt: float = 0.0, **options: Any) -> qdot.Model:
    """Three bars of 1 m between points 1 m apart, on a line that is tilted."""
    world = qdot.Mechanism("parallelogram", gravity=(0, 0, -9.81))
    bar, part = Inertia.about_com(1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 1e-3)), world.world
    for name, at, turn in zip("abc", (0, 1, 1), (-tilt, np.pi / 2, np.pi / 2), strict=True):
        part = part.add(name, Revolute("y", **(options if name == "c" else {})), bar, at=(0, 0, at), home=turn)
    part.frame("end", at=(0, 0, 1))
    world.frame("base", at=(np.cos(tilt), 0, np.sin(tilt)))
    world.connect("closing", "base", "end")
    return qdot.assemble(world)


@pytest.mark.parametrize("integrator", ["rattle", "generalised alpha"])
@pytest.mark.parametrize("tilt", [0.0, 0.7])
def test_a_parallelogram_passes_the_line_in_which_it_is_flat(integrator: str, tilt: float) -> None:
    """At 6 rad/s, several times over: there J loses a row, and changes its sign. With a tilt no row vanishes by itself.
    rk4 at steps of 1e-4 is the reference."""
    model = parallelogram(tilt)
    state = qdot.projected(model, (model.home(), np.array([6.0, 0, 0])))
    fine = qdot.simulate(model, state, 2.0, 1e-4, record=20_000, integrator="rk4")
    for dt in (1e-2, 1e-3, 5e-4):
        run = qdot.simulate(model, state, 2.0, dt, integrator=integrator)
        energy = run.energy()
        assert abs(run.q[-1, 0] - run.q[0, 0]) > 4 * np.pi
        assert np.abs(energy - energy[0]).max() < (2e-2 if dt > 1e-3 else 1e-3) * run.kinetic_energy()[0]
        assert np.abs(run.q[-1] - fine.q[-1]).max() < 20 * dt**2
        assert run.drift[1:].max() < 1e-12


def test_rattle_moves_what_has_rows_that_repeat_others_only_on_the_constraints() -> None:
    """Bricard's mechanism, in steps as long as 0.01 s: within them its five rows are independent, all but for 1e-4."""
    model = bricard()
    run = qdot.simulate(model, (model.home(), np.zeros(model.nv)), 2.0, 0.01, integrator="rattle")
    energy = run.energy()
    assert np.abs(energy - energy[0]).max() < 1e-3 * np.ptp(run.kinetic_energy())
    assert run.drift[1:].max() < 1e-11


@pytest.mark.parametrize("integrator", ["rattle", "generalised alpha"])
def test_a_loop_stays_closed_when_it_meets_a_stop(integrator: str) -> None:
    """Impulses of stops turn velocities, and positions are put back to them; it comes to rest there."""
    model = parallelogram(limits=(1.0, 2.1))
    state = qdot.projected(model, (model.home(), np.array([3.0, 0, 0])))
    run = qdot.simulate(model, state, 2.0, 1e-3, integrator=integrator)
    assert run.q[:, 2].max() == pytest.approx(2.1, abs=1e-9)
    assert run.drift[1:].max() < 1e-11
    assert np.diff(run.energy()).max() < 1e-5


@pytest.mark.parametrize("integrator", ["variational", "rattle"])
@pytest.mark.parametrize("passive", [{"stiffness": 1.1 * 4e4}, {"damping": 1.1 * 2e2}])
def test_springs_and_dampers_that_are_too_strong_are_told(integrator: str, passive: dict[str, float]) -> None:
    """dt² k / 4 m and dt d / 2 m are 1.1: the iteration diverges, and the error says which integrator does not."""
    world = qdot.Mechanism("slider", gravity=(0, 0, 0))
    world.add("body", Prismatic("x"), Inertia.point(1.0, (0, 0, 0)), **passive)
    model, state = qdot.assemble(world), ([0.01], [0.3])
    with pytest.raises(SimulationError, match=r"take a shorter dt, or integrator='generalised alpha' where springs or"):
        qdot.simulate(model, state, 1.0, 1e-2, integrator=integrator)
    run = qdot.simulate(model, state, 1.0, 1e-2, integrator="generalised alpha")
    assert np.abs(run.q).max() < 0.02


def test_rattle_in_maximal_coordinates_is_the_variational_integrator_in_reduced_ones() -> None:
    """A body turns about a fixed point: the discrete actions are equal, and so is the motion."""
    world = qdot.Mechanism("top", gravity=(0, 0, -9.81))
    world.add("body", Free(), solid()).frame("tip", at=(0, -1, 0))
    world.frame("point")
    world.close("ball", Spherical(), "point", "tip")
    maximal, reduced = qdot.assemble(world), body(Spherical(), 9.81, (0, 1, 0))
    turn, v = [1.0, 0, 0, 0], np.array([1.0, 9.0, -2.0])
    one = qdot.simulate(reduced, (turn, v), 2.0, 0.01, integrator="variational")
    state = [*turn, 0, 1, 0], [*v, *np.cross(v, [0, 1, 0])]
    two = qdot.simulate(maximal, state, 2.0, 0.01, integrator="rattle")
    assert np.abs(two.q[:, :4] - one.q).max() < 1e-10
    assert np.abs(two.v[:, :3] - one.v).max() < 1e-10
    # the forces of the loop are those that the ball joint carries, within the order of the method
    rk4 = qdot.simulate(maximal, state, 2.0, 0.0025, integrator="rk4")
    mean = (rk4.multipliers[1::4] + rk4.multipliers[3::4]) / 2  # at a quarter and three quarters of each step
    assert np.abs(two.multipliers[1:] - mean[: len(two.multipliers) - 1]).max() < 0.02 * np.abs(mean[1:]).max()


def test_constraints_are_not_for_the_variational_integrator() -> None:
    with pytest.raises(ModelError, match=r"'closing'.*integrator='rattle'"):
        qdot.simulate(four_bar(), four_bar_state(1.0, 1.0), 0.1, 0.01, integrator="variational")


@pytest.mark.parametrize("kind", [Variational, Rattle])
def test_equations_that_are_not_solved_give_no_state(kind: type[Variational | Rattle]) -> None:
    """A step in which a double pendulum would turn over more than once: NaN in place of a wrong state."""
    system, integrator = System(double_pendulum(), Setup()), kind()
    phase = Phase(0.0, [1.0, 1.0], [30.0, -40.0], [], [])
    after = integrator.step(system, phase, Inputs([], [0.0, 0.0]), 0.2, integrator.memory(system))
    assert np.isnan(after.phase.v).all()
    assert np.isnan(after.phase.q).all()
    assert "take a shorter dt" in str(integrator.failure([float(x) for x in after.memory]))
    fine = integrator.step(system, phase, Inputs([], [0.0, 0.0]), 0.002, integrator.memory(system))
    assert np.isfinite(fine.phase.v).all()
    assert integrator.failure([float(x) for x in fine.memory]) is None
