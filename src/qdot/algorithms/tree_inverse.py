"""Solving with a matrix of a tree's sparsity, many times: A = Lᵀ D L, its inverse, and products with the inverse.

L⁻¹ is as sparse as L: zero but between a freedom and those before it (RBDA 2008, §6.5). With M at hand this inverse
takes fewer operations than the recursion of `inverse_mass` up to some fifteen freedoms in a row; beyond, n d² is more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars
from qdot.algebra.linalg import Matrix, ltdl


@dataclass(frozen=True)
class TreeFactors:
    """L and 1/D of A = Lᵀ D L; `before[i]` are the freedoms on the way from i to the root, the nearest first."""

    L: Matrix
    D_inv: list[Scalar]
    before: list[list[int]]

    @staticmethod
    def of(A: Matrix, parents: Sequence[int]) -> TreeFactors:
        L, D = ltdl(A, parents)
        before: list[list[int]] = []
        for p in parents:
            before.append([p, *before[p]] if p >= 0 else [])
        return TreeFactors(L, [1 / d for d in D], before)

    def solve(self, b: Scalars) -> list[Scalar]:
        """A⁻¹ b."""
        x = list(b)
        for i in reversed(range(len(x))):
            for j in self.before[i]:
                x[j] = x[j] - self.L[i][j] * x[i]
        x = [y * d for y, d in zip(x, self.D_inv, strict=True)]
        for i in range(len(x)):
            for j in self.before[i]:
                x[i] = x[i] - self.L[i][j] * x[j]
        return x

    def inverse(self) -> Matrix:
        """A⁻¹ = N D⁻¹ Nᵀ with N = L⁻¹: entry i, j sums over the freedoms that are before or at both."""
        n = len(self.before)
        N = self._inverse_of_L()
        result: Matrix = [[0] * n for _ in range(n)]
        for i in range(n):
            scaled = {k: N[i][k] * self.D_inv[k] for k in (i, *self.before[i])}
            for j in range(i + 1):
                shared = [k for k in (j, *self.before[j]) if k in scaled]
                if shared:
                    first, *rest = (scaled[k] * N[j][k] for k in shared)
                    result[i][j] = result[j][i] = sum(rest, start=first)
        return result

    def _inverse_of_L(self) -> list[dict[int, Scalar]]:
        N: list[dict[int, Scalar]] = []
        for i, before in enumerate(self.before):
            row: dict[int, Scalar] = {i: 1}
            for k in before:  # N_i = e_i - Σ L_ik N_k
                for j, x in N[k].items():
                    row[j] = row[j] - self.L[i][k] * x if j in row else -(self.L[i][k] * x)
            N.append(row)
        return N
