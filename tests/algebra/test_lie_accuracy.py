"""Exponentials, logarithms and Jacobians against 50 digits, from angles of 1e-18 to a full turn.

Errors are relative to the largest entry. Measured: at most 5e-16 up to half a turn, 4e-15 up to 6 rad, where φ itself
is some ulp of 2π from a rotation by nothing. The bounds below leave a factor of about four.
"""

from math import pi

import numpy as np
import pytest

from qdot.algebra import Quaternion, Vec3, as_array, lie
from tests.algebra.high_precision import (
    adjoint,
    exact,
    half_turn_quaternion,
    inverse,
    mp,
    power_series,
    relative_error,
    skew,
)

UP_TO_HALF_A_TURN = [
    1e-18, 1e-12, 1e-8, 1e-5, 1e-3, 1.9e-3, 2.1e-3, 0.05, 0.3, 0.499999999, 0.5, 0.500000001, 0.7, 1.0, 2.0, 3.0,
    pi - 1e-3, pi - 1e-6, pi - 1e-9, pi,
]  # fmt: skip
BEYOND = [3.5, 5.0, 6.0]
BOUND, BOUND_BEYOND = 2e-15, 1.5e-14


def bound(theta):
    return BOUND if theta <= pi else BOUND_BEYOND


def rotation_vectors(theta):
    """Along an axis, in a plane, and two general directions; as doubles, which are the exact input."""
    rng = np.random.default_rng(7)
    directions = [np.array([0.0, 0.0, -1.0]), np.array([1.0, 1.0, 0.0]), *rng.normal(size=(2, 3))]
    return [theta * d / np.linalg.norm(d) for d in directions]


def vec(a):
    return Vec3.of(a)


def blocks(B):
    return np.block([[as_array(b).astype(float) for b in row] for row in B])


@pytest.mark.parametrize("theta", UP_TO_HALF_A_TURN + BEYOND)
def test_exp_so3(theta):
    for phi in rotation_vectors(theta):
        q, truth = lie.exp_so3(vec(phi)), half_turn_quaternion(exact(phi))
        assert relative_error(list(q), truth) <= bound(theta)
        assert relative_error(list(q.vector), truth[1:]) <= bound(theta)  # also where it is tiny beside w


@pytest.mark.parametrize("theta", UP_TO_HALF_A_TURN)
def test_log_so3(theta):
    """The quaternion, rounded to doubles, still tells θ·axis to an ulp: near zero by its vector, near π by its w."""
    for phi in rotation_vectors(theta):
        q = Quaternion(*half_turn_quaternion(exact(phi)).astype(float).tolist())
        for same in (q, -q):
            back = as_array(lie.log_so3(same))
            if theta == pi and back @ phi < 0:  # an ulp beyond half a turn the other way round is the shorter one
                back = -back
            assert relative_error(back, exact(phi)) <= BOUND


@pytest.mark.parametrize("axis", np.eye(3))
def test_log_of_exact_half_turns(axis):
    """w = 0: an angle of π about the axis or against it."""
    for sign in (1, -1):
        phi = as_array(lie.log_so3(Quaternion(0.0, *(sign * axis).tolist())))
        np.testing.assert_array_equal(phi, sign * pi * axis)


@pytest.mark.parametrize("theta", UP_TO_HALF_A_TURN + BEYOND)
def test_se3_position_and_logarithm(theta):
    for phi in rotation_vectors(theta):
        rho = np.array([0.3, -1.2, 0.8])
        truth = power_series(skew(exact(phi)), 1) @ exact(rho)
        assert relative_error(list(lie.exp_se3(vec(phi), vec(rho))[1]), truth) <= bound(theta)
        if theta < pi:
            q = half_turn_quaternion(exact(phi)).astype(float).tolist()
            back = lie.log_se3(Quaternion(*q), vec(truth.astype(float)))
            assert relative_error(list(back[0]), exact(phi)) <= BOUND
            assert relative_error(list(back[1]), exact(rho)) <= BOUND


@pytest.mark.parametrize("theta", UP_TO_HALF_A_TURN + BEYOND)
def test_left_jacobians_and_their_inverses(theta):
    rho = np.array([0.3, -1.2, 0.8])
    for phi in rotation_vectors(theta)[1:3]:
        J3 = power_series(skew(exact(phi)), 1)
        J6 = power_series(adjoint(exact(phi), exact(rho)), 1)
        p, r = vec(phi), vec(rho)
        assert relative_error(as_array(lie.left_jacobian_so3(p)), J3) <= bound(theta)
        assert relative_error(as_array(lie.left_jacobian_inverse_so3(p)), inverse(J3)) <= bound(theta)
        assert relative_error(blocks(lie.left_jacobian_se3(p, r)), J6) <= bound(theta)
        assert relative_error(as_array(lie.coupling_se3(p, r)), J6[3:, :3]) <= bound(theta)
        assert relative_error(blocks(lie.left_jacobian_inverse_se3(p, r)), inverse(J6)) <= bound(theta)


COEFFICIENTS = {
    "sinc": (lambda t: mp.sin(t) / t, 1e-15),
    "cosc": (lambda t: (1 - mp.cos(t)) / t**2, 1e-15),
    "sinc3": (lambda t: (t - mp.sin(t)) / t**3, 1e-14),
    "_half_cot": (lambda t: (1 - t / 2 * mp.cot(t / 2)) / t**2, 2e-14),
    "_cosc4": (lambda t: (t * t / 2 + mp.cos(t) - 1) / t**4, 1e-13),
    "_mixed5": (lambda t: (2 * t - 3 * mp.sin(t) + t * mp.cos(t)) / (2 * t**5), 1e-12),
}


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_coefficients_on_both_sides_of_the_switch(name):
    """Below θ = 1/2 the series is exact to an ulp. Above, the closed form starts with an ulp of θ over a difference of
    order θ³, θ⁴ or θ⁵: ε/(1/2)³/6 … up to 1e-12, which the powers of φ̃ that they multiply make good again."""
    truth, above = COEFFICIENTS[name]

    def error(theta2):
        with mp.workdps(200):  # the closed form at θ = 1e-15 cancels 75 digits
            value = getattr(lie, name)(float(theta2))
            return float(abs(value / truth(mp.sqrt(mp.mpf(float(theta2)))) - 1))

    assert max(map(error, (1e-30, 1e-9, 0.01, 0.2, np.nextafter(0.25, 0)))) <= 4e-16
    assert max(map(error, (0.25, np.nextafter(0.25, 1), 0.3, 1.0, 4.0, 9.0))) <= above


@pytest.mark.parametrize("name", ["sinc", "cosc", "sinc3", "_half_cot", "_cosc4", "_mixed5", "_half_sinc", "_cos_half"])
def test_the_switch_is_continuous(name):
    """The last angle of the series and the first of the closed form differ by an ulp of θ², so the values agree to the
    closed form's own error."""
    f = getattr(lie, name)
    below, above = f(float(np.nextafter(0.25, 0))), f(0.25)
    assert below == pytest.approx(above, rel=COEFFICIENTS.get(name, (None, 1e-15))[1])
    at_zero = f(0.0)
    assert f(1e-300) == at_zero
