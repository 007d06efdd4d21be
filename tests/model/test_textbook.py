"""The mechanisms of the library against the closed forms of the textbooks, in symbols."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import Matrix, cos, diff, sin

import qdot
from qdot.model.library import (
    acrobot,
    cart_pole,
    double_pendulum,
    five_link_chain,
    floating_two_link,
    n_pendulum,
    pendulum,
    rp_arm,
    two_link_arm,
)
from tests.laws.trees import close

m1, m2, l1, l2, g = sympy.symbols("m1 m2 l1 l2 g", positive=True)


def same(actual: object, expected: object) -> None:
    """Equal as expressions, entry by entry. Decimal factors (½ as 0.5) are read as the fractions they stand for."""
    difference = Matrix(np.array(actual, dtype=object)) - Matrix(np.array(expected, dtype=object))
    assert [sympy.simplify(sympy.nsimplify(x, rational=True)) for x in difference] == [0] * len(difference)


# ── Todorov's arm of two point masses (T13) ──────────────────────────────────────────────────────


def todorov():
    """x = h(q), J = ∂h/∂q, J̇ q̇ and D of the document."""
    arm = two_link_arm((l1, l2), (m1, m2), g)
    q, v, a = qdot.symbols(arm)
    q1, q12 = q[0], q[0] + q[1]
    h = Matrix([l1 * cos(q1), l1 * sin(q1), l1 * cos(q1) + l2 * cos(q12), l1 * sin(q1) + l2 * sin(q12)])
    J = h.jacobian(q)
    J_dot = sum((diff(J, x) * x_dot for x, x_dot in zip(q, v, strict=True)), start=sympy.zeros(4, 2))
    return arm, q, v, a, h, J, J_dot, sympy.diag(m1, m1, m2, m2)


def test_two_link_arm_is_the_projection_of_its_point_masses() -> None:
    """M = JᵀDJ, c = JᵀDJ̇q̇, g = -Jᵀ(weights) (T12, T24)."""
    arm, q, v, a, _, J, J_dot, D = todorov()
    weights = Matrix([0, -m1 * g, 0, -m2 * g])
    M, c, G = J.T * D * J, J.T * D * J_dot * Matrix(v), -J.T * weights
    same(qdot.mass_matrix(arm, q), M)
    same(qdot.velocity_forces(arm, q, v), c)
    same(qdot.gravity_forces(arm, q), G)
    same(qdot.inverse_dynamics(arm, q, v, a), M * Matrix(a) + c + G)
    assert list(M.diff(q[0])) == [0] * 4 or sympy.simplify(M.diff(q[0])) == sympy.zeros(2, 2)


def test_two_link_arm_moves_as_the_document_says() -> None:
    arm, q, v, _, h, J, _, _ = todorov()
    same(list(qdot.frame_pose(arm, q, "hand").position)[:2], h[2:, 0])
    same(list(qdot.frame_pose(arm, q, "forearm").position)[:2], h[:2, 0])
    same(qdot.jacobian(arm, q, "hand")[3:5], J[2:, :])
    same(qdot.link_jacobians(arm, q)[0][0][:2], J[:2, :])
    same(qdot.link_jacobians(arm, q)[1][0][:2], J[2:, :])
    x_dot = J * Matrix(v)
    K = (m1 * (x_dot[0] ** 2 + x_dot[1] ** 2) + m2 * (x_dot[2] ** 2 + x_dot[3] ** 2)) / 2
    same([qdot.kinetic_energy(arm, q, v)], [K])
    same([qdot.potential_energy(arm, q)], [m1 * g * h[1] + m2 * g * h[3]])


def test_two_link_arm_holds_its_implicit_constraints() -> None:
    """φ(x) = 0 and J_φ J_h = 0: the explicit and the implicit form are one manifold (T6, T11)."""
    _, _, _, _, h, J, _, _ = todorov()
    x = sympy.symbols("x1:5")
    phi = Matrix([x[0] ** 2 + x[1] ** 2 - l1**2, (x[2] - x[0]) ** 2 + (x[3] - x[1]) ** 2 - l2**2])
    on_arm = dict(zip(x, h, strict=True))
    same(phi.subs(on_arm), [[0], [0]])
    same(phi.jacobian(x).subs(on_arm) * J, sympy.zeros(2, 2))


# ── Khatib's revolute–prismatic arm (K12) ────────────────────────────────────────────────────────


def khatib():
    I1, I2 = sympy.symbols("I1 I2", positive=True)
    arm = rp_arm(l1, (m1, m2), (I1, I2), g)
    (theta, d2), (omega, speed), a = qdot.symbols(arm)
    return arm, theta, d2, omega, speed, a, I1, I2


def test_rp_arm_equations() -> None:
    arm, theta, d2, omega, speed, a, I1, I2 = khatib()
    q, v = [theta, d2], [omega, speed]
    M = sympy.diag(m1 * l1**2 + I1 + m2 * d2**2 + I2, m2)
    V = Matrix([2 * m2 * d2 * omega * speed, -m2 * d2 * omega**2])
    G = Matrix([(m1 * l1 + m2 * d2) * g * cos(theta), m2 * g * sin(theta)])
    same(qdot.mass_matrix(arm, q), M)
    same(qdot.velocity_forces(arm, q, v), V)
    same(qdot.gravity_forces(arm, q), G)
    same(qdot.inverse_dynamics(arm, q, v, a), M * Matrix(a) + V + G)
    tau = sympy.symbols("tau1 tau2")
    same(qdot.forward_dynamics(arm, q, v, tau), M.inv() * (Matrix(tau) - V - G))


def test_rp_arm_jacobians_of_its_links() -> None:
    arm, theta, d2, *_ = khatib()
    (Jv1, Jw1), (Jv2, Jw2) = qdot.link_jacobians(arm, [theta, d2])
    same(Jv1, [[-l1 * sin(theta), 0], [l1 * cos(theta), 0], [0, 0]])
    same(Jv2, [[-d2 * sin(theta), cos(theta)], [d2 * cos(theta), sin(theta)], [0, 0]])
    for J_omega in (Jw1, Jw2):
        same(J_omega, [[0, 0], [0, 0], [1, 0]])


def test_rp_arm_christoffel_symbols() -> None:
    """b₁₁₂ = b₁₂₁ = m₂d₂, b₂₁₁ = -m₂d₂, no other: B = [2m₂d₂, 0]ᵀ, C₂₁ = -m₂d₂."""
    arm, theta, d2, *_ = khatib()
    b = qdot.christoffel_symbols(arm, [theta, d2])
    expected = sympy.MutableDenseNDimArray.zeros(2, 2, 2)
    expected[0, 0, 1] = expected[0, 1, 0] = m2 * d2
    expected[1, 0, 0] = -m2 * d2
    same(b.reshape(8, 1), np.array(expected.tolist(), dtype=object).reshape(8, 1))


def test_symbols_stay_exact() -> None:
    """No decimal creeps into the equations of a mechanism made of symbols alone."""
    for model in (two_link_arm((l1, l2), (m1, m2), g), khatib()[0], pendulum(l1, m1, g)):
        q, v, a = qdot.symbols(model)
        for x in (*qdot.inverse_dynamics(model, q, v, a), *qdot.mass_matrix(model, q).ravel()):
            assert not sympy.sympify(x).atoms(sympy.Float)


# ── pendulums and carts ──────────────────────────────────────────────────────────────────────────


def test_pendulum() -> None:
    model = pendulum(l1, m1, g)
    (q,), (v,), (a,) = qdot.symbols(model)
    same(qdot.inverse_dynamics(model, [q], [v], [a]), [m1 * l1**2 * a + m1 * g * l1 * sin(q)])
    same(qdot.forward_dynamics(model, [q], [v], [0]), [-g / l1 * sin(q)])
    same([qdot.energy(model, [q], [v])], [m1 * l1**2 * v**2 / 2 - m1 * g * l1 * cos(q)])


def test_double_pendulum() -> None:
    """In the angles θ₁ = q₁, θ₂ = q₁ + q₂ from the vertical; the torque at the second hinge turns both."""
    model = double_pendulum((l1, l2), (m1, m2), g)
    q, v, a = qdot.symbols(model)
    t1, t2, w1, w2, b1, b2 = q[0], q[0] + q[1], v[0], v[0] + v[1], a[0], a[0] + a[1]
    first = (
        (m1 + m2) * l1**2 * b1
        + m2 * l1 * l2 * (cos(t1 - t2) * b2 + sin(t1 - t2) * w2**2)
        + (m1 + m2) * g * l1 * sin(t1)
    )
    second = m2 * l2**2 * b2 + m2 * l1 * l2 * (cos(t1 - t2) * b1 - sin(t1 - t2) * w1**2) + m2 * g * l2 * sin(t2)
    same(qdot.inverse_dynamics(model, q, v, a), [first + second, second])


def test_n_pendulum_is_the_pendulum_and_the_double_pendulum() -> None:
    for one, other in ((n_pendulum(1, l1, m1, g), pendulum(l1, m1, g)),):
        q, v, a = qdot.symbols(one)
        same(qdot.inverse_dynamics(one, q, v, a), qdot.inverse_dynamics(other, q, v, a))
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    close(
        qdot.inverse_dynamics(n_pendulum(2, 0.7, 1.3), q, v, a),
        qdot.inverse_dynamics(double_pendulum((0.7, 0.7), (1.3, 1.3)), q, v, a),
        1e-14,
    )


def test_acrobot() -> None:
    """Sutton, Barto, Reinforcement Learning (1998), §11.3."""
    c1, c2, I1, I2 = sympy.symbols("c1 c2 I1 I2", positive=True)
    model = acrobot((l1, l2), (m1, m2), (c1, c2), (I1, I2), g)
    q, v, a = qdot.symbols(model)
    d1 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos(q[1])) + I1 + I2
    d2 = m2 * (c2**2 + l1 * c2 * cos(q[1])) + I2
    phi2 = m2 * c2 * g * cos(q[0] + q[1] - sympy.pi / 2)
    phi1 = (
        -m2 * l1 * c2 * v[1] ** 2 * sin(q[1])
        - 2 * m2 * l1 * c2 * v[1] * v[0] * sin(q[1])
        + (m1 * c1 + m2 * l1) * g * cos(q[0] - sympy.pi / 2)
        + phi2
    )
    elbow = d2 * a[0] + (m2 * c2**2 + I2) * a[1] + m2 * l1 * c2 * v[0] ** 2 * sin(q[1]) + phi2
    same(qdot.inverse_dynamics(model, q, v, a), [d1 * a[0] + d2 * a[1] + phi1, elbow])


def test_cart_pole() -> None:
    """Barto, Sutton, Anderson (1983) without friction; half is half the pole's length."""
    cart, pole, half, force = sympy.symbols("M m half F", positive=True)
    model = cart_pole(cart, pole, 2 * half, g)
    (x, t), (_, w), _ = qdot.symbols(model)
    total = cart + pole
    angular = (g * sin(t) + cos(t) * (-force - pole * half * w**2 * sin(t)) / total) / (
        half * (sympy.Rational(4, 3) - pole * cos(t) ** 2 / total)
    )
    linear = (force + pole * half * (w**2 * sin(t) - angular * cos(t))) / total
    same(qdot.forward_dynamics(model, [x, t], [0, w], [force, 0]), [linear, angular])
    same(list(qdot.frame_pose(model, [x, t], "tip").position), [x + 2 * half * sin(t), 0, 2 * half * cos(t)])


def test_five_link_chain_is_the_lagrangian_of_its_rods() -> None:
    """L = Σ ½ m |ċ|² + ½ (m l²/12) θ̇² - m g z_c with θ_k = q_1 + … + q_k (U10)."""
    length, mass, gravity, n = 0.3, 0.2, 9.7, 5
    model = five_link_chain(length, mass, gravity)
    q, v, a = qdot.symbols(model)
    K = P = sympy.Integer(0)
    x = z = sympy.Integer(0)
    for k in range(n):
        theta = sum(q[: k + 1])
        centre = Matrix([x - length / 2 * sin(theta), z - length / 2 * cos(theta)])
        speed = centre.jacobian(q) * Matrix(v)
        K += mass * speed.dot(speed) / 2 + mass * length**2 / 12 * sum(v[: k + 1]) ** 2 / 2
        P += mass * gravity * centre[1]
        x, z = x - length * sin(theta), z - length * cos(theta)
    momentum = Matrix([diff(K, s) for s in v])
    M = momentum.jacobian(v)
    tau = M * Matrix(a) + momentum.jacobian(q) * Matrix(v) - Matrix([diff(K - P, s) for s in q])
    evaluate = sympy.lambdify([q, v, a], [M, tau, K, P], cse=True)
    rng = np.random.default_rng(1)
    for _ in range(5):
        at = rng.normal(size=(3, n))
        M_k, tau_k, K_k, P_k = evaluate(*at)
        close(qdot.mass_matrix(model, at[0]), M_k, 1e-13)
        close(qdot.inverse_dynamics(model, *at), tau_k.ravel(), 1e-13)
        close(qdot.kinetic_energy(model, at[0], at[1]), K_k, 1e-13)
        close(qdot.potential_energy(model, at[0]), P_k, 1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_floating_two_link_in_space_moves_as_in_the_plane(seed: int) -> None:
    """Started in the z–x plane and pushed in it, it stays there and accelerates as its planar twin does (U11, U16)."""
    space, plane = floating_two_link(1.2, 0.8), floating_two_link(1.2, 0.8, planar=True)
    (theta, z, x, bend), (w, vz, vx, wb), (tt, fz, fx, tb) = np.random.default_rng(seed).normal(size=(3, 4))
    a = qdot.forward_dynamics(plane, [theta, z, x, bend], [w, vz, vx, wb], [tt, fz, fx, tb])
    R = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    q6 = [np.cos(theta / 2), 0, np.sin(theta / 2), 0, x, 0, z, bend]
    v6 = [0, w, 0, *(R.T @ [vx, 0, vz]), wb]
    a6 = qdot.forward_dynamics(space, q6, v6, [0, tt, 0, *(R.T @ [fx, 0, fz]), tb])
    turning = np.cross([0, w, 0], R.T @ [vx, 0, vz])  # components in the body's axes, which turn
    close(a6, [0, a[0], 0, *(R.T @ [a[2], 0, a[1]] - turning), a[3]], 1e-12)
    close(qdot.energy(space, q6, v6), qdot.energy(plane, [theta, z, x, bend], [w, vz, vx, wb]), 1e-12)
