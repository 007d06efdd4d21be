"""Turns of a `scan` that few lanes need, each lane its own: they are pooled, to fill vectors whatever lane they are of.

A loop over pairs of shapes asks of each, by quick tests, whether it may touch, and only then looks closer, which takes
thousands of operations. In a vector of environments one of eight is likely to need it where seven do not. What is
looked at does not depend on what was found before; only what is made of it does. So such a loop is run in parts:

    1. the tests: each turn that a lane needs is noted, with the lane (an item);
    2. items, as many as a vector has lanes at a time, from whatever turn and lane: what does not depend on the state;
    3. of these, again pooled, those that need more: a region with loops of its own, as where shapes overlap;
    4. turns that were noted, in order: what depends on the state.

Programs that are run for groups of vectors (`llvm_groups`) do 2 and 3 for the items of a whole group.
This is a matter of order alone: every number is computed by the same operations as in one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import Block, Instruction, is_truth, read_from_outside, steps

LOOPS = frozenset(("for", "while", "scan"))
"""What makes a turn long."""

MOST = 2**18
"""Vectors of memory that a pool may take: 16 MB. It has room for every lane in every turn."""

COUNTS = 32
"""Vectors of memory for numbers of items, of eight bytes each: enough of the shortest vectors, one number of four."""


@dataclass(frozen=True)
class Test:
    """Code, and the region that runs where its condition holds."""

    code: tuple[Instruction, ...]
    region: Instruction


@dataclass(frozen=True)
class Pool:
    """A `scan` that can be run in parts: its tests, one within the other; what follows from rows alone, with a region
    that is `deeper`, if there is one, and truths that it asks for; and the rest.

    `left` are the numbers that the second part leaves to the last, and `deeper` changes some of them; `kept` are those
    that it leaves to the third. `places` is how many vectors of memory all this takes, for a group of so many vectors.
    """

    tests: tuple[Test, ...]
    inside: Block
    alone: tuple[Instruction, ...]
    deeper: Instruction | None
    truths: tuple[Instruction, ...]
    after: tuple[Instruction, ...]
    left: tuple[int, ...]
    kept: tuple[int, ...]
    places: int
    group: int

    @staticmethod
    def of(step: Instruction, constants: frozenset[int], group: int = 1) -> Pool | None:
        """How a `scan` is pooled, for a group of so many vectors; none where that is not worth it, or not possible:
        rows are gathered for lanes, and nothing else from outside but constants."""
        turns, block = step.extra
        carried = len(step.results)
        state = list(block.parameters[len(block.parameters) - carried :])
        known = set(block.parameters) | constants
        tests: list[Test] = []
        while True:
            found = tested(block, state)
            if found is None or _is_long(found.code):
                break
            given, inner = found.region.extra
            passed = dict(zip(found.region.args[1 : 1 + given], inner.parameters, strict=True))
            if not passed.keys() >= set(state):
                return None
            tests.append(found)
            known |= {*inner.parameters, *(r for s in found.code for r in s.results)}
            block, state = inner, [passed[a] for a in state]
        alone, after = _parted(block, state)
        if not tests or not _is_long(alone) or any(s.op == "sweep" for s in steps(Block((), alone, ()))):
            return None
        if not known >= set(read_by([s for test in tests for s in test.code])) | set(read_by(alone)):
            return None
        alone, deeper, after = _with_deeper(alone, after, block.results)
        own = {r: s for s in alone for r in s.results}
        wanted = read_by(after, block.results)
        left = [a for a in wanted if a in own]
        kept: list[int] = []
        truths: list[Instruction] = []
        if deeper is not None:
            left += deeper.results
            asked = inside(deeper)
            truths = _truths(alone, asked)
            asked = [a for a in (*asked, *(a for s in truths for a in s.args)) if a in own and not is_truth(own[a])]
            kept = [a for a in dict.fromkeys(asked) if a not in left]
        places = COUNTS + (len(left) + len(kept) + 6) * turns * group + 2
        if places > MOST:
            return None
        rest = tuple(truths), after, tuple(left), tuple(kept)
        return Pool(tuple(tests), block, alone, deeper, *rest, places, group)


def tested(block: Block, state: Sequence[int]) -> Test | None:
    """A block that is one region after some code: what it gives is what the region does, and else the state."""
    code = [step for step in block.code if step.op != "item"]
    if not code or code[-1].op != "when":
        return None
    *code, region = code
    given, inner = region.extra
    otherwise = dict(zip(region.results, region.args[1 + given :], strict=True))
    if [otherwise.get(r) for r in block.results] != list(state):
        return None
    if set(state) & {*read_by(code, region.args[:1]), *read_from_outside(inner)}:
        return None
    return Test(tuple(code), region)


def _parted(block: Block, state: Sequence[int]) -> tuple[tuple[Instruction, ...], tuple[Instruction, ...]]:
    """Code that does not depend on the state, and code that does."""
    moving, alone, after = set(state), [], []
    for step in block.code:
        if step.op != "item" and moving & set(names_in(step)):
            moving.update(step.results)
            after.append(step)
        elif step.op != "item":
            alone.append(step)
    return tuple(alone), tuple(after)


def _with_deeper(
    alone: tuple[Instruction, ...], after: tuple[Instruction, ...], results: Sequence[int]
) -> tuple[tuple[Instruction, ...], Instruction | None, tuple[Instruction, ...]]:
    """The last region with loops among the code that is alone, with what comes before; what comes after it, if that is
    short, is left to the code after. So are truths that this asks for, which are not kept in memory."""
    long = [k for k, step in enumerate(alone) if _is_long((step,))]
    deeper = None
    if alone[long[-1]].op == "when" and len(long) > 1:
        last = long[-1]
        alone, deeper, after = alone[:last], alone[last], (*alone[last + 1 :], *after)
    return alone, deeper, (*_truths(alone, read_by(after, results)), *after)


def _truths(code: Sequence[Instruction], wanted: Sequence[int]) -> list[Instruction]:
    """Code for truths that are wanted, and for those that these are made of."""
    found = {step.results[0]: step for step in code if is_truth(step)}
    pending, again = [a for a in wanted if a in found], set()
    while pending:
        a = pending.pop()
        if a not in again:
            again.add(a)
            pending += [x for x in found[a].args if x in found]
    return [step for step in code if step.results and step.results[0] in again]


def _is_long(code: Sequence[Instruction]) -> bool:
    return any(step.op in LOOPS for step in steps(Block((), tuple(code), ())))


def read_by(code: Sequence[Instruction], results: Sequence[int] = ()) -> list[int]:
    return read_from_outside(Block((), tuple(code), tuple(results)))


def inside(region: Instruction) -> list[int]:
    """The values of outer blocks that a region reads where it runs."""
    given, block = region.extra
    return [*region.args[1 : 1 + given], *read_from_outside(block)]


def names_in(step: Instruction) -> list[int]:
    """The values that a step reads, in blocks of its own, too."""
    return [*step.args, *(read_from_outside(step.extra[1]) if step.op in BLOCKS else ())]
