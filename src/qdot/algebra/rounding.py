"""How finely the numbers are rounded for which a text is traced.

Tolerances in texts are stated for numbers of 64 bits. Of shorter ones rounding leaves more than that: loops would not
end, and what is mere rounding would count as something. So where rounding decides, a text asks for
`or_rounding(1e-12, 64)`: 1e-12, or 64 roundings of a number where those are more. Texts that run on numbers as they
stand have 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ROUNDINGS = {"float64": 2.0**-52, "float32": 2.0**-23}
"""The distance from 1 to the next number, by the type of numbers."""

_rounding: ContextVar[float] = ContextVar("rounding", default=ROUNDINGS["float64"])


@contextmanager
def rounded_as(dtype: str) -> Iterator[None]:
    """What is traced within is for numbers of this type."""
    before = _rounding.set(ROUNDINGS[dtype])
    try:
        yield
    finally:
        _rounding.reset(before)


def or_rounding(tolerance: float, roundings: float) -> float:
    """The tolerance, or so many roundings of 1 where these are more; to be asked for when a text runs, not before."""
    return max(tolerance, roundings * _rounding.get())
