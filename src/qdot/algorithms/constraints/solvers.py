"""Ways to the change of motion that constraints ask for: x with J x = r, shortest in the metric M, and M x = Jᵀ λ.

Accelerations, velocities and positions are all corrected by such an x (Gauss' principle, T10). Each way is made once
for a state, from M and J, and then asked for as many r as there are; rows that repeat each other carry no force, or
share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

from qdot.algebra import Scalar, Scalars, where
from qdot.algebra.linalg import Matrix, dot, ldlt, ldlt_solve, matvec
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row, SparseFactors
from qdot.algorithms.constrained import Conjugates, saddle_system
from qdot.algorithms.constraints.rows import dense, times, transposed_times
from qdot.algorithms.constraints.sparse import SparseSchur, factorised
from qdot.algorithms.maps import unit


@dataclass(frozen=True)
class Mass:
    """M, and its factors in the sparsity of the tree: parents stand before their children, so that from the last row to
    the first nothing is filled in."""

    M: Matrix

    @cached_property
    def factors(self) -> SparseFactors:
        return factorised(self.M)

    def solve(self, b: Scalars) -> list[Scalar]:
        """M⁻¹ b."""
        return self.factors.solve(b)


REPEATED = 1e-9
"""Of the squared length of a row: as much may be left of one that repeats others. In the midst of a step states are off
the constraints by 1e-5 or so, and by as much such rows differ there."""


class Solver(Protocol):
    """What corrects motion at one state."""

    def correction(self, r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """(x, λ): J x = r, M x = Jᵀ λ."""
        ...


def range_space(mass: Mass, J: Sequence[Row]) -> Solver:
    """By (J M⁻¹ Jᵀ) λ = r, with rows made conjugate to each other one after the other (T8)."""
    return Conjugates.of(dense(J, len(mass.M)), mass.solve, REPEATED)


def sparse(mass: Mass, J: Sequence[Row]) -> Solver:
    """The same, for many bodies and rows: J M⁻¹ Jᵀ is as sparse as the mechanism, and factorised so."""
    return SparseSchur.of(mass.factors, J, or_rounding(REPEATED, 16))


@dataclass(frozen=True)
class Saddle:
    """[M -Jᵀ; -J 0] [x; λ] = [0; -r], solved as it stands (T7, U5); a row that repeats others gives way to λ_k = 0."""

    size: int
    factors: tuple[Matrix, list[Scalar]]
    kept: list[Scalar]

    @staticmethod
    def of(mass: Mass, J: Sequence[Row]) -> Saddle:
        n, full = len(mass.M), dense(J, len(mass.M))
        kept = Conjugates.of(full, mass.solve, REPEATED).kept
        rows = [[x * new for x in row] for row, new in zip(full, kept, strict=True)]
        A, _ = saddle_system(mass.M, [0] * n, rows, [0] * len(rows))
        for k, new in enumerate(kept, start=n):
            A[k][k] = new - 1
        return Saddle(n, ldlt(A), kept)

    def correction(self, r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        side = [0] * self.size + [-(x * new) for x, new in zip(r, self.kept, strict=True)]
        found = ldlt_solve(self.factors, side)
        return found[: self.size], found[self.size :]


VANISHED = 1e-14
"""Of M_kk: what is left of a direction that the constraints, and directions before it, already span."""


@dataclass(frozen=True)
class NullSpace:
    """x = some solution of J x = r, less its part along Z, the motions that J allows: (Zᵀ M Z) z = Zᵀ M x.

    Z is made of the unit motions without their part across, conjugate in the metric M.
    """

    M: Matrix
    J: Matrix
    across: Conjugates
    allowed: Matrix
    momenta: Matrix
    """M z of each."""
    weights: list[Scalar]

    @staticmethod
    def of(mass: Mass, J: Sequence[Row]) -> NullSpace:
        M, full = mass.M, dense(J, len(mass.M))
        across = Conjugates.of(full, list, REPEATED)
        Z: Matrix = []
        momenta: Matrix = []
        weights: list[Scalar] = []
        for k in range(len(M)):
            z = unit(len(M), k)
            for y, weight in zip(across.images, across.weights, strict=True):
                z = _without(z, y[k] * weight, y)
            for other, momentum, weight in zip(Z, momenta, weights, strict=True):
                z = _without(z, dot(momentum, z) * weight, other)
            p = matvec(M, z)
            length = dot(z, p)
            new = length > or_rounding(VANISHED, 16) * M[k][k]
            Z.append(z)
            momenta.append(p)
            weights.append(where(new, 1 / where(new, length, 1), 0))
        return NullSpace(M, full, across, Z, momenta, weights)

    def correction(self, r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        x, _ = self.across.correction(r)
        for z, p, weight in zip(self.allowed, self.momenta, self.weights, strict=True):
            x = _without(x, dot(p, x) * weight, z)
        return x, self.across.correction(matvec(self.J, matvec(self.M, x)))[1]


def _without(x: Scalars, share: Scalar, y: Scalars) -> list[Scalar]:
    """x - share y."""
    return [a - share * b for a, b in zip(x, y, strict=True)]


HEAVY = 1e6
ROUNDS = 3


@dataclass(frozen=True)
class Penalty:
    """(M + Jᵀ ε J) x = Jᵀ (ε r + λ): very heavy along what the constraints forbid (T9). What is still missed goes into
    λ, and a few rounds of that (Hestenes, Powell 1969) take away the error that a finite ε leaves."""

    J: list[Row]
    size: int
    weights: list[Scalar]
    factors: tuple[Matrix, list[Scalar]]

    @staticmethod
    def of(mass: Mass, J: Sequence[Row]) -> Penalty:
        rows, n = list(J), len(mass.M)
        weights = []
        most = 1 / or_rounding(1 / HEAVY, 2**15)  # what is heavier leaves nothing of M
        heavy = [list(row) for row in mass.M]
        for row in rows:
            ease = dot(row.values(), [mass.solve(dense([row], n)[0])[k] for k in row])
            weight = where(ease > 0, most / where(ease > 0, ease, 1), 0)
            weights.append(weight)
            for i, x in row.items():
                for j, y in row.items():
                    heavy[i][j] = heavy[i][j] + weight * x * y
        return Penalty(rows, n, weights, ldlt(heavy))

    def correction(self, r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        multipliers: list[Scalar] = [0] * len(self.J)
        x: list[Scalar] = []
        for _ in range(ROUNDS):
            pull = [m + w * a for m, w, a in zip(multipliers, self.weights, r, strict=True)]
            x = ldlt_solve(self.factors, transposed_times(self.J, pull, self.size))
            multipliers = [m - w * b for m, w, b in zip(pull, self.weights, times(self.J, x), strict=True)]
        return x, multipliers


Maker: TypeAlias = Callable[[Mass, Sequence[Row]], Solver]

SOLVERS: dict[str, Maker] = {
    "range space": range_space,
    "sparse": sparse,
    "kkt": Saddle.of,
    "null space": NullSpace.of,
    "penalty": Penalty.of,
}
"""By name; they agree where rows are not nearly dependent."""

FEW = 2_000
"""Multiplications of the dense way, rows² × freedoms, up to which it takes fewer operations than the sparse one."""


def solver_for(name: str, rows: int, size: int) -> Maker:
    """The solver of this name; "auto" is dense for few rows, and sparse for many."""
    if name == "auto":
        name = "range space" if rows * rows * size <= FEW else "sparse"
    return SOLVERS[name]
