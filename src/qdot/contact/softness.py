"""How a soft constraint pulls: impedance and reference acceleration (Todorov, ICRA 2014; MuJoCo's documentation,
chapter Computation, "Constraint model", whose parameters and limits these are).

    a_ref = -b v - k d r,   R = (1 - d)/d · A,   d = d(|r|) ∈ (0, 1)

r is how far a constraint is violated, v its rate, and A the acceleration that a unit force gives along it. With R = 0
the constraint would follow a_ref whatever acts on it; it does so by the share d.
"""

from __future__ import annotations

from typing import NamedTuple

from qdot.algebra import Scalar, absolute, exp, log, maximum, minimum, where
from qdot.description import Softness

LEAST, MOST = 1e-4, 0.9999
"""Between which an impedance lies."""

TINY = 1e-15
"""Numbers below it count as zero."""


class Pull(NamedTuple):
    """Damping b [1/s] and stiffness k [1/s²] of the reference acceleration."""

    b: Scalar
    k: Scalar


def pull(solref: tuple[float, ...], softness: Softness, dt: Scalar, *, safe: bool) -> Pull:
    """b and k of a time constant and a damping ratio, or as given where both are negative.

    Where `safe`, the time constant is at least two steps long: a stiffer constraint would be unstable.
    """
    width = _clamped(softness.solimp[1])
    first, second = solref
    if (first > 0) != (second > 0):
        first, second = Softness().solref
    if first <= 0:
        return Pull(-second / width, -first / (width * width))
    time: Scalar = maximum(first, 2 * dt) if safe else first
    k = 1 / maximum(width * width * time * time * second * second, TINY)
    return Pull(2 / maximum(width * time, TINY), k)


def impedance(softness: Softness, violation: Scalar) -> Scalar:
    """d: from d₀ where nothing is violated, along a smooth step, to d_width at a violation of `width`."""
    d0, d1 = (_clamped(x) for x in softness.solimp[:2])
    width, middle, power = max(0.0, softness.solimp[2]), _clamped(softness.solimp[3]), max(1.0, softness.solimp[4])
    if d0 == d1 or width <= TINY:
        return (d0 + d1) / 2
    x = minimum(absolute(violation) / width, 1.0)
    if power == 1:
        y = x
    else:
        rising = _power(x, power) / middle ** (power - 1)
        falling = 1 - _power(1 - x, power) / (1 - middle) ** (power - 1)
        y = where(x <= middle, rising, falling)
    return d0 + y * (d1 - d0)


def _power(x: Scalar, power: float) -> Scalar:
    """xᵖ for x ≥ 0."""
    if power == int(power):
        return x ** int(power)
    return where(x > 0, exp(power * log(maximum(x, TINY))), 0.0)


def _clamped(d: float) -> float:
    return min(MOST, max(LEAST, d))
