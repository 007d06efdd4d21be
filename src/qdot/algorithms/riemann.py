"""The configuration space as a Riemannian manifold with metric M(q) (T28–T32): products, connection, curvature.

Velocities are vectors, momenta and forces are covectors: M lowers an index (`generalized_momentum`), M⁻¹ raises it
(`velocity_of_momentum`), and fᵀv is power. The connection is Levi-Civita's, which keeps M and has no torsion:

    ∇_v u = v(u) + M⁻¹ C(q, v) u,    v⟨u, w⟩ = ⟨∇_v u, w⟩ + ⟨u, ∇_v w⟩,    ∇_v u - ∇_u v = [v, u]

The Coriolis matrix C is the connection: C_ij = Σ b_ijk v_k (see `christoffel`). All is written in the frame of the
joints' freedoms. For plain joints that is ∂/∂q, whose brackets vanish; for joints with quaternions it is the
left-invariant frame of the group (angular velocity in the body), and M and C in that frame are all that is needed.

Unforced motion is a geodesic, ∇_v v = 0, and Newton's law is M ∇_v v = τ - g + passive. Armature of a joint with
quaternions is an exception: the equations of motion count it in M and not in c, so their connection has torsion there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

from qdot.algebra import Scalar, Scalars, derivative, scalar_problem, scalars_in, where
from qdot.algebra.linalg import Matrix, TreeFactors, dot, matvec
from qdot.algorithms.bias import gravity_forces, velocity_forces
from qdot.algorithms.christoffel import christoffel_symbols
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.algorithms.constrained import is_symbolic
from qdot.algorithms.coriolis import coriolis_matrix
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.hamiltonian import generalized_momentum, velocity_of_momentum
from qdot.algorithms.lagrangian import external_joint_forces
from qdot.algorithms.maps import answered, asked, is_met
from qdot.algorithms.passive import passive_forces
from qdot.algorithms.rnea import Wrenches
from qdot.errors import ValueShapeError
from qdot.model.model import Model


def inner_product(model: Model, q: Scalars, v: Scalars, dv: Scalars) -> Scalar:
    """⟨v, dv⟩ = vᵀ M(q) dv of two vectors; ⟨v, v⟩ is twice the kinetic energy [J]."""
    return dot(v, generalized_momentum(model, q, dv))


def dual_product(model: Model, q: Scalars, p: Scalars, tau: Scalars) -> Scalar:
    """⟨p, τ⟩ = pᵀ M(q)⁻¹ τ of two covectors: that of their vectors."""
    return dot(p, velocity_of_momentum(model, q, tau))


def directional_derivative(model: Model, q: Scalars, v: Scalars, field: Callable[[Scalars], Any]) -> Any:
    """v(f) = d/dε f(q ⊕ ε v): how a function f(q), a number or a list of them, changes along v (T29)."""
    call = answered("directional_derivative", "field", field)
    problem = next((said for x in scalars_in(call(q)) if (said := scalar_problem(x)) is not None), None)
    if problem is not None:
        raise ValueShapeError(f"directional_derivative: field returns scalars; {problem}")
    return _change(model, q, v, call)


def _change(model: Model, q: Scalars, v: Scalars, field: Callable[[Scalars], Any]) -> Any:
    return derivative(lambda dv: field(retract(model, q, dv)), v)


def covariant_derivative(model: Model, q: Scalars, v: Scalars, field: Callable[[Scalars], Scalars]) -> list[Scalar]:
    """∇_v u = v(u) + M⁻¹ C(q, v) u, (nv,), of a field of vectors u(q), written over any scalar (T29, T30)."""
    u = asked("covariant_derivative", "field", field, model.nv)
    return [x - y for x, y in zip(_change(model, q, v, u), parallel_rate(model, q, v, u(q)), strict=True)]


def parallel_rate(model: Model, q: Scalars, v: Scalars, dv: Scalars) -> list[Scalar]:
    """-M⁻¹ C(q, v) dv, (nv,): how the components of a vector dv change that is carried along v without turning."""
    return [-x for x in velocity_of_momentum(model, q, matvec(coriolis_matrix(model, q, v), dv))]


def covariant_acceleration(model: Model, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    """∇_v v = a + M⁻¹ c(q, v), (nv,): zero along geodesics, which are the unforced motions (T31)."""
    return [x + y for x, y in zip(a, velocity_of_momentum(model, q, velocity_forces(model, q, v)), strict=True)]


def forward_dynamics(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """a of Newton's law M ∇_v v = τ - g + passive + Σ Jᵀ f, (nv,): what forces bend, off the geodesic (T32)."""
    forces = zip(
        tau,
        passive_forces(model, q, v),
        external_joint_forces(model, q, wrenches),
        gravity_forces(model, q),
        strict=True,
    )
    bent = velocity_of_momentum(model, q, [t + own + external - g for t, own, external, g in forces])
    return [x + y for x, y in zip(bent, parallel_rate(model, q, v, v), strict=True)]


def riemann_tensor(model: Model, q: Scalars) -> list[list[Matrix]]:
    """R_lkij = ⟨R(e_i, e_j) e_k, e_l⟩, nv × nv × nv × nv, with R(u, w) = ∇_u ∇_w - ∇_w ∇_u - ∇_[u, w].

    R_lkij = ∂_i b_lkj - ⟨∇_j e_k, ∇_i e_l⟩ - (i ↔ j) - Σ [e_i, e_j]^m b_lkm, since the connection keeps M.
    """
    n = range(model.nv)
    b = christoffel_symbols(model, q)
    partials = [
        derivative(lambda dv: christoffel_symbols(model, retract(model, q, dv)), unit_velocity(model, i)) for i in n
    ]
    factors = TreeFactors.of(mass_matrix(model, q), model.dof_parents)
    lowered = [[[b[m][k][j] for m in n] for j in n] for k in n]  # of ∇_j e_k
    raised = [[factors.solve(column) for column in row] for row in lowered]
    units = [unit_velocity(model, k) for k in n]

    def entry(l: int, k: int, i: int, j: int) -> Scalar:
        half = partials[i][l][k][j] - dot(lowered[k][j], raised[l][i])
        other = partials[j][l][k][i] - dot(lowered[k][i], raised[l][j])
        return half - other - dot(brackets[i][j], b[l][k])

    brackets = [[bracket(model, units[i], units[j]) for j in n] for i in n]
    return [[[[entry(l, k, i, j) for j in n] for i in n] for k in n] for l in n]


def sectional_curvature(model: Model, q: Scalars, v: Scalars, dv: Scalars) -> Scalar:
    """K = ⟨R(v, u) u, v⟩ / (⟨v, v⟩⟨u, u⟩ - ⟨v, u⟩²), u = dv: of the surface that v and dv span [1/(kg·m²)] (T30).

    Where it is positive, geodesics that start together come back together; where negative, they part ever faster.
    Parallel directions span no surface, and one freedom has no others: they are refused, and a compiled program gives
    no number (nan).
    """
    u, turn = dv, bracket(model, v, dv)
    p, p_u = generalized_momentum(model, q, v), generalized_momentum(model, q, u)
    C_v, C_u = coriolis_matrix(model, q, v), coriolis_matrix(model, q, u)
    factors = TreeFactors.of(mass_matrix(model, q), model.dof_parents)

    def turned(at: Scalars, along: Scalars) -> Scalar:
        """⟨∇_along u, v⟩."""
        return dot(v, matvec(coriolis_matrix(model, at, along), u))

    curved = (
        _change(model, q, v, lambda at: turned(at, u))
        - _change(model, q, u, lambda at: turned(at, v))
        - dot(matvec(C_u, u), factors.solve(matvec(C_v, v)))
        + dot(matvec(C_v, u), factors.solve(matvec(C_u, v)))
        - turned(q, turn)
    )
    square = dot(v, p) * dot(u, p_u)
    area = square - dot(v, p_u) * dot(u, p)
    if is_symbolic(area):
        return curved / area
    flat = area <= 1e-14 * square
    if is_met(flat):
        raise ValueShapeError(
            f"v and dv of model {model.name!r} are parallel: they span no surface; give two directions"
        )
    return where(flat, nan, curved / where(flat, 1, area))


def bracket(model: Model, v: Scalars, dv: Scalars) -> list[Scalar]:
    """[v, dv], (nv,), of fields with constant components: zero but among the freedoms of a joint with quaternions."""
    return [x for body in model.bodies for x in body.joint.bracket(v[body.dofs], dv[body.dofs])]
