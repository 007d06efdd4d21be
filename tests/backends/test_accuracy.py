"""How exact the functions are, in ulp, against mpmath; and what they make of zeros, infinities and NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from qdot.backends.runtime import Loaded
from qdot.compiler.ops import OPS
from tests.backends.loading import binary, by_c, by_llvm, needs_c, run, unary

DTYPES = ("float64", "float32")
UNARY = [op for op, row in OPS.items() if row.arity == 1 and op != "not"]
BINARY = [op for op, row in OPS.items() if row.arity == 2 and op not in ("and", "or")]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 1e30, -1e30, 1e-30, 1e-40, -1e-40, np.inf, -np.inf, np.nan]


@cache
def loaded(op: str, dtype: str) -> Loaded:
    return by_llvm(unary(op) if OPS[op].arity == 1 else binary(op), dtype)


def ulps(actual: np.ndarray, exact: list[Any]) -> np.ndarray:
    """Errors in units of the last place of the exact values."""
    kind = actual.dtype.type
    errors = []
    for a, e in zip(actual, exact, strict=True):
        unit = max(float(np.spacing(np.abs(kind(float(e))))), float(np.finfo(kind).smallest_subnormal))
        errors.append(float(abs(mpmath.mpf(float(a)) - e) / unit))
    return np.array(errors)


def exactly(f: Callable[..., Any], *columns: np.ndarray) -> list[Any]:
    with mpmath.workprec(160):
        return [f(*(mpmath.mpf(float(x)) for x in row)) for row in zip(*columns, strict=True)]


def worst(op: str, dtype: str, x: np.ndarray) -> tuple[float, float]:
    """The largest error [ulp], and where."""
    x = x.astype(dtype)
    errors = ulps(run(loaded(op, dtype), {"x": x})["y"], exactly(getattr(mpmath, op), x))
    return float(errors.max()), float(x[errors.argmax()])


def near_multiples_of_half_pi(dtype: str, largest: float) -> np.ndarray:
    """The nearest numbers to k π/2 and their neighbours, where most digits cancel."""
    rng = np.random.default_rng(1)
    last = int(largest / (math.pi / 2))
    k = np.concatenate([np.arange(60), rng.integers(0, last, 300)])
    with mpmath.workprec(160):
        nearest = np.array([float(int(n) * mpmath.pi / 2) for n in k]).astype(dtype)
    rows = [nearest, np.nextafter(nearest, np.inf, dtype=dtype), np.nextafter(nearest, 0, dtype=dtype)]
    both = np.concatenate(rows)
    return np.concatenate([both, -both])


RANGES = {
    "one turn": lambda rng, dtype: rng.uniform(-7.0, 7.0, 1500),
    "to 1e6": lambda rng, dtype: rng.uniform(-1e6, 1e6, 1500),
    "powers of ten to 1e6": lambda rng, dtype: rng.choice([-1, 1], 1500) * 10 ** rng.uniform(-40, 6, 1500),
    "near multiples of π/2": lambda rng, dtype: near_multiples_of_half_pi(dtype, 1e6),
    "where the fast path ends": lambda rng, dtype: 2.0 ** rng.uniform(20, 30, 1500),
    "denormals": lambda rng, dtype: rng.integers(-1000, 1000, 100) * float(np.finfo(dtype).smallest_subnormal),
    "beyond": lambda rng, dtype: 10 ** rng.uniform(6, 300 if dtype == "float64" else 38, 300),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("where", RANGES)
@pytest.mark.parametrize("op", ["sin", "cos"])
def test_sine_and_cosine_err_by_two_ulp_at_most(op: str, where: str, dtype: str) -> None:
    error, at = worst(op, dtype, RANGES[where](np.random.default_rng(0), dtype))
    assert error <= 2.0, f"{op}({at!r}) errs by {error:.2f} ulp"


def test_the_hardest_angle() -> None:
    """6381956970095103 · 2^797, the double nearest to a multiple of π/2; glibc's cosine itself errs by 8 ulp there."""
    x = np.array([math.ldexp(6381956970095103, 797)])
    assert worst("sin", "float64", x)[0] <= 2.0
    assert worst("cos", "float64", x)[0] <= 16.0


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_float32_densely(op: str) -> None:
    """Against float64, whose error is nothing here: 400 000 angles to 1e6, and as many to one turn."""
    rng = np.random.default_rng(4)
    for largest in (1e6, 2 * math.pi):
        x = rng.uniform(-largest, largest, 400_000).astype(np.float32)
        exact = getattr(np, op)(x.astype(np.float64))
        errors = np.abs(run(loaded(op, "float32"), {"x": x})["y"] - exact) / np.spacing(
            np.abs(exact.astype(np.float32))
        )
        assert errors.max() <= 2.0, f"{op}({x[errors.argmax()]!r}) errs by {errors.max():.2f} ulp"


@pytest.mark.parametrize("dtype", DTYPES)
def test_sine_and_cosine_together_are_those_alone(dtype: str) -> None:
    from qdot.compiler.trace import trace

    both = by_llvm(trace("both", lambda x: {"s": x.sin(), "c": x.cos()}, {"x": ()}), dtype)
    x = np.concatenate([np.linspace(-1e6, 1e6, 301), SPECIAL, [1e12]])
    out = run(both, {"x": x})
    np.testing.assert_array_equal(out["s"], run(loaded("sin", dtype), {"x": x})["y"])
    np.testing.assert_array_equal(out["c"], run(loaded("cos", dtype), {"x": x})["y"])


def points(op: str, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(2)
    if op in ("asin", "acos"):
        return np.concatenate([rng.uniform(-1, 1, 600), [1.0, -1.0, 1e-20]])
    if op in ("sqrt", "log"):
        return 10 ** rng.uniform(-37, 37, 600)
    if op == "exp":
        return rng.uniform(-85, 85, 600)
    return np.concatenate([rng.uniform(-1e6, 1e6, 600), rng.uniform(-7, 7, 600), near_multiples_of_half_pi(dtype, 1e3)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["tan", "asin", "acos", "exp", "log", "sqrt"])
def test_other_functions_err_by_two_ulp_at_most(op: str, dtype: str) -> None:
    error, at = worst(op, dtype, points(op, dtype))
    assert error <= 2.0, f"{op}({at!r}) errs by {error:.2f} ulp"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("op", "exact"), [("atan2", mpmath.atan2), ("pow", mpmath.power)])
def test_functions_of_two_err_by_two_ulp_at_most(op: str, exact: Callable[..., Any], dtype: str) -> None:
    rng = np.random.default_rng(3)
    x, y = 10 ** rng.uniform(-3, 3, 600), rng.uniform(-9, 9, 600)
    x, y = (x * rng.choice([-1, 1], 600), y) if op == "atan2" else (x, y)
    x, y = x.astype(dtype), y.astype(dtype)
    errors = ulps(run(loaded(op, dtype), {"x": x, "y": y})["z"], exactly(exact, x, y))
    assert errors.max() <= 2.0


# -- zeros, infinities, NaN --------------------------------------------------------------------------------------------


def alike(actual: np.ndarray, expected: np.ndarray, *, ulp: float) -> None:
    """NaN and infinities in the same places; else equal to some ulp."""
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(actual), np.isinf(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite & ~np.isnan(expected)], expected[~finite & ~np.isnan(expected)])
    tiny = float(np.finfo(actual.dtype).smallest_subnormal)
    np.testing.assert_allclose(actual[finite], expected[finite], rtol=ulp * np.finfo(actual.dtype).eps, atol=4 * tiny)


def grid(dtype: str) -> dict[str, np.ndarray]:
    x, y = np.meshgrid(np.array(SPECIAL, dtype), np.array(SPECIAL, dtype))
    return {"x": x.ravel(), "y": y.ravel()}


def expected_of(op: str, *columns: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return OPS[op].meaning(*columns).astype(columns[0].dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", UNARY)
def test_special_values_of_one(op: str, dtype: str) -> None:
    x = np.array(SPECIAL, dtype)
    if op == "tan":
        x = x[np.abs(x) != np.float64(1e30).astype(dtype)]  # NumPy's own float32 tangent is not exact there
    alike(run(loaded(op, dtype), {"x": x})["y"], expected_of(op, x), ulp=4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", BINARY)
def test_special_values_of_two(op: str, dtype: str) -> None:
    inputs = grid(dtype)
    alike(run(loaded(op, dtype), inputs)["z"], expected_of(op, inputs["x"], inputs["y"]), ulp=8)


@needs_c
def test_special_values_in_c(tmp_path) -> None:
    ops = [(op, dtype) for op in (*UNARY, *BINARY) for dtype in DTYPES]
    made = [(unary(op) if OPS[op].arity == 1 else binary(op), dtype) for op, dtype in ops]
    for (op, dtype), call in zip(ops, by_c(tmp_path, *made), strict=True):
        inputs = grid(dtype)
        columns = [inputs["x"], inputs["y"]][: OPS[op].arity]
        (actual,) = call(dict(zip("xy", columns, strict=False))).values()
        if op != "tan":
            alike(actual, expected_of(op, *columns), ulp=8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sin", "tan", "asin", "neg", "floor", "sqrt", "sign"])
def test_the_sign_of_zero(op: str, dtype: str) -> None:
    """As NumPy has it: the sine of -0 is -0, its sign is 0."""
    x = np.array([0.0, -0.0], dtype)
    np.testing.assert_array_equal(np.signbit(run(loaded(op, dtype), {"x": x})["y"]), np.signbit(OPS[op].meaning(x)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["min", "max"])
def test_nan_wins_in_min_and_max(op: str, dtype: str) -> None:
    out = run(loaded(op, dtype), {"x": np.array([np.nan, 1.0, np.nan]), "y": np.array([1.0, np.nan, np.nan])})
    assert np.isnan(out["z"]).all()
