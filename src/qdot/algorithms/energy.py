"""Energies: kinetic K (K4, H11), potential P of gravity and springs (H15, K11), and their sum."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars
from qdot.algorithms.kinematics import kinematics, world_poses
from qdot.algorithms.passive import armature, spring_energy
from qdot.model.model import Model


def kinetic_energies(model: Model, q: Scalars, v: Scalars) -> dict[str, Scalar]:
    """½ V·IV of each body, by name [J]."""
    V = kinematics(model, q, v).velocities
    return {body.name: body.inertia.energy(V[body.index]) for body in model.bodies}


def kinetic_energy(model: Model, q: Scalars, v: Scalars) -> Scalar:
    """K = ½ vᵀ M(q) v = Σ ½ V·IV, and that of the drives, Σ ½ armature v² [J]."""
    bodies = sum(kinetic_energies(model, q, v).values(), start=0)
    return bodies + sum(d * x * x / 2 for d, x in zip(armature(model), v, strict=True))


def potential_energy(model: Model, q: Scalars) -> Scalar:
    """P = -Σ m g·p_C + Σ ½ k (q ⊖ rest)² [J]; zero weight at the world's origin."""
    X = world_poses(model, q)
    weight: Scalar = 0
    for body in model.bodies:
        I, X_WB = body.inertia, X[body.index]
        weight = weight - model.gravity.dot(X_WB.rotation @ I.moment + X_WB.position * I.mass)
    return weight + spring_energy(model, q)


def energy(model: Model, q: Scalars, v: Scalars) -> Scalar:
    """K + P [J]: its rate is the power of the joint forces, friction and external forces."""
    return kinetic_energy(model, q, v) + potential_energy(model, q)
