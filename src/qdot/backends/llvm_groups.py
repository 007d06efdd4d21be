"""Programs whose code is larger than caches: each part is run for a group of vectors of rows, then the next one.

So the machine code of a part is fetched once for all of them. And what few lanes need of a vector, many need of a
group: the items of a pooled `scan` (see `llvm_pool`) are those of the whole group, and fill vectors; they are searched
between parts. Each vector has a tile of its own; scratch serves all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from qdot.backends.llvm_pool import Pool, names_in
from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import EFFORT, Block, Instruction, Program, Stretch, read_from_outside, steps

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


class Cut(NamedTuple):
    """Code in parts; and by their numbers, the first results of pooled scans that are searched before a part."""

    parts: list[Stretch]
    pools: dict[int, tuple[int, ...]]


def cut(program: Program) -> Cut:
    """The code of a program in parts, cut before loops and regions, where numbers go through memory anyway. What the
    search of pooled scans needs comes first, and then they are searched one after the other; what they do to their
    states is one piece of code, so that long states are not put aside between them."""
    constants = constants_of(program)
    unsearched = {
        step.results[0]
        for step in program.body.code
        if step.op == "scan" and Pool.of(step, constants, GROUP) is not None
    }
    found = Cut([], {})
    left = list(program.body.code)
    while left:
        ahead, left, searched = _apart(left, unsearched)
        found.parts.extend(_in_lengths(ahead))
        if searched:
            found.pools[len(found.parts)] = tuple(searched)
            unsearched.difference_update(searched)
    return found


def _apart(
    code: Sequence[Instruction], unsearched: Collection[int]
) -> tuple[list[Instruction], list[Instruction], list[int]]:
    """Code that depends on no scan that is to be searched, the rest, and the scans that can be searched in between."""
    ahead: list[Instruction] = []
    rest: list[Instruction] = []
    searched: list[int] = []
    waiting: set[int] = set()
    for step in code:
        waits = not waiting.isdisjoint(names_in(step))
        if step.results and step.results[0] in unsearched:
            rows = (*step.args[: -len(step.results)], *read_from_outside(step.extra[1]))
            if waiting.isdisjoint(rows):
                searched.append(step.results[0])
            waits = True
        if waits:
            waiting.update(step.results)
        (rest if waits else ahead).append(step)
    return ahead, rest, searched


def _in_lengths(code: Sequence[Instruction]) -> Iterator[Stretch]:
    """Code in parts; a scan that goes on with the state of another one is in the same part."""
    part: list[Instruction] = []
    length = 0
    state: set[int] = set()
    for step in code:
        length += _length(step)
        if part and step.op in BLOCKS and length > PART and state.isdisjoint(step.args):
            yield Stretch(tuple(part))
            part, length = [], _length(step)
        part.append(step)
        if step.op in BLOCKS:
            state = set(step.results) if step.op == "scan" else set()
    if part:
        yield Stretch(tuple(part))


def constants_of(program: Program) -> frozenset[int]:
    return frozenset(s.results[0] for s in steps(program.body) if s.op in ("constant", "truth"))


def _length(step: Instruction) -> int:
    return sum(1 for _ in steps(Block((), (step,), ())))
