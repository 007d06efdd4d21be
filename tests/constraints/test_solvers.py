"""All ways to the change of motion that constraints ask for agree, also where rows repeat each other."""

from __future__ import annotations

import numpy as np
import pytest

from qdot.algorithms.constraints.rows import dense
from qdot.algorithms.constraints.solvers import SOLVERS, Mass, solver_for

TOLERANCE = 1e-9
"""The systems have condition numbers up to 1e4; the penalty's rounds leave some 1e-12."""


def problem(seed: int, n: int, m: int, repeated: int) -> tuple[Mass, list[dict[int, float]], np.ndarray]:
    """A tree's M, rows of which the last so many are combinations of those before, and an r that they agree on."""
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(-1, k)) for k in range(1, n))]
    L = np.eye(n)
    for k in range(n):
        p = parents[k]
        while p >= 0:
            L[k, p] = rng.normal()
            p = parents[p]
    M = L.T @ np.diag(rng.uniform(0.5, 2.0, n)) @ L
    J = np.zeros((m, n))
    while np.linalg.svd(J[: m - repeated], compute_uv=False).min() < 0.05:  # far from singular: that is another test
        J = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
    r = rng.normal(size=m)
    for k in range(m - repeated, m):
        mix = rng.normal(size=m - repeated)
        J[k], r[k] = mix @ J[: m - repeated], mix @ r[: m - repeated]
    rows = [{k: x for k, x in enumerate(row) if x != 0} for row in J.tolist()]
    return Mass(M.tolist()), rows, r


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(("n", "m", "repeated"), [(5, 2, 0), (6, 4, 1), (8, 7, 3), (4, 4, 0), (7, 1, 0)])
@pytest.mark.parametrize("seed", range(3))
def test_shortest_change_with_its_forces(name: str, n: int, m: int, repeated: int, seed: int) -> None:
    mass, rows, r = problem(seed, n, m, repeated)
    J, M = np.array(dense(rows, n), dtype=float), np.array(mass.M, dtype=float)
    x, multipliers = (np.array(part, dtype=float) for part in SOLVERS[name](mass, rows).correction(r.tolist()))
    scale = 1 + np.abs(x).max()
    np.testing.assert_allclose(J @ x, r, atol=TOLERANCE * scale)
    np.testing.assert_allclose(M @ x, J.T @ multipliers, atol=TOLERANCE * scale * np.abs(M).max())
    exact = np.linalg.solve(M, J.T @ np.linalg.pinv(J @ np.linalg.solve(M, J.T), rcond=1e-10) @ r)
    np.testing.assert_allclose(x, exact, atol=TOLERANCE * scale)


@pytest.mark.parametrize("name", SOLVERS)
def test_rows_that_say_nothing(name: str) -> None:
    """0 · x = 0 twice, beside a row that holds: never a NaN."""
    mass, rows, r = problem(1, 4, 1, 0)
    x, multipliers = SOLVERS[name](mass, [{}, rows[0], {0: 0.0}]).correction([0.0, r[0], 0.0])
    assert np.isfinite(np.array([*x, *multipliers], dtype=float)).all()
    assert multipliers[0] == 0
    assert multipliers[2] == 0


def test_auto_is_dense_for_few_rows_and_sparse_for_many() -> None:
    assert solver_for("auto", 5, 3) is SOLVERS["range space"]
    assert solver_for("auto", 200, 81) is SOLVERS["sparse"]
