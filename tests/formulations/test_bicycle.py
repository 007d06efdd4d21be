"""The benchmark bicycle: Meijaard, Papadopoulos, Ruina, Schwab, Proc. R. Soc. A 463 (2007), tables 1 and 2, eq. (A 22).

    M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f,   q = (lean, steer),

about upright and straight running at speed v. Ours is the whole bicycle, nine freedoms and two wheels that roll, and
its acceleration differentiated exactly. The matrices are printed to 14 digits; compared to 1e-10 of the largest entry.
"""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
import pytest

import qdot
from qdot.algebra import Scalar, Scalars, Sym3, Vec3, derivative
from qdot.algorithms.closure import constrained_forward_dynamics
from qdot.algorithms.constrained import nearest
from qdot.algorithms.kinematics import kinematics
from qdot.algorithms.maps import partials
from qdot.joints import Compound, Prismatic, Revolute
from qdot.spatial import Inertia
from tests.laws.trees import close

GRAVITY = 9.81
BASE, TRAIL, TILT = 1.02, 0.08, pi / 10
REAR, FRONT = 0.3, 0.35
WHEELS = {"rear": REAR, "front": FRONT}

M = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
K0 = [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]
K2 = [[0, 76.59734589573222], [0, 2.65431523794604]]
C1 = [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]]

LEAN, STEER = 4, 7


def bicycle() -> qdot.Model:
    """x forward, y to the right, z down. The frame's origin is where the rear wheel touches the ground."""
    world = qdot.Mechanism("bicycle", gravity=(0, 0, GRAVITY))
    steps = Prismatic("x"), Prismatic("y"), Prismatic("z"), Revolute("z"), Revolute("x"), Revolute("y")
    frame = world.add(
        "frame", Compound(*steps), Inertia.about_com(85.0, (0.3, 0, -0.9), Sym3(9.2, 0, 2.4, 11.0, 0, 2.8))
    )
    frame.add("rear", Revolute("y"), Inertia.about_com(2.0, (0, 0, 0), (0.0603, 0.12, 0.0603)), at=(0, 0, -REAR))
    on_axis = BASE + TRAIL
    fork = frame.add(
        "fork",
        Revolute((sin(TILT), 0, cos(TILT))),
        Inertia.about_com(4.0, (0.9 - on_axis, 0, -0.7), Sym3(0.05892, 0, -0.00756, 0.06, 0, 0.00708)),
        at=(on_axis, 0, 0),
    )
    fork.add("front", Revolute("y"), Inertia.about_com(3.0, (0, 0, 0), (0.1405, 0.28, 0.1405)), at=(-TRAIL, 0, -FRONT))
    return qdot.assemble(world)


MODEL = bicycle()


def slip(q: Scalars, v: Scalars) -> list[Scalar]:
    """Velocity of the lowest point of each wheel."""
    motion, down = kinematics(MODEL, q, v), Vec3(0, 0, 1)
    rows: list[Scalar] = []
    for name, radius in WHEELS.items():
        V, axle = motion.velocity(name), motion.pose(name).rotation @ Vec3(0, 1, 0)
        lowest = down - axle * down.dot(axle)
        rows += V.lin + V.ang.cross(lowest * (radius / lowest.norm()))
    return rows


def rolling(q: Scalars, speed: float, lean_rate: Scalar, steer_rate: Scalar) -> list[Scalar]:
    """The velocities without slip that go with these three."""
    given = {0: speed, LEAN: lean_rate, STEER: steer_rate}
    rows = partials(lambda v: slip(q, v), [0] * MODEL.nv)
    rows += [[1 if i == k else 0 for i in range(MODEL.nv)] for k in given]
    return nearest(list, [0] * MODEL.nv, rows, [0] * 6 + list(given.values()))[0]


def accelerations(
    speed: float, lean: Scalar, steer: Scalar, lean_rate: Scalar, steer_rate: Scalar, tau: Scalars
) -> list[Scalar]:
    """(lean, steer): pitch and height follow them to second order only, so they stay zero here."""
    q: list[Scalar] = [0.0] * MODEL.nq
    q[LEAN], q[STEER] = lean, steer
    forces: list[Scalar] = [0.0] * MODEL.nv
    forces[LEAN], forces[STEER] = tau
    v = rolling(q, speed, lean_rate, steer_rate)
    a, _ = constrained_forward_dynamics(MODEL, q, v, forces, nonholonomic=slip)
    return [a[LEAN], a[STEER]]


def by(speed: float, first: int) -> np.ndarray:
    """The accelerations' derivatives by entries first and first + 1 of (lean, steer, their rates, their torques)."""
    columns = []
    for k in (first, first + 1):
        direction = [1 if i == k else 0 for i in range(6)]
        columns.append(derivative(lambda x: accelerations(speed, *x[:4], x[4:]), direction))
    return np.array(columns, float).T


def test_dofs_are_where_the_test_thinks() -> None:
    assert MODEL.dof_names()[STEER] == MODEL.body("fork").joint_name
    assert MODEL.nv == 9
    assert np.abs(slip([0.0] * 9, rolling([0.0] * 9, 3.0, 0.0, 0.0))).max() < 1e-14
    close(rolling([0.0] * 9, 3.0, 0.0, 0.0)[6], -3.0 / REAR, 1e-14)


@pytest.fixture(scope="module")
def mass() -> np.ndarray:
    return np.linalg.inv(by(0.0, 4))


def test_mass_matrix(mass) -> None:
    close(mass, M, 1e-10)


def test_stiffness_and_damping(mass) -> None:
    rest, moving = -mass @ by(0.0, 0), -mass @ by(1.0, 0)
    close(rest, GRAVITY * np.array(K0), 1e-10)
    close(moving - rest, K2, 1e-10)
    close(-mass @ by(1.0, 2), C1, 1e-10)
    close(-mass @ by(0.0, 2), np.zeros((2, 2)), 1e-10)


def test_it_is_stable_at_five_metres_per_second(mass) -> None:
    """The eigenvalues of table 2 at v = 5 m/s: castering, capsize, weave."""
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [by(5.0, 0), by(5.0, 2)]])
    found = sorted(np.linalg.eigvals(A), key=lambda x: (x.real, x.imag))
    close([x.real for x in found], [-14.07838969279822, -0.77534188219585, -0.77534188219585, -0.32286642900409], 1e-9)
    close(abs(found[1].imag), 4.46486771378823, 1e-9)
