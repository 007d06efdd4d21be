"""One row, called from Python: a function of machine code, as quick as one of an extension module.

Looking at arguments in Python, copying them with NumPy and calling through ctypes costs more than the dynamics of an
arm. `quick_call` makes a built-in function instead. It takes arrays by Python's buffer protocol, copies those that are
contiguous vectors of the right length and type into the memory of one row, runs the kernel, and returns what `make`
returns. Where an argument is anything else it returns None, and so it does where the `check` that a program computes
along with its results is not below `CHECKED`: the caller then takes the careful way.

One row of memory serves all threads. The machine code holds Python's lock, but making the result may let go of it,
and so may an exporter of a buffer; whoever comes in between finds the row busy, is given None, and takes the other way.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.backends.cache import cached
from qdot.backends.llvm import Kernel, digest, host, object_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHECKED = 1e12
"""The sum of magnitudes of inputs and results that makes a row suspect."""

METH_FASTCALL = 0x80
SHARED_SYMBOLS = ("PyLong_AsVoidPtr", "PyObject_GetBuffer", "PyBuffer_Release", "PyErr_Clear", "Py_IncRef")
SYMBOLS = (*SHARED_SYMBOLS, "PyObject_CallNoArgs")
SHARED = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)

; Entry k of an array of i64.
define i64 @field(ptr %array, i64 %k) {
  %at = getelementptr i64, ptr %array, i64 %k
  %x = load i64, ptr %at
  ret i64 %x
}
"""

# A context is an array of i64: how many vectors, kernel, ports, tiles, check (or 0), make, None, the letter of the
# type, whether it is busy; then for each vector its memory and its length in bytes.
# Py_buffer's fields lie at these bytes in Python ≥ 3.11:
# buf 0, len 16, ndim 36, format 40; 12 asks for contiguous memory (PyBUF_ND) and the type (PyBUF_FORMAT).
TEXT = f"""
{SHARED}
declare ptr @PyObject_CallNoArgs(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @kernel(ptr %self, ptr %arguments, i64 %count) nounwind {{
entry:
  %view = alloca [80 x i8], align 16
  %context = call ptr @PyLong_AsVoidPtr(ptr %self)
  %wanted = call i64 @field(ptr %context, i64 0)
  %letter = call i64 @field(ptr %context, i64 7)
  %same = icmp eq i64 %count, %wanted
  br i1 %same, label %ask, label %no
ask:
  %busy = call i64 @field(ptr %context, i64 8)
  %is.free = icmp eq i64 %busy, 0
  br i1 %is.free, label %take, label %no
take:
  %at.busy = getelementptr i64, ptr %context, i64 8
  store i64 1, ptr %at.busy
  br label %next
next:
  %k = phi i64 [ 0, %take ], [ %k1, %copied ]
  %more = icmp ult i64 %k, %wanted
  br i1 %more, label %vector, label %run
vector:
  %at = getelementptr ptr, ptr %arguments, i64 %k
  %given = load ptr, ptr %at
  %failed = call i32 @PyObject_GetBuffer(ptr %given, ptr %view, i32 12)
  %got = icmp eq i32 %failed, 0
  br i1 %got, label %look, label %clear
clear:
  call void @PyErr_Clear()
  br label %give.up
look:
  %at.length = getelementptr i8, ptr %view, i64 16
  %at.ndim = getelementptr i8, ptr %view, i64 36
  %at.format = getelementptr i8, ptr %view, i64 40
  %length = load i64, ptr %at.length
  %ndim = load i32, ptr %at.ndim
  %format = load ptr, ptr %at.format
  %kind = load i8, ptr %format
  %at.second = getelementptr i8, ptr %format, i64 1
  %second = load i8, ptr %at.second
  %k2 = mul i64 %k, 2
  %place.k = add i64 %k2, 9
  %length.k = add i64 %k2, 10
  %place = call i64 @field(ptr %context, i64 %place.k)
  %expected = call i64 @field(ptr %context, i64 %length.k)
  %kind.long = zext i8 %kind to i64
  %is.kind = icmp eq i64 %kind.long, %letter
  %is.all = icmp eq i8 %second, 0
  %is.vector = icmp eq i32 %ndim, 1
  %is.long = icmp eq i64 %length, %expected
  %a = and i1 %is.kind, %is.all
  %b = and i1 %is.vector, %is.long
  %fits = and i1 %a, %b
  br i1 %fits, label %copy, label %release
release:
  call void @PyBuffer_Release(ptr %view)
  br label %give.up
copy:
  %from = load ptr, ptr %view
  %to = inttoptr i64 %place to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %length, i1 false)
  call void @PyBuffer_Release(ptr %view)
  br label %copied
copied:
  %k1 = add i64 %k, 1
  br label %next
run:
  %kernel.i = call i64 @field(ptr %context, i64 1)
  %ports.i = call i64 @field(ptr %context, i64 2)
  %tiles.i = call i64 @field(ptr %context, i64 3)
  %check.i = call i64 @field(ptr %context, i64 4)
  %make.i = call i64 @field(ptr %context, i64 5)
  %kernel = inttoptr i64 %kernel.i to ptr
  %ports = inttoptr i64 %ports.i to ptr
  %tiles = inttoptr i64 %tiles.i to ptr
  %make = inttoptr i64 %make.i to ptr
  call void %kernel(ptr %ports, ptr %tiles, i64 0, i64 1)
  %checks = icmp ne i64 %check.i, 0
  br i1 %checks, label %check, label %yes
check:
  %check.at = inttoptr i64 %check.i to ptr
  %is.double = icmp eq i64 %letter, {ord("d")}
  br i1 %is.double, label %check.double, label %check.float
check.double:
  %x = load double, ptr %check.at
  br label %compare
check.float:
  %f = load float, ptr %check.at
  %fx = fpext float %f to double
  br label %compare
compare:
  %sum = phi double [ %x, %check.double ], [ %fx, %check.float ]
  %sound = fcmp olt double %sum, {CHECKED:e}
  br i1 %sound, label %yes, label %give.up
yes:
  %made = call ptr @PyObject_CallNoArgs(ptr %make)
  store i64 0, ptr %at.busy
  ret ptr %made
give.up:
  store i64 0, ptr %at.busy
  br label %no
no:
  %none.i = call i64 @field(ptr %context, i64 6)
  %none = inttoptr i64 %none.i to ptr
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}}
"""


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Context(int):
    """The address of a context. The built-in function holds it, and it holds all that the machine code refers to."""

    kept: tuple[Any, ...]


def builtin(name: str, text: str, symbols: Sequence[str], context: Sequence[int], *kept: Any) -> Callable[..., Any]:
    """A built-in function of a text with the function "kernel"(self, arguments, count); self is the context's address.

    `kept` is what the context refers to.
    """
    described = np.array(context, dtype=np.int64)
    address = _Context(described.ctypes.data)
    address.kept = (described, *kept)
    made: Callable[..., Any] = _new_function()(ctypes.byref(_method(name, text, tuple(symbols))), address, None)
    return made


def quick_call(
    kernel: Kernel,
    ports: NDArray[np.int64],
    tiles: NDArray[Any],
    vectors: Sequence[NDArray[Any]],
    check: NDArray[Any] | None,
    make: Callable[[], Any],
) -> Callable[..., Any]:
    """A built-in function of vectors; see above. `vectors` are the memory of the row's inputs, `check` that of its
    check."""
    places = [n for x in vectors for n in (x.ctypes.data, x.nbytes)]
    checked = 0 if check is None else check.ctypes.data
    letter = ord(vectors[0].dtype.char) if vectors else ord("d")
    memory = [ports.ctypes.data, tiles.ctypes.data, checked]
    fields = [len(vectors), kernel.address, *memory, id(make), id(None), letter, 0]
    kept = (kernel, ports, tiles, vectors, check, make)
    return builtin("quick_call", TEXT, SYMBOLS, [*fields, *places], *kept)


def available() -> bool:
    """Whether this Python has the lock, the layout and the size of pointers that the machine code relies on."""
    locked: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and sys.version_info >= (3, 11) and sys.maxsize > 2**32 and locked()


@cache
def _new_function() -> Callable[..., Any]:
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))


_definitions: list[tuple[_MethodDef, Kernel]] = []  # Python refers to them as long as a function lives: for good


@cache
def _method(name: str, text: str, symbols: tuple[str, ...]) -> _MethodDef:
    h = host()
    key = f"{name}-{digest((text, h.triple, h.cpu, h.features, sys.version_info[:2]))}"
    functions = {symbol: ctypes.cast(getattr(ctypes.pythonapi, symbol), ctypes.c_void_p) for symbol in symbols}
    addresses = {symbol: function.value or 0 for symbol, function in functions.items()}
    code = Kernel(cached(key, lambda: object_of(text)), addresses)
    method = _MethodDef(name.encode(), code.address, METH_FASTCALL, None)
    _definitions.append((method, code))
    return method
