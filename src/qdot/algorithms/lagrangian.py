"""The explicit Lagrange form (K1–K8, H14, H16): M from Jacobians, V from the derivatives of M, G from those of P.

Independent of the recursive algorithms, and slower. Partial derivatives are taken along the freedoms, exactly, by dual
numbers. Where v is not q̇ (quaternions), the freedoms' directions do not commute and Lagrange's equations gain Hamel's
term: V_k = (Ṁ v)_k - ½ vᵀ ∂_kM v - p·[v, e_k] with p = M v.
"""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, Vec3, derivative, is_number
from qdot.algebra.linalg import Matrix, dot, ldlt, ldlt_solve, matvec
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.algorithms.energy import potential_energy
from qdot.algorithms.jacobian import jacobian, link_jacobians
from qdot.algorithms.kinematics import world_poses
from qdot.algorithms.passive import armature, passive_terms
from qdot.algorithms.rnea import Wrenches
from qdot.model.model import Model


def mass_matrix(model: Model, q: Scalars) -> Matrix:
    """M = Σ (m J_vᵀ J_v + J_ωᵀ I_C J_ω) + armature, nv × nv (K5, H14)."""
    n = model.nv
    X = world_poses(model, q)
    M: Matrix = [[0] * n for _ in range(n)]
    for body, (J_v, J_w) in zip(model.bodies, link_jacobians(model, q), strict=True):
        m = body.inertia.mass
        massless = is_number(m) and m == 0  # then J_v is of the origin, and a table may still give a moment there
        I_C = (body.inertia.rotational if massless else body.inertia.at_com).congruence(X[body.index].rotation)
        v_columns = [Vec3(*c) for c in zip(*J_v, strict=True)]
        w_columns = [Vec3(*c) for c in zip(*J_w, strict=True)]
        h_columns = [I_C @ w for w in w_columns]
        for i in range(n):
            for j in range(n):
                M[i][j] = M[i][j] + v_columns[i].dot(v_columns[j]) * m + w_columns[i].dot(h_columns[j])
    for k, d in enumerate(armature(model)):
        M[k][k] = M[k][k] + d
    return M


def mass_matrix_partials(model: Model, q: Scalars) -> list[Matrix]:
    """[∂M/∂q_k for each freedom k]: m_ijk is entry [k][i][j] (K7)."""
    return [
        derivative(lambda dv: mass_matrix(model, retract(model, q, dv)), unit_velocity(model, k))
        for k in range(model.nv)
    ]


def christoffel_symbols(model: Model, q: Scalars) -> list[Matrix]:
    """b_ijk = ½ (m_ijk + m_ikj - m_jki), nv × nv × nv: V_i = Σ b_ijk v_j v_k where v = q̇ (K8, T25)."""
    m = mass_matrix_partials(model, q)
    n = range(model.nv)
    return [[[(m[k][i][j] + m[j][i][k] - m[i][j][k]) / 2 for k in n] for j in n] for i in n]


def velocity_forces(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """V(q, v) = Ṁ v - ½ [vᵀ (∂M/∂q_k) v] - p·[v, e_k], (nv,): from M alone (K3).

    p is the momentum of the bodies: a drive turns about its own axis whatever the rest does; armature adds to M only.
    """
    dM = mass_matrix_partials(model, q)
    p = [x - d * y for x, d, y in zip(matvec(mass_matrix(model, q), v), armature(model), v, strict=True)]
    dM_v = [matvec(m, v) for m in dM]
    V = []
    for k in range(model.nv):
        rate = dot([row[k] for row in dM_v], v)
        V.append(rate - dot(v, dM_v[k]) / 2)
    for body in model.bodies:
        nv = body.joint.nv
        for k in range(nv):
            e = [1 if i == k else 0 for i in range(nv)]
            V[body.dofs.start + k] = V[body.dofs.start + k] - dot(p[body.dofs], body.joint.bracket(v[body.dofs], e))
    return V


def potential_forces(model: Model, q: Scalars) -> list[Scalar]:
    """∂P/∂q, (nv,): of weight and of springs (K11, H16)."""
    return [
        derivative(lambda dv: potential_energy(model, retract(model, q, dv)), unit_velocity(model, k))
        for k in range(model.nv)
    ]


def dissipative_forces(model: Model, q: Scalars, v: Scalars, tau: Scalars) -> list[Scalar]:
    """τ - d v - f sign(v), and what holds up weight or drags: what acts on the joints and has no potential (H6)."""
    terms = passive_terms(model, q, v)
    del terms["springs"]
    return [sum(row) for row in zip(tau, *terms.values(), strict=True)]


def external_joint_forces(model: Model, q: Scalars, wrenches: Wrenches | None) -> list[Scalar]:
    """Σ Jᵀ f, (nv,)."""
    total: list[Scalar] = [0] * model.nv
    for name, wrench in (wrenches or {}).items():
        J_T = zip(*jacobian(model, q, name), strict=True)
        total = [t + dot(column, tuple(wrench)) for t, column in zip(total, J_T, strict=True)]
    return total


def inverse_dynamics(
    model: Model, q: Scalars, v: Scalars, a: Scalars, *, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """τ = M a + V + ∂P/∂q + d v + f sign(v) - Σ Jᵀ f, (nv,) (K2, H2, H4)."""
    rows = zip(
        matvec(mass_matrix(model, q), a),
        velocity_forces(model, q, v),
        potential_forces(model, q),
        dissipative_forces(model, q, v, external_joint_forces(model, q, wrenches)),
        strict=True,
    )
    return [inertial + V + G - psi for inertial, V, G, psi in rows]


def forward_dynamics(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """a = M⁻¹ (ψ - V - ∂P/∂q), (nv,), with ψ = τ + Σ Jᵀ f - d v - f sign(v) (H3)."""
    external = external_joint_forces(model, q, wrenches)
    rows = zip(
        dissipative_forces(model, q, v, [t + f for t, f in zip(tau, external, strict=True)]),
        velocity_forces(model, q, v),
        potential_forces(model, q),
        strict=True,
    )
    return ldlt_solve(ldlt(mass_matrix(model, q)), [psi - V - G for psi, V, G in rows])
