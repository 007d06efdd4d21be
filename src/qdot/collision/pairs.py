"""Which shapes of a model may touch at all, and with what parameters: found once, from the description.

Two shapes make a pair unless they are on one body, or on bodies without a joint between them; on a body and the one
that carries it (the world does not count as carrying); on bodies that nothing can move; excluded by name; or share no
bits of kind and affinity. Pairs that the description names are taken in any case, with parameters of their own. The
rules are MuJoCo's (its documentation, Computation, "Selection" and "Parameters" of collisions), and so is the order
within a pair: by kind of shape, then by body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from qdot.algebra import is_zero
from qdot.collision.narrow import rank
from qdot.collision.vectors import TINY
from qdot.description import Contact, PairRecord, ShapeRecord, Softness
from qdot.errors import UnknownNameError
from qdot.geometry import HeightField, Placed, Plane, Shape
from qdot.model.model import Model
from qdot.spatial import IDENTITY, Transform


@dataclass(frozen=True, slots=True)
class Part:
    """A shape that takes part in contacts: in its own frame, at a pose on a body (0 is the world)."""

    body: int
    placement: Transform
    shape: Shape
    record: ShapeRecord


@dataclass(frozen=True, slots=True)
class Pair:
    """Two shapes that may touch, and how; `friction` is (sliding, sliding, torsional [m], rolling [m], rolling [m]).

    Touches count below the distance margin + gap, and act below the margin [m]. `friction_solref`, where given, is that
    of the friction directions.
    """

    first: Part
    second: Part
    dimension: int
    friction: tuple[float, ...]
    softness: Softness
    margin: float
    gap: float
    friction_solref: tuple[float, ...] = ()

    @property
    def parts(self) -> tuple[Part, Part]:
        return self.first, self.second


@lru_cache(maxsize=64)
def pairs(model: Model) -> tuple[Pair, ...]:
    """All pairs of shapes that may touch; none where the model's options switch contacts off."""
    if {"contact", "constraint"} & model.description.options.disabled:
        return ()
    parts = parts_of(model)
    by_name = {part.record.name: part for part in parts}
    named = [(*_in_order(*_of_record(record, by_name)), record) for record in model.description.pairs]
    told = {frozenset((id(a), id(b))) for a, b, _ in named}
    may_touch = _Bodies(model)
    found = [_told(a, b, record) for a, b, record in named]
    for a, b in combinations([part for part in parts if part.record.collision], 2):
        if may_touch(a.body, b.body) and _share_bits(a, b) and frozenset((id(a), id(b))) not in told:
            found.append(_mixed(*_in_order(a, b)))
    return tuple(pair for pair in found if not (_is_ground(pair.first) and _is_ground(pair.second)))


class _Bodies:
    """Which bodies may touch, by their numbers."""

    def __init__(self, model: Model) -> None:
        bodies = model.bodies
        self.weld = weld = [0]  # the body whose joint moves it, 0 for the ground
        for body in bodies:
            rigid = body.joint.nv == 0 and not body.record.target
            weld.append(weld[body.parent] if rigid else body.index)
        self.moves = [False, *(body.joint.nv > 0 for body in bodies)]
        holds = {weld[body.index] for body in bodies if body.record.shapes or not is_zero(body.inertia.mass)}
        self.carrier = [0]  # of a weld, the weld before it; links between joints of one body do not count
        for body in bodies:
            parent = weld[body.parent]
            self.carrier.append(parent if parent in holds or parent == 0 else self.carrier[parent])
        self.by_parent = "filterparent" not in model.description.options.disabled
        frames = model.frames
        self.excluded = {
            frozenset((frames[record.body1].body, frames[record.body2].body)) for record in model.description.exclusions
        }

    def __call__(self, a: int, b: int) -> bool:
        first, second = self.weld[a], self.weld[b]
        if first == second or not (self.moves[first] or self.moves[second]) or frozenset((a, b)) in self.excluded:
            return False
        carried = self.carrier[first] == second or self.carrier[second] == first
        return not (self.by_parent and first and second and carried)


def parts_of(model: Model) -> list[Part]:
    """Every shape, the world's first."""
    records = [(0, record) for record in model.description.world_shapes]
    records += [(body.index, record) for body in model.bodies for record in body.record.shapes]
    return [Part(body, *_own(record.shape), record) for body, record in records]


def _own(shape: Shape, placement: Transform = IDENTITY) -> tuple[Transform, Shape]:
    """A shape in its own frame, and where that is."""
    if isinstance(shape, Placed):
        return _own(shape.shape, placement @ shape.placement)
    return placement, shape


def _in_order(a: Part, b: Part) -> tuple[Part, Part]:
    return (b, a) if rank(b.shape) < rank(a.shape) else (a, b)


def _is_ground(part: Part) -> bool:
    """Whether it is a half space or terrain: two of them have no touches, or no end of them."""
    return isinstance(part.shape, (Plane, HeightField))


def _share_bits(a: Part, b: Part) -> bool:
    one, two = a.record.contact, b.record.contact
    return bool(one.kind & two.affinity or two.kind & one.affinity)


def _of_record(record: PairRecord, by_name: dict[str, Part]) -> tuple[Part, Part]:
    for name in (record.shape1, record.shape2):
        if name not in by_name:
            raise UnknownNameError("shape", name, by_name, f"pair {record.name!r}")
    return by_name[record.shape1], by_name[record.shape2]


def _told(a: Part, b: Part, record: PairRecord) -> Pair:
    """A pair with parameters of its own."""
    return Pair(
        a, b, record.dimension, record.friction, record.softness, record.margin, record.gap, record.friction_solref
    )


def _mixed(a: Part, b: Part) -> Pair:
    """A pair with the parameters of both shapes: those of the higher priority, or else mixed."""
    one, two = a.record.contact, b.record.contact
    margin, gap = one.margin + two.margin, one.gap + two.gap
    if one.priority != two.priority:
        counts = one if one.priority > two.priority else two
        return Pair(a, b, counts.dimension, _five(counts.friction), counts.softness, margin, gap)
    friction = tuple(max(x, y) for x, y in zip(one.friction, two.friction, strict=True))
    return Pair(a, b, max(one.dimension, two.dimension), _five(friction), _softness(one, two), margin, gap)


def _softness(one: Contact, two: Contact) -> Softness:
    """Weighted by `mix`; of stiffnesses and dampings given as such (negative), the stronger counts."""
    a, b = (contact.mix if contact.mix >= TINY else 0.0 for contact in (one, two))
    share = a / (a + b) if a or b else 0.5
    refs, imps = (one.softness.solref, two.softness.solref), (one.softness.solimp, two.softness.solimp)
    by_time = refs[0][0] > 0 and refs[1][0] > 0
    solref = tuple(share * x + (1 - share) * y if by_time else min(x, y) for x, y in zip(*refs, strict=True))
    return Softness(solref, tuple(share * x + (1 - share) * y for x, y in zip(*imps, strict=True)))


def _five(friction: tuple[float, ...]) -> tuple[float, ...]:
    sliding, torsional, rolling = friction
    return sliding, sliding, torsional, rolling, rolling
