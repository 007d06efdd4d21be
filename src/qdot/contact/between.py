"""Contacts between bodies: of the many pairs that may touch, the few that do, put into places one after the other.

A robot has hundreds of pairs of shapes and rarely more than a few of its own contacts at a time. All pairs of one kind,
that is with the same law, are gone through in one loop: where the balls about two shapes come near each other, their
touches are computed, and those that count are put into the next free place. When all places are taken, `missed` counts
what was left out: whoever runs this has to look at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import ClassVar, NamedTuple, TypeAlias

from qdot.algebra import Mat3, Scalar, Scalars, Vec3, minimum, scanned, where, where_needed
from qdot.collision.bounding_boxes import BoundingBox, box_about, gap_of_boxes, height_of_box
from qdot.collision.hulls import Hulls, hulls_of
from qdot.collision.narrow import Meeting, bounding_radius, is_hull, meeting, sizes_of
from qdot.collision.pairs import Pair
from qdot.collision.rounding import Around, around, gap
from qdot.collision.touch import FAR, NOT_TOLD, Touch
from qdot.collision.vectors import axis
from qdot.contact.places import put
from qdot.contact.weights import Weights
from qdot.description import Softness
from qdot.geometry import HeightField, Plane, Shape, Sphere
from qdot.model.model import Model
from qdot.spatial import Transform

LEAST_FRICTION = 1e-5
"""Of a cone that has friction at all: without any it would have no inside."""

FIRST_NUMBER, APART = 2.0**20, 2.0**10
"""Numbers of touches between bodies: from this one on, above all others; and how far those of two bodies lie apart."""

Kinds: TypeAlias = tuple[type[Shape], type[Shape]]
"""Of the shapes of a pair."""


class Kind(NamedTuple):
    """What pairs share that have one law; without friction, all but that."""

    dimension: int
    friction: tuple[float, ...] | None
    softness: Softness
    friction_solref: tuple[float, ...]
    margin: float

    @staticmethod
    def of(pair: Pair) -> Kind:
        return Kind(pair.dimension, friction_of(pair), pair.softness, pair.friction_solref, pair.margin)


def friction_of(pair: Pair) -> tuple[float, ...]:
    """Along each row of a touch that has friction."""
    return tuple(max(x, LEAST_FRICTION) for x in pair.friction[: pair.dimension - 1])


def by_kind(pairs: Sequence[Pair]) -> dict[Kind, list[Pair]]:
    """Pairs that share a law."""
    kinds: dict[Kind, list[Pair]] = {}
    for pair in pairs:
        kinds.setdefault(Kind.of(pair), []).append(pair)
    return kinds


def by_kind_but_for_friction(pairs: Sequence[Pair]) -> dict[Kind, list[Pair]]:
    """Pairs that share a law, or all of it but friction: the kind has none then, and each pair its own."""
    alike: dict[Kind, dict[Kind, list[Pair]]] = {}
    for kind, own in by_kind(pairs).items():
        alike.setdefault(kind._replace(friction=None), {})[kind] = own
    return {
        next(iter(kinds)) if len(kinds) == 1 else one: [pair for own in kinds.values() for pair in own]
        for one, kinds in alike.items()
    }


@dataclass(frozen=True)
class Place:
    """A touch of two bodies, known by their numbers: its distance, FAR where there is none, position and normal; and 1
    where neither body hangs on the other, so that limbs are joined, else 0.

    `tangent` are the three numbers of the touch's own, zeros where it tells none; none at all where no pair of a kind
    tells one. `friction` is that of its pair, where a kind has none."""

    distance: Scalar
    position: Vec3
    normal: Vec3
    first: Scalar
    second: Scalar
    across: Scalar
    tangent: tuple[Scalar, ...] = ()
    friction: tuple[Scalar, ...] = ()

    holds_scalars: ClassVar[bool] = True

    @property
    def touch(self) -> Touch:
        return Touch(self.distance, self.position, self.normal, Vec3(*self.tangent) if self.tangent else NOT_TOLD)

    def signs(self, model: Model) -> list[Scalar]:
        """For each freedom 1, -1 or 0: what it does to the second body, less what it does to the first."""
        held = [y - x for x, y in zip(self._is(model, self.first), self._is(model, self.second), strict=True)]
        for body in reversed(model.bodies):  # whatever moves a body moves all that hang on it
            held[body.parent] = held[body.parent] + held[body.index]
        return [held[body.index] for body in model.bodies for _ in range(body.joint.nv)]

    @property
    def number(self) -> Scalar:
        """By which a touch of these bodies is known."""
        return FIRST_NUMBER + self.first + APART * self.second

    def weight(self, model: Model, known: Weights) -> Scalar:
        """How easily the two bodies move together."""
        pairs = zip(self._is(model, self.first), self._is(model, self.second), known.along, strict=True)
        return sum(((x + y) * w for x, y, w in pairs), start=0)

    @staticmethod
    def _is(model: Model, body: Scalar) -> list[Scalar]:
        """For each body, the world first: 1 where it is this one, else 0."""
        return [where(body == k, 1.0, 0.0) for k in range(len(model.bodies) + 1)]


def friction_at(place: Place, kind: Kind) -> Sequence[Scalar]:
    """Along each row that has it, of a place of this kind."""
    return place.friction if kind.friction is None else kind.friction


class Filled(NamedTuple):
    """The places of one kind, and how many touches found none."""

    places: list[Place]
    missed: Scalar


State: TypeAlias = tuple[list[Place], Scalar]
"""Places, and how many touches there were."""


def filled(model: Model, kind: Kind, of: Sequence[Pair], X: Sequence[Transform], room: int) -> Filled:
    """The touches of all pairs of a kind, at poses of all bodies, in so many places."""
    known = _Known.of(of)
    groups = _by_meeting(of, known)
    tangent = (0.0, 0.0, 0.0) if any(found.tells_tangent for found, _ in groups) else ()
    friction = (0.0,) * (kind.dimension - 1) if kind.friction is None else ()
    nothing = Place(FAR, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 1.0), 0.0, 0.0, 0.0, tangent, friction)
    state: State = [nothing] * room, 0.0
    for found, alike in groups:
        shapes = alike[0].first.shape, alike[0].second.shape
        kinds = type(shapes[0]), type(shapes[1])
        counts = [12, 12, *(len(known.sizes(shape)) for shape in shapes)]
        counts += [6, 6] if any(map(_has_box, shapes)) else []

        def turn(
            state: State, row: list[Scalar], found: Meeting = found, counts: list[int] = counts, kinds: Kinds = kinds
        ) -> State:
            return _with_touches(state, row, found, kinds, counts, kind.margin)

        own = [friction_of(pair) if kind.friction is None else () for pair in alike]
        rows = [[*_row(model, pair, X, known), *more] for pair, more in zip(alike, own, strict=True)]
        state = scanned(rows, state, turn)
    places, count = state
    return Filled(places, where(count > room, count - room, 0.0))


class _Known(NamedTuple):
    """The hulls of all pairs in one table, and the numbers by which each is known there."""

    hulls: Hulls
    numbers: dict[Shape, tuple[float, ...]]

    @staticmethod
    def of(pairs: Sequence[Pair]) -> _Known:
        shapes = (part.shape for pair in pairs for part in (pair.first, pair.second))
        hulls = tuple(dict.fromkeys(shape for shape in shapes if is_hull(shape)))
        return _Known(hulls_of(hulls), dict(zip(hulls, hulls_of(hulls).numbers, strict=True)))

    def sizes(self, shape: Shape) -> tuple[float, ...]:
        return self.numbers[shape] if shape in self.numbers else sizes_of(shape)


def _by_meeting(of: Sequence[Pair], known: _Known) -> list[tuple[Meeting, list[Pair]]]:
    """Pairs that the same text serves."""
    groups: dict[object, tuple[Meeting, list[Pair]]] = {}
    for pair in of:
        found = meeting(pair.first.shape, pair.second.shape, known.hulls)
        kinds = type(pair.first.shape), type(pair.second.shape)
        groups.setdefault((found, kinds), (found, []))[1].append(pair)
    return list(groups.values())


def _has_box(shape: Shape) -> bool:
    """Whether the box about a shape tells more than a capsule."""
    return is_hull(shape) or isinstance(shape, HeightField)


def _row(model: Model, pair: Pair, X: Sequence[Transform], known: _Known) -> list[Scalar]:
    """How near two shapes can be by balls, then by capsules about them; the numbers of the bodies, and whether limbs
    are joined; poses and sizes; and where one of them is a hull or terrain, the boxes about both."""
    parts = (pair.first, pair.second)
    balls = [bounding_radius(part.shape) or 0.0 for part in parts]
    capsules = [around(part.shape) or Around(0.0, 2, 0.0) for part in parts]
    poses = [X[part.body] @ part.placement for part in parts]
    axes = [axis(pose, capsule.axis) for pose, capsule in zip(poses, capsules, strict=True)]
    placed = (x for pose in poses for x in (*pose.position, *(y for line in pose.rotation.entries() for y in line)))
    bodies = (*(float(part.body) for part in parts), float(_is_across(model, pair)))
    sizes = (x for part in parts for x in known.sizes(part.shape))
    boxes = (x for part in parts for vector in box_about(part.shape) for x in vector)
    return [
        sum(balls), sum(capsule.radius for capsule in capsules), *(capsule.half for capsule in capsules),
        *(x for vector in axes for x in vector), *bodies, *placed, *sizes,
        *(boxes if any(_has_box(part.shape) for part in parts) else ()),
    ]  # fmt: skip


def _is_across(model: Model, pair: Pair) -> bool:
    """Whether each body of a pair is moved by freedoms that do not move the other: neither hangs on the other."""
    one, two = (freedoms_moving(model)[part.body] for part in pair.parts)
    return not (one <= two or two <= one)


@lru_cache(maxsize=64)
def freedoms_moving(model: Model) -> list[frozenset[int]]:
    """Those that move each body, the world first."""
    moved: list[frozenset[int]] = [frozenset()]
    for body in model.bodies:
        moved.append(moved[body.parent] | frozenset(range(body.dofs.start, body.dofs.stop)))
    return moved


BOUNDS, BODIES = 10, 13
"""Where the bounds of a row end, and what is known of the bodies."""


def _with_touches(
    state: State, row: Scalars, found: Meeting, kinds: Kinds, counts: Sequence[int], margin: float
) -> State:
    """With the touches of a pair, worked out where the shapes come near each other."""
    p, c = Vec3(*row[BODIES : BODIES + 3]), Vec3(*row[BODIES + 12 : BODIES + 15])

    def read(row: list[Scalar]) -> tuple[Transform, Transform, list[list[Scalar]]]:
        rest, parts = iter(row[BODIES:]), []
        for n in counts:
            parts.append([next(rest) for _ in range(n)])
        X_a, X_b = (Transform(Mat3.of([part[3:6], part[6:9], part[9:]]), Vec3(*part[:3])) for part in parts[:2])
        return X_a, X_b, parts[2:]

    def met(given: tuple[State, list[Scalar]]) -> State:
        state, row = given
        X_a, X_b, (a, b, *_) = read(row)
        (first, second, across), told = row[BOUNDS:BODIES], bool(state[0][0].tangent)
        friction = tuple(row[len(row) - len(state[0][0].friction) :])
        touches = [
            Place(x.distance, x.position, x.normal, first, second, across, tuple(x.tangent) if told else (), friction)
            for x in found.function(a, X_a, b, X_b, margin)
        ]
        nearest = reduce(minimum, (touch.distance for touch in touches))
        entered = state, touches
        return where_needed(nearest < margin, entered, lambda given: _entered(*given, margin), state)

    def parted(given: tuple[State, list[Scalar]]) -> State:
        """Where nothing tells quickly that both are apart, if it is a long search that would."""
        if found.gap is None:
            return met(given)
        X_a, X_b, (a, b, *_) = read(given[1])
        return where_needed(found.gap(a, X_a, b, X_b) <= margin, given, met, given[0])

    def boxed(given: tuple[State, list[Scalar]]) -> State:
        """Where the boxes about both are near, if there are such."""
        X_a, X_b, (_, _, *boxes) = read(given[1])
        if not boxes:
            return parted(given)
        one, two = (BoundingBox(Vec3(*box[:3]), Vec3(*box[3:])) for box in boxes)
        least = height_of_box(X_a, two, X_b) if kinds[0] is Plane else gap_of_boxes(one, X_a, two, X_b)
        return where_needed(least <= margin, given, parted, given[0])

    def nearer(given: tuple[State, list[Scalar]]) -> State:
        """Where the capsules about both are near, too."""
        state, row = given
        reach, h, k = row[1] + margin, row[2], row[3]
        p, c = Vec3(*row[BODIES : BODIES + 3]), Vec3(*row[BODIES + 12 : BODIES + 15])
        square = gap(p, Vec3(*row[4:7]), h, c, Vec3(*row[7:10]), k)
        return where_needed(square < reach * reach, given, boxed, state)

    given = state, list(row)
    if kinds[0] is Plane:
        n = Vec3(*row[4:7])  # the axis of its capsule that is none: z
        return where_needed(n.dot(c - p) < row[0] + margin, given, boxed, state)
    near, reach = c - p, row[0] + margin
    if kinds[0] is HeightField:
        return where_needed(near.dot(near) < reach * reach, given, boxed, state)
    return where_needed(near.dot(near) < reach * reach, given, met if kinds == (Sphere, Sphere) else nearer, state)


def _entered(state: State, touches: Sequence[Place], margin: float) -> State:
    """With the touches of one pair that count."""
    return put(*state, [(touch.distance < margin, touch) for touch in touches])
