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
from qdot.algebra.rounding import or_rounding

LEVEL = 0.3
"""Of the slope at the start of a way: what may be left of it where the next one is taken."""

NARROW = 1e-9
"""Of how far a way leads: so well the least along it is known where the next one is taken in any case. Between sticking
and sliding, or sliding one way and the other, the slope may change its sign at once."""

SURE = 1e4
"""Times what a step is expected to gain: where that is less than the tolerance, it is not taken. Those of robots in
contact gained up to 14 times as much, of random contacts, some 10⁶ times as stiff as others, some hundred times."""

LOOKS = 60
"""Along a way, on average, at most."""

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
    is least lies between `low` and `high`, which were `width` apart before the last look."""

    a: list[Scalar]
    p: list[Scalar]
    left: Scalar
    slope: Scalar
    t: Scalar
    low: _End
    high: _End
    width: Scalar

    @staticmethod
    def along(a: Scalars, p: Scalars, left: Scalar, slope: Scalar) -> _Way:
        return _Way(list(a), list(p), left, slope, 1.0, _End(0.0, slope), _End(FURTHEST, 0.0), FURTHEST)

    @property
    def point(self) -> list[Scalar]:
        return [x + self.t * y for x, y in zip(self.a, self.p, strict=True)]

    def is_known(self, slope: Scalar) -> Scalar:
        """Whether looking further, from where the slope is this, would tell nothing: the least is known well, or the
        slope is less than it was before it, by rounding."""
        width = where(slope < self.low.slope, 0.0, self.high.t - self.low.t)
        return width <= or_rounding(NARROW, 8) * self.t

    def further(self, slope: Scalar) -> _Way:
        """To where the slope, this one here, would be zero if it changed evenly; or to the middle, where that did not
        halve what is not known."""
        t, falls = self.t, slope < 0
        low, high = _either(falls, _End(t, slope), self.low), _either(falls, self.high, _End(t, slope))
        width = high.t - low.t
        even = low.t - low.slope * width / (high.slope - low.slope)
        within = where(width <= self.width / 2, even, low.t + width / 2)
        beyond = minimum(t - slope * (t - self.low.t) / (slope - self.low.slope), LONGER * t)
        return self._replace(t=where(high.t < FURTHEST, within, beyond), low=low, high=high, width=width)


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
    """Where a cost is least, from a guess of it, and the steps that took, no more than `limit`: `met` tells what is
    there, and `step` the step of Newton's method from there. It stops where a step promised to gain less than the
    tolerance, the next one is sure to, or the slope is less, in units of 1/scale. What a step promises is half the
    slope at its start; the next one less by the square of how much smaller slopes have become."""

    def turn(state: tuple[_Way, Scalar]) -> tuple[Scalar, tuple[_Way, Scalar]]:
        way, steps = state
        point = way.point
        here = met(point)
        slope = dot(here.g, way.p)
        is_level = where(way.is_known(slope), 0.0, absolute(slope)) <= LEVEL * absolute(way.slope)
        left = sum((absolute(x) for x in here.g), start=0)
        promised = -(scale * way.slope) / 2
        next_one = where(steps < limit, promised * (left / way.left) ** 2, 0.0)
        gain = where(is_level, minimum(promised, SURE * next_one), FURTHEST)
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
