"""Gauss rules over reference bodies: points r_k and weights w_k with ∫ f dV = Σ w_k f(r_k).

A rule of order n is exact for polynomials of degree 2n - 1 in (x, y, z), has positive weights, and is a product of
one-dimensional rules in coordinates that fit the body: along a radius or towards an apex the volume element carries a
power of the coordinate, which a Gauss-Jacobi rule takes as its weight; around an axis, equidistant angles are exact.
Source: Stroud, Approximate Calculation of Multiple Integrals (1971), ch. 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import pi
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qdot.errors import GeometryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Rule: TypeAlias = tuple[Floats, Floats]
"""Points [m], shape (n, 3), and weights [m³], shape (n,)."""


@lru_cache(maxsize=128, typed=True)
def gauss(order: int, power: int = 0) -> tuple[Floats, Floats]:
    """Nodes in (0, 1) and weights of ∫₀¹ tᵖ f(t) dt, exact for f of degree 2·order - 1 (Gauss-Jacobi)."""
    if not isinstance(order, (int, np.integer)) or order < 1:
        raise GeometryError(
            f"the order of a quadrature is the number of points per direction, 1 or more, got {order!r}"
        )
    from scipy.special import roots_jacobi

    x, w = roots_jacobi(int(order), 0, power)
    t, w = (1 + x) / 2, w / 2 ** (power + 1)
    t.flags.writeable = w.flags.writeable = False  # the cache hands the same arrays to everyone
    return t, w


def cube(order: int) -> Rule:
    """The cube [-½, ½]³."""
    t, w = gauss(order)
    (x, y, z), weights = _product((t - 0.5, w), (t - 0.5, w), (t - 0.5, w))
    return np.stack([x, y, z], axis=1), weights


def ball(order: int, lowest: float = -1.0) -> Rule:
    """The unit ball's part with polar angle cos θ ≥ `lowest`: the whole, or for 0 the half with z ≥ 0."""
    t, w = gauss(order)
    polar = (lowest + (1 - lowest) * t, (1 - lowest) * w)
    (r, u, phi), weights = _product(gauss(order, 2), polar, _circle(order))
    s = r * np.sqrt(1 - u * u)
    return np.stack([s * np.cos(phi), s * np.sin(phi), r * u], axis=1), weights


def cylinder(order: int) -> Rule:
    """The cylinder of radius 1 with -½ ≤ z ≤ ½."""
    t, w = gauss(order)
    (r, phi, z), weights = _product(gauss(order, 1), _circle(order), (t - 0.5, w))
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=1), weights


def cone(order: int) -> Rule:
    """The cone with a base of radius 1 at z = -½ and its apex at z = ½."""
    (s, r, phi), weights = _product(gauss(order, 2), gauss(order, 1), _circle(order))
    return np.stack([s * r * np.cos(phi), s * r * np.sin(phi), 0.5 - s], axis=1), weights


def tetrahedron(order: int) -> Rule:
    """The tetrahedron (0, a, b, c), by coordinates along a, b, c; its volume is 1/6 (conical product)."""
    (s, t, u), weights = _product(gauss(order, 2), gauss(order, 1), gauss(order))
    return np.stack([s * (1 - t), s * t * (1 - u), s * t * u], axis=1), weights


def scaled(rule: Rule, scale: Sequence[float], shift: Sequence[float] = (0.0, 0.0, 0.0)) -> Rule:
    """The rule of the body stretched along the axes (a negative factor mirrors it), then moved."""
    points, weights = rule
    factors, offset = np.array(scale, dtype=np.float64), np.array(shift, dtype=np.float64)
    return points * factors + offset, weights * abs(float(factors.prod()))


def _circle(order: int) -> tuple[Floats, Floats]:
    """2·order angles: exact for trigonometric polynomials of degree 2·order - 1, symmetric in x and in y."""
    angles = (np.arange(2 * order, dtype=np.float64) + 0.5) * (pi / order)
    return angles, np.full(2 * order, pi / order)


def _product(*rules: tuple[Floats, Floats]) -> tuple[list[Floats], Floats]:
    """All combinations of one-dimensional nodes, a flat array per direction, and the products of their weights."""
    nodes = np.meshgrid(*(t for t, _ in rules), indexing="ij")
    weights = np.meshgrid(*(w for _, w in rules), indexing="ij")
    return [t.ravel() for t in nodes], np.prod([w.ravel() for w in weights], axis=0)
