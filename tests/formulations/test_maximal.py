"""Trees in maximal coordinates (U5) where the bodies' inertia is singular, in batches, compiled, and in symbols.

Tolerances as in test_one_acceleration.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import qdot
from qdot.algorithms import maximal, particles
from qdot.joints import Prismatic, Revolute, Spherical
from qdot.model.library import KINDS, five_link_chain, pendulum, random_state, random_tree
from qdot.spatial import Inertia
from tests.formulations.systems import arm
from tests.laws.trees import close

TOLERANCE = 1e-10


def hinges_without_bodies() -> qdot.Model:
    """Joints in series with massless bodies between them, a point mass and a rod at their end."""
    world = qdot.Mechanism("massless")
    part = world.add("first", Revolute("y"), at=(0, 0, 0.2))
    part = part.add("second", Revolute("x"), at=(0.3, 0, 0)).add("third", Prismatic("z"))
    part.add("point", Revolute("x"), Inertia.point(0.4, (0, 0.3, 0)), at=(0, 0.1, 0))
    part.add("ball", Spherical(), Inertia.about_com(0.9, (0, 0.1, 0.3), (0.02, 0.03, 0.01)), at=(0, -0.1, 0))
    return qdot.assemble(world)


def driven_by_armature() -> qdot.Model:
    """Nothing has mass; the drives alone have inertia."""
    world = qdot.Mechanism("drives")
    world.add("one", Revolute("z"), armature=0.3).add("other", Prismatic("x"), armature=1.2, at=(0.5, 0, 0))
    return qdot.assemble(world)


@pytest.mark.parametrize("model", [hinges_without_bodies(), driven_by_armature(), arm(), five_link_chain()])
def test_bodies_need_no_inertia_of_their_own(model: qdot.Model) -> None:
    q, v, tau = random_state(model, 3)
    a = qdot.forward_dynamics(model, q, v, tau)
    close(maximal.forward_dynamics(model, list(q), list(v), list(tau)), a, TOLERANCE)
    close(particles.forward_dynamics(model, list(q), list(v), list(tau)), a, TOLERANCE)
    found = maximal.joint_wrenches(model, list(q), list(v), list(tau))
    for name, wrench in qdot.joint_wrenches(model, q, v, a).items():
        close(list(found[name]), list(wrench), TOLERANCE)


@pytest.mark.parametrize("factor", [0.01, 10.0])
def test_size_of_the_mechanism_does_not_matter(factor: float) -> None:
    """Inertias m l² are 1e-4 or 100 times the masses then; as many digits may go."""
    model = qdot.model.edit.scale(random_tree(11, 5, passive=False), factor)
    q, v, _ = random_state(model, 4)
    tau = np.zeros(model.nv)
    a = qdot.forward_dynamics(model, q, v, tau)
    close(maximal.forward_dynamics(model, list(q), list(v), list(tau)), a, 1e-9)


@pytest.mark.parametrize("text", [maximal.forward_dynamics, particles.forward_dynamics])
def test_compiled_and_in_batches(text) -> None:
    model = random_tree(21, 5, list(KINDS))
    rng = np.random.default_rng(2)
    q = np.array([random_state(model, seed)[0] for seed in range(3)])
    v, tau = rng.normal(size=(2, 3, model.nv))
    expected = qdot.forward_dynamics(model, q, v, tau)
    close(qdot.compile(text, model)(q, v, tau), expected, TOLERANCE)
    lanes = text(model, list(q.T), list(v.T), list(tau.T))
    close(np.array(lanes).T, expected, TOLERANCE)


def test_symbols() -> None:
    l, m, g = sympy.symbols("l m g", positive=True)
    model = pendulum(l, m, g)
    (q,), (v,), _ = qdot.symbols(model)
    for text in (maximal.forward_dynamics, particles.forward_dynamics):
        (a,) = text(model, [q], [v], [sympy.Integer(0)])
        assert sympy.simplify(sympy.nsimplify(a) + g / l * sympy.sin(q)) == 0


def test_bearings_of_a_pendulum() -> None:
    """The pin carries m (g cos θ + l θ̇²) along the rod and m g sin θ + m l θ̈ = 0 across it."""
    l, m, g, angle, speed = 0.7, 1.3, 9.81, 0.6, 1.9
    wrench = maximal.joint_wrenches(pendulum(l, m, g), [angle], [speed], [0.0])
    (force,) = wrench.values()
    close(list(force), [0, 0, 0, 0, 0, m * (g * np.cos(angle) + l * speed**2)], 1e-12)


def test_six_point_masses_are_the_body() -> None:
    """Their mass, centre and inertia; a rod or a point has no points aside."""
    rng = np.random.default_rng(0)
    from qdot.model.library.random_trees import random_inertia

    thin = Inertia.about_com(1.1, (0.2, 0, 0.1), (0.3, 0.3, 0.0))
    for body in (random_inertia(rng), Inertia.point(0.4, (1, 2, 3)), thin):
        points = [Inertia.point(m, r) for m, r in particles.point_masses(body)]
        total = points[0]
        for point in points[1:]:
            total = total + point
        assert len(points) == 6
        close(total.parameters(), body.parameters(), 1e-14)
    assert list(particles.point_masses(Inertia.zero())) == []
