"""Hard contact in motion: published cases, laws of impact and friction, and the same motion by several solvers."""

import numpy as np
import pytest

import qdot
from qdot.contact import Hard, Impulse, Lcp
from tests.contact.models import GRAVITY, ball, box, friction, planar, scene

G = GRAVITY


def test_a_ball_slides_and_rolls():
    """Coriolis, 1835: friction along a slip that keeps its direction bends the path to a parabola, and the ball rolls
    when 2/7 of the slip are gone. A pyramid would bend it otherwise. Errors are of first order, dt v = 1e-3."""
    mu, r, v0, spin, dt = 0.2, 0.1, np.array([3.0, 0.0]), np.array([12.0, 5.0]), 5e-4
    slip = v0 + r * np.array([-spin[1], spin[0]])  # u = v + ω × (-r z)
    t = 2 / 7 * np.linalg.norm(slip) / (mu * G)
    assert t == pytest.approx(0.4038277158544356)
    way = slip / np.linalg.norm(slip)
    model = scene(ball(more=friction(mu)), mu=mu)
    run = qdot.simulate(model, (model.home(), [*spin, 0, *v0, 0]), 0.5, dt, contact="hard")
    p = run.position("ball")[:, :2]
    v = np.gradient(p, dt, axis=0)
    np.testing.assert_allclose(v[-2], v0 - mu * G * t * way, atol=1e-3)
    np.testing.assert_allclose(run.at(t).q[4:6], v0 * t - mu * G * t * t / 2 * way, atol=2e-3)
    residuals = run.contact_residuals
    rolls = np.abs(v - v[-2]).max(axis=1) < 1e-6
    assert run.time[np.argmax(rolls)] == pytest.approx(t, abs=2e-3)
    assert all(residuals[name].max() < 1e-10 for name in ("penetration", "cone", "complementarity", "dissipation"))
    assert not residuals["unsolved"].any()


@pytest.fixture(scope="module")
def block():
    """On a slope of 15°, with friction that holds it."""
    return scene(box("block", "0 0 0.1", "0.1 0.1 0.1", more=friction(0.5)), slope=np.radians(15), mu=0.5)


def test_a_block_stops_and_stays_for_a_minute(block):
    """After v₀²/(2 g (μ cos a - sin a)), to first order in dt; then nothing but rounding moves it."""
    start = (block.home(), [0, 0, 0, 2.0, 0, 0])
    slide = qdot.simulate(block, start, 1.0, 5e-4, contact="hard")
    assert slide.position("block")[-1, 0] == pytest.approx(0.9095658076659819, abs=1e-3)
    stopped = np.argmax(np.abs(slide.v[:, 3]) < 1e-9)
    assert slide.time[stopped] == pytest.approx(0.9095658076659819, abs=1e-3)
    rest = qdot.simulate(block, (slide.q[-1], slide.v[-1]), 60.0, 1e-3, contact="hard", record=1000)
    assert np.abs(rest.q - rest.q[0]).max() < 1e-9


@pytest.mark.parametrize("kind", ["hard", Lcp(solver="pgs", sweeps=500)])
@pytest.mark.parametrize("degrees", [26.5, 26.7])
def test_friction_holds_up_to_its_angle(degrees, kind):
    """atan 0.5 = 26.565°: below it nothing moves, above it slides with g (sin a - μ cos a). So too by a pyramid with a
    direction down the slope."""
    model = scene(box("block", "0 0 0.1", "0.1 0.1 0.1", more=friction(0.5)), slope=np.radians(degrees), mu=0.5)
    run = qdot.simulate(model, None, 0.5, 1e-3, contact=kind)
    a = G * (np.sin(np.radians(degrees)) - 0.5 * np.cos(np.radians(degrees)))
    assert run.v[-1, 3] == pytest.approx(max(a * 0.5, 0.0), abs=1e-9)
    assert not run.contact_residuals["unsolved"].any()


@pytest.mark.parametrize("kind", ["hard", "lcp", Lcp(solver="pgs", sweeps=500)])
def test_tip_or_slide(kind):
    """Elementary statics of a block that is pushed at a height: it moves from the least of both limits on, and slides
    below the height b/(2μ), or tips above. A thousandth beside the limits decides."""
    m, b, h, mu = 2.0, 0.2, 0.5, 0.6
    body = box("block", f"0 0 {h / 2}", f"{b / 2} 0.1 {h / 2}", planar("block"), m, friction(mu))
    model = scene(body, mu=mu)
    slides, tips, y = mu * m * G, m * G * b / 2, b / (2 * mu)
    assert (slides, tips / 0.4) == pytest.approx((11.772, 4.905), rel=1e-4)
    pushes = [
        (slides * 0.999, 0.05, "stays"),
        (slides * 1.001, 0.05, "slides"),
        (tips / 0.4 * 0.999, 0.4, "stays"),
        (tips / 0.4 * 1.001, 0.4, "tips"),
        (slides * 1.001, y * 0.998, "slides"),
        (tips / (y * 1.002) * 1.001, y * 1.002, "tips"),
    ]
    tau = np.array([[F, 0, F * (at - h / 2)] for F, at, _ in pushes])
    state = np.zeros((len(pushes), 3)), np.zeros((len(pushes), 3))
    run = qdot.simulate(model, state, 0.2, 1e-3, contact=kind, tau=tau)
    for (_, _, wanted), v in zip(pushes, run.v[:, -1], strict=True):
        found = "stays" if np.abs(v).max() < 1e-9 else "tips" if abs(v[2]) > 1e-6 else "slides"
        assert found == wanted


def test_a_rimless_wheel_rolls_down_a_slope():
    """McGeer, 1990: the rate after an impact of the steady motion, and the time of a step. Small feet and a small
    inertia, steps of first order and the time until the rate is looked at are 1e-3 off together."""
    n, gamma, foot = 8, 0.08, 1e-5
    feet = "".join(
        f'<geom type="sphere" size="{foot}" mass="0" pos="{np.sin(t) * (1 - foot)} 0 {-np.cos(t) * (1 - foot)}"/>'
        for t in 2 * np.pi * np.arange(n) / n
    )
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1e-5 1e-5 1e-5"/>'
    model = scene(f'<body name="hub" pos="0 0 1">{planar("hub")}{inertial}{feet}</body>', slope=gamma)
    w = 1.1
    run = qdot.simulate(model, ([0, 0, 0], [w, 0, w]), 16.0, 5e-5, contact="hard")
    rate = run.v[:, 2]
    impacts = np.flatnonzero(np.diff(rate) < -0.1)
    impacts = impacts[np.diff(impacts, prepend=-100) > 500][-4:]
    after = rate[impacts + 2]
    np.testing.assert_allclose(after, 1.0954628396476571, rtol=2e-3)
    np.testing.assert_allclose(np.diff(run.time[impacts]), 1.034549811423279, rtol=2e-3)


BODIES = {
    "balls": ball("one", "0 0 0", mass=2.0, more=friction(0.3)) + ball("two", "0.5 0.06 0.03", more=friction(0.3)),
    "cubes": box("one", "0 0 0", "0.1 0.1 0.1") + box("two", "0.5 0.06 0.03", "0.08 0.08 0.08"),
}


@pytest.mark.parametrize("shape", BODIES)
@pytest.mark.parametrize("kind", [Hard(), Hard(0.7), Hard(solver="pgs"), Impulse(1.0), Impulse(0.5, "poisson")])
def test_free_collisions_keep_momentum_and_never_add_energy(kind, shape):
    """Impulses at one point, one against the other: linear and angular momentum stay to rounding; energy falls, and
    restitution takes less of it."""
    if shape == "cubes" and kind != Hard(solver="pgs"):
        pytest.skip("much code, and the law is the same")
    model = scene(BODIES[shape], floor=False)
    v = [1.0, -2, 0.5, 2.0, 0, 0, 0, 3, 1, -1.0, 0.1, 0]
    run = qdot.simulate(model, (model.home(), v), 0.4, 1e-3, contact=kind)
    momentum, T = run.momentum(), run.kinetic_energy()
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-8)
    assert np.diff(T).max() < 1e-9 * T[0]
    assert T[0] - T[-1] > 1e-3 * T[0]  # they met
    assert run.contact_residuals["energy"].max() < 1e-9


@pytest.mark.parametrize("kind", [Hard(0.9), Hard(0.9, solver="pgs", sweeps=1000), Lcp(restitution=0.9)], ids=str)
def test_restitution_gives_no_energy(kind):
    """A slanted rod that slides onto a rough floor: friction turns slip into a push, and with all of e = 0.9 it would
    leave with 0.1 to 0.2 J more (Kane, 1984). It does leave."""
    rod = f"""<body name="rod" pos="0 0 0.6">{planar("rod")}<geom type="capsule" fromto="0 0 -0.5 0 0 0.5" size="0.005"
    mass="1" {friction(0.5)}/></body>"""
    model = scene(rod, mu=0.5)
    for tilt in (0.5, 0.8):
        run = qdot.simulate(model, ([0, 0, tilt], [2.0, -1.0, 0]), 0.25, 1e-3, contact=kind)
        foot = run.q[:, 1] - (0.5 * np.cos(run.q[:, 2]) + 0.005 - 0.6)
        assert foot.min() < 2e-3
        assert foot[-1] > 2e-2
        assert run.contact_residuals["energy"].max() < 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [Hard(), Lcp(), Lcp(solver="pgs", sweeps=300)], ids=str)
def test_what_tumbles_is_solved(kind, dtype):
    """A box thrown onto a floor, 32 times: of 12800 steps, with up to four points that share their load in many ways,
    all but a few are solved (by sweeps, which are coarse, most), and none gives energy; a step's own error is some
    m g² dt² / 2."""
    model = scene(box("box", "0 0 0.15", "0.06 0.08 0.1"))
    random = np.random.default_rng(0)
    q, turns = np.tile(model.home(), (32, 1)), random.normal(size=(32, 4))
    q[:, :4] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    run = qdot.simulate(model, (q, 2 * random.normal(size=(32, 6))), 0.8, 0.002, contact=kind, dtype=dtype)
    found = run.contact_residuals
    assert found["unsolved"].sum() <= (1000 if kind.solver == "pgs" else 5)
    assert found["energy"].max() < 1e-5
    assert np.diff(run.energy()).max() < 2e-4


def test_restitution_is_that_of_newton():
    """A ball that falls on a floor leaves it at e times its speed; it meets it up to a step early."""
    e, dt = 0.6, 1e-4
    model = scene(ball(at="0 0 0.6", joint='<joint type="slide" axis="0 0 1"/>', more='condim="1"'))
    run = qdot.simulate(model, None, 0.6, dt, contact=Hard(e))
    hit = np.argmax(run.v[:, 0] > 0)
    assert run.v[hit, 0] / -run.v[hit - 1, 0] == pytest.approx(e, abs=1e-9)
    assert run.time[hit] == pytest.approx(np.sqrt(2 * 0.5 / G), abs=2 * dt)


def test_solvers_find_the_same_motion(block):
    """The round cone by two solvers; the pyramid lies along the slide, so both of its own find the same. Sweeps leave
    1e-10."""
    start = (block.home(), [0.0, 0, 0, 1.0, 0, 0])
    kinds = (Hard(), Hard(solver="pgs", sweeps=1000), Hard(position="baumgarte"), Lcp(), Lcp(solver="pgs"))
    ends = [qdot.simulate(block, start, 0.3, 1e-3, contact=kind).q[-1] for kind in kinds]
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], atol=1e-8)


def test_what_overlaps_at_the_start_is_parted_without_speed():
    """Deep in the floor: projection puts it on top in a step, Baumgarte's way in many; neither throws it up."""
    model = scene(ball(joint='<joint type="slide" axis="0 0 1"/>', more='condim="1"'))
    for kind, most in ((Hard(), 1e-9), (Hard(position="baumgarte"), 0.2 * 0.05 / 0.01 + 1e-9)):
        run = qdot.simulate(model, ([-0.05], [0.0]), 0.5, 0.01, contact=kind)
        assert run.contact_residuals["penetration"][1] == pytest.approx(0.05)
        assert run.q[-1, 0] == pytest.approx(0.0, abs=1e-6)
        assert np.abs(run.v).max() <= most


def test_nothing_tunnels_however_fast():
    """Hard contact looks ahead: a ball at 500 m/s stops at a sheet of 2 mm in steps of 10 ms."""
    wall = '<geom type="box" size="0.001 1 1" pos="1 0 0"/>'
    model = scene(wall + ball(joint='<joint type="slide" axis="1 0 0"/>', more='condim="1"'), floor=False)
    run = qdot.simulate(model, ([0.0], [500.0]), 0.05, 0.01, contact="hard")
    assert run.q[-1, 0] == pytest.approx(1 - 0.001 - 0.1, abs=1e-9)


@pytest.mark.parametrize("ratio", [1e-3, 1e3, 1e6])
def test_masses_of_any_ratio(ratio):
    """A heavy ball on a light one, and the other way round: both rest."""
    slide = '<joint type="slide" axis="0 0 1"/>'
    balls = ball("low", "0 0 0.1", slide, 1.0, 'condim="1"') + ball("high", "0 0 0.3", slide, ratio, 'condim="1"')
    run = qdot.simulate(scene(balls), None, 1.0, 0.01, contact="hard")
    assert np.abs(run.q).max() < 1e-9
    pushes = {contact.bodies: contact.force for contact in run.contacts()}
    assert pushes["world", "low"][2] == pytest.approx((1 + ratio) * G, rel=1e-8)
    assert pushes["low", "high"][2] == pytest.approx(ratio * G, rel=1e-8)


def test_limits_and_contacts_are_solved_together():
    """A slide whose stop is above the floor carries a ball on a rod: the ball rests on the floor, the slide on its
    stop, and both bear what statics says."""
    body = """<body name="cart" pos="0 0 0.5"><joint name="up" type="slide" axis="0 0 1" range="0 1" limited="true"/>
    <geom type="box" size="0.05 0.05 0.05" mass="1" contype="0" conaffinity="0"/>
    <body name="rod"><joint name="turn" type="hinge" axis="0 1 0"/>
    <geom type="sphere" size="0.1" mass="2" pos="0.5 0 -0.3" condim="1"/></body></body>"""
    model = scene(body)
    run = qdot.simulate(model, ([0.02, 0.02], [0.0, 0.0]), 2.0, 1e-3, contact="hard", ledger=True)
    assert run["up"][-1] == pytest.approx(0.0, abs=1e-6)
    assert run.position("rod")[-1, 2] == pytest.approx(0.5, abs=1e-6)
    assert np.abs(run.v[-1]).max() < 1e-6
    (contact,) = run.contacts()
    assert contact.distance == pytest.approx(0, abs=1e-6)
    assert run.works()["limits"][-1] < 0
    assert np.abs(run.balance()).max() < 0.02 * np.ptp(run.potential_energy())


def test_ten_boxes_stay_where_they_were_put():
    """A pile of boxes free in space, each a little smaller than the one below, for a minute by sweeps, of which there
    are far fewer than such a pile needs within a step: they go on from step to step. So it settles by up to 2 mm, a
    hundredth of a box, within some seconds; after 20 s it stays within 1e-6 m.
    """
    boxes, pairs = "", '<pair geom1="floor" geom2="box 0"/>'
    for k in range(10):
        half = f"{0.1 - 0.002 * k} {0.1 - 0.002 * k} 0.1"
        boxes += box(f"box {k}", f"0 0 {0.1 + 0.2 * k}", half, more='contype="0" conaffinity="0"')
        pairs += f'<pair geom1="box {k - 1}" geom2="box {k}"/>' if k else ""
    model = scene(boxes, more=f"<contact>{pairs}</contact>")
    kind = Hard(solver="pgs", sweeps=100, room=100)
    run = qdot.simulate(model, None, 60.0, 0.01, contact=kind, record=10)
    places = np.array([run.position(f"box {k}") for k in range(10)])
    assert np.abs(places - places[:, :1]).max() < 2e-3
    assert np.ptp(places[:, 200:], axis=1).max() < 1e-6
    assert np.abs(run.v[-1]).max() < 1e-6


@pytest.mark.parametrize("dimension", [3, 4, 6])
def test_torsional_and_rolling_friction(dimension):
    """A ball of radius r rolls: friction of μ_r [m] brakes it by μ_r g / (1.4 r), where the contact has it; a spin
    about the normal dies away at μ_t m g / I, where it has that. All rows share one cone, so what brakes by rolling
    friction slips a little: 2e-3 m/s."""
    torsional, rolling, r, t, dt = 0.002, 0.005, 0.1, 0.4, 1e-3
    model = scene(ball(more=f'condim="{dimension}" friction="0.5 {torsional} {rolling}"'), mu=0.5)
    rolls = qdot.simulate(model, (model.home(), [0, 10, 0, 1.0, 0, 0]), t, dt, contact="hard")
    speed = np.diff(rolls.position("ball")[-2:, 0])[0] / dt
    assert speed == pytest.approx(1 - (rolling * G / (1.4 * r) * t if dimension == 6 else 0), abs=3e-3)
    spins = qdot.simulate(model, (model.home(), [0, 0, 5, 0, 0, 0]), t, dt, contact="hard")
    left = 5 - (torsional * G / (0.4 * r * r) * t if dimension > 3 else 0)
    assert spins.v[-1, 2] == pytest.approx(left, abs=1e-9)


def test_contacts_that_nothing_moves_bear_nothing():
    """Two wheels touch on their common axle: no freedom parts them, so they do not push, and the car drives on by
    a = Σ τ/r / (m + Σ I/r²)."""
    wheel = """<body name="{0}" pos="{1}"><joint name="{0}" axis="0 1 0"/>
    <geom type="sphere" size="0.1" mass="0.3"/></body>"""
    wheels = (("front", "0.15 0 0"), ("left", "-0.15 0.1 0"), ("right", "-0.15 -0.1 0"))
    car = f"""<body name="car" pos="0 0 0.1"><freejoint/><inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
    {"".join(wheel.format(*of) for of in wheels)}</body>"""
    motors = '<actuator><motor joint="left"/><motor joint="right"/></actuator>'
    run = qdot.simulate(scene(car, more=motors), None, 0.5, 1e-3, contact="hard", control=[0.1, 0.1])
    a = 0.2 / 0.1 / (1.9 + 3 * 0.4 * 0.3)
    assert run.v[-1, 3] == pytest.approx(a * 0.5, rel=1e-6)
    assert {contact.bodies[0] for contact in run.contacts()} == {"world"}


def test_dry_friction_and_loops_go_with_contacts():
    """A slide with dry friction falls more slowly and rests lightly; two balls that a loop joins fall and lie."""
    slide = '<joint name="up" type="slide" axis="0 0 1" frictionloss="2"/>'
    run = qdot.simulate(scene(ball(at="0 0 0.3", joint=slide, more='condim="1"')), None, 1.0, 1e-3, contact="hard")
    hit = np.argmax(run["up"] < -0.2 + 1e-6)
    assert run.time[hit] == pytest.approx(np.sqrt(2 * 0.2 / (G - 2.0)), abs=2e-3)
    joined = '<equality><connect body1="a" body2="b" anchor="0.25 0 0"/></equality>'
    model = scene(ball("a", "0 0 0.3") + ball("b", "0.5 0 0.3"), more=joined)
    run = qdot.simulate(model, None, 0.5, 1e-3, contact="hard")
    np.testing.assert_allclose(run.position("a")[-1], [0, 0, 0.1], atol=1e-9)
    np.testing.assert_allclose(run.position("b")[-1], [0.5, 0, 0.1], atol=1e-9)
    assert np.nanmax(run.drift) < 1e-9
