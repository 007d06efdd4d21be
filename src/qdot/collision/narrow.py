"""Which narrow phase serves two shapes: one table by their kinds.

A narrow phase is a text f(sizes_a, X_a, sizes_b, X_b, margin) → touches, always as many: those that do not exist are
FAR. Touches at distances of the margin and above are of no interest, and may be left out or not. The normal points from
the first shape to the second, whichever way round the table has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import hypot
from typing import TypeAlias

from qdot.algebra import Scalar, Scalars
from qdot.collision import boxes, capsules, planes, spheres
from qdot.collision.capsule_box import capsule_box
from qdot.collision.convex import convex_touches, gap_of_centres
from qdot.collision.hulls import Hulls, hulls_of
from qdot.collision.support import CONVEX, Convex
from qdot.collision.terrain import TOUCHES, over_field
from qdot.collision.touch import Narrow, Touch
from qdot.errors import GeometryError
from qdot.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, HeightField, Placed, Plane, Shape, Sphere
from qdot.spatial import Transform

Gap: TypeAlias = Callable[[Scalars, Transform, Scalars, Transform], Scalar]
"""From the sizes and poses of two shapes."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """A narrow phase, how many touches it gives, and whether these tell a tangent; and where it is a search, what
    tells beforehand that shapes are apart, a number not more than their distance."""

    function: Narrow
    count: int
    tells_tangent: bool = False
    gap: Gap | None = None


_ORDER: tuple[type[Shape], ...] = (Plane, HeightField, Sphere, Capsule, Ellipsoid, Cylinder, Box)
_CLOSED_FORMS: dict[tuple[type[Shape], type[Shape]], Meeting] = {
    (Plane, Sphere): Meeting(planes.plane_sphere, 1),
    (Plane, Capsule): Meeting(planes.plane_capsule, 2, tells_tangent=True),
    (Plane, Ellipsoid): Meeting(planes.plane_ellipsoid, 1),
    (Plane, Cylinder): Meeting(planes.plane_cylinder, 4),
    (Plane, Box): Meeting(planes.plane_box, 4),
    (Sphere, Sphere): Meeting(spheres.sphere_sphere, 1),
    (Sphere, Capsule): Meeting(spheres.sphere_capsule, 1),
    (Sphere, Cylinder): Meeting(spheres.sphere_cylinder, 1),
    (Sphere, Box): Meeting(spheres.sphere_box, 1),
    (Capsule, Capsule): Meeting(capsules.capsule_capsule, 2),
    (Capsule, Box): Meeting(capsule_box, 2),
    (Box, Box): Meeting(boxes.box_box, boxes.CORNERS),
}
_LOOKING_AHEAD: dict[tuple[type[Shape], type[Shape]], Meeting] = {
    (Capsule, Capsule): Meeting(capsules.capsules_ahead, 3),
}
"""Those that tell where shapes may come to touch next, for what looks for when they meet."""


def rank(shape: Shape) -> int:
    """Where a kind of shape stands in a pair: in the order of MuJoCo's kinds, all others last."""
    kind = type(shape)
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def is_hull(shape: Shape) -> bool:
    """Whether a shape collides as the hull of its corners."""
    return type(shape) not in CONVEX and not isinstance(shape, (Plane, HeightField, Placed))


def has_closed_form(a: Shape, b: Shape) -> bool:
    """Whether the touches of two shapes need no search."""
    return (type(a), type(b)) in _CLOSED_FORMS or (type(b), type(a)) in _CLOSED_FORMS


def meeting(a: Shape, b: Shape, hulls: Hulls | None = None, *, ahead: bool = False) -> Meeting:
    """The narrow phase of two shapes, each in its own frame; a mesh collides as its convex hull.

    With `hulls` it is the same for all of them, and is told by their numbers which it has before it. Where it looks
    `ahead`, it also tells where shapes that turn may come to touch next."""
    if isinstance(a, Placed):
        return _placed(a.placement, meeting(a.shape, b, hulls, ahead=ahead))
    if isinstance(b, Placed) or rank(b) < rank(a):
        return turned(meeting(b, a, hulls, ahead=ahead))
    if ahead and (type(a), type(b)) in _LOOKING_AHEAD:
        return _LOOKING_AHEAD[type(a), type(b)]
    if (type(a), type(b)) in _CLOSED_FORMS:
        return _CLOSED_FORMS[type(a), type(b)]
    if isinstance(a, Plane) and not isinstance(b, (Plane, HeightField)):
        told = hulls if hulls is not None and is_hull(b) else None
        return _over_plane(told or hulls_of((b,)), told=told is not None)
    if isinstance(a, HeightField) and not isinstance(b, HeightField):
        return _over_field(a, _convex(b, hulls), meeting(Plane(), b, hulls))
    if isinstance(a, (Plane, HeightField)):
        raise GeometryError(
            f"there is no narrow phase for {type(a).__name__} with {type(b).__name__}; exclude the pair, or let it "
            "collide as other shapes"
        )
    return _of_supports(*(_convex(shape, hulls) for shape in (a, b)))


def _convex(shape: Shape, hulls: Hulls | None) -> Callable[[Scalars], Convex]:
    if type(shape) in CONVEX:
        return CONVEX[type(shape)]
    return _alone(hulls_of((shape,))) if hulls is None else hulls.convex


@lru_cache(maxsize=256)
def _over_plane(hulls: Hulls, *, told: bool) -> Meeting:
    narrow = planes.plane_hull(hulls)
    if told:
        return Meeting(narrow, planes.CORNERS)
    own = hulls.numbers[0]
    return Meeting(lambda a, X_a, b, X_b, margin: narrow(a, X_a, own, X_b, margin), planes.CORNERS)


@lru_cache(maxsize=256)
def _over_field(field: HeightField, convex: Callable[[Scalars], Convex], on_plane: Meeting) -> Meeting:
    return Meeting(over_field(field, convex, on_plane.function), TOUCHES)


@lru_cache(maxsize=256)
def _of_supports(one: Callable[[Scalars], Convex], two: Callable[[Scalars], Convex]) -> Meeting:
    """Of two convex shapes by their support points; the same for all pairs of the same kinds."""

    def function(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
        return convex_touches(one(a).at(X_a), two(b).at(X_b), margin)

    def gap(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform) -> Scalar:
        return gap_of_centres(one(a).at(X_a), two(b).at(X_b))

    return Meeting(function, 1, gap=gap)


@lru_cache(maxsize=256)
def _alone(hulls: Hulls) -> Callable[[Scalars], Convex]:
    return lambda sizes: hulls.convex(hulls.numbers[0])


@lru_cache(maxsize=256)
def turned(of: Meeting) -> Meeting:
    """The same narrow phase with its shapes exchanged."""

    def function(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
        touches = of.function(b, X_b, a, X_a, margin)
        return [replace(touch, normal=-touch.normal) for touch in touches]

    gap = of.gap
    return replace(of, function=function, gap=gap and (lambda a, X_a, b, X_b: gap(b, X_b, a, X_a)))


def _placed(placement: Transform, of: Meeting) -> Meeting:
    """The same narrow phase with its first shape at a pose in the frame that is given."""

    def function(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
        return of.function(a, X_a @ placement, b, X_b, margin)

    gap = of.gap
    return replace(of, function=function, gap=gap and (lambda a, X_a, b, X_b: gap(a, X_a @ placement, b, X_b)))


def sizes_of(shape: Shape) -> tuple[float, ...]:
    """The numbers [m] by which a narrow phase knows a shape: radii, halves of lengths and sides; none for others."""
    match shape:
        case Sphere() | Ellipsoid():
            return shape.dimensions()
        case Capsule() | Cylinder() | Cone():
            radius, length = shape.dimensions()
            return radius, length / 2
        case Box():
            x, y, z = shape.dimensions()
            return x / 2, y / 2, z / 2
        case Placed():
            return sizes_of(shape.shape)
        case _:
            return ()


def bounding_radius(shape: Shape) -> float | None:
    """The radius [m] of the ball about the shape's origin that holds it; none for a plane."""
    match shape:
        case Plane():
            return None
        case Sphere() | Ellipsoid():
            return max(shape.dimensions())
        case Capsule():
            radius, half = sizes_of(shape)
            return radius + half
        case Box() | Cylinder() | Cone():
            return hypot(*sizes_of(shape))
        case HeightField():
            top = shape.z * max(shape.heights.max(), -shape.heights.min())
            return hypot(shape.x, shape.y, max(top, shape.base))
        case Placed():
            inner = bounding_radius(shape.shape)
            return None if inner is None else inner + float(shape.placement.position.norm())
        case _:
            vertices, _ = shape.surface()
            return float((vertices * vertices).sum(axis=1).max()) ** 0.5
