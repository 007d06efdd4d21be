"""Random programs give the interpreter's numbers in every backend, up to bounds on rounding (see random_programs)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from qdot.compiler.graph import BLOCKS
from qdot.compiler.interpret import interpret
from qdot.compiler.ops import OPS
from qdot.compiler.program import Program
from tests.backends.loading import by_c, by_llvm, needs_c, run
from tests.compiler.random_programs import bounded, programs, rows_for, used_ops

DTYPES = ("float64", "float32")
BATCH = 21  # some full vectors and a partly filled one
SEEDS = st.integers(0, 2**16)
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}


@pytest.mark.parametrize("dtype", DTYPES)
@given(program=programs(), seed=SEEDS)
@settings(max_examples=100, **QUIET)
def test_bounds_hold_for_the_interpreter_itself(program: Program, seed: int, dtype: str) -> None:
    inputs = rows_for(program, seed, BATCH)
    assert bounded(program, inputs, dtype).deviation(interpret(program, inputs, dtype)) is None


@pytest.mark.parametrize("dtype", DTYPES)
@given(program=programs(), seed=SEEDS)
@settings(max_examples=150, **QUIET)
def test_llvm(program: Program, seed: int, dtype: str) -> None:
    inputs = rows_for(program, seed, BATCH)
    assert bounded(program, inputs, dtype).deviation(run(by_llvm(program, dtype), inputs)) is None


@needs_c
@given(program=programs(), seed=SEEDS)
@settings(max_examples=45, **QUIET)
def test_c(tmp_path, program: Program, seed: int) -> None:
    inputs = rows_for(program, seed, BATCH)
    compiled = by_c(tmp_path, *((program, dtype) for dtype in DTYPES))
    for dtype, call in zip(DTYPES, compiled, strict=True):
        assert bounded(program, inputs, dtype).deviation(call(inputs)) is None


def test_the_programs_are_worth_comparing() -> None:
    """All operations occur, most rows are decided, most numbers are finite and tightly bounded."""
    seen: set[str] = set()
    decided, finite, tight = [], [], []

    @given(programs(), SEEDS)
    @settings(max_examples=500, derandomize=True, database=None, **QUIET)
    def look(program: Program, seed: int) -> None:
        inputs = rows_for(program, seed, BATCH)
        seen.update(used_ops(program))
        found = bounded(program, inputs, "float64")
        decided.append(found.decided.mean())
        for name, values in found.values.items():
            rows, errors = values[found.decided], found.errors[name][found.decided]
            finite.extend(np.isfinite(rows).ravel())
            tight.extend((errors <= 1e-10 * (1.0 + np.abs(rows)))[np.isfinite(rows)].ravel())

    look()
    assert seen >= {*OPS, *BLOCKS, "entry", "constant", "input"}
    assert np.mean(decided) > 0.7
    assert np.mean(finite) > 0.6
    assert np.mean(tight) > 0.9
