"""Textbook systems derived by sympy.physics.mechanics, Lagrange's and Kane's way, against ours.

SymPy's equations are evaluated in double precision at random states; 1e-10 relative to the largest entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy.physics import mechanics

import qdot
from qdot.algebra import cos, sin
from qdot.algorithms.closure import constrained_forward_dynamics
from qdot.algorithms.kinematics import kinematics
from qdot.joints import Compound, Prismatic, Revolute, Spherical
from qdot.spatial import Inertia
from tests.formulations.systems import FOUR_BAR, GRAVITY, GROUND, end_of_four_bar, four_bar, four_bar_state
from tests.laws.trees import close

TOLERANCE = 1e-10
N = mechanics.ReferenceFrame("N")
t = mechanics.dynamicsymbols._t


def accelerations(method: Any, q: list[Any], at: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """q̈ of a `LagrangesMethod`, at numbers for q and q̇."""
    values = dict(zip([x.diff(t) for x in q], speed, strict=True)) | dict(zip(q, at, strict=True))
    M, F = (np.array(x.subs(values).evalf(), dtype=float) for x in (method.mass_matrix_full, method.forcing_full))
    n = len(q)
    return np.linalg.solve(M, F).ravel()[n : 2 * n]


@pytest.fixture(scope="module")
def cart_with_pendulums() -> tuple[Any, list[Any]]:
    """A cart of 2 kg with two point masses on rods; angles are relative, from the vertical."""
    q = list(mechanics.dynamicsymbols("x a b"))
    x, a, b = q
    places = [(x, 0), (x + sympy.Rational(4, 5) * sympy.sin(a), -sympy.Rational(4, 5) * sympy.cos(a))]
    places.append((places[1][0] + sympy.sin(a + b) / 2, places[1][1] - sympy.cos(a + b) / 2))
    K = P = sympy.Integer(0)
    for (px, pz), m in zip(places, (2, sympy.Rational(6, 5), sympy.Rational(7, 10)), strict=True):
        pz = sympy.sympify(pz)
        K += m * (px.diff(t) ** 2 + pz.diff(t) ** 2) / 2
        P += m * sympy.Float(GRAVITY) * pz
    method = mechanics.LagrangesMethod(K - P, q)
    method.form_lagranges_equations()
    return method, q


@pytest.mark.parametrize("seed", range(4))
def test_double_pendulum_on_a_cart(cart_with_pendulums, seed: int) -> None:
    world = qdot.Mechanism("cart", gravity=(0, 0, -GRAVITY))
    cart = world.add("cart", Prismatic("x"), Inertia.point(2.0))
    upper = cart.add("upper", Revolute("-y"), Inertia.point(1.2, (0, 0, -0.8)))
    upper.add("lower", Revolute("-y"), Inertia.point(0.7, (0, 0, -0.5)), at=(0, 0, -0.8))
    at, speed = np.random.default_rng(seed).normal(size=(2, 3))
    ours = qdot.forward_dynamics(qdot.assemble(world), at, speed, np.zeros(3))
    close(ours, accelerations(*cart_with_pendulums, at, speed), TOLERANCE)


@pytest.fixture(scope="module")
def top() -> tuple[Any, list[Any]]:
    """A heavy symmetric top by Euler's angles z, x, z; its point is fixed, its centre at 0.3 m."""
    q = list(mechanics.dynamicsymbols("phi theta psi"))
    phi, theta, psi = q
    along = psi.diff(t) + phi.diff(t) * sympy.cos(theta)
    across = theta.diff(t) ** 2 + (phi.diff(t) * sympy.sin(theta)) ** 2
    K = (sympy.Float(0.25) * across + sympy.Float(0.06) * along**2) / 2  # about the fixed point
    P = sympy.Float(1.5 * GRAVITY * 0.3) * sympy.cos(theta)
    method = mechanics.LagrangesMethod(K - P, q)
    method.form_lagranges_equations()
    return method, q


@pytest.mark.parametrize("seed", range(4))
def test_spinning_top(top, seed: int) -> None:
    """In Euler's angles; and on a ball joint, where it has the same angular acceleration."""
    body = Inertia.about_com(1.5, (0, 0, 0.3), (0.25 - 1.5 * 0.09, 0.25 - 1.5 * 0.09, 0.06))
    angles, ball = qdot.Mechanism("top", gravity=(0, 0, -GRAVITY)), qdot.Mechanism("top", gravity=(0, 0, -GRAVITY))
    angles.add("top", Compound(Revolute("z"), Revolute("x"), Revolute("z")), body)
    ball.add("top", Spherical(), body)
    by_angles, by_ball = qdot.assemble(angles), qdot.assemble(ball)
    rng = np.random.default_rng(seed)
    at, speed = np.array([rng.normal(), rng.uniform(0.3, 2.5), rng.normal()]), rng.normal(size=3) * [1, 1, 20]
    a = qdot.forward_dynamics(by_angles, at, speed, np.zeros(3))
    close(a, accelerations(*top, at, speed), TOLERANCE)
    motion = qdot.kinematics(by_angles, at, speed, a)
    q = np.array(list(motion.poses[1].quaternion().normalized()), float)
    w = np.array(list(motion.velocities[1].ang), float)
    close(qdot.forward_dynamics(by_ball, q, w, np.zeros(3)), list(motion.accelerations[1].ang), 1e-9)


@pytest.mark.parametrize("crank", [0.4, 1.5, 2.6])
def test_four_bar_by_loop_closure(crank: float) -> None:
    """SymPy holds the end by multipliers, we by a joint that closes the loop."""
    q = list(mechanics.dynamicsymbols("a b c"))
    K = P = x = y = angle = sympy.Integer(0)
    for (length, mass), turn in zip(FOUR_BAR.values(), q, strict=True):
        angle = angle + turn
        cx, cy = x + length / 2 * sympy.cos(angle), y + length / 2 * sympy.sin(angle)
        K += mass * (cx.diff(t) ** 2 + cy.diff(t) ** 2) / 2 + mass * length**2 / 12 * angle.diff(t) ** 2 / 2
        P += mass * GRAVITY * cy
        x, y = x + length * sympy.cos(angle), y + length * sympy.sin(angle)
    method = mechanics.LagrangesMethod(K - P, q, hol_coneqs=[x - GROUND, y])
    method.form_lagranges_equations()
    at, speed = four_bar_state(crank, 2.0)
    close(end_of_four_bar(at), [0, 0], 1e-12)
    ours, _ = constrained_forward_dynamics(four_bar(), list(at), list(speed), [0.0] * 3)
    close(ours, accelerations(method, q, at, speed), TOLERANCE)


RADIUS, MASS = 0.35, 1.4


@pytest.fixture(scope="module")
def rolling_disc() -> tuple[Any, list[Any], list[Any]]:
    """A thin disc on a plane, z up, by yaw, lean and spin: the point in contact is at rest, wherever it is."""
    q = list(mechanics.dynamicsymbols("q1:4"))
    u = list(mechanics.dynamicsymbols("u1:4"))
    yaw = N.orientnew("Y", "Axis", [q[0], N.z])
    lean = yaw.orientnew("L", "Axis", [q[1], yaw.x])
    disc = lean.orientnew("R", "Axis", [q[2], lean.y])
    rates = dict(zip([x.diff(t) for x in q], u, strict=True))
    disc.set_ang_vel(N, disc.ang_vel_in(N).subs(rates))
    contact = mechanics.Point("C")
    contact.set_vel(N, 0)
    centre = contact.locatenew("O", RADIUS * lean.z)
    centre.v2pt_theory(contact, N, disc)
    across, along = MASS * RADIUS**2 / 4, MASS * RADIUS**2 / 2
    inertia = mechanics.inertia(disc, across, along, across)
    body = mechanics.RigidBody("disc", centre, disc, MASS, (inertia, centre))
    method = mechanics.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=[x.diff(t) - y for x, y in zip(q, u, strict=True)])
    method.kanes_equations([body], [(centre, -MASS * GRAVITY * N.z)])
    return method, q, u


@pytest.mark.parametrize("seed", range(4))
def test_rolling_disc(rolling_disc, seed: int) -> None:
    """Kane's equations have three speeds; ours have six, and A(q) v = 0 for the point in contact."""
    method, q, u = rolling_disc
    at, speed = np.random.default_rng(seed).normal(size=(2, 3))
    at[1] *= 0.5
    values = dict(zip(q + u, [*at, *speed], strict=True))
    M, F = (np.array(x.subs(values).evalf(), dtype=float) for x in (method.mass_matrix, method.forcing))
    expected = np.linalg.solve(M, F).ravel()

    world = qdot.Mechanism("disc", gravity=(0, 0, -GRAVITY))
    steps = Prismatic("x"), Prismatic("y"), Prismatic("z"), Revolute("z"), Revolute("x"), Revolute("y")
    across, along = MASS * RADIUS**2 / 4, MASS * RADIUS**2 / 2
    world.add("disc", Compound(*steps), Inertia.about_com(MASS, (0, 0, 0), (across, along, across)))
    model = qdot.assemble(world)

    def slip(place, v):
        yaw, lean = place[3], place[4]
        V = kinematics(model, place, v).velocity("disc")
        up = type(V.lin)(sin(yaw) * sin(lean), -cos(yaw) * sin(lean), cos(lean))
        return list(V.lin - V.ang.cross(up * RADIUS))

    place = np.array([0.2, -0.3, RADIUS * np.cos(at[1]), *at])
    turning = [0, 0, 0, *speed]
    v = np.array([*(-np.array(slip(place, turning), float)), *speed])  # the centre follows the contact
    assert np.abs(slip(place, v)).max() < 1e-12
    a, multipliers = constrained_forward_dynamics(model, list(place), list(v), [0.0] * 6, nonholonomic=slip)
    close(a[3:], expected, TOLERANCE)
    assert multipliers[2] > 0  # the ground pushes
