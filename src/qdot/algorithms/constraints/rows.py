"""Rows of constraints at one state, whatever they come from: φ(t, q) = 0 or ψ(t, q, v) = 0 as J a + b = 0.

J is ∂φ/∂q along the freedoms, or ∂ψ/∂v; b is what is left of d²φ/dt², or of dψ/dt, where a = 0. A row of J is kept by
the places of its entries: most constraints move with few freedoms of a large mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qdot.algebra import Scalar, Scalars, derivative
from qdot.algebra.linalg import Matrix
from qdot.algebra.sparse import Row
from qdot.algorithms.configuration import retract
from qdot.algorithms.maps import added, unit
from qdot.model.model import Model

Positions: TypeAlias = Callable[[Scalar, Scalars], Scalars]
"""(t, q) ↦ φ."""

Velocities: TypeAlias = Callable[[Scalar, Scalars, Scalars], Scalars]
"""(t, q, v) ↦ ψ."""


@dataclass(frozen=True)
class Rows:
    """J a + bias = 0 where the constraints hold; `phi` is how far positions are off, and `rate`, its derivative, how
    far velocities are. Rows on velocities alone have no position: their `phi` is the plain number zero."""

    J: list[Row]
    bias: list[Scalar]
    phi: list[Scalar]
    rate: list[Scalar]

    @staticmethod
    def joined(parts: Iterable[Rows]) -> Rows:
        """All of them, one after the other."""
        listed = list(parts)
        return Rows(
            [row for part in listed for row in part.J],
            [x for part in listed for x in part.bias],
            [x for part in listed for x in part.phi],
            [x for part in listed for x in part.rate],
        )


def is_of_velocities(phi: Scalar) -> bool:
    """Whether a row has no position: the plain number zero says so, see `Rows`."""
    return type(phi) is int and phi == 0


def of_positions(model: Model, time: Scalar, q: Scalars, v: Scalars, phi: Positions, freedoms: Sequence[int]) -> Rows:
    """Of φ(t, q) = 0, which depends on these freedoms: J by dual numbers along each, b along the motion of constant
    velocity."""

    def moved(s: Scalar) -> tuple[Scalar, list[Scalar]]:
        return time + s, retract(model, q, [s * x for x in v])

    def rate(s: Scalars) -> list[Scalar]:
        return derivative(lambda more: list(phi(*moved(s[0] + more[0]))), [1])

    here = list(phi(time, q))
    columns = {
        k: derivative(lambda step: list(phi(time, retract(model, q, step))), unit(model.nv, k)) for k in freedoms
    }
    J = [{k: column[i] for k, column in columns.items()} for i in range(len(here))]
    return Rows(J, derivative(rate, [1]), here, rate([0]))


def of_velocities(model: Model, time: Scalar, q: Scalars, v: Scalars, psi: Velocities) -> Rows:
    """Of ψ(t, q, v) = 0."""
    here = list(psi(time, q, v))
    columns = [derivative(lambda step: list(psi(time, q, added(v, step))), unit(model.nv, k)) for k in range(model.nv)]
    J = [{k: column[i] for k, column in enumerate(columns)} for i in range(len(here))]
    along = [1, *v]
    bias = derivative(lambda step: list(psi(time + step[0], retract(model, q, step[1:]), v)), along)
    return Rows(J, bias, [0] * len(here), here)


def dense(J: Sequence[Row], columns: int) -> Matrix:
    """J in full."""
    return [[row.get(k, 0) for k in range(columns)] for row in J]


def times(J: Sequence[Row], x: Scalars) -> list[Scalar]:
    """J x."""
    return times_each(J, (x,))[0]


def times_each(J: Sequence[Row], xs: Sequence[Scalars]) -> list[list[Scalar]]:
    """J x of several x. Column by column: sums that go on side by side do not wait for each other, as terms of one
    sum do, and an entry is read once for all of them."""
    totals: list[list[Scalar]] = [[0] * len(J) for _ in xs]
    for k in dict.fromkeys(k for row in J for k in row):
        for i, row in enumerate(J):
            if k in row:
                for total, x in zip(totals, xs, strict=True):
                    total[i] = total[i] + row[k] * x[k]
    return totals


def transposed_times(J: Sequence[Row], multipliers: Scalars, size: int) -> list[Scalar]:
    """Jᵀ λ, so many numbers."""
    total: list[Scalar] = [0] * size
    for row, x in zip(J, multipliers, strict=True):
        for k, a in row.items():
            total[k] = total[k] + a * x
    return total
