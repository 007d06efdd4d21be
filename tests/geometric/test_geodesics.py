"""Geodesics are unforced motions and locally shortest (T31); on spheres and groups they are known."""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot.algorithms import riemann
from qdot.errors import ModelError, QdotError, ValueShapeError
from qdot.geodesics import _shot, geodesic, geodesic_between, geodesic_distance, parallel_transport
from qdot.joints import Fixed
from qdot.model.library import double_pendulum
from qdot.programs import dispatch
from qdot.spatial import Inertia
from tests.geometric.cases import alone, arm, hinge, rotor, run, slides, small_trees, sphere, weightless
from tests.laws.trees import close


@pytest.fixture(autouse=True)
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers call a function a thousand times: programs, as people run them."""
    monkeypatch.setattr(dispatch, "ENABLED", True)


TREES = range(5)


def length_of(model: qdot.Model, path: np.ndarray) -> float:
    """Σ √(dᵀ M d) at the middle of each step: off by the square of the step."""
    d = qdot.difference(model, path[:-1], path[1:])
    middle = qdot.retract(model, path[:-1], d / 2)
    return sum(np.sqrt(2 * qdot.kinetic_energy(model, q, x)) for q, x in zip(middle, d, strict=True))


@pytest.mark.parametrize("k", TREES)
def test_geodesics_are_unforced_motions(k: int) -> None:
    model, q, v = small_trees()[k]
    times = np.linspace(0, 1, 4)
    path = geodesic(model, q, v)
    found_q, found_v = path(times)
    moved_q, moved_v = run(model, q, v, times)
    close(qdot.difference(model, moved_q, found_q), np.zeros((4, model.nv)), 1e-8)
    close(found_v, moved_v, 1e-8)
    speeds = [2 * qdot.kinetic_energy(model, *state) for state in zip(found_q, found_v, strict=True)]
    close(speeds, np.full(4, path.speed**2), 1e-9)


def test_batch_is_its_rows() -> None:
    model, q, v = small_trees()[1]
    speeds = np.array([v, -v, 0.5 * v])
    batch = geodesic(model, q, speeds, time=0.8)
    ends, velocities = batch(0.8)
    halfway, _ = batch([0.0, 0.4])
    assert halfway.shape == (2, 3, model.nq)
    assert batch.length.shape == (3,)
    for row in range(3):
        single = geodesic(model, q, speeds[row], time=0.8)
        close(ends[row], single(0.8)[0], 1e-9)
        close(velocities[row], single(0.8)[1], 1e-9)
        close(batch.length[row], single.length, 1e-12)


def test_sphere_has_great_circles() -> None:
    model = sphere(0.6, 2.0)
    radius = 0.6 * np.sqrt(2.0)
    rng = np.random.default_rng(0)
    for _ in range(4):
        (a, b), (c, d) = rng.uniform(-1, 1, (2, 2))
        angle = np.arccos(np.sin(b) * np.sin(d) + np.cos(b) * np.cos(d) * np.cos(a - c))
        close(geodesic_distance(model, [a, b], [c, d]), radius * angle, 1e-9)


def test_ball_turns_steadily() -> None:
    """Equal moments: a geodesic is q ⊕ t v, and the distance of two attitudes is √I times their angle."""
    model = rotor(1.5, 1.5, 1.5)
    q, v = qdot.retract(model, model.neutral(), [0.4, -0.2, 1.0]), np.array([0.5, 1.0, -0.3])
    times = np.linspace(0, 1, 3)
    close(geodesic(model, q, v)(times)[0], [qdot.retract(model, q, t * v) for t in times], 1e-10)
    there = qdot.retract(model, q, v)
    close(geodesic_distance(model, q, there), np.sqrt(1.5) * np.linalg.norm(v), 1e-9)


def test_flat_space_has_straight_lines() -> None:
    model = weightless(slides())
    path = geodesic_between(model, [0.0, 1.0, -1.0], [2.0, 0.5, 0.3])
    close(path([0.25, 0.5])[0], [[0.5, 0.875, -0.675], [1.0, 0.75, -0.35]], 1e-10)


@pytest.mark.parametrize("k", TREES)
def test_between_two_ends(k: int) -> None:
    """It ends where it should; and each path nearby with the same ends is longer."""
    model, q, v = small_trees()[k]
    end = qdot.retract(model, q, 0.6 * v)
    path = geodesic_between(model, q, end)
    close(qdot.difference(model, path(1.0)[0], end), np.zeros(model.nv), 1e-9)
    times = np.linspace(0, 1, 41)
    points = path(times)[0]
    least = length_of(model, points)
    close(least, path.length, 1e-2)
    rng = np.random.default_rng(k)
    for _ in range(3):
        bump = 0.3 * np.sin(np.pi * times)[:, None] * rng.normal(size=model.nv)
        assert length_of(model, qdot.retract(model, points, bump)) > least


def test_far_ends_are_joined_by_a_short_way() -> None:
    """A shot along the straight way misses them, or finds a geodesic that is longer than the straight way itself."""
    model = weightless(double_pendulum((1.0, 0.9)))
    start = np.zeros(2)
    for end in ([1.9, 2.5], [-2.7, -2.9], [2.2, 1.2]):
        straight = np.linspace(start, end, 200)
        path = geodesic_between(model, start, end)
        close(path(1.0)[0], end, 1e-8)
        assert path.length < length_of(model, straight)
        missed = _shot(model, start, np.array(end), np.array(end), 1e-10)
        assert missed is None or geodesic(model, start, missed).length > length_of(model, straight)


def test_guess_chooses_among_geodesics() -> None:
    """Round a ball's axis the short way or the long way."""
    model = rotor(1.0, 1.0, 1.0)
    start = model.neutral()
    end = qdot.retract(model, start, [0, 0, 1.0])
    close(geodesic_distance(model, start, end), 1.0, 1e-9)
    close(geodesic_distance(model, start, end, guess=[0, 0.1, 1.2 - 2 * np.pi]), 2 * np.pi - 1, 1e-9)


@pytest.mark.parametrize("k", TREES)
def test_parallel_transport_keeps_products(k: int) -> None:
    model, q, v = small_trees()[k]
    path = geodesic(model, q, v)
    vectors = np.random.default_rng(k).normal(size=(3, model.nv))
    carried = parallel_transport(model, path, vectors)
    M0, M1 = qdot.mass_matrix(model, q), qdot.mass_matrix(model, path(1.0)[0])
    close(carried @ M1 @ carried.T, vectors @ M0 @ vectors.T, 1e-9)
    close(parallel_transport(model, path, v), path(1.0)[1], 1e-9)  # its own velocity, that of a geodesic


def test_holonomy_is_curvature_times_area() -> None:
    """Carried once round the latitude β of a unit sphere, a vector turns by the area of the cap, 2π (1 - sin β)."""
    model, latitude = sphere(), 0.8
    turned = parallel_transport(model, lambda t: ([t, latitude], [1.0, 0.0]), [0.0, 1.0], time=2 * np.pi)
    east, north = np.cos(latitude) * turned[0], turned[1]
    angle = 2 * np.pi * (1 - np.sin(latitude))
    close([abs(east), north], [abs(np.sin(angle)), np.cos(angle)], 1e-8)


def test_geodesics_spread_by_curvature() -> None:
    """Jacobi: on a sphere of radius R, paths that start at an angle part by R sin(s / R)."""
    model, R, small = sphere(0.5, 1.0), 0.5, 1e-5
    for time in (0.3, 0.7):
        paths = geodesic(model, [0.0, 0.0], [[1.0, 0.0], [np.cos(small), np.sin(small)]], time=time)
        ends, _ = paths(time)
        apart = geodesic_distance(model, *ends)
        close(apart / (R * small), np.sin(time), 1e-6)
    close(riemann.sectional_curvature(model, [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]), 1 / R**2, 1e-12)


def test_what_cannot_be_is_refused() -> None:
    model = arm()
    with pytest.raises(ValueShapeError, match="positive"):
        geodesic(model, [0, 0], [1, 0], time=-1.0)
    with pytest.raises(ValueShapeError, match="needs"):
        geodesic(model, [0, 0, 0], [1, 0])
    with pytest.raises(ValueShapeError, match="2 rows and v has 3"):
        geodesic(model, np.zeros((2, 2)), np.zeros((3, 2)))
    with pytest.raises(ValueShapeError, match="symbols"):
        geodesic(model, qdot.symbols(model)[0], [1, 0])
    with pytest.raises(ModelError, match="no freedom"):
        geodesic(alone(Fixed(), Inertia.point(1.0)), [], [])
    with pytest.raises(ValueShapeError, match="batches"):
        geodesic_between(model, [[0, 0], [1, 1]], [1, 0])
    with pytest.raises(ValueShapeError, match="positive"):
        parallel_transport(model, geodesic(model, [0, 0], [1, 0]), [1, 0], time=0.0)


def test_no_geodesic_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from qdot import geodesics

    monkeypatch.setattr(geodesics, "MOST_NEWTON_STEPS", 0)
    with pytest.raises(QdotError, match="guess"):
        geodesic_between(hinge(), [0.0], [1.0])


@pytest.mark.parametrize("t", [1.1, -0.1, np.nan, [0.0, 0.5, 3.0]])
def test_a_path_ends_where_it_was_followed_to(t) -> None:
    path = geodesic(arm(), [0.1, 0.2], [1.0, 0.5])
    with pytest.raises(ValueShapeError, match=r"from time 0 to 1, got (1\.1|-0\.1|nan|3)"):
        path(t)
    close(path(1.0 + 1e-16)[0], path(1.0)[0], 0)


@pytest.mark.parametrize(("curve", "words"), [(5, "a function of time"), (lambda t: None, "gives .q, v. at each time")])
def test_what_is_no_curve_is_refused(curve, words: str) -> None:
    with pytest.raises(ValueShapeError, match=words):
        parallel_transport(arm(), curve, [1.0, 0.0])
