"""Momenta and rows of J where the freedoms do not commute (quaternions): how they change along q ⊕ u.

With (adᵀ p)_k = p·[u, e_k], a covector p at q is exp(adᵀ) p at q ⊕ u. The motion of q ⊕ u that a change of u makes is a
series in ad, another one for each place where it is written down; its transpose is one in adᵀ. Where v = q̇ brackets
vanish, and p stays as it is.
Source: Iserles, Munthe-Kaas, Nørsett, Zanna, Lie-group methods, Acta Numerica 9 (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from qdot.algebra import Scalar, Scalars, is_zero
from qdot.algebra.linalg import dot
from qdot.algorithms.maps import unit
from qdot.model.model import Body, Model

TERMS = 13
"""What is left out is below rounding for turns of less than half a radian."""

CARRIED = [1 / factorial(k) for k in range(TERMS)]
"""From q to q ⊕ u."""
LEFT = [1 / factorial(k + 1) for k in range(TERMS)]
"""(d/du (q ⊕ u))ᵀ, the motion written down at q."""
RIGHT = [(-1) ** k / factorial(k + 1) for k in range(TERMS)]
"""The same, written down at q ⊕ u."""
BRACKET = [0, 1]
"""adᵀ itself."""


def series(model: Model, u: Scalars, p: Scalars, coefficients: Sequence[float]) -> list[Scalar]:
    """Σ c_k (adᵀ)ᵏ p, (nv,)."""
    return [x for body in model.bodies for x in _of_joint(body, u[body.dofs], list(p[body.dofs]), coefficients)]


def _of_joint(body: Body, u: Scalars, p: list[Scalar], coefficients: Sequence[float]) -> list[Scalar]:
    nv = body.joint.nv
    ad = [body.joint.bracket(u, unit(nv, k)) for k in range(nv)]
    total = [coefficients[0] * x if coefficients[0] != 1 else x for x in p]
    if all(is_zero(x) for column in ad for x in column):
        return total
    for c in coefficients[1:]:
        p = [dot(column, p) for column in ad]
        total = [x + c * y for x, y in zip(total, p, strict=True)]
    return total
