"""No slip: friction that gives way, made to hold after the solver is done.

Soft friction lets what should stick creep: its force is -D y, so y = J a - a_ref cannot be zero. With all other forces
held, pushes of contacts among them, friction f is found anew, of joints, tendons and contacts, without what gives way:

    min_f  ½ fᵀ A f + fᵀ (y - A f₀),   A = J M⁻¹ Jᵀ,   f within its grip,

by sweeps from constraint to constraint, each solved exactly with the others held (MuJoCo's documentation, chapter
Computation, "Noslip"). Of a pyramid each row has its own bounds, -g_k ≤ f_k ≤ g_k, by its share of the push; of a round
cone Σ (f_k/g_k)² ≤ 1. Sweeps end where MuJoCo's do, with the same accelerations if they are enough; contacts between
bodies come last here. One thing differs: in a plane, or whatever else has a direction in which nothing moves, MuJoCo
leaves round contacts as they are or lets go of them, where here they hold.

With M = Kᵀ K, K = √D L of its factors Lᵀ D L, and the rows W = J K⁻¹, which have the sparsity of the tree as J has:
A = W Wᵀ, and a change z = K Δa of the acceleration is all that constraints have to know of each other: y + W z.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

from qdot.algebra import Scalar, Scalars, iterated, maximum, minimum, sqrt, where, where_needed
from qdot.algebra.linalg import Matrix, TreeFactors, dot, ldlt, ldlt_solve, matvec, ways_to_root
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row
from qdot.algorithms.crba import joint_space
from qdot.algorithms.passive import armature
from qdot.contact.constraints import Ground, Rates
from qdot.contact.soft_contacts import contact_rows
from qdot.contact.soft_laws import Ellipse
from qdot.contact.softness import TINY
from qdot.model.model import Model
from qdot.spatial import Inertia

if TYPE_CHECKING:
    from qdot.contact.gauss import Problem

FIRST = 1e30
"""More than any sweep gains."""

TURNS, EXACT = 20, 1e-13
"""Turns at most for where a round contact slides, and how near the rim it gets."""

SINGULAR = 1e-10
"""Added to A of a round contact, of its size: a direction in which no force moves anything keeps its force, and of
rounding there it gets little."""


def without_slip(problem: Problem, a: list[Scalar], ys: Rates, forces: Rates) -> tuple[list[Scalar], Rates]:
    """Acceleration and forces after the sweeps, from those of the solver, at which J a - a_ref is `ys`."""
    grips = _grips(problem, ys)
    if not grips:
        return a, forces
    needed = reduce(maximum, [where(_holds(grip), 1.0, 0.0) for grip in grips.values()]) > 0
    root = _Root.of(problem, needed)
    rubbing = [_rubbing(problem, root, number, ys[number], grip) for number, grip in grips.items()]

    def turn(state: _State) -> tuple[Scalar, _State]:
        go_on = state.gained >= problem.noslip_tolerance
        return go_on, where_needed(go_on, state, partial(_swept, problem.scale, rubbing), state)

    start = [forces[rub.number][-len(rub.grip) :] for rub in rubbing]
    yielding = problem.scale * _yielding(problem, ys, forces)
    state = _State([0.0] * len(a), start, where(needed, FIRST, -1.0), yielding)
    state = iterated(problem.noslip, state, turn)
    found = list(forces)
    for rub, f in zip(rubbing, state.f, strict=True):
        found[rub.number] = [*forces[rub.number][: -len(f)], *f]
    return where_needed(needed, (a, state.z), lambda given: root.moved(*given), a), found


class _State(NamedTuple):
    """z, friction of each that rubs, what the last sweep gained, and what the first one gains on top."""

    z: list[Scalar]
    f: Rates
    gained: Scalar
    more: Scalar


# -- what rubs ---------------------------------------------------------------------------------------------------------


class _Rubbing(NamedTuple):
    """The rows with friction of a constraint, W, and A of them; J a - a_ref before, and the grip."""

    number: int
    is_round: bool
    W: list[Row]
    A: Matrix
    y: list[Scalar]
    grip: list[Scalar]


def _grips(problem: Problem, ys: Rates) -> dict[int, list[Scalar]]:
    """By the number of each constraint with friction, those of joints and tendons first: how much there may be."""
    found: dict[int, list[Scalar]] = {}
    known = list(enumerate(zip(problem.constraints, problem.causes, ys, strict=True)))
    for number, (constraint, why, y) in known:
        if why == "friction":
            found[number] = constraint.law.grip(y)
    for number, (constraint, why, y) in known:
        if why == "contacts" and len(y) > 1:
            found[number] = where_needed(constraint.acts, y, constraint.law.grip, [0.0] * (len(y) - 1))
    return found


def _holds(grip: Scalars) -> Scalar:
    return sum(grip, start=0.0) > 0


def _rubbing(problem: Problem, root: _Root, number: int, y: list[Scalar], grip: list[Scalar]) -> _Rubbing:
    constraint, n = problem.constraints[number], len(grip)

    def halved(J: Sequence[Row]) -> tuple[list[Row], Matrix]:
        W = [root.half(row, reached) for row in J[-n:]]
        return W, [[dot(w.values(), x.values()) for x in W] for w in W]

    if isinstance(constraint, Ground):
        signs = _signs(problem.model, constraint.body)
        rows = partial(contact_rows, problem.model, problem.at, signs=signs, n=len(y))
        reached = [k for k, sign in enumerate(signs) if sign]
        W, A = where_needed(_holds(grip), constraint.X, lambda X: halved(rows(X)), _nothing(n, reached))
    else:
        reached = root.reached({k for row in constraint.J for k in row})
        W, A = where_needed(_holds(grip), constraint.J, halved, _nothing(n, reached))
    return _Rubbing(number, isinstance(constraint.law, Ellipse), W, A, y[-n:], grip)


def _nothing(n: int, reached: Sequence[int]) -> tuple[list[Row], Matrix]:
    return [dict.fromkeys(reached, 0.0) for _ in range(n)], [[0.0] * n for _ in range(n)]


def _signs(model: Model, body: int) -> list[int]:
    """For each freedom 1 where it moves a body, else 0."""
    signs = [0] * model.nv
    while body:
        dofs = model.bodies[body - 1].dofs
        signs[dofs] = [1] * len(signs[dofs])
        body = model.parents[body]
    return signs


def _yielding(problem: Problem, ys: Rates, forces: Rates) -> Scalar:
    """½ fᵀ R f of all constraints, the cost of giving way, which sweeps leave out: where a force is that of a cone,
    -½ fᵀ y."""
    total: Scalar = 0.0
    for constraint, why, y, f in zip(problem.constraints, problem.causes, ys, forces, strict=True):
        total = total + (f[0] * f[0] / constraint.law.D if why == "friction" else -dot(f, y)) / 2
    return total


@dataclass(frozen=True)
class _Root:
    """K = √D L of M = Kᵀ K, where anything rubs: entries of L by the way of each row to its root, and 1/√D."""

    ways: list[list[int]]
    L: list[list[Scalar]]
    inverse: list[Scalar]

    @staticmethod
    def of(problem: Problem, needed: Scalar) -> _Root:
        model, ways = problem.model, ways_to_root(problem.model.dof_parents)

        def factorised(inertias: list[Inertia]) -> tuple[list[list[Scalar]], list[Scalar]]:
            Ic = list(inertias)
            for body in reversed(model.bodies):
                Ic[body.parent] = Ic[body.parent] + Ic[body.index]
            M = joint_space(model, problem.at, Ic)
            for k, d in enumerate(armature(model)):
                M[k][k] = M[k][k] + d
            factors = TreeFactors.of(M, model.dof_parents)
            L = [[row[j] for j in way] for row, way in zip(factors.L, ways, strict=True)]
            return L, [sqrt(x) for x in factors.D_inv]

        nothing = [[0.0] * len(way) for way in ways], [0.0] * model.nv
        return _Root(ways, *where_needed(needed, problem.inertias, factorised, nothing))

    def reached(self, places: Iterable[int]) -> list[int]:
        """Freedoms and all on their ways to the root, in order."""
        return sorted({j for k in places for j in (k, *self.ways[k])})

    def half(self, row: Row, reached: Sequence[int]) -> Row:
        """A row of W = J K⁻¹ from one of J."""
        w: Row = {k: row.get(k, 0) for k in reached}
        for i in reversed(reached):
            for j, l in zip(self.ways[i], self.L[i], strict=True):
                w[j] = w[j] - l * w[i]
        return {k: x * self.inverse[k] for k, x in w.items()}

    def moved(self, a: Scalars, z: Scalars) -> list[Scalar]:
        """a + K⁻¹ z."""
        x = [s * y for s, y in zip(self.inverse, z, strict=True)]
        for i, way in enumerate(self.ways):
            x[i] = x[i] - dot(self.L[i], [x[j] for j in way])
        return [p + q for p, q in zip(a, x, strict=True)]


# -- sweeps ------------------------------------------------------------------------------------------------------------


def _swept(scale: Scalar, rubbing: Sequence[_Rubbing], state: _State) -> _State:
    """After one sweep."""
    z, friction, gained = list(state.z), [], state.more
    for rub, f in zip(rubbing, state.f, strict=True):
        reached = list(rub.W[0])
        before = [z[k] for k in reached]
        after, f, gain = where_needed(_holds(rub.grip), (before, f), partial(_held, rub), (before, f, 0.0))
        for k, x in zip(reached, after, strict=True):
            z[k] = x
        friction.append(f)
        gained = gained + scale * gain
    return _State(z, friction, gained, 0.0)


def _held(rub: _Rubbing, given: tuple[list[Scalar], list[Scalar]]) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """z along the freedoms that a constraint reaches, and its friction, after it alone is solved; and what this
    gained."""
    z, f = given
    y = [x + dot(w.values(), z) for x, w in zip(rub.y, rub.W, strict=True)]
    y = [where(row[k] > TINY, x, 0.0) for k, (x, row) in enumerate(zip(y, rub.A, strict=True))]
    new = (_round if rub.is_round else _row_by_row)(rub.A, y, f, rub.grip)
    change = [x - old for x, old in zip(new, f, strict=True)]
    gain = -dot(change, [x + p / 2 for x, p in zip(y, matvec(rub.A, change), strict=True)])
    columns = zip(*(w.values() for w in rub.W), strict=True)
    return [x + dot(column, change) for x, column in zip(z, columns, strict=True)], new, gain


def _row_by_row(A: Matrix, y: Scalars, f: Scalars, grip: Scalars) -> list[Scalar]:
    """Friction with bounds of its own along each row, one row after the other."""
    found: list[Scalar] = []
    for k, (row, bound) in enumerate(zip(A, grip, strict=True)):
        here = y[k] + dot(row[:k], [x - old for x, old in zip(found, f, strict=False)])
        best = f[k] - here / where(row[k] > TINY, row[k], 1.0)
        found.append(minimum(maximum(best, -bound), bound))
    return found


def _round(A: Matrix, y: Scalars, f: Scalars, grip: Scalars) -> list[Scalar]:
    """Friction of a round contact: in units of its grip x = (S + λ)⁻¹ (S x₀ - y), with the least λ ≥ 0 that leaves
    |x| ≤ 1."""
    S = [[p * x * q for x, q in zip(row, grip, strict=True)] for row, p in zip(A, grip, strict=True)]
    guard = or_rounding(SINGULAR, 1024) * sum((row[k] for k, row in enumerate(S)), start=0) + TINY
    S = [[x + guard if j == k else x for j, x in enumerate(row)] for k, row in enumerate(S)]
    old = [x / where(g > 0, g, 1.0) for x, g in zip(f, grip, strict=True)]
    side = [x - g * r for x, g, r in zip(matvec(S, old), grip, y, strict=True)]
    x = ldlt_solve(ldlt(S), side)
    x = where_needed(dot(x, x) > 1, (S, side), lambda given: _on_rim(*given), x)
    return [g * part for g, part in zip(grip, x, strict=True)]


def _on_rim(S: Matrix, side: Scalars) -> list[Scalar]:
    """x = (S + λ)⁻¹ side with |x| = 1: Newton's method for 1/|x|, which is nearly straight in λ, and bent so that no
    step goes too far."""

    def at(stiff: Scalar) -> tuple[tuple[Matrix, list[Scalar]], list[Scalar], Scalar]:
        factors = ldlt([[x + stiff if j == k else x for j, x in enumerate(row)] for k, row in enumerate(S)])
        x = ldlt_solve(factors, side)
        return factors, x, sqrt(dot(x, x))

    def turn(stiff: Scalar) -> tuple[Scalar, Scalar]:
        factors, x, size = at(stiff)
        step = (size - 1) * size * size / dot(x, ldlt_solve(factors, x))
        return size - 1 > or_rounding(EXACT, 4), stiff + step

    _, x, size = at(iterated(TURNS, 0.0, turn))
    return [part / size for part in x]
