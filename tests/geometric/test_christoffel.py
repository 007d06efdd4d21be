"""The Christoffel symbols by composite inertias: against ∂M, C(q, v) and Koszul's formula, on every joint kind."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import qdot
from qdot.algebra import derivative
from qdot.algorithms import christoffel, configuration, crba, lagrangian
from qdot.algorithms.passive import armature
from qdot.algorithms.riemann import bracket
from qdot.model.library import random_state, random_tree, rp_arm
from tests.geometric.cases import TOLERANCE
from tests.laws.trees import SEEDS, case, close


def first_kind(model: qdot.Model, q: np.ndarray) -> np.ndarray:
    return np.array(christoffel.christoffel_symbols(model, list(q)), dtype=float)


@pytest.mark.parametrize("seed", range(30))
def test_one_freedom_joints_have_the_explicit_symbols(seed: int) -> None:
    model = random_tree(seed, 2 + seed % 6, ["revolute", "prismatic", "helical", "continuous", "fixed"])
    q, _, _ = random_state(model, seed)
    close(first_kind(model, q), lagrangian.christoffel_symbols(model, list(q)), TOLERANCE)


@pytest.mark.parametrize("seed", range(12))
def test_plain_joints_of_several_freedoms_have_them_too(seed: int) -> None:
    model = random_tree(seed, 3, ["universal", "planar", "cylindrical", "revolute"])
    q, _, _ = random_state(model, seed)
    close(first_kind(model, q), lagrangian.christoffel_symbols(model, list(q)), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_coriolis_matrix_and_velocity_forces_follow(seed: int) -> None:
    c = case(seed)
    b = first_kind(c.model, c.q)
    close(np.einsum("ijk,k->ij", b, c.v), qdot.coriolis_matrix(c.model, c.q, c.v), TOLERANCE)
    close(np.einsum("ijk,j,k->i", b, c.v, c.v), qdot.velocity_forces(c.model, c.q, c.v), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_they_are_koszuls(seed: int) -> None:
    """2 b_ijk = ∂_k M_ij + ∂_j M_ik - ∂_i M_jk + ⟨[k, j], i⟩ - ⟨[j, i], k⟩ - ⟨[k, i], j⟩, of the bodies alone."""
    c = case(seed, most_freedoms=10)
    m, n = c.model, range(c.model.nv)
    units = [configuration.unit_velocity(m, k) for k in n]
    dM = np.array(
        [derivative(lambda dv: crba.mass_matrix(m, configuration.retract(m, list(c.q), dv)), e) for e in units],
        dtype=float,
    )
    M = qdot.mass_matrix(m, c.q) - np.diag(np.array(armature(m), dtype=float))
    brackets = np.array([[bracket(m, x, y) for y in units] for x in units], dtype=float)
    lowered = np.einsum("abl,lc->abc", brackets, M)  # ⟨[a, b], c⟩
    twice = (
        np.einsum("kij->ijk", dM) + np.einsum("jik->ijk", dM) - dM
        + np.einsum("kji->ijk", lowered) - np.einsum("jik->ijk", lowered) - np.einsum("kij->ijk", lowered)
    )  # fmt: skip
    close(first_kind(m, c.q), twice / 2, TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_zeros_on_chains_are_exact(seed: int) -> None:
    """b_iii = 0, and b_iji = 0 for i > j (K10): no product is taken for them."""
    model = random_tree(seed, 5, ["revolute", "prismatic", "helical"], branching=0.0)
    b = first_kind(model, random_state(model, seed)[0])
    assert all(b[i, j, i] == b[i, i, j] == 0 for i in range(5) for j in range(i + 1))


@pytest.mark.parametrize("seed", SEEDS[::6])
def test_second_kind_is_raised(seed: int) -> None:
    c = case(seed, most_freedoms=14)
    n = c.model.nv
    gamma = np.array(christoffel.connection_coefficients(c.model, list(c.q)), dtype=float)
    M = qdot.mass_matrix(c.model, c.q)
    close(np.einsum("il,ljk->ijk", M, gamma), first_kind(c.model, c.q), TOLERANCE)
    assert gamma.shape == (n, n, n)


def test_arm_of_khatib_in_symbols() -> None:
    """b₁₁₂ = b₁₂₁ = m₂d₂, b₂₁₁ = -m₂d₂, no other (K12)."""
    l1, m1, m2, I1, I2, g = sp.symbols("l1 m1 m2 I1 I2 g", positive=True)
    arm = rp_arm(l1, (m1, m2), (I1, I2), g)
    (theta, d2), _, _ = qdot.symbols(arm)
    b = christoffel.christoffel_symbols(arm, [theta, d2])
    expected = [[[0, m2 * d2], [m2 * d2, 0]], [[-m2 * d2, 0], [0, 0]]]
    for found, wanted in zip(np.ravel(b), np.ravel(expected), strict=True):
        assert sp.simplify(sp.nsimplify(found, rational=True) - wanted) == 0


def test_compiled_batches_are_the_text() -> None:
    model = random_tree(5, 5, ["revolute", "spherical", "universal"])
    rows = np.array([random_state(model, seed)[0] for seed in range(5)])
    for text in (christoffel.christoffel_symbols, christoffel.connection_coefficients):
        batch = qdot.compile(text, model)(rows)
        for row, found in zip(rows, batch, strict=True):
            close(found, text(model, list(row)), TOLERANCE)
