"""Newton's method for a convex cost, with a search along each step: where it stops, and how far a step goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from qdot.algebra import Scalar, absolute, iterated, where, where_needed
from qdot.algebra.rounding import or_rounding

SEARCH = 0.1
"""Of the slope at the start of a search: what is left of it where the search ends."""

SEARCHES = 30
"""Turns of a search, at most: between sticking and sliding a slope may change from one side to the other at once, and
the place is found by halves."""

FURTHEST = 1e10
"""No search goes so far, and no step gains so much."""

SURE = 1e4
"""Times what a step is expected to gain: where that is less than the tolerance, it is not taken. Those of robots in
contact gained up to 14 times as much; random contacts, some 10⁶ times as stiff as others, end up to 4e-9 above the
least with a tolerance of 1e-8."""

ROUNDINGS = 12
"""Expected to gain less than so many, a step is not taken either: numbers of 32 bits would go on with what rounding
left of slopes, a turn in ten of a humanoid that tumbles."""


class Sloping(Protocol):
    """What is known at a point, the slope of the cost there among it."""

    @property
    def g(self) -> list[Scalar]: ...


M = TypeVar("M", bound=Sloping)

_State: TypeAlias = tuple[list[Scalar], Scalar, Scalar, Scalar]
"""A point; what the step to it promised to gain; the sum of all slopes where that began; and how many there were."""


def minimised(
    guess: list[Scalar],
    met: Callable[[list[Scalar]], M],
    improved: Callable[[list[Scalar], M], tuple[list[Scalar], Scalar]],
    *,
    scale: Scalar,
    tolerance: float,
    limit: int,
) -> tuple[list[Scalar], Scalar]:
    """Where a cost is least, from a guess of it, and the steps that took: `met` tells what is there, and `improved`
    takes a step and tells what it promised to gain. It stops where that is less than the tolerance, or the slope is
    less, in units of 1/scale; and where the next step is sure to gain less: less than the last one by the square of how
    much smaller slopes have become."""
    least = or_rounding(tolerance / SURE, ROUNDINGS)

    def turn(state: _State) -> tuple[Scalar, _State]:
        a, gain, before, turns = state
        here = met(a)
        left = scale * sum((absolute(x) for x in here.g), start=0)
        next_one = gain * (left / before) ** 2
        more = where(left > tolerance, where(next_one > least, gain, 0.0), 0.0) > tolerance
        a, gain = where_needed(more, (a, here), lambda given: improved(*given), (a, 0.0))
        return more, (a, gain, left, turns + 1)

    a, _, _, turns = iterated(limit, (guess, FURTHEST, 1.0, 0.0), turn)
    return a, turns


def searched(at: Callable[[Scalar], tuple[Scalar, Scalar]], slope: Scalar) -> Scalar:
    """Where a convex function of t, with this slope at 0, is least: `at` gives its slope and curvature. From t = 1,
    where Newton's step ends; steps of Newton's method, or halves where one would leave the interval known to hold
    it."""

    def turn(state: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
        t, low, high = state
        first, second = at(t)
        low, high = where(first < 0, t, low), where(first < 0, high, t)
        step = t - first / second
        halved = where(high < FURTHEST, (low + high) / 2, 2 * t)
        inside = where(step > low, where(step < high, 1.0, 0.0), 0.0)
        return absolute(first) > SEARCH * absolute(slope), (where(inside > 0, step, halved), low, high)

    return iterated(SEARCHES, (1.0, 0.0, FURTHEST), turn)[0]
