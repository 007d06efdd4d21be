"""Closed forms against MuJoCo's contacts, against iteration, and against themselves: exchanged, moved, compiled."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from qdot.algebra import Mat3, Vec3, scalars_in
from qdot.collision import support
from qdot.collision.capsules import ALONG
from qdot.collision.convex import nearest
from qdot.collision.narrow import Meeting, bounding_radius, meeting, sizes_of
from qdot.collision.touch import FAR
from qdot.compiler.trace import trace
from qdot.errors import GeometryError
from qdot.geometry import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Shape, Sphere
from qdot.programs import expressions as _registered  # makes expressions scalars  # noqa: F401
from qdot.spatial import Transform
from tests.backends.loading import by_llvm, run
from tests.collision.mujoco_touches import Peer, Row, difference, is_closed, packed, random_pose, rows, transform

PLANE = Plane()
FIRST = (Sphere(0.11), Capsule(0.07, 0.4), Ellipsoid(0.1, 0.2, 0.15), Cylinder(0.1, 0.3), Box(0.2, 0.3, 0.4))
SECOND = (Sphere(0.2), Capsule(0.1, 0.25), Ellipsoid(0.2, 0.1, 0.15), Cylinder(0.15, 0.2), Box(0.25, 0.15, 0.5))
BOUNDED = [
    (a, b) for a, b in ((FIRST[i], SECOND[j]) for i, j in combinations_with_replacement(range(5), 2)) if is_closed(a, b)
]
PAIRS = [(PLANE, b) for b in SECOND] + BOUNDED
ALIKE = [(a, b) for a, b in BOUNDED if type(a) is type(b)]
POSES = 400
GENERIC = 1e-8
"""Of positions, normals and distances [m]; closed forms agree to rounding, polygons of faces to 1e-11."""


def name_of(pair: tuple[Shape, Shape]) -> str:
    return "-".join(type(shape).__name__ for shape in pair)


by_pair = pytest.mark.parametrize("pair", PAIRS, ids=name_of)


def touches(a: Shape, b: Shape, X_a: Transform, X_b: Transform, margin: float = 0.0) -> list[Row]:
    return rows(meeting(a, b).function(sizes_of(a), X_a, sizes_of(b), X_b, margin))


def poses(a: Shape, b: Shape, seed: int, count: int, nearness: float = 0.8):
    """Pairs of random poses, some of them overlapping, touching, near and far."""
    random = np.random.default_rng(seed)
    reach = nearness * ((bounding_radius(a) or 0.2) + (bounding_radius(b) or 0.2))
    for _ in range(count):
        first, second = random_pose(random, 0.5), random_pose(random, reach)
        yield first, (second[0], first[1] + second[1])


# ── against MuJoCo ───────────────────────────────────────────────────────────────────────────────────────────────────


@by_pair
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_touches_are_mujocos_contacts(pair, margin):
    a, b = pair
    peer, met = Peer(a, b, margin), 0
    for first, second in poses(a, b, 1, POSES):
        theirs = peer.touches(first, second)
        ours = touches(a, b, transform(*first), transform(*second), margin)
        assert difference(ours, theirs, margin) < GENERIC, (first, second)
        met += bool(theirs)
    assert met > POSES / 10


@by_pair
def test_shapes_that_just_touch_have_mujocos_contacts(pair):
    """The second is moved along the normal until the deepest point is 1e-5 m deep, or as far away."""
    a, b = pair
    margin, met = 1e-4, 0
    peer = Peer(a, b, margin)
    for k, (first, second) in enumerate(poses(a, b, 2, POSES // 2)):
        if isinstance(b, Box) and not isinstance(a, (Plane, Sphere)) and k % 2:
            continue  # every other one is enough where it takes long
        deepest = min(touches(a, b, transform(*first), transform(*second), 1.0), key=lambda row: row[0])
        if deepest[0] > 1.0:
            continue
        depth = 1e-5 * (-1) ** k
        second = second[0], second[1] - deepest[2] * (deepest[0] - depth)
        theirs = peer.touches(first, second)
        assert difference(touches(a, b, transform(*first), transform(*second), margin), theirs, margin) < 1e-6
        met += bool(theirs)
    assert met > 20


@pytest.mark.parametrize("angle", [0.0, 3e-4, 0.1, 0.4, 0.6])
def test_looking_ahead_tells_both_ends_of_capsules_along_each_other(angle):
    """The first touch is the nearest; each of the others is between balls about points of both axes, so none is nearer,
    and one end is farther off by about sin(angle) of the stretch: less, as balls are nearest across. The same the other
    way round."""
    a, b = Capsule(0.1, 0.5), Capsule(0.08, 0.3)
    X, turn = Transform(Mat3.identity(), Vec3(0, 0, 0)), np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    second = transform(turn, np.array([0.3, 0.02, 0.04]))
    (near, *ends) = meeting(a, b, ahead=True).function(sizes_of(a), X, sizes_of(b), second, 1.0)
    (nearest, *_) = meeting(a, b).function(sizes_of(a), X, sizes_of(b), second, 1.0)
    assert near.distance == pytest.approx(nearest.distance, abs=1e-12)
    assert len(ends) == 2
    if np.cos(angle) <= ALONG:
        assert all(end.distance == FAR for end in ends)
        return
    assert min(end.distance for end in ends) >= near.distance - 1e-12
    far = max(end.distance for end in ends) - near.distance
    assert 0.7 * 0.3 * np.sin(angle) - 1e-12 < far < 0.3 * np.sin(angle) + 1e-12
    turned = meeting(b, a, ahead=True).function(sizes_of(b), second, sizes_of(a), X, 1.0)
    for one, two in zip((near, *ends), turned, strict=True):
        assert one.distance == pytest.approx(two.distance, abs=0.1 * angle + 1e-12)


@pytest.mark.parametrize("length", [0.1, 0.5])
@pytest.mark.parametrize("angle", [0.0, 3e-5, 3e-4])
def test_parallel_capsules_touch_at_both_ends_of_what_they_share(length, angle):
    a, b = Capsule(0.1, 0.5), Capsule(0.08, length)
    turned = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    peer, random = Peer(a, b, 0.05), np.random.default_rng(0)
    for _ in range(50):
        pose = random_pose(random, 1.0)
        X = transform(*pose)
        shift = X.rotation @ Vec3(0.15, 0.0, random.uniform(-0.6, 0.6))
        second = _times(pose[0], turned), pose[1] + np.array([*shift])
        ours = touches(a, b, X, transform(*second), 0.05)
        theirs = peer.touches(pose, second)
        assert difference(ours, theirs, 0.05) < 1e-7
        if theirs:
            assert len(theirs) == (2 if angle < 1e-4 else 1)


@pytest.mark.parametrize("lift", [-1e-3, 1e-3])
def test_a_box_on_a_box_has_mujocos_corners(lift):
    """Turned about the vertical by any angle, and shifted: polygons of three corners and more."""
    a, b = Box(0.4, 0.3, 0.2), Box(0.3, 0.4, 0.2)
    peer, random, counts = Peer(a, b, 0.01), np.random.default_rng(3), set()
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    for k in range(300):
        angle = random.uniform(0, np.pi) if k % 3 else random.integers(4) * np.pi / 2
        shift = random.uniform(-0.3, 0.3, size=2)
        second = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]), np.array([*shift, 0.2 + lift])
        ours = touches(a, b, transform(upright, np.zeros(3)), transform(*second), 0.01)
        theirs = peer.touches((upright, np.zeros(3)), second)
        assert difference(ours, theirs, 0.01) < 1e-6, second
        counts.add(len(theirs))
    assert counts >= {3, 4, 5, 6}


def test_flush_boxes_have_the_four_corners_of_what_they_share():
    """Sides in one plane, up to rounding; MuJoCo finds the same corners, and a few more points along such sides."""
    a, b = Box(0.4, 0.3, 0.2), Box(0.3, 0.4, 0.2)
    peer, upright = Peer(a, b, 0.01), np.array([1.0, 0.0, 0.0, 0.0])
    for quarter, x, y in product(range(4), range(-2, 3), range(-2, 3)):
        angle, shift = quarter * np.pi / 2, (0.05 * x, 0.05 * y)
        second = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]), np.array([*shift, 0.199])
        ours = touches(a, b, transform(upright, np.zeros(3)), transform(*second))
        sides = (0.15, 0.2) if quarter % 2 == 0 else (0.2, 0.15)
        bounds = [
            (max(-half, place - side), min(half, place + side))
            for half, side, place in zip((0.2, 0.15), sides, shift, strict=True)
        ]
        corners = [(-0.001, np.array([*corner, 0.0995]), np.array([0.0, 0.0, 1.0])) for corner in product(*bounds)]
        assert difference(ours, corners, 0.0) < 1e-9
        theirs = peer.touches((upright, np.zeros(3)), second)
        assert all(min(np.abs(corner[1] - row[1]).max() for row in theirs) < 1e-9 for corner in corners)


@pytest.mark.parametrize("seed", range(3))
def test_a_hull_rests_on_its_lowest_corner(seed):
    points = np.random.default_rng(seed).normal(size=(30, 3)) * 0.2
    hull = ConvexHull(points)
    for first, second in poses(PLANE, hull, seed, 50):
        X_a, X_b = transform(*first), transform(*second)
        heights = [float((X_a.inv() @ (X_b @ Vec3(*corner))).z) for corner in hull.vertices.tolist()]
        found = touches(PLANE, hull, X_a, X_b, 0.1)
        assert found[0][0] == pytest.approx(min(heights), abs=1e-12)
        there = [row for row in found if row[0] < FAR / 2]
        for distance, position, normal in there:  # each is a corner, half of its height below itself
            corner = X_a.inv() @ Vec3(*(position + normal * distance / 2))
            assert float(corner.z) == pytest.approx(distance, abs=1e-12)
            assert min(abs(distance - height) for height in heights) < 1e-12
        spread = [np.linalg.norm(p[1] - q[1]) for p in there for q in there if p is not q]
        assert not spread or min(spread) > 1e-3


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@by_pair
def test_exchanged_shapes_touch_alike(pair):
    """Bit for bit where the kinds differ; up to rounding where they are the same, for either may be the first."""
    a, b = pair
    for first, second in poses(a, b, 4, 200):
        X_a, X_b = transform(*first), transform(*second)
        one = meeting(a, b).function(sizes_of(a), X_a, sizes_of(b), X_b, 0.05)
        two = meeting(b, a).function(sizes_of(b), X_b, sizes_of(a), X_a, 0.05)
        back = [replace(touch, normal=-touch.normal) for touch in two]
        if pair not in ALIKE or type(a) is Sphere:
            assert back == one
        else:
            assert difference(rows(back), rows(one), 0.05) < GENERIC


@by_pair
def test_touches_move_with_the_shapes(pair):
    a, b = pair
    random = np.random.default_rng(5)
    for first, second in poses(a, b, 5, 100):
        X = transform(*random_pose(random, 2.0))
        X_a, X_b = transform(*first), transform(*second)
        moved = [
            (d, np.array([*(X @ Vec3(*p.tolist()))]), np.array([*(X.rotation @ Vec3(*n.tolist()))]))
            for d, p, n in touches(a, b, X_a, X_b, 0.05)
        ]
        assert difference(touches(a, b, X @ X_a, X @ X_b, 0.05), moved, 0.05) < GENERIC


SUPPORTS = {"Sphere": support.sphere, "Capsule": support.capsule, "Cylinder": support.cylinder, "Box": support.box}


@pytest.mark.parametrize("pair", [pair for pair in BOUNDED if pair not in ALIKE[2:]], ids=name_of)
def test_distances_of_shapes_apart_are_those_found_by_iteration(pair):
    """Another route: the nearest point of all differences. Boxes are left out, for whose corners axes give bounds."""
    a, b = pair
    n = 500
    X_a, X_b = (lanes(list(column)) for column in zip(*poses(a, b, 6, n, nearness=1.2), strict=True))
    found = meeting(a, b).function(sizes_of(a), X_a, sizes_of(b), X_b, 10.0)
    ours = packed(found, n)[:, 0].min(axis=0)
    one, two = (SUPPORTS[type(s).__name__](sizes_of(s)).at(X) for s, X in ((a, X_a), (b, X_b)))
    theirs = nearest(one, two).distance
    apart = theirs > 1e-3
    assert apart.sum() > n / 10
    assert np.abs(ours - theirs)[apart].max() < 1e-7


# ── other scalars ────────────────────────────────────────────────────────────────────────────────────────────────────


def lanes(poses: list[tuple[np.ndarray, np.ndarray]]) -> Transform:
    """Many poses as one of lanes."""
    return pose_of(np.array([list(scalars_in(transform(*pose))) for pose in poses]).T)


def pose_of(x) -> Transform:
    return Transform(Mat3(Vec3(*x[0:3]), Vec3(*x[3:6]), Vec3(*x[6:9])), Vec3(*x[9:12]))


@by_pair
def test_lanes_give_the_bits_of_floats_and_compiled_code_their_numbers(pair):
    a, b = pair
    n, met, sizes = 200, meeting(a, b), (sizes_of(a), sizes_of(b))
    columns = list(zip(*poses(a, b, 7, n), strict=True))
    X_a, X_b = (lanes(list(column)) for column in columns)
    by_lanes = packed(met.function(sizes[0], X_a, sizes[1], X_b, 0.05), n)
    one_by_one = [
        packed(met.function(sizes[0], transform(*first), sizes[1], transform(*second), 0.05), 1)
        for first, second in zip(*columns, strict=True)
    ]
    assert by_lanes.shape[0] == met.count
    assert np.array_equal(by_lanes, np.concatenate(one_by_one, axis=-1))
    program = trace("touches", lambda x, y: {"touches": text(met, sizes, x, y)}, {"x": (12,), "y": (12,)})
    inputs = {k: np.array([list(scalars_in(transform(*p))) for p in c]) for k, c in zip("xy", columns, strict=True)}
    assert np.abs(run(by_llvm(program), inputs)["touches"] - np.moveaxis(by_lanes, -1, 0)).max() < 1e-10


def text(met: Meeting, sizes, x, y) -> list:
    return [list(scalars_in(touch)) for touch in met.function(sizes[0], pose_of(x), sizes[1], pose_of(y), 0.05)]


# ── degenerate input ─────────────────────────────────────────────────────────────────────────────────────────────────

HALF = 0.5**0.5
TURNS = [
    (1.0, 0, 0, 0),
    (HALF, HALF, 0, 0),
    (HALF, 0, HALF, 0),
    (HALF, 0, 0, HALF),
    (0.5, 0.5, 0.5, 0.5),
    (0, 1.0, 0, 0),
]


@by_pair
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_whatever_the_pose_numbers_are_finite_and_normals_are_units(pair, scale):
    """Coincident centres, parallel axes, faces, edges and corners that meet exactly, at sizes from 1e-4 m to 1e4 m."""
    a, b = (shape.scaled(scale) for shape in pair)
    random, n = np.random.default_rng(8), 5000
    grid = sorted({0.0, *sizes_of(a), *sizes_of(b), *np.add.outer((0.0, *sizes_of(a)), sizes_of(b)).reshape(-1)})
    places = np.array([*grid, *(-x for x in grid)])

    def some(count: int) -> Transform:
        chosen = random.integers(len(TURNS), size=count)
        turns = np.array(TURNS)[chosen]
        free = random.random(count) < 0.2
        turns[free] = random.normal(size=(int(free.sum()), 4))
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        tilted = turns + random.choice([0.0, 1e-16, 1e-9, 1e-5], size=(count, 1)) * random.normal(size=(count, 4))
        tilted /= np.linalg.norm(tilted, axis=1, keepdims=True)
        return lanes([(q, p) for q, p in zip(tilted, random.choice(places, size=(count, 3)), strict=True)])

    X_a, X_b = some(n), some(n)
    for margin in (0.0, 0.1 * scale):
        found = packed(meeting(a, b).function(sizes_of(a), X_a, sizes_of(b), X_b, margin), n)
        assert np.isfinite(found).all()
        assert np.abs(np.linalg.norm(found[:, 4:7], axis=1) - 1).max() < 1e-9
        there = np.abs(found[:, 0]) < FAR / 2
        assert np.abs(found[:, 0])[there].max() < 1e3 * scale


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not isinstance(pair[0], Plane)], ids=name_of)
def test_scaled_shapes_touch_at_scaled_points(pair):
    a, b = pair
    for first, second in poses(a, b, 9, 50):
        one = touches(a, b, transform(*first), transform(*second), 0.05)
        for scale in (2.0**-13, 2.0**13):
            X_a, X_b = (transform(q, p * scale) for q, p in (first, second))
            other = touches(a.scaled(scale), b.scaled(scale), X_a, X_b, 0.05 * scale)
            back = [(d / scale, p / scale, n) for d, p, n in other]
            assert difference(back, one, 0.05) < GENERIC


# ── who meets whom ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_shapes_of_two_parts_meet_where_they_are_placed():
    a, b = Sphere(0.1), Box(0.2, 0.3, 0.4)
    X_a, X_b, X = (transform(*random_pose(np.random.default_rng(k), 0.1)) for k in range(3))
    placed = a.at(X)
    for one, two in ((placed, b), (b, placed)):
        poses = (X_a, X_b) if one is placed else (X_b, X_a)
        inner = (X_a @ X, X_b) if one is placed else (X_b, X_a @ X)
        bare = (a, b) if one is placed else (b, a)
        assert difference(touches(one, two, *poses, 1.0), touches(*bare, *inner, 1.0), 1.0) < 1e-14


def test_ground_with_ground_has_no_narrow_phase():
    terrain = HeightField([[0.0, 1.0], [0.0, 1.0]], 1.0, 1.0, 1.0, 0.1)
    for pair in ((PLANE, PLANE), (PLANE, terrain)):
        with pytest.raises(GeometryError, match="no narrow phase for Plane"):
            meeting(*pair)


def test_bounding_radii_hold_the_shapes():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    assert bounding_radius(PLANE) is None
    for shape in (*FIRST, *SECOND, mesh, ConvexHull(corners), Sphere(0.1).at(1, 2, 2)):
        vertices, _ = shape.surface()
        farthest, radius = np.linalg.norm(vertices, axis=1).max(), bounding_radius(shape)
        assert radius is not None
        assert farthest <= radius * (1 + 1e-12) <= 1.02 * farthest


def _times(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The product of two quaternions."""
    w, v = p[0] * q[0] - p[1:] @ q[1:], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])
    return np.array([w, *v])
