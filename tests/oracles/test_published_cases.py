"""Published results: benchmark trajectories, tabulated robots, classical frequencies and control gains.

Each test copies the data and reference values of its source; the tolerances are those with which the references are
known, far above what the integrator leaves. Trajectories are integrated by DOP853 with rtol = atol = 1e-12, whose
global error stays near 1e-10 over the few periods here; a wrong force shows in the first digits.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.polynomial.laguerre import lagroots
from scipy.integrate import solve_ivp
from scipy.linalg import eigh, solve_continuous_are

import qdot
from qdot import Mechanism, Model
from qdot.algebra import derivative
from qdot.algorithms import aba, bias
from qdot.joints import Free, Joint, Prismatic, Revolute, Spherical
from qdot.model.library import double_pendulum, n_pendulum, pendulum, puma560
from qdot.spatial import Inertia


def motion(model: Model, q0, v0, duration: float, *, event: Callable | None = None, rtol: float = 1e-12):
    """The free motion of a model: q̇ = rate(q, v), v̇ = forward dynamics.

    The stages of a step leave the unit quaternions a little, hence the normalisation; its ends are on them again to the
    order of the method.
    """
    at_rest = np.zeros(model.nv)

    def rate(t, y):
        q, v = qdot.normalized(model, y[: model.nq]), y[model.nq :]
        return np.concatenate([qdot.configuration_rate(model, q, v), qdot.forward_dynamics(model, q, v, at_rest)])

    solution = solve_ivp(rate, (0, duration), [*q0, *v0], "DOP853", rtol=rtol, atol=1e-12, events=event)
    assert solution.success
    return solution


def final_state(model: Model, solution) -> tuple[np.ndarray, np.ndarray]:
    return qdot.normalized(model, solution.y[: model.nq, -1]), solution.y[model.nq :, -1]


# ── pendulums ────────────────────────────────────────────────────────────────────────────────────


def test_simple_pendulum():
    """IFToMM/LIM benchmark A01 (González et al. 2006), iftomm-multibody.org/benchmark.

    A point mass on a massless rod, released horizontally at x = -L.
    """
    model = pendulum(length=1.0, mass=1.0, gravity=9.81)  # hangs along -z and turns about y, so q = π/2 is at x = -1
    solution = motion(model, [np.pi / 2], [0.0], 10.0)
    q, _ = final_state(model, solution)
    x, _, z = qdot.frame_pose(model, q, "tip").position
    assert x == pytest.approx(-0.27508746257611727, abs=1e-6)
    assert z == pytest.approx(-0.9614192050991249, abs=1e-6)


def test_period_of_the_simple_pendulum():
    """The same: 4 K(sin²(π/4)) √(L/g), between passages of the lowest point in the same direction."""

    def lowest(t, y):
        return y[0]

    lowest.direction = -1
    solution = motion(pendulum(), [np.pi / 2], [0.0], 10.0, event=lowest)
    passages = solution.t_events[0]
    assert len(passages) == 4
    assert np.diff(passages) == pytest.approx(2.3678419475762373, abs=1e-7)


def test_double_pendulum():
    """Classical; the reduced Lagrangian and the Cartesian multiplier form agree on it: both rods horizontal at rest."""
    model = double_pendulum(lengths=(1.0, 1.0), masses=(1.0, 1.0), gravity=9.81)
    solution = motion(model, [-np.pi / 2, 0.0], [0.0, 0.0], 2.0)  # towards +x
    q, _ = final_state(model, solution)
    x, _, z = qdot.frame_pose(model, q, "tip").position
    assert x == pytest.approx(-1.434124817464475, abs=1e-6)
    assert z == pytest.approx(-1.1298701956473152, abs=1e-6)


def test_frequencies_of_a_hanging_chain():
    """Classical: n equal masses on n equal rods swing with ω_k = √(g x_k / l), x_k the roots of Laguerre L_n.

    The stiffness ∂g/∂q is exact, by dual numbers; the eigenvalues and the roots lose three digits or so.
    """
    n, length, gravity = 20, 0.25, 9.81
    model = n_pendulum(n, length, gravity=gravity)
    hanging = np.zeros(n)
    K = np.column_stack([derivative(lambda dq: bias.gravity_forces(model, dq), unit) for unit in np.eye(n)])
    M = qdot.mass_matrix(model, hanging)
    frequencies = np.sqrt(eigh(K, M, eigvals_only=True))
    assert frequencies[0] == pytest.approx(1.6637263210978055, rel=1e-7)
    assert frequencies[1] == pytest.approx(3.821289878873786, rel=1e-7)
    assert frequencies[19] == pytest.approx(51.092250923845214, rel=1e-7)
    roots = lagroots([0.0] * n + [1.0])
    assert frequencies == pytest.approx(np.sqrt(gravity * roots / length), rel=1e-7)


# ── the Puma 560 ─────────────────────────────────────────────────────────────────────────────────

PUMA_POSTURE = np.array([0, np.pi / 4, -np.pi, 0, np.pi / 4, 0])


def test_puma560_gravity_load():
    """Corke, Armstrong-Hélouvry 1994; as computed by the Robotics Toolbox for Python, tests/test_DHRobot.py.

    The zeros are the joints whose axis is along gravity or through the centre of mass beyond it.
    """
    load = qdot.gravity_forces(puma560(), PUMA_POSTURE)
    assert load == pytest.approx([0, 31.63988037835713, 6.035138023010513, 0, 0.028252800000000026, 0], abs=1e-8)


def test_puma560_inertia_matrix():
    """The same source; drives included as N² Jm."""
    M = qdot.mass_matrix(puma560(), PUMA_POSTURE)
    assert M[0, 0] == pytest.approx(3.6593754121527904, abs=1e-8)
    assert M[0, 1] == pytest.approx(-0.4043612460415187, abs=1e-8)
    assert M[1, 1] == pytest.approx(4.41374193363579, abs=1e-8)
    assert M[1, 2] == pytest.approx(0.35089066495641485, abs=1e-8)
    assert M[2, 2] == pytest.approx(0.9378415752150396, abs=1e-8)
    assert M[4, 4] == pytest.approx(0.17134845165700005, abs=1e-8)


def test_puma560_inverse_dynamics():
    """The same source; all joints at unit speed and unit acceleration, without joint friction."""
    tau = qdot.inverse_dynamics(puma560(), PUMA_POSTURE, np.ones(6), np.ones(6))
    assert tau[:3] == pytest.approx([1.9620364868991897, 37.78542983326939, 6.673937322452285], abs=1e-6)


# ── rotating bodies ──────────────────────────────────────────────────────────────────────────────


def test_heavy_top():
    """Géradin, Cardona 2001; Brüls, Cardona, Arnold 2012: a symmetric top about a fixed point, spinning at 150 rad/s.

    Its axis, body y, starts horizontal. Moments are about the centre of mass, 1 m from the fixed point. It turns some
    twenty-four times; the error of the integration stays below 1e-9.
    """
    world = Mechanism("heavy_top", gravity=(0, 0, -9.81))
    top = world.add("top", Spherical(), Inertia.about_com(15.0, (0, 1, 0), (0.234375, 0.46875, 0.234375)))
    top.frame("center", at=(0, 1, 0))
    model = qdot.assemble(world)

    def vertical_speed(t, y):
        return qdot.kinematics(model, y[:4], y[4:]).velocity("center").lin.z

    vertical_speed.direction = 1  # the lowest points of the nutation
    solution = motion(model, [1, 0, 0, 0], [0, 150, -4.61538], 1.0, event=vertical_speed, rtol=1e-11)
    q, _ = final_state(model, solution)
    center = list(qdot.frame_pose(model, q, "center").position)
    assert center == pytest.approx([0.1733439640976475, 0.6400885920743503, -0.7484907911299926], abs=1e-6)
    lowest = [qdot.frame_pose(model, y[:4], "center").position.z for y in solution.y_events[0]]
    assert min(lowest) == pytest.approx(-0.9999999999997377, abs=1e-6)


@pytest.mark.parametrize("joint", [Free(), Spherical()], ids=["free", "spherical"])
def test_dzhanibekov_effect(joint: Joint):
    """Landau, Lifshitz, Mechanics § 37 (Jacobi's elliptic functions): a body spun about its middle axis flips over."""
    world = Mechanism("asymmetric_body", gravity=(0, 0, 0))
    world.add("body", joint, Inertia.about_com(1.0, (0, 0, 0), (1.0, 2.0, 3.0)))
    model = qdot.assemble(world)
    middle = model.nq + 1  # ω₂, in the body's coordinates

    def flip(t, y):
        return y[middle]

    v0 = np.zeros(model.nv)
    v0[:3] = 0.0, 1.0, 0.001
    solution = motion(model, model.neutral(), v0, 45.0, event=flip)
    flips = solution.t_events[0]
    assert len(flips) == 2
    assert flips[1] - flips[0] == pytest.approx(26.828560929167697, abs=1e-5)
    _, v = final_state(model, motion(model, model.neutral(), v0, 20.0))
    assert v[1] == pytest.approx(-0.9990048757708301, abs=1e-5)


# ── control ──────────────────────────────────────────────────────────────────────────────────────


def test_cart_pole_poles_and_regulator():
    """University of Michigan, Control Tutorials for Matlab and Simulink, "Inverted Pendulum: State-Space Methods".

    States x, ẋ, φ, φ̇, with φ from the upright; pushing the cart forward turns the pole towards positive φ, so about -y.
    The linearisation is exact, by dual numbers through the forward dynamics.
    """
    cart_mass, pole_mass, friction, I, gravity, l = 0.5, 0.2, 0.1, 0.006, 9.8, 0.3
    world = Mechanism("cart_pole", gravity=(0, 0, -gravity))
    cart = world.add("cart", Prismatic("x"), Inertia.point(cart_mass), damping=friction)
    cart.add("pole", Revolute("-y"), Inertia.about_com(pole_mass, (0, 0, l), (I, I, I)))
    model = qdot.assemble(world)

    def accelerations(s):
        x, x_rate, phi, phi_rate, force = s
        return aba.forward_dynamics(model, [x, phi], [x_rate, phi_rate], [force, 0.0])

    slopes = np.column_stack([derivative(accelerations, unit) for unit in np.eye(5)])
    A = np.array([[0, 1, 0, 0], slopes[0, :4], [0, 0, 0, 1], slopes[1, :4]])
    B = np.array([[0], [slopes[0, 4]], [0], [slopes[1, 4]]])
    poles = np.sort(np.linalg.eigvals(A).real)
    assert poles[-1] == pytest.approx(5.565107579431315, abs=1e-6)
    assert poles[0] == pytest.approx(-5.6040941255547185, abs=1e-6)

    P = solve_continuous_are(A, B, np.diag([5000.0, 0.0, 100.0, 0.0]), np.eye(1))
    gains = (B.T @ P)[0]
    expected = [-70.71067811865515, -37.83445399345579, 105.52978191603682, 20.923843749209958]
    assert gains == pytest.approx(expected, abs=1e-4)
