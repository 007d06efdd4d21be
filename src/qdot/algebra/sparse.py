"""Sparse symmetric matrices over any scalar: P A Pᵀ = L D Lᵀ, where only entries that are not zero are ever touched.

Rows are kept by the places of their entries. Which entries L has follows from the pattern of A and the order in which
rows are eliminated, not from values: so a traced factorisation is straight code, for a chain as long as the chain.
No pivoting: A is positive definite, or semidefinite; then a row that repeats those before it leaves a pivot of
rounding size, and is passed over.

The order is that of minimum degree: each time the row that is coupled to the fewest others (Tinney and Walker, 1967;
George and Liu, SIAM Review 31, 1989).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from qdot.algebra.rounding import or_rounding
from qdot.algebra.scalar import Scalar, Scalars, is_zero, where

Row: TypeAlias = dict[int, Scalar]
"""The entries of a row by their places; all others are zero."""

VANISHING = 1e-14
"""Of the size of what a pivot was computed from: below this it is rounding, of which 5e-16 was the most met."""


def sparse_rows(A: Iterable[Mapping[int, Scalar] | Scalars]) -> list[Row]:
    """Rows given in full or by places, without their zeros."""
    return [
        {k: x for k, x in (row.items() if isinstance(row, Mapping) else enumerate(row)) if not is_zero(x)} for row in A
    ]


def elimination_order(pattern: Sequence[Iterable[int]]) -> list[int]:
    """The order of minimum degree, the first of equals: `pattern[i]` are the places of row i of a symmetric matrix, all
    or those of a triangle."""
    coupled: list[set[int]] = [set() for _ in pattern]
    for i, places in enumerate(pattern):
        for j in places:
            coupled[i].add(j)
            coupled[j].add(i)
    for i, others in enumerate(coupled):
        others.discard(i)
    waiting = [(len(others), i) for i, others in enumerate(coupled)]
    heapify(waiting)
    order: list[int] = []
    done = [False] * len(coupled)
    while waiting:
        degree, k = heappop(waiting)
        if done[k] or degree != len(coupled[k]):  # it was entered again when its degree changed
            continue
        order.append(k)
        done[k] = True
        for i in coupled[k]:
            coupled[i] |= coupled[k]
            coupled[i] -= {i, k}
            heappush(waiting, (len(coupled[i]), i))
    return order


def beyond_rounding(pivot: Scalar, size: Scalar) -> Scalar:
    """Whether something is left of a row, beside the size of what its pivot was computed from."""
    return pivot > or_rounding(VANISHING, 16) * size


@dataclass(frozen=True)
class SparseFactors:
    """L, unit lower triangular in the order of elimination, and D of a symmetric matrix."""

    order: Sequence[int]
    turn: dict[int, int]
    """When each row is eliminated: its place in `order`."""
    below: list[Row]
    """The columns of L under the diagonal, by the places of A."""
    D_inv: list[Scalar]
    kept: list[Scalar]
    """1, or 0 for a row that is passed over; D_inv is zero there."""

    @staticmethod
    def of(
        A: Sequence[Mapping[int, Scalar]],
        order: Sequence[int],
        is_kept: Callable[[Scalar, Scalar], Scalar] = beyond_rounding,
    ) -> SparseFactors:
        """A is given by both triangles or by one. `is_kept(pivot, size)` is whether something is left of a row."""
        turn = {k: n for n, k in enumerate(order)}
        D: list[Scalar] = [0] * len(A)
        below: list[Row] = [{} for _ in A]
        for i, row in enumerate(A):
            for j, x in row.items():
                first, last = (i, j) if turn[i] < turn[j] else (j, i)
                if i == j:
                    D[i] = x
                else:
                    below[first][last] = x
        size = list(D)  # as rounding grows: an error of d in a pivot makes one of l² d in what it is subtracted from
        D_inv: list[Scalar] = [0] * len(A)
        kept: list[Scalar] = [0] * len(A)
        for k in order:
            stays = not is_zero(D[k]) and is_kept(D[k], size[k])
            D_inv[k] = where(stays, 1 / where(stays, D[k], 1), 0)
            kept[k] = where(stays, 1, 0)
            column = sorted(below[k].items(), key=lambda entry: turn[entry[0]])
            for n, (i, x) in enumerate(column):
                below[k][i] = l = x * D_inv[k]
                D[i] = D[i] - l * x
                size[i] = size[i] + l * l * size[k]
                for j, y in column[n + 1 :]:
                    below[i][j] = below[i].get(j, 0) - l * y
        return SparseFactors(order, turn, below, D_inv, kept)

    def solve(self, b: Scalars) -> list[Scalar]:
        """x with A x = b; zero in the rows that are passed over."""
        x = list(b)
        for k in self.order:
            for i, l in self.below[k].items():
                x[i] = x[i] - l * x[k]
        x = [a * d for a, d in zip(x, self.D_inv, strict=True)]
        for k in reversed(self.order):
            for i, l in self.below[k].items():
                x[k] = x[k] - l * x[i]
        return x

    def half_solve(self, b: Mapping[int, Scalar]) -> Row:
        """y = L⁻¹ b; only the rows that b leads to are touched. bᵀ A⁻¹ c = Σ y_k z_k / D_k, for z = L⁻¹ c."""
        y = dict(b)
        waiting = [self.turn[k] for k in y]
        heapify(waiting)
        while waiting:
            k = self.order[heappop(waiting)]
            for i, l in self.below[k].items():
                if i not in y:
                    heappush(waiting, self.turn[i])
                y[i] = y.get(i, 0) - l * y[k]
        return y
