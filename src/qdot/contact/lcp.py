"""The linear complementarity problem: w = A z + q with w ≥ 0, z ≥ 0 and w·z = 0.

Lemke's method (Management Science 11, 1965; Cottle, Pang, Stone, The Linear Complementarity Problem, 4.4) adds z₀ so
large that w = A z + q + z₀ 1 is allowed, and walks along edges on which each pair (w_i, z_i) has one of its two at
zero, until z₀ is zero too. What enters is the partner of what has left; what leaves is the first to reach zero. Ties
are broken as if q were increased by (ε, ε², …), so no edge is walked twice, and the walk ends: in a solution, or on a
ray that leads to infinity. For matrices that are copositive plus, as those of contact are, a ray means that there is no
solution; else it only means that this walk found none. It may take 2ⁿ edges (Murty, 1978), so they are bounded.

Gauss–Seidel sweeps, row after row, are cheap and coarse; they need A_ii > 0. Where rows share a bound,

    0 ≤ z_j ⊥ w_j + λ ≥ 0,    0 ≤ λ ⊥ b - Σ z_j ≥ 0,

the row of λ has A_ii = 0. Its rows then go against w together, y = z - r w with r = 1 / Σ A_jj, and are drawn back to
where the bound is kept, z = max(0, y - r λ), by the largest λ that any of the largest y ask for (Held, Wolfe, Crowder,
Mathematical Programming 6, 1974): r λ = max(0, (Σ y - b) / number of them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, absolute, iterated, maximum, minimum, where, where_needed
from qdot.algebra.linalg import Matrix, dot, matvec
from qdot.algebra.rounding import or_rounding
from qdot.contact.problem import first_of, largest

TIE = 1e-9
"""Ratios that differ by less, of what they are made of, are equal."""

SMALL = 1e-6
"""Entries of a column below this, of its largest, are zero: nothing leaves for them. Of four points on a face, which
share their load in many ways, exchanges leave entries of rounding, and a pivot among these would be the end of it: with
1e-11, and 1e-12 for ties, one walk in 700 of those of a tumbling box went astray."""

REFINEMENTS = 2

SWEEPS = 100
TOLERANCE = 1e-10
"""At most so many; ended where none changes a w by more than this, of the largest q."""


@dataclass(frozen=True)
class Complementary:
    """z and w = A z + q.

    `error` is max |min(z, w)| over all pairs; `ray` is 1 where Lemke's walk ended on a ray, `converged` 1 where it
    ended in a solution, and neither where its edges were used up; `iterations` counts edges, or sweeps.
    """

    holds_scalars: ClassVar[bool] = True
    z: list[Scalar]
    w: list[Scalar]
    error: Scalar
    ray: Scalar
    converged: Scalar
    iterations: Scalar


def lemke(A: Sequence[Scalars], q: Scalars, limit: int | None = None) -> Complementary:
    """By Lemke's method with the covering vector (1, …, 1); at most `limit` edges, 10 n + 50 unless given."""
    n = len(q)
    walk = _Walk.at_start(A, q)
    limit = 10 * n + 50 if limit is None else limit

    def step(walk: _Walk) -> tuple[Scalar, _Walk]:
        go_on = walk.unfinished > 0
        return go_on, where_needed(go_on, walk, _Walk.along_edge, walk)

    walk = iterated(limit, walk, step)
    z = [maximum(x, 0.0) for x in walk.refined(A, q)[n : 2 * n]]
    solved = where(walk.ray > 0, 1.0, walk.unfinished) <= 0
    return _answer(A, q, z, walk.ray, where(solved, 1.0, 0.0), walk.edges)


def gauss_seidel(
    A: Sequence[Scalars],
    q: Scalars,
    sweeps: int = SWEEPS,
    tolerance: float = TOLERANCE,
    shared: Sequence[range] = (),
    start: Scalars | None = None,
) -> Complementary:
    """By z_i = max(0, z_i - w_i / A_ii) in turn, until no row moves w by more than the tolerance, of the largest q.

    `shared` are rows with a bound in common, of which the last is that of λ. It begins with z = `start`, or with none.
    """
    small = or_rounding(tolerance, 32) * largest(q)
    alone = set(range(len(q))).difference(*shared)
    blocks = sorted([*shared, *(range(i, i + 1) for i in alone)], key=lambda rows: rows.start)

    def sweep(state: tuple[list[Scalar], Scalar, Scalar]) -> tuple[list[Scalar], Scalar, Scalar]:
        z, _, count = list(state[0]), state[1], state[2]
        moved: Scalar = 0.0
        for rows in blocks:
            bound = rows[-1] if len(rows) > 1 else None
            own = rows if bound is None else rows[:-1]
            size = sum((A[i][i] for i in own), start=0)
            inverse = where(size > 0, 1.0, 0.0) / where(size > 0, size, 1.0)
            before = [z[i] for i in own]
            if bound is not None:
                z[bound] = 0.0
            aimed = [z[i] - (dot(A[i], z) + q[i]) * inverse for i in own]
            excess: Scalar = 0.0
            if bound is not None:
                others = [0.0 if i in own else x for i, x in enumerate(z)]
                excess = _excess(aimed, dot(A[bound], others) + q[bound])
                z[bound] = excess * size
            for i, x, old in zip(own, aimed, before, strict=True):
                z[i] = maximum(x - excess, 0.0)
                moved = maximum(moved, absolute(z[i] - old) * size)
        return z, moved, count + 1

    def step(state: tuple[list[Scalar], Scalar, Scalar]) -> tuple[Scalar, tuple[list[Scalar], Scalar, Scalar]]:
        go_on = state[1] > small
        return go_on, where_needed(go_on, state, sweep, state)

    begun: list[Scalar] = [0.0] * len(q) if start is None else list(start)
    z, moved, count = iterated(sweeps, (begun, small + 1.0, 0.0), step)
    return _answer(A, q, z, 0.0, where(moved <= small, 1.0, 0.0), count)


def _excess(y: Scalars, bound: Scalar) -> Scalar:
    """The least x ≥ 0 with Σ max(0, y - x) ≤ bound."""
    found: Scalar = 0.0
    for least in y:
        chosen = [where(x >= least, 1.0, 0.0) for x in y]
        found = maximum(found, (dot(chosen, y) - bound) / sum(chosen, start=0))
    return found


def _answer(
    A: Sequence[Scalars], q: Scalars, z: list[Scalar], ray: Scalar, converged: Scalar, count: Scalar
) -> Complementary:
    w = [x + b for x, b in zip(matvec(A, z), q, strict=True)]
    error = largest([minimum(a, b) for a, b in zip(z, w, strict=True)])
    return Complementary(z, w, error, ray, converged, count)


@dataclass(frozen=True)
class _Walk:
    """The table w - A z - 1 z₀ = q, solved for the variables of `basis`.

    Columns are w (variables 0 … n-1), z (n … 2n-1), z₀ (2n) and q. Those of w hold the inverse of the basis.
    """

    holds_scalars: ClassVar[bool] = True
    table: Matrix
    basis: list[Scalar]
    """The variable of each row, as a number."""
    entering: Scalar
    unfinished: Scalar
    ray: Scalar
    edges: Scalar

    @staticmethod
    def at_start(A: Sequence[Scalars], q: Scalars) -> _Walk:
        """With z₀ in the place of the lowest q; finished where none is below zero, and then z is zero."""
        n = len(q)
        unit = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
        table = [[*one, *(-x for x in row), -1.0, side] for one, row, side in zip(unit, A, q, strict=True)]
        lowest: Scalar = 0.0
        for side in q:
            lowest = minimum(lowest, side)
        lowest_rows = [where(side <= lowest, 1.0, 0.0) for side in q]
        leaving = first_of(lowest_rows[::-1])[::-1]  # the last: to it the least is added
        walk = _Walk(table, [float(i) for i in range(n)], 2.0 * n, where(lowest < 0, 1.0, 0.0), 0.0, -1.0)
        return walk.exchanged(leaving)

    def refined(self, A: Sequence[Scalars], q: Scalars) -> list[Scalar]:
        """The values of all variables, with what all exchanges together have rounded off taken out again."""
        n = len(q)
        basic = [row[-1] for row in self.table]
        for _ in range(REFINEMENTS):
            values = self._values(basic)
            w, z, z0 = values[:n], values[n : 2 * n], values[2 * n]
            left = [b + y + z0 - x for b, y, x in zip(q, matvec(A, z), w, strict=True)]
            basic = [x + dot(row[:n], left) for x, row in zip(basic, self.table, strict=True)]
        return self._values(basic)

    def _values(self, basic: Scalars) -> list[Scalar]:
        variables = range(len(self.table[0]) - 1 if self.table else 1)
        return [sum(where(here == k, x, 0.0) for here, x in zip(self.basis, basic, strict=True)) for k in variables]

    def column(self) -> list[Scalar]:
        """That of the variable that enters."""
        chosen = [where(self.entering == k, 1.0, 0.0) for k in range(len(self.table[0]) - 1)]
        return [dot(chosen, row[:-1]) for row in self.table]

    def along_edge(self) -> _Walk:
        n = len(self.basis)
        column = self.column()
        small = or_rounding(SMALL, 4096) * largest(column)
        falling = [where(x > small, 1.0, 0.0) for x in column]
        # Of those that reach zero first z₀ leaves, if it is among them; else ties are broken.
        first = _lowest(falling, column, [row[-1] for row in self.table])
        over = [where(self.basis[i] == 2.0 * n, x, 0.0) for i, x in enumerate(first)]
        first = [where(sum(over) > 0, x, y) for x, y in zip(over, first, strict=True)]

        def untied(rows: list[Scalar]) -> list[Scalar]:
            for k in range(n):
                rows = _lowest(rows, column, [row[k] for row in self.table])
            return rows

        leaving = first_of(where_needed(sum(first) > 1, first, untied, first))
        stuck = sum(falling) <= 0
        ended = _Walk(self.table, self.basis, self.entering, 0.0, 1.0, self.edges)
        return where_needed(stuck, ended, lambda walk: walk, self.exchanged(leaving))

    def exchanged(self, leaving: list[Scalar]) -> _Walk:
        """With the entering variable in the row that is marked by 1, all others being 0."""
        n = len(self.basis)
        column = self.column()
        pivot = dot(leaving, column)
        left = dot(leaving, self.basis)
        inverse = 1 / where(absolute(pivot) > 0, pivot, 1.0)
        own = [dot(leaving, entries) * inverse for entries in zip(*self.table, strict=True)]
        rows = zip(self.table, column, leaving, strict=True)
        table = [[where(here > 0, y, x - c * y) for x, y in zip(row, own, strict=True)] for row, c, here in rows]
        return _Walk(
            table,
            [where(here > 0, self.entering, k) for here, k in zip(leaving, self.basis, strict=True)],
            where(left < n, left + n, left - n),  # its partner
            where(left == 2.0 * n, 0.0, self.unfinished),
            self.ray,
            self.edges + 1,
        )


def _lowest(rows: list[Scalar], column: list[Scalar], entries: Scalars) -> list[Scalar]:
    """Of the marked rows, all with column > 0, those in which entry / column is lowest."""
    lowest: Scalar = float("inf")
    for row, c, x in zip(rows, column, entries, strict=True):
        lowest = minimum(lowest, where(row > 0, x / where(row > 0, c, 1.0), float("inf")))
    lowest = where(sum(rows) > 0, lowest, 0.0)
    tie = or_rounding(TIE, 16)
    size = tie * largest(entries)
    return [
        where(row > 0, where(x - lowest * c <= size + tie * absolute(lowest) * c, 1.0, 0.0), 0.0)
        for row, c, x in zip(rows, column, entries, strict=True)
    ]
