"""Pose, S and Ṡv of every joint: rigid, and one the derivative of the other, by dual numbers and by differences."""

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import logm

from qdot.algebra import as_array, derivative
from qdot.joints import Continuous, Cylindrical, Helical, Planar, Prismatic, Revolute, Universal
from tests.joints.cases import MOVING, body_velocity, case, cases, numbers, rotation

EXACT = 1e-13
"""Dual numbers truncate nothing: some tens of roundings of numbers of order one to ten."""


def twist(X0, X1):
    """log(X0⁻¹ X1) by SciPy, as (ω, v)."""
    A = logm(numbers(X0.inv() @ X1)).real
    return np.array([A[2, 1], A[0, 2], A[1, 0], *A[:3, 3]])


@cases()
def test_the_transform_is_rigid(c):
    X = c.joint.transform(c.q)
    R = rotation(X)
    np.testing.assert_allclose(R.T @ R, np.eye(3), rtol=0, atol=4e-15)
    assert np.linalg.det(R) == pytest.approx(1, abs=4e-15)
    assert len(c.q) == c.joint.nq
    assert len(c.v) == c.joint.nv


@cases()
def test_sizes_of_the_answers(c):
    joint = c.joint
    assert as_array(joint.subspace(c.q)).shape == (6, joint.nv)
    assert [len(x) for x in (joint.neutral(), joint.normalized(c.q), joint.rate(c.q, c.v))] == [joint.nq] * 3
    assert [len(x) for x in (joint.difference(c.q, c.q), joint.bracket(c.v, c.u))] == [joint.nv] * 2
    assert len(joint.limited(c.q)) == len(joint.limits.lower) == len(joint.limits.upper)
    assert len(joint.limits.velocity) == len(joint.limits.effort) == joint.nv


@cases(MOVING)
def test_subspace_is_the_derivative_of_the_pose(c):
    """Column by column, through `retract`: what v means."""
    X = c.joint.transform(c.q)
    for e, s in zip(np.eye(c.joint.nv).tolist(), c.joint.subspace(c.q).columns, strict=True):
        rate = derivative(lambda dv: c.joint.transform(c.at(dv)), e)
        np.testing.assert_allclose(numbers(s), body_velocity(X, rate), rtol=0, atol=EXACT)


@cases(MOVING, draws=3)
def test_subspace_by_central_differences(c):
    """h = 1e-4: truncation h²/6 times third derivatives of order ten, rounding 1e-15/h = 1e-11."""
    h = 1e-4
    measured = twist(c.joint.transform(c.along(-h)), c.joint.transform(c.along(h))) / (2 * h)
    np.testing.assert_allclose(numbers(c.joint.subspace(c.q) @ c.v), measured, rtol=0, atol=1e-6)


@cases()
def test_bias_is_the_rate_of_the_subspace_times_velocity(c):
    rate = c.joint.subspace_rate(c.q, c.v)
    assert len(rate) == c.joint.nv
    np.testing.assert_allclose(numbers(c.joint.bias(c.q, c.v)), numbers(rate @ c.v), rtol=0, atol=EXACT)


@cases(MOVING, draws=3)
def test_bias_by_second_differences(c):
    """log(X(0)⁻¹X(h)) + log(X(0)⁻¹X(-h)) = h² d/dt(Sv) + O(h⁴): truncation 1e-6 times fourth derivatives of order
    ten, rounding 1e-15/h² = 1e-9."""
    h = 1e-3
    X0, ahead, behind = (c.joint.transform(c.along(t)) for t in (0.0, h, -h))
    measured = (twist(X0, ahead) + twist(X0, behind)) / h**2
    np.testing.assert_allclose(numbers(c.joint.bias(c.q, c.v)), measured, rtol=0, atol=1e-4)


@cases(MOVING)
def test_subspace_rate_is_linear_in_velocity(c):
    total = [x + 2 * y for x, y in zip(c.v, c.u, strict=True)]
    sum_of_rates = numbers(c.joint.subspace_rate(c.q, c.v)) + 2 * numbers(c.joint.subspace_rate(c.q, c.u))
    np.testing.assert_allclose(numbers(c.joint.subspace_rate(c.q, total)), sum_of_rates, rtol=0, atol=EXACT)


@cases(MOVING)
def test_the_bias_is_not_missing_where_the_subspace_turns(c):
    """A bias that is always zero would pass where S is constant; where S depends on q, it does not."""
    moves = np.abs(numbers(c.joint.subspace(c.along(0.3))) - numbers(c.joint.subspace(c.q))).max() > 1e-12
    rate = np.abs(numbers(c.joint.subspace_rate(c.q, c.v))).max() > 1e-12
    assert moves == rate == (type(c.joint).__name__ in ("Universal", "Planar", "Compound"))


# ── symbols and lanes ────────────────────────────────────────────────────────────────────────────

THIRDS = (sp.Rational(1, 3), sp.Rational(-2, 3), sp.Rational(2, 3))
SYMBOLIC = {
    "revolute": Revolute(THIRDS),
    "continuous": Continuous("y"),
    "prismatic": Prismatic(THIRDS),
    "helical": Helical("x", sp.Symbol("p", real=True)),
    "cylindrical": Cylindrical(THIRDS),
    "universal": Universal("x", (0, sp.Rational(3, 5), sp.Rational(4, 5))),
    "planar": Planar("y"),
}


@pytest.mark.parametrize("kind", SYMBOLIC)
def test_subspace_and_bias_as_identities(kind):
    """SymPy differentiates the pose; S v and Ṡ v are equal to it for every q, not at a sample."""
    joint = SYMBOLIC[kind]
    q, v = sp.symbols("q:3", real=True)[: joint.nq], sp.symbols("v:3", real=True)[: joint.nv]
    X = joint.transform(q)

    def along(expression):
        return sum(sp.diff(expression, x) * y for x, y in zip(q, v, strict=True))

    R, p = sp.Matrix(as_array(X.rotation)), sp.Matrix(as_array(X.position))
    W, u = R.T * R.applyfunc(along), R.T * p.applyfunc(along)
    velocity = sp.Matrix([W[2, 1], W[0, 2], W[1, 0], *u])
    S = joint.subspace(q)
    assert sp.simplify(sp.Matrix(list(S @ v)) - velocity) == sp.zeros(6, 1)
    bias = sp.Matrix(list(joint.bias(q, v)))
    assert sp.simplify(sp.Matrix([along(x) for x in S @ v]) - bias) == sp.zeros(6, 1)


@pytest.mark.parametrize("kind", MOVING)
def test_lanes_are_joints_side_by_side(kind):
    """The same joint at five configurations at once; NumPy's own sin and cos may differ by an ulp from C's."""
    c = case(kind, 0)
    steps = np.random.default_rng(5).normal(size=(c.joint.nv, 5))
    Q, V = c.at(list(steps)), list(steps[::-1])
    questions = {
        "transform": lambda q, v: c.joint.transform(q),
        "subspace": lambda q, v: c.joint.subspace(q),
        "bias": lambda q, v: c.joint.bias(q, v),
        "subspace_rate": lambda q, v: c.joint.subspace_rate(q, v),
        "complement": lambda q, v: c.joint.complement(q),
        "retract": lambda q, v: c.joint.retract(q, v),
        "difference": lambda q, v: c.joint.difference(c.q, q),
        "rate": lambda q, v: c.joint.rate(q, v),
        "bracket": lambda q, v: c.joint.bracket(v, c.v),
        "normalized": lambda q, v: c.joint.normalized(q),
        "limited": lambda q, v: c.joint.limited(q),
    }
    for name, ask in questions.items():
        together = as_array(ask(Q, V))
        for k in range(5):
            alone = as_array(ask([x[k] for x in Q], [x[k] for x in V]))
            lane = together[k] if together.ndim > alone.ndim else together
            np.testing.assert_allclose(lane.astype(float), alone.astype(float), rtol=0, atol=2e-14, err_msg=name)
