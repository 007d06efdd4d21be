"""Shapes that passed through each other within a step, unseen by contacts that look at its ends only.

Two shapes hold balls about their centres. Along the straight way of one centre beside the other, the balls met in
between, but neither at the start nor at the end: then a contact was missed for certain. That is looked for only in
steps in which a shape moves farther than half the thickness of the thinnest two: the step itself tells how far the
farthest moves (`farthest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Scalars, as_array, maximum, sqrt
from qdot.algorithms.frames import root_frame
from qdot.algorithms.kinematics import world_poses
from qdot.collision.narrow import sizes_of
from qdot.collision.pairs import Pair, Part, pairs
from qdot.contact.gauss import body_motions
from qdot.geometry import HeightField, Plane
from qdot.model.model import Model

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


def passed_through(model: Model, window: Mapping[str, Array], start: float, dt: float) -> list[Passed]:
    """Of the states of a window, (steps + 1, n), or (steps + 1, batch, n), of a run that began at `start` [s]."""
    q, moved = window["q"], window["farthest"][..., 0]
    watched = watched_pairs(model)
    if not watched or not len(moved):
        return []
    fast = (2 * moved > min(thin for _, thin in watched)).reshape(len(moved), -1)
    at, runs = np.nonzero(fast)
    if not len(at):
        return []
    times = start + dt * window["count"].reshape(len(q), -1)[:, 0]
    rows = q.reshape(len(q), -1, q.shape[-1])
    before, after = _centres(model, watched, rows[at, runs]), _centres(model, watched, rows[at + 1, runs])
    found = []
    for k, (pair, thin) in enumerate(watched):
        for i in np.flatnonzero(_crossed(before[k], after[k], thin)):
            names = (_name(model, pair.first), _name(model, pair.second))
            found.append(Passed(names, float(times[at[i]]), int(runs[i]) if q.ndim == 3 else None))
    return sorted(found, key=lambda one: one.time)


@lru_cache(maxsize=64)
def watched_pairs(model: Model) -> list[tuple[Pair, float]]:
    """Pairs that could pass through each other, and how thick the two are together [m]."""
    return [(pair, _thickness(pair)) for pair in pairs(model) if _thickness(pair) > 0]


def farthest(model: Model, q: Scalars, v: Scalars, dt: Scalar) -> Scalar:
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


def _crossed(start: Array, end: Array, thin: float) -> NDArray[np.bool_]:
    """Whether ways from start to end, (n, 3), come nearer to the origin than `thin` between, but not at their ends."""
    way = end - start
    square = np.maximum((way * way).sum(axis=1), 1e-300)
    share = np.clip(-(start * way).sum(axis=1) / square, 0, 1)
    nearest = np.linalg.norm(start + share[:, None] * way, axis=1)
    ends = np.minimum(np.linalg.norm(start, axis=1), np.linalg.norm(end, axis=1))
    return np.asarray((nearest < thin) & (ends >= thin))


def _centres(model: Model, watched: list[tuple[Pair, float]], q: Array) -> list[Array]:
    """Of each pair, the second centre from the first, (n, 3)."""
    X = world_poses(model, list(q.T))

    def centre(part: Part) -> Array:
        return as_array(list(X[part.body] @ part.placement.position), (len(q),))

    return [centre(pair.second) - centre(pair.first) for pair, _ in watched]


def _thickness(pair: Pair) -> float:
    """The radii of the balls within two shapes together [m]; zero with ground, which nothing gets behind."""
    radii = []
    for part in (pair.first, pair.second):
        if isinstance(part.shape, (Plane, HeightField)):
            return 0.0
        sizes = sizes_of(part.shape)
        radii.append(min(sizes) if sizes else 0.0)
    return sum(radii)


def _name(model: Model, part: Part) -> str:
    body = "world" if part.body == 0 else model.bodies[part.body - 1].name
    return f"{part.record.name} of {body}" if part.record.name else body
