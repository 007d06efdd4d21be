"""The terms of M(q) a + c(q, v) + g(q) = τ that are not M: velocity-product forces c and gravity g."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.algorithms.rnea import newton_euler
from qdot.model.model import Model


def bias_forces(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """c(q, v) + g(q), (nv,): the joint forces that hold the accelerations at zero [N·m, N]."""
    return newton_euler(model, q, v, [0] * model.nv)[0]


def velocity_forces(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """c(q, v), (nv,): Coriolis and centrifugal forces, the bias without gravity; Khatib's V, equal to C(q, v) v."""
    return newton_euler(model, q, v, [0] * model.nv, gravity=Vec3.zero())[0]


def gravity_forces(model: Model, q: Scalars) -> list[Scalar]:
    """g(q) = ∂P/∂q, (nv,): the joint forces that hold the mechanism still against its weight (K11, T24)."""
    rest = [0] * model.nv
    return newton_euler(model, q, rest, rest)[0]
