"""Expressions fold as they are built, equal ones are one node, and what cannot be known while tracing is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qdot.compiler.expr import Expr
from qdot.compiler.graph import Graph
from qdot.compiler.ops import OPS


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def x(graph: Graph) -> Expr:
    return graph.input("x", 0)


@pytest.fixture
def y(graph: Graph) -> Expr:
    return graph.input("y", 0)


def same(a: Expr, b: Expr) -> bool:
    """Whether two expressions are one node."""
    return a.graph is b.graph and a.index == b.index


def constant(e: Expr) -> float | bool | None:
    return e.graph.constants[e.index]


def depends_on_nothing_new(graph: Graph, before: int) -> bool:
    return len(graph.ops) == before


# -- folding -----------------------------------------------------------------------------------------------------------


def test_zero_and_one_vanish(x: Expr) -> None:
    for e in (x + 0, 0 + x, x - 0, x + 0.0, x * 1, 1 * x, x / 1, x + (-0.0), x * 1.0, x**1):
        assert same(e, x)


def test_two_signs_vanish(x: Expr, y: Expr) -> None:
    negative = -x
    assert same(-negative, x)
    assert same(-(-1.0 * x), x)
    assert same(-(negative * y), x * y)


def test_zero_swallows(x: Expr) -> None:
    for e in (x * 0, 0 * x, x - x, 0 / x, x * 0.0, x + (-x), (-x) + x):
        assert constant(e) == 0.0


def test_zero_minus_is_a_sign(x: Expr) -> None:
    assert same(0 - x, -x)
    assert same(x * -1, -x)
    assert same(x / -1, -x)


def test_signs_move_outwards(x: Expr, y: Expr) -> None:
    assert same((-x) * y, -(x * y))
    assert same(x * (-y), -(x * y))
    assert same((-x) * (-y), x * y)
    assert same((-x) / y, -(x / y))
    assert same(x / (-y), -(x / y))
    assert same((-x) / (-y), x / y)
    assert same(x + (-y), x - y)
    assert same((-x) + y, y - x)
    assert same(x - (-y), x + y)
    assert same(-(x - y), y - x)
    assert same((-x) - y, -(x + y))
    assert same(-2.0 * x, -(2.0 * x))


def test_constants_gather(x: Expr) -> None:
    assert same(2.0 * (3.0 * x), 6.0 * x)
    assert same((x * 3.0) * 2.0, x * 6.0)
    assert same(x / 4.0, x * 0.25)
    assert same(0.5 * (2.0 * x), x)


def test_whole_powers_are_products(x: Expr) -> None:
    assert constant(x**0) == 1.0
    assert same(x**2, x * x)
    assert same(x**4, (x * x) * (x * x))
    assert same(x**-1, 1 / x)
    assert (x**0.5).graph.ops[(x**0.5).index] == "pow"


@pytest.mark.parametrize("op", [op for op, row in OPS.items() if row.arity == 1 and op != "not"])
@pytest.mark.parametrize("value", [0.5, -0.25, 0.0, -1.0, math.inf, math.nan])
def test_functions_of_constants_are_constants(graph: Graph, op: str, value: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(OPS[op].meaning(value))
    found = constant(graph.expr(graph.constant(value)).unary(op))
    assert found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize("op", [op for op, row in OPS.items() if row.arity == 2 and op not in ("and", "or")])
@pytest.mark.parametrize(("a", "b"), [(0.5, 2.0), (-0.25, -0.25), (3.0, -1.0), (math.inf, 1.0), (math.nan, 1.0)])
def test_operations_on_constants_are_constants(graph: Graph, op: str, a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        expected = OPS[op].meaning(a, b)
    found = constant(graph.expr(graph.constant(a)).binary(op, b))
    assert found is not None
    assert found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize(("a", "b"), [(False, False), (False, True), (True, True)])
def test_truths_fold(graph: Graph, a: bool, b: bool) -> None:
    p, q = (graph.expr(graph.truth(t)) for t in (a, b))
    assert constant(p & q) is (a and b)
    assert constant(p | q) is (a or b)
    assert constant(~p) is (not a)


def test_even_and_odd_functions(x: Expr) -> None:
    for op in ("cos", "abs"):
        assert same((-x).unary(op), x.unary(op))
    for op in ("sin", "tan", "asin", "sign"):
        assert same((-x).unary(op), -(x.unary(op)))
    for op in ("exp", "acos", "floor", "sqrt", "log"):
        assert not same((-x).unary(op), -(x.unary(op)))
        assert not same((-x).unary(op), x.unary(op))


def test_select(graph: Graph, x: Expr, y: Expr) -> None:
    c = x < y
    assert same(graph.expr(graph.truth(True)).select(x, y), x)
    assert same(graph.expr(graph.truth(False)).select(x, y), y)
    assert same(c.select(x, x), x)
    assert same((~c).select(x, y), c.select(y, x))
    assert not same(c.select(x, y), c.select(y, x))


def test_idempotent_operations(x: Expr, y: Expr) -> None:
    c = x < y
    assert same(x.binary("min", x), x)
    assert same(x.binary("max", x), x)
    assert same(c & c, c)
    assert same(c | c, c)


def test_nothing_folds_that_nan_would_change(x: Expr) -> None:
    """x == x, x < x and x / x are not known: x may be NaN or zero."""
    for e in (x.binary("eq", x), x <= x, x < x, x / x):
        assert constant(e) is None


def test_division_by_zero_is_kept(graph: Graph) -> None:
    e = graph.expr(graph.constant(1.0)) / 0.0
    assert constant(e) in (None, math.inf)


def test_tiny_divisors_keep_their_quotient(x: Expr) -> None:
    """1 / 1e-310 is infinite, so x / 1e-310 must stay a quotient."""
    e = x / 1e-310
    assert e.graph.ops[e.index] == "div"


# -- one node for equal things -----------------------------------------------------------------------------------------


def test_equal_expressions_are_one_node(graph: Graph, x: Expr, y: Expr) -> None:
    first = (x * y + x.sin()).sqrt()
    before = len(graph.ops)
    assert same((x.sin() + y * x).sqrt(), first)
    assert depends_on_nothing_new(graph, before)


def test_order_is_kept_where_it_matters(x: Expr, y: Expr) -> None:
    assert same(x + y, y + x)
    assert same(x * y, y * x)
    assert same(x.binary("min", y), y.binary("min", x))
    assert same(x == y, y == x)
    for op in ("sub", "div", "atan2", "pow", "lt", "le"):
        assert not same(x.binary(op, y), y.binary(op, x))


def test_constants_are_told_apart_by_their_bits(graph: Graph) -> None:
    assert graph.constant(0.0) != graph.constant(-0.0)
    assert graph.constant(math.nan) == graph.constant(math.nan)
    assert graph.constant(0.1) == graph.constant(0.1)
    assert graph.constant(0.1) != graph.constant(np.nextafter(0.1, 1))
    assert graph.truth(True) != graph.constant(1.0)


def test_inputs_are_one_node_each(graph: Graph) -> None:
    assert same(graph.input("q", 1), graph.input("q", 1))
    assert not same(graph.input("q", 1), graph.input("q", 2))
    assert not same(graph.input("q", 1), graph.input("v", 1))


def test_numpy_numbers_are_numbers(x: Expr) -> None:
    assert same(x + np.float64(2.0), x + 2)
    assert same(np.float64(2.0) * x, 2 * x)
    assert same(np.int64(3) - x, 3 - x)
    assert same(x / np.float32(0.5), x / 0.5)
    assert same(np.float64(1.0) < x, x > 1.0)


# -- errors ------------------------------------------------------------------------------------------------------------


def test_truth_of_an_expression_is_refused(x: Expr) -> None:
    with pytest.raises(TypeError, match="where"):
        bool(x < 1)
    with pytest.raises(TypeError, match="where"):
        _ = 0 < x < 1  # the `and` inside asks for a truth


def test_value_of_an_expression_is_refused(x: Expr) -> None:
    with pytest.raises(TypeError, match="algebra"):
        float(x)
    with pytest.raises(TypeError):
        math.sin(x)
    with pytest.raises(TypeError):
        int(x)


def test_known_values_may_be_asked_for(x: Expr) -> None:
    assert float(x - x + 2.0) == 2.0
    assert bool((x - x) < 1.0) is True


def test_two_traces_do_not_mix(x: Expr) -> None:
    other = Graph().input("x", 0)
    for mix in (lambda: x + other, lambda: x * other, lambda: x < other, lambda: (x < 1).select(other, x)):
        with pytest.raises(ValueError, match="different traces"):
            mix()


def test_foreign_operands_are_refused(x: Expr) -> None:
    for stranger in ("2", None, [1.0], 1j):
        with pytest.raises(TypeError):
            x + stranger
        with pytest.raises(TypeError):
            stranger * x
    with pytest.raises(TypeError, match="number or a traced expression"):
        (x < 1).select("2", x)


def test_expressions_print(x: Expr, y: Expr) -> None:
    assert repr(x * y + 2.0) == "add(mul(x[0], y[0]), 2)"
    deep = x
    for _ in range(60):
        deep = (deep + y).sin()
    assert len(repr(deep)) < 200
