"""Spatial (6-D) vectors: motions, forces, inertias, and the transforms that carry them between frames."""

from qdot.spatial.basis import Basis
from qdot.spatial.inertia import ArticulatedInertia, Inertia
from qdot.spatial.physical import (
    check_physical,
    inertia_of_moments,
    nearest_physical,
    physical_problem,
    pseudo_inertia,
    surely_physical,
)
from qdot.spatial.transform import IDENTITY, Inverse, Transform, axis_rotation, pose_problem
from qdot.spatial.vectors import Force, Motion

__all__ = [
    "IDENTITY",
    "ArticulatedInertia",
    "Basis",
    "Force",
    "Inertia",
    "Inverse",
    "Motion",
    "Transform",
    "axis_rotation",
    "check_physical",
    "inertia_of_moments",
    "nearest_physical",
    "physical_problem",
    "pose_problem",
    "pseudo_inertia",
    "surely_physical",
]
