"""Forces within bounds: joint limits, dry friction that holds as far as it can, and rows that hold at any force.

Of a symmetric positive semidefinite A (how the rows answer to forces, J M⁻¹ Jᵀ) and b (how they move without) it finds
z with low ≤ z ≤ high such that w = A z + b is

    w_i = 0  where low < z_i < high,    w_i ≥ 0  at low,    w_i ≤ 0  at high:

the z that makes ½ zᵀ A z + bᵀ z least in the box. Which rows lie at a bound is guessed by where z - w/A_ii points to;
the others are solved for, and the guess is made anew until it stays: a primal–dual active set, which is Newton's method
for such kinks (Hintermüller, Ito, Kunisch, SIAM J. Optim. 13, 2002). That takes two or three turns, but may go round in
circles. Then steps follow that stay in the box and go downhill, from one bound to the next (Stark, Parker,
Computational Statistics 10, 1995). How near the result comes is part of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from qdot.algebra import Scalar, Scalars, absolute, iterated, maximum, minimum, sqrt, where, where_needed
from qdot.algebra.linalg import dot, matvec
from qdot.algebra.rounding import or_rounding

REDUNDANT = 1e-12
"""Of a row's A_ii: what is left of less, once other rows hold, is rounding, and the row repeats them."""

ROUNDING = 1e-14
"""Of the forces that meet in a row: an error of less makes no difference."""

GUESSES = 8
DESCENTS = 10
"""Turns at most: of guesses, and of steps for each row."""


@dataclass(frozen=True)
class Solution:
    """The forces z, and how far the worst of them is from where it belongs: |z - clip(z - w/A_ii)|, in its units."""

    holds_scalars: ClassVar[bool] = True
    z: list[Scalar]
    residual: Scalar


def bounded(A: Sequence[Scalars], b: Scalars, low: Scalars, high: Scalars) -> Solution:
    """z in the box [low, high] with A z + b complementary to it; bounds may be infinite, and low = high holds a row.

    Rows that repeat others may share their force in many ways: one that is found to repeat those before it takes the
    force nearest to zero, and so does one that no force moves (A_ii = 0). What cannot be solved shows in the residual.
    """
    start = [_clipped(0, lo, hi) for lo, hi in zip(low, high, strict=True)]
    offset = [x + y for x, y in zip(b, matvec(A, start), strict=True)]  # from there on, zero lies in the box
    box = _Box.of(A, offset, *([x - s for x, s in zip(bound, start, strict=True)] for bound in (low, high)))
    z, wrong = box.guessed()
    z = box.inside(where_needed(wrong > 0, z, box.descended, z))
    residual: Scalar = 0.0
    for error in box.errors(z, box.aims(z)):
        residual = maximum(residual, error)
    return Solution([x + s for x, s in zip(z, start, strict=True)], residual)


_Turn: TypeAlias = tuple[list[Scalar], list[Scalar], Scalar]
"""z, the sides of the rows for the next turn, and a number above zero where one is needed."""


@dataclass(frozen=True)
class _Box:
    """The problem, where zero lies in the box, with 1/A_ii and √A_ii (1 for rows that no force moves).

    The side of a row is -1 at its lower bound, 1 at its upper one, and 0 between.
    """

    A: Sequence[Scalars]
    b: list[Scalar]
    low: list[Scalar]
    high: list[Scalar]
    inverse: list[Scalar]
    root: list[Scalar]

    @staticmethod
    def of(A: Sequence[Scalars], b: list[Scalar], low: list[Scalar], high: list[Scalar]) -> _Box:
        diagonal = [where(row[i] > 0, row[i], 1.0) for i, row in enumerate(A)]
        return _Box(A, b, low, high, [1 / d for d in diagonal], [sqrt(d) for d in diagonal])

    def inside(self, z: Scalars) -> list[Scalar]:
        """The nearest point of the box."""
        return [_clipped(x, lo, hi) for x, lo, hi in zip(z, self.low, self.high, strict=True)]

    def sides(self, z: Scalars) -> list[Scalar]:
        """The sides of points at or beyond bounds."""
        rows = zip(z, self.low, self.high, strict=True)
        return [where(x <= lo, -1.0, where(x >= hi, 1.0, 0.0)) for x, lo, hi in rows]

    def aims(self, z: Scalars) -> list[Scalar]:
        """z - w/A_ii: where each row alone would go, were there no bounds."""
        rows = zip(z, matvec(self.A, z), self.b, self.inverse, strict=True)
        return [x - (y + b) * inverse for x, y, b, inverse in rows]

    def errors(self, z: Scalars, aims: Scalars) -> list[Scalar]:
        return [absolute(x - y) for x, y in zip(z, self.inside(aims), strict=True)]

    def beyond_rounding(self, z: Scalars, aims: Scalars) -> list[Scalar]:
        """Errors times √A_ii, less what rounding may make of the forces that meet in a row."""
        rows = zip(z, self.b, self.root, strict=True)
        rounding = or_rounding(ROUNDING, 32) * sum(absolute(x) * root + absolute(b) / root for x, b, root in rows)
        return [error * root - rounding for error, root in zip(self.errors(z, aims), self.root, strict=True)]

    def solved(self, sides: Scalars) -> list[Scalar]:
        """z with w = 0 in the rows between their bounds, the others being at them.

        By A = L D Lᵀ: a row at its bound, and one that repeats those before it, gets 1/D = 0 and so vanishes from all
        sums.
        """
        rows = range(len(self.b))
        held = [where(s < 0, lo, where(s > 0, hi, 0.0)) for s, lo, hi in zip(sides, self.low, self.high, strict=True)]
        side = [-(x + y) for x, y in zip(self.b, matvec(self.A, held), strict=True)]
        L: list[list[Scalar]] = [[] for _ in rows]  # times D, in rows that are not yet reached
        inverse: list[Scalar] = []
        for j in rows:
            scaled = L[j]
            L[j] = [x * d for x, d in zip(scaled, inverse, strict=True)]
            D = self.A[j][j] - dot(scaled, L[j])
            usable = where(sides[j] * sides[j] > 0, 0.0, D) > or_rounding(REDUNDANT, 32) * self.A[j][j]
            inverse.append(where(usable, 1.0, 0.0) / where(usable, D, 1.0))
            for i in rows[j + 1 :]:
                L[i].append(self.A[i][j] - dot(L[i], L[j]))
            side[j] = side[j] - dot(L[j], side[:j])
        z = [x * d for x, d in zip(side, inverse, strict=True)]
        for i in reversed(rows):
            for k in range(i):
                z[k] = z[k] - L[i][k] * z[i]
        return [x + y for x, y in zip(z, held, strict=True)]

    def guessed(self) -> tuple[list[Scalar], Scalar]:
        """z by guesses of the sides; a number above zero where they have not come to rest."""

        def guess(turn: _Turn) -> _Turn:
            _, sides, _ = turn
            z = self.solved(sides)
            aims = self.aims(z)
            rows = zip(sides, self.sides(aims), self.beyond_rounding(z, aims), strict=True)
            new = [where(error > 0, wanted, side) for side, wanted, error in rows]
            return z, new, sum(absolute(x - y) for x, y in zip(new, sides, strict=True))

        zero: list[Scalar] = [0.0] * len(self.b)
        z, _, wrong = _until_at_rest(GUESSES, (zero, self.sides(self.aims(zero)), 1.0), guess)
        return z, wrong

    def descended(self, start: list[Scalar]) -> list[Scalar]:
        """z by steps that stay in the box and never lead uphill.

        Each goes to the lowest point with the rows at bounds held there, or to the first bound on the way; where it
        arrives, the row that is pushed hardest away from its bound is let go.
        """

        def descend(turn: _Turn) -> _Turn:
            z, sides, _ = turn
            target = self.solved(sides)
            walls = self.inside(target)
            share: Scalar = 1.0  # of the way
            shares = [_share(*row) for row in zip(z, target, walls, strict=True)]
            for x in shares:
                share = minimum(share, x)
            hit = [where(x <= share, 1.0, 0.0) for x in shares]
            stopped = sum(hit) > 0
            on_the_way = self.inside([x + share * (to - x) for x, to in zip(z, target, strict=True)])
            z = [
                where(stopped, where(h > 0, wall, x), to)
                for h, x, wall, to in zip(hit, on_the_way, walls, target, strict=True)
            ]
            pushes = [side * side * x for side, x in zip(sides, self.beyond_rounding(z, self.aims(z)), strict=True)]
            hardest: Scalar = 0.0
            for x in pushes:
                hardest = maximum(hardest, x)
            freed = where(stopped, 0.0, hardest)
            rows = zip(sides, self.sides(z), hit, pushes, strict=True)
            new = [where(h > 0, at, where((freed > 0) & (push >= freed), 0.0, side)) for side, at, h, push in rows]
            return z, new, sum(hit) + freed

        z, _, _ = _until_at_rest(DESCENTS * len(start), (self.inside(start), self.sides(start), 1.0), descend)
        return z


def _share(x: Scalar, target: Scalar, wall: Scalar) -> Scalar:
    """How much of the way to a target lies before the wall; more than all where there is none between."""
    beyond = absolute(target - wall) > 0
    return where(beyond, (wall - x) / where(beyond, target - x, 1.0), 2.0)


def _until_at_rest(limit: int, first: _Turn, turn: Callable[[_Turn], _Turn]) -> _Turn:
    def step(state: _Turn) -> tuple[Scalar, _Turn]:
        go_on = state[2] > 0
        return go_on, where_needed(go_on, state, turn, state)  # the trial that ends the loop computes nothing

    return iterated(limit, first, step)


def _clipped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return minimum(maximum(x, low), high)
