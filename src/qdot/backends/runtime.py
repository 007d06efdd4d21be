"""Calling compiled kernels with arrays: shapes, strides, batches, threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.backends.llvm import Kernel
from qdot.backends.llvm_kernel import Tile
from qdot.backends.python_batch import batch_call
from qdot.backends.python_call import available, quick_call
from qdot.compiler.program import Port, Program
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Processors that this process may use."""

WORTH_A_THREAD = 4_000_000
"""Operations, a tenth of a millisecond: less is done before another thread has started."""

LINE = 64
"""Bytes of a cache line, and of the widest vector."""

STREAMED = 2**23
"""Bytes of results beyond which writing past the caches is quicker, and leaves them to others."""

FEW = 128
"""Columns that can be written to side by side."""


@dataclass(frozen=True)
class Interface:
    """What calling a kernel needs to know of its program."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operations: int
    room: int
    """Vectors that inputs and results of one vector of rows take."""

    @staticmethod
    def of(program: Program) -> Interface:
        room = sum(p.size for p in program.inputs) + Tile.of(program).size
        return Interface(program.name, program.inputs, program.outputs, program.operations(), room)


class Loaded:
    """Machine code with the shapes of its program: takes arrays by name, returns arrays by name."""

    def __init__(self, interface: Interface, kernel: Kernel, dtype: str, width: int) -> None:
        self.interface = interface
        self.dtype = np.dtype(dtype)
        self._kernel = kernel
        self._width = width
        self._cost = max(1, interface.operations)
        self._unused: list[_Memory] = []

    def single(self, values: Sequence[Any]) -> list[NDArray[Any]]:
        """One row: numbers in, arrays of one row out; through memory that stays."""
        with self._memory() as mine:
            for k, place in enumerate(mine.row.inputs):
                place[...] = values[k]
            self._kernel.call(mine.row.address, mine.tiles_address, 0, 1)
            return [place.copy() for place in mine.row.outputs]

    def quick(
        self, make: Callable[[list[NDArray[Any]]], Callable[[], Any]], check: int | None
    ) -> Callable[..., Any] | None:
        """A built-in function of vectors that runs one row, or None where there can be none.

        `make` is given the memory of the outputs and gives what returns a result; `check` is the number of an output
        that must be small, see `python_call`.
        """
        if not available() or any(len(p.shape) != 1 for p in self.interface.inputs):
            return None
        row, tiles = _Row(self.interface, self.dtype), self._tiles()
        checked = None if check is None else row.outputs[check]
        return quick_call(self._kernel, row.ports, tiles, row.inputs, checked, make(row.outputs))

    def runs_at_once(self, rows: int, threads: int | None) -> bool:
        """Whether a batch of so many rows is vectors only, and worth one thread: then `at_once` may run it."""
        return self._batch_call is not None and self._parts(rows, threads) == 1

    def at_once(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
        """Run a batch into arrays that are there; false where they are not as `python_batch` wants them."""
        assert self._batch_call is not None
        with self._memory() as mine:
            return self._batch_call(mine.tiles_address, *inputs, *outputs) is not None

    @cached_property
    def _batch_call(self) -> Callable[..., Any] | None:
        ports = (*self.interface.inputs, *self.interface.outputs)
        if not available() or not self.interface.inputs or any(len(p.shape) != 1 for p in ports):
            return None
        inputs, outputs = ([p.size for p in side] for side in (self.interface.inputs, self.interface.outputs))
        return batch_call(self._kernel, self.dtype, inputs, outputs, STREAMED)

    def batch(
        self,
        arrays: Mapping[str, NDArray[Any]],
        batch: int,
        out: Mapping[str, NDArray[Any]],
        threads: int | None,
        layout: str = "auto",
    ) -> dict[str, NDArray[Any]]:
        """Rows of a batch: inputs (batch, …) or single rows (…), any strides; outputs as given, or new."""
        flat = [_as_rows(arrays[p.name], p, batch, self.dtype) for p in self.interface.inputs]
        results: dict[str, NDArray[Any]] = {}
        written: list[NDArray[Any]] = []
        copies: list[tuple[NDArray[Any], NDArray[Any]]] = []
        for p in self.interface.outputs:
            target = out[p.name] if p.name in out else allocate(p, batch, self.dtype, layout)
            results[p.name] = target
            if _steps(target) is None:
                copies.append((target, np.empty(target.shape, self.dtype)))
                target = copies[-1][1]
            written.append(target)
        past = sum(x.nbytes for x in written) > STREAMED  # more than the cache holds
        ports = np.array([*(_fields(x) for x in flat), *(_fields(x, past) for x in written)], dtype=np.int64)
        self._run(ports, batch, threads)
        for target, made in copies:
            target[...] = made
        return results

    def _run(self, ports: NDArray[np.int64], batch: int, threads: int | None) -> None:
        count = self._parts(batch, threads)
        if count == 1:
            self._part(ports, 0, batch)
            return
        vectors = -(-batch // self._width)
        bounds = [min(batch, vectors * k // count * self._width) for k in range(count + 1)]
        jobs = [_pool().submit(self._part, ports, a, b) for a, b in pairwise(bounds[1:])]
        self._part(ports, bounds[0], bounds[1])
        for job in jobs:
            job.result()

    def _parts(self, batch: int, threads: int | None) -> int:
        """On how many threads a batch is run."""
        return max(1, min(threads or CORES, batch * self._cost // WORTH_A_THREAD, batch // self._width))

    def _part(self, ports: NDArray[np.int64], begin: int, end: int) -> None:
        with self._memory() as mine:
            self._kernel.call(ports.ctypes.data, mine.tiles_address, begin, end)

    @contextmanager
    def _memory(self) -> Iterator[_Memory]:
        """Memory to run the kernel with, for whoever asks: another thread, or a signal's handler in between, has its
        own."""
        try:
            mine = self._unused.pop()
        except IndexError:
            mine = _Memory(_Row(self.interface, self.dtype), self._tiles())
        try:
            yield mine
        finally:
            self._unused.append(mine)

    def _tiles(self) -> NDArray[Any]:
        """Room for one vector of rows of every port, for one thread."""
        return aligned((self.interface.room * self._width,), self.dtype)


class _Row:
    """Memory for one row of every port, and its description."""

    def __init__(self, interface: Interface, dtype: np.dtype[Any]) -> None:
        ports = (*interface.inputs, *interface.outputs)
        rows = [np.zeros((1, p.size), dtype) for p in ports]
        self.ports = np.array([_fields(x) for x in rows], dtype=np.int64)
        self.address = self.ports.ctypes.data
        shaped = [r.reshape(p.shape) for r, p in zip(rows, ports, strict=True)]
        self.inputs = shaped[: len(interface.inputs)]
        self.outputs = shaped[len(interface.inputs) :]


class _Memory:
    """What running a kernel needs."""

    def __init__(self, row: _Row, tiles: NDArray[Any]) -> None:
        self.row = row
        self.tiles = tiles
        self.tiles_address = tiles.ctypes.data


def allocate(port: Port, batch: int, dtype: np.dtype[Any], layout: str = "auto") -> NDArray[Any]:
    """An array (batch, *shape) in which the batch lies next to each other ("batch"), or row after row ("rows").

    Short vectors read and write fastest in the first way; matrices are many columns, far apart, so "auto" takes the
    second for them, with long rows filled up to whole cache lines. A column is filled up a little more: columns a
    power of two apart would all fall into the same lines.
    """
    line = LINE // dtype.itemsize
    if layout == "rows":
        return aligned((batch, *port.shape), dtype)
    if layout == "auto" and (len(port.shape) > 1 or port.size > FEW):
        length = -(-port.size // line) * line if port.size > line else port.size
        return aligned((batch, length), dtype)[:, : port.size].reshape(batch, *port.shape)
    columns = aligned((*port.shape, -(-batch // line) * line + line), dtype)
    axes = len(port.shape)
    return columns.transpose(axes, *range(axes))[:batch]


def _as_rows(array: NDArray[Any], port: Port, batch: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An input as (batch, …) in the program's dtype, as a kernel can read it; a single row repeats with stride zero."""
    if array.ndim == len(port.shape):
        array = np.broadcast_to(array, (batch, *port.shape))
    if array.dtype is not dtype:
        array = array.astype(dtype, copy=False)
    steps = _steps(array)
    odd = steps is None or steps[0] % array.itemsize or steps[1] % array.itemsize  # a field of a structured array, say
    return np.ascontiguousarray(array) if odd else array


def _steps(array: NDArray[Any]) -> tuple[int, int] | None:
    """Bytes from row to row and from column to column, or None where no one number tells the latter."""
    strides = array.strides
    if array.ndim == 2:
        return strides[0], strides[1]
    if array.ndim == 1:
        return strides[0], array.itemsize
    for n, outer, inner in zip(array.shape[2:], strides[1:], strides[2:], strict=False):
        if outer != n * inner:
            return None
    return strides[0], strides[-1]


def _fields(array: NDArray[Any], past_the_cache: bool = False) -> tuple[int, int, int, bool]:
    """(address, row step, column step, whether to write past the cache), steps in elements."""
    steps, size = _steps(array), array.itemsize
    assert steps is not None
    row, column = steps
    if row % size or column % size:
        raise ValueShapeError("an array's entries lie at odd distances (a field of a structured array?); copy it first")
    address = array.ctypes.data
    apart = column if row == size else row if column == size else 1
    streams = past_the_cache and address % LINE == 0 and apart % LINE == 0
    return address, row // size, column // size, streams


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A new array that starts with a cache line, as whole vectors like it."""
    size = prod(shape) * dtype.itemsize
    room = np.empty(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype).reshape(shape)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CORES, thread_name_prefix="qdot")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads
