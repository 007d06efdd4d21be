"""Small linear algebra over any scalar: LDLᵀ for dense symmetric matrices, LᵀDL for matrices with a tree's sparsity.

No pivoting: positive definite matrices need none, and a fixed order of operations is what symbols, lanes and traced
expressions share. Matrices are lists of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from qdot.algebra.scalar import Scalar, Scalars

Matrix = list[list[Scalar]]


def matvec(A: Sequence[Scalars], x: Scalars) -> list[Scalar]:
    """A x."""
    return [dot(row, x) for row in A]


def dot(x: Scalars, y: Scalars) -> Scalar:
    """Σ xᵢ yᵢ."""
    total: Scalar = 0
    for a, b in zip(x, y, strict=True):
        total = total + a * b
    return total


def ldlt(A: Sequence[Scalars]) -> tuple[Matrix, list[Scalar]]:
    """A = L D Lᵀ with L unit lower triangular and D diagonal; reads A's lower triangle."""
    n = len(A)
    L: Matrix = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    D: list[Scalar] = []
    for j in range(n):
        scaled = [L[j][k] * D[k] for k in range(j)]
        D.append(A[j][j] - dot(L[j][:j], scaled))
        for i in range(j + 1, n):
            L[i][j] = (A[i][j] - dot(L[i][:j], scaled)) / D[j]
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


def ltdl(A: Sequence[Scalars], parents: Sequence[int]) -> tuple[Matrix, list[Scalar]]:
    """A = Lᵀ D L for a matrix with a tree's sparsity: A[i][j] = 0 unless j is i or an ancestor or descendant of i.

    `parents[i]` < i is the parent of row i, -1 for a root. L has the sparsity of A's lower triangle: no fill-in, and
    the cost is that of the depth of the tree, not of n. Featherstone, RBDA (2008), table 6.3.
    """
    n = len(A)
    H = [list(row) for row in A]
    D: list[Scalar] = [0] * n
    L: Matrix = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    for k in reversed(range(n)):
        D[k] = H[k][k]
        i = parents[k]
        while i >= 0:
            L[k][i] = H[k][i] / D[k]
            j = i
            while j >= 0:
                H[i][j] = H[i][j] - L[k][i] * H[k][j]
                j = parents[j]
            i = parents[i]
    return L, D


def ltdl_solve(factors: tuple[Matrix, list[Scalar]], parents: Sequence[int], b: Scalars) -> list[Scalar]:
    """x with Lᵀ D L x = b, RBDA (2008), table 6.5."""
    L, D = factors
    x = list(b)
    for i in reversed(range(len(x))):
        j = parents[i]
        while j >= 0:
            x[j] = x[j] - L[i][j] * x[i]
            j = parents[j]
    x = [a / d for a, d in zip(x, D, strict=True)]
    for i in range(len(x)):
        j = parents[i]
        while j >= 0:
            x[i] = x[i] - L[i][j] * x[j]
            j = parents[j]
    return x
