"""Lie groups of motion by second ways: SciPy's expm and logm, dual numbers, lanes, symbols."""

from math import inf, nextafter, pi

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st
from scipy.linalg import expm, logm

from qdot.algebra import Quaternion, Vec3, as_array, derivative, lie
from qdot.algebra.lie import exp_se3, exp_so3, log_se3, log_so3, wrap_angle

EXACT = 1e-13
"""Derivatives by dual numbers: closed forms just above θ = 1/2 lose up to three digits of their slopes."""

parts = st.floats(-1.7, 1.7).map(lambda a: a if abs(a) > 1e-200 else 0.0)
rotation_vectors = st.tuples(parts, parts, parts).map(lambda t: Vec3(*t))  # |φ| < π
positions = st.tuples(parts, parts, parts).map(lambda t: Vec3(*t))


def twist_matrix(phi, rho):
    """The 4 × 4 matrix of se(3)."""
    A = np.zeros((4, 4))
    A[:3, :3] = [[0, -phi.z, phi.y], [phi.z, 0, -phi.x], [-phi.y, phi.x, 0]]
    A[:3, 3] = list(rho)
    return A


def pose_matrix(q, p):
    A = np.eye(4)
    A[:3, :3], A[:3, 3] = as_array(q.rotation()), list(p)
    return A


# ── SciPy ────────────────────────────────────────────────────────────────────────────────────────


@given(rotation_vectors, positions)
def test_exp_is_expm(phi, rho):
    """expm squares a few times: 1e-14."""
    np.testing.assert_allclose(pose_matrix(*exp_se3(phi, rho)), expm(twist_matrix(phi, rho)), rtol=0, atol=1e-14)


@given(rotation_vectors, positions)
def test_log_is_logm(phi, rho):
    """logm takes roots; it loses digits like 1/(π - θ), so the angles stay below 2.95."""
    pose = exp_se3(phi, rho)
    got = twist_matrix(*log_se3(*pose))
    np.testing.assert_allclose(got, twist_matrix(phi, rho), rtol=0, atol=1e-13)
    np.testing.assert_allclose(got, logm(pose_matrix(*pose)).real, rtol=0, atol=1e-11)


@given(rotation_vectors)
def test_log_takes_the_shorter_way(phi):
    assert as_array(log_so3(exp_so3(phi * 2))) @ as_array(log_so3(exp_so3(phi * 2))) <= (pi * (1 + 1e-15)) ** 2
    assert as_array(log_so3(-exp_so3(phi))) == pytest.approx(as_array(phi), abs=1e-14)


@given(rotation_vectors, rotation_vectors)
def test_exp_of_conjugates(phi, psi):
    """R exp(φ) Rᵀ = exp(R φ), and exp(-φ) = exp(φ)*."""
    R = exp_so3(psi)
    left, right = R * exp_so3(phi) * R.conjugate(), exp_so3(R.rotation() @ phi)
    np.testing.assert_allclose(as_array(left), as_array(right), rtol=0, atol=4e-15)
    assert exp_so3(-phi) == exp_so3(phi).conjugate()


# ── Jacobians ────────────────────────────────────────────────────────────────────────────────────

ANGLES = [0.0, 1e-9, 1e-3, 0.3, 0.499, 0.501, 1.5, 3.0]


@pytest.mark.parametrize("theta", ANGLES)
def test_left_jacobian_is_the_derivative_of_exp(theta):
    """exp(φ + δ) ≈ exp(J δ) exp(φ): the slope of log(exp(φ + εδ) exp(φ)⁻¹); the right one, of exp(φ)⁻¹ exp(φ + εδ)."""
    rng = np.random.default_rng(1)
    phi = Vec3.of(theta * np.array([2, -1, 2]) / 3)
    delta = Vec3.of(rng.normal(size=3))
    q = exp_so3(phi).conjugate()
    left = derivative(lambda e: log_so3(exp_so3(phi + delta * e[0]) * q), [1.0])
    right = derivative(lambda e: log_so3(q * exp_so3(phi + delta * e[0])), [1.0])
    np.testing.assert_allclose(as_array(left), as_array(lie.left_jacobian_so3(phi) @ delta), rtol=0, atol=EXACT)
    np.testing.assert_allclose(as_array(right), as_array(lie.left_jacobian_so3(-phi) @ delta), rtol=0, atol=EXACT)


@pytest.mark.parametrize("theta", ANGLES)
def test_left_jacobian_of_se3_is_the_derivative_of_exp(theta):
    rng = np.random.default_rng(2)
    phi, rho = Vec3.of(theta * np.array([2, -1, 2]) / 3), Vec3.of(rng.normal(size=3))
    d_phi, d_rho = Vec3.of(rng.normal(size=3)), Vec3.of(rng.normal(size=3))
    q, p = exp_se3(phi, rho)

    def moved(e):
        Q, P = exp_se3(phi + d_phi * e[0], rho + d_rho * e[0])
        turn = Q * q.conjugate()
        return log_se3(turn, P - turn.rotation() @ p)

    ((J, zero), (coupling, same)) = lie.left_jacobian_se3(phi, rho)
    angular, linear = derivative(moved, [1.0])
    assert as_array(zero).tolist() == np.zeros((3, 3)).tolist()
    assert same == J
    np.testing.assert_allclose(as_array(angular), as_array(J @ d_phi), rtol=0, atol=EXACT)
    np.testing.assert_allclose(as_array(linear), as_array(coupling @ d_phi + J @ d_rho), rtol=0, atol=EXACT)


@pytest.mark.parametrize("theta", ANGLES)
def test_inverse_jacobian_is_the_derivative_of_log(theta):
    """log(exp(εδ) exp(φ)) = φ + ε J⁻¹δ."""
    phi, delta = Vec3.of(theta * np.array([2, -1, 2]) / 3), Vec3(0.4, -1.3, 0.2)
    slope = derivative(lambda e: log_so3(exp_so3(delta * e[0]) * exp_so3(phi)), [1.0])
    expected = lie.left_jacobian_inverse_so3(phi) @ delta
    np.testing.assert_allclose(as_array(slope), as_array(expected), rtol=0, atol=EXACT)


def test_second_derivatives_at_zero():
    """d²/dε² exp(εφ) = (-|φ|²/4, 0) at zero, where θ = |φ| itself has no derivative."""
    phi = Vec3(1.0, 2.0, 3.0)
    second = derivative(lambda e: derivative(lambda g: exp_so3(phi * (e[0] + g[0])), [1.0]), [1.0])
    np.testing.assert_allclose(as_array(second), [-14 / 4, 0, 0, 0], rtol=1e-15)


# ── lanes and symbols ────────────────────────────────────────────────────────────────────────────

MIXED = np.array([0.0, 1e-18, 1e-6, 0.3, 0.5, 0.7, 3.0, pi])


def test_lanes_mix_small_and_large_angles():
    """Without a warning of NumPy (they are errors here), and as the floats: NumPy's own sin may differ by an ulp."""
    axis, rho = np.array([2, -1, 2]) / 3, Vec3(0.3, -1.2, 0.8)
    lanes = Vec3(*(MIXED * a for a in axis))
    alone = [Vec3.of(theta * axis) for theta in MIXED]
    everything = {
        "exp": lambda phi: exp_se3(phi, rho),
        "log": lambda phi: log_se3(exp_so3(phi), rho),
        "J": lambda phi: lie.left_jacobian_se3(phi, rho)[1],
        "J⁻¹": lambda phi: lie.left_jacobian_inverse_se3(phi, rho)[1],
        "slope": lambda phi: derivative(lambda e: exp_so3(phi + rho * e[0]), [1.0]),
        "slope of log": lambda phi: derivative(lambda e: log_so3(exp_so3(phi) * exp_so3(rho * e[0])), [1.0]),
    }
    for name, f in everything.items():
        for k, part in enumerate(f(lanes)):
            expected = np.array([as_array(list(f(phi))[k]) for phi in alone])
            np.testing.assert_allclose(as_array(part), expected, rtol=0, atol=1e-14, err_msg=name)


def test_symbols_give_the_same_numbers():
    t = sp.Symbol("t", real=True)
    q = exp_so3(Vec3(2 * t / 3, -t / 3, 2 * t / 3))
    for at in (0.2, 2.0):
        expected = as_array(exp_so3(Vec3.of(at * np.array([2, -1, 2]) / 3)))
        got = [float(sp.sympify(e).subs(t, at)) for e in q]
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-15)


# ── angles ───────────────────────────────────────────────────────────────────────────────────────


@given(st.floats(-1000, 1000))
def test_wrap_angle_is_the_same_angle(angle):
    """1e-13: an ulp of 1000, and 160 times the rounding of 2π."""
    wrapped = wrap_angle(angle)
    assert -pi - 1e-13 <= wrapped <= pi
    assert abs(np.sin(wrapped) - np.sin(angle)) < 3e-13
    assert abs(np.cos(wrapped) - np.cos(angle)) < 3e-13


def test_wrap_angle_keeps_small_angles_and_opens_above():
    assert [wrap_angle(a) for a in (0.0, 1.0, -1.0, 3.0, -3.0, -pi)] == [0.0, 1.0, -1.0, 3.0, -3.0, -pi]
    assert wrap_angle(pi) == -pi
    np.testing.assert_allclose(wrap_angle(np.array([4.0, -4.0, 7.0])), [4 - 2 * pi, 2 * pi - 4, 7 - 2 * pi], rtol=1e-15)
    assert derivative(lambda e: wrap_angle(4.0 + e[0]), [1.0]) == 1.0


@pytest.mark.parametrize("turns", [0, 2])
def test_wrap_angle_stays_in_its_interval(turns):
    """[-π, π) to the last bit, for the doubles next to the half turns."""
    angle = (2 * turns + 1) * pi
    for _ in range(4):
        angle = nextafter(angle, -inf)
    for _ in range(9):
        assert -pi <= wrap_angle(angle) < pi
        angle = nextafter(angle, inf)


def test_quaternion_of_nothing():
    assert list(exp_so3(Vec3.zero())) == [1.0, 0.0, 0.0, 0.0]
    assert list(log_so3(Quaternion.identity())) == [0.0, 0.0, 0.0]
