"""Σ Sᵀ I S + diagonal, a mass matrix of any opposition to motion, factorised without being formed: articulated bodies.

The sum over all bodies of what opposes their motion, seen from the joints, as the matrix M is of inertias. The factors
are those of the articulated-body algorithm (RBDA 2008, table 7.1), and solving with them is its two sweeps; cost and
memory are linear in the bodies. All is written in one frame, so that nothing is carried between bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars
from qdot.algebra.linalg import TreeFactors, ldlt
from qdot.algorithms.aba import plus_diagonal, yielding
from qdot.algorithms.frames import Frames
from qdot.model.model import Model
from qdot.spatial import ArticulatedInertia, Basis, Force, Motion


@dataclass(frozen=True)
class Articulated:
    """Of each body, the world first: what its joint works against (U), and the factors of Sᵀ U."""

    model: Model
    S: Sequence[Basis[Motion]]
    U: list[Basis[Force]]
    D: list[TreeFactors]

    @staticmethod
    def of(model: Model, at: Frames, I: Sequence[ArticulatedInertia], diagonal: Scalars) -> Articulated:
        """`I` opposes motion of each body, the world first; `diagonal` that of each freedom, (nv,)."""
        S, IA = at.S, list(I)
        U, D = [Basis.forces()] * len(IA), [TreeFactors.of([], [])] * len(IA)
        for body in reversed(model.bodies):  # leaves to root
            i, p = body.index, body.parent
            U[i] = Basis.forces(*(IA[i] @ s for s in S[i]))
            SU = plus_diagonal([S[i].T @ f for f in U[i]], diagonal[body.dofs])
            D[i] = TreeFactors.of(SU, range(-1, len(SU) - 1))
            if p:
                IA[p] = IA[p] + yielding(IA[i], U[i], ldlt(SU))
        return Articulated(model, S, U, D)

    def solve(self, tau: Scalars) -> list[Scalar]:
        """x with (Σ Sᵀ I S + diagonal) x = τ."""
        model, S, U, D = self.model, self.S, self.U, self.D
        p = [Force.zero()] * len(S)
        u: list[list[Scalar]] = [[]] * len(S)
        for body in reversed(model.bodies):  # leaves to root
            i = body.index
            u[i] = [t - x for t, x in zip(tau[body.dofs], S[i].T @ p[i], strict=True)]
            if body.parent:
                p[body.parent] = p[body.parent] + p[i] + U[i] @ D[i].solve(u[i])
        x: list[Scalar] = [0] * model.nv
        A = [Motion.zero()]
        for body in model.bodies:  # root to leaves
            i, above = body.index, A[body.parent]
            x[body.dofs] = D[i].solve([a - b for a, b in zip(u[i], U[i].T @ above, strict=True)])
            A.append(above + S[i] @ x[body.dofs])
        return x
