"""How large a disagreement is: relative to the terms that were added up, and on which body.

A sum of terms that cancel is only as exact as its largest term; so a deviation is measured by the magnitudes of the
terms, not of the result. In double precision each operation adds 1e-16 of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.certificate.record import WHOLE
from qdot.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

Places: TypeAlias = "Callable[[Model, NDArray[np.float64]], dict[str, float]]"
"""From relative deviations, (states, …), to the largest on each body."""


def relative(deviation: Any, size: Any) -> NDArray[np.float64]:
    """|deviation| / size; nothing over nothing is zero, and what is no number is infinitely off."""
    x, y = np.broadcast_arrays(np.abs(np.asarray(deviation, dtype=float)), np.asarray(size, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.where(x == 0, 0.0, x / y)
    return np.where(np.isnan(result), np.inf, result)


def on_freedoms(model: Model, x: NDArray[np.float64]) -> dict[str, float]:
    """Of a vector over the freedoms, (states, nv)."""
    return {body.name: _largest(x[:, body.dofs]) for body in model.bodies if body.joint.nv}


def on_pairs(model: Model, x: NDArray[np.float64]) -> dict[str, float]:
    """Of a matrix over the freedoms, (states, nv, nv): an entry belongs to the body that is farther from the root."""
    return {
        body.name: max(_largest(x[:, body.dofs, : body.dofs.stop]), _largest(x[:, : body.dofs.stop, body.dofs]))
        for body in model.bodies
        if body.joint.nv
    }


def on_bodies(model: Model, x: NDArray[np.float64]) -> dict[str, float]:
    """Of something of each body, (states, bodies, …)."""
    return {body.name: _largest(x[:, body.index - 1]) for body in model.bodies}


def on_the_whole(model: Model, x: NDArray[np.float64]) -> dict[str, float]:
    """Of something of the mechanism."""
    return {WHOLE: _largest(x)}


def _largest(x: NDArray[np.float64]) -> float:
    return float(np.max(x, initial=0.0))
