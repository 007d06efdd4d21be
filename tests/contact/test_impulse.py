"""Impulses where bodies strike each other: closed forms of bouncing balls, cradles and chains, and Painlevé's rod."""

import numpy as np
import pytest

import qdot
from qdot.contact import Hard, Impulse, Lcp
from tests.contact.models import GRAVITY, ball, friction, planar, scene

G = GRAVITY
SLIDE = '<joint name="{0}" type="slide" axis="1 0 0"/>'
SMOOTH = 'condim="1"'


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_bouncing_ball(law):
    """From a height h: the n-th impact is at √(2h/g) (1 + 2 (e + … + eⁿ⁻¹)), and all are over at √(2h/g) (1+e)/(1-e).
    Free flight is exact, so only what counts as touching, 1e-9 m, is off; a ball slower than 0.01 m/s rests."""
    h, e, n = 1.0, 0.8, 5
    model = scene(ball(at="0 0 1.1", joint='<joint name="up" type="slide" axis="0 0 1"/>', more=SMOOTH))
    run = qdot.simulate(model, None, 4.5, 0.01, contact=Impulse(e, law), record=1)
    fall = np.sqrt(2 * h / G)
    impacts = fall * (1 + 2 * np.cumsum([0, *e ** np.arange(1, n)]))
    assert impacts[-1] == pytest.approx(2.5841601020895357)
    z, v = run["up"] + h, run.velocity("up")
    for k, t in enumerate(impacts):  # between impacts: the parabola that begins with eᵏ⁺¹ √(2 g h)
        following = impacts[k + 1] if k + 1 < n else t + 2 * fall * e ** (k + 1)
        flying = (run.time > t) & (run.time < following)
        since, speed = run.time[flying] - t, e ** (k + 1) * np.sqrt(2 * G * h)
        np.testing.assert_allclose(z[flying], speed * since - G / 2 * since**2, atol=1e-7)
    rests = run.time[np.argmax((z < 1e-6) & (np.abs(v) < 1e-9))]
    zeno = fall * (1 + e) / (1 - e)
    assert zeno == pytest.approx(4.063712768871579)
    assert zeno - 2 * 0.01 / G / (1 - e) - 0.02 < rests < zeno + 0.02
    assert np.abs(z[run.time > zeno + 0.02]).max() < 1e-8


def cradle(n: int) -> qdot.Model:
    """Balls on rods of a metre, side by side."""
    hung = '<body name="{0}" pos="{1} 0 2"><joint name="{0}" type="hinge" axis="0 -1 0"/>{2}</body>'
    geom = '<geom type="sphere" pos="0 0 -1" size="0.1" mass="1" condim="1"/>'
    return scene("".join(hung.format(f"ball {k}", 0.2 * k, geom) for k in range(n)), floor=True)


def test_newtons_cradle():
    """One ball in, one ball out, all others at rest; what rk4 loses is 1e-8 of the energy."""
    model = cradle(5)
    run = qdot.simulate(model, ([-0.5, 0, 0, 0, 0], np.zeros(5)), 2.0, 0.01, contact=Impulse(1.0))
    E = run.energy()
    assert np.ptp(E) < 1e-7 * np.ptp(run.potential_energy())
    assert run.q[:, 4].max() == pytest.approx(0.5, abs=1e-3)
    assert np.abs(run.q[:, 1:4]).max() < 1e-8
    assert run.q[:, 0].max() < 1e-8
    assert not run.contact_residuals["unsolved"].any()


def test_struck_together_a_cradle_moves_together():
    """Newton's law for all contacts at once is another law: it is no chain of blows (so which one is said)."""
    model = cradle(3)
    start = ([-0.3, 0, 0], np.zeros(3))
    run = qdot.simulate(model, start, 0.8, 0.01, contact=Impulse(1.0, order="together"))
    struck = run.v[np.argmax(run.v[:, 2] > 0.1)]
    assert struck[0] < 0 < struck[1]
    assert struck[1] == pytest.approx(struck[2], abs=1e-9)
    assert np.diff(run.energy()).max() < 1e-8


def test_a_chain_of_growing_balls():
    """Masses 1, 2, 4 in a row, apart: each blow hands on v (1+e) m/(m+M), and leaves v (m - e M)/(m + M)."""
    e, masses = 0.9, (1.0, 2.0, 4.0)
    balls = "".join(ball(f"ball {k}", f"{0.5 * k} 0 0", SLIDE.format(f"x{k}"), m, SMOOTH) for k, m in enumerate(masses))
    run = qdot.simulate(scene(balls, floor=False), (np.zeros(3), [1.0, 0, 0]), 1.0, 0.01, contact=Impulse(e))
    first = (1 - 2 * e) / 3
    second = (1 + e) / 3
    third, second = second * (1 + e) * 2 / 6, second * (2 - 4 * e) / 6
    assert (first, second) != (0, 0)
    v = run.v[-1]
    if first > second:  # the first would catch up
        first, second = (first * (1 - 2 * e) + second * 2 * (1 + e)) / 3, (first * (1 + e) + second * (2 - e)) / 3
    np.testing.assert_allclose(np.array(masses) @ v, 1.0, atol=1e-12)
    np.testing.assert_allclose(v, [first, second, third], atol=1e-12)


def test_rest_is_handed_over():
    """U14: a ball that was dropped with e = 0.5 lies still, and is held by its weight."""
    model = scene(ball(at="0 0 0.15", joint='<joint type="slide" axis="0 0 1"/>', more=SMOOTH))
    run = qdot.simulate(model, None, 2.0, 0.01, contact=Impulse(0.5))
    assert np.abs(run.v[150:]).max() < 1e-12
    (contact,) = run.contacts()
    assert contact.force[2] == pytest.approx(G, rel=1e-6)


@pytest.mark.parametrize("kind", [Hard(), Lcp(), Lcp(level="acceleration"), Impulse(0.0)], ids=str)
def test_painleves_rod_is_named(kind):
    """A rod that is pushed over its rough foot: a push there would make it approach, so no force holds it. The run goes
    on by an impulse, says so, and gives no energy. Dragged the other way the rod has no such trouble."""
    rod = f"""<body name="rod" pos="0 0 0.5">{planar("rod")}<geom type="capsule" fromto="0 0 -0.5 0 0 0.5" size="0.005"
    mass="1" {friction(2.0)}/></body>"""
    model = scene(rod, mu=2.0)
    tilt = np.radians(30)
    z = 0.5 * np.cos(tilt) + 0.005 - 0.5
    for side, expected in ((-1, True), (1, False)):
        run = qdot.simulate(model, ([0, z, side * tilt], [3.0, 0, 0]), 0.1, 1e-3, contact=kind)
        found = run.contact_residuals
        assert found["paradox"].any() == expected
        assert not found["unsolved"].any()
        assert np.diff(run.energy()).max() < 1e-6
        assert found["penetration"].max() < 1e-4
