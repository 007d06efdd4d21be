"""Every algorithm, traced on random trees: the program gives the numbers of the text run on floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qdot.algebra import entries_of
from qdot.algorithms import (
    aba,
    bias,
    configuration,
    coriolis,
    crba,
    derivatives,
    energy,
    inverse_mass,
    jacobian,
    kinematic_derivatives,
    kinematics,
    momentum,
    passive,
    regressor,
    rnea,
)
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from qdot.model.library import random_state, random_tree
from qdot.programs import expressions as _registered  # makes expressions scalars  # noqa: F401
from tests.backends.loading import by_c, by_llvm, needs_c, run
from tests.laws.trees import MOVING, case, close

TEXTS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": lambda m, q, v, a: rnea.inverse_dynamics(m, q, v, a),
    "forward_dynamics": lambda m, q, v, a: aba.forward_dynamics(m, q, v, a),
    "mass_matrix": lambda m, q, v, a: crba.mass_matrix(m, q),
    "coriolis_matrix": lambda m, q, v, a: coriolis.coriolis_matrix(m, q, v),
    "bias_forces": lambda m, q, v, a: bias.bias_forces(m, q, v),
    "energy": lambda m, q, v, a: energy.energy(m, q, v),
    "jacobian": lambda m, q, v, a: jacobian.jacobian(m, q, "site0"),
    "com_jacobian": lambda m, q, v, a: momentum.com_jacobian(m, q),
    "center_of_mass": lambda m, q, v, a: momentum.center_of_mass(m, q),
    "centroidal_momentum": lambda m, q, v, a: momentum.centroidal_momentum(m, q, v),
    "centroidal_momentum_matrix": lambda m, q, v, a: momentum.centroidal_momentum_matrix(m, q),
    "bias_acceleration": lambda m, q, v, a: jacobian.bias_acceleration(m, q, v, "site0"),
    "link_jacobians": lambda m, q, v, a: jacobian.link_jacobians(m, q),
    "frame_pose": lambda m, q, v, a: kinematics.frame_pose(m, q, "site0"),
    "gravity_forces": lambda m, q, v, a: bias.gravity_forces(m, q),
    "velocity_forces": lambda m, q, v, a: bias.velocity_forces(m, q, v),
    "passive_forces": lambda m, q, v, a: passive.passive_forces(m, q, v),
    "regressor": lambda m, q, v, a: regressor.regressor(m, q, v, a),
    "inverse_mass_matrix": lambda m, q, v, a: inverse_mass.inverse_mass_matrix(m, q),
    "inverse_dynamics_derivatives": lambda m, q, v, a: derivatives.inverse_dynamics_derivatives(m, q, v, a),
    "forward_dynamics_derivatives": lambda m, q, v, a: derivatives.forward_dynamics_derivatives(m, q, v, a),
    "frame_velocity_derivatives": lambda m, q, v, a: kinematic_derivatives.frame_velocity_derivatives(m, q, v, "site0"),
    "retract": lambda m, q, v, a: configuration.retract(m, q, v),
    "difference": lambda m, q, v, a: configuration.difference(m, q, configuration.retract(m, q, a)),
    "configuration_rate": lambda m, q, v, a: configuration.configuration_rate(m, q, v),
    "normalized": lambda m, q, v, a: configuration.normalized(m, [1.25 * x for x in q]),
}
SOLVED = ("forward_dynamics", "inverse_mass_matrix", "forward_dynamics_derivatives")


def traced(name: str, model: Any) -> Program:
    shapes = {"q": (model.nq,), "v": (model.nv,), "a": (model.nv,)}
    return trace(name, lambda q, v, a: {"y": entries_of(TEXTS[name](model, q, v, a))}, shapes)


def states(model: Any, rows: int) -> dict[str, np.ndarray]:
    columns = zip(*(random_state(model, k) for k in range(rows)), strict=True)
    return dict(zip("qva", map(np.array, columns), strict=True))


def on_floats(name: str, model: Any, inputs: dict[str, np.ndarray], row: int) -> np.ndarray:
    return np.array(entries_of(TEXTS[name](model, *(inputs[n][row].tolist() for n in "qva"))), dtype=float)


def agree(name: str, model: Any, inputs: dict[str, np.ndarray], y: np.ndarray) -> None:
    """To rounding: 1e-12 of the largest entry, and 1e-10 where the condition of M, up to 1e5 here, comes in."""
    for row in range(len(y)):
        close(y[row], on_floats(name, model, inputs, row), 1e-10 if name in SOLVED else 1e-12)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", MOVING)
def test_every_kind_of_joint(kind: str, name: str) -> None:
    model = random_tree(11, 2, [kind])
    inputs = states(model, 3)
    agree(name, model, inputs, interpret(traced(name, model), inputs)["y"])


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("seed", range(1, 60, 12))
def test_random_trees(seed: int, name: str) -> None:
    """By the interpreter and by machine code."""
    model = case(seed, most_freedoms=15).model
    inputs, program = states(model, 3), traced(name, model)
    agree(name, model, inputs, interpret(program, inputs)["y"])
    agree(name, model, inputs, run(by_llvm(program), inputs)["y"])


@needs_c
def test_random_trees_in_c(tmp_path) -> None:
    model = case(3, most_freedoms=10).model
    inputs = states(model, 3)
    compiled = by_c(tmp_path, *((traced(name, model), "float64") for name in TEXTS))
    for name, call in zip(TEXTS, compiled, strict=True):
        agree(name, model, inputs, call(inputs)["y"])


@pytest.mark.parametrize("name", TEXTS)
def test_float32(name: str) -> None:
    """To 1e-4 of the largest entry: seven digits, of which sums along a tree lose some."""
    model = case(8, most_freedoms=10).model
    inputs = {n: x.astype(np.float32).astype(float) for n, x in states(model, 5).items()}
    y = run(by_llvm(traced(name, model), "float32"), inputs)["y"]
    for row in range(5):
        close(y[row], on_floats(name, model, inputs, row), 1e-4)


def test_structure_vanishes() -> None:
    """A revolute joint about z with its frame at the origin costs a handful of operations, not 6 × 6 products."""
    from qdot.model.library import double_pendulum

    assert traced("mass_matrix", double_pendulum()).operations() < 40
