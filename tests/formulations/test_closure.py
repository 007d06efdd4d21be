"""Constraints in generalised coordinates (T17): loops, the model's own constraints, a user's φ(q) and ψ(q, v).

Tolerance 1e-10, as in tests/laws/test_dynamics.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

import qdot
from qdot import formulations
from qdot.algebra import Vec3, cos, sin
from qdot.algorithms.closure import constrained_forward_dynamics, constraint_jacobian, constraint_rows
from qdot.algorithms.constraints.loops import loop_residuals, nearest_coordinates
from qdot.algorithms.kinematics import kinematics
from qdot.description import ConnectRecord, CouplingRecord, WeldRecord
from qdot.errors import ModelError, QdotError
from qdot.joints import Cylindrical, Free, Helical, Planar, Revolute, Spherical
from qdot.model.library import KINDS, double_pendulum, random_state, random_tree
from qdot.model.library.random_trees import random_inertia, random_pose
from qdot.programs.functions import function
from qdot.spatial import Inertia
from tests.formulations.systems import end_of_four_bar, four_bar, four_bar_state
from tests.laws.trees import close

TOLERANCE = 1e-10
MOVING = [kind for kind in KINDS if kind != "fixed"]


def solve(model: qdot.Model, q, v, tau, **options):
    return constrained_forward_dynamics(model, list(q), list(v), list(tau), **options)


# ── loops ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("crank", [0.3, 1.2, 2.5])
def test_four_bar_closed_in_three_ways(crank: float) -> None:
    """By a loop's revolute joint (five rows, of which two count), by φ(q), and by a point held to a point."""
    q, v = four_bar_state(crank, 1.7)
    tau = np.array([0.4, 0.0, -0.1])
    closed, open_ = four_bar(), four_bar(closed=False)
    assert max(abs(x) for x in loop_residuals(closed, list(q))["closing"]) < 1e-12
    by_loop, loop_forces = solve(closed, q, v, tau)
    by_phi, forces = solve(open_, q, v, tau, holonomic=end_of_four_bar)
    held = ConnectRecord("pin", "end", Vec3(0, 0, 0), "pivot", Vec3(0, 0, 0))
    by_point, point_forces = solve(qdot.assemble(replace(open_.description, constraints=(held,))), q, v, tau)
    close(by_loop, by_phi, TOLERANCE)
    close(by_point, by_phi, TOLERANCE)
    close(point_forces, [*forces, 0], TOLERANCE)
    close(np.hypot(loop_forces[2], loop_forces[3]), np.hypot(*forces), TOLERANCE)
    J, bias = constraint_rows(open_, list(q), list(v), end_of_four_bar)
    close(np.array(J) @ by_phi + bias, [0, 0], TOLERANCE)
    M, c = qdot.mass_matrix(open_, q), qdot.bias_forces(open_, q, v)
    close(M @ by_phi + c, tau + np.array(J).T @ forces, TOLERANCE)


def test_four_bar_keeps_its_energy() -> None:
    """Half a second in steps of 1 ms by Runge and Kutta: to the method's error the loop stays closed, and K + P."""
    model = four_bar()
    step = qdot.compile(constrained_forward_dynamics, model)
    q, v = four_bar_state(0.9, 3.0)
    start = qdot.energy(model, q, v)

    def rate(y):
        a, _ = step(y[:3], y[3:], np.zeros(3))
        return np.concatenate([y[3:], a])

    y, dt, farthest = np.concatenate([q, v]), 1e-3, 0.0
    for _ in range(500):
        k1 = rate(y)
        k2 = rate(y + dt / 2 * k1)
        k3 = rate(y + dt / 2 * k2)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + dt * k3))
        farthest = max(farthest, np.abs(y[:3] - q).max())
    close(end_of_four_bar(y[:3]), [0, 0], 1e-9)
    close(qdot.energy(model, y[:3], y[3:]), start, 1e-8)
    assert farthest > 0.3


def pair(kind: str, seed: int) -> tuple[qdot.Model, qdot.Model]:
    """Two bodies in space, the second held by a joint: as a tree, and as two free bodies with a loop."""
    rng = np.random.default_rng(seed)
    joint, first, second, at = KINDS[kind](rng), random_inertia(rng), random_inertia(rng), random_pose(rng)
    tree, loop = qdot.Mechanism("tree"), qdot.Mechanism("loop")
    tree.add("one", Free(), first).add("two", joint, second, at=at)
    loop.add("one", Free(), first).frame("socket", at=at)
    loop.add("two", Free(), second)
    loop.close("held", joint, "socket", "two")
    return qdot.assemble(tree), qdot.assemble(loop)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_loop_joint_is_the_joint_of_a_tree(kind: str, seed: int) -> None:
    """Every kind: the bodies accelerate alike, and move in the same coordinates."""
    tree, loop = pair(kind, seed)
    q, v, _ = random_state(tree, seed)
    motion = qdot.kinematics(tree, q, v)
    X = motion.poses[2]
    q_loop = np.array([*q[:7], *X.quaternion().normalized(), *X.position], float)
    v_loop = np.array([*v[:6], *motion.velocities[2]], float)
    joint, first = tree.bodies[1].joint, motion.poses[1] @ tree.bodies[1].placement
    found = nearest_coordinates(joint, first.inv() @ X)
    if any(x != y for x, y in zip(found, joint.neutral(), strict=True)):  # it had to be found
        close(np.array(qdot_pose(joint, found)), np.array(qdot_pose(joint, q[7:])), 1e-12)
    assert max((abs(x) for x in loop_residuals(loop, list(q_loop))["held"]), default=0) < 1e-12

    a = qdot.forward_dynamics(tree, q, v, np.zeros(tree.nv))
    b, multipliers = solve(loop, q_loop, v_loop, np.zeros(12))
    assert len(multipliers) == 6 - joint.nv
    expected = qdot.kinematics(tree, q, v, a).accelerations
    accelerations = qdot.kinematics(loop, q_loop, v_loop, np.array(b, float)).accelerations
    for k in (1, 2):
        close(list(accelerations[k]), list(expected[k]), TOLERANCE)


def qdot_pose(joint, q):
    return joint.transform(q).entries()


def test_an_open_loop_has_residuals() -> None:
    q, _ = four_bar_state(0.9, 0.0)
    bent = q + [0, 0, 0.1]
    residual = np.array(loop_residuals(four_bar(), list(bent))["closing"], float)
    assert 0.5 < np.linalg.norm(residual) / np.linalg.norm(end_of_four_bar(bent)) < 2  # along a screw, not straight


@pytest.mark.parametrize("angle", [0.0, 1.0, 3.0, np.pi - 1e-9, np.pi, np.pi + 1e-9, 4.0])
@pytest.mark.parametrize("joint", [Revolute("z"), Cylindrical("z"), Planar("z"), Spherical()], ids=repr)
def test_a_millimetre_is_a_millimetre(joint, angle: float) -> None:
    """However far the joint has turned, also past half a turn, where a rotation has two logarithms."""
    world = qdot.Mechanism("held")
    world.add("body", Free(), Inertia.about_com(1.0, (0, 0, 0), (1, 1, 1)))
    world.close("hold", joint, "world", "body")
    off = (0.4, -0.3, 1e-3) if isinstance(joint, Planar) else (1e-3, 0, 0)
    q = [np.cos(angle / 2), 0, 0, np.sin(angle / 2), *off]
    close(np.linalg.norm(qdot.loop_residuals(qdot.assemble(world), q)["hold"]), 1e-3, 1e-9)


# ── the model's own constraints ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(6))
def test_a_weld_holds_a_frame(seed: int) -> None:
    """A frame welded to the world where it is, at rest: it has no acceleration; what it carries does no work."""
    tree = random_tree(seed, 5, MOVING, branching=0.3)
    q, _, tau = random_state(tree, seed)
    v = np.zeros(tree.nv)
    at = qdot.frame_pose(tree, q, "site4")
    weld = WeldRecord("weld", "world", at, "site4", Vec3(0, 0, 0))
    model = qdot.assemble(replace(tree.description, constraints=(weld,)))
    a, multipliers = solve(model, q, v, tau)
    J = qdot.jacobian(model, q, "site4")
    close(J @ np.array(a, float), np.zeros(6), TOLERANCE)
    rows = np.array(constraint_jacobian(model, list(q)), float)
    close(np.linalg.matrix_rank(rows, tol=1e-9), np.linalg.matrix_rank(J, tol=1e-9), 0)
    passive = qdot.passive_forces(model, q, v)
    close(
        qdot.mass_matrix(model, q) @ a + qdot.bias_forces(model, q, v) - passive, tau + rows.T @ multipliers, TOLERANCE
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_coupling_is_a_change_of_coordinates(seed: int) -> None:
    """q₂ = 0.1 + 2 q₁ + 0.3 q₁²: as a constraint, and by q = h(y) (T14)."""

    def together(y):
        return [y[0], 0.1 + 2 * y[0] + 0.3 * y[0] ** 2]

    free = double_pendulum((0.8, 0.5), (1.2, 0.7))
    driver, follower = (body.joint_name for body in free.bodies)
    gear = CouplingRecord("gear", follower, driver, (0.1, 2.0, 0.3))
    model = qdot.assemble(replace(free.description, constraints=(gear,)))
    y, s, *tau = np.random.default_rng(seed).normal(size=4)
    q, v = np.array(together([y])), formulations.partials(together, [y]) @ [s]
    found, _ = solve(model, q, v, tau)
    M, c, force, _ = formulations.transformed(
        together, [y], [s], qdot.mass_matrix(free, q), velocity_forces=qdot.bias_forces(free, q, v), force=tau
    )
    y_ddot = (force - c) / M[0]
    close(found, formulations.partials(together, [y]) @ y_ddot + formulations.rate_bias(together, [y], [s]), TOLERANCE)


def test_inactive_constraints_do_nothing() -> None:
    free = double_pendulum()
    off = CouplingRecord("gear", free.bodies[1].joint_name, free.bodies[0].joint_name, (0.0, 2.0), active=False)
    model = qdot.assemble(replace(free.description, constraints=(off,)))
    a, multipliers = solve(model, [0.3, 0.4], [1, 2], [0.1, 0.2])
    close(a, qdot.forward_dynamics(free, [0.3, 0.4], [1, 2], [0.1, 0.2]), 1e-13)
    assert multipliers == []


# ── a user's constraints ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_those_of_jacobians(seed: int) -> None:
    """φ(q) = a site's place, ψ(q, v) = its velocity: both give the site's Jacobian and J̇ v, quaternions or not."""
    model = random_tree(seed, 4, MOVING)
    q, v, _ = random_state(model, seed)
    J, bias = qdot.jacobian(model, q, "site3")[3:], qdot.bias_acceleration(model, q, v, "site3")[3:]

    def place(at):
        return list(kinematics(model, at).pose("site3").position)

    def velocity(at, speed):
        return list(kinematics(model, at, speed).velocity("site3").lin)

    for options in ({"holonomic": place}, {"nonholonomic": velocity}):
        rows, rest = constraint_rows(model, list(q), list(v), **options)
        close(rows, J, TOLERANCE)
        close(rest, bias, TOLERANCE)


def test_chaplygins_sleigh() -> None:
    """A blade at distance b behind the centre of mass: u̇ = b ω², (I + m b²) ω̇ = -m b ω u."""
    m, inertia, b = 2.3, 0.4, 0.35
    world = qdot.Mechanism("sleigh", gravity=(0, 0, -9.81))
    world.add("sleigh", Planar("z"), Inertia.about_com(m, (b, 0, 0), (1.0, 1.0, inertia)))
    model = qdot.assemble(world)

    def no_slip(q, v):
        return [-sin(q[0]) * v[1] + cos(q[0]) * v[2]]

    angle, w, u = 0.8, 1.3, 0.9
    q, v = [angle, 0.2, -0.4], [w, u * np.cos(angle), u * np.sin(angle)]
    a, _ = solve(model, q, v, [0, 0, 0], nonholonomic=no_slip)
    forward = a[1] * np.cos(angle) + a[2] * np.sin(angle)
    close([a[0], forward], [-m * b * w * u / (inertia + m * b**2), b * w**2], 1e-13)


def test_symbols() -> None:
    """A double pendulum whose second rod is held upright: M₁₁ and P of one pendulum with both masses."""
    m1, m2, l1, l2, g = sympy.symbols("m1 m2 l1 l2 g", positive=True)
    model = double_pendulum((l1, l2), (m1, m2), g)
    q, v = sympy.symbols("q v", real=True)
    a, _ = solve(model, [q, -q], [v, -v], [0, 0], holonomic=lambda x: [x[0] + x[1]])
    assert sympy.simplify(a[0] + g / l1 * sympy.sin(q)) == 0
    assert sympy.simplify(a[0] + a[1]) == 0


def test_public_compiled_and_in_batches() -> None:
    call = function(constrained_forward_dynamics, needs_inertia=True)
    model = four_bar()
    states = [four_bar_state(crank, 1.0 + crank) for crank in (0.4, 1.0, 1.9)]
    q, v = (np.array(column) for column in zip(*states, strict=True))
    tau = np.zeros(3)
    a, multipliers = call(model, q, v, tau)
    assert a.shape == (3, 3)
    assert multipliers.shape == (3, 5)
    for k in range(3):
        close(a[k], solve(model, q[k], v[k], tau)[0], 1e-11)
    open_, wrenches = four_bar(closed=False), {"end": (0, 0, 0, 0.1, 0.2, 0)}
    pulled, _ = call(open_, q, v, tau, holonomic=end_of_four_bar, wrenches=wrenches)
    close(pulled, a, 1e-9)  # the pin takes up what pulls at it
    free, none = call(open_, q[0], v[0], tau)
    close(free, qdot.forward_dynamics(open_, q[0], v[0], tau), 1e-12)
    assert none.shape == (0,)


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────


def twice(q):
    """One angle held in two ways, that agree where it rests and contradict each other where it turns."""
    return [q[0], q[0] + q[0] ** 2]


def test_contradictions_are_refused() -> None:
    """J = (1, 1), J̇ v = (0, 2 v²) at q = 0: numbers and batches are refused, a program gives no number."""
    model, tau = double_pendulum(), [0.0, 0.0]
    at_rest, _ = qdot.constrained_forward_dynamics(model, [0.0, 0.3], [0.0, 1.0], tau, holonomic=twice)
    close(at_rest[0], 0, 1e-12)
    for v in ([1.0, 0.0], np.array([[0.0, 1.0], [1.0, 0.0]])):
        with pytest.raises(ModelError, match="row 1 of holonomic and nonholonomic contradicts"):
            qdot.constrained_forward_dynamics(model, [0.0, 0.3], v, tau, holonomic=twice)
    program = qdot.compile(constrained_forward_dynamics, model, holonomic=twice)
    assert np.isnan(program([0.0, 0.3], [1.0, 0.0], tau)[0]).all()
    close(program([0.0, 0.3], [0.0, 1.0], tau)[0], at_rest, TOLERANCE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"holonomic": 5}, "holonomic is a function"),
        ({"holonomic": lambda q: q[0]}, "returns a list"),
        ({"holonomic": lambda q: [np.sin(q[0])]}, "qdot.algebra.sin"),
        ({"holonomic": lambda q: ["a"]}, "entry 0"),
        ({"nonholonomic": lambda q: [q[0]]}, "nonholonomic"),
        ({"nonholonomic": lambda q, v: v[0]}, "returns a list"),
    ],
)
def test_functions_that_are_refused(options, words: str) -> None:
    with pytest.raises(QdotError, match=words):
        qdot.constrained_forward_dynamics(double_pendulum(), [0.1, 0.2], [0, 0], [0, 0], **options)


@pytest.mark.parametrize("q", [3.5, -20.0, 0.0, 40.0])
def test_a_nut_is_closed_after_any_number_of_turns(q: float) -> None:
    """A free nut held by a screw: its residual is zero wherever the screw says it is, and its pitch counts turns."""
    screw = Helical("z", 0.05)
    world = qdot.Mechanism("nut")
    world.add("nut", Free(), random_inertia(np.random.default_rng(0)))
    world.close("thread", screw, "world", "nut")
    model = qdot.assemble(world)
    X = screw.transform([q])
    at = np.array([*X.quaternion(), *X.position], dtype=float)
    close(np.array(qdot.loop_residuals(model, at)["thread"], dtype=float), np.zeros(5), 1e-12)
    close(np.array(nearest_coordinates(screw, X)), np.array([q]), 1e-9)
