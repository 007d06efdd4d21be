"""Hulls in tables: which corners can be farthest, boxes about shapes, and one text for all hulls of a table."""

import numpy as np
import pytest

import qdot.programs.expressions  # noqa: F401 - traced expressions become scalars
from qdot.algebra import Vec3, scanned
from qdot.collision.bounding_boxes import box_about, gap_of_boxes, height_of_box
from qdot.collision.cells import MANY, candidates, grid_of, located, part_of
from qdot.collision.convex import convex_touches, nearest
from qdot.collision.hulls import Hull, Hulls, hull, hulls_of
from qdot.collision.narrow import meeting, sizes_of
from qdot.collision.touch import FAR
from qdot.compiler.trace import trace
from qdot.geometry import Box, Capsule, Cone, ConvexHull, Cylinder, Ellipsoid, Plane, Sphere
from qdot.spatial import Transform
from tests.backends.loading import by_llvm, run
from tests.collision.coal_shapes import pose, positions, rotations


def rock(count, seed=0, sizes=(0.3, 0.2, 0.1)):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return ConvexHull(points / np.linalg.norm(points, axis=1, keepdims=True) * sizes)


def poses(count, reach, seed=5):
    random = np.random.default_rng(seed)
    return rotations(random, count), positions(random, count, reach)


CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def drum(corners, axis=(0.36, 0.48, 0.8)):
    """A cylinder with ends of so many corners, about an axis that is in no cell's middle."""
    angles = np.arange(corners) * 2 * np.pi / corners
    ends = [np.stack([np.cos(angles), np.sin(angles), np.full(corners, z)], axis=1) for z in (-1.0, 1.0)]
    across = np.cross(axis, [1.0, 0.0, 0.0])
    across /= np.linalg.norm(across)
    return np.concatenate(ends) @ [across, np.cross(axis, across), axis]


def about(axis, random, count=1000):
    """Directions near an axis, at angles from 1 down to 1e-9, and on it."""
    tilt = random.normal(size=(count, 3)) * 10.0 ** random.uniform(-9, 0, size=(count, 1))
    tilt[::50] = 0
    return np.array(axis) * random.choice([-1.0, 1.0], size=(count, 1)) + tilt


@pytest.mark.parametrize("corners", [CUBE, rock(12).vertices, rock(150).vertices, rock(900).vertices, drum(200)])
def test_the_farthest_corner_is_a_candidate_of_its_cell(corners):
    """And of the finer cells in which it is, one within the other."""
    random = np.random.default_rng(1)
    n = np.concatenate([random.normal(size=(4000, 3)), about((0.36, 0.48, 0.8), random)])
    n[:1500] *= random.choice([1e-6, 1.0, 1e6], size=(1500, 3))  # also along edges and middles of the cube's sides
    found, grid = candidates(corners), grid_of(corners)
    assert len(found) == 6 * grid * grid
    size = np.abs(corners).max()
    for direction in n:
        heights = corners @ direction
        at = located(Vec3(*direction.tolist()), float(grid))
        cell = found[int(at.cell)]
        while True:
            short = heights.max() - heights[list(cell.corners)].max()
            assert short <= 1e-14 * size * np.abs(direction).max()  # corners of one end are as far along its axis
            if not cell.finer:
                break
            at = part_of(at.along, at.across)
            cell = cell.finer[int(at.cell)]


def test_a_cell_has_few_candidates():
    """Of 900 corners three: a cell is a share of 1 in 2400 of all directions, and its neighbours' reach into it. Near
    the axis of a fine cylinder, whose ends have 200 corners each, finer cells have few, but for the one in which the
    axis is, which has all."""
    assert np.mean([len(cell.corners) for cell in candidates(rock(900).vertices)]) < 4
    axis, random = np.array([0.36, 0.48, 0.8]), np.random.default_rng(6)
    corners = drum(200)
    cells, grid, counts = candidates(corners), float(grid_of(corners)), []
    for _ in range(300):
        n = axis + 0.05 * np.cross(axis, random.normal(size=3))
        at = located(Vec3(*n.tolist()), grid)
        cell = cells[int(at.cell)]
        while cell.finer:
            at = part_of(at.along, at.across)
            cell = cell.finer[int(at.cell)]
        counts.append(len(cell.corners))
    assert np.mean(counts) < MANY
    assert len(max(cells, key=lambda cell: len(cell.corners)).corners) == 200


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("corners", [CUBE, rock(12).vertices, rock(900).vertices])
def test_a_hull_never_reaches_farther_than_its_bound(corners, dtype):
    """Along faces, edges and corners of the cube of directions, too; and the bound is not far: by what is lost between
    the ends of cells, 0.1 % of the width on average, up to 5 % where a corner has all of a cell to itself."""
    random = np.random.default_rng(3)
    n = random.normal(size=(4000, 3))
    n[:2000] *= random.choice([1e-6, 1.0, 1e6], size=(2000, 3))
    n[2000:3000] = random.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=(1000, 3)) + [0.0, 0.0, 1e-3]
    n = (n / np.linalg.norm(n, axis=1, keepdims=True)).astype(dtype)
    shape = hull(corners + 0.3)
    program = trace("reach", lambda n: {"reach": [shape.reaching(Vec3(*n))]}, {"n": (3,)})
    bound = run(by_llvm(program, dtype), {"n": n})["reach"][:, 0].astype(float)
    more = bound - ((corners + 0.3) @ n.T.astype(float)).max(axis=0)
    assert more.min() >= 0
    width = np.ptp(corners, axis=0).max()
    assert more.mean() < 0.004 * width
    assert more.max() < 0.06 * width


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_support_points_at_edges_of_the_cube_of_directions(dtype):
    """Where two coordinates of a direction are equal, products that are not rounded before they are added may fall
    short of a side's first cell."""
    corners, random = rock(300).vertices, np.random.default_rng(4)
    n = np.abs(random.normal(size=(3000, 3)))
    n[:, 1] = n[:, 0]
    n = (random.permuted(n, axis=1) * random.choice([-1.0, 1.0], size=n.shape)).astype(dtype)
    program = trace("support", lambda n: {"point": [*hull(corners).support(Vec3(*n))]}, {"n": (3,)})
    point = run(by_llvm(program, dtype), {"n": n})["point"].astype(float)
    n = n.astype(float)
    short = (corners @ n.T).max(axis=0) - (point * n).sum(axis=1)
    assert short.max() < 10 * np.finfo(dtype).eps * np.abs(n).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_support_points_about_the_axis_of_a_fine_cylinder(dtype):
    """Found in finer cells, or in the rows of the one about the axis."""
    corners = drum(120).astype(np.float32).astype(float)
    n = about((0.36, 0.48, 0.8), np.random.default_rng(8), 2000).astype(dtype)
    assert Hulls((Hull(corners),)).most > 6
    program = trace("support", lambda n: {"point": [*hull(corners).support(Vec3(*n))]}, {"n": (3,)})
    point = run(by_llvm(program, dtype), {"n": n})["point"].astype(float)
    n = n.astype(float)
    short = (corners @ n.T).max(axis=0) - (point * n).sum(axis=1)
    assert short.max() < 10 * np.finfo(dtype).eps


@pytest.mark.parametrize("count", [40, 500])
def test_one_program_serves_all_hulls_of_a_table(count):
    """Support points that are looked up are those of each hull alone, bit by bit."""
    shapes = tuple(rock(count + 3 * k, seed=k) for k in range(3))
    hulls = hulls_of(shapes)
    n = np.random.default_rng(2).normal(size=(50, 3))

    def build(n):
        def turn(state, row):
            return [*state[3:], *hulls.convex(row).support(Vec3(*n))]

        return {"points": scanned(hulls.numbers, [0.0] * 9, turn)}

    found = run(by_llvm(trace("supports", build, {"n": (3,)})), {"n": n})["points"].reshape(50, 3, 3)
    for k, shape in enumerate(shapes):
        np.testing.assert_array_equal(found[:, k], np.array(list(hull(shape.vertices).support(Vec3(*n.T)))).T)


def test_hulls_of_a_table_meet_as_alone():
    one, two = rock(30, 1), rock(50, 2)
    hulls = hulls_of((one, two))
    R, p = poses(2, 0.05)
    X = [pose(R[k].tolist(), p[k].tolist()) for k in range(2)]
    for a, b in ((one, two), (Sphere(0.1), two), (Plane(), two)):
        numbers = [hulls.numbers[(one, two).index(x)] if isinstance(x, ConvexHull) else sizes_of(x) for x in (a, b)]
        together = meeting(a, b, hulls).function(numbers[0], X[0], numbers[1], X[1], 0.01)
        alone = meeting(a, b).function(sizes_of(a), X[0], sizes_of(b), X[1], 0.01)
        assert together == alone
        assert meeting(a, b, hulls) is meeting(a, one, hulls)


SHAPES = [Sphere(0.2), Box(0.3, 0.2, 0.5), Cylinder(0.1, 0.4), Capsule(0.1, 0.3), Ellipsoid(0.1, 0.2, 0.3),
          Cone(0.2, 0.5), rock(25)]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_hold_their_shapes_tightly(shape):
    """The support in each direction of an axis lies on the box: of hulls and cones, too, whose middle is elsewhere."""
    corners = np.asarray(shape.surface(resolution=400)[0])
    box = box_about(shape)
    low, high = (np.array(list(box.middle + box.half * side)) for side in (-1, 1))
    assert (corners >= low - 1e-12).all()
    assert (corners <= high + 1e-12).all()
    np.testing.assert_allclose(np.ptp(corners, axis=0), high - low, rtol=1e-3)  # what is drawn of round ones is inside


def test_gaps_of_boxes_tell_them_apart():
    """Never more than their distance, and more than zero mostly where they are apart: but for some that edges
    alone tell apart."""
    R, p = poses(400, 0.4)
    a, b = Box(0.3, 0.2, 0.5), Box(0.4, 0.1, 0.2)
    apart = told = 0
    for k in range(0, 400, 2):
        X = [pose(R[k + i].tolist(), p[k + i].tolist()) for i in (0, 1)]
        gap = gap_of_boxes(box_about(a), X[0], box_about(b), X[1])
        exact = nearest(*(hull(np.asarray(s.surface()[0])).at(x) for s, x in zip((a, b), X, strict=True))).distance
        assert gap <= max(exact, 0.0) + 1e-12
        apart += exact > 0
        told += gap > 0
    assert 40 < apart < 160
    assert told > 0.8 * apart


def test_height_of_a_box_over_a_plane():
    shape = rock(8)
    X = pose(poses(1, 1.0)[0][0].tolist(), [0.1, 0.2, 0.9])
    box = box_about(shape)
    ends = [box.middle + Vec3(*(h * s for h, s in zip(box.half, corner, strict=True))) for corner in CUBE.tolist()]
    lowest = min((X @ end).z for end in ends)
    assert height_of_box(Transform.identity(), box, X) == pytest.approx(lowest, abs=1e-12)


def test_touches_of_hulls_that_overlap_are_as_deep_as_the_search_for_the_deepest_finds():
    """The shift in a step is one of locally least length: mostly the least, never more than by which they were moved
    into each other; of these rocks with hundreds of faces of 3 cm, at most a third more than what `nearest` finds."""
    one, two = hull(rock(60, 3).vertices), hull(rock(90, 4).vertices)
    R, p = poses(300, 1.0)
    p += p / np.linalg.norm(p, axis=1, keepdims=True)
    apart, moved = nearest(one, two.at(pose(R, p))), 10 ** np.random.default_rng(3).uniform(-5, -2.5, 300)
    inside = two.at(pose(R, p - np.array(list(apart.normal * (apart.distance + moved))).T))
    exact, found = nearest(one, inside).distance, convex_touches(one, inside, 0.0)[0].distance
    assert (found < 0).all()
    assert (-found <= moved + 1e-9).all()
    assert np.max(found / exact) < 4 / 3
    assert abs(np.median(found / exact) - 1) < 0.01


def test_touches_beyond_the_margin_are_told_to_be():
    """A search stops as soon as shapes are known to be farther apart; what it gives is beyond the margin then."""
    one, two = hull(rock(60, 3).vertices), hull(rock(90, 4).vertices)
    moved = two.at(pose(*poses(200, 0.4)))
    exact, found = nearest(one, moved).distance, convex_touches(one, moved, 0.02)[0].distance
    near = exact < 0.02
    assert 10 < near.sum() < 190
    np.testing.assert_array_equal(near, found < 0.02)
    np.testing.assert_allclose(found[near & (exact > 0)], exact[near & (exact > 0)], atol=1e-9)
    assert (found < FAR).all()


def test_a_table_knows_where_each_hull_begins():
    hulls = Hulls(tuple(Hull(rock(20, k).vertices) for k in range(3)))
    rows = [numbers[:2] for numbers in hulls.numbers]
    assert [first for first, _ in rows] == [0, rows[0][1], rows[0][1] + rows[1][1]]
    assert len(hulls.corners) == sum(count for _, count in rows)


@pytest.mark.parametrize("tilt", [0.0, 1e-3, 0.05, 0.15])
def test_a_hull_on_a_plane_touches_as_a_box_does(tilt):
    """Lying flat, and pressed in askew: the four corners of the lower face, in some order."""
    sizes = np.array([0.1, 0.07, 0.05])
    shape, floor, X = ConvexHull(CUBE * sizes), Plane(), pose(np.eye(3).tolist(), [0.0, 0.0, 0.0])
    c, s = np.cos(tilt), np.sin(tilt)
    X_b = pose([[c, 0, s], [0, 1, 0], [-s, 0, c]], [0.3, -0.2, 0.05 - 0.02])
    margin = 0.03
    found = meeting(floor, shape).function((), X, sizes_of(shape), X_b, margin)
    as_box = meeting(floor, Box(*(2 * sizes))).function((), X, tuple(sizes), X_b, margin)
    expected = sorted([*map(float, t.position), float(t.distance)] for t in as_box if t.distance < margin)
    got = sorted([*map(float, t.position), float(t.distance)] for t in found if t.distance < margin)
    assert len(got) == 4
    np.testing.assert_allclose(got, expected, atol=1e-15)


@pytest.mark.parametrize("count", [8, 60, 900])
def test_touches_of_a_hull_and_a_plane_are_corners_below_the_margin(count):
    """The first is the lowest of all corners; no two are close to each other."""
    shape, margin = rock(count), 0.02
    X = pose(np.eye(3).tolist(), [0.0, 0.0, 0.0])
    R, _ = poses(40, 1.0)
    for turn in R:
        heights = shape.vertices @ turn[2]
        X_b = pose(turn.tolist(), [0.1, 0.2, -heights.min() - 0.005])
        corners = shape.vertices @ turn.T + np.array([0.1, 0.2, -heights.min() - 0.005])
        first, *others = meeting(Plane(), shape).function((), X, sizes_of(shape), X_b, margin)
        assert float(first.distance) == pytest.approx(-0.005, abs=1e-14)
        there = [np.array([float(x) for x in t.position]) for t in (first, *others) if t.distance < margin]
        for at in there:
            assert np.linalg.norm((corners - at)[:, :2], axis=1).min() < 1e-12
        apart = [np.linalg.norm(a - b) for k, a in enumerate(there) for b in there[:k]]
        assert min(apart, default=1.0) > 1e-3


def test_what_is_said_to_be_apart_is_so():
    """A bound of the distance, for shapes with and without tables; most that are apart are told so by it."""
    shapes = (rock(60), rock(20, seed=4), Cylinder(0.1, 0.4), Box(0.3, 0.2, 0.1), Capsule(0.1, 0.2), Cone(0.1, 0.3))
    told = apart = 0
    for k, (R, p) in enumerate(zip(*poses(120, 0.8), strict=True)):
        a, b = shapes[k % 2], shapes[k // 2 % len(shapes)]
        hulls = hulls_of(tuple(shape for shape in (a, b) if isinstance(shape, ConvexHull)))
        sizes = [hulls.numbers[0], hulls.numbers[-1] if isinstance(b, ConvexHull) else sizes_of(b)]
        for meet, (one, two), (X, Y) in (
            (meeting(a, b, hulls), sizes, (Transform.identity(), pose(R, p))),
            (meeting(b, a, hulls), sizes[::-1], (pose(R, p), Transform.identity())),
        ):
            (touch,) = meet.function(one, X, two, Y, 10.0)
            gap = meet.gap(one, X, two, Y)
            assert gap <= touch.distance + 1e-9
            apart += touch.distance > 0
            told += gap > 0
    assert apart > 100
    assert told > 0.7 * apart
