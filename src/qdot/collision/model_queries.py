"""What people ask about a model in a configuration: where its shapes touch, which are nearest, what a ray meets.

`contacts` tells what a simulation sees: pairs that may touch, and meshes as their convex hulls, as in MuJoCo. Distances
and rays take meshes as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from qdot.algebra import is_number
from qdot.algorithms.kinematics import world_poses
from qdot.collision.hulls import corners_of
from qdot.collision.narrow import bounding_radius, meeting, sizes_of
from qdot.collision.pairs import Part, pairs, parts_of
from qdot.collision.queries import Closest, RayHit, distance, ray, touches
from qdot.collision.touch import Touch
from qdot.errors import ValueShapeError
from qdot.geometry import ConvexHull, HeightField, Mesh, MeshFile, Shape
from qdot.model.model import Model, require_model
from qdot.model.vectors import scalars_of
from qdot.spatial import Transform


@dataclass(frozen=True, slots=True)
class Place:
    """A shape of a model: its name ("" where it has none), its number on its body, and the body's name."""

    shape: str
    number: int
    body: str


@dataclass(frozen=True, slots=True)
class ModelTouch:
    """A touch of two shapes of a model, in the world's frame; see `Touch`."""

    first: Place
    second: Place
    touch: Touch


@dataclass(frozen=True, slots=True)
class ModelClosest:
    """How near two shapes of a model are, in the world's frame; see `Closest`."""

    first: Place
    second: Place
    closest: Closest


@dataclass(frozen=True, slots=True)
class ModelHit:
    """What a ray meets in a model, in the world's frame; see `RayHit`."""

    place: Place
    hit: RayHit


def contacts(model: Model, q: Any) -> list[ModelTouch]:
    """All touches of shapes that may touch (see `pairs`), nearer than the margins of their pairs."""
    poses = _poses(model, q, "contacts")
    found = []
    for pair in pairs(model):
        limit = pair.margin + pair.gap
        (a, X_a), (b, X_b) = _placed(pair.first, poses), _placed(pair.second, poses)
        if _apart(a, X_a, b, X_b) < limit:
            places = _place(model, pair.first), _place(model, pair.second)
            found += [ModelTouch(*places, touch) for touch in _touches(a, X_a, b, X_b, limit) if touch.distance < limit]
    return found


def closest(model: Model, q: Any, count: int = 1) -> list[ModelClosest]:
    """Those pairs of shapes that may touch and are nearest, as many as asked for, nearest first."""
    poses = _poses(model, q, "closest")
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise ValueShapeError(f"closest takes a count of pairs, 1 or more, got {count!r}")
    waiting = [(pair, _placed(pair.first, poses), _placed(pair.second, poses)) for pair in pairs(model)]
    waiting.sort(key=lambda entry: _apart(*entry[1], *entry[2]))
    found: list[ModelClosest] = []
    for pair, (a, X_a), (b, X_b) in waiting:
        if len(found) == count and _apart(a, X_a, b, X_b) > found[-1].closest.distance:
            break
        answer = distance(a.at(X_a), b.at(X_b))
        found.append(ModelClosest(_place(model, pair.first), _place(model, pair.second), answer))
        found = sorted(found, key=lambda entry: entry.closest.distance)[:count]
    return found


def ray_cast(model: Model, q: Any, origin: Iterable[float], direction: Iterable[float]) -> ModelHit | None:
    """The first surface that a ray from `origin` [m] along `direction` meets, in the world's frame; None without one.

    Shapes to collide with and shapes to be seen both count.
    """
    poses = _poses(model, q, "ray_cast")
    o, d = tuple(origin), tuple(direction)
    best: ModelHit | None = None
    for part in parts_of(model):
        shape, X = _placed(part, poses)
        hit = ray(shape.at(X), o, d)
        if hit is not None and (best is None or hit.distance < best.hit.distance):
            best = ModelHit(_place(model, part), hit)
    return best


def _poses(model: Model, q: Any, what: str) -> list[Transform]:
    require_model(model, what)
    scalars = scalars_of(model, "q", q)
    if not all(is_number(x) for x in scalars):
        raise ValueShapeError(f"{what} takes one configuration q in numbers; call it for each row of a batch")
    return world_poses(model, scalars)


def _placed(part: Part, poses: list[Transform]) -> tuple[Shape, Transform]:
    shape = part.shape.mesh() if isinstance(part.shape, MeshFile) else part.shape
    return shape, poses[part.body] @ part.placement


def _place(model: Model, part: Part) -> Place:
    body = model.bodies[part.body - 1] if part.body else None
    records = model.description.world_shapes if body is None else body.record.shapes
    number = next(k for k, record in enumerate(records) if record is part.record)
    return Place(part.record.name, number, "world" if body is None else body.name)


def _apart(a: Shape, X_a: Transform, b: Shape, X_b: Transform) -> float:
    """No more than the distance of two shapes: that of the balls that hold them."""
    balls = bounding_radius(a), bounding_radius(b)
    if balls[0] is None or balls[1] is None:
        return -inf
    return float((X_b.position - X_a.position).norm()) - balls[0] - balls[1]


def _touches(a: Shape, X_a: Transform, b: Shape, X_b: Transform, limit: float) -> list[Touch]:
    if isinstance(a, HeightField):
        return touches(a.at(X_a), (ConvexHull(corners_of(b)) if isinstance(b, Mesh) else b).at(X_b), limit)
    return meeting(a, b).function(sizes_of(a), X_a, sizes_of(b), X_b, limit)
