"""Constraints beside the joints of a tree (T17): M a + c = τ + Jᵀ λ with J a + J̇ v = 0.

They are the model's own (points, poses and coordinates held to each other, joints that close loops) and a user's:
φ(q) = 0, differentiated twice, and ψ(q, v) = 0 for what rolls or is steered, differentiated once; J is ∂φ/∂q or
∂ψ/∂v, along the freedoms.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import TypeAlias

from qdot.algebra import Scalar, Scalars, maximum, where
from qdot.algebra.linalg import Matrix, TreeFactors
from qdot.algorithms.aba import forward_dynamics
from qdot.algorithms.constrained import CONTRADICTED, is_symbolic, missed, nearest
from qdot.algorithms.constraints.own import own_rows, row_counts
from qdot.algorithms.constraints.rows import Rows, dense, of_positions, of_velocities
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.maps import Map, asked, is_met
from qdot.algorithms.rnea import Wrenches
from qdot.errors import ModelError
from qdot.model.model import Model

VelocityMap: TypeAlias = Callable[[Scalars, Scalars], Scalars]
"""(q, v) ↦ ψ: zero where a constraint on velocities holds."""


def constrained_forward_dynamics(
    model: Model,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    *,
    holonomic: Map | None = None,
    nonholonomic: VelocityMap | None = None,
    wrenches: Wrenches | None = None,
) -> tuple[list[Scalar], list[Scalar]]:
    """(a, λ): joint accelerations, (nv,), under the model's constraints and loops, φ(q) = 0 and ψ(q, v) = 0; and the
    force of each row.

    φ is `holonomic`, ψ is `nonholonomic`. q and v should obey the constraints: here they hold for accelerations only.
    Rows may repeat each other. Where one of φ or ψ contradicts those before it nothing obeys all: numbers are refused
    then, and a compiled program gives no number (nan). Of the model's own, which a simulation drifts off, it gives way.
    """
    J, bias = constraint_rows(model, q, v, holonomic, nonholonomic)
    free = forward_dynamics(model, q, v, tau, wrenches=wrenches)
    factors = TreeFactors.of(mass_matrix(model, q), model.dof_parents)
    a, multipliers = nearest(factors.solve, free, J, [-x for x in bias])
    own = row_count(model)
    return _where_obeyed(J[own:], a, bias[own:]), multipliers


def _where_obeyed(J: Matrix, a: list[Scalar], bias: Scalars) -> list[Scalar]:
    """a, if it obeys all rows of a user's; symbols stand for states that obey them."""
    farthest: Scalar = 0
    for k, off in enumerate(missed(J, a, bias)):
        if is_symbolic(off):
            return a
        if is_met(off > CONTRADICTED):
            raise ModelError(
                f"constrained_forward_dynamics: row {k} of holonomic and nonholonomic contradicts those before it: no "
                "acceleration obeys all of them; take it out, or start from q and v that obey the constraints"
            )
        farthest = maximum(farthest, off)
    return [where(farthest > CONTRADICTED, nan, x) for x in a]


def constraint_jacobian(model: Model, q: Scalars) -> Matrix:
    """J of the model's constraints and loops, `row_count` × nv: J v = 0."""
    return constraint_rows(model, q, [0] * model.nv)[0]


def row_count(model: Model) -> int:
    """How many rows the model's own constraints and loops have."""
    return sum(row_counts(model).values())


def constraint_rows(
    model: Model, q: Scalars, v: Scalars, holonomic: Map | None = None, nonholonomic: VelocityMap | None = None
) -> tuple[Matrix, list[Scalar]]:
    """J, in full, and J̇ v of all constraints, in order: the model's, its loops, φ, ψ."""
    parts = own_rows(model, q, v, positions=False)
    if holonomic is not None:
        phi = asked("constrained_forward_dynamics", "holonomic", holonomic)
        parts.append(of_positions(model, 0, q, v, lambda _, at: phi(at), range(model.nv)))
    if nonholonomic is not None:
        psi = asked("constrained_forward_dynamics", "nonholonomic", nonholonomic)
        parts.append(of_velocities(model, 0, q, v, lambda _, at, rate: psi(at, rate)))
    rows = Rows.joined(parts)
    return dense(rows.J, model.nv), rows.bias
