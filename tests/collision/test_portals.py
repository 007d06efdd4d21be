"""Depths that steps find by rays through portals: laws that hold for any shapes, and closed forms."""

import numpy as np
import pytest

import qdot.programs.expressions  # noqa: F401 - traced expressions become scalars
from qdot.algebra import Vec3
from qdot.algebra.rounding import rounded_as
from qdot.collision.convex import convex_touches, nearest
from qdot.collision.hulls import hull
from qdot.collision.support import box, capsule, cone, cylinder, ellipsoid, height, sphere
from qdot.compiler.trace import trace
from qdot.geometry import ConvexHull
from tests.backends.loading import by_llvm, run
from tests.collision.coal_shapes import pose, positions, rotations

COUNT = 300
SIZE = 1.0
"""Of two shapes together, or so [m]."""


def rock(count, seed):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return hull(ConvexHull(points / np.linalg.norm(points, axis=1, keepdims=True) * (0.3, 0.2, 0.15)).vertices)


SHAPES = {
    "box": box((0.3, 0.2, 0.1)), "cylinder": cylinder((0.2, 0.3)), "ellipsoid": ellipsoid((0.3, 0.2, 0.15)),
    "cone": cone((0.2, 0.3)), "capsule": capsule((0.1, 0.2)), "rock": rock(40, 1), "smooth rock": rock(600, 2),
}  # fmt: skip
PAIRS = [
    ("box", "box"), ("box", "rock"), ("rock", "smooth rock"), ("smooth rock", "smooth rock"), ("cylinder", "cylinder"),
    ("cylinder", "box"), ("cylinder", "smooth rock"), ("ellipsoid", "ellipsoid"), ("cone", "box"), ("capsule", "rock"),
]  # fmt: skip


def scattered(reach, seed=3):
    random = np.random.default_rng(seed)
    return pose(rotations(random, COUNT), positions(random, COUNT, reach))


def overlapping(one, two, reach=0.12):
    """Both shapes, their touches, and which of them overlap with their cores."""
    a, b = SHAPES[one], SHAPES[two].at(scattered(reach))
    (found,) = convex_touches(a, b, 0.0)
    deep = found.distance < -(a.radius + b.radius) - 1e-6
    assert deep.sum() > 100
    return a, b, found, deep


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_the_shift_takes_shapes_apart(one, two):
    """-h(n) is the distance once n is known; portals end within 1e-11 of the size of it."""
    a, b, found, deep = overlapping(one, two)
    np.testing.assert_allclose(found.normal.dot(found.normal)[deep], 1, atol=1e-12)
    shift = -height(a, b, found.normal) - (a.radius + b.radius)
    np.testing.assert_allclose(found.distance[deep], shift[deep], atol=2e-9 * SIZE)


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_no_direction_beside_is_a_shorter_way_out(one, two):
    """Depths are locally least. Of round shapes the last portal is a triangle of some 1e-5 of the size: its normal is
    off by as much, and the depth by the square of that."""
    a, b, found, deep = overlapping(one, two)
    random = np.random.default_rng(4)
    for _ in range(30):
        way = Vec3(*random.normal(size=(3, COUNT))) * 1e-3
        n = found.normal + way
        n = n / (n.dot(n)) ** 0.5
        beside = -height(a, b, n) - (a.radius + b.radius)
        assert (beside[deep] <= found.distance[deep] + 1e-7 * SIZE).all()


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_points_lie_on_both_surfaces(one, two):
    """The surface points of a touch are where it says, half of the depth to either side: no direction has either shape
    end before its own, and along the normal both end there."""
    a, b, found, deep = overlapping(one, two)
    half = found.normal * (found.distance / 2)
    random = np.random.default_rng(5)
    for shape, point, out in ((a, found.position - half, found.normal), (b, found.position + half, -found.normal)):
        reach = out.dot(shape.support(out)) + shape.radius
        np.testing.assert_allclose(out.dot(point)[deep], reach[deep], atol=1e-6 * SIZE)
        for _ in range(30):
            n = Vec3(*random.normal(size=(3, COUNT)))
            n = n / (n.dot(n)) ** 0.5
            assert (n.dot(point) <= n.dot(shape.support(n)) + shape.radius + 1e-7 * SIZE)[deep].all()


@pytest.mark.parametrize("depth", [1e-3, 1e-6, 1e-8, 0.0])
@pytest.mark.parametrize(("one", "two"), [("box", "box"), ("box", "cylinder"), ("cylinder", "cylinder")])
def test_faces_that_lie_on_each_other(one, two, depth):
    """Stacked along z, off the middle and exactly over it, where the search for a gap ends on an edge or in a point."""
    a, b = SHAPES[one], SHAPES[two]
    z = {"box": 0.1, "cylinder": 0.3}
    for x, y in ((0.0, 0.0), (0.05, 0.0), (0.03, -0.07)):
        X = pose(np.eye(3).tolist(), [x, y, z[one] + z[two] - depth])
        (found,) = convex_touches(a, b.at(X), 1e-3)
        assert found.distance == pytest.approx(-depth, abs=1e-9)
        np.testing.assert_allclose(list(found.normal), [0, 0, 1], atol=1e-6)
        assert found.position.z == pytest.approx(z[one] - depth / 2, abs=1e-9)


@pytest.mark.parametrize("names", [(one, two) for one in SHAPES for two in SHAPES])
def test_shapes_about_the_same_point_come_apart(names):
    a, b = (SHAPES[name] for name in names)
    (found,) = convex_touches(a, b, 0.0)
    shift = -height(a, b, found.normal) - (a.radius + b.radius)
    assert found.normal.dot(found.normal) == pytest.approx(1, abs=1e-12)
    assert found.distance == pytest.approx(shift, abs=2e-9 * SIZE)


def test_a_ball_deep_in_a_box_leaves_by_the_nearest_side():
    """Also where the line of centres ends at another one."""
    random = np.random.default_rng(6)
    centre = random.uniform(-1, 1, (COUNT, 3)) * (0.3, 0.2, 0.1)
    left = np.array([0.3, 0.2, 0.1]) - np.abs(centre)
    by_line = np.argmax(np.abs(centre) / (0.3, 0.2, 0.1), axis=1)
    assert (by_line != np.argmin(left, axis=1)).sum() > COUNT / 5
    (found,) = convex_touches(
        box((0.3, 0.2, 0.1)), sphere((0.05,)).at(pose(np.broadcast_to(np.eye(3), (COUNT, 3, 3)), centre)), 0.0
    )
    np.testing.assert_allclose(found.distance, -left.min(axis=1) - 0.05, atol=1e-9)


@pytest.mark.parametrize("other", [box((0.1, 0.1, 0.1)), capsule((0.02, 0.05)), cylinder((0.1, 0.1))])
@pytest.mark.parametrize("thin", [box((0.2, 0.2, 0.01)), cylinder((0.1, 0.004))])
def test_thin_shapes_are_left_through_their_faces(thin, other):
    """Depths are the least over all directions, as `nearest` finds them, or a little more: at most 1.2 times that was
    seen, and 1.003 on average. From the line of centres alone it was up to five times, and 1.2 on average."""
    random = np.random.default_rng(0)
    other = other.at(pose(rotations(random, COUNT), 0.05 * random.normal(size=(COUNT, 3))))
    (found,), least = convex_touches(thin, other, 0.0), nearest(thin, other)
    deep = least.distance < -1e-3
    ratio = found.distance[deep] / least.distance[deep]
    assert deep.sum() > COUNT / 2
    assert ratio.min() > 1 - 1e-6
    assert ratio.max() < 1.3
    assert ratio.mean() < 1.005


@pytest.mark.parametrize(("one", "two"), [("box", "rock"), ("cylinder", "cylinder"), ("rock", "smooth rock")])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled_they_are_as_deep(one, two, dtype):
    """Of 32 bits, to 64 roundings of the size; but rarely a way out is another one there."""
    random = np.random.default_rng(7)
    R, p = rotations(random, COUNT), positions(random, COUNT, 0.12)

    def build(R, p):
        (found,) = convex_touches(SHAPES[one], SHAPES[two].at(pose([R[:3], R[3:6], R[6:]], list(p))), 0.0)
        return {"distance": [found.distance]}

    with rounded_as(dtype):
        program = trace("depth", build, {"R": (9,), "p": (3,)})
    compiled = run(by_llvm(program, dtype), {"R": R.reshape(COUNT, 9), "p": p})["distance"].ravel()
    (found,) = convex_touches(SHAPES[one], SHAPES[two].at(pose(R, p)), 0.0)
    off = np.abs(compiled - found.distance)[found.distance < 0]
    assert len(off) > 100
    assert np.mean(off < (1e-9 if dtype == "float64" else 1e-5)) > 0.97
    assert (compiled < 0)[found.distance < -1e-5].all()
