"""The loop over the batch around a program's core, as LLVM assembly.

`kernel` runs rows begin to end of arrays with any strides. An input whose rows lie next to each other is read in
place; any other goes through a small tile, and so does the last, partly filled vector. Results go from the core's
slots to the arrays: a vector of rows at a time where rows lie next to each other, past the cache where the runtime
says that it is too small for them; by transposed squares where the columns do; number by number elsewhere. Every row
is computed by the same code, so results do not depend on the size of the batch or on how it is split.

Nor on their order: a vector of rows takes as long as the slowest of them. A program that tells how long a row took, by
an output `EFFORT`, has a second entry, `ordered`, which is told in what order to take the rows (see `rollout`).
"""

from __future__ import annotations

from collections.abc import Iterable

from qdot.backends.llvm_arrays import expected, fill, lanes, spread
from qdot.backends.llvm_groups import tells_effort
from qdot.backends.llvm_lookup import FETCH
from qdot.backends.llvm_math import Vectors
from qdot.backends.llvm_row import when_alone
from qdot.backends.llvm_tile import Tile
from qdot.backends.memory import LINE
from qdot.compiler.program import Program

FIELDS = ("base", "row", "column", "stream")
"""What describes a port to the kernel, an i64 each: its address, the distances of rows and columns in elements, and
whether to write past the cache (then rows or columns lie next to each other, and vectors of them are aligned)."""


def kernel(program: Program, v: Vectors, tile: Tile, called: set[str]) -> list[str]:
    """void kernel(ports, tiles, begin, end): `tiles` is aligned room for one vector of rows of every input, then for
    those of the tile."""
    inputs, ports, W = len(program.inputs), (*program.inputs, *program.outputs), v.width
    sorts = tells_effort(program)
    name, order = ("ordered", ", ptr %order") if sorts else ("kernel", "")
    entries = ", ".join(f"i32 {tile.slots[r]}" for r in program.body.results)
    lines = [
        f"@slots = internal constant [{len(program.body.results)} x i32] [{entries}]",
        f"define void @{name}(ptr %ports, ptr %tiles, i64 %begin, i64 %end{order}) nounwind {{",
        "entry:",
        *([f"  %lanes = alloca [{W} x i64]", "  %natural = icmp eq ptr %order, null"] if sorts else []),
    ]
    lines += described(range(len(ports)))
    offset = 0
    for k, port in enumerate(program.inputs):
        lines.append(f"  %tile{k} = getelementptr {v.type}, ptr %tiles, i64 {offset}")
        offset += port.size
    lines += [
        f"  %results = getelementptr {v.type}, ptr %tiles, i64 {offset}",
        f"  %scratch = getelementptr {v.type}, ptr %results, i64 {tile.size}",
        "  %none = icmp uge i64 %begin, %end",
        "  br i1 %none, label %done, label %chunk",
        "chunk:",
        f"  %r = phi i64 [ %begin, %entry ], [ %next, %out{len(ports)} ]",
        f"  %next = add i64 %r, {v.width}",
        "  %rest = sub i64 %end, %r",
        f"  %left = call i64 @llvm.umin.i64(i64 %rest, i64 {v.width})",
        f"  %full = icmp eq i64 %left, {v.width}",
    ]
    if sorts:
        called.add(FETCH)
        lines += [*lanes(W), *_expected(program, v)]
    first_row, whole, where = ("%first", "%beside", ", i1 %beside, ptr %lanes") if sorts else ("%r", "%full", "")
    for k in range(len(ports)):
        lines.append(f"  %start{k} = mul i64 {first_row}, %row{k}")
        lines.append(f"  %here{k} = getelementptr {v.scalar}, ptr %base{k}, i64 %start{k}")
    lines += when_alone(program) if tile.parts.turns else ["  br label %port0"]
    for k, port in enumerate(program.inputs):
        lines += [
            f"port{k}:",
            f"  %packed{k} = icmp eq i64 %row{k}, 1",
            f"  %direct{k} = and i1 %packed{k}, {whole}",
            f"  br i1 %direct{k}, label %port{k + 1}, label %fill{k}",
            f"fill{k}:",
            f"  call void @fill(ptr %here{k}, i64 %row{k}, i64 %column{k}, i64 {port.size}, i64 %left, "
            f"ptr %tile{k}{where})",
            f"  br label %port{k + 1}",
        ]
    lines.append(f"port{inputs}:")
    for k in range(inputs):
        lines.append(f"  %p{k} = select i1 %direct{k}, ptr %here{k}, ptr %tile{k}")
        lines.append(f"  %s{k} = select i1 %direct{k}, i64 %column{k}, i64 {v.width}")
    arguments = "".join(f"ptr %p{k}, i64 %s{k}, " for k in range(inputs))
    lines.append(f"  call void @core({arguments}ptr %results, ptr %scratch, ptr @constants)")
    first = 0
    for k, port in enumerate(program.outputs, start=inputs):
        entry = f"ptr getelementptr (i32, ptr @slots, i64 {first})"
        lines.append(
            f"  call void @spread({entry}, ptr %results, ptr %here{k}, i64 %row{k}, i64 %column{k}, i64 %stream{k}, "
            f"i64 {port.size}, i64 %left{where})"
        )
        first += port.size
    return [
        *lines,
        f"  br label %out{len(ports)}",
        f"out{len(ports)}:",
        "  %more = icmp ult i64 %next, %end",
        "  br i1 %more, label %chunk, label %finished",
        "finished:",
        *(f"  %past{k} = or i64 %stream{k}, {f'%past{k - 1}' if k > inputs else 0}" for k in range(inputs, len(ports))),
        f"  %any = icmp ne i64 {f'%past{len(ports) - 1}' if program.outputs else 0}, 0",
        "  br i1 %any, label %fence, label %done",
        *FENCED,
        *(IN_NATURAL_ORDER if sorts else ()),
        *REFERRED_TO,
        *([expected(v, LINE)] if sorts else ()),
        fill(v, sorts=sorts),
        spread(v, sorts=sorts),
    ]


def _expected(program: Program, v: Vectors) -> list[str]:
    """While a vector of rows is computed, memory has time to fetch those that its results go to, and the inputs of the
    next vector: in an order of their own, the processor does not see them coming."""
    lines = ["  br i1 %natural, label %begun, label %fetch", "fetch:"]
    for k, port in enumerate((*program.inputs, *program.outputs)):
        name, first = ("read", "%next") if k < len(program.inputs) else ("written", "%r")
        lines.append(
            f"  call void @expected.{name}(ptr %base{k}, i64 %row{k}, i64 %column{k}, i64 {port.size * v.bytes}, "
            f"ptr %order, i64 {first}, i64 %last)"
        )
    return [*lines, "  br label %begun", "begun:"]


def described(ports: Iterable[int]) -> list[str]:
    """What is told of ports with these numbers: %base0, %row0, %column0, %stream0 …"""
    lines = []
    for k in ports:
        for j, name in enumerate(FIELDS):
            lines.append(f"  %at{k}.{j} = getelementptr i64, ptr %ports, i64 {len(FIELDS) * k + j}")
            lines.append(f"  %{name}{k} = load {'ptr' if name == 'base' else 'i64'}, ptr %at{k}.{j}")
    return lines


REFERRED_TO = (
    "declare i64 @llvm.umin.i64(i64, i64)",
    "!0 = !{i32 1}",  # by !nontemporal
    "!1 = !{}",  # by !invariant.load
)

FENCED = (
    "fence:",
    "  fence seq_cst",  # what went past the cache is seen by all who see that the kernel has returned
    "  br label %done",
    "done:",
    "  ret void",
    "}",
)
"""How a kernel ends."""

IN_NATURAL_ORDER = (
    "define void @kernel(ptr %ports, ptr %tiles, i64 %begin, i64 %end) nounwind {",
    "  call void @ordered(ptr %ports, ptr %tiles, i64 %begin, i64 %end, ptr null)",
    "  ret void",
    "}",
)
