"""Elimination without symmetry, against NumPy: full and sparse matrices, saddle points, rows that repeat each other."""

from __future__ import annotations

import numpy as np
import pytest

from qdot.algebra.elimination import Eliminated


def damped(rng: np.random.Generator, n: int) -> np.ndarray:
    """A matrix with a positive definite symmetric part."""
    A, B = rng.normal(size=(2, n, n))
    return A @ A.T + np.eye(n) + (B - B.T)


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_a_full_matrix(n: int) -> None:
    rng = np.random.default_rng(n)
    A, b = damped(rng, n), rng.normal(size=n)
    x = Eliminated.of(A.tolist()).solve(b)
    assert A @ x == pytest.approx(b, abs=1e-11 * np.abs(A).max())  # no pivots: some digits beside 1e-16 are lost


def test_a_tree_has_no_fill_in() -> None:
    """Two branches of three rows on a root: eliminated from the leaves, they never meet."""
    parents, rng = [-1, 0, 1, 2, 0, 4, 5], np.random.default_rng(0)
    related = np.eye(7, dtype=bool)
    for i, p in enumerate(parents):
        while p >= 0:
            related[i, p] = related[p, i] = True
            p = parents[p]
    A, b = np.where(related, damped(rng, 7), 0.0), rng.normal(size=7)
    factors = Eliminated.of(A.tolist())
    assert sum(map(len, factors.lower)) == (related.sum() - 7) / 2
    assert sum(map(len, factors.upper)) == (related.sum() - 7) / 2
    assert factors.solve(b) == pytest.approx(np.linalg.solve(A, b), abs=1e-10)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_a_saddle_point_in_which_rows_repeat_others(m: int) -> None:
    """Twice a row, a sum of rows, and rows of zeros and of rounding size carry no force and change nothing."""
    rng = np.random.default_rng(m)
    n = 6
    A, J, b = damped(rng, n), rng.normal(size=(m, n)), rng.normal(size=n)
    H, r = J + 0.05 * rng.normal(size=(m, n)), rng.normal(size=m)
    plain = np.linalg.solve(np.block([[A, -J.T], [H, np.zeros((m, m))]]), [*b, *r])
    repeat = np.vstack([np.eye(m), 2 * np.eye(m)[0], np.ones(m), np.zeros(m)])
    more_J, more_H, more_r = repeat @ J, repeat @ H, repeat @ r
    more_J[-1, 2] = more_H[-1, 2] = 1e-17
    J_rows, H_rows = ([dict(enumerate(row)) for row in M.tolist()] for M in (more_J, more_H))
    x = Eliminated.saddle(A.tolist(), J_rows, H_rows).solve([*b, *more_r])
    assert x[: n + m] == pytest.approx(plain, abs=1e-9)
    assert x[n + m :] == [0, 0, 0]
