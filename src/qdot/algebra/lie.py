"""Exponential and logarithm on SO(3) and SE(3), and their Jacobians, over any scalar.

Rotation vectors φ = θ·axis, twists ξ = (φ, ρ) with the angular part first. `left_jacobian` J maps a change of the
vector to the spatial velocity it makes, exp(φ + δ) ≈ exp(J δ) exp(φ); the right one is J(-φ).
Sources: Barfoot, State Estimation for Robotics (2017) ch. 7; Solà, Deray, Atchuthan, arXiv:1812.01537.

Everything depends on φ through even functions of θ, taken as functions of θ²: a Taylor series below θ = 1/2 (its
first dropped term is under 1e-17) and the closed form above. What that cancels there, three digits at most, is of
coefficients that multiply high powers of φ̃, so the matrices keep full precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import factorial, pi

from qdot.algebra.quaternion import Quaternion
from qdot.algebra.scalar import Scalar, atan2, cos, floor, sin, sqrt, where
from qdot.algebra.vec import Mat3, Vec3

_SERIES_BELOW = 0.25  # in θ²


def _even(series: Iterable[float], closed: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
    """A function of θ²: Σ series_k θ²ᵏ near zero, closed(θ) elsewhere."""
    coefficients = tuple(series)

    def f(theta2: Scalar) -> Scalar:
        near = theta2 < _SERIES_BELOW
        total: Scalar = 0.0
        for c in reversed(coefficients):
            total = total * theta2 + c
        return where(near, total, closed(sqrt(where(near, 1.0, theta2))))

    return f


def _alternating(first: int) -> list[float]:
    """1/first!, -1/(first+2)!, …: the series of sin θ/θ (1), (1 - cos θ)/θ² (2), (θ - sin θ)/θ³ (3), …"""
    return [(-1) ** k / factorial(first + 2 * k) for k in range(8)]


sinc = _even(_alternating(1), lambda t: sin(t) / t)
"""sin θ / θ, as a function of θ²."""
cosc = _even(_alternating(2), lambda t: 2 * (sin(t / 2) / t) ** 2)
"""(1 - cos θ) / θ², as a function of θ²."""
sinc3 = _even(_alternating(3), lambda t: (t - sin(t)) / (t * t * t))
"""(θ - sin θ) / θ³, as a function of θ²."""
_cosc4 = _even(_alternating(4), lambda t: (t * t / 2 + cos(t) - 1) / (t * t * t * t))
_mixed5 = _even(  # (2θ - 3 sin θ + θ cos θ) / (2θ⁵)
    [(-1) ** k * (k + 1) / factorial(5 + 2 * k) for k in range(8)],
    lambda t: (2 * t - 3 * sin(t) + t * cos(t)) / (2 * t * t * t * t * t),
)
_half_cot = _even(  # (1 - (θ/2) cot(θ/2)) / θ²
    # Σ |B_2k| θ^(2k-2) / (2k)!, Bernoulli numbers
    [
        1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
        3617 / 10670622842880000,
    ],
    lambda t: (1 - (t / 2) * cos(t / 2) / sin(t / 2)) / (t * t),
)  # fmt: skip
_half_sinc = _even([(-1) ** k / factorial(2 * k + 1) / 2 ** (2 * k + 1) for k in range(8)], lambda t: sin(t / 2) / t)
_cos_half = _even([(-1) ** k / factorial(2 * k) / 4**k for k in range(9)], lambda t: cos(t / 2))


def exp_so3(phi: Vec3) -> Quaternion:
    """The rotation by |φ| about φ, as a unit quaternion."""
    theta2 = phi.dot(phi)
    return Quaternion(_cos_half(theta2), *(phi * _half_sinc(theta2)))


def log_so3(q: Quaternion) -> Vec3:
    """The rotation vector φ of a unit quaternion, |φ| ≤ π; accurate near 0 and near π."""
    s = where(q.w < 0, -1.0, 1.0)  # q and -q are one rotation: take the shorter way
    w, u = q.w * s, q.vector * s
    n2 = u.dot(u)
    near = n2 < 1e-6
    n = sqrt(where(near, 1.0, n2))
    w_near = where(near, w, 1.0)
    r2 = n2 / (w_near * w_near)  # tan²(θ/2): atan's series
    series = 2 / w_near * (1 - r2 / 3 + r2 * r2 / 5)
    return u * where(near, series, 2 * atan2(n, w) / n)


def left_jacobian_so3(phi: Vec3) -> Mat3:
    """J(φ) = 1 + (1 - cos θ)/θ² φ̃ + (θ - sin θ)/θ³ φ̃²."""
    theta2, K = phi.dot(phi), phi.skew()
    return Mat3.identity() + K * cosc(theta2) + (K @ K) * sinc3(theta2)


def left_jacobian_inverse_so3(phi: Vec3) -> Mat3:
    """J(φ)⁻¹ = 1 - φ̃/2 + (1 - (θ/2) cot(θ/2))/θ² φ̃²; exists for θ < 2π."""
    theta2, K = phi.dot(phi), phi.skew()
    return Mat3.identity() - K * 0.5 + (K @ K) * _half_cot(theta2)


def exp_se3(phi: Vec3, rho: Vec3) -> tuple[Quaternion, Vec3]:
    """The displacement (rotation, position) of the constant twist (φ, ρ) acting for one second."""
    return exp_so3(phi), left_jacobian_so3(phi) @ rho


def log_se3(rotation: Quaternion, position: Vec3) -> tuple[Vec3, Vec3]:
    """The twist (φ, ρ) whose exponential is this displacement."""
    phi = log_so3(rotation)
    return phi, left_jacobian_inverse_so3(phi) @ position


def coupling_se3(phi: Vec3, rho: Vec3) -> Mat3:
    """Q(φ, ρ), the lower left block of the left Jacobian of SE(3) (Barfoot 2017, eq. 7.86)."""
    theta2, P, R = phi.dot(phi), phi.skew(), rho.skew()
    PR, RP = P @ R, R @ P
    PRP = PR @ P
    return (
        R * 0.5
        + (PR + RP + PRP) * sinc3(theta2)
        + (P @ PR + RP @ P - PRP * 3) * _cosc4(theta2)
        + (PRP @ P + P @ PRP) * _mixed5(theta2)
    )


def left_jacobian_se3(phi: Vec3, rho: Vec3) -> tuple[tuple[Mat3, Mat3], tuple[Mat3, Mat3]]:
    """The 6 × 6 left Jacobian of SE(3) by its blocks, [[J, 0], [Q, J]]."""
    J = left_jacobian_so3(phi)
    return ((J, Mat3.zero()), (coupling_se3(phi, rho), J))


def left_jacobian_inverse_se3(phi: Vec3, rho: Vec3) -> tuple[tuple[Mat3, Mat3], tuple[Mat3, Mat3]]:
    """Its inverse by blocks, [[J⁻¹, 0], [-J⁻¹ Q J⁻¹, J⁻¹]]."""
    K = left_jacobian_inverse_so3(phi)
    return ((K, Mat3.zero()), (-(K @ coupling_se3(phi, rho) @ K), K))


def wrap_angle(angle: Scalar) -> Scalar:
    """The same angle in [-π, π)."""
    wrapped = angle - 2 * pi * floor((angle + pi) / (2 * pi))
    # Rounding can leave the last bit on the wrong side of an end.
    return where(wrapped < -pi, wrapped + 2 * pi, where(wrapped >= pi, wrapped - 2 * pi, wrapped))
