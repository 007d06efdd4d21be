"""Explicit constraints x = h(q), projection, and other coordinates (T11, T12, T14). Tolerance 1e-12: small sums."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import qdot
from qdot import formulations
from qdot.algebra import cos, sin
from qdot.algorithms import projection
from tests.formulations.systems import MASSES, arm, h, jacobian_of_h, phi, weights
from tests.laws.trees import close

TOLERANCE = 1e-12


def state(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=2), rng.normal(size=2), rng.normal(size=4)


@pytest.mark.parametrize("seed", range(4))
def test_the_system_of_three_blocks(seed: int) -> None:
    """As LAPACK solves it: D ẍ - f_c = f, ẍ - J q̈ = J̇ q̇, Jᵀ f_c = 0 (T11)."""
    q, v, f = state(seed)
    found = formulations.explicit(MASSES, h, q, v, f)
    J, bias, D = formulations.partials(h, q), formulations.rate_bias(h, q, v), np.diag(np.repeat(MASSES, 2))
    A = np.block(
        [
            [D, -np.eye(4), np.zeros((4, 2))],
            [np.eye(4), np.zeros((4, 4)), -J],
            [np.zeros((2, 4)), J.T, np.zeros((2, 2))],
        ]
    )
    x = np.linalg.solve(A, [*f, *bias, 0, 0])
    close(np.concatenate(found), x, TOLERANCE)
    symmetric, side = projection.explicit_system(D.tolist(), f, J.tolist(), bias, 2)
    close(np.array(symmetric), np.array(symmetric).T, 0)
    close(np.array(symmetric) @ x, side, TOLERANCE)


@pytest.mark.parametrize("seed", range(4))
def test_projection_is_the_arm(seed: int) -> None:
    q, v, _ = state(seed)
    M, c, tau, _ = formulations.projection(MASSES, h, q, v, weights())
    close(M, qdot.mass_matrix(arm(), q), TOLERANCE)
    close(c, qdot.velocity_forces(arm(), q, v), TOLERANCE)
    close(tau, -qdot.gravity_forces(arm(), q), TOLERANCE)


def test_projection_in_symbols() -> None:
    """A point in polar coordinates: M = diag(m, m r²), c = (-m r φ̇², 2 m r ṙ φ̇)."""
    m, r, angle, s, w = sympy.symbols("m r phi s w", positive=True)
    M, c, tau, _ = formulations.projection(
        [m], lambda q: [q[0] * cos(q[1]), q[0] * sin(q[1])], [r, angle], [s, w], [1, 0]
    )
    assert [sympy.simplify(x) for x in M.ravel() - np.array([m, 0, 0, m * r**2])] == [0] * 4
    assert [sympy.simplify(x) for x in c - np.array([-m * r * w**2, 2 * m * r * s * w])] == [0, 0]
    assert [sympy.simplify(x) for x in tau - np.array([sympy.cos(angle), -r * sympy.sin(angle)])] == [0, 0]


def curved(y):
    """Some coordinates y for the arm's q: one to one, far from linear."""
    return [y[0] + 0.3 * sin(y[1]), 2 * y[1] + 0.2 * y[0] * y[1]]


@pytest.mark.parametrize("seed", range(4))
def test_energy_power_and_motion_do_not_depend_on_coordinates(seed: int) -> None:
    """The arm's equations taken from q to y, with q = h(y): ½ ẏᵀMẏ, ẏᵀτ, J v and the motion are the same (T14)."""
    model = arm()
    y, y_dot, more = state(seed)
    tau, rows = more[:2], more[None, 2:]
    q = np.array(curved(y))
    J = formulations.partials(curved, y)
    q_dot = J @ y_dot
    D, c = qdot.mass_matrix(model, q), qdot.bias_forces(model, q, q_dot)
    M, c_y, tau_y, rows_y = formulations.transformed(curved, y, y_dot, D, velocity_forces=c, force=tau, rows=rows)
    close(y_dot @ M @ y_dot / 2, qdot.kinetic_energy(model, q, q_dot), TOLERANCE)
    close(y_dot @ tau_y, q_dot @ tau, TOLERANCE)
    close(rows_y @ y_dot, rows @ q_dot, TOLERANCE)
    y_ddot = np.linalg.solve(M, tau_y - c_y)
    q_ddot = J @ y_ddot + formulations.rate_bias(curved, y, y_dot)
    close(q_ddot, qdot.forward_dynamics(model, q, q_dot, tau), TOLERANCE)


def test_two_changes_are_one() -> None:
    """x = h(curved(y)), at once and one after the other."""
    y, y_dot, f = state(9)
    at_once = formulations.projection(MASSES, lambda z: h(curved(z)), y, y_dot, f)
    q, q_dot = np.array(curved(y)), formulations.partials(curved, y) @ y_dot
    first = formulations.projection(MASSES, h, q, q_dot, f)
    second = formulations.transformed(
        curved, y, y_dot, first.mass, velocity_forces=first.velocity_forces, force=first.force
    )
    for one, other in zip(at_once[:3], second[:3], strict=True):
        close(one, other, TOLERANCE)


def test_there_and_back() -> None:
    """From x to polar coordinates and back: c = 0 again, D as it was."""
    x, v, f = np.array([0.8, -0.5]), np.array([1.2, 0.7]), np.array([0.3, -2.0])

    def polar(q):
        return [q[0] * cos(q[1]), q[0] * sin(q[1])]

    from qdot.algebra import atan2, sqrt

    def back(p):
        return [sqrt(p[0] ** 2 + p[1] ** 2), atan2(p[1], p[0])]

    q, q_dot = np.array(back(x)), formulations.partials(back, x) @ v
    M, c, tau, _ = formulations.projection([1.7], polar, q, q_dot, f)
    D, zero, force, _ = formulations.transformed(back, x, v, M, velocity_forces=c, force=tau)
    close(D, 1.7 * np.eye(2), TOLERANCE)
    close(zero, [0, 0], TOLERANCE)
    close(force, f, TOLERANCE)


def test_constraint_rows_of_the_document() -> None:
    """J_φ J_h = 0: the rods hold whatever q does."""
    q, v, f = state(2)
    rows = formulations.partials(phi, h(q))
    taken = formulations.transformed(h, q, v, MASSES, force=f, rows=rows).rows
    close(taken, np.zeros((2, 2)), 1e-14)
    close(rows @ jacobian_of_h(q), taken, 1e-14)


def test_batches() -> None:
    q, v = np.random.default_rng(1).normal(size=(2, 5, 2))
    many = formulations.explicit(MASSES, h, q, v, weights())
    M, c, tau, _ = formulations.projection(MASSES, h, q, v, weights())
    assert M.shape == (5, 2, 2)
    for k in range(5):
        one = formulations.explicit(MASSES, h, q[k], v[k], weights())
        close(many.joint_acceleration[k], one.joint_acceleration, 1e-13)
        close(many.constraint_force[k], one.constraint_force, 1e-13)
        close(np.linalg.solve(M[k], tau[k] - c[k]), one.joint_acceleration, 1e-12)
