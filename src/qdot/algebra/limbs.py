"""Equations with a tree's sparsity, some of whose limbs are joined: each pair where some lane needs it.

A limb is the rows between one branching of the tree and the next. The blocks of a matrix that belong to a limb and one
that it hangs on are there; those of other pairs are zero, unless something joins the two. A = Lᵀ D L is found from the
leaves to the root (RBDA, table 6.3), limb by limb: what a limb is joined with, and what that joins in turn, takes part
as in a full matrix, and is left out where it is joined with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from qdot.algebra.linalg import Matrix, TreeFactors, dot, less
from qdot.algebra.loops import UNREAD, where_needed
from qdot.algebra.scalar import Scalar, Scalars

Pair: TypeAlias = tuple[int, int]
"""Two limbs by their numbers, the higher one first."""

G = TypeVar("G")
S = TypeVar("S")


def solved_by_limbs(
    A: Sequence[Scalars], b: Scalars, limbs: Sequence[Sequence[int]], joined: Mapping[Pair, Scalar]
) -> list[Scalar]:
    """x with A x = b; reads A's lower triangle. `limbs` are the rows of each, and each limb comes after those that it
    hangs on; `joined` is more than 0, or 0, for all pairs of which neither hangs on the other."""
    pairs = [(m, n) for m in range(len(limbs)) for n in range(m + 1)]
    there: dict[Pair, Scalar | None] = {pair: joined.get(pair) for pair in pairs}
    blocks = {
        (m, n): [[A[max(i, j)][min(i, j)] for j in limbs[n] if m > n or j <= i] for i in limbs[m]] for m, n in pairs
    }
    x = [[b[i] for i in limb] for limb in limbs]
    L: dict[Pair, Matrix] = {}
    D_inv: dict[int, list[Scalar]] = {}
    for k in reversed(range(len(limbs))):
        DL: dict[int, Matrix] = {}
        L[k, k], D_inv[k] = _factors(blocks[k, k])
        x[k] = [y for (y,) in _inward(L[k, k], [[y] for y in x[k]])]

        def eliminated(given: tuple[Matrix, list[Scalar]], k: int = k) -> tuple[Matrix, Matrix, list[Scalar]]:
            block, above = given
            DL = _inward(L[k, k], block)
            L_kn = [[y * d for y in row] for row, d in zip(DL, D_inv[k], strict=True)]
            return DL, L_kn, [less(y, column, x[k]) for y, column in zip(above, zip(*L_kn, strict=True), strict=True)]

        for n in range(k):
            unread = [[UNREAD] * len(limbs[n]) for _ in limbs[k]]
            DL[n], L[k, n], x[n] = _where(there[k, n], (blocks[k, n], x[n]), eliminated, (unread, unread, x[n]))
        for m, n in pairs[: k * (k + 1) // 2]:
            both = _product(there[k, m], there[k, n])
            given = blocks[m, n], L[k, m], DL[n]
            blocks[m, n] = _where(both, given, lambda given: _lessened(*given), blocks[m, n])
            there[m, n] = _sum(there[m, n], both)
    for k in range(len(limbs)):
        x[k] = [y * d for y, d in zip(x[k], D_inv[k], strict=True)]
        for n in range(k):
            x[k] = _where(there[k, n], (x[k], L[k, n], x[n]), lambda given: _following(*given), x[k])
        for i, row in enumerate(L[k, k]):
            x[k][i] = x[k][i] - dot(row, x[k][:i])
    found = {i: y for limb, own in zip(limbs, x, strict=True) for i, y in zip(limb, own, strict=True)}
    return [found[i] for i in range(len(b))]


def _where(there: Scalar | None, given: G, build: Callable[[G], S], otherwise: S) -> S:
    """Of blocks that are there in any case, None, or where some lane has them."""
    return build(given) if there is None else where_needed(there > 0, given, build, otherwise)


def _product(one: Scalar | None, two: Scalar | None) -> Scalar | None:
    return two if one is None else one if two is None else one * two


def _sum(one: Scalar | None, two: Scalar | None) -> Scalar | None:
    return None if one is None or two is None else one + two


def _factors(A: Matrix) -> tuple[Matrix, list[Scalar]]:
    """A = Lᵀ D L of a limb alone, a tree without branches: L below its diagonal, and D⁻¹."""
    factors = TreeFactors.of(A, range(-1, len(A) - 1))
    return [row[:k] for k, row in enumerate(factors.L)], factors.D_inv


def _inward(L: Matrix, B: Matrix) -> Matrix:
    """L⁻ᵀ B."""
    B = [list(row) for row in B]
    for k in reversed(range(len(B))):
        for i in range(k):
            B[i] = [y - L[k][i] * z for y, z in zip(B[i], B[k], strict=True)]
    return B


def _lessened(B: Matrix, X: Matrix, Y: Matrix) -> Matrix:
    """B - Xᵀ Y, as far as B has entries."""
    columns = list(zip(*Y, strict=True))
    return [
        [less(y, x, column) for y, column in zip(row, columns, strict=False)]
        for row, x in zip(B, zip(*X, strict=True), strict=True)
    ]


def _following(x: Scalars, L: Matrix, before: Scalars) -> list[Scalar]:
    """x - L y, y of a limb before this one."""
    return [less(y, row, before) for y, row in zip(x, L, strict=True)]
