"""What loops read turn by turn lies in one place, from when it is known, wherever they stand."""

from __future__ import annotations

import numpy as np

from qdot.backends.llvm_tile import Tile
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Program, steps
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run

ROWS, TURNS = 5, 3


def nested() -> Program:
    """Rows of an `each`, of the state of a loop, of constants that a region is given, and of results, read by a `scan`
    in a region in a loop, and by another after it."""

    def text(x: list) -> dict[str, list]:
        graph = x[0].graph
        rows = graph.each([[y] for y in x], lambda row: [row[0] * row[0], row[0] + 1.0])

        def turn(state: list) -> tuple:
            given = [*(y for row in rows for y in row), *state, 2.0]

            def region(inside: list) -> list:
                *values, s, c = inside
                table = [[*values[2 * k : 2 * k + 2], s if k % 2 else c] for k in range(ROWS)]
                return graph.scan(table, [s], lambda row, total: [total[0] * 0.5 + row[0] * row[2] - row[1]])

            (moved,) = graph.when(state[0] < x[0], given, region, state)
            return moved < 100.0, [moved + 0.25]

        (total,) = graph.while_(TURNS, [x[1] - 1.0], turn)
        squares = [row[0] for row in rows]
        (last,) = graph.scan([[y, total] for y in squares], [0.0], lambda row, sum_: [sum_[0] * row[1] + row[0]])
        return {"total": [total, last, *squares]}

    return trace("nested", text, {"x": (ROWS,)})


def test_the_same_numbers_as_the_interpreter() -> None:
    program = nested()
    inputs = {"x": np.random.default_rng(0).normal(size=(19, ROWS))}
    found, expected = run(by_llvm(program, "float64"), inputs)["total"], interpret(program, inputs)["total"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)  # a few operations, some of them fused


def test_nothing_is_kept_twice() -> None:
    """Results of an `each` are read where it left them, by both loops and by the caller."""
    program = nested()
    tile = Tile.of(program)
    (each,) = (step for step in steps(program.body) if step.op == "each")
    assert [tile.rows[r] for r in each.results] == [tile.slots[r] for r in each.results]
    assert len(set(tile.rows.values())) == len(tile.rows)
