"""How arrays lie in memory: told to kernels, chosen so that vectors read and write them fast, and kept apart."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.compiler.program import Port
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE = 64
"""Bytes of a cache line, and of the widest vector."""

FEW = 128
"""Columns that can be written to side by side."""


def allocate(
    port: Port, batch: int, dtype: np.dtype[Any], layout: str = "auto", before: tuple[int, ...] = ()
) -> NDArray[Any]:
    """An array (*before, batch, *shape) in which the batch lies next to each other ("batch"), or row after row
    ("rows").

    Short vectors read and write fastest in the first way; matrices are many columns, far apart, so "auto" takes the
    second for them, with long rows filled up to whole cache lines. A column is filled up a little more: columns a
    power of two apart would all fall into the same lines.
    """
    line = LINE // dtype.itemsize
    if layout == "rows":
        return aligned((*before, batch, *port.shape), dtype)
    if layout == "auto" and (len(port.shape) > 1 or port.size > FEW):
        length = -(-port.size // line) * line if port.size > line else port.size
        return aligned((*before, batch, length), dtype)[..., : port.size].reshape(*before, batch, *port.shape)
    columns = aligned((*before, *port.shape, -(-batch // line) * line + line), dtype)
    return np.moveaxis(columns[..., :batch], -1, len(before))


def steps_of(array: NDArray[Any]) -> tuple[int, int] | None:
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


def fields_of(array: NDArray[Any], past_the_cache: bool = False) -> tuple[int, int, int, bool]:
    """(address, row step, column step, whether to write past the cache), steps in elements."""
    steps, size = steps_of(array), array.itemsize
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


def share_memory(x: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether some number is in both; where that is hard to tell, yes."""
    try:
        return np.shares_memory(x, y, max_work=10_000)  # type: ignore[arg-type]  # NumPy takes any number
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(x: NDArray[Any]) -> bool:
    """Whether two entries may be the same number: where steps along an axis are shorter than what lies within them."""
    if not x.size:
        return False
    reach = x.itemsize
    for step, count in sorted((abs(step), n) for step, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if step < reach:
            return True
        reach += step * (count - 1)
    return False
