"""Newton's method for a convex cost: where it stops, and how far a step goes.

Each turn looks at one point. Where the cost is nearly level along the way that led there, a new way is taken from
there; else another point of the same way is looked at. So a step that can be taken as it is, and most can, costs no
search of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from qdot.algebra import Scalar, Scalars, absolute, iterated, minimum, where, where_needed
from qdot.algebra.linalg import dot

LEVEL = 0.3
"""Of the slope at the start of a way: what may be left of it where the next one is taken."""

NARROW = 1e-3
"""Of how far a way leads: so well the least along it is known where the next one is taken in any case. Between sticking
and sliding, or sliding one way and the other, the slope may change its sign at once."""

SURE = 100.0
"""Times what a step is expected to gain, less than the tolerance where it is not taken."""

LOOKS = 20
"""Along a way, at most."""

LONGER = 10.0
"""Times as far a way may lead at once."""

FURTHEST = 1e10
"""No way leads so far, and no step gains so much."""


class Sloping(Protocol):
    """What is known at a point, the slope of the cost there among it."""

    @property
    def g(self) -> list[Scalar]: ...


M = TypeVar("M", bound=Sloping)


class _End(NamedTuple):
    """Of what is known to hold the least: where it is on the way, and the slope there."""

    t: Scalar
    slope: Scalar


class _Way(NamedTuple):
    """From a to a + t p. `slope` is that of the cost at a along it, `left` the sum of all slopes there. Where the cost
    is least lies between `low` and `high`; `moved` tells which of them moved last, -1 or 1."""

    a: list[Scalar]
    p: list[Scalar]
    left: Scalar
    slope: Scalar
    t: Scalar
    low: _End
    high: _End
    moved: Scalar

    @staticmethod
    def along(a: Scalars, p: Scalars, left: Scalar, slope: Scalar) -> _Way:
        return _Way(list(a), list(p), left, slope, 1.0, _End(0.0, slope), _End(FURTHEST, 0.0), 0.0)

    @property
    def point(self) -> list[Scalar]:
        return [x + self.t * y for x, y in zip(self.a, self.p, strict=True)]

    def further(self, slope: Scalar) -> _Way:
        """To where the slope, this one here, would be zero if it changed evenly. An end that stays is taken for half as
        steep, so that it does not stay for long (the Illinois method)."""
        t, low, high, falls = self.t, self.low, self.high, slope < 0
        stays = _End(low.t, where(self.moved > 0, low.slope / 2, low.slope))
        low = _either(falls, _End(t, slope), stays)
        stays = _End(high.t, where(self.moved < 0, high.slope / 2, high.slope))
        high = _either(falls, stays, _End(t, slope))
        within = low.t - low.slope * (high.t - low.t) / (high.slope - low.slope)
        beyond = minimum(t - slope * (t - self.low.t) / (slope - self.low.slope), LONGER * t)
        t = where(high.t < FURTHEST, within, beyond)
        return self._replace(t=t, low=low, high=high, moved=where(falls, -1.0, 1.0))


def _either(condition: Scalar, one: _End, two: _End) -> _End:
    return _End(*(where(condition, x, y) for x, y in zip(one, two, strict=True)))


def minimised(
    guess: list[Scalar],
    met: Callable[[list[Scalar]], M],
    step: Callable[[list[Scalar], M], list[Scalar]],
    *,
    scale: Scalar,
    tolerance: float,
    limit: int,
) -> tuple[list[Scalar], Scalar]:
    """Where a cost is least, from a guess of it, and the steps that took: `met` tells what is there, and `step` the
    step of Newton's method from there. It stops where a step gained less than the tolerance, or the slope is less, in
    units of 1/scale."""

    def turn(state: tuple[_Way, Scalar]) -> tuple[Scalar, tuple[_Way, Scalar]]:
        way, steps = state
        point = way.point
        here = met(point)
        slope = dot(here.g, way.p)
        is_narrow = way.high.t - way.low.t <= NARROW * way.t
        is_level = where(is_narrow, 0.0, absolute(slope)) <= LEVEL * absolute(way.slope)
        left = sum((absolute(x) for x in here.g), start=0)
        promised = -(scale * way.slope) / 2
        gained = promised * way.t
        next_one = gained * (left / way.left) ** 2
        gain = where(is_level, minimum(gained, SURE * next_one), promised)
        more = where(scale * left > tolerance, gain, 0.0) > tolerance

        def onward(given: tuple[list[Scalar], M, Scalar]) -> _Way:
            point, here, left = given
            p = step(point, here)
            return _Way.along(point, p, left, dot(here.g, p))

        turns = where(is_level, where(more, 1.0, 0.0), 0.0)
        way = where_needed(turns > 0, (point, here, left), onward, way.further(slope))
        return more, (way, steps + turns)

    # A way of no length that nothing is known of.
    start = _Way.along(guess, [0.0] * len(guess), 1.0, -FURTHEST)
    way, steps = iterated(LOOKS * limit, (start, 0.0), turn)
    return way.point, steps
