"""Impulses where bodies strike each other: closed forms of bouncing balls, cradles and chains, and Painlevé's rod."""

import numpy as np
import pytest

import qdot
from qdot.contact import Hard, Impulse, Lcp
from qdot.simulation.integrators import INTEGRATORS
from tests.contact.models import GRAVITY, ball, box, friction, planar, scene

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


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_every_integrator_bounces(integrator):
    """A ball with e = 0.8 from 1 m: after two impacts, at 0.4515 and 1.1740 s, it is on the parabola that begins with
    e² √(2 g h); rules of first order are off by some steps of 1 ms."""
    model = scene(ball(at="0 0 1.1", joint='<joint name="up" type="slide" axis="0 0 1"/>', more=SMOOTH))
    run = qdot.simulate(model, None, 1.5, 1e-3, contact=Impulse(0.8), integrator=integrator)
    fall = np.sqrt(2 / G)
    since, speed = 1.5 - fall * 2.6, 0.64 * np.sqrt(2 * G)
    first_order = integrator in ("explicit euler", "semi-implicit euler", "implicit velocity")
    assert run["up"][-1] + 1 == pytest.approx(speed * since - G / 2 * since**2, abs=0.02 if first_order else 1e-7)


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


@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("integrator", ["rk4", "generalised alpha", "dormand-prince"])
def test_what_rests_on_something_moves_with_the_order_of_its_integrator(integrator, mu):
    """A rod falls over, its foot on the floor, where it slides without friction or sticks and rolls: no energy is lost.
    Forces that are the same during a step make its error one of the second order: half the step, a quarter of it."""
    rod = f"""<body name="rod" pos="0 0 0.5">{planar("rod")}<geom type="capsule" fromto="0 0 -0.5 0 0 0.5" size="0.05"
    mass="1" {friction(mu)}/></body>"""
    model, tilt = scene(rod, mu=mu), np.radians(40)
    start = ([0, 0.5 * np.cos(tilt) + 0.05 - 0.5, tilt], [0.3 * (mu == 0), 0, 0])
    off = []
    for dt in (4e-3, 2e-3):
        run = qdot.simulate(model, start, 0.24, dt, contact=Impulse(0.0), integrator=integrator, ledger=True)
        off.append(np.abs(run.energy() - run.energy()[0]).max())
        assert run.q[-1, 2] > np.radians(50)
        assert run.contact_residuals["penetration"].max() < 1e-9  # what counts as touching
        assert np.abs(run.balance()).max() < 1e-12
    assert off[0] < 5e-5
    assert 3.5 < off[0] / off[1] < 4.5


SIZES = {"capsule": "0.05 0.1", "box": "0.06 0.08 0.1", "cylinder": "0.06 0.08", "ellipsoid": "0.05 0.07 0.1"}


@pytest.mark.parametrize(
    ("shapes", "kind"),
    [
        ("capsule capsule", Impulse(0.5)),
        ("capsule capsule", Impulse(0.0, order="together")),
        ("capsule capsule", Impulse(0.8, law="poisson")),
        ("cylinder capsule", Impulse(0.0, order="together")),
        ("ellipsoid capsule", Impulse(0.5)),
    ],
    ids=str,
)
def test_what_is_thrown_onto_a_floor_gains_no_energy(shapes, kind):
    """Impacts give none. Forces that are the same during a step do some work, of its third order, on what rolls and
    spins at 10 to 20 rad/s, either way; and where a touch jumps, bodies overlap, and rise where they are parted. Seen
    are up to 4e-5 of the energy in all 300 steps. A cylinder's touch jumps most: capsules and ellipsoids come within
    1e-5 m into what they touch, and they within 2e-3 m."""
    random, falling = np.random.default_rng(0), []
    for k, shape in enumerate(shapes.split()):
        geom = f'<geom type="{shape}" size="{SIZES[shape]}" mass="{1 + k}"/>'
        falling.append(f'<body pos="0 0 {0.15 + 0.3 * k}"><freejoint/>{geom}</body>')
    model = scene("".join(falling))
    q, v = np.tile(model.home(), (16, 1)), np.zeros((16, model.nv))
    for first in (0, 7):
        turns = random.normal(size=(16, 4))
        turns[::2] = [1, 1, 0, 0] + 1e-3 * turns[::2]  # every other one lies down, nearly on a line
        q[:, first : first + 4] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
        q[:, first + 4 : first + 6] += 0.03 * random.normal(size=(16, 2))
    v[1::2] = random.normal(size=(8, model.nv))
    run = qdot.simulate(model, (q, v), 0.6, 0.002, contact=kind)
    E = run.energy()
    assert (E[:, -1] < E[:, 0] - 0.1).all()
    assert np.maximum(np.diff(E), 0).sum(axis=1).max() < 1e-4 * np.abs(E).max()
    assert run.contact_residuals["penetration"].max() < (4e-3 if "cylinder" in shapes else 4e-5)


def test_a_bad_start_is_left_at_once():
    """A box 5 mm in the floor is put on it, and is not thrown."""
    run = qdot.simulate(scene(box("box", "0 0 0.095", "0.1 0.1 0.1")), None, 0.02, 0.002, contact=Impulse(0.5))
    assert np.abs(run.q[2:, 6] - 0.1).max() < 2e-6  # within 1 µm of which it leaves slowly
    assert np.abs(run.v).max() < 2e-4


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
