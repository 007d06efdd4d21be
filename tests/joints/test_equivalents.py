"""Joints that are the same mechanism said in two ways: compounds, bodies without mass between, special cases."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import qdot
from qdot.algebra import Quaternion, Vec3
from qdot.joints import (
    Compound,
    Cylindrical,
    Fixed,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)
from qdot.model.library.random_trees import random_inertia, random_pose
from qdot.spatial import Inertia, Transform
from tests.joints.cases import case, numbers

ROUNDING = 1e-13
SEEDS = range(6)


def same(joint, q, v, other, q_other, v_other):
    """Pose, velocity and Ṡv."""
    pairs = [
        (joint.transform(q), other.transform(q_other)),
        (joint.subspace(q) @ v, other.subspace(q_other) @ v_other),
        (joint.bias(q, v), other.bias(q_other, v_other)),
    ]
    for one, two in pairs:
        np.testing.assert_allclose(numbers(one), numbers(two), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_universal_is_two_revolutes(seed):
    c = case("universal", seed)
    same(c.joint, c.q, c.v, Compound(Revolute(c.joint.first), Revolute(c.joint.second)), c.q, c.v)


@pytest.mark.parametrize("seed", SEEDS)
def test_cylindrical_is_a_turn_and_a_slide_in_either_order(seed):
    c = case("cylindrical", seed)
    turn, slide = Revolute(c.joint.axis), Prismatic(c.joint.axis)
    same(c.joint, c.q, c.v, Compound(turn, slide), c.q, c.v)
    same(c.joint, c.q, c.v, Compound(slide, turn), c.q[::-1], c.v[::-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_helical_is_a_cylindrical_with_its_slide_tied(seed):
    c = case("helical", seed)
    h = c.joint.pitch
    same(c.joint, c.q, c.v, Cylindrical(c.joint.axis), [c.q[0], h * c.q[0]], [c.v[0], h * c.v[0]])
    same(Helical(c.joint.axis, 0.0), c.q, c.v, Revolute(c.joint.axis), c.q, c.v)


@pytest.mark.parametrize("seed", SEEDS)
def test_planar_is_two_slides_and_a_turn(seed):
    c = case("planar", seed)
    joint = c.joint
    parts = Compound(Prismatic(joint.across), Prismatic(joint.up), Revolute(joint.normal))
    (theta, x, y), (w, u, v) = c.q, c.v
    same(joint, c.q, c.v, parts, [x, y, theta], [u, v, w])
    np.testing.assert_allclose(
        np.linalg.det(numbers([joint.across, joint.up, joint.normal])), 1, rtol=1e-14
    )  # right-handed


@pytest.mark.parametrize(("normal", "across"), [("x", "y"), ("y", "z"), ("z", "x")])
def test_planar_directions_of_the_coordinate_planes(normal, across):
    assert Planar(normal).across == Prismatic(across).axis
    assert Planar(normal) == Planar(normal, across)


@pytest.mark.parametrize("seed", SEEDS)
def test_free_is_three_slides_and_a_ball(seed):
    """v of the compound is (ṗ in the joint's frame, ω); of the free joint (ω, Rᵀṗ)."""
    c = case("free", seed)
    slides = Compound(Prismatic("x"), Prismatic("y"), Prismatic("z"), Spherical())
    R = c.joint.transform(c.q).rotation
    world = R @ Vec3(*c.v[3:])
    X, S = slides.transform([*c.q[4:], *c.q[:4]]), slides.subspace([*c.q[4:], *c.q[:4]])
    np.testing.assert_allclose(numbers(X), numbers(c.joint.transform(c.q)), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(numbers(S @ [*world, *c.v[:3]]), c.v, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ball_is_three_turns(seed):
    angles = np.random.default_rng(seed).uniform(-1.2, 1.2, 3).tolist()
    gimbals = Compound(Revolute("z"), Revolute("y"), Revolute("x"))
    x, y, z, w = Rotation.from_euler("ZYX", angles).as_quat()
    ball = Spherical().transform([w, x, y, z])
    np.testing.assert_allclose(numbers(gimbals.transform(angles)), numbers(ball), rtol=0, atol=1e-15)
    S = numbers(gimbals.subspace(angles))
    assert np.linalg.matrix_rank(S) == 3
    assert not S[3:].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_compounds_nest(seed):
    c = case("compound", seed)
    a, b, *rest = c.joint.parts
    same(c.joint, c.q, c.v, Compound(Compound(a, b), Compound(*rest)), c.q, c.v)
    assert Compound(a).transform(c.q[:1]) == a.transform(c.q[:1])


def test_an_axis_off_the_origin():
    """Compound(Fixed(X), Revolute, Fixed(X⁻¹)): the point on the axis stays where it is."""
    X = Transform.translation(0.3, -0.2, 0.0)
    joint = Compound(Fixed(X), Revolute("z"), Fixed(X.inv().transform()))
    pivot = Vec3(0.3, -0.2, 0.7)
    np.testing.assert_allclose(numbers(joint.transform([1.1]) @ pivot), numbers(pivot), rtol=0, atol=1e-15)
    assert joint.subspace([1.1]).columns[0].at(pivot).lin.norm() < 1e-15


# ── bodies without mass between ──────────────────────────────────────────────────────────────────


def one_body(joint, inertia, placement, armature):
    world = qdot.Mechanism("one")
    world.add("base", Revolute("y"), random_inertia(np.random.default_rng(3))).add(
        "tip", joint, inertia, at=placement, armature=armature
    )
    return qdot.assemble(world)


def chain_of_parts(joint, inertia, placement, armature):
    """The same parts, each with a body of its own; all but the last one weigh nothing."""
    world = qdot.Mechanism("chain")
    part, i = world.add("base", Revolute("y"), random_inertia(np.random.default_rng(3))), 0
    for k, piece in enumerate(joint.parts):
        last = k == len(joint.parts) - 1
        part = part.add(
            "tip" if last else f"part{k}",
            piece,
            inertia if last else Inertia.zero(),
            at=placement if k == 0 else None,
            armature=armature[i : i + piece.nv],
        )
        i += piece.nv
    return qdot.assemble(world)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_compound_is_its_parts_with_massless_bodies_between(seed):
    """Pose, M, inverse and forward dynamics. 1e-9: M of a small body at the end of five freedoms is ill-conditioned."""
    c = case("compound", seed)
    rng = np.random.default_rng(seed)
    arguments = (c.joint, random_inertia(rng), random_pose(rng), [0.1, 0.2, 0.3, 0.4, 0.5])
    one, chain = one_body(*arguments), chain_of_parts(*arguments)
    q, v, a = np.array([0.4, *c.q]), np.array([-0.7, *c.v]), np.array([0.2, *c.u])
    pose = [numbers(qdot.frame_pose(m, q, "tip")) for m in (one, chain)]
    np.testing.assert_allclose(*pose, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(qdot.mass_matrix(one, q), qdot.mass_matrix(chain, q), rtol=0, atol=ROUNDING)
    tau = [qdot.inverse_dynamics(m, q, v, a) for m in (one, chain)]
    np.testing.assert_allclose(*tau, rtol=0, atol=ROUNDING * 100)
    back = [qdot.forward_dynamics(m, q, v, tau[0]) for m in (one, chain)]
    np.testing.assert_allclose(*back, rtol=0, atol=1e-9)
    np.testing.assert_allclose(back[0], a, rtol=0, atol=1e-9)


def test_quaternion_and_rotation_vector_agree():
    q = Spherical().retract(Spherical().neutral(), [0.3, -1.2, 0.8])
    truth = Rotation.from_rotvec([0.3, -1.2, 0.8]).as_matrix()
    np.testing.assert_allclose(numbers(Quaternion(*q).rotation()), truth, rtol=0, atol=1e-15)
