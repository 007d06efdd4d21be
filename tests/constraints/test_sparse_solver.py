"""The sparse solver against dense ones: chains in maximal coordinates, loops, rows that repeat each other or say
nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import qdot
from qdot.algebra import Scalar, Scalars, cos, sin
from qdot.algebra.linalg import TreeFactors
from qdot.algebra.sparse import Row
from qdot.algorithms.bias import bias_forces
from qdot.algorithms.closure import constraint_rows
from qdot.algorithms.constrained import Conjugates, constrained_inverse_inertia
from qdot.algorithms.constraints.sparse import SparseSchur
from qdot.algorithms.crba import mass_matrix
from qdot.compiler.trace import trace
from qdot.description import LoopRecord
from qdot.joints import Planar
from qdot.model.library import KINDS, random_state, random_tree
from qdot.programs import expressions as _expressions  # makes traced expressions scalars  # noqa: F401
from qdot.spatial import Inertia
from tests.formulations.systems import four_bar, four_bar_state
from tests.laws.trees import close

TOLERANCE = 1e-10
"""As in tests/laws/test_dynamics.py."""

JOINTS = [kind for kind in KINDS if kind != "free"]
"""Of which each holds something."""


# ── a chain of planar bodies, side by side and held at points ────────────────────────────────────

MASS, MOMENT, ARM, LENGTH = 1.3, 0.2, 0.4, 1.0
"""Of each link: its mass, its moment about the centre, how far the centre and the next hinge are from its own hinge."""


def chain(q: Scalars) -> tuple[list[Row], list[Row]]:
    """M and J of links with q = (θ, x, y) each: every hinge lies where the link before it ends, the first at rest."""
    M: list[Row] = []
    J: list[Row] = []
    for k in range(0, len(q), 3):
        s, c = sin(q[k]), cos(q[k])
        M += [
            {k: MOMENT + MASS * ARM**2, k + 1: -MASS * ARM * s, k + 2: MASS * ARM * c},
            {k: -MASS * ARM * s, k + 1: MASS},
            {k: MASS * ARM * c, k + 2: MASS},
        ]
        rows: list[Row] = [{k + 1: 1}, {k + 2: 1}]
        if k:
            s, c = sin(q[k - 3]), cos(q[k - 3])
            rows[0] |= {k - 3: LENGTH * s, k - 2: -1}
            rows[1] |= {k - 3: -LENGTH * c, k - 1: -1}
        J += rows
    return M, J


def full(rows: list[Row], n: int) -> np.ndarray:
    return np.array([[row.get(k, 0) for k in range(n)] for row in rows], float)


def dense_solution(M: np.ndarray, J: np.ndarray, f: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a, Jᵀ λ), where rows may repeat each other: the shortest λ is as good as any."""
    L = np.linalg.cholesky(M)
    G = np.linalg.solve(L, J.T).T
    free = np.linalg.solve(M, f)
    change = np.linalg.solve(L.T, np.linalg.lstsq(G, b - J @ free, rcond=1e-9)[0])
    return free + change, M @ change


def test_this_chain_is_the_engine_s() -> None:
    """Its mass matrix is that of planar joints side by side."""
    q = np.array([0.3, 1.0, 2.0, -0.8, 0.5, 0.1])
    world = qdot.Mechanism("links")
    for name in ("one", "two"):
        world.add(name, Planar("z"), Inertia.about_com(MASS, (ARM, 0, 0), (MOMENT, MOMENT, MOMENT)))
    model = qdot.assemble(world)
    close(full(chain(list(q))[0], 6), qdot.mass_matrix(model, q), 1e-14)


def test_chain_of_500_links() -> None:
    """As the dense solution; S is a band of pairs, and its factors have next to no fill-in: 5 entries a link."""
    n = 500
    rng = np.random.default_rng(0)
    q, f, b = rng.normal(size=3 * n), rng.normal(size=3 * n), rng.normal(size=2 * n)
    M, J = chain(list(q))
    solver = SparseSchur.of(M, J)
    a, multipliers = solver.acceleration(list(f), list(b))
    M_full, J_full = full(M, 3 * n), full(J, 3 * n)
    saddle = np.block([[M_full, -J_full.T], [J_full, np.zeros((2 * n, 2 * n))]])
    close([*a, *multipliers], np.linalg.solve(saddle, np.concatenate([f, b])), 1e-12)
    assert solver.kept == [1] * (2 * n)
    assert sum(map(len, solver.schur.below)) <= 5 * n
    assert sum(map(len, solver.mass.below)) == 2 * n  # each body's angle with its place


def test_straight_chain_of_500_links() -> None:
    """The worst condition that a chain has, 1e6, grows as n²: still J a = b to 1e-11, and M a = f + Jᵀ λ."""
    n = 500
    rng = np.random.default_rng(1)
    f, b = rng.normal(size=3 * n), rng.normal(size=2 * n)
    M, J = chain([0.0] * (3 * n))
    a, multipliers = SparseSchur.of(M, J).acceleration(list(f), list(b))
    close(full(J, 3 * n) @ a, b, 1e-11)
    close(full(M, 3 * n) @ a, f + full(J, 3 * n).T @ multipliers, 1e-11)


def chain_program(n: int):
    def text(q, f, b):
        a, multipliers = SparseSchur.of(*chain(q)).acceleration(f, b)
        return {"a": a, "multipliers": multipliers}

    return trace("chain", text, {"q": (3 * n,), "f": (3 * n,), "b": (2 * n,)})


def test_cost_of_a_chain_is_linear() -> None:
    small, large = chain_program(100).operations(), chain_program(400).operations()
    assert 3.9 < large / small < 4.1
    assert large < 210 * 400  # 202 a link


# ── rows that repeat each other, or say nothing ──────────────────────────────────────────────────


def repeated(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """M and J of 20 links, with more rows than count."""
    n = 20
    rng = np.random.default_rng(4)
    M, J = (full(rows, 3 * n) for rows in chain(list(rng.normal(size=3 * n))))
    more = {
        "twice": J,
        "sums": rng.normal(size=(10, 2 * n)) @ J,
        "zero": np.zeros((4, 3 * n)),
        "rounding": 1e-17 * rng.normal(size=(4, 3 * n)),
        "everything": rng.normal(size=(3 * n + 5, 3 * n)),
    }[kind]
    return M, np.concatenate([J[:7], more, J[7:]])


@pytest.mark.parametrize("kind", ["twice", "sums", "zero", "rounding", "everything"])
def test_rows_that_repeat_each_other(kind: str) -> None:
    """One acceleration obeys all; a and Jᵀ λ are those of the dense solution, and as many rows are kept as count."""
    M, J = repeated(kind)
    rng = np.random.default_rng(5)
    f, x = rng.normal(size=len(M)), rng.normal(size=len(M))
    b = J @ x
    if kind == "rounding":
        b[7:11] = 1e-16 * rng.normal(size=4)  # what such rows say is rounding too
    a, forces = dense_solution(M, J, f, b)
    solver = SparseSchur.of(M, J)
    found, multipliers = solver.acceleration(f, b)
    close(found, a, TOLERANCE)
    close(J.T @ multipliers, forces, TOLERANCE)
    assert sum(solver.kept) == np.linalg.matrix_rank(J)
    assert all(x == 0 for x, kept in zip(multipliers, solver.kept, strict=True) if not kept)


def test_rows_that_contradict_each_other_give_numbers_of_a_sensible_size() -> None:
    """Of two that differ by 1e-3 one is obeyed, and no force grows for the sake of the other."""
    M, J = (full(rows, 9) for rows in chain([0.3, 0, 0, 0.9, 0, 0, -0.4, 0, 0]))
    J = np.concatenate([J, J[3:4]])
    b = np.array([0, 0, 0, 0.5, 0, 0, 0.501])
    a, multipliers = SparseSchur.of(M, J).acceleration([1.0] * 9, b)
    missed = J @ a - b
    close(missed[[0, 1, 2, 4, 5]], np.zeros(5), 1e-13)
    close(sorted(np.abs(missed[[3, 6]])), [0, 1e-3], 1e-13)
    assert max(map(abs, multipliers)) < 10


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6])
def test_rows_that_nearly_repeat_each_other(angle: float) -> None:
    """Down to an angle of 1e-6 between them both are obeyed to rounding, and a is right but for rounding / angle."""
    M, J = (full(rows, 9) for rows in chain([0.3, 0, 0, 0.9, 0, 0, -0.4, 0, 0]))
    J = np.concatenate([J[:5], J[4:5]])
    J[5, 8] += angle
    x = np.array([0.4, -0.2, 0.7, 0.1, 0.9, -0.5, 0.3, -0.8, 0.6])
    f = np.linspace(-1, 1, 9)
    saddle = np.block([[M, -J.T], [J, np.zeros((6, 6))]])
    expected = np.linalg.solve(saddle, np.concatenate([f, J @ x]))[:9]
    solver = SparseSchur.of(M, J)
    a, _ = solver.acceleration(f, J @ x)
    assert solver.kept == [1] * 6
    close(J @ a, J @ x, 1e-9)
    close(a, expected, 1e-14 / angle)


def test_no_rows_and_no_coupling() -> None:
    M = np.diag([2.0, 4.0])
    assert SparseSchur.of(M, []).acceleration([1.0, 1.0], []) == ([0.5, 0.25], [])
    assert SparseSchur.of(M, [{}, {}]).correction([1.0, 2.0]) == ([0, 0], [0, 0])
    assert SparseSchur.of([], []).response([]) == []


# ── the engine's own constraints ─────────────────────────────────────────────────────────────────


def both(model: qdot.Model, q: Scalars, v: Scalars) -> tuple[SparseSchur, Conjugates, np.ndarray, list[Scalar]]:
    J, bias = constraint_rows(model, list(q), list(v))
    M = mass_matrix(model, list(q))
    return SparseSchur.of(M, J), Conjugates.of(J, TreeFactors.of(M, model.dof_parents).solve), np.array(J, float), bias


@pytest.mark.parametrize("crank", [0.3, 1.2, 2.5])
def test_four_bar(crank: float) -> None:
    """Five rows of a revolute joint, of which two count; three say nothing."""
    q, v = four_bar_state(crank, 1.7)
    sparse, dense, J, bias = both(four_bar(), q, v)
    (a, multipliers), (b, others) = (solver.correction([-x for x in bias]) for solver in (sparse, dense))
    close(a, b, TOLERANCE)
    close(J.T @ multipliers, J.T @ others, TOLERANCE)
    assert sum(sparse.kept) == sum(dense.kept) == 2
    assert sum(x != 0 for x in multipliers) == 2


@pytest.mark.parametrize("seed", range(8))
def test_random_loops(seed: int) -> None:
    """Two loops between bodies of a random tree, each closed by some kind of joint, and the first of them once more."""
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, 6, branching=0.5)
    loops = []
    for name in ("first", "second"):
        one, other = rng.choice([body.name for body in tree.bodies], 2, replace=False)
        loops.append(LoopRecord(name, KINDS[str(rng.choice(JOINTS))](rng), str(one), str(other)))
    loops.append(replace(loops[0], name="first again"))
    model = qdot.assemble(replace(tree.description, loops=tuple(loops)))
    q, v, x = random_state(model, seed)
    sparse, dense, J, _ = both(model, q, v)
    (a, multipliers), (b, others) = (solver.correction(J @ x) for solver in (sparse, dense))
    close(a, b, TOLERANCE)
    close(J.T @ multipliers, J.T @ others, TOLERANCE)
    assert sum(sparse.kept) == sum(dense.kept) == np.linalg.matrix_rank(J) < len(J)


def test_response_is_the_constrained_inverse_inertia() -> None:
    """A f, symmetric and of rank nv less two (T9)."""
    model = four_bar()
    q, v = four_bar_state(0.9, 0.0)
    sparse, _, J, _ = both(model, q, v)
    A = np.array([sparse.response(f) for f in np.eye(3)])
    close(A, constrained_inverse_inertia(mass_matrix(model, list(q)), J.tolist()), TOLERANCE)
    close(A, A.T, 1e-14)


def accelerated(model: qdot.Model, q: Scalars, v: Scalars, tau: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    J, bias = constraint_rows(model, q, v)
    f = [t - c for t, c in zip(tau, bias_forces(model, q, v), strict=True)]
    return SparseSchur.of(mass_matrix(model, q), J).acceleration(f, [-x for x in bias])


def test_compiled_as_floats_and_as_lanes() -> None:
    """The model's own text, with rows that are passed over at run time; three states in one batch."""
    model = four_bar()
    states = [four_bar_state(crank, 1.1) for crank in (0.4, 1.3, 2.2)]
    tau = [0.3, -0.2, 0.1]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    compiled_a, compiled_forces = qdot.compile(accelerated, model)(q, v, np.array([tau] * 3))
    lanes_a, lanes_forces = accelerated(model, list(q.T), list(v.T), tau)
    for k, (one, rate) in enumerate(states):
        a, forces = accelerated(model, list(one), list(rate), tau)
        close(compiled_a[k], a, 1e-12)
        close(compiled_forces[k], forces, 1e-12)
        close([np.broadcast_to(x, 3)[k] for x in lanes_a], a, 1e-12)
        close([np.broadcast_to(x, 3)[k] for x in lanes_forces], forces, 1e-12)
        close(a, qdot.constrained_forward_dynamics(model, one, rate, tau)[0], TOLERANCE)


def test_symbols() -> None:
    """Two masses on a line, held together by a row that stands there twice: the sum of forces over the sum of masses,
    and the first row carries what is between them."""
    m1, m2, f1, f2, s = sp.symbols("m1 m2 f1 f2 s", positive=True)
    rows = [{0: s, 1: -s}, {0: 1, 1: -1}]
    solver = SparseSchur.of([[m1, 0], [0, m2]], rows)
    a, multipliers = solver.acceleration([f1, f2], [0, 0])
    assert [sp.simplify(x - (f1 + f2) / (m1 + m2)) for x in a] == [0, 0]
    assert solver.kept == [1, 0]
    assert multipliers[1] == 0
    assert sp.simplify(multipliers[0] - (m1 * f2 - m2 * f1) / (m1 + m2) / s) == 0
