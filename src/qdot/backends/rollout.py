"""Running a program many times in a row, each step's outputs being the next one's inputs, with no Python in between.

    for k in 0 … steps − 1:   (state row k + 1, results row k) = program(state row k, driven row k, held)

Every port of the program is seen as one array (steps, batch, *shape). The state's two are the same memory, one row
apart; what is held has stride zero along the steps. So a rollout is one table of ports for the kernel, and a distance
for each by which its address moves on from step to step. Rows of the batch do not know of each other: each block of
rows runs all steps before the next begins, and its state stays in the cache.

A vector of rows takes as long as the slowest of them. Where a program tells how long each row took (`EFFORT`), the rows
of a block are put in that order after each step, by counting, for what took long is likely to do so again: so those
that take long share a vector.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.backends.cache import cached
from qdot.backends.llvm import Kernel, digest, host, object_of
from qdot.backends.llvm_kernel import FIELDS
from qdot.backends.memory import overlaps_itself, share_memory
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.backends.runtime import Interface

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]

BLOCK = 512
"""Rows that run all steps before the next ones begin. The more there are, the more alike are those that share a vector;
states of so many quadrupeds are some 0.6 MB, and stay in the cache."""

EFFORTS = 512
"""Efforts that are told apart: 0, 1, …; higher ones are taken for the last."""


def _text(T: str) -> str:
    """kernel(program's kernel, ports, shifts in bytes, how many ports, tiles, begin, end, rows of a block, steps, order
    of the rows or null, number of the port of efforts)."""
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)

define void @kernel(ptr %program, ptr %ports, ptr %shifts, i64 %count, ptr %tiles, i64 %begin, i64 %end, i64 %rows,
                    i64 %steps, ptr %order, i64 %effort) nounwind {{
entry:
  %fields = mul i64 %count, {len(FIELDS)}
  %bytes = mul i64 %fields, 8
  %table = alloca i64, i64 %fields, align 16
  %places = alloca [{EFFORTS + 1} x i64], align 16
  %sorted = alloca i64, i64 %rows, align 16
  %natural = icmp eq ptr %order, null
  %port.effort = mul i64 %effort, {len(FIELDS)}
  br label %block
block:
  %from = phi i64 [ %begin, %entry ], [ %to, %ran ]
  %far = add i64 %from, %rows
  %to = call i64 @llvm.umin.i64(i64 %far, i64 %end)
  call void @llvm.memcpy.p0.p0.i64(ptr %table, ptr %ports, i64 %bytes, i1 false)
  br label %step
step:
  %k = phi i64 [ 0, %block ], [ %k1, %moved ]
  call void %program(ptr %table, ptr %tiles, i64 %from, i64 %to, ptr %order)
  br i1 %natural, label %port, label %sort
sort:
  %at.efforts = getelementptr i64, ptr %table, i64 %port.effort
  %efforts = load ptr, ptr %at.efforts
  %at.apart = getelementptr i64, ptr %at.efforts, i64 1
  %apart = load i64, ptr %at.apart
  call void @llvm.memset.p0.i64(ptr %places, i8 0, i64 {8 * (EFFORTS + 1)}, i1 false)
  br label %counted
counted:
  %i = phi i64 [ %from, %sort ], [ %i1, %counted ]
  %key = call i64 @key(ptr %order, i64 %i, ptr %efforts, i64 %apart)
  %after = add i64 %key, 1
  %at.many = getelementptr i64, ptr %places, i64 %after
  %many = load i64, ptr %at.many
  %many1 = add i64 %many, 1
  store i64 %many1, ptr %at.many
  %i1 = add i64 %i, 1
  %more.i = icmp ult i64 %i1, %to
  br i1 %more.i, label %counted, label %summed
summed:
  %e = phi i64 [ 0, %counted ], [ %e1, %summed ]
  %e1 = add i64 %e, 1
  %at.below = getelementptr i64, ptr %places, i64 %e
  %at.here = getelementptr i64, ptr %places, i64 %e1
  %below = load i64, ptr %at.below
  %here = load i64, ptr %at.here
  %both = add i64 %below, %here
  store i64 %both, ptr %at.here
  %more.e = icmp ult i64 %e1, {EFFORTS}
  br i1 %more.e, label %summed, label %placed
placed:
  %j = phi i64 [ %from, %summed ], [ %j1, %placed ]
  %key.j = call i64 @key(ptr %order, i64 %j, ptr %efforts, i64 %apart)
  %at.place = getelementptr i64, ptr %places, i64 %key.j
  %place = load i64, ptr %at.place
  %place1 = add i64 %place, 1
  store i64 %place1, ptr %at.place
  %at.row = getelementptr i64, ptr %order, i64 %j
  %row = load i64, ptr %at.row
  %at.sorted = getelementptr i64, ptr %sorted, i64 %place
  store i64 %row, ptr %at.sorted
  %j1 = add i64 %j, 1
  %more.j = icmp ult i64 %j1, %to
  br i1 %more.j, label %placed, label %taken
taken:
  %length = sub i64 %to, %from
  %length.bytes = mul i64 %length, 8
  %at.from = getelementptr i64, ptr %order, i64 %from
  call void @llvm.memcpy.p0.p0.i64(ptr %at.from, ptr %sorted, i64 %length.bytes, i1 false)
  br label %port
port:
  %p = phi i64 [ 0, %step ], [ 0, %taken ], [ %p1, %port ]
  %field = mul i64 %p, {len(FIELDS)}
  %at.base = getelementptr i64, ptr %table, i64 %field
  %at.shift = getelementptr i64, ptr %shifts, i64 %p
  %base = load i64, ptr %at.base
  %shift = load i64, ptr %at.shift
  %next = add i64 %base, %shift
  store i64 %next, ptr %at.base
  %p1 = add i64 %p, 1
  %more.p = icmp ult i64 %p1, %count
  br i1 %more.p, label %port, label %moved
moved:
  %k1 = add i64 %k, 1
  %more.k = icmp ult i64 %k1, %steps
  br i1 %more.k, label %step, label %ran
ran:
  %more.b = icmp ult i64 %to, %end
  br i1 %more.b, label %block, label %done
done:
  ret void
}}

define internal i64 @key(ptr %order, i64 %i, ptr %efforts, i64 %apart) nounwind {{
  %at = getelementptr i64, ptr %order, i64 %i
  %row = load i64, ptr %at
  %offset = mul i64 %row, %apart
  %from = getelementptr {T}, ptr %efforts, i64 %offset
  %effort = load {T}, ptr %from
  %positive = fcmp ogt {T} %effort, 0.0
  %low = select i1 %positive, {T} %effort, {T} 0.0
  %less = fcmp olt {T} %low, {EFFORTS - 1}.0
  %kept = select i1 %less, {T} %low, {T} {EFFORTS - 1}.0
  %key = fptoui {T} %kept to i64
  ret i64 %key
}}
"""


@cache
def roll(dtype: np.dtype[Any]) -> Any:
    """The loop over blocks and steps, as a function that lets go of Python's lock; there must be rows and steps."""
    h, text = host(), _text("float" if dtype.itemsize == 4 else "double")
    key = f"rollout-{digest((text, h.triple, h.cpu, h.features))}"
    code = Kernel(cached(key, lambda: object_of(text)))
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    numbers = (number, pointer, number, number, number, number, pointer, number)
    kind = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, *numbers)
    function = kind(code.address)
    function.code = code  # type: ignore[attr-defined]  # lives as long
    return function


@dataclass(frozen=True)
class Rollout:
    """The arrays of a rollout by name, known to fit the program."""

    steps: int
    batch: int
    records: dict[str, NDArray[Any]]
    """Of outputs, (rows, batch, *shape): `steps` rows, one more for the state, whose row 0 is given; or one row of a
    state that goes on in its place."""
    given: dict[str, NDArray[Any]]
    """Inputs other than the state, (steps, batch, *shape); a length of 1 serves all."""

    def read(self, name: str) -> NDArray[Any]:
        """(steps, batch, *shape) of an input."""
        if name in self.records:
            record = self.records[name]
            return record[: self.steps] if len(record) > 1 else np.broadcast_to(record, (self.steps, *record.shape[1:]))
        return np.broadcast_to(self.given[name], (self.steps, self.batch, *self.given[name].shape[2:]))

    def written(self, name: str) -> NDArray[Any]:
        """(steps, batch, *shape) of an output that is recorded, or the one row in which it goes on."""
        record = self.records[name]
        return record[max(len(record) - self.steps, 0) :]


def arranged(
    interface: Interface,
    dtype: np.dtype[Any],
    steps: int,
    records: Mapping[str, NDArray[Any]],
    held: Mapping[str, Any],
    driven: Mapping[str, Any],
) -> Rollout:
    """What `Compiled.rollout` was given, looked at: names, shapes, types and memory."""
    what = f"{interface.name}.rollout"
    steps = how_many(f"{what}: steps", steps)
    inputs, outputs = ({p.name: p.shape for p in ports} for ports in (interface.inputs, interface.outputs))
    _check_names(what, inputs, outputs, (records, held, driven))
    batch = _batch(what, records, outputs)
    kept, given = {}, {}
    for name, array in records.items():
        rows = steps if name not in inputs else 1 if len(array) == 1 else steps + 1
        _check_record(f"{what}: record {name!r}", array, (rows, *batch, *outputs[name]), dtype)
        kept[name] = array if batch else array[:, None]
    for name, value in held.items():
        given[name] = _rows(f"{what}: held {name!r}", value, (), batch, inputs[name], dtype)[None]
    for name, value in driven.items():
        given[name] = _rows(f"{what}: driven {name!r}", value, (steps,), batch, inputs[name], dtype)
    for k, (name, array) in enumerate(kept.items()):
        if any(share_memory(array, x) for x in (*given.values(), *list(kept.values())[:k])):
            raise ValueShapeError(
                f"{what}: record {name!r} shares memory with another array; give it memory of its own"
            )
    return Rollout(steps, batch[0] if batch else 1, kept, given)


def how_many(what: str, value: Any) -> int:
    """A number of steps or runs."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueShapeError(f"{what} must be a whole number, 0 or more; got {value!r}")
    return int(value)


def _check_names(what: str, inputs: Shapes, outputs: Shapes, given: Sequence[Mapping[str, Any]]) -> None:
    records, held, driven = given
    for name in inputs:
        if name in outputs and inputs[name] != outputs[name]:
            raise ValueShapeError(
                f"{what}: {name!r} goes in with shape {inputs[name]} and comes out with {outputs[name]}, so it is no "
                "state; give the output another name"
            )
        if name in outputs and name not in records:
            raise ValueShapeError(f"{what}: {name!r} is a state, going in and coming out; give a record of it")
        if name not in outputs and (name in held) == (name in driven):
            how = "both held and driven; give one of them" if name in held else "missing; give it as held or as driven"
            raise ValueShapeError(f"{what}: {name!r} is {how}")
    others = [name for name in inputs if name not in outputs]
    for kind, names, known in (("record", records, outputs), ("held", held, others), ("driven", driven, others)):
        for name in names:
            if name not in known:
                raise ValueShapeError(f"{what}: {kind} {name!r} has no place; those that have are {list(known)}")
    if not records:
        raise ValueShapeError(f"{what}: without records nothing comes out; give one of {list(outputs)}")


def _batch(what: str, records: Mapping[str, NDArray[Any]], outputs: Shapes) -> tuple[int, ...]:
    """(batch,), or () where records are of one run, as the first of them says."""
    name, first = next(iter(records.items()))
    shape, axes = np.shape(first), len(outputs[name])
    if len(shape) not in (axes + 1, axes + 2):
        tail = ", ".join(map(str, outputs[name]))
        raise ValueShapeError(
            f"{what}: record {name!r} has shape {shape}, needs (rows, {tail}) or (rows, batch, {tail})"
        )
    return shape[1 : len(shape) - axes]


def _check_record(what: str, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
        raise ValueShapeError(f"{what} must be an array of {dtype} and shape {shape}, got {found}")
    if not array.flags.writeable:
        raise ValueShapeError(f"{what} is read-only; give an array that can be written to")
    if overlaps_itself(array):
        raise ValueShapeError(f"{what} has entries that share memory; give an array in which each has its own")


def _rows(
    what: str, value: Any, rows: tuple[int, ...], batch: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """An input as (*rows, batch or 1, *shape)."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":
        raise ValueShapeError(f"{what} must be an array of real numbers, got {value!r}")
    alike, each = (*rows, *shape), (*rows, *batch, *shape)
    if array.shape not in (alike, each):
        raise ValueShapeError(f"{what} has shape {array.shape}, needs {alike}" + (f" or {each}" if batch else ""))
    array = array.astype(dtype, copy=False)
    return array if batch and array.ndim == len(each) else np.expand_dims(array, len(rows))
