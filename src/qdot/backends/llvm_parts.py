"""Long programs in parts: the time in which LLVM compiles one function grows with the square of its length.

Each part becomes a function of its own. What a later part reads goes through memory, as much of it would in one
function too, whose registers are few; a place is used again when nobody reads it any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from qdot.compiler.graph import BLOCKS
from qdot.compiler.ops import OPS
from qdot.compiler.program import Instruction, Program, read_from_outside

LONGEST = 2**9
"""Instructions of a part: as quick to compile as it gets; longer ones run no faster."""

UNCUT = 2**17
"""Instructions up to which a program is one function: half a minute of compiling. In parts it would take a quarter of
that, but run up to twice as long."""


@dataclass(frozen=True)
class Parts:
    """The code of a program's body, part by part, and places, counted from zero, of what later parts read."""

    code: list[tuple[Instruction, ...]]
    places: dict[int, int] = field(default_factory=dict)
    size: int = 0

    @staticmethod
    def of(program: Program) -> Parts:
        code = program.body.code
        if len(code) <= UNCUT:
            return Parts([code])
        parts = [code[k : k + LONGEST] for k in range(0, len(code), LONGEST)]
        return Parts(parts, *_places(parts))


def _places(parts: list[tuple[Instruction, ...]]) -> tuple[dict[int, int], int]:
    read_last = {a: k for k, part in enumerate(parts) for step in part for a in reads(step)}
    places: dict[int, int] = {}
    free: list[int] = []
    size = 0
    leaving: list[list[int]] = [[] for _ in parts]
    for k, part in enumerate(parts):
        free += leaving[k - 1] if k else []
        for step in part:
            for value in step.results if needs_place(step) else ():
                last = read_last.get(value, k)
                if last > k:
                    if not free:
                        free.append(size)
                        size += 1
                    places[value] = free.pop()
                    leaving[last].append(places[value])
    return places, size


def reads(step: Instruction) -> tuple[int, ...]:
    """The values that the code of a step has in registers; an `each` has the operands of its turns in memory."""
    if step.op in BLOCKS:
        return (*(step.args if step.op != "each" else ()), *read_from_outside(step.extra[1]))
    return () if step.op == "item" else step.args


def operands(step: Instruction) -> tuple[int, ...]:
    """The values that a step names: it reads them, or its block gives them."""
    if step.op in BLOCKS:
        return (*step.args, *step.extra[1].results)
    return () if step.op == "item" else step.args


def needs_place(step: Instruction) -> bool:
    """Whether what a step gives is not to be had elsewhere, in any part."""
    return step.op not in ("constant", "truth", "input", "each", "item")


def is_truth(step: Instruction) -> bool:
    return step.op in OPS and OPS[step.op].returns_truth
