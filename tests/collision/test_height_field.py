"""Terrain: the touches that MuJoCo finds, and what a flat field must be like."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from qdot.algebra import Vec3, as_array
from qdot.collision.height_field import _lids_below, field_convex_within
from qdot.collision.queries import distance, touches
from qdot.collision.support import box, capsule, cylinder, ellipsoid, sphere
from qdot.collision.triangles import box_of
from qdot.geometry import Box, Capsule, HeightField, Sphere
from qdot.spatial import Transform
from tests.collision.coal_shapes import pose, rotations

SHAPES = {
    "sphere": (sphere, (0.3,)),
    "capsule": (capsule, (0.15, 0.3)),
    "ellipsoid": (ellipsoid, (0.2, 0.25, 0.3)),
    "cylinder": (cylinder, (0.2, 0.25)),
    "box": (box, (0.2, 0.15, 0.25)),
}
HEIGHTS = np.random.default_rng(0).random((9, 11))


def mujoco_touches(kind, sizes, R, p):
    """(distances, positions, normals) of a shape on terrain, as MuJoCo finds them."""
    spec = mujoco.MjSpec()
    heights = (HEIGHTS - HEIGHTS.min()) / (HEIGHTS.max() - HEIGHTS.min())
    spec.add_hfield(name="ground", nrow=9, ncol=11, size=[2.0, 1.5, 0.3, 0.2], userdata=heights.ravel())
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="ground", pos=[0.1, 0.2, -0.1])
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, R.ravel())
    body = spec.worldbody.add_body(pos=p, quat=quaternion)
    body.add_freejoint()
    body.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}"), size=[*sizes, 0, 0][:3])
    spec.option.ccd_tolerance, spec.option.ccd_iterations = 1e-10, 200
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return data.contact.dist.copy(), data.contact.pos.copy(), data.contact.frame[:, :3].copy()


@pytest.mark.parametrize("kind", [kind for kind in SHAPES if kind != "box"])
def test_against_mujoco(kind):
    """Distances of all prisms that overlap by more than rounding, and positions and normals where overlaps are shallow:
    deep in a prism, directions may be equally good."""
    rng = np.random.default_rng(3)
    made, sizes = SHAPES[kind]
    heights = (HEIGHTS - HEIGHTS.min()) / (HEIGHTS.max() - HEIGHTS.min())
    field, X = HeightField(heights, 2.0, 1.5, 0.3, 0.2), Transform.translation(0.1, 0.2, -0.1)
    met = compared = 0
    for R in rotations(rng, 6):
        p = np.array([rng.uniform(-1.2, 1.2), rng.uniform(-0.8, 0.8), rng.uniform(0.25, 0.45)])
        theirs, points, normals = mujoco_touches(kind, sizes, R, p)
        found = field_convex_within(field, X, made(sizes).at(pose(R.tolist(), p.tolist())), 0.0)
        ours = np.array([row.distance for row in found])
        strong = theirs < -1e-6
        assert len(ours[ours < -1e-6]) == strong.sum()
        np.testing.assert_allclose(np.sort(ours[ours < -1e-6]), np.sort(theirs[strong]), atol=2e-5)
        met += strong.sum()
        for d, point, normal in zip(theirs[strong], points[strong], normals[strong], strict=True):
            if d > -0.05:
                k = int(np.argmin(np.abs(ours - d)))
                if (np.abs(np.delete(ours, k) - d) > 1e-3).all():
                    compared += 1
                    assert as_array(found[k].normal) @ normal > 1 - 1e-3
                    np.testing.assert_allclose(as_array(found[k].touch().position), point, atol=0.02)
    assert met > 5
    assert compared > 0


def test_boxes_by_many_directions():
    """MuJoCo reports boxes less deep than any direction allows, so directions are the judge: none separates sooner."""
    rng = np.random.default_rng(4)
    field, n = HeightField(HEIGHTS, 2.0, 1.5, 0.3, 0.2), rng.normal(size=(3000, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    met = 0
    for R in rotations(rng, 4):
        shape = box(SHAPES["box"][1]).at(pose(R.tolist(), [0.3, -0.2, 0.3]))
        low, high = box_of(shape)
        lids = _lids_below(field, low, high, 0.0)
        prisms = np.concatenate([lids, lids * [1, 1, 0] - [0, 0, 0.2]], axis=1)
        low = np.array([Vec3(*m).dot(shape.support(Vec3(*-m))) for m in n])
        gaps = (low - np.einsum("lci,ni->lcn", prisms, n).max(axis=1)).max(axis=1)
        found = sorted(row.distance for row in field_convex_within(field, Transform.identity(), shape, 1.0))
        deep = np.sort(gaps)[np.sort(gaps) < -1e-2]
        met += len(deep)
        assert (np.array(found[: len(deep)]) >= deep - 1e-9).all()
        np.testing.assert_allclose(found[: len(deep)], deep, atol=0.02)  # as near as 3000 directions come
    assert met > 5


def test_a_flat_field_is_a_floor():
    flat = HeightField(np.full((4, 5), 0.5), 2.0, 1.5, 1.0, 0.1)
    for solid, low in ((Sphere(0.3), 0.3), (Box(0.4, 0.4, 0.4), 0.2), (Capsule(0.1, 0.4), 0.3)):
        for gap in (-0.01, 0.02):
            found = distance(flat, solid.at(0.11, 0.07, 0.5 + low + gap))
            assert found.distance == pytest.approx(gap, abs=1e-9)
            np.testing.assert_allclose(found.normal, [0, 0, 1], atol=1e-6)
        assert touches(flat, solid.at(0.11, 0.07, 0.5 + low + 0.02)) == []
        assert all(t.distance == pytest.approx(-0.01) for t in touches(flat, solid.at(0.11, 0.07, 0.5 + low - 0.01)))


def test_beside_and_below_a_field():
    field = HeightField(HEIGHTS, 2.0, 1.5, 0.3, 0.2)
    ball = sphere((0.3,))
    for p in ((3.0, 0, 0), (0, 2.5, 0), (0, 0, 2.0), (0, 0, -1.0)):
        assert field_convex_within(field, Transform.identity(), ball.at(Transform.translation(*p)), 0.0) == []
    assert distance(field, Sphere(0.3).at(3.0, 0, 0)).distance == pytest.approx(0.7, abs=1e-9)
    assert distance(field, Sphere(0.3).at(0, 0, -1.0)).distance == pytest.approx(0.5, abs=1e-9)
