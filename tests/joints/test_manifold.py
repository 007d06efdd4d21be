"""The configuration manifold of every joint: retract, difference, rate, bracket, and where it starts."""

from math import pi

import numpy as np
import pytest
from scipy.linalg import expm, logm

from qdot.algebra import Quaternion, derivative
from qdot.joints import Continuous, Cylindrical, Fixed, Free, Planar, Revolute, Spherical, Universal
from tests.joints.cases import MOVING, case, cases, numbers

EXACT = 1e-13
"""Some tens of roundings of numbers of order one."""

LIE = ("spherical", "free", "compound")


@cases()
def test_difference_undoes_retract(c):
    np.testing.assert_allclose(c.joint.difference(c.q, c.at(c.v)), c.v, rtol=0, atol=EXACT)


@cases()
def test_retract_undoes_difference(c):
    """Up to the sign of a quaternion, so the poses are compared."""
    there = c.at(c.u)
    back = c.at(c.joint.difference(c.q, there))
    np.testing.assert_allclose(numbers(c.joint.transform(back)), numbers(c.joint.transform(there)), rtol=0, atol=EXACT)


@cases()
def test_nothing_moves_nothing(c):
    zero = [0.0] * c.joint.nv
    np.testing.assert_allclose(c.joint.difference(c.q, c.q), zero, rtol=0, atol=4e-16)
    np.testing.assert_allclose(c.at(zero), c.q, rtol=0, atol=4e-16)


@cases()
def test_velocity_is_constant_along_retract(c):
    """q ⊕ 2dv = (q ⊕ dv) ⊕ dv: `retract` follows one flow, it does not only start along it."""
    half = [x / 2 for x in c.v]
    twice = c.joint.retract(c.at(half), half)
    np.testing.assert_allclose(twice, c.at(c.v), rtol=0, atol=EXACT)


@cases()
def test_difference_turns_round(c):
    there = c.at(c.v)
    np.testing.assert_allclose(c.joint.difference(there, c.q), [-x for x in c.v], rtol=0, atol=EXACT)


@cases()
def test_rate_is_the_derivative_of_retract(c):
    flow = derivative(c.at, c.v)
    np.testing.assert_allclose(c.joint.rate(c.q, c.v), flow, rtol=0, atol=EXACT)


@cases(MOVING, draws=3)
def test_rate_by_central_differences(c):
    """h = 1e-5: truncation 1e-10, rounding 1e-11."""
    h = 1e-5
    slope = (np.array(c.along(h)) - np.array(c.along(-h))) / (2 * h)
    np.testing.assert_allclose(c.joint.rate(c.q, c.v), slope, rtol=0, atol=1e-8)


# ── bracket ──────────────────────────────────────────────────────────────────────────────────────


@cases()
def test_bracket_is_antisymmetric_and_satisfies_jacobi(c):
    b = c.joint.bracket
    np.testing.assert_allclose(b(c.u, c.v), [-x for x in b(c.v, c.u)], rtol=0, atol=EXACT)
    cyclic = np.array([b(c.u, b(c.v, c.w)), b(c.v, b(c.w, c.u)), b(c.w, b(c.u, c.v))], dtype=float)
    np.testing.assert_allclose(cyclic.sum(axis=0), np.zeros(c.joint.nv), rtol=0, atol=EXACT)


def commuted(c, s, t):
    """(u for s, then w for t) ⊖ (w for t, then u for s)."""
    su, tw = [x * s for x in c.u], [x * t for x in c.w]
    retract = c.joint.retract
    return c.joint.difference(retract(c.at(tw), su), retract(c.at(su), tw))


@cases(MOVING)
def test_bracket_is_the_commutator_of_flows(c):
    """∂²/∂s∂t at zero, exactly, by nested dual numbers: +[u, w], in this order and with this sign."""
    second = derivative(lambda e: derivative(lambda g: commuted(c, e[0], g[0]), [1.0]), [1.0])
    np.testing.assert_allclose(c.joint.bracket(c.u, c.w), second, rtol=0, atol=1e-12)


@cases(LIE, draws=3)
def test_bracket_by_small_flows(c):
    """ε = 1e-3, the odd third order averaged out: truncation ε² times fourth-order terms of order ten."""
    h = 1e-3
    measured = (np.array(commuted(c, h, h)) + np.array(commuted(c, -h, -h))) / (2 * h * h)
    np.testing.assert_allclose(c.joint.bracket(c.u, c.w), measured, rtol=0, atol=1e-4)
    assert np.abs(c.joint.bracket(c.u, c.w)).max() > 1e-2  # so that zero would not pass


@cases([kind for kind in MOVING if kind not in LIE], draws=2)
def test_coordinates_commute(c):
    assert list(c.joint.bracket(c.u, c.w)) == [0] * c.joint.nv


# ── the shortest way ─────────────────────────────────────────────────────────────────────────────


def test_spherical_goes_the_shortest_way():
    joint = Spherical()
    q = joint.retract(joint.neutral(), [0.3, -0.2, 0.9])
    far = joint.retract(q, [0.0, 1.5 * pi, 0.0])
    np.testing.assert_allclose(joint.difference(q, far), [0, -0.5 * pi, 0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(joint.difference(q, [-x for x in q]), [0, 0, 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_difference_is_the_logarithm_of_the_relative_pose(kind):
    """The screw from one pose to the other, by SciPy; below 2.95 rad logm keeps 1e-11."""
    for draw in range(6):
        c = case(kind, draw)
        there = c.at(c.v)
        relative = numbers(c.joint.transform(c.q).inv() @ c.joint.transform(there))
        A = logm(relative).real
        screw = [A[2, 1], A[0, 2], A[1, 0], *A[:3, 3]][: c.joint.nv]
        np.testing.assert_allclose(c.joint.difference(c.q, there), screw, rtol=0, atol=1e-11)
        np.testing.assert_allclose(relative, expm(A), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("turned", "shortest"), [(0.5, 0.5), (4.0, 4.0 - 2 * pi), (-4.0, 2 * pi - 4.0), (2 * pi, 0.0)])
def test_a_continuous_turn_wraps_and_a_revolute_one_counts(turned, shortest):
    assert Continuous().difference([10.0], [10.0 + turned])[0] == pytest.approx(shortest, abs=4e-15)
    assert Revolute().difference([10.0], [10.0 + turned])[0] == pytest.approx(turned, abs=4e-15)
    np.testing.assert_allclose(
        numbers(Continuous("x").transform([0.2])), numbers(Continuous("x").transform([0.2 + 2 * pi])), atol=1e-15
    )


# ── neutral, normalized, limited ─────────────────────────────────────────────────────────────────


@cases()
def test_neutral_is_the_identity(c):
    joint = c.joint
    q0 = joint.neutral()
    assert all(type(x) is float for x in q0)
    np.testing.assert_allclose(joint.normalized(q0), q0, rtol=0, atol=0)
    if not isinstance(joint, Fixed) and type(joint).__name__ != "Compound":  # these two may hold an offset
        assert numbers(joint.transform(q0)).tolist() == np.eye(4).tolist()


@cases()
def test_normalized_repairs_quaternions_and_only_them(c):
    np.testing.assert_allclose(c.joint.normalized(c.q), c.q, rtol=0, atol=4e-16)


def test_normalized_of_a_grown_quaternion():
    q = [2.0, -4.0, 4.0, 0.0]
    assert Spherical().normalized(q) == [1 / 3, -2 / 3, 2 / 3, 0.0]
    assert Free().normalized([*q, 5.0, 6.0, 7.0]) == [1 / 3, -2 / 3, 2 / 3, 0.0, 5.0, 6.0, 7.0]


def test_limited_quantities():
    assert Revolute().limited([7.0]) == [7.0]
    assert Universal().limited([1.0, 2.0]) == [1.0, 2.0]
    assert Cylindrical().limited([1.0, 2.0]) == [1.0, 2.0]
    assert Planar().limited([1.0, 2.0, 3.0]) == [1.0, 2.0, 3.0]
    assert Continuous().limited([7.0]) == Free().limited(Free().neutral()) == Fixed().limited([]) == []


@pytest.mark.parametrize("angle", [0.0, 0.4, 3.0, pi])
def test_the_limited_quantity_of_a_ball_is_its_angle(angle):
    q = Quaternion(np.cos(angle / 2), *(np.sin(angle / 2) * np.array([2, -1, 2]) / 3))
    for same in (q, -q):
        assert Spherical().limited(list(same))[0] == pytest.approx(angle, abs=1e-15)
