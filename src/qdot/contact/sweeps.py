"""Contact after contact, each solved exactly with the others held: nonlinear Gauss–Seidel (Jean, Moreau, 1992).

One contact alone, y = A x + c, of which c_n < 0 approaches: with y_n = 0 and friction along the slip, y_t = -λ x_t,

    (S + λ 1) x_t = -c′,    S = A_tt - A_tn A_nt / A_nn,    c′ = c_t - A_tn c_n / A_nn,
    x_n = -(c_n + A_nt x_t) / A_nn.

It sticks where λ = 0 leaves x in its cone. Else |x_t| - x_n is above zero at λ = 0 and below at λ = ∞, so there is a λ
between at which it slides. It is found between t = 0 and 1, t = 1 / (1 + λ), by false position with halved ends
(Illinois; Dowell, Jarratt, BIT 11, 1971), however W is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from qdot.algebra import Scalar, Scalars, absolute, iterated, maximum, where, where_needed
from qdot.algebra.linalg import dot, ldlt, ldlt_solve
from qdot.algebra.rounding import or_rounding
from qdot.contact.problem import Problem, largest, length

SINGULAR = 4e-15
"""Added to S: a direction that no impulse moves gets none."""

TURNS = 60
EXACT = 1e-15
"""Turns at most for the slip of one contact, and how near |x_t| comes to x_n, of it."""


def alone(A: Sequence[Scalars], c: Scalars) -> list[Scalar]:
    """x of one contact: its normal row, then the tangential ones."""
    tangents = range(1, len(c))
    inverse = 1 / where(A[0][0] > 0, A[0][0], 1.0)
    coupling = [A[i][0] * inverse for i in tangents]
    S = [[A[i][j] - l * A[0][j] for j in tangents] for i, l in zip(tangents, coupling, strict=True)]
    side = [l * c[0] - c[i] for i, l in zip(tangents, coupling, strict=True)]

    def at(t: Scalar) -> tuple[Scalar, Scalar, list[Scalar]]:
        """|x_t| - x_n, x_n and x_t."""
        rows = [[t * x for x in row] for row in S]
        for i, row in enumerate(rows):
            row[i] = row[i] + (1 - t) + or_rounding(SINGULAR, 16)
        x = ldlt_solve(ldlt(rows), [t * r for r in side])
        push = -(c[0] * inverse + dot(coupling, x))
        return length(x) - push, push, x

    approaches = where(A[0][0] > 0, c[0], 0.0) < 0
    excess, push, _ = at(1.0)
    slides = where(approaches, excess, 0.0) > 0

    def narrowed(state: list[Scalar]) -> tuple[Scalar, list[Scalar]]:
        low, below, high, above, side_before, t = state
        found, push, _ = at(t)
        over = found > 0
        below = where(over, where(side_before > 0, below / 2, below), found)
        above = where(over, found, where(side_before < 0, above / 2, above))
        low, high = where(over, low, t), where(over, t, high)
        between = above - below > 0
        guess = high - above * (high - low) / where(between, above - below, 1.0)
        guess = where(guess > low, where(guess < high, guess, (low + high) / 2), (low + high) / 2)
        go_on = where(slides, absolute(found) - or_rounding(EXACT, 4) * absolute(push), -1.0) > 0
        return go_on, [low, below, high, above, where(over, 1.0, -1.0), guess]

    lowest = c[0] * inverse  # at t = 0
    first = -lowest / where(excess - lowest > 0, excess - lowest, 1.0)
    t = iterated(TURNS, [0.0, lowest, 1.0, excess, 0.0, first], narrowed)[-1]
    _, _, sliding = at(where(slides, t, 1.0))
    push = where(slides, length(sliding), push)
    return [where(approaches, x, 0.0) for x in [push, *sliding]]


def swept(problem: Problem, start: Scalars, sweeps: int, tolerance: float) -> tuple[list[Scalar], Scalar]:
    """x after so many sweeps, or when none moves it by more than the tolerance, of its size; and how many that took."""

    def sweep(state: _State) -> _State:
        old, count, _ = state
        x = list(old)
        for rows in problem.contacts:
            A = [[problem.A[i][j] for j in rows] for i in rows]
            own = [x[i] for i in rows]
            others = [problem.c[i] + dot(problem.A[i], x) - dot(row, own) for i, row in zip(rows, A, strict=True)]
            for i, new in zip(rows, alone(A, others), strict=True):
                x[i] = new
        moved = largest([a - b for a, b in zip(x, old, strict=True)])
        return x, count + 1, moved - tolerance * maximum(1.0, largest(x))

    def step(state: _State) -> tuple[Scalar, _State]:
        go_on = state[2] > 0
        return go_on, where_needed(go_on, state, sweep, state)  # the trial that ends the loop computes nothing

    x, count, _ = iterated(sweeps, (list(start), 0.0, 1.0), step)
    return x, count


_State: TypeAlias = tuple[list[Scalar], Scalar, Scalar]
"""x, sweeps so far, and a number above zero where another is needed."""
