"""qdot: multi-joint dynamics, the mechanics written once, as the textbook writes it, over any scalar.

Describe a mechanism with `Mechanism`, make it a `Model` with `assemble`, and pass that to the functions here with
numbers, batches of numbers, or symbols. Joints are in `qdot.joints`, shapes in `qdot.geometry`, spatial vectors in
`qdot.spatial`, well-known mechanisms in `qdot.model.library`, edits in `qdot.model.edit`, errors in `qdot.errors`.
"""

from qdot.algorithms.jacobian import Orientation
from qdot.algorithms.kinematics import Coordinates, Kinematics, PointMotion
from qdot.description.builder import Mechanism
from qdot.model.assemble import assemble
from qdot.model.model import Model
from qdot.model.state import State
from qdot.programs import (
    analytic_jacobian,
    bias_acceleration,
    bias_forces,
    center_of_mass,
    centroidal_momentum,
    centroidal_momentum_matrix,
    christoffel_symbols,
    com_jacobian,
    configuration_rate,
    coriolis_matrix,
    difference,
    energy,
    forward_dynamics,
    frame_pose,
    gravity_forces,
    inertial_parameters,
    inverse_dynamics,
    jacobian,
    joint_wrenches,
    kinematics,
    kinetic_energy,
    link_jacobians,
    mass_matrix,
    momentum,
    normalized,
    passive_forces,
    point_jacobian,
    potential_energy,
    regressor,
    retract,
    total_mass,
    velocity_forces,
)
from qdot.symbolic import symbols

__version__ = "0.1.0"

__all__ = [
    "Coordinates",
    "Kinematics",
    "Mechanism",
    "Model",
    "Orientation",
    "PointMotion",
    "State",
    "analytic_jacobian",
    "assemble",
    "bias_acceleration",
    "bias_forces",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "christoffel_symbols",
    "com_jacobian",
    "configuration_rate",
    "coriolis_matrix",
    "difference",
    "energy",
    "forward_dynamics",
    "frame_pose",
    "gravity_forces",
    "inertial_parameters",
    "inverse_dynamics",
    "jacobian",
    "joint_wrenches",
    "kinematics",
    "kinetic_energy",
    "link_jacobians",
    "mass_matrix",
    "momentum",
    "normalized",
    "passive_forces",
    "point_jacobian",
    "potential_energy",
    "regressor",
    "retract",
    "symbols",
    "total_mass",
    "velocity_forces",
]
