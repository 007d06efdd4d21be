"""Derivatives of the dynamics and of frames' motions, and M⁻¹, as Pinocchio computes them.

Tolerance: |x - y| ≤ 1e-9 (1 + max|y|). Both sides work in double precision on sums of some hundreds of products along
at most thirty bodies; derivatives of forward dynamics multiply rounding by the condition of the mass matrix, up to 3e5
in these trees, and by the largest derivative of inverse dynamics.

Only joints whose axes stand still in the body: for others Pinocchio 4.1 leaves out how S changes there. External forces
are left out: Pinocchio's turn with the bodies, qdot's keep their direction in the world.
"""

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_bridge import ANGULAR_FIRST, REFERENCES, Oracle
from test_pinocchio import WITH_CONSTANT_AXES, a_few_frames, pair

from qdot import Coordinates, Model
from qdot.algorithms.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from qdot.algorithms.inverse_mass import inverse_mass_matrix
from qdot.algorithms.kinematic_derivatives import frame_acceleration_derivatives, frame_velocity_derivatives
from qdot.model.library import random_state

TOLERANCE = 1e-9


def assert_close(x, y):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape
    assert np.isfinite(y).all()
    assert np.abs(x - y).max() <= TOLERANCE * (1 + np.abs(y).max())


@pytest.fixture(params=WITH_CONSTANT_AXES)
def case(request):
    """(model, oracle, q, v, a)."""
    model, oracle = pair(request.param)
    assert oracle.is_permutation
    return model, oracle, *(list(x) for x in random_state(model, seed=7))


def in_our_order(oracle: Oracle, q: list[float], matrix: np.ndarray) -> np.ndarray:
    """An nv × nv matrix of Pinocchio's, for qdot's freedoms."""
    T = oracle.T(np.array(q))
    return T.T @ matrix.reshape(T.shape) @ T


def state_of(oracle: Oracle, q: list[float], *vectors: list[float]) -> list[np.ndarray]:
    T = oracle.T(np.array(q))
    return [oracle.q(np.array(q)), *(T @ np.array(x) for x in vectors)]


def test_inverse_dynamics_derivatives(case):
    model, oracle, q, v, a = case
    dq, dv = inverse_dynamics_derivatives(model, q, v, a)
    pin_dq, pin_dv, _ = pin.computeRNEADerivatives(oracle.model, oracle.data, *state_of(oracle, q, v, a))
    assert_close(dq, in_our_order(oracle, q, pin_dq))
    assert_close(dv, in_our_order(oracle, q, pin_dv))


def test_forward_dynamics_derivatives(case):
    model, oracle, q, v, tau = case
    dq, dv, dtau = forward_dynamics_derivatives(model, q, v, tau)
    theirs = pin.computeABADerivatives(oracle.model, oracle.data, *state_of(oracle, q, v, tau))
    for ours, expected in zip((dq, dv), theirs, strict=False):
        assert_close(ours, in_our_order(oracle, q, expected))
    assert_close(dtau, inverse_of(oracle, q))


def test_inverse_mass_matrix(case):
    model, oracle, q, *_ = case
    assert_close(inverse_mass_matrix(model, q), inverse_of(oracle, q))


def inverse_of(oracle: Oracle, q: list[float]) -> np.ndarray:
    nv = oracle.model.nv
    upper = np.triu(pin.computeMinverse(oracle.model, oracle.data, *state_of(oracle, q)).reshape(nv, nv))
    return in_our_order(oracle, q, upper + np.triu(upper, 1).T)


@pytest.mark.parametrize("coordinates", [Coordinates.BODY, Coordinates.WORLD], ids=lambda c: c.name)
def test_frame_derivatives(case, coordinates):
    # Not ALIGNED: there Pinocchio differentiates the spatial acceleration, not that of the frame's origin.
    model, oracle, q, v, a = case
    data = oracle.data
    pin.computeForwardKinematicsDerivatives(oracle.model, data, *state_of(oracle, q, v, a))
    pin.updateFramePlacements(oracle.model, data)
    for name in moving_frames(model, oracle):
        where = oracle.model, data, oracle.frames[name], REFERENCES[coordinates]
        theirs = pin.getFrameVelocityDerivatives(*where)
        ours = frame_velocity_derivatives(model, q, v, name, coordinates)
        for x, y in zip(ours, theirs, strict=True):
            assert_close(x, rows_in_our_order(oracle, q, y))
        _, *theirs = pin.getFrameAccelerationDerivatives(*where)
        ours = frame_acceleration_derivatives(model, q, v, a, name, coordinates)
        first = 1 if coordinates is Coordinates.WORLD and has_inner_freedoms_together(model) else 0
        for x, y in list(zip(ours, theirs, strict=True))[first:]:
            assert_close(x, rows_in_our_order(oracle, q, y))


def has_inner_freedoms_together(model: Model) -> bool:
    """Whether a joint of several freedoms hangs on a body: then ∂A/∂q of Pinocchio 4.1 in WORLD is not the derivative
    of its own acceleration, as finite differences of that show."""
    return any(body.joint.nv > 1 and body.parent for body in model.bodies)


def moving_frames(model: Model, oracle: Oracle) -> list[str]:
    """Some frames that a joint moves: for others Pinocchio reads beyond its arrays."""
    return [name for name in a_few_frames(model) if oracle.model.frames[oracle.frames[name]].parentJoint]


def rows_in_our_order(oracle: Oracle, q: list[float], matrix: np.ndarray) -> np.ndarray:
    return matrix.reshape(6, oracle.model.nv)[ANGULAR_FIRST] @ oracle.T(np.array(q))
