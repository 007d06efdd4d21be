"""Long programs in parts: the time in which LLVM compiles one function grows with the square of its length.

Each part becomes a function of its own: a loop of rolled code, or straight-line code. What a later part reads goes
through memory, as much of it would in one function too, whose registers are few; a place is used again when nobody
reads it any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from qdot.backends.llvm_groups import cut, is_grouped
from qdot.backends.llvm_turns import Arrays, Turns
from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import Instruction, Program, Stretch, columns_of, read_from_outside, steps

LONGEST = 2**9
"""Instructions of a part: as quick to compile as it gets; longer ones run no faster."""

UNCUT = 2**17
"""Instructions up to which a program is one function: half a minute of compiling. In parts it would take a quarter of
that, but run up to twice as long."""


@dataclass(frozen=True)
class Parts:
    """The code of a program's body, part by part, and places, counted from zero, of what later parts read."""

    code: list[Stretch]
    places: dict[int, int] = field(default_factory=dict)
    size: int = 0
    turns: Turns | None = None
    arrays: Arrays | None = None
    """Of rolled code: in places of their own."""
    in_groups: bool = False
    """Whether each part is run for a group of vectors before the next one is, see `llvm_groups`."""
    pools: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By the number of a part, the first results of each `scan` that is pooled for a group and searched before it."""

    @staticmethod
    def of(program: Program) -> Parts:
        stretches = program.stretches
        parts = [part for stretch in stretches for part in _cut(stretch)]
        if len(parts) == 1 and is_grouped(program):
            parts, pools = cut(program)
            return replace(_Places(parts, None, program.body.results).found(), in_groups=True, pools=pools)
        if len(parts) == 1:
            return Parts(parts)
        turns = Turns(program, parts) if len(stretches) > 1 else None
        return _Places(parts, turns, program.body.results).found()

    def reads(self, step: Instruction) -> tuple[int, ...]:
        """The values that the code of a step has in registers; an `each` has the operands of its turns in memory,
        where straight-line code puts them at once."""
        return _reads(step, self.turns)


def _cut(stretch: Stretch) -> list[Stretch]:
    code = stretch.code
    if stretch.turns > 1 or len(code) <= UNCUT:
        return [stretch]
    return [Stretch(code[k : k + LONGEST]) for k in range(0, len(code), LONGEST)]


def _reads(step: Instruction, turns: Turns | None) -> tuple[int, ...]:
    if step.op not in BLOCKS:
        return () if step.op == "item" else step.args
    captured = read_from_outside(step.extra[1])
    if step.op == "each":
        return (*(a for a in step.args if turns is not None and turns.part[a] >= 0), *captured)
    if turns is not None:
        return (*step.args, *captured)
    named = {*step.extra[1].results, *_named(step)}
    for inner in steps(step.extra[1]):
        named.update(_named(inner))
        named.update(inner.extra[1].results if inner.op in BLOCKS else ())
    return (*_named(step), *(a for a in captured if a in named))


def _named(step: Instruction) -> tuple[int, ...]:
    """Operands of a step in registers: those of a `scan`'s turns are read from the tile, where straight-line code puts
    them at once."""
    return step.args[step.extra[0] * len(columns_of(step)) :] if step.op == "scan" else step.args


class _Places:
    """Finds places for values that are read in other parts than where they are made."""

    def __init__(self, parts: list[Stretch], turns: Turns | None, results: tuple[int, ...]) -> None:
        self.parts = parts
        self.turns = turns
        self.last: dict[int, int] = {}
        """The last part that reads a value, of those that are read by themselves."""
        for k in range(len(parts)):
            for value in self._read(k):
                if turns is not None and turns.in_array(value, k):
                    turns.keep(value, k)
                else:
                    self.last[value] = k
        for value in results if turns is not None else ():
            if turns is not None and turns.in_array(value):
                turns.keep(value, len(parts))

    def _read(self, k: int) -> Iterator[int]:
        if self.turns is not None and self.parts[k].turns > 1:
            yield from self.turns.named(k)
        else:
            for step in self.parts[k].code:
                yield from _reads(step, self.turns)

    def _made(self, k: int) -> Iterator[int]:
        """Values of a part that others may have to find in a place: of a loop, those of its last turn."""
        tabled = self.turns.tabled if self.turns is not None else ()
        for step in self.parts[k].code[-self.parts[k].period :]:
            if needs_place(step):
                yield from step.results
            else:
                yield from (r for r in step.results if r in tabled)

    def found(self) -> Parts:
        places: dict[int, int] = {}
        free: list[int] = []
        size = 0
        leaving: list[list[int]] = [[] for _ in self.parts]
        for k in range(len(self.parts)):
            free += leaving[k - 1] if k else []
            for value in self._made(k):
                last = self.last.get(value, k)
                if last > k:
                    if not free:
                        free.append(size)
                        size += 1
                    places[value] = free.pop()
                    leaving[last].append(places[value])
        if self.turns is None:
            return Parts(self.parts, places, size)
        defined = {
            r: k for k, part in enumerate(self.parts) for step in part.code[-part.period :] for r in step.results
        }
        return Parts(self.parts, places, size, self.turns, Arrays.of(self.turns, defined))


def operands(step: Instruction) -> tuple[int, ...]:
    """The values that a step names: it reads them, or its block gives them."""
    if step.op in BLOCKS:
        return (*step.args, *step.extra[1].results)
    return () if step.op == "item" else step.args


def needs_place(step: Instruction) -> bool:
    """Whether what a step gives is not to be had elsewhere, in any part."""
    return step.op not in ("constant", "truth", "input", "each", "item")
