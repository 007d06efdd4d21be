"""A batch, called from Python with little ado: a built-in function that describes arrays to a kernel and runs it.

Asking NumPy for the address of an array takes a microsecond, and there are some to ask; so a batch of a few rows paid
more for its call than for its dynamics. `batch_call` makes a function of (room for tiles, inputs, outputs) that looks
at arrays by Python's buffer protocol. All of them are (rows, columns) of the program's type, in any strides; no output
shares memory with another array. It runs all rows, Python's lock released, and returns True; where something is
otherwise it does nothing and returns None, and the caller takes the careful way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qdot.backends.llvm import Kernel
from qdot.backends.llvm_kernel import FIELDS
from qdot.backends.python_call import SHARED, SHARED_SYMBOLS, builtin

SYMBOLS = (*SHARED_SYMBOLS, "PyEval_SaveThread", "PyEval_RestoreThread")

# A context is an array of i64: inputs, outputs, kernel, the letter of the type, its bytes, the bytes of results beyond
# which they go past the cache, None, True; then the columns of each port. Py_buffer's fields lie at these bytes: buf 0,
# ndim 36, format 40, shape 48, strides 56, and it is 80 long; 28 asks for strides and type, 1 more for leave to write.
TEXT = f"""
{SHARED}
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; Whether a buffer is (rows, columns) of the type; if so, where it lies is written to %port and %range.
define i1 @fits(ptr %view, i64 %rows, i64 %columns, i64 %letter, i64 %bytes, ptr %port, ptr %range) {{
entry:
  %at.ndim = getelementptr i8, ptr %view, i64 36
  %ndim = load i32, ptr %at.ndim
  %is.matrix = icmp eq i32 %ndim, 2
  br i1 %is.matrix, label %look, label %no
look:
  %at.format = getelementptr i8, ptr %view, i64 40
  %at.shape = getelementptr i8, ptr %view, i64 48
  %at.strides = getelementptr i8, ptr %view, i64 56
  %format = load ptr, ptr %at.format
  %shape = load ptr, ptr %at.shape
  %strides = load ptr, ptr %at.strides
  %kind = load i8, ptr %format
  %kind.long = zext i8 %kind to i64
  %at.second = getelementptr i8, ptr %format, i64 1
  %second = load i8, ptr %at.second
  %n = call i64 @field(ptr %shape, i64 0)
  %m = call i64 @field(ptr %shape, i64 1)
  %row = call i64 @field(ptr %strides, i64 0)
  %column = call i64 @field(ptr %strides, i64 1)
  %row.rest = srem i64 %row, %bytes
  %column.rest = srem i64 %column, %bytes
  %rest = or i64 %row.rest, %column.rest
  %is.kind = icmp eq i64 %kind.long, %letter
  %is.all = icmp eq i8 %second, 0
  %is.rows = icmp eq i64 %n, %rows
  %is.columns = icmp eq i64 %m, %columns
  %is.even = icmp eq i64 %rest, 0
  %a = and i1 %is.kind, %is.all
  %b = and i1 %is.rows, %is.columns
  %c = and i1 %a, %b
  %d = and i1 %c, %is.even
  br i1 %d, label %yes, label %no
yes:
  %buffer = load i64, ptr %view
  %row.step = sdiv i64 %row, %bytes
  %column.step = sdiv i64 %column, %bytes
  store i64 %buffer, ptr %port
  %port.row = getelementptr i64, ptr %port, i64 1
  store i64 %row.step, ptr %port.row
  %port.column = getelementptr i64, ptr %port, i64 2
  store i64 %column.step, ptr %port.column
  %port.stream = getelementptr i64, ptr %port, i64 3
  store i64 0, ptr %port.stream
  %n.less = sub i64 %n, 1
  %m.less = sub i64 %m, 1
  %n.far = mul i64 %n.less, %row
  %m.far = mul i64 %m.less, %column
  %n.low = call i64 @llvm.smin.i64(i64 %n.far, i64 0)
  %m.low = call i64 @llvm.smin.i64(i64 %m.far, i64 0)
  %n.high = call i64 @llvm.smax.i64(i64 %n.far, i64 0)
  %m.high = call i64 @llvm.smax.i64(i64 %m.far, i64 0)
  %low.0 = add i64 %buffer, %n.low
  %low = add i64 %low.0, %m.low
  %high.0 = add i64 %buffer, %n.high
  %high.1 = add i64 %high.0, %m.high
  %high = add i64 %high.1, %bytes
  store i64 %low, ptr %range
  %range.high = getelementptr i64, ptr %range, i64 1
  store i64 %high, ptr %range.high
  ret i1 true
no:
  ret i1 false
}}

; Whether the last of k + 1 ranges meets none of the others.
define i1 @apart(ptr %ranges, i64 %k) {{
entry:
  %k2 = mul i64 %k, 2
  %k3 = add i64 %k2, 1
  %low = call i64 @field(ptr %ranges, i64 %k2)
  %high = call i64 @field(ptr %ranges, i64 %k3)
  br label %next
next:
  %j = phi i64 [ 0, %entry ], [ %j1, %other ]
  %more = icmp ult i64 %j, %k
  br i1 %more, label %other, label %yes
other:
  %j2 = mul i64 %j, 2
  %j3 = add i64 %j2, 1
  %its.low = call i64 @field(ptr %ranges, i64 %j2)
  %its.high = call i64 @field(ptr %ranges, i64 %j3)
  %j1 = add i64 %j, 1
  %below = icmp ule i64 %high, %its.low
  %above = icmp uge i64 %low, %its.high
  %is.apart = or i1 %below, %above
  br i1 %is.apart, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; Results go past the cache where rows or columns lie next to each other and whole lines apart.
define i64 @streams(ptr %port, i64 %bytes) {{
  %address = call i64 @field(ptr %port, i64 0)
  %row = call i64 @field(ptr %port, i64 1)
  %column = call i64 @field(ptr %port, i64 2)
  %by.batch = icmp eq i64 %row, 1
  %by.rows = icmp eq i64 %column, 1
  %apart.rows = select i1 %by.rows, i64 %row, i64 1
  %apart = select i1 %by.batch, i64 %column, i64 %apart.rows
  %distance = mul i64 %apart, %bytes
  %together = or i64 %address, %distance
  %rest = and i64 %together, 63
  %whole = icmp eq i64 %rest, 0
  %flag = zext i1 %whole to i64
  ret i64 %flag
}}

; Releases so many buffers.
define void @let_go(ptr %views, i64 %count) {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %one ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %one, label %done
one:
  %offset = mul i64 %k, 80
  %view = getelementptr i8, ptr %views, i64 %offset
  call void @PyBuffer_Release(ptr %view)
  %k1 = add i64 %k, 1
  br label %next
done:
  ret void
}}

define ptr @kernel(ptr %self, ptr %arguments, i64 %count) nounwind {{
entry:
  %context = call ptr @PyLong_AsVoidPtr(ptr %self)
  %inputs = call i64 @field(ptr %context, i64 0)
  %outputs = call i64 @field(ptr %context, i64 1)
  %letter = call i64 @field(ptr %context, i64 3)
  %bytes = call i64 @field(ptr %context, i64 4)
  %none.i = call i64 @field(ptr %context, i64 6)
  %ports = add i64 %inputs, %outputs
  %wanted = add i64 %ports, 1
  %same = icmp eq i64 %count, %wanted
  br i1 %same, label %begin, label %refuse
begin:
  %views.size = mul i64 %ports, 80
  %table.size = mul i64 %ports, {len(FIELDS)}
  %ranges.size = mul i64 %ports, 2
  %views = alloca i8, i64 %views.size, align 16
  %table = alloca i64, i64 %table.size, align 16
  %ranges = alloca i64, i64 %ranges.size, align 16
  %tiles.object = load ptr, ptr %arguments
  %tiles = call ptr @PyLong_AsVoidPtr(ptr %tiles.object)
  br label %next
next:
  %k = phi i64 [ 0, %begin ], [ %k1, %good ]
  %rows = phi i64 [ -1, %begin ], [ %rows.known, %good ]
  %written = phi i64 [ 0, %begin ], [ %written.now, %good ]
  %more = icmp ult i64 %k, %ports
  br i1 %more, label %array, label %streamed
array:
  %k.argument = add i64 %k, 1
  %at = getelementptr ptr, ptr %arguments, i64 %k.argument
  %given = load ptr, ptr %at
  %view.offset = mul i64 %k, 80
  %view = getelementptr i8, ptr %views, i64 %view.offset
  %is.output = icmp uge i64 %k, %inputs
  %flags = select i1 %is.output, i32 29, i32 28
  %failed = call i32 @PyObject_GetBuffer(ptr %given, ptr %view, i32 %flags)
  %got = icmp eq i32 %failed, 0
  br i1 %got, label %look, label %clear
clear:
  call void @PyErr_Clear()
  br label %release
look:
  %k1 = add i64 %k, 1
  %k.columns = add i64 %k, 8
  %columns = call i64 @field(ptr %context, i64 %k.columns)
  %at.shape = getelementptr i8, ptr %view, i64 48
  %at.ndim = getelementptr i8, ptr %view, i64 36
  %ndim = load i32, ptr %at.ndim
  %has.rows = icmp sgt i32 %ndim, 0
  br i1 %has.rows, label %measure, label %release
measure:
  %shape = load ptr, ptr %at.shape
  %its.rows = call i64 @field(ptr %shape, i64 0)
  %first = icmp eq i64 %k, 0
  %rows.known = select i1 %first, i64 %its.rows, i64 %rows
  %port.offset = mul i64 %k, {len(FIELDS)}
  %port = getelementptr i64, ptr %table, i64 %port.offset
  %range.offset = mul i64 %k, 2
  %range = getelementptr i64, ptr %ranges, i64 %range.offset
  %fits = call i1 @fits(ptr %view, i64 %rows.known, i64 %columns, i64 %letter, i64 %bytes, ptr %port, ptr %range)
  %some = icmp sgt i64 %rows.known, 0
  %fine = and i1 %fits, %some
  br i1 %fine, label %meet, label %release
meet:
  %size = mul i64 %rows.known, %columns
  %added = select i1 %is.output, i64 %size, i64 0
  %written.now = add i64 %written, %added
  br i1 %is.output, label %alone, label %good
alone:
  %is.apart = call i1 @apart(ptr %ranges, i64 %k)
  br i1 %is.apart, label %good, label %release
good:
  br label %next
release:
  %held = phi i64 [ %k, %clear ], [ %k1, %look ], [ %k1, %measure ], [ %k1, %alone ]
  call void @let_go(ptr %views, i64 %held)
  br label %refuse
streamed:
  %limit = call i64 @field(ptr %context, i64 5)
  %total = mul i64 %written, %bytes
  %large = icmp ugt i64 %total, %limit
  br i1 %large, label %mark, label %run
mark:
  %o = phi i64 [ %inputs, %streamed ], [ %o1, %marked ]
  %more.o = icmp ult i64 %o, %ports
  br i1 %more.o, label %marked, label %run
marked:
  %o.offset = mul i64 %o, {len(FIELDS)}
  %o.port = getelementptr i64, ptr %table, i64 %o.offset
  %flag = call i64 @streams(ptr %o.port, i64 %bytes)
  %o.stream = getelementptr i64, ptr %o.port, i64 3
  store i64 %flag, ptr %o.stream
  %o1 = add i64 %o, 1
  br label %mark
run:
  %kernel.i = call i64 @field(ptr %context, i64 2)
  %kernel = inttoptr i64 %kernel.i to ptr
  %thread = call ptr @PyEval_SaveThread()
  call void %kernel(ptr %table, ptr %tiles, i64 0, i64 %rows)
  call void @PyEval_RestoreThread(ptr %thread)
  call void @let_go(ptr %views, i64 %ports)
  %true.i = call i64 @field(ptr %context, i64 7)
  br label %answered
refuse:
  br label %answered
answered:
  %answer.i = phi i64 [ %true.i, %run ], [ %none.i, %refuse ]
  %answer = inttoptr i64 %answer.i to ptr
  call void @Py_IncRef(ptr %answer)
  ret ptr %answer
}}
"""


def batch_call(
    kernel: Kernel, dtype: np.dtype[Any], inputs: Sequence[int], outputs: Sequence[int], streamed: int
) -> Callable[..., Any]:
    """A built-in function of (address of room for tiles, *inputs, *outputs), which have so many columns each."""
    fields = [len(inputs), len(outputs), kernel.address, ord(dtype.char), dtype.itemsize, streamed, id(None), id(True)]
    return builtin("batch_call", TEXT, SYMBOLS, [*fields, *inputs, *outputs], kernel)
