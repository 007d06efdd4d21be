"""Laws of the equations of motion, on random trees over every joint kind.

Tolerance 1e-10, relative to the largest entry: the terms are sums of some hundred products in double precision (1e-16
each), and forward dynamics loses as many digits as M is ill-conditioned, up to 1e4 here.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import qdot
from qdot.algebra import Mat3, derivative
from qdot.algebra.linalg import TreeFactors, ldlt, ldlt_solve
from qdot.algebra.vec import Sym3
from qdot.algorithms import aba, configuration, crba, energy, lagrangian, momentum, rnea
from qdot.algorithms.articulated import Articulated
from qdot.algorithms.frames import root_frame
from qdot.algorithms.kinematics import way_to_root
from qdot.model.library import random_state, random_tree
from qdot.spatial import ArticulatedInertia, Force
from tests.laws.trees import MOVING, SEEDS, case, close

TOLERANCE = 1e-10


def wrenches_on(model: qdot.Model, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"site{k}": rng.normal(size=6) for k in range(0, len(model.bodies), 2)}


def test_every_joint_kind_is_covered() -> None:
    kinds = Counter(type(body.joint).__name__.lower() for seed in SEEDS for body in case(seed).model.bodies)
    assert len(SEEDS) >= 200
    assert all(kinds[kind] >= 30 for kind in [*MOVING, "fixed"]), kinds


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_articulated_bodies_solve_with_any_opposition_to_motion(seed: int) -> None:
    """(Σ Jᵀ K J + diagonal) x = τ, for random symmetric positive K of every body, by J itself."""
    c = case(seed)
    model, rng = c.model, np.random.default_rng(seed)
    at = root_frame(model, c.q.tolist())
    H, K = np.diag(rng.uniform(0.5, 1.5, model.nv)), [ArticulatedInertia.zero()]
    diagonal = np.diag(H).tolist()
    for body in model.bodies:
        A = rng.normal(size=(6, 6))
        A = A @ A.T
        blocks = (Mat3.of(x.tolist()) for x in (A[:3, :3], A[:3, 3:], A[3:, 3:]))
        rotational, coupling, translational = blocks
        K.append(ArticulatedInertia(Sym3.upper(rotational), coupling, Sym3.upper(translational)))
        J = np.zeros((6, model.nv))
        for b in way_to_root(model, body.index):
            J[:, b.dofs] = np.array([[*s.ang, *s.lin] for s in at.S[b.index]]).reshape(-1, 6).T
        H = H + J.T @ A @ J
    tau = rng.normal(size=model.nv)
    x = Articulated.of(model, at, K, diagonal).solve(tau.tolist())
    close(H @ np.array(x, dtype=float), tau, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_and_forward_dynamics_are_inverse(seed: int) -> None:
    c = case(seed)
    wrenches = wrenches_on(c.model, seed)
    tau = qdot.inverse_dynamics(c.model, c.q, c.v, c.a, wrenches=wrenches)
    close(qdot.forward_dynamics(c.model, c.q, c.v, tau, wrenches=wrenches), c.a, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_of_mass_matrix_by_inverse_dynamics(seed: int) -> None:
    c = case(seed)
    nv = c.model.nv
    rest = qdot.inverse_dynamics(c.model, c.q, c.v, np.zeros(nv))
    columns = [qdot.inverse_dynamics(c.model, c.q, c.v, e) - rest for e in np.eye(nv)]
    M = qdot.mass_matrix(c.model, c.q)
    close(np.transpose(columns), M, TOLERANCE)
    np.testing.assert_array_equal(M, M.T)  # written once, mirrored: equal to the last bit
    assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_terms_add_up_to_inverse_dynamics(seed: int) -> None:
    c = case(seed)
    passive = qdot.passive_forces(c.model, c.q, c.v)
    bias = qdot.bias_forces(c.model, c.q, c.v)
    close(qdot.velocity_forces(c.model, c.q, c.v) + qdot.gravity_forces(c.model, c.q), bias, TOLERANCE)
    total = qdot.mass_matrix(c.model, c.q) @ c.a + bias - passive
    close(qdot.inverse_dynamics(c.model, c.q, c.v, c.a), total, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_rate_is_coriolis_plus_its_transpose(seed: int) -> None:
    c = case(seed)
    C = qdot.coriolis_matrix(c.model, c.q, c.v)
    M_dot = derivative(lambda dv: crba.mass_matrix(c.model, configuration.retract(c.model, c.q, dv)), c.v)
    close(C + C.T, M_dot, TOLERANCE)
    close(C @ c.v, qdot.velocity_forces(c.model, c.q, c.v), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_is_rate_of_energy(seed: int) -> None:
    c = case(seed)
    m = c.model
    wrenches = wrenches_on(m, seed)
    tau = qdot.inverse_dynamics(m, c.q, c.v, c.a, wrenches=wrenches)
    nv = m.nv
    rate = derivative(
        lambda d: energy.energy(
            m, configuration.retract(m, c.q, d[:nv]), [x + y for x, y in zip(c.v, d[nv:], strict=True)]
        ),
        [*c.v, *c.a],
    )
    motion = qdot.kinematics(m, c.q, c.v)
    damping = np.array([x for body in m.bodies for x in body.passive.damping])
    external = sum(Force.of(w).dot(motion.velocity(name)) for name, w in wrenches.items())
    close(rate, c.v @ tau + external - damping @ c.v**2, TOLERANCE)
    close(qdot.kinetic_energy(m, c.q, c.v), c.v @ qdot.mass_matrix(m, c.q) @ c.v / 2, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_lagrangian_form_is_the_recursive_one(seed: int) -> None:
    c = case(seed, most_freedoms=12)  # the explicit form costs nv evaluations of M
    m, q, v, a = c.model, list(c.q), list(c.v), list(c.a)
    wrenches = {name: Force.of(w) for name, w in wrenches_on(m, seed).items()}
    close(lagrangian.mass_matrix(m, q), crba.mass_matrix(m, q), TOLERANCE)
    tau = rnea.inverse_dynamics(m, q, v, a, wrenches=wrenches)
    close(lagrangian.inverse_dynamics(m, q, v, a, wrenches=wrenches), tau, TOLERANCE)
    close(lagrangian.forward_dynamics(m, q, v, tau, wrenches=wrenches), a, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_regressor_times_parameters(seed: int) -> None:
    c = case(seed)
    Y = qdot.regressor(c.model, c.q, c.v, c.a)
    bodies_alone, _ = rnea.newton_euler(c.model, list(c.q), list(c.v), list(c.a))
    close(Y @ qdot.inertial_parameters(c.model), bodies_alone, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_factorisations_solve_with_the_mass_matrix(seed: int) -> None:
    c = case(seed)
    M = qdot.mass_matrix(c.model, c.q)
    rows, parents = M.tolist(), c.model.dof_parents
    factors = TreeFactors.of(rows, parents)
    L = np.array(factors.L)
    close(L.T @ np.diag(1 / np.array(factors.D_inv)) @ L, M, TOLERANCE)
    related = np.eye(len(rows), dtype=bool)  # L is zero but between a freedom and those on its way to the root
    for row in range(len(rows)):
        k = row
        while k >= 0:
            related[row, k] = True
            k = parents[k]
    assert not np.any((L != 0) & ~related)
    assert not np.any((M != 0) & ~(related | related.T))
    expected = np.linalg.solve(M, c.a)
    close(factors.solve(c.a), expected, TOLERANCE)
    close(ldlt_solve(ldlt(rows), c.a), expected, TOLERANCE)


@pytest.mark.parametrize("seed", range(40))
def test_momentum_is_kept_without_gravity_and_grows_with_it(seed: int) -> None:
    """A floating tree driven by internal forces only: ḣ = (c × m g, m g) about the world's origin."""
    rest = MOVING if seed % 2 else [MOVING[(seed // 2) % len(MOVING)]]
    inner = random_tree(seed, 4, rest, passive=False)
    floating = qdot.model.edit.attach(random_tree(seed, 1, ["free"], passive=False), inner, to="site0", prefix="inner_")
    q, v, _ = random_state(floating, seed)
    tau = np.random.default_rng(seed).normal(size=floating.nv)
    tau[:6] = 0  # nothing holds the base
    on_world = [b.dofs for b in inner.bodies if b.parent == 0]
    assert on_world
    a = qdot.forward_dynamics(floating, q, v, tau)
    h = derivative(
        lambda d: momentum.momentum(
            floating,
            configuration.retract(floating, q, d[: floating.nv]),
            [x + y for x, y in zip(v, d[floating.nv :], strict=True)],
        ),
        [*v, *a],
    )
    weight = np.array(tuple(floating.gravity)) * qdot.total_mass(floating)
    com = qdot.center_of_mass(floating, q)
    close(list(h), [*np.cross(com, weight), *weight], TOLERANCE)
    about_com = qdot.centroidal_momentum(floating, q, v)
    close(qdot.centroidal_momentum_matrix(floating, q) @ v, list(about_com), TOLERANCE)
    close(qdot.com_jacobian(floating, q) @ v * qdot.total_mass(floating), list(about_com.lin), TOLERANCE)


@pytest.mark.parametrize("seed", range(40))
def test_world_holds_what_changes_the_momentum(seed: int) -> None:
    """The wrenches at the joints on the world, weight and external wrenches make the rate of momentum (F15–F19)."""
    c = case(seed, passive=False)
    m = c.model
    h_dot = derivative(
        lambda d: momentum.momentum(
            m, configuration.retract(m, c.q, d[: m.nv]), [x + y for x, y in zip(c.v, d[m.nv :], strict=True)]
        ),
        [*c.v, *c.a],
    )
    transmitted = qdot.joint_wrenches(m, c.q, c.v, c.a)
    poses = qdot.kinematics(m, c.q).poses
    held = np.zeros(6)
    for body in m.bodies:
        if body.parent == 0:
            held += list(poses[body.index] @ transmitted[body.joint_name])
    weight = np.array(tuple(m.gravity)) * qdot.total_mass(m)
    close(held + [*np.cross(qdot.center_of_mass(m, c.q), weight), *weight], list(h_dot), TOLERANCE)
    tau = qdot.inverse_dynamics(m, c.q, c.v, c.a)
    for body in m.bodies:  # the part of each wrench that works on the joint is the joint force
        close(body.joint.subspace(c.q[body.qs]).T @ transmitted[body.joint_name], tau[body.dofs], TOLERANCE)


@pytest.mark.parametrize("seed", range(30))
def test_christoffel_symbols_of_plain_joints(seed: int) -> None:
    """c_i = Σ b_ijk v_j v_k where v = q̇; and b_iii = 0, b_iji = 0 for i > j on serial chains (K10, T25)."""
    model = random_tree(seed, 4, ["revolute", "prismatic", "helical"], branching=0.0, passive=False)
    q, v, _ = random_state(model, seed)
    b = qdot.christoffel_symbols(model, q)
    close(np.einsum("ijk,j,k->i", b, v, v), qdot.velocity_forces(model, q, v), TOLERANCE)
    close(np.einsum("ijk,k->ij", b, v), qdot.coriolis_matrix(model, q, v), TOLERANCE)
    for i in range(model.nv):
        assert abs(b[i, i, i]) < TOLERANCE
        for j in range(i):
            assert abs(b[i, j, i]) < TOLERANCE


def test_constant_mass_matrix_has_no_velocity_forces() -> None:
    """Newton's second law (T25): slides on slides have constant M, so c = 0."""
    model = random_tree(7, 5, ["prismatic"], passive=False)
    q, v, _ = random_state(model, 7)
    close(qdot.velocity_forces(model, q, v), np.zeros(5), 1e-14)
    close(qdot.mass_matrix(model, q), qdot.mass_matrix(model, q + v), 1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_dry_friction_opposes_motion(seed: int) -> None:
    """With friction f at each joint, inverse dynamics asks for f sign(v) more, and forward dynamics takes it back."""
    from dataclasses import replace

    base = random_tree(seed, 3, MOVING)
    bodies = tuple(
        replace(b, passive=replace(b.passive, friction=(0.3,) * b.joint.nv)) for b in base.description.bodies
    )
    model = qdot.assemble(replace(base.description, bodies=bodies))
    q, v, a = random_state(model, seed)
    tau = qdot.inverse_dynamics(model, q, v, a)
    close(tau - qdot.inverse_dynamics(base, q, v, a), 0.3 * np.sign(v), TOLERANCE)
    close(qdot.forward_dynamics(model, q, v, tau), a, TOLERANCE)
    close(lagrangian.inverse_dynamics(model, list(q), list(v), list(a)), tau, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_frames_do_not_matter(seed: int) -> None:
    """The same text in each body's frame and in one frame for all."""
    c = case(seed)
    m, q, v, a = c.model, list(c.q), list(c.v), list(c.a)
    wrenches = {name: Force.of(w) for name, w in wrenches_on(m, seed).items()}
    close(crba.mass_matrix(m, q, frames=root_frame), crba.mass_matrix(m, q), TOLERANCE)
    tau = rnea.inverse_dynamics(m, q, v, a, wrenches=wrenches)
    close(rnea.inverse_dynamics(m, q, v, a, wrenches=wrenches, frames=root_frame), tau, TOLERANCE)
    close(aba.forward_dynamics(m, q, v, tau, wrenches=wrenches, frames=root_frame), a, TOLERANCE)
