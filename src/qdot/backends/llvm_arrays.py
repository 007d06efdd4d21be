"""Rows from arrays with any strides to a tile, and back, as LLVM assembly.

An input's columns become vectors of a tile, and slots of a tile become columns of an output: a vector of rows at a time
where rows lie next to each other, by transposed squares where the columns do, number by number elsewhere.
"""

from __future__ import annotations

from qdot.backends.llvm_lookup import FETCH
from qdot.backends.llvm_math import Vectors

_MORE = ", i1 %beside, ptr %lanes"
"""What is told where rows are in an order of their own."""


def lanes(W: int) -> list[str]:
    """The rows of a vector: %first, how far each is from it, in %lanes, and whether they lie side by side; lanes beyond
    the last row repeat it."""
    lines = ["  %last = sub i64 %end, 1", "  br i1 %natural, label %in.line, label %in.order"]
    for kind, row in (("line", "add i64 0, %{}.place"), ("order", "load i64, ptr %{}.at")):
        lines.append(f"in.{kind}:")
        for k in range(W):
            lines += [
                f"  %{kind}{k}.beyond = add i64 %r, {k}",
                f"  %{kind}{k}.place = call i64 @llvm.umin.i64(i64 %{kind}{k}.beyond, i64 %last)",
                f"  %{kind}{k}.at = getelementptr i64, ptr %order, i64 %{kind}{k}.place",
                f"  %{kind}{k}.row = {row.format(f'{kind}{k}')}",
                f"  %{kind}{k}.far = sub i64 %{kind}{k}.row, %{kind}0.row",
                f"  %{kind}{k}.to = getelementptr i64, ptr %lanes, i64 {k}",
                f"  store i64 %{kind}{k}.far, ptr %{kind}{k}.to",
                f"  %{kind}{k}.near = icmp eq i64 %{kind}{k}.far, {k}",
                f"  %{kind}{k}.beside = and i1 %{kind}{k}.near, {f'%{kind}{k - 1}.beside' if k else 'true'}",
            ]
        lines.append("  br label %told")
    last = W - 1
    return [
        *lines,
        "told:",
        "  %first = phi i64 [ %line0.row, %in.line ], [ %order0.row, %in.order ]",
        f"  %beside = phi i1 [ %line{last}.beside, %in.line ], [ %order{last}.beside, %in.order ]",
    ]


def expected(v: Vectors, line: int) -> str:
    """void expected.read(base, row, column, bytes, order, first, last), expected.written(…): the rows of a vector, from
    the first in an order on, are asked for before they are needed, line of the cache by line; where a row's numbers lie
    next to each other."""
    T = v.scalar
    return "".join(
        f"""
define internal void @expected.{name}(ptr %base, i64 %row, i64 %column, i64 %bytes, ptr %order, i64 %first,
                                     i64 %last) nounwind noinline {{
start:
  %close = icmp eq i64 %column, 1
  %some = icmp ne i64 %bytes, 0
  %apart = icmp ne i64 %row, 0
  %both = and i1 %close, %some
  %all = and i1 %both, %apart
  br i1 %all, label %lane, label %done
lane:
  %l = phi i64 [ 0, %start ], [ %l1, %next ]
  %beyond = add i64 %first, %l
  %place = call i64 @llvm.umin.i64(i64 %beyond, i64 %last)
  %at = getelementptr i64, ptr %order, i64 %place
  %number = load i64, ptr %at
  %offset = mul i64 %number, %row
  %from = getelementptr {T}, ptr %base, i64 %offset
  br label %line
line:
  %b = phi i64 [ 0, %lane ], [ %b1, %line ]
  %here = getelementptr i8, ptr %from, i64 %b
  call void {FETCH}(ptr %here, i32 {write}, i32 3, i32 1)
  %b1 = add i64 %b, {line}
  %more.b = icmp ult i64 %b1, %bytes
  br i1 %more.b, label %line, label %next
next:
  %l1 = add i64 %l, 1
  %more.l = icmp ult i64 %l1, {v.width}
  br i1 %more.l, label %lane, label %done
done:
  ret void
}}"""
        for write, name in enumerate(("read", "written"))
    )


def _offsets(W: int, *, sorts: bool) -> str:
    """%d0, %d1 …: how far the rows of a vector lie from the first of them; and whether they lie side by side."""
    lines = ["  %whole = and i1 %beside, true" if sorts else f"  %whole = icmp eq i64 %left, {W}"]
    for k in range(W):
        if sorts:
            lines += [f"  %lane{k} = getelementptr i64, ptr %lanes, i64 {k}", f"  %r{k} = load i64, ptr %lane{k}"]
        else:
            lines.append(f"  %r{k} = call i64 @llvm.umin.i64(i64 {k}, i64 %last)")
        lines.append(f"  %d{k} = mul i64 %r{k}, %row")
    return "\n".join([*([] if sorts else ["  %last = sub i64 %left, 1"]), *lines])


def fill(v: Vectors, *, sorts: bool) -> str:
    """void fill(from, row, column, size, left, tile): `left` rows of an array into a tile; lanes beyond repeat the last
    row. One row for all lanes is spread by whole vectors, which are read again sooner than what was written number by
    number. Where a row's numbers lie next to each other, squares of W rows and W columns are transposed."""
    W, T, V, B = v.width, v.scalar, v.type, v.bytes
    rows, turned, columns = [], *_transposed(v, [f"%x{k}" for k in range(W)])
    for k in range(W):
        rows += [
            f"  %a{k} = getelementptr {T}, ptr %corner, i64 %d{k}",
            f"  %x{k} = load {V}, ptr %a{k}, align {B}",
        ]
    stores = [
        line
        for k, x in enumerate(columns)
        for line in (
            f"  %t{k} = getelementptr {V}, ptr %to, i64 {k}",
            f"  store {V} {x}, ptr %t{k}, align {W * B}",
        )
    ]
    body = "\n".join([*rows, *turned, *stores])
    gathered = "\n".join(
        f"  %n{k}.at = getelementptr {T}, ptr %top, i64 %d{k}\n"
        f"  %n{k} = load {T}, ptr %n{k}.at\n"
        f"  %g{k} = insertelement {V} {f'%g{k - 1}' if k else 'poison'}, {T} %n{k}, i64 {k}"
        for k in range(W)
    )
    return f"""
define internal void @fill(ptr %from, i64 %row, i64 %column, i64 %size, i64 %left,
                           ptr %tile{_MORE if sorts else ""}) nounwind noinline {{
start:
{_offsets(W, sorts=sorts)}
  %alone = icmp eq i64 %left, 1
  %shared = icmp eq i64 %row, 0
  %same = or i1 %alone, %shared
  %some = icmp ne i64 %size, 0
  %one = and i1 %same, %some
  br i1 %one, label %copy, label %entry
copy:
  %k = phi i64 [ 0, %start ], [ %k1, %copy ]
  %ki = mul i64 %k, %column
  %ka = add i64 %ki, %d0
  %at = getelementptr {T}, ptr %from, i64 %ka
  %x = load {T}, ptr %at
  %e = insertelement {V} poison, {T} %x, i64 0
  %b = shufflevector {V} %e, {V} poison, <{W} x i32> zeroinitializer
  %place = getelementptr {V}, ptr %tile, i64 %k
  store {V} %b, ptr %place, align {W * B}
  %k1 = add i64 %k, 1
  %more.k = icmp ult i64 %k1, %size
  br i1 %more.k, label %copy, label %done
entry:
{_whole_squares(v)}
square:
  %s = phi i64 [ 0, %entry ], [ %s.next, %square ]
  %corner = getelementptr {T}, ptr %from, i64 %s
  %to = getelementptr {V}, ptr %tile, i64 %s
{body}
  %s1 = add i64 %s, {W}
  %s.next = call i64 @llvm.umin.i64(i64 %s1, i64 %final)
  %more.s = icmp ult i64 %s1, %size
  br i1 %more.s, label %square, label %done
single:
  %any = icmp ne i64 %size, 0
  br i1 %any, label %column.of, label %done
column.of:
  %c = phi i64 [ 0, %single ], [ %c1, %column.of ]
  %ci = mul i64 %c, %column
  %top = getelementptr {T}, ptr %from, i64 %ci
{gathered}
  %inside = getelementptr {V}, ptr %tile, i64 %c
  store {V} %g{W - 1}, ptr %inside, align {W * B}
  %c1 = add i64 %c, 1
  %more.c = icmp ult i64 %c1, %size
  br i1 %more.c, label %column.of, label %done
done:
  ret void
}}"""


def spread(v: Vectors, *, sorts: bool) -> str:
    """void spread(entries, results, to, row, column, stream, size, left): columns of `left` rows from their slots."""
    W, T, V, B = v.width, v.scalar, v.type, v.bytes
    past, near = f"align {W * B}, !nontemporal !0", f"align {B}"
    return f"""
define internal void @spread(ptr %entries, ptr %results, ptr %to, i64 %row, i64 %column, i64 %stream, i64 %size,
                             i64 %left{_MORE if sorts else ""}) nounwind noinline {{
start:
{_offsets(W, sorts=sorts)}
  %past = icmp ne i64 %stream, 0
  %packed = icmp eq i64 %row, 1
  %direct = and i1 %whole, %packed
  br i1 %direct, label %vectors, label %entry
vectors:
  %none = icmp eq i64 %size, 0
  br i1 %none, label %done, label %where
where:
  br i1 %past, label %past.column, label %near.column
{_vectors("past", v, past)}
{_vectors("near", v, near)}
entry:
{_whole_squares(v)}
square:
  %even = and i64 %size, -{W}
  br i1 %past, label %past.square, label %near.square
{_squares("past", v, past)}
  %past.s.next = add i64 %past.s, {W}
  %past.on = icmp ult i64 %past.s.next, %even
  br i1 %past.on, label %past.square, label %single
{_squares("near", v, near)}
  %near.s1 = add i64 %near.s, {W}
  %near.s.next = call i64 @llvm.umin.i64(i64 %near.s1, i64 %final)
  %near.on = icmp ult i64 %near.s1, %size
  br i1 %near.on, label %near.square, label %done
single:
  %first = phi i64 [ 0, %entry ], [ %even, %past.square ]
  %any = icmp ult i64 %first, %size
  br i1 %any, label %lane, label %done
lane:
  %l = phi i64 [ 0, %single ], [ %l1, %next ]
  {"%lane.at = getelementptr i64, ptr %lanes, i64 %l" if sorts else ""}
  {"%lane.row = load i64, ptr %lane.at" if sorts else "%lane.row = add i64 %l, 0"}
  %offset = mul i64 %lane.row, %row
  %line = getelementptr {T}, ptr %to, i64 %offset
  br label %number
number:
  %c = phi i64 [ %first, %lane ], [ %c1, %number ]
  %ci = mul i64 %c, %column
  %outside = getelementptr {T}, ptr %line, i64 %ci
  %entry.c = getelementptr i32, ptr %entries, i64 %c
  %slot = load i32, ptr %entry.c
  %inside = getelementptr {V}, ptr %results, i32 %slot, i64 %l
  %n = load {T}, ptr %inside
  store {T} %n, ptr %outside
  %c1 = add i64 %c, 1
  %more.c = icmp ult i64 %c1, %size
  br i1 %more.c, label %number, label %next
next:
  %l1 = add i64 %l, 1
  %more.l = icmp ult i64 %l1, %left
  br i1 %more.l, label %lane, label %done
done:
  ret void
}}"""


def _vectors(tag: str, v: Vectors, how: str) -> str:
    """A vector of rows of each column."""
    return f"""{tag}.column:
  %{tag}.c = phi i64 [ 0, %where ], [ %{tag}.c1, %{tag}.column ]
  %{tag}.to = phi ptr [ %to, %where ], [ %{tag}.to1, %{tag}.column ]
  %{tag}.entry = getelementptr i32, ptr %entries, i64 %{tag}.c
  %{tag}.number = load i32, ptr %{tag}.entry
  %{tag}.slot = getelementptr {v.type}, ptr %results, i32 %{tag}.number
  %{tag}.x = load {v.type}, ptr %{tag}.slot, align {v.bytes * v.width}
  store {v.type} %{tag}.x, ptr %{tag}.to, {how}
  %{tag}.to1 = getelementptr {v.scalar}, ptr %{tag}.to, i64 %column
  %{tag}.c1 = add i64 %{tag}.c, 1
  %{tag}.more = icmp ult i64 %{tag}.c1, %size
  br i1 %{tag}.more, label %{tag}.column, label %done"""


def _squares(tag: str, v: Vectors, how: str) -> str:
    """W columns of W rows at a time, turned so that each row's numbers lie next to each other."""
    loads = [
        line
        for k in range(v.width)
        for line in (
            f"  %{tag}.e{k} = getelementptr i32, ptr %{tag}.entries, i64 {k}",
            f"  %{tag}.i{k} = load i32, ptr %{tag}.e{k}",
            f"  %{tag}.t{k} = getelementptr {v.type}, ptr %results, i32 %{tag}.i{k}",
            f"  %{tag}.x{k} = load {v.type}, ptr %{tag}.t{k}, align {v.bytes * v.width}",
        )
    ]
    turned, rows = _transposed(v, [f"%{tag}.x{k}" for k in range(v.width)])
    stores = [
        line
        for k, x in enumerate(rows)
        for line in (
            f"  %{tag}.a{k} = getelementptr {v.scalar}, ptr %{tag}.corner, i64 %d{k}",
            f"  store {v.type} {x}, ptr %{tag}.a{k}, {how}",
        )
    ]
    body = "\n".join([*loads, *turned, *stores])
    return f"""{tag}.square:
  %{tag}.s = phi i64 [ 0, %square ], [ %{tag}.s.next, %{tag}.square ]
  %{tag}.corner = getelementptr {v.scalar}, ptr %to, i64 %{tag}.s
  %{tag}.entries = getelementptr i32, ptr %entries, i64 %{tag}.s
{body}"""


def _whole_squares(v: Vectors) -> str:
    """To %square where there are whole ones, else to %single: none where rows are missing, or a row's numbers lie apart
    or are too few. The last square, at %final, ends where the row does: some columns may be in two."""
    return f"""  %close = icmp eq i64 %column, 1
  %all = icmp eq i64 %left, {v.width}
  %squares = and i1 %close, %all
  %enough = icmp uge i64 %size, {v.width}
  %final = sub i64 %size, {v.width}
  %has = and i1 %squares, %enough
  br i1 %has, label %square, label %single"""


def _transposed(v: Vectors, rows: list[str]) -> tuple[list[str], list[str]]:
    """Code that transposes a square of W vectors, and the names of its results.

    Eklundh's way: for d = 1, 2, 4 … vectors d apart exchange the lanes in which the bit d differs.
    """
    lines, d = [], 1
    while d < v.width:
        turned = list(rows)
        low = [lane if not lane & d else v.width + lane - d for lane in range(v.width)]
        high = [lane + d if not lane & d else v.width + lane for lane in range(v.width)]
        for k in range(v.width):
            if not k & d:
                for place, mask in ((k, low), (k + d, high)):
                    turned[place] = f"{rows[place]}.{d}"
                    lanes = ", ".join(f"i32 {m}" for m in mask)
                    lines.append(
                        f"  {turned[place]} = shufflevector {v.type} {rows[k]}, {v.type} {rows[k + d]}, "
                        f"<{v.width} x i32> <{lanes}>"
                    )
        rows, d = turned, 2 * d
    return lines, rows
