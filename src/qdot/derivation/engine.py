"""What the engine says about a state, for quantities that it has no function of their own for."""

from __future__ import annotations

from typing import Any

import numpy as np

from qdot.algebra import Scalar, Scalars
from qdot.algebra.linalg import Matrix
from qdot.algorithms import closure, coriolis, crba, lagrangian, residuals, rnea
from qdot.algorithms.constraints.loops import has_constant_subspace
from qdot.algorithms.jacobian import columns_of, jacobian
from qdot.algorithms.kinematics import Coordinates, frame_pose
from qdot.algorithms.passive import passive_forces
from qdot.derivation.check import Case
from qdot.errors import DerivationError
from qdot.model.model import Model


def mass_matrix_rate(case: Case) -> Any:
    """Ṁ = C + Cᵀ."""
    C = _square(case, coriolis.coriolis_matrix(case.model, case.q, case.v))
    return C + C.T


def connection(case: Case) -> Any:
    """M⁻¹ b."""
    b = np.array(lagrangian.christoffel_symbols(case.model, case.q), dtype=float)
    return np.linalg.solve(_mass_matrix(case), b.reshape(case.model.nv, case.model.nv**2))


def handa(case: Case) -> Any:
    """h_kji at [k, j, i]."""
    dM = np.array(lagrangian.mass_matrix_partials(case.model, case.q), dtype=float).reshape((case.model.nv,) * 3)
    return np.einsum("ikj->kji", dM) - np.einsum("kij->kji", dM) / 2


def momentum_rate(case: Case) -> Any:
    """ṗ = M q̈ + Ṁ q̇."""
    return _mass_matrix(case) @ case.a + mass_matrix_rate(case) @ case.v


def _mass_matrix(case: Case) -> Any:
    return _square(case, crba.mass_matrix(case.model, case.q))


def _square(case: Case, rows: Matrix) -> Any:
    """n × n, also where n is zero."""
    return np.array(rows, dtype=float).reshape(case.model.nv, case.model.nv)


def applied_forces(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, wrenches: rnea.Wrenches | None = None
) -> list[Scalar]:
    """ψ = τ + Σ Jᵀ f + passive (H6)."""
    rows = zip(tau, lagrangian.external_joint_forces(model, q, wrenches), passive_forces(model, q, v), strict=True)
    return [sum(row) for row in rows]


def constraint_residuals(model: Model, q: Scalars) -> list[Scalar]:
    """φ of all constraints, end to end."""
    return [x for rows in residuals.constraint_residuals(model, q).values() for x in rows]


def constraint_jacobian(case: Case) -> Any:
    """∂φ/∂q of constraints, then a row for each relative motion that a loop joint does not allow."""
    return closure.constraint_jacobian(case.model, case.q)


def loop_jacobian(model: Model, q: Scalars) -> Matrix:
    """Tᵀ (V_S - V_P) of unit velocities, for the frames P and S that each loop joint holds, in the coordinates of S.

    T is known without the position of the joint, which is no coordinate of the model, where the joint's axes are fixed.
    """
    rows: Matrix = []
    for loop in model.loops:
        if not has_constant_subspace(loop.joint):
            raise DerivationError(
                f"loop joint {loop.name!r} of model {model.name!r} allows motions that change with its position, which "
                "is no coordinate of the model; close the loop with a joint along fixed axes, or with a point"
            )
        ends = loop.predecessor, loop.successor
        X_P, X_S = (frame_pose(model, q, end) for end in ends)
        V_P, V_S = (columns_of(jacobian(model, q, end, coordinates=Coordinates.BODY)) for end in ends)
        relative = [s - (X_S.inv() @ (X_P @ p)) for s, p in zip(V_S, V_P, strict=True)]
        for t in loop.joint.complement(loop.joint.neutral()):
            rows.append([t.dot(motion) for motion in relative])
    return rows
