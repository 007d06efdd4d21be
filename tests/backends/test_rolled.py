"""Rolled code: the same bits as straight-line code, however much of it becomes loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import qdot
from qdot.algorithms import aba
from qdot.backends.llvm_parts import Parts
from qdot.backends.llvm_tile import Tile
from qdot.backends.llvm_turns import Array, Constants, Here, Inputs, Same, Table
from qdot.compiler import rolling
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from qdot.formulations.maximal import to_maximal
from qdot.joints import Revolute
from qdot.programs import expressions as _registered  # makes expressions scalars  # noqa: F401
from qdot.simulation.simulate import Simulation
from qdot.spatial import Inertia
from tests.backends.loading import by_llvm, run
from tests.compiler.repeated_programs import EAGER, repeated

BATCH = 17
"""Whole vectors, and a row alone: numbers, not vectors, compute that."""


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in EAGER.items():
        monkeypatch.setattr(rolling, name, value)


def rolled(program: Program) -> Program:
    """A copy that is rolled as the settings are now."""
    made = replace(program)
    assert len(made.stretches) > 1
    return made


def straight(program: Program) -> Program:
    """A copy that is not rolled."""
    made = replace(program)
    made.__dict__["stretches"] = [replace(program.stretches[0], code=program.body.code, turns=1)]
    return made


def inputs_of(program: Program, rows: int, dtype: str, seed: int = 0) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {p.name: draw.normal(0.0, 0.4, (rows, *p.shape)).astype(dtype) for p in program.inputs}


def assert_same_bits(program: Program, dtype: str, seed: int = 0) -> None:
    """All rows together and each alone."""
    inputs = inputs_of(program, BATCH, dtype, seed)
    loops, line = by_llvm(rolled(program), dtype), by_llvm(straight(program), dtype)
    found, expected = run(loops, inputs), run(line, inputs)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name, strict=True)
    for row in (0, BATCH - 1):
        alone = run(loops, {name: x[row : row + 1] for name, x in inputs.items()})
        for name, values in expected.items():
            np.testing.assert_array_equal(alone[name], values[row : row + 1], err_msg=name)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(seed=st.integers(0, 2**20))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_repeated_programs(seed: int, dtype: str) -> None:
    program = repeated(seed)
    if len(replace(program).stretches) > 1:
        assert_same_bits(program, dtype, seed)


@pytest.mark.usefixtures("eager")
def test_the_programs_are_worth_comparing() -> None:
    """Most are rolled for the most part, and operands come from everywhere."""
    kinds: set[Any] = set()
    shares = []
    for seed in range(60):
        program = repeated(seed)
        loops = [s for s in program.stretches if s.turns > 1]
        shares.append(sum(len(s.code) for s in loops) / len(program.body.code))
        turns = Parts.of(program).turns
        for rows in turns.sources.values() if turns is not None else ():
            for source in (x for row in rows for x in row):
                kinds.add((type(source), isinstance(source, Here) and source.start is not None))
        kinds.update([("beyond", False)] if turns is not None and turns.beyond else [])
    assert {kind for kind, _ in kinds} == {Here, Same, Constants, Inputs, Array, Table, "beyond"}
    assert (Here, True) in kinds
    assert np.mean(shares) > 0.5


@pytest.mark.usefixtures("eager")
def test_arrays_share_no_place_that_is_still_read() -> None:
    """From where the first of it is written to where the last is read, an array has its places for itself."""
    found = 0
    for seed in range(40):
        tile = Tile.of(repeated(seed))
        turns = tile.parts.turns
        if turns is None:
            continue
        made = {r: k for k, part in enumerate(tile.parts.code) for step in part.code for r in step.results}
        held: list[tuple[int, int, set[int]]] = []
        for (part, step), last in turns.last.items():
            first, stride = tile.arrays[part, step]
            beyond = turns.beyond.get((part, step), {})
            places = {first + turn * stride for turn in (*range(turns.stretches[part].turns), *beyond)}
            begin = min([part, *(made[value] for value in beyond.values())])
            for other_begin, other_last, others in held:
                if begin <= other_last and other_begin <= last:
                    assert not places & others
                else:
                    found += bool(places & others)
            held.append((begin, last, places))
    assert found > 0  # and places are used again


# -- mechanisms --------------------------------------------------------------------------------------------------------


def chain(n: int) -> qdot.Model:
    """Rods that hang from each other, turning about y."""
    world = qdot.Mechanism("chain", gravity=(0, 0, -9.81))
    part, at = world.world, (0.0, 0.0, 0.0)
    for k in range(n):
        rod = Inertia.about_com(0.1, (0, 0, -0.1), (4e-4, 4e-4, 0))
        part = part.add(f"link{k}", Revolute("y"), rod, at=at, joint_name=f"joint{k}")
        at = (0.0, 0.0, -0.2)
    return qdot.assemble(world)


def program_of(n: int, coordinates: str) -> Program:
    """A step of a chain, as a run has it."""
    model = chain(n)
    state = np.full(n, 0.1), np.zeros(n)
    if coordinates == "maximal":
        apart = to_maximal(model)
        model, state = apart.model, apart.state(*state)
    return Simulation(model, state, 1e-3, integrator="semi-implicit euler", solver="sparse")._program.program


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("coordinates", "n"), [("reduced", 30), ("maximal", 12)])
def test_chains(monkeypatch: pytest.MonkeyPatch, coordinates: str, n: int, dtype: str) -> None:
    program = program_of(n, coordinates)
    monkeypatch.setattr(rolling, "SHORTEST", 0)
    monkeypatch.setattr(rolling, "SHARE", 0.5)
    assert_same_bits(program, dtype)


def test_code_does_not_grow_with_the_chain() -> None:
    """Long chains are rolled by themselves, and what is written then is the same for all."""
    written = []
    for n in (280, 320):
        model = chain(n)
        shapes = {"q": (n,), "v": (n,), "tau": (n,)}
        program = trace("fd", lambda q, v, tau: {"a": aba.forward_dynamics(model, q, v, tau)}, shapes)  # noqa: B023
        assert len(program.body.code) > rolling.SHORTEST
        written.append(sum(s.period for s in program.stretches[1:]))
    assert written[0] == written[1] < 1000


def test_short_programs_are_left_alone() -> None:
    program = program_of(30, "reduced")
    assert [s.code for s in program.stretches] == [program.body.code]
    assert Parts.of(program).turns is None
