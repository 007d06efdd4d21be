"""Programs whose code is larger than caches: each part is run for a group of vectors of rows, then the next one.

So the machine code of a part is fetched once for all of them. And what few lanes need of a vector, many need of a
group: a pooled `scan` (see `llvm_pool`) is a part of its own, whose items are those of the whole group, and fill
vectors. Each vector has a tile of its own; scratch serves all.
"""

from __future__ import annotations

from qdot.backends.llvm_pool import Pool
from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import EFFORT, Block, Instruction, Program, Stretch, steps

GROUP = 8
"""Vectors of a group."""

LARGE = 160_000
"""Instructions of a program from which on it is run in groups: some megabyte of machine code."""

PART = 2**14
"""Instructions of a part, or so."""


def tells_effort(program: Program) -> bool:
    """Whether rows of a program take differently long."""
    return any(port.name == EFFORT for port in program.outputs)


def is_grouped(program: Program) -> bool:
    """Whether a program is run in groups."""
    return tells_effort(program) and sum(map(_length, program.body.code)) > LARGE


def cut(program: Program) -> tuple[list[Stretch], tuple[int, ...]]:
    """The code of a program in parts, and which of them are pooled. It is cut before loops and regions, where numbers
    go through memory anyway."""
    constants = constants_of(program)
    found: list[Stretch] = []
    pools: list[int] = []
    part: list[Instruction] = []
    length = 0
    for step in program.body.code:
        is_pooled = step.op == "scan" and Pool.of(step, constants, GROUP) is not None
        length += _length(step)
        if part and (is_pooled or (step.op in BLOCKS and length > PART)):
            found.append(Stretch(tuple(part)))
            part, length = [], _length(step)
        if is_pooled:
            pools.append(len(found))
            found.append(Stretch((step,)))
            length = 0
        else:
            part.append(step)
    return [*found, Stretch(tuple(part))], tuple(pools)


def constants_of(program: Program) -> frozenset[int]:
    return frozenset(s.results[0] for s in steps(program.body) if s.op in ("constant", "truth"))


def _length(step: Instruction) -> int:
    return sum(1 for _ in steps(Block((), (step,), ())))
