"""One body that a joint holds to the ground, by what the joint allows and by what it prevents (F9–F14).

    I a + p = f + T λ,   a = S α̇ + c,   Sᵀ T = 0

with the bias p = v ×* I v and c = Ṡ α; at rest both vanish. The route by S is the small one, nv × nv; the route by T
is 6 - nv square and also gives the force of the bearings. Any bases of the two subspaces give the same motion.
"""

from __future__ import annotations

from qdot.algebra import Scalar
from qdot.algebra.linalg import ldlt, ldlt_solve
from qdot.algorithms.constrained import nearest
from qdot.spatial import Basis, Force, Inertia, Motion


def by_motions(I: Inertia, S: Basis[Motion], f: Force, bias: Motion | None = None) -> tuple[Motion, list[Scalar]]:
    """(a, α̇): a = S (Sᵀ I S)⁻¹ Sᵀ (f - I c) + c, F13 where c = 0. `f` is the force less p, `bias` is c."""
    c = Motion.zero() if bias is None else bias
    inertia = [S.T @ (I @ s) for s in S]
    rates = ldlt_solve(ldlt(inertia), S.T @ (f - I @ c))
    return S @ rates + c, rates


def by_forces(I: Inertia, T: Basis[Force], f: Force, bias: Motion | None = None) -> tuple[Motion, list[Scalar]]:
    """(a, λ): λ = -(Tᵀ I⁻¹ T)⁻¹ Tᵀ (I⁻¹ f - c), a = I⁻¹ (f + T λ), F14 where c = 0. The body needs an inertia of its
    own."""
    c = Motion.zero() if bias is None else bias
    factors = ldlt(I.entries())
    rows = [list(t) for t in T]
    a, multipliers = nearest(lambda b: ldlt_solve(factors, b), ldlt_solve(factors, list(f)), rows, T.T @ c)
    return Motion.of(a), multipliers
