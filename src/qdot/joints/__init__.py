"""Joints, one kind a file; every one answers the questions of `Joint`."""

from qdot.joints.base import Joint, Limits
from qdot.joints.compound import Compound
from qdot.joints.continuous import Continuous
from qdot.joints.cylindrical import Cylindrical
from qdot.joints.fixed import Fixed
from qdot.joints.free import Free
from qdot.joints.helical import Helical
from qdot.joints.planar import Planar
from qdot.joints.prismatic import Prismatic
from qdot.joints.revolute import Revolute
from qdot.joints.spherical import Spherical
from qdot.joints.universal import Universal

__all__ = [
    "Compound",
    "Continuous",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "Joint",
    "Limits",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]
