"""What drives a simulation from outside: nothing, constants, a row for each step, or a function of time and state.

Functions marked `compilable` become part of the compiled step, and are followed continuously. Other functions are
called from Python once a step with arrays, and what they return is held during it, as a digital controller does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qdot.algorithms.constraints.kinds import with_time
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])


def compilable(function: F) -> F:
    """Mark a control function, f(q, v) or f(t, q, v), as written with operators and functions of qdot.algebra alone: it
    is compiled into the step. It is run once, on expressions, so it may depend on nothing else that changes."""
    function.__qdot_compilable__ = True  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class Drive:
    """One of the two inputs from outside, in the form in which the run needs it; the others are None."""

    held: NDArray[np.float64]
    """Constants, (n,) or (batch, n); zero where something else drives."""
    rows: NDArray[np.float64] | None = None
    """A row for each step, (steps, n) or (steps, batch, n)."""
    compiled: Callable[..., Any] | None = None
    """f(t, q, v) over any scalar."""
    called: Callable[..., Any] | None = None
    """f(t, q, v) over arrays."""

    @staticmethod
    def of(given: Any, what: str, size: int, batch: int | None, dtype: np.dtype[Any]) -> Drive:
        """From what people pass as `control` or `tau`."""
        nothing = np.zeros(size, dtype)
        if given is None:
            return Drive(nothing)
        if callable(given):
            f = with_time(given, 2, what)
            marked = getattr(given, "__qdot_compilable__", False)
            return Drive(nothing, compiled=f) if marked else Drive(nothing, called=f)
        array = _numbers(given, what)
        if array.shape == (size,) or (batch is not None and array.shape == (batch, size)):
            return Drive(array.astype(dtype))
        if array.ndim == 2 and array.shape[1] == size:
            return Drive(nothing, rows=array.astype(dtype))
        if array.ndim == 3 and batch is not None and array.shape[0] == batch and array.shape[2] == size:
            return Drive(nothing, rows=array.transpose(1, 0, 2).astype(dtype, order="C"))
        wanted = f"({size},) held, (steps, {size})"
        if batch is not None:
            wanted += f", ({batch}, {size}) held, ({batch}, steps, {size})"
        raise ValueShapeError(f"{what} has shape {array.shape}; it may be {wanted}, or a function of (t, q, v)")

    def require_rows(self, steps: int, what: str) -> None:
        """Raise where there are not as many rows as steps."""
        if self.rows is not None and len(self.rows) != steps:
            raise ValueShapeError(f"{what} has {len(self.rows)} rows for {steps} steps; give one for each")
        if self.held.ndim == 2 and len(self.held) == steps:
            raise ValueShapeError(
                f"{what} has {steps} rows for {steps} runs of {steps} steps: a row for each run, held, or one for each "
                f"step? Give (batch, steps, {self.held.shape[1]}), or advance in two parts"
            )

    def value(self, time: float, q: NDArray[np.float64], v: NDArray[np.float64], what: str) -> NDArray[np.float64]:
        """What the called function says, checked."""
        assert self.called is not None
        try:
            found = _numbers(self.called(time, q.copy(), v.copy()), what)
        except Exception as error:
            error.add_note(f"in {what} at t = {time:g} s")
            raise
        size = self.held.shape[-1]
        if found.shape not in ((size,), (*q.shape[:-1], size)):
            raise ValueShapeError(f"{what} returned shape {found.shape} at t = {time:g} s; {size} numbers are needed")
        return found


def _numbers(given: Any, what: str) -> NDArray[np.float64]:
    """An array of numbers: the given one itself, if it is one."""
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(float, copy=False)
    except (TypeError, ValueError):
        raise ValueShapeError(f"{what} must be numbers or a function of (t, q, v), got {given!r}") from None
    if not np.isfinite(array).all():
        raise ValueShapeError(f"{what} has an entry that is not a finite number")
    return array
