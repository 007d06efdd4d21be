"""Small models and the table of public functions that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import qdot
from qdot.algebra import Vec3, as_array, scalars_in
from qdot.description import (
    Activation,
    ActuatorRecord,
    Affine,
    BushingRecord,
    ConnectRecord,
    CouplingRecord,
    DistanceRecord,
    LoopRecord,
    OnFrame,
    OnJoint,
    OnTendon,
    TendonRecord,
    Via,
    Weighted,
)
from qdot.errors import QdotError
from qdot.geometry import Box
from qdot.joints import Fixed, Joint, Revolute, Spherical
from qdot.model.library import random_tree
from qdot.spatial import Inertia

NAN, INF = float("nan"), float("inf")


class Thing:
    """Nothing qdot knows."""

    def __repr__(self) -> str:
        return "Thing()"


THING = Thing()
SOLID = Inertia.about_com(1.3, (0.1, 0.2, -0.5), (0.4, 0.5, 0.3))


def single(joint: Joint | None = None, *solids: Any, **options: Any) -> qdot.Model:
    """A mechanism 'rig' with one body 'link', held by a revolute joint unless another is given."""
    world = qdot.Mechanism("rig")
    world.add("link", joint or Revolute("y"), *(solids or (SOLID,)), **options)
    return qdot.assemble(world)


def mixed() -> qdot.Model:
    """A tree over plain and quaternion joints, with armature, damping and springs; frames site0 … site4.

    A tendon runs over two of its joints and one through frames, a bushing and a rod hold frames to each other;
    actuators drive joints, a tendon and a frame.
    """
    tree = random_tree(3, 5, ["revolute", "spherical", "prismatic", "free", "universal"], branching=0.5).description
    one, other, *_ = (b.joint_name for b in tree.bodies if b.joint.nv == 1)
    ball = next(b.joint_name for b in tree.bodies if b.joint.nv == 3)
    rope = TendonRecord("rope", (Weighted(one, 0.3), Weighted(other, -2.0)), 5.0, 0.4, (0.1, 0.2), friction=0.1)
    string = TendonRecord("string", (Via("site0"), Via("site4")), stiffness=3.0)
    return qdot.assemble(
        replace(
            tree,
            tendons=(rope, string),
            actuators=(
                ActuatorRecord("motor", OnJoint(one, (3.0, 0, 0, 0, 0, 0)), control_range=(-1.0, 1.0)),
                ActuatorRecord("servo", OnJoint(ball, (0.1, 0.2, 0.3, 0, 0, 0)), Affine(2.0), Affine(0, -2.0, -0.1)),
                ActuatorRecord("muscle", OnTendon("rope"), dynamics=Activation("filter", 0.1), force_range=(-4.0, 4.0)),
                ActuatorRecord("thruster", OnFrame("site2", (0, 0, 1.0, 0, 0.1, 0))),
            ),
            bushings=(
                BushingRecord("mount", "site3", "site0", (0.5, 0.7, 0.9), (3.0, 2.0, 1.0), (0.1,) * 3, (0.2,) * 3),
            ),
            loops=(LoopRecord("loop", Spherical(), "site1", "site3"),),
            constraints=(
                CouplingRecord("gear", one, other, (0.1, 2.0)),
                ConnectRecord("pin", "site1", Vec3(0.1, 0, 0), "world", Vec3(0, 0, 1.0)),
                DistanceRecord("rod", "site2", Vec3(0, 0.1, 0), "site4", Vec3(0, 0, 0), 0.8),
            ),
        )
    )


def empty() -> qdot.Model:
    return qdot.assemble(qdot.Mechanism("empty"))


def immobile() -> qdot.Model:
    """Two bodies, both fixed: nv = 0."""
    world = qdot.Mechanism("statue")
    plinth = world.add("plinth", Fixed(), Box(1, 1, 1, mass=3.0), at=(1, 0, 0))
    plinth.add("figure", Fixed(), Box(1, 1, 1, mass=1.0), at=(0, 0, 2)).frame("head", at=(0, 0, 1))
    return qdot.assemble(world)


def last_frame(model: qdot.Model) -> str:
    return list(model.frames)[-1]


def stacked(matrices: tuple[np.ndarray, ...]) -> np.ndarray:
    """Several matrices as one array, the batch first."""
    return np.stack(matrices, axis=-3)


def a_field(model: qdot.Model) -> Callable[[Any], list[Any]]:
    """A vector field: it turns with the first coordinate."""
    return lambda q: [k + sum(q[:1], start=0.5) for k in range(model.nv)]


Call = Callable[[qdot.Model, Any, Any, Any], Any]


def driven(model: qdot.Model) -> tuple[np.ndarray, np.ndarray]:
    """Controls and activations."""
    return np.linspace(-0.8, 0.9, model.nu), np.linspace(0.2, 0.5, model.na)


CALLS: dict[str, Call] = {
    "actuation": lambda m, q, v, a: qdot.actuation(m, q, v, *driven(m)),
    "actuator_forces": lambda m, q, v, a: qdot.actuator_forces(m, q, v, *driven(m)),
    "actuator_lengths": lambda m, q, v, a: qdot.actuator_lengths(m, q),
    "actuator_moments": lambda m, q, v, a: qdot.actuator_moments(m, q),
    "analytic_jacobian": lambda m, q, v, a: qdot.analytic_jacobian(
        m, q, last_frame(m), orientation=qdot.Orientation.ROTATION_VECTOR
    ),
    "bias_acceleration": lambda m, q, v, a: qdot.bias_acceleration(m, q, v, last_frame(m)),
    "bias_forces": lambda m, q, v, a: qdot.bias_forces(m, q, v),
    "center_of_mass": lambda m, q, v, a: qdot.center_of_mass(m, q),
    "centroidal_momentum": lambda m, q, v, a: qdot.centroidal_momentum(m, q, v),
    "centroidal_momentum_matrix": lambda m, q, v, a: qdot.centroidal_momentum_matrix(m, q),
    "christoffel_symbols": lambda m, q, v, a: qdot.christoffel_symbols(m, q),
    "com_jacobian": lambda m, q, v, a: qdot.com_jacobian(m, q),
    "configuration_rate": lambda m, q, v, a: qdot.configuration_rate(m, q, v),
    "connection_coefficients": lambda m, q, v, a: qdot.connection_coefficients(m, q),
    "constrained_forward_dynamics": lambda m, q, v, a: dict(
        zip(("a", "lambda"), qdot.constrained_forward_dynamics(m, q, v, a), strict=True)
    ),
    "constraint_jacobian": lambda m, q, v, a: qdot.constraint_jacobian(m, q),
    "constraint_residuals": lambda m, q, v, a: qdot.constraint_residuals(m, q),
    "coriolis_matrix": lambda m, q, v, a: qdot.coriolis_matrix(m, q, v),
    "covariant_acceleration": lambda m, q, v, a: qdot.covariant_acceleration(m, q, v, a),
    "covariant_derivative": lambda m, q, v, a: qdot.covariant_derivative(m, q, v, a_field(m)),
    "difference": lambda m, q, v, a: qdot.difference(m, q, q),
    "directional_derivative": lambda m, q, v, a: qdot.directional_derivative(m, q, v, a_field(m)),
    "dual_product": lambda m, q, v, a: qdot.dual_product(m, q, v, a),
    "energy": lambda m, q, v, a: qdot.energy(m, q, v),
    "forward_dynamics": lambda m, q, v, a: qdot.forward_dynamics(m, q, v, a),
    "forward_dynamics_derivatives": lambda m, q, v, a: stacked(qdot.forward_dynamics_derivatives(m, q, v, a)),
    "frame_acceleration_derivatives": lambda m, q, v, a: stacked(
        qdot.frame_acceleration_derivatives(m, q, v, a, last_frame(m))
    ),
    "frame_pose": lambda m, q, v, a: qdot.frame_pose(m, q, last_frame(m)),
    "frame_velocity_derivatives": lambda m, q, v, a: stacked(qdot.frame_velocity_derivatives(m, q, v, last_frame(m))),
    "generalized_momentum": lambda m, q, v, a: qdot.generalized_momentum(m, q, v),
    "gravity_forces": lambda m, q, v, a: qdot.gravity_forces(m, q),
    "hamilton_equations": lambda m, q, v, a: np.stack(qdot.hamilton_equations(m, q, v, a), axis=-2),
    "hamiltonian": lambda m, q, v, a: qdot.hamiltonian(m, q, v),
    "inner_product": lambda m, q, v, a: qdot.inner_product(m, q, v, v),
    "inverse_dynamics": lambda m, q, v, a: qdot.inverse_dynamics(m, q, v, a),
    "inverse_dynamics_derivatives": lambda m, q, v, a: stacked(qdot.inverse_dynamics_derivatives(m, q, v, a)),
    "inverse_mass_matrix": lambda m, q, v, a: qdot.inverse_mass_matrix(m, q),
    "jacobian": lambda m, q, v, a: qdot.jacobian(m, q, last_frame(m)),
    "joint_wrenches": lambda m, q, v, a: qdot.joint_wrenches(m, q, v, a),
    "kinetic_energy": lambda m, q, v, a: qdot.kinetic_energy(m, q, v),
    "link_jacobians": lambda m, q, v, a: qdot.link_jacobians(m, q),
    "loop_residuals": lambda m, q, v, a: qdot.loop_residuals(m, q),
    "mass_matrix": lambda m, q, v, a: qdot.mass_matrix(m, q),
    "momentum": lambda m, q, v, a: qdot.momentum(m, q, v),
    "normalized": lambda m, q, v, a: qdot.normalized(m, q),
    "parallel_rate": lambda m, q, v, a: qdot.parallel_rate(m, q, v, v),
    "passive_forces": lambda m, q, v, a: qdot.passive_forces(m, q, v),
    "passive_terms": lambda m, q, v, a: qdot.passive_terms(m, q, v),
    "point_jacobian": lambda m, q, v, a: qdot.point_jacobian(m, q, last_frame(m), (0.1, 0.2, 0.3)),
    "potential_energy": lambda m, q, v, a: qdot.potential_energy(m, q),
    "regressor": lambda m, q, v, a: qdot.regressor(m, q, v, a),
    "retract": lambda m, q, v, a: qdot.retract(m, q, v),
    "riemann_tensor": lambda m, q, v, a: qdot.riemann_tensor(m, q),
    "tendon_jacobian": lambda m, q, v, a: qdot.tendon_jacobian(m, q),
    "tendon_lengths": lambda m, q, v, a: qdot.tendon_lengths(m, q),
    "velocity_forces": lambda m, q, v, a: qdot.velocity_forces(m, q, v),
    "velocity_of_momentum": lambda m, q, v, a: qdot.velocity_of_momentum(m, q, v),
}
"""Every public function of a configuration, called with (model, q, v, a)."""


def numbers(result: Any) -> np.ndarray:
    """All numbers of a result, whatever it is made of, the batch first where there is one."""
    if isinstance(result, tuple) and len({np.shape(x) for x in result}) > 1:
        result = dict(enumerate(result))
    if isinstance(result, dict):
        parts = [numbers(x) for x in result.values()]
        return np.concatenate(parts, axis=-1) if parts else np.zeros(0)
    spatial = getattr(result, "holds_scalars", False)
    return as_array(list(scalars_in(result))) if spatial else np.asarray(result)


def refused(call: Callable[[], Any]) -> QdotError | None:
    """The error that a call raises on purpose, None where it succeeds; any other exception passes through."""
    try:
        call()
    except QdotError as error:
        return error
    return None
