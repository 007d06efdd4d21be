"""Rows of a table that lanes name, as LLVM assembly.

A lane's row lies in one piece: it is loaded four entries at a time, and four by four the pieces of all lanes are
transposed. Where the processor would gather entry by entry, that takes several times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

from qdot.backends.llvm_math import Vectors
from qdot.compiler.table import Table

BESIDE = 4
"""Numbers that are loaded at once: so many have to follow a table, since its last row may not fill them."""


def looked_up(v: Vectors, rows: str, table: Table, index: str, name: str, called: set[str]) -> list[str]:
    """Lines that define %c0.name, %c1.name …: the entries of the row of `table`, which lies at `rows`, that each lane
    names by its `index`."""
    T, W, last = v.type, v.width, v.splat(float(len(table.rows) - 1))
    I = f"<{W} x i64>"
    lines = [
        f"  %above.{name} = fcmp ogt {T} {index}, zeroinitializer",
        f"  %from.{name} = select <{W} x i1> %above.{name}, {T} {index}, {T} zeroinitializer",
        f"  %below.{name} = fcmp olt {T} %from.{name}, {last}",
        f"  %to.{name} = select <{W} x i1> %below.{name}, {T} %from.{name}, {T} {last}",
        f"  %whole.{name} = fptoui {T} %to.{name} to {I}",
        f"  %place.{name} = mul {I} %whole.{name}, splat (i64 {table.width})",
    ]
    if W % BESIDE:
        return lines + _gathered(v, rows, table.width, name, called)
    for lane in range(W):
        lines.append(f"  %at{lane}.{name} = extractelement {I} %place.{name}, i64 {lane}")
        lines.append(f"  %row{lane}.{name} = getelementptr {v.scalar}, ptr {rows}, i64 %at{lane}.{name}")
    for first in range(0, table.width, BESIDE):
        lines += _transposed(v, first, min(BESIDE, table.width - first), name)
    return lines


def _gathered(v: Vectors, rows: str, width: int, name: str, called: set[str]) -> list[str]:
    W, gather = v.width, f"@llvm.masked.gather.{v.suffix}.v{v.width}p0"
    called.add(gather)
    lines = [f"  %row.{name} = getelementptr {v.scalar}, ptr {rows}, <{W} x i64> %place.{name}"]
    for k in range(width):
        given = f"<{W} x ptr> %of{k}.{name}, i32 {v.bytes}, <{W} x i1> splat (i1 true), {v.type} poison"
        lines.append(f"  %of{k}.{name} = getelementptr {v.scalar}, <{W} x ptr> %row.{name}, i64 {k}")
        lines.append(f"  %c{k}.{name} = call {v.type} {gather}({given})")
    return lines


def _transposed(v: Vectors, first: int, count: int, name: str) -> list[str]:
    """Up to four columns: lanes 0, 4, 8 … side by side, then 1, 5, 9 …; of these, fours are turned round."""
    W, tag, lines = v.width, f"{first}.{name}", []
    for lane in range(W):
        lines.append(f"  %p{lane}.{tag} = getelementptr {v.scalar}, ptr %row{lane}.{name}, i64 {first}")
        lines.append(f"  %n{lane}.{tag} = load <4 x {v.scalar}>, ptr %p{lane}.{tag}, align {v.bytes}")
    beside = []
    for k in range(BESIDE):
        pieces, size = [f"%n{lane}.{tag}" for lane in range(k, W, BESIDE)], BESIDE
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
            halves[half, odd] = f"%t{half}{odd}.{tag}"
            taken = [b + x for b in range(0, W, BESIDE) for x in (odd, W + odd, 2 + odd, W + 2 + odd)]
            lines.append(_shuffled(v, W, halves[half, odd], one, two, taken))
    for k in range(count):
        e = k // 2 * 2
        mask = [b + x for b in range(0, W, BESIDE) for x in (e, e + 1, W + e, W + e + 1)]
        lines.append(_shuffled(v, W, f"%c{first + k}.{name}", halves[0, k % 2], halves[1, k % 2], mask))
    return lines


def _shuffled(v: Vectors, size: int, name: str, one: str, two: str, places: Sequence[int]) -> str:
    kind, mask = f"<{size} x {v.scalar}>", ", ".join(f"i32 {place}" for place in places)
    return f"  {name} = shufflevector {kind} {one}, {kind} {two}, <{len(places)} x i32> <{mask}>"
