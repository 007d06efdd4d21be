"""The ground: planes and height fields."""

import pickle

import numpy as np
import pytest

from qdot.errors import GeometryError
from qdot.geometry import HeightField, Plane
from qdot.geometry.polyhedron import loose_edges
from qdot.spatial import Inertia, Transform

HILLS = HeightField(np.random.default_rng(0).random((4, 5)), 2.0, 3.0, 0.5, 0.25)


def test_a_plane_is_drawn_as_a_rectangle_that_looks_up():
    vertices, faces = Plane(2, 3).surface()
    assert (vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()) == ([-2, -3, 0], [2, 3, 0])
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    assert np.abs(Plane().surface()[0][:, :2]).min() > 1  # without end: far


@pytest.mark.parametrize("ask", [lambda p: p.volume(), lambda p: p.quadrature(2)], ids=["volume", "integral"])
def test_a_plane_has_no_volume(ask):
    with pytest.raises(GeometryError, match="half space without end"):
        ask(Plane(1, 1))


def test_ground_has_no_mass():
    assert Plane().inertia() == HILLS.inertia() == HILLS.at(1, 2, 3).inertia() == Inertia.zero()


def test_a_height_field_is_closed_and_looks_outwards():
    assert loose_edges(*HILLS.surface()) == (0, 0)
    assert HILLS.volume() > 0


def test_a_flat_height_field_is_a_box():
    flat = HeightField(np.ones((3, 4)), 2, 3, 0.5, 0.25)
    assert flat.volume() == pytest.approx(4 * 6 * 0.75, rel=1e-14)
    vertices, _ = flat.surface()
    assert (vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()) == ([-2, -3, -0.25], [2, 3, 0.5])


def test_heights_are_where_rows_and_columns_say():
    heights = np.zeros((3, 4))
    heights[2, 1] = 1.0  # the last row, at the largest y; the second of four columns
    vertices, _ = HeightField(heights, 3, 1, 2, 0).surface()
    assert vertices[np.argmax(vertices[:, 2])].tolist() == [-1, 1, 2]


def test_quadrature_agrees_with_the_volume():
    _, weights = HILLS.quadrature(3)
    assert weights.sum() == pytest.approx(HILLS.volume(), rel=1e-13)


def test_scaling_and_placing():
    assert HILLS.scaled(2).volume() == pytest.approx(8 * HILLS.volume(), rel=1e-13)
    assert Plane(1, 2).scaled(3) == Plane(3, 6)
    X = Transform.rpy(0.1, 0.2, 0.3, (1, 2, 3))
    for shape in (Plane(1, 2), HILLS):
        assert shape.at(X).shape == shape
        assert shape.at(1, 2, 3).placement == Transform.translation(1, 2, 3)


def test_they_compare_hash_and_pickle():
    for shape in (Plane(1, 2), HILLS):
        assert pickle.loads(pickle.dumps(shape)) == shape
        assert hash(pickle.loads(pickle.dumps(shape))) == hash(shape)
    assert HeightField(HILLS.heights * 2, 2.0, 3.0, 0.5, 0.25) != HILLS
    with pytest.raises(ValueError, match="read-only"):
        HILLS.heights[0, 0] = 3


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Plane(-1, 0), "must be zero or more"),
        (lambda: Plane(np.nan, 0), "must be zero or more"),
        (lambda: HeightField([[1, 2]], 1, 1, 1, 1), "two or more rows"),
        (lambda: HeightField([[1, 2], [3, np.inf]], 1, 1, 1, 1), "finite"),
        (lambda: HeightField("x", 1, 1, 1, 1), "rows of numbers"),
        (lambda: HeightField([[1, 2], [3, 4]], 0, 1, 1, 1), "x of a height field must be positive"),
        (lambda: HeightField([[1, 2], [3, 4]], 1, 1, 1, -1), "base of a height field must be zero or more"),
    ],
)
def test_what_cannot_be_is_refused(make, match):
    with pytest.raises(GeometryError, match=match):
        make()
