"""Derivatives of expressions, forward and backward, through loops and regions, against differences and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qdot.compiler.differentiate import jacobian, pullback, pushforward, sparsity
from qdot.compiler.expr import Expr
from qdot.compiler.graph import Graph
from qdot.compiler.interpret import interpret
from qdot.compiler.ops import OPS
from qdot.compiler.program import Port, lower
from qdot.compiler.table import Table

SMOOTH = [name for name, row in OPS.items() if row.partials is not None and name != "select"]


def inputs(count: int) -> list[Expr]:
    graph = Graph()
    return [graph.input("x", k) for k in range(count)]


def values(outputs: list[Expr], x: np.ndarray, count: int) -> np.ndarray:
    graph = next(y.graph for y in outputs)
    program = lower("f", graph, [Port("x", (count,))], {Port("y", (len(outputs),)): outputs})
    return interpret(program, {"x": np.atleast_2d(x)})["y"][0]


def differences(outputs: list[Expr], x: np.ndarray) -> np.ndarray:
    """Central differences, h = 1e-6: good to 1e-9 of the largest entry or so."""
    h, n = 1e-6, len(x)
    return np.column_stack(
        [(values(outputs, x + h * e, n) - values(outputs, x - h * e, n)) / (2 * h) for e in np.eye(n)]
    )


def numeric(rows: list[list[Expr]], x: np.ndarray) -> np.ndarray:
    return np.array([values(row, x, len(x)) for row in rows])


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-7) -> None:
    assert np.max(np.abs(actual - expected)) <= tolerance * (1 + np.max(np.abs(expected)))


def loops(x: list[Expr]) -> list[Expr]:
    """A loop in a loop, parts of a table, a region, rows with a loop in each, and what they capture from outside."""
    g = x[0].graph
    a = (x[0] * x[1]).sin() + x[2].unary("exp") / (1 + x[0] * x[0])

    def turn(i: Expr, carried: list[Expr]) -> list[Expr]:
        inner = g.fori(2, [carried[1]], lambda j, d: [d[0] * x[0] + j])
        return [carried[0] * 0.5 + carried[1].sin() + i * x[2], inner[0]]

    outer = g.fori(4, [a, x[1]], turn)
    table = Table(tuple((0.3 * k, 1.0 - 0.25 * k) for k in range(5)))

    def part(bounds: Any, state: Any) -> list[Expr]:
        return g.sweep(table, *bounds, state, lambda row, s: [s[0] * row[0] + x[2], s[1] + s[0].sin() * row[1]])

    outer = g.scan([[0.0, 2.0], [2.0, 3.0]], outer, part)
    region = g.when(x[0] > 0.0, [x[0], outer[1]], lambda p: [p[0] * p[1].cos() * x[2]], [x[1] * x[1]])
    rows = g.each([[x[0], 2.0], [outer[0], a], [1.5, x[2]]], lambda r: [r[0] * r[1].sin() + x[1], *turn(r[0], r)])
    return [*outer, *region, *(y for row in rows for y in row)]


@pytest.mark.parametrize("op", SMOOTH)
def test_every_row_of_the_table(op: str) -> None:
    x = inputs(2)
    at = np.array([0.6, 0.3])  # inside the domain of every function, away from corners
    y = x[0].unary(op) if OPS[op].arity == 1 else x[0].binary(op, x[1])
    close(numeric(jacobian([y], x), at), differences([y], at))
    close(numeric([pullback([y], [2.0], x)], at), 2 * differences([y], at))


@pytest.mark.parametrize("seed", range(6))
def test_through_loops_and_regions(seed: int) -> None:
    x = inputs(3)
    at = np.random.default_rng(seed).uniform(-1, 1, 3)  # larger ones grow beyond what differences resolve
    y = loops(x)
    J = numeric(jacobian(y, x), at)
    close(J, differences(y, at))
    weights = np.random.default_rng(seed + 9).normal(size=len(y))
    close(numeric([pullback(y, list(weights), x)], at)[0], weights @ J, 1e-13)
    step = np.random.default_rng(seed + 7).normal(size=3)
    close(values(pushforward(y, dict(zip(x, step, strict=True))), at, 3), J @ step, 1e-13)


def test_a_while_loop_forward_only() -> None:
    x = inputs(2)
    g = x[0].graph
    y = g.while_(20, [x[0], x[1]], lambda c: (c[0] < 5.0, [c[0] * 1.5 + c[1], c[1] * x[1]]))
    at = np.array([0.4, 0.9])
    close(numeric(jacobian(y, x), at), differences(y, at))
    with pytest.raises(ValueError, match="while loop"):
        pullback(y, [1.0, 1.0], x)


def test_zeros_are_known() -> None:
    x = inputs(3)
    y = [x[0] * x[1], x[2].sin(), x[0] - x[0]]
    assert sparsity(y, x) == [[True, True, False], [False, False, True], [False, False, False]]
    for rows in (jacobian(y, x), jacobian([*y, x[1]], x)):
        zeros = [[e.graph.constants[e.index] == 0.0 for e in row] for row in rows[:3]]
        assert zeros == [[False, False, True], [True, True, False], [True, True, True]]
    assert jacobian([], x) == []


def test_second_derivatives() -> None:
    """∂²/∂x∂y of x² sin y, by taking the gradient's Jacobian; equal mixed partials."""
    x = inputs(2)
    f = x[0] * x[0] * x[1].sin()
    H = numeric(jacobian(pullback([f], [1.0], x), x), np.array([0.7, 0.4]))
    a, b = 0.7, 0.4
    close(H, np.array([[2 * np.sin(b), 2 * a * np.cos(b)], [2 * a * np.cos(b), -a * a * np.sin(b)]]), 1e-14)
