"""Which inertias a body can have: the words for each fault, the nearest physical one, and the pseudo-inertia."""

from math import inf, nan

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st
from scipy.optimize import minimize

from qdot.algebra import Sym3, Vec3, as_array
from qdot.errors import InertiaError
from qdot.spatial import (
    Inertia,
    Transform,
    check_physical,
    inertia_of_moments,
    nearest_physical,
    physical_problem,
    pseudo_inertia,
)
from tests.spatial.dense import Draw, close, seeds

UNPHYSICAL = {
    "mass is negative: -2 kg": Inertia.about_com(-2.0, (0, 0, 0), (1, 1, 1)),
    "mass is zero, but the first moment": Inertia.of_parameters([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
    "or rotational inertia is not": Inertia.of_parameters([0, 0, 0, 0, 1, 0, 1, 0, 0, 1]),
    "principal moment about the centre of mass is negative: -0.5": Inertia.about_com(1.0, (1, 0, 0), (-0.5, 1, 1)),
    "break the triangle inequality: 1 \\+ 2 < 3.5": Inertia.about_com(1.0, (0, 1, 0), (1, 3.5, 2)),
    "not a finite number: .*nan": Inertia.about_com(1.0, (0, 0, 0), (1, nan, 1)),
    "not a finite number: .*inf": Inertia.about_com(inf, (0, 0, 0), (1, 1, 1)),
}


def sym3(m):
    return Sym3(*(float(m[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))


def random_symmetric_inertia(seed):
    """Mass and centre of mass of a body, any symmetric matrix for its moments: mostly unphysical."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    return Inertia.about_com(rng.uniform(0.1, 5), rng.normal(size=3), sym3(A + A.T))


def second_moments(I):
    """Σ_C = ½ tr(I_C) 1 - I_C, about the centre of mass."""
    I_C = as_array(I.at_com).astype(float)
    return 0.5 * np.trace(I_C) * np.eye(3) - I_C


# ── words ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", UNPHYSICAL)
def test_each_fault_is_told_in_words(words):
    with pytest.raises(InertiaError, match=words) as caught:
        check_physical(UNPHYSICAL[words], "body 'hand'")
    message = str(caught.value)
    assert message.startswith("body 'hand': ")
    assert "check sign, units and axes" in message
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("words", UNPHYSICAL)
def test_the_remedy_offers_the_nearest_one_where_there_is_one(words):
    I = UNPHYSICAL[words]
    with pytest.raises(InertiaError) as caught:
        check_physical(I, "body")
    offered = "nearest_physical(inertia): (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) = (" in str(caught.value)
    assert offered == (words.startswith(("principal", "break")))
    if words.startswith("break"):
        # (1, 3.5, 2) violates by 0.5: Σ = (2.25, -0.25, 1.25) → (2.25, 0, 1.25), I = (1.25, 3.5, 2.25)
        assert "(1.25, 0, 0, 3.5, 0, 2.25)" in str(caught.value)


THIN = {
    "point mass": Inertia.point(2.0, (0.3, -0.1, 0.7)),
    "thin rod": Inertia.about_com(1.0, (0.5, 0, 0), (0.0, 1 / 12, 1 / 12)),
    "plate": Inertia.about_com(1.0, (0, 0, 0.1), (1 / 12, 1 / 12, 1 / 6)),
    "ring": Inertia.about_com(1.0, (0, 0, 0), (0.5, 0.5, 1.0)),
    "nothing": Inertia.zero(),
    "tiny": Inertia.about_com(1e-9, (0, 0, 0), (1e-15, 1e-15, 2e-15)),
    "heavy": Inertia.about_com(1e9, (1, 2, 3), (1e6, 1e6, 2e6)),
}


@pytest.mark.parametrize("body", THIN)
def test_bodies_at_the_edge_pass(body):
    check_physical(THIN[body], body)


@pytest.mark.parametrize("mass", [0.0, 2.0])
@pytest.mark.parametrize("entry", range(1, 10))
def test_a_body_of_one_point_has_no_other_moments(mass, entry):
    """Zeros are passed without a closer look: one entry less than that must not slip through with them."""
    ten = [mass] + [0.0] * 9
    assert physical_problem(Inertia.of_parameters(ten)) is None
    ten[entry] = -0.1
    assert physical_problem(Inertia.of_parameters(ten)) is not None


@given(seeds, st.sampled_from(["point mass", "thin rod", "plate", "ring"]))
def test_bodies_at_the_edge_pass_wherever_they_are(seed, body):
    assert physical_problem(Draw(seed).pose() @ THIN[body]) is None


@given(seeds)
def test_clouds_of_mass_pass(seed):
    rng = np.random.default_rng(seed)
    parts = [Inertia.point(m, r) for m, r in zip(rng.uniform(0, 2, 4), rng.normal(size=(4, 3)), strict=True)]
    assert physical_problem(sum(parts[1:], parts[0])) is None


def test_symbols_and_lanes_are_not_judged():
    assert physical_problem(Inertia.about_com(sp.Symbol("m"), (0, 0, 0), (1, 1, 5))) is None
    check_physical(Inertia.about_com(np.array([-1.0, 1.0]), (0, 0, 0), (1, 1, 5)), "lanes")


# ── nearest ──────────────────────────────────────────────────────────────────────────────────────


@given(seeds)
def test_nearest_is_physical_and_keeps_mass_and_centre(seed):
    I = random_symmetric_inertia(seed)
    near = nearest_physical(I)
    assert physical_problem(near) is None
    assert near.mass == I.mass
    close(near.com, I.com, tolerance=4e-16)


@given(seeds)
def test_nearest_is_idempotent_and_leaves_the_physical_alone(seed):
    near = nearest_physical(random_symmetric_inertia(seed))
    close(nearest_physical(near), as_array(near), tolerance=2e-15)
    body = Draw(seed).inertia()
    close(nearest_physical(body), as_array(body), tolerance=2e-15)


@given(seeds)
def test_nearest_beats_random_feasible_ones(seed):
    """In the Frobenius norm of the second moments; feasible neighbours are B Bᵀ around it and far off."""
    I = random_symmetric_inertia(seed)
    near, wanted = second_moments(nearest_physical(I)), second_moments(I)
    best = np.linalg.norm(near - wanted)
    rng = np.random.default_rng(seed)
    values, axes = np.linalg.eigh(near)
    root = axes * np.sqrt(np.maximum(values, 0))
    for size in (1e-6, 1e-3, 0.1, 1.0):
        B = root + size * rng.normal(size=(3, 3))
        assert np.linalg.norm(B @ B.T - wanted) >= best - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_nearest_is_what_an_optimiser_finds(seed):
    """minimise |B Bᵀ - Σ|² over B from a random start; its objective agrees to 1e-7 where the gradient vanishes."""
    I = random_symmetric_inertia(seed)
    wanted = second_moments(I)
    start = np.random.default_rng(seed + 100).normal(size=9)
    found = minimize(lambda b: np.sum((b.reshape(3, 3) @ b.reshape(3, 3).T - wanted) ** 2), start, tol=1e-14)
    best = np.sum((second_moments(nearest_physical(I)) - wanted) ** 2)
    assert found.fun == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("mass", [0.0, -1.0, nan])
def test_nearest_needs_a_mass(mass):
    with pytest.raises(InertiaError, match="positive mass"):
        nearest_physical(Inertia.about_com(mass, (0, 0, 0), (1, 1, 1)))


# ── pseudo-inertia ───────────────────────────────────────────────────────────────────────────────


@given(seeds)
def test_pseudo_inertia_is_semidefinite_iff_physical(seed):
    """Away from the edge by 1e-6, where the two tolerances could disagree."""
    for I in (random_symmetric_inertia(seed), Draw(seed).inertia(), nearest_physical(random_symmetric_inertia(seed))):
        smallest = np.linalg.eigvalsh(pseudo_inertia(I))[0]
        if smallest > 1e-6 or smallest < -1e-6:
            assert (physical_problem(I) is None) == (smallest > 0)


@given(seeds)
def test_pseudo_inertia_is_the_second_moment_of_homogeneous_points(seed):
    """P = Σ m [r; 1][r; 1]ᵀ, and from its blocks the inertia again (H10)."""
    rng = np.random.default_rng(seed)
    masses, places = rng.uniform(0.1, 2, 5), rng.normal(size=(5, 3))
    parts = [Inertia.point(m, r) for m, r in zip(masses, places, strict=True)]
    whole = sum(parts[1:], parts[0])
    homogeneous = np.column_stack([places, np.ones(5)])
    P = homogeneous.T @ np.diag(masses) @ homogeneous
    close(pseudo_inertia(whole), P)
    close(inertia_of_moments(P[3, 3], P[:3, 3], P[:3, :3]), whole)


@given(seeds)
def test_pseudo_inertia_moves_by_the_homogeneous_matrix(seed):
    draw = Draw(seed)
    X, I = draw.pose(), draw.inertia()
    H = as_array(X).astype(float)
    close(pseudo_inertia(X @ I), H @ pseudo_inertia(I) @ H.T)


def test_a_shift_does_not_hide_a_fault():
    """Far from the origin m c² is large beside the fault; it is still seen."""
    I = Inertia.about_com(1.0, (0, 0, 0), (1, 1, 2.1))
    shifted = Transform.translation(100.0, 0.0, 0.0) @ I
    assert "triangle" in physical_problem(shifted)
    assert shifted.com == Vec3(100.0, 0.0, 0.0)
