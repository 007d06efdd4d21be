"""The builder, the records it writes, and the frozen model that `assemble` makes of them."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy

import qdot
from qdot.algebra import Mat3, Quaternion, Vec3
from qdot.description import WORLD, BodyRecord, Description, Material
from qdot.geometry import Box, Capsule, Mesh, Sphere
from qdot.joints import Fixed, Prismatic, Revolute, Spherical
from qdot.model import library
from qdot.spatial import Inertia, Transform
from tests.model.samples import SOLID, empty, immobile, mixed, single


def gantry() -> qdot.Model:
    """The example of the documentation."""
    world = qdot.Mechanism("gantry", gravity=(0, 0, -9.81))
    cart = world.add("cart", Prismatic("x"), Box(0.4, 0.2, 0.2, mass=1.0))
    cart.add("arm", Revolute("y"), Capsule(length=1.0, radius=0.03, mass=0.1))
    return qdot.assemble(world)


def rich() -> qdot.Model:
    """One of everything a description can hold."""
    world = qdot.Mechanism("rich", gravity=(0.1, 0, -9.8))
    world.world.show(Box(4, 4, 0.1).at(0, 0, -2), collision=True)
    base = world.add("base", Spherical(), Sphere(0.2, mass=2), at=(0, 0, 1), stiffness=3, rest=(1, 0, 0, 0))
    tool = base.add(
        "tool",
        Revolute((1, 2, 3), limits=(-1, 1)),
        Box(0.1, 0.1, 0.5, density=800).at(0, 0, 0.25),
        Inertia.point(0.1, (0, 0, 0.5)),
        at=Transform.rpy(0.1, 0.2, 0.3, (0, 0, 0.2)),
        joint_name="wrist",
        armature=0.01,
        damping=0.2,
        friction=0.3,
        stiffness=4,
        rest=0.5,
        material=Material("steel", (0.5, 0.5, 0.5, 1.0)),
    )
    tool.frame("tip", at=(0, 0, 0.5))
    tool.show(Sphere(0.01).at(0, 0, 0.5))
    world.frame("anchor", at=(1, 0, 0))
    world.close("cable", Prismatic("x"), "anchor", "tip")
    return qdot.assemble(world)


def test_the_documented_example_runs() -> None:
    model = gantry()
    assert (model.nq, model.nv) == (2, 2)
    M = qdot.mass_matrix(model, [0.0, 0.1])
    I_y = Capsule(length=1.0, radius=0.03, mass=0.1).inertia().rotational.yy
    np.testing.assert_allclose(M, [[1.1, 0], [0, I_y]], atol=1e-15)
    q, v, a = qdot.symbols(model)
    assert [str(x) for x in (*q, *v, *a)] == ["q_cart", "q_arm", "v_cart", "v_arm", "a_cart", "a_arm"]
    equations = qdot.inverse_dynamics(model, q, v, a)
    assert sympy.simplify(equations[0] - 1.1 * a[0]) == 0  # the arm turns about its centre
    assert sympy.simplify(equations[1] - I_y * a[1]) == 0


def test_a_model_shows_what_was_described() -> None:
    m = rich()
    assert [b.name for b in m.bodies] == ["base", "tool"]
    assert [b.joint_name for b in m.bodies] == ["base", "wrist"]
    assert m.parents == (0, 0, 1)
    assert set(m.frames) == {WORLD, "base", "tool", "tip", "anchor"}
    assert m.joint("wrist") is m.body("tool") is m.bodies[1]
    assert m.coordinate_names() == ["base[0]", "base[1]", "base[2]", "base[3]", "wrist"]
    assert m.dof_names() == ["base[0]", "base[1]", "base[2]", "wrist"]
    assert m.body("tool").passive.damping == (0.2,)
    assert m.body("base").passive.stiffness == (3, 3, 3)
    assert m.body("base").passive.damping == (0, 0, 0)
    loop = m.description.loops[0]
    assert (loop.name, loop.predecessor, loop.successor) == ("cable", "anchor", "tip")
    shapes = m.description.bodies[1].shapes
    assert [s.collision for s in shapes] == [True, False]
    assert shapes[0].material.name == "steel"
    assert m.description.world_shapes[0].collision
    assert m.frame("tip").body == 2
    assert m.frame("anchor").body == 0
    assert "rich" in repr(m)


def test_inertias_of_several_solids_add() -> None:
    box, ball = Box(1, 2, 3, mass=4).at(0, 0, 1), Sphere(0.5, mass=1)
    model = single(Revolute("y"), box, ball, Inertia.point(2, (1, 0, 0)))
    expected = box.inertia() + ball.inertia() + Inertia.point(2, (1, 0, 0))
    assert model.bodies[0].inertia == expected


def test_passive_terms_act_as_described() -> None:
    m = single(armature=0.5, damping=2.0, friction=0.25, stiffness=8.0, rest=0.1)
    plain = single()
    np.testing.assert_allclose(qdot.passive_forces(m, [0.4], [-3.0]), [-8 * 0.3 + 2 * 3 + 0.25], rtol=1e-14)
    np.testing.assert_allclose(qdot.mass_matrix(m, [0.4]), qdot.mass_matrix(plain, [0.4]) + 0.5, rtol=1e-14)
    stored = qdot.potential_energy(m, [0.4]) - qdot.potential_energy(plain, [0.4])
    assert stored == pytest.approx(8 * 0.3**2 / 2, rel=1e-12)


def test_passive_terms_are_one_number_or_one_each() -> None:
    m = single(Spherical(), damping=2.0, armature=[1, 2, 3], friction=np.array([0.1, 0.2, 0.3]))
    passive = m.bodies[0].passive
    assert passive.damping == (2.0, 2.0, 2.0)
    assert passive.armature == (1, 2, 3)
    assert passive.friction == (0.1, 0.2, 0.3)
    assert all(type(x) is float for x in passive.friction)


@pytest.mark.parametrize(
    "at",
    [(1, 2, 3), [1, 2, 3], np.array([1.0, 2.0, 3.0]), Vec3(1, 2, 3), Transform.translation(1, 2, 3)],
    ids=lambda at: type(at).__name__,
)
def test_poses_as_people_write_them(at: object) -> None:
    m = single(at=at)
    assert m.bodies[0].placement == Transform.translation(1, 2, 3)
    assert all(not isinstance(x, np.generic) for x in m.bodies[0].placement.position)


def test_a_pose_may_be_a_rotation() -> None:
    half = Quaternion(0.5, 0.5, 0.5, 0.5)
    assert single(at=half).bodies[0].placement == Transform(half.rotation(), Vec3(0, 0, 0))


def test_world_frames_and_frames_on_bodies() -> None:
    m = rich()
    q = m.state(base=Quaternion(0.6, 0.8, 0, 0).entries(), wrist=0.3).q
    X = qdot.frame_pose(m, q, "tip")
    on_tool = qdot.frame_pose(m, q, "tool") @ Vec3(0, 0, 0.5)
    np.testing.assert_allclose(list(X.position), list(on_tool), atol=1e-15)
    assert list(qdot.frame_pose(m, q, "anchor").position) == [1, 0, 0]
    assert not qdot.jacobian(m, q, "anchor").any()
    assert not qdot.jacobian(m, q, WORLD).any()


def test_masses_lengths_and_gravity_may_be_symbols() -> None:
    m, l, g, d, k = sympy.symbols("m l g d k", positive=True)
    world = qdot.Mechanism("symbolic", gravity=(0, 0, -g))
    rod = world.add("rod", Revolute("y"), Inertia.point(m, (0, 0, -l)), damping=d, stiffness=k)
    rod.frame("tip", at=(0, 0, -l))
    model = qdot.assemble(world)
    (q,), (v,), (a,) = qdot.symbols(model)
    (tau,) = qdot.inverse_dynamics(model, [q], [v], [a])
    assert sympy.simplify(tau - (m * l**2 * a + m * g * l * sympy.sin(q) + d * v + k * q)) == 0
    assert qdot.total_mass(model) == m
    assert model == pickle.loads(pickle.dumps(model))


def test_bodies_are_numbered_root_first_whatever_their_order() -> None:
    a = BodyRecord("a", WORLD, Revolute("y"), "ja", Transform.identity(), SOLID)
    b = BodyRecord("b", "a", Revolute("x"), "jb", Transform.translation(1, 0, 0), SOLID)
    c = BodyRecord("c", "b", Revolute("z"), "jc", Transform.translation(0, 1, 0), SOLID)
    gravity = Vec3(0, 0, -9.81)
    forward = qdot.assemble(Description("d", gravity, (a, b, c)))
    backward = qdot.assemble(Description("d", gravity, (c, b, a)))
    assert [x.name for x in backward.bodies] == ["a", "b", "c"]
    q = [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(qdot.mass_matrix(forward, q), qdot.mass_matrix(backward, q))


MODELS = {
    "gantry": gantry,
    "rich": rich,
    "mixed": mixed,
    "empty": empty,
    "immobile": immobile,
    "puma": library.puma560,
    "symbolic": lambda: library.pendulum(*sympy.symbols("l m g", positive=True)),
    "mesh": lambda: single(Revolute("y"), Mesh(*Box(1, 2, 3).surface(), mass=2.0)),
}


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_equal_descriptions_make_equal_models(build) -> None:
    m, again = build(), build()
    assert m is not again
    assert m == again
    assert hash(m) == hash(again)
    assert {m: "found"}[again] == "found"
    assert m != "model"
    assert m != gantry() or build is gantry


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize(
    "copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_models_are_copied(build, copied) -> None:
    m = build()
    hash(m), m.nq, m.parents, m.dof_parents, m._joints  # fill what the model remembers
    other = copied(m)
    assert other == m
    assert hash(other) == hash(m)
    assert list(other.frames) == list(m.frames)
    assert (other.nq, other.nv, other.parents) == (m.nq, m.nv, m.parents)
    if build is not MODELS["symbolic"]:
        np.testing.assert_array_equal(qdot.mass_matrix(other, other.neutral()), qdot.mass_matrix(m, m.neutral()))


def test_a_model_of_another_process_is_equal_and_found_in_a_dict() -> None:
    """The hash of a string differs between processes, so a hash must not travel with a model."""
    program = (
        "import pickle, sys\nfrom qdot.model.library import double_pendulum\n"
        "m = double_pendulum(); hash(m); sys.stdout.buffer.write(pickle.dumps(m))"
    )
    source = str(Path(qdot.__file__).resolve().parents[1])
    environment = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": source}
    sent = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert sent.returncode == 0, sent.stderr.decode()
    m = pickle.loads(sent.stdout)
    assert m == library.double_pendulum()
    assert {library.double_pendulum(): "found"}.get(m) == "found"


def test_models_are_frozen() -> None:
    m = rich()
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.description = m.description
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.bodies[0].index = 5
    with pytest.raises(TypeError):
        m.frames["new"] = m.frames["tip"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.description.bodies[0].name = "x"


def test_a_mechanism_described_further_leaves_earlier_models_alone() -> None:
    world = qdot.Mechanism("growing")
    link = world.add("link", Revolute("y"), SOLID)
    before = qdot.assemble(world)
    link.add("more", Revolute("y"), SOLID)
    link.show(Sphere(0.1))
    assert len(before.bodies) == 1
    assert before.description.bodies[0].shapes == ()
    assert len(qdot.assemble(world).bodies) == 2


def test_different_descriptions_make_different_models() -> None:
    variants = [
        single(),
        single(damping=0.1),
        single(at=(0, 0, 1e-12)),
        single(joint_name="hinge"),
        single(Revolute("x")),
        single(Revolute("y", limits=(-1, 1))),
        single(Revolute("y"), SOLID, Sphere(0.1)),
        single(Fixed(Transform(Mat3.identity(), Vec3(0, 0, 1)))),
    ]
    assert len(set(variants)) == len(variants)
