"""What lies in memory is loaded where it is read, and again where that is long after it was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import qdot.programs.expressions  # noqa: F401 - traced expressions become scalars
from qdot.algebra import scanned
from qdot.backends import llvm, llvm_names
from qdot.backends.llvm_names import NEAR, Names
from qdot.backends.llvm_text import assembly
from qdot.backends.llvm_tile import Tile
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run

TURNS, WIDE = 4, NEAR + 20


def loads(name: str) -> tuple[Callable[[], str], list[str]]:
    """What loads a value, and the names that it has given."""
    given: list[str] = []

    def load() -> str:
        given.append(f"%{name}{len(given)}")
        return given[-1]

    return load, given


def passed(names: Names, steps: int) -> None:
    for _ in range(steps):
        names.go_on()


def test_it_is_known_for_a_while() -> None:
    names, (load, given) = Names(), loads("x")
    names.later[7] = load
    passed(names, 100)
    assert given == []
    assert names[7] == "%x0"
    passed(names, NEAR)
    assert names[7] == "%x0"
    passed(names, 1)
    assert 7 not in names
    assert names[7] == "%x1"


def test_what_is_put_there_is_loaded_where_it_is_read_long_after() -> None:
    names, (load, given) = Names(), loads("x")
    names.lies(7, "%made", load)
    passed(names, NEAR)
    assert names[7] == "%made"
    passed(names, 1)
    assert names[7] == "%x0"
    assert given == ["%x0"]


def test_what_is_only_in_a_register_stays_known() -> None:
    names = Names({1: "%a"})
    names[2] = "%b"
    passed(names, 1000)
    assert (names[1], names[2]) == ("%a", "%b")


def test_a_value_that_is_made_is_not_loaded() -> None:
    """Where code is written twice, a parameter may lie in memory the first time only."""
    names, (load, given) = Names(), loads("x")
    names.later[7] = load
    assert names[7] == "%x0"
    names[7] = "%made"
    passed(names, 1000)
    assert names[7] == "%made"
    assert given == ["%x0"]


def test_a_block_forgets_what_it_loaded() -> None:
    names, (load, given) = Names(), loads("x")
    names.later[7] = load
    around = names.enter()
    assert names[7] == "%x0"
    names.leave(around)
    assert names[7] == "%x1"
    names.give(7, 8)
    assert names[8] == "%x1"
    assert given == ["%x0", "%x1"]


def read_twice() -> Program:
    """A loop whose rows are read, and read again when the sum of all is known."""

    def turn(state: list, row: list) -> list:
        total = row[0]
        for x in row[1:]:
            total = total + x * x
        return [state[0] + sum((x * total for x in row), start=0)]

    def text(x: list) -> dict[str, list]:
        rows = [[x[k] * (n + 2.0) for k in range(WIDE)] for n in range(TURNS)]
        return {"found": scanned(rows, [x[0] * 0], turn)}

    return trace("read", text, {"x": (WIDE,)})


@pytest.mark.parametrize(("near", "times"), [(10 * WIDE, 1), (NEAR, 2)])
def test_rows_of_a_loop_are_loaded_again(near: int, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once where all is near, else for each of the two sums. The numbers are the same, to the last bit."""
    program, inputs = read_twice(), {"x": np.random.default_rng(0).normal(size=(13, WIDE))}
    expected = run(by_llvm(program), inputs)["found"]
    monkeypatch.setattr(llvm_names, "NEAR", near)
    text = assembly(program, llvm.host().vectors("float64"), Tile.of(program))
    count = sum(line.lstrip().startswith("%late") and " load " in line for line in text.splitlines())
    assert count == times * WIDE
    np.testing.assert_array_equal(run(by_llvm(program), inputs)["found"], expected)
