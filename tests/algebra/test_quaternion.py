"""Quaternions against SciPy's rotations, every quadrant of `from_rotation`, half turns, lanes that mix branches."""

from itertools import product
from math import pi, sqrt

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st
from scipy.spatial.transform import Rotation

from qdot.algebra import Mat3, Quaternion, Vec3, as_array, derivative

seeds = st.integers(0, 2**32 - 1)
ROUNDING = 1e-15
"""Entries of rotations are below one and are sums of four products: some ulp of one."""


def random_unit(seed):
    c = np.random.default_rng(seed).normal(size=4)
    return Quaternion(*(c / np.linalg.norm(c)).tolist())


def scipy_of(q):
    return Rotation.from_quat([q.x, q.y, q.z, q.w])


def matrix_of(axis, angle):
    a = np.array(axis, dtype=float)
    return Rotation.from_rotvec(a / np.linalg.norm(a) * angle).as_matrix()


def same_rotation(q, R):
    """|R(q) - R| by SciPy's matrix."""
    return np.abs(scipy_of(q).as_matrix() - R).max()


@given(seeds)
def test_rotation_matrix_is_scipys(seed):
    q = random_unit(seed)
    np.testing.assert_allclose(as_array(q.rotation()), scipy_of(q).as_matrix(), rtol=0, atol=ROUNDING)


@given(seeds, seeds)
def test_product_composes_and_conjugate_inverts(a, b):
    p, q = random_unit(a), random_unit(b)
    np.testing.assert_allclose(
        as_array((p * q).rotation()), as_array(p.rotation()) @ as_array(q.rotation()), rtol=0, atol=2 * ROUNDING
    )
    np.testing.assert_allclose(as_array(q * q.conjugate()), [1, 0, 0, 0], rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(as_array((-q).rotation()), as_array(q.rotation()))


def test_hamiltons_rule():
    i, j, k = Quaternion(0, 1, 0, 0), Quaternion(0, 0, 1, 0), Quaternion(0, 0, 0, 1)
    assert (i * j, j * k, k * i) == (k, i, j)
    assert j * i == -k
    assert i * i == j * j == k * k == i * j * k == -Quaternion.identity()


def test_norm_and_normalized():
    q = Quaternion(1.0, -2.0, 4.0, 10.0)
    assert q.norm() == 11.0
    assert q.normalized() == Quaternion(1 / 11, -2 / 11, 4 / 11, 10 / 11)
    assert q.vector == Vec3(-2, 4, 10)
    assert list(q) == list(q.entries()) == [1, -2, 4, 10]


def test_symbols_make_a_rotation():
    """RᵀR - 1 has the factor |q|² - 1: it leaves no remainder when divided by it."""
    entries = sp.symbols("w x y z")
    R = as_array(Quaternion(*entries).rotation())
    unit = sum(e**2 for e in entries) - 1
    for residual in (R.T @ R - np.eye(3, dtype=int)).flat:
        assert sp.reduced(sp.expand(residual), [unit], *entries)[1] == 0


# ── from a matrix ────────────────────────────────────────────────────────────────────────────────

AXES = [a for a in product((-1, 0, 1), repeat=3) if any(a)] + [(1, 1e-8, 0), (1e-5, -1, 1e-9), (0.3, -0.2, 5)]
ANGLES = [0.0, 1e-12, 1e-4, 0.5, pi / 2, 2 * pi / 3, 3.0, pi - 1e-4, pi - 1e-8, pi - 1e-12, pi]


@pytest.mark.parametrize("angle", ANGLES)
def test_from_rotation_of_every_quadrant_and_half_turns(angle):
    """The matrix comes back to some ulp, the quaternion is a unit one, and w is not negative."""
    for axis in AXES:
        R = matrix_of(axis, angle)
        q = Quaternion.from_rotation(Mat3.of(R))
        assert same_rotation(q, R) <= 2 * ROUNDING
        assert q.norm() == pytest.approx(1, abs=2 * ROUNDING)
        assert q.w >= 0


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_exact_half_turns(axis):
    diagonal = {"x": (1, -1, -1), "y": (-1, 1, -1), "z": (-1, -1, 1)}[axis]
    q = Quaternion.from_rotation(Mat3.of(np.diag(diagonal)))
    assert [abs(c) for c in q] == [0, *(float(a == axis) for a in "xyz")]


def test_exact_half_turns_about_diagonals():
    """R = 2aaᵀ - 1 with a = (1, ±1, 0)/√2: two squares tie and w is exactly zero."""
    for sign in (1, -1):
        q = Quaternion.from_rotation(Mat3.of([[0, sign, 0], [sign, 0, 0], [0, 0, -1]]))
        np.testing.assert_allclose(abs(as_array(q)), [0, sqrt(0.5), sqrt(0.5), 0], rtol=2e-16)
        assert np.sign(q.x * q.y) == sign


@given(seeds)
def test_from_rotation_inverts_rotation(seed):
    q = random_unit(seed)
    back = as_array(Quaternion.from_rotation(q.rotation()))
    np.testing.assert_allclose(back, as_array(q) * np.sign(q.w), rtol=0, atol=2 * ROUNDING)


def test_lanes_mix_branches():
    """Lanes in which each of the four divisors is the largest give what the floats give, to the last bit."""
    matrices = np.array([matrix_of(axis, angle) for axis in AXES for angle in ANGLES])
    lanes = Quaternion.from_rotation(Mat3.of(np.moveaxis(matrices, 0, -1)))
    alone = [as_array(Quaternion.from_rotation(Mat3.of(R))) for R in matrices]
    assert {int(np.argmax(np.abs(q))) for q in alone} == {0, 1, 2, 3}
    np.testing.assert_array_equal(as_array(lanes), alone)


def test_from_rotation_differentiates():
    """q̇ = ½ q (0, ω) for a body that turns with ω, at every branch; 1e-14: some tens of roundings."""
    w = Vec3(0.3, -1.1, 0.7)
    for seed in range(20):
        q = random_unit(seed)
        R = q.rotation()
        rate = derivative(lambda e, R=R: Quaternion.from_rotation(R + (R @ w.skew()) * e[0]), [1.0])
        expected = q * Quaternion(0, *(w * 0.5)) if q.w > 0 else -(q * Quaternion(0, *(w * 0.5)))
        np.testing.assert_allclose(as_array(rate), as_array(expected), rtol=0, atol=1e-14)
