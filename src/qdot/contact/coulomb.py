"""Hard contact with Coulomb's cone as it is: no pyramid, true stick, no creep.

Of u = W z + b, n contacts, it finds impulses with

    0 ≤ z_n ⊥ u_n ≥ 0,    |z_t| ≤ μ z_n,    z_t = -μ z_n u_t / |u_t|  where it slides:

not the convex problem near it, in which what slides also lifts (Anitescu, 2006), but the law itself. In the units of
`Problem` these are the zeros of Alart and Curnier's function (Comput. Methods Appl. Mech. Eng. 92, 1991),

    F_n = x_n - max(least, x_n - y_n),    F_t = x_t - [x_t - y_t] drawn into the disc of radius max(least, x_n - y_n),

where `least` is zero, or a push that is there anyway. Sweeps of Gauss–Seidel come near. Then Newton's method for such
kinks solves a row of easier problems: with ρ 1 added to A and pulled back to the last solution (the proximal point
method, Rockafellar, 1976), so that points of a face, which share their load in many ways, share it in the way nearest
to where they began. ρ falls where that goes well and rises where it does not; steps that make |F| smaller alternate
with full ones from one such failure to the next, because either may lead nowhere. No method is known that is sure to
find a solution of this law; what is not solved is told.

Solutions exist for b = J v, for then rest is allowed (Klarbring, Pang, SIAM J. Optim. 8, 1998); there may be several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, absolute, floor, iterated, maximum, minimum, where, where_needed
from qdot.algebra.linalg import Matrix, dot, matvec
from qdot.algebra.rounding import or_rounding
from qdot.contact.problem import Problem, largest, length
from qdot.contact.residuals import Residuals, residuals
from qdot.contact.sweeps import swept

TOLERANCE = 1e-11
LARGE = 1e3
"""The error that counts as none, in the units of each contact; beyond impulses so large, of those by as much less."""

SWEEPS = 8
STEPS = 400
"""At most: of Gauss–Seidel before Newton, and of Newton."""

PATIENCE = 10.0
"""Newton's steps on one easier problem, and two more for each that was not solved: so nothing goes round in circles."""

RHO = 0.1
LEAST_RHO = 1e-9
MOST_RHO = 4.0
NEAR = 0.01
"""An easier problem is solved well enough when what is left of F is so much of the pull back."""


@dataclass(frozen=True)
class Impulses:
    """Impulses z [N s] and the velocities u [m/s] after them.

    `error` is |F| in the units of each contact, in which the largest velocity before is 1; `converged` is 1 where it is
    within the tolerance, else 0; `iterations` counts Newton's steps, or sweeps where there are no others.
    """

    holds_scalars: ClassVar[bool] = True
    z: list[Scalar]
    u: list[Scalar]
    residuals: Residuals
    error: Scalar
    converged: Scalar
    iterations: Scalar


def coulomb(
    W: Sequence[Scalars],
    b: Scalars,
    mu: Sequence[Scalar | Scalars],
    present: Scalars,
    *,
    least: Scalars | None = None,
    tolerance: float = TOLERANCE,
    sweeps: int = SWEEPS,
    steps: int = STEPS,
) -> Impulses:
    """Impulses of contacts with normal and tangential rows in turn; those of absent contacts (`present` 0) are zero.

    W is symmetric and positive semidefinite. `mu` has a coefficient for each contact, or one for each of its
    tangential rows: () is no friction at all, three are sliding twice and spinning [m], five also rolling [m].
    `least` are pushes [N s] that normals bear at least. steps=0 leaves it at sweeps, which are cheap and coarse.
    Numbers of 32 bits come to 1e-5, however small a tolerance is given.
    """
    tolerance = or_rounding(tolerance, 84)
    problem = Problem.of(W, b, mu, present, least)
    lowest = [0.0] * len(problem.contacts) if least is None else _in_units(problem, least)
    x, count = _from_sweeps(problem, lowest, sweeps, tolerance)
    if steps:
        x, count = _Newton(problem, lowest).solved(x, steps, tolerance)
    x = admitted(problem.contacts, x, lowest)
    error = _error(problem.contacts, x, problem.velocities(x), lowest)
    z = problem.impulses(x)
    u = [w + c for w, c in zip(matvec(W, z), b, strict=True)]
    return Impulses(z, u, residuals(z, u, mu, present), error, where(error <= tolerance, 1.0, 0.0), count)


def admitted(contacts: Sequence[range], x: Scalars, lowest: Scalars) -> list[Scalar]:
    """x with pushes raised to the least, and friction cut to what they allow."""
    found: list[Scalar] = []
    for rows, least in zip(contacts, lowest, strict=True):
        push = maximum(x[rows[0]], least)
        found += [push, *_into_disc([x[i] for i in rows[1:]], push)]
    return found


def _in_units(problem: Problem, least: Scalars) -> list[Scalar]:
    units = [problem.unit[rows[0]] for rows in problem.contacts]
    return [where(e > 0, x, 0.0) / where(e > 0, e, 1.0) for x, e in zip(least, units, strict=True)]


def _from_sweeps(problem: Problem, lowest: Scalars, sweeps: int, tolerance: float) -> tuple[list[Scalar], Scalar]:
    """The least pushes, and what sweeps find to be needed beside them."""
    there = [0.0] * len(problem.c)
    for rows, least in zip(problem.contacts, lowest, strict=True):
        there[rows[0]] = least
    beside = Problem(problem.A, problem.velocities(there), problem.contacts, problem.unit)
    x, count = swept(beside, [0.0] * len(there), sweeps, tolerance)
    return [a + b for a, b in zip(x, there, strict=True)], count


def _into_disc(x: Scalars, radius: Scalar) -> list[Scalar]:
    size = length(x)
    outside = size > radius
    share = where(outside, radius / where(outside, size, 1.0), 1.0)
    return [a * share for a in x]


def _function(contacts: Sequence[range], x: Scalars, y: Scalars, lowest: Scalars) -> list[Scalar]:
    """F, of x and y = A x + c."""
    F: list[Scalar] = []
    for rows, least in zip(contacts, lowest, strict=True):
        aims = [x[i] - y[i] for i in rows]
        push = maximum(aims[0], least)
        drawn = [push, *_into_disc(aims[1:], push)]
        F += [x[i] - a for i, a in zip(rows, drawn, strict=True)]
    return F


def _error(contacts: Sequence[range], x: Scalars, y: Scalars, lowest: Scalars) -> Scalar:
    """|F|. Not of x: impulses that grow without end would hide that there is no solution."""
    return largest(_function(contacts, x, y, lowest)) / maximum(1.0, largest(x) / LARGE)


@dataclass(frozen=True)
class _State:
    """Where Newton's method is on the easier problem of `rho` and `centre`, and the best of all that it met."""

    holds_scalars: ClassVar[bool] = True
    x: list[Scalar]
    centre: list[Scalar]
    rho: Scalar
    tried: Scalar
    """Steps on this problem so far."""
    failures: Scalar
    """Problems that were given up. Steps are cut until |F| falls where these are even, and taken in full where odd."""
    best: list[Scalar]
    error: Scalar
    count: Scalar


@dataclass(frozen=True)
class _Newton:
    problem: Problem
    lowest: list[Scalar]

    def solved(self, start: list[Scalar], steps: int, tolerance: float) -> tuple[list[Scalar], Scalar]:
        """x, and how many steps it took."""
        error = _error(self.problem.contacts, start, self.problem.velocities(start), self.lowest)
        state = _State(start, start, RHO, 0.0, 0.0, start, error, 0.0)

        def step(state: _State) -> tuple[Scalar, _State]:
            go_on = state.error > tolerance
            return go_on, where_needed(go_on, state, self.step, state)

        state = iterated(steps, state, step)
        return state.best, state.count

    def step(self, state: _State) -> _State:
        contacts, rho = self.problem.contacts, state.rho
        pull = [rho * (a - b) for a, b in zip(state.x, state.centre, strict=True)]
        y = [a + b for a, b in zip(self.problem.velocities(state.x), pull, strict=True)]
        F = _function(contacts, state.x, y, self.lowest)
        way = solved_by_contacts(contacts, self.slope(state.x, y, rho), [-f for f in F])
        change = [a + rho * d for a, d in zip(matvec(self.problem.A, way), way, strict=True)]

        def at(share: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
            x = [a + share * d for a, d in zip(state.x, way, strict=True)]
            speeds = [a + share * d for a, d in zip(y, change, strict=True)]
            return x, speeds, _function(contacts, x, speeds, self.lowest)

        share: Scalar = 0.125
        square = dot(F, F)
        for trial in (0.25, 0.5, 1.0):
            found = at(trial)[2]
            share = where(dot(found, found) <= (1 - 1e-4 * trial) * square, trial, share)
        odd = state.failures - 2 * floor(state.failures / 2)
        x, speeds, F = at(where(odd > 0, 1.0, share))
        moved = [a - b for a, b in zip(x, state.centre, strict=True)]
        left = largest(F)
        error = _error(contacts, x, [v - rho * m for v, m in zip(speeds, moved, strict=True)], self.lowest)
        sane = dot(x, x) < 1e30  # not where a matrix was singular; no number is less than any
        x = [where(sane, new, old) for new, old in zip(x, state.best, strict=True)]
        error = where(sane, error, state.error)
        better = error < state.error
        tried = state.tried + 1
        near = where(sane, left - maximum(or_rounding(1e-14, 32), NEAR * rho * largest(moved)), 1.0) <= 0
        tired = where(sane, tried - PATIENCE - 2 * state.failures, 0.0) >= 0
        gives_up = where(near, 0.0, where(tired, 1.0, 0.0))
        ended = where(near, 1.0, gives_up) > 0
        lower = maximum(rho * where(tried > 2, 0.5, 0.1), or_rounding(LEAST_RHO, 16))
        return _State(
            x,
            [where(ended, new, old) for new, old in zip(x, state.centre, strict=True)],
            where(near, lower, where(ended, minimum(4 * rho, MOST_RHO), rho)),
            where(ended, 0.0, tried),
            state.failures + gives_up,
            [where(better, new, old) for new, old in zip(x, state.best, strict=True)],
            minimum(error, state.error),
            state.count + 1,
        )

    def slope(self, x: Scalars, y: Scalars, rho: Scalar) -> Matrix:
        """∂F/∂x, of one of the pieces that meet at a kink."""
        A, size = self.problem.A, len(x)
        rows_of_A = [[a + rho if i == j else a for j, a in enumerate(row)] for i, row in enumerate(A)]
        slope: Matrix = []
        for rows, least in zip(self.problem.contacts, self.lowest, strict=True):
            n = rows[0]
            aims = [x[i] - y[i] for i in rows]
            pushes = aims[0] > least
            radius = maximum(aims[0], least)
            far = length(aims[1:])
            slides = far > radius
            # F_n is y_n, or x_n less a constant.
            slope.append([where(pushes, a, 1.0 if j == n else 0.0) for j, a in enumerate(rows_of_A[n])])
            # F_t is y_t, or x_t - r h, h = aim / |aim|, of which dh = (1 - h hᵀ) d(aim) / |aim|.
            inverse = 1 / where(slides, far, 1.0)
            h = [a * inverse for a in aims[1:]]
            turn = radius * inverse
            of_radius = [where(pushes, (1.0 if j == n else 0.0) - a, 0.0) for j, a in enumerate(rows_of_A[n])]
            of_aims = [[(1.0 if i == j else 0.0) - a for j, a in enumerate(rows_of_A[i])] for i in rows[1:]]
            along = [dot(h, column) for column in zip(*of_aims, strict=True)] if h else [0.0] * size
            for i, own, aim in zip(rows[1:], h, of_aims, strict=True):
                sliding = [
                    (1.0 if i == j else 0.0) - own * of_radius[j] - turn * (aim[j] - own * along[j])
                    for j in range(size)
                ]
                slope.append([where(slides, a, b) for a, b in zip(sliding, rows_of_A[i], strict=True)])
        return slope


def solved_by_contacts(contacts: Sequence[range], A: Matrix, b: Scalars) -> list[Scalar]:
    """x with A x = b by Gauss' elimination; pivots are chosen within the rows of each contact.

    Contacts come in their order: what is left of A when others are eliminated is that of the others solved for, and
    a contact among them has a solution of its own.
    """
    rows = [[*row, side] for row, side in zip(A, b, strict=True)]
    for own in contacts:
        for k in own:
            for i in range(k + 1, own.stop):  # the largest rises to the top
                swap = absolute(rows[i][k]) > absolute(rows[k][k])
                pairs = list(zip(rows[k], rows[i], strict=True))
                rows[k] = [where(swap, y, x) for x, y in pairs]
                rows[i] = [where(swap, x, y) for x, y in pairs]
            pivot = rows[k][k]
            usable = absolute(pivot) > 0
            inverse = where(usable, 1.0, 0.0) / where(usable, pivot, 1.0)
            rows[k] = [x * inverse for x in rows[k]]
            for i in range(k + 1, len(rows)):
                factor = rows[i][k]
                rows[i] = [
                    x if j <= k else x - factor * y for j, (x, y) in enumerate(zip(rows[i], rows[k], strict=True))
                ]
    x: list[Scalar] = [0.0] * len(rows)
    for k in reversed(range(len(rows))):
        x[k] = rows[k][-1] - dot(rows[k][k + 1 : -1], x[k + 1 :])
    return x
