"""States between records: cubic on the manifold, by Hermite's formula in the tangent space of the nearer record.

Near a record q₀ a motion is q₀ ⊕ x(t). Of the other end of the interval, x₁ = q₁ ⊖ q₀ and its rate are known, so x is
the cubic with x(0) = 0, ẋ(0) = v₀, x(h) = x₁, ẋ(h) = ẋ₁. Positions
of smooth motions are off by dt⁴, velocities by dt³.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qdot.algebra import Scalars, derivative
from qdot.algorithms.configuration import difference, retract
from qdot.errors import ValueShapeError
from qdot.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SLACK = 1e-9
"""Of the length of a run: a time may be so far outside of it, by rounding."""


def times_within(times: object, known: Array) -> Array:
    """Times [s] at which a run is asked for, checked, (n,)."""
    try:
        asked = np.asarray(times, dtype=float)
    except (TypeError, ValueError):
        raise ValueShapeError(f"times are numbers [s], got {times!r}") from None
    if asked.ndim != 1:
        raise ValueShapeError(f"times are a row of numbers [s], (n,), got shape {asked.shape}")
    first, last = float(known[0]), float(known[-1])
    slack = SLACK * (last - first)
    outside = ~((asked >= first - slack) & (asked <= last + slack))  # a NaN is outside too
    if outside.any():
        t = asked[int(np.argmax(outside))]
        raise ValueShapeError(f"t = {t:g} s is outside of this run, which goes from {first:g} to {last:g} s")
    return np.clip(asked, first, last)


def states_between(model: Model, known: Array, q: Array, v: Array, times: Array) -> tuple[Array, Array]:
    """(q, v) of one run at other times, (n, nq) and (n, nv)."""
    if len(known) == 1:
        return q[np.zeros(len(times), dtype=int)], v[np.zeros(len(times), dtype=int)]
    q, v = q.astype(float), v.astype(float)
    base, other, s = _places(known, times)
    h = known[other] - known[base]
    near, far = list(q[base].T), list(q[other].T)
    x1 = difference(model, near, far)
    rate0 = list(v[base].T)
    rate1 = derivative(lambda step: difference(model, near, retract(model, far, step)), list(v[other].T))
    x = _sum((3 * s**2 - 2 * s**3, x1), (h * (s - 2 * s**2 + s**3), rate0), (h * (s**3 - s**2), rate1))
    rate = _sum((6 * (s - s**2) / np.where(h == 0, 1, h), x1), (1 - 4 * s + 3 * s**2, rate0), (3 * s**2 - 2 * s, rate1))
    there = retract(model, near, x)

    def onward(step: Scalars) -> list[Array]:
        return difference(model, there, retract(model, near, [a + b for a, b in zip(x, step, strict=True)]))

    return _rows(there, len(times)), _rows(derivative(onward, rate), len(times))


def rows_between(known: Array, rows: Array, times: Array) -> Array:
    """Other quantities, (records, n), along straight lines, (times, n)."""
    if len(known) == 1:
        return rows[np.zeros(len(times), dtype=int)]
    base, other, s = _places(known, times)
    at = rows[base]
    return np.where(s[:, None] == 0, at, at + s[:, None] * (rows[other] - at))


def _places(known: Array, times: Array) -> tuple[NDArray[np.int_], NDArray[np.int_], Array]:
    """The nearer record, the one on the other side, and the fraction of the way to it, from 0 to ½."""
    left = np.clip(np.searchsorted(known, times, side="right") - 1, 0, len(known) - 2)
    width = known[left + 1] - known[left]
    s = (times - known[left]) / np.where(width == 0, 1, width)
    later = s > 0.5
    return np.where(later, left + 1, left), np.where(later, left, left + 1), np.where(later, 1 - s, s)


def _sum(*terms: tuple[Array, Scalars]) -> list[Array]:
    """Σ weight · vector."""
    weights, vectors = zip(*terms, strict=True)
    return [sum(w * x for w, x in zip(weights, column, strict=True)) for column in zip(*vectors, strict=True)]


def _rows(columns: Scalars, count: int) -> Array:
    return np.column_stack([np.broadcast_to(x, count) for x in columns]) if len(columns) else np.empty((count, 0))
