"""Shapes to test, what their integrals must be, and how inertias are compared."""

from math import gamma, sqrt

import numpy as np
from scipy.integrate import quad

from qdot.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Sphere

PRIMITIVES = [
    Box(0.4, 0.7, 0.2),
    Sphere(0.6),
    Ellipsoid(0.5, 0.3, 0.8),
    Cylinder(0.3, 0.9),
    Capsule(0.25, 0.8),
    Cone(0.5, 1.2),
]
"""Of different lengths, so that swapped axes show; within |x|, |z| < 1, so that 1 + x + 2z² is positive."""


def kind(shape):
    return type(shape).__name__


def monomial(shape, a, b, c):
    """∫ xᵃ yᵇ zᶜ dV without the rules under test: by Γ functions across and SciPy's adaptive quad along z."""
    if isinstance(shape, Box):
        return float(
            np.prod([_power(side / 2, n) for side, n in zip((shape.x, shape.y, shape.z), (a, b, c), strict=True)])
        )
    if isinstance(shape, Ellipsoid):
        scale = shape.x ** (a + 1) * shape.y ** (b + 1) * shape.z ** (c + 1)
        return scale * monomial(Sphere(1.0), a, b, c)
    # A slice at z is a disk of radius r(z): ∫ xᵃ yᵇ dA = D r^(a + b + 2).
    disk = 0.0
    if a % 2 == b % 2 == 0:
        disk = 2 * gamma((a + 1) / 2) * gamma((b + 1) / 2) / gamma((a + b) / 2 + 1) / (a + b + 2)
    return disk * sum(
        quad(lambda z, r=r: r(z) ** (a + b + 2) * z**c, low, high, epsabs=1e-13, epsrel=1e-12)[0]
        for r, low, high in _slices(shape)
    )


def _slices(shape):
    """Radius r(z) of a round shape, and where it holds."""
    match shape:
        case Sphere(radius=R):
            return [(lambda z: sqrt(max(R * R - z * z, 0.0)), -R, R)]
        case Cylinder(radius=R, length=l):
            return [(lambda z: R, -l / 2, l / 2)]
        case Cone(radius=R, length=l):
            return [(lambda z: R * (0.5 - z / l), -l / 2, l / 2)]
        case Capsule(radius=R, length=l):
            h = l / 2
            return [
                (lambda z: sqrt(max(R * R - (z + h) ** 2, 0.0)), -h - R, -h),
                (lambda z: R, -h, h),
                (lambda z: sqrt(max(R * R - (z - h) ** 2, 0.0)), h, h + R),
            ]
    raise AssertionError(shape)


def _power(h, n):
    return 2 * h ** (n + 1) / (n + 1) if n % 2 == 0 else 0.0


def parameters(inertia):
    return np.array(inertia.parameters(), dtype=float)


def assert_same(inertia, expected, rtol):
    """Ten parameters equal, relative to the largest of their own kind (mass, moment, rotational inertia)."""
    got, want = parameters(inertia), parameters(expected)
    for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
        scale = max(np.abs(want[part]).max(), np.abs(want).max() * 1e-3)
        np.testing.assert_allclose(got[part], want[part], rtol=0, atol=rtol * scale)


def box_mesh(x, y, z, **material):
    return Mesh(*Box(x, y, z).surface(), **material)


def ell(**material):
    """An L of height 1 [m]: the boxes [0, 2]×[0, 1] and [0, 1]×[1, 2] in one mesh, which is not convex."""
    outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    vertices = [(x, y, z) for z in (0, 1) for x, y in outline]
    fan = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(c, b, a) for a, b, c in fan] + [(a + 6, b + 6, c + 6) for a, b, c in fan]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, j, j + 6), (i, j + 6, i + 6)]
    return Mesh(vertices, faces, **material)
