"""Rolling: a program cut into stretches is the same program, in an order that a backend may take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from qdot.compiler import rolling
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Block, Program
from qdot.compiler.rolling import rolled
from qdot.compiler.trace import trace
from qdot.compiler.verify import verify
from tests.compiler.repeated_programs import EAGER, repeated


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in EAGER.items():
        monkeypatch.setattr(rolling, name, value)


def shapes(program: Program) -> list[tuple[int, int]]:
    """(instructions of a turn, turns) of loops."""
    return [(s.period, s.turns) for s in rolled(program) if s.turns > 1]


@pytest.mark.usefixtures("eager")
@given(seed=st.integers(0, 2**20))
@settings(max_examples=60, deadline=None)
def test_stretches_are_the_program_in_another_order(seed: int) -> None:
    """Nothing is lost, operands come first, turns are alike, and the interpreter gives the same bits."""
    program = repeated(seed, bodies=12)
    stretches = rolled(program)
    code = tuple(step for s in stretches for step in s.code)
    assert sorted(map(id, code)) == sorted(map(id, program.body.code))
    for s in stretches:
        operations = [step.op for step in s.code]
        assert operations == s.turns * operations[: s.period]
    ordered = replace(program, body=Block((), code, program.body.results))
    verify(ordered)  # raises where a value is used before it is there
    inputs = {p.name: np.random.default_rng(seed).normal(size=(3, *p.shape)) for p in program.inputs}
    found, expected = interpret(ordered, inputs), interpret(program, inputs)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.usefixtures("eager")
def test_products_stay_with_the_sum_that_is_their_only_user() -> None:
    """All products are made before all sums; those used once go to their sums, into the same turn."""

    def text(x: list[Any], y: list[Any]) -> dict[str, Any]:
        once = [a * b for a, b in zip(x, y, strict=True)]
        twice = [a * 3.0 for a in x]
        sums = [a + b for a, b in zip(once, x, strict=True)]
        more = [a - b for a, b in zip(twice, y, strict=True)]
        return {"sums": sums, "more": more, "twice": twice}

    program = trace("products", text, {"x": (20,), "y": (20,)})
    loops = [s for s in rolled(program) if s.turns > 1]
    assert [[step.op for step in s.code[: s.period]] for s in loops] == [["mul"], ["mul", "add"], ["sub"]]
    assert all(s.turns == 20 for s in loops)


@pytest.mark.usefixtures("eager")
def test_a_loop_is_parted_where_its_operands_jump() -> None:
    """x + dx and then y + dy: 40 sums, but from two inputs."""

    def text(x: list[Any], y: list[Any], z: list[Any]) -> dict[str, Any]:
        return {"x": [z[0] * a + b for row in (x, y) for a, b in zip(row, z, strict=True)]}

    assert shapes(trace("sums", text, {"x": (20,), "y": (20,), "z": (20,)})) == [(2, 20), (2, 20)]


@pytest.mark.usefixtures("eager")
def test_a_turn_is_as_long_as_its_operands_ask_for() -> None:
    """Three numbers of each body are treated alike, but each comes from elsewhere: a turn is a body, not a number."""

    def text(x: list[Any], z: list[Any]) -> dict[str, Any]:
        made = []
        for a in x:
            made.append([a.unary("sin"), (a + z[0]) / z[1], a.unary("abs")])
        return {"y": [b + z[0] for row in made for b in row]}

    assert shapes(trace("threes", text, {"x": (40,), "z": (2,)})) == [(4, 40), (3, 40)]


def test_what_is_short_or_does_not_repeat_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    short = repeated(1)
    assert [s.code for s in rolled(short)] == [short.body.code]
    monkeypatch.setattr(rolling, "SHORTEST", 0)
    draw = np.random.default_rng(0)

    def text(x: list[Any]) -> dict[str, Any]:
        row = list(x)
        for _ in range(3000):
            a, b = row[draw.integers(len(row))], row[draw.integers(len(row))]
            row.append([a + b, a * b, a - 2.0 * b, a.unary("sin"), a / (b * b + 1.0)][draw.integers(5)])
        return {"y": row[-200:]}

    irregular = trace("irregular", text, {"x": (5,)})
    assert [s.code for s in rolled(irregular)] == [irregular.body.code]
