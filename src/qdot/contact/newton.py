"""What a step of Newton's method for soft constraints solves: H⁻¹ times a vector, H = M + Σ Jᵀ C J.

What pushes between a body and the ground opposes that body's motion, by K = X C Xᵀ, as its inertia does; what acts on
one freedom opposes that one, as the inertia of its drive does. So that part of H is the mass matrix of a mechanism with
other inertias, and the articulated-body algorithm solves with it. What joins two bodies or distant joints is added by
its rows, B Bᵀ = C, one row b of Bᵀ J after the other: (H + b bᵀ)⁻¹ = H⁻¹ - u uᵀ/(1 + bᵀ u) with u = H⁻¹ b (Sherman and
Morrison). Where such rows are many, H is made instead, and factorised: as a tree, like M, where each of them is about
freedoms on one way to the root, as those of contacts within a limb or with the trunk it hangs on; limb by limb where
some join two limbs, or loose bodies; and in full where the tree is not bushy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from qdot.algebra import UNREAD, Scalar, Scalars, sqrt, where, where_needed
from qdot.algebra.limbs import solved_by_limbs
from qdot.algebra.linalg import Matrix, TreeFactors, dot, ldlt, ldlt_solve, ways_to_root
from qdot.algebra.sparse import Row
from qdot.algorithms.articulated import Articulated
from qdot.algorithms.crba import joint_space
from qdot.algorithms.passive import armature
from qdot.contact.constraints import Alike, Ground, Rowed
from qdot.spatial import ArticulatedInertia, Motion

if TYPE_CHECKING:
    from qdot.contact.gauss import Problem
    from qdot.model.model import Model

FEW = 0.5
"""Rows that are added one by one: no more than this share of the freedoms."""

LARGE = 12
"""Freedoms from which H is made only where rare constraints act."""

BUSHY = 3
"""Times that a full matrix takes more products than a tree, from which H is made as a tree where it can be."""

Seen: TypeAlias = Callable[[Any, Any], list[Scalar]]
"""y at which the law of a constraint is looked at, where things move like this."""


class _Opposed(NamedTuple):
    """What H is made of: what opposes motion of each body and each freedom; the acceleration, at which constraints by
    rows oppose it; and the right side."""

    K: list[ArticulatedInertia]
    diagonal: list[Scalar]
    a: list[Scalar]
    side: list[Scalar]


def solved_by(
    problem: Problem, seen: Seen, moving: tuple[list[Scalar], list[Motion]], side: list[Scalar]
) -> list[Scalar]:
    """H⁻¹ times a vector, where freedoms and bodies move like this."""
    a, U = moving

    def stiffened(u: Motion, contact: Ground, K: ArticulatedInertia) -> ArticulatedInertia:
        return contact.stiffened(seen(contact, u), K)

    K = problem.with_ground(U, [ArticulatedInertia.of(I) for I in problem.inertias], stiffened)
    diagonal = list(armature(problem.model))
    joining: list[Rowed] = []
    for row in problem.rowed:
        if len(row.J) == 1 and len(row.J[0]) == 1:
            ((k, x),) = row.J[0].items()
            diagonal[k] = diagonal[k] + x * x * row.law.curvature(seen(row, a))[0][0]
        else:
            joining.append(row)
    opposed = _Opposed(K, diagonal, a, side)
    one_by_one, in_full = (partial(way, problem, seen, joining) for way in (_one_by_one, _in_full))
    nv, rare = problem.model.nv, problem.rare
    if sum(len(row.J) for row in (*joining, *rare)) <= max(FEW * nv, 8):
        return one_by_one(rare, opposed)
    if nv < LARGE or not rare:
        return in_full(opposed)
    stiffness = sum((row.law.D for row in rare), start=0)
    p = where_needed(stiffness <= 0, opposed, partial(one_by_one, []), [0.0] * nv)
    if joining or not all(row.limbs for row in rare):
        return where_needed(stiffness > 0, opposed, in_full, p)
    joined = problem.joined
    places = _of_a_tree(problem.model)
    H = where_needed(stiffness > 0, opposed, partial(_in_tree, problem, seen, places), [UNREAD] * len(places))
    tree = partial(_solved_in_tree, problem.model, places)
    p = where_needed((stiffness > 0) & (joined <= 0), (H, side), tree, p)
    return where_needed(joined > 0, (opposed, H), partial(_joined, problem, seen, places), p)


def _one_by_one(
    problem: Problem, seen: Seen, joining: Sequence[Rowed], rare: Sequence[Rowed], given: _Opposed
) -> list[Scalar]:
    """H⁻¹ times a vector by articulated bodies, corrected for one row after the other, each for those before, too."""
    solver = Articulated.of(problem.model, problem.at, given.K, given.diagonal)
    p, n = solver.solve(given.side), problem.model.nv
    before: list[_Added] = []

    def corrected(row: Rowed, given: tuple[list[Scalar], list[Scalar]]) -> tuple[list[Scalar], list[_Added]]:
        a, p = given
        known = list(before)
        for weighted in _halves(row.J, row.law.curvature(seen(row, a))):
            b = [weighted.get(k, 0) for k in range(n)]
            u = solver.solve(b)
            for other in known:
                u = _moved(u, -(other.share * dot(other.u, b)), other.u)
            share = 1 / (1 + dot(b, u))
            p = _moved(p, -(share * dot(b, p)), u)
            known.append(_Added(u, share))
        return p, known[len(before) :]

    for row in joining:
        p, added = corrected(row, (given.a, p))
        before += added
    for row in rare:
        otherwise = p, [_Added([0.0] * n, 0.0) for _ in row.J]
        p, added = where_needed(row.acts, (given.a, p), partial(corrected, row), otherwise)
        before += added
    return p


class _Added(NamedTuple):
    """A row b that H has: H⁻¹ b without it, and 1/(1 + bᵀ H⁻¹ b)."""

    u: list[Scalar]
    share: Scalar


def _moved(x: Scalars, t: Scalar, u: Scalars) -> list[Scalar]:
    return [a + t * b for a, b in zip(x, u, strict=True)]


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


def is_bushy(model: Model) -> bool:
    """Whether factors of a tree take much less than those of a full matrix: by products, which go with the squares of
    ways to the root."""
    return BUSHY * sum(len(way) ** 2 for way in ways_to_root(model.dof_parents)) < sum(k * k for k in range(model.nv))


def _of_a_tree(model: Model) -> list[tuple[int, int]]:
    """The entries of a matrix with the sparsity of M, in its lower triangle."""
    return [(i, j) for i, way in enumerate(ways_to_root(model.dof_parents)) for j in (i, *way)]


def _in_tree(problem: Problem, seen: Seen, places: Sequence[tuple[int, int]], given: _Opposed) -> list[Scalar]:
    """The entries of H that M has as well."""
    H = _diagonal_and_inertias(problem, given)
    for alike in problem.joining:
        freedoms = _places(alike.all[0].J)
        own = [(i, j) for i, j in places if i in freedoms and j in freedoms]
        H = _with_rows(problem, seen, given.a, alike, H, own)
    return [H[i][j] for i, j in places]


def _solved_in_tree(
    model: Model, places: Sequence[tuple[int, int]], given: tuple[list[Scalar], list[Scalar]]
) -> list[Scalar]:
    """H⁻¹ times a vector, where no constraint by rows joins limbs."""
    entries, side = given
    return TreeFactors.of(_lower(model, places, entries), model.dof_parents).solve(side)


def _lower(model: Model, places: Sequence[tuple[int, int]], entries: Scalars) -> Matrix:
    """A lower triangle with these entries, and zeros."""
    H: Matrix = [[0] * (k + 1) for k in range(model.nv)]
    for (i, j), x in zip(places, entries, strict=True):
        H[i][j] = x
    return H


def _joined(
    problem: Problem, seen: Seen, places: Sequence[tuple[int, int]], given: tuple[_Opposed, list[Scalar]]
) -> list[Scalar]:
    """H⁻¹ times a vector, where some constraints join limbs: of what they add between these, each block where there is
    any."""
    opposed, entries = given
    model, limbs = problem.model, limbs_of(problem.model)
    H = _lower(model, places, entries)
    limb_of = {k: n for n, limb in enumerate(limbs) for k in limb}
    held = {(limb_of[i], limb_of[j]) for i, j in places}
    apart = [(m, n) for m in range(len(limbs)) for n in range(m) if (m, n) not in held]
    joined: dict[tuple[int, int], Scalar] = dict.fromkeys(apart, 0.0)
    for alike in problem.joining:
        freedoms = _places(alike.all[0].J)
        pairs = [(i, j) for i in freedoms for j in freedoms if j < i]
        own = [(i, j) for i, j in pairs if (max(limb_of[i], limb_of[j]), min(limb_of[i], limb_of[j])) in joined]
        H = _with_rows(problem, seen, opposed.a, alike, H, own)

        def counted(row: Rowed, known: list[Scalar]) -> list[Scalar]:
            return [x + row.limbs[m] * row.limbs[n] for x, (m, n) in zip(known, apart, strict=True)]

        found: list[Scalar] = alike.over([*joined.values()], counted)
        joined = dict(zip(apart, found, strict=True))
    return solved_by_limbs(H, opposed.side, limbs, joined)


def _in_full(problem: Problem, seen: Seen, joining: Sequence[Rowed], given: _Opposed) -> list[Scalar]:
    """H⁻¹ times a vector, by H itself."""
    H = _diagonal_and_inertias(problem, given)
    for alike in (*Alike.among(joining), *problem.joining):
        freedoms = _places(alike.all[0].J)
        H = _with_rows(problem, seen, given.a, alike, H, [(i, j) for i in freedoms for j in freedoms if j <= i])
    return ldlt_solve(ldlt(H), given.side)


def _diagonal_and_inertias(problem: Problem, given: _Opposed) -> Matrix:
    """The lower triangle of H without what is given by rows."""
    model, Kc = problem.model, list(given.K)
    for body in reversed(model.bodies):
        Kc[body.parent] = Kc[body.parent] + Kc[body.index]
    H = joint_space(model, problem.at, Kc)
    for k, d in enumerate(given.diagonal):
        H[k][k] = H[k][k] + d
    return [row[: k + 1] for k, row in enumerate(H)]


def _with_rows(
    problem: Problem, seen: Seen, a: Scalars, alike: Alike[Rowed], lower: Matrix, entries: Sequence[tuple[int, int]]
) -> Matrix:
    """H + Σ Jᵀ C J at an acceleration, of constraints that differ in numbers alone, in these entries; the lower
    triangle is kept. Where it is told which limbs rows are about, what is not of them is left out."""
    limbs = limbs_of(problem.model) if alike.all[0].limbs else (tuple(range(problem.model.nv)),)
    limb_of = {k: n for n, limb in enumerate(limbs) for k in limb}
    blocks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, j in entries:
        blocks.setdefault((limb_of[i], limb_of[j]), []).append((i, j))

    def added(row: Rowed, known: list[list[Scalar]]) -> list[list[Scalar]]:
        C = row.law.curvature(seen(row, a))
        J = [[{k: line[k] for k in limb if k in line} for line in row.J] for limb in limbs]
        if not row.limbs:
            return [_with_products(entries, (known[0], J[0], _times(C, J[0])))]
        unread = [[dict.fromkeys(line, UNREAD) for line in lines] for lines in J]
        CJ = [
            where_needed(there > 0, (C, lines), lambda given: _times(*given), otherwise)
            for there, lines, otherwise in zip(row.limbs, J, unread, strict=True)
        ]
        return [
            where_needed(row.limbs[m] * row.limbs[n] > 0, (h, J[m], CJ[n]), partial(_with_products, own), h)
            for ((m, n), own), h in zip(blocks.items(), known, strict=True)
        ]

    H = [list(row) for row in lower]
    known = alike.over([[H[i][j] for i, j in own] for own in blocks.values()], added)
    for own, block in zip(blocks.values(), known, strict=True):
        for (i, j), h in zip(own, block, strict=True):
            H[i][j] = h
    return H


def _times(C: Matrix, J: Sequence[Row]) -> list[Row]:
    """C J."""
    return [
        {k: sum((c * row[k] for c, row in zip(line, J, strict=True) if k in row), start=0) for k in _places(J)}
        for line in C
    ]


def _with_products(
    entries: Sequence[tuple[int, int]], given: tuple[list[Scalar], Sequence[Row], Sequence[Row]]
) -> list[Scalar]:
    """Entries of H with those of Jᵀ (C J) added."""
    known, J, CJ = given
    return [
        sum((row[i] * line[j] for row, line in zip(J, CJ, strict=True) if i in row), start=h)
        for (i, j), h in zip(entries, known, strict=True)
    ]


@lru_cache(maxsize=64)
def limbs_of(model: Model) -> tuple[tuple[int, ...], ...]:
    """Freedoms from one branching of the tree to the next; none where the tree is not bushy, and limbs are short."""
    if not is_bushy(model):
        return ()
    children = Counter(model.dof_parents)
    limbs: list[list[int]] = []
    at: dict[int, int] = {}
    for k, parent in enumerate(model.dof_parents):
        if parent >= 0 and children[parent] == 1:
            at[k] = at[parent]
            limbs[at[k]].append(k)
        else:
            at[k] = len(limbs)
            limbs.append([k])
    return tuple(map(tuple, limbs))


def _places(J: Sequence[Row]) -> list[int]:
    """The freedoms that rows touch."""
    return sorted({k for row in J for k in row})
