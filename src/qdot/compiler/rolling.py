"""Rolling: code that repeats becomes loops again, so that a long chain costs no more code than a short one.

A text that loops over bodies is traced to straight-line code, in the order of the text. Long stretches of it repeat
with a period p: instruction i + p has the operation of instruction i, and its operands are those of instruction i one
turn on. `rolled` cuts a program into stretches; one of N turns is code that a backend may write once and run N times.
Which operand comes from where in each turn is for the backend to see (`backends/llvm_turns.py`); here only operations
count, and among periods that fit, the one in which most operands move on by the same step from turn to turn.

Results stay the same to the last bit. The one thing that could change them is a fused multiply-add: a backend may fuse
a product into the sum that is its only user, if it sees both at once. So such products are moved to right before their
sum, and the two make one unit, which is never cut. Only long programs that repeat themselves nearly throughout are
rolled: short code runs fastest in one line, where what it makes stays in registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import Instruction, Program, Stretch, read_from_outside, sines_and_cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORTEST = 2**15
"""Instructions from which a program is looked at: in batches, shorter ones are faster in one line."""

SHARE = 0.75
"""Of the instructions must lie in loops, or all stay as they are."""

TURNS = 8
"""The fewest of a loop."""

LENGTH = 64
"""Units that a loop replaces, at least."""

GRAM = 16
"""Units by which repetitions are found: what is alike for so long is worth a look."""

CANDIDATES = 24
"""Periods tried at a place, and multiples of a period that were found."""

FREE = ("constant", "truth", "input")
"""Operations that need no place in the order: any part of the code has their results."""


def rolled(program: Program) -> list[Stretch]:
    """The code of a program's body in stretches: one, as it is, where it is short or does not repeat."""
    code = program.body.code
    if len(code) < SHORTEST:
        return [Stretch(code)]
    free = tuple(step for step in code if step.op in FREE)
    ordered, starts, kinds = _units(program)
    stretches, done = [], 0
    for first, period, turns in _loops(np.array(kinds), np.array(starts), _operands(free, ordered)):
        begin, end = starts[first], starts[first + period * turns]
        stretches += [Stretch(tuple(ordered[done:begin]))] if begin > done else []
        stretches.append(Stretch(tuple(ordered[begin:end]), turns))
        done = end
    stretches += [Stretch(tuple(ordered[done:]))] if len(ordered) > done else []
    if sum(len(s.code) for s in stretches if s.turns > 1) < SHARE * len(code):
        return [Stretch(code)]
    return [Stretch(free), *stretches]


# -- units -------------------------------------------------------------------------------------------------------------


def _units(program: Program) -> tuple[list[Instruction], list[int], list[int]]:
    """The code in units, an instruction and the products that are fused into it: all of it in order, where each unit
    starts (and where the last one ends), and of which kind each is."""
    fused = _fused(program)
    products = {step.results[0]: step for step in program.body.code if step.op == "mul" and step.results[0] in fused}
    pairs = sines_and_cosines(program.body)
    numbers: dict[tuple[Any, ...], int] = {}
    ordered: list[Instruction] = []
    starts = [0]
    kinds: list[int] = []
    for step in program.body.code:
        if step.op in FREE or (step.op == "mul" and step.results[0] in products):
            continue
        ordered += [products[a] for a in step.args if a in products]
        ordered.append(step)
        starts.append(len(ordered))
        if step.op in (*BLOCKS, "item", "entry"):
            kind: tuple[Any, ...] = (len(kinds),)  # like no other
        else:
            paired = step.op in ("sin", "cos") and step.args[0] in pairs
            kind = (step.op, paired, *(a in products for a in step.args))
        kinds.append(numbers.setdefault(kind, len(numbers)))
    return ordered, starts, kinds


def _fused(program: Program) -> set[int]:
    """Products whose only user is a sum, in the same piece between blocks, which a backend may fuse with them.

    A block's results count as used. Where nobody reads one, LLVM drops it, and may then fuse what only it used, too.
    """
    uses: Counter[int] = Counter(program.body.results)
    pieces: dict[int, int] = {}
    piece = 0
    for step in program.body.code:
        uses.update(step.args)
        if step.op in BLOCKS:
            uses.update(read_from_outside(step.extra[1]))
            piece += 1
        elif step.op == "mul":
            pieces[step.results[0]] = piece
    fused: set[int] = set()
    piece = 0
    for step in program.body.code:
        piece += step.op in BLOCKS
        if step.op in ("add", "sub"):
            fused.update(a for a in step.args if uses[a] == 1 and pieces.get(a) == piece)
    return fused


def _operands(free: Sequence[Instruction], ordered: Sequence[Instruction]) -> NDArray[np.int64]:
    """Where each operand of each instruction comes from, in three columns: its place in the order, or in its input;
    constants are all one."""
    place: dict[int, int] = {}
    ports: dict[str, int] = {}
    for step in free:
        place[step.results[0]] = -1
        if step.op == "input":
            port, entry = step.extra
            place[step.results[0]] = entry - (1 + ports.setdefault(port, len(ports))) * 2**40
    place.update((r, k) for k, step in enumerate(ordered) for r in step.results)
    found = np.full((len(ordered), 3), -1, dtype=np.int64)
    for k, step in enumerate(ordered):
        if step.op not in BLOCKS:
            for j, a in enumerate(step.args):
                found[k, j] = place[a]
    return found


# -- periods -----------------------------------------------------------------------------------------------------------


def _loops(
    kinds: NDArray[np.int64], starts: NDArray[np.int64], operands: NDArray[np.int64]
) -> list[tuple[int, int, int]]:
    """(first unit, units of a turn, turns) of stretches that repeat, the earliest first."""
    following = _following(kinds)
    ends: dict[int, int] = {}
    loops: list[tuple[int, int, int]] = []
    unit = 0
    while unit < len(following):
        length, period = _longest(kinds, following, unit, ends)
        if length < max(LENGTH, TURNS * period):
            unit += 1
            continue
        period *= _multiple(length // period, int(starts[unit]), int(starts[unit + period]), operands)
        turns = length // period
        begin, end = starts[unit], starts[unit + period * turns]
        for k, more in pairwise(_even(operands[begin:end].reshape(turns, -1))):
            loops.append((unit + k * period, period, more - k))
        unit += period * turns
    return loops


def _following(kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each unit the next one from which the same GRAM units follow; itself where there is none."""
    count = max(0, len(kinds) - GRAM + 1)
    sums = np.zeros(count, dtype=np.uint64)
    for k in range(GRAM):
        sums = sums * np.uint64(0x9E3779B97F4A7C15) + kinds[k : k + count].astype(np.uint64) + np.uint64(1)
    order = np.argsort(sums, kind="stable")
    same = sums[order[1:]] == sums[order[:-1]]
    following = np.arange(count)
    following[order[:-1][same]] = order[1:][same]
    return following


def _longest(
    kinds: NDArray[np.int64], following: NDArray[np.int64], unit: int, ends: dict[int, int]
) -> tuple[int, int]:
    """(length, period) of the longest repetition from a unit on; a longer period must be worth it.

    `ends` remembers where the repetition of a period ended that was looked at before: from all units up to there on it
    ends there.
    """
    best, period, later = 0, 1, unit
    for _ in range(CANDIDATES):
        later, before = int(following[later]), later
        apart = later - unit
        if later == before or TURNS * apart > len(kinds) - unit:
            break
        if ends.get(apart, 0) <= unit:
            ends[apart] = later + _alike(kinds, unit, later)
        length = ends[apart] - unit
        if length >= TURNS * apart and length > 1.2 * best:
            best, period = length, apart
    return best, period


def _alike(kinds: NDArray[np.int64], a: int, b: int) -> int:
    """For how many units the kinds from a on are those from b on."""
    count, size = 0, 64
    while b + count < len(kinds):
        ahead = kinds[b + count : b + count + size]
        differ = np.flatnonzero(ahead != kinds[a + count : a + count + len(ahead)])
        if len(differ):
            return count + int(differ[0])
        count, size = count + len(ahead), 2 * size
    return count


def _multiple(turns: int, begin: int, end: int, operands: NDArray[np.int64]) -> int:
    """Of how many periods one turn is best made, so that operands move on evenly: three where each body has three
    numbers that are treated alike."""
    costs = []
    for many in range(1, min(CANDIDATES, turns // TURNS) + 1):
        period = many * (end - begin)
        mine = operands[begin : begin + period * (turns // many)]
        moves = mine[period:] - mine[:-period]
        uneven = np.count_nonzero(moves[period:] != moves[:-period]) / max(1, moves[period:].size)
        costs.append(uneven + 0.01 * many)
    return 1 + int(np.argmin(costs))


def _even(operands: NDArray[np.int64]) -> list[int]:
    """The turns at which operands jump, as from the end of one input to the start of another; and the first and the
    last: between them they move on evenly, if they do at all."""
    moves = np.diff(operands, axis=0)
    jumps = (moves[1:-1] != moves[:-2]) & (moves[2:] == moves[:-2])
    cuts = [0]
    for turn in (2 + np.flatnonzero(8 * np.count_nonzero(jumps, axis=1) > operands.shape[1])).tolist():
        if min(turn - cuts[-1], len(operands) - turn) >= TURNS:
            cuts.append(turn)
    return [*cuts, len(operands)]
