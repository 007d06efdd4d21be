"""Programs that are run in groups of vectors: parts, pools of a group, and the same bits as in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qdot.programs.expressions  # noqa: F401 - traced expressions become scalars
from qdot.algebra import iterated, scanned, sin, sqrt, where, where_needed
from qdot.backends import llvm, llvm_groups, llvm_names
from qdot.backends.llvm_groups import cut, is_grouped
from qdot.backends.llvm_math import Vectors
from qdot.backends.llvm_tile import Tile
from qdot.backends.runtime import Interface, Loaded
from qdot.compiler.program import EFFORT, Program
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run
from tests.backends.test_pool import DTYPES, TURNS, given, looked_at, pairs

WHOLE = 2**60


def looked_and_solved(x: list[Any], a: list[Any]) -> dict[str, Any]:
    """Pairs are looked at, pooled; then a loop that lanes leave at different times, and a region; inputs are read at
    the beginning and at the end."""
    start = sqrt(a[0] * a[0] + 1.0) + x[0]
    state = pairs(deeper=True)(x, a)["state"]

    def halved(s: tuple[Any, Any]) -> tuple[Any, Any]:
        y, turns = s
        return where(y > 1.0, y, 0.0) > 0, (y / 2 + state[1] * 1e-3, turns + 1)

    y, turns = iterated(40, (state[0] * state[0] + start, 0.0), halved)
    more = where_needed(a[1] > 0, (y, state[1]), lambda g: sqrt(g[0] * g[0] + g[1] * g[1] + x[1] * x[1]), y)
    return {"found": [*state, y, more, more - start], EFFORT: [turns]}


@pytest.fixture
def in_groups(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Whether programs are run in groups, in parts of so many instructions."""

    def chosen(*, grouped: bool, part: int = 30) -> None:
        monkeypatch.setattr(llvm_groups, "LARGE", 0 if grouped else WHOLE)
        monkeypatch.setattr(llvm_groups, "PART", part)

    return chosen


def traced() -> Program:
    return trace("looked", looked_and_solved, {"x": (TURNS,), "a": (2,)})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("part", "near"), [(1, 0), (30, llvm_names.NEAR), (WHOLE, 3)])
def test_groups_give_the_same_bits(
    part: int, near: int, dtype: str, in_groups: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the batch: less than a vector, several groups, and some vectors of one; and however soon what lies in
    memory is loaded again."""
    program = traced()
    in_groups(grouped=False)
    whole = by_llvm(program, dtype)
    assert not Tile.of(program).parts.in_groups
    monkeypatch.setattr(llvm_names, "NEAR", near)
    in_groups(grouped=True, part=part)
    parts = Tile.of(program).parts
    assert parts.in_groups
    assert len(parts.pools) == 1
    assert len(parts.code) >= (4 if part == 1 else 2)
    grouped = by_llvm(program, dtype)
    for batch in (1, 3, 8, 37, 64, 65, 300):
        inputs = given(batch, dtype, batch)
        found, expected = run(grouped, inputs), run(whole, inputs)
        np.testing.assert_array_equal(found["found"], expected["found"])
        np.testing.assert_array_equal(found[EFFORT], expected[EFFORT])
    assert len(np.unique(found[EFFORT])) > 3, "lanes take differently long"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_vectors_of_any_width(width: int, dtype: str, in_groups: Any) -> None:
    in_groups(grouped=True)
    program = traced()
    narrow = llvm.Kernel(llvm.compiled_object(program, Vectors(dtype, width)))
    inputs = given(50, dtype)
    found = run(Loaded(Interface.of(program), narrow, dtype, width), inputs)["found"]
    np.testing.assert_array_equal(found, run(by_llvm(program, dtype), inputs)["found"])


def test_one_row_is_as_in_a_batch(in_groups: Any) -> None:
    in_groups(grouped=True)
    loaded, inputs = by_llvm(traced()), given(20, "float64")
    together = run(loaded, inputs)["found"]
    for k in range(20):
        alone = run(loaded, {name: x[k : k + 1] for name, x in inputs.items()})["found"]
        np.testing.assert_array_equal(alone[0], together[k])


def test_what_is_cut(in_groups: Any) -> None:
    """Before loops and regions; what a pooled loop needs comes first, and else nothing is lost or moved."""
    in_groups(grouped=True, part=1)
    program = traced()
    parts, pools = cut(program)
    code = [step for part in parts for step in part.code]
    assert sorted(code, key=program.body.code.index) == list(program.body.code)
    ((first, (scan,)),) = pools.items()
    place = {r: k for k, part in enumerate(parts) for step in part.code for r in step.results}
    assert place[scan] == first
    for k, part in enumerate(parts):
        for step in part.code:
            assert all(place[a] <= k for a in step.args)
    assert {part.code[0].op for k, part in enumerate(parts) if k not in (0, first)} <= {"scan", "while", "when", "each"}


def one_after_the_other(x: list[Any], a: list[Any]) -> dict[str, Any]:
    """Two loops over pairs, of which the second goes on with the state of the first; and a third one, whose rows it
    takes from that."""

    def entered(given: tuple[list[Any], list[Any]]) -> list[Any]:
        state, row = given
        found = looked_at(row, deeper=True)
        return where_needed(found > 0.2, (state, found), lambda g: [g[0][1] + g[1], g[0][0] * 0.5], state)

    def turn(state: list[Any], row: list[Any]) -> list[Any]:
        return where_needed(row[0] > 0.4, (state, row), entered, state)

    def rows(start: Any) -> list[list[Any]]:
        return [[x[k] + start, x[k - 1] + k, a[0] * (1.0 + k), 0.1 * k] for k in range(TURNS)]

    first = scanned(rows(0.0), [0.0, 1.0], turn)
    second = scanned(rows(a[1]), first, turn)
    third = scanned(rows(sin(second[0])), [a[0], a[1]], turn)
    return {"found": [*first, *second, *third], EFFORT: [where(second[0] > 0, 1.0, 0.0)]}


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_that_go_on_with_a_state_are_one_part(dtype: str, in_groups: Any) -> None:
    """And are searched one after the other, before; what is looked for by what they found comes later. The same bits as
    in one piece."""
    program = trace("chained", one_after_the_other, {"x": (TURNS,), "a": (2,)})
    in_groups(grouped=False)
    whole = by_llvm(program, dtype)
    in_groups(grouped=True, part=1)
    parts, pools = cut(program)
    both, last = pools.items()
    assert [len(scans) for _, scans in (both, last)] == [2, 1]
    scans = [step.results[0] for step in parts[both[0]].code if step.op == "scan"]
    assert scans == list(both[1])
    assert last[0] > both[0]
    grouped = by_llvm(program, dtype)
    for batch in (3, 64, 150):
        inputs = given(batch, dtype, batch)
        np.testing.assert_array_equal(run(grouped, inputs)["found"], run(whole, inputs)["found"])


def test_only_large_programs_that_tell_their_effort_are_grouped(in_groups: Any) -> None:
    in_groups(grouped=False)
    assert not is_grouped(traced())
    in_groups(grouped=True)
    assert is_grouped(traced())
    plain = trace("plain", lambda x: {"y": [x[0] * x[1]]}, {"x": (2,)})
    assert not is_grouped(plain)
