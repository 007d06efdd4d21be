"""Laws of motion without forces: Jacobians, velocities, accelerations, and the configuration manifold."""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot import Coordinates, Orientation
from qdot.algebra import Vec3, as_array, derivative
from qdot.algebra.lie import log_se3
from qdot.algorithms import configuration, jacobian, kinematics
from tests.laws.trees import SEEDS, case, close

EXACT = 1e-11
"""Derivatives by dual numbers are exact: what is left is the rounding of some hundred sums."""


@pytest.mark.parametrize("seed", SEEDS)
def test_retract_and_difference_are_inverse(seed: int) -> None:
    c = case(seed)
    step = np.clip(c.v, -1.2, 1.2)  # three rotation components of 1.2 rad stay below half a turn
    there = qdot.retract(c.model, c.q, step)
    close(qdot.difference(c.model, c.q, there), step, EXACT)
    close(qdot.normalized(c.model, there), there, EXACT)
    close(qdot.difference(c.model, c.q, c.q), np.zeros(c.model.nv), EXACT)
    flow = derivative(lambda dv: configuration.retract(c.model, c.q, dv), c.v)
    close(qdot.configuration_rate(c.model, c.q, c.v), flow, EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_times_velocity_is_the_twist(seed: int) -> None:
    """By central differences of the pose on the manifold: h² ≈ 1e-10 of truncation, 1e-16/h ≈ 1e-11 of rounding."""
    c = case(seed)
    m, h = c.model, 1e-5
    frame = f"site{len(m.bodies) - 1}"
    ahead, behind = (qdot.frame_pose(m, qdot.retract(m, c.q, s * h * c.v), frame) for s in (1, -1))
    moved = behind.inv() @ ahead
    phi, rho = log_se3(moved.quaternion(), moved.position)
    twist = np.array([*phi, *rho]) / (2 * h)
    close(qdot.jacobian(m, c.q, frame, coordinates=Coordinates.BODY) @ c.v, twist, 2e-8)
    motion = qdot.kinematics(m, c.q, c.v)
    for coordinates in Coordinates:
        J = qdot.jacobian(m, c.q, frame, coordinates=coordinates)
        close(J @ c.v, list(motion.velocity(frame, coordinates)), EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_acceleration_is_rate_of_velocity(seed: int) -> None:
    c = case(seed)
    m, nv = c.model, c.model.nv
    frame = f"site{len(m.bodies) - 1}"
    motion = qdot.kinematics(m, c.q, c.v, c.a)
    for coordinates in Coordinates:

        def velocity(d: list, coordinates: Coordinates = coordinates) -> list:
            at = configuration.retract(m, c.q, d[:nv])
            v = [x + y for x, y in zip(c.v, d[nv:], strict=True)]
            return list(kinematics.kinematics(m, at, v).velocity(frame, coordinates))

        rate = derivative(velocity, [*c.v, *c.a])
        close(list(motion.acceleration(frame, coordinates)), rate, EXACT)
        J = qdot.jacobian(m, c.q, frame, coordinates=coordinates)
        close(J @ c.a + qdot.bias_acceleration(m, c.q, c.v, frame, coordinates=coordinates), rate, EXACT)


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_points_move_as_their_body_does(seed: int) -> None:
    """Position, velocity and acceleration of a point (U2), by differentiating its position twice."""
    c = case(seed)
    m, nv = c.model, c.model.nv
    frame, r = "site0", (0.3, -0.2, 0.5)
    point = qdot.kinematics(m, c.q, c.v, c.a).point(frame, r)

    def position(q: list) -> list:
        return list(kinematics.frame_pose(m, q, frame) @ Vec3(*r))

    def velocity(d: list) -> list:
        q = configuration.retract(m, c.q, d[:nv])
        v = [x + y for x, y in zip(c.v, d[nv:], strict=True)]
        return derivative(lambda e: position(configuration.retract(m, q, e)), v)

    close(list(point.position), position(c.q), EXACT)
    close(list(point.velocity), velocity([0.0] * (2 * nv)), EXACT)
    close(list(point.acceleration), derivative(velocity, [*c.v, *c.a]), EXACT)
    close(qdot.point_jacobian(m, c.q, frame, r) @ c.v, list(point.velocity), EXACT)
    w = qdot.kinematics(m, c.q, c.v).velocity(frame).ang
    close(w.dot(point.centripetal), 0.0, EXACT)  # towards the axis of rotation, at right angles to it


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_link_jacobians_by_direct_differentiation(seed: int) -> None:
    """J_v = ∂p_C/∂q (K6); J_ω by the rotation's rate, Ṙ Rᵀ = ω̃."""
    c = case(seed)
    m = c.model
    for body, (J_v, J_w) in zip(m.bodies, qdot.link_jacobians(m, c.q), strict=True):

        def centre(dv: list, i: int = body.index) -> list:
            X = kinematics.world_poses(m, configuration.retract(m, c.q, dv))[i]
            return [*(X @ m.bodies[i - 1].inertia.com), X.rotation]

        *p_dot, R_dot = derivative(centre, c.v)
        R = kinematics.world_poses(m, c.q)[body.index].rotation
        w = as_array(R_dot @ R.T)
        close(J_v @ c.v, p_dot, EXACT)
        close(J_w @ c.v, [w[2, 1], w[0, 2], w[1, 0]], EXACT)


@pytest.mark.parametrize("orientation", Orientation)
@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_analytic_jacobian_by_differences(seed: int, orientation: Orientation) -> None:
    """Central differences with h = 1e-6: 1e-12 of truncation times large third derivatives near singular angles."""
    c = case(seed)
    m, h = c.model, 1e-6
    J = qdot.analytic_jacobian(m, c.q, "site0", orientation=orientation)

    def coordinates(q: np.ndarray) -> np.ndarray:
        X = qdot.frame_pose(m, q, "site0")
        return np.array([*jacobian._COORDINATES_OF[orientation](X), *X.position])

    columns = [
        (coordinates(qdot.retract(m, c.q, h * e)) - coordinates(qdot.retract(m, c.q, -h * e))) / (2 * h)
        for e in np.eye(m.nv)
    ]
    close(J, np.transpose(columns), 1e-6)
    # its position rows are those of the geometric Jacobian; its rotation rows differ by the rates of the coordinates
    close(J[-3:], qdot.jacobian(m, c.q, "site0")[3:], EXACT)


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_centre_of_mass_jacobian(seed: int) -> None:
    c = case(seed)
    rate = derivative(
        lambda dv: qdot.algorithms.momentum.center_of_mass(c.model, configuration.retract(c.model, c.q, dv)), c.v
    )
    close(qdot.com_jacobian(c.model, c.q) @ c.v, rate, EXACT)
