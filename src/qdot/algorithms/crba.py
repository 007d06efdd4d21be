"""The joint-space inertia matrix by the composite-rigid-body algorithm (T21). RBDA (2008), table 6.2."""

from __future__ import annotations

from collections.abc import Sequence

from qdot.algebra import Scalars
from qdot.algebra.linalg import Matrix
from qdot.algorithms.frames import Choice, Frames, body_frames
from qdot.algorithms.passive import armature
from qdot.model.model import Model
from qdot.spatial import ArticulatedInertia, Inertia


def mass_matrix(model: Model, q: Scalars, *, frames: Choice = body_frames) -> Matrix:
    """M(q), nv × nv, symmetric: M_ij = s_iᵀ I_j^c s_j for a joint j on the way from i to the leaves, else zero."""
    at = frames(model, q)
    M = joint_space(model, at, composite_inertias(model, at))
    for k, d in enumerate(armature(model)):
        M[k][k] = M[k][k] + d
    return M


def joint_space(model: Model, at: Frames, Ic: Sequence[Inertia] | Sequence[ArticulatedInertia]) -> Matrix:
    """s_iᵀ I_j^c s_j, nv × nv, of what opposes motion of each body with all that hangs on it."""
    X, S = at.X, at.S
    M: Matrix = [[0] * model.nv for _ in range(model.nv)]
    for body in reversed(model.bodies):  # leaves to root
        i = body.index
        F = [Ic[i] @ s for s in S[i]]
        j = i
        while j:
            first = model.bodies[j - 1].dofs.start
            for row, f in enumerate(F, start=body.dofs.start):
                for column, x in enumerate(S[j].T @ f, start=first):
                    if column <= row:
                        M[row][column] = M[column][row] = x
            F = [X[j] @ f for f in F]
            j = model.parents[j]
    return M


def composite_inertias(model: Model, at: Frames) -> list[Inertia]:
    """I^c of each body with all that hangs on it; entry 0, the world's, stays empty."""
    Ic = [Inertia.zero(), *(at.placed(body.index, body.inertia) for body in model.bodies)]
    for body in reversed(model.bodies):  # leaves to root
        i, p = body.index, body.parent
        if p:
            Ic[p] = Ic[p] + at.X[i] @ Ic[i]
    return Ic
