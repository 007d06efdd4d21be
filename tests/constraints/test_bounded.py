"""Forces within bounds: the conditions themselves, every side tried, SciPy, Gauss' principle, and hard cases.

Matrices are A = R Rᵀ with a row R_i for each force, and b = R c, so that ½ |Rᵀ z + c|² is what z makes least, and
Rᵀ z is the same for all solutions even where z is not.
"""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from qdot.algebra import derivative, map_scalars
from qdot.algorithms.constraints import bounded as module
from qdot.algorithms.constraints.bounded import bounded
from qdot.algorithms.gauss import nearest_allowed
from qdot.compiler.interpret import interpret
from qdot.compiler.trace import trace
from qdot.programs import expressions  # noqa: F401  (makes traced expressions scalars)
from tests.backends.loading import by_llvm, run

INF = float("inf")


def problem(kind, m, rng):
    """R, c, low, high, in units in which forces are of the size of one."""
    R = rng.normal(size=(m, m))
    if kind == "redundant":
        R = rng.normal(size=(m, (m + 1) // 2))
    if kind == "repeated":
        R[m // 2 :] = R[: m - m // 2]
    if kind == "alike":  # rows that nearly are one
        R = 0.1 * R + rng.normal(size=m)
    if kind == "light and heavy":  # inverse masses over six decades
        R = R * 10 ** rng.uniform(-3, 0, m)
    R /= np.linalg.norm(R, axis=1)[:, None]
    c = rng.normal(size=R.shape[1])
    low = np.where(rng.random(m) < 0.5, 0.0, np.where(rng.random(m) < 0.3, -INF, -rng.random(m)))
    high = np.where(rng.random(m) < 0.5, INF, rng.random(m))
    return R, c, low, high


KINDS = ["definite", "redundant", "repeated", "alike", "light and heavy"]


def solved(A, b, low, high):
    solution = bounded(np.asarray(A).tolist(), list(map(float, b)), list(map(float, low)), list(map(float, high)))
    return np.array(solution.z, dtype=float), float(solution.residual)


def assert_complementary(A, b, low, high, z, tolerance):
    """w = 0 between the bounds, pushing against them at them, to a tolerance of the terms of w."""
    w = A @ z + b
    assert (low <= z).all()
    assert (z <= high).all()
    small = tolerance * (np.abs(A) @ np.abs(z) + np.abs(b) + 1e-300)
    assert (w[z > low] <= small[z > low]).all()
    assert (w[z < high] >= -small[z < high]).all()


# ── right answers ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 2, 3, 7, 21])
def test_conditions_hold(m, kind):
    """To 1e-9 of the terms of w: rounding, times a condition number that a free set may have."""
    rng = np.random.default_rng([m, KINDS.index(kind)])
    for _ in range(8):
        R, c, low, high = problem(kind, m, rng)
        A, b = R @ R.T, R @ c
        z, residual = solved(A, b, low, high)
        assert_complementary(A, b, low, high, z, 1e-9)
        assert residual <= 1e-10 * (1 + np.abs(z).max())


@pytest.mark.parametrize("seed", range(6))
def test_no_choice_of_sides_does_better(seed):
    """All 3⁴ choices of bounds, each solved by NumPy: the right one gives z to rounding times the condition, 1e-10."""
    rng = np.random.default_rng(seed)
    R, c, low, high = problem("definite", 4, rng)
    A, b = R @ R.T, R @ c
    found = []
    for sides in product((-1, 0, 1), repeat=4):
        sides = np.array(sides)
        z = np.where(sides < 0, low, np.where(sides > 0, high, 0.0))
        free = sides == 0
        if np.isinf(z).any():
            continue
        z[free] = np.linalg.solve(A[np.ix_(free, free)], -(b + A @ z)[free])
        w = A @ z + b
        inside = (low - 1e-12 <= z).all() and (z <= high + 1e-12).all()
        if inside and (w[sides < 0] >= -1e-12).all() and (w[sides > 0] <= 1e-12).all():
            found.append(z)
    z, _ = solved(A, b, low, high)
    assert found
    for other in found:
        np.testing.assert_allclose(z, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [5, 21])
def test_scipy_agrees(m, kind):
    """Rᵀ z, and with it the motion, to 1e-9 of its size: SciPy's least squares run on R itself, ours on R Rᵀ."""
    rng = np.random.default_rng([m, 3, KINDS.index(kind)])
    for _ in range(3):
        R, c, low, high = problem(kind, m, rng)
        z, _ = solved(R @ R.T, R @ c, low, high)
        expected = lsq_linear(R.T, -c, (low, high), method="bvls", tol=1e-15, max_iter=1000)
        size = np.abs(R.T @ expected.x + c).max() + np.abs(c).max()
        np.testing.assert_allclose(R.T @ z, R.T @ expected.x, rtol=0, atol=1e-9 * size)


def test_gauss_principle_agrees():
    """Limits G a ≥ h: the multipliers of the least constraint are z, for A = G D⁻¹ Gᵀ and b = G a₀ - h."""
    rng = np.random.default_rng(8)
    for n, m in [(3, 2), (6, 5), (9, 9)]:
        B = rng.normal(size=(n, n))
        D, free, G, h = B @ B.T + np.eye(n), rng.normal(size=n), rng.normal(size=(m, n)), rng.normal(size=m)
        expected = nearest_allowed(D, free, np.zeros((0, n)), np.zeros(0), G, h)
        z, _ = solved(G @ np.linalg.solve(D, G.T), G @ free - h, np.zeros(m), np.full(m, INF))
        np.testing.assert_allclose(z, expected.at_least, rtol=0, atol=1e-10 * (1 + np.abs(expected.at_least).max()))
        np.testing.assert_allclose(free + np.linalg.solve(D, G.T @ z), expected.acceleration, rtol=0, atol=1e-9)


@pytest.mark.parametrize("b", [-7.0, -1.0, 0.0, 0.4, 9.0])
def test_one_row_is_clipped(b):
    assert solved([[2.0]], [b], [-1.5], [0.25]) == (np.clip(-b / 2, -1.5, 0.25), 0.0)


def test_friction_sticks_as_far_as_it_can():
    """Two blocks on a line, joined by nothing, 2 and 4 kg, pulled by 3 and 9 N, friction 5 N: one holds, one slides."""
    z, residual = solved(np.diag([1 / 2, 1 / 4]), [3 / 2, 9 / 4], [-5, -5], [5, 5])
    np.testing.assert_array_equal(z, [-3.0, -5.0])
    assert residual == 0


@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_stack_with_a_mass_ratio_of_a_million(ratio):
    """A tower of blocks of 1 kg and `ratio` kg in turn: each contact carries what lies above it, to 1e-9 of it."""
    masses, g = np.array([1.0, ratio, 1.0, ratio, 1.0, ratio]), 9.81
    n = len(masses)
    J = np.eye(n) - np.eye(n, k=-1)  # contact k pushes block k up and the one below down
    z, residual = solved(J @ np.diag(1 / masses) @ J.T, J @ np.full(n, -g), np.zeros(n), np.full(n, INF))
    expected = g * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(z, expected, rtol=1e-9)
    assert residual < 1e-9 * expected.max()


# ── hard cases ───────────────────────────────────────────────────────────────────────────────────

CYCLE = np.array([[4.0, 5, -5], [5, 9, -5], [-5, -5, 7]])
"""Curtis, Han, Robinson, Computational Optimization and Applications 60, 2015: guesses go round in circles."""


def test_guesses_that_go_round_in_circles():
    b, low, high = [-2.0, -1.0, 3.0], [0.0] * 3, [INF] * 3
    assert module._Box.of(CYCLE.tolist(), b, low, high).guessed()[1] > 0
    z, residual = solved(CYCLE, b, low, high)
    np.testing.assert_allclose(z, [0.5, 0, 0], rtol=1e-15)
    assert residual < 1e-15


@pytest.mark.parametrize("m", [3, 8, 14])
def test_cases_that_take_exponential_time_elsewhere(m):
    """Fathi's M Mᵀ (Mathematical Programming 17, 1979): pivoting by Murty's rule tries nearly all 2^m sides."""
    M = np.eye(m) + 2 * np.triu(np.ones((m, m)), 1)
    z, residual = solved(M @ M.T, np.full(m, -1.0), np.zeros(m), np.full(m, INF))
    np.testing.assert_allclose(z, np.eye(m)[-1], rtol=0, atol=1e-12)
    assert residual < 1e-12


def test_repeated_friction_is_shared():
    """Two equal rows of 1 N at most, 1.5 N needed."""
    z, residual = solved(np.ones((2, 2)), [-1.5, -1.5], [-1, -1], [1, 1])
    assert z.sum() == pytest.approx(1.5, rel=1e-15)
    assert residual < 1e-15


def test_held_and_shifted_rows():
    """Bounds that shut zero out, and low = high: the rest is solved as if those forces were given."""
    rng = np.random.default_rng(4)
    R, c, low, high = problem("definite", 6, rng)
    A, b = R @ R.T, R @ c
    low[:3], high[:3] = [0.0, 0.7, -2.0], [0.0, 0.7, -1.0]
    z, _ = solved(A, b, low, high)
    assert_complementary(A, b, low, high, z, 1e-10)
    assert z[:2].tolist() == [0.0, 0.7]
    fixed = A[2:, :2] @ [0.0, 0.7]
    np.testing.assert_allclose(solved(A[2:, 2:], b[2:] + fixed, low[2:], high[2:])[0], z[2:], rtol=0, atol=1e-12)


def test_rows_that_no_force_moves():
    """They carry nothing, disturb nobody, and tell what they ask for in vain; all zero is no harm either."""
    A = np.zeros((3, 3))
    A[0, 0] = 2.0
    z, residual = solved(A, [-1.0, 0.0, 0.0], [0, -INF, 0], [INF, INF, 1])
    assert (z.tolist(), residual) == ([0.5, 0.0, 0.0], 0.0)
    z, residual = solved(A, [-1.0, 0.0, -3.0], [0, -INF, 0], [INF, INF, INF])
    assert (z.tolist(), residual) == ([0.5, 0.0, 0.0], 3.0)
    assert solved(np.zeros((0, 0)), [], [], []) == (pytest.approx(np.zeros(0)), 0.0)


def test_contradictions_are_told():
    """Equal rows that are to move differently: no force does that, and the residual is the half of it at least."""
    z, residual = solved(np.ones((2, 2)), [1.0, 2.0], [-INF, -INF], [INF, INF])
    assert np.isfinite(z).all()
    assert 0.5 <= residual <= 1.0


# ── other scalars ────────────────────────────────────────────────────────────────────────────────


def batch(kind, m, rows, seed):
    rng = np.random.default_rng(seed)
    A, b, low, high = [], [], [], []
    for _ in range(rows):
        R, c, lo, hi = problem(kind, m, rng)
        A, b, low, high = [*A, R @ R.T], [*b, R @ c], [*low, lo], [*high, hi]
    return {"A": np.array(A), "b": np.array(b), "low": np.array(low), "high": np.array(high)}


def program(m):
    def text(A, b, low, high):
        solution = bounded(A, b, low, high)
        return {"z": solution.z, "residual": solution.residual}

    return trace("bounded", text, {"A": (m, m), "b": (m,), "low": (m,), "high": (m,)})


def cases():
    """Where guesses suffice and where they do not, side by side."""
    inputs = [batch(kind, 3, 12, k) for k, kind in enumerate(("definite", "alike"))]
    inputs.append(
        {"A": CYCLE[None], "b": np.array([[-2.0, -1, 3]]), "low": np.zeros((1, 3)), "high": np.full((1, 3), INF)}
    )
    return {name: np.concatenate([x[name] for x in inputs]) for name in inputs[0]}


def test_lanes_and_programs_give_what_floats_do():
    """To 1e-11: rounding, times the condition of rows that are alike."""
    inputs = cases()
    rows = zip(*inputs.values(), strict=True)
    expected = np.array([solved(*row)[0] for row in rows])
    A, b, low, high = (np.moveaxis(x, 0, -1) for x in inputs.values())
    lanes = bounded([list(row) for row in A], list(b), list(low), list(high)).z
    np.testing.assert_allclose(np.stack(lanes, axis=1), expected, rtol=0, atol=1e-11)
    made = program(3)
    np.testing.assert_allclose(interpret(made, inputs)["z"], expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run(by_llvm(made), inputs)["z"], expected, rtol=0, atol=1e-11)


def test_a_row_does_not_depend_on_its_batch():
    loaded, inputs = by_llvm(program(3)), cases()
    together = run(loaded, inputs)
    for k in range(len(inputs["b"])):
        alone = run(loaded, {name: x[k : k + 1] for name, x in inputs.items()})
        for name, x in alone.items():
            assert x[0].tobytes() == np.ascontiguousarray(together[name][k]).tobytes()


@pytest.mark.parametrize("row", [0, 6, 12, 18, 24])
def test_derivatives_are_differences(row):
    """Along a change of all at once, over 1e-6; sides stay as they are there, and z is smooth."""
    inputs = [x[row].tolist() for x in cases().values()]
    rng = np.random.default_rng(row)
    B = rng.normal(size=(3, 3))
    changes = [*(B + B.T).ravel(), *rng.normal(size=9)]

    def moved(step):
        change = iter(changes)
        return bounded(*map_scalars(lambda x: x + step * next(change), inputs)).z

    expected = (np.array(moved(1e-6), dtype=float) - np.array(moved(-1e-6), dtype=float)) / 2e-6
    found = derivative(lambda e: moved(e[0]), [1.0])
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=0, atol=1e-6 * (1 + np.abs(expected).max()))
