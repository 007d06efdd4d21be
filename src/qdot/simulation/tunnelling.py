"""Shapes that passed through each other within a step, unseen by contacts that look at its ends only.

Two shapes hold balls about their middles. Along the straight way of one middle beside the other, the balls met in
between, but neither at the start nor at the end: then a contact was missed for certain. That is looked for only where
both together move farther in a step than the sum of the radii, for otherwise the balls at most graze, by the step
itself (`crossings`); who they were is found out afterwards. Of two shapes of one mechanism it counts how they move
beside its first body.

Half of all pairs of a tumbling robot are that fast, but hardly any two will pass: velocities tell so, and poses after
the step are worked out only where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Scalars, Vec3, maximum, minimum, scanned, sqrt, where, where_needed
from qdot.algorithms.frames import root_frame
from qdot.algorithms.kinematics import world_poses
from qdot.collision.hulls import hull_of
from qdot.collision.narrow import is_hull, sizes_of
from qdot.collision.pairs import Pair, Part, pairs
from qdot.contact.gauss import body_motions
from qdot.geometry import Capsule, Cone, HeightField, Plane, Shape
from qdot.model.model import Model
from qdot.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


AT_ONCE = 4096
"""Steps in which somebody passed that are looked at together."""

AHEAD = 2.0
"""Times that shapes may move farther in a step than at the velocities before it, and still be seen."""


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


class Crossed(NamedTuple):
    """Steps in which shapes passed through each other: when they began [s], which runs of a batch they were of, if it
    is one, and the configurations before and after, (steps, nq)."""

    times: Array
    runs: NDArray[np.int64] | None
    before: Array
    after: Array

    @staticmethod
    def of(window: Mapping[str, Array], began: float, dt: float) -> Crossed | None:
        """Of the states of a window, (steps + 1, n), or (steps + 1, batch, n), of a run that began at that time [s];
        none where nothing passed."""
        q = window["q"]
        if not window["crossings"].any():  # nor where there is no step
            return None
        at, runs = np.nonzero(window["crossings"].reshape(len(q) - 1, -1))
        times = began + dt * window["count"].reshape(len(q), -1)[at, 0].astype(float)
        rows = q.reshape(len(q), -1, q.shape[-1])
        return Crossed(times, runs if q.ndim == 3 else None, rows[at, runs], rows[at + 1, runs])

    def passed(self, model: Model, steps: slice = slice(None)) -> list[Passed]:
        """Who it was, in these of the steps, first things first."""
        watched, found = watched_pairs(model), []
        thin, of = np.array([[thick] for _, thick in watched]), [pair for pair, _ in watched]
        asked = np.arange(len(self.times))[steps]
        for chunk in np.array_split(asked, -(-len(asked) // AT_ONCE)):
            ends = (_centres(model, world_poses(model, _lanes(q[chunk]))) for q in (self.before, self.after))
            start, end = (_beside(model, centres, len(chunk)) for centres in ends)
            for number, i in np.argwhere(_crosses(start, end, thin)):
                one, two = (part_name(model, part) for part in of[number].parts)
                run = None if self.runs is None else int(self.runs[chunk[i]])
                found.append(Passed((one, two), float(self.times[chunk[i]]), run))
        return sorted(found, key=lambda passed: passed.time)


def all_passed(model: Model, crossed: Sequence[Crossed]) -> tuple[Passed, ...]:
    """Of several windows."""
    return tuple(one for window in crossed for one in window.passed(model))


def _lanes(rows: Array) -> list[Any]:
    """A lane for each column; of one row its numbers, which are quicker."""
    return list(rows.T) if len(rows) > 1 else rows[0].tolist()


def _beside(model: Model, centres: Mapping[int, Vec3], count: int) -> Vec3:
    """Where the second shape of each pair is beside the first, on lanes of pairs and of so many steps."""
    lanes = np.empty((3, len(centres), count))
    for k, centre in enumerate(centres.values()):
        for lane, x in zip(lanes, centre, strict=True):
            lane[k] = x
    first, second = _watched_parts(model).of_pairs
    return Vec3(*(lanes[:, second] - lanes[:, first]))


@lru_cache(maxsize=64)
def watched_pairs(model: Model) -> list[tuple[Pair, float]]:
    """Pairs that could pass through each other, and how thick the two are together [m]."""
    return [(pair, _thickness(pair)) for pair in pairs(model) if _thickness(pair) > 0]


class _Watched(NamedTuple):
    """The shapes of all such pairs, each once, and which ones each pair has, (2, pairs)."""

    parts: list[Part]
    of_pairs: NDArray[np.int64]


@lru_cache(maxsize=64)
def _watched_parts(model: Model) -> _Watched:
    of = [pair for pair, _ in watched_pairs(model)]
    parts = {id(part): part for pair in of for part in pair.parts}
    numbers = {name: k for k, name in enumerate(parts)}
    of_pairs = np.array([[numbers[id(pair.parts[k])] for pair in of] for k in (0, 1)])
    return _Watched(list(parts.values()), of_pairs)


def crossings(model: Model, q: Scalars, v: Scalars, dt: Scalar, after: Scalars) -> Scalar:
    """How many pairs passed through each other in a step from (q, v) to the configuration `after`."""
    watched, points = watched_pairs(model), _points(model)
    if not watched:
        return 0.0

    start, ways = _centres(model, root_frame(model, q).places or world_poses(model, q)), _ways(model, q, v, dt)

    def asked(given: tuple[list[Scalar], dict[int, Vec3], dict[_Point, _Way]]) -> Scalar:
        after, start, ways = given
        rows = [
            [
                *(x for part, p in zip(pair.parts, both, strict=True) for x in (*start[id(part)], *ways[p].along)),
                *(thin, *(ways[p].length for p in both)),
            ]
            for (pair, thin), both in zip(watched, points, strict=True)
        ]
        some = scanned(rows, 0.0, lambda count, row: count + _may_pass(row))
        return where_needed(some > 0, (after, start), counted, 0.0)

    def counted(given: tuple[list[Scalar], dict[int, Vec3]]) -> Scalar:
        after, start = given
        end = _centres(model, world_poses(model, after))
        rows = [
            [*(x for part in pair.parts for at in (start, end) for x in at[id(part)]), thin] for pair, thin in watched
        ]
        return scanned(rows, 0.0, lambda count, row: count + _passes(row))

    least: dict[_Point, float] = {}
    for (_, thin), both in zip(watched, points, strict=True):
        least.update((point, min(least.get(point, thin), thin)) for point in both)
    farthest = reduce(maximum, (ways[point].length * (2 / thin) for point, thin in least.items()))
    return where_needed(farthest > 1, (list(after), start, ways), asked, 0.0)


def _centres(model: Model, X: Sequence[Transform]) -> dict[int, Vec3]:
    """Of all shapes that could pass through others."""
    return {id(part): _place(X, part) for part in _watched_parts(model).parts}


def _may_pass(row: Scalars) -> Scalar:
    """1 where two shapes could pass through each other, else 0: the centre of the first and its way, of the second, how
    thick they are together, and how far both move."""

    def heads_past(row: list[Scalar]) -> Scalar:
        a, a_way, b, b_way = (Vec3(*row[k : k + 3]) for k in range(0, 12, 3))
        start, thin = b - a, row[12]
        end = start + (b_way - a_way) * AHEAD
        return where(_is_past(start, end, thin), where(start.dot(start) >= thin * thin, 1.0, 0.0), 0.0)

    return where_needed(row[13] + row[14] > row[12], list(row), heads_past, 0.0)


def _passes(row: Scalars) -> Scalar:
    """1 where two shapes passed through each other, else 0: centres of the first at start and end, of the second, and
    how thick they are together."""
    a, a_end, b, b_end = (Vec3(*row[k : k + 3]) for k in range(0, 12, 3))
    start, end, thin = b - a, b_end - a_end, row[12]
    return where_needed(_is_past(start, end, thin), (start, end, thin), lambda given: _crosses(*given), 0.0)


def _is_past(start: Vec3, end: Vec3, thin: Scalar) -> Scalar:
    """Where a way that comes nearer to the origin than `thin` may have come past it: with s, e from its nearest point,
    d away, to its ends, start·end = d² - s e < d² < thin²."""
    return start.dot(end) < thin * thin


def _crosses(start: Vec3, end: Vec3, thin: Scalar) -> Scalar:
    """1 where the way from start to end comes nearer to the origin than `thin` between, but not at its ends; else 0."""
    way = end - start
    square = maximum(way.dot(way), 1e-30)
    nearest = start + way * minimum(maximum(-start.dot(way) / square, 0.0), 1.0)
    ends = minimum(start.dot(start), end.dot(end))
    return where(nearest.dot(nearest) < thin * thin, where(ends >= thin * thin, 1.0, 0.0), 0.0)


def _place(X: Sequence[Transform], part: Part) -> Vec3:
    return X[part.body] @ _middle(part)


class _Way(NamedTuple):
    """How a point moves in a step at the velocities before it, and how far [m]."""

    along: Vec3
    length: Scalar


class _Point(NamedTuple):
    """The middle of a shape, by its body and its place there, and the body beside which its motion counts."""

    body: int
    beside: int
    place: Vec3


@lru_cache(maxsize=64)
def _points(model: Model) -> list[tuple[_Point, ...]]:
    """Of the two shapes of each pair."""
    first, found = _first_bodies(model), []
    for pair, _ in watched_pairs(model):
        trees = {first[part.body] for part in pair.parts}
        beside = trees.pop() if len(trees) == 1 else 0
        found.append(tuple(_Point(part.body, beside, _middle(part)) for part in pair.parts))
    return found


def _ways(model: Model, q: Scalars, v: Scalars, dt: Scalar) -> dict[_Point, _Way]:
    """How points move in a step."""
    at = root_frame(model, q)
    X, V = at.places or world_poses(model, q), body_motions(model, at, v)
    found = {}
    for point in dict.fromkeys(point for both in _points(model) for point in both):
        way = (V[point.body] - V[point.beside]).at(X[point.body] @ point.place).lin * dt
        found[point] = _Way(way, sqrt(way.dot(way)))
    return found


def _first_bodies(model: Model) -> list[int]:
    """Of each body, the world first: the one of its mechanism that hangs on the world."""
    first = [0]
    for body in model.bodies:
        first.append(first[body.parent] or body.index)
    return first


def _thickness(pair: Pair) -> float:
    """The radii of the balls within two shapes together [m]; zero with ground, which nothing gets behind."""
    radii = [_inner_radius(part.shape) for part in pair.parts]
    return sum(r for r in radii if r is not None) if None not in radii else 0.0


def _inner_radius(shape: Shape) -> float | None:
    """Of a ball about a shape's middle that lies within it [m]; none of ground."""
    if isinstance(shape, (Plane, HeightField)):
        return None
    if is_hull(shape):
        return hull_of(shape).inner_radius
    sizes = sizes_of(shape)
    match shape:
        case Capsule():
            return sizes[0]
        case Cone():
            return sizes[0] * sizes[1] / hypot(sizes[0], 2 * sizes[1])
        case _:
            return min(sizes)


def _middle(part: Part) -> Vec3:
    """Of a shape, in its body's frame."""
    within = Vec3(*hull_of(part.shape).middle.tolist()) if is_hull(part.shape) else Vec3.zero()
    return part.placement @ within


def part_name(model: Model, part: Part) -> str:
    """A shape, by its own name and its body's."""
    body = "world" if part.body == 0 else model.bodies[part.body - 1].name
    return f"{part.record.name} of {body}" if part.record.name else body
