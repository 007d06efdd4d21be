"""The acceleration under constraints where M and J are sparse (T8): M a = f + Jᵀ λ, J a = b by S = J M⁻¹ Jᵀ.

Two constraints are coupled in S where they act on freedoms that M couples. Of free bodies side by side, the maximal
coordinates of a mechanism, these are the constraints that share a body. So S has the pattern of the mechanism, and for
chains and trees the cost is linear in the bodies: there is next to no fill-in.

Rows may repeat each other: S is then singular, and the last of them to be eliminated is passed over; it carries no
force. a and Jᵀ λ do not depend on which one that is. Nor does a row carry a force that says nothing, 0 = 0, up to
rounding, as most rows do that hold a planar mechanism in space. S has the square of J's condition: what J a misses is
solved for once more, with the same factors.

Source: Featherstone, RBDA (2008), section 8.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, is_zero
from qdot.algebra.sparse import VANISHING, Row, SparseFactors, beyond_rounding, elimination_order, sparse_rows
from qdot.algorithms.constrained import is_new, noise_of
from qdot.algorithms.constraints.rows import times, transposed_times


@dataclass(frozen=True)
class SparseSchur:
    """M and S = J M⁻¹ Jᵀ, the Schur complement of the saddle point of T7, factorised."""

    J: list[Row]
    mass: SparseFactors
    schur: SparseFactors

    @staticmethod
    def of(
        M: SparseFactors | Sequence[Mapping[int, Scalar] | Scalars],
        J: Sequence[Mapping[int, Scalar] | Scalars],
        repeated: float = VANISHING,
    ) -> SparseSchur:
        """Rows in full or by their places; of one that repeats others `repeated` of its size is left at most. M, or its
        factors, is definite, with the sparsity of a tree or forest in which parents stand before their children: from
        the last row to the first it is eliminated without fill-in."""
        rows = sparse_rows(J)
        mass = M if isinstance(M, SparseFactors) else factorised(M)
        S = _schur_complement(mass, rows)
        return SparseSchur(rows, mass, _factorised(S, repeated))

    @property
    def kept(self) -> list[Scalar]:
        """For each row 1, or 0 if it repeats others or says nothing."""
        return self.schur.kept

    def correction(self, r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """(M⁻¹ Jᵀ λ, λ) with J M⁻¹ Jᵀ λ = r."""
        multipliers = self.schur.solve(r)
        missed = [x - y for x, y in zip(r, times(self.J, self._change(multipliers)), strict=True)]
        multipliers = [x + y for x, y in zip(multipliers, self.schur.solve(missed), strict=True)]
        return self._change(multipliers), multipliers

    def acceleration(self, f: Scalars, b: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """(a, λ) with M a = f + Jᵀ λ and J a = b."""
        free = self.mass.solve(f)
        change, multipliers = self.correction([x - y for x, y in zip(b, times(self.J, free), strict=True)])
        return [x + y for x, y in zip(free, change, strict=True)], multipliers

    def response(self, f: Scalars) -> list[Scalar]:
        """(M⁻¹ - M⁻¹ Jᵀ S⁻¹ J M⁻¹) f: the acceleration with J a = 0 that the constraints leave of forces f."""
        return self.acceleration(f, [0] * len(self.J))[0]

    def _change(self, multipliers: Scalars) -> list[Scalar]:
        return self.mass.solve(transposed_times(self.J, multipliers, len(self.mass.order)))


def _schur_complement(mass: SparseFactors, J: Sequence[Row]) -> list[Row]:
    """The lower triangle of J M⁻¹ Jᵀ, freedom by freedom: what two rows share."""
    acting: list[Row] = [{} for _ in mass.order]
    for i, row in enumerate(J):
        for k, y in mass.half_solve(row).items():
            acting[k][i] = y
    S: list[Row] = [{} for _ in J]
    for column, d in zip(acting, mass.D_inv, strict=True):
        for i, y in column.items():
            z = y * d
            for j, x in column.items():
                if j <= i:
                    S[i][j] = S[i].get(j, 0) + x * z
    return S


def factorised(M: Sequence[Mapping[int, Scalar] | Scalars]) -> SparseFactors:
    """M from the last row to the first; nothing is passed over."""
    return SparseFactors.of(sparse_rows(M), range(len(M) - 1, -1, -1), lambda pivot, size: True)


def _factorised(S: Sequence[Row], repeated: float) -> SparseFactors:
    order = elimination_order(S)
    noise = noise_of([row.get(i, 0) for i, row in enumerate(S)])
    if noise is None:
        return SparseFactors.of(S, order, is_new)
    own = iter([x for k in order if not is_zero(x := S[k].get(k, 0))])  # of the rows that are asked for, in order

    def is_kept(pivot: Scalar, size: Scalar) -> Scalar:
        """A row that repeats others has nothing left of its own; what rounding may leave grows with `size`."""
        return (pivot > repeated * next(own)) & beyond_rounding(pivot, size) & (pivot > noise)

    return SparseFactors.of(S, order, is_kept)
