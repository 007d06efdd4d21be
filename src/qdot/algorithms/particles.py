"""A mechanism as a cloud of point masses, and its motion by projection (T5, T11, T12).

A rigid body with mass m, centre c and second moments Σ = ½ tr(I_C) 1 - I_C moves as six point masses of m/6 each, at
c ± √(3/m) b_k, where the columns of B are any with Σ = B Bᵀ. With x = h(q) their places, M = Jᵀ D J, c = Jᵀ D J̇ q̇
and τ = Jᵀ f: Newton's law for points and nothing else, so a check of all that is said about rotation.
"""

from __future__ import annotations

from collections.abc import Iterator

from qdot.algebra import Scalar, Scalars, Vec3, is_number, sqrt, where
from qdot.algebra.linalg import ldlt, ldlt_solve
from qdot.algorithms.kinematics import world_poses
from qdot.algorithms.lagrangian import external_joint_forces
from qdot.algorithms.maps import on_manifold, partials, rate_bias
from qdot.algorithms.passive import armature, passive_forces
from qdot.algorithms.projection import Projected, projected
from qdot.algorithms.rnea import Wrenches
from qdot.model.model import Model
from qdot.spatial import Inertia

FLAT = 1e-12
"""Of the moments about the origin, from which those about the centre are a difference: less is rounding, and the
body a plate, a rod or a point."""


def point_masses(I: Inertia) -> Iterator[tuple[Scalar, Vec3]]:
    """(mass, place) of six point masses that make up a body, in its coordinates; none of a body without mass."""
    m = I.mass
    if is_number(m) and m == 0:
        return
    I_C = I.at_com.full()
    half = (I_C.r0.x + I_C.r1.y + I_C.r2.z) / 2
    spread = [
        [(half if i == k else 0) - x for k, x in enumerate(row)] for i, row in enumerate(map(list, I_C.entries()))
    ]
    for column in _root(spread, I.rotational.trace() * FLAT):
        arm = Vec3(*column) * sqrt(3 / m)
        yield m / 6, I.com + arm
        yield m / 6, I.com - arm


def _root(A: list[list[Scalar]], negligible: Scalar) -> list[list[Scalar]]:
    """The columns of B with A = B Bᵀ, of a matrix that may be singular."""
    columns: list[list[Scalar]] = []
    for k in range(len(A)):
        d = A[k][k]
        thick = d > negligible
        scale = where(thick, 1 / sqrt(where(thick, d, 1)), 0)
        b = [A[i][k] * scale if i >= k else 0 for i in range(len(A))]
        A = [[x - b[i] * b[j] for j, x in enumerate(row)] for i, row in enumerate(A)]
        columns.append(b)
    return columns


def equations(model: Model, q: Scalars, v: Scalars) -> Projected:
    """M, c and the joint forces of the weight, all from points: M q̈ + c = weight + τ of the bodies alone."""
    clouds = [(body.index, list(point_masses(body.inertia))) for body in model.bodies]
    masses = [m for _, points in clouds for m, _ in points]
    weights = [m * g for m in masses for g in model.gravity]

    def places(at: Scalars) -> list[Scalar]:
        X = world_poses(model, at)
        return [x for i, points in clouds for _, r in points for x in X[i] @ r]

    move, n = on_manifold(model), 3 * len(masses)
    D = [[masses[i // 3] if i == k else 0 for k in range(n)] for i in range(n)]
    J = partials(places, q, model.nv, move)
    return projected(D, [0] * n, weights, J, rate_bias(places, q, v, move), model.nv)


def forward_dynamics(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """a = M⁻¹ (τ + passive + Σ Jᵀ f + weight - c), (nv,), with M = Jᵀ D J of point masses, and armature."""
    M, c, weight = equations(model, q, v)
    for k, d in enumerate(armature(model)):
        M[k][k] = M[k][k] + d
    terms = zip(
        tau,
        passive_forces(model, q, v),
        external_joint_forces(model, q, wrenches),
        weight,
        (-x for x in c),
        strict=True,
    )
    return ldlt_solve(ldlt(M), [sum(row) for row in terms])
