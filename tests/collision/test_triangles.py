"""Meshes as surfaces: against Coal, against every pair of triangles, and triangles that are none."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings, strategies as st

from qdot.algebra import Vec3, as_array
from qdot.collision.bvh import tree_of
from qdot.collision.convex import nearest
from qdot.collision.support import box, capsule, cylinder, ellipsoid, sphere
from qdot.collision.triangles import (
    Triangle,
    mesh_convex,
    mesh_convex_within,
    mesh_mesh,
    mesh_mesh_within,
    triangles_nearest,
)
from qdot.geometry import Mesh
from qdot.spatial import Transform
from tests.collision.coal_shapes import COAL, coal_distance, coal_mesh, pose, positions, rotations


def shapes() -> tuple[Mesh, Mesh]:
    """A ring, which is not convex, and a ball that fits through it."""
    ring, ball = trimesh.creation.torus(1.0, 0.3, 24, 12), trimesh.creation.icosphere(2, 0.4)
    return Mesh(ring.vertices, ring.faces), Mesh(ball.vertices, ball.faces)


RING, BALL = shapes()


def lanes(corners: np.ndarray) -> Triangle:
    """Of an array (n, 3, 3)."""
    return Triangle(*(Vec3(*corners[:, k].T) for k in range(3)))


def numbers(R, p) -> Transform:
    return pose(R.tolist(), p.tolist())


def test_triangles_by_another_route():
    """Closed forms against GJK and descents on the same triangles."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3000, 3, 3))
    found = triangles_nearest(lanes(a), lanes(b))
    other = nearest(lanes(a).convex(), lanes(b).convex())
    cut = found.distance <= 0
    assert 0.05 < cut.mean() < 0.95
    np.testing.assert_allclose(found.distance[~cut], other.distance[~cut], atol=1e-9)
    assert (found.distance[cut] >= other.distance[cut] - 1e-9).all()  # the closed form is the least shift
    assert (found.distance[cut] - other.distance[cut] > 1e-6).mean() < 0.02
    normal = as_array(found.normal)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(as_array(found.on_b) - as_array(found.on_a), normal * found.distance[:, None], atol=1e-9)


def test_a_shift_by_the_depth_parts_triangles():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 2000, 3, 3))
    found = triangles_nearest(lanes(a), lanes(b))
    cut = found.distance < -1e-3
    moved = b - as_array(found.normal)[:, None] * found.distance[:, None, None]
    after = triangles_nearest(lanes(a[cut]), lanes(moved[cut]))
    np.testing.assert_allclose(after.distance, 0.0, atol=1e-9)


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.floats(-4, 4))
def test_triangles_that_are_edges_or_points(seed, power):
    rng = np.random.default_rng(seed)
    corners = rng.integers(-2, 3, size=(2, 40, 3, 3)) * 10.0**power  # many on lines, in planes, in one point
    corners[:, :10, 2] = corners[:, :10, 1]
    corners[:, :5, 1] = corners[:, :5, 0]
    a, b = (lanes(x) for x in corners)
    found, turned = triangles_nearest(a, b), triangles_nearest(b, a)
    entries = np.column_stack([found.distance, *(as_array(x) for x in (found.on_a, found.on_b, found.normal))])
    assert np.isfinite(entries).all()
    np.testing.assert_allclose(np.linalg.norm(as_array(found.normal), axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(found.distance, turned.distance, atol=1e-12 * 10.0**power)
    other = nearest(a.convex(), b.convex()).distance
    np.testing.assert_allclose(np.maximum(found.distance, 0.0), np.maximum(other, 0.0), atol=1e-8 * 10.0**power)


def test_the_tree_holds_every_triangle():
    tree = tree_of(RING)
    assert set(tree.faces) == set(range(len(RING.faces)))
    triangles = RING.vertices[RING.faces][tree.faces]
    np.testing.assert_array_equal(tree.corners, triangles)
    for node in range(tree.leaves - 1):
        for child in (2 * node + 1, 2 * node + 2):
            assert (tree.lower[node] <= tree.lower[child]).all()
            assert (tree.upper[node] >= tree.upper[child]).all()
    assert tree_of(Mesh(RING.vertices, RING.faces)) is tree


def test_meshes_against_coal():
    rng = np.random.default_rng(2)
    theirs = [coal_mesh(mesh.vertices, mesh.faces) for mesh in (RING, BALL)]
    R, p = [rotations(rng, 40) for _ in "ab"], [positions(rng, 40, 1.6) for _ in "ab"]
    apart = 0
    for k in range(40):
        found = mesh_mesh(RING, numbers(R[0][k], p[0][k]), BALL, numbers(R[1][k], p[1][k]))
        expected, _ = coal_distance(theirs[0], R[0][k], p[0][k], theirs[1], R[1][k], p[1][k])
        assert (found.distance > 0) == (expected > 0)
        if expected > 0:
            apart += 1
            assert found.distance == pytest.approx(expected, abs=1e-12)
            assert found.distance == pytest.approx((found.on_b - found.on_a).norm(), abs=1e-12)
    assert 8 < apart < 36


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("sphere", sphere((0.3,))),
        ("capsule", capsule((0.2, 0.4))),
        ("ellipsoid", ellipsoid((0.2, 0.3, 0.4))),
        ("cylinder", cylinder((0.2, 0.4))),
        ("box", box((0.2, 0.3, 0.4))),
    ],
)
def test_meshes_and_convex_shapes_against_coal(kind, shape):
    rng = np.random.default_rng(3)
    sizes = {"sphere": (0.3,), "capsule": (0.2, 0.4), "cylinder": (0.2, 0.4)}.get(kind, (0.2, 0.3, 0.4))
    ring, theirs = coal_mesh(RING.vertices, RING.faces), COAL[kind](*sizes)
    apart = 0
    for _ in range(12):
        (R_a, R_b), (p_a, p_b) = rotations(rng, 2), positions(rng, 2, 1.6)
        expected, _ = coal_distance(ring, R_a, p_a, theirs, R_b, p_b)
        if expected > 1e-3:
            apart += 1
            found = mesh_convex(RING, numbers(R_a, p_a), shape.at(numbers(R_b, p_b)))
            assert found.distance == pytest.approx(expected, abs=2e-6)
    assert apart > 2


def test_all_pairs_within_a_limit():
    """As many as by trying every pair of triangles."""
    X = Transform.rpy(0.3, 0.2, 0.1, (0.9, 0.1, 0.45))
    corners = [RING.vertices[RING.faces], BALL.vertices[BALL.faces] @ as_array(X.rotation).T + as_array(X.position)]
    i, j = np.meshgrid(range(len(RING.faces)), range(len(BALL.faces)), indexing="ij")
    every = triangles_nearest(lanes(corners[0][i.ravel()]), lanes(corners[1][j.ravel()])).distance
    for limit in (0.0, 0.05):
        found = mesh_mesh_within(RING, Transform.identity(), BALL, X, limit)
        # Leaves that repeat the last triangle to fill the tree are found again.
        distances = {round(row.distance, 12) for row in found}
        assert distances == {round(d, 12) for d in every[every < limit]}
        assert [row.distance for row in found] == sorted(row.distance for row in found)
    assert mesh_mesh(RING, Transform.identity(), BALL, X).distance == pytest.approx(every.min(), abs=1e-12)


def test_a_ball_through_the_ring_touches_nothing():
    """Its hull would: the hole of a ring is inside of it."""
    assert mesh_mesh(RING, Transform.identity(), BALL, Transform.identity()).distance > 0.29
    assert mesh_convex(RING, Transform.identity(), sphere((0.4,))).distance > 0.29
    assert mesh_mesh_within(RING, Transform.identity(), BALL, Transform.identity(), 0.0) == []
    assert mesh_convex_within(RING, Transform.identity(), sphere((0.4,)), 0.0) == []
    assert len(mesh_convex_within(RING, Transform.identity(), sphere((0.75,)), 0.0)) > 3


def test_a_mesh_with_a_triangle_of_no_area():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [2, 0, 0]])
    sliver = Mesh(vertices, [[0, 1, 2], [0, 1, 3], [1, 1, 1]])
    found = mesh_convex(sliver, Transform.identity(), sphere((0.5,)).at(Transform.translation(2, 0, 1)))
    assert found.distance == pytest.approx(0.5, abs=1e-12)
    assert mesh_mesh(sliver, Transform.identity(), sliver, Transform.translation(0, 0, 1)).distance == pytest.approx(1)
