"""Routes to the equations of motion: the mass matrix, the forces and the accelerations, by every formulation.

A new formulation is one line in the table below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qdot.algebra import Scalar, Scalars, Vec3, derivative
from qdot.algebra.linalg import TreeFactors
from qdot.algorithms import (
    aba,
    bias,
    christoffel,
    coriolis,
    crba,
    energy,
    hamiltonian,
    inverse_mass,
    lagrangian,
    maximal,
    particles,
    regressor,
    riemann,
    rnea,
)
from qdot.algorithms.frames import root_frame
from qdot.algorithms.maps import added
from qdot.algorithms.passive import armature
from qdot.certificate.measure import on_freedoms, on_pairs
from qdot.certificate.quantity import Quantity, Route, freedoms, machine_code, text, times
from qdot.certificate.sample import Sample
from qdot.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SPARSE, COMPILED, PAIRS = freedoms(24), freedoms(40), freedoms(60)
"""Limits of free bodies held together; of compiled programs and products of all bodies and freedoms; of all pairs of
freedoms at once. Beyond, one such route takes longer than all the others."""


def explicit(model: Model) -> bool:
    """The limit of derivatives of M written out, and of point masses: some seconds, a chain of twelve bodies."""
    return len(model.bodies) * model.nv**3 <= 12**4


# ── the mass matrix ──────────────────────────────────────────────────────────────────────────────


def columns_by_newton_euler(s: Sample) -> Array:
    """Column k of M is what it takes to accelerate freedom k alone, without gravity and at rest."""
    q, e = s.each_freedom()
    tau, _ = rnea.newton_euler(s.model, q, [0.0] * s.model.nv, e, gravity=Vec3.zero())
    columns = [np.broadcast_to(x, (s.states, s.model.nv)) for x in tau]
    return np.stack(columns, axis=1) + np.diag(np.array(armature(s.model), dtype=float))


def hessian_of_kinetic_energy(s: Sample) -> Array:
    """∂²K/∂v_j∂v_k, all pairs at once."""
    n = s.model.nv
    q = [x[:, None, None] for x in s.q]
    first, second = list(np.eye(n)[:, None, :, None]), list(np.eye(n)[:, None, None, :])

    def along_first(v: Scalars) -> Scalar:
        return derivative(lambda step: energy.kinetic_energy(s.model, q, added(v, step)), first)

    return np.array(np.broadcast_to(derivative(along_first, second), (s.states, n, n)))


def negative_part(s: Sample) -> Array:
    """Of M in units of its own size, so that light bodies count as heavy ones do."""
    sizes = pair_sizes(s)
    values, vectors = np.linalg.eigh(s.M / np.where(sizes == 0, 1.0, sizes))
    return sizes * ((vectors * np.minimum(values, 0.0)[:, None]) @ np.swapaxes(vectors, 1, 2))


def coriolis_sum(s: Sample) -> Array:
    C = s.packed(coriolis.coriolis_matrix(s.model, s.q, s.v))
    return C + np.swapaxes(C, 1, 2)


def rate_of_mass_matrix(s: Sample) -> Array:
    return s.packed(s.along_motion(lambda q, v: crba.mass_matrix(s.model, q)))


def pair_sizes(s: Sample) -> Array:
    return _pairs(s.motions.mass_sizes)


def _pairs(sizes: Array) -> Array:
    return sizes[:, :, None] * sizes[:, None, :]


def rate_sizes(s: Sample) -> Array:
    turning = (s.motions.speeds[0] * abs(s.packed(s.v))[:, None]).sum(-1).max(-1, initial=0.0)
    return pair_sizes(s) * (1 + turning)[:, None, None]


# ── forces ───────────────────────────────────────────────────────────────────────────────────────


def coriolis_forces(s: Sample) -> Array:
    return times(s.packed(coriolis.coriolis_matrix(s.model, s.q, s.v)), s.packed(s.v))


def christoffel_forces(s: Sample) -> Array:
    b, v = s.packed(christoffel.christoffel_symbols(s.model, s.q)), s.packed(s.v)
    return np.einsum("sijk,sj,sk->si", b, v, v)


def gravity_and_springs(s: Sample) -> Array:
    return s.packed(bias.gravity_forces(s.model, s.q)) - s.passive["springs"]


def slope_of_potential(s: Sample) -> Array:
    slope = s.along_freedoms(lambda q: energy.potential_energy(s.model, q))
    return np.array(np.broadcast_to(np.asarray(slope, dtype=float), (s.states, s.model.nv)))


def sum_of_terms(s: Sample) -> Array:
    """M a + C v + g - passive - Jᵀ f, from the matrices."""
    g = s.packed(bias.gravity_forces(s.model, s.q))
    return times(s.M, s.packed(s.a)) + coriolis_forces(s) + g - s.passive_sum - _external(s)


def by_regressor(s: Sample) -> Array:
    Y = s.packed(regressor.regressor(s.model, s.q, s.v, s.a))
    pi = np.array(regressor.inertial_parameters(s.model), dtype=float)
    drives = np.array(armature(s.model), dtype=float) * s.packed(s.a)
    return Y @ pi + drives - s.passive_sum - _external(s)


def force_sizes(s: Sample) -> Array:
    return s.motions.force_sizes


def force_sizes_in_one_frame(s: Sample) -> Array:
    return s.motions.in_one_frame.force_sizes


def _external(s: Sample) -> Array:
    return s.packed(lagrangian.external_joint_forces(s.model, s.q, s.wrenches))


# ── accelerations ────────────────────────────────────────────────────────────────────────────────


def solved(s: Sample) -> Array:
    factors = TreeFactors.of(crba.mass_matrix(s.model, s.q), s.model.dof_parents)
    return s.packed(factors.solve(_moving_forces(s)))


def by_inverse(s: Sample) -> Array:
    return times(s.packed(inverse_mass.inverse_mass_matrix(s.model, s.q)), s.packed(_moving_forces(s)))


def by_poses(s: Sample) -> Array:
    """With M from the poses: a, and what the forces that are missing there would add to it."""
    missing = s.packed(s.tau) - s.motions.inverse_dynamics()
    return s.packed(s.a) + np.linalg.solve(s.motions.mass_matrix(), missing[..., None])[..., 0]


def _moving_forces(s: Sample) -> list[Scalar]:
    """τ less what holds the accelerations at zero; lanes."""
    rest = rnea.inverse_dynamics(s.model, s.q, s.v, [0.0] * s.model.nv, wrenches=s.wrenches)
    return [t - r for t, r in zip(s.tau, rest, strict=True)]


STATE, MOVED, DRIVEN = ("q", "v"), ("q", "v", "a"), ("q", "v", "tau")

OF_FREEDOMS = (
    Quantity(
        "mass matrix",
        (
            Route("composite bodies (CRBA)", lambda s: s.M),
            Route(
                "composite bodies in one frame",
                text(crba.mass_matrix, "q", frames=root_frame),
                size=lambda s: _pairs(s.motions.in_one_frame.mass_sizes),
            ),
            Route("composite bodies, compiled", machine_code(crba.mass_matrix, "q"), COMPILED),
            Route("columns by Newton–Euler", columns_by_newton_euler),
            Route("link Jacobians", text(lagrangian.mass_matrix, "q"), COMPILED),
            Route("kinetic energy differentiated twice", hessian_of_kinetic_energy, PAIRS),
            Route("differentiated poses", lambda s: s.motions.mass_matrix()),
        ),
        pair_sizes,
        on_pairs,
    ),
    Quantity(
        "negative part of the mass matrix",
        (
            Route("eigenvalues below zero", negative_part),
            Route("none", lambda s: np.zeros_like(s.M)),
        ),
        pair_sizes,
        on_pairs,
    ),
    Quantity(
        "rate of the mass matrix",
        (
            Route("C + Cᵀ", coriolis_sum),
            Route("CRBA differentiated", rate_of_mass_matrix),
        ),
        rate_sizes,
        on_pairs,
    ),
    Quantity(
        "velocity forces",
        (
            Route("Newton–Euler", text(bias.velocity_forces, *STATE)),
            Route("C(q, v) v", coriolis_forces),
            Route("Christoffel symbols", christoffel_forces, COMPILED),
        ),
        force_sizes,
        on_freedoms,
    ),
    Quantity(
        "gravity and springs",
        (
            Route("Newton–Euler and spring forces", gravity_and_springs),
            Route("potential energy differentiated", slope_of_potential),
        ),
        force_sizes,
        on_freedoms,
    ),
    Quantity(
        "joint forces",
        (
            Route("Newton–Euler (RNEA)", lambda s: s.packed(s.tau)),
            Route(
                "Newton–Euler in one frame",
                text(rnea.inverse_dynamics, *MOVED, pushed=True, frames=root_frame),
                size=force_sizes_in_one_frame,
            ),
            Route("Newton–Euler, compiled", machine_code(rnea.inverse_dynamics, *MOVED, pushed=True), COMPILED),
            Route("M a + C v + g", sum_of_terms),
            Route("regressor", by_regressor, COMPILED),
            Route("explicit Lagrange", text(lagrangian.inverse_dynamics, *MOVED, pushed=True), explicit),
            Route("d'Alembert on differentiated poses", lambda s: s.motions.inverse_dynamics()),
        ),
        force_sizes,
        on_freedoms,
    ),
    Quantity(
        "accelerations",
        (
            Route("articulated bodies (ABA)", text(aba.forward_dynamics, *DRIVEN, pushed=True)),
            Route(
                "articulated bodies in one frame",
                text(aba.forward_dynamics, *DRIVEN, pushed=True, frames=root_frame),
                size=force_sizes_in_one_frame,
            ),
            Route("articulated bodies, compiled", machine_code(aba.forward_dynamics, *DRIVEN, pushed=True), COMPILED),
            Route("Newton–Euler inverted", lambda s: s.packed(s.a)),
            Route("M solved (CRBA, RNEA)", solved),
            Route("M⁻¹ by articulated bodies", by_inverse),
            Route("explicit Lagrange", text(lagrangian.forward_dynamics, *DRIVEN, pushed=True), explicit),
            Route("Hamilton", text(hamiltonian.forward_dynamics, *DRIVEN, pushed=True)),
            Route("covariant Newton law", text(riemann.forward_dynamics, *DRIVEN, pushed=True)),
            Route("free bodies held together (KKT)", text(maximal.forward_dynamics, *DRIVEN, pushed=True), SPARSE),
            Route("point masses", text(particles.forward_dynamics, *DRIVEN, pushed=True), explicit, physical=True),
            Route("d'Alembert on differentiated poses", by_poses),
        ),
        force_sizes,
        on_freedoms,
        weighed=lambda s, deviation: times(s.M, deviation),
        by_inertia=True,
    ),
)
