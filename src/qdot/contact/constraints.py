"""Soft constraints at one state: what each asks of an acceleration, and what it does to whatever accelerates.

y = J a - a_ref is how far an acceleration is beyond the one that a constraint asks for. A contact between a body and
what stands still, `Ground`, knows its J by the body's motion; others, `Rowed`, by rows over the freedoms.

Of many contacts that are possible few are there at a time. Those that differ in numbers alone, `Alike`, are gone
through in one loop, which stops at none that does not act, and is left out where none does: so code is short, and most
of the time is spent on what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, TypeAlias, TypeVar

from qdot.algebra import Mat3, Scalar, Scalars, Vec3, is_number, map_scalars, scalars_in, scanned, where_needed
from qdot.algebra.linalg import Matrix
from qdot.algebra.sparse import Row
from qdot.algebra.vec import Sym3
from qdot.algorithms.constraints.rows import times, times_each, transposed_times
from qdot.contact.soft_laws import Law
from qdot.spatial import ArticulatedInertia, Force, Motion, Transform

Rates: TypeAlias = list[list[Scalar]]
"""A number for each row of each constraint."""


class _Acting:
    """What all have: an acceleration that they ask for, row by row, a law, and where contacts are concerned a number
    by which a step knows them from the one before."""

    wanted: list[Scalar]
    law: Law
    number: Scalar

    @property
    def acts(self) -> Scalar:
        return self.law.D > 0

    @property
    def nothing(self) -> list[Scalar]:
        """A zero for each row."""
        return [0.0] * len(self.wanted)


@dataclass(frozen=True)
class Ground(_Acting):
    """A contact between a body and what stands still: at the pose X, whose axes are the normal and two tangents. Where
    the normal is known beforehand, `level` are such axes in numbers: those of X, or what X `turns` about it."""

    body: int
    X: Transform
    wanted: list[Scalar]
    law: Law
    level: Mat3 | None = None
    turns: bool = True
    number: Scalar = 0.0

    def motion(self, u: Motion) -> list[Scalar]:
        """How the body, which moves like this, does so there, along the rows."""
        return six(self.X.inv() @ u)[: len(self.wanted)]

    def beyond(self, u: Motion) -> list[Scalar]:
        """y where the body moves like this."""
        return [x - w for x, w in zip(self.motion(u), self.wanted, strict=True)]

    def line(self, u: Motion, p: Motion) -> list[Scalar]:
        """What its law keeps of the line from there along p."""
        return self.law.line(self.beyond(u), self.motion(p))

    def pushed(self, force: Sequence[Scalar], F: Force) -> Force:
        """With a force along the rows added to one on the body."""
        full = [*force, *[0] * (6 - len(force))]
        return F + self.X @ Force(Vec3(*full[3:]), Vec3(*full[:3]))

    def stiffened(self, y: Sequence[Scalar], K: ArticulatedInertia) -> ArticulatedInertia:
        """With what opposes motion of the body added, by the law at y: K = X C Xᵀ."""
        return K + self.X @ _opposing(self.law.curvature(y))

    # -- as a row of numbers -------------------------------------------------------------------------------------------

    @property
    def row(self) -> list[Scalar]:
        return [self.law.D, *self.wanted, self.number, *self.X.position, *self._attitude()]

    def _attitude(self) -> list[Scalar]:
        """What of the axes of X is not known beforehand: all, or how far they are turned."""
        if self.level is None:
            return [x for line in self.X.rotation.entries() for x in line]
        if not self.turns:
            return []
        across = (self.level.T @ self.X.rotation).entries()
        return [across[1][1], across[2][1]]

    def of_row(self, row: Sequence[Scalar]) -> Ground:
        n, R = 2 + len(self.wanted), self.level
        if R is None:
            R = Mat3.of([row[n + k : n + k + 3] for k in (3, 6, 9)])
        elif self.turns:
            c, s = row[n + 3 :]
            R = R @ Mat3.of([[1, 0, 0], [0, c, -s], [0, s, c]])
        X, law = Transform(R, Vec3(*row[n : n + 3])), replace(self.law, D=row[0])
        return Ground(self.body, X, list(row[1 : n - 1]), law, self.level, self.turns, row[n - 1])

    @property
    def likeness(self) -> tuple[object, ...]:
        level = self.level and tuple(map(tuple, self.level.entries()))
        return self.body, len(self.wanted), replace(self.law, D=1.0), level, self.turns


@dataclass(frozen=True)
class Rowed(_Acting):
    """A constraint by its rows over the freedoms; `across` is 0 where all freedoms that a row is about, those with
    entries other than zero, lie on one way to the root of the tree."""

    J: list[Row]
    wanted: list[Scalar]
    law: Law
    number: Scalar = 0.0
    across: Scalar = 1.0
    limbs: Sequence[Scalar] = ()
    """Of each limb (`limbs_of`) more than 0 where a row is about one of its freedoms, else 0; none where that is not
    told."""

    def motion(self, a: Scalars) -> list[Scalar]:
        """J a."""
        return times(self.J, a)

    def beyond(self, a: Scalars) -> list[Scalar]:
        """y."""
        return [x - w for x, w in zip(self.motion(a), self.wanted, strict=True)]

    def line(self, a: Scalars, p: Scalars) -> list[Scalar]:
        """What its law keeps of the line from a along p."""
        there, z = times_each(self.J, (a, p))
        return self.law.line([x - w for x, w in zip(there, self.wanted, strict=True)], z)

    def pushed(self, force: Sequence[Scalar], total: Sequence[Scalar]) -> list[Scalar]:
        """With forces along the rows added, seen from the joints."""
        return plus(total, transposed_times(self.J, force, len(total)))

    # -- as a row of numbers -------------------------------------------------------------------------------------------

    @property
    def row(self) -> list[Scalar]:
        entries = (x for line in self.J for x in line.values())
        return [self.law.D, *self._told, *self.wanted, self.number, *self.limbs, *entries]

    @property
    def _told(self) -> list[Scalar]:
        """What of the law beside D is not known beforehand: the friction of contacts that have their own."""
        return [x for x in scalars_in(replace(self.law, D=0.0)) if not is_number(x)]

    def of_row(self, row: Sequence[Scalar]) -> Rowed:
        left = iter(row)
        D = next(left)
        law = replace(map_scalars(lambda x: x if is_number(x) else next(left), replace(self.law, D=0.0)), D=D)
        wanted, number = [next(left) for _ in self.wanted], next(left)
        limbs = [next(left) for _ in self.limbs]
        J = [{k: next(left) for k in line} for line in self.J]
        return Rowed(J, wanted, law, number, self.across, limbs)

    @property
    def likeness(self) -> tuple[object, ...]:
        law = map_scalars(lambda x: x if is_number(x) else None, replace(self.law, D=0.0))
        return tuple(map(tuple, self.J)), type(law), tuple(scalars_in(law))


FEW = 2
"""Constraints that have code of their own, for which a loop is not worth it."""

C = TypeVar("C", Ground, Rowed)
S = TypeVar("S")


@dataclass(frozen=True)
class Alike(Generic[C]):
    """Constraints that differ in numbers alone."""

    all: list[C]

    @staticmethod
    def among(constraints: Sequence[C]) -> list[Alike[C]]:
        groups: dict[tuple[object, ...], list[C]] = {}
        for constraint in constraints:
            groups.setdefault(constraint.likeness, []).append(constraint)
        return [Alike(group) for group in groups.values()]

    def over(self, state: S, step: Callable[[C, S], S]) -> S:
        """state = step(constraint, state) for each that acts."""
        first = self.all[0]

        def acting(given: tuple[S, list[Scalar]]) -> S:
            state, row = given
            return step(first.of_row(row), state)

        def turn(state: S, row: list[Scalar]) -> S:
            return where_needed(row[0] > 0, (state, row), acting, state)

        rows = [constraint.row for constraint in self.all]
        acts = sum((row[0] for row in rows), start=0) > 0

        def each(state: S) -> S:
            return scanned(rows, state, turn) if len(rows) > FEW else reduce(turn, rows, state)

        return each(state) if len(rows) == 1 else where_needed(acts, state, each, state)


def six(motion: Motion) -> list[Scalar]:
    """Along, then about the axes: the order of a contact's rows."""
    return [*motion.lin, *motion.ang]


def plus(xs: Sequence[Scalar], ys: Sequence[Scalar]) -> list[Scalar]:
    """x + y, as many as there are of x."""
    return [x + y for x, y in zip(xs, ys, strict=False)]


def _opposing(C: Matrix) -> ArticulatedInertia:
    """The curvature of a contact as what opposes motion of its frame."""
    n = len(C)
    full = [[C[i][j] if i < n and j < n else 0 for j in range(6)] for i in range(6)]

    def block(i: int, j: int) -> Mat3:
        return Mat3(*(Vec3(*full[i + k][j : j + 3]) for k in range(3)))

    return ArticulatedInertia(Sym3.upper(block(3, 3)), block(3, 0), Sym3.upper(block(0, 0)))
