"""Where the operands of rolled code come from, turn by turn, and where in memory what they are lies.

A loop's code is written once, so an operand of it must be found by one rule for all turns. `source` finds the simplest
that there is: a register of this turn or of the one before, one value for all, an input or an array that is walked
along, or a table of places, which serves for anything. What an instruction of a loop computes in all its turns is kept
in an array where others need it: (turn, instruction) by (turn, instruction), together with those that are needed as
long, so that memory is soon free for others. Arrays have room before their first turn and after their last one: there
straight-line code leaves what stands in for a turn that is not part of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qdot.compiler.program import Program, Stretch
from qdot.compiler.rolling import FREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEYOND = 4
"""Turns before the first and after the last of an array that may be read."""


@dataclass(frozen=True, slots=True)
class Here:
    """What instruction `step` gave in this turn, or in the one before; in the first turn then `start`."""

    step: int
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Same:
    """One value in all turns."""

    value: int


@dataclass(frozen=True, slots=True)
class Constants:
    """A constant in each turn."""

    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Entry first + turn · move of an input."""

    port: str
    first: int
    move: int


@dataclass(frozen=True, slots=True)
class Array:
    """What instruction `step` of the loop `part` gave in its turn first + turn · move."""

    part: int
    step: int
    first: int
    move: int


@dataclass(frozen=True, slots=True)
class Table:
    """Any value in each turn."""

    values: tuple[int, ...]


Source: TypeAlias = Here | Same | Constants | Inputs | Array | Table


class Turns:
    """All loops of a program: what each operand is (`sources`), and which values must be kept for whom."""

    def __init__(self, program: Program, stretches: list[Stretch]) -> None:
        self.stretches = stretches
        count = 1 + max((r for step in program.body.code for r in step.results), default=0)
        self.part = np.full(count, -1)
        """Of values of loops: the part that is the loop, the instruction and the turn."""
        self.step = np.full(count, -1)
        self.turn = np.full(count, -1)
        straight = (step for stretch in stretches if stretch.turns == 1 for step in stretch.code)
        self.free = {step.results[0]: step for step in straight if step.op in FREE}
        self._is_free = np.zeros(count, dtype=bool)
        self._is_free[list(self.free)] = True
        for part, stretch in self._loops():
            results = np.array([step.results[0] for step in stretch.code]).reshape(stretch.turns, -1)
            self.part[results] = part
            self.step[results] = np.arange(stretch.period)
            self.turn[results] = np.arange(stretch.turns)[:, None]
        self.last: dict[tuple[int, int], int] = {}
        """By (part, step) of an array: the last part that reads it."""
        self.beyond: dict[tuple[int, int], dict[int, int]] = {}
        """By (part, step) of an array: the values in turns that the loop does not have."""
        self.sources: dict[int, list[tuple[Source, ...]]] = {}
        for part, stretch in self._loops():
            self.sources[part] = [tuple(self._sources(part, stretch, k)) for k in range(stretch.period)]
        tables = (x for rows in self.sources.values() for row in rows for x in row if isinstance(x, Table))
        self.tabled = {value for table in tables for value in table.values if value in self.free}
        """Constants and inputs that tables need places of."""

    def _loops(self) -> Iterator[tuple[int, Stretch]]:
        return ((part, stretch) for part, stretch in enumerate(self.stretches) if stretch.turns > 1)

    def named(self, part: int) -> Iterator[int]:
        """Values that a loop asks for by themselves."""
        for sources in self.sources[part]:
            for source in sources:
                if isinstance(source, Same):
                    yield source.value
                elif isinstance(source, Here) and source.start is not None:
                    yield source.start
                elif isinstance(source, Table):
                    yield from source.values

    def in_array(self, value: int, reader: int = -1) -> bool:
        """Whether a part finds a value in an array: it is of a loop, but not of its last turn, which leaves what it has
        as straight-line code does; the loop itself cannot wait for that."""
        part = int(self.part[value])
        return part >= 0 and (part == reader or int(self.turn[value]) < self.stretches[part].turns - 1)

    def keep(self, value: int, reader: int) -> None:
        """Ask for the array of a value until a part has read it."""
        self._keep((int(self.part[value]), int(self.step[value])), reader)

    def _keep(self, array: tuple[int, int], reader: int) -> None:
        self.last[array] = max(reader, self.last.get(array, 0))

    def _sources(self, part: int, stretch: Stretch, k: int) -> Iterator[Source]:
        turns = [step.args for step in stretch.code[k :: stretch.period]]
        for values in np.array(turns).T:
            source = self._source(part, values)
            if isinstance(source, Array):
                self._keep((source.part, source.step), part)
            yield source

    def _source(self, part: int, values: NDArray[np.int64]) -> Source:
        known = int(self.part[values[0]]) != part  # before the loop begins
        if known and np.all(values == values[0]):
            return Same(int(values[0]))
        steps, turns, k = self.step[values], self.turn[values], np.arange(len(values))
        own = (self.part[values] == part) & (steps == steps[-1])
        if np.all(own & (turns == k)):
            return Here(int(steps[0]))
        if known and np.all((own & (turns == k - 1))[1:]):
            return Here(int(steps[-1]), int(values[0]))
        if np.all(self._is_free[values]):
            return self._free(values)
        return self._array(part, values) or Table(tuple(values.tolist()))

    def _free(self, values: NDArray[np.int64]) -> Source:
        entries = [self.free[v] for v in values.tolist()]
        if all(x.op == "constant" for x in entries):
            return Constants(tuple(values.tolist()))
        if all(x.op == "input" and x.extra[0] == entries[0].extra[0] for x in entries):
            places = np.array([x.extra[1] for x in entries])
            moves = np.diff(places)
            if np.all(moves == moves[0]):
                return Inputs(entries[0].extra[0], int(places[0]), int(moves[0]))
        return Table(tuple(values.tolist()))

    def _array(self, reader: int, values: NDArray[np.int64]) -> Array | None:
        """The array that most values lie in, evenly; what does not must be to be had before, so that it can be put
        where it is looked for."""
        k, middle = np.arange(len(values)), len(values) // 2
        turns = self.turn[values]
        part, step = int(self.part[values[middle]]), int(self.step[values[middle]])
        if part < 0:
            return None
        move = int(turns[middle] - turns[middle - 1])
        first = int(turns[middle]) - middle * move
        wanted = first + k * move
        fits = (self.part[values] == part) & (self.step[values] == step) & (turns == wanted)
        beyond = dict(self.beyond.get((part, step), {}))
        most = self.stretches[part].turns
        for turn, value in zip(wanted[~fits].tolist(), values[~fits].tolist(), strict=True):
            outside = -BEYOND <= turn < 0 or most <= turn < most + BEYOND
            if not outside or self.in_array(value, reader) or beyond.setdefault(turn, value) != value:
                return None
        if beyond:
            self.beyond[part, step] = beyond
        return Array(part, step, first, move)


@dataclass(frozen=True)
class Arrays:
    """Places of arrays, by (part, step): that of turn 0, and how many there are from turn to turn."""

    places: dict[tuple[int, int], tuple[int, int]]
    beyond: list[tuple[int, int]]
    """Values that stand in for turns that a loop does not have, and their places."""
    size: int

    @staticmethod
    def of(turns: Turns, defined_in: Mapping[int, int]) -> Arrays:
        """Arrays of one loop that are read by the same part last lie together, and make room for others after that."""
        groups: dict[tuple[int, int], list[int]] = {}
        for (part, step), last in sorted(turns.last.items()):
            groups.setdefault((part, last), []).append(step)
        blocks = sorted(_Block.of(turns, defined_in, *group, steps) for group, steps in groups.items())
        places: dict[tuple[int, int], tuple[int, int]] = {}
        taken: list[tuple[int, int, int]] = []
        size = 0
        for block in blocks:
            taken = sorted(other for other in taken if other[2] >= block.begin)
            start = 0
            for first, end, _ in taken:
                if start + block.size <= first:
                    break
                start = max(start, end)
            taken.append((start, start + block.size, block.last))
            size = max(size, start + block.size)
            stride = len(block.steps)
            for k, step in enumerate(block.steps):
                places[block.part, step] = start - block.first * stride + k, stride
        beyond = [
            (value, places[array][0] + turn * places[array][1])
            for array, values in turns.beyond.items()
            for turn, value in values.items()
        ]
        return Arrays(places, beyond, size)


@dataclass(frozen=True, order=True)
class _Block:
    """Arrays that lie together, from the turn `first` on; parts from `begin` to `last` need them."""

    begin: int
    last: int
    part: int
    steps: tuple[int, ...]
    first: int
    size: int

    @staticmethod
    def of(turns: Turns, defined_in: Mapping[int, int], part: int, last: int, steps: list[int]) -> _Block:
        beyond = [item for step in steps for item in turns.beyond.get((part, step), {}).items()]
        begin = min([part, *(defined_in[value] for _, value in beyond)])
        first = min([0, *(turn for turn, _ in beyond)])
        end = max([turns.stretches[part].turns, *(1 + turn for turn, _ in beyond)])
        return _Block(begin, last, part, tuple(steps), first, (end - first) * len(steps))
