"""Shapes of bodies: their volume, inertia and surface, and integration over them."""

from qdot.geometry.height_field import HeightField
from qdot.geometry.mesh import ConvexHull, Mesh
from qdot.geometry.mesh_reference import MeshFile
from qdot.geometry.plane import Plane
from qdot.geometry.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from qdot.geometry.shape import Placed, Shape
from qdot.geometry.solid import Solid, integrate, mass_properties

__all__ = [
    "Box",
    "Capsule",
    "Cone",
    "ConvexHull",
    "Cylinder",
    "Ellipsoid",
    "HeightField",
    "Mesh",
    "MeshFile",
    "Placed",
    "Plane",
    "Shape",
    "Solid",
    "Sphere",
    "integrate",
    "mass_properties",
]
