"""Shapes of Coal, distances by it, and random poses."""

from __future__ import annotations

import coal
import numpy as np
from scipy.spatial.transform import Rotation

from qdot.algebra import Mat3, Vec3
from qdot.spatial import Transform

COAL = {
    "sphere": lambda r, *_: coal.Sphere(r),
    "capsule": lambda r, l, *_: coal.Capsule(r, 2 * l),
    "ellipsoid": lambda a, b, c: coal.Ellipsoid(a, b, c),
    "cylinder": lambda r, l, *_: coal.Cylinder(r, 2 * l),
    "box": lambda a, b, c: coal.Box(2 * a, 2 * b, 2 * c),
    "cone": lambda r, l, *_: coal.Cone(r, 2 * l),
}
"""By kind, of three sizes: radii, semi-axes, halves of lengths; those that a kind does not have are left out."""


def coal_hull(vertices: np.ndarray) -> coal.Convex:
    points = coal.StdVec_Vec3s()
    points.extend(list(vertices))
    return coal.ConvexBase.convexHull(points, True, "Qt")


def coal_mesh(vertices: np.ndarray, faces: np.ndarray) -> coal.BVHModelOBBRSS:
    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(len(faces), len(vertices))
    mesh.addVertices(np.ascontiguousarray(vertices))
    mesh.addTriangles(np.ascontiguousarray(faces))
    mesh.endModel()
    return mesh


def coal_distance(a, R_a, p_a, b, R_b, p_b) -> tuple[float, np.ndarray]:
    """Signed distance and normal from a to b."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance, request.gjk_max_iterations = 1e-10, 500
    request.epa_tolerance, request.epa_max_iterations = 1e-8, 250
    distance = coal.distance(a, coal.Transform3s(R_a, p_a), b, coal.Transform3s(R_b, p_b), request, result)
    return distance, np.array(result.normal)


def rotations(rng: np.random.Generator, count: int) -> np.ndarray:
    return Rotation.random(count, random_state=rng).as_matrix()


def positions(rng: np.random.Generator, count: int, reach: float) -> np.ndarray:
    """Within a ball, as many near its middle as near its surface."""
    p = rng.normal(size=(count, 3))
    return p * (reach * rng.random(count) / np.linalg.norm(p, axis=1))[:, None]


def pose(R, p) -> Transform:
    """Of nested scalars, or of a batch as lanes."""
    if np.ndim(p) == 2:
        R, p = np.moveaxis(R, 0, -1), np.moveaxis(p, 0, -1)
    return Transform(Mat3(*(Vec3(*row) for row in R)), Vec3(*p))
