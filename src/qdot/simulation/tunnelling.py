"""Shapes that passed through each other within a step, unseen by contacts that look at its ends only.

Two shapes hold balls about their middles. Along the straight way of one middle beside the other, the balls met in
between, but neither at the start nor at the end: then a contact was missed for certain. That is looked for only where
one moves farther beside the other in a step than the sum of the radii, for otherwise the balls at most graze, by the
step itself (`crossings`); who they were is found out afterwards. Of two shapes of one mechanism it counts how they move
beside its first body, or where both bodies hang on one, as fingers do, beside that.

Then one of the two moves farther than its own radius. Few do: feet and hands of a robot that tumbles, and of these
velocities tell that hardly any will pass through another. Poses after the step are worked out only where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial, reduce
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
    moving, some = _moving(model, q, v, dt), 0.0
    for ball, others in _others(model).items():
        one, thin = moving[ball], [ball.radius + other.radius for other in others]
        longest = reduce(maximum, (moving[other].length for other in others))
        given = some, one, [moving[other] for other in others]
        is_far = (one.length > ball.radius) & (one.length + longest > min(thin))
        some = where_needed(is_far, given, partial(_with_heading_past, thin), some)

    def counted(given: tuple[list[Scalar], list[Transform]]) -> Scalar:
        after, X = given
        start, end = _centres(model, X), _centres(model, world_poses(model, after))
        rows = [
            [*(x for part in pair.parts for at in (start, end) for x in at[id(part)]), thin] for pair, thin in watched
        ]
        return scanned(rows, 0.0, lambda count, row: count + _passes(row))

    watched, X = watched_pairs(model), root_frame(model, q).places or world_poses(model, q)
    return where_needed(some > 0, (list(after), X), counted, 0.0) if watched else 0.0


def _centres(model: Model, X: Sequence[Transform]) -> dict[int, Vec3]:
    """Of all shapes that could pass through others."""
    return {id(part): _place(X, part) for part in _watched_parts(model).parts}


def _with_heading_past(thin: Sequence[float], given: tuple[Scalar, _Moving, list[_Moving]]) -> Scalar:
    """How many there were, and how many balls one could pass through besides, of those that it may meet: so thick are
    both together."""
    some, one, others = given
    rows = [[other.length, thick, *other.at, *other.way] for other, thick in zip(others, thin, strict=True)]

    def heads_past(row: list[Scalar]) -> Scalar:
        start, way, square = Vec3(*row[2:5]) - one.at, Vec3(*row[5:]) - one.way, row[1] * row[1]
        outside = (way.dot(way) > square) & (start.dot(start) >= square)
        return where(outside & _is_past(start, start + way * AHEAD, square), 1.0, 0.0)

    def turn(some: Scalar, row: list[Scalar]) -> Scalar:
        return some + where_needed(one.length + row[0] > row[1], row, heads_past, 0.0)

    return scanned(rows, some, turn)


def _passes(row: Scalars) -> Scalar:
    """1 where two shapes passed through each other, else 0: centres of the first at start and end, of the second, and
    how thick they are together."""
    a, a_end, b, b_end = (Vec3(*row[k : k + 3]) for k in range(0, 12, 3))
    start, end, thin = b - a, b_end - a_end, row[12]
    square = thin * thin
    outside = (start.dot(start) >= square) & (end.dot(end) >= square)
    given = start, end, thin
    return where_needed(outside & _is_past(start, end, square), given, lambda given: _crosses(*given), 0.0)


def _is_past(start: Vec3, end: Vec3, square: Scalar) -> Scalar:
    """Where a way that comes nearer to the origin than `thin` may have come past it: with s, e from its nearest point,
    d away, to its ends, start·end = d² - s e < d² < thin², the square."""
    return start.dot(end) < square


def _crosses(start: Vec3, end: Vec3, thin: Scalar) -> Scalar:
    """1 where the way from start to end comes nearer to the origin than `thin` between, but not at its ends; else 0."""
    way = end - start
    square = maximum(way.dot(way), 1e-30)
    nearest = start + way * minimum(maximum(-start.dot(way) / square, 0.0), 1.0)
    ends = minimum(start.dot(start), end.dot(end))
    return where(nearest.dot(nearest) < thin * thin, where(ends >= thin * thin, 1.0, 0.0), 0.0)


def _place(X: Sequence[Transform], part: Part) -> Vec3:
    return X[part.body] @ _middle(part)


class _Moving(NamedTuple):
    """Where a ball is before a step, how it moves in it at the velocities there, and how far [m]."""

    at: Vec3
    way: Vec3
    length: Scalar


class _Ball(NamedTuple):
    """Within a shape: its body, the body beside which its motion counts, its middle there, and its radius [m]."""

    body: int
    beside: int
    middle: Vec3
    radius: float


@lru_cache(maxsize=64)
def _others(model: Model) -> dict[_Ball, list[_Ball]]:
    """Of each ball, those that it may pass through."""
    found = dict[_Ball, list[_Ball]]()
    for pair, _ in watched_pairs(model):
        beside = _beside_which(model, pair)
        one, two = (_Ball(part.body, beside, _middle(part), _inner_radius(part.shape) or 0.0) for part in pair.parts)
        found.setdefault(one, []).append(two)
        found.setdefault(two, []).append(one)
    return found


def _moving(model: Model, q: Scalars, v: Scalars, dt: Scalar) -> dict[_Ball, _Moving]:
    """How balls move in a step."""
    at = root_frame(model, q)
    X, V = at.places or world_poses(model, q), body_motions(model, at, v)
    found = {}
    for ball in _others(model):
        middle = X[ball.body] @ ball.middle
        way = (V[ball.body] - V[ball.beside]).at(middle).lin * dt
        found[ball] = _Moving(middle, way, sqrt(way.dot(way)))
    return found


def _beside_which(model: Model, pair: Pair) -> int:
    """The body beside which the motion of two shapes counts; the world, of two mechanisms."""
    bodies = {part.body for part in pair.parts}
    parents = {model.bodies[body - 1].parent if body else -1 for body in bodies}
    hung_on = parents if len(parents) == 1 else {_first_bodies(model)[body] for body in bodies}
    return hung_on.pop() if len(hung_on) == 1 else 0


@lru_cache(maxsize=64)
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
