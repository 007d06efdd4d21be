"""Capsules about shapes: the distance of their axes by another route, and shapes lie inside of them."""

from __future__ import annotations

import numpy as np
import pytest

from qdot.algebra import Vec3
from qdot.collision.hulls import corners_of
from qdot.collision.rounding import around, gap
from qdot.geometry import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere


def nearest(p, u, h, c, w, k) -> float:
    """The square of the least distance: that of an end of either from the other, or of the lines where they cross."""

    def from_point(x, p, u, h):
        return ((x - p - np.clip((x - p) @ u, -h, h) * u) ** 2).sum()

    found = [from_point(c + s * k * w, p, u, h) for s in (-1, 1)] + [
        from_point(p + s * h * u, c, w, k) for s in (-1, 1)
    ]
    across = np.cross(u, w)
    if across @ across > 1e-6:
        x, y, _ = np.linalg.solve(np.stack([u, -w, across], axis=1), c - p)
        if abs(x) <= h and abs(y) <= k:
            found.append(((c - p) @ across) ** 2 / (across @ across))
    return min(found)


@pytest.mark.parametrize("angle", [None, 0.0, np.pi, np.pi / 2, 1e-3])
def test_the_distance_of_segments(angle: float | None) -> None:
    """Tolerance: of nearly parallel segments the point of one is known to 1e-16 / sin² only, which changes distances
    by the square of that times the slope between them."""
    random = np.random.default_rng(0)
    for _ in range(300):
        p, c, u, w = random.normal(size=(4, 3))
        u, w = u / np.linalg.norm(u), w / np.linalg.norm(w)
        if angle is not None:
            w = w - (w @ u) * u
            w = np.cos(angle) * u + np.sin(angle) * w / np.linalg.norm(w)
        h, k = random.uniform(0, 2, size=2) * random.integers(0, 2, size=2)
        found = gap(Vec3(*p), Vec3(*u), h, Vec3(*c), Vec3(*w), k)
        assert found == pytest.approx(nearest(p, u, h, c, w, k), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "shape",
    [Sphere(0.3), Capsule(0.2, 1.0), Cylinder(0.2, 1.0), Box(0.3, 0.7, 0.2), Ellipsoid(0.4, 0.2, 0.6)],
    ids=repr,
)
def test_a_shape_lies_in_its_capsule(shape: Shape) -> None:
    capsule = around(shape)
    assert capsule is not None
    corners = corners_of(shape).copy()
    corners[:, capsule.axis] -= np.clip(corners[:, capsule.axis], -capsule.half, capsule.half)
    assert np.linalg.norm(corners, axis=1).max() <= capsule.radius * (1 + 1e-12)
