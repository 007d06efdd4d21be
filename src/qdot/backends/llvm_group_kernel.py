"""The loop over the batch around a program that is run in groups of vectors, as LLVM assembly, see `llvm_groups`.

Memory is that of a group's vectors, one after the other: of each the inputs, then its tile; what is left is scratch.
"""

from __future__ import annotations

from collections.abc import Sequence

from qdot.backends.llvm_arrays import fill, lanes, spread
from qdot.backends.llvm_groups import GROUP
from qdot.backends.llvm_kernel import FENCED, IN_NATURAL_ORDER, REFERRED_TO, described
from qdot.backends.llvm_math import Vectors
from qdot.backends.llvm_tile import Tile
from qdot.compiler.program import Port, Program


def grouped_kernel(program: Program, v: Vectors, tile: Tile) -> list[str]:
    """void ordered(ports, tiles, begin, end, order), and `kernel`, as in `llvm_kernel`."""
    inputs, entries = sum(port.size for port in program.inputs), [tile.slots[r] for r in program.body.results]
    return [
        _table("slots", entries),
        *_ordered(program, v, tile, inputs),
        *IN_NATURAL_ORDER,
        *_taken(program, v),
        *_given(program, v, inputs),
        *REFERRED_TO,
        fill(v, sorts=True),
        spread(v, sorts=True),
    ]


def _table(name: str, entries: Sequence[int]) -> str:
    return f"@{name} = internal constant [{len(entries)} x i32] [{', '.join(f'i32 {x}' for x in entries)}]"


def _ordered(program: Program, v: Vectors, tile: Tile, inputs: int) -> list[str]:
    W, stride, last = v.width, inputs + tile.size, len(tile.parts.code) - 1
    lines = [
        "define void @ordered(ptr %ports, ptr %tiles, i64 %begin, i64 %end, ptr %order) nounwind {",
        "entry:",
        f"  %scratch = getelementptr {v.type}, ptr %tiles, i64 {GROUP * stride}",
        "  %none = icmp uge i64 %begin, %end",
        "  br i1 %none, label %done, label %group",
        "group:",
        f"  %r = phi i64 [ %begin, %entry ], [ %next, %end.part{last} ]",
        f"  %next = add i64 %r, {GROUP * W}",
        "  %rest = sub i64 %end, %r",
        f"  %many = call i64 @llvm.umin.i64(i64 %rest, i64 {GROUP * W})",
        f"  %filled = add i64 %many, {W - 1}",
        f"  %vectors = udiv i64 %filled, {W}",
    ]
    before = "group"
    for k in range(last + 1):
        for scan in tile.parts.pools.get(k, ()):
            lines += [
                f"  %tile.searched{scan} = getelementptr {v.type}, ptr %tiles, i64 {inputs}",
                *_call(program, v, f"searched{scan}", "%tiles", "%vectors"),
            ]
        rows = f"ptr %ports, ptr %memory.part{k}, i64 %row.part{k}, i64 %end, ptr %order"
        first, then = ([f"  call void @{name}({rows})"] for name in ("taken", "given"))
        own = first if k == 0 else [], then if k == last else []
        lines += _each_vector(program, v, stride, f"part{k}", before, *own)
        before = f"end.part{k}"
    return [
        *lines,
        "  %more = icmp ult i64 %next, %end",
        "  br i1 %more, label %group, label %fence",
        *FENCED,
    ]


def _each_vector(
    program: Program,
    v: Vectors,
    stride: int,
    name: str,
    before: str,
    first: Sequence[str] = (),
    then: Sequence[str] = (),
) -> list[str]:
    """A function is called for each vector of a group, between other lines; from the label `before`."""
    return [
        f"  br label %each.{name}",
        f"each.{name}:",
        f"  %g.{name} = phi i64 [ 0, %{before} ], [ %h.{name}, %each.{name} ]",
        f"  %place.{name} = mul i64 %g.{name}, {stride}",
        f"  %memory.{name} = getelementptr {v.type}, ptr %tiles, i64 %place.{name}",
        f"  %far.{name} = mul i64 %g.{name}, {v.width}",
        f"  %row.{name} = add i64 %r, %far.{name}",
        f"  %tile.{name} = getelementptr {v.type}, ptr %memory.{name}, i64 {sum(port.size for port in program.inputs)}",
        *first,
        *_call(program, v, name, f"%memory.{name}", f"%g.{name}"),
        *then,
        f"  %h.{name} = add i64 %g.{name}, 1",
        f"  %more.{name} = icmp ult i64 %h.{name}, %vectors",
        f"  br i1 %more.{name}, label %each.{name}, label %end.{name}",
        f"end.{name}:",
    ]


def _call(program: Program, v: Vectors, name: str, memory: str, number: str) -> list[str]:
    """A call for a vector, with its inputs and its tile; or for so many."""
    lines, given, offset = [], "", 0
    for k, port in enumerate(program.inputs):
        lines.append(f"  %input{k}.{name} = getelementptr {v.type}, ptr {memory}, i64 {offset}")
        given += f"ptr %input{k}.{name}, i64 {v.width}, "
        offset += port.size
    return [*lines, f"  call void @{name}({given}ptr %tile.{name}, ptr %scratch, ptr @constants, i64 {number})"]


def _of_a_vector(name: str, v: Vectors, first: int, ports: Sequence[Port]) -> list[str]:
    """The head of void name(ports, memory, row, end, order): the rows of a vector, and where those of ports are."""
    lines = [
        f"define internal void @{name}(ptr %ports, ptr %memory, i64 %r, i64 %end, ptr %order) nounwind noinline {{",
        "entry:",
        f"  %lanes = alloca [{v.width} x i64]",
        "  %natural = icmp eq ptr %order, null",
        "  %rest = sub i64 %end, %r",
        f"  %left = call i64 @llvm.umin.i64(i64 %rest, i64 {v.width})",
        *lanes(v.width),
    ]
    numbers = range(first, first + len(ports))
    lines += described(numbers)
    for k in numbers:
        lines.append(f"  %start{k} = mul i64 %first, %row{k}")
        lines.append(f"  %here{k} = getelementptr {v.scalar}, ptr %base{k}, i64 %start{k}")
    return lines


def _taken(program: Program, v: Vectors) -> list[str]:
    """The inputs of a vector of rows."""
    lines, offset = _of_a_vector("taken", v, 0, program.inputs), 0
    for k, port in enumerate(program.inputs):
        lines += [
            f"  %tile{k} = getelementptr {v.type}, ptr %memory, i64 {offset}",
            f"  call void @fill(ptr %here{k}, i64 %row{k}, i64 %column{k}, i64 {port.size}, i64 %left, ptr %tile{k}, "
            "i1 %beside, ptr %lanes)",
        ]
        offset += port.size
    return [*lines, "  ret void", "}"]


def _given(program: Program, v: Vectors, inputs: int) -> list[str]:
    """The results of a vector of rows."""
    lines, first = _of_a_vector("given", v, len(program.inputs), program.outputs), 0
    lines.append(f"  %results = getelementptr {v.type}, ptr %memory, i64 {inputs}")
    for k, port in enumerate(program.outputs, start=len(program.inputs)):
        lines.append(
            f"  call void @spread(ptr getelementptr (i32, ptr @slots, i64 {first}), ptr %results, ptr %here{k}, "
            f"i64 %row{k}, i64 %column{k}, i64 %stream{k}, i64 {port.size}, i64 %left, i1 %beside, ptr %lanes)"
        )
        first += port.size
    return [*lines, "  ret void", "}"]
