"""Well-known mechanisms, ready to use, and random ones to test with."""

from qdot.model.library.arms import puma560, rp_arm, seven_joint_arm, two_link_arm
from qdot.model.library.pendulums import (
    acrobot,
    cart_pole,
    double_pendulum,
    five_link_chain,
    floating_two_link,
    n_pendulum,
    pendulum,
)
from qdot.model.library.random_trees import KINDS, random_inertia, random_pose, random_state, random_tree

__all__ = [
    "KINDS",
    "acrobot",
    "cart_pole",
    "double_pendulum",
    "five_link_chain",
    "floating_two_link",
    "n_pendulum",
    "pendulum",
    "puma560",
    "random_inertia",
    "random_pose",
    "random_state",
    "random_tree",
    "rp_arm",
    "seven_joint_arm",
    "two_link_arm",
]
