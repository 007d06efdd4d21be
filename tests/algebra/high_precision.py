"""The exponentials of SO(3) and SE(3) in 50 digits, by power series of matrices: no closed form is shared with qdot."""

from collections.abc import Sequence

import mpmath
import numpy as np

mp = mpmath.mp.clone()  # a context of our own: SymPy computes with the shared one
mp.dps = 50


def exact(values: Sequence[float]) -> np.ndarray:
    """The doubles as they are, as an array of 50-digit numbers."""
    return np.array([mp.mpf(float(x)) for x in values], dtype=object)


def skew(r: np.ndarray) -> np.ndarray:
    zero = mp.mpf(0)
    return np.array([[zero, -r[2], r[1]], [r[2], zero, -r[0]], [-r[1], r[0], zero]], dtype=object)


def adjoint(phi: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """The 6 × 6 matrix of the Lie bracket with the twist (φ, ρ), angular part first."""
    P, zero = skew(phi), skew(exact([0, 0, 0]))
    return np.block([[P, zero], [skew(rho), P]])


def power_series(K: np.ndarray, shift: int) -> np.ndarray:
    """Σ Kⁿ / (n + shift)!: the exponential for shift 0, the left Jacobian for shift 1."""
    term = np.array([[mp.mpf(i == j) for j in range(len(K))] for i in range(len(K))], dtype=object)
    term = term / mp.factorial(shift)
    total, n = term, 0
    while max(abs(x) for x in term.flat) > mp.mpf(10) ** -48:
        n += 1
        term = term @ K / (n + shift)
        total = total + term
    return total


def inverse(A: np.ndarray) -> np.ndarray:
    return np.array((mp.matrix(A.tolist()) ** -1).tolist(), dtype=object).reshape(A.shape)


def half_turn_quaternion(phi: np.ndarray) -> np.ndarray:
    """cos(θ/2), sin(θ/2)/θ φ: the quaternion of a rotation vector that is not zero."""
    theta = mp.sqrt(sum(x * x for x in phi))
    return np.array([mp.cos(theta / 2), *(x * mp.sin(theta / 2) / theta for x in phi)], dtype=object)


def relative_error(actual: object, expected: np.ndarray) -> float:
    """The largest deviation relative to the largest entry of the truth."""
    got = exact(np.ravel(np.asarray(actual, dtype=float)))
    truth = np.ravel(expected)
    largest = max(abs(x) for x in truth)
    return float(max(abs(a - b) for a, b in zip(got, truth, strict=True)) / largest)
