"""The textbook's contact: a pyramid in the place of the cone, and a linear complementarity problem, solved by Lemke's
method or by sweeps.

Friction is pushes β_j ≥ 0 along some directions d_j of the tangential plane, Σ β_j ≤ μ z_n, against a slip λ that they
have in common (Stewart, Trinkle, Int. J. Numer. Methods Eng. 39, 1996; Anitescu, Potra, Nonlinear Dynamics 14, 1997):

    0 ≤ z_n ⊥ u_n ≥ 0,    0 ≤ β_j ⊥ d_j·u_t + λ ≥ 0,    0 ≤ λ ⊥ μ z_n - Σ β_j ≥ 0.

For velocities it always has a solution, where b = J v. Sweeps come near it: pushes along directions share the bound of
friction, and λ is what draws them back to it. Between its directions the pyramid is too weak by up to
1 - cos(π / directions), and what slides is drawn towards an edge; the residuals, which are those of the cone, tell how
much.

For accelerations (Baraff, Algorithmica 10, 1993) what slides has its friction against the slip that it has already,
so that matrix is no longer symmetric, and for large μ it may have no solution or several (Painlevé, 1895): a push then
makes the contact approach. That is told, by `paradox`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin, tan
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, absolute, maximum, minimum, where, where_needed
from qdot.algebra.linalg import Matrix, dot, matvec
from qdot.algebra.rounding import or_rounding
from qdot.contact.coulomb import Impulses, admitted
from qdot.contact.lcp import Complementary, gauss_seidel, lemke
from qdot.contact.problem import Problem, largest, length
from qdot.contact.residuals import residuals

RELIABLE = 1e-8
"""The error, of the largest impulse in the units of each contact, up to which a solution counts as one."""


@dataclass(frozen=True)
class Forces:
    """Forces f [N] and the accelerations a [m/s²] with them.

    `paradox` is 1 where a push along a sliding contact makes it approach, so that solutions may be none or many;
    `ray` is 1 where Lemke's walk ended on a ray: it found none, and the forces mean nothing.
    """

    holds_scalars: ClassVar[bool] = True
    f: list[Scalar]
    a: list[Scalar]
    error: Scalar
    paradox: Scalar
    ray: Scalar
    converged: Scalar
    iterations: Scalar


def polyhedral(
    W: Sequence[Scalars],
    b: Scalars,
    mu: Sequence[Scalar | Scalars],
    present: Scalars,
    directions: int = 4,
    limit: int | None = None,
    sweeps: int | None = None,
    start: Scalars | None = None,
) -> Impulses:
    """Impulses by the velocities after them, u = W z + b; arguments as those of `coulomb`, edges as those of `lemke`.

    Contacts with two tangents have so many directions, an even number; others two for each tangential row. Given
    `sweeps`, at most so many are made in the place of Lemke's walk, from the impulses `start`.
    """
    pyramids = _Pyramids.of(Problem.of(W, b, mu, present), None, directions)
    z, answer, error, converged = pyramids.solved(limit, sweeps, start, swept=True)
    u = [x + y for x, y in zip(matvec(W, z), b, strict=True)]
    return Impulses(z, u, residuals(z, u, mu, present), error, converged, answer.iterations)


def polyhedral_forces(
    W: Sequence[Scalars],
    b: Scalars,
    mu: Sequence[Scalar | Scalars],
    present: Scalars,
    velocities: Scalars,
    directions: int = 4,
    limit: int | None = None,
    slipping: float = 1e-6,
    sweeps: int | None = None,
    start: Scalars | None = None,
) -> Forces:
    """Forces by the accelerations with them, a = W f + b, of contacts that touch and do not approach.

    `velocities` are those of all rows now; a contact slides where its tangential ones, with its coefficients as
    weights, are above `slipping` [m/s]. b contains what the rows' own change does to their velocities, J̇ v. Sweeps are
    those of `polyhedral`; where there are no forces they do not end on a ray, but are used up.
    """
    problem = Problem.of(W, b, mu, present)
    slips: list[list[Scalar]] = []
    for rows in problem.contacts:
        unit = problem.unit[rows[0]]
        share = 1 / where(unit > 0, unit, 1.0)
        slip = [problem.unit[i] * share * velocities[i] for i in rows[1:]]
        size = length(slip)
        slides = size > slipping
        slips.append([where(slides, x, 0.0) / where(slides, size, 1.0) for x in slip])
    pyramids = _Pyramids.of(problem, slips, directions)
    f, answer, error, converged = pyramids.solved(limit, sweeps, start)
    a = [x + y for x, y in zip(matvec(W, f), b, strict=True)]
    return Forces(f, a, error, pyramids.paradox(), answer.ray, converged, answer.iterations)


@dataclass(frozen=True)
class _Pyramids:
    """The pyramids of a problem: x = sum of columns times pushes, one for the normal and one for each direction.

    A contact that slides has one column only, the normal with its friction, and the pushes of its directions are held
    at zero, by rows of the unit matrix.
    """

    problem: Problem
    columns: list[list[list[Scalar]]]
    """Of each contact, in its own rows: the normal's first."""
    held: list[Scalar]
    """1 where the contact slides."""

    @staticmethod
    def of(problem: Problem, slips: list[list[Scalar]] | None, directions: int) -> _Pyramids:
        columns: list[list[list[Scalar]]] = []
        held: list[Scalar] = []
        for k, rows in enumerate(problem.contacts):
            slip: list[Scalar] = [0.0] * (len(rows) - 1) if slips is None else slips[k]
            fan = [[0.0, *d] for d in _directions(len(rows) - 1, directions)]
            columns.append([[1.0, *(-x for x in slip)], *fan])
            held.append(where(dot(slip, slip) > 0, 1.0, 0.0))
        return _Pyramids(problem, columns, held)

    def paradox(self) -> Scalar:
        lowest: Scalar = 0.0
        for rows, columns in zip(self.problem.contacts, self.columns, strict=True):
            lowest = minimum(lowest, dot([self.problem.A[rows[0]][j] for j in rows], columns[0]))
        return where(lowest < 0, 1.0, 0.0)

    def solved(
        self, limit: int | None, sweeps: int | None, start: Scalars | None, *, swept: bool = False
    ) -> tuple[list[Scalar], Complementary, Scalar, Scalar]:
        """Impulses, what was found, its error in the units of the problem, and whether it is a solution. Where there is
        one for certain, what Lemke's walk does not find is `swept` for."""
        matrix, side = self.complementarity()
        if sweeps is not None:
            begun = None if start is None else self.pushes(start)
            answer = gauss_seidel(matrix, side, sweeps, shared=self.shared(), start=begun)
        else:
            answer = lemke(matrix, side, limit)
            if swept:  # where rounding has led the walk astray
                lost = where(_relative(answer) > or_rounding(RELIABLE, 64), 1.0, 1 - answer.converged)
                answer = where_needed(
                    lost > 0,
                    (matrix, side),
                    lambda given: gauss_seidel(*given, shared=self.shared()),
                    answer,
                )
        x: list[Scalar] = []
        first = 0
        for columns in self.columns:
            pushes = answer.z[first : first + len(columns)]
            x += [dot(pushes, entries) for entries in zip(*columns, strict=True)]
            first += len(columns) + (len(columns) > 1)
        error = _relative(answer)
        converged = where(error <= or_rounding(RELIABLE, 64), answer.converged, 0.0)
        x = admitted(self.problem.contacts, x, [0.0] * len(self.columns))  # rounding alone leaves the cone
        return self.problem.impulses(x), answer, error, converged

    def shared(self) -> list[range]:
        """The rows of each contact's directions, with that of their λ."""
        found: list[range] = []
        first = 0
        for columns in self.columns:
            last = first + len(columns) - (len(columns) == 1)
            if len(columns) > 1:
                found.append(range(first + 1, last + 1))
            first = last + 1
        return found

    def pushes(self, z: Scalars) -> list[Scalar]:
        """Of impulses: friction as a sum along the two directions next to it. With an angle δ from one direction to the
        next, that along d is x·d - cot δ |x × d|, and those where this is negative have none."""
        found: list[Scalar] = []
        for rows, columns, held in zip(self.problem.contacts, self.columns, self.held, strict=True):
            units = [self.problem.unit[i] for i in rows]
            x = [where(e > 0, z[i], 0.0) / where(e > 0, e, 1.0) for i, e in zip(rows, units, strict=True)]
            found.append(x[0])
            cot = 1 / tan(2 * pi / (len(columns) - 1)) if len(rows) == 3 else 0.0
            for _, *d in columns[1:]:
                across = absolute(d[0] * x[2] - d[1] * x[1]) if len(rows) == 3 else 0.0
                found.append((1 - held) * maximum(dot(d, x[1:]) - cot * across, 0.0))
            if len(columns) > 1:
                found.append(0.0)
        return found

    def complementarity(self) -> tuple[Matrix, list[Scalar]]:
        """M and q: of each contact its pushes, and where it has friction the slip λ that they have in common."""
        problem = self.problem
        matrix: Matrix = []
        side: list[Scalar] = []
        for k, (rows, columns) in enumerate(zip(problem.contacts, self.columns, strict=True)):
            free = 1 - self.held[k]
            for j, column in enumerate(columns):
                # A push answers to the velocity along it; the normal's alone, whatever friction comes along with it.
                along = [1.0] + [0.0] * (len(rows) - 1) if j == 0 else [free * x for x in column]
                answers = [dot(along, [problem.A[i][m] for i in rows]) for m in range(len(problem.c))]
                row: list[Scalar] = []
                for m, (others, theirs) in enumerate(zip(problem.contacts, self.columns, strict=True)):
                    given = [dot([answers[i] for i in others], one) for one in theirs]
                    open_to = 1 - self.held[m]
                    pushes = [given[0], *(open_to * x for x in given[1:])]
                    if m == k and j > 0:
                        pushes[j] = pushes[j] + self.held[k]
                    row += pushes
                    if len(theirs) > 1:
                        row.append(free if m == k and j > 0 else 0.0)
                matrix.append(row)
                side.append(dot(along, [problem.c[i] for i in rows]))
            if len(columns) > 1:
                matrix.append(self._bound(k))
                side.append(0.0)
        return matrix, side

    def _bound(self, k: int) -> list[Scalar]:
        """The row of λ: the push of the normal less those of the directions."""
        row: list[Scalar] = []
        for m, columns in enumerate(self.columns):
            free = 1 - self.held[k]
            row += [free, *([-free] * (len(columns) - 1))] if m == k else [0.0] * len(columns)
            if len(columns) > 1:
                row.append(self.held[k] if m == k else 0.0)
        return row


def _relative(answer: Complementary) -> Scalar:
    """The error, of the largest push, or of one where all are smaller."""
    return answer.error / maximum(largest(answer.z), 1.0)


def _directions(tangents: int, count: int) -> list[list[Scalar]]:
    if tangents != 2:
        return [[s if i == k else 0.0 for i in range(tangents)] for k in range(tangents) for s in (1.0, -1.0)]
    return [[cos(2 * pi * k / count), sin(2 * pi * k / count)] for k in range(count)]
