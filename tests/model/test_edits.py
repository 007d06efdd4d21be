"""Edits of a model, each against the mechanics it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

import qdot
from qdot.description import (
    WORLD,
    Activation,
    ActuatorRecord,
    Contact,
    DragBox,
    ExclusionRecord,
    Fluid,
    KeyframeRecord,
    OnJoint,
    SensorRecord,
)
from qdot.errors import UnknownNameError
from qdot.geometry import Box, Capsule, Sphere
from qdot.joints import Compound, Fixed, Prismatic, Revolute, Spherical
from qdot.model import edit
from qdot.model.library import KINDS, double_pendulum, pendulum, puma560, random_state, random_tree
from qdot.spatial import Inertia, Transform
from tests.laws.trees import close
from tests.model.samples import SOLID, mixed, single

TOLERANCE = 1e-10


def poses(model: qdot.Model, q: object) -> dict[str, np.ndarray]:
    motion = qdot.kinematics(model, q)
    return {name: np.array(motion.pose(name).entries(), dtype=float) for name in model.frames}


# ── lock ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(12))
def test_a_locked_joint_is_a_constraint(seed: int) -> None:
    """M without its rows and columns; accelerations as from [M -E; Eᵀ 0] with no speed and no acceleration there."""
    model = random_tree(seed, 5)
    q, v, tau = random_state(model, seed)
    for body in model.bodies:
        locked = edit.lock(model, body.joint_name, q[body.qs].tolist())
        held = np.arange(model.nv)[body.dofs]
        free = np.setdiff1d(np.arange(model.nv), held)
        places = np.arange(model.nq)[body.qs]
        q_rest, v_held = np.delete(q, places), v.copy()
        v_held[held] = 0
        M = qdot.mass_matrix(model, q)
        close(qdot.mass_matrix(locked, q_rest), M[np.ix_(free, free)], TOLERANCE)
        E = np.eye(model.nv)[:, held]
        kkt = np.block([[M, -E], [E.T, np.zeros((len(held), len(held)))]])
        known = tau + qdot.passive_forces(model, q, v_held) - qdot.bias_forces(model, q, v_held)
        a = np.linalg.solve(kkt, np.concatenate([known, np.zeros(len(held))]))[: model.nv]
        close(qdot.forward_dynamics(locked, q_rest, v[free], tau[free]), a[free], TOLERANCE)
        before, after = poses(model, q), poses(locked, q_rest)
        assert before.keys() == after.keys()
        for name, X in before.items():
            close(after[name], X, TOLERANCE)


def test_a_joint_locks_at_zero_unless_told() -> None:
    model = mixed()
    for body in model.bodies:
        assert edit.lock(model, body.joint_name) == edit.lock(model, body.joint_name, body.joint.neutral())


@pytest.mark.parametrize("q", [0.3, [0.3], (0.3,), np.array([0.3]), np.array(0.3), np.float64(0.3)], ids=repr)
def test_where_to_lock_as_people_write_it(q: object) -> None:
    locked = edit.lock(double_pendulum(), "joint2", q)
    assert locked == edit.lock(double_pendulum(), "joint2", 0.3)
    assert hash(locked) == hash(edit.lock(double_pendulum(), "joint2", 0.3))
    assert qdot.mass_matrix(locked, [0.1]).shape == (1, 1)


def test_where_to_lock_a_ball_joint() -> None:
    model = single(Spherical())
    expected = edit.lock(model, "link", [0.6, 0.8, 0.0, 0.0])
    assert edit.lock(model, "link", np.array([0.6, 0.8, 0.0, 0.0])) == expected
    assert edit.lock(model, "link", (0.6, 0.8, 0, 0)) == expected


def test_a_locked_joint_keeps_its_names_and_tells_its_wrench() -> None:
    model = edit.lock(double_pendulum(), "joint2", 0.3)
    assert model.joint("joint2") is model.body("rod2")
    wrench = qdot.joint_wrenches(model, [0.2], [0.0], [0.0])["joint2"]
    np.testing.assert_allclose(np.linalg.norm(list(wrench.lin)), 9.81, rtol=1e-12)


def test_locking_at_a_symbol() -> None:
    angle = sympy.Symbol("angle", real=True)
    locked = edit.lock(double_pendulum(), "joint2", angle)
    (M,) = qdot.mass_matrix(locked, [0.0]).ravel()
    assert sympy.simplify(M - (3 + 2 * sympy.cos(angle))).subs(angle, 0.7) == pytest.approx(0, abs=1e-12)


# ── weld ─────────────────────────────────────────────────────────────────────────────────────────


def with_fixed_parts() -> qdot.Model:
    world = qdot.Mechanism("welding")
    arm = world.add("arm", Revolute("y"), SOLID, damping=0.1)
    plate = arm.add("plate", Fixed(Transform.rpy(0.3, 0, 0, (0, 0.1, 0))), Box(1, 2, 3, mass=2), at=(0, 0, 1))
    bolt = plate.add(
        "bolt", Compound(Fixed(), Fixed()), Sphere(0.1, mass=1), at=Transform.rpy(0.1, 0.2, 0.3, (1, 0, 0))
    )
    bolt.frame("head", at=Transform.rpy(0, 0.4, 0, (0, 0, 0.1)))
    plate.add("wheel", Revolute("x"), SOLID, at=Transform.rpy(0, 0, 0.5, (0, 1, 0)))
    plate.frame("corner", at=(0.5, 1, 1.5))
    world.add("floor", Fixed(), Box(5, 5, 1, mass=100), at=(0, 0, -3)).frame("mark", at=(1, 1, 0))
    world.close("cable", Prismatic("x"), "mark", "plate")
    return qdot.assemble(world)


@pytest.mark.parametrize("names", [["plate"], ["bolt"], ["floor"], ["bolt", "plate"], ["plate", "bolt", "floor"]])
def test_a_welded_body_moves_as_before(names: list[str]) -> None:
    model = with_fixed_parts()
    welded = model
    for name in names:
        welded = edit.weld(welded, name)
    assert len(welded.bodies) == len(model.bodies) - len(names)
    assert set(welded.frames) == set(model.frames)
    q, v, a = random_state(model, 4)
    close(qdot.mass_matrix(welded, q), qdot.mass_matrix(model, q), TOLERANCE)
    close(qdot.inverse_dynamics(welded, q, v, a), qdot.inverse_dynamics(model, q, v, a), TOLERANCE)
    before, after = poses(model, q), poses(welded, q)
    for name, X in before.items():
        close(after[name], X, TOLERANCE)
        close(qdot.jacobian(welded, q, name), qdot.jacobian(model, q, name), TOLERANCE)
    assert welded.description.loops == model.description.loops
    shapes = sum(len(b.shapes) for b in welded.description.bodies) + len(welded.description.world_shapes)
    assert shapes == 3


def test_inertias_of_welded_bodies_add() -> None:
    model = with_fixed_parts()
    welded = edit.weld(model, "plate")
    plate = model.body("plate")
    X = plate.placement @ plate.joint.transform(())
    expected = model.body("arm").inertia + X @ plate.inertia
    close(welded.body("arm").inertia.entries(), expected.entries(), 1e-14)
    assert qdot.total_mass(welded) == pytest.approx(qdot.total_mass(model))


def test_shapes_of_a_welded_body_stay_where_they_are() -> None:
    model = with_fixed_parts()
    before = model.body("plate").placement @ model.body("plate").joint.transform(())
    shape = model.body("plate").record.shapes[0].shape
    moved = edit.weld(model, "plate").body("arm").record.shapes[0].shape
    close(moved.inertia().entries(), (before @ shape.inertia()).entries(), 1e-14)


def test_lock_then_weld() -> None:
    model = random_tree(5, 5, branching=0.6, passive=False)
    q, v, a = random_state(model, 5)
    for body in model.bodies:
        locked = edit.lock(model, body.joint_name, q[body.qs].tolist())
        welded = edit.weld(locked, body.name)
        q_rest = np.delete(q, np.arange(model.nq)[body.qs])
        rest = np.delete(np.arange(model.nv), np.arange(model.nv)[body.dofs])
        tau = qdot.inverse_dynamics(locked, q_rest, v[rest], a[rest])
        close(qdot.inverse_dynamics(welded, q_rest, v[rest], a[rest]), tau, TOLERANCE)
        close(poses(welded, q_rest)[body.name], poses(model, q)[body.name], TOLERANCE)


# ── attach ───────────────────────────────────────────────────────────────────────────────────────


def linkage() -> qdot.Model:
    """A crank with a loop to the world, a world frame, a world shape."""
    world = qdot.Mechanism("linkage")
    crank = world.add("crank", Revolute("y"), SOLID, at=(0.1, 0, 0), damping=0.3)
    crank.frame("pin", at=(0, 0, 0.5))
    world.frame("pivot", at=(1, 0, 0))
    world.close("rail", Prismatic("x"), WORLD, "pin")
    world.close("rod", Spherical(), "pivot", "crank")
    world.world.show(Box(1, 1, 0.1))
    return qdot.assemble(world)


def test_two_copies_on_the_world_are_two_blocks() -> None:
    one = mixed()
    two = edit.attach(one, one, prefix="other_")
    q, v, a = random_state(two, 1)
    M = qdot.mass_matrix(two, q)
    n, k = one.nv, one.nq
    close(M[:n, :n], qdot.mass_matrix(one, q[:k]), TOLERANCE)
    close(M[n:, n:], qdot.mass_matrix(one, q[k:]), TOLERANCE)
    assert not M[:n, n:].any()
    tau = qdot.inverse_dynamics(two, q, v, a)
    close(tau[n:], qdot.inverse_dynamics(one, q[k:], v[n:], a[n:]), TOLERANCE)
    assert [b.joint_name for b in two.bodies[5:]] == [f"other_{b.joint_name}" for b in one.bodies]


def test_attaching_equals_building_by_hand() -> None:
    def chain(world: qdot.Mechanism, part, at, prefix: str) -> None:
        first = part.add(f"{prefix}upper", Revolute("y"), SOLID, at=at, joint_name=f"{prefix}hip", armature=0.1)
        first.add(f"{prefix}lower", Revolute("y"), SOLID, at=(0, 0, -1), joint_name=f"{prefix}knee")
        first.frame(f"{prefix}shin", at=(0, 0, -0.5))

    def leg() -> qdot.Model:
        world = qdot.Mechanism("leg", gravity=(1, 2, 3))  # stays behind
        chain(world, world.world, (0, 0, 0.25), "")
        return qdot.assemble(world)

    def trunk() -> tuple[qdot.Mechanism, object]:
        world = qdot.Mechanism("biped")
        trunk = world.add("trunk", Spherical(), SOLID)
        trunk.frame("left_hip", at=(0, 0.5, 0))
        return world, trunk

    world, part = trunk()
    body_only = qdot.assemble(world)
    chain(world, part, (0, 0.5, 0.25), "left_")
    chain(world, part, (2, -1, 0.25), "right_")
    by_hand = qdot.assemble(world)
    attached = edit.attach(body_only, leg(), to="left_hip", prefix="left_")
    attached = edit.attach(attached, leg(), to="trunk", at=(2, -1, 0), prefix="right_")
    assert [b.record for b in attached.bodies] == [b.record for b in by_hand.bodies]
    assert dict(attached.frames).keys() == dict(by_hand.frames).keys()
    assert attached.gravity == by_hand.gravity
    assert attached == by_hand


def test_attaching_at_a_pose_on_a_frame() -> None:
    host, guest = mixed(), double_pendulum()
    at = Transform.rpy(0.1, 0.2, 0.3, (0.4, 0.5, 0.6))
    both = edit.attach(host, guest, to="site2", at=at, prefix="p_")
    q, *_ = random_state(both, 2)
    q_host, q_guest = q[: host.nq], q[host.nq :]
    X = qdot.frame_pose(host, q_host, "site2") @ at @ qdot.frame_pose(guest, q_guest, "tip")
    close(poses(both, q)["p_tip"], np.array(X.entries(), dtype=float), TOLERANCE)


def test_loops_world_frames_and_world_shapes_come_along() -> None:
    host = pendulum()
    both = edit.attach(host, linkage(), to="tip", at=(0, 0, 0.5), prefix="l_")
    (rail, rod) = both.description.loops
    assert (rail.name, rod.name) == ("l_rail", "l_rod")
    assert (rail.successor, rod.predecessor, rod.successor) == ("l_pin", "l_pivot", "l_crank")
    q = [0.3, 0.1]
    X = poses(both, q)
    ground = qdot.frame_pose(host, [0.3], "tip") @ Transform.translation(0, 0, 0.5)
    close(X[rail.predecessor], np.array(ground.entries(), dtype=float), TOLERANCE)  # what was the world there
    close(X["l_pivot"], np.array((ground @ Transform.translation(1, 0, 0)).entries(), dtype=float), TOLERANCE)
    assert len(both.body("rod1").record.shapes) == len(host.body("rod1").record.shapes) + 1
    assert both.joint("l_crank").passive.damping == (0.3,)


def test_a_guest_may_be_unphysical_where_it_may_on_its_own() -> None:
    """The Puma's published inertias are let in on purpose; hanging it on a rail does not change that."""
    rail = single(Prismatic("x"))
    both = edit.attach(rail, puma560(), to="link", prefix="p_")
    assert both.nv == 7
    assert edit.attach(puma560(), rail, to="flange").nv == 7


# ── scale ────────────────────────────────────────────────────────────────────────────────────────

LENGTHS = {  # for each entry of q and of v: 1 where it is a length, 0 where it is not
    "fixed": ([], []),
    "revolute": ([0], [0]),
    "continuous": ([0], [0]),
    "prismatic": ([1], [1]),
    "helical": ([0], [0]),
    "cylindrical": ([0, 1], [0, 1]),
    "universal": ([0, 0], [0, 0]),
    "planar": ([0, 1, 1], [0, 1, 1]),
    "spherical": ([0] * 4, [0] * 3),
    "free": ([0] * 4 + [1] * 3, [0] * 3 + [1] * 3),
    "compound": ([0] * 5 + [1], [0] * 4 + [1]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("s", [2.5, 0.1])
def test_scaling_is_dimensional_analysis(kind: str, s: float) -> None:
    """Turns: M × s⁵, weights × s⁴; each slide in place of a turn takes one s away; poses × s; g stays."""
    model = random_tree(11, 3, [kind], passive=False)
    large = edit.scale(model, s)
    q, v, _ = random_state(model, 3)
    power_q, power_v = (np.array(x * 3) for x in LENGTHS[kind])
    S_q, S = s**power_q, s**power_v
    Q, V = q * S_q, v * S
    outer = np.outer(S, S)
    close(qdot.mass_matrix(large, Q) * outer / s**5, qdot.mass_matrix(model, q), TOLERANCE)
    close(qdot.gravity_forces(large, Q) * S / s**4, qdot.gravity_forces(model, q), TOLERANCE)
    close(qdot.velocity_forces(large, Q, V) * S / s**5, qdot.velocity_forces(model, q, v), TOLERANCE)
    assert qdot.total_mass(large) == pytest.approx(s**3 * qdot.total_mass(model))
    assert large.gravity == model.gravity
    for name, X in poses(model, q).items():
        X[:3, 3] *= s
        close(poses(large, Q)[name], X, TOLERANCE)
    close(qdot.center_of_mass(large, Q), s * qdot.center_of_mass(model, q), TOLERANCE)


def test_scaled_shapes_have_the_inertia_of_the_scaled_body() -> None:
    world = qdot.Mechanism("bodies")
    part = world.add("solid", Revolute("y"), Box(1, 2, 3, mass=4).at(0.1, 0.2, 0.3), Capsule(0.2, 1, density=500))
    part.add("cloud", Prismatic("x", limits=(-1, 2)), Sphere(0.5, density=lambda x, y, z: 10 + x * x), at=(0, 1, 0))
    large = edit.scale(qdot.assemble(world), 2)
    for body in large.bodies:
        total = sum((s.shape.inertia() for s in body.record.shapes), start=Inertia.zero())
        close(total.entries(), body.inertia.entries(), 1e-9)
    assert large.joint("cloud").joint.limits.upper == (4,)
    assert large.joint("solid").joint.limits == qdot.assemble(world).joint("solid").joint.limits


def test_scaling_there_and_back() -> None:
    model = random_tree(2, 4, ["revolute", "prismatic", "helical"])
    back = edit.scale(edit.scale(model, 4.0), 0.25)  # powers of two: exact
    assert back == model


def test_scaling_by_a_symbol() -> None:
    s = sympy.Symbol("s", positive=True)
    (M,) = qdot.mass_matrix(edit.scale(pendulum(2, 3, 10), s), [0.0]).ravel()
    assert sympy.nsimplify(M) == 12 * s**5


# ── masses ───────────────────────────────────────────────────────────────────────────────────────


def test_another_mass_keeps_the_distribution() -> None:
    model = mixed()
    old, new = model.body("body1").inertia, edit.with_mass(model, "body1", 7.5).body("body1").inertia
    assert new.mass == 7.5
    close(tuple(new.com), tuple(old.com), 1e-14)
    close(new.at_com.entries(), (old.at_com * (7.5 / old.mass)).entries(), 1e-12)


def test_another_inertia() -> None:
    model = edit.with_inertia(mixed(), "body1", SOLID)
    assert model.body("body1").inertia == SOLID
    assert edit.with_inertia(model, "body1", mixed().body("body1").inertia) == mixed()


def test_masses_may_become_symbols() -> None:
    m = sympy.Symbol("m", positive=True)
    model = edit.with_mass(pendulum(), "rod1", m)
    assert sympy.simplify(qdot.mass_matrix(model, [0.0])[0, 0] - m) == 0


EDITS = {
    "lock": lambda m: edit.lock(m, "rail", 0.3),
    "weld": lambda m: edit.weld(edit.lock(m, "rail"), "rail"),
    "attach": lambda m: edit.attach(m, double_pendulum(), to="rail"),
    "be attached": lambda m: edit.attach(double_pendulum(), m, to="tip"),
    "scale": lambda m: edit.scale(m, 2),
    "with_mass": lambda m: edit.with_mass(m, "rail", 5),
    "with_inertia": lambda m: edit.with_inertia(m, "rail", SOLID),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS.keys())
def test_the_model_given_is_not_changed(change) -> None:
    def build() -> qdot.Model:
        world = qdot.Mechanism("subject")
        rail = world.add("rail", Prismatic("x"), Box(1, 1, 1, mass=2), damping=0.1)
        rail.add("arm", Revolute("y"), SOLID, at=(0, 0, 1)).frame("hand", at=(0, 0, -1))
        world.close("stay", Revolute("y"), WORLD, "hand")
        return qdot.assemble(world)

    model = build()
    M = qdot.mass_matrix(model, [0.1, 0.2])
    assert change(model) != model
    assert model == build()
    np.testing.assert_array_equal(qdot.mass_matrix(model, [0.1, 0.2]), M)


# ── records beside the tree ──────────────────────────────────────────────────────────────────────


def instrumented() -> qdot.Model:
    """A cart with a pole in a fluid: a drive, sensors, a keyframe, an excluded pair, drag and contact margins."""
    world = qdot.Mechanism("rig")
    cart = world.add("cart", Prismatic("x"), Box(0.4, 0.2, 0.2, mass=1.0), stiffness=3.0, rest=0.5)
    pole = cart.add("pole", Revolute("y"), Box(0.1, 0.1, 1.0, mass=0.2), joint_name="hinge", at=(0, 0, 0.1))
    pole.add("bob", Fixed(), Box(0.1, 0.1, 0.1, mass=0.1), at=(0, 0, 1.0), joint_name="glue")
    old = world.description()
    return qdot.assemble(
        replace(
            old,
            bodies=tuple(
                replace(
                    b,
                    drag=(DragBox(Transform.identity(), 0.1, 0.2, 0.3),),
                    shapes=tuple(replace(s, contact=Contact(margin=0.01, gap=0.02)) for s in b.shapes),
                )
                for b in old.bodies
            ),
            fluid=Fluid(density=1.2),
            actuators=(
                ActuatorRecord("push", OnJoint("cart")),
                ActuatorRecord("twist", OnJoint("hinge"), dynamics=Activation("filter", 0.1)),
            ),
            sensors=(
                SensorRecord("angle", "jointpos", "joint", "hinge"),
                SensorRecord("effort", "actuatorfrc", "actuator", "twist"),
                SensorRecord("place", "framepos", "xbody", "bob"),
                SensorRecord("slide", "jointpos", "joint", "cart"),
            ),
            keyframes=(KeyframeRecord("up", q=(0.3, 0.1), v=(1.0, 2.0), activation=(0.5,), control=(7.0, 8.0)),),
            exclusions=(ExclusionRecord("apart", "cart", "bob"),),
        )
    )


def test_a_locked_joint_takes_its_drive_sensors_and_keyframe_entries_with_it() -> None:
    locked = edit.lock(instrumented(), "hinge", 0.2)
    assert locked.control_names() == ["push"]
    assert [s.name for s in locked.description.sensors] == ["place", "slide"]
    assert locked.description.keyframes == (KeyframeRecord("up", q=(0.3,), v=(1.0,), control=(7.0,)),)
    assert {item.subject for item in locked.report} == {"actuator 'twist'", "sensor 'angle'", "sensor 'effort'"}


def test_a_welded_body_hands_its_exclusions_and_drag_on() -> None:
    model = instrumented()
    welded = edit.weld(model, "bob")
    (exclusion,) = welded.description.exclusions
    assert (exclusion.body1, exclusion.body2) == ("cart", "pole")
    assert [s.name for s in welded.description.sensors] == ["angle", "effort", "slide"]
    assert any("'place'" in item.subject for item in welded.report)
    q, v = [0.1, 0.4], [1.0, -2.0]
    np.testing.assert_allclose(qdot.passive_forces(welded, q, v), qdot.passive_forces(model, q, v), atol=1e-12)


def test_all_lengths_scale() -> None:
    large = edit.scale(instrumented(), 2.0).description
    cart, pole, _ = large.bodies
    assert cart.passive.rest == (1.0,)
    assert pole.drag[0].x == 0.2
    assert (pole.shapes[0].contact.margin, pole.shapes[0].contact.gap) == (0.02, 0.04)
    assert large.keyframes[0].q == (0.6, 0.1)


def test_models_joined_have_keyframes_of_both_and_say_where_a_fluid_meets_nothing() -> None:
    both = edit.attach(instrumented(), double_pendulum(), prefix="other_")
    assert both.description.keyframes[0].q == (0.3, 0.1, 0.0, 0.0)
    assert both.description.keyframes[0].control == (7.0, 8.0)
    assert any(item.subject == "fluid" for item in both.report)
    reverse = edit.attach(double_pendulum(), instrumented(), prefix="rig_")
    (keyframe,) = reverse.description.keyframes
    assert (keyframe.name, keyframe.q) == ("rig_up", (0.0, 0.0, 0.3, 0.1))
    assert [s.object_name for s in reverse.description.sensors][:2] == ["rig_hinge", "rig_twist"]


def test_a_sensor_on_nothing_is_refused() -> None:
    broken = replace(instrumented().description, sensors=(SensorRecord("eye", "framepos", "site", "nowhere"),))
    with pytest.raises(UnknownNameError, match=r"'eye'.*'nowhere'"):
        qdot.assemble(broken)
