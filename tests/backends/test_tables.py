"""Tables of constants in machine code: kept short where that changes nothing, and asked for before they are needed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from qdot.backends import llvm, llvm_lookup
from qdot.backends.llvm_lookup import kept
from qdot.backends.llvm_text import assembly
from qdot.backends.llvm_tile import Tile
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Program
from qdot.compiler.table import Table
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run

RANDOM = np.random.default_rng(7)


def table(count: int, width: int, dtype: str) -> Table:
    entries = RANDOM.normal(size=(count, width)).astype(dtype)
    entries[0, 0] = 2.0**24 - 1
    return Table(tuple(map(tuple, entries.astype(float).tolist())))


def reading(of: Table) -> Program:
    """The rows that two numbers name, and the sum of some rows."""

    def text(x: list) -> dict[str, list]:
        graph, (a, b) = x[0].graph, x
        total = graph.sweep(of, 1, 3, [0.0] * of.width, lambda row, s: [p + q for p, q in zip(row, s, strict=True)])
        return {"a": graph.row(of, a), "b": graph.row(of, b * b), "sum": total}

    return trace("reading", text, {"x": (2,)})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("entries", ["float64", "float32"])
@pytest.mark.parametrize("width", [1, 3, 16, 18])
def test_entries_are_those_of_the_table_to_the_last_bit(width: int, entries: str, dtype: str) -> None:
    """Also where a number names no row: below and beyond, and none at all."""
    program = reading(table(40, width, entries))
    x = RANDOM.uniform(-3, 7, size=(37, 2))
    x[3], x[4] = np.nan, 1e9
    found, expected = run(by_llvm(program, dtype), {"x": x}), interpret(program, {"x": x}, dtype)
    for name in ("a", "b", "sum"):
        np.testing.assert_array_equal(found[name], expected[name])


def test_numbers_that_fit_are_kept_short() -> None:
    vectors = llvm.host().vectors("float64")
    assert kept(vectors, table(5, 3, "float32")).dtype == "float32"
    assert kept(vectors, table(5, 3, "float64")).dtype == "float64"
    assert kept(vectors, Table(((1e300, 0.0),))).dtype == "float64"


def two_in_turn() -> Program:
    """In a loop two rows of a large table, of which the second does not depend on what the first one tells."""
    of = table(1000, 16, "float32")

    def text(x: list) -> dict[str, list]:
        graph = x[0].graph

        def turn(k: object, state: list) -> list:
            a, b = state
            first, second = graph.row(of, a * 100.0), graph.row(of, b * 100.0)
            return [sum(first), sum(second) - first[0]]

        return {"state": graph.fori(5, x, turn)}

    return trace("two", text, {"x": (2,)})


def test_rows_of_large_tables_are_asked_for_before_they_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    program, vectors = two_in_turn(), llvm.host().vectors("float64")
    lines = assembly(program, vectors, Tile.of(program)).splitlines()
    asked = [k for k, line in enumerate(lines) if "call void @llvm.prefetch" in line]
    read = [k for k, line in enumerate(lines) if re.search(r"= load <4 x float>", line)]
    assert len(asked) == 2 * vectors.width
    assert asked[-1] < min(read)
    x = {"x": RANDOM.uniform(0, 9, size=(50, 2))}
    found = run(by_llvm(program), x)["state"]
    monkeypatch.setattr(llvm_lookup, "LARGE", 10**9)
    np.testing.assert_array_equal(found, run(by_llvm(program), x)["state"])
    np.testing.assert_allclose(found, interpret(program, x)["state"], rtol=1e-12)  # sums of some hundred numbers
