"""Loops and regions for texts: they turn on numbers, lane by lane on arrays, and are one block of code when traced.

    repeated      state = step(k, state)   for k = 0 … count - 1
    scanned       state = step(state, row)   for each row of scalars
    swept         state = step(state, row)   for some rows of a table of numbers
    iterated      (go_on, new) = step(state);   state = new   as long as go_on holds
    where_needed  build(given)   where a condition holds

A state is numbers (no truths) in lists, tuples, spatial values; a step gives as many in the same order. Like `where`,
a step may not look at the values to decide what to do. Derivatives go through: a dual number's value and slope are
carried side by side.

Which kind of scalar a loop runs on is that of its state, and of what a step brings in from outside: a state of plain
zeros may meet lanes or traced expressions. That is found out by running it; then the loop starts anew on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any, TypeVar

from qdot.algebra.scalar import Functions, Rows, Scalar, Scalars, functions_of
from qdot.algebra.structure import map_scalars, scalars_in

S = TypeVar("S")
G = TypeVar("G")

UNREAD = nan
"""What a region gives where it is not needed, if nobody reads it there."""


def repeated(count: int, state: S, step: Callable[[Scalar, S], S]) -> S:
    """state = step(k, state) for k = 0 … count - 1; when traced, k is an expression."""
    if count == 1:
        return step(0, state)

    def run(kind: Functions, seen: list[Scalar], known: _Known) -> list[Scalar]:
        def turn(k: Scalar, entries: list[Scalar]) -> list[Scalar]:
            return known(_flat(step(k, _like(state, entries))))

        return kind.repeated(count, _flat(state), turn, seen)

    return _like(state, _on_all_kinds(_flat(state), run))


def scanned(rows: Sequence[Scalars], state: S, step: Callable[[S, list[Scalar]], S]) -> S:
    """state = step(state, row) for each row; rows are of equal length. When traced, the code of one row serves all."""
    if not rows:
        return state

    def run(kind: Functions, seen: list[Scalar], known: _Known) -> list[Scalar]:
        def turn(entries: list[Scalar], row: list[Scalar]) -> list[Scalar]:
            return known(_flat(step(_like(state, entries), row)))

        return kind.scanned(rows, _flat(state), turn, seen)

    return _like(state, _on_all_kinds([*_flat(state), *(x for row in rows for x in row)], run))


def swept(table: Rows, first: Scalar, count: Scalar, state: S, step: Callable[[S, list[Scalar]], S]) -> S:
    """state = step(state, row) for rows first … first + count - 1 of a table of numbers.

    Which rows is the same in all lanes: both are numbers, or come as numbers in the rows of a `scanned` around it.
    """

    def run(kind: Functions, seen: list[Scalar], known: _Known) -> list[Scalar]:
        def turn(entries: list[Scalar], row: list[Scalar]) -> list[Scalar]:
            return known(_flat(step(_like(state, entries), row)))

        return kind.swept(table, first, count, _flat(state), turn, seen)

    return _like(state, _on_all_kinds([first, count, *_flat(state)], run))


def iterated(limit: int, state: S, step: Callable[[S], tuple[Scalar, S]]) -> S:
    """state = new as long as go_on holds, where (go_on, new) = step(state); at most `limit` times.

    A step that does not go on is not taken: the state before it is the result. Each lane stops on its own.
    """

    def run(kind: Functions, seen: list[Scalar], known: _Known) -> list[Scalar]:
        def trial(entries: list[Scalar]) -> tuple[Scalar, list[Scalar]]:
            go_on, new = step(_like(state, entries))
            go_on, *flat = known([go_on, *_flat(new)])
            return go_on, flat

        return kind.iterated(limit, _flat(state), trial, seen)

    return _like(state, _on_all_kinds(_flat(state), run))


def where_needed(condition: Scalar, given: G, build: Callable[[G], S], otherwise: S) -> S:
    """build(given) where the condition holds, else `otherwise`; skipped where no lane needs it.

    Lanes that do not need it are computed along where another does, and thrown away. When traced, what does not depend
    on `given` is computed in any case: pass what the costly part starts from. Of what is UNREAD elsewhere, compiled
    code leaves there whatever it finds, which saves the time to put it: not to be looked at, nor multiplied by zero.
    """

    def run(kind: Functions, seen: list[Scalar], known: _Known) -> list[Scalar]:
        def built(entries: list[Scalar]) -> list[Scalar]:
            return known(_flat(build(_like(given, entries))))

        return kind.where_needed(condition, _flat(given), built, _flat(otherwise), seen)

    return _like(otherwise, _on_all_kinds([condition, *_flat(given), *_flat(otherwise)], run))


_Known = Callable[[list[Scalar]], list[Scalar]]
"""Gives back scalars of the kinds that a loop runs on, and stops it where there is one of another."""


class _Wider(Exception):
    """A step met a kind of scalar that its loop does not run on."""


def _on_all_kinds(seen: list[Scalar], run: Callable[[Functions, list[Scalar], _Known], list[Scalar]]) -> list[Scalar]:
    """What `run` gives on the kind of all that was seen, and of all that it meets."""
    widest = max(map(_width, seen), default=(0, 0))
    met = _Wider()

    def known(scalars: list[Scalar]) -> list[Scalar]:
        if max(map(_width, scalars), default=widest) > widest:
            seen.extend(scalars)
            raise met
        return scalars

    try:
        return run(functions_of(*seen, 0), seen, known)
    except _Wider as wider:
        if wider is not met:  # a loop around this one is to start anew
            raise
    return _on_all_kinds(seen, run)


def _width(x: Scalar) -> tuple[int, int]:
    """Which of two kinds computes for both: by rank, and among dual numbers by level."""
    return functions_of(x).rank, getattr(x, "level", 0)


def _flat(state: Any) -> list[Scalar]:
    return list(scalars_in(state))


def _like(state: S, entries: list[Scalar]) -> S:
    """The structure of a state, with these entries."""
    left = iter(entries)
    like: S = map_scalars(lambda _: next(left), state)
    return like
