"""Gauss' elimination of sparse matrices that need not be symmetric, over any scalar: A = L U.

Rows are kept by the places of their entries, as in `sparse`; which entries come up follows from the pattern and the
order, not from values. No pivoting: where the symmetric part of A is positive definite, as that of a mass matrix with
damping is, every pivot is positive (Golub, Van Loan, Matrix Computations, 4.2). So it is for the saddle point

    [A  -Jᵀ] [x]   [b]
    [H   0 ] [λ] = [r]

with H near J, where rows of J may repeat each other: such a row leaves a pivot of rounding size and is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qdot.algebra.rounding import or_rounding
from qdot.algebra.scalar import Scalar, Scalars, absolute, is_zero, maximum, where
from qdot.algebra.sparse import Row, beyond_rounding, sparse_rows

NOISE = 1e-13
"""Of the largest pivot of J, its root: a row with less says nothing, and is rounding."""


@dataclass(frozen=True)
class Eliminated:
    """L and U of a matrix, in the order in which its rows were eliminated."""

    order: Sequence[int]
    lower: list[Row]
    """Columns of L under the diagonal."""
    upper: list[Row]
    """Rows of U right of the diagonal."""
    inverse: list[Scalar]
    """1 / U_kk; zero for a row that is passed over."""

    @staticmethod
    def of(
        A: Sequence[Mapping[int, Scalar] | Scalars], order: Sequence[int] | None = None, sure: int = -1
    ) -> Eliminated:
        """Rows in full or by their places. From the last to the first, unless an order is given: a matrix with a tree's
        sparsity has no fill-in so. Only the first `sure` rows of the order cannot repeat others; all, unless given."""
        size = len(A)
        order = range(size - 1, -1, -1) if order is None else order
        turn = {k: n for n, k in enumerate(order)}
        rows = sparse_rows(A)
        columns: list[Row] = [{} for _ in rows]  # what is left of each column under the diagonal
        upper: list[Row] = [{} for _ in rows]
        D: list[Scalar] = [0] * size
        for i, row in enumerate(rows):
            for j, x in row.items():
                if i == j:
                    D[i] = x
                elif turn[i] < turn[j]:
                    upper[i][j] = x
                else:
                    columns[j][i] = x
        inverse: list[Scalar] = [0] * size
        weight = list(map(absolute, D))  # of what each pivot is made of
        noise: Scalar = 0
        for n, k in enumerate(order):
            if n == sure:
                for i in order[n:]:
                    noise = maximum(noise, or_rounding(NOISE, 64) ** 2 * D[i])
            if 0 <= sure <= n:
                stays = not is_zero(D[k]) and beyond_rounding(D[k], weight[k]) & (D[k] > noise)
                inverse[k] = where(stays, 1 / where(stays, D[k], 1), 0)
            else:
                inverse[k] = 1 / D[k]
            for i, x in columns[k].items():
                columns[k][i] = l = x * inverse[k]
                for j, u in upper[k].items():
                    if i == j:
                        D[i] = D[i] - l * u
                        weight[i] = weight[i] + absolute(l * u)
                    elif turn[i] < turn[j]:
                        upper[i][j] = upper[i].get(j, 0) - l * u
                    else:
                        columns[j][i] = columns[j].get(i, 0) - l * u
        return Eliminated(order, columns, upper, inverse)

    @staticmethod
    def saddle(A: Sequence[Mapping[int, Scalar] | Scalars], J: Sequence[Row], H: Sequence[Row]) -> Eliminated:
        """Of [A -Jᵀ; H 0], A first and from its last row on."""
        n, m = len(A), len(J)
        rows = [*sparse_rows(A), *map(dict, H)]
        for i, row in enumerate(J):
            for k, x in row.items():
                rows[k][n + i] = -x
        return Eliminated.of(rows, [*range(n - 1, -1, -1), *range(n, n + m)], n)

    def solve(self, b: Scalars) -> list[Scalar]:
        """x with A x = b; zero in the rows that are passed over."""
        x = list(b)
        for k in self.order:
            for i, l in self.lower[k].items():
                x[i] = x[i] - l * x[k]
        for k in reversed(self.order):
            for j, u in self.upper[k].items():
                x[k] = x[k] - u * x[j]
            x[k] = x[k] * self.inverse[k]
        return x
