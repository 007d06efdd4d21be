"""Projected Gauss–Seidel on velocities: contact after contact, each row by its own inertia, from wherever it starts.

    z_n ← max(0, z_n - u_n / A_nn),    z_t ← (z_t - r μ² u_t) drawn into the cone,    v ← v + A Jᵀ Δz,

r = 1 / Σ μ² A_tt. Where nothing changes any more, Signorini's law and Coulomb's hold, with the round cone. A sweep
costs as much as J has entries, and no matrix of all contacts is made; so it goes with piles of bodies. It comes near
slowly, the slower the longer chains of contacts are: it is to start from the impulses of the step before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from qdot.algebra import Scalar, Scalars, absolute, iterated, maximum, where, where_needed
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row
from qdot.algorithms.constraints.rows import times
from qdot.contact.coulomb import Impulses
from qdot.contact.problem import largest, length, rows_of
from qdot.contact.residuals import residuals

SWEEPS = 100
TOLERANCE = 1e-10
"""At most so many; ended where none changes a velocity by more than this, of the largest before."""

State: TypeAlias = tuple[list[Scalar], list[Scalar], Scalar, Scalar]
"""Impulses, velocities of the freedoms, the largest change of a row's velocity in the last sweep, and sweeps so far."""


def projected(
    J: Sequence[Row],
    answers: Sequence[Row],
    v: Scalars,
    more: Scalars,
    friction: Sequence[Scalars],
    present: Scalars,
    start: Scalars,
    sweeps: int = SWEEPS,
) -> Impulses:
    """Impulses that turn u = J v + `more` into those that obey the law; `answers` are the rows of J A, of freedoms."""
    contacts, tolerance = rows_of(friction), or_rounding(TOLERANCE, 32)
    own = [dot_rows(row, answer) for row, answer in zip(J, answers, strict=True)]
    shares: list[Scalar] = []  # of a velocity: how much an impulse changes for it
    for rows, mu in zip(contacts, friction, strict=True):
        across = sum((m * m * own[i] for i, m in zip(rows[1:], mu, strict=True)), start=0)
        shares += [_inverse(own[rows[0]]), *(m * m * _inverse(across) for m in mu)]
    begun = [x * present[k] for k, rows in enumerate(contacts) for x in (start[i] for i in rows)]
    begun = _admitted(contacts, begun, friction)
    moving = list(v)
    for row, x in zip(answers, begun, strict=True):
        moving = _moved(moving, row, x)
    there = [x for x, rows in zip(present, contacts, strict=True) for _ in rows]
    size = largest([where(t > 0, x + y, 0.0) for x, y, t in zip(times(J, v), more, there, strict=True)])

    def sweep(state: State) -> State:
        z, v, _, count = list(state[0]), state[1], state[2], state[3]
        worst: Scalar = 0.0
        for k, rows in enumerate(contacts):

            def aimed(i: int, v: Scalars, there: Scalar = present[k]) -> Scalar:
                return z[i] - there * shares[i] * (times([J[i]], v)[0] + more[i])

            push = maximum(aimed(rows[0], v), 0.0)
            v = _moved(v, answers[rows[0]], push - z[rows[0]])
            new = [push, *_into_cone([aimed(i, v) for i in rows[1:]], friction[k], push)]
            for i, x in zip(rows[1:], new[1:], strict=True):
                v = _moved(v, answers[i], x - z[i])
            for i, x in zip(rows, new, strict=True):
                worst = maximum(worst, absolute(x - z[i]) * own[i])
                z[i] = x
        return z, v, worst, count + 1

    def step(state: State) -> tuple[Scalar, State]:
        go_on = state[2] > tolerance * size
        return go_on, where_needed(go_on, state, sweep, state)

    z, moving, left, count = iterated(sweeps, (begun, moving, size + 1.0, 0.0), step)
    u = [x + y for x, y in zip(times(J, moving), more, strict=True)]
    error = left / where(size > 0, size, 1.0)
    solved = where(left <= tolerance * size, 1.0, 0.0)
    return Impulses(z, u, residuals(z, u, friction, present), error, solved, count)


def dot_rows(a: Row, b: Row) -> Scalar:
    """Of two rows by their places."""
    return sum((x * b[k] for k, x in a.items() if k in b), start=0)


def _inverse(x: Scalar) -> Scalar:
    return where(x > 0, 1.0, 0.0) / where(x > 0, x, 1.0)


def _moved(v: Scalars, row: Row, z: Scalar) -> list[Scalar]:
    new = list(v)
    for k, x in row.items():
        new[k] = new[k] + x * z
    return new


def _into_cone(x: Scalars, friction: Scalars, push: Scalar) -> list[Scalar]:
    """Drawn back to where Σ (x_k / μ_k)² ≤ push²; a row without friction has none."""
    scaled = [where(m > 0, a, 0.0) / where(m > 0, m, 1.0) for a, m in zip(x, friction, strict=True)]
    size = length(scaled) if scaled else 0.0
    share = where(size > push, push / where(size > push, size, 1.0), 1.0)
    return [where(m > 0, a, 0.0) * share for a, m in zip(x, friction, strict=True)]


def _admitted(contacts: Sequence[range], z: Scalars, friction: Sequence[Scalars]) -> list[Scalar]:
    found: list[Scalar] = []
    for rows, own in zip(contacts, friction, strict=True):
        push = maximum(z[rows[0]], 0.0)
        found += [push, *_into_cone([z[i] for i in rows[1:]], own, push)]
    return found
