"""What a step remembers for the next one: where each constraint came to be on its law.

Newton's method is done at once where it knows what pushes, sticks or slides. An acceleration tells that badly: of what
is stiff, y = J a - a_ref is small in the end, yet a_ref changes more than that from one step to the next, so at the
acceleration of the step before y may have either sign. The y that was found then tells it well, for what touches goes
on to touch. So a step begins with the tangents to all laws at the y of the step before.

Of limits and dry friction each has a number. Contacts, of which hundreds are possible, share places: the number of the
contact, and its y. What found no place, or was not there, is looked at where it is at the last acceleration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isinf
from typing import TYPE_CHECKING, Any

from qdot.algebra import Scalar, Scalars, is_number, is_zero, where
from qdot.collision.pairs import pairs
from qdot.contact.constraints import Rowed
from qdot.contact.places import put
from qdot.contact.soft_laws import Bound
from qdot.contact.soft_rows import frictions, limits
from qdot.contact.weights import weights
from qdot.model.model import Model

if TYPE_CHECKING:
    from qdot.contact.gauss import Problem

LARGE = 12
"""Freedoms from which it is worth to remember."""

PLACES = 8
"""Contacts that are remembered."""


@lru_cache(maxsize=64)
def remembered_size(model: Model) -> int:
    """Numbers that are remembered beside the acceleration; of few freedoms none, for which a turn costs little."""
    if model.nv < LARGE:
        return 0
    q, v = model.home().tolist(), [0.0] * model.nv
    known = weights(model)
    return len(frictions(model, q, v, 1.0, known)) + len(limits(model, q, v, 1.0, known)) + PLACES * _width(model)


def _width(model: Model) -> int:
    """Of a place; none where there are no contacts."""
    rows = max((pair.dimension for pair in pairs(model)), default=0)
    return rows and 1 + rows


def _bounded(problem: Problem) -> list[Rowed]:
    """Limits and dry friction, whose forces have bounds: the law of an equality is straight."""
    return [row for row in problem.rowed if isinstance(row.law, Bound) and not _is_infinite(row.law.low)]


def _is_infinite(x: Scalar) -> bool:
    return is_number(x) and isinf(x)


@dataclass(frozen=True)
class Recalled:
    """y of bounded rows, by who they are, and of contacts by their numbers; zeros of what was not there."""

    rows: dict[int, Scalar]
    places: list[list[Scalar]]

    @staticmethod
    def of(problem: Problem, memory: Scalars) -> Recalled:
        bounded, width = _bounded(problem), _width(problem.model)
        rows = {id(row): y for row, y in zip(bounded, memory, strict=False)}
        left = memory[len(bounded) :]
        return Recalled(rows, [list(left[k * width : (k + 1) * width]) for k in range(PLACES if width else 0)])

    def seen(self, c: Any, moving: Any) -> list[Scalar]:
        """y of a constraint: that of the step before, if it was there, else as things move."""
        now: list[Scalar] = c.beyond(moving)
        if id(c) in self.rows:
            last = self.rows[id(c)]
            return [where(last == 0, now[0], last)]
        if not is_zero(c.number):
            for number, *last in self.places:
                now = [where(number == c.number, x, y) for x, y in zip(last, now, strict=False)]
        return now


def remembered(problem: Problem, a: Scalars) -> list[Scalar]:
    """Of an acceleration that was found: y of bounded rows, then of contacts."""
    if problem.model.nv < LARGE:
        return []
    width = _width(problem.model)
    found = [where(row.acts, row.beyond(a)[0], 0.0) for row in _bounded(problem)]
    state = [[0.0] * width for _ in range(PLACES if width else 0)], 0.0

    def entered(moving: Any, c: Any, state: tuple[list[list[Scalar]], Scalar]) -> tuple[list[list[Scalar]], Scalar]:
        y = c.beyond(moving)
        return put(*state, [(c.acts, [c.number, *y, *[0.0] * (width - 1 - len(y))])])

    places, _ = problem.over_contacts(a, state, entered)
    return found + [x for place in places for x in place]
