"""Small linear algebra over any scalar: LDLᵀ for dense symmetric matrices, LᵀDL for matrices with a tree's sparsity.

No pivoting: positive definite matrices need none, and a fixed order of operations is what symbols, lanes and traced
expressions share. Matrices are lists of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from qdot.algebra.scalar import Scalar, Scalars, each

Matrix = list[list[Scalar]]


def matvec(A: Sequence[Scalars], x: Scalars) -> list[Scalar]:
    """A x."""
    return [dot(row, x) for row in A]


def dot(x: Iterable[Scalar], y: Iterable[Scalar]) -> Scalar:
    """Σ xᵢ yᵢ."""
    total: Scalar = 0
    for a, b in zip(x, y, strict=True):
        total = total + a * b
    return total


def less(a: Scalar, x: Scalars, y: Scalars) -> Scalar:
    """a - Σ xᵢ yᵢ."""
    for b, c in zip(x, y, strict=True):
        a = a - b * c
    return a


def ldlt(A: Sequence[Scalars]) -> tuple[Matrix, list[Scalar]]:
    """A = L D Lᵀ with L unit lower triangular and D diagonal; reads A's lower triangle."""
    n = len(A)
    L: Matrix = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    LD: Matrix = [[0] * n for _ in range(n)]
    D: list[Scalar] = []
    for j in range(n):
        D.append(less(A[j][j], L[j][:j], LD[j][:j]))
        inverse = 1 / D[j] if j + 1 < n else 1
        for i in range(j + 1, n):
            LD[i][j] = less(A[i][j], L[i][:j], LD[j][:j])
            L[i][j] = LD[i][j] * inverse
    return L, D


def ldlt_solve(factors: tuple[Matrix, list[Scalar]], b: Scalars) -> list[Scalar]:
    """x with L D Lᵀ x = b."""
    L, D = factors
    x = list(b)
    for i in range(len(x)):
        x[i] = x[i] - dot(L[i][:i], x[:i])
    x = [a / d for a, d in zip(x, D, strict=True)]
    for i in reversed(range(len(x))):
        for k in range(i):
            x[k] = x[k] - L[i][k] * x[i]
    return x


def ways_to_root(parents: Sequence[int]) -> list[list[int]]:
    """The rows on the way from each row to its root, the nearest first; `parents[i]` < i, -1 for a root."""
    ways: list[list[int]] = []
    for p in parents:
        ways.append([p, *ways[p]] if p >= 0 else [])
    return ways


@dataclass(frozen=True)
class TreeFactors:
    """A = Lᵀ D L for a matrix with a tree's sparsity: A[i][j] = 0 unless j is i or an ancestor or descendant of i.

    L is unit lower triangular with the sparsity of A's lower triangle: no fill-in, and the cost is that of the depth
    of the tree, not of n. Featherstone, RBDA (2008), tables 6.3 and 6.5.
    """

    L: Matrix
    D_inv: list[Scalar]
    before: list[list[int]]
    """The rows on the way from each row to its root, the nearest first."""

    @staticmethod
    def of(A: Sequence[Scalars], parents: Sequence[int]) -> TreeFactors:
        """`parents[i]` < i is the parent of row i, -1 for a root; reads A's lower triangle."""
        n = len(A)
        before = ways_to_root(parents)
        H = [list(row) for row in A]
        D_inv: list[Scalar] = [0] * n
        L: Matrix = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
        for k in reversed(range(n)):
            D_inv[k] = 1 / H[k][k]
            for i in before[k]:
                L[k][i] = H[k][i] * D_inv[k]
                for j in (i, *before[i]):
                    H[i][j] = H[i][j] - L[k][i] * H[k][j]
        return TreeFactors(L, D_inv, before)

    def solve(self, b: Scalars) -> list[Scalar]:
        """x with A x = b."""
        rows = range(len(self.before))
        return self._outward(self._inward(b, rows), rows)

    def solve_each(self, sides: Sequence[tuple[int, Scalars]]) -> Matrix:
        """x with A x = b for each (k, b), where b is zero but in rows that are k, its ancestors or its descendants.

        The solution among these rows needs no other; each other row of the tree follows those that it hangs on by
        coefficients that all sides share. Sides with the same rows share a text.
        """
        solved: Matrix = [[0] * len(self.before) for _ in sides]
        hanging: dict[tuple[int, int], dict[int, Scalar]] = {}
        alike: dict[tuple[int, ...], list[int]] = {}
        for n, (k, _) in enumerate(sides):
            alike.setdefault(self._related(k), []).append(n)
        for rows, places in alike.items():
            others = {i: self._hanging(i, rows, hanging) for i in self._tree(rows[0]) if i not in rows}

            def solution(
                b: list[Scalar], rows: Sequence[int] = rows, others: Mapping[int, Mapping[int, Scalar]] = others
            ) -> list[Scalar]:
                x = dict(zip(rows, self._outward(self._inward(b, rows), rows), strict=True))
                return [*x.values(), *(dot(row.values(), [x[j] for j in row]) for row in others.values())]

            found = each([[sides[n][1][i] for i in rows] for n in places], solution)
            for n, x in zip(places, found, strict=True):
                for i, entry in zip((*rows, *others), x, strict=True):
                    solved[n][i] = entry
        return solved

    def _tree(self, root: int) -> list[int]:
        return [i for i, before in enumerate(self.before) if (i, *before)[-1] == root]

    def _hanging(
        self, i: int, rows: Sequence[int], known: dict[tuple[int, int], dict[int, Scalar]]
    ) -> dict[int, Scalar]:
        """L⁻¹ for a row i that has no right-hand side: the coefficients of x_i in those of its ancestors in `rows`."""
        held = [j for j in reversed(self.before[i]) if j in rows]
        key = i, held[-1]
        if key not in known:
            known[key] = {j: -self.L[i][j] for j in held}
            for m in self.before[i][: -len(held)]:  # those between
                for j, x in self._hanging(m, rows, known).items():
                    known[key][j] = known[key][j] - self.L[i][m] * x
        return known[key]

    def _related(self, k: int) -> tuple[int, ...]:
        """k with its ancestors and descendants, in order: a root first."""
        behind = (i for i, before in enumerate(self.before) if k in before)
        return (*reversed(self.before[k]), k, *behind)

    def _inward(self, b: Scalars, rows: Sequence[int]) -> list[Scalar]:
        """D⁻¹ L⁻ᵀ b, for rows that contain all their ancestors."""
        x = dict(zip(rows, b, strict=True))
        for i in reversed(rows):
            for j in self.before[i]:
                x[j] = x[j] - self.L[i][j] * x[i]
        return [y * self.D_inv[i] for i, y in x.items()]

    def _outward(self, entries: Scalars, rows: Sequence[int]) -> list[Scalar]:
        """L⁻¹ x, for rows that contain all their ancestors."""
        x = dict(zip(rows, entries, strict=True))
        for i in rows:
            for j in reversed(self.before[i]):  # the root first, for the nearest is known last
                x[i] = x[i] - self.L[i][j] * x[j]
        return list(x.values())
