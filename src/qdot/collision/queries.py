"""What people ask about shapes in space: how far apart they are, where they touch, what a ray meets.

Answers are plain numbers. A mesh is taken as it is, a surface of triangles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Vec3, as_array, is_number, scalars_in
from qdot.collision.bvh import tree_of
from qdot.collision.convex import Nearest, nearest as convex_nearest
from qdot.collision.height_field import field_convex_within
from qdot.collision.hulls import hull
from qdot.collision.narrow import meeting, sizes_of
from qdot.collision.rays import RAYS, ray_tree
from qdot.collision.support import CONVEX, Convex
from qdot.collision.touch import FAR, Touch
from qdot.collision.triangles import mesh_convex, mesh_convex_within, mesh_mesh, mesh_mesh_within
from qdot.errors import GeometryError, ValueShapeError
from qdot.geometry import ConvexHull, HeightField, Mesh, MeshFile, Placed, Plane, Shape
from qdot.geometry.mesh import Polyhedron
from qdot.spatial import IDENTITY, Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Closest:
    """Signed distance of two shapes [m], negative where they overlap; their nearest points, and the unit normal from
    the first to the second, all in the frame both are placed in. `converged` is false where the distance is less sharp
    than 1e-8 of the shapes' size."""

    distance: float
    on_first: NDArray[np.float64]
    on_second: NDArray[np.float64]
    normal: NDArray[np.float64]
    converged: bool


@dataclass(frozen=True, slots=True)
class RayHit:
    """Where a ray meets a surface: how far from its origin [m], the point, and the unit normal out of the shape."""

    distance: float
    position: NDArray[np.float64]
    normal: NDArray[np.float64]


def distance(first: Shape, second: Shape) -> Closest:
    """How far two shapes are apart, or by what least shift they would be; at deep overlaps of round shapes, rarely, by
    a shift that is not the least."""
    (a, X_a), (b, X_b) = _own(first, "distance"), _own(second, "distance")
    found = _nearest(a, X_a, b, X_b)
    on_first, on_second, normal = (as_array(x) for x in (found.on_a, found.on_b, found.normal))
    return Closest(float(found.distance), on_first, on_second, normal, not found.failed)


def touches(first: Shape, second: Shape, margin: float = 0.0) -> list[Touch]:
    """All points at which two shapes come nearer than a margin [m]: none where they are apart, several where faces
    meet; for meshes one of each pair of triangles."""
    (a, X_a), (b, X_b) = _own(first, "touches"), _own(second, "touches")
    limit = _length(margin, "the margin of touches")
    return [touch for touch in _touches(a, X_a, b, X_b, limit) if touch.distance < limit]


def ray(shape: Shape, origin: Iterable[float], direction: Iterable[float]) -> RayHit | None:
    """The first point of a shape's surface on the ray from `origin` [m] along `direction`, which is where it leaves if
    the origin is inside; None where it misses."""
    own, X = _own(shape, "ray")
    o, d = _ray_of(origin, direction)
    return _ray(own, X, o, d)


def _nearest(a: Shape, X_a: Transform, b: Shape, X_b: Transform) -> Nearest:
    one, two = _convex(a), _convex(b)
    if one and two:
        return convex_nearest(one.at(X_a), two.at(X_b))
    if isinstance(a, Plane):
        return _plane_nearest(X_a, b, X_b)
    if isinstance(b, Plane):
        return _plane_nearest(X_b, a, X_a).turned()
    if one or (isinstance(b, HeightField) and not isinstance(a, HeightField)):
        return _nearest(b, X_b, a, X_a).turned()
    if two:
        deep = field_convex_within(a, X_a, two.at(X_b), 0.0) if isinstance(a, HeightField) else []
        return deep[0] if deep else mesh_convex(_surface(a), X_a, two.at(X_b))
    return mesh_mesh(_surface(a), X_a, _surface(b), X_b)


def _touches(a: Shape, X_a: Transform, b: Shape, X_b: Transform, limit: float) -> list[Touch]:
    one, two = _convex(a), _convex(b)
    if (one or isinstance(a, Plane)) and (two or isinstance(b, Plane)):
        _two_planes(a, b)
        return meeting(a, b).function(sizes_of(a), X_a, sizes_of(b), X_b, limit)
    if isinstance(a, Plane) or one or (isinstance(b, HeightField) and not isinstance(a, HeightField)):
        turned = _touches(b, X_b, a, X_a, limit)
        return [Touch(touch.distance, touch.position, -touch.normal) for touch in turned]
    if isinstance(b, Plane):
        return meeting(a, b).function(sizes_of(a), X_a, sizes_of(b), X_b, limit)
    if two:
        convex = two.at(X_b)
        if isinstance(a, HeightField):
            return [row.touch() for row in field_convex_within(a, X_a, convex, limit)]
        return [row.touch() for row in mesh_convex_within(_surface(a), X_a, convex, limit)]
    return [row.touch() for row in mesh_mesh_within(_surface(a), X_a, _surface(b), X_b, limit)]


def _plane_nearest(X: Transform, other: Shape, X_b: Transform) -> Nearest:
    """The lowest point of a shape over a half space."""
    _two_planes(Plane(), other)
    up = X.rotation @ Vec3(0.0, 0.0, 1.0)
    shape = _convex(other)
    if shape is None:
        vertices = _surface(other).vertices
        down = as_array(X_b.rotation.T @ -up)
        point = X_b @ Vec3(*vertices[np.argmax(vertices @ down)].tolist())
    else:
        point = shape.at(X_b).support(-up) - up * shape.radius
    height = up.dot(point - X.position)
    return Nearest(height, point - up * height, point, up, 0.0)


def _ray(shape: Shape, X: Transform, o: Vec3, d: Vec3) -> RayHit | None:
    p, e = X.inv() @ o, X.rotation.T @ d
    text = RAYS.get(type(shape))
    if text is not None:
        hit = text(sizes_of(shape), p, e)
        length, normal = float(hit.distance), hit.normal
    else:
        surface = _surface(shape)
        length, face = ray_tree(tree_of(surface), as_array(p), as_array(e))
        a, b, c = (Vec3(*corner) for corner in surface.vertices[surface.faces[face]].tolist())
        normal = (b - a).cross(c - a)
        normal = normal / normal.norm() if length < FAR else normal
    return None if length >= FAR else RayHit(length, as_array(o + d * length), as_array(X.rotation @ normal))


def _two_planes(a: Shape, b: Shape) -> None:
    if isinstance(a, Plane) and isinstance(b, Plane):
        raise GeometryError("two planes have no distance and no points of touch: they are half spaces without end")


def _own(shape: Any, what: str) -> tuple[Shape, Transform]:
    """A shape in its own frame, and where that is."""
    X = IDENTITY
    while isinstance(shape, Placed):
        X, shape = X @ shape.placement, shape.shape
    if not isinstance(shape, Shape):
        raise GeometryError(f"{what} takes shapes of qdot.geometry, got {shape!r}; place them with shape.at(x, y, z)")
    if not all(is_number(x) for x in scalars_in(X)):
        raise GeometryError(f"{what} takes shapes at places in numbers, but {shape!r} is placed by symbols or lanes")
    return (shape.mesh() if isinstance(shape, MeshFile) else shape), X


def _convex(shape: Shape) -> Convex | None:
    """A convex shape by its support points; none for meshes and ground."""
    if isinstance(shape, ConvexHull):
        return hull(shape.vertices)
    made = CONVEX.get(type(shape))
    return None if made is None else made(sizes_of(shape))


def _surface(shape: Shape) -> Polyhedron:
    return shape if isinstance(shape, Polyhedron) else _drawn(shape)


@lru_cache(maxsize=64)
def _drawn(shape: Shape) -> Mesh:
    """Terrain as a mesh."""
    return Mesh(*shape.surface())


def _length(value: Any, what: str) -> float:
    if not isinstance(value, Real) or isnan(value):
        raise ValueShapeError(f"{what} must be a number [m], got {value!r}")
    return float(value)


def _ray_of(origin: Any, direction: Any) -> tuple[Vec3, Vec3]:
    """The origin and the unit direction of a ray."""
    o, d = Vec3.of(origin), Vec3.of(direction)
    for what, vector in (("origin", o), ("direction", d)):
        if not all(is_number(x) and np.isfinite(float(x)) for x in vector):
            raise ValueShapeError(f"the {what} of a ray must be three finite numbers, got {vector!r}")
    largest = max(abs(float(x)) for x in d)
    if largest == 0:
        raise ValueShapeError("the direction of a ray is zero; give it a length")
    d = d / largest
    return Vec3(*map(float, o)), d / d.norm()
