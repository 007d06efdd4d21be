"""`qdot.derivative`: exact Jacobians of any function along the freedoms; called, batched, compiled."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import qdot
from qdot.errors import ValueShapeError
from qdot.model.library import KINDS, random_state, random_tree, seven_joint_arm
from tests.laws.trees import close

CASES = [
    (qdot.inverse_dynamics, "q"),
    (qdot.inverse_dynamics, "v"),
    (qdot.inverse_dynamics, "a"),
    (qdot.forward_dynamics, "q"),
    (qdot.forward_dynamics, "tau"),
    (qdot.energy, "q"),
    (qdot.mass_matrix, "q"),
    (qdot.center_of_mass, "q"),
]


def arguments(of, q, v, a) -> dict[str, np.ndarray]:
    named = {"q": q, "v": v, "a": a, "tau": a}
    return {n: named[n] for n in inspect.signature(of).parameters if n in named}


@pytest.mark.parametrize(("of", "wrt"), CASES, ids=[f"{f.__name__} by {w}" for f, w in CASES])
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "fixed"])
def test_against_differences(of, wrt: str, kind: str) -> None:
    """Central differences with h = 1e-5: h² ≈ 1e-10 of truncation, 1e-16/h ≈ 1e-11 of rounding, times large values."""
    model = random_tree(8, 2, [kind])
    args = arguments(of, *random_state(model, 3))
    h = 1e-5

    def moved(e: np.ndarray) -> np.ndarray:
        there = qdot.retract(model, args["q"], e) if wrt == "q" else args[wrt] + e
        return np.asarray(of(model, **{**args, wrt: there}))

    differences = [(moved(h * e) - moved(-h * e)) / (2 * h) for e in np.eye(model.nv)]
    exact = qdot.derivative(of, wrt)(model, **args)
    close(exact, np.stack(differences, axis=-1), 1e-6)


def test_known_derivatives() -> None:
    model = seven_joint_arm()
    q, v, a = random_state(model, 0)
    close(qdot.derivative(qdot.inverse_dynamics, "a")(model, q, v, a), qdot.mass_matrix(model, q), 1e-12)
    close(qdot.derivative(qdot.potential_energy, "q")(model, q), qdot.gravity_forces(model, q), 1e-12)
    close(qdot.derivative(qdot.kinetic_energy, "v")(model, q, v), qdot.mass_matrix(model, q) @ v, 1e-12)
    close(qdot.derivative(qdot.center_of_mass, "q")(model, q), qdot.com_jacobian(model, q), 1e-12)
    X = qdot.derivative(qdot.frame_pose, "q")(model, q, "flange")
    close(X[:3, 3], qdot.jacobian(model, q, "flange")[3:], 1e-12)


def test_batches_and_compiled() -> None:
    model = seven_joint_arm()
    Q, V, A = (np.array(x) for x in zip(*(random_state(model, k) for k in range(9)), strict=True))
    slope = qdot.derivative(qdot.forward_dynamics, "q")
    together = slope(model, Q, V, A)
    assert together.shape == (9, 7, 7)
    close(together[4], slope(model, Q[4], V[4], A[4]), 1e-12)
    compiled = qdot.compile(slope, model)
    close(compiled(Q, V, A), together, 1e-10)
    twice = qdot.derivative(qdot.derivative(qdot.potential_energy, "q"), "q")  # the stiffness of gravity
    H = twice(model, Q[0])
    close(H, H.T, 1e-12)  # equal mixed partials, since v = q̇ here


def test_what_cannot_be_differentiated_by() -> None:
    with pytest.raises(ValueShapeError, match="mass_matrix has no vector 'v' to differentiate by; it has q"):
        qdot.derivative(qdot.mass_matrix, "v")
    with pytest.raises(ValueShapeError, match="'frame'"):
        qdot.derivative(qdot.jacobian, "frame")
