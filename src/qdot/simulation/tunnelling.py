"""Shapes that passed through each other within a step, unseen by contacts that look at its ends only.

Two shapes hold balls about their centres. Along the straight way of one centre beside the other, the balls met in
between, but neither at the start nor at the end: then a contact was missed for certain. That is looked for only in
steps in which a shape moves farther than the radius of its ball, by the step itself (`crossings`); who they were is
found out afterwards. Of two shapes of one mechanism it counts how they move beside its first body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Scalars, Vec3, maximum, minimum, scanned, where, where_needed
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


AT_ONCE = 4096
"""Steps in which somebody passed that are looked at together."""


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
            ends = (_centres(model, world_poses(model, list(q[chunk].T))) for q in (self.before, self.after))
            start, end = (_beside(centres, of, chunk.shape) for centres in ends)
            for number, i in np.argwhere(_crosses(start, end, thin)):
                one, two = (part_name(model, part) for part in of[number].parts)
                run = None if self.runs is None else int(self.runs[chunk[i]])
                found.append(Passed((one, two), float(self.times[chunk[i]]), run))
        return sorted(found, key=lambda passed: passed.time)


def all_passed(model: Model, crossed: Sequence[Crossed]) -> tuple[Passed, ...]:
    """Of several windows."""
    return tuple(one for window in crossed for one in window.passed(model))


def _beside(centres: Mapping[int, Vec3], of: Sequence[Pair], shape: tuple[int, ...]) -> Vec3:
    """Where the second shape of each pair is beside the first, on lanes of pairs and of a shape."""
    numbers = {name: k for k, name in enumerate(centres)}
    first, second = ([numbers[id(pair.parts[k])] for pair in of] for k in (0, 1))
    axes = zip(*centres.values(), strict=True)
    lanes = [np.stack([np.broadcast_to(x, shape) for x in axis]) for axis in axes]
    return Vec3(*(x[second] - x[first] for x in lanes))


@lru_cache(maxsize=64)
def watched_pairs(model: Model) -> list[tuple[Pair, float]]:
    """Pairs that could pass through each other, and how thick the two are together [m]."""
    return [(pair, _thickness(pair)) for pair in pairs(model) if _thickness(pair) > 0]


def crossings(model: Model, q: Scalars, v: Scalars, dt: Scalar, after: Scalars) -> Scalar:
    """How many pairs passed through each other in a step from (q, v) to the configuration `after`."""
    watched = watched_pairs(model)
    if not watched:
        return 0.0

    start, haste = _centres(model, root_frame(model, q).places or world_poses(model, q)), _haste(model, q, v, dt)
    names = _hasting(model)

    def counted(given: tuple[list[Scalar], dict[int, Vec3], dict[_Hasting, Scalar]]) -> Scalar:
        after, start, haste = given
        end = _centres(model, world_poses(model, after))
        rows = [
            [*(x for part in pair.parts for at in (start, end) for x in at[id(part)]), thin, *(haste[k] for k in both)]
            for (pair, thin), both in zip(watched, names, strict=True)
        ]
        return scanned(rows, 0.0, lambda count, row: count + _passes(row))

    return where_needed(reduce(maximum, haste.values()) > 1, (list(after), start, haste), counted, 0.0)


def _centres(model: Model, X: Sequence[Transform]) -> dict[int, Vec3]:
    """Of all shapes that could pass through others."""
    parts = {id(part): part for pair, _ in watched_pairs(model) for part in pair.parts}
    return {name: _place(X, part) for name, part in parts.items()}


def _passes(row: Scalars) -> Scalar:
    """The same from a row: centres of the first at start and end, of the second, how thick they are, and how they
    haste."""

    def crosses(row: list[Scalar]) -> Scalar:
        a, a_end, b, b_end = (Vec3(*row[k : k + 3]) for k in range(0, 12, 3))
        start, end, thin = b - a, b_end - a_end, row[12]
        # With s, e from the nearest point on the way, d away, to its ends: start·end = d² - s e < d² < thin².
        return where_needed(start.dot(end) < thin * thin, (start, end, thin), lambda given: _crosses(*given), 0.0)

    return where_needed(maximum(row[13], row[14]) > 1, list(row), crosses, 0.0)


def _crosses(start: Vec3, end: Vec3, thin: Scalar) -> Scalar:
    """1 where the way from start to end comes nearer to the origin than `thin` between, but not at its ends; else 0."""
    way = end - start
    square = maximum(way.dot(way), 1e-30)
    nearest = start + way * minimum(maximum(-start.dot(way) / square, 0.0), 1.0)
    ends = minimum(start.dot(start), end.dot(end))
    return where(nearest.dot(nearest) < thin * thin, where(ends >= thin * thin, 1.0, 0.0), 0.0)


def _place(X: Sequence[Transform], part: Part) -> Vec3:
    return X[part.body] @ part.placement.position


class _Hasting(NamedTuple):
    """A ball, by its body, the one beside which its motion counts, its place there, and its radius [m]."""

    body: int
    beside: int
    place: Vec3
    radius: float


@lru_cache(maxsize=64)
def _hasting(model: Model) -> list[tuple[_Hasting, ...]]:
    """The balls within the two shapes of each pair; of one without inside, as thick as both are together."""
    first, found = _first_bodies(model), []
    for pair, thin in watched_pairs(model):
        trees = {first[part.body] for part in pair.parts}
        beside = trees.pop() if len(trees) == 1 else 0
        radii = [_inner_radius(part) or 0.0 for part in pair.parts]
        shares = radii if all(radii) else [thin / 2] * 2
        parts = zip(pair.parts, shares, strict=True)
        found.append(tuple(_Hasting(part.body, beside, part.placement.position, r) for part, r in parts))
    return found


def _haste(model: Model, q: Scalars, v: Scalars, dt: Scalar) -> dict[_Hasting, Scalar]:
    """How far balls move in a step, in their radii: the square."""
    at = root_frame(model, q)
    X, V = at.places or world_poses(model, q), body_motions(model, at, v)
    found = {}
    for ball in dict.fromkeys(ball for both in _hasting(model) for ball in both):
        speed = (V[ball.body] - V[ball.beside]).at(X[ball.body] @ ball.place).lin * (dt / ball.radius)
        found[ball] = speed.dot(speed)
    return found


def _first_bodies(model: Model) -> list[int]:
    """Of each body, the world first: the one of its mechanism that hangs on the world."""
    first = [0]
    for body in model.bodies:
        first.append(first[body.parent] or body.index)
    return first


def _thickness(pair: Pair) -> float:
    """The radii of the balls within two shapes together [m]; zero with ground, which nothing gets behind."""
    radii = [_inner_radius(part) for part in pair.parts]
    return sum(r for r in radii if r is not None) if None not in radii else 0.0


def _inner_radius(part: Part) -> float | None:
    """Of a ball about a shape's centre that lies within it [m]; none of ground."""
    if isinstance(part.shape, (Plane, HeightField)):
        return None
    return min(sizes_of(part.shape), default=0.0)


def part_name(model: Model, part: Part) -> str:
    """A shape, by its own name and its body's."""
    body = "world" if part.body == 0 else model.bodies[part.body - 1].name
    return f"{part.record.name} of {body}" if part.record.name else body
