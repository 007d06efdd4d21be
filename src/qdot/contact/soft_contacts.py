"""Contacts as soft constraints: from touches of shapes to the rows and laws of Gauss' principle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt as root
from typing import NamedTuple

from qdot.algebra import (
    UNREAD,
    Mat3,
    Scalar,
    Vec3,
    absolute,
    each,
    is_zero,
    map_scalars,
    maximum,
    scalars_in,
    sqrt,
    where,
    where_needed,
)
from qdot.algebra.sparse import Row
from qdot.algorithms.constraints.rows import times
from qdot.algorithms.frames import Frames
from qdot.collision.narrow import bounding_radius, has_closed_form, meeting, sizes_of
from qdot.collision.pairs import Pair, pairs
from qdot.collision.touch import FAR, Touch
from qdot.collision.vectors import axis
from qdot.contact.between import (
    Kind,
    Place,
    by_kind_but_for_friction,
    filled,
    freedoms_moving,
    friction_at,
    friction_of,
)
from qdot.contact.constraints import Ground, Rowed, plus, six
from qdot.contact.newton import limbs_of
from qdot.contact.soft_laws import Ellipse, Law, Pyramid
from qdot.contact.soft_rows import is_safe, resistance
from qdot.contact.softness import TINY, pull
from qdot.contact.weights import Weights
from qdot.geometry import Capsule, Plane
from qdot.model.model import Model
from qdot.spatial import Motion, Transform

MOST_ALONE = 256
"""Touches with what stands still of which each has code of its own, which runs where the touch is there."""

ROOM, MORE_ROOM = 12, 32
"""Places for each kind of contact between bodies, at least; where those with the ground share them."""

FACES = 3
"""For how many pairs that touch all over, as boxes do, there is room."""


def contact_frame(touch: Touch) -> Mat3:
    """The normal and two tangents, as columns: along the touch's own tangent where it has one, else near the world's y,
    or near z where y is nearly the normal."""
    n = touch.normal
    steep = absolute(n.y) < 0.5
    near = Vec3(0, where(steep, 1.0, 0.0), where(steep, 0.0, 1.0))
    t = near - n * n.dot(near)
    t = t * (1 / t.norm())
    if not all(is_zero(x) for x in touch.tangent):
        along = touch.tangent - n * n.dot(touch.tangent)
        square = along.dot(along)
        is_one = square > 1e-20
        size = sqrt(where(is_one, square, 1.0))
        t = Vec3(*(where(is_one, x / size, y) for x, y in zip(along, t, strict=True)))
    return Mat3(n, t, n.cross(t)).T


def moves(model: Model) -> list[bool]:
    """Whether each body can, the world first."""
    found = [False]
    for body in model.bodies:
        found.append(found[body.parent] or body.joint.nv > 0)
    return found


def touches_of(pair: Pair, X: Sequence[Transform], *, ahead: bool = False) -> list[Touch]:
    """The points at which a pair may touch, at poses of all bodies; `ahead` as in `meeting`."""
    a, b = pair.first, pair.second
    found = meeting(a.shape, b.shape, ahead=ahead).function
    poses = X[a.body] @ a.placement, X[b.body] @ b.placement
    return found(sizes_of(a.shape), poses[0], sizes_of(b.shape), poses[1], pair.margin)


def stiffness_of(
    model: Model, kind: Kind, friction: Sequence[Scalar], distance: Scalar, weight: Scalar
) -> tuple[Scalar, Scalar]:
    """D of a contact's law between bodies of these weights, zero where they do not touch; and its impedance."""
    beyond, is_flat = distance - kind.margin, kind.dimension > 1 and not _is_round(model)
    D, d = resistance(kind.softness, beyond, weight * (1 + friction[0] ** 2) if is_flat else weight)
    return where(beyond < 0, D / (2 * _opening(model, friction) ** 2) if is_flat else D, 0.0), d


def law_of(model: Model, kind: Kind, friction: Sequence[Scalar], D: Scalar) -> Law:
    """How a contact answers."""
    if kind.dimension > 1 and _is_round(model):
        return Ellipse(D, friction, _opening(model, friction))
    return Pyramid(D, friction)


def _is_round(model: Model) -> bool:
    return model.description.options.cone == "elliptic"


def _opening(model: Model, friction: Sequence[Scalar]) -> Scalar:
    """μ of the cone where friction is as stiff as the normal."""
    return friction[0] / root(max(model.description.options.impratio, TINY))


def wanted_of(
    model: Model, kind: Kind, distance: Scalar, d: Scalar, rates: Sequence[Scalar], dt: Scalar
) -> list[Scalar]:
    """a_ref of each row, at these rates of them."""
    safe = is_safe(model)
    normal = pull(kind.softness.solref, kind.softness, dt, safe=safe)
    across = normal
    if _is_round(model) and any(kind.friction_solref):
        across = pull(kind.friction_solref, kind.softness, dt, safe=safe)
    first = -(normal.b * rates[0]) - normal.k * d * (distance - kind.margin)
    return [first, *(-(across.b * x) for x in rates[1:])]


class Moving(NamedTuple):
    """How bodies are and move, in the one frame of `at`: poses, velocities, and what axes that turn do to velocities,
    which no contact is asked to undo; the same velocities of the freedoms; and how easily they move."""

    at: Frames
    X: Sequence[Transform]
    V: Sequence[Motion]
    turned: Sequence[Motion]
    v: Sequence[Scalar]
    turned_v: Sequence[Scalar]
    weights: Weights


class Parted(NamedTuple):
    """Pairs whose touches each have a place of their own, and those whose touches share places."""

    alone: list[Pair]
    sharing: list[Pair]


@lru_cache(maxsize=64)
def parted(model: Model, most: int) -> Parted:
    """Between bodies all touches share places, for few are there at a time; with what stands still those do that are
    searched for, as of hulls, and all where there are more than `most`."""
    can_move = moves(model)
    alone: list[Pair] = []
    sharing: list[Pair] = []
    for pair in pairs(model):
        is_ground = not all(can_move[part.body] for part in pair.parts)
        is_brief = has_closed_form(pair.first.shape, pair.second.shape)
        (alone if is_ground and is_brief else sharing).append(pair)
    if _count(alone) > most:
        return Parted([], [*alone, *sharing])
    return Parted(alone, sharing)


class OnGround(NamedTuple):
    """Contacts with what stands still, and how deep the deepest is [m]."""

    found: list[Ground]
    overlap: Scalar


class Between(NamedTuple):
    """Contacts that share places, how deep the deepest is [m], and how many found no place."""

    found: list[Rowed]
    overlap: Scalar
    missed: Scalar


def on_ground(model: Model, of: Moving, dt: Scalar) -> OnGround:
    """Contacts with what stands still, each with a place of its own, worked out where shapes are near."""
    found: list[Ground] = []
    overlap: Scalar = 0.0
    for pair in parted(model, MOST_ALONE).alone:
        body, kind = _moving_body(model, pair), Kind.of(pair)
        level, turns = _level(pair), isinstance(pair.second.shape, Capsule)  # along whose axis friction is measured
        for spot in _spots(model, pair, of, dt):
            overlap = maximum(overlap, -spot.distance)
            law, number = law_of(model, kind, friction_of(pair), spot.D), len(found) + 1.0
            found.append(Ground(body, spot.X, spot.wanted, law, level, turns, number))
    return OnGround(found, overlap)


class _Spot(NamedTuple):
    """Where a body touches what stands still: the distance, the pose of the contact's frame, a_ref, and D, without
    which nobody asks for pose and a_ref."""

    distance: Scalar
    X: Transform
    wanted: list[Scalar]
    D: Scalar


def _spots(model: Model, pair: Pair, of: Moving, dt: Scalar) -> list[_Spot]:
    """The touches of a pair of which one stands still."""
    body, kind, level = _moving_body(model, pair), Kind.of(pair), _level(pair)
    side, along = (1 if body == pair.second.body else -1), of.weights.along
    weight = along[pair.first.body] + along[pair.second.body]

    def touching(given: tuple[Transform, Motion, Motion]) -> list[_Spot]:
        place, V, turned = given
        spots = []
        for touch in touches_of(pair, [place if k == body else X for k, X in enumerate(of.X)]):
            D, d = stiffness_of(model, kind, friction_of(pair), touch.distance, weight)
            X = Transform(contact_frame(touch) * side, touch.position)
            rates = six(X.inv() @ V)[: kind.dimension]
            wanted = plus(wanted_of(model, kind, touch.distance, d, rates, dt), six(X.inv() @ turned))
            spots.append(_Spot(touch.distance, X, wanted, D))
        return spots

    unread = Vec3(UNREAD, UNREAD, UNREAD)
    frame = Transform(Mat3(unread, unread, unread) if level is None else level, unread)
    apart = [_Spot(FAR, frame, [UNREAD] * kind.dimension, 0.0)] * meeting(pair.first.shape, pair.second.shape).count
    return where_needed(_near(pair, of.X), (of.X[body], of.V[body], of.turned[body]), touching, apart)


def _level(pair: Pair) -> Mat3 | None:
    """The frame of contacts with a plane in the world, which is known beforehand."""
    if not isinstance(pair.first.shape, Plane) or pair.first.body != 0:
        return None
    return contact_frame(Touch(FAR, Vec3.zero(), axis(pair.first.placement, 2)))


def _near(pair: Pair, X: Sequence[Transform]) -> Scalar:
    """Where the ball about one shape meets that of the other, or its plane."""
    poses = [X[part.body] @ part.placement for part in pair.parts]
    radii = [bounding_radius(part.shape) for part in pair.parts]
    between, reach = poses[1].position - poses[0].position, sum(r or 0.0 for r in radii) + pair.margin
    if radii[0] is None:
        return axis(poses[0], 2).dot(between) < reach
    return between.dot(between) < reach * reach


def _moving_body(model: Model, pair: Pair) -> int:
    return pair.second.body if moves(model)[pair.second.body] else pair.first.body


@lru_cache(maxsize=64)
def first_room(model: Model) -> int:
    """Places of each kind to begin with."""
    alone, sharing = parted(model, MOST_ALONE)
    return max(ROOM if alone else MORE_ROOM, FACES * max((_count([pair]) for pair in sharing), default=0))


def _count(of: Sequence[Pair]) -> int:
    """Touches that pairs have at most."""
    return sum(meeting(pair.first.shape, pair.second.shape).count for pair in of)


def between_bodies(model: Model, of: Moving, dt: Scalar, room: int | None) -> Between:
    """Contacts that share places, `room` for each kind."""
    found: list[Rowed] = []
    missed: Scalar = 0.0
    overlap: Scalar = 0.0
    room = first_room(model) if room is None else room
    for kind, alike in by_kind_but_for_friction(parted(model, MOST_ALONE).sharing).items():
        places, more = filled(model, kind, alike, of.X, min(room, _count(alike)))
        missed = missed + more
        for place in places:
            overlap = maximum(overlap, -place.distance)
        found += _rowed(model, of, dt, kind, places, parting_freedoms(model, alike))
    return Between(found, overlap, missed)


def parting_freedoms(model: Model, of: Sequence[Pair]) -> list[int]:
    """Those that move one body of some pair but not the other: where a robot touches itself, not those of its base."""
    moved = freedoms_moving(model)
    return sorted(frozenset[int]().union(*(moved[pair.first.body] ^ moved[pair.second.body] for pair in of)))


def _rowed(
    model: Model, of: Moving, dt: Scalar, kind: Kind, places: Sequence[Place], freedoms: Sequence[int]
) -> list[Rowed]:
    """Contacts between bodies, each worked out where there is one; rows over freedoms that can part them."""
    n, m, limbs = kind.dimension, len(freedoms), limbs_of(model)

    def built(row: list[Scalar]) -> list[Scalar]:
        entries = iter(row)
        place: Place = map_scalars(lambda _: next(entries), places[0])
        J = place_rows(model, of.at, place, n, freedoms)
        D, d = stiffness_of(model, kind, friction_at(place, kind), place.distance, place.weight(model, of.weights))
        wanted = plus(wanted_of(model, kind, place.distance, d, times(J, of.v), dt), times(J, of.turned_v))
        signs = place.signs(model)
        moved = [sum((signs[k] * signs[k] for k in limb if k in freedoms), start=0.0) for limb in limbs]
        return [D, *wanted, *moved, *(x for row in J for x in row.values())]

    def needed(row: list[Scalar]) -> list[Scalar]:
        return where_needed(row[0] < FAR, row, built, [0.0, *[UNREAD] * (n + len(limbs) + n * m)])

    found = []
    for place, row in zip(places, each([list(scalars_in(place)) for place in places], needed), strict=True):
        D, wanted, moved, entries = row[0], row[1 : 1 + n], row[1 + n : 1 + n + len(limbs)], row[1 + n + len(limbs) :]
        J = [dict(zip(freedoms, entries[k * m : (k + 1) * m], strict=True)) for k in range(n)]
        law = law_of(model, kind, friction_at(place, kind), D)
        found.append(Rowed(J, wanted, law, place.number, place.across, moved))
    return found


def place_rows(model: Model, at: Frames, place: Place, n: int, freedoms: Sequence[int]) -> list[Row]:
    """How these freedoms move the second body of a place beside the first, along the rows of a contact."""
    frame = contact_frame(place.touch)
    signs = [x if k in freedoms else 0 for k, x in enumerate(place.signs(model))]
    rows = contact_rows(model, at, Transform(frame, place.position), signs, n)
    return [{k: row.get(k, 0.0) for k in freedoms} for row in rows]


def contact_rows(model: Model, at: Frames, X: Transform, signs: Sequence[Scalar], n: int) -> list[Row]:
    """How freedoms move what is at a pose, along its axes; each with its sign."""
    rows: list[Row] = [{} for _ in range(n)]
    for body in model.bodies:
        for k, s in zip(range(body.dofs.start, body.dofs.stop), at.S[body.index], strict=True):
            if not is_zero(signs[k]):
                for row, x in zip(rows, six(X.inv() @ s), strict=False):
                    row[k] = signs[k] * x
    return rows
