"""Reduced coordinates against maximal ones (U11): one mechanism, held together by its joints or by constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import qdot
from qdot.algebra import Vec3
from qdot.algorithms.kinematics import kinematics
from qdot.description import Severity
from qdot.errors import ModelError, ValueShapeError
from qdot.formulations.maximal import Maximal, to_maximal
from qdot.joints import Free, Limits, Planar, Prismatic, Revolute, Spherical
from qdot.model.library import KINDS, five_link_chain, floating_two_link, random_state, random_tree, seven_joint_arm
from qdot.simulation.phase import Phase
from qdot.simulation.simulate import simulate
from qdot.simulation.system import Acting, Inputs, Setup, System
from qdot.spatial import Inertia, Transform
from tests.formulations.systems import four_bar, four_bar_state
from tests.laws.trees import close

TOLERANCE = 1e-10
"""As in tests/laws/test_dynamics.py."""

TRAJECTORY = 1e-7
"""After a second in steps of a millisecond: RK4 errs by 1e-9 or so, in other coordinates otherwise."""

HOLDING = [kind for kind in KINDS if kind not in ("free", "fixed")]


def acting(model: qdot.Model, q: np.ndarray, v: np.ndarray, control: Sequence[float] = ()) -> Acting:
    at = Phase(0.0, q.tolist(), v.tolist(), [], [])
    return System(model, Setup()).acting(at, Inputs(control, [0.0] * model.nv), 1e-3)


def require_same_dynamics(model: qdot.Model, apart: Maximal, seed: int, *, in_plane: bool = False) -> None:
    """Accelerations of all bodies, and what joints carry."""
    q, v, _ = random_state(model, seed)
    a = qdot.forward_dynamics(model, q, v, np.zeros(model.nv))
    Q, V = apart.state(q, v)
    found = acting(apart.model, Q, V)
    expected = kinematics(model, q.tolist(), v.tolist(), a.tolist())
    actual = kinematics(apart.model, Q.tolist(), V.tolist(), list(found.rates.v))
    for body in model.bodies:
        there = apart.model.body(body.name).index
        close(list(actual.velocities[there]), list(expected.velocities[body.index]), TOLERANCE)
        close(list(actual.accelerations[there]), list(expected.accelerations[body.index]), TOLERANCE)
    carried = apart.wrenches(Q, found.multipliers)
    for name, wrench in qdot.joint_wrenches(model, q, v, a).items():
        if name in carried:
            places = [1, 3, 5] if in_plane else range(6)
            close(np.array(list(carried[name]))[places], np.array(list(wrench))[places], 1e-9)


def thick_chain(n: int = 5, length: float = 0.2, mass: float = 0.1) -> qdot.Model:
    """The chain of U10 with links that are no lines, so that they may be free in space."""
    world = qdot.Mechanism("thick_chain", gravity=(0, 0, -9.81))
    part, at = world.world, (0.0, 0.0, 0.0)
    for k in range(n):
        moment = mass * length**2 / 12
        solid = Inertia.about_com(mass, (0, 0, -length / 2), (moment, moment, moment / 5))
        part = part.add(f"link{k}", Revolute("y"), solid, at=at, joint_name=f"joint{k}")
        at = (0.0, 0.0, -length)
    return qdot.assemble(world)


# ── one dynamics ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", HOLDING)
def test_every_joint_holds_as_in_a_tree(kind: str) -> None:
    model = random_tree(3, 4, [kind], passive=False)
    require_same_dynamics(model, to_maximal(model, planar=False), 1)


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_all_joints(seed: int) -> None:
    """With bodies that are fixed to others, and free ones."""
    model = random_tree(seed, 6, passive=False)
    require_same_dynamics(model, to_maximal(model), seed)


def test_a_chain_in_its_plane_and_in_space() -> None:
    model = thick_chain()
    flat, spatial = to_maximal(model), to_maximal(model, planar=False)
    assert (flat.model.nv, spatial.model.nv) == (15, 30)
    for seed in range(3):
        require_same_dynamics(model, spatial, seed)
        require_same_dynamics(model, flat, seed, in_plane=True)


def test_a_plane_may_lie_anywhere() -> None:
    rng = np.random.default_rng(2)
    axis = rng.normal(size=3)
    world = qdot.Mechanism("tilted", gravity=(1, -2, -9))
    X = Transform.about(Vec3(0.6, 0.0, 0.8), 0.7)
    part = world.add("one", Revolute(axis), Inertia.about_com(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1)), at=X)
    part = part.add("two", Revolute(axis), Inertia.about_com(0.5, (0.1, 0.2, 0), (0.1, 0.1, 0.1)), at=(0.3, 0.2, 0.4))
    model = qdot.assemble(world)
    assert to_maximal(model).model.nv == 6
    q, v = np.array([0.4, -0.8]), np.array([1.0, 2.0])
    a = qdot.forward_dynamics(model, q, v, np.zeros(2))
    apart = to_maximal(model)
    Q, V = apart.state(q, v)
    A = acting(apart.model, Q, V).rates.v
    expected = kinematics(model, q.tolist(), v.tolist(), a.tolist()).accelerations
    for there, here in zip(kinematics(apart.model, Q.tolist(), V.tolist(), A).accelerations, expected, strict=True):
        close(list(there), list(here), TOLERANCE)


# ── states ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(6))
def test_states_come_back(seed: int) -> None:
    model = random_tree(seed, 6, passive=False)
    apart = to_maximal(model)
    q, v, _ = random_state(model, seed)
    back = apart.reduced(*apart.state(q, v), near=q)
    close(back[0], q, TOLERANCE)
    close(back[1], v, TOLERANCE)


def test_batches_are_rows() -> None:
    model = five_link_chain()
    apart, rng = to_maximal(model), np.random.default_rng(0)
    q, v = rng.normal(size=(7, 5)), rng.normal(size=(7, 5))
    Q, V = apart.state(q, v)
    one = apart.state(q[3], v[3])
    close(Q[3], one[0], 1e-15)
    close(V[3], one[1], 1e-15)
    close(apart.reduced(Q, V, near=q)[0], q, 1e-14)


def test_turns_are_counted_from_the_configuration_given() -> None:
    apart = to_maximal(five_link_chain())
    q = np.array([0.3, 7.0, -20.0, 3.2, 100.0])
    near = q + np.array([1.0, -2.0, 3.0, -3.0, 0.5])
    close(apart.reduced(*apart.state(q), near=near)[0], q, 1e-13)
    close(apart.reduced(*apart.state(q))[0], (q + np.pi) % (2 * np.pi) - np.pi, 1e-13)


def test_forces_there_and_back() -> None:
    model = random_tree(3, 4, ["universal", "cylindrical", "revolute"], passive=False)
    apart = to_maximal(model)
    q, v, _ = random_state(model, 2)
    Q, V = apart.state(q, v)
    multipliers = acting(apart.model, Q, V).multipliers
    close(apart.multipliers(Q, apart.wrenches(Q, multipliers)), multipliers, TOLERANCE)


def test_a_home_and_keyframes_go_along() -> None:
    world = qdot.Mechanism("homed")
    solid = Inertia.about_com(1.0, (0, 0, 0.1), (0.1, 0.2, 0.3))
    world.add("one", Revolute("z"), solid, home=[0.4]).add("two", Prismatic("x"), solid, at=(1, 0, 0), home=[0.2])
    model = qdot.assemble(world)
    apart = to_maximal(model, planar=False)
    close(apart.model.home(), apart.state(model.home())[0], 1e-15)


# ── motion ───────────────────────────────────────────────────────────────────────────────────────


def require_same_motion(model: qdot.Model, apart: Maximal, q: np.ndarray, v: np.ndarray, dt: float = 1e-3) -> None:
    reduced = simulate(model, (q, v), 1.0, dt, record=100, limits="none")
    maximal = simulate(apart.model, apart.state(q, v), 1.0, dt, record=100)
    back = apart.reduced(maximal.q, maximal.v, near=reduced.q)
    close(back[0], reduced.q, TRAJECTORY)
    close(back[1], reduced.v, 10 * TRAJECTORY)  # velocities are some ten radians a second
    assert maximal.drift[1:].max() < 1e-9


def test_the_five_link_chain_moves_alike() -> None:
    model = five_link_chain()
    require_same_motion(model, to_maximal(model), np.array([0.9, 0.2, -0.3, 0.1, 0.2]), np.zeros(5))


def test_an_arm_moves_alike() -> None:
    model = seven_joint_arm()
    require_same_motion(model, to_maximal(model), np.full(7, 0.3), np.full(7, 0.2), 2e-4)  # it falls fast


def test_a_closed_loop_moves_alike() -> None:
    model = four_bar()
    require_same_motion(model, to_maximal(model), *four_bar_state(1.0, 2.0))


def test_a_tree_of_several_joints_moves_alike() -> None:
    model = random_tree(5, 4, ["spherical", "prismatic", "cylindrical", "free"], passive=False)
    q, v, _ = random_state(model, 1)
    require_same_motion(model, to_maximal(model), q, 0.3 * v)


def test_springs_dampers_and_drives_act_between_the_bodies() -> None:
    model = sprung()
    apart = to_maximal(model)
    q, v = np.array([0.4, 0.1, -0.3]), np.array([1.0, -0.4, 2.0])
    Q, V = apart.state(q, v)
    control = [0.7, -0.2]
    expected, found = acting(model, q, v, control), acting(apart.model, Q, V, control)
    here = kinematics(model, q.tolist(), v.tolist(), list(expected.rates.v)).accelerations
    there = kinematics(apart.model, Q.tolist(), V.tolist(), list(found.rates.v)).accelerations
    for x, y in zip(there, here, strict=True):
        close(list(x), list(y), TOLERANCE)
    close(qdot.energy(apart.model, Q, V), qdot.energy(model, q, v), TOLERANCE)


def sprung() -> qdot.Model:
    world = qdot.Mechanism("sprung")
    solid = Inertia.about_com(1.0, (0.1, 0.0, 0.2), (0.1, 0.2, 0.3))
    part = world.add("one", Revolute((1, 2, 2)), solid, stiffness=[3.0], damping=[0.4], rest=[0.2], joint_name="a")
    part = part.add("two", Prismatic((0, 1, 1)), solid, stiffness=[50.0], damping=[2.0], at=(0.3, 0, 0), joint_name="b")
    part.add("three", Revolute("y"), solid, damping=[0.1], at=(0.1, 0.2, 0.3), joint_name="c")
    world.motor("first", "a", gear=2.0)
    world.motor("second", "b", gear=3.0)
    return qdot.assemble(world)


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────


def test_what_lives_on_joints_is_refused_by_name() -> None:
    world = qdot.Mechanism("geared")
    solid = Inertia.about_com(1.0, (0.1, 0.0, 0.2), (0.1, 0.2, 0.3))
    part = world.add("one", Revolute("z"), solid, armature=[0.1], joint_name="a")
    part.add("two", Spherical(), solid, stiffness=[1.0, 1.0, 1.0], joint_name="ball")
    part.add("three", Revolute("x"), solid, joint_name="b")
    world.gear("train", "b", "a", 2.0)
    with pytest.raises(ModelError, match=r"armature of joint 'a'.*joint 'ball'.*coupling 'train' over joint 'b'"):
        to_maximal(qdot.assemble(world))


def test_bodies_need_inertia_of_their_own() -> None:
    with pytest.raises(ModelError, match=r"body 'rod1' .* has no mass, or no inertia .* give it an inertia"):
        to_maximal(qdot.model.library.double_pendulum(), planar=False)


def test_planes_are_asked_for_in_vain() -> None:
    model = seven_joint_arm()
    with pytest.raises(ModelError, match=r"does not move in the plane of normal .*: joint '.*' leads out of it"):
        to_maximal(model, planar="x")
    with pytest.raises(ModelError, match="does not move in one plane"):
        to_maximal(model, planar=True)


def test_limits_are_told_to_be_gone() -> None:
    world = qdot.Mechanism("limited")
    joint = Revolute("z", limits=Limits((-1.0,), (1.0,)))
    world.add("one", joint, Inertia.about_com(1.0, (0.1, 0.0, 0.2), (0.1, 0.2, 0.3)), joint_name="stop")
    (item,) = to_maximal(qdot.assemble(world)).model.report.of(Severity.PHYSICS)
    assert "'stop'" in item.found


def test_floating_bodies_stay_as_they_are() -> None:
    for planar, joint in ((False, Free), (True, Planar)):
        model = floating_two_link(planar=planar)
        for body in () if planar else ("first", "second"):  # no lines in space
            model = qdot.model.edit.with_inertia(model, body, Inertia.about_com(1.0, (0, 0, -0.2), (0.1, 0.1, 0.01)))
        apart = to_maximal(model)
        assert apart.model.joint("base").joint == (joint("y") if planar else joint())
        assert [loop.name for loop in apart.model.loops] == ["hinge"]


def test_bad_vectors_are_named() -> None:
    apart = to_maximal(five_link_chain())
    with pytest.raises(ValueShapeError, match="they must agree"):
        apart.state(np.zeros((3, 5)), np.zeros((4, 5)))
    with pytest.raises(ValueShapeError, match="25 numbers are needed"):
        apart.wrenches(apart.model.home(), np.zeros(3))
    with pytest.raises(ModelError, match=r"nothing by joints named \['nobody'\]"):
        apart.multipliers(apart.model.home(), {"nobody": np.zeros(6)})
