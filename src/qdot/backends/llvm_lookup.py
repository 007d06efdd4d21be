"""Tables of constants, and rows of them that lanes name, as LLVM assembly.

A lane's row lies in one piece: it is loaded four entries at a time, and four by four the pieces of all lanes are
transposed. Where the processor would gather entry by entry, that takes several times as long. Tables may be larger than
caches, and then what takes the time is to wait for them: entries are kept in half the length where that changes none,
and rows are asked for as soon as it is known which, so that several come at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from qdot.backends.llvm_math import Vectors
from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import Instruction, read_from_outside
from qdot.compiler.table import Table

BESIDE = 4
"""Numbers that are loaded at once: so many have to follow a table, since its last row may not fill them."""
LINE = 64
"""Bytes that a cache fetches together: a row of sixteen short numbers lies on one line."""
LARGE = 2**12
"""Numbers of a table that may have to be waited for."""
FETCH = "@llvm.prefetch.p0"


def kept(v: Vectors, table: Table) -> Vectors:
    """Vectors of the entries of a table as they are in memory."""
    return Vectors("float32", v.width) if _is_short(table) else v


@lru_cache(maxsize=64)
def _is_short(table: Table) -> bool:
    """Whether all entries are numbers of four bytes."""
    entries = np.array(table.rows)
    with np.errstate(over="ignore"):
        return bool((entries == entries.astype(np.float32)).all())


def written(v: Vectors, table: Table, name: str) -> str:
    """The rows of a table, end to end: as bytes, which LLVM reads several times as soon as numbers."""
    entries = [*(x for row in table.rows for x in row), *[0.0] * BESIDE]
    given = np.array(entries, kept(v, table).dtype).tobytes()
    text = given.hex("\\", 1)
    return f'{name} = internal constant [{len(given)} x i8] c"\\{text}", align {LINE}'


def entry(v: Vectors, table: Table, pointer: str, into: str) -> list[str]:
    """Lines that load one entry."""
    short = kept(v, table)
    if short.scalar == v.scalar:
        return [f"  {into} = load {v.scalar}, ptr {pointer}, !invariant.load !1"]
    return [
        f"  {into}.short = load {short.scalar}, ptr {pointer}, !invariant.load !1",
        f"  {into} = fpext {short.scalar} {into}.short to {v.scalar}",
    ]


def asking_ahead(code: Sequence[Instruction]) -> list[Instruction]:
    """Code in which rows of large tables are asked for where it says that they are read, `fetch`, and read where they
    are needed."""
    found: list[Instruction] = []
    waiting: dict[tuple[Table, int], list[Instruction]] = {}
    for step in code:
        if step.op == "entry" and len(step.extra[0].rows) * step.extra[0].width > LARGE:
            (table, _), (index,) = step.extra, step.args
            if (table, index) not in waiting:
                found.append(Instruction("fetch", (index,), (), table))
            waiting.setdefault((table, index), []).append(step)
            continue
        read = _read(step) if waiting else set()
        for key in [key for key, entries in waiting.items() if any(read.issuperset(x.results) for x in entries)]:
            found += waiting.pop(key)
        found.append(step)
    return found + [step for entries in waiting.values() for step in entries]


def _read(step: Instruction) -> set[int]:
    return {*step.args, *(read_from_outside(step.extra[1]) if step.op in BLOCKS else ())}


def places(v: Vectors, rows: str, table: Table, index: str, name: str) -> list[str]:
    """Lines that find the row of `table`, which lies at `rows`, that each lane names by its `index`."""
    T, W, last = v.type, v.width, v.splat(float(len(table.rows) - 1))
    I, of = f"<{W} x i64>", kept(v, table)
    lines = [
        f"  %above.{name} = fcmp ogt {T} {index}, zeroinitializer",
        f"  %from.{name} = select <{W} x i1> %above.{name}, {T} {index}, {T} zeroinitializer",
        f"  %below.{name} = fcmp olt {T} %from.{name}, {last}",
        f"  %to.{name} = select <{W} x i1> %below.{name}, {T} %from.{name}, {T} {last}",
        f"  %whole.{name} = fptoui {T} %to.{name} to {I}",
        f"  %place.{name} = mul {I} %whole.{name}, splat (i64 {table.width})",
    ]
    for lane in range(W):
        lines.append(f"  %at{lane}.{name} = extractelement {I} %place.{name}, i64 {lane}")
        lines.append(f"  %row{lane}.{name} = getelementptr {of.scalar}, ptr {rows}, i64 %at{lane}.{name}")
    return lines


def fetched(v: Vectors, name: str, called: set[str]) -> list[str]:
    """Lines that ask for the rows of all lanes, without waiting for them."""
    called.add(FETCH)
    return [f"  call void {FETCH}(ptr %row{lane}.{name}, i32 0, i32 3, i32 1)" for lane in range(v.width)]


def looked_up(v: Vectors, rows: str, table: Table, name: str, called: set[str]) -> list[str]:
    """Lines that define %c0.name, %c1.name …: the entries of rows whose places are found."""
    of, lines = kept(v, table), []
    tag = name if of.type == v.type else f"{name}.short"
    if v.width % BESIDE:
        lines += _gathered(of, rows, table.width, name, tag, called)
    else:
        for first in range(0, table.width, BESIDE):
            lines += _transposed(of, first, min(BESIDE, table.width - first), name, tag)
    if tag != name:
        lines += [f"  %c{k}.{name} = fpext {of.type} %c{k}.{tag} to {v.type}" for k in range(table.width)]
    return lines


def _gathered(v: Vectors, rows: str, width: int, name: str, tag: str, called: set[str]) -> list[str]:
    W, gather = v.width, f"@llvm.masked.gather.{v.suffix}.v{v.width}p0"
    called.add(gather)
    lines = [f"  %row.{name} = getelementptr {v.scalar}, ptr {rows}, <{W} x i64> %place.{name}"]
    for k in range(width):
        given = f"<{W} x ptr> %of{k}.{name}, i32 {v.bytes}, <{W} x i1> splat (i1 true), {v.type} poison"
        lines.append(f"  %of{k}.{name} = getelementptr {v.scalar}, <{W} x ptr> %row.{name}, i64 {k}")
        lines.append(f"  %c{k}.{tag} = call {v.type} {gather}({given})")
    return lines


def _transposed(v: Vectors, first: int, count: int, name: str, tag: str) -> list[str]:
    """Up to four columns: lanes 0, 4, 8 … side by side, then 1, 5, 9 …; of these, fours are turned round."""
    W, here, lines = v.width, f"{first}.{name}", []
    for lane in range(W):
        lines.append(f"  %p{lane}.{here} = getelementptr {v.scalar}, ptr %row{lane}.{name}, i64 {first}")
        lines.append(f"  %n{lane}.{here} = load <4 x {v.scalar}>, ptr %p{lane}.{here}, align {v.bytes}")
    beside = []
    for k in range(BESIDE):
        pieces, size = [f"%n{lane}.{here}" for lane in range(k, W, BESIDE)], BESIDE
        while len(pieces) > 1:
            joined = []
            for one, two in zip(pieces[::2], pieces[1::2], strict=True):
                joined.append(f"{one}j")
                lines.append(_shuffled(v, size, joined[-1], one, two, range(2 * size)))
            pieces, size = joined, 2 * size
        beside += pieces
    halves = {}
    for half, (one, two) in enumerate((beside[:2], beside[2:])):
        for odd in (0, 1):  # of two rows, entries 0 and 2 in turn, or 1 and 3
            halves[half, odd] = f"%t{half}{odd}.{here}"
            taken = [b + x for b in range(0, W, BESIDE) for x in (odd, W + odd, 2 + odd, W + 2 + odd)]
            lines.append(_shuffled(v, W, halves[half, odd], one, two, taken))
    for k in range(count):
        e = k // 2 * 2
        mask = [b + x for b in range(0, W, BESIDE) for x in (e, e + 1, W + e, W + e + 1)]
        lines.append(_shuffled(v, W, f"%c{first + k}.{tag}", halves[0, k % 2], halves[1, k % 2], mask))
    return lines


def _shuffled(v: Vectors, size: int, name: str, one: str, two: str, places: Sequence[int]) -> str:
    kind, mask = f"<{size} x {v.scalar}>", ", ".join(f"i32 {place}" for place in places)
    return f"  {name} = shufflevector {kind} {one}, {kind} {two}, <{len(places)} x i32> <{mask}>"
