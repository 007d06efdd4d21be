"""How well impulses obey Signorini and Coulomb: the same four numbers for every contact model.

    penetration      max (-u_n)⁺ [m/s]                       bodies must not approach,
    cone             max (|z_t|_μ - z_n)⁺, (-z_n)⁺ [N s]     friction is bounded by the push, and nothing pulls,
    complementarity  max |u_n z_n| [J]                       what pushes does not part,
    dissipation      max μ z_n |u_t| + z_t·u_t [J]           friction takes as much energy as it may,

where |z_t|_μ = |z_t / μ| with a coefficient for each tangent, and μ |u_t| = |μ u_t|. All zero: the law holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, absolute, maximum, where
from qdot.algebra.linalg import dot
from qdot.contact.problem import each_tangent, length, rows_of


@dataclass(frozen=True)
class Residuals:
    """The worst of each over all contacts that are present."""

    holds_scalars: ClassVar[bool] = True
    penetration: Scalar
    cone: Scalar
    complementarity: Scalar
    dissipation: Scalar


def residuals(z: Scalars, u: Scalars, mu: Sequence[Scalar | Scalars], present: Scalars) -> Residuals:
    """Of impulses z and the velocities u after them; rows and coefficients as in `Problem.of`."""
    worst: list[Scalar] = [0.0] * 4
    for rows, coefficients, there in zip(rows_of(mu), mu, present, strict=True):
        friction = each_tangent(coefficients)
        push, parting = z[rows[0]], u[rows[0]]
        along, slip = [z[i] for i in rows[1:]], [u[i] for i in rows[1:]]
        # A row without friction bears nothing: whatever it bears is too much.
        share = [where(m > 0, x / where(m > 0, m, 1.0), x) for x, m in zip(along, friction, strict=True)]
        most = push * length([m * v for m, v in zip(friction, slip, strict=True)])
        errors = [
            -parting,
            maximum(length(share) - push, -push),
            absolute(push * parting),
            absolute(most + dot(along, slip)),
        ]
        worst = [maximum(w, where(there > 0, error, 0.0)) for w, error in zip(worst, errors, strict=True)]
    return Residuals(*worst)
