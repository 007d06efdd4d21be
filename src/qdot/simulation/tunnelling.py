"""Shapes that passed through each other within a step, unseen by contacts that look at its ends only.

Two shapes hold balls about their centres. Along the straight way of one centre beside the other, the balls met in
between, but neither at the start nor at the end: then a contact was missed for certain. That is looked for only in
steps in which a shape moves farther than half the thickness of the thinnest two, by the step itself (`crossings`); who
they were is found out afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Scalars, Vec3, maximum, minimum, scanned, sqrt, where, where_needed
from qdot.algorithms.frames import root_frame
from qdot.algorithms.kinematics import world_poses
from qdot.collision.narrow import sizes_of
from qdot.collision.pairs import Pair, Part, pairs
from qdot.contact.gauss import body_motions
from qdot.geometry import HeightField, Plane
from qdot.model.model import Model
from qdot.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Passed(NamedTuple):
    """Two shapes, by name and body, that passed through each other in a step that began at this time [s]."""

    shapes: tuple[str, str]
    time: float
    run: int | None = None

    def told(self, model: Model, dt: float) -> str:
        """What happened, and what helps."""
        return (
            f"model {model.name!r}: {self.shapes[0]} passed through {self.shapes[1]} within a step of {dt:g} s, at t = "
            f"{self.time:.6g} s, and no contact was seen; take shorter steps, or contact='hard', which looks ahead"
        )


def passed_through(model: Model, window: Mapping[str, Array], began: float, dt: float) -> list[Passed]:
    """Of the states of a window, (steps + 1, n), or (steps + 1, batch, n), of a run that began at that time [s]."""
    q, watched = window["q"], watched_pairs(model)
    at, runs = np.nonzero(window["crossings"].reshape(len(q) - 1, -1))
    if not len(at):
        return []
    times = began + dt * window["count"].reshape(len(q), -1)[:, 0]
    rows = q.reshape(len(q), -1, q.shape[-1])
    start, end = (world_poses(model, list(rows[k, runs].T)) for k in (at, at + 1))
    found = []
    for pair, thin in watched:
        before, after = (_place(X, pair.second) - _place(X, pair.first) for X in (start, end))
        for i in np.flatnonzero(np.broadcast_to(_crosses(before, after, thin), at.shape)):
            names = (part_name(model, pair.first), part_name(model, pair.second))
            found.append(Passed(names, float(times[at[i]]), int(runs[i]) if q.ndim == 3 else None))
    return sorted(found, key=lambda one: one.time)


@lru_cache(maxsize=64)
def watched_pairs(model: Model) -> list[tuple[Pair, float]]:
    """Pairs that could pass through each other, and how thick the two are together [m]."""
    return [(pair, _thickness(pair)) for pair in pairs(model) if _thickness(pair) > 0]


def crossings(model: Model, q: Scalars, v: Scalars, dt: Scalar, after: Scalars) -> Scalar:
    """How many pairs passed through each other in a step from (q, v) to the configuration `after`."""
    watched = watched_pairs(model)
    if not watched:
        return 0.0

    def counted(given: tuple[list[Scalar], list[Scalar]]) -> Scalar:
        start, end = (world_poses(model, at) for at in given)
        rows = []
        for pair, thin in watched:
            ways = [_place(X, pair.second) - _place(X, pair.first) for X in (start, end)]
            rows.append([*ways[0], *ways[1], thin])
        return scanned(rows, [0.0], lambda count, row: [count[0] + _crosses(Vec3(*row[:3]), Vec3(*row[3:6]), row[6])])[
            0
        ]

    fast = 2 * _farthest(model, q, v, dt) > min(thin for _, thin in watched)
    return where_needed(fast, (list(q), list(after)), counted, 0.0)


def _crosses(start: Vec3, end: Vec3, thin: Scalar) -> Scalar:
    """1 where the way from start to end comes nearer to the origin than `thin` between, but not at its ends; else 0."""
    way = end - start
    square = maximum(way.dot(way), 1e-30)
    nearest = start + way * minimum(maximum(-start.dot(way) / square, 0.0), 1.0)
    ends = minimum(start.dot(start), end.dot(end))
    return where(nearest.dot(nearest) < thin * thin, where(ends >= thin * thin, 1.0, 0.0), 0.0)


def _place(X: Sequence[Transform], part: Part) -> Vec3:
    return X[part.body] @ part.placement.position


def _farthest(model: Model, q: Scalars, v: Scalars, dt: Scalar) -> Scalar:
    """How far a centre of a shape that could pass through another moves in a step, at most [m]."""
    at = root_frame(model, q)
    X, V = at.places or world_poses(model, q), body_motions(model, at, v)
    watched = [part for pair, _ in watched_pairs(model) for part in (pair.first, pair.second)]
    parts = {(part.body, part.placement.position) for part in watched}
    square: Scalar = 0.0
    for body, place in sorted(parts, key=lambda part: (part[0], tuple(part[1]))):
        speed = V[body].at(X[body] @ place).lin
        square = maximum(square, speed.dot(speed))
    return dt * sqrt(square)


def _thickness(pair: Pair) -> float:
    """The radii of the balls within two shapes together [m]; zero with ground, which nothing gets behind."""
    radii = []
    for part in (pair.first, pair.second):
        if isinstance(part.shape, (Plane, HeightField)):
            return 0.0
        sizes = sizes_of(part.shape)
        radii.append(min(sizes) if sizes else 0.0)
    return sum(radii)


def part_name(model: Model, part: Part) -> str:
    """A shape, by its own name and its body's."""
    body = "world" if part.body == 0 else model.bodies[part.body - 1].name
    return f"{part.record.name} of {body}" if part.record.name else body
