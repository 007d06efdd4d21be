"""Turns of a loop that few lanes need, pooled: the same numbers as one loop gives, bit for bit, and the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import qdot.programs.expressions  # noqa: F401 - traced expressions become scalars
from qdot.algebra import iterated, scanned, sqrt, where, where_needed
from qdot.backends import llvm, llvm_pool, llvm_tile
from qdot.backends.llvm_math import Vectors
from qdot.backends.llvm_tile import Tile
from qdot.backends.runtime import Interface, Loaded
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run

TURNS = 9
DTYPES = ["float64", "float32"]


def root(x: Any) -> Any:
    """By Newton's method, in as many turns as it takes."""
    return iterated(60, x + 1, lambda y: ((y * y - x > 1e-3) | (x - y * y > 1e-3), (y + x / y) / 2))


def looked_at(row: list[Any], *, deeper: bool) -> Any:
    """What is long: a loop, and another one where the first gives much."""
    x = root(row[1] * row[1] + row[3])
    near = x > 1.5
    if not deeper:
        return where(near, x, -x)
    found = where_needed(
        near, [x, row[2]], lambda given: [root(given[0] * 3 + abs(given[1])), given[0]], [x * 0.5, 0.0]
    )
    return found[0] + where(near, 1.0, 2.0) * found[1]


def pairs(*, deeper: bool = False, outer: bool = False, feedback: bool = False) -> Callable[..., dict[str, Any]]:
    """A loop as that over pairs of shapes: two tests, a long look, and an entry into a state that others were entered
    in before."""

    def build(x: list[Any], a: list[Any]) -> dict[str, Any]:
        rows = [[x[k], x[(k + 1) % len(x)] + k, a[0] * (1.0 + k), 0.1 * k] for k in range(TURNS)]

        def entered(given: tuple[list[Any], list[Any]]) -> list[Any]:
            state, row = given
            found = looked_at(row, deeper=deeper) + (a[1] if outer else 0.0)
            return where_needed(
                found > 0.2, (state, found), lambda g: [g[0][1] + g[1], g[0][0] * 0.5, g[0][2] + 1], state
            )

        def nearer(given: tuple[list[Any], list[Any]]) -> list[Any]:
            state, row = given
            return where_needed(row[1] * row[0] < 2.0, given, entered, state)

        def turn(state: list[Any], row: list[Any]) -> list[Any]:
            return where_needed(row[0] + (state[2] if feedback else 0.0) > 0.4, (state, row), nearer, state)

        return {"state": scanned(rows, [a[0], 0.0, 0.0], turn)}

    return build


def traced(**kinds: bool) -> Program:
    return trace("pairs", pairs(**kinds), {"x": (TURNS,), "a": (2,)})


def given(batch: int, dtype: str, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(0, 1, (batch, TURNS)).astype(dtype), "a": rng.normal(0, 1, (batch, 2)).astype(dtype)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("deeper", [False, True])
def test_pooled_turns_give_the_same_bits(deeper: bool, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the batch; the interpreter does not fuse products and sums, so it agrees to rounding."""
    program = traced(deeper=deeper)
    (pool, _) = next(iter(Tile.of(program).pools.values()))
    assert len(pool.tests) == 2
    assert (pool.deeper is not None) == deeper
    together = by_llvm(program, dtype)
    monkeypatch.setattr(llvm_tile.Pool, "of", staticmethod(lambda step, constants, group: None))
    assert not Tile.of(program).pools
    one_loop = by_llvm(program, dtype)
    for batch in (1, 3, 8, 16, 37, 200):
        inputs = given(batch, dtype, batch)
        found = run(together, inputs)["state"]
        np.testing.assert_array_equal(found, run(one_loop, inputs)["state"])
        expected = interpret(program, inputs, np.dtype(dtype))["state"]
        np.testing.assert_allclose(found, expected, rtol=1e-10 if dtype == "float64" else 1e-3, atol=1e-6)
    assert found[:, 2].max() >= 3, "turns are entered"
    assert found[:, 2].min() == 0, "or not"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_vectors_of_any_width(width: int, dtype: str) -> None:
    """Down to single numbers, as of rolled code for a row alone."""
    program, vectors = traced(deeper=True), Vectors(dtype, width)
    narrow = Loaded(Interface.of(program), llvm.Kernel(llvm.compiled_object(program, vectors)), dtype, width)
    inputs = given(50, dtype)
    np.testing.assert_array_equal(run(narrow, inputs)["state"], run(by_llvm(program, dtype), inputs)["state"])


def test_nothing_to_do_and_all_to_do() -> None:
    """No lane needs a turn; every lane needs every one."""
    program = traced(deeper=True)
    loaded = by_llvm(program)
    for x in (-1.0, 0.5):
        inputs = {"x": np.full((20, TURNS), x), "a": given(20, "float64")["a"]}
        np.testing.assert_allclose(
            run(loaded, inputs)["state"], interpret(program, inputs)["state"], rtol=1e-10, atol=1e-12
        )


def test_what_lanes_bring_from_outside_is_not_pooled() -> None:
    """A long look that reads a number of its lane by another way than its row; and a test that looks at the state."""
    for kinds in ({"outer": True}, {"feedback": True}):
        program = traced(**kinds)
        assert not Tile.of(program).pools
        inputs = given(11, "float64")
        found = run(by_llvm(program), inputs)["state"]
        np.testing.assert_allclose(found, interpret(program, inputs)["state"], rtol=1e-10, atol=1e-12)


def test_short_turns_are_not_pooled() -> None:
    def build(x: list[Any]) -> dict[str, Any]:
        def turn(state: Any, row: list[Any]) -> Any:
            return where_needed(row[0] > 0, (state, row), lambda g: g[0] + sqrt(g[1][0]), state)

        return {"sum": [scanned([[y] for y in x], 0.0, turn)]}

    assert not Tile.of(trace("short", build, {"x": (TURNS,)})).pools


def test_memory_is_enough_for_all_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each turn every lane may be an item: what is left of one is a vector for each turn. What would take too much
    stays one loop."""
    program = traced(deeper=True)
    (pool, place) = next(iter(Tile.of(program).pools.values()))
    assert pool.places >= TURNS * (len(pool.left) + len(pool.kept) + 5) + 2
    assert Tile.of(program).scratch >= place + pool.places
    monkeypatch.setattr(llvm_pool, "MOST", pool.places - 1)
    assert not Tile.of(program).pools
