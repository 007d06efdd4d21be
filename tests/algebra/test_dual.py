"""Dual numbers: every rule against SymPy's derivative in 30 digits, nesting, and scalars of other kinds inside."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st

from qdot import algebra
from qdot.algebra import Dual, Vec3, absolute, atan2, cos, derivative, exp, maximum, minimum, sin, sqrt, where
from qdot.spatial import Basis, Motion, Transform

x, y = sp.symbols("x y", real=True)

FUNCTIONS = {
    "sin": (lambda a: algebra.sin(a), sp.sin(x), 0.7),
    "cos": (lambda a: algebra.cos(a), sp.cos(x), 0.7),
    "tan": (lambda a: algebra.tan(a), sp.tan(x), 0.7),
    "tanh": (lambda a: algebra.tanh(a), sp.tanh(x), 0.7),
    "asin": (lambda a: algebra.asin(a), sp.asin(x), 0.7),
    "acos": (lambda a: algebra.acos(a), sp.acos(x), -0.3),
    "exp": (lambda a: algebra.exp(a), sp.exp(x), -0.4),
    "log": (lambda a: algebra.log(a), sp.log(x), 0.2),
    "sqrt": (lambda a: algebra.sqrt(a), sp.sqrt(x), 2.3),
    "absolute below": (lambda a: algebra.absolute(a * a * a), sp.Abs(x**3), -1.3),
    "absolute above": (lambda a: algebra.absolute(a * a * a), sp.Abs(x**3), 1.3),
    "sign": (lambda a: algebra.sign(a) * a * a, sp.sign(x) * x**2, -1.3),
    "floor": (lambda a: algebra.floor(a) * a * a, sp.Integer(-2) * x**2, -1.3),
    "atan2, both": (lambda a: atan2(a * a, 1 - a), sp.atan2(x**2, 1 - x), 1.7),
    "atan2, first": (lambda a: atan2(a, -2.0), sp.atan2(x, -2), -0.6),
    "atan2, second": (lambda a: atan2(-2.0, a), sp.atan2(-2, x), -0.6),
    "sums": (lambda a: 3 + a - 2 - (5 - a) - (-a) * 3, 5 * x - 4, 0.3),
    "products": (lambda a: 3 * a * a * 2.0 * (a + 1), 6 * x**2 * (x + 1), -0.3),
    "quotients": (lambda a: a / 2 + 3 / a + (a + 1) / (a * a), x / 2 + 3 / x + (x + 1) / x**2, -0.8),
    "square": (lambda a: a**2, x**2, -0.8),
    "cube": (lambda a: a**3, x**3, -0.8),
    "first power": (lambda a: a**1, x, 0.4),
    "inverse square": (lambda a: a**-2, x**-2, -0.8),
    "minimum": (lambda a: minimum(a * a, 2.0) + minimum(0.1, a), x**2 + sp.Rational(1, 10), 0.9),
    "maximum": (lambda a: maximum(a * a, 0.2) + maximum(9.0, a), x**2, 0.9),
    "chain": (
        lambda a: exp(sin(a * a)) / sqrt(1 + cos(a) ** 2),
        sp.exp(sp.sin(x**2)) / sp.sqrt(1 + sp.cos(x) ** 2),
        0.8,
    ),
}


def nth_derivative(f, n):
    if n == 0:
        return f
    lower = nth_derivative(f, n - 1)
    return lambda a: derivative(lambda e: lower(a + e[0]), [1.0])


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_sympy(name, order):
    """2e-13 of the value and lower derivatives: nothing is truncated, a third derivative rounds some tens of times."""
    f, expression, at = FUNCTIONS[name]
    truth = [float(sp.diff(expression, x, k).subs(x, sp.Float(at, 40)).evalf(30)) for k in range(order + 1)]
    tolerance = 2e-15 if order == 1 else 2e-13
    assert nth_derivative(f, order)(at) == pytest.approx(truth[-1], abs=tolerance * (1 + max(map(abs, truth))))


def test_a_slope_multiplies():
    """d/dε f(x + dε) = f'(x) d: the direction is not always one."""
    assert derivative(lambda e: sin(0.4 + e[0]), [3.0]) == pytest.approx(3 * np.cos(0.4), rel=4e-16)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=8), st.integers(-20, 20))
def test_polynomials_by_horner(coefficients, eighths):
    """Exact in binary: small integers at multiples of 1/8."""
    at = eighths / 8

    def horner(a):
        total = 0
        for c in coefficients:
            total = total * a + c
        return total

    slope = derivative(lambda e: horner(at + e[0]), [1.0])
    assert slope == np.polyval(np.polyder(np.array(coefficients, dtype=float)), at)


@pytest.mark.parametrize(("exponent", "order"), [(0, 1), (1, 2), (2, 3)])
def test_powers_at_zero_differentiate_until_nothing_is_left(exponent, order):
    assert nth_derivative(lambda a: a**exponent, order)(0.0) == 0.0


# ── nesting ──────────────────────────────────────────────────────────────────────────────────────


def test_perturbations_are_not_confused():
    """d/dx [x · d/dy (x + y)] = 1; a program that mixes up its two ε answers 2."""

    def inner(a):
        return derivative(lambda e: a + (5.0 + e[0]), [1.0])

    assert derivative(lambda e: (3.0 + e[0]) * inner(3.0 + e[0]), [1.0]) == 1.0


def test_an_outer_variable_is_a_constant_inside():
    """d/dx [x · d/dy x] = 0: the inner derivative does not take the outer slope for its own."""

    def inner(a):
        return derivative(lambda e: a, [1.0])

    assert derivative(lambda e: (3.0 + e[0]) * inner(3.0 + e[0]), [1.0]) == 0.0


def test_inner_slope_may_depend_on_the_outer_variable():
    """d/dx [d/dy (x² y³) at y = x] = d/dx 3x⁴ = 12x³."""

    def inner(a):
        return derivative(lambda e: a * a * (a + e[0]) ** 3, [1.0])

    assert derivative(lambda e: inner(2.0 + e[0]), [1.0]) == 96.0


TWO_ARGUMENTS = {
    "sum": (lambda a, b: (a + b) * (a - b), (x + y) * (x - y)),
    "product": (lambda a, b: a * b * b, x * y * y),
    "quotient": (lambda a, b: a / b, x / y),
    "atan2": (lambda a, b: atan2(a, b), sp.atan2(x, y)),
    "maximum": (lambda a, b: maximum(a * b, a), x),
    "minimum": (lambda a, b: minimum(a * b, a), x * y),
    "mixed": (lambda a, b: sin(a * b) / (1 + exp(b)), sp.sin(x * y) / (1 + sp.exp(y))),
}


@pytest.mark.parametrize("outer_first", [True, False])
@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_mixed_second_derivatives(name, outer_first):
    """∂²f/∂x∂y with either argument at the higher level; 4e-15: a few tens of roundings of numbers below 2."""
    f, expression = TWO_ARGUMENTS[name]
    at = {x: sp.Float("1.25", 40), y: sp.Float("0.625", 40)}

    def mixed(e):
        if outer_first:
            return derivative(lambda g: f(1.25 + e[0], 0.625 + g[0]), [1.0])
        return derivative(lambda g: f(1.25 + g[0], 0.625 + e[0]), [1.0])

    truth = float(sp.diff(expression, x, y).subs(at).evalf(30))
    assert derivative(mixed, [1.0]) == pytest.approx(truth, abs=4e-15)


def test_a_constant_of_the_outer_level_passes_through():
    result = derivative(lambda e: derivative(lambda g: where(e[0] >= 0, e[0] * 2, g[0]), [1.0]), [1.0])
    assert result == 0.0


# ── branches ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("at", "slope"), [(2.0, 2.0), (-2.0, 3.0)])
def test_where_takes_the_slope_of_its_branch(at, slope):
    assert derivative(lambda e: where(at + e[0] > 0, 2 * e[0], 3 * e[0]), [1.0]) == slope
    assert derivative(lambda e: where(at + e[0] > 0, 2 * e[0], 7.0), [1.0]) == (2.0 if at > 0 else 0.0)
    assert derivative(lambda e: where(at + e[0] > 0, 7.0, 3 * e[0]), [1.0]) == (0.0 if at > 0 else 3.0)


def test_comparisons_look_at_the_value():
    a, b = Dual(1.0, -5.0, 1), Dual(2.0, 5.0, 2)
    assert (a < b, a <= b, a > b, a >= b) == (True, True, False, False)
    assert (a < 1.0, a <= 1.0, a > 1.0, a >= 1.0) == (False, True, False, True)
    assert Dual(a, 0.0, 2) > 0.5
    assert (np.array([0.5, 1.5]) > a).tolist() == [False, True]


# ── other scalars inside ─────────────────────────────────────────────────────────────────────────


def test_over_lanes_each_lane_has_its_own_slope():
    a = np.array([-1.0, 0.5, 2.0])
    direction = np.array([1.0, 2.0, -3.0])
    slope = derivative(lambda e: absolute(a + e[0]) * sin(a + e[0]), [direction])
    truth = (np.sign(a) * np.sin(a) + np.abs(a) * np.cos(a)) * direction
    np.testing.assert_allclose(slope, truth, rtol=0, atol=2e-15)  # three roundings of products up to 6


def test_over_lanes_branches_mix_and_operands_come_from_either_side():
    a = np.array([-1.0, 4.0])
    slope = derivative(lambda e: where(a + e[0] > 0, a * e[0], e[0] * 2), [1.0])
    np.testing.assert_array_equal(slope, [2.0, 4.0])
    both = derivative(lambda e: a / (2 + e[0]) - a + a * e[0] + (a - e[0]) + np.float64(3) * e[0], [1.0])
    np.testing.assert_array_equal(both, -a / 4 + a - 1 + 3)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("floor", "minimum", "maximum", "sign")])
def test_over_symbols_the_derivative_is_exact(name):
    f, expression, at = FUNCTIONS[name]
    got = derivative(lambda e: f(x + e[0]), [sp.Integer(1)])
    difference = (got - sp.diff(expression, x)).subs(x, sp.Float(at, 40)).evalf(30)
    assert abs(difference) < 1e-15  # 0.5 in the rule of the root is a double, so SymPy keeps 15 digits there


def test_over_symbols_branches_stay_symbolic():
    got = derivative(lambda e: where(x + e[0] > 0, (x + e[0]) ** 2, 3 * (x + e[0])), [sp.Integer(1)])
    assert (got.subs(x, 5), got.subs(x, -5)) == (10, 3)


# ── structure ────────────────────────────────────────────────────────────────────────────────────


def test_the_result_has_the_structure_of_the_value():
    result = derivative(lambda e: {"a": [2 * e[0], (e[1], 7.0)], "v": Vec3(e[0] * e[0], e[1], 1)}, [1.0, 3.0])
    assert result == {"a": [2.0, (3.0, 0.0)], "v": Vec3(0.0, 3.0, 0.0)}


def test_spatial_values_differentiate():
    rate = derivative(lambda e: Transform.about(Vec3(0, 0, 1), e[0]), [2.0])
    assert rate.rotation.entries() == ((0, -2, 0), (2, 0, 0), (0, 0, 0))
    assert derivative(lambda e: Motion.of([e[0]] * 6), [2.0]) == Motion.of([2.0] * 6)


def test_a_basis_differentiates():
    slope = derivative(lambda e: Basis.motions(Motion.of([e[0]] * 6)), [2.0])
    assert slope.columns == (Motion.of([2.0] * 6),)
