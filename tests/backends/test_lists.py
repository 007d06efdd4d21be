"""Turns of a loop that some lane needs, listed once: the same numbers as a loop over all turns gives, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import qdot.programs.expressions  # noqa: F401 - traced expressions become scalars
from qdot.algebra import iterated, scanned, where_needed
from qdot.backends import llvm_tile
from qdot.backends.llvm_lists import Lists
from qdot.backends.llvm_tile import Tile
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run

TURNS = 11
DTYPES = ["float64", "float32"]


def contacts(
    *, steps: int = 2, by_state: bool = False, made_inside: bool = False, late: bool = False
) -> Callable[..., dict[str, Any]]:
    """A loop as that over contacts: rows that act where their first entry is positive, gone through twice in each turn
    of an outer loop, and once more afterwards."""

    def build(x: list[Any], a: list[Any]) -> dict[str, Any]:
        rows = [[x[k] - 1.0, x[(k + 1) % TURNS] * 0.5, 0.1 * k] for k in range(TURNS)]

        def acting(given: tuple[list[Any], list[Any]]) -> list[Any]:
            (y, count), row = given
            return [y + 0.1 * row[1] * (row[2] - y) * row[0], count + 1]

        def over(state: list[Any], rows: list[list[Any]]) -> list[Any]:
            def turn(state: list[Any], row: list[Any]) -> list[Any]:
                acts = row[0] + (0.1 * state[1] if by_state else 0.0) > 0
                return where_needed(acts, (state, row), acting, state)

            return scanned(rows, state, turn)

        def once(state: list[Any]) -> tuple[Any, list[Any]]:
            y, _ = state
            mine = [[row[0] + y, *row[1:]] for row in rows] if made_inside else rows
            for _ in range(steps):
                state = over(state, mine)
            return state[0] * state[0] > 0.05, state

        state = iterated(4, [a[0], 0.0], once) if steps else [a[0], 0.0]
        return {"state": over(state, rows) if late else state}

    return build


def traced(**kinds: Any) -> Program:
    return trace("contacts", contacts(**kinds), {"x": (TURNS,), "a": (1,)})


def given(batch: int, dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(batch)
    return {"x": rng.normal(0, 1, (batch, TURNS)).astype(dtype), "a": rng.normal(0, 1, (batch, 1)).astype(dtype)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("late", [False, True])
def test_listed_turns_give_the_same_bits(late: bool, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the batch; the interpreter does not fuse products and sums, so it agrees to rounding."""
    program = traced(late=late)
    lists = Tile.of(program).lists
    assert len(lists.read) == (3 if late else 2)
    assert sum(map(len, lists.made.values())) == 1
    listed = by_llvm(program, dtype)
    monkeypatch.setattr(llvm_tile.Lists, "of", staticmethod(lambda *_: Lists()))
    assert not Tile.of(program).lists.read
    one_by_one = by_llvm(program, dtype)
    for batch in (1, 3, 8, 16, 37, 200):
        inputs = given(batch, dtype)
        one, two = (run(loaded, inputs)["state"] for loaded in (listed, one_by_one))
        assert np.array_equal(one, two)
        assert (two[:, 1] > 0).any() or batch < 8
        exact = interpret(program, inputs)["state"]
        assert np.abs(one - exact).max() <= 64 * np.finfo(dtype).eps * (1 + np.abs(exact).max())


def test_no_turn_is_needed() -> None:
    """Then the loop is left out, and the state is what it was."""
    inputs = {"x": np.full((20, TURNS), -1.0), "a": np.linspace(-1, 1, 20)[:, None]}
    found = run(by_llvm(traced(late=True), "float64"), inputs)["state"]
    assert np.array_equal(found, np.stack([inputs["a"][:, 0], np.zeros(20)], axis=1))


@pytest.mark.parametrize(
    "kinds", [{"by_state": True}, {"made_inside": True}, {"steps": 0, "late": True}], ids=["state", "inside", "once"]
)
def test_what_is_not_listed(kinds: dict[str, Any]) -> None:
    """Where the state decides, where rows come to be within the loop, and where it is asked once only."""
    assert not Tile.of(traced(**kinds)).lists.read
