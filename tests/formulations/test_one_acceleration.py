"""All formulations give one acceleration (T7 = T8 = T10 = T12 = T22/T23 = K2 = U5).

On Todorov's arm, and on random trees over every joint kind.

Tolerance 1e-10, relative to the largest entry, as in tests/laws/test_dynamics.py: sums of some hundred products, and as
many digits lost as M, or the maximal system, is ill-conditioned.
"""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot import formulations
from qdot.algorithms import constrained, lagrangian, maximal, particles, rnea
from qdot.algorithms.passive import passive_forces
from qdot.spatial import Force
from tests.formulations.systems import MASSES, arm, h, jacobian_of_h, phi, weights
from tests.laws.test_dynamics import wrenches_on
from tests.laws.trees import case, close

TOLERANCE = 1e-10
SEEDS = range(0, 220, 5)


@pytest.mark.parametrize("seed", range(8))
def test_on_todorovs_arm(seed: int) -> None:
    """Torques at the joints are the forces on the points that do the same work: J_hᵀ f = τ."""
    model = arm()
    q, v, tau = np.random.default_rng(seed).normal(size=(3, 2))
    J = jacobian_of_h(q)
    f = weights() + np.linalg.pinv(J.T) @ tau
    x, x_dot = np.array(h(q)), J @ v

    a = qdot.forward_dynamics(model, q, v, tau)
    close(np.linalg.solve(qdot.mass_matrix(model, q), tau - qdot.bias_forces(model, q, v)), a, TOLERANCE)
    close(qdot.inverse_dynamics(model, q, v, a), tau, TOLERANCE)
    close(lagrangian.forward_dynamics(model, q, v, tau), a, TOLERANCE)
    close(maximal.forward_dynamics(model, list(q), list(v), list(tau)), a, TOLERANCE)
    close(particles.forward_dynamics(model, list(q), list(v), list(tau)), a, TOLERANCE)
    explicit = formulations.explicit(MASSES, h, q, v, f)
    close(explicit.joint_acceleration, a, TOLERANCE)
    M, c, force, _ = formulations.projection(MASSES, h, q, v, f)
    close(np.linalg.solve(M, force - c), a, TOLERANCE)

    x_ddot = J @ a + formulations.rate_bias(h, q, v)
    close(explicit.acceleration, x_ddot, TOLERANCE)
    closed = formulations.closed_form(MASSES, phi, x, x_dot, f)
    close(closed.acceleration, x_ddot, TOLERANCE)
    together = formulations.kkt(MASSES, phi, x, x_dot, f)
    close(together.acceleration, x_ddot, TOLERANCE)
    close(together.multipliers, closed.multipliers, TOLERANCE)
    J_phi, D = formulations.partials(phi, x), np.repeat(MASSES, 2)
    nearest = formulations.gauss(MASSES, f / D, J_phi, -formulations.rate_bias(phi, x, x_dot))
    close(nearest.acceleration, x_ddot, TOLERANCE)
    close(nearest.equal, closed.multipliers, TOLERANCE)
    close(J_phi.T @ closed.multipliers, explicit.constraint_force, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_in_maximal_coordinates_and_as_points(seed: int) -> None:
    c = case(seed, most_freedoms=12)
    model, q, v, a = c.model, list(c.q), list(c.v), list(c.a)
    wrenches = {name: Force.of(w) for name, w in wrenches_on(model, seed).items()}
    tau = rnea.inverse_dynamics(model, q, v, a, wrenches=wrenches)
    close(maximal.forward_dynamics(model, q, v, tau, wrenches=wrenches), a, TOLERANCE)
    close(particles.forward_dynamics(model, q, v, tau, wrenches=wrenches), a, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_joints_transmit_what_newton_and_euler_say(seed: int) -> None:
    c = case(seed)
    model, q, v, a = c.model, list(c.q), list(c.v), list(c.a)
    wrenches = {name: Force.of(w) for name, w in wrenches_on(model, seed).items()}
    tau = rnea.inverse_dynamics(model, q, v, a, wrenches=wrenches)
    expected = rnea.joint_wrenches(model, q, v, a, wrenches=wrenches)
    found = maximal.joint_wrenches(model, q, v, tau, wrenches=wrenches)
    assert list(found) == list(expected)
    close([list(f) for f in found.values()], [list(f) for f in expected.values()], TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_free_bodies_under_joints_by_every_route(seed: int) -> None:
    """D, F, J, b of the maximal system given to T7, T8, T9 and T10: the bodies accelerate as kinematics says."""
    c = case(seed, most_freedoms=12)
    model, q, v, a = c.model, list(c.q), list(c.v), list(c.a)
    tau = rnea.inverse_dynamics(model, q, v, a)
    bodies = list(maximal.held_bodies(model, q, v))
    forces = [t + p for t, p in zip(tau, passive_forces(model, q, v), strict=True)]
    system = maximal.equations(bodies, forces)
    D, F, J, b = system.D, system.F, system.rows(), system.b
    motion = qdot.kinematics(model, q, v, a)
    g = np.array(list(model.gravity))
    expected = []
    for body in model.bodies:
        A = np.array(list(motion.accelerations[body.index]))
        R = np.array(motion.poses[body.index].rotation.entries())
        expected += [*A[:3], *(A[3:] - R.T @ g)]  # counted from free fall
    bias = [-x for x in b]
    for route in (constrained.saddle_point, constrained.closed_form):
        close(route(D, F, J, bias)[0], expected, TOLERANCE)
    free = np.linalg.solve(np.array(D, float), np.array(F, float))
    found = formulations.gauss(D, free, J, b)
    close(found.acceleration, expected, TOLERANCE)
    close(np.array(J, float).reshape(len(b), -1).T @ found.equal, np.array(D, float) @ expected - F, 1e-9)
    A = formulations.constrained_inverse_inertia(D, J)
    assert np.linalg.matrix_rank(A, tol=1e-9 * np.abs(A).max()) == model.nv
    close(A, qdot_inverse(model, c.q, bodies), 1e-9)


def qdot_inverse(model: qdot.Model, q: np.ndarray, bodies: list[maximal.Held]) -> np.ndarray:
    """S M⁻¹ Sᵀ, S being the map from v to the velocities of all bodies: A by way of the joints (T9)."""
    columns = []
    for e in np.eye(model.nv):
        velocities = qdot.kinematics(model, q, e).velocities[1:]
        columns.append([x for V in velocities for x in V])
    S = np.array(columns, float).T
    return S @ np.linalg.solve(qdot.mass_matrix(model, q), S.T)
