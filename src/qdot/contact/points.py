"""Where shapes touch or are about to: the points of a state, with their rows, whatever law then holds there.

A point has a gap [m] and rows over the freedoms: along the normal, then along two tangents, perhaps about the normal
and about the tangents. J v are the velocities of the second body beside the first. Candidates on the ground are known
beforehand and are listed; which of them count is told by `present`. So are those between bodies as long as they are
few. Where they are more than there is room for, those that count are put into places (`between`), and how many found
none is told.

Limits of joints and tendons are points as well: without friction, their gap is how far the limit is.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from math import isfinite

from qdot.algebra import Scalar, Scalars, Vec3, maximum, sqrt, where, where_needed
from qdot.algebra.sparse import Row
from qdot.algorithms.frames import Frames, root_frame
from qdot.algorithms.limits import Limited, limited
from qdot.collision.narrow import bounding_radius, meeting
from qdot.collision.pairs import Pair, Part, pairs
from qdot.collision.touch import FAR, Touch
from qdot.contact.between import Kind, Place, by_kind, filled
from qdot.contact.gauss import body_motions
from qdot.contact.soft_contacts import (
    contact_frame,
    contact_rows,
    moves,
    parted,
    parting_freedoms,
    place_rows,
    touches_of,
)
from qdot.model.model import Model
from qdot.spatial import Transform

AHEAD = 3.0
"""Steps of the fastest body: what is farther away is not met within one step, even by what a heavier body threw at
twice its speed against something that comes."""


MOST_ALONE = 48
"""Touches with what stands still that are computed one by one, whether they are there or not."""

STIFF = 1e-12
"""What freedoms move by less than this, of their own motion [1, m], they do not move: rounding does."""


@dataclass(frozen=True)
class Point:
    """One place at which things may touch; `friction` has a coefficient for each row after the first."""

    J: list[Row]
    friction: tuple[float, ...]
    gap: Scalar
    present: Scalar
    """1 where it counts, else 0."""
    touch: Touch | None = None
    """In the frame of `root_frame`; none of a limit."""
    pair: Pair | None = None
    """None of a limit, and in a place that serves many pairs."""
    limit: Limited | None = None


@dataclass(frozen=True)
class Points:
    """All of a state, and how many between bodies found no room."""

    points: list[Point]
    missed: Scalar

    @property
    def J(self) -> list[Row]:
        return [row for point in self.points for row in point.J]

    @property
    def friction(self) -> list[tuple[float, ...]]:
        return [point.friction for point in self.points]

    @property
    def present(self) -> list[Scalar]:
        return [point.present for point in self.points]

    def chosen(self, counts: Scalars) -> Points:
        """With those left out for which there is a 0."""
        kept = [replace(p, present=p.present * x) for p, x in zip(self.points, counts, strict=True)]
        return Points(kept, self.missed)

    @property
    def normals(self) -> list[int]:
        """The row of each point's normal."""
        found, first = [], 0
        for point in self.points:
            found.append(first)
            first += len(point.J)
        return found


def handed_on(found: Points, z: Scalars) -> list[Scalar]:
    """Impulses of the step before, for the points of this one: what a point bore that is gone is shared by those of the
    same two shapes that are new, or else by all of them. For the corners of two faces change places."""
    groups: dict[int, list[int]] = {}
    for k, point in enumerate(found.points):
        groups.setdefault(k if point.pair is None else -id(point.pair), []).append(k)
    given = list(z)
    for alike in groups.values():
        there = [found.points[k].present for k in alike]
        firsts = [found.normals[k] for k in alike]
        new = [where(z[n] > 0, 0.0, x) for n, x in zip(firsts, there, strict=True)]
        takers = [where(sum(new, start=0) > 0, a, b) for a, b in zip(new, there, strict=True)]
        count = sum(takers, start=0)
        for row in range(len(found.points[alike[0]].J) if len(alike) > 1 else 0):
            lost = sum((where(x > 0, 0.0, z[n + row]) for n, x in zip(firsts, there, strict=True)), start=0)
            share = lost / where(count > 0, count, 1.0)
            for n, x, takes in zip(firsts, there, takers, strict=True):
                given[n + row] = where(x > 0, z[n + row] + takes * share, 0.0)
    return given


def points(model: Model, q: Scalars, reach: Scalar, room: int | None = None, *, ahead: bool = False) -> Points:
    """Those that are nearer than `reach` [m], with so many places for each kind of contact between bodies; without
    `room` all candidates are listed, those that only `ahead` asks for among them (see `meeting`)."""
    at = root_frame(model, q)
    assert at.places is not None
    alone, sharing = parted(model, MOST_ALONE)
    found = [point for pair in alone for point in _of_pair(model, at, pair, reach, ahead)]
    missed: Scalar = 0
    for kind, alike in by_kind(sharing).items():
        most = sum(meeting(pair.first.shape, pair.second.shape).count for pair in alike)
        if room is None or most <= room:
            found += [point for pair in alike for point in _of_pair(model, at, pair, reach, ahead)]
            continue
        places, more = filled(model, kind._replace(margin=kind.margin + reach), alike, at.places, room)
        missed = missed + more
        freedoms = parting_freedoms(model, alike)
        found += [_of_place(model, at, kind, place, reach, freedoms) for place in places]
    return Points(found, missed)


def limit_points(model: Model, q: Scalars, v: Scalars, dt: Scalar) -> list[Point]:
    """Both ends of every range: those that may be met within a step."""
    found = []
    for limit in limited(model, q):
        for side, end in ((1.0, limit.lower), (-1.0, limit.upper)):
            if isfinite(end):
                row = {k: side * x for k, x in limit.gradient.items()}
                speed = sum((maximum(x * v[k], -(x * v[k])) for k, x in row.items()), start=0)
                gap = side * (limit.value - end)
                present = where(gap <= AHEAD * dt * speed + limit.near, 1.0, 0.0)
                found.append(Point([row], (), gap, present, limit=limit))
    return found


def reach_of(model: Model, q: Scalars, v: Scalars, dt: Scalar) -> Scalar:
    """How far ahead of bodies with these velocities to look for what they may touch within a step [m]."""
    at = root_frame(model, q)
    assert at.places is not None
    V = body_motions(model, at, v)
    fastest: Scalar = 0
    for part in _moving_parts(model):
        fastest = maximum(fastest, _speed(part, at.places[part.body], V[part.body].lin, V[part.body].ang))
    return AHEAD * dt * fastest


def smallest(model: Model) -> float:
    """The radius of the smallest ball about a shape that moves [m]; zero where none does."""
    return min((bounding_radius(part.shape) or 0.0 for part in _moving_parts(model)), default=0.0)


@lru_cache(maxsize=64)
def told(model: Model) -> str:
    """All pairs of shapes that may touch, and how, as a short text: equal where they are."""
    return blake2b(pickle.dumps(pairs(model)), digest_size=16).hexdigest()


def _moving_parts(model: Model) -> list[Part]:
    can_move = moves(model)
    seen: dict[int, Part] = {}
    for pair in pairs(model):
        seen |= {id(part): part for part in pair.parts if can_move[part.body]}
    return list(seen.values())


def _speed(part: Part, X: Transform, lin: Vec3, ang: Vec3) -> Scalar:
    """Of the fastest point of a shape, at most."""
    centre = X @ part.placement.position
    return _length(lin + ang.cross(centre)) + _length(ang) * (bounding_radius(part.shape) or 0.0)


def _length(x: Vec3) -> Scalar:
    square = x.dot(x)
    return where(square > 0, sqrt(where(square > 0, square, 1.0)), 0.0)


def _of_pair(model: Model, at: Frames, pair: Pair, reach: Scalar, ahead: bool) -> list[Point]:
    """All candidates of two shapes."""
    assert at.places is not None
    n, found = pair.dimension, []
    signs = _signs(model, pair.first.body, pair.second.body)
    for touch in touches_of(replace(pair, margin=pair.margin + reach), at.places, ahead=ahead):
        X = Transform(contact_frame(touch), touch.position)
        gap = touch.distance - pair.margin
        J = contact_rows(model, at, X, signs, n)
        found.append(Point(J, pair.friction[: n - 1], gap, _present(J[0], gap, reach), touch, pair))
    return found


def _of_place(model: Model, at: Frames, kind: Kind, place: Place, reach: Scalar, freedoms: Sequence[int]) -> Point:
    """A contact between bodies that is known while running only: worked out where there is one, over freedoms that can
    part them."""

    def built(place: Place) -> list[Row]:
        return place_rows(model, at, place, kind.dimension, freedoms)

    nothing = [dict.fromkeys(freedoms, 0.0) for _ in range(kind.dimension)]
    J = where_needed(place.distance < FAR, place, built, nothing)
    gap = place.distance - kind.margin
    return Point(J, kind.friction or (), gap, _present(J[0], gap, reach), place.touch)


def _present(normal: Row, gap: Scalar, reach: Scalar) -> Scalar:
    """1 where a point is near, and something can move it: wheels on one axle may touch, and no push parts them."""
    square = sum((x * x for x in normal.values()), start=0.0)
    return where((gap <= reach) & (square > STIFF * STIFF), 1.0, 0.0)


def _signs(model: Model, first: int, second: int) -> list[float]:
    """For each freedom 1, -1 or 0: what it does to the second body, less what it does to the first."""
    held = [0.0] * (len(model.bodies) + 1)
    held[second] += 1.0
    held[first] -= 1.0
    for body in reversed(model.bodies):
        held[body.parent] += held[body.index]
    return [held[body.index] for body in model.bodies for _ in range(body.joint.nv)]
