"""Centre of mass and momentum of the whole mechanism (F1)."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, Vec3, is_number
from qdot.algebra.linalg import Matrix
from qdot.algorithms.jacobian import rows_of
from qdot.algorithms.kinematics import kinematics, world_poses
from qdot.errors import ModelError
from qdot.model.model import Model
from qdot.spatial import Force, Inertia


def total_mass(model: Model) -> Scalar:
    """Σ m [kg]."""
    return sum((body.inertia.mass for body in model.bodies), start=0)


def _mass_that_has_a_centre(model: Model) -> Scalar:
    mass = total_mass(model)
    if is_number(mass) and mass == 0:
        raise ModelError(f"model {model.name!r} has no mass, so it has no centre of mass; give a body an inertia")
    return mass


def center_of_mass(model: Model, q: Scalars) -> list[Scalar]:
    """Centre of mass of all bodies in the world, (3,) [m]."""
    X = world_poses(model, q)
    moment = Vec3.zero()
    for body in model.bodies:
        X_WB = X[body.index]
        moment = moment + X_WB.rotation @ body.inertia.moment + X_WB.position * body.inertia.mass
    return list(moment / _mass_that_has_a_centre(model))


def com_jacobian(model: Model, q: Scalars) -> Matrix:
    """∂c/∂q, 3 × nv: the velocity of the centre of mass is this times v; the linear momentum over the mass."""
    m = _mass_that_has_a_centre(model)
    return rows_of([h.lin / m for h in _momentum_columns(model, q)], 3)


def momentum(model: Model, q: Scalars, v: Scalars) -> Force:
    """Spatial momentum Σ X I V about the world's origin, in world axes: (moment of momentum, linear momentum)."""
    motion = kinematics(model, q, v)
    total = Force.zero()
    for body in model.bodies:
        total = total + motion.poses[body.index] @ (body.inertia @ motion.velocities[body.index])
    return total


def centroidal_momentum(model: Model, q: Scalars, v: Scalars) -> Force:
    """The same about the centre of mass: (intrinsic angular momentum, linear momentum), world axes."""
    return momentum(model, q, v).at(Vec3.of(center_of_mass(model, q)))


def centroidal_momentum_matrix(model: Model, q: Scalars) -> Matrix:
    """A_G, 6 × nv: the centroidal momentum is A_G v. Orin, Goswami, Lee (2013)."""
    c = Vec3.of(center_of_mass(model, q))
    return rows_of([h.at(c) for h in _momentum_columns(model, q)], 6)


def _momentum_columns(model: Model, q: Scalars) -> list[Force]:
    """The momentum about the world's origin that each freedom makes: its column s moves all that hangs on it, I^c s."""
    X = world_poses(model, q)
    Ic = [Inertia.zero(), *(X[body.index] @ body.inertia for body in model.bodies)]
    columns: list[Force] = [Force.zero()] * model.nv
    for body in reversed(model.bodies):  # leaves to root, in world coordinates
        i = body.index
        S = body.joint.subspace(q[body.qs])
        columns[body.dofs] = [Ic[i] @ (X[i] @ s) for s in S]
        Ic[body.parent] = Ic[body.parent] + Ic[i]
    return columns
