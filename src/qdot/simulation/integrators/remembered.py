"""What an integrator remembers from step to step: a value with scalars in it, whose memory is these in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from qdot.algebra import Scalar, map_scalars, scalars_in, where

S = TypeVar("S")


def filled(like: S, entries: Sequence[Scalar]) -> S:
    """The structure of a value with these entries."""
    left = iter(entries)
    found: S = map_scalars(lambda _: next(left), like)
    return found


def chosen(condition: Scalar, x: S, y: S) -> S:
    """x where the condition holds, else y, entry by entry."""
    others = iter(list(scalars_in(y)))
    found: S = map_scalars(lambda entry: where(condition, entry, next(others)), x)
    return found
