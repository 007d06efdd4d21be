"""The public questions, of shapes and of models; and what is refused."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

import qdot
from qdot.collision.model_queries import closest, contacts, ray_cast
from qdot.collision.queries import distance, ray, touches
from qdot.errors import GeometryError, ValueShapeError
from qdot.geometry import Box, Capsule, Cone, ConvexHull, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Sphere
from qdot.joints import Free, Prismatic, Revolute
from qdot.spatial import Transform

TILTED = Transform.rpy(0.4, -0.3, 0.2, (0.9, 0.7, 0.6))


def solids():
    rng = np.random.default_rng(0)
    hull = ConvexHull(rng.normal(size=(12, 3)) * 0.3)
    return [
        Sphere(0.3),
        Capsule(0.2, 0.5),
        Ellipsoid(0.2, 0.3, 0.4),
        Cylinder(0.3, 0.6),
        Box(0.3, 0.4, 0.5),
        Cone(0.3, 0.6),
        hull,
        Mesh(*Box(0.5, 0.4, 0.3).surface()),
        Plane(),
        HeightField(rng.random((4, 4)) * 0.1, 1.0, 1.0, 1.0, 0.3),
    ]


@pytest.mark.parametrize(("a", "b"), [*combinations_with_replacement(solids(), 2)], ids=lambda s: type(s).__name__)
def test_every_pair_both_ways(a, b):
    if isinstance(a, Plane) and isinstance(b, Plane):
        with pytest.raises(GeometryError, match="half spaces"):
            distance(a, b.at(TILTED))
        return
    one, other = distance(a, b.at(TILTED)), distance(b.at(TILTED), a)
    assert one.distance == pytest.approx(other.distance, abs=1e-9)
    assert one.converged
    np.testing.assert_allclose(one.on_second - one.on_first, one.normal * one.distance, atol=1e-6)
    if not isinstance(a, Plane) and not isinstance(b, Plane):
        # Both moved, the answer moves along.
        X = Transform.rpy(1.0, 2.0, 3.0, (0.1, -0.5, 2.0))
        moved = distance(a.at(X), b.at(X @ TILTED))
        assert moved.distance == pytest.approx(one.distance, abs=1e-8)
        if one.distance > 1e-3:
            assert touches(a, b.at(TILTED)) == []
        if one.distance > 1e-3 and not (isinstance(a, Box) and isinstance(b, Box)):  # faces that do not meet: no points
            assert touches(a, b.at(TILTED), margin=one.distance + 1e-3)[0].distance == pytest.approx(
                one.distance, abs=1e-6
            )


def test_a_stack_of_boxes():
    below, above = Box(1, 1, 1), Box(0.5, 0.5, 0.5).at(0.1, 0, 0.74)
    found = touches(below, above)
    assert len(found) == 4
    assert all(t.distance == pytest.approx(-0.01) for t in found)
    assert distance(below, above).distance == pytest.approx(-0.01)
    np.testing.assert_allclose(distance(below, above).normal, [0, 0, 1], atol=1e-9)


def test_refusals():
    with pytest.raises(GeometryError, match=r"qdot\.geometry"):
        distance(Sphere(1), "ball")
    with pytest.raises(ValueShapeError, match="margin"):
        touches(Sphere(1), Sphere(1), margin=float("nan"))
    with pytest.raises(ValueShapeError, match="zero"):
        ray(Sphere(1), (0, 0, 0), (0, 0, 0))
    with pytest.raises(ValueShapeError, match="finite"):
        ray(Sphere(1), (0, 0, float("inf")), (0, 0, 1))
    with pytest.raises(ValueShapeError, match="3 numbers"):
        ray(Sphere(1), (0, 0), (0, 0, 1))
    with pytest.raises(qdot.errors.ModelError, match="assemble"):
        contacts(qdot.Mechanism("m"), [])


@pytest.fixture
def model():
    world = qdot.Mechanism("table")
    world.world.show(Plane(), collision=True)
    cart = world.add("cart", Prismatic("x"), Box(1, 1, 0.2, mass=1.0).at(0, 0, 0.5))
    cart.add("arm", Revolute("y"), Capsule(0.1, 0.6, mass=1.0).at(0, 0, 1.2))
    world.add("ball", Free(), Sphere(0.3, mass=1.0))
    return qdot.assemble(world)


def test_models(model):
    q = np.array(model.neutral())
    q[-3:] = (3.0, 0.0, 0.29)
    found = contacts(model, q)
    assert [(t.first.body, t.second.body) for t in found] == [("world", "ball")]
    assert found[0].touch.distance == pytest.approx(-0.01)
    near = closest(model, q, 2)
    assert near[0].closest.distance == pytest.approx(-0.01)
    assert near[0].closest.distance <= near[1].closest.distance
    hit = ray_cast(model, q, (3, 0, 5), (0, 0, -1))
    assert hit.place.body == "ball"
    assert hit.hit.distance == pytest.approx(5 - 0.59)
    assert ray_cast(model, q, (0, 0, 5), (0, 0, 1)) is None
    with pytest.raises(ValueShapeError, match="one configuration"):
        contacts(model, np.tile(q, (2, 1)))
    with pytest.raises(ValueShapeError, match="count"):
        closest(model, q, 0)
