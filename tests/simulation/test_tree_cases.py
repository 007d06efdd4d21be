"""Published motions of trees once more in maximal coordinates: points held by rods, and a top held at its tip."""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot.joints import Prismatic, Spherical
from qdot.simulation.integrators import DormandPrince
from qdot.spatial import Inertia

FINE = DormandPrince(rtol=1e-11, atol=1e-12)


def points_on_rods(lengths: list[float]) -> qdot.Model:
    """Masses of 1 kg in the x–z plane, each on two slides of its own, the first held to the origin, the next to it."""
    world = qdot.Mechanism("points")
    last = "world"
    for k, x in enumerate(np.cumsum(lengths)):
        slide = world.add(f"slide{k}", Prismatic("x"), home=float(x))
        slide.add(f"point{k}", Prismatic("z"), Inertia.point(1.0, (0, 0, 0)))
        world.distance(f"rod{k}", last, f"point{k}", abs(lengths[k]))
        last = f"point{k}"
    return qdot.assemble(world)


def test_pendulum_a01() -> None:
    """IFToMM/LIM benchmark A01 (González et al. 2006): released horizontally at x = -1 m, position after 10 s."""
    run = qdot.simulate(points_on_rods([-1.0]), None, 10.0, 0.01, integrator=FINE, record=1000)
    np.testing.assert_allclose(run.q[-1], [-0.27508746257611727, -0.9614192050991249], atol=1e-6)


def test_double_pendulum() -> None:
    """Equal masses and rods, both horizontal at rest: the second mass after 2 s."""
    run = qdot.simulate(points_on_rods([1.0, 1.0]), None, 2.0, 0.01, integrator=FINE, record=200)
    np.testing.assert_allclose(run.q[-1, 2:], [-1.434124817464475, -1.1298701956473152], atol=1e-6)


def test_heavy_top() -> None:
    """Géradin & Cardona 2001; Brüls, Cardona & Arnold 2012: centre of mass after 1 s."""
    world = qdot.Mechanism("heavy_top")
    inertia = Inertia.about_com(15.0, (0, 1, 0), (0.234375, 0.46875, 0.234375))
    world.add("top", Spherical(), inertia).frame("centre", at=(0, 1, 0))
    free = qdot.to_maximal(qdot.assemble(world), planar=False)
    start = free.state(np.array([1.0, 0, 0, 0]), np.array([0, 150.0, -4.61538]))
    run = qdot.simulate(free.model, start, 1.0, 1e-3, integrator=FINE, record=1000)
    wanted = [0.1733439640976475, 0.6400885920743503, -0.7484907911299926]
    np.testing.assert_allclose(run.position("centre")[-1], wanted, atol=1e-6)
    assert np.nanmax(run.drift) < 1e-12
    assert run.time[-1] == pytest.approx(1.0)
