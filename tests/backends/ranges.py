"""Where the functions are measured: random points of many sizes, and close to where their formulas change or cancel.

A range is a function of (random generator, dtype, number of points) that gives one column for each operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Range = Callable[[np.random.Generator, str, int], list[np.ndarray]]
DIGITS = {"float64": 17.0, "float32": 8.0}
TURNS = {"float64": 2.0**28, "float32": 2.0**17}  # angles to here are not left to the C library
EXPONENTS = {"float64": (-745.1, 709.78), "float32": (-103.9, 88.72)}
DECADES = {"float64": (-323.0, 308.0), "float32": (-44.0, 38.0)}


def signs(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], n)


def any_size(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Positive numbers of all sizes, subnormal ones among them."""
    return np.maximum(10.0 ** rng.uniform(*DECADES[dtype], n), float(np.finfo(dtype).smallest_subnormal)).astype(dtype)


def subnormal(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    return rng.integers(1, 2 ** np.finfo(dtype).nmant, n) * float(np.finfo(dtype).smallest_subnormal)


def near(place: float, rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Nearer and nearer to a number, down to its neighbours."""
    return place + signs(rng, n) * 10.0 ** rng.uniform(-DIGITS[dtype], -1.0, n)


def near_multiples(step: float, rng: np.random.Generator, n: int) -> np.ndarray:
    return step * rng.integers(-12, 13, n) + rng.uniform(-1e-3, 1e-3, n)


def near_poles(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """The nearest numbers to multiples of π/2, some neighbours among them."""
    k = rng.integers(1, int(TURNS[dtype] / 2), n)
    x = (k * np.longdouble(math.pi / 2) + k * np.longdouble(6.123233995736766e-17)).astype(dtype)
    return (x + rng.integers(-2, 3, n) * np.spacing(x)) * signs(rng, n)


def exponents_over(base: np.ndarray, rng: np.random.Generator, dtype: str, n: int) -> list[np.ndarray]:
    """Powers of these bases over the whole range of results."""
    base = base.astype(dtype)
    base = base[base != 1.0]
    return [base, rng.uniform(*EXPONENTS[dtype], len(base)) / np.log(base.astype(np.float64))]


RANGES: dict[str, dict[str, Range]] = {
    "tan": {
        "some turns": lambda rng, dtype, n: [rng.uniform(-20.0, 20.0, n)],
        "many turns": lambda rng, dtype, n: [rng.uniform(-TURNS[dtype], TURNS[dtype], n)],
        "near poles and zeros": lambda rng, dtype, n: [near_poles(rng, dtype, n)],
        "near π/4": lambda rng, dtype, n: [math.pi / 4 + near_multiples(math.pi / 2, rng, n)],
        "small": lambda rng, dtype, n: [signs(rng, n) * np.minimum(any_size(rng, dtype, n), 1.0)],
    },
    "asin": {
        "all": lambda rng, dtype, n: [rng.uniform(-1.0, 1.0, n)],
        "near 1": lambda rng, dtype, n: [signs(rng, n) * np.minimum(near(1.0, rng, dtype, n), 1.0)],
        "near 1/2": lambda rng, dtype, n: [signs(rng, n) * near(0.5, rng, dtype, n)],
        "small": lambda rng, dtype, n: [signs(rng, n) * np.minimum(any_size(rng, dtype, n), 1.0)],
    },
    "exp": {
        "all": lambda rng, dtype, n: [rng.uniform(*EXPONENTS[dtype], n)],
        "near 0": lambda rng, dtype, n: [near(0.0, rng, dtype, n)],
        "near ln 2 / 2": lambda rng, dtype, n: [math.log(2.0) / 2 + near_multiples(math.log(2.0), rng, n)],
        "subnormal results": lambda rng, dtype, n: [EXPONENTS[dtype][0] + rng.uniform(0.0, 17.0, n)],
        "small": lambda rng, dtype, n: [signs(rng, n) * np.minimum(any_size(rng, dtype, n), 1.0)],
    },
    "log": {
        "any size": lambda rng, dtype, n: [any_size(rng, dtype, n)],
        "near 1": lambda rng, dtype, n: [near(1.0, rng, dtype, n)],
        "near √½": lambda rng, dtype, n: [near(math.sqrt(0.5), rng, dtype, n) * rng.choice([0.5, 1.0, 2.0], n)],
        "subnormal": lambda rng, dtype, n: [subnormal(rng, dtype, n)],
    },
    "atan2": {
        "like sizes": lambda rng, dtype, n: [rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)],
        "any sizes": lambda rng, dtype, n: [signs(rng, n) * any_size(rng, dtype, n) for _ in range(2)],
        "near diagonals": lambda rng, dtype, n: [signs(rng, n) * near(1.0, rng, dtype, n) for _ in range(2)],
        "subnormal": lambda rng, dtype, n: [signs(rng, n) * subnormal(rng, dtype, n) for _ in range(2)],
        "subnormal results": lambda rng, dtype, n: [subnormal(rng, dtype, n), rng.uniform(1.0, 1e5, n)],
        "near axes": lambda rng, dtype, n: [signs(rng, n), near(0.0, rng, dtype, n)],
    },
    "pow": {
        "usual": lambda rng, dtype, n: [10.0 ** rng.uniform(-3.0, 3.0, n), rng.uniform(-9.0, 9.0, n)],
        "any size": lambda rng, dtype, n: exponents_over(any_size(rng, dtype, n), rng, dtype, n),
        "near 1": lambda rng, dtype, n: exponents_over(near(1.0, rng, dtype, n), rng, dtype, n),
        "near √½": lambda rng, dtype, n: exponents_over(rng.uniform(0.69, 0.74, n), rng, dtype, n),
        "near √2": lambda rng, dtype, n: exponents_over(rng.uniform(1.36, 1.42, n), rng, dtype, n),
        "whole exponents": lambda rng, dtype, n: [signs(rng, n) * rng.uniform(0.5, 2.0, n), rng.integers(-99, 100, n)],
    },
    "sqrt": {"any size": lambda rng, dtype, n: [any_size(rng, dtype, n)]},
}
RANGES["acos"] = RANGES["asin"]
