"""Equations of a tree, some of whose limbs are joined, against NumPy's solution of the full ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from qdot.algebra.limbs import solved_by_limbs
from qdot.algebra.linalg import ways_to_root

LANES = 6


def tree(random: np.random.Generator, limbs: int) -> tuple[list[int], list[list[int]]]:
    """Parents of rows, and the limbs: of random lengths, each on the last row of one before it, or on nothing."""
    parents: list[int] = []
    rows: list[list[int]] = []
    for k in range(limbs):
        root = -1 if k == 0 or random.random() < 0.1 else rows[random.integers(k)][-1]
        rows.append([])
        for _ in range(random.integers(1, 5)):
            rows[k].append(len(parents))
            parents.append(root if len(rows[k]) == 1 else rows[k][-2])
    return parents, rows


def hang(parents: list[int], limbs: list[list[int]]) -> set[tuple[int, int]]:
    """Pairs of limbs, the higher one first, of which one hangs on the other."""
    ways = ways_to_root(parents)
    return {(m, n) for n, m in combinations(range(len(limbs)), 2) if limbs[n][0] in ways[limbs[m][0]]}


def equations(random: np.random.Generator, parents: list[int], limbs: list[list[int]], share: float):
    """For each lane A, (n, n): M of a tree and products of rows that join two limbs each, as many as that share of all
    pairs; and how many join each pair."""
    n, ways = len(parents), ways_to_root(parents)
    A, joined = np.zeros((LANES, n, n)), {}
    for lane in range(LANES):
        for i in range(n):
            row = np.zeros(n)
            row[[i, *ways[i]]] = random.normal(size=1 + len(ways[i]))
            A[lane] += np.outer(row, row)
        A[lane] += np.eye(n)
    held = hang(parents, limbs)
    for k, m in combinations(range(len(limbs)), 2):
        if (m, k) in held:
            continue
        there = np.where(random.random(LANES) < share, 1.0, 0.0)
        joined[m, k] = there
        for lane in np.flatnonzero(there):
            row = np.zeros(n)
            row[[*limbs[k], *limbs[m]]] = random.normal(size=len(limbs[k]) + len(limbs[m]))
            A[lane] += np.outer(row, row)
    return A, joined


@pytest.mark.parametrize("share", [0.0, 0.15, 1.0])
@given(seed=st.integers(0, 2**16), limbs=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_against_the_full_equations(share: float, seed: int, limbs: int) -> None:
    """On lanes that join other limbs each. Tolerance: conditions are up to some 1e4."""
    random = np.random.default_rng(seed)
    parents, rows = tree(random, limbs)
    A, joined = equations(random, parents, rows, share)
    b = random.normal(size=(LANES, len(parents)))
    entries = [[A[:, i, j] for j in range(i + 1)] for i in range(len(parents))]
    found = np.stack(solved_by_limbs(entries, list(b.T), rows, joined), axis=1)
    expected = np.linalg.solve(A, b[..., None])[..., 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * (1 + np.abs(expected).max()))


def test_what_is_not_joined_is_not_read() -> None:
    """Blocks of limbs that are not joined may hold anything."""
    random = np.random.default_rng(0)
    parents, rows = tree(random, 5)
    A, joined = equations(random, parents, rows, 0.0)
    entries = [[A[0, i, j] for j in range(i + 1)] for i in range(len(parents))]
    b = random.normal(size=len(parents)).tolist()
    expected = solved_by_limbs(entries, b, rows, dict.fromkeys(joined, 0.0))
    for m, n in joined:
        for i in rows[m]:
            for j in rows[n]:
                entries[i][j] = np.nan
    assert solved_by_limbs(entries, b, rows, dict.fromkeys(joined, 0.0)) == expected
    assert np.isfinite(expected).all()
    assert joined
