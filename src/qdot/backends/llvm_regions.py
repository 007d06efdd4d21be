"""What lanes keep that do not need a region, as LLVM assembly.

A region runs where some lane needs it, and gives to others what was there before. Which of both it is, is chosen as
soon as a result is known, so that both need not be held until the region ends; and of sums, as each number is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from typing import TypeAlias

from qdot.backends.llvm_math import Vectors
from qdot.backends.llvm_rows import Rows
from qdot.backends.llvm_tile import Tile
from qdot.compiler.program import Block, Instruction, Program

MASKED = 512
"""Bits of vectors whose instructions can leave lanes as they are."""


@dataclass(frozen=True)
class Region:
    """A region being written: the lanes that need it; the places in the tile of each of its results; by a result of its
    block, which results of the region that is there, and what they are elsewhere; what is added to results step by
    step, by what it is added to; and the names of results that are written, what they are in all lanes."""

    label: str
    needed: str
    places: list[Sequence[int | str]]
    otherwise: dict[int, list[tuple[int, str]]]
    sums: dict[int, int]
    chosen: dict[int, str] = field(default_factory=dict)

    @staticmethod
    def of(
        label: str,
        needed: str,
        places: list[Sequence[int | str]],
        block: Block,
        elsewhere: Sequence[str],
        sums: dict[int, int],
    ) -> Region:
        otherwise: dict[int, list[tuple[int, str]]] = {}
        for k, (r, y) in enumerate(zip(block.results, elsewhere, strict=True)):
            otherwise.setdefault(r, []).append((k, y))
        return Region(label, needed, places, otherwise, sums)


Around: TypeAlias = tuple[dict[str, str], Region | None]
"""What was known of the region around."""


class Regions(Rows):
    """Writes what is chosen between a region and what was there before."""

    def __init__(self, program: Program, vectors: Vectors, tile: Tile, tag: str = "") -> None:
        super().__init__(program, vectors, tile, tag)
        self.before: dict[str, str] = {}
        """What results of regions and loops, in the region being written, are in lanes that do not need it."""
        self.region: Region | None = None

    def enter(self, region: Region) -> Around:
        around = self.before, self.region
        self.before, self.region = {}, region
        return around

    def leave(self, around: Around) -> dict[int, str]:
        """The names of the results of the region being written."""
        assert self.region is not None
        for value in list(self.region.otherwise):
            self.choose(value)
        chosen = self.region.chosen
        self.before, self.region = around
        return chosen

    def sums_of(self, block: Block, otherwise: Sequence[str]) -> dict[int, int]:
        """Where results of a region are what they are elsewhere and more, added step by step: each step by what it is
        added to. Only where an instruction can leave lanes as they are, so that choosing costs nothing."""
        if self.vectors.bits < MASKED:
            return {}
        code = {step.results[0]: step for step in block.code if step.op in ("add", "sub")}
        found: dict[int, int] = {}
        for r, y in zip(block.results, otherwise, strict=True):
            ways: list[tuple[int, tuple[tuple[int, int], ...]]] = [(r, ())]
            seen = {r}
            while ways:
                value, links = ways.pop()
                if value not in code:
                    if self.names.get(value) == y:
                        found.update(links)
                        break
                    continue
                for a in code[value].args[: 1 if code[value].op == "sub" else 2]:
                    if a not in seen:
                        seen.add(a)
                        ways.append((a, (*links, (value, a))))
        return found

    def choose(self, value: int) -> None:
        """Where a value is a result of the region being written, or a step of a sum that is one: what it is in lanes
        that need the region, and elsewhere what was there before."""
        if self.region is None:
            return
        T, W = self.vectors.type, self.vectors.width
        if value in self.region.sums:
            x, y = self.names[value], self.names[self.region.sums[value]]
            name = self.names[value] = f"{x}.sum"
            self.lines.append(f"  {name} = select <{W} x i1> {self.region.needed}, {T} {x}, {T} {y}")
            self.before[name] = y
        x = self.names.get(value, "")
        for k, y in self.region.otherwise.pop(value, ()):
            as_it_is = self.is_unread(y) or self.is_kept(x, y)
            name = self.region.chosen[k] = x if as_it_is else f"%k{k}.{self.region.label}"
            if name != x:
                self.lines.append(f"  {name} = select <{W} x i1> {self.region.needed}, {T} {x}, {T} {y}")
            for place in self.region.places[k]:
                self.store(name, place)

    def is_unread(self, y: str) -> bool:
        """Whether nobody reads what a region is elsewhere: a text says so by a constant that is no number."""
        return y == self.vectors.splat(nan)

    def is_kept(self, x: str, y: str) -> bool:
        """Whether x is y in lanes that do not need the region being written."""
        while x != y and x in self.before:
            x = self.before[x]
        return x == y

    def keep(self, step: Instruction, turned: Sequence[str], initial: Sequence[str]) -> None:
        """Note which results of a loop are, in lanes that do not need the region being written, as they were before it:
        those that each turn leaves so."""
        own = step.extra[1].parameters[len(step.extra[1].parameters) - len(initial) :]
        for r, x, p, y in zip(step.results, turned, own, initial, strict=True):
            if self.is_kept(x, self.names[p]):
                self.before[self.names[r]] = y
