"""Constraints beside the joints of a tree (T17): M a + c = τ + Jᵀ λ with J a + J̇ v = 0.

They are the model's own (points, poses and coordinates held to each other, joints that close loops) and a user's:
φ(q) = 0, differentiated twice, and ψ(q, v) = 0 for what rolls or is steered, differentiated once; J is ∂φ/∂q or
∂ψ/∂v, along the freedoms. A loop's joint is asked what a tree's is: of the frames it holds, Tᵀ (A_S - A_P - Ṡ α - V_S
× S α) = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import nan
from typing import TypeAlias

from qdot.algebra import Scalar, Scalars, derivative, is_number, maximum, where
from qdot.algebra.lie import log_se3
from qdot.algebra.linalg import Matrix, TreeFactors
from qdot.algorithms.aba import forward_dynamics
from qdot.algorithms.constrained import CONTRADICTED, is_symbolic, missed, nearest
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.jacobian import columns_of, jacobian
from qdot.algorithms.kinematics import Coordinates, Kinematics, kinematics
from qdot.algorithms.maps import Map, added, asked, is_met, on_manifold, partials, rate_bias, transposed
from qdot.algorithms.maximal import unit_drives
from qdot.algorithms.residuals import active_constraints, constraint_residuals
from qdot.algorithms.rnea import Wrenches
from qdot.description import ConnectRecord, CouplingRecord, LoopRecord, WeldRecord
from qdot.errors import ModelError
from qdot.joints import Joint
from qdot.model.model import Model
from qdot.spatial import Motion, Transform

VelocityMap: TypeAlias = Callable[[Scalars, Scalars], Scalars]
"""(q, v) ↦ ψ: zero where a constraint on velocities holds."""

Rows: TypeAlias = tuple[Matrix, list[Scalar]]
"""(J, J̇ v)."""


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
    held = {ConnectRecord: 3, WeldRecord: 6, CouplingRecord: 1}
    constraints = sum(held[type(record)] for record in active_constraints(model))
    return constraints + sum(6 - loop.joint.nv for loop in model.loops)


def constraint_rows(
    model: Model, q: Scalars, v: Scalars, holonomic: Map | None = None, nonholonomic: VelocityMap | None = None
) -> Rows:
    """J and J̇ v of all constraints, in order: the model's, its loops, φ, ψ."""
    parts: list[Rows] = []
    if active_constraints(model):
        parts.append(_of_positions(model, q, v, lambda at: _own_residuals(model, at)))
    if model.loops:
        motion = kinematics(model, q, v)
        parts += [_of_loop(model, q, motion, loop) for loop in model.loops]
    if holonomic is not None:
        phi = asked("constrained_forward_dynamics", "holonomic", holonomic)
        parts.append(_of_positions(model, q, v, phi))
    if nonholonomic is not None:
        psi = asked("constrained_forward_dynamics", "nonholonomic", nonholonomic)
        parts.append(_of_velocities(model, q, v, psi))
    return [row for J, _ in parts for row in J], [x for _, bias in parts for x in bias]


def _own_residuals(model: Model, q: Scalars) -> list[Scalar]:
    return [x for rows in constraint_residuals(model, q).values() for x in rows]


def _of_positions(model: Model, q: Scalars, v: Scalars, phi: Map) -> Rows:
    move = on_manifold(model)
    return partials(phi, q, model.nv, move), rate_bias(phi, q, v, move)


def _of_velocities(model: Model, q: Scalars, v: Scalars, psi: VelocityMap) -> Rows:
    move = on_manifold(model)
    J = partials(lambda at: psi(q, at), v, model.nv, added)
    return J, derivative(lambda dv: list(psi(move(q, dv), v)), v)


def _of_loop(model: Model, q: Scalars, motion: Kinematics, loop: LoopRecord) -> Rows:
    """In the coordinates of the successor, S: what the predecessor, P, does is carried there."""
    X = motion.pose(loop.predecessor).inv() @ motion.pose(loop.successor)
    at = loop_coordinates(loop.joint, X)
    ends = loop.predecessor, loop.successor
    T = loop.joint.complement(at)
    if not model.nv:
        return [[] for _ in T], [0 for _ in T]
    J_P, J_S = (columns_of(jacobian(model, q, end, coordinates=Coordinates.BODY)) for end in ends)
    V_P, V_S = (motion.velocity(end, Coordinates.BODY) for end in ends)
    A_P, A_S = (motion.acceleration(end, Coordinates.BODY) for end in ends)
    VJ = V_S - X.inv() @ V_P
    rates = unit_drives(loop.joint.subspace(at)).T @ VJ
    bias = A_S - X.inv() @ A_P - loop.joint.bias(at, rates) - V_S.cross(VJ)
    columns = [T.T @ (s - X.inv() @ p) for s, p in zip(J_S, J_P, strict=True)]
    return transposed(columns, len(T)), T.T @ bias


def loop_residuals(model: Model, q: Scalars) -> dict[str, list[Scalar]]:
    """How far each loop is from closed, by name: 6 less the freedoms of its joint, zero where it is closed.

    It is measured from where the joint comes nearest, so a millimetre reads as one however far the joint has turned.
    """
    motion = kinematics(model, q)
    found = {}
    for loop in model.loops:
        X = motion.pose(loop.predecessor).inv() @ motion.pose(loop.successor)
        at = nearest_coordinates(loop.joint, X)
        found[loop.name] = loop.joint.complement(at).T @ gap(loop.joint, at, X)
    return found


def gap(joint: Joint, q: Scalars, X: Transform) -> Motion:
    """The twist that leads from where the joint says to X in one second, in the body's coordinates."""
    missed = joint.transform(q).inv() @ X
    return Motion(*log_se3(missed.quaternion(), missed.position))


SETTLED, SETTLED_IN_A_GROUP = 12, 3
"""Steps of Newton's method: from the neutral configuration it needs four to six. Where S is constant the first one
lands, and two more take away what an open loop adds to it."""


def loop_coordinates(joint: Joint, X: Transform) -> list[Scalar]:
    """A q of a joint with the S and T of where it comes nearest to a pose: any q where S is constant."""
    return list(joint.neutral()) if has_constant_subspace(joint) else nearest_coordinates(joint, X)


def nearest_coordinates(joint: Joint, X: Transform) -> list[Scalar]:
    """The q of a joint at which it comes nearest to a pose."""
    q: list[Scalar] = list(joint.neutral())
    for _ in range(SETTLED_IN_A_GROUP if has_constant_subspace(joint) else SETTLED):
        q = joint.retract(q, unit_drives(joint.subspace(q)).T @ gap(joint, q, X))
    return q


@lru_cache(maxsize=256)
def has_constant_subspace(joint: Joint) -> bool:
    """Whether S does not depend on q, in the body's coordinates."""
    here = joint.neutral()
    there = joint.retract(here, [0.3 + 0.1 * k for k in range(joint.nv)])
    pairs = zip(joint.subspace(here), joint.subspace(there), strict=True)
    return all(_same(x, y) for s, t in pairs for x, y in zip(s, t, strict=True))


def _same(x: Scalar, y: Scalar) -> bool:
    return bool(abs(x - y) < 1e-12 if is_number(x - y) else x == y)
