"""The inverse of a symbolic mass matrix: adjugate over determinant, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from qdot.algebra.linalg import Matrix
from qdot.derivation.ring import Ring, Sum
from qdot.errors import DerivationError, SingularError

LARGEST = 4
"""Rows of a block; the determinant of a larger one has more terms than anyone reads."""


def inverse(ring: Ring, M: Matrix, names: Sequence[str]) -> Matrix:
    """M⁻¹ of a symmetric matrix; freedoms, of these names, that are not coupled are inverted by themselves."""
    n = len(M)
    result: Matrix = [[ring.constant(0)] * n for _ in range(n)]
    for block in _blocks(M):
        if len(block) > LARGEST:
            raise DerivationError(
                f"the inverse of a mass matrix that couples {len(block)} freedoms is not written down, {LARGEST} is "
                "the most; steps('inverse_mass_matrix', 'connection_coefficients', 'hamiltonian') have no such limit"
            )
        part = [[M[i][j] for j in block] for i in block]
        determinant = _minor(ring, part, range(len(block)), range(len(block)))
        if not determinant.terms:
            raise SingularError(
                f"the mass matrix is singular: some motion of {', '.join(repr(names[i]) for i in block)} moves no "
                "mass, so M⁻¹, and with it Γ and H, is not there; give the bodies an inertia or the joints an armature"
            )
        over = determinant.reciprocal()
        for r, i in enumerate(block):
            for c, j in enumerate(block):
                rows = [k for k in range(len(block)) if k != c]
                columns = [k for k in range(len(block)) if k != r]
                result[i][j] = _minor(ring, part, rows, columns) * over * (-1) ** (r + c)
    return result


def _blocks(M: Matrix) -> list[list[int]]:
    """The freedoms that are coupled with each other, directly or by others."""
    left = set(range(len(M)))
    found = []
    while left:
        block, pending = set(), [min(left)]
        while pending:
            i = pending.pop()
            block.add(i)
            pending += [j for j in left - block if M[i][j].terms]
        left -= block
        found.append(sorted(block))
    return found


def _minor(ring: Ring, M: Matrix, rows: range | list[int], columns: range | list[int]) -> Sum:
    """The determinant of these rows and columns, expanded by the first row, each smaller one once."""

    @cache
    def determinant(first: int, left: tuple[int, ...]) -> Sum:
        if not left:
            return ring.constant(1)
        parts = []
        for place, j in enumerate(left):
            rest = left[:place] + left[place + 1 :]
            parts.append(M[rows[first]][j] * determinant(first + 1, rest) * (-1) ** place)
        return ring.total(parts)

    return determinant(0, tuple(columns)).cleaned()
