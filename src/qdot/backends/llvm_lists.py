"""Turns of a `scan` that some lane needs, listed once for all loops over the same rows.

Of hundreds of contacts that are possible few are there, and Newton's method goes through all of them several times in
every turn. Where a turn is one region, and its condition follows from rows that are known beforehand, it is asked once
which turns are needed, and loops go through the list. A turn that no lane needs leaves the state as it is: nothing
changes but the time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qdot.backends.llvm_pool import Test, read_by, tested
from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import Instruction, Program, columns_of

if TYPE_CHECKING:
    from qdot.backends.llvm_text import Writer

LOOPS = frozenset(("for", "while", "scan", "sweep", "each"))
"""What runs its block more than once."""


@dataclass(frozen=True)
class Lists:
    """Places of lists: by the first result of a `scan` that goes through one; and, by the first result of the step of
    the body before which they are made, which to make, each with a `scan` that it serves."""

    read: dict[int, int] = field(default_factory=dict)
    made: dict[int, list[tuple[Instruction, int]]] = field(default_factory=dict)
    size: int = 0

    @staticmethod
    def of(program: Program, same: Mapping[int, int], pooled: Collection[int], first: int) -> Lists:
        """Lists of a program, in places from `first` on; `same` tells what parameters of regions are outside, and
        `pooled` are first results of scans that are run in another way."""
        constants = {s.results[0]: s.extra for s in program.body.code if s.op == "constant"}
        known = set(constants)
        """What the body has computed so far."""
        before: dict[Any, tuple[int, Instruction]] = {}
        scans: dict[Any, list[Instruction]] = {}
        often: dict[Any, None] = {}
        """Conditions that are asked for more than once."""
        for step in program.body.code:
            for scan, is_repeated in _scans(step):
                condition = None if scan.results[0] in pooled else _condition(scan, same, constants, known)
                if condition is not None:
                    before.setdefault(condition, (step.results[0], scan))
                    scans.setdefault(condition, []).append(scan)
                    if is_repeated or len(scans[condition]) > 1:
                        often[condition] = None
            known.update(step.results)
        lists, place = Lists(), first
        for condition in often:
            key, scan = before[condition]
            lists.made.setdefault(key, []).append((scan, place))
            lists.read.update((scan.results[0], place) for scan in scans[condition])
            place += scan.extra[0] + 1  # a number for each turn, and how many there are
        return Lists(lists.read, lists.made, place - first)


def _scans(step: Instruction, is_repeated: bool = False) -> Iterator[tuple[Instruction, bool]]:
    """Every `scan` in a step, and whether a loop around it runs it more than once."""
    if step.op == "scan":
        yield step, is_repeated
    if step.op in BLOCKS:
        for inner in step.extra[1].code:
            yield from _scans(inner, is_repeated or step.op in LOOPS)


def _test(scan: Instruction) -> Test | None:
    block, carried = scan.extra[1], len(scan.results)
    return tested(block, block.parameters[len(block.parameters) - carried :])


def _condition(
    scan: Instruction, same: Mapping[int, int], constants: Mapping[int, float], known: set[int]
) -> tuple[Any, ...] | None:
    """What tells whether a turn is needed, the same for scans that ask for the same; none where it does not follow from
    what is known."""
    test = _test(scan)
    if test is None:
        return None
    meaning: dict[int, Any] = {}
    for p, column in zip(scan.extra[1].parameters, columns_of(scan), strict=False):
        operands = tuple(same.get(a, a) for a in column)
        if known.issuperset(operands):
            meaning[p] = operands
    for step in test.code:
        arguments = [meaning.get(a, constants.get(a)) for a in step.args]
        if step.op in BLOCKS or step.extra is not None or None in arguments:
            continue
        meaning[step.results[0]] = (step.op, *arguments)
    return meaning.get(test.region.args[0])


def make_list(w: Writer, scan: Instruction, place: int) -> None:
    """Code that lists the turns of a `scan`, and at the end how many there are."""
    test, turns = _test(scan), scan.extra[0]
    assert test is not None
    head, end, before = w.new_label("list"), w.new_label("end"), w.label
    known, paired, again = w.names, w.paired, w.again
    w.names, w.paired, w.again = known.copy(), {}, f"{again}.{head}"
    w.lines.append(f"  %list.{head} = getelementptr {w.vectors.type}, ptr {w.memory}, i64 {place}")
    w.lines.append(f"  br label %{head}")
    w.open(head)
    counters = [w.phi(f"%{name}.{head}", "i64", [("0", before)]) for name in ("i", "many")]
    condition = test.region.args[0]
    code = _needed(test.code, condition)
    w.row(head, scan, set(read_by(code, (condition,))))
    for step in code:
        w.step(step)
    w.lines += [
        f"  %any.{head} = {w.any(w.names[condition])}",
        f"  %one.{head} = zext i1 %any.{head} to i64",
        f"  %short.{head} = trunc i64 %i.{head} to i32",
        f"  %to.{head} = getelementptr i32, ptr %list.{head}, i64 %many.{head}",
        f"  store i32 %short.{head}, ptr %to.{head}",
        f"  %more.{head} = add i64 %many.{head}, %one.{head}",
        f"  %n.{head} = add i64 %i.{head}, 1",
        f"  %c.{head} = icmp ult i64 %n.{head}, {turns}",
        f"  br i1 %c.{head}, label %{head}, label %{end}",
    ]
    for line, value in zip(counters, ("%n", "%more"), strict=True):
        w.extend(line, f"{value}.{head}", w.label)
    w.open(end)
    w.lines += [
        f"  %all.{head} = trunc i64 %more.{head} to i32",
        f"  %last.{head} = getelementptr i32, ptr %list.{head}, i64 {turns}",
        f"  store i32 %all.{head}, ptr %last.{head}",
    ]
    w.names, w.paired, w.again = known, paired, again


def _needed(code: tuple[Instruction, ...], value: int) -> list[Instruction]:
    """Of straight-line code, what a value needs."""
    wanted, found = {value}, []
    for step in reversed(code):
        if wanted & set(step.results):
            found.append(step)
            wanted.update(step.args)
    return found[::-1]


def through_list(w: Writer, scan: Instruction, place: int, carried: list[str]) -> None:
    """The code of a `scan` that goes through a list."""
    (turns, block), T = scan.extra, w.vectors.type
    head, end, before = w.new_label("listed"), w.new_label("end"), w.label
    w.lines += [
        f"  %list.{head} = getelementptr {T}, ptr {w.memory}, i64 {place}",
        f"  %last.{head} = getelementptr i32, ptr %list.{head}, i64 {turns}",
        f"  %all.{head} = load i32, ptr %last.{head}",
        f"  %many.{head} = zext i32 %all.{head} to i64",
        f"  %some.{head} = icmp ne i64 %many.{head}, 0",
        f"  br i1 %some.{head}, label %{head}, label %{end}",
    ]
    w.open(head)
    count = w.phi(f"%j.{head}", "i64", [("0", before)])
    own = zip(block.parameters[len(block.parameters) - len(carried) :], carried, strict=True)
    phis = [w.phi(w.name(p), T, [(x, before)]) for p, x in own]
    w.lines += [
        f"  %at.{head} = getelementptr i32, ptr %list.{head}, i64 %j.{head}",
        f"  %short.{head} = load i32, ptr %at.{head}",
        f"  %i.{head} = zext i32 %short.{head} to i64",
    ]
    w.row(head, scan)
    results = w.inner(block)
    w.lines += [
        f"  %n.{head} = add i64 %j.{head}, 1",
        f"  %c.{head} = icmp ult i64 %n.{head}, %many.{head}",
        f"  br i1 %c.{head}, label %{head}, label %{end}",
    ]
    last = w.label
    w.extend(count, f"%n.{head}", last)
    for line, value in zip(phis, results, strict=True):
        w.extend(line, value, last)
    w.open(end)
    for r, x, y in zip(scan.results, results, carried, strict=True):
        w.phi(w.name(r), T, [(x, last), (y, before)])
    w.keep(scan, results, carried)
