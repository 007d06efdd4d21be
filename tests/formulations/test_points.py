"""Masses held by φ(x) = 0 (T5–T9): derivatives, multipliers, the constrained inverse inertia, repeated constraints.

Tolerance 1e-12 where a sum of a dozen products is compared.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from qdot import formulations
from qdot.algebra import sin, sqrt
from qdot.errors import ModelError, ScalarError, SingularError, ValueShapeError
from tests.formulations.systems import LENGTHS, MASSES, h, jacobian_of_h, phi, weights
from tests.laws.trees import close


def state(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x, ẋ, f) of the arm, on its constraints."""
    q, v = np.random.default_rng(seed).normal(size=(2, 2))
    return np.array(h(q)), jacobian_of_h(q) @ v, weights() + np.random.default_rng(seed + 1).normal(size=4)


def test_jacobian_of_the_document() -> None:
    x, _, _ = state()
    J = 2 * np.array([[x[0], x[1], 0, 0], [x[0] - x[2], x[1] - x[3], x[2] - x[0], x[3] - x[1]]])
    close(formulations.partials(phi, x), J, 1e-15)
    q = np.array([0.3, -1.1])
    close(formulations.partials(h, q), jacobian_of_h(q), 1e-15)
    close(J @ jacobian_of_h(q), J @ formulations.partials(h, q), 1e-15)


def test_rate_of_the_jacobian() -> None:
    """J̇ ẋ of φ is Σ 2 |ẋ_i - ẋ_j|²; of h, by SymPy."""
    x, v, _ = state()
    rods = [v[0] ** 2 + v[1] ** 2, (v[2] - v[0]) ** 2 + (v[3] - v[1]) ** 2]
    close(formulations.rate_bias(phi, x, v), 2 * np.array(rods), 1e-14)
    q, s = sympy.symbols("q1:3", real=True), sympy.symbols("s1:3", real=True)
    J = sympy.Matrix(h(q)).jacobian(q)
    rate = sum((J.diff(a) * b for a, b in zip(q, s, strict=True)), start=sympy.zeros(4, 2)) * sympy.Matrix(s)
    at = dict(zip((*q, *s), (0.3, -1.1, 2.0, 0.7), strict=True))
    close(formulations.rate_bias(h, [0.3, -1.1], [2.0, 0.7]), [float(x) for x in rate.subs(at)], 1e-14)


def test_a_pendulum_of_one_point() -> None:
    """On a circle at angle θ from the vertical: tension m (g cos θ + l θ̇²), and θ̈ = -g/l sin θ."""
    m, g, l, angle, speed = 1.7, 9.81, 0.6, 0.4, 2.2
    radial, tangent = np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])

    def on_circle(x):
        return [sqrt(x[0] ** 2 + x[1] ** 2) - l]

    for solve in (formulations.kkt, formulations.closed_form):
        a, multipliers = solve([m], on_circle, l * radial, l * speed * tangent, [0, -m * g])
        close(a, -g * np.sin(angle) * tangent - l * speed**2 * radial, 1e-14)
        close(multipliers, [-m * (g * np.cos(angle) + l * speed**2)], 1e-14)


def test_constraint_forces_do_no_work() -> None:
    x, v, f = state(3)
    found = formulations.kkt(MASSES, phi, x, v, f)
    J = formulations.partials(phi, x)
    close(J @ v, [0, 0], 1e-14)
    close(found.multipliers @ J @ v, 0.0, 1e-13)
    close(np.repeat(MASSES, 2) * found.acceleration, f + J.T @ found.multipliers, 1e-13)


# ── T9 ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(5))
def test_constrained_inverse_inertia(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 7, 3
    B, J = rng.normal(size=(n, n)), rng.normal(size=(m, n))
    D, f = B @ B.T + np.eye(n), rng.normal(size=n)
    A = formulations.constrained_inverse_inertia(D, J)
    close(J @ A, np.zeros((m, n)), 1e-13)
    close(A, A.T, 1e-14)
    close(A @ D @ A, A, 1e-13)
    assert np.linalg.matrix_rank(A, tol=1e-10) == n - m
    close(A @ f, formulations.closed_form(D, lambda x: [sum(J[i] * x) for i in range(m)], f, f * 0, f)[0], 1e-13)


def test_it_is_the_limit_of_great_inertia() -> None:
    """(D + ε JᵀJ)⁻¹ → A with an error of first order in 1/ε: ten times larger ε, a tenth of the error."""
    x, _, _ = state()
    J, D = formulations.partials(phi, x), np.repeat(MASSES, 2)
    A = formulations.constrained_inverse_inertia(D, J)
    errors = [np.abs(formulations.penalised_inverse_inertia(D, J, e) - A).max() for e in (1e3, 1e4, 1e5)]
    assert errors[0] < 1e-2
    close(np.divide(errors[:-1], errors[1:]), [10.0, 10.0], 1e-2)


# ── constraints that repeat each other ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("solve", [formulations.kkt, formulations.closed_form])
def test_repeated_constraints(solve) -> None:
    """The same rods three times over, in other words: the same acceleration and constraint forces, no force twice."""
    x, v, f = state(4)

    def again(y):
        first, second = phi(y)
        return [first, 3 * first, second, first + second, 0 * first]

    once, more = solve(MASSES, phi, x, v, f), solve(MASSES, again, x, v, f)
    close(more.acceleration, once.acceleration, 1e-12)
    J, J_more = formulations.partials(phi, x), formulations.partials(again, x)
    close(J_more.T @ more.multipliers, J.T @ once.multipliers, 1e-12)
    close(more.multipliers, [once.multipliers[0], 0, once.multipliers[1], 0, 0], 1e-12)
    close(
        formulations.constrained_inverse_inertia(MASSES, J_more),
        formulations.constrained_inverse_inertia(MASSES, J),
        1e-12,
    )


@pytest.mark.parametrize("gap", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("solve", [formulations.kkt, formulations.closed_form])
def test_nearly_repeated_constraints_are_two(solve, gap: float) -> None:
    """Two planes at a small angle leave a line. Lost are the angle's digits, squared where J D⁻¹ Jᵀ is formed."""
    a = solve([2.0], lambda x: [x[2], x[2] + gap * x[1]], [0.0] * 3, [0.0] * 3, [1.0, 2.0, 3.0]).acceleration
    close(a, [0.5, 0, 0], 1e-14 / gap**2 if solve is formulations.kkt else 1e-14 / gap)


def test_contradicting_constraints_are_refused() -> None:
    """x = 0 and x + y² = 0 while y moves: the rows agree, their rates do not."""
    for solve in (formulations.kkt, formulations.closed_form):
        with pytest.raises(ModelError, match="constraint 1 of phi contradicts"):
            solve([1.0], lambda x: [x[0], x[0] + x[1] ** 2], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0])


# ── what may be passed ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("solve", [formulations.kkt, formulations.closed_form])
def test_batches_are_row_by_row(solve) -> None:
    rows = [state(seed) for seed in range(4)]
    x, v, f = (np.array(column) for column in zip(*rows, strict=True))
    many = solve(MASSES, phi, x, v, f)
    assert many.acceleration.shape == (4, 4)
    assert many.multipliers.shape == (4, 2)
    for k, row in enumerate(rows):
        one = solve(MASSES, phi, *row)
        close(many.acceleration[k], one.acceleration, 1e-13)
        close(many.multipliers[k], one.multipliers, 1e-13)
    fixed = solve(MASSES, phi, x, v, weights())  # one force for all rows
    close(fixed.acceleration[2], solve(MASSES, phi, x[2], v[2], weights()).acceleration, 1e-13)


def test_one_row_of_a_batch_may_repeat() -> None:
    """x and y held, the second along a direction that in row 1 is the first's."""

    def held(x):
        return [x[0], x[0] * (1 - x[2]) + x[1] * x[2]]

    x = np.array([[0.0, 0, 0.5], [0, 0, 0], [0, 0, 1]])
    a = formulations.closed_form([1.0], held, x, np.zeros(3), [1.0, 2.0, 3.0]).acceleration
    close(a, [[0, 0, 3], [0, 2, 3], [0, 0, 3]], 1e-13)


@pytest.mark.parametrize("solve", [formulations.kkt, formulations.closed_form])
def test_symbols(solve) -> None:
    """A bead on a parabola y = x²/2: ẍ = -x (ẋ² + g) / (1 + x²)."""
    x, s, g, m = sympy.symbols("x s g m", positive=True)
    found = solve([m, m], lambda p: [2 * p[1] - p[0] ** 2], [x, x**2 / 2], [s, x * s], [0, -m * g])
    assert sympy.simplify(found.acceleration[0] + x * (s**2 + g) / (1 + x**2)) == 0
    assert not found.acceleration[0].has(sympy.Piecewise, sympy.Float)


def test_masses_may_be_for_points_for_coordinates_or_a_matrix() -> None:
    x, v, f = state()
    a = formulations.kkt(MASSES, phi, x, v, f).acceleration
    close(formulations.kkt(np.repeat(MASSES, 2), phi, x, v, f).acceleration, a, 1e-15)
    close(formulations.kkt(np.diag(np.repeat(MASSES, 2)), phi, x, v, f).acceleration, a, 1e-15)


def test_no_constraint_at_all() -> None:
    a, multipliers = formulations.kkt([2.0], lambda x: [], [0, 0, 0], [1, 0, 0], [2, 4, 6])
    close(a, [1, 2, 3], 1e-15)
    assert multipliers.shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: formulations.kkt([1.0], lambda x: [np.sin(x[0])], [0.1], [0], [0]), ScalarError, "qdot.algebra.sin"),
        (lambda: formulations.kkt([1.0], lambda x: sin(x[0]), [0.1], [0], [0]), ValueShapeError, "returns a list"),
        (lambda: formulations.kkt([1.0], 3, [0.1], [0], [0]), ValueShapeError, "phi is a function"),
        (lambda: formulations.kkt([1.0, 2.0], phi, [1, 2, 3], [0] * 3, [0] * 3), ValueShapeError, "does not fit 3"),
        (lambda: formulations.kkt(2.0, phi, *state()), ValueShapeError, "a list of masses or a matrix"),
        (lambda: formulations.kkt([[1.0], [1.0, 2.0]], phi, *state()), ValueShapeError, "ragged"),
        (lambda: formulations.constrained_inverse_inertia(None, []), ValueShapeError, "a list of masses"),
        (lambda: formulations.kkt([1.0, 0.0], phi, *state()), SingularError, "mass above zero"),
        (lambda: formulations.kkt([1.0, -1.0], phi, *state()), SingularError, "mass above zero"),
        (lambda: formulations.kkt([[1, 2], [0, 1]], lambda x: x, [0] * 2, [0] * 2, [0] * 2), ValueShapeError, "symm"),
        (lambda: formulations.kkt(MASSES, phi, [1, 2, 3, np.nan], [0] * 4, [0] * 4), ValueShapeError, "entry 3"),
        (lambda: formulations.kkt(MASSES, phi, [1, 2, 3, 4], [0] * 3, [0] * 4), ValueShapeError, "v has 3 entries"),
        (lambda: formulations.kkt(MASSES, phi, "abcd", [0] * 4, [0] * 4), ValueShapeError, "x is "),
        (lambda: formulations.kkt(MASSES, phi, np.ones((2, 4)), np.ones((3, 4)), [0] * 4), ValueShapeError, "agree"),
        (lambda: formulations.explicit(MASSES, h, [0, 0], [0, 0], [0] * 6), ValueShapeError, "4 entries where 6"),
        (
            lambda: formulations.explicit([1.0], lambda q: [q[0] - q[1]], [0, 0], [0, 0], [1]),
            SingularError,
            "lower rank",
        ),
        (lambda: formulations.projection(MASSES, h, [0, 0], [0, 0], [0] * 6), ValueShapeError, "projection: f has 6"),
        (lambda: formulations.kkt(MASSES, phi, np.ones((0, 4)), [0] * 4, [0] * 4), ValueShapeError, "without rows"),
        (lambda: formulations.kkt(np.array(2.0), phi, *state()), ValueShapeError, "a list of masses"),
        (lambda: formulations.kkt(MASSES, lambda x: [[x[0]]], *state()), ValueShapeError, "entry 0"),
        (lambda: formulations.kkt(MASSES, lambda x: ["a"], *state()), ValueShapeError, "'a' is neither"),
        (lambda: formulations.kkt(MASSES, lambda x: [x[4]], *state()), ScalarError, "IndexError"),
        (lambda: formulations.kkt([1.0], lambda x: [sqrt(x[0])], [0], [1], [0]), ScalarError, "no value there"),
        (lambda: formulations.penalised_inverse_inertia([1.0], [[1.0]], -1), ValueShapeError, "above zero"),
        (lambda: formulations.penalised_inverse_inertia([1.0], [[1.0]], np.inf), ValueShapeError, "finite"),
        (lambda: formulations.penalised_inverse_inertia([1.0], [[1.0]], "a"), ValueShapeError, "epsilon"),
    ],
)
def test_what_is_refused(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_lengths_are_those_of_the_arm() -> None:
    """The states that these tests use do lie on φ."""
    x, _, _ = state(7)
    close(phi(x), [0, 0], 1e-15)
    close(np.hypot(x[0], x[1]), LENGTHS[0], 1e-15)


@pytest.mark.parametrize("solve", [formulations.kkt, formulations.closed_form])
def test_symbols_that_repeat(solve) -> None:
    """Two masses on one rod, which is named twice: as if named once, without fractions of 1.0 and without cases."""
    m1, m2, f, x = sympy.symbols("m1 m2 f x")
    a, multipliers = solve([m1, m2], lambda y: [y[0] - y[1], 2 * y[0] - 2 * y[1]], [x, x], [0, 0], [f, 0])
    assert [sympy.simplify(y - f / (m1 + m2)) for y in a] == [0, 0]
    assert multipliers[1] == 0
    assert not any(sympy.sympify(y).atoms(sympy.Float, sympy.Piecewise) for y in a)
    A = formulations.constrained_inverse_inertia([m1, m2], [[x, -x], [x, -x]])
    assert all(sympy.simplify(y - 1 / (m1 + m2)) == 0 for y in A.flat)
