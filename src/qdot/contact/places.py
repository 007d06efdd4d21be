"""Places for what is there at a time, of much that is possible: one after the other, in each lane others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from qdot.algebra import Scalar, map_scalars, scalars_in, where, where_needed

P = TypeVar("P")

TOGETHER = 4
"""Places that are looked at together: those that nothing new gets, in any lane, cost one question."""


def put(places: Sequence[P], before: Scalar, new: Sequence[tuple[Scalar, P]]) -> tuple[list[P], Scalar]:
    """With those of `new` that count, (condition, what it is), each in the next free place after so many that are
    taken; and how many there are then, those that found no place among them."""
    count, numbered = before, []
    for counts, what in new:
        numbered.append((where(counts, count, -1.0), what))
        count = count + where(counts, 1.0, 0.0)

    def entered(given: tuple[list[P], list[tuple[Scalar, P]]], first: int) -> list[P]:
        places, numbered = given
        for number, what in numbered:
            places = [_either(number == k, what, old) for k, old in enumerate(places, first)]
        return places

    found: list[P] = []
    for first in range(0, len(places), TOGETHER):
        group = list(places[first : first + TOGETHER])
        reached = where(before < first + len(group), count, 0.0) > first
        found += where_needed(reached, (group, numbered), partial(entered, first=first), group)
    return found, count


def _either(condition: Scalar, new: P, old: P) -> P:
    fresh = scalars_in(new)
    chosen: P = map_scalars(lambda x: where(condition, next(fresh), x), old)
    return chosen
