"""What joints do by themselves: springs, viscous and dry friction, and the inertia of their drives."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, derivative, is_number, sign
from qdot.model.model import Body, Model


def passive_forces(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Joint forces of springs, dampers and dry friction, (nv,): -∂U/∂q - d v - f sign(v) [N·m, N].

    Dry friction opposes motion; at v = 0 it gives nothing here, since how much it holds depends on all other forces.
    """
    total: list[Scalar] = [0] * model.nv
    for body in model.bodies:
        spring = _spring_force(body, q[body.qs])
        damping, friction = body.passive.damping, body.passive.friction
        for k, s, d, f in zip(range(body.dofs.start, body.dofs.stop), spring, damping, friction, strict=True):
            dry = 0 if _is_zero(f) else f * sign(v[k])
            total[k] = s - d * v[k] - dry
    return total


def spring_energy(model: Model, q: Scalars) -> Scalar:
    """Σ ½ k (q ⊖ rest)² [J]."""
    energies = (_spring_energy(body, q[body.qs]) for body in model.bodies)
    return sum(energies, start=0)


def armature(model: Model) -> list[Scalar]:
    """Inertia of the drives at each freedom, (nv,), to be added to the diagonal of M [kg·m², kg]."""
    return [x for body in model.bodies for x in body.passive.armature]


def _spring_energy(body: Body, q: Scalars) -> Scalar:
    k = body.passive.stiffness
    if all(_is_zero(x) for x in k):
        return 0
    stretch = body.joint.difference(body.passive.rest, q)
    return sum(ki * x * x for ki, x in zip(k, stretch, strict=True)) / 2


def _spring_force(body: Body, q: Scalars) -> list[Scalar]:
    """-∂U/∂q along each freedom: -k (q - rest) on a line, the same by the chain rule on a manifold."""
    nv = body.joint.nv
    if all(_is_zero(x) for x in body.passive.stiffness):
        return [0] * nv
    unit = [[1.0 if i == k else 0.0 for i in range(nv)] for k in range(nv)]
    return [-derivative(lambda dv: _spring_energy(body, body.joint.retract(q, dv)), e) for e in unit]


def _is_zero(x: Scalar) -> bool:
    return is_number(x) and x == 0
