"""Laws of the derivatives, on random trees over every joint kind: the recursions against exact dual numbers.

Tolerance 1e-10, relative to the largest entry: both sides are sums of some hundred products in double precision (1e-16
each). Derivatives of forward dynamics lose as many digits as M is ill-conditioned, up to 1e4 here; M⁻¹ M does too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy

import qdot
from qdot.algebra import as_array, derivative
from qdot.algorithms import aba, crba, inverse_mass, kinematics, rnea
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.algorithms.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from qdot.algorithms.kinematic_derivatives import frame_acceleration_derivatives, frame_velocity_derivatives
from qdot.algorithms.kinematics import Coordinates
from qdot.model.library import random_state, random_tree
from qdot.spatial import Force
from tests.laws.trees import MOVING, Case, case, close
from tests.model.samples import mixed

TOLERANCE = 1e-10
SEEDS = range(80)


def wrenches_on(model: qdot.Model, seed: int) -> dict[str, Force]:
    rng = np.random.default_rng(seed)
    return {name: Force.of(rng.normal(size=6)) for name in ("world", *(f"site{k}" for k in range(len(model.bodies))))}


def small_case(seed: int) -> Case:
    return case(seed, most_freedoms=10)  # a dual number for each freedom


def by_q(model: qdot.Model, q: Any, f: Callable[[Any], Any]) -> np.ndarray:
    """∂f/∂q along each freedom, exactly, a column for each."""
    columns = [derivative(lambda dv: f(retract(model, q, dv)), unit_velocity(model, k)) for k in range(model.nv)]
    return np.transpose(np.array(columns, dtype=float))


def by_vector(model: qdot.Model, v: Any, f: Callable[[Any], Any]) -> np.ndarray:
    def moved(d: Any) -> Any:
        return f([x + y for x, y in zip(v, d, strict=True)])

    columns = [derivative(moved, unit_velocity(model, k)) for k in range(model.nv)]
    return np.transpose(np.array(columns, dtype=float))


def test_every_joint_kind_is_covered() -> None:
    kinds = {type(body.joint).__name__.lower() for seed in SEEDS for body in small_case(seed).model.bodies}
    assert kinds == {*MOVING, "fixed"}


@pytest.mark.parametrize("loaded", [False, True], ids=["alone", "wrenches"])
@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics(seed: int, loaded: bool) -> None:
    c = small_case(seed)
    m, q, v, a = c.model, list(c.q), list(c.v), list(c.a)
    w = wrenches_on(m, seed) if loaded else None
    dq, dv = inverse_dynamics_derivatives(m, q, v, a, wrenches=w)
    close(dq, by_q(m, q, lambda x: rnea.inverse_dynamics(m, x, v, a, wrenches=w)), TOLERANCE)
    close(dv, by_vector(m, v, lambda x: rnea.inverse_dynamics(m, q, x, a, wrenches=w)), TOLERANCE)
    da = by_vector(m, a, lambda x: rnea.inverse_dynamics(m, q, v, x, wrenches=w))
    close(crba.mass_matrix(m, q), da, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics(seed: int) -> None:
    c = small_case(seed)
    m, q, v = c.model, list(c.q), list(c.v)
    w = wrenches_on(m, seed)
    tau = rnea.inverse_dynamics(m, q, v, list(c.a), wrenches=w)
    dq, dv, dtau = forward_dynamics_derivatives(m, q, v, tau, wrenches=w)
    close(dq, by_q(m, q, lambda x: aba.forward_dynamics(m, x, v, tau, wrenches=w)), TOLERANCE)
    close(dv, by_vector(m, v, lambda x: aba.forward_dynamics(m, q, x, tau, wrenches=w)), TOLERANCE)
    close(dtau, by_vector(m, tau, lambda x: aba.forward_dynamics(m, q, v, x, wrenches=w)), TOLERANCE)


@pytest.mark.parametrize("seed", range(220))
def test_inverse_of_the_mass_matrix(seed: int) -> None:
    c = case(seed)
    q = list(c.q)
    M = crba.mass_matrix(c.model, q)
    recursive = np.array(inverse_mass.inverse_mass_matrix(c.model, q), dtype=float)
    factored = forward_dynamics_derivatives(c.model, q, list(c.v), list(c.a))[2]
    for inverse in (recursive, np.array(factored, dtype=float)):
        close(inverse @ np.array(M), np.eye(c.model.nv), TOLERANCE)
        np.testing.assert_array_equal(inverse, inverse.T)  # written once, mirrored: equal to the last bit


@pytest.mark.parametrize("coordinates", Coordinates, ids=lambda c: c.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_motion_of_frames(seed: int, coordinates: Coordinates) -> None:
    c = small_case(seed)
    m, q, v, a = c.model, list(c.q), list(c.v), list(c.a)
    frame = f"site{len(m.bodies) - 1}"

    def velocity(q: Any, v: Any) -> list[Any]:
        return list(kinematics.kinematics(m, q, v).velocity(frame, coordinates))

    def acceleration(q: Any, v: Any, a: Any) -> list[Any]:
        return list(kinematics.kinematics(m, q, v, a).acceleration(frame, coordinates))

    V_q, V_v = frame_velocity_derivatives(m, q, v, frame, coordinates)
    close(V_q, by_q(m, q, lambda x: velocity(x, v)), TOLERANCE)
    close(V_v, by_vector(m, v, lambda x: velocity(q, x)), TOLERANCE)
    A_q, A_v, A_a = frame_acceleration_derivatives(m, q, v, a, frame, coordinates)
    close(A_q, by_q(m, q, lambda x: acceleration(x, v, a)), TOLERANCE)
    close(A_v, by_vector(m, v, lambda x: acceleration(q, x, a)), TOLERANCE)
    close(A_a, qdot.jacobian(m, c.q, frame, coordinates=coordinates), TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_dry_friction_keeps_its_sign(seed: int) -> None:
    """It adds nothing to the derivatives: f sign(v) is constant but where v changes sign."""
    base = random_tree(seed, 3, MOVING)
    bodies = tuple(
        replace(b, passive=replace(b.passive, friction=(0.3,) * b.joint.nv)) for b in base.description.bodies
    )
    rough = qdot.assemble(replace(base.description, bodies=bodies))
    q, v, a = (list(x) for x in random_state(rough, seed))
    for with_friction, without in zip(
        inverse_dynamics_derivatives(rough, q, v, a), inverse_dynamics_derivatives(base, q, v, a), strict=True
    ):
        close(with_friction, without, 1e-15)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_derivatives_by_q_of_a_free_body_are_those_of_gravity(seed: int) -> None:
    """Where a free mechanism stands does not matter: no force depends on the position of its base."""
    inner = random_tree(seed, 3, MOVING, passive=False)
    base = random_tree(seed, 1, ["free"], passive=False)
    floating = qdot.model.edit.attach(base, inner, to="site0", prefix="inner_")
    q, v, a = (list(x) for x in random_state(floating, seed))
    dq, _ = inverse_dynamics_derivatives(floating, q, v, a)
    close(np.array(dq, dtype=float)[:, 3:6], np.zeros((floating.nv, 3)), TOLERANCE)


# ── any scalar ───────────────────────────────────────────────────────────────────────────────────

TEXTS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": inverse_dynamics_derivatives,
    "forward_dynamics": forward_dynamics_derivatives,
    "inverse_mass_matrix": lambda m, q, v, a: (inverse_mass.inverse_mass_matrix(m, q),),
    "velocity": lambda m, q, v, a: frame_velocity_derivatives(m, q, v, "site0"),
    "acceleration": lambda m, q, v, a: frame_acceleration_derivatives(m, q, v, a, "site0"),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_lanes_equal_rows(seed: int, name: str) -> None:
    """Each row of a batch equals the same call alone to 1e-12: NumPy's sin and cos may differ from math's last bit."""
    model = case(seed).model
    rows = [random_state(model, k) for k in range(3)]
    lanes = [list(np.array(columns).T) for columns in zip(*rows, strict=True)]
    together = [as_array(matrix, (3,)) for matrix in TEXTS[name](model, *lanes)]
    for k, row in enumerate(rows):
        for matrix, alone in zip(together, TEXTS[name](model, *map(list, row)), strict=True):
            close(matrix[k], alone, 1e-12)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", MOVING)
def test_sympy_numbers_equal_floats(kind: str, name: str) -> None:
    """With SymPy numbers on every joint kind, to 1e-12: the same operations in the same order."""
    model = random_tree(11, 2, [kind])
    state = [list(x) for x in random_state(model, 5)]
    exact = [[sympy.Float(x, 17) for x in row] for row in state]
    for symbolic, floats in zip(TEXTS[name](model, *exact), TEXTS[name](model, *state), strict=True):
        close(np.asarray(as_array(symbolic)).astype(float), floats, 1e-12)


# ── no freedom, and several branches ─────────────────────────────────────────────────────────────


def test_a_mechanism_that_cannot_move() -> None:
    model = random_tree(1, bodies=4, joints=["fixed"], passive=False)
    assert inverse_dynamics_derivatives(model, [], [], []) == ([], [])
    assert forward_dynamics_derivatives(model, [], [], []) == ([], [], [])
    assert inverse_mass.inverse_mass_matrix(model, []) == []
    assert frame_velocity_derivatives(model, [], [], "site3") == ([[]] * 6, [[]] * 6)


def test_the_world_does_not_move() -> None:
    model = random_tree(1, bodies=3, joints=["revolute"])
    state = [list(x) for x in random_state(model, 1)]
    for matrix in frame_acceleration_derivatives(model, *state, "world"):
        close(matrix, np.zeros((6, 3)), 0.0)


def test_other_coordinates_are_refused() -> None:
    model = random_tree(1, bodies=3, joints=["revolute"])
    q, v, _ = (list(x) for x in random_state(model, 1))
    with pytest.raises(qdot.errors.ValueShapeError, match="coordinates are"):
        frame_velocity_derivatives(model, q, v, "site0", "world")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
def test_branches_do_not_meet(seed: int) -> None:
    """Derivatives and M⁻¹ are zero between the branches on a plate that is fixed to the ground."""
    plate = random_tree(seed, 1, ["fixed"])
    model = plate
    for k in range(2):
        chain = random_tree(seed + k, 3, MOVING, branching=0.0)
        model = qdot.model.edit.attach(model, chain, to="site0", prefix=f"chain{k}_")
    q, v, a = (list(x) for x in random_state(model, seed))
    split = random_tree(seed, 3, MOVING, branching=0.0).nv
    dq, dv = inverse_dynamics_derivatives(model, q, v, a)
    inverse = inverse_mass.inverse_mass_matrix(model, q)
    for matrix in (dq, dv, inverse):
        block = np.array(matrix, dtype=float)
        assert not block[:split, split:].any()
        assert not block[split:, :split].any()
    close(np.array(inverse, dtype=float) @ np.array(crba.mass_matrix(model, q)), np.eye(model.nv), TOLERANCE)
    close(dq, by_q(model, q, lambda x: rnea.inverse_dynamics(model, x, v, a)), TOLERANCE)


def test_forces_across_joints_count() -> None:
    """Tendons, bushings and what else acts between joints: on a model that has all of it."""
    model = mixed()
    q, v, a = (x.tolist() for x in random_state(model, 3))
    tau = np.random.default_rng(0).normal(size=model.nv).tolist()
    dq, dv = (np.array(x, dtype=float) for x in inverse_dynamics_derivatives(model, q, v, a))
    close(dq, by_q(model, q, lambda at: rnea.inverse_dynamics(model, at, v, a)), TOLERANCE)
    close(dv, by_vector(model, v, lambda at: rnea.inverse_dynamics(model, q, at, a)), TOLERANCE)
    a_q, a_v, _ = (np.array(x, dtype=float) for x in forward_dynamics_derivatives(model, q, v, tau))
    close(a_q, by_q(model, q, lambda at: aba.forward_dynamics(model, at, v, tau)), TOLERANCE)
    close(a_v, by_vector(model, v, lambda at: aba.forward_dynamics(model, q, at, tau)), TOLERANCE)
