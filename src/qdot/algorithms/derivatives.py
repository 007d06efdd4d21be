"""Derivatives of inverse and forward dynamics along the freedoms, by recursion over the tree.

Along a freedom e of joint k, with Ψ̇, Ψ̈, c of `motion_partials`, the force on body i and all that it carries varies by

    ∂F_i/∂q_e = s_e ×* F_i + I_i^c Ψ̈_e + 2 B_i^c Ψ̇_e + E_i^c s_e,    ∂F_i/∂v_e = I_i^c c_e + 2 B_i^c s_e

where i is k or behind it; before k it varies as F_k does. I^c and B^c are composites of inertias and of the factors of
the Coriolis matrix; E^c those of the external wrenches, which keep their direction in the world. Then τ = Sᵀ F gives,
for i at or behind k, s_i·(I_i^c Ψ̈_e + 2 B_i^c Ψ̇_e + E_i^c s_e) and, for i before k, s_i·∂F_k. So four forces of each
freedom are carried to the root and meet the freedoms on the way: O(n d) for n freedoms in a tree of depth d.

Singh, Russell, Wensing, RA-L 7(2), 2022 (arXiv:2105.05102), algorithm 1; Carpentier, Mansard, RSS 2018. Here in body
coordinates, for joints of any freedom whose S may depend on q, with springs, damping, armature and wrenches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Mat3, Scalar, Scalars, Vec3, derivative, is_number
from qdot.algebra.linalg import Matrix, TreeFactors
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.algorithms.coriolis import CoriolisFactor
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.kinematics import frame_pose, local_poses
from qdot.algorithms.maps import added
from qdot.algorithms.motion_partials import MotionPartials, motion_partials
from qdot.algorithms.passive import acts_across_joints, passive_forces
from qdot.algorithms.rnea import Wrenches, newton_euler
from qdot.model.model import Body, Model
from qdot.spatial import Force, Inertia, Motion, Transform


def inverse_dynamics_derivatives(
    model: Model, q: Scalars, v: Scalars, a: Scalars, *, wrenches: Wrenches | None = None
) -> tuple[Matrix, Matrix]:
    """(∂τ/∂q, ∂τ/∂v), each nv × nv, of `inverse_dynamics`; ∂τ/∂a is the mass matrix.

    Wrenches stay as they are in world axes at the origins of their frames, and dry friction keeps its sign.
    """
    X = local_poses(model, q)
    motions: list[MotionPartials] = []
    total = [_Composite.zero()]
    for body in model.bodies:  # root to leaves
        i, p, I = body.index, body.parent, body.inertia
        V = X[i].inv() @ motions[p - 1].V if p else Motion.zero()
        A = X[i].inv() @ (motions[p - 1].A if p else Motion(Vec3.zero(), -model.gravity))
        motions.append(motion_partials(body.joint, V, A, q[body.qs], v[body.dofs], a[body.dofs]))
        total.append(_Composite.of(I, motions[-1].V, motions[-1].A))
    for name, wrench in (wrenches or {}).items():
        i = model.frame(name).body
        total[i] = total[i].with_wrench(frame_pose(model, q, name), model.frame(name).placement, wrench)
    dq: Matrix = [[0] * model.nv for _ in range(model.nv)]
    dv: Matrix = [[0] * model.nv for _ in range(model.nv)]
    for body in reversed(model.bodies):  # leaves to root
        i, p = body.index, body.parent
        for e, k in enumerate(_places(body)):
            _add_freedom(model, X, motions, total[i], (i, e, k), dq, dv)
        for k, dS in enumerate(motions[i - 1].dS, start=body.dofs.start):
            for row, x in enumerate(dS.T @ total[i].F, start=body.dofs.start):  # the axes vary in their own body
                dq[row][k] = dq[row][k] + x
        if p:
            total[p] = total[p] + total[i].outward(X[i])
    _subtract_passive(model, q, v, dq, dv)
    return dq, dv


def forward_dynamics_derivatives(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂a/∂q, ∂a/∂v, ∂a/∂τ), each nv × nv, of `forward_dynamics`: -M⁻¹ ∂τ/∂q and -M⁻¹ ∂τ/∂v at that a, and M⁻¹."""
    M = TreeFactors.of(mass_matrix(model, q), model.dof_parents)
    bias, _ = newton_euler(model, q, v, [0] * model.nv, wrenches=wrenches)
    a = M.solve([t + f - x for t, f, x in zip(tau, passive_forces(model, q, v), bias, strict=True)])
    dq, dv = inverse_dynamics_derivatives(model, q, v, a, wrenches=wrenches)
    n = range(model.nv)
    sides: list[tuple[int, Scalars]] = []
    for k in reversed(n):  # leaves to root, as they were found
        sides += [(k, [-row[k] for row in dq]), (k, [-row[k] for row in dv]), (k, [1 if i == k else 0 for i in n])]
    columns = M.solve_each(sides)[::-1]
    a_tau, a_v, a_q = columns[0::3], columns[1::3], columns[2::3]
    return (
        [[a_q[k][i] for k in n] for i in n],
        [[a_v[k][i] for k in n] for i in n],
        [[a_tau[max(i, k)][min(i, k)] for k in n] for i in n],  # symmetric to the last bit
    )


@dataclass(frozen=True, slots=True)
class _Composite:
    """What a body and all that it carries oppose, in its coordinates."""

    I: Inertia
    B: CoriolisFactor
    """2 B(I, V)."""
    F: Force
    """I A + V ×* I V, less the external wrenches f."""
    E: CoriolisFactor | None = None
    """s ↦ s ×* f - ∂f: what f lacks because it does not turn with the body. It has the form of a B."""

    @staticmethod
    def zero() -> _Composite:
        return _Composite(Inertia.zero(), CoriolisFactor.zero(), Force.zero())

    @staticmethod
    def of(I: Inertia, V: Motion, A: Motion) -> _Composite:
        P = I @ V
        return _Composite(I, twice_coriolis_factor(I, V, P), I @ A + V.cross(P))

    def with_wrench(self, X_WF: Transform, X_BF: Transform, wrench: Force) -> _Composite:
        """With an external wrench, given in world axes at the origin of a frame F."""
        to_body = X_BF.rotation @ X_WF.rotation.T
        n, f, r = to_body @ wrench.ang, to_body @ wrench.lin, X_BF.position
        E = CoriolisFactor(-n.skew() - r.skew() @ f.skew(), f)
        return _Composite(self.I, self.B, self.F - Force(n + r.cross(f), f), E if self.E is None else self.E + E)

    def __add__(self, other: _Composite) -> _Composite:
        E = self.E + other.E if self.E and other.E else self.E or other.E
        return _Composite(self.I + other.I, self.B + other.B, self.F + other.F, E)

    def outward(self, X: Transform) -> _Composite:
        return _Composite(X @ self.I, X @ self.B, X @ self.F, self.E and X @ self.E)


def twice_coriolis_factor(I: Inertia, V: Motion, P: Force) -> CoriolisFactor:
    """2 B(I, V), with P = I V: its A is -2 (ω̃ Σ + h̃ ũ), where Σ = ½ tr(I_O) 1 - I_O are the second moments of mass."""
    J, h = I.rotational, I.moment + I.moment
    xy, xz, yz = J.xy + J.xy, J.xz + J.xz, J.yz + J.yz
    rows = ((J.xx - J.yy - J.zz, xy, xz), (xy, J.yy - J.xx - J.zz, yz), (xz, yz, J.zz - J.xx - J.yy))
    A = V.ang.skew() @ Mat3(*(Vec3(*row) for row in rows)) - h.skew() @ V.lin.skew()
    return CoriolisFactor(A, P.lin + P.lin)


def _add_freedom(
    model: Model,
    X: Sequence[Transform],
    motions: Sequence[MotionPartials],
    total: _Composite,
    freedom: tuple[int, int, int],
    dq: Matrix,
    dv: Matrix,
) -> None:
    """Column k, and row k before the diagonal, of ∂τ/∂q and ∂τ/∂v: of freedom e of joint i, the k-th of all."""
    i, e, k = freedom
    m, I, B, E = motions[i - 1], total.I, total.B, total.E
    s = m.S.columns[e]
    F_v = I @ m.c[e] + B @ s
    F_q = I @ m.psi2[e] + B @ m.psi1[e]
    inertial, gyric = I @ s, B.transposed(s).ang  # B's transpose makes moments only
    lasting = None
    if E is not None:
        F_q, lasting = F_q + E @ s, E.transposed(s).ang
    for row, s_d in enumerate(m.S, start=model.bodies[i - 1].dofs.start):
        dq[row][k], dv[row][k] = s_d.dot(F_q), s_d.dot(F_v)
    F_q = F_q + s.cross(total.F)
    while model.parents[i]:
        R = X[i].rotation
        F_q, F_v, inertial, gyric = X[i] @ F_q, X[i] @ F_v, X[i] @ inertial, R @ gyric
        lasting = lasting and R @ lasting
        i = model.parents[i]
        m = motions[i - 1]
        for d, (row, s) in enumerate(zip(_places(model.bodies[i - 1]), m.S, strict=True)):
            dq[row][k], dv[row][k] = s.dot(F_q), s.dot(F_v)
            dq[k][row] = inertial.dot(m.psi2[d]) + gyric.dot(m.psi1[d].ang)
            dv[k][row] = inertial.dot(m.c[d]) + gyric.dot(s.ang)
            if lasting is not None:
                dq[k][row] = dq[k][row] + lasting.dot(s.ang)


def _places(body: Body) -> range:
    return range(body.dofs.start, body.dofs.stop)


def _subtract_passive(model: Model, q: Scalars, v: Scalars, dq: Matrix, dv: Matrix) -> None:
    """Springs and dampers: blocks on the diagonal, unless something acts across joints.

    A joint's own forces depend on no other joint, so one derivative serves the first freedoms of all joints, and so on.
    """
    if acts_across_joints(model):
        for k in range(model.nv):
            along = unit_velocity(model, k)
            by_q = derivative(lambda step: passive_forces(model, retract(model, q, step), v), along)
            by_v = derivative(lambda step: passive_forces(model, q, added(v, step)), along)
            for row in range(model.nv):
                dq[row][k], dv[row][k] = dq[row][k] - by_q[row], dv[row][k] - by_v[row]
        return
    for body in model.bodies:
        for k, d in zip(_places(body), body.passive.damping, strict=True):
            dv[k][k] = dv[k][k] + d
    sprung = [b for b in model.bodies if not all(is_number(x) and x == 0 for x in b.passive.stiffness)]
    for e in range(max((b.joint.nv for b in sprung), default=0)):
        rate: list[Scalar] = [0] * model.nq
        for body in sprung:
            rate[body.qs] = body.joint.rate(q[body.qs], [1 if i == e else 0 for i in range(body.joint.nv)])
        slopes = derivative(lambda step: passive_forces(model, [x + y for x, y in zip(q, step, strict=True)], v), rate)
        for body in sprung:
            k = body.dofs.start + e
            for row in _places(body) if e < body.joint.nv else ():
                dq[row][k] = dq[row][k] - slopes[row]
