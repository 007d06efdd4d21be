"""Numbers of 64 or of 32 bits: which of them a simulation computes with, and what the short ones are not enough for.

A vector of the processor holds twice as many numbers of 32 bits, so a batch of runs takes half the time and memory.
They keep seven digits of every number in every step. What is found out about a run afterwards is computed with 64 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.errors import ValueShapeError
from qdot.simulation.integrators import DormandPrince, Integrator

if TYPE_CHECKING:
    from numpy.typing import NDArray

DTYPES = ("float64", "float32")


def dtype_of(given: Any, before: NDArray[Any] | None) -> np.dtype[Any]:
    """The type asked for; unless one is, that of the records that a run goes on from, or 64 bits."""
    if given is None:
        return np.dtype(np.float64 if before is None else before.dtype)
    try:
        found = np.dtype(given)
    except (TypeError, ValueError):
        found = None
    if found is None or found not in (np.dtype(name) for name in DTYPES):
        raise ValueShapeError(
            f"dtype is the type of the numbers that a simulation computes with, {' or '.join(map(repr, DTYPES))}; got "
            f"{given!r}. Leave it out for float64"
        )
    return found


def require_enough_digits(dtype: np.dtype[Any], integrator: Integrator) -> None:
    """Raise where a step is solved to more digits than there are."""
    if dtype == np.float64:
        return
    if isinstance(integrator, DormandPrince):
        raise ValueShapeError(
            f"integrator {integrator.name!r} chooses its steps by errors that are smaller than {dtype} can tell; take "
            "one with steps of its own length, such as 'rk4', or dtype='float64'"
        )


def require_countable(dtype: np.dtype[Any], steps: float) -> None:
    """Raise where so many steps, since the start of a run, are more than its numbers count."""
    most = int(2 / np.finfo(dtype).eps)
    if steps > most:
        raise ValueShapeError(
            f"{steps:.0f} steps since the start of a run are more than {dtype} counts, {most}; go on from its last "
            "state as a new run, with start=run.time[-1], or take dtype='float64'"
        )
