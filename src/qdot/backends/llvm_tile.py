"""Places in memory for vectors of rows, the tile: what loops read and write turn by turn, what parts of a long program
leave to each other, and the program's results.

A value that several loops read lies in one place, where it is put as soon as it is known: tables of a `scan` point to
it, wherever the loop stands, and nothing is copied.
"""

from __future__ import annotations

from dataclasses import dataclass

from qdot.backends.llvm_groups import GROUP, constants_of
from qdot.backends.llvm_lists import Lists
from qdot.backends.llvm_parts import Parts
from qdot.backends.llvm_pool import Pool
from qdot.compiler.ops import OPS
from qdot.compiler.program import Instruction, Program, columns_of, read_from_outside, steps


@dataclass(frozen=True)
class Tile:
    """Places for vectors of rows."""

    slots: dict[int, int]
    """Of values: each has one, so mirror images share theirs, and so do all zeros."""
    operands: dict[int, int]
    """The first place of an `each`'s operands, by its first result; where a row gives as many results as it is given
    operands, they take the operands' place."""
    captured: dict[int, dict[int, int]]
    """By an `each`'s first result: places of the numbers that all its turns read, next to each other."""
    rows: dict[int, int]
    """Places of the different operands of the turns of every `scan`, but for constants."""
    same: dict[int, int]
    """What regions are given, by the values that this is outside of all of them."""
    pools: dict[int, tuple[Pool, int]]
    """By the first result of a `scan` that is pooled: how, and where its memory begins, which is scratch: nobody reads
    it afterwards."""
    lists: Lists
    parts: Parts
    carried: dict[int, int]
    """Places of what one part of a long program leaves to another."""
    arrays: dict[tuple[int, int], tuple[int, int]]
    """Of rolled code, see `Arrays.places`."""
    beyond: list[tuple[int, int]]
    size: int
    scratch: int
    """Vectors of memory beside the tile."""

    @staticmethod
    def of(program: Program) -> Tile:
        slots: dict[int, int] = {}
        operands: dict[int, int] = {}
        captured: dict[int, dict[int, int]] = {}
        unkept = {r for step in steps(program.body) if _is_constant_or_truth(step) for r in step.results}
        size = 0
        for step in steps(program.body):
            if step.op == "each":
                key = step.results[0]
                slots.update((r, size + k) for k, r in enumerate(step.results))
                in_place = len(step.args) == len(step.results)
                operands[key] = size if in_place else size + len(step.results)
                size += len(step.results) + (0 if in_place else len(step.args))
                shared = [x for x in read_from_outside(step.extra[1]) if x not in unkept]
                captured[key] = {x: size + k for k, x in enumerate(shared)}
                size += len(shared)
        parts = Parts.of(program)
        turns, laid = parts.turns, parts.arrays
        for value in program.body.results:
            if value not in slots and not (turns is not None and turns.in_array(value)):
                slots[value] = size
                size += 1
        same = _given_to_regions(program)
        rows: dict[int, int] = {}
        for value in _read_by_turns(program, same, unkept):
            rows[value] = slots.get(value, size)
            size += value not in slots
        constants, own = constants_of(program), {scan for scans in parts.pools.values() for scan in scans}
        pools: dict[int, tuple[Pool, int]] = {}
        scratch = 0
        for step in steps(program.body):
            group = GROUP if step.results and step.results[0] in own else 1
            pool = Pool.of(step, constants, group) if step.op == "scan" else None
            if pool is not None:
                pools[step.results[0]] = pool, scratch
                scratch += pool.places
        lists = Lists.of(program, same, pools, size)
        size += lists.size
        carried = {value: size + place for value, place in parts.places.items()}
        size += parts.size
        if turns is None or laid is None:
            return Tile(slots, operands, captured, rows, same, pools, lists, parts, carried, {}, [], size, scratch)
        arrays = {array: (size + place, stride) for array, (place, stride) in laid.places.items()}
        beyond = [(value, size + place) for value, place in laid.beyond]
        size += laid.size
        tile = Tile(slots, operands, captured, rows, same, pools, lists, parts, carried, arrays, beyond, size, scratch)
        slots.update((value, tile.place(value)) for value in program.body.results if value not in slots)
        return tile

    def room(self, inputs: int) -> int:
        """Vectors of memory that a kernel needs, with so many for the inputs of a vector of rows."""
        return (inputs + self.size) * (GROUP if self.parts.in_groups else 1) + self.scratch

    def place(self, value: int, reader: int = -1) -> int:
        """Where a part finds a value that another one has computed."""
        turns = self.parts.turns
        if turns is not None and turns.in_array(value, reader):
            first, stride = self.arrays[int(turns.part[value]), int(turns.step[value])]
            return first + int(turns.turn[value]) * stride
        return self.carried[value] if value in self.carried else self.slots[value]


def _given_to_regions(program: Program) -> dict[int, int]:
    """By the parameters of regions: the values that these are, none of which is one itself."""
    same: dict[int, int] = {}
    for step in steps(program.body):  # an outer region before those in it
        if step.op == "when":
            number, block = step.extra
            given = (same.get(a, a) for a in step.args[1 : 1 + number])
            same.update(zip(block.parameters, given, strict=True))
    return same


def _read_by_turns(program: Program, same: dict[int, int], unkept: set[int]) -> dict[int, None]:
    """The different operands of the turns of every `scan`, in columns that are not constants in all turns."""
    found: dict[int, None] = {}
    for step in steps(program.body):
        if step.op == "scan":
            columns = [tuple(same.get(a, a) for a in column) for column in columns_of(step)]
            moving = [column for column in columns if not unkept.issuperset(column)]
            found.update(dict.fromkeys(value for row in zip(*moving, strict=True) for value in row))
    return found


def _is_constant_or_truth(step: Instruction) -> bool:
    return step.op in ("constant", "truth") or (step.op in OPS and OPS[step.op].returns_truth)
