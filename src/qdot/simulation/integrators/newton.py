"""Newton's method inside a step: corrections until nothing is left of them but rounding."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from qdot.algebra import Scalar, Scalars, absolute, iterated, maximum, where, where_needed
from qdot.algebra.rounding import or_rounding

LIMIT = 50
"""Corrections at most; those of Newton are three or four, with an approximate tangent up to a dozen."""

ROUNDING = 1e-15
ACCEPTED = 1e-7
"""Of the size of x: corrections that are rounding; and those from which no more is asked than that they shrink."""

LEFT = 1e-12
"""Of the size of the state in units of x, such as q / dt for a velocity: what rounding leaves of x, however small that
is. At rest nothing else is left."""


def solved(
    start: Scalars, correction: Callable[[list[Scalar]], list[Scalar]], measured: int, state_size: Scalar
) -> tuple[list[Scalar], Scalar]:
    """x where `correction(x)` vanishes, and the size of the last correction, of the first `measured` entries.

    `state_size` is that of the state in units of x. Where corrections do not come to rest, x is NaN.
    """

    def accepted(x: list[Scalar]) -> Scalar:
        return or_rounding(ACCEPTED, 2**13) * largest(x[:measured]) + or_rounding(LEFT, 64) * state_size

    def turn(state: tuple[list[Scalar], Scalar, Scalar]) -> tuple[list[Scalar], Scalar, Scalar]:
        x, last, _ = state
        change = correction(x)
        x = [a + b for a, b in zip(x, change, strict=True)]
        finite = sum(map(absolute, change), start=0.0) < inf  # a sum is no number where one of its terms is none
        size = where(finite, largest(change[:measured]), last)
        shrinks = where(size < 0.9 * last, 1.0, where(size > accepted(x), 1.0, 0.0))
        return x, size, where(finite, where(size > or_rounding(ROUNDING, 4) * largest(x[:measured]), shrinks, 0.0), 0.0)

    def step(
        state: tuple[list[Scalar], Scalar, Scalar],
    ) -> tuple[Scalar, tuple[list[Scalar], Scalar, Scalar]]:
        go_on = state[2] > 0
        return go_on, where_needed(go_on, state, turn, state)

    x, size, _ = iterated(LIMIT, (list(start), inf, 1.0), step)
    found = size <= accepted(x)
    return [where(found, a, nan) for a in x], size


def largest(xs: Scalars) -> Scalar:
    """max |x|."""
    found: Scalar = 0.0
    for x in xs:
        found = maximum(found, absolute(x))
    return found


def failure(size: float, remedy: str = "") -> str | None:
    """What to say of a last correction of this size where the state is NaN; None where it is for another reason."""
    if not LEFT < size < inf:
        return None
    return f"the equations of the step were not solved, by a last correction of {size:.3g}; take a shorter dt{remedy}"
