"""Rolled code as a loop: the code of one turn, with operands found by the rules of `llvm_turns`.

entry:  what is the same in all turns, what the first turn has of the one before
turn:   k, what the last turn left in registers, pointers that move on; the code; what others read goes to arrays
end:    what the last turn leaves to others
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qdot.backends.llvm_lines import Lines
from qdot.backends.llvm_turns import Array, Constants, Here, Inputs, Same, Source, Table
from qdot.compiler.program import Instruction, is_truth


def loop(
    lines: Lines, part: int, defined: Mapping[int, Instruction], places: Mapping[int, Sequence[int | str]]
) -> None:
    """Write a part that is a loop; `places` are those in which values are wanted by others."""
    _Loop(lines, part, defined).write(places)


class _Loop:
    """One loop; operands that are none of its own results have numbers below zero."""

    def __init__(self, lines: Lines, part: int, defined: Mapping[int, Instruction]) -> None:
        turns = lines.tile.parts.turns
        assert turns is not None
        self.to = lines
        self.part = part
        self.stretch = turns.stretches[part]
        self.sources = turns.sources[part]
        self.defined = defined
        self.before: list[str] = []
        self.head: list[str] = []
        self.tail: list[str] = []
        self.pointers: dict[int, str] = {}
        self.operands: dict[Source, int] = {}

    def write(self, places: Mapping[int, Sequence[int | str]]) -> None:
        to, stretch = self.to, self.stretch
        for value in dict.fromkeys(self._known()):
            to.fetch(value, self.defined[value])
        entry, to.lines = to.lines, []
        for k, step in enumerate(stretch.code[: stretch.period]):
            args = tuple(self._operand(*given) for given in zip(self.sources[k], step.args, strict=True))
            to.step(Instruction(step.op, args, step.results))
            if (self.part, k) in to.tile.arrays:
                first, stride = to.tile.arrays[self.part, k]
                to.store(self._number(step), first, self._pointer(stride))
        for source, value in self.operands.items():
            if isinstance(source, Here):
                self._carry(source, to.names[value])
        code, to.lines = to.lines, []
        last = stretch.code[-stretch.period :]
        for step, left in zip(stretch.code, last, strict=False):
            for place in places.get(left.results[0], ()):
                to.store(self._number(step), place)
        to.lines = [
            *entry,
            *self.before,
            "  br label %turn",
            "turn:",
            "  %k = phi i64 [ 0, %entry ], [ %next.k, %turn ]",
            *self.head,
            *code,
            *self.tail,
            "  %next.k = add i64 %k, 1",
            f"  %more = icmp ult i64 %next.k, {stretch.turns}",
            "  br i1 %more, label %turn, label %end",
            "end:",
            *to.lines,
        ]

    def _known(self) -> list[int]:
        """Values that are read before the first turn."""
        sources = [source for row in self.sources for source in row]
        same = [source.value for source in sources if isinstance(source, Same)]
        return same + [source.start for source in sources if isinstance(source, Here) and source.start is not None]

    def _number(self, step: Instruction) -> str:
        value = step.results[0]
        return self.to.number(value) if is_truth(step) else self.to.names[value]

    def _operand(self, source: Source, first: int) -> int:
        """The value that is this operand in all turns, for the one in the first turn."""
        if isinstance(source, Same):
            return source.value
        if isinstance(source, Here) and source.start is None:
            return self.stretch.code[source.step].results[0]
        if source in self.operands:
            return self.operands[source]
        value = self.operands[source] = -1 - len(self.operands)
        name = self.to.names[value] = f"%x{-value}"
        (self.to.twins.add if first in self.to.twins else self.to.twins.discard)(value)
        truth = is_truth(self.defined[first])
        if isinstance(source, Array):
            place, stride = self.to.tile.arrays[source.part, source.step]
            self.to.load(place + source.first * stride, name, self._pointer(source.move * stride), truth=truth)
        elif isinstance(source, Table):
            self.to.load(self._looked_up(source), name, truth=truth)
        elif isinstance(source, Inputs):
            self._input(source, name)
        elif isinstance(source, Constants):
            self.to.names[value] = self._constant(source, f"x{-value}")
        return value

    def _carry(self, source: Here, name: str) -> None:
        """What the turn before had, in a register."""
        assert source.start is not None
        to, step = self.to, self.stretch.code[source.step]
        kind = f"<{to.vectors.width} x i1>" if is_truth(step) else to.vectors.type
        entry, to.lines = to.lines, []
        start = to.operand(source.start)
        self.before += to.lines
        to.lines = entry
        self.head.append(f"  {name} = phi {kind} [ {start}, %entry ], [ {to.names[step.results[0]]}, %turn ]")

    def _pointer(self, move: int) -> str:
        """To the tile, and from turn to turn by so many places on."""
        if move == 0:
            return "%tile"
        if move not in self.pointers:
            name = self.pointers[move] = f"%row{len(self.pointers)}"
            self.head.append(f"  {name} = phi ptr [ %tile, %entry ], [ {name}.next, %turn ]")
            self.tail.append(f"  {name}.next = getelementptr {self.to.vectors.type}, ptr {name}, i64 {move}")
        return self.pointers[move]

    def _looked_up(self, source: Table) -> str:
        """The place in this turn."""
        name = f"places{self.part}.{len(self.operands)}{self.to.tag}"
        listed = ", ".join(f"i32 {self.to.tile.place(value, self.part)}" for value in source.values)
        self.to.tables.append(f"@{name} = internal constant [{self.stretch.turns} x i32] [{listed}]")
        self.to.lines += [
            f"  %at.{name} = getelementptr i32, ptr @{name}, i64 %k",
            f"  %short.{name} = load i32, ptr %at.{name}, !invariant.load !1",
            f"  %{name} = zext i32 %short.{name} to i64",
        ]
        return f"%{name}"

    def _input(self, source: Inputs, name: str) -> None:
        v, port = self.to.vectors, self.to.port(source.port)
        self.to.lines += [
            f"  {name}.moved = mul i64 %k, {source.move}",
            f"  {name}.entry = add i64 {name}.moved, {source.first}",
            f"  {name}.offset = mul i64 {name}.entry, %s{port}",
            f"  {name}.at = getelementptr {v.scalar}, ptr %p{port}, i64 {name}.offset",
            f"  {name} = load {v.type}, ptr {name}.at, align {v.bytes}",
        ]

    def _constant(self, source: Constants, name: str) -> str:
        """In the table of constants, one after the other."""
        to, first = self.to, len(self.to.numbers)
        to.numbers += [to.vectors.literal(self.defined[value].extra) for value in source.values]
        T = to.vectors.scalar
        to.lines += [
            f"  %entry.{name} = add i64 %k, {first}",
            f"  %at.{name} = getelementptr {T}, ptr %constants, i64 %entry.{name}",
            f"  %{name} = load {T}, ptr %at.{name}, !invariant.load !1",
        ]
        return to.broadcast(f"%{name}", name)
