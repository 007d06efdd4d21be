"""Where a run can be taken up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What it takes to run on from the last record as if nothing had come in between."""

    start: float
    """When the run began [s]; a time is start + count · dt."""
    dt: float
    integrator: str
    count: Array
    """Steps done, (1,) or (batch, 1)."""
    memory: Array
    """What the integrator remembers, (n,) or (batch, n)."""
    room: int | None = None
    """For how many contacts between bodies the run has made room, where it was given none."""
