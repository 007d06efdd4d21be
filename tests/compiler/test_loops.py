"""Loops and regions: the interpreter against plain Python, and what is hoisted out of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qdot.compiler.graph import BLOCKS
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Block, Instruction, Program
from qdot.compiler.table import Table
from qdot.compiler.trace import trace

X = np.linspace(-2.0, 3.0, 11)


def evaluated(build: Any, **inputs: Any) -> dict[str, np.ndarray]:
    shapes = {name: np.shape(x)[1:] for name, x in inputs.items()}
    return interpret(trace("f", build, shapes), inputs)


def blocks(program: Program) -> list[Block]:
    """The body, and the blocks in it, from outside in."""
    found = [program.body]
    for block in found:
        found += [step.extra[1] for step in block.code if step.op in BLOCKS]
    return found


def ops(block: Block) -> list[str]:
    return [step.op for step in block.code if step.op not in ("constant", "item")]


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_counted_loop(count: int) -> None:
    out = evaluated(lambda x: {"y": x.graph.fori(count, [x, 1.0], lambda i, c: [c[0] * c[1] + i, c[1] - 0.5 * x])}, x=X)
    for x, row in zip(X, out["y"], strict=True):
        a, b = x, 1.0
        for i in range(count):
            a, b = a * b + i, b - 0.5 * x
        np.testing.assert_allclose(row, [a, b], rtol=1e-14)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_carried_values_change_places_at_once(count: int) -> None:
    out = evaluated(lambda x: {"y": x.graph.fori(count, [x, 1.0, 2.0], lambda i, c: [c[1], c[2], c[0]])}, x=X)
    start = np.stack([X, np.ones_like(X), np.full_like(X, 2.0)], axis=1)
    np.testing.assert_array_equal(out["y"], np.roll(start, -count, axis=1))


@pytest.mark.parametrize("limit", [0, 1, 4, 50])
def test_while_stops_row_by_row(limit: int) -> None:
    out = evaluated(
        lambda x: {"y": x.graph.while_(limit, [x, 0.0], lambda c: (c[0] < 10.0, [c[0] * 1.5 + 1, c[1] + 1]))}, x=X
    )
    for x, row in zip(X, out["y"], strict=True):
        a, turns = x, 0
        while a < 10.0 and turns < limit:
            a, turns = a * 1.5 + 1, turns + 1
        np.testing.assert_allclose(row, [a, turns], rtol=1e-14)


def test_newton_by_while() -> None:
    def root(x: Any) -> dict[str, Any]:
        def step(c: list[Any]) -> tuple[Any, list[Any]]:
            new = 0.5 * (c[0] + x / c[0])
            return 1e-15 * x < (new - c[0]).unary("abs"), [new]

        return {"y": x.graph.while_(60, [x], step)[0]}

    values = np.array([1e-8, 0.5, 2.0, 3.0, 1e10])
    np.testing.assert_allclose(evaluated(root, x=values)["y"], np.sqrt(values), rtol=1e-14)


def test_region() -> None:
    out = evaluated(lambda x: {"y": x.graph.when(x > 0.0, [x], lambda p: [p[0].sqrt(), p[0].log()], [-1.0, x])}, x=X)
    with np.errstate(all="ignore"):
        expected = np.where((X > 0)[:, None], np.stack([np.sqrt(X), np.log(X)], 1), np.stack([-np.ones_like(X), X], 1))
    np.testing.assert_array_equal(out["y"], expected)


@pytest.mark.parametrize("values", [[-1.0, -2.0], [1.0, 2.0]])
def test_region_for_no_row_and_for_all(values: list[float]) -> None:
    out = evaluated(lambda x: {"y": x.graph.when(x > 0.0, [x], lambda p: [p[0] * 3.0], [x])[0]}, x=np.array(values))
    np.testing.assert_array_equal(out["y"], [3 * v if v > 0 else v for v in values])


def test_rows() -> None:
    """As many results as operands, fewer, more; rows of results of rows; what does not depend on a row."""

    def build(x: Any) -> dict[str, Any]:
        g = x.graph
        swapped = g.each([[x, 1.0], [2.0, x.sin()]], lambda r: [r[1] + x, r[0]])
        sums = g.each([*swapped, [x, x]], lambda r: [r[0] + r[1]])
        made = g.each([[s] for (s,) in sums], lambda r: [r[0], g.fori(2, [r[0]], lambda i, c: [c[0] * x])[0], x, 3.0])
        return {"swapped": swapped, "sums": sums, "made": made, "none": g.each([], lambda r: r)}

    out = evaluated(build, x=X)
    first, second = np.stack([1.0 + X, X], axis=1), np.stack([np.sin(X) + X, np.full_like(X, 2.0)], axis=1)
    sums = np.stack([first.sum(axis=1), second.sum(axis=1), 2 * X], axis=1)
    np.testing.assert_allclose(out["swapped"], np.stack([first, second], axis=1), rtol=1e-15)
    np.testing.assert_allclose(out["sums"][:, :, 0], sums, rtol=1e-15)
    x = np.broadcast_to(X[:, None], sums.shape)
    np.testing.assert_allclose(out["made"], np.stack([sums, sums * x * x, x, 3.0 + 0 * x], axis=2), rtol=1e-15)
    assert out["none"].shape == (len(X), 0)


TABLE = Table(tuple((float(k), 0.5 * k) for k in range(6)))


@pytest.mark.parametrize(("first", "count"), [(0, 6), (2, 3), (5, 1), (3, 0), (-2, 4), (4, 9), (7, 2), (2, -1)])
def test_part_of_a_table(first: int, count: int) -> None:
    def build(x: Any) -> dict[str, Any]:
        return {"y": x.graph.sweep(TABLE, first, count, [x], lambda row, c: [c[0] * row[1] + row[0]])}

    expected = np.array([0.5, -2.0])
    for k in range(first, first + count):
        if 0 <= k < 6:
            expected = expected * TABLE.rows[k][1] + TABLE.rows[k][0]
    assert evaluated(build, x=np.array([0.5, -2.0]))["y"][:, 0].tolist() == expected.tolist()


def test_lanes_go_through_the_same_part_of_a_table() -> None:
    def build(x: Any) -> dict[str, Any]:
        return {"y": x.graph.sweep(TABLE, 0.0, x, [x], lambda row, c: [c[0] + row[0]])}

    with pytest.raises(ValueError, match="the same in all lanes"):
        trace("f", build, {"x": ()})


def test_rows_are_of_one_length() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        trace("f", lambda x: {"y": x.graph.each([[x], [x, x]], lambda r: r)}, {"x": ()})


def test_nested_blocks() -> None:
    """A loop over a loop over a while with a region inside, against plain Python."""

    def build(x: Any) -> dict[str, Any]:
        g = x.graph

        def outer(i: Any, c: list[Any]) -> list[Any]:
            def inner(j: Any, d: list[Any]) -> list[Any]:
                def turn(e: list[Any]) -> tuple[Any, list[Any]]:
                    kick = g.when(e[0] < 0.0, [e[0]], lambda p: [p[0] * p[0] + j], [e[0]])[0]
                    return e[0] < x + 4.0, [kick + 1.0 + i]

                return g.while_(3, [d[0]], turn)

            return [g.fori(2, [c[0]], inner)[0] - 3.0]

        return {"y": g.fori(3, [x], outer)[0]}

    def plain(x: float) -> float:
        c = x
        for i in range(3):
            d = c
            for j in range(2):
                for _ in range(3):
                    if not d < x + 4.0:
                        break
                    d = (d * d + j if d < 0.0 else d) + 1.0 + i
            c = d - 3.0
        return c

    np.testing.assert_allclose(evaluated(build, x=X)["y"], [plain(x) for x in X], rtol=1e-13)


def test_nan_ends_a_while() -> None:
    out = evaluated(
        lambda x: {"y": x.graph.while_(9, [x], lambda c: (c[0] < 5.0, [c[0] + 1.0]))[0]}, x=np.array([np.nan, 1.0])
    )
    np.testing.assert_array_equal(out["y"], [np.nan, 5.0])


# -- where things lie --------------------------------------------------------------------------------------------------


def test_what_does_not_change_lies_outside() -> None:
    def build(x: Any) -> dict[str, Any]:
        return {"y": x.graph.fori(9, [x], lambda i, c: [c[0] * x.sin() + (x.unary("exp") + 2.0) * i])[0]}

    body, loop = blocks(trace("f", build, {"x": ()}))
    assert sorted(ops(body)) == ["add", "exp", "for", "input", "sin"]
    assert sorted(ops(loop)) == ["add", "mul", "mul"]


def test_a_loop_that_does_not_change_lies_outside_a_loop() -> None:
    def build(x: Any) -> dict[str, Any]:
        g = x.graph
        return {"y": g.fori(9, [x], lambda i, c: [c[0] + g.fori(4, [x], lambda j, d: [d[0] * d[0]])[0]])[0]}

    body, *inner = blocks(trace("f", build, {"x": ()}))
    assert ops(body).count("for") == 2
    assert sorted(map(ops, inner)) == [["add"], ["mul"]]


def test_middle_of_three() -> None:
    """What depends on the middle loop only lies in the middle one."""

    def build(x: Any) -> dict[str, Any]:
        g = x.graph

        def middle(i: Any, c: list[Any]) -> list[Any]:
            return [g.fori(5, [c[0]], lambda j, d: [d[0] + i.cos() * j + x.sin()])[0]]

        return {"y": g.fori(4, [x], middle)[0]}

    body, outer, inner = blocks(trace("f", build, {"x": ()}))
    assert "sin" in ops(body)
    assert ops(outer) == ["cos", "for"]
    assert sorted(ops(inner)) == ["add", "add", "mul"]


def test_only_what_is_given_lies_in_a_region() -> None:
    def build(x: Any, y: Any) -> dict[str, Any]:
        return {"z": x.graph.when(x < y, [x], lambda p: [p[0].sin() + y.unary("exp")], [0.0])[0]}

    body, region = blocks(trace("f", build, {"x": (), "y": ()}))
    assert "exp" in ops(body)
    assert sorted(ops(region)) == ["add", "sin"]


def test_hoisted_values_are_right() -> None:
    def build(x: Any) -> dict[str, Any]:
        g = x.graph

        def outer(i: Any, c: list[Any]) -> list[Any]:
            scale = x.sin() * i
            return [g.fori(3, [c[0]], lambda j, d: [d[0] * 0.5 + scale + x.cos() * j])[0]]

        return {"y": g.fori(4, [x], outer)[0]}

    def plain(x: float) -> float:
        c = x
        for i in range(4):
            for j in range(3):
                c = c * 0.5 + np.sin(x) * i + np.cos(x) * j
        return c

    np.testing.assert_allclose(evaluated(build, x=X)["y"], [plain(x) for x in X], rtol=1e-13)


# -- errors ------------------------------------------------------------------------------------------------------------


def test_values_of_a_body_do_not_leave_it() -> None:
    kept = []

    def build(x: Any) -> dict[str, Any]:
        x.graph.fori(3, [x], lambda i, c: [kept.append(c[0] * 2.0) or c[0]])
        return {"y": kept[0]}

    with pytest.raises(ValueError, match="outside"):
        trace("f", build, {"x": ()})


def test_bodies_return_what_they_carry() -> None:
    with pytest.raises(ValueError, match="returned 1 values for 2"):
        trace("f", lambda x: {"y": x.graph.fori(3, [x, x], lambda i, c: [c[0]])}, {"x": ()})
    with pytest.raises(ValueError, match="carried"):
        trace("f", lambda x: {"y": x.graph.while_(3, [x], lambda c: (c[0] < 1, []))}, {"x": ()})


def test_truths_are_not_carried() -> None:
    with pytest.raises(ValueError, match=r"kind|truth|number"):
        trace("f", lambda x: {"y": x.graph.fori(3, [x < 1.0], lambda i, c: [c[0]])[0]}, {"x": ()})


def test_counts_are_not_negative() -> None:
    with pytest.raises(ValueError, match="-1"):
        trace("f", lambda x: {"y": x.graph.fori(-1, [x], lambda i, c: [c[0] + 1.0])[0]}, {"x": ()})
    with pytest.raises(ValueError, match="-1"):
        trace("f", lambda x: {"y": x.graph.while_(-1, [x], lambda c: (c[0] < 1, [c[0] + 1.0]))[0]}, {"x": ()})


def test_a_body_that_fails_leaves_the_graph_usable() -> None:
    def build(x: Any) -> dict[str, Any]:
        with pytest.raises(ZeroDivisionError):
            x.graph.fori(3, [x], lambda i, c: [c[0] / (1 // 0)])
        return {"y": x.graph.fori(2, [x], lambda i, c: [c[0] + 1.0])[0]}

    np.testing.assert_array_equal(evaluated(build, x=X)["y"], X + 2.0)


def test_instructions_of_blocks_hold_their_number() -> None:
    program = trace("f", lambda x: {"y": x.graph.while_(6, [x], lambda c: (c[0] < 1.0, [c[0] + 1.0]))[0]}, {"x": ()})
    loop = next(step for step in program.body.code if step.op == "while")
    assert isinstance(loop, Instruction)
    assert loop.extra[0] == 6
    assert len(loop.extra[1].results) == 2
