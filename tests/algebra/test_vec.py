"""Vectors and matrices of three against NumPy; exact over SymPy; lane by lane over arrays."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st

from qdot.algebra import Mat3, Sym3, Vec3, as_array, steiner
from qdot.errors import ValueShapeError

# Of like size, so that 1e-14 of the largest product bounds the rounding of a sum of nine.
numbers = st.floats(-8, 8).map(lambda a: a if abs(a) > 1e-3 else 0.0)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
matrices = st.tuples(vectors, vectors, vectors).map(np.array)
ROUNDING = {"rtol": 0, "atol": 1e-12}
"""Nine products of numbers up to 8³ round to some 1e-13."""


def vec(a):
    return Vec3.of(a)


def mat(a):
    return Mat3.of(a)


def symmetric(a):
    return Sym3.upper(mat(a + a.T))


@given(vectors, vectors, numbers)
def test_vec3_is_a_vector(a, b, s):
    assert (as_array(vec(a) + vec(b)) == a + b).all()
    assert (as_array(vec(a) - vec(b)) == a - b).all()
    assert (as_array(-vec(a)) == -a).all()
    assert (as_array(vec(a) * s) == a * s).all()
    assert (as_array(s * vec(a)) == a * s).all()
    if s:
        assert (as_array(vec(a) / s) == a / s).all()
    np.testing.assert_allclose(vec(a).dot(vec(b)), a @ b, **ROUNDING)
    np.testing.assert_allclose(vec(a).norm(), np.linalg.norm(a), rtol=1e-15, atol=1e-300)


@given(vectors, vectors)
def test_vec3_products(a, b):
    np.testing.assert_allclose(as_array(vec(a).cross(vec(b))), np.cross(a, b), **ROUNDING)
    np.testing.assert_allclose(as_array(vec(a).skew() @ vec(b)), np.cross(a, b), **ROUNDING)
    np.testing.assert_array_equal(as_array(vec(a).outer(vec(b))), np.outer(a, b))
    np.testing.assert_array_equal(as_array(vec(a).skew()), -as_array(vec(a).skew()).T)


@given(matrices, matrices, vectors, numbers)
def test_mat3_is_a_matrix(A, B, a, s):
    np.testing.assert_array_equal(as_array(mat(A) + mat(B)), A + B)
    np.testing.assert_array_equal(as_array(mat(A) - mat(B)), A - B)
    np.testing.assert_array_equal(as_array(-mat(A)), -A)
    np.testing.assert_array_equal(as_array(mat(A) * s), A * s)
    np.testing.assert_array_equal(as_array(s * mat(A)), A * s)
    np.testing.assert_array_equal(as_array(mat(A).T), A.T)
    np.testing.assert_allclose(as_array(mat(A) @ mat(B)), A @ B, **ROUNDING)
    np.testing.assert_allclose(as_array(mat(A) @ vec(a)), A @ a, **ROUNDING)


@given(matrices, matrices, vectors, numbers)
def test_sym3_is_a_symmetric_matrix(A, B, a, s):
    S, T = A + A.T, B + B.T
    np.testing.assert_array_equal(as_array(symmetric(A)), S)
    np.testing.assert_array_equal(as_array(symmetric(A) + symmetric(B)), S + T)
    np.testing.assert_array_equal(as_array(symmetric(A) - symmetric(B)), S - T)
    np.testing.assert_array_equal(as_array(-symmetric(A)), -S)
    np.testing.assert_array_equal(as_array(s * symmetric(A)), S * s)
    np.testing.assert_allclose(symmetric(A).trace(), np.trace(S), **ROUNDING)
    np.testing.assert_allclose(as_array(symmetric(A) @ vec(a)), S @ a, **ROUNDING)
    np.testing.assert_allclose(as_array(symmetric(A) @ mat(B)), S @ B, **ROUNDING)
    np.testing.assert_allclose(as_array(symmetric(A).congruence(mat(B))), B @ S @ B.T, rtol=0, atol=1e-11)


@given(vectors)
def test_squares_and_steiner(a):
    np.testing.assert_array_equal(as_array(Sym3.square(vec(a))), np.outer(a, a))
    np.testing.assert_allclose(
        as_array(steiner(vec(a))), -as_array(vec(a).skew()) @ as_array(vec(a).skew()), **ROUNDING
    )


def test_constants():
    assert (as_array(Mat3.identity()) == np.eye(3)).all()
    assert (as_array(Mat3.zero()) == np.zeros((3, 3))).all()
    assert (as_array(Sym3.zero()) == np.zeros((3, 3))).all()
    assert (as_array(Vec3.zero()) == np.zeros(3)).all()
    assert (as_array(Sym3.diagonal(1, 2, 3)) == np.diag([1, 2, 3])).all()


def test_six_goes_by_rows_of_the_upper_triangle():
    assert Sym3.upper(Mat3.of([[1, 2, 3], [2, 4, 5], [3, 5, 6]])).six() == (1, 2, 3, 4, 5, 6)


# ── other scalars ────────────────────────────────────────────────────────────────────────────────


def test_symbols_stay_exact():
    a, b = (Vec3(*sp.symbols(f"{name}:3")) for name in "ab")
    assert sp.expand(a.cross(b).dot(a)) == 0
    lagrange = a.cross(b).dot(a.cross(b)) - a.dot(a) * b.dot(b) + a.dot(b) ** 2
    assert sp.expand(lagrange) == 0
    for got, expected in zip(as_array(steiner(a)).flat, (-as_array(a.skew() @ a.skew())).flat, strict=True):
        assert sp.expand(got - expected) == 0
    assert Vec3(3, 4, sp.Integer(0)).norm() == 5


def test_lanes_multiply_from_either_side():
    lanes = np.array([2.0, 3.0])
    for value in (Vec3(1, 2, 3), Mat3.identity(), Sym3.diagonal(1, 2, 3)):
        left, right = lanes * value, value * lanes
        assert type(left) is type(value)
        np.testing.assert_array_equal(as_array(left), as_array(right))
        np.testing.assert_array_equal(as_array(left)[1], 3.0 * as_array(value))


def test_lanes_are_vectors_side_by_side():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 5, 3))
    got = as_array(Vec3(*A.T).cross(Vec3(*B.T)))
    np.testing.assert_allclose(got, np.cross(A, B), rtol=0, atol=1e-15)


# ── making them ──────────────────────────────────────────────────────────────────────────────────


def test_of_takes_any_three_and_makes_python_numbers():
    assert Vec3.of(np.array([1.0, 2.0, 3.0])) == Vec3.of(iter((1, 2, 3))) == Vec3(1, 2, 3)
    assert all(type(a) is float for a in Vec3.of(np.float32([1, 2, 3])))
    v = Vec3(1, 2, 3)
    assert Vec3.of(v) is v
    assert list(v) == [1, 2, 3]


@pytest.mark.parametrize("entries", [(), (1, 2), (1, 2, 3, 4)])
def test_wrong_lengths_are_told(entries):
    with pytest.raises(ValueShapeError, match="a vector of 3 numbers was expected, got"):
        Vec3.of(entries)


@pytest.mark.parametrize("rows", [[], [[1, 2, 3]] * 2, [[1, 2, 3]] * 4])
def test_wrong_numbers_of_rows_are_told(rows):
    with pytest.raises(ValueShapeError, match=f"3 rows was expected, got {len(rows)}"):
        Mat3.of(rows)


def test_products_with_strangers_are_refused():
    for stranger in (2.0, "x", [1, 2, 3]):
        with pytest.raises(TypeError):
            Mat3.identity() @ stranger
