"""Regions in regions and loops: lanes that an outer one does not need keep what they had, whatever inner ones ask."""

from __future__ import annotations

import numpy as np
import pytest

from qdot.algebra import UNREAD
from qdot.backends import llvm
from qdot.backends.llvm_text import assembly
from qdot.backends.llvm_tile import Tile
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Program
from qdot.compiler.table import Table
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run

LANES = 64
"""Enough that all lanes of some vectors need no region, and that in others one does and its neighbour does not."""


def passed_through(outside: bool) -> Program:
    """A state that goes through two inner regions; or an inner one that starts from another than the outer would keep.

    Inner conditions hold in lanes, too, that do not need the outer region: those must not change there.
    """

    def text(x: list) -> dict[str, list]:
        graph, (a, b, c, s) = x[0].graph, x

        def outer(given: list) -> list:
            b, c, s, t = given
            once = graph.when(b > 0.0, [s, t], lambda st: [st[0] + 1.0, st[1]], [s, t])
            return graph.when(c > 0.0, once, lambda st: [st[0] * 2.0, st[1] - st[0]], once)

        first = graph.when(c < 0.0, [s], lambda st: [st[0] - 3.0], [s])[0] if outside else s
        return {"state": graph.when(a > 0.0, [b, c, first, b], outer, [s, b])}

    return trace("passed", text, {"x": (4,)})


def stopping() -> Program:
    """A loop in a region in a loop, which each lane leaves at another turn."""

    def text(x: list) -> dict[str, list]:
        graph, (a, b) = x[0].graph, x

        def turn(state: list) -> tuple:
            total, k = state

            def halved(given: list) -> list:
                return graph.while_(20, given, lambda s: (s[0] > 1.0, [s[0] * 0.5]))

            (less,) = graph.when(total > b, [total + 4.0], halved, [total])
            return k < a * 3.0, [less + a, k + 1.0]

        return {"state": graph.while_(10, [b, 0.0], turn)}

    return trace("stopping", text, {"x": (2,)})


LOOPS = {
    "for": lambda graph, state, turn: graph.fori(3, state, lambda k, s: turn([k + 1.0], s)),
    "while": lambda graph, state, turn: graph.while_(4, state, lambda s: (s[0] < 5.0, turn([0.5], s))),
    "scan": lambda graph, state, turn: graph.scan([[0.5], [-1.0], [2.0]], state, turn),
    "sweep": lambda graph, state, turn: graph.sweep(Table(((0.5,), (-1.0,), (2.0,))), 0, 3, state, turn),
}


def looping(kind: str, kept: bool) -> Program:
    """A loop in a region, of which one number changes only where an inner region says so, which may hold in lanes that
    do not need the outer one; a second one always does. The first is what it was, or another, outside."""

    def text(x: list) -> dict[str, list]:
        graph, (a, b, c, s) = x[0].graph, x

        def outer(given: list) -> list:
            b, *state = given

            def turn(row: list, state: list) -> list:
                s, t = state
                (less,) = graph.when(b > s, [s, row[0]], lambda g: [g[0] + g[1]], [s])
                return [less, t + b]

            s, t = LOOPS[kind](graph, state, turn)
            return [s, s, t, s + t]

        return {"state": graph.when(a > 0.0, [b, s, c], outer, [s if kept else c, b, c, c])}

    return trace(f"looping {kind} {kept}", text, {"x": (4,)})


def read_by_a_loop() -> Program:
    """What regions give lies in rows that a loop reads, in a region and outside: also where no lane of a vector needs
    them, and where one does after others did not."""

    def text(x: list) -> dict[str, list]:
        graph, (a, b, c, s) = x[0].graph, x
        rows = [
            graph.when(a * k > 1.0, [b, c], lambda given, k=k: [given[0] * k, given[1] - k], [c, 0.25 * k])
            for k in (1.0, 3.0, -2.0)
        ]

        def through(state: list) -> list:
            return graph.scan(rows, state, lambda row, total: [0.5 * total[0] + row[0], total[1] - row[1] * row[0]])

        first = through([s, b])
        return {"state": [*first, *graph.when(s > 0.0, first, through, [a, b]), *rows[1]]}

    return trace("read", text, {"x": (4,)})


PROGRAMS = [
    read_by_a_loop(),
    *(passed_through(False), passed_through(True), stopping()),
    *(looping(kind, kept) for kind in LOOPS for kept in (True, False)),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_the_same_numbers_as_the_interpreter(program: Program) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(LANES, program.inputs[0].size))
    x[: LANES // 2, 0] = -np.abs(x[: LANES // 2, 0])
    x[::13, 0] = np.abs(x[::13, 0])
    found, expected = (
        f({"x": x})["state"] for f in (lambda y: run(by_llvm(program, "float64"), y), lambda y: interpret(program, y))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-13)  # some ten operations


@pytest.mark.parametrize("kind", LOOPS)
def test_what_a_loop_kept_is_not_chosen_again(kind: str) -> None:
    """Of four results of the outer region one is kept in other lanes as it was, by regions in the loop."""
    vectors = llvm.host().vectors("float64")
    texts = [
        assembly(program, vectors, Tile.of(program)) for program in (looping(kind, kept) for kept in (True, False))
    ]
    kept, chosen = (sum(" select " in line for line in text.splitlines()) for text in texts)
    assert kept == chosen - 1


def adding(order: str) -> Program:
    """Regions whose results are sums that begin with what is elsewhere: of products, with parts that others read, taken
    away from, and through a loop."""

    def text(x: list) -> dict[str, list]:
        graph, (a, b, c, s, t) = x[0].graph, x

        def added(given: list) -> list:
            b, c, s, t = given
            half = s + b * c
            more = b * b + half if order == "other" else half + b * b
            return [more - c * s, t - b * half, half * b + c]

        first = graph.when(a > 0.0, [b, c, s, t], added, [s, t, s])

        def turn(row: list, state: list) -> list:
            (y,), (u, v) = row, state
            return graph.when(y > 0.2, [y, u, v], lambda g: [g[1] + g[0] * c, g[2] + g[0] * g[1]], [u, v])

        return {"sums": [*first, *graph.scan([[a], [b], [c]], [first[0], t], turn)]}

    return trace("adding", text, {"x": (5,)})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["one", "other"])
def test_sums_leave_lanes_as_they_are(order: str, dtype: str) -> None:
    """Tolerances: the interpreter rounds products before it adds them, a few roundings of numbers of some ten."""
    program = adding(order)
    x = np.random.default_rng(5).normal(size=(LANES, 5)).astype(dtype)
    found = run(by_llvm(program, dtype), {"x": x})["sums"]
    expected = interpret(program, {"x": x}, np.dtype(dtype))["sums"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * np.finfo(dtype).eps)
    left = x[:, 0] <= 0
    np.testing.assert_array_equal(found[left, :3], x[left][:, [3, 4, 3]])  # to the last bit


def unread() -> Program:
    """A loop over rows whose regions give numbers that are read where they are needed alone: by a second loop, and by
    code after a region; and results of a row that no region gives."""

    def text(x: list) -> dict[str, list]:
        graph = x[0].graph

        def found(row: list) -> list:
            a, b = row
            size, *parts = graph.when(
                a > 0.5, [a, b], lambda g: [g[0], g[0] * g[1], g[1] / g[0]], [0.0, UNREAD, UNREAD]
            )
            return [size, *parts, b]

        rows = graph.each([[y, y + k] for k, y in enumerate(x)], found)

        def turn(row: list, state: list) -> list:
            size, one, two, _ = row
            return graph.when(size > 0.0, [one, two, *state], lambda g: [g[2] + g[0] * g[1], g[3] - g[0]], state)

        (outside,) = graph.when(x[0] > 0.0, [x[1]], lambda g: [g[0] * 3.0], [UNREAD])
        (read,) = graph.when(x[0] > 0.0, [outside], lambda g: [g[0] + 1.0], [7.0])
        return {"state": [*graph.scan(rows, [1.0, 2.0], turn), read, *(row[3] for row in rows)]}

    return trace("unread", text, {"x": (9,)})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_nobody_reads_is_not_put_anywhere(dtype: str) -> None:
    """What is read is as where all of it is put; of a region that is skipped nothing is stored but what is read."""
    program = unread()
    for batch in (1, 5, LANES):
        x = np.random.default_rng(batch).normal(size=(batch, 9)).astype(dtype)
        found = run(by_llvm(program, dtype), {"x": x})["state"]
        expected = interpret(program, {"x": x}, np.dtype(dtype))["state"]
        assert np.isfinite(expected).all()
        eps = np.finfo(dtype).eps  # numbers are up to some hundred, the sum of nine, rounded otherwise
        np.testing.assert_allclose(found, expected, rtol=10 * eps, atol=1000 * eps)
    written = assembly(program, llvm.host().vectors("float64"), Tile.of(program))
    skipped = written.split("\nelse")[1].split("\n  br ")[0]
    assert skipped.count("store") == 1
