"""Hamilton's mechanics (T27): the state is (q, p) with p = M v, and H(q, p) = ½ pᵀ M⁻¹ p + P(q) drives it.

    v = ∂H/∂p = M⁻¹ p,    ṗ_k = -∂_k H + p·[v, e_k] + τ_k,    Ḣ = vᵀ τ

Where v = q̇ the bracket vanishes and these are Hamilton's equations. For joints with quaternions p is paired with the
velocity v, not with q̇, and the bracket is that of Lie and Poisson; for one free rotor it is Euler's ṗ = p × ω + τ.
As in the Lagrange form, p in the bracket is the momentum of the bodies, without that of their drives (armature).

The equations are computed without a derivative of H. p_k = s_k · h_k, with h_k the spatial momentum of all that freedom
k carries, and the rate of h_k is the force through its joint and the weight. So ṗ_k = ṡ_k · h_k + τ_k - g_k, in which
ṡ_k · h_k = ½ vᵀ ∂_k M v + p·[v, e_k] = (C(q, v)ᵀ v)_k; two sweeps over the tree.
"""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, derivative
from qdot.algebra.linalg import TreeFactors, dot
from qdot.algorithms.bias import gravity_forces
from qdot.algorithms.configuration import retract
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.energy import potential_energy
from qdot.algorithms.kinematics import local_poses
from qdot.algorithms.lagrangian import external_joint_forces
from qdot.algorithms.passive import armature, passive_forces
from qdot.algorithms.rnea import Wrenches
from qdot.model.model import Model
from qdot.spatial import Basis, Force, Motion


def generalized_momentum(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """p = ∂L/∂v = M(q) v, (nv,) [N·m·s, N·s]: the covector of a velocity, its index lowered by the metric M (T28)."""
    S, _, h = _motion(model, q, v)
    bodies = [x for body in model.bodies for x in S[body.index].T @ h[body.index]]
    return [x + d * y for x, d, y in zip(bodies, armature(model), v, strict=True)]


def velocity_of_momentum(model: Model, q: Scalars, p: Scalars) -> list[Scalar]:
    """v = ∂H/∂p = M(q)⁻¹ p, (nv,): the vector of a covector (a momentum, a force), its index raised (T28)."""
    return TreeFactors.of(mass_matrix(model, q), model.dof_parents).solve(p)


def hamiltonian(model: Model, q: Scalars, p: Scalars) -> Scalar:
    """H = pᵀv - L = ½ pᵀ M⁻¹ p + P [J]: the energy as a function of momentum, Legendre's transform of L = K - P."""
    return dot(p, velocity_of_momentum(model, q, p)) / 2 + potential_energy(model, q)


def hamilton_equations(
    model: Model, q: Scalars, p: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> tuple[list[Scalar], list[Scalar]]:
    """(v, ṗ), each (nv,): Hamilton's vector field, with joint forces τ, passive forces and external wrenches.

    q moves along v: by `retract`, or by q̇ = `configuration_rate(q, v)`, which is v itself for plain joints.
    """
    v = velocity_of_momentum(model, q, p)
    forces = zip(
        momentum_forces(model, q, v),
        tau,
        passive_forces(model, q, v),
        external_joint_forces(model, q, wrenches),
        gravity_forces(model, q),
        strict=True,
    )
    return v, [moving + t + own + external - g for moving, t, own, external, g in forces]


def momentum_forces(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """C(q, v)ᵀ v = ṡ_k · h_k, (nv,): how momentum passes between freedoms that move; ṗ is this and all forces."""
    S, V, h = _motion(model, q, v)
    rates: list[Scalar] = []
    for body in model.bodies:
        i = body.index
        seen = body.joint.subspace_rate(q[body.qs], v[body.dofs])  # from the body
        rates += [(V[i].cross(s) + r).dot(h[i]) for s, r in zip(S[i], seen, strict=True)]
    return rates


def forward_dynamics(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """a = M⁻¹ (ṗ - Ṁ v), (nv,), with ṗ of Hamilton's equations."""
    _, p_dot = hamilton_equations(model, q, generalized_momentum(model, q, v), tau, wrenches=wrenches)
    drift = derivative(lambda dv: generalized_momentum(model, retract(model, q, dv), v), v)
    return velocity_of_momentum(model, q, [x - y for x, y in zip(p_dot, drift, strict=True)])


def _motion(model: Model, q: Scalars, v: Scalars) -> tuple[list[Basis[Motion]], list[Motion], list[Force]]:
    """S, V and the momentum h of each body with all that hangs on it, in its own coordinates; the world first."""
    X, S, V = local_poses(model, q), [Basis.motions()], [Motion.zero()]
    h = [Force.zero()]
    for body in model.bodies:  # root to leaves
        i = body.index
        S.append(body.joint.subspace(q[body.qs]))
        V.append(X[i].inv() @ V[body.parent] + S[i] @ v[body.dofs])
        h.append(body.inertia @ V[i])
    for body in reversed(model.bodies):  # leaves to root
        if body.parent:
            h[body.parent] = h[body.parent] + X[body.index] @ h[body.index]
    return S, V, h
