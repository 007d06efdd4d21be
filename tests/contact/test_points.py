"""Points of contact: rows against the motion of gaps and of surfaces, what counts as near, and projected sweeps."""

import numpy as np
import pytest

from qdot.algebra import Vec3
from qdot.algorithms.configuration import retract
from qdot.algorithms.constraints.rows import times
from qdot.algorithms.kinematics import world_poses
from qdot.contact.pgs import projected
from qdot.contact.points import Points, handed_on, limit_points, points, reach_of
from qdot.contact.soft_contacts import contact_frame
from tests.contact.models import ball, box, planar, scene
from tests.contact.scenes import faces

FAR = 100.0
MODELS = {
    "ball on floor": scene(ball(at="0.1 0.2 0.15")),
    "box on floor": scene(box("box", "0 0 0.3", "0.1 0.2 0.15")),
    "two balls": scene(ball("one", "0 0 0") + ball("two", "0.25 0.1 0.05"), floor=False),
    "boxes": scene(box("one", "0 0 0", "0.1 0.1 0.1") + box("two", "0 0 0.25", "0.08 0.09 0.1"), floor=False),
    "linked": scene(
        """<body name="arm" pos="0 0 0.6"><joint type="hinge" axis="0 1 0"/><geom type="capsule" size="0.03"
        fromto="0 0 0 0.4 0 0" mass="1"/><body name="hand" pos="0.4 0 0"><joint type="hinge" axis="1 1 0"/>
        <geom type="sphere" size="0.05" pos="0.2 0 0" mass="1"/></body></body>"""
        + ball("ball", "0.6 0.05 0.35")
    ),
}


def moved(model, q, v, t):
    return retract(model, q, [t * x for x in v])


@pytest.mark.parametrize("name", [name for name in MODELS if name != "boxes"])
def test_normal_rows_are_the_rates_of_gaps(name):
    """Central differences of the gap along a motion; their error is 1e-9. (Corners of two faces that are askew move
    over them, too.)"""
    model = MODELS[name]
    rng = np.random.default_rng(3)
    q = model.home().tolist()
    v = (0.3 * rng.normal(size=model.nv)).tolist()
    q = moved(model, q, v, 0.1)  # out of symmetry
    here = points(model, q, FAR).points
    h = 1e-6
    ends = [points(model, moved(model, q, v, s * h), FAR).points for s in (1, -1)]
    assert here
    for point, after, before in zip(here, *ends, strict=True):
        if point.gap < FAR:
            rate = (after.gap - before.gap) / (2 * h)
            assert times(point.J[:1], v)[0] == pytest.approx(rate, abs=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_slips_of_surfaces(name):
    """The point of the second body moves beside that of the first, by central differences, as the rows tell."""
    model = MODELS[name]
    v = (0.3 * np.random.default_rng(4).normal(size=model.nv)).tolist()
    q, h = moved(model, model.home().tolist(), v, 0.1), 1e-6
    here, *ends = (world_poses(model, moved(model, q, v, t)) for t in (0, h, -h))
    seen = 0
    for point in points(model, q, FAR).points:
        if point.gap < FAR:
            at = point.touch.position + here[1].position
            after, before = (
                X[point.pair.second.body] @ (here[point.pair.second.body].inv() @ at)
                - X[point.pair.first.body] @ (here[point.pair.first.body].inv() @ at)
                for X in ends
            )
            slip = (after - before) * (1 / (2 * h))
            u = contact_frame(point.touch) @ Vec3(*times(point.J[:3], v))
            np.testing.assert_allclose([*u], [*slip], atol=1e-8)
            seen += 1
    assert seen


def test_what_is_met_within_a_step_is_near():
    """Three steps of the fastest point ahead: beyond, a point does not count."""
    model = MODELS["ball on floor"]
    q = model.home().tolist()
    down = [0.0, 0, 0, 0, 0, -2.0]
    assert reach_of(model, q, down, 0.01) == pytest.approx(3 * 0.01 * 2.0)
    (near,) = points(model, q, reach_of(model, q, down, 0.01)).points
    (far,) = points(model, q, reach_of(model, q, down, 0.005)).points
    assert (near.present, far.present) == (1, 0)  # the gap is 0.05
    assert near.gap == pytest.approx(0.05)
    spinning = [0.0, 3.0, 0, 0, 0, 0]
    assert reach_of(model, q, spinning, 0.01) == pytest.approx(3 * 0.01 * 3 * 0.1)


def test_limits_are_points_without_friction():
    body = '<body><joint type="hinge" axis="0 1 0" range="-30 60" limited="true"/><geom size="0.1" mass="1"/></body>'
    model = scene(body, floor=False)
    low, high = limit_points(model, [np.radians(50)], [1.0], 0.1)
    assert (low.gap, high.gap) == pytest.approx((np.radians(80), np.radians(10)))
    assert (low.J, high.J) == ([{0: 1.0}], [{0: -1.0}])
    assert (low.present, high.present) == (0, 1)
    assert low.friction == high.friction == ()


def test_impulses_are_handed_on_to_new_corners():
    """What a corner bore that is gone goes to the new one of the same face; the sum stays."""
    model = MODELS["boxes"]
    found = points(model, model.home().tolist(), FAR)
    here = [k for k, point in enumerate(found.points) if point.gap < FAR]
    rows = len(found.J)
    z = [0.0] * rows
    gone, new = here[0], here[1]
    for k in here[2:] + [gone]:
        z[3 * k : 3 * k + 3] = [float(k + 1), 0.5, -0.25]
    without = found.chosen([0.0 if k == gone or k not in here else 1.0 for k in range(len(found.points))])
    given = handed_on(without, z)
    assert given[3 * gone : 3 * gone + 3] == [0, 0, 0]
    assert given[3 * new : 3 * new + 3] == z[3 * gone : 3 * gone + 3]
    assert sum(given) == pytest.approx(sum(z))
    assert handed_on(Points([], 0), []) == []


@pytest.mark.parametrize("seed", range(6))
def test_sweeps_on_velocities_obey_the_law(seed):
    """Two bodies, eight points: from rest or from anywhere, what they end at obeys it (there may be several)."""
    W, b, mu, J, M = faces(seed, bodies=2)
    answers = np.linalg.solve(M, J.T).T
    v = np.linalg.lstsq(J, b, rcond=None)[0]
    rows = [[dict(enumerate(row)) for row in A.tolist()] for A in (J, answers)]
    friction = [(m, m) for m in mu.tolist()]
    ones = [1.0] * len(mu)
    for start in (np.zeros(len(b)), np.random.default_rng(seed).normal(size=len(b))):
        found = projected(*rows, v.tolist(), [0.0] * len(b), friction, ones, start.tolist(), 5000)
        assert found.converged
        np.testing.assert_allclose(found.u, W @ found.z + b, atol=1e-9)
        worst = found.residuals
        assert max(worst.penetration, worst.cone, worst.complementarity, worst.dissipation) < 1e-7


def test_planar_bodies_have_points_of_their_own():
    """A joint of three slides and turns moves a point as a free body would that moves alike."""
    flat = scene(box("box", "0 0 0.3", "0.1 0.2 0.15", planar("box")))
    free = MODELS["box on floor"]
    one = points(flat, [0.0, 0, 0], FAR)
    two = points(free, free.home().tolist(), FAR)
    np.testing.assert_allclose(times(one.J, [0.4, -0.3, 0.2]), times(two.J, [0, 0.2, 0, 0.4, 0, -0.3]), atol=1e-12)
