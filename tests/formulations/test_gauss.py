"""Gauss' principle with inequalities (T10), against the conditions of optimality, SciPy and OSQP.

The problem is strictly convex: a is the solution if and only if forces μ ≥ 0 and λ exist with D (a - a₀) = Jᵀ λ + Gᵀ μ,
J a = b, G a ≥ h and μ·(G a - h) = 0. Tolerance 1e-9 relative to the largest force: rows drawn at random may be nearly
dependent. With SciPy and OSQP 1e-6: the first divides by a small number, the second iterates until 1e-10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import sympy

from qdot import formulations
from qdot.errors import ModelError, ScalarError, SingularError, ValueShapeError
from tests.laws.trees import close


class Problem(NamedTuple):
    D: np.ndarray
    free: np.ndarray
    J: np.ndarray
    b: np.ndarray
    G: np.ndarray
    h: np.ndarray

    def solve(self) -> formulations.GaussSolution:
        return formulations.gauss(self.D, self.free, self.J, self.b, at_least=(self.G, self.h))


def problem(seed: int) -> Problem:
    """A feasible problem; rows repeat each other, touch at the solution, or make an equality of two inequalities."""
    rng = np.random.default_rng(seed)
    n, m, k = (int(x) for x in (rng.integers(1, 9), rng.integers(0, 4), rng.integers(0, 12)))
    B, allowed = rng.normal(size=(n, n)), rng.normal(size=n)
    D, free, J, G = B @ B.T + 0.1 * np.eye(n), 3 * rng.normal(size=n), rng.normal(size=(m, n)), rng.normal(size=(k, n))
    h = G @ allowed - rng.uniform(0, 1, k) * (rng.random(k) < 0.6)
    if m > 1 and seed % 3 == 0:
        J[1] = -2 * J[0]
    if k > 1 and seed % 2 == 0:
        G[1], h[1] = 3 * G[0], 3 * h[0]
    if k > 3 and seed % 5 == 0:
        h[3] = G[3] @ allowed
        G[2], h[2] = -G[3], -h[3]
    return Problem(D, free, J, J @ allowed, G, h)


@pytest.mark.parametrize("seed", range(120))
def test_conditions_of_optimality(seed: int) -> None:
    p = problem(seed)
    found = p.solve()
    a = found.acceleration
    scale = 1e-9 * (1 + np.abs(found.at_least).max(initial=0) + np.abs(found.equal).max(initial=0))
    assert np.abs(p.D @ (a - p.free) - p.J.T @ found.equal - p.G.T @ found.at_least).max() < scale
    assert np.abs(p.J @ a - p.b).max(initial=0) < scale
    assert (p.G @ a - p.h > -scale).all()
    assert (found.at_least >= 0).all()
    assert np.abs(found.at_least * (p.G @ a - p.h)).max(initial=0) < scale


def test_the_problems_are_of_all_kinds() -> None:
    """Some rows act and some do not; some problems have none."""
    acting = [int((problem(seed).solve().at_least > 1e-9).sum()) for seed in range(120)]
    assert max(acting) >= 4
    assert acting.count(0) >= 10


@pytest.mark.parametrize("seed", range(0, 120, 4))
def test_against_scipy(seed: int) -> None:
    """The shortest z with N z ≥ c by non-negative least squares (Lawson, Hanson 1974, §23.4);
    an equality is two inequalities."""
    from scipy.optimize import nnls

    p = problem(seed)
    L = np.linalg.cholesky(p.D)
    rows, bounds = np.vstack([p.J, -p.J, p.G]), np.concatenate([p.b, -p.b, p.h])
    N, c = np.linalg.solve(L, rows.T), bounds - rows @ p.free
    if not len(c):
        expected = p.free
    else:
        E, unit = np.vstack([N, c]), np.eye(len(p.free) + 1)[-1]
        r = E @ nnls(E, unit)[0] - unit
        expected = p.free + np.linalg.solve(L.T, -r[:-1] / r[-1])
    close(p.solve().acceleration, expected, 1e-6)


@pytest.mark.parametrize("seed", range(0, 120, 3))
def test_against_osqp(seed: int) -> None:
    osqp = pytest.importorskip("osqp")
    from scipy.sparse import csc_matrix

    p = problem(seed)
    solver = osqp.OSQP()
    solver.setup(
        csc_matrix(np.triu(p.D)),
        -p.D @ p.free,
        csc_matrix(np.vstack([p.J, p.G])),
        np.concatenate([p.b, p.h]),
        np.concatenate([p.b, np.full(len(p.h), np.inf)]),
        eps_abs=1e-10,
        eps_rel=1e-10,
        max_iter=200_000,
        polishing=True,
        verbose=False,
    )
    close(p.solve().acceleration, solver.solve(raise_error=True).x, 1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_equalities_alone_are_kkt(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 6, 3
    B, J, f, x = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=n), rng.normal(size=n)
    D = B @ B.T + np.eye(n)
    expected = formulations.kkt(D, lambda y: [sum(J[i] * y) for i in range(m)], x, x, f)
    found = formulations.gauss(D, np.linalg.solve(D, f), J, np.zeros(m))
    close(found.acceleration, expected.acceleration, 1e-12)
    close(found.equal, expected.multipliers, 1e-12)


def test_inequalities_that_act_are_equalities() -> None:
    p = problem(11)
    found = p.solve()
    acting = found.at_least > 1e-9
    assert acting.any()
    again = formulations.gauss(p.D, p.free, np.vstack([p.J, p.G[acting]]), np.concatenate([p.b, p.h[acting]]))
    close(again.acceleration, found.acceleration, 1e-9)


def test_a_ball_on_a_table_and_above_it() -> None:
    """Pushed down it stays and the table carries its weight; pulled up it leaves and the table does nothing."""
    down = formulations.gauss([2.0], [1.0, 0.0, -9.81], at_least=([[0, 0, 1]], [0]))
    close(down.acceleration, [1, 0, 0], 1e-14)
    close(down.at_least, [2 * 9.81], 1e-14)
    up = formulations.gauss([2.0], [1.0, 0.0, 3.0], at_least=([[0, 0, 1]], [0]))
    close(up.acceleration, [1, 0, 3], 1e-14)
    close(up.at_least, [0], 1e-14)


def test_degenerate_corners() -> None:
    """In the plane, many walls through one point: the nearest corner, with forces that balance."""
    angles = np.linspace(0, np.pi, 9)
    G = np.column_stack([np.cos(angles - np.pi / 2), np.sin(angles + np.pi / 2)])
    G = np.vstack([G, G, 2 * G])
    h = G @ [1.0, 1.0]
    found = formulations.gauss([1.0, 1.0], [-3.0, -2.0], at_least=(G, h))
    assert (G @ found.acceleration - h > -1e-12).all()
    close(found.acceleration - [-3.0, -2.0], G.T @ found.at_least, 1e-12)
    assert (np.abs(found.at_least * (G @ found.acceleration - h)) < 1e-12).all()


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_units_do_not_matter(size: float) -> None:
    """Masses in grams, forces in kilonewtons: the same rows act."""
    p = problem(22)
    a = p.solve().acceleration
    scaled = formulations.gauss(p.D * size, p.free * size, p.J, p.b * size, at_least=(p.G / size, p.h))
    close(scaled.acceleration / size, a, 1e-9)


def test_batches() -> None:
    free = np.array([[0.0, 0, -1], [0, 0, 1], [1, 0, -3]])
    found = formulations.gauss([1.0], free, [[1.0, 0, 0]], [0.5], at_least=([[0, 0, 1.0]], [0.0]))
    close(found.acceleration, [[0.5, 0, 0], [0.5, 0, 1], [0.5, 0, 0]], 1e-14)
    assert found.equal.shape == (3, 1)
    assert found.at_least.shape == (3, 1)
    J = np.array([[[1.0, 0, 0]], [[0, 1.0, 0]], [[0, 0, 1.0]]])
    turned = formulations.gauss([1.0], [1.0, 2.0, 3.0], J, [0.0])
    close(turned.acceleration, [[0, 2, 3], [1, 0, 3], [1, 2, 0]], 1e-14)


def test_symbols_take_equalities() -> None:
    m, a, b = sympy.symbols("m a b", positive=True)
    found = formulations.gauss([m, m], [a, b], [[1, 1]], [0])
    assert [sympy.simplify(x) for x in found.acceleration - np.array([(a - b) / 2, (b - a) / 2])] == [0, 0]
    with pytest.raises(ScalarError, match="give numbers"):
        formulations.gauss([m], [a], at_least=([[1]], [0]))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"J": [[1, 0], [2, 0]], "b": [1, 1]}, ModelError, "row . contradicts"),
        ({"at_least": ([[1, 0], [-1, 0]], [1, 0])}, ModelError, r"inequality . of G a ≥ h contradicts inequalities \["),
        ({"J": [[1, 0]], "b": [0], "at_least": ([[1, 0]], [1])}, ModelError, "contradicts the equalities"),
        ({"J": [[0, 0]], "b": [1]}, ModelError, "row 0"),
        ({"at_least": ([[0, 0]], [1])}, ModelError, "inequality 0"),
        ({"at_least": [[1, 0]]}, ValueShapeError, "a pair"),
        ({"J": [[1, 0, 0]], "b": [0]}, ValueShapeError, "3 columns"),
        ({"J": [[1, 0]], "b": [0, 1]}, ValueShapeError, "b has 2 entries"),
    ],
)
def test_what_is_refused(options, error, words) -> None:
    with pytest.raises(error, match=words):
        formulations.gauss([1.0, 2.0], [0.3, 0.4], **options)


def test_inertia_must_be_positive() -> None:
    with pytest.raises(SingularError, match="mass above zero"):
        formulations.gauss([[1.0, 1.0], [1.0, 1.0]], [0.0, 0.0])
