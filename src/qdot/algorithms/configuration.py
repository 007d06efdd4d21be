"""Moving on the configuration manifold of a model: joint by joint."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, derivative
from qdot.model.model import Model


def retract(model: Model, q: Scalars, dv: Scalars) -> list[Scalar]:
    """q ⊕ dv, (nq,): where the constant velocity dv leads from q in one second."""
    return [x for body in model.bodies for x in body.joint.retract(q[body.qs], dv[body.dofs])]


def difference(model: Model, q0: Scalars, q1: Scalars) -> list[Scalar]:
    """q1 ⊖ q0, (nv,): the velocity that leads from q0 to q1 in one second."""
    return [x for body in model.bodies for x in body.joint.difference(q0[body.qs], q1[body.qs])]


def carried(model: Model, v: Scalars, step: Scalars) -> list[Scalar]:
    """v after a displacement `step`, (nv,), of bodies on which nothing acts."""
    return [x for body in model.bodies for x in body.joint.carried(v[body.dofs], step[body.dofs])]


def straight(model: Model, dv: Scalars) -> list[Scalar]:
    """Displacements dv, (nv,), with origins of free bodies going straight."""
    return [x for body in model.bodies for x in body.joint.straight(dv[body.dofs])]


def carried_rate(model: Model, v: Scalars) -> list[Scalar]:
    """The rate at which velocities change where nothing acts, (nv,): zero but for those in turning axes."""
    return derivative(lambda s: carried(model, v, [s[0] * x for x in v]), [1])


def configuration_rate(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """q̇, (nq,): v itself but for joints with quaternions, where q̇ = ½ q ∘ (0, ω)."""
    return [x for body in model.bodies for x in body.joint.rate(q[body.qs], v[body.dofs])]


def normalized(model: Model, near_q: Scalars) -> list[Scalar]:
    """The nearest configuration on the manifold, (nq,): quaternions made unit."""
    return [x for body in model.bodies for x in body.joint.normalized(near_q[body.qs])]


def unit_velocity(model: Model, k: int) -> list[float]:
    """e_k: freedom k moves at unit speed, (nv,)."""
    return [1.0 if i == k else 0.0 for i in range(model.nv)]
