"""Published closed loops, with reduced and with maximal coordinates: the problems A02 and A04 of the IFToMM benchmark.

The four-bar mechanism in a row of N windows (Bayo and Avello, Nonlinear Dynamics 5, 1994) passes, twice a revolution,
through the position in which all bars lie in one line and a way branches off. Bricard's mechanism moves although by a
count of its constraints it should not. References are of the library of benchmark problems at LIM, La Coruña;
tolerances are those of the benchmark, [m] and [s].
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, CubicSpline

import qdot
from qdot.algebra import Vec3
from qdot.formulations.maximal import to_maximal
from qdot.joints import Revolute
from qdot.simulation.simulate import simulate
from qdot.simulation.trajectory import Trajectory
from qdot.spatial import Inertia

TOLERANCE = 1e-5

# ── A02 ──────────────────────────────────────────────────────────────────────────────────────────


def bar(direction: tuple[float, float, float]) -> Inertia:
    """A thin rod of one kilogram and one metre from the origin, of a little thickness."""
    middle = Vec3(*direction) / 2
    moments = [1 / 12 if x == 0 else 1e-3 for x in direction]
    return Inertia.about_com(1.0, middle, tuple(moments))


def windows(n: int) -> qdot.Model:
    """Uprights on the ground a metre apart, and rods from each to the next."""
    world = qdot.Mechanism(f"four_bar_{n}", gravity=(0, -9.81, 0))
    uprights = [world.add(f"upright{k}", Revolute("z"), bar((0, 1, 0)), at=(k, 0, 0)) for k in range(n + 1)]
    for k in range(1, n + 1):
        rod = uprights[k - 1].add(f"rod{k}", Revolute("z"), bar((1, 0, 0)), at=(0, 1, 0))
        rod.frame(f"end{k}", at=(1, 0, 0))
        uprights[k].frame(f"top{k}", at=(0, 1, 0))
        world.close(f"pin{k}", Revolute("z"), f"top{k}", f"end{k}")
    uprights[0].frame("B0", at=(0, 1, 0))
    return qdot.assemble(world)


def pushed(model: qdot.Model) -> tuple[np.ndarray, np.ndarray]:
    """Upright, with B0 moving at 1 m/s along x: uprights turn, rods stay level."""
    speeds = {b.joint_name: -1.0 if b.name.startswith("upright") else 1.0 for b in model.bodies}
    return np.zeros(model.nv), np.array([speeds[name] for name in model.dof_names()])


def place(run: Trajectory, frame: str) -> np.ndarray:
    return np.array(list(qdot.frame_pose(run.model, run.q[-1], frame).position))


@pytest.mark.parametrize("maximal", [False, True])
def test_two_windows(maximal: bool) -> None:
    model = windows(2)
    state = pushed(model)
    if maximal:
        apart = to_maximal(model)
        model, state = apart.model, apart.state(*state)
    run = simulate(model, state, 10.0, 1e-3, record=1000)
    assert np.abs(place(run, "B0")[:2] - (0.32845811149454524, 0.9445185381946914)).max() < TOLERANCE


def test_forty_windows_in_maximal_coordinates() -> None:
    """81 free bodies and 121 hinges; the error at this step is 5e-7."""
    tree = windows(40)
    apart = to_maximal(tree)
    run = simulate(apart.model, apart.state(*pushed(tree)), 10.0, 5e-3, solver="sparse", record=2000)
    assert np.abs(place(run, "B0")[:2] - (0.18051222664838995, 0.9835727405893477)).max() < TOLERANCE


def test_forty_windows() -> None:
    """All turn as one: the motion of B0 is that of a single upright with its share of the rods."""
    model = windows(40)
    run = simulate(model, pushed(model), 10.0, 2e-3, solver="sparse")
    assert np.abs(place(run, "B0")[:2] - (0.18051222664838995, 0.9835727405893477)).max() < TOLERANCE
    first = model.joint("upright0")
    angle = CubicHermiteSpline(run.time, run.q[:, first.qs.start], run.v[:, first.dofs.start])
    (revolution,) = angle.solve(-2 * np.pi, extrapolate=False)[:1]
    assert abs(revolution - 1.9656019287046498) < 1e-6


# ── A04 ──────────────────────────────────────────────────────────────────────────────────────────

CORNERS = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
AXES = "yzxyzx"


def bricard() -> qdot.Model:
    """Five bars of a square section along edges of a cube, from corner to corner, with hinges along other edges."""
    world = qdot.Mechanism("bricard", gravity=(0, -9.81, 0))
    part, at = world.world, Vec3(0, 0, 0)
    for k, (a, b) in enumerate(pairwise(CORNERS)):
        along = Vec3(*b) - Vec3(*a)
        moments = tuple((0.1**2 + 0.1**2) / 12 if x else (1 + 0.1**2) / 12 for x in along)
        part = part.add(f"bar{k}", Revolute(AXES[k]), Inertia.about_com(1.0, along / 2, moments), at=at)
        part.frame(f"P{k}")
        at = along
    part.frame("end", at=at)
    world.frame("P5", at=CORNERS[5])
    world.close("closing", Revolute(AXES[5]), "P5", "end")
    return qdot.assemble(world)


@pytest.mark.parametrize("maximal", [False, True])
def test_bricard(maximal: bool) -> None:
    model = bricard()
    state = model.home(), np.zeros(model.nv)
    if maximal:
        apart = to_maximal(model)
        model, state = apart.model, apart.state(*state)
    run = simulate(model, state, 2.0, 1e-3)
    expected = (-0.7781353730333136, -0.9803526834432432, -0.19725267061681162)
    assert np.abs(place(run, "P2") - expected).max() < TOLERANCE


def test_the_period_of_bricard() -> None:
    """At rest again after one."""
    model = bricard()
    run = simulate(model, (model.home(), np.zeros(model.nv)), 5.2, 1e-3)
    at_rest = CubicSpline(run.time, run.v[:, 0]).roots(extrapolate=False)
    assert np.abs(at_rest[at_rest > 0.1][1] - 4.991711513701517) < TOLERANCE
