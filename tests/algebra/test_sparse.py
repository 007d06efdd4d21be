"""Sparse LDLᵀ against NumPy's dense solutions: definite and semidefinite, over floats, lanes, rationals and traces."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from qdot.algebra import Dual, as_array, derivative, is_zero
from qdot.algebra.sparse import SparseFactors, elimination_order, sparse_rows
from qdot.compiler.graph import Graph
from qdot.compiler.interpret import interpret
from qdot.compiler.trace import trace
from qdot.programs import expressions as _expressions  # makes traced expressions scalars  # noqa: F401

WELL_CONDITIONED = 1e-11
"""Condition numbers below some thousand, times ε, times n."""


def sparse_definite(n: int, seed: int, extra: float = 1.0) -> np.ndarray:
    """Σ w wᵀ with three entries in each w, and `extra` on the diagonal."""
    rng = np.random.default_rng(seed)
    A = extra * np.eye(n)
    for _ in range(n):
        w = np.zeros(n)
        w[rng.choice(n, 3, replace=False)] = rng.normal(size=3)
        A += np.outer(w, w)
    return A


def factors_of(A: np.ndarray) -> SparseFactors:
    rows = sparse_rows(A)
    return SparseFactors.of(rows, elimination_order(rows))


# ── what is zero ─────────────────────────────────────────────────────────────────────────────────


def test_zeros_are_known_where_they_are_folded_and_only_there() -> None:
    x = Graph().input("x", 0)
    t = sp.Symbol("t")
    assert all(is_zero(z) for z in (0, 0.0, np.float64(0), sp.Integer(0), t - t, x - x, 0 * x, sp.Float(0)))
    assert not any(is_zero(z) for z in (1, x, t, sp.sin(t) ** 2 + sp.cos(t) ** 2 - 1, x - x + 1, sp.pi))
    assert not is_zero(np.zeros(1))  # a lane that happens to be zero says nothing about the next batch
    assert not is_zero(Dual(0, 1.0, 1))  # a step away from zero


def test_rows_in_full_and_by_places_are_one() -> None:
    assert sparse_rows([[0, 2.0, 0.0], {2: 5, 0: 0}]) == [{1: 2.0}, {2: 5}]


# ── order ────────────────────────────────────────────────────────────────────────────────────────


def test_a_star_is_eliminated_from_its_ends_without_fill_in() -> None:
    """Centre first would couple all ends with each other."""
    n = 30
    A = np.eye(n) * n
    A[0, :] = A[:, 0] = 1
    A[0, 0] = n
    order = elimination_order(sparse_rows(A))
    assert sorted(order) == list(range(n))
    assert order.index(0) >= n - 2
    factors = factors_of(A)
    assert sum(map(len, factors.below)) == n - 1
    first = SparseFactors.of(sparse_rows(A), range(n))
    assert sum(map(len, first.below)) == n * (n - 1) // 2


def test_order_takes_the_least_coupled_and_the_first_of_equals() -> None:
    """A square with a tail, 0–1–2–3–0 and 3–4: the tail's end; then 0 of the square, 1, and the rest."""
    assert elimination_order([[1, 3], [2], [3], [4], []]) == [4, 0, 1, 2, 3]
    assert elimination_order([[], [], []]) == [0, 1, 2]
    assert elimination_order([]) == []


def test_order_is_the_same_for_one_triangle_and_both() -> None:
    rows = sparse_rows(sparse_definite(25, 3))
    lower = [[j for j in row if j <= i] for i, row in enumerate(rows)]
    assert elimination_order(rows) == elimination_order(lower)


# ── factors ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [3, 8, 40])
@pytest.mark.parametrize("seed", range(3))
def test_solution_of_a_definite_system(n: int, seed: int) -> None:
    A = sparse_definite(n, seed)
    b = np.random.default_rng(seed).normal(size=n)
    np.testing.assert_allclose(factors_of(A).solve(b), np.linalg.solve(A, b), rtol=0, atol=WELL_CONDITIONED)


def test_factors_are_of_the_matrix_whichever_the_order_and_triangle() -> None:
    n = 12
    A = sparse_definite(n, 5)
    order = list(np.random.default_rng(0).permutation(n))
    for given in (A, np.tril(A), np.triu(A)):
        factors = SparseFactors.of(sparse_rows(given), order)
        L = np.eye(n)
        for k, column in enumerate(factors.below):
            for i, x in column.items():
                L[i, k] = x
        np.testing.assert_allclose(L / factors.D_inv @ L.T, A, atol=1e-13)
        assert factors.kept == [1] * n


@pytest.mark.parametrize("seed", range(4))
def test_a_semidefinite_system_is_solved_where_it_can_be(seed: int) -> None:
    """Of rank 9 of 24: as many rows are kept, and A x is the side that A can give; rows passed over are zero."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(24, 9)) * (rng.random((24, 9)) < 0.4)
    A = B @ B.T
    side = A @ rng.normal(size=24)
    factors = factors_of(A)
    x = np.array(factors.solve(side))
    assert sum(factors.kept) == np.linalg.matrix_rank(B) < 24
    assert [a for a, kept in zip(x, factors.kept, strict=True) if not kept] == [0] * (24 - int(sum(factors.kept)))
    np.testing.assert_allclose(A @ x, side, rtol=0, atol=1e-9)  # conditions up to 1e6


def test_rows_of_zeros_are_passed_over() -> None:
    A = np.diag([2.0, 0.0, 4.0])
    factors = factors_of(A)
    assert (factors.kept, factors.solve([1, 7, 1])) == ([1, 0, 1], [0.5, 0, 0.25])
    assert factors_of(np.zeros((2, 2))).solve([1.0, 2.0]) == [0, 0]
    assert SparseFactors.of([], []).solve([]) == []


def test_half_solutions_give_the_inverse_and_touch_only_what_they_lead_to() -> None:
    n = 30
    A = sparse_definite(n, 8)
    A[:10, 10:] = A[10:, :10] = 0  # two systems side by side
    factors = factors_of(A)
    sides = [{2: 1.5, 7: -1.0}, {4: 2.0}, {15: 1.0, 20: 0.5}]
    halves = [factors.half_solve(side) for side in sides]
    assert max(halves[0]) < 10 <= min(halves[2])
    full = np.array([[side.get(k, 0) for k in range(n)] for side in sides])
    found = [[sum(y[k] * z[k] * factors.D_inv[k] for k in y if k in z) for z in halves] for y in halves]
    np.testing.assert_allclose(found, full @ np.linalg.solve(A, full.T), rtol=0, atol=WELL_CONDITIONED)


# ── any scalar ───────────────────────────────────────────────────────────────────────────────────


def test_lanes_are_rows_of_a_batch_of_which_some_repeat_themselves() -> None:
    """[2 x; x 2] with x = 2 in one lane: singular there, and solved there too."""
    x = np.array([0.5, 2.0, -1.0])
    factors = SparseFactors.of([{0: 2.0, 1: x}, {1: 2.0}], [0, 1])
    found = as_array(factors.solve([2 + x, 2 + x]))
    np.testing.assert_allclose(found, [[1, 1], [2, 0], [1, 1]], atol=1e-15)
    np.testing.assert_array_equal(factors.kept[1], [1, 0, 1])


def test_rationals_are_solved_exactly() -> None:
    A = np.array([[4, 1, 0, 1], [1, 5, 2, 0], [0, 2, 6, 0], [1, 0, 0, 3]])
    exact = [{j: sp.Rational(int(x)) for j, x in enumerate(row) if x} for row in A]
    found = SparseFactors.of(exact, elimination_order(exact)).solve([sp.Rational(k, 7) for k in range(4)])
    assert found == list(sp.Matrix(A).LUsolve(sp.Matrix([sp.Rational(k, 7) for k in range(4)])))


def test_derivative_of_a_solution() -> None:
    """d(A⁻¹ b) = -A⁻¹ dA A⁻¹ b."""
    A, dA = sparse_definite(9, 1), np.diag(np.arange(9.0))
    b = np.arange(1.0, 10.0)

    def solution(step):
        rows = [{j: x + step[0] * dA[i, j] for j, x in row.items()} for i, row in enumerate(sparse_rows(A))]
        return SparseFactors.of(rows, elimination_order(rows)).solve(b)

    found = derivative(solution, [1.0])
    np.testing.assert_allclose(found, -np.linalg.solve(A, dA @ np.linalg.solve(A, b)), atol=WELL_CONDITIONED)


def test_a_trace_computes_what_floats_do_and_as_little() -> None:
    """A band of width 1: nothing is written down for the zeros beside it, also where they are folded expressions."""

    def text(d, e, b):
        n = len(d)
        full = [[d[i] if i == j else e[min(i, j)] if abs(i - j) == 1 else 0 * e[0] for j in range(n)] for i in range(n)]
        rows = sparse_rows(full)
        return {"x": SparseFactors.of(rows, elimination_order(rows)).solve(b)}

    def program(n):
        return trace("band", text, {"d": (n,), "e": (n - 1,), "b": (n,)})

    rng = np.random.default_rng(0)
    given = {"d": 3 + rng.random(20), "e": rng.normal(size=19), "b": rng.normal(size=20)}
    found = interpret(program(20), {name: x[None] for name, x in given.items()}, np.dtype(float))["x"][0]
    np.testing.assert_allclose(found, text(*map(list, given.values()))["x"], rtol=0, atol=1e-14)
    small, large = program(10).operations(), program(40).operations()
    assert large < 4.3 * small  # four times as much, less what the ends save
