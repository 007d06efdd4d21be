"""Calling compiled kernels with arrays: shapes, strides, batches, threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.backends.llvm import Kernel
from qdot.backends.llvm_kernel import Tile
from qdot.compiler.program import Port, Program
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORTH_A_THREAD = 200_000
"""Operations; less is done before another thread has started."""

LINE = 64
"""Bytes of a cache line, and of the widest vector."""

STREAMED = 2**24
"""Bytes of results beyond which the caches do not hold them."""


class Loaded:
    """Machine code with the shapes of its program: takes arrays by name, returns arrays by name."""

    def __init__(self, program: Program, kernel: Kernel, dtype: str, width: int) -> None:
        self.program = program
        self.dtype = np.dtype(dtype)
        self._kernel = kernel
        self._width = width
        self._cost = max(1, program.operations())
        self._rows = threading.local()
        self._room = (sum(p.size for p in program.inputs) + Tile.of(program).size) * width

    def single(self, values: Sequence[Any]) -> list[NDArray[Any]]:
        """One row: numbers in, arrays of one row out; through memory that stays, which is the quickest way."""
        try:
            row = self._rows.row
        except AttributeError:
            row = self._rows.row = _Row(self.program, self.dtype, self._tiles())
        for k, place in enumerate(row.inputs):
            place[...] = values[k]
        self._kernel.call(row.address, row.tiles_address, 0, 1)
        return [place.copy() for place in row.outputs]

    def batch(
        self, arrays: Mapping[str, NDArray[Any]], batch: int, out: Mapping[str, NDArray[Any]], threads: int | None
    ) -> dict[str, NDArray[Any]]:
        """Rows of a batch: inputs (batch, …) or single rows (…), any strides; outputs as given, or new."""
        flat = [_as_rows(arrays[p.name], p, batch, self.dtype) for p in self.program.inputs]
        results: dict[str, NDArray[Any]] = {}
        written: list[NDArray[Any]] = []
        copies: list[tuple[NDArray[Any], NDArray[Any]]] = []
        for p in self.program.outputs:
            target = out[p.name] if p.name in out else allocate(p, batch, self.dtype)
            results[p.name] = target
            rows = _rows_view(target, p, batch)
            if rows is None:  # strides that no single column stride describes
                rows = np.empty((batch, p.size), self.dtype)
                copies.append((target, rows))
            written.append(rows)
        ports = self._described(flat, written)
        self._run(ports, batch, threads)
        for target, rows in copies:
            target[...] = rows.reshape(target.shape)
        return results

    def _run(self, ports: NDArray[np.int64], batch: int, threads: int | None) -> None:
        limit = threads or os.cpu_count() or 1
        count = max(1, min(limit, batch * self._cost // WORTH_A_THREAD, batch // self._width))
        if count == 1:
            self._part(ports, 0, batch)
            return
        vectors = -(-batch // self._width)
        bounds = [min(batch, vectors * k // count * self._width) for k in range(count + 1)]
        jobs = [_pool().submit(self._part, ports, a, b) for a, b in pairwise(bounds[1:])]
        self._part(ports, bounds[0], bounds[1])
        for job in jobs:
            job.result()

    def _part(self, ports: NDArray[np.int64], begin: int, end: int) -> None:
        tiles = self._tiles()  # by name, so that it lives until the call returns
        self._kernel.call(ports.ctypes.data, tiles.ctypes.data, begin, end)

    def _tiles(self) -> NDArray[Any]:
        """Room for one vector of rows of every port, for one thread."""
        return aligned((self._room,), self.dtype)

    def _described(self, inputs: list[NDArray[Any]], outputs: list[NDArray[Any]]) -> NDArray[np.int64]:
        """The fields of each port. More than the cache holds is written past it, where it can be."""
        past = sum(x.nbytes for x in outputs) > STREAMED
        return np.array([*(_fields(x) for x in inputs), *(_fields(x, past) for x in outputs)], dtype=np.int64)


class _Row:
    """Memory for one row of every port, and its description."""

    def __init__(self, program: Program, dtype: np.dtype[Any], tiles: NDArray[Any]) -> None:
        self.tiles = tiles
        self.tiles_address = tiles.ctypes.data
        rows = [np.zeros((1, p.size), dtype) for p in (*program.inputs, *program.outputs)]
        self.ports = np.array([_fields(x) for x in rows], dtype=np.int64)
        self.address = self.ports.ctypes.data
        shaped = [r.reshape(p.shape) for r, p in zip(rows, (*program.inputs, *program.outputs), strict=True)]
        self.inputs = shaped[: len(program.inputs)]
        self.outputs = shaped[len(program.inputs) :]


def allocate(port: Port, batch: int, dtype: np.dtype[Any], layout: str = "auto") -> NDArray[Any]:
    """An array (batch, *shape) in which the batch lies next to each other ("batch"), or each row does ("rows").

    Vectors read and write fastest in the first way; matrices are many columns, far apart, so "auto" takes the second
    for them. A column or a long row is filled up to whole cache lines, and a column a little more: columns a power of
    two apart would all fall into the same lines.
    """
    line = LINE // dtype.itemsize
    if layout == "rows" or (layout == "auto" and len(port.shape) > 1):
        length = -(-port.size // line) * line if port.size > line else port.size
        return aligned((batch, length), dtype)[:, : port.size].reshape(batch, *port.shape)
    columns = aligned((*port.shape, -(-batch // line) * line + line), dtype)
    return np.moveaxis(columns, -1, 0)[:batch]


def _as_rows(array: NDArray[Any], port: Port, batch: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An input as (batch, size) in the program's dtype; a single row repeats with stride zero."""
    if array.ndim == len(port.shape):
        array = np.broadcast_to(array, (batch, *port.shape))
    array = array.astype(dtype, copy=False)
    rows = _rows_view(array, port, batch)
    return array.reshape(batch, port.size) if rows is None else rows


def _rows_view(array: NDArray[Any], port: Port, batch: int) -> NDArray[Any] | None:
    """The array as (batch, size) without copying, or None."""
    if array.ndim == 2:
        return array
    if array.ndim == 1:
        return array[:, None]
    sizes, strides = array.shape[1:], array.strides[1:]
    for n, outer, inner in zip(sizes[1:], strides, strides[1:], strict=False):
        if outer != n * inner:
            return None
    return np.lib.stride_tricks.as_strided(array, (batch, port.size), (array.strides[0], strides[-1]))


def _fields(array: NDArray[Any], past_the_cache: bool = False) -> tuple[int, int, int, bool]:
    """(address, row stride, column stride, whether to write past the cache), strides in elements."""
    size, (row, column) = array.itemsize, array.strides
    if row % size or column % size:
        raise ValueShapeError("an array's entries lie at odd distances (a field of a structured array?); copy it first")
    address = array.__array_interface__["data"][0]
    step = column if row == size else row if column == size else 1
    streams = past_the_cache and address % LINE == 0 and step % LINE == 0
    return address, row // size, column // size, streams


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A new array that starts with a cache line, as whole vectors like it."""
    size = prod(shape) * dtype.itemsize
    room = np.empty(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype).reshape(shape)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="qdot")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads
