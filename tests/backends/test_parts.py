"""Long programs, cut into functions: the same numbers, wherever the cuts are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from qdot.backends import llvm_names, llvm_parts
from qdot.backends.llvm_parts import Parts
from qdot.compiler import rolling
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run
from tests.compiler.random_programs import bounded, programs, rows_for

BATCH = 11


@pytest.mark.parametrize("longest", [1, 4])
@given(program=programs(), seed=st.integers(0, 2**16))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_programs(program: Program, seed: int, longest: int) -> None:
    inputs = rows_for(program, seed, BATCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_parts, "UNCUT", 0)
        patch.setattr(llvm_parts, "LONGEST", longest)
        patch.setattr(llvm_names, "NEAR", longest)  # what lies in memory is loaded again soon
        found = run(by_llvm(program, "float64"), inputs)
    assert bounded(program, inputs, "float64").deviation(found) is None


def recurrence(length: int) -> Program:
    """x ← sin(x) · y, and back: each of the first half is used once more in the second."""

    def text(x: list, y: list) -> dict[str, list]:
        row = [x[0]]
        for _ in range(length):
            row.append(row[-1].unary("sin") * y[0])
        total = row[-1]
        for z in reversed(row):
            total = total * y[0] + z
        return {"total": [total]}

    return trace("recurrence", text, {"x": (1,), "y": (1,)})


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long programs are cut, though they repeat themselves."""
    monkeypatch.setattr(llvm_parts, "UNCUT", 2**12)
    monkeypatch.setattr(rolling, "SHORTEST", 2**20)


@pytest.mark.usefixtures("cut")
def test_a_long_program() -> None:
    program = recurrence(9000)
    assert len(Parts.of(program).code) > 10
    x, y = np.array([[0.3]]), np.array([[0.9]])
    row = [0.3]
    for _ in range(9000):
        row.append(np.sin(row[-1]) * 0.9)
    total = row[-1]
    for z in reversed(row):
        total = total * 0.9 + z
    assert run(by_llvm(program, "float64"), {"x": x, "y": y})["total"][0, 0] == pytest.approx(total, rel=1e-12)


@pytest.mark.usefixtures("cut")
def test_places_are_used_again() -> None:
    """No place holds two values that are both still to be read."""
    program = recurrence(9000)
    parts = Parts.of(program)
    assert parts.size < 9100  # of 36,000 values: half of the first half is alive at most
    last = {a: k for k, part in enumerate(parts.code) for step in part.code for a in parts.reads(step)}
    held: dict[int, int] = {}
    for k, part in enumerate(parts.code):
        for step in part.code:
            for value in step.results:
                if value in parts.places:
                    before = held.get(parts.places[value])
                    assert before is None or last[before] < k
                    held[parts.places[value]] = value
