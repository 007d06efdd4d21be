"""LDLᵀ and LᵀDL against NumPy, over lanes, and exactly over rationals; a tree's sparsity is kept."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st

from qdot.algebra import as_array, derivative
from qdot.algebra.linalg import TreeFactors, dot, ldlt, ldlt_solve, matvec

TREES = {
    "none": [],
    "one": [-1],
    "chain": [-1, 0, 1, 2, 3],
    "bush": [-1, -1, -1, -1],
    "forest": [-1, 0, 0, -1, 3, 1, 4, 4],
    "robot": [-1, 0, 1, 2, 2, 4, 1, 6, 0, 8],
}
WELL_CONDITIONED = 1e-12
"""Condition numbers below some hundred, times ε, times n."""


def path(parents, i):
    """i and its ancestors."""
    found = []
    while i >= 0:
        found.append(i)
        i = parents[i]
    return found


def related(parents, i, j):
    return j in path(parents, i) or i in path(parents, j)


def tree_matrix(parents, seed, whole=False):
    """Σ wᵢ wᵢᵀ + 1 with wᵢ on the path to i only, as a mass matrix sums over bodies: definite, with zeros."""
    rng = np.random.default_rng(seed)
    n = len(parents)
    A = np.eye(n)
    for i in range(n):
        w = np.zeros(n)
        w[path(parents, i)] = (
            rng.integers(-3, 4, len(path(parents, i))) if whole else rng.normal(size=len(path(parents, i)))
        )
        A += np.outer(w, w)
    return A


def definite(n, seed):
    B = np.random.default_rng(seed).normal(size=(n, n))
    return B @ B.T + np.eye(n)


def lower_only(A, unread, parents=None):
    """A as lists, with what must not be read replaced."""
    n = len(A)
    return [
        [A[i][j] if j <= i and (parents is None or related(parents, i, j)) else unread for j in range(n)]
        for i in range(n)
    ]


# ── dense ────────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 7), st.integers(0, 10**6))
def test_ldlt_factors_and_solves(n, seed):
    A, b = definite(n, seed), np.arange(1.0, n + 1)
    L, D = ldlt(lower_only(A, unread="not read"))
    lower = np.array(L, dtype=float).reshape(n, n)
    assert (np.triu(lower, 1) == 0).all()
    assert (np.diag(lower) == 1).all()
    assert all(d > 0 for d in D)
    np.testing.assert_allclose(lower @ np.diag(D) @ lower.T, A, rtol=0, atol=WELL_CONDITIONED)
    x = ldlt_solve((L, D), b.tolist())
    np.testing.assert_allclose(A @ np.array(x, dtype=float), b, rtol=0, atol=WELL_CONDITIONED * 10)


def test_ldlt_of_lanes():
    A = np.array([definite(4, seed) for seed in range(6)])
    b = np.random.default_rng(0).normal(size=(6, 4))
    x = ldlt_solve(ldlt(np.moveaxis(A, 0, -1)), b.T)
    np.testing.assert_allclose(as_array(x), np.linalg.solve(A, b[..., None])[..., 0], rtol=0, atol=WELL_CONDITIONED)


def test_ldlt_of_rationals_is_exact():
    A = sp.Matrix(4, 4, lambda i, j: sp.Rational(1, i + j + 1))  # Hilbert's, hopeless in floats beyond 12
    b = [sp.Integer(k) for k in (1, -2, 3, 5)]
    L, D = ldlt(A.tolist())
    assert sp.Matrix(L) * sp.diag(*D) * sp.Matrix(L).T == A
    assert A * sp.Matrix(ldlt_solve((L, D), b)) == sp.Matrix(b)


def test_ldlt_of_symbols():
    a, b, c = sp.symbols("a b c")
    x = ldlt_solve(ldlt([[a, b], [b, c]]), [1, 0])
    assert [sp.simplify(e) for e in (x[0] - c / (a * c - b * b), x[1] + b / (a * c - b * b))] == [0, 0]


def test_ldlt_differentiates():
    """dx = -A⁻¹ dA x."""
    A, b, dA = definite(4, 1), np.array([1.0, -2.0, 0.5, 3.0]), definite(4, 2)
    slope = derivative(
        lambda e: ldlt_solve(ldlt([[A[i, j] + dA[i, j] * e[0] for j in range(4)] for i in range(4)]), b), [1.0]
    )
    np.testing.assert_allclose(slope, -np.linalg.solve(A, dA @ np.linalg.solve(A, b)), rtol=0, atol=WELL_CONDITIONED)


# ── trees ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tree", TREES)
def test_tree_factors_factors_and_solves_and_keeps_the_sparsity(tree):
    """What lies across branches or above the diagonal is a string: reading it would raise."""
    parents = TREES[tree]
    n = len(parents)
    for seed in range(5):
        A, b = tree_matrix(parents, seed), np.arange(1.0, n + 1)
        factors = TreeFactors.of(lower_only(A, "not read", parents), parents)
        lower, D = np.array(factors.L, dtype=float).reshape(n, n), 1 / np.array(factors.D_inv)
        assert all(lower[i, j] == 0 for i in range(n) for j in range(n) if i != j and j not in path(parents, i))
        assert all(d > 0 for d in D)
        np.testing.assert_allclose(lower.T @ np.diag(D) @ lower, A, rtol=0, atol=WELL_CONDITIONED)
        x = factors.solve(b.tolist())
        np.testing.assert_allclose(np.array(x, dtype=float), np.linalg.solve(A, b), rtol=0, atol=WELL_CONDITIONED)


def test_tree_factors_of_lanes():
    parents = TREES["robot"]
    A = np.array([tree_matrix(parents, seed) for seed in range(6)])
    b = np.random.default_rng(0).normal(size=(6, len(parents)))
    x = TreeFactors.of(np.moveaxis(A, 0, -1), parents).solve(b.T)
    np.testing.assert_allclose(as_array(x), np.linalg.solve(A, b[..., None])[..., 0], rtol=0, atol=WELL_CONDITIONED)


@pytest.mark.parametrize("tree", TREES)
def test_tree_factors_of_rationals_is_exact(tree):
    parents = TREES[tree]
    n = len(parents)
    A = sp.Matrix(n, n, [sp.Integer(int(a)) for a in tree_matrix(parents, 3, whole=True).flat])
    b = [sp.Integer(k + 1) for k in range(n)]
    factors = TreeFactors.of(A.tolist() if n else [], parents)
    if n:
        L = sp.Matrix(factors.L)
        assert L.T * sp.diag(*(1 / d for d in factors.D_inv)) * L == A
        assert A * sp.Matrix(factors.solve(b)) == sp.Matrix(b)


@pytest.mark.parametrize("tree", TREES)
def test_many_right_hand_sides(tree):
    """The same as one by one: zeros, units, and sides that are zero but in related rows."""
    parents = TREES[tree]
    n = len(parents)
    factors = TreeFactors.of(tree_matrix(parents, 1).tolist() if n else [], parents)
    related = np.array([[i in path(parents, k) or k in path(parents, i) for i in range(n)] for k in range(n)])
    random = np.random.default_rng(2).normal(size=(n, n)) * related.reshape(n, n)
    sides = [(k, b) for k in range(n) for b in ([0] * n, np.eye(n)[k].tolist(), random[k].tolist())]
    expected = np.array([factors.solve(b) for _, b in sides], dtype=float)
    np.testing.assert_allclose(np.array(factors.solve_each(sides)), expected, rtol=0, atol=WELL_CONDITIONED)


def test_arguments_are_left_as_they_were():
    A, b = definite(3, 0).tolist(), [1.0, 2.0, 3.0]
    before = [list(row) for row in A]
    ldlt_solve(ldlt(A), b)
    TreeFactors.of(A, [-1, 0, 1]).solve(b)
    assert (before, [1.0, 2.0, 3.0]) == (A, b)


def test_products():
    assert dot([1, 2, 3], [4, 5, 6]) == 32
    assert dot([], []) == 0
    assert matvec([[1, 2], [3, 4]], [5, 6]) == [17, 39]
    with pytest.raises(ValueError, match="shorter"):
        dot([1, 2], [1])
