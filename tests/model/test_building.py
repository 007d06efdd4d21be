"""Constraints, springs, tendons and actuators described in Python: the same as from a file, at home, edited, written,
and refused.

Numbers of order one pass through some hundred operations: tolerances are 1e-12, unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

import qdot
from qdot.algebra import Vec3
from qdot.algorithms.passive import passive_forces
from qdot.description import (
    Activation,
    ActuatorRecord,
    Affine,
    CouplingRecord,
    DistanceRecord,
    OnJoint,
    Pulley,
    Severity,
    Wrap,
)
from qdot.errors import JointError, ModelError, QdotError, UnknownNameError
from qdot.formats.mjcf_writer import to_mjcf
from qdot.formats.urdf_writer import to_urdf
from qdot.joints import Fixed, Free, Prismatic, Revolute, Spherical
from qdot.model import edit
from qdot.model.library import random_state
from qdot.spatial import Inertia, Transform
from tests.model.samples import INF, NAN, SOLID, THING, refused

LUMP = Inertia.about_com(2.0, (0, 0, 0), (0.02, 0.03, 0.04))


def arm() -> qdot.Mechanism:
    """Two turns in a row and a cart beside them, with frames on all of them and on the world."""
    world = qdot.Mechanism("rig")
    world.frame("post", at=(0.1, 0.05, 0.3))
    upper = world.add("upper", Revolute("y"), LUMP, at=(0, 0, 1), joint_name="shoulder")
    upper.frame("top", at=(0.1, 0.02, 0.12))
    lower = upper.add("lower", Revolute("z"), LUMP, at=(0.4, 0, 0), joint_name="elbow")
    lower.frame("roller", at=(0, 0, 0.02))
    lower.frame("tip", at=Transform.rpy(0.1, 0.2, 0.3, (0.3, 0.0, 0.05)))
    cart = world.add("cart", Prismatic("x"), LUMP, at=(0, 1, 0))
    cart.frame("corner", at=Transform.rpy(-0.2, 0.1, 0.4, (0.1, 0.2, 0.3)))
    return world


MJCF = """<mujoco model="rig"><compiler angle="radian" eulerseq="XYZ"/><worldbody>
  <site name="post" pos="0.1 0.05 0.3"/>
  <body name="upper" pos="0 0 1"><joint name="shoulder" type="hinge" axis="0 1 0"/>
    <inertial pos="0 0 0" mass="2" diaginertia="0.02 0.03 0.04"/><site name="top" pos="0.1 0.02 0.12"/>
    <body name="lower" pos="0.4 0 0"><joint name="elbow" type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.02 0.03 0.04"/>
      <site name="tip" pos="0.3 0 0.05" euler="0.1 0.2 0.3"/>
      <geom name="roller" type="cylinder" size="0.05 0.1" pos="0 0 0.02" contype="0" conaffinity="0"/></body></body>
  <body name="cart" pos="0 1 0"><joint name="cart" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="2" diaginertia="0.02 0.03 0.04"/>
    <site name="corner" pos="0.1 0.2 0.3" euler="-0.2 0.1 0.4"/></body>
</worldbody>{}</mujoco>"""

Describe = Callable[[qdot.Mechanism], object]
SAME: dict[str, tuple[Describe, str]] = {
    "connect": (
        lambda w: w.connect("x", "tip", "corner"),
        "<equality><connect name='x' site1='tip' site2='corner'/></equality>",
    ),
    "connect points": (
        lambda w: w.connect("x", "lower", "world", (0.1, 0.2, 0.3), (0.5, 0.2, 1.3)),
        "<equality><connect name='x' body1='lower' anchor='0.1 0.2 0.3'/></equality>",
    ),
    "weld": (
        lambda w: w.weld("x", "lower", "cart"),
        "<equality><weld name='x' body1='lower' body2='cart'/></equality>",
    ),
    "weld at a pose": (
        lambda w: w.weld("x", "tip", "corner", Transform.identity()),
        "<equality><weld name='x' site1='tip' site2='corner'/></equality>",
    ),
    "distance": (
        lambda w: w.distance("x", "tip", "corner"),
        "<tendon><spatial name='s'><site site='tip'/><site site='corner'/></spatial></tendon>"
        "<equality><tendon name='x' tendon1='s'/></equality>",
    ),
    "couple": (
        lambda w: w.couple("x", "shoulder", "cart", (0.1, 2.0, 0.5)),
        "<equality><joint name='x' joint1='shoulder' joint2='cart' polycoef='0.1 2 0.5 0 0'/></equality>",
    ),
    "couple to nothing": (
        lambda w: w.couple("x", "shoulder", None, [0.3]),
        "<equality><joint name='x' joint1='shoulder' polycoef='0.3 0 0 0 0'/></equality>",
    ),
    "couple tendons": (
        lambda w: (
            w.tendon("a", {"shoulder": 0.3, "cart": -2.0}),
            w.tendon("b", {"elbow": 0.5}),
            w.couple("x", "a", "b", (0.1, 2.0)),
        ),
        "<tendon><fixed name='a'><joint joint='shoulder' coef='0.3'/><joint joint='cart' coef='-2'/></fixed>"
        "<fixed name='b'><joint joint='elbow' coef='0.5'/></fixed></tendon>"
        "<equality><tendon name='x' tendon1='a' tendon2='b' polycoef='0.1 2 0 0 0'/></equality>",
    ),
    "gear": (
        lambda w: w.gear("x", "elbow", "shoulder", -3),
        "<equality><joint name='x' joint1='elbow' joint2='shoulder' polycoef='0 -3 0 0 0'/></equality>",
    ),
    "mimic": (
        lambda w: w.mimic("x", "elbow", "shoulder", 2, 0.1),
        "<equality><joint name='x' joint1='elbow' joint2='shoulder' polycoef='0.1 2 0 0 0'/></equality>",
    ),
    "spring": (
        lambda w: w.spring("x", "tip", "post", 20.0, 0.5),
        "<tendon><spatial name='x' stiffness='20' damping='0.5'><site site='tip'/><site site='post'/></spatial>"
        "</tendon>",
    ),
    "spring with a rest": (
        lambda w: w.spring("x", "tip", "post", 20.0, rest=0.2),
        "<tendon><spatial name='x' stiffness='20' springlength='0.2'><site site='tip'/><site site='post'/></spatial>"
        "</tendon>",
    ),
    "joint tendon": (
        lambda w: w.tendon("x", {"shoulder": 0.3, "cart": -2.0}, stiffness=5.0, friction=0.1, rest=(0.1, 0.2)),
        "<tendon><fixed name='x' stiffness='5' frictionloss='0.1' springlength='0.1 0.2'>"
        "<joint joint='shoulder' coef='0.3'/><joint joint='cart' coef='-2'/></fixed></tendon>",
    ),
    "path": (
        lambda w: w.tendon("x", ["post", "top", "tip"], stiffness=5.0, damping=0.1, range=(0.1, 2)),
        "<tendon><spatial name='x' stiffness='5' damping='0.1' limited='true' range='0.1 2'><site site='post'/>"
        "<site site='top'/><site site='tip'/></spatial></tendon>",
    ),
    "round and over": (
        lambda w: w.tendon(
            "x", ["post", "top", Pulley(2.0), "top", Wrap("roller", 0.05, cylinder=True), "tip"], stiffness=5, rest=0.3
        ),
        "<tendon><spatial name='x' stiffness='5' springlength='0.3'><site site='post'/><site site='top'/>"
        "<pulley divisor='2'/><site site='top'/><geom geom='roller'/><site site='tip'/></spatial></tendon>",
    ),
    "motor": (
        lambda w: w.motor("x", "elbow", gear=30, control_range=(-0.5, 0.4), force_range=(-0.2, 0.3)),
        "<actuator><motor name='x' joint='elbow' gear='30' ctrllimited='true' ctrlrange='-0.5 0.4' forcelimited='true'"
        " forcerange='-0.2 0.3'/></actuator>",
    ),
    "motor on a tendon": (
        lambda w: (w.tendon("t", {"shoulder": 0.3, "cart": -2.0}), w.motor("x", tendon="t", gear=2)),
        "<tendon><fixed name='t'><joint joint='shoulder' coef='0.3'/><joint joint='cart' coef='-2'/></fixed></tendon>"
        "<actuator><motor name='x' tendon='t' gear='2'/></actuator>",
    ),
    "thruster": (
        lambda w: w.motor("x", frame="tip", gear=(0.5, 0, 1, 0.2, 0, 0.1)),
        "<actuator><motor name='x' site='tip' gear='0.5 0 1 0.2 0 0.1'/></actuator>",
    ),
    "position servo": (
        lambda w: w.position_servo("x", "elbow", stiffness=50, damping=2.0, gear=3),
        "<actuator><position name='x' joint='elbow' kp='50' kv='2' gear='3'/></actuator>",
    ),
    "velocity servo": (
        lambda w: w.velocity_servo("x", "cart", damping=7.0),
        "<actuator><velocity name='x' joint='cart' kv='7'/></actuator>",
    ),
    "any actuator": (
        lambda w: w.actuator(
            ActuatorRecord("x", OnJoint("cart"), Affine(1, 0.2, 0.1), Affine(0.3, -1, -0.2), Activation("filter", 0.1))
        ),
        "<actuator><general name='x' joint='cart' dyntype='filter' dynprm='0.1' gaintype='affine' gainprm='1 0.2 0.1'"
        " biastype='affine' biasprm='0.3 -1 -0.2'/></actuator>",
    ),
}  # fmt: skip


def described(describe: Describe) -> qdot.Model:
    world = arm()
    describe(world)
    return qdot.assemble(world)


def states(model: qdot.Model, rows: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    steps = rng.normal(size=(rows, model.nv)) * 0.7
    return qdot.retract(model, model.neutral(), steps), rng.normal(size=(rows, model.nv))


def terms(model: qdot.Model, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """Everything that constraints, tendons and actuators do."""
    rng = np.random.default_rng(5)
    u, w = rng.normal(size=(len(q), model.nu)), rng.normal(size=(len(q), model.na))
    return {
        **qdot.constraint_residuals(model, q),
        **qdot.passive_terms(model, q, v),
        "actuation": qdot.actuation(model, q, v, u, w),
        "activation": qdot.activation_rates(model, u, w),
    }


@pytest.mark.parametrize("name", SAME)
def test_described_is_loaded(name: str) -> None:
    describe, text = SAME[name]
    ours, theirs = described(describe), qdot.load(MJCF.format(text))
    q, v = states(ours)
    expected = terms(theirs, q, v)
    found = terms(ours, q, v)
    assert list(found) == list(expected)
    assert any(np.abs(x).max(initial=0) > 1e-3 for x in expected.values())  # it does something
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=0, atol=1e-11, err_msg=key)  # stiffness up to 50
    np.testing.assert_allclose(qdot.energy(ours, q, v), qdot.energy(theirs, q, v), rtol=0, atol=1e-11)


def test_each_method_is_compared() -> None:
    """Of what a Mechanism can describe, bushings have nothing in MJCF; bodies, frames and loops are tested apart."""
    methods = {name for name in dir(qdot.Mechanism) if name[0] != "_" and callable(getattr(qdot.Mechanism, name))}
    apart = {"add", "frame", "close", "description", "bushing"}
    words = " ".join(SAME)
    assert {"distance", "weld", "motor"} < methods
    spoken = {"actuator": "any actuator", "tendon": "joint tendon"}
    assert all(spoken.get(m, m.replace("_", " ")) in words for m in methods - apart)


@pytest.mark.parametrize(
    "describe",
    [
        lambda w: w.connect("x", "tip", "corner"),
        lambda w: w.weld("x", "tip", "corner"),
        lambda w: w.distance("x", "tip", "corner"),
        lambda w: w.couple("x", "shoulder", "elbow", (1, 2)),
        lambda w: w.gear("x", "shoulder", "elbow", 2),
        lambda w: w.mimic("x", "shoulder", "elbow"),
        lambda w: w.spring("x", "tip", "corner", 3),
        lambda w: w.bushing("x", "tip", "corner", rotational=3),
        lambda w: w.tendon("x", ["tip", "corner"]),
        lambda w: w.motor("x", "elbow"),
        lambda w: w.position_servo("x", "elbow", stiffness=1),
        lambda w: w.velocity_servo("x", "elbow", damping=1),
        lambda w: w.actuator(ActuatorRecord("x", OnJoint("elbow"))),
    ],
)
def test_each_gives_its_name_once(describe: Describe) -> None:
    world = arm()
    assert describe(world) == "x"
    with pytest.raises(ModelError, match=r"'rig': two \w+ are named 'x'; give one another name"):
        describe(world)


def test_constraints_and_loops_share_their_names() -> None:
    """Forces of both are told by name."""
    world = arm()
    world.close("loop", Spherical(), "tip", "corner")
    with pytest.raises(ModelError, match="two constraints are named 'loop'"):
        world.weld("loop", "tip", "corner")
    world.weld("weld", "tip", "corner")
    with pytest.raises(ModelError, match="two constraints are named 'weld'"):
        world.close("weld", Spherical(), "tip", "corner")
    described = world.description()
    clash = replace(described.constraints[0], name="loop")
    with pytest.raises(ModelError, match="two constraints are named 'loop'"):
        qdot.assemble(replace(described, constraints=(clash,)))


def test_parts_stand_for_their_names() -> None:
    by_name, by_part = arm(), arm()
    by_name.distance("rod", "lower", "cart")
    by_name.gear("gear", "elbow", "shoulder", 2)
    by_name.tendon("rope", {"elbow": 2.0, "cart": 1.0})
    by_name.motor("motor", "elbow")
    by_name.spring("spring", "world", "cart", 3.0)
    by_name.close("loop", Spherical(), "lower", "cart")
    upper, lower, cart = (qdot.description.Part(by_part, name) for name in ("upper", "lower", "cart"))
    by_part.distance("rod", lower, cart)
    by_part.gear("gear", lower, upper, 2)
    by_part.tendon("rope", {lower: 2.0, cart: 1.0})
    by_part.motor("motor", lower)
    by_part.spring("spring", by_part.world, cart, 3.0)
    by_part.close("loop", Spherical(), lower, cart)
    assert by_part.description() == by_name.description()


# ── at home ──────────────────────────────────────────────────────────────────────────────────────


def started() -> qdot.Mechanism:
    """A mechanism whose joints do not start at zero."""
    world = qdot.Mechanism("started")
    one = world.add("one", Revolute((1, 2, 3)), SOLID, home=0.4, at=(0.1, 0, 0))
    turn = Transform.rpy(0.3, -0.2, 0.9).quaternion()
    two = one.add("two", Spherical(), SOLID, home=turn, at=(0, 0.3, 0))
    two.add("three", Prismatic("x"), SOLID, home=[0.2], at=(0, 0, 0.5)).frame("tip", at=(0.1, 0.2, 0.3))
    world.frame("post", at=Transform.rpy(0.5, 0.1, 0.2, (1, 2, 3)))
    return world


def test_what_is_not_given_is_as_it_is_at_home() -> None:
    world = started()
    world.weld("weld", "one", "tip")
    world.distance("rod", "tip", "post", point1=(0.1, 0, 0), point2=(0, 0.2, 0))
    world.gear("gear", "three", "one", -3)
    world.spring("spring", "tip", "post", 30.0)
    world.tendon("rope", {"one": 0.3, "three": 2.0}, stiffness=4.0)
    world.tendon("string", ["post", "one", "tip"], stiffness=4.0)
    world.bushing("bushing", "one", "tip", rotational=3.0, translational=(1, 2, 3))
    model = qdot.assemble(world)
    q = model.home()
    np.testing.assert_allclose(q[[0, 5]], [0.4, 0.2])
    for name, residual in qdot.constraint_residuals(model, q).items():
        np.testing.assert_allclose(residual, 0, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(qdot.passive_forces(model, q, np.zeros(model.nv)), 0, atol=1e-12)
    elsewhere = model.neutral()
    assert all(np.abs(x).max() > 1e-3 for x in qdot.constraint_residuals(model, elsewhere).values())
    assert np.abs(qdot.passive_forces(model, elsewhere, np.zeros(model.nv))).max() > 1e-2


def test_symbols_may_be_anywhere() -> None:
    L, k, r = sympy.symbols("L k r", positive=True)
    world = qdot.Mechanism("symbolic", gravity=(0, 0, 0))
    world.add("rod", Revolute("y"), Inertia.point(1, (0, 0, -L))).frame("tip", at=(0, 0, -L))
    world.frame("post", at=(3 * L, 0, 3 * L))
    world.distance("far", "tip", "post")
    world.spring("spring", "tip", "post", k)
    world.couple("held", "rod", None, [r])
    model = qdot.assemble(world)
    assert sympy.simplify(model.constraints[0].length - 5 * L) == 0
    assert sympy.simplify(model.tendons[0].rest[0] - 5 * L) == 0
    residuals = qdot.constraint_residuals(model, [sympy.Integer(0)])
    assert sympy.simplify(residuals["held"][0] + r) == 0


@pytest.mark.parametrize("home", [(1, 2), "x", NAN, THING])
def test_a_home_that_is_none(home: Any) -> None:
    with pytest.raises(JointError, match=r"'rig'.*'more'.*home"):
        arm().add("more", Revolute("y"), SOLID, home=home)


def test_a_home_off_the_manifold_is_refused() -> None:
    world = qdot.Mechanism("rig")
    world.add("ball", Spherical(), SOLID, home=(1, 1, 0, 0))
    with pytest.raises(JointError, match="unit length"):
        qdot.assemble(world)


# ── rods ─────────────────────────────────────────────────────────────────────────────────────────


def rods() -> qdot.Mechanism:
    world = arm()
    world.distance("rod", "tip", "corner", 0.7, point1=(0.1, 0, 0.2), point2=(0, -0.1, 0))
    world.distance("stay", "cart", "world", 1.1, point2=(0, 0, 0.5))
    return world


def test_a_rod_is_as_long_as_it_says() -> None:
    model = qdot.assemble(rods())
    q, _ = states(model)
    motion = qdot.kinematics(model, q)
    d = motion.point("tip", (0.1, 0, 0.2)).position - motion.point("corner", (0, -0.1, 0)).position
    found = qdot.constraint_residuals(model, q)
    np.testing.assert_allclose(found["rod"][:, 0], np.sqrt(d.dot(d)) - 0.7, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["stay"][:, 0], np.hypot(np.hypot(q[:, 2], 1), 0.5) - 1.1, rtol=0, atol=1e-12)


def test_ends_of_a_rod_that_meet_make_no_nan() -> None:
    world = qdot.Mechanism("rig")
    world.add("cart", Prismatic("x"), SOLID)
    world.distance("rod", "cart", "world", 0.5)
    model = qdot.assemble(world)
    assert qdot.constraint_residuals(model, [0.0])["rod"] == pytest.approx([-0.5])
    assert qdot.derivative(qdot.constraint_residuals, "q")(model, [0.0])["rod"].tolist() == [[0.0]]
    assert qdot.derivative(qdot.constraint_residuals, "q")(model, [0.3])["rod"].tolist() == [[1.0]]


# ── edits ────────────────────────────────────────────────────────────────────────────────────────


def full() -> qdot.Model:
    world = rods()
    world.bushing("mount", "post", "tip", rotational=(1, 2, 3), translational=(4, 5, 6), rotational_damping=0.3,
                  translational_damping=(0.1, 0.2, 0.3))  # fmt: skip
    world.spring("spring", "world", "corner", 9.0, 0.2)
    return qdot.assemble(world)


def test_attached_with_a_prefix_they_do_what_they_did() -> None:
    """Hung on a frame that does not move: relative to the world of the added model everything is as it was."""
    model = full()
    host = qdot.Mechanism("host", gravity=(0, 0, 0))
    X = Transform.rpy(0.4, 0.5, 0.6, (1, 2, 3))
    host.add("table", Fixed(), SOLID).frame("mount", at=X)
    both = edit.attach(qdot.assemble(host), model, to="mount", prefix="left_")
    q, v = states(model)
    here, there = terms(model, q, v), terms(both, q, v)
    for name in ("rod", "stay"):
        np.testing.assert_allclose(there[f"left_{name}"], here[name], rtol=0, atol=1e-12)
    for name in ("springs", "dampers"):
        np.testing.assert_allclose(there[name], here[name], rtol=0, atol=1e-11)
    assert [b.name for b in both.bushings] == ["left_mount"]
    assert both.bushings[0].frame1 == "left_post"


def test_a_model_of_both_has_the_bushings_of_both() -> None:
    model = full()
    twice = edit.attach(model, model, prefix="second_")
    assert [b.name for b in twice.bushings] == ["mount", "second_mount"]
    assert [c.name for c in twice.constraints] == ["rod", "stay", "second_rod", "second_stay"]


def test_scaled_rods_are_longer_and_bushings_rest_farther() -> None:
    model = full()
    large = edit.scale(model, 3.0)
    q, v = states(model)
    stretched = q * [1, 1, 3]  # turns, and a slide
    here, there = qdot.constraint_residuals(model, q), qdot.constraint_residuals(large, stretched)
    for name in here:
        np.testing.assert_allclose(there[name], 3 * here[name], rtol=0, atol=1e-11)
    bushing, larger = model.bushings[0], large.bushings[0]
    assert larger.rest.position == bushing.rest.position * 3.0
    assert replace(larger, rest=bushing.rest) == bushing  # springs stay as they are
    only = replace(bushing, rotational=(0, 0, 0), rotational_damping=(0, 0, 0))
    pulled, pulled_larger = (
        qdot.assemble(replace(m.description, bushings=(replace(only, rest=m.bushings[0].rest),), tendons=()))
        for m in (model, large)
    )
    forces = qdot.passive_terms(pulled, q, v)["springs"]
    np.testing.assert_allclose(
        qdot.passive_terms(pulled_larger, stretched, v)["springs"], forces * [9, 9, 3], rtol=0, atol=1e-11
    )  # three times the stretch, at three times the arm


def test_a_locked_joint_leaves_rods_and_bushings() -> None:
    model = full()
    locked = edit.lock(model, "elbow", 0.3)
    q, v = states(locked)
    whole = np.insert(q, 1, 0.3, axis=1), np.insert(v, 1, 0.0, axis=1)
    here, there = terms(locked, q, v), terms(model, *whole)
    for name in ("rod", "stay"):
        np.testing.assert_allclose(here[name], there[name], rtol=0, atol=1e-12)
    for name in ("springs", "dampers"):
        np.testing.assert_allclose(here[name], there[name][:, [0, 2]], rtol=0, atol=1e-11)


def test_a_welded_body_leaves_rods_and_bushings() -> None:
    model = edit.lock(full(), "elbow", 0.3)
    welded = edit.weld(model, "lower")
    q, v = states(model)
    here, there = terms(model, q, v), terms(welded, q, v)
    for name in ("rod", "stay", "springs", "dampers"):
        np.testing.assert_allclose(there[name], here[name], rtol=0, atol=1e-11)


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def test_a_rod_is_written_to_mjcf_as_a_string_of_held_length() -> None:
    model = qdot.assemble(rods())
    written = to_mjcf(model)
    assert not written.report.of(Severity.PHYSICS)
    assert any("rod" in item.subject and "tendon" in item.done for item in written.report)
    back = qdot.load(written.text)
    q, _ = states(model)
    here, there = qdot.constraint_residuals(model, q), qdot.constraint_residuals(back, q)
    assert list(there) == list(here)
    for name in here:
        np.testing.assert_allclose(there[name], here[name], rtol=0, atol=1e-12)
    again = to_mjcf(back)
    np.testing.assert_allclose(qdot.constraint_residuals(qdot.load(again.text), q)["rod"], here["rod"], atol=1e-12)


def test_what_is_counted_from_home_is_so_in_mjcf() -> None:
    """MuJoCo starts balls at zero, come what may."""
    world = started()
    world.distance("rod", "tip", "post", 1.5)
    at_home = qdot.assemble(world)
    meeting = qdot.frame_pose(at_home, at_home.home(), "three").position
    world.connect("pin", "world", "three", point1=meeting)  # the points meet at home, not where MuJoCo starts
    model = qdot.assemble(world)
    back = qdot.load(to_mjcf(model).text)
    q, _, _ = random_state(model, 3)
    here, there = qdot.constraint_residuals(model, q), qdot.constraint_residuals(back, q)
    for name in ("rod", "pin"):
        np.testing.assert_allclose(there[name], here[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("writer", [to_mjcf, to_urdf])
def test_what_a_format_lacks_is_reported(writer: Callable[[qdot.Model], Any]) -> None:
    lost = writer(full()).report.of(Severity.PHYSICS)
    assert any("bushing 'mount'" in item.subject for item in lost)
    assert writer is to_mjcf or any("'rod'" in item.subject for item in lost)


def test_an_inactive_rod_is_written_as_inactive() -> None:
    model = qdot.assemble(rods())
    off = replace(model.description, constraints=tuple(replace(c, active=False) for c in model.constraints))
    inactive = qdot.assemble(off)
    assert qdot.constraint_residuals(inactive, inactive.home()) == {}
    assert not any(c.active for c in qdot.load(to_mjcf(inactive).text).constraints)


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────

BAD: dict[str, Describe] = {
    "frame": lambda w: w.connect("x", "tp", "corner"),
    "no frame": lambda w: w.connect("x", None, "corner"),
    "itself": lambda w: w.weld("x", "tip", "tip"),
    "point": lambda w: w.connect("x", "tip", "corner", (1, 2)),
    "point of nan": lambda w: w.connect("x", "tip", "corner", (1, 2, NAN)),
    "pose": lambda w: w.weld("x", "tip", "corner", (1, 2)),
    "pose of inf": lambda w: w.weld("x", "tip", "corner", (1, 2, INF)),
    "length of zero": lambda w: w.distance("x", "tip", "corner", 0),
    "negative length": lambda w: w.distance("x", "tip", "corner", -1.0),
    "length of nan": lambda w: w.distance("x", "tip", "corner", NAN),
    "points that meet": lambda w: w.distance("x", "upper", "world", point2=(0, 0, 1)),
    "joint": lambda w: w.gear("x", "elbw", "shoulder", 2),
    "joint follows itself": lambda w: w.mimic("x", "elbow", "elbow"),
    "joint of six freedoms": lambda w: (w.add("ship", Free(), SOLID), w.mimic("x", "ship", "elbow")),
    "gear of six freedoms": lambda w: (w.add("ship", Free(), SOLID), w.gear("x", "elbow", "ship", 2)),
    "ratio": lambda w: w.gear("x", "elbow", "shoulder", "2"),
    "ratio of several": lambda w: w.gear("x", "elbow", "shoulder", [1, 2]),
    "ratio of lanes": lambda w: w.gear("x", "elbow", "shoulder", np.ones(3)),
    "no coefficients": lambda w: w.couple("x", "elbow", "shoulder", ()),
    "one coefficient": lambda w: w.couple("x", "elbow", "shoulder", 2.0),
    "joint and tendon": lambda w: (w.tendon("t", {"elbow": 1}), w.couple("x", "t", "elbow", (0, 1))),
    "negative stiffness": lambda w: w.spring("x", "tip", "corner", -1),
    "stiffness of nan": lambda w: w.spring("x", "tip", "corner", NAN),
    "rest of three": lambda w: w.spring("x", "tip", "corner", 1, rest=(1, 2, 3)),
    "rest of text": lambda w: w.spring("x", "tip", "corner", 1, rest="long"),
    "bushing": lambda w: w.bushing("x", "tip", "corner", rotational=-1),
    "bushing of two": lambda w: w.bushing("x", "tip", "corner", translational=(1, 2)),
    "bushing of text": lambda w: w.bushing("x", "tip", "corner", translational="stiff"),
    "bushing to nothing": lambda w: w.bushing("x", "tip", "nowhere"),
    "bushing at no pose": lambda w: w.bushing("x", "tip", "corner", rest=THING),
    "no path": lambda w: w.tendon("x", []),
    "path of text": lambda w: w.tendon("x", "tip"),
    "path of a number": lambda w: w.tendon("x", 3),
    "path of one": lambda w: w.tendon("x", ["tip"]),
    "path to nowhere": lambda w: w.tendon("x", ["tip", "nowhere"]),
    "path of things": lambda w: w.tendon("x", [THING, THING]),
    "mixed path": lambda w: w.tendon("x", ["tip", qdot.description.Weighted("elbow", 1.0)]),
    "coefficient": lambda w: w.tendon("x", {"elbow": "a"}),
    "wound without rest": lambda w: w.tendon("x", ["top", Wrap("roller", 0.05), "tip"], stiffness=1),
    "range": lambda w: w.tendon("x", ["tip", "corner"], range=(2, 1)),
    "range of one": lambda w: w.tendon("x", ["tip", "corner"], range=2),
    "nothing driven": lambda w: w.motor("x"),
    "two driven": lambda w: w.motor("x", "elbow", frame="tip"),
    "tendon driven": lambda w: w.motor("x", tendon="rope"),
    "frame driven": lambda w: w.motor("x", frame="rope"),
    "gear of seven": lambda w: w.motor("x", "elbow", gear=range(7)),
    "gear of none": lambda w: w.motor("x", "elbow", gear=()),
    "gears on a tendon": lambda w: (w.tendon("t", {"elbow": 1}), w.motor("x", tendon="t", gear=(1, 2))),
    "control range": lambda w: w.motor("x", "elbow", control_range=(1, -1)),
    "control range of nan": lambda w: w.motor("x", "elbow", control_range=(NAN, 1)),
    "control range of text": lambda w: w.motor("x", "elbow", control_range="ab"),
    "servo stiffness": lambda w: w.position_servo("x", "elbow", stiffness=-1),
    "servo damping": lambda w: w.velocity_servo("x", "elbow", damping=INF),
    "no record": lambda w: w.actuator("x"),
    "record of nan": lambda w: w.actuator(ActuatorRecord("x", OnJoint("elbow"), Affine(NAN))),
    "fixed joint": lambda w: (w.add("base", Fixed(), SOLID), w.motor("x", "base")),
}  # fmt: skip


@pytest.mark.parametrize("describe", BAD.values(), ids=BAD.keys())
def test_what_cannot_be_is_refused_by_name(describe: Describe) -> None:
    """By the method, or by `assemble` where it is what the method was given that cannot be."""
    with pytest.raises((ModelError, UnknownNameError, JointError), match=r"'rig'.*'x'"):
        described(describe)


def test_close_names_are_offered() -> None:
    with pytest.raises(UnknownNameError, match=r"constraint 'x' has no frame or body named 'tpi'; did .*'tip'"):
        arm().connect("x", "tpi", "corner")
    with pytest.raises(UnknownNameError, match=r"actuator 'x' has no joint named 'elbwo'; did you mean: 'elbow'"):
        arm().motor("x", "elbwo")


def test_records_with_what_cannot_be() -> None:
    model = qdot.assemble(rods())
    for change in ({"length": 0.0}, {"length": -INF}, {"frame1": "tp"}, {"point1": Vec3(0, 0, NAN)}):
        bad = replace(model.constraints[0], **change)
        assert isinstance(bad, DistanceRecord)
        with pytest.raises(QdotError, match=r"'rig'.*'rod'"):
            qdot.assemble(replace(model.description, constraints=(bad,)))


PLACES = st.sampled_from(["tip", "corner", "post", "elbow", "shoulder", "cart", "world", "", "x", "nowhere"])
FLOATS = st.floats(-1e6, 1e6) | st.sampled_from([NAN, INF, -INF])
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    FLOATS,
    st.lists(st.one_of(st.floats(-2, 2), st.sampled_from(["tip", "corner", THING])), max_size=7),
    st.tuples(FLOATS, FLOATS),
    st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2)),
    st.dictionaries(st.sampled_from(["elbow", "cart", "nowhere"]), FLOATS, max_size=3),
    st.just(THING),
    st.just(np.ones((2, 2))),
    st.just(Transform.identity()),
)
METHODS = {
    "connect": 5, "weld": 4, "distance": 4, "couple": 4, "gear": 4, "mimic": 5, "spring": 6, "tendon": 2, "motor": 2,
    "actuator": 1,
}  # fmt: skip
OPTIONS = {
    "bushing": ("rotational", "translational", "rotational_damping", "rest"),
    "tendon": ("stiffness", "damping", "rest", "friction", "range", "force_range"),
    "motor": ("tendon", "frame", "gear", "control_range", "force_range"),
    "position_servo": ("stiffness", "damping", "gear", "force_range"),
    "velocity_servo": ("damping", "tendon", "gear"),
}


@given(st.sampled_from(sorted(METHODS)), st.data())
def test_any_arguments_are_taken_or_refused(method: str, data: st.DataObject) -> None:
    """Whatever is passed: a model whose forces are numbers, or an error of qdot that names the mechanism."""
    world = arm()
    name = ["x"] if method != "actuator" and data.draw(st.booleans()) else []
    arguments = name + [data.draw(PLACES | ANYTHING) for _ in range(METHODS[method] - len(name))]
    error = refused(lambda: getattr(world, method)(*arguments))
    if error is None:
        _is_sound_or_refused(world)
    else:
        assert "'rig'" in str(error)


@given(st.sampled_from(sorted(OPTIONS)), st.data())
def test_any_options_are_taken_or_refused(method: str, data: st.DataObject) -> None:
    world = arm()
    options = {name: data.draw(ANYTHING) for name in OPTIONS[method] if data.draw(st.booleans())}
    first = {"bushing": ("tip", "corner"), "tendon": (["tip", "corner"],)}.get(method, ("elbow",))
    needed = {"position_servo": {"stiffness": 1}, "velocity_servo": {"damping": 1}}.get(method, {})
    error = refused(lambda: getattr(world, method)("x", *first, **{**needed, **options}))
    if error is None:
        _is_sound_or_refused(world)
    else:
        assert "'rig'" in str(error)


def _is_sound_or_refused(world: qdot.Mechanism) -> None:
    built: list[qdot.Model] = []
    if refused(lambda: built.append(qdot.assemble(world))) is None:
        model = built[0]
        q, v = states(model, 1)
        assert np.isfinite(passive_forces(model, q[0].tolist(), v[0].tolist())).all()


def test_a_coupling_of_the_builder_is_that_of_urdf() -> None:
    """A mimic joint from a file and one described are one record."""
    text = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
      <joint name="k" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
      <mimic joint="j" multiplier="2.5" offset="0.25"/></joint></robot>"""
    (loaded,) = qdot.load(text).constraints
    world = qdot.Mechanism()
    world.add("b", Revolute("z"), SOLID, joint_name="j").add("c", Revolute("z"), SOLID, joint_name="k")
    world.mimic(loaded.name, "k", "j", 2.5, 0.25)
    (ours,) = qdot.assemble(world).constraints
    assert isinstance(loaded, CouplingRecord)
    assert ours == loaded


@pytest.mark.parametrize("joint", [np.ones((2, 2)), None, 3, ["joint"]], ids=repr)
def test_what_is_no_name_is_no_joint(joint: object) -> None:
    world = qdot.Mechanism("named")
    world.add("arm", Revolute("y"), Inertia.point(1.0, (0, 0, -1)))
    with pytest.raises(QdotError):
        world.gear("gear", joint, "arm", 1.0)
