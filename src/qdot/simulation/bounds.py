"""What acts with a bounded force: limits of joints and tendons, which only push, and dry friction, which holds as far
as it can.

At the start of a step every place that rubs either slips, and friction has its full force against the motion, or it
is still; and every limit is either engaged or not. Forces of what is still or engaged are found together, so that
nothing moves that need not (`bounded`); all are held during the step. At its end impulses stop what came to rest or met
a limit on the way. So friction sticks without creeping, and nothing passes a stop, whatever the integrator. Where
things bounce, a step ends at the stop that they meet (`impacts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from qdot.algebra import Scalar, Scalars, absolute, maximum, minimum, sign, sqrt, where, where_needed
from qdot.algebra.linalg import dot, matvec
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row
from qdot.algorithms.configuration import retract
from qdot.algorithms.constraints.bounded import bounded
from qdot.algorithms.constraints.rows import times, transposed_times
from qdot.algorithms.limits import Limited, limited, rubbing
from qdot.algorithms.maps import added
from qdot.errors import ValueShapeError
from qdot.simulation.phase import Phase

if TYPE_CHECKING:
    from qdot.simulation.system import Inputs, System

STILL = 1e-10
"""Speed below which something that rubs does not move [rad/s, m/s]: rounding leaves less, and no motion is so slow."""


@dataclass(frozen=True)
class Stops:
    """Limits are hard: what meets one at a speed leaves it with `restitution` times that, or stays there where that
    would be slower than `resting` [rad/s, m/s]."""

    restitution: float = 0.0
    resting: float = 0.01

    def __post_init__(self) -> None:
        if not isinstance(self.restitution, (int, float)) or not 0 <= self.restitution <= 1:
            raise ValueShapeError(f"restitution is a number from 0 to 1, got {self.restitution!r}")
        if not isinstance(self.resting, (int, float)) or not 0 <= self.resting < inf:
            raise ValueShapeError(f"resting is a speed that is not negative, got {self.resting!r}")

    def approach(self, gap: Scalar, speed: Scalar, dt: Scalar) -> Scalar:
        """The least acceleration inwards, of what has passed a limit by `-gap` and moves inwards at a speed: it comes
        to rest, or back as slowly as resting things move."""
        return (minimum(-gap / dt, self.resting) - speed) / dt


@dataclass(frozen=True)
class SoftStops:
    """Limits give way: what has passed one returns like a damped oscillator with this time constant [s], its force a
    push only. Solved with the accelerations, so it is stable however short the time."""

    time: float = 0.02
    damping: float = 1.0

    def __post_init__(self) -> None:
        for name in ("time", "damping"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 < value < inf:
                raise ValueShapeError(f"SoftStops' {name} is a positive number, got {value!r}")

    def approach(self, gap: Scalar, speed: Scalar, dt: Scalar) -> Scalar:
        w = 1 / (self.time * self.damping)
        return -(2 * self.damping * w * speed + w * w * gap)


LimitKind: TypeAlias = Stops | SoftStops


@dataclass(frozen=True)
class Holding:
    """Forces of a step: of each place that rubs, and joint forces, (nv,), of limits, and of contacts that bodies rest
    on while others strike (`striking`)."""

    rubs: list[Scalar]
    limits: list[Scalar]
    contacts: list[Scalar]

    holds_scalars: ClassVar[bool] = True


def held(system: System, phase: Phase, inputs: Inputs, dt: Scalar, kind: LimitKind | None) -> Holding:
    """What holds and what opposes at the start of a step, beside what `inputs` say that holds already."""
    model = system.model
    known = Holding([], [0] * model.nv, [0] * model.nv) if inputs.held is None else inputs.held
    stops, rubs = limited(model, phase.q) if kind is not None else [], rubbing(model, phase.q)
    rates, still = [_rate(place.gradient, phase.v) for place in rubs], or_rounding(STILL, 32)
    slipping = [where(absolute(x) > still, 1.0, 0.0) for x in rates]
    slip = [-(place.force * sign(x) * s) for place, x, s in zip(rubs, rates, slipping, strict=True)]
    sides = [_engaged(limit, phase.v, kind) for limit in stops]
    needed = sum([1 - s for s in slipping] + [absolute(s) for s in sides], start=0)

    def solved(at: Phase) -> list[Scalar]:
        there = limited(model, at.q) if kind is not None else []
        rows = [*(p.gradient for p in rubbing(model, at.q)), *(limit.gradient for limit in there)]
        free = system.acting(at, inputs.holding(replace(known, rubs=slip)), dt).rates.v
        wanted = [_rate(place.gradient, at.v) / dt for place in rubs]
        for limit, side in zip(there, sides, strict=True):
            assert kind is not None
            speed = _rate(limit.gradient, at.v)
            gap = where(side < 0, limit.value - limit.lower, limit.upper - limit.value)
            inward = where(side < 0, 1.0, -1.0)
            wanted.append(-inward * kind.approach(gap, inward * speed, dt))
        b = [x + y for x, y in zip(times(rows, free), wanted, strict=True)]
        low = [-(p.force * (1 - s)) for p, s in zip(rubs, slipping, strict=True)]
        high = [p.force * (1 - s) for p, s in zip(rubs, slipping, strict=True)]
        low += [where(s > 0, -inf, 0.0) for s in sides]
        high += [where(s < 0, inf, 0.0) for s in sides]
        return bounded(system.answer(at, rows)[0], b, low, high).z

    nothing = [0.0] * (len(rubs) + len(stops))
    z = where_needed(needed > 0, phase, solved, nothing) if nothing else []
    total = [x + y for x, y in zip(slip, z, strict=False)]
    limits = added(known.limits, transposed_times([limit.gradient for limit in stops], z[len(rubs) :], model.nv))
    return Holding(total, limits, known.contacts)


class Met(NamedTuple):
    """A limit that was passed within a step: on which `side` (-1 below, 1 above, 0 not at all), by how much, how long
    `since` [s], and the rate that it should have now."""

    side: Scalar
    passed: Scalar
    since: Scalar
    wanted: Scalar
    rests: Scalar
    """1 where it stays at the stop, else 0."""


def _met(limit: Limited, before: Scalar, after: Scalar, dt: Scalar, kind: Stops) -> Met:
    """From the rates before and after the step: as if the acceleration in between were constant, it tells the speed at
    the stop and the time since. What pulls outwards goes on to do so after the impact (weight on a floor); what slowed
    it down may have been motion that the impact ends, so it is not counted on."""
    side = _side(limit)
    passed = where(side > 0, limit.value - limit.upper, where(side < 0, limit.lower - limit.value, 0.0))
    speed, a = side * after, side * (after - before) / dt
    hit = sqrt(maximum(speed * speed - 2 * a * passed, 0.0))
    since = where(speed > 0, minimum(2 * passed / where(speed > 0, speed + hit, 1.0), dt), 0.0)
    bounced = kind.restitution * hit
    left = where(bounced > kind.resting, maximum(bounced - maximum(a, 0.0) * since, 0.0), 0.0)
    rests = where(side == 0, 0.0, where(left > 0, 0.0, 1.0)) * where(speed >= 0, 1.0, 0.0)
    return Met(side, passed, since, where(speed > 0, -(side * left), after), rests)


def stopped(system: System, start: Phase, phase: Phase, holding: Holding, dt: Scalar, kind: LimitKind | None) -> Phase:
    """The phase after a step, with impulses on what came to rest, and on what met a stop.

    An impulse at a stop came before the end: all that it moves is also moved on by what it did since. What is then
    still beyond its stop, of second order, is put back: coordinates as they stand; where constraints hold, or other
    lengths are limited, all that moves gives way together.
    """
    model = system.model
    hard = isinstance(kind, Stops)
    stops, rubs = limited(model, phase.q) if hard else [], rubbing(model, phase.q)
    if not rubs and not stops:
        return phase
    still = or_rounding(STILL, 32)
    before = [_rate(place.gradient, start.v) for place in rubbing(model, start.q)]
    after = [_rate(place.gradient, phase.v) for place in rubs]
    resting = [
        where(absolute(x) > still, where(x * y < 0, 1.0, 0.0), where(y == 0, 0.0, 1.0))
        for x, y in zip(before, after, strict=True)
    ]
    met = []
    for limit, then in zip(stops, limited(model, start.q) if hard else [], strict=True):
        assert isinstance(kind, Stops)
        met.append(_met(limit, _rate(then.gradient, start.v), _rate(limit.gradient, phase.v), dt, kind))
    needed = sum([*resting, *(absolute(m.side) for m in met)], start=0)
    together = bool(stops) and (system.row_count > 0 or any(limit.place is None for limit in stops))

    def struck(at: Phase) -> tuple[list[Scalar], list[Scalar]]:
        """The velocity after all impulses, and the displacement that puts things back."""
        there = limited(model, at.q) if hard else []
        rows = [*(p.gradient for p in rubbing(model, at.q)), *(limit.gradient for limit in there)]
        A, answers = system.answer(at, rows)
        b, low, high = [], [], []
        for place, applied, rests in zip(rubs, holding.rubs, resting, strict=True):
            b.append(_rate(place.gradient, at.v))
            low.append((-place.force - applied) * dt * rests)
            high.append((place.force - applied) * dt * rests)
        low += [where(m.side > 0, -inf, 0.0) for m in met]
        high += [where(m.side < 0, inf, 0.0) for m in met]
        b += [_rate(limit.gradient, at.v) - m.wanted for limit, m in zip(there, met, strict=True)]
        z = bounded(A, b, low, high).z
        v = _changed(at.v, answers, z)
        moved = [0.0] * len(rubs) + [m.since * x for m, x in zip(met, z[len(rubs) :], strict=True)]
        if not together:
            return v, _changed([0.0] * model.nv, answers, moved)
        off = [0.0] * len(rubs) + [m.side * m.passed for m in met]
        off = [x + y for x, y in zip(off, matvec(A, moved), strict=True)]
        low = [0.0] * len(rubs) + [where(m.rests > 0, -inf, x) for m, x in zip(met, low[len(rubs) :], strict=True)]
        high = [0.0] * len(rubs) + [where(m.rests > 0, inf, x) for m, x in zip(met, high[len(rubs) :], strict=True)]
        back = bounded(A, off, low, high).z
        return v, _changed([0.0] * model.nv, answers, [x + y for x, y in zip(moved, back, strict=True)])

    v, shift = where_needed(needed > 0, phase, struck, (list(phase.v), [0.0] * model.nv))
    q = retract(model, phase.q, shift) if stops else list(phase.q)
    for limit, m in zip(stops, met, strict=True):
        if limit.place is not None and not together:
            inside = minimum(maximum(q[limit.place], limit.lower), limit.upper)
            q[limit.place] = where(m.rests > 0, where(m.side > 0, limit.upper, limit.lower), inside)
    for place, x in zip(rubs, before, strict=True):
        if place.place is not None and not together:
            stays = where(absolute(x) <= still, where(absolute(_rate(place.gradient, v)) <= still, 1.0, 0.0), 0.0)
            q[place.place] = where(stays > 0, start.q[place.place], q[place.place])
    return phase.changed(q=q, v=v)


def _changed(v: Scalars, answers: Sequence[Scalars], z: Scalars) -> list[Scalar]:
    """v and what forces z along rows do to it."""
    return [x + dot(column, z) for x, column in zip(v, zip(*answers, strict=True), strict=True)]


def _engaged(limit: Limited, v: Scalars, kind: LimitKind | None) -> Scalar:
    """On which side a limit acts during a step. A hard stop: on what rests there, up to rounding; what moves out faster
    is met at the end, and what moves in is free."""
    if not isinstance(kind, Stops):
        return _side(limit)
    below, above = limit.value <= limit.lower + limit.near, limit.value >= limit.upper - limit.near
    rests = absolute(_rate(limit.gradient, v)) <= kind.resting
    return where(rests, where(below, -1.0, where(above, 1.0, 0.0)), 0.0)


def _side(limit: Limited) -> Scalar:
    """-1 at or below the lower bound, 1 at or above the upper one, else 0."""
    return where(limit.value <= limit.lower, -1.0, where(limit.value >= limit.upper, 1.0, 0.0))


def _rate(gradient: Row, v: Scalars) -> Scalar:
    return sum((x * v[k] for k, x in gradient.items()), start=0)
