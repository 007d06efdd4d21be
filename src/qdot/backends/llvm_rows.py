"""Rows of a `scan` as LLVM assembly, and the joints of code with loops: labels and phis.

Tables tell for each turn where in the tile its operands lie, or what constants they are. A turn's row is that of all
lanes, and is read by one pointer; where lanes are at turns of their own (see `llvm_pool`), it is gathered.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from qdot.backends.llvm_lines import Lines
from qdot.compiler.program import Instruction, columns_of


class _Columns(NamedTuple):
    """Of the rows of a loop: by parameter, constants for each turn; and groups of parameters that lie equally far apart
    in all turns, each with the bytes at which its first one lies in each turn, and how many vectors further on others
    do."""

    numbers: dict[int, list[str]]
    groups: list[tuple[list[str], dict[int, int]]]


class Rows(Lines):
    """Writes instructions, labels, and what reads rows."""

    def new_label(self, kind: str) -> str:
        self.labels += 1
        return f"{kind}{self.labels}"

    def open(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def phi(self, name: str, kind: str, sources: list[tuple[str, str]]) -> int:
        """A phi to which sources may be added later; returns its line."""
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in sources)
        self.lines.append(f"  {name} = phi {kind} {pairs}")
        return len(self.lines) - 1

    def extend(self, line: int, value: str, label: str) -> None:
        self.lines[line] += f", [ {value}, %{label} ]"

    # -- rows ----------------------------------------------------------------------------------------------------------

    def row(self, head: str, step: Instruction, wanted: Collection[int] | None = None) -> None:
        """A `scan`'s row in turn %i.head: constants for all lanes, and vectors from the tile; of the parameters that
        are wanted, or of all.

        A line of a table has all that a turn needs, so that one pointer moves on, not one for each column; columns that
        lie equally far apart in all turns are found by one entry.
        """
        numbers, groups = self._columns(step, wanted)
        for p, number in zip(numbers, self._line("numbers", list(numbers.values()), head), strict=True):
            self.names[p] = self.broadcast(number, number[1:])
        offsets = self._line("offsets", [offsets for offsets, _ in groups], head)
        for offset, (_, places) in zip(offsets, groups, strict=True):
            self.lines.append(f"  {offset}.wide = zext i32 {offset} to i64")
            self.lines.append(f"  {offset}.at = getelementptr i8, ptr {self.memory}, i64 {offset}.wide")
            for p, place in places.items():
                self.names.later[p] = partial(self.loaded, f"{offset}.at", place)
                self.names.pop(p, None)

    def loaded(self, base: str, place: int) -> str:
        """A vector that is loaded now."""
        name = f"%{self.new_label('late')}"
        self.load(place, name, self.anew(base))
        return name

    def rows_of_lanes(self, head: str, step: Instruction, turn: str, lane: str) -> None:
        """The same where each lane stands for a lane of a turn of its own."""
        W, v = self.vectors.width, self.vectors
        I, (numbers, groups) = f"<{W} x i64>", self._columns(step)
        if numbers:
            table = self._table("numbers", list(numbers.values()), head)
            self.lines.append(f"  %line.{head} = mul {I} {turn}, splat (i64 {len(numbers)})")
            self.lines.append(f"  %numbers.{head} = getelementptr {v.scalar}, ptr {table}, {I} %line.{head}")
        for k, p in enumerate(numbers):
            self.lines.append(f"  %number{k}.{head} = getelementptr {v.scalar}, <{W} x ptr> %numbers.{head}, i64 {k}")
            self.gather(f"%number{k}.{head}", self.name(p))
        table = self._table("offsets", [offsets for offsets, _ in groups], head) if groups else ""
        self.lines.append(f"  %places.{head} = mul {I} {turn}, splat (i64 {len(groups)})")
        self.lines.append(f"  %apart.{head} = mul {I} {lane}, splat (i64 {v.bytes})")
        n = 0
        for k, (_, places) in enumerate(groups):
            self.lines.append(f"  %place{k}.{head} = add {I} %places.{head}, splat (i64 {k})")
            offset = self.whole_numbers(table, f"%place{k}.{head}", f"offset{k}.{head}")
            self.lines += [
                f"  %own{k}.{head} = add {I} {offset}, %apart.{head}",
                f"  %lying{k}.{head} = getelementptr i8, ptr {self.memory}, {I} %own{k}.{head}",
            ]
            for p, place in places.items():
                n += 1
                self.lines.append(
                    f"  %lies{n}.{head} = getelementptr i8, <{W} x ptr> %lying{k}.{head}, i64 {place * v.bits // 8}"
                )
                self.gather(f"%lies{n}.{head}", self.name(p))

    def whole_numbers(self, table: str, place: str, tag: str) -> str:
        """Whole numbers of four bytes, from the places in a table that lanes name."""
        W, I = self.vectors.width, f"<{self.vectors.width} x i64>"
        function = f"@llvm.masked.gather.v{W}i32.v{W}p0"
        self.called.add(function)
        given = f"<{W} x ptr> %at.{tag}, i32 4, <{W} x i1> splat (i1 true), <{W} x i32> poison"
        self.lines += [
            f"  %at.{tag} = getelementptr i32, ptr {table}, {I} {place}",
            f"  %short.{tag} = call <{W} x i32> {function}({given})",
            f"  %{tag} = zext <{W} x i32> %short.{tag} to {I}",
        ]
        return f"%{tag}"

    def gather(self, pointers: str, into: str, mask: str = "splat (i1 true)") -> None:
        """Numbers from where each lane says; zero in lanes that are left out."""
        v, W = self.vectors, self.vectors.width
        function = f"@llvm.masked.gather.{v.suffix}.v{W}p0"
        self.called.add(function)
        given = f"<{W} x ptr> {pointers}, i32 {v.bytes}, <{W} x i1> {mask}, {v.type} zeroinitializer"
        self.lines.append(f"  {into} = call {v.type} {function}({given})")

    def scatter(self, value: str, pointers: str, mask: str) -> None:
        """Numbers to where each lane says."""
        v, W = self.vectors, self.vectors.width
        function = f"@llvm.masked.scatter.{v.suffix}.v{W}p0"
        self.called.add(function)
        given = f"{v.type} {value}, <{W} x ptr> {pointers}, i32 {v.bytes}, <{W} x i1> {mask}"
        self.lines.append(f"  call void {function}({given})")

    def _columns(self, step: Instruction, wanted: Collection[int] | None = None) -> _Columns:
        numbers: dict[int, list[str]] = {}
        lying: dict[tuple[int, ...], dict[int, int]] = {}
        """By how far places are from that of the first turn: the parameters and those places."""
        for p, column in zip(step.extra[1].parameters, columns_of(step), strict=False):
            values = [self.tile.same.get(a, a) for a in column]
            if wanted is not None and p not in wanted:
                continue
            if all(a in self.values for a in values):
                numbers[p] = [self.vectors.literal(self.values[a]) for a in values]
            else:
                first, *others = (self.tile.rows[a] for a in values)
                lying.setdefault((0, *(place - first for place in others)), {})[p] = first
        size, groups = self.vectors.bits // 8, []
        for way, places in lying.items():
            start = next(iter(places.values()))
            offsets = [str(size * (start + x)) for x in way]
            groups.append((offsets, {p: place - start for p, place in places.items()}))
        return _Columns(numbers, groups)

    def _line(self, what: str, columns: list[list[str]], head: str) -> list[str]:
        """Entries of a table with a line for each turn of a loop."""
        table, T = self._table(what, columns, head), self._kind(what)
        names = [f"%{what}{k}.{head}" for k in range(len(columns))]
        for k, name in enumerate(names):
            line = f"[{len(columns)} x {T}]"
            self.lines.append(f"  {name}.entry = getelementptr {line}, ptr {table}, i64 %i.{head}, i64 {k}")
            self.lines.append(f"  {name} = load {T}, ptr {name}.entry, !invariant.load !1")
        return names

    def _table(self, what: str, columns: list[list[str]], head: str) -> str:
        T = self._kind(what)
        table, line = f"@{what}.{head}{self.tag}", f"[{len(columns)} x {T}]"
        rows = [", ".join(f"{T} {x}" for x in row) for row in zip(*columns, strict=True)]
        self.tables.append(
            f"{table} = internal constant [{len(rows)} x {line}] [{', '.join(f'{line} [{row}]' for row in rows)}]"
        )
        return table

    def _kind(self, what: str) -> str:
        return self.vectors.scalar if what == "numbers" else "i32"
