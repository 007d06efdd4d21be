"""Kinds of contact side by side: what each may be given, what runs tell of contacts, and what goes wrong with names."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot

import qdot
from qdot.algebra import Mat3, Vec3
from qdot.algorithms.kinematics import world_poses
from qdot.contact import Hard, Impulse, Lcp, Penalty, Soft, compare
from qdot.errors import ModelError, QdotError, SimulationError, UnknownNameError, ValueShapeError
from qdot.simulation.reporting import COLUMNS
from qdot.simulation.tunnelling import _beside, _centres, _crosses, _inner_radius, _middle, crossings, watched_pairs
from qdot.spatial import Transform
from tests.contact.models import GRAVITY, ball, box, friction, planar, scene

UP = '<joint name="up" type="slide" axis="0 0 1"/>'
SMOOTH = 'condim="1"'


@pytest.fixture(scope="module")
def dropped():
    """A ball above a floor."""
    return scene(ball(joint=UP, more=SMOOTH))


@pytest.fixture(scope="module")
def puck():
    """A ball that slides and cannot turn."""
    return scene(ball(joint='<joint name="x" type="slide" axis="1 0 0"/>' + UP, more=friction(0.4)), mu=0.4)


@pytest.fixture(scope="module")
def slab():
    """A flat box that may slide and tip in a plane."""
    return scene(box("slab", "0 0 0.05", "0.2 0.2 0.05", planar("slab"), 2.0, friction(0.4)), mu=0.4)


# ── what they find ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["soft", "hard", "lcp", "impulse", "penalty"])
def test_all_kinds_carry_a_weight(dropped, kind):
    """At rest the force is m g, and overlaps stay below 2 mm."""
    run = qdot.simulate(dropped, None, 2.0, 1e-3, contact=kind, residuals=True)
    (contact,) = run.contacts()
    assert contact.bodies == ("world", "ball")
    assert contact.shapes == ("floor", "ball")
    np.testing.assert_allclose(contact.force, [0, 0, GRAVITY], rtol=2e-3, atol=1e-9)
    np.testing.assert_allclose(contact.normal, [0, 0, 1], atol=1e-12)
    assert contact.position[2] == pytest.approx(0, abs=1e-3)
    assert contact.distance == pytest.approx(run["up"][-1], abs=1e-12)
    assert "world (floor) on ball (ball): push 9.8" in str(contact)
    found = run.contact_residuals
    assert list(found) == list(COLUMNS)
    assert found["penetration"].max() < 2e-3
    assert found["energy"].sum() < 1e-4 or kind == "penalty"  # a spring gives back what it took


def test_a_spring_sinks_in_by_the_weight(dropped):
    """m g / k."""
    run = qdot.simulate(dropped, None, 2.0, 1e-4, contact=Penalty(1e4, 200.0), integrator="rk4", record=100)
    assert run["up"][-1] == pytest.approx(-GRAVITY / 1e4, rel=1e-6)


def test_springs_creep_by_a_share_of_their_slip(slab):
    """Pushed by half of what friction could bear, it moves at half of the speed `slip`."""
    tau = [0.5 * 0.4 * 2.0 * GRAVITY, 0, 0]
    run = qdot.simulate(slab, None, 1.0, 1e-3, contact=Penalty(slip=0.01), tau=tau)
    assert run.v[-1, 0] == pytest.approx(0.005, rel=0.02)


def test_forces_of_a_face_add_up(slab):
    """Pushed aside while it stays: normal forces add up to the weight, friction to the push, and so do moments."""
    run = qdot.simulate(slab, None, 0.1, 1e-3, contact="hard", tau=[3.0, 0, 0])
    contacts = run.contacts(50)
    total = sum(contact.force for contact in contacts)
    np.testing.assert_allclose(total, [-3.0, 0, 2 * GRAVITY], atol=1e-8)
    moment = sum(np.cross(c.position - [0, 0, 0.05], c.force) for c in contacts)
    assert moment[1] == pytest.approx(0, abs=1e-8)


def test_the_pyramid_is_told_by_residuals():
    """Sliding between two directions of a pyramid of four, friction is too weak and askew: only the cone sees it."""
    model = scene(ball(joint='<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>' + UP))
    start = (np.zeros(3), [2.0, 2.0, 0.0])
    errors = [
        qdot.simulate(model, start, 0.05, 1e-3, contact=kind).contact_residuals["dissipation"][1:].max()
        for kind in (Hard(), Lcp(4), Lcp(8))
    ]
    assert errors[0] < 1e-12
    assert errors[1] == pytest.approx(GRAVITY * 1e-3 * np.sqrt(8) * (1 - np.sqrt(0.5)), rel=0.02)  # μ z_n |u| (1 - cos)
    assert errors[2] < 1e-9  # it has a direction along the slide


def test_levels_of_the_lcp_agree(puck):
    """Forces from accelerations hold and brake as impulses do; below 1e-6 m/s they do not stop what creeps. Sweeps find
    what Lemke's walk does at both levels, to their 1e-10."""
    kinds = [Lcp(level=level, solver=solver) for level in ("velocity", "acceleration") for solver in ("lemke", "pgs")]
    runs = [qdot.simulate(puck, (np.zeros(2), [1.0, 0]), 0.5, 1e-3, contact=kind) for kind in kinds]
    np.testing.assert_allclose(runs[2].q[-1], runs[0].q[-1], atol=2e-3)
    for walked, swept in (runs[:2], runs[2:]):
        np.testing.assert_allclose(swept.q, walked.q, atol=1e-8)
        assert not swept.contact_residuals["unsolved"].any()
    assert runs[0].q[-1, 0] == pytest.approx(1 / (2 * 0.4 * GRAVITY), abs=1e-3)


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


def test_residuals_are_saved_and_go_on(dropped, tmp_path):
    run = qdot.simulate(dropped, ([0.05], [0.0]), 0.2, 1e-2, contact="hard")
    run.save(tmp_path / "run.npz")
    loaded = qdot.Trajectory.load(tmp_path / "run.npz", model=dropped)
    np.testing.assert_array_equal(loaded.contact, run.contact)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(run)).contact, run.contact)
    whole = qdot.simulate(dropped, ([0.05], [0.0]), 0.4, 1e-2, contact="hard")
    later = qdot.simulate(dropped, run, 0.2, contact="hard")
    joined = run.joined(later)
    np.testing.assert_array_equal(joined.q, whole.q)
    np.testing.assert_array_equal(joined.contact, whole.contact)
    other = qdot.simulate(dropped, run, 0.2, contact=Hard(solver="pgs"))  # which remembers more
    np.testing.assert_allclose(other.q, later.q, atol=1e-9)


@pytest.mark.parametrize(
    "kind",
    [Soft(iterations=30), Hard(0.3), Lcp(6), Lcp(level="acceleration"), Impulse(0.5, "poisson"), Penalty(2e4)],
    ids=str,
)
def test_runs_from_files_tell_what_touches(slab, kind, tmp_path):
    """As they did before: pushes, points and names, at a record in the middle and at the last; so do pickled ones."""
    run = qdot.simulate(slab, (np.zeros(3), [0.5, 0.0, 0.0]), 0.2, 2e-3, contact=kind, tau=lambda t, q, v: [-t, 0, 0])
    run.save(tmp_path / "run.npz")
    for read in (qdot.Trajectory.load(tmp_path / "run.npz"), pickle.loads(pickle.dumps(run))):
        for k in (70, -1):
            before, after = run.contacts(k), read.contacts(k)
            assert before
            assert [str(contact) for contact in after] == [str(contact) for contact in before]
            np.testing.assert_array_equal([c.force for c in after], [c.force for c in before])
    assert sum(contact.force[2] for contact in run.contacts()) == pytest.approx(2 * GRAVITY, rel=0.05)


def test_runs_from_files_with_functions_say_what_to_do(slab, tmp_path):
    wind = qdot.simulation.JointForce("wind", lambda q, v: [0.1, 0, 0])
    run = qdot.simulate(slab, None, 0.1, 2e-3, contact="hard", forces=[wind])
    run.save(tmp_path / "run.npz")
    loaded = qdot.Trajectory.load(tmp_path / "run.npz")
    with pytest.raises(ValueShapeError, match=r"functions of yours.*go on from it"):
        loaded.contacts()
    later = qdot.simulate(slab, loaded, 0.002, contact="hard", forces=[wind])
    assert [str(contact) for contact in later.contacts(0)] == [str(contact) for contact in run.contacts()]


def test_batches_are_runs_of_their_own(slab):
    """Lanes give what single runs do, to rounding; contacts are those of one run."""
    v = np.array([[1.0, 0, 0], [0.0, 0, 0], [0.5, 1.0, 2.0]])
    batch = qdot.simulate(slab, (np.zeros((3, 3)), v), 0.3, 1e-3, contact="hard")
    for k in range(3):
        one = qdot.simulate(slab, (np.zeros(3), v[k]), 0.3, 1e-3, contact="hard")
        np.testing.assert_allclose(batch.q[k], one.q, atol=1e-9)
    assert batch.contact_residuals["penetration"].shape == (3, 301)
    assert len(batch[1].contacts()) == 4
    with pytest.raises(ValueShapeError, match="choose one"):
        batch.contacts()


def test_pgs_remembers_impulses(slab):
    """The second step begins with those of the first: few sweeps suffice where it began with none."""
    kind = Hard(solver="pgs", sweeps=15)
    run = qdot.simulate(slab, None, 0.2, 1e-2, contact=kind)
    found = run.contact_residuals["complementarity"]
    assert found[-1] < 1e-3 * found[1:].max() or found[1:].max() < 1e-13


def test_what_found_no_room_stops_the_run():
    """Four balls that meet in the middle, with room for two contacts: the run says so, and with more room it goes on;
    in places or one by one, it is the same motion."""
    slides = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    balls = "".join(
        ball(f"b{k}", f"{-0.5 * x} {-0.5 * y} 0", f'<joint type="slide" axis="{x} {y} 0"/>', 1.0, SMOOTH)
        for k, (x, y) in enumerate(slides)
    )
    model = scene(balls, floor=False)
    start = (np.zeros(4), np.ones(4))
    for name in ("Hard", "Penalty", "Soft"):
        kind = getattr(qdot.contact, name)
        with pytest.raises(SimulationError, match=rf"found no room.*{name}\(room=\d+\)") as error:
            qdot.simulate(model, start, 0.6, 1e-3, contact=kind(room=2))
        assert error.value.cause == "too many contacts"
        assert 0.3 < error.value.time < 0.45
        in_places, listed = (qdot.simulate(model, start, 0.6, 1e-3, contact=kind(room=room)) for room in (5, 8))
        np.testing.assert_allclose(in_places.q, listed.q, atol=1e-9)
        assert {c.bodies for c in in_places.contacts()} == {c.bodies for c in listed.contacts()}


def test_hulls_with_parallel_axes_carry_each_other():
    """Two cubes that are meshes, exactly above each other: axes of the boxes about them have no cross product, and
    points of their faces that meet tell no direction. Soft contact gives way by less than 1 mm."""
    corners = " ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1))
    bodies = "".join(
        f'<body name="{name}" pos="0 0 {z}">{UP.replace("up", name)}<geom type="mesh" mesh="cube"/></body>'
        for name, z in (("low", 0.1), ("high", 0.3))
    )
    model = qdot.load(
        f'<mujoco><asset><mesh name="cube" vertex="{corners}"/></asset>'
        f'<worldbody><geom type="plane" size="1 1 1"/>{bodies}</worldbody></mujoco>'
    )
    run = qdot.simulate(model, None, 0.2, 2e-3, contact="soft")
    np.testing.assert_allclose(run.q[-1], run.q[0], atol=1e-3)


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_a_cone_stands_on_its_base(kind):
    """Half its height up, where its frame is; soft contact gives way by less than 1 mm."""
    mechanism = qdot.Mechanism("cone")
    mechanism.world.show(qdot.geometry.Plane(), collision=True)
    cone = qdot.geometry.Cone(0.1, 0.3, mass=1.0)
    mechanism.add("cone", qdot.joints.Free(), cone, at=(0, 0, 0.16), contact=qdot.description.Contact())
    model = qdot.assemble(mechanism)
    run = qdot.simulate(model, None, 0.4, 2e-3, contact=kind)
    np.testing.assert_allclose(run.position("cone")[-1], [0, 0, 0.15], atol=1e-3)


def test_many_different_hulls_lie_on_each_other():
    """Five rocks of twenty centimetres, close above each other: ten pairs of hulls, and five with the ground. After
    0.24 s each lies on the one below; the last has just met it at 2 m/s, for which such contacts give way by 2 cm."""
    random = np.random.default_rng(0)
    world = qdot.Mechanism("rocky")
    world.world.show(qdot.geometry.Plane(), collision=True)
    for k in range(5):
        points = random.normal(size=(20, 3))
        rock = qdot.geometry.ConvexHull(0.1 * points / np.linalg.norm(points, axis=1, keepdims=True), mass=1.0)
        world.add(f"rock{k}", qdot.joints.Free(), rock, at=(0.0, 0.0, 0.1 + 0.2 * k))
    run = qdot.simulate(qdot.assemble(world), None, 0.24, 2e-3, contact="soft")
    met = run.contacts()
    assert {contact.bodies for contact in met} == {
        ("world", "rock0"), ("rock0", "rock1"), ("rock1", "rock2"), ("rock2", "rock3"), ("rock3", "rock4")
    }  # fmt: skip
    assert min(contact.distance for contact in met) > -0.03


def test_a_rock_of_many_corners_comes_to_rest():
    """Its lowest corners lie in the ground by a millimetre or so, as soft contact does."""
    random = np.random.default_rng(0)
    points = random.normal(size=(300, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1, keepdims=True)
    world = qdot.Mechanism("rock")
    world.world.show(qdot.geometry.Plane(), collision=True)
    world.add("rock", qdot.joints.Free(), qdot.geometry.ConvexHull(points, mass=1.0), at=(0, 0, 0.11))
    run = qdot.simulate(qdot.assemble(world), None, 1.0, 0.005, contact="soft")
    assert 0.08 < run.position("rock")[-1][2] < 0.1


def test_tunnels_are_reported():
    """A ball that is on the other side of a sheet after one step: kinds that do not look ahead say so."""
    wall = '<geom name="sheet" type="box" size="0.01 1 1" pos="1 0 0"/>'
    model = scene(wall + ball(joint='<joint type="slide" axis="1 0 0"/>', more=SMOOTH), floor=False)
    start = ([0.0], [80.0])
    for kind in ("soft", "penalty", "impulse"):
        with pytest.warns(RuntimeWarning, match="ball of ball passed through sheet of world"):
            run = qdot.simulate(model, start, 0.05, 0.01, contact=kind)
        assert [passed.time for passed in run.tunnels] == [0.01]
        assert pickle.loads(pickle.dumps(run)).tunnels == run.tunnels
    assert qdot.simulate(model, start, 0.05, 0.01, contact="lcp").tunnels == ()
    slow = qdot.simulate(model, ([0.0], [1.0]), 1.2, 0.01, contact="penalty")
    assert slow.tunnels == ()


def test_hulls_that_pass_through_each_other_are_reported():
    """By balls about their middles, wherever the origins of their frames are."""
    corners = np.array([[x, y, z] for x in (0.0, 0.1) for y in (0.0, 0.1) for z in (0.0, 0.1)])
    world = qdot.Mechanism("hulls")
    world.world.show(qdot.geometry.ConvexHull(corners), collision=True)
    rock = qdot.geometry.ConvexHull(corners - (0, 0.01, 0.01), mass=1.0)
    world.add("rock", qdot.joints.Prismatic("x"), rock, at=(-1.0, 0, 0))
    model = qdot.assemble(world)
    with pytest.warns(RuntimeWarning, match="rock passed through world|world passed through rock"):
        run = qdot.simulate(model, ([0.0], [80.0]), 0.05, 0.01, contact="soft")
    assert [passed.time for passed in run.tunnels] == [0.01]


def test_fingers_that_pass_through_each_other_on_a_hand_that_swings_are_counted():
    """As many as straight ways of their middles say, all pairs asked: that hardly any are asked in a step misses none,
    whether the fingers meet each other or what the hand hangs on."""
    swing = qdot.Mechanism("hand")
    link = qdot.geometry.Sphere(0.03, mass=1.0)
    arm = swing.add("arm", qdot.joints.Revolute("z"), link)
    hand = arm.add("hand", qdot.joints.Revolute("z"), link, at=(0.3, 0, 0))
    for name, side in (("left", 1), ("right", -1)):
        pad = qdot.geometry.Sphere(0.004, mass=0.1)
        hand.add(name, qdot.joints.Prismatic("y"), pad, at=(0.1, side * 0.02, 0))
    model = qdot.assemble(swing)
    random, dt, seen = np.random.default_rng(0), 2e-3, []
    thin = np.array([[thick] for _, thick in watched_pairs(model)])
    for _ in range(300):
        q = random.normal(size=4) * (1.0, 1.0, 0.01, 0.01)
        v = random.normal(size=4) * (10.0, 10.0, 15.0, 15.0)
        if random.uniform() < 0.5:  # slow, and pads next to what the hand hangs on
            q[2:], v[2:] = q[2:] * 0.1, v[2:] * 0.01
        after = q + v * dt
        ends = (_centres(model, world_poses(model, x.tolist())) for x in (q, after))
        start, end = (_beside(model, centres, 1) for centres in ends)
        expected = float(np.sum(_crosses(start, end, thin)))
        found = crossings(model, q.tolist(), v.tolist(), dt, after.tolist())
        assert found == expected
        seen.append(expected)
    assert 10 < np.count_nonzero(seen) < 280


@pytest.mark.parametrize(
    "shape",
    [
        *(qdot.geometry.Sphere(0.3), qdot.geometry.Box(0.1, 0.4, 0.2), qdot.geometry.Ellipsoid(0.3, 0.1, 0.2)),
        *(qdot.geometry.Cylinder(0.1, 0.7), qdot.geometry.Cylinder(0.4, 0.1), qdot.geometry.Capsule(0.1, 0.05)),
        *(qdot.geometry.Cone(0.1, 0.8), qdot.geometry.Cone(0.7, 0.2)),
        qdot.geometry.ConvexHull(np.random.default_rng(3).normal(size=(40, 3))),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_the_ball_by_which_tunnels_are_seen_lies_within_a_shape(shape):
    """No support plane is nearer to its middle; and the ball is no smaller than half of the nearest one."""
    part = SimpleNamespace(shape=shape, placement=Transform(Mat3.identity(), Vec3(0.0, 0.0, 0.0)))
    vertices, _ = shape.surface()
    n = np.random.default_rng(0).normal(size=(20000, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    nearest = np.min(np.max(n @ (vertices - np.array([*_middle(part)])).T, axis=1))
    assert nearest / 2 < _inner_radius(shape) < nearest * 1.05  # what is drawn of a round shape lies a little within it


# ── the court ────────────────────────────────────────────────────────────────────────────────────


def test_the_court_compares_all_kinds(puck):
    court = compare(puck, (np.zeros(2), [1.0, 0]), 0.6, 1e-3, tau=[1.0, 0.0])
    assert list(court.runs) == ["soft", "hard", "lcp", "impulse", "penalty"]
    assert court.failures == {}
    told = str(court)
    assert all(name in told for name in (*court.runs, "penetration", "dissipation"))
    assert np.abs(court.runs["hard"].v[-1]).max() < 1e-9 < np.abs(court.runs["penalty"].v[-1]).max()
    figure = court.plot()
    assert len(figure.axes) == 4
    assert all(len(axes.lines) == 5 for axes in figure.axes)
    pyplot.close("all")


def test_the_court_goes_on_when_one_fails(dropped):
    """A spring too stiff for its step goes out of hand; the others are there."""
    court = compare(dropped, ([0.05], [0.0]), 1.0, 0.01, kinds={"stiff": Penalty(1e12, 0.0), "hard": "hard"})
    assert list(court.runs) == ["hard"]
    assert list(court.failures) == ["stiff"]
    assert "stopped" in str(court)
    with pytest.raises(ModelError, match="no kind of contact"):
        compare(dropped, kinds={"nothing": "none"})
    with pytest.raises(ModelError, match="at least"):
        compare(dropped, kinds={})


# ── bad input ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Hard(restitution=1.5), "restitution is a number from 0 to 1"),
        (lambda: Hard(restitution=float("nan")), "restitution"),
        (lambda: Hard(solver="newton"), "solver"),
        (lambda: Hard(sweeps=0), "sweeps"),
        (lambda: Hard(position="none"), "position"),
        (lambda: Hard(resting=-1), "resting"),
        (lambda: Hard(room=0), "room"),
        (lambda: Lcp(directions=5), "directions"),
        (lambda: Lcp(level="position"), "level"),
        (lambda: Lcp(solver="coulomb"), "Lcp's solver .*lemke.*pgs"),
        (lambda: Lcp(sweeps=1.5), "Lcp's sweeps"),
        (lambda: Impulse(law="stronge"), "law"),
        (lambda: Impulse(order="random"), "order"),
        (lambda: Penalty(stiffness=0), "stiffness"),
        (lambda: Penalty(damping=-1), "damping"),
        (lambda: Penalty(slip=float("inf")), "slip"),
    ],
)
def test_settings_that_make_no_sense(make, said):
    with pytest.raises(QdotError, match=said):
        make()


def test_kinds_by_name(dropped):
    with pytest.raises(UnknownNameError, match="hard"):
        qdot.simulate(dropped, None, 0.01, 1e-3, contact="hrad")
    with pytest.raises(UnknownNameError, match="kind of contact"):
        qdot.simulate(dropped, None, 0.01, 1e-3, contact=3)
    assert qdot.simulate(dropped, None, 0.1, 1e-3, contact="none").q[-1, 0] < -0.04


def test_integrators_that_do_not_fit(dropped):
    with pytest.raises(ValueShapeError, match="semi-implicit euler"):
        qdot.simulate(dropped, None, 0.01, 1e-3, contact="hard", integrator="rk4")
    run = qdot.simulate(dropped, None, 0.01, 1e-3, contact="soft", integrator="rk4")
    with pytest.raises(ValueShapeError, match="residuals=True"):
        _ = run.contact_residuals
    with pytest.raises(ValueShapeError, match="records"):
        run.contacts(99)
    with pytest.raises(ValueShapeError, match="without contact"):
        qdot.simulate(dropped, None, 0.01, 1e-3).contacts()


def test_soft_is_one_of_them(dropped):
    """By name and by class it is the same run."""
    one, two = (qdot.simulate(dropped, None, 0.1, 1e-3, contact=kind) for kind in ("soft", Soft()))
    np.testing.assert_array_equal(one.q, two.q)
