"""The Coriolis matrix C(q, v) with C v = c and Ṁ - 2C skew (T25): the one passivity-based control needs.

C = Σ J_iᵀ (I_i J̇_i + B_i J_i) with B(I, v) = ½ (v×* I + (I v)×̄* - I v×), gathered from the leaves as composite
inertias are. Echeandia, Wensing, arXiv:2010.01033 (2021), algorithm 1, here with joints of any freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

from qdot.algebra import Mat3, Scalars, Vec3
from qdot.algebra.linalg import Matrix
from qdot.algorithms.frames import Choice, body_frames
from qdot.model.model import Model
from qdot.spatial import Basis, Force, Inertia, Motion, Transform


@dataclass(frozen=True, slots=True)
class CoriolisFactor:
    """B = [[A, 0], [-k̃, 0]]: for a rigid body all but these twelve numbers cancel, and k is its linear momentum.

    With I = (m, h, I_O) and v = (ω, u): A = ½ (ω̃ I_O - I_O ω̃ - ũ h̃ - h̃ ũ - ñ), n = I_O ω + h × u, k = m u - h × ω.
    """

    A: Mat3
    k: Vec3

    @staticmethod
    def of(I: Inertia, v: Motion) -> CoriolisFactor:
        P = I @ v
        A = (I.rate(v).rotational.full() - P.ang.skew()) / 2
        return CoriolisFactor(A, P.lin)

    @staticmethod
    def zero() -> CoriolisFactor:
        return CoriolisFactor(Mat3.zero(), Vec3.zero())

    def __add__(self, other: CoriolisFactor) -> CoriolisFactor:
        return CoriolisFactor(self.A + other.A, self.k + other.k)

    def __matmul__(self, v: Motion) -> Force:
        return Force(self.A @ v.ang, v.ang.cross(self.k))

    def transposed(self, v: Motion) -> Force:
        return Force(self.A.T @ v.ang + self.k.cross(v.lin), Vec3.zero())

    def outward(self, X: Transform) -> CoriolisFactor:
        R, k = X.rotation, X.rotation @ self.k
        return CoriolisFactor(R @ self.A @ R.T - X.position.skew() @ k.skew(), k)

    def inward(self, X: Transform) -> CoriolisFactor:
        return self.outward(X.inv().transform())


def coriolis_matrix(model: Model, q: Scalars, v: Scalars, *, frames: Choice = body_frames) -> Matrix:
    """C(q, v), nv × nv: C v = c(q, v), and Ṁ = C + Cᵀ."""
    at = frames(model, q)
    X, S, V, dS = at.X, at.S, [Motion.zero()], [Basis.motions()]
    Ic, Bc = [Inertia.zero()], [CoriolisFactor.zero()]
    for body in model.bodies:  # root to leaves
        i, qi, vi = body.index, q[body.qs], v[body.dofs]
        V.append(X[i].inv() @ V[body.parent] + S[i] @ vi)
        apparent = at.placed(i, body.joint.subspace_rate(qi, vi))
        dS.append(Basis.motions(*(V[i].cross(s) + r for s, r in zip(S[i], apparent, strict=True))))
        Ic.append(at.placed(i, body.inertia))
        Bc.append(CoriolisFactor.of(Ic[i], V[i]))
    C: Matrix = [[0] * model.nv for _ in range(model.nv)]
    for body in reversed(model.bodies):  # leaves to root
        i, p = body.index, body.parent
        F1 = [Ic[i] @ ds + Bc[i] @ s for s, ds in zip(S[i], dS[i], strict=True)]
        F2 = [Ic[i] @ s for s in S[i]]
        F3 = [Bc[i].transposed(s) for s in S[i]]
        Ic[p], Bc[p] = Ic[p] + X[i] @ Ic[i], Bc[p] + X[i] @ Bc[i]
        own = range(body.dofs.start, body.dofs.stop)
        j = i
        while True:
            dofs = model.bodies[j - 1].dofs
            for k, f1, f2, f3 in zip(own, F1, F2, F3, strict=True):
                for m, s, ds in zip(range(dofs.start, dofs.stop), S[j], dS[j], strict=True):
                    C[m][k] = s.dot(f1)
                    if j != i:
                        C[k][m] = ds.dot(f2) + s.dot(f3)
            if not model.parents[j]:
                break
            F1, F2, F3 = ([X[j] @ f for f in F] for F in (F1, F2, F3))
            j = model.parents[j]
    return C
