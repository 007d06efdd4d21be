"""Rays: against MuJoCo, against every triangle, and what lies on a surface."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from qdot.algebra import Vec3, as_array
from qdot.collision.bvh import tree_of
from qdot.collision.queries import ray
from qdot.collision.rays import RAYS, ray_tree
from qdot.collision.touch import FAR
from qdot.geometry import Box, Capsule, Cone, ConvexHull, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Sphere

SIZES = {
    "sphere": (0.4,),
    "capsule": (0.3, 0.5),
    "ellipsoid": (0.3, 0.5, 0.8),
    "cylinder": (0.4, 0.6),
    "box": (0.3, 0.4, 0.7),
}
KINDS = {"sphere": Sphere, "capsule": Capsule, "ellipsoid": Ellipsoid, "cylinder": Cylinder, "box": Box}


def rays(rng, count):
    """From all around and from inside, most of them towards the middle."""
    origins = rng.normal(size=(count, 3)) * np.where(rng.random(count) < 0.3, 0.15, 1.5)[:, None]
    directions = rng.normal(size=(count, 3)) * 0.3 - origins
    return origins, directions / np.linalg.norm(directions, axis=1)[:, None]


@pytest.mark.parametrize("kind", SIZES)
def test_against_mujoco(kind):
    size = " ".join(map(str, SIZES[kind]))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="{kind}" size="{size}"/></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    origins, directions = rays(np.random.default_rng(1), 2000)
    hit = RAYS[KINDS[kind]](SIZES[kind], Vec3(*origins.T), Vec3(*directions.T))
    geom = np.zeros(1, dtype=np.int32)
    theirs = np.array(
        [mujoco.mj_ray(model, data, o, d, None, 1, -1, geom) for o, d in zip(origins, directions, strict=True)]
    )
    missed = theirs < 0
    assert 0.05 < missed.mean() < 0.9
    np.testing.assert_array_equal(hit.distance >= FAR, missed)
    np.testing.assert_allclose(hit.distance[~missed], theirs[~missed], atol=1e-9)
    normal = as_array(hit.normal, (2000,))
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    entering = np.einsum("ij,ij->i", normal, directions) < 0
    inside = np.einsum("ij,ij->i", normal, directions) > 0
    # A step back along the outward normal is inside, so the next surface that way comes within the shape's width.
    points = origins + directions * np.where(missed, 0.0, hit.distance)[:, None]
    back = RAYS[KINDS[kind]](SIZES[kind], Vec3(*(points + 1e-6 * normal).T), Vec3(*-normal.T))
    np.testing.assert_allclose(np.asarray(back.distance)[~missed], 1e-6, atol=1e-8)
    assert entering[~missed].any()
    assert inside[~missed].any()


def triangles_hit(vertices, faces, o, d):
    """The least distance over all triangles, by Cramer's rule."""
    best = np.inf
    for p, q, r in vertices[faces]:
        matrix = np.column_stack([q - p, r - p, -d])
        if abs(np.linalg.det(matrix)) > 1e-14:
            u, v, t = np.linalg.solve(matrix, o - p)
            if u >= -1e-12 and v >= -1e-12 and u + v <= 1 + 1e-12 and t >= 0:
                best = min(best, t)
    return best


def test_meshes_hulls_and_terrain_against_every_triangle():
    rng = np.random.default_rng(2)
    import trimesh

    ring = trimesh.creation.torus(1.0, 0.3, 16, 8)
    field = HeightField(rng.random((5, 6)), 1.0, 0.8, 0.5, 0.2)
    solids = [Mesh(ring.vertices, ring.faces), ConvexHull(rng.normal(size=(20, 3)) * 0.5), Mesh(*field.surface())]
    for solid in solids:
        for o, d in zip(*rays(rng, 40), strict=True):
            distance, face = ray_tree(tree_of(solid), o, d)
            expected = triangles_hit(solid.vertices, solid.faces, o, d)
            if np.isinf(expected):
                assert (distance, face) == (FAR, -1)
            else:
                assert distance == pytest.approx(expected, abs=1e-9)
    down = ray(field, (0.1, 0.2, 3.0), (0, 0, -1))
    assert down is not None
    assert down.distance == pytest.approx(
        triangles_hit(*field.surface(), np.array([0.1, 0.2, 3]), np.array([0, 0, -1.0]))
    )


def test_rays_at_seams_of_a_mesh_pass_nowhere():
    """Through corners, along diagonals, and in the planes of faces."""
    vertices, faces = Box(2.0, 2.0, 2.0).surface()
    tree = tree_of(Mesh(vertices, faces))
    grid = [-1.0, -0.5, 0.0, 0.3, 1.0]
    for x in grid:
        for y in grid:
            distance, _ = ray_tree(tree, np.array([x, y, 5.0]), np.array([0.0, 0.0, -1.0]))
            assert distance == pytest.approx(4.0, abs=1e-12)


def test_cone_against_a_fine_mesh():
    rng = np.random.default_rng(3)
    cone = Cone(0.5, 1.2)
    fine = Mesh(*cone.surface(2000))
    met = 0
    for o, d in zip(*rays(rng, 60), strict=True):
        one, other = ray(cone, o, d), ray(fine, o, d)
        if one is not None and other is not None:
            met += 1
            if abs(one.normal @ d) > 0.2:
                assert one.distance == pytest.approx(other.distance, abs=1e-4)
                assert one.normal @ other.normal > 0.99
    assert met > 20


def test_plane_from_above_and_from_below():
    assert ray(Plane(), (0, 0, 2), (0, 0, -3)).distance == 2.0
    assert ray(Plane(), (0, 0, -2), (0, 0, 1)).distance == 2.0
    assert ray(Plane(), (0, 0, 2), (0, 0, 1)) is None
    assert ray(Plane(), (0, 0, 2), (1, 0, 0)) is None


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_every_scale(scale):
    for kind, sizes in SIZES.items():
        hit = RAYS[KINDS[kind]]([x * scale for x in sizes], Vec3(0.0, 0.0, 5 * scale), Vec3(0.0, 0.0, -1.0))
        top = sizes[-1] + (sizes[0] if kind == "capsule" else 0.0)
        assert hit.distance == pytest.approx((5 - top) * scale, rel=1e-12)
        assert tuple(hit.normal) == (0.0, 0.0, 1.0)
