"""Calling compiled kernels with arrays: shapes, strides, batches, threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.backends.llvm import Kernel
from qdot.backends.llvm_tile import Tile
from qdot.backends.memory import aligned, allocate, fields_of, steps_of
from qdot.backends.python_batch import batch_call
from qdot.backends.python_call import available, quick_call
from qdot.backends.rollout import BLOCK, Rollout, roll
from qdot.compiler.program import EFFORT, Port, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Processors that this process may use."""

WORTH_A_THREAD = 4_000_000
"""Operations, a tenth of a millisecond: less is done before another thread has started."""

STREAMED = 2**23
"""Bytes of results beyond which writing past the caches is quicker, and leaves them to others."""

PATIENCE = 4_000_000_000
"""Operations, a tenth of a second: so long an interrupt may wait for a rollout to look up."""


@dataclass(frozen=True)
class Interface:
    """What calling a kernel needs to know of its program."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operations: int
    room: int
    """Vectors of memory that a kernel needs."""

    @staticmethod
    def of(program: Program) -> Interface:
        room = Tile.of(program).room(sum(p.size for p in program.inputs))
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
            if steps_of(target) is None:
                copies.append((target, np.empty(target.shape, self.dtype)))
                target = copies[-1][1]
            written.append(target)
        past = sum(x.nbytes for x in written) > STREAMED  # more than the cache holds
        ports = np.array([*(fields_of(x) for x in flat), *(fields_of(x, past) for x in written)], dtype=np.int64)
        self._run(partial(self._part, ports), batch, threads)
        for target, made in copies:
            target[...] = made
        return results

    def rollout(self, run: Rollout, threads: int | None) -> None:
        """Many steps of a batch, see `backends.rollout`."""
        if not run.steps or not run.batch:
            return
        records = {name: x if _is_told(x) else np.array(x, order="C") for name, x in run.records.items()}
        given = {name: x if _is_told(x) else np.ascontiguousarray(x) for name, x in run.given.items()}
        told = replace(run, records=records, given=given)
        arrays = [told.read(p.name) for p in self.interface.inputs]
        for p in self.interface.outputs:
            dropped = p.name not in records
            arrays.append(allocate(p, run.batch, self.dtype)[None] if dropped else told.written(p.name))
        ports = np.array([fields_of(x[0]) for x in arrays], dtype=np.int64)
        shifts = np.array([x.strides[0] if len(x) > 1 else 0 for x in arrays], dtype=np.int64)
        work = max(run.batch, self._width) * self._cost
        at_once = max(1, PATIENCE // work)
        sorts = self._kernel.ordered and run.batch > self._width
        order = np.arange(run.batch, dtype=np.int64) if sorts else None
        for first in range(0, run.steps, at_once):
            steps = min(at_once, run.steps - first)
            self._run(partial(self._roll, ports, shifts, steps, order), run.batch, threads, steps)
            ports[:, 0] += steps * shifts
        for name, x in run.records.items():
            if records[name] is not x:
                x[...] = records[name]

    def _roll(
        self,
        ports: NDArray[np.int64],
        shifts: NDArray[np.int64],
        steps: int,
        order: NDArray[np.int64] | None,
        begin: int,
        end: int,
    ) -> None:
        names = [p.name for p in (*self.interface.inputs, *self.interface.outputs)]
        entry, rows, effort = self._kernel.address, None, 0
        if order is not None:
            entry, rows, effort = self._kernel.ordered, order.ctypes.data, names.index(EFFORT)
        with self._memory() as mine:
            table = ports.ctypes.data, shifts.ctypes.data, len(ports)
            roll(self.dtype)(entry, *table, mine.tiles_address, begin, end, BLOCK, steps, rows, effort)

    def _run(self, part: Callable[[int, int], None], batch: int, threads: int | None, steps: int = 1) -> None:
        """Parts of a batch, from row to row, each on a thread of its own."""
        count = self._parts(batch, threads, steps)
        if count == 1:
            part(0, batch)
            return
        vectors = -(-batch // self._width)
        bounds = [min(batch, vectors * k // count * self._width) for k in range(count + 1)]
        jobs = [_pool().submit(part, a, b) for a, b in pairwise(bounds[1:])]
        try:
            part(bounds[0], bounds[1])
        finally:  # an interrupt must not free memory that others still write to
            for job in jobs:
                job.result()

    def _parts(self, batch: int, threads: int | None, steps: int = 1) -> int:
        """On how many threads a batch is run."""
        return max(1, min(threads or CORES, steps * batch * self._cost // WORTH_A_THREAD, batch // self._width))

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
        self.ports = np.array([fields_of(x) for x in rows], dtype=np.int64)
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


def _as_rows(array: NDArray[Any], port: Port, batch: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An input as (batch, …) in the program's dtype, as a kernel can read it; a single row repeats with stride zero."""
    if array.ndim == len(port.shape):
        array = np.broadcast_to(array, (batch, *port.shape))
    if array.dtype is not dtype:
        array = array.astype(dtype, copy=False)
    steps = steps_of(array)
    odd = steps is None or steps[0] % array.itemsize or steps[1] % array.itemsize  # a field of a structured array, say
    return np.ascontiguousarray(array) if odd else array


def _is_told(array: NDArray[Any]) -> bool:
    """Whether a kernel can be told how the arrays (batch, *shape) of this one lie."""
    return steps_of(array[0]) is not None and not any(step % array.itemsize for step in array.strides)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CORES, thread_name_prefix="qdot")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads
