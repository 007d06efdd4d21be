"""Other coordinates for the same motion: x = h(q), with as many q as you like (T11, T12, T14).

Power and kinetic energy do not depend on the coordinates. So with J = ∂h/∂q a force f on x is τ = Jᵀ f on q, an
inertia D is M = Jᵀ D J, a constraint row J_φ is J_φ J, and D ẍ + c = f becomes M q̈ + Jᵀ (c + D J̇ q̇) = τ. Where x
has more entries than q, h is an explicit constraint, and the force that holds it, f_c, does no work: Jᵀ f_c = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qdot.algebra import Scalar, Scalars
from qdot.algebra.linalg import Matrix, dot, ldlt, ldlt_solve, matvec
from qdot.algorithms.maps import Map, Move, added, partials, rate_bias, transposed


class Projected(NamedTuple):
    """The terms of M q̈ + c = τ."""

    mass: Matrix
    velocity_forces: list[Scalar]
    force: list[Scalar]


def projected(
    D: Sequence[Scalars], c: Scalars, f: Scalars, J: Sequence[Scalars], bias: Scalars, freedoms: int
) -> Projected:
    """D ẍ + c = f in the coordinates q; `bias` is J̇ q̇."""
    J_T = transposed([list(row) for row in J], freedoms)
    inertial = [x + y for x, y in zip(c, matvec(D, bias), strict=True)]
    images = [matvec(D, column) for column in J_T]
    M = [[dot(column, image) for image in images] for column in J_T]
    return Projected(M, matvec(J_T, inertial), matvec(J_T, f))


def explicit_system(
    D: Sequence[Scalars], f: Scalars, J: Sequence[Scalars], bias: Scalars, freedoms: int
) -> tuple[Matrix, list[Scalar]]:
    """Matrix and right-hand side of the system in (ẍ, f_c, q̈) of T11, its second row with the other sign: symmetric.

    [D -1 0; -1 0 J; 0 Jᵀ 0] [ẍ; f_c; q̈] = [f; -J̇ q̇; 0]
    """
    n = len(D)
    minus = [[-1 if i == k else 0 for k in range(n)] for i in range(n)]
    top = [[*D[i], *minus[i], *([0] * freedoms)] for i in range(n)]
    middle = [[*minus[i], *([0] * n), *J[i]] for i in range(n)]
    bottom = [[*([0] * n), *(row[k] for row in J), *([0] * freedoms)] for k in range(freedoms)]
    return [*top, *middle, *bottom], [*f, *(-x for x in bias), *([0] * freedoms)]


def explicit(
    D: Sequence[Scalars], f: Scalars, h: Map, q: Scalars, v: Scalars, move: Move = added
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """(ẍ, f_c, q̈) of masses held by x = h(q), by solving the system of T11 as it stands.

    It needs no pivoting: the blocks that come up are D, then -D⁻¹, then Jᵀ D J.
    """
    n, freedoms = len(D), len(v)
    A, b = explicit_system(D, f, partials(h, q, freedoms, move), rate_bias(h, q, v, move), freedoms)
    x = ldlt_solve(ldlt(A), b)
    return x[:n], x[n : 2 * n], x[2 * n :]
