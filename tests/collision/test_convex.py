"""Distances and depths of convex shapes: against Coal, against bounds that need no solver, closed forms, bad luck.

Any unit n bounds a signed distance from below by -h(n), and points of both shapes bound it from above where they are
apart: so every distance carries its own proof, and so do Coal's, which are less sharp for round shapes.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.spatial.transform import Rotation

import qdot.programs.expressions  # noqa: F401  (makes traced expressions scalars)
from qdot.algebra import Vec3, as_array, where
from qdot.collision.convex import nearest
from qdot.collision.hulls import hull
from qdot.collision.support import CONVEX, Convex, box, capsule, chosen, cone, cylinder, ellipsoid, sphere
from qdot.compiler.trace import trace
from qdot.spatial import Transform
from tests.backends.loading import by_llvm, run
from tests.collision.coal_shapes import COAL, coal_distance, coal_hull, pose, positions, rotations

KINDS = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "cone")
MADE = dict(zip(KINDS, (sphere, capsule, ellipsoid, cylinder, box, cone), strict=True))
COUNTS = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "cone": 2}
SIZES = np.array([0.3, 0.5, 0.8])
SHARP = 1e-6
"""Of the shapes' size: what is asked of distances."""


def any_kind(kind, sizes) -> Convex:
    """A shape whose kind is a number too: one program for all pairs."""
    shapes = [MADE[name](sizes[: COUNTS[name]]) for name in KINDS]

    def support(n: Vec3) -> Vec3:
        best = shapes[0].support(n)
        for k, shape in enumerate(shapes[1:], 1):
            best = chosen(kind == k, shape.support(n), best)
        return best

    centre = where(kind == KINDS.index("cone"), -sizes[1] / 2, 0.0)
    return Convex(support, Vec3(0.0, 0.0, centre), where(kind <= 1, sizes[0], 0.0), shapes[4].axes)


@cache
def compiled():
    """(kind, sizes, R, p) of two shapes → (distance, on_a, on_b, normal, failed)."""

    def build(kind_a, sizes_a, R_a, p_a, kind_b, sizes_b, R_b, p_b):
        a, b = any_kind(kind_a, sizes_a).at(pose(R_a, p_a)), any_kind(kind_b, sizes_b).at(pose(R_b, p_b))
        found = nearest(a, b)
        return {"found": [found.distance, *found.on_a, *found.on_b, *found.normal, found.failed]}

    shapes = {"kind": (), "sizes": (3,), "R": (3, 3), "p": (3,)}
    return by_llvm(trace("nearest", build, {f"{name}_{k}": shape for k in "ab" for name, shape in shapes.items()}))


def solve(kind_a, sizes_a, R_a, p_a, kind_b, sizes_b, R_b, p_b):
    """Columns of the compiled answer: distance (n,), points and normal (n, 3), failed (n,)."""
    names = [f"{name}_{k}" for k in "ab" for name in ("kind", "sizes", "R", "p")]
    given = dict(zip(names, (kind_a, sizes_a, R_a, p_a, kind_b, sizes_b, R_b, p_b), strict=True))
    found = run(compiled(), given, threads=2)["found"]
    return found[:, 0], found[:, 1:4], found[:, 4:7], found[:, 7:10], found[:, 10]


def height(kind: str, sizes, n: np.ndarray) -> np.ndarray:
    """max n·x over a shape in its own frame, by formulas of its own; n is (…, 3)."""
    x, y, z = np.moveaxis(n, -1, 0)
    across, length = np.hypot(x, y), np.linalg.norm(n, axis=-1)
    a, b, _ = sizes
    match kind:
        case "sphere":
            return a * length
        case "capsule":
            return a * length + b * np.abs(z)
        case "ellipsoid":
            return np.linalg.norm(n * sizes, axis=-1)
        case "cylinder":
            return a * across + b * np.abs(z)
        case "box":
            return np.abs(n) @ np.asarray(sizes)
        case _:
            return np.maximum(b * z, a * across - b * z)


def reach(kinds, sizes, R, p, n):
    """h(n) of A - B for a batch of poses; n is (batch, …, 3), the same kinds for all."""
    total = 0.0
    for kind, size, rotation, position, m in zip(kinds, sizes, R, p, (n, -n), strict=True):
        total = total + height(kind, size, np.einsum("bji,b...j->b...i", rotation, m))
        total = total + np.einsum("b...i,bi->b...", m, position)
    return total


def scene(rng, kinds, count, far):
    R = [rotations(rng, count) for _ in kinds]
    p = [positions(rng, count, far) for _ in kinds]
    columns = [(np.full(count, KINDS.index(kind), float), np.tile(SIZES, (count, 1))) for kind in kinds]
    return R, p, [x for k in range(2) for x in (*columns[k], R[k], p[k])]


PAIRS = list(combinations_with_replacement(KINDS, 2))


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_distances_against_coal(kinds):
    rng = np.random.default_rng(PAIRS.index(kinds))
    R, p, given = scene(rng, kinds, 150, 1.2)
    distance, on_a, on_b, normal, failed = solve(*given)
    shapes = [COAL[kind](*SIZES) for kind in kinds]
    theirs = [coal_distance(shapes[0], R[0][k], p[0][k], shapes[1], R[1][k], p[1][k]) for k in range(len(distance))]
    upper, their_normal = np.array([d for d, _ in theirs]), np.array([n for _, n in theirs])
    good = np.isfinite(upper) & (np.abs(upper) < 100) & np.isfinite(their_normal).all(axis=1)
    good &= np.abs(np.linalg.norm(their_normal, axis=1) - 1) < 1e-6
    their_normal = np.where(good[:, None], their_normal, [0.0, 0.0, 1.0])
    lower = -reach(kinds, (SIZES, SIZES), R, p, their_normal)
    apart = distance > 1e-3
    # Apart: within Coal's own bounds, and where those are close together that is 1e-6.
    assert (distance >= lower - SHARP)[good].all()
    assert (distance <= upper + SHARP)[good & apart].all()
    sharp = good & (upper - lower < SHARP)
    assert (sharp & apart).sum() >= 0.8 * apart.sum()
    assert np.abs(distance - upper)[sharp & apart].max() < 2 * SHARP
    assert np.einsum("ij,ij->i", normal, their_normal)[sharp & apart].min() > 1 - 1e-4
    # Overlapping: never deeper than a direction that Coal knows.
    assert failed.mean() < 0.01
    np.testing.assert_allclose(-reach(kinds, (SIZES, SIZES), R, p, normal), distance, atol=1e-12)
    off = on_b - on_a - normal * distance[:, None]
    assert np.abs(off[failed == 0]).max() < 1e-3


def test_coal_and_hulls():
    rng = np.random.default_rng(7)
    points = rng.normal(size=(14, 3)) * [0.3, 0.4, 0.6]
    theirs = coal_hull(points)
    for kind in KINDS:
        R, p = [rotations(rng, 25) for _ in "ab"], [positions(rng, 25, 1.2) for _ in "ab"]
        found = nearest(MADE[kind](SIZES[: COUNTS[kind]]).at(pose(R[0], p[0])), hull(points).at(pose(R[1], p[1])))
        shape = COAL[kind](*SIZES)
        for k, distance in enumerate(found.distance):
            expected, _ = coal_distance(shape, R[0][k], p[0][k], theirs, R[1][k], p[1][k])
            if distance > 1e-3:
                assert distance == pytest.approx(expected, abs=1e-5)
            else:
                assert distance > expected - SHARP


def test_hulls_against_coal():
    """Polyhedra: Coal's depths are exact. One in a hundred deep ones may be more than the least, never less."""
    rng = np.random.default_rng(8)
    points = [rng.normal(size=(14, 3)) * [0.3, 0.4, 0.6], rng.normal(size=(9, 3)) * 0.4]
    shapes = [coal_hull(x) for x in points]
    R, p = [rotations(rng, 400) for _ in "ab"], [positions(rng, 400, 1.6) for _ in "ab"]
    found = nearest(hull(points[0]).at(pose(R[0], p[0])), hull(points[1]).at(pose(R[1], p[1])))
    pairs = [coal_distance(shapes[0], R[0][k], p[0][k], shapes[1], R[1][k], p[1][k]) for k in range(400)]
    distance, expected = found.distance, np.array([d for d, _ in pairs])
    assert (expected < 0).sum() > 100
    assert (expected > 0).sum() > 100
    assert np.abs(distance - expected)[expected > 1e-6].max() < SHARP
    assert (distance <= expected + SHARP).all()
    assert (distance < expected - SHARP).mean() <= 0.01
    assert (distance - expected).min() > -0.05
    assert not found.failed.any()


# ── many poses ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _turns():
    """Axes along axes, turned by half a right angle, by next to nothing, and anyhow: the straight ones first."""
    straight = Rotation.create_group("O").as_matrix()
    ways = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [1, 2, 3]], float)
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    little = [Rotation.from_rotvec(angle * way).as_matrix() for angle in (1e-12, 1e-8, 1e-4, np.pi / 4) for way in ways]
    return np.concatenate([straight, little, rotations(np.random.default_rng(0), 200)])


def _ways():
    """Along axes, towards edges and corners, beside them by next to nothing, and anyhow."""
    grid = np.array([w for w in product((0, 1, -1), repeat=3) if any(w)], float)
    random = np.random.default_rng(1)
    beside = np.concatenate([grid + size * random.normal(size=grid.shape) for size in (1e-12, 1e-8, 1e-4)])
    ways = np.concatenate([grid, beside, random.normal(size=(200, 3))])
    return ways / np.linalg.norm(ways, axis=1)[:, None]


TURNS, WAYS = _turns(), _ways()
RATIOS = 10 ** np.linspace(0.0, -1.5, 8)
"""Of sizes to the scale of a pair."""
AWAY = np.array([0, 1e-12, 1e-9, 1e-6, 1e-3, 0.01, 0.1, *np.linspace(0.2, 1.2, 21), 2, 10, 1000])
"""From centre to centre, of both outer radii together: at one place, deep in each other, about touching, far."""
LINE = st.tuples(
    st.integers(0, len(KINDS) ** 2 * len(RATIOS) ** 6 - 1),  # kinds, and three sizes of each
    st.integers(0, 81 * len(TURNS) ** 2 - 1),  # the scale in tenths of a power of ten, and how both are turned
    st.integers(
        0, 4 * len(WAYS) - 1
    ),  # how far the first is from the origin, in scales, and where the second is from it
)
"""Two shapes, and the way from one to the other, on which the second is at all distances of AWAY."""
LINES = st.lists(st.lists(LINE, min_size=1, max_size=20), min_size=1, max_size=20)
"""Lists of lists, because those that are drawn are short; a line that fails is left alone when they are shrunk."""


def placed(lines):
    """Scales, and two shapes at the poses of some lines, one line after the other."""
    shapes, turns, places = np.repeat(np.array(lines), len(AWAY), axis=0).T
    kinds, ratios = shapes % len(KINDS) ** 2, shapes // len(KINDS) ** 2
    scale = 10.0 ** (turns % 81 / 10 - 4)
    sizes = scale[:, None] * RATIOS[ratios[:, None] // len(RATIOS) ** np.arange(6) % len(RATIOS)]
    way = WAYS[places // 4]
    p = (places % 4 * scale)[:, None] * way
    away = np.linalg.norm(sizes.reshape(-1, 2, 3), axis=2).sum(axis=1) * np.tile(AWAY, len(lines))
    a = (kinds // len(KINDS)).astype(float), sizes[:, :3], TURNS[turns // 81 // len(TURNS)], p
    b = (kinds % len(KINDS)).astype(float), sizes[:, 3:], TURNS[turns // 81 % len(TURNS)], p + away[:, None] * way
    return scale, a, b


def judged(lines):
    """Of each line the poses at which two orders disagree or something is no answer, and how many say they failed."""
    scale, a, b = placed(lines)
    distance, on_a, on_b, normal, failed = solve(*a, *b)
    other, *_, failed_too = solve(*b, *a)
    sound = (failed == 0) & (failed_too == 0)
    least = np.where(distance > 0, 1e-7, 1e-5) * scale + 1e-12 * np.linalg.norm(b[-1], axis=1)
    good = np.isfinite(np.column_stack([distance, on_a, on_b, normal, other])).all(axis=1)
    good &= np.abs(np.linalg.norm(normal, axis=1) - 1) < 1e-12
    good &= ~sound | (np.abs(distance - other) < least)
    for rows in np.split(np.arange(len(scale)), len(lines)):
        wrong = [(AWAY[k % len(AWAY)], distance[k], other[k], *(x[k] for x in (*a, *b))) for k in rows if not good[k]]
        yield wrong, (~sound[rows]).sum()


def test_a_hundred_thousand_poses():
    """Of shapes of all kinds, in both orders: no NaN, unit normals, the same distance.

    Apart, distances agree to 1e-7 of the size; deep in each other to 1e-5, where descents end in one of two directions
    that are about as good; and to the rounding of places that are far away. 1 in 200 may say that it failed, all of
    them deep. Lines that are drawn again are not solved again.
    """
    found = {}

    @settings(max_examples=700, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(LINES)
    def hold(lists):
        lines = list(dict.fromkeys(line for lines in lists for line in lines))
        new = [line for line in lines if line not in found]
        found.update(zip(new, judged(new) if new else (), strict=True))
        assert [found[line][0] for line in lines if found[line][0]] == []

    hold()
    poses = len(found) * len(AWAY)
    assert poses >= 100_000
    assert sum(failures for _, failures in found.values()) < poses / 200


def test_deep_overlaps_are_the_least_of_many_directions():
    rng = np.random.default_rng(2)
    n = rng.normal(size=(500, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    missed = total = 0
    for kinds in PAIRS:
        R, p, given = scene(rng, kinds, 60, 0.5)
        distance, *_ = solve(*given)
        sampled = -reach(kinds, (SIZES, SIZES), R, p, np.broadcast_to(n, (60, *n.shape))).min(axis=1)
        missed, total = missed + (distance < sampled - SHARP).sum(), total + 60
        assert (distance < 0).mean() > 0.5
    assert missed <= 1e-3 * total


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(-4, 4), st.floats(-6, 0), st.sampled_from(("x", "y", "z")))
def test_touching_within_rounding(seed, power, gap, axis):
    """Shapes that just touch, or overlap by a millionth, along an axis: the distance is the gap, at every scale."""
    rng = np.random.default_rng(seed)
    scale = 10.0**power
    kinds = [KINDS[k] for k in rng.integers(0, 5, 2)]  # those whose middle is their centre
    sizes = [scale * rng.uniform(0.2, 1.0, 3) for _ in kinds]
    n = np.eye(3)["xyz".index(axis)]
    shift = sum(height(kind, size, n) for kind, size in zip(kinds, sizes, strict=True))
    for d in (0.0, scale * 10.0**gap * 0.1, -scale * 10.0**gap * 0.1):
        first, second = (MADE[k](s[: COUNTS[k]].tolist()) for k, s in zip(kinds, sizes, strict=True))
        found = nearest(first, second.at(Transform.translation(*(n * (shift + d)))))
        assert found.distance == pytest.approx(d, abs=1e-9 * scale)
        if d >= 0:
            assert as_array(found.normal) @ n == pytest.approx(1.0, abs=1e-6)


# ── closed forms, and one text for every scalar ──────────────────────────────────────────────────────────────────────


def test_closed_forms():
    at = Transform.translation
    turned = Transform.rpy(0.0, np.pi / 2, 0.0, (1.0, 0.0, 1.5))
    cases = [
        (sphere((0.5,)), sphere((0.25,)).at(at(0, 3, 4)), 4.25),
        (sphere((0.5,)), sphere((0.25,)), -0.75),  # at one place: any direction
        (ellipsoid((1.0, 2.0, 3.0)), ellipsoid((0.5, 0.5, 0.5)).at(at(0, 4, 0)), 1.5),
        (ellipsoid((1.0, 2.0, 3.0)), sphere((0.5,)), -1.5),
        (cylinder((0.5, 1.0)), cylinder((0.25, 1.0)).at(turned), 0.25),  # lid against side
        (cylinder((0.5, 1.0)), cylinder((0.25, 1.0)).at(at(1, 0, 1.5)), 0.25),  # side by side
        (box((1.0, 1.0, 1.0)), box((1.0, 1.0, 1.0)).at(at(2.5, 2.5, 0)), 0.5 * 2**0.5),  # parallel edges
        (box((1.0, 1.0, 1.0)), box((1.0, 1.0, 1.0)), -2.0),
        (box((1.0, 1.0, 1.0)), box((0.1, 0.1, 0.1)).at(at(0.95, 0, 0)), -0.15),
        (cone((0.3, 0.5)), sphere((0.1,)).at(at(0, 0, 1.0)), 0.4),
        (capsule((0.2, 0.5)), capsule((0.2, 0.5)).at(at(0.3, 0, 0.9)), -0.1),
    ]
    for a, b, expected in cases:
        assert nearest(a, b).distance == pytest.approx(expected, abs=1e-9)
        assert nearest(b, a).distance == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kinds", [("ellipsoid", "cylinder"), ("box", "cone"), ("capsule", "box")], ids="-".join)
def test_floats_lanes_and_machine_code_agree(kinds):
    rng = np.random.default_rng(5)
    R, p, given = scene(rng, kinds, 12, 0.8)
    distance, *_ = solve(*given)
    made = [MADE[kind](SIZES[: COUNTS[kind]].tolist()) for kind in kinds]
    lanes = nearest(*(shape.at(pose(R[k], p[k])) for k, shape in enumerate(made)))
    # Axes that a kind adds for the compiled shape of any kind lead to the same minimum here.
    np.testing.assert_allclose(lanes.distance, distance, atol=1e-9)
    for k in range(3):
        one = nearest(*(shape.at(pose(R[i][k].tolist(), p[i][k].tolist())) for i, shape in enumerate(made)))
        assert one.distance == pytest.approx(lanes.distance[k], abs=1e-12)
        np.testing.assert_allclose(as_array(one.normal), as_array(lanes.normal)[k], atol=1e-9)


def test_a_program_of_a_hull():
    """Its table of vertices becomes a chain of choices, which gives what the product of matrices gives."""
    rng = np.random.default_rng(6)
    points = rng.normal(size=(8, 3)) * 0.4

    def build(p):
        found = nearest(hull(points), sphere((0.2,)).at(pose(np.eye(3).tolist(), p)))
        return {"d": [found.distance, *found.normal]}

    p = positions(rng, 30, 1.5)
    found = run(by_llvm(trace("hull", build, {"p": (3,)})), {"p": p})["d"]
    lanes = nearest(hull(points), sphere((0.2,)).at(pose(np.broadcast_to(np.eye(3), (30, 3, 3)), p)))
    np.testing.assert_allclose(found[:, 0], lanes.distance, atol=1e-12)


def test_every_kind_has_its_support():
    rng = np.random.default_rng(9)
    n = rng.normal(size=(200, 3))
    for shape, made in CONVEX.items():
        kind = shape.__name__.lower()
        convex = made(SIZES[: COUNTS[kind]])
        points = as_array(convex.support(Vec3(*n.T)), (len(n),))
        reached = np.einsum("ij,ij->i", points, n) + convex.radius * np.linalg.norm(n, axis=1)
        np.testing.assert_allclose(reached, height(kind, SIZES, n), rtol=1e-12)
