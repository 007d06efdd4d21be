"""Newton's step for soft constraints: p = -H⁻¹ g, H = M + Σ Jᵀ C J.

What pushes between a body and the ground opposes that body's motion, by K = X C Xᵀ, as its inertia does; what acts on
one freedom opposes that one, as the inertia of its drive does. So that part of H is the mass matrix of a mechanism with
other inertias, and the articulated-body algorithm solves with it. What joins two bodies or distant joints is added by
its rows, B Bᵀ = C: (H₀ + Jᵀ B Bᵀ J)⁻¹ = H₀⁻¹ - Y (1 + Bᵀ J Y)⁻¹ Yᵀ with Y = H₀⁻¹ Jᵀ B (Sherman, Morrison, Woodbury),
one row after the other only where it acts. Where such rows are many, as in a heap of loose bodies, H is made in full
instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qdot.algebra import Mat3, Scalar, Scalars, Vec3, scanned, sqrt, where, where_needed
from qdot.algebra.linalg import Matrix, TreeFactors, dot
from qdot.algebra.sparse import Row
from qdot.algebra.vec import Sym3
from qdot.algorithms.articulated import Articulated
from qdot.algorithms.constraints.rows import times
from qdot.algorithms.crba import joint_space
from qdot.algorithms.passive import armature
from qdot.spatial import ArticulatedInertia

if TYPE_CHECKING:
    from qdot.contact.gauss import Problem, Rowed

FEW = 0.5
"""Rows that are added one by one: no more than this share of the freedoms."""


def newton_step(problem: Problem, g: Scalars, curvatures: Sequence[Matrix]) -> list[Scalar]:
    """-H⁻¹ g, where each constraint has this curvature."""
    first, last = len(problem.ground), len(problem.ground) + len(problem.rowed)
    K = [ArticulatedInertia.of(I) for I in problem.inertias]
    for contact, C in zip(problem.ground, curvatures[:first], strict=True):
        K[contact.body] = K[contact.body] + contact.X @ _opposing(C)
    diagonal = list(armature(problem.model))
    joining: list[tuple[Rowed, Matrix]] = []
    for row, C in zip(problem.rowed, curvatures[first:last], strict=True):
        if len(row.J) == 1 and len(row.J[0]) == 1:
            ((k, x),) = row.J[0].items()
            diagonal[k] = diagonal[k] + x * x * C[0][0]
        else:
            joining.append((row, C))
    rare = list(zip(problem.rare, curvatures[last:], strict=True))
    down = [-x for x in g]
    if sum(len(row.J) for row, _ in (*joining, *rare)) > max(FEW * problem.model.nv, 8):
        return _in_full(problem, K, diagonal, joining, rare, down)
    solver = Articulated.of(problem.model, problem.at, K, diagonal)
    return _joined(solver, joining, rare, solver.solve(down))


def _joined(
    solver: Articulated, joining: Sequence[tuple[Rowed, Matrix]], rare: Sequence[tuple[Rowed, Matrix]], p: list[Scalar]
) -> list[Scalar]:
    """p corrected for constraints given by rows."""
    if not joining and not rare:
        return p
    n = len(p)
    rows: list[Row] = []
    answers: Matrix = []
    for row, C in joining:
        for weighted in _halves(row.J, C):
            rows.append(weighted)
            answers.append(solver.solve(_dense(weighted, n)))
    for row, C in rare:
        for weighted in _halves(row.J, C):
            acts = sum((x * x for x in weighted.values()), start=0) > 0
            full = _dense(weighted, n)
            rows.append(weighted)
            answers.append(where_needed(acts, full, solver.solve, [0.0] * n))

    def corrected(given: tuple[list[Scalar], list[Row], Matrix]) -> list[Scalar]:
        p, rows, answers = given
        A = [[dot(row.values(), [y[k] for k in row]) for y in answers] for row in rows]
        factors = [[x + 1 if i == j else x for j, x in enumerate(line)] for i, line in enumerate(A)]
        z = TreeFactors.of(factors, range(-1, len(A) - 1)).solve(times(rows, p))
        for y, x in zip(answers, z, strict=True):
            p = [a - b * x for a, b in zip(p, y, strict=True)]
        return p

    given = (p, rows, answers)
    if joining:
        return corrected(given)
    acting = sum((x * x for row in rows for x in row.values()), start=0)
    return where_needed(acting > 0, given, corrected, p)


def _halves(J: Sequence[Row], C: Matrix) -> list[Row]:
    """The rows of Bᵀ J, where B Bᵀ = C: B = L √D of its factors; a row of C that is zero gives none."""
    n = len(C)
    A = [list(row) for row in C]
    columns: list[list[Scalar]] = []
    for k in range(n):
        d = A[k][k]
        there = d > 0
        half = where(there, 1 / sqrt(where(there, d, 1.0)), 0.0)
        column = [0] * k + [A[i][k] * half for i in range(k, n)]
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                A[i][j] = A[i][j] - column[i] * column[j]
        columns.append(column)
    return [
        {k: sum((c * row[k] for c, row in zip(column, J, strict=True) if k in row), start=0) for k in _places(J)}
        for column in columns
    ]


def _dense(row: Row, n: int) -> list[Scalar]:
    return [row.get(k, 0) for k in range(n)]


def _in_full(
    problem: Problem,
    K: Sequence[ArticulatedInertia],
    diagonal: Scalars,
    joining: Sequence[tuple[Rowed, Matrix]],
    rare: Sequence[tuple[Rowed, Matrix]],
    down: Scalars,
) -> list[Scalar]:
    """H⁻¹ times a vector, by H itself."""
    model, Kc = problem.model, list(K)
    for body in reversed(model.bodies):
        Kc[body.parent] = Kc[body.parent] + Kc[body.index]
    H = joint_space(model, problem.at, Kc)
    for k, d in enumerate(diagonal):
        H[k][k] = H[k][k] + d
    lower = [row[: k + 1] for k, row in enumerate(H)]
    for row, C in joining:
        lower = _with_rows(lower, row.J, C)
    for n in sorted({len(C) for _, C in rare}):
        lower = _with_places(lower, [(row, C) for row, C in rare if len(C) == n], n)
    return TreeFactors.of(lower, range(-1, len(down) - 1)).solve(down)


def _with_places(lower: Matrix, rare: Sequence[tuple[Rowed, Matrix]], n: int) -> Matrix:
    """H + Σ Jᵀ C J of constraints with n rows each, in one loop, each where it acts."""
    nv = len(lower)

    def turn(lower: Matrix, row: list[Scalar]) -> Matrix:
        J = [dict(enumerate(row[1 + n * n + k * nv :][:nv])) for k in range(n)]
        C = [row[1 + n * k :][:n] for k in range(n)]
        return where_needed(row[0] > 0, (lower, C, J), lambda given: _with_rows(given[0], given[2], given[1]), lower)

    rows = [
        [row.law.D, *(x for line in C for x in line), *(line[k] for line in row.J for k in range(nv))]
        for row, C in rare
    ]
    return scanned(rows, lower, turn)


def _with_rows(lower: Matrix, J: Sequence[Row], C: Matrix) -> Matrix:
    """H + Jᵀ C J, of which the lower triangle is kept."""
    CJ = [
        {k: sum((c * row[k] for c, row in zip(line, J, strict=True) if k in row), start=0) for k in _places(J)}
        for line in C
    ]
    H = [list(row) for row in lower]
    for i in _places(J):
        for j in _places(J):
            if j <= i:
                pairs = zip(J, CJ, strict=True)
                H[i][j] = H[i][j] + sum((row[i] * line[j] for row, line in pairs if i in row), start=0)
    return H


def _places(J: Sequence[Row]) -> list[int]:
    """The freedoms that rows touch."""
    return sorted({k for row in J for k in row})


def _opposing(C: Matrix) -> ArticulatedInertia:
    """The curvature of a contact as what opposes motion of its frame."""
    n = len(C)
    full = [[C[i][j] if i < n and j < n else 0 for j in range(6)] for i in range(6)]

    def block(i: int, j: int) -> Mat3:
        return Mat3(*(Vec3(*full[i + k][j : j + 3]) for k in range(3)))

    return ArticulatedInertia(Sym3.upper(block(3, 3)), block(3, 0), Sym3.upper(block(0, 0)))
