"""Terrain in steps: the deepest touch is that of queries and of MuJoCo, flat terrain is a plane, and things roll down
hills and come to rest on them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import qdot
from qdot.algebra import Quaternion, Vec3, as_array
from qdot.algorithms.kinematics import world_poses
from qdot.collision.narrow import meeting, sizes_of
from qdot.collision.queries import distance, ray, touches
from qdot.contact import Soft
from qdot.contact.soft import soft_problem
from qdot.geometry import Box, Capsule, ConvexHull, Cylinder, HeightField, Plane, Shape, Sphere
from qdot.spatial import Transform
from tests.collision.mujoco_touches import Peer, transform
from tests.contact.models import GRAVITY, ball, box, friction
from tests.formats.corpora import mjcf_files

RANDOM = np.random.default_rng(5)
SHAPES = {
    "sphere": Sphere(0.3),
    "capsule": Capsule(0.15, 0.6),
    "cylinder": Cylinder(0.2, 0.5),
    "box": Box(0.4, 0.3, 0.5),
    "hull": ConvexHull(RANDOM.normal(size=(12, 3)) * 0.2),
}
HEIGHTS = RANDOM.random((9, 11))
HILLS = HeightField((HEIGHTS - HEIGHTS.min()) / np.ptp(HEIGHTS), 2.0, 1.5, 0.3, 0.2)
FLAT = HeightField(np.full((7, 9), 0.5), 2.0, 1.5, 1.0, 0.1)
FEW = {"sphere": 1, "capsule": 2, "box": 4}
LANES, REACH, MARGIN = 8, 0.01, 0.05


def met(a: Shape, b: Shape, quaternions: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Distances, positions and normals of the second shape at many poses, in the first one's frame: (touches, 7, n)."""
    poses = Transform(Quaternion(*np.ascontiguousarray(quaternions.T)).rotation(), Vec3(*positions.T.copy()))
    with np.errstate(all="ignore"):  # lanes that need no answer may have none
        found = meeting(a, b).function((), Transform.translation(0.0, 0.0, 0.0), sizes_of(b), poses, MARGIN)
    rows = [[np.broadcast_to(x, len(positions)) for x in (t.distance, *t.position, *t.normal)] for t in found]
    return np.array(rows)


@pytest.fixture(scope="module", params=SHAPES)
def lowered(request) -> tuple[Shape, np.ndarray, np.ndarray]:
    """A shape at random poses, each let down until it is in the hills by REACH or less: nothing is passed by as long
    as the way down is not longer than the distance."""
    shape, random = SHAPES[request.param], np.random.default_rng(6)
    quaternions = random.normal(size=(LANES, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    positions = np.column_stack(
        [random.uniform(-1.2, 1.2, LANES), random.uniform(-0.8, 0.8, LANES), np.full(LANES, 0.9)]
    )
    for k in range(LANES):
        for _ in range(4):
            positions[k, 2] -= distance(HILLS, shape.at(transform(quaternions[k], positions[k]))).distance
        positions[k, 2] -= REACH
    return shape, quaternions, positions


def is_below_a_lid(row: np.ndarray) -> bool:
    """Whether a touch is a point below one triangle, its normal that of the triangle, as a ray from above sees it."""
    d, normal = row[0], row[4:]
    point = row[1:4] + normal * (d / 2)
    hit = ray(HILLS, [*point[:2], 5.0], [0, 0, -1])
    return hit.normal @ normal > 1 - 1e-9 and abs((point[2] - 5 + hit.distance) * normal[2] - d) < 1e-9


def test_the_deepest_is_that_of_queries(lowered):
    """Or else a corner by an edge between two triangles, below one of them: a prism alone tells a normal there that the
    surface has not."""
    shape, quaternions, positions = lowered
    found, equal = met(HILLS, shape, quaternions, positions), 0
    for k, rows in enumerate(np.moveaxis(found, 2, 0)):
        nearest = touches(HILLS, shape.at(transform(quaternions[k], positions[k])), MARGIN)[0]
        deepest = rows[rows[:, 0].argmin()]
        if deepest[0] == pytest.approx(nearest.distance, abs=1e-7):
            equal += 1
            assert deepest[4:] @ as_array(nearest.normal) > 1 - 1e-6
        else:
            assert deepest[0] == pytest.approx(nearest.distance, rel=0.1)
            assert is_below_a_lid(deepest)
    assert equal >= LANES - 2


def test_the_deepest_is_that_of_mujoco(lowered):
    """Of round shapes by its new collider, which tells boxes and hulls to be less deep than any direction allows; of
    those by its old one, which may stop a little early, and finds them deeper then."""
    shape, quaternions, positions = lowered
    found, equal = met(HILLS, shape, quaternions, positions), 0
    peer = Peer(HILLS, shape, 0.0)
    peer.m.opt.ccd_tolerance, peer.m.opt.ccd_iterations = 1e-10, 200
    if isinstance(shape, (Box, ConvexHull)):
        peer.m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_NATIVECCD
    for k, rows in enumerate(np.moveaxis(found, 2, 0)):
        theirs = peer.touches((np.array([1.0, 0, 0, 0]), np.zeros(3)), (quaternions[k], positions[k]))
        deepest = rows[rows[:, 0].argmin()]
        d, _, normal = min(theirs, key=lambda row: row[0])
        if deepest[0] == pytest.approx(d, abs=1e-6):  # heights have 32 bits there
            equal += 1
            assert deepest[4:] @ normal > 1 - 1e-6
        else:
            assert deepest[0] > d or is_below_a_lid(deepest)
    assert equal >= LANES - 2


def level(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses over flat terrain, tilted by less than 0.01, many with an edge right at one between two cells."""
    random = np.random.default_rng(7)
    quaternions = np.column_stack(
        [np.ones(count), random.uniform(-0.005, 0.005, (count, 2)), random.normal(size=count)]
    )
    quaternions[::2, 3] = 0
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    at_edge = np.round(random.uniform(-1, 1, (count, 2)) * 2) / 2 + random.uniform(-2e-3, 2e-3, (count, 2))
    return quaternions, np.column_stack([at_edge - [0.2, 0.15], np.zeros(count)])


@pytest.mark.parametrize("kind", SHAPES)
def test_flat_terrain_is_a_plane(kind):
    """The same touches of a ball, the ends of a capsule and the corners of a box, and no others. Rims, and faces with
    many corners, may have more than with a plane; their normals are the plane's within what counts as the same."""
    shape = SHAPES[kind]
    quaternions, positions = level(40)
    if kind == "capsule":  # lies
        quaternions = np.array([quaternions @ np.kron([[1, 0], [0, 1]], [[1, 1], [-1, 1]]) / 2**0.5])[0]
    depths = met(Plane(), shape, quaternions, positions)[:, 0].min(axis=0)
    positions[:, 2] = np.linspace(-0.02, 0.005, len(positions)) - depths
    above = positions + [0, 0, 0.5]
    ours, theirs = met(FLAT, shape, quaternions, above), met(Plane(), shape, quaternions, positions)
    for k in range(len(positions)):
        mine, plane = (rows[rows[:, 0, k] < MARGIN, :, k] for rows in (ours, theirs))
        mine[:, 3] -= 0.5
        np.testing.assert_allclose(mine[:, 4:], [[0, 0, 1]] * len(mine), atol=1.5e-3)
        assert mine[:, 0].min() == pytest.approx(plane[:, 0].min(), abs=1e-9)
        if kind in FEW:
            assert len(mine) == len(plane) == FEW[kind]
            order = [np.lexsort(np.round(rows[:, 1:3].T, 6)) for rows in (mine, plane)]
            np.testing.assert_allclose(mine[order[0]], plane[order[1]], atol=1e-7)


def test_nothing_is_met_beside_and_below():
    for p in ((3.0, 0, 0.4), (0, 2.5, 0.4), (-2.0, -2.0, 0.4), (0, 0, 2.0), (0, 0, -2.0), (1e9, -1e9, 0)):
        for shape in SHAPES.values():
            assert (met(HILLS, shape, np.array([[1.0, 0, 0, 0]]), np.array([p], dtype=float))[:, 0] >= MARGIN).all()


SLOPE = np.arctan(0.1)
GROUND = np.tile(np.linspace(0, 1, 9), (9, 1))
GROUND[5:] = np.random.default_rng(2).random((4, 9))
MU, SPEED = 0.3, 1.0


def on_field(body: str, heights: np.ndarray, size: str) -> qdot.Model:
    rows, columns = heights.shape
    elevation = " ".join(map(repr, heights[::-1].reshape(-1).tolist()))
    field = f'<hfield name="hills" nrow="{rows}" ncol="{columns}" size="{size}" elevation="{elevation}"/>'
    return qdot.load(f"""<mujoco><option gravity="0 0 {-GRAVITY}" cone="elliptic"/><asset>{field}</asset>
        <worldbody><geom type="hfield" hfield="hills" {friction(MU)}/>{body}</worldbody></mujoco>""")


def on_hillside(body: str) -> qdot.Model:
    """For y < 0 a slope along x of tan = 0.1, for y > 0.5 hills."""
    return on_field(body, GROUND, "2 2 0.4 0.1")


def above_slope(x: float, y: float, height: float) -> str:
    along, up = np.array([np.cos(SLOPE), 0, np.sin(SLOPE)]), np.array([-np.sin(SLOPE), 0, np.cos(SLOPE)])
    return " ".join(map(repr, (np.array([0, y, 0.2]) + along * x + up * height).tolist()))


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_a_ball_rolls_down_a_slope(kind):
    """With 5/7 g sin a, to first order in dt."""
    model = on_hillside(ball(at=above_slope(1.1, -1.5, 0.1), more=friction(1)))
    run = qdot.simulate(model, None, 1.0, 1e-3, contact=kind)
    way = np.linalg.norm(run.position("ball")[-1] - run.position("ball")[0])
    assert way == pytest.approx(5 / 14 * GRAVITY * np.sin(SLOPE), rel=0.005)


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_a_block_slides_until_friction_stops_it(kind):
    """After v²/(2 g (μ cos a - sin a)), to first order in dt, though cells end below it on its way."""
    turned = f'{above_slope(0.05, -0.7, 0.1)}" quat="{np.cos(SLOPE / 2):.17g} 0 {-np.sin(SLOPE / 2):.17g} 0'
    model = on_hillside(box("block", turned, "0.1 0.1 0.1", more=friction(MU)))
    run = qdot.simulate(model, (model.home(), [0, 0, 0, -SPEED, 0, 0]), 0.6, 1e-3, contact=kind)
    way = np.linalg.norm(run.position("block")[-1] - run.position("block")[0])
    assert way == pytest.approx(SPEED**2 / (2 * GRAVITY * (MU * np.cos(SLOPE) - np.sin(SLOPE))), rel=0.005)


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_a_box_comes_to_rest_on_hills(kind):
    """Where soft contact creeps by half a millimetre a second."""
    model = on_hillside(box("fallen", "0.2 1.2 0.6", "0.3 0.2 0.1", more=friction(1)))
    run = qdot.simulate(model, None, 2.0, 1e-3, contact=kind)
    settled = run.position("fallen")[1000:]
    assert (settled[:, 2] > 0.3).all()
    assert np.ptp(settled, axis=0).max() < 1e-3


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_a_plate_wider_than_a_plateau_stays_on_it(kind):
    """As long as its middle is over it: it is held where no corner of it touches anything."""
    heights = np.zeros((9, 9))
    heights[4:6, 4:6] = 1
    model = on_field(box("plate", "0 0 0.355", "0.3 0.3 0.05", more=friction(1)), heights, "1 1 0.3 0.1")
    for x, y, stays in ((0.125, 0.125, True), (0.2, 0.18, True), (0.32, 0.1, False)):
        q = model.home()
        q[4], q[5] = x, y
        run = qdot.simulate(model, (q, np.zeros(6)), 1.0, 1e-3, contact=kind, record=100)
        height, tilt = run.q[-1, 6], np.abs(run.q[-1, 1:3]).max()
        assert (abs(height - 0.35) < 1e-3) == stays
        assert (tilt < 1e-3) == stays


def test_a_quadruped_stands_on_its_terrain_as_on_its_floor():
    """The suite's has 40,401 heights, all zero in its file. Its toes are balls, so that both have the same touches."""
    file = next(f.path for f in mjcf_files() if str(f.path).endswith("suite/quadruped.xml"))
    pushed = []
    for taken in ("floor", "terrain"):
        spec = mujoco.MjSpec.from_file(str(file))
        spec.delete(spec.geom(taken))
        if taken == "floor":
            spec.geom("terrain").pos = [0, 0, 0]
        model = qdot.load(spec.to_xml())
        q, v = model.home(), np.random.default_rng(3).normal(size=model.nv) * 0.1
        poses = world_poses(model, q)
        q[6] -= min(poses[body.index].position.z for body in model.bodies if "toe" in body.name) - 0.078  # of 0.08
        problem = soft_problem(model, q, v, np.zeros(model.nv), 0.005, Soft(1e-12, 100, room=16))
        pushed.append(problem.solved([0.0] * model.nv).joint_forces())
    assert np.linalg.norm(pushed[0]) > 100
    np.testing.assert_allclose(*pushed, atol=1e-9 * np.linalg.norm(pushed[0]))
