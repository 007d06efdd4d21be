"""One text, any scalar: floats, lanes of a batch, dual numbers and SymPy expressions give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import qdot
from qdot.algebra import Quaternion
from qdot.model.library import KINDS, random_state, random_tree
from tests.laws.trees import MOVING, case, close

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": lambda m, q, v, a: qdot.inverse_dynamics(m, q, v, a),
    "forward_dynamics": lambda m, q, v, a: qdot.forward_dynamics(m, q, v, a),
    "mass_matrix": lambda m, q, v, a: qdot.mass_matrix(m, q),
    "bias_forces": lambda m, q, v, a: qdot.bias_forces(m, q, v),
    "gravity_forces": lambda m, q, v, a: qdot.gravity_forces(m, q),
    "passive_forces": lambda m, q, v, a: qdot.passive_forces(m, q, v),
    "coriolis_matrix": lambda m, q, v, a: qdot.coriolis_matrix(m, q, v),
    "regressor": lambda m, q, v, a: qdot.regressor(m, q, v, a),
    "jacobian": lambda m, q, v, a: qdot.jacobian(m, q, "site0"),
    "analytic_jacobian": lambda m, q, v, a: qdot.analytic_jacobian(m, q, "site0"),
    "bias_acceleration": lambda m, q, v, a: qdot.bias_acceleration(m, q, v, "site0"),
    "center_of_mass": lambda m, q, v, a: qdot.center_of_mass(m, q),
    "com_jacobian": lambda m, q, v, a: qdot.com_jacobian(m, q),
    "centroidal_momentum_matrix": lambda m, q, v, a: qdot.centroidal_momentum_matrix(m, q),
    "energy": lambda m, q, v, a: qdot.energy(m, q, v),
    "retract": lambda m, q, v, a: qdot.retract(m, q, v),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_lanes_equal_rows(seed: int, name: str) -> None:
    """Each row of a batch equals the same call alone to 1e-12: NumPy's sin and cos may differ from math's last bit."""
    model = case(seed).model
    rows = [random_state(model, k) for k in range(3)]
    batch = [np.array(columns) for columns in zip(*rows, strict=True)]
    f = FUNCTIONS[name]
    together = f(model, *batch)
    for k, row in enumerate(rows):
        close(together[k], f(model, *row), 1e-12)
    # a single vector among batches serves every row, however the arrays lie in memory
    q, v, a = batch
    mixed = f(model, np.asfortranarray(q), v[0], a[::-1][::-1])
    for k in range(3):
        close(mixed[k], f(model, q[k], v[0], a[k]), 1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", MOVING)
def test_sympy_numbers_equal_floats(kind: str, name: str) -> None:
    """Every function on every joint kind with SymPy numbers, to 1e-12: the same operations in the same order."""
    model = random_tree(11, 2, [kind])
    q, v, a = random_state(model, 5)
    exact = [[sympy.Float(x, 17) for x in row] for row in (q, v, a)]
    result = np.asarray(FUNCTIONS[name](model, *exact))
    close(result.astype(float), FUNCTIONS[name](model, q, v, a), 1e-12)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("fixed", "compound", "free")])
def test_expressions_evaluate_to_the_floats(kind: str) -> None:
    """M, c + g, ID and energy derived as expressions in q, v, a; then numbers put in."""
    model = random_tree(2, 2, [kind])
    q, v, a = random_state(model, 5)
    symbols = qdot.symbols(model)
    flat = [s for row in symbols for s in row]
    for name in ("mass_matrix", "bias_forces", "inverse_dynamics", "energy", "jacobian"):
        expressions = np.asarray(FUNCTIONS[name](model, *symbols))
        assert expressions.dtype == object
        evaluate = sympy.lambdify(flat, expressions.ravel().tolist(), "math", cse=True)
        close(evaluate(*q, *v, *a), np.ravel(FUNCTIONS[name](model, q, v, a)), 1e-12)


def test_model_parameters_may_be_symbols_or_lanes() -> None:
    """A mass as a symbol, and a mass with one value for each row of a batch."""
    from qdot.model.library import double_pendulum

    m1, m2 = sympy.symbols("m1 m2", positive=True)
    q, v, a = [0.3, -0.8], [1.0, 2.0], [0.1, 0.2]
    symbolic = qdot.inverse_dynamics(double_pendulum(masses=(m1, m2)), q, v, a)
    masses = np.array([1.5, 2.5, 0.7])
    lanes = qdot.inverse_dynamics(double_pendulum(masses=(1.2, masses)), q, v, a)
    assert lanes.shape == (3, 2)
    for k, mass in enumerate(masses):
        expected = qdot.inverse_dynamics(double_pendulum(masses=(1.2, mass)), q, v, a)
        close([float(x.subs({m1: 1.2, m2: mass})) for x in symbolic], expected, 1e-13)
        close(lanes[k], expected, 1e-13)


def test_spatial_values_hold_lanes() -> None:
    model = random_tree(1, 3, ["spherical", "revolute"])
    q = np.array([random_state(model, k)[0] for k in range(4)])
    poses = qdot.kinematics(model, q).pose("site2")
    alone = qdot.frame_pose(model, q[2], "site2")
    from qdot.algebra import as_array

    assert as_array(poses).shape == (4, 4, 4)
    close(as_array(poses)[2], as_array(alone), 1e-14)
    assert isinstance(poses.quaternion(), Quaternion)
