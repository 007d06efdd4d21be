"""Soft constraints at one state: what each asks of an acceleration, and what it does to whatever accelerates.

y = J a - a_ref is how far an acceleration is beyond the one that a constraint asks for. A contact between a body and
what stands still, `Ground`, knows its J by the body's motion; others, `Rowed`, by rows over the freedoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qdot.algebra import Mat3, Scalar, Scalars, Vec3
from qdot.algebra.linalg import Matrix
from qdot.algebra.sparse import Row
from qdot.algebra.vec import Sym3
from qdot.algorithms.constraints.rows import times, transposed_times
from qdot.contact.soft_laws import Law
from qdot.spatial import ArticulatedInertia, Force, Motion, Transform

Rates: TypeAlias = list[list[Scalar]]
"""A number for each row of each constraint."""


class _Acting:
    """What all have: an acceleration that they ask for, row by row, and a law."""

    wanted: list[Scalar]
    law: Law

    @property
    def acts(self) -> Scalar:
        return self.law.D > 0

    @property
    def nothing(self) -> list[Scalar]:
        """A zero for each row."""
        return [0.0] * len(self.wanted)


@dataclass(frozen=True)
class Ground(_Acting):
    """A contact between a body and what stands still: at the pose X, whose axes are the normal and two tangents."""

    body: int
    X: Transform
    wanted: list[Scalar]
    law: Law

    def motion(self, u: Motion) -> list[Scalar]:
        """How the body, which moves like this, does so there, along the rows."""
        return six(self.X.inv() @ u)[: len(self.wanted)]

    def beyond(self, u: Motion) -> list[Scalar]:
        """y where the body moves like this."""
        return [x - w for x, w in zip(self.motion(u), self.wanted, strict=True)]

    def lessened(self, given: tuple[Motion, Force]) -> tuple[list[Scalar], Force]:
        """y where the body moves like this, and a force on it less what the contact does."""
        u, F = given
        y = self.beyond(u)
        return y, F - self._wrench(self.law.force(y))

    def pushed(self, given: tuple[list[Scalar], Force]) -> Force:
        """With a force along the rows added to one on the body."""
        force, F = given
        return F + self._wrench(force)

    def stiffened(self, given: tuple[list[Scalar], ArticulatedInertia]) -> ArticulatedInertia:
        """With what opposes motion of the body at y added: K = X C Xᵀ."""
        y, K = given
        return K + self.X @ _opposing(self.law.curvature(y))

    def line(self, given: tuple[list[Scalar], Motion]) -> list[Scalar]:
        """What the law keeps of a line from y along a motion of the body."""
        y, u = given
        return self.law.line(y, self.motion(u))

    def _wrench(self, force: Sequence[Scalar]) -> Force:
        """What a force along the rows does to the body."""
        full = [*force, *[0] * (6 - len(force))]
        return self.X @ Force(Vec3(*full[3:]), Vec3(*full[:3]))


@dataclass(frozen=True)
class Rowed(_Acting):
    """A constraint by its rows over the freedoms."""

    J: list[Row]
    wanted: list[Scalar]
    law: Law

    def beyond(self, a: Scalars) -> list[Scalar]:
        """y."""
        return [x - w for x, w in zip(times(self.J, a), self.wanted, strict=True)]

    def lessened(self, given: tuple[Scalars, Scalars]) -> tuple[list[Scalar], list[Scalar]]:
        """y at an acceleration, and a slope less what the constraint does."""
        a, g = given
        y = self.beyond(a)
        return y, [x - p for x, p in zip(g, transposed_times(self.J, self.law.force(y), len(g)), strict=True)]

    def pushed(self, given: tuple[list[Scalar], list[Scalar]]) -> list[Scalar]:
        """With forces along the rows added, seen from the joints."""
        force, total = given
        return plus(total, transposed_times(self.J, force, len(total)))

    def line(self, given: tuple[list[Scalar], list[Scalar]]) -> list[Scalar]:
        """What the law keeps of a line from y along p."""
        y, p = given
        return self.law.line(y, times(self.J, p))


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
