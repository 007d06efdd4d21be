"""Hamilton's mechanics (T27): against the recursive algorithms, against derivatives of H, and in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import qdot
from qdot.algebra import derivative
from qdot.algorithms import configuration, hamiltonian
from qdot.algorithms.passive import armature
from qdot.algorithms.riemann import bracket
from qdot.model.library import double_pendulum, pendulum, random_state, random_tree
from qdot.programs.functions import function
from qdot.spatial import Force
from tests.geometric.cases import TOLERANCE, rotor, run, small_trees
from tests.laws.trees import SEEDS, Case, case, close

momentum_of = function(hamiltonian.generalized_momentum)
velocity_of = function(hamiltonian.velocity_of_momentum, needs_inertia=True)
energy_of = function(hamiltonian.hamiltonian)
equations = function(hamiltonian.hamilton_equations, needs_inertia=True)


def momentum(c: Case) -> list[float]:
    return list(qdot.mass_matrix(c.model, c.q) @ c.v)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_accelerations_are_those_of_the_articulated_bodies(seed: int) -> None:
    c = case(seed)
    rng = np.random.default_rng(seed)
    wrenches = {"site0": Force.of(rng.normal(size=6))}
    a = hamiltonian.forward_dynamics(c.model, list(c.q), list(c.v), list(c.a), wrenches=wrenches)
    close(a, qdot.forward_dynamics(c.model, c.q, c.v, c.a, wrenches=wrenches), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_momentum_and_velocity_are_each_others(seed: int) -> None:
    c = case(seed)
    p = momentum_of(c.model, c.q, c.v)
    close(p, momentum(c), TOLERANCE)
    close(velocity_of(c.model, c.q, p), c.v, TOLERANCE)
    close(energy_of(c.model, c.q, p), qdot.energy(c.model, c.q, c.v), TOLERANCE)
    C = qdot.coriolis_matrix(c.model, c.q, c.v)
    close(hamiltonian.momentum_forces(c.model, c.q, c.v), C.T @ c.v, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_vector_field_is_made_of_derivatives_of_h(seed: int) -> None:
    """v = ∂H/∂p and ṗ_k = -∂_k H + p·[v, e_k], p in the bracket without the drives'; then friction and τ."""
    c = case(seed, most_freedoms=10)
    m, q, p = c.model, list(c.q), momentum(c)
    v, p_dot = hamiltonian.hamilton_equations(m, q, p, list(c.a))
    units = [configuration.unit_velocity(m, k) for k in range(m.nv)]

    def H(d: list, moved: str) -> float:
        if moved == "p":
            return hamiltonian.hamiltonian(m, q, [x + y for x, y in zip(p, d, strict=True)])
        return hamiltonian.hamiltonian(m, configuration.retract(m, q, d), p)

    close(v, [derivative(lambda d: H(d, "p"), e) for e in units], TOLERANCE)
    of_bodies = np.array(p) - np.array(armature(m)) * v
    turning = [of_bodies @ np.array(bracket(m, v, e), dtype=float) for e in units]
    damping = [x for body in m.bodies for x in body.passive.damping]
    slope = np.array([derivative(lambda d: H(d, "q"), e) for e in units], dtype=float)
    close(p_dot, -slope + turning + c.a - damping * np.array(v), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_h_changes_by_the_power_of_forces(seed: int) -> None:
    """Ḣ = vᵀτ: differentiated along the vector field."""
    c = case(seed, passive=False, most_freedoms=12)
    m, q, p = c.model, list(c.q), momentum(c)
    v, p_dot = hamiltonian.hamilton_equations(m, q, p, list(c.a))
    H_dot = derivative(
        lambda d: hamiltonian.hamiltonian(
            m, configuration.retract(m, q, d[: m.nv]), [x + y for x, y in zip(p, d[m.nv :], strict=True)]
        ),
        [*v, *p_dot],
    )
    close(H_dot, np.array(v) @ c.a, TOLERANCE)


def followed(model: qdot.Model, q: np.ndarray, p: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(q, p) at these times, by Hamilton's equations without joint forces."""
    rest = np.zeros(model.nv)

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        near = qdot.normalized(model, y[: model.nq])
        v, p_dot = equations(model, near, y[model.nq :], rest)
        return np.concatenate([qdot.configuration_rate(model, near, v), p_dot])

    y = solve_ivp(
        rate, (0, times[-1]), np.concatenate([q, p]), method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12
    ).y.T
    return qdot.normalized(model, y[:, : model.nq]), y[:, model.nq :]


@pytest.mark.parametrize("kinds", [["revolute"], ["spherical", "prismatic"], ["free"]], ids=str)
def test_trajectories_are_those_of_forward_dynamics_and_keep_h(kinds: list[str]) -> None:
    """Both are off by some 1e-11 after one second, since errors of steps grow by a factor of ten or so."""
    model = random_tree(4, 2, kinds, passive=False)
    q, v, _ = random_state(model, 4)
    times = np.linspace(0, 1, 5)
    q_run, v_run = run(model, q, v, times)
    q_hamilton, p = followed(model, q, momentum_of(model, q, v), times)
    close(qdot.difference(model, q_run, q_hamilton), np.zeros((5, model.nv)), 1e-8)
    close(velocity_of(model, q_hamilton, p), v_run, 1e-8)
    H = energy_of(model, q_hamilton, p)
    close(H, np.full(5, H[0]), 1e-9)


def test_rotor_obeys_euler() -> None:
    """ṗ = p × ω, |p| is kept: the Lie–Poisson equations of a free rotor."""
    model = rotor(1.0, 2.0, 2.5)
    q, p = model.neutral(), np.array([0.3, -1.2, 0.7])
    w, p_dot = equations(model, q, p, np.zeros(3))
    close(w, p / [1.0, 2.0, 2.5], 1e-15)
    close(p_dot, np.cross(p, w), 1e-15)


def test_pendulum_in_symbols() -> None:
    m, l, g, p, tau = sp.symbols("m l g p tau", positive=True)
    model = pendulum(l, m, g)
    (q,), _, _ = qdot.symbols(model)
    assert sp.simplify(energy_of(model, [q], [p]) - (p**2 / (2 * m * l**2) - m * g * l * sp.cos(q))) == 0
    v, p_dot = equations(model, [q], [p], [tau])
    assert sp.simplify(v[0] - p / (m * l**2)) == 0
    assert sp.simplify(p_dot[0] - (tau - m * g * l * sp.sin(q))) == 0


def test_double_pendulum_in_symbols_is_the_gradient_of_h() -> None:
    model = double_pendulum()
    q, _, _ = qdot.symbols(model)
    p, tau = sp.symbols("p1:3"), sp.symbols("tau1:3")
    H = energy_of(model, q, p)
    v, p_dot = equations(model, q, p, tau)
    at = dict(zip([*q, *p, *tau], [0.3, -0.8, 0.5, 1.1, 0.2, -0.4], strict=True))
    close([x.subs(at) for x in v], [sp.diff(H, x).subs(at) for x in p], 1e-12)
    expected = [(t - sp.diff(H, x)).subs(at) for t, x in zip(tau, q, strict=True)]
    close([x.subs(at) for x in p_dot], expected, 1e-12)


@pytest.mark.parametrize("k", range(5))
def test_compiled_batches_are_the_text(k: int) -> None:
    model, q, _ = small_trees()[k]
    rng = np.random.default_rng(k)
    rows = qdot.retract(model, np.tile(q, (6, 1)), rng.normal(size=(6, model.nv)))
    p, tau = rng.normal(size=(2, 6, model.nv))
    v_dot_p = qdot.compile(hamiltonian.hamilton_equations, model)(rows, p, tau)
    H = qdot.compile(hamiltonian.hamiltonian, model)(rows, p)
    for row in range(6):
        expected = hamiltonian.hamilton_equations(model, list(rows[row]), list(p[row]), list(tau[row]))
        close([x[row] for x in v_dot_p], expected, TOLERANCE)
        close(H[row], hamiltonian.hamiltonian(model, list(rows[row]), list(p[row])), TOLERANCE)
