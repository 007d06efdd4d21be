"""Forward dynamics by the articulated-body algorithm (T23). RBDA (2008), table 7.1, for joints of any freedom."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.algebra.linalg import ldlt, ldlt_solve
from qdot.algorithms.frames import Choice, body_frames
from qdot.algorithms.passive import passive_forces
from qdot.algorithms.rnea import Wrenches, external_forces
from qdot.model.model import Model
from qdot.spatial import ArticulatedInertia, Basis, Force, Motion


def forward_dynamics(
    model: Model,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    *,
    wrenches: Wrenches | None = None,
    frames: Choice = body_frames,
) -> list[Scalar]:
    """Joint accelerations a = M(q)⁻¹ (τ + passive(q, v) + Σ Jᵀ f - c(q, v) - g(q)), (nv,) [rad/s², m/s²]."""
    force = [t + f for t, f in zip(tau, passive_forces(model, q, v), strict=True)]
    return accelerations(model, q, v, force, wrenches=wrenches, frames=frames)


def accelerations(
    model: Model,
    q: Scalars,
    v: Scalars,
    force: Scalars,
    *,
    wrenches: Wrenches | None = None,
    frames: Choice = body_frames,
) -> list[Scalar]:
    """The same from all that acts on the joints together, (nv,): a = M(q)⁻¹ (force + Σ Jᵀ f - c(q, v) - g(q))."""
    at = frames(model, q)
    X, S, V, A = at.X, at.S, [Motion.zero()], [Motion(Vec3.zero(), -model.gravity)]
    c, IA, pA = [Motion.zero()], [ArticulatedInertia.zero()], [Force.zero()]
    applied = external_forces(model, q, wrenches)
    for body in model.bodies:  # root to leaves: velocities, and what each body opposes alone
        i, p, I = body.index, body.parent, at.placed(body.index, body.inertia)
        qi, vi = q[body.qs], v[body.dofs]
        VJ = S[i] @ vi
        V.append(X[i].inv() @ V[p] + VJ)
        c.append(at.placed(i, body.joint.bias(qi, vi)) + V[i].cross(VJ))
        IA.append(ArticulatedInertia.of(I))
        pA.append(V[i].cross(I @ V[i]))
        if i in applied:
            pA[i] = pA[i] - at.placed(i, applied[i])

    U, D, u = [Basis.forces()] * len(X), [ldlt([])] * len(X), [[0]] * len(X)
    for body in reversed(model.bodies):  # leaves to root: what each body opposes with all that hangs on it
        i, p = body.index, body.parent
        U[i] = Basis.forces(*(IA[i] @ s for s in S[i]))
        D[i] = ldlt(plus_diagonal([S[i].T @ f for f in U[i]], body.passive.armature))
        u[i] = [t - x for t, x in zip(force[body.dofs], S[i].T @ pA[i], strict=True)]
        if p:
            Ia = yielding(IA[i], U[i], D[i])
            IA[p] = IA[p] + X[i] @ Ia
            pA[p] = pA[p] + X[i] @ (pA[i] + Ia @ c[i] + U[i] @ ldlt_solve(D[i], u[i]))

    a: list[Scalar] = [0] * model.nv
    for body in model.bodies:  # root to leaves: accelerations
        i, p = body.index, body.parent
        carried = X[i].inv() @ A[p] + c[i]
        a[body.dofs] = ldlt_solve(D[i], [x - y for x, y in zip(u[i], U[i].T @ carried, strict=True)])
        A.append(carried + S[i] @ a[body.dofs])
    return a


def yielding(IA: ArticulatedInertia, U: Basis[Force], D: tuple[list[list[Scalar]], list[Scalar]]) -> ArticulatedInertia:
    """I^a = I^A - U D⁻¹ Uᵀ: what a body opposes through a joint that yields. D is given by its factors L d Lᵀ.

    U D⁻¹ Uᵀ = Σ w_k w_kᵀ / d_k with W = U L⁻ᵀ, which is symmetric term by term.
    """
    L, d = D
    W = list(U)
    for k in range(len(W)):
        for j in range(k):
            W[k] = W[k] - W[j] * L[k][j]
        IA = IA.minus_square(W[k], d[k])
    return IA


def plus_diagonal(A: list[list[Scalar]], d: Scalars) -> list[list[Scalar]]:
    """A + diag(d)."""
    return [[x + d[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(A)]
