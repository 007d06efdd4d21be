"""Where a simulation is, and how that changes: what integrators compute with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, is_zero
from qdot.algorithms.configuration import retract
from qdot.model.model import Model


@dataclass(frozen=True)
class Phase:
    """Time [s], configuration q, velocity v, activations of actuators, and the work [J] that each entry of the energy
    ledger has done so far."""

    time: Scalar
    q: Sequence[Scalar]
    v: Sequence[Scalar]
    activation: Sequence[Scalar]
    work: Sequence[Scalar]

    holds_scalars: ClassVar[bool] = True

    def moved(self, model: Model, rates: Rates, dt: Scalar) -> Phase:
        """Where these rates lead in dt seconds: q ⊕ dt q̇, v + dt a …"""
        return Phase(
            self.time + dt,
            retract(model, self.q, [dt * x for x in rates.q]),
            along(self.v, rates.v, dt),
            along(self.activation, rates.activation, dt),
            along(self.work, rates.work, dt),
        )

    def changed(self, *, q: Scalars | None = None, v: Scalars | None = None) -> Phase:
        """The same with another configuration or velocity."""
        return replace(self, q=list(self.q if q is None else q), v=list(self.v if v is None else v))


@dataclass(frozen=True)
class Rates:
    """The rate of each part of a phase; that of q is a velocity, (nv,)."""

    q: Sequence[Scalar]
    v: Sequence[Scalar]
    activation: Sequence[Scalar]
    work: Sequence[Scalar]

    holds_scalars: ClassVar[bool] = True

    @staticmethod
    def combined(weights: Sequence[Scalar], rates: Sequence[Rates]) -> Rates:
        """Σ wᵢ rᵢ; a weight that is zero is left out."""
        kept = [(w, r) for w, r in zip(weights, rates, strict=True) if not is_zero(w)]

        def total(rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
            return [
                sum((w * x for (w, _), x in zip(kept, column, strict=True)), start=0)
                for column in zip(*rows, strict=True)
            ]

        return Rates(
            total([r.q for _, r in kept]),
            total([r.v for _, r in kept]),
            total([r.activation for _, r in kept]),
            total([r.work for _, r in kept]),
        )


def along(x: Scalars, rate: Scalars, dt: Scalar) -> list[Scalar]:
    """x + dt rate."""
    return [a + dt * b for a, b in zip(x, rate, strict=True)]
