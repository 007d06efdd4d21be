"""Rigid-body inertia against its dense 6 × 6 matrix: Featherstone's claims F1–F8 and Todorov's T3, T4."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given

from qdot.algebra import Sym3, Vec3, as_array, derivative
from qdot.algebra.lie import exp_se3
from qdot.errors import ValueShapeError
from qdot.spatial import Force, Inertia, Motion, Transform
from tests.spatial.dense import Draw, close, crf, crm, force_matrix, inertia_matrix, motion_matrix, seeds


def dense(I):
    """From mass, centre of mass and moments there, by the book's formula rather than by `entries`."""
    return inertia_matrix(I.mass, as_array(I.com), as_array(I.at_com))


def moved(X, v, t):
    """The pose X of a body after t seconds of the constant body velocity v."""
    q, p = exp_se3(v.ang * t, v.lin * t)
    return X @ Transform(q.rotation(), p)


@given(seeds)
def test_entries_are_the_parallel_axis_theorem(seed):
    """T3: I_O = I_C - m c̃c̃, coupling m c̃."""
    rng = np.random.default_rng(seed)
    c, A = rng.normal(size=3), rng.normal(size=(3, 3))
    I_C = A @ A.T
    I = Inertia.about_com(2.5, c, Sym3(*(I_C[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))))
    close(I, inertia_matrix(2.5, c, I_C))
    close(I.com, c)
    close(I.at_com, I_C)


def test_principal_moments_and_point_masses():
    assert Inertia.about_com(2, (0, 0, 0), (1, 2, 3)).rotational == Sym3.diagonal(1, 2, 3)
    close(Inertia.point(2.0, (1, -2, 3)), inertia_matrix(2.0, [1, -2, 3], np.zeros((3, 3))))


@given(seeds)
def test_momentum_is_a_wrench(seed):
    """F1: the linear momentum m v_C acts along a line through the centre of mass, beside the intrinsic I_C ω."""
    draw = Draw(seed)
    I, v = draw.inertia(), draw.motion()
    h = I @ v
    assert isinstance(h, Force)
    linear = v.at(I.com).lin * I.mass
    close(h.lin, linear)
    close(h.ang, I.at_com @ v.ang + I.com.cross(linear))
    close(h, dense(I) @ as_array(v))


@given(seeds)
def test_symmetric_positive_definite_and_energy(seed):
    """F3, and König: T = ½ m v_C² + ½ ω·I_C ω."""
    draw = Draw(seed)
    I, v = draw.inertia(), draw.motion()
    M = as_array(I).astype(float)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    v_C = v.at(I.com).lin
    close(I.energy(v), 0.5 * I.mass * v_C.dot(v_C) + 0.5 * v.ang.dot(I.at_com @ v.ang))
    close(I.energy(v), 0.5 * as_array(v) @ dense(I) @ as_array(v))


@given(seeds)
def test_composition(seed):
    """F6: two clouds of points joined are one cloud."""
    rng = np.random.default_rng(seed)
    points = [(m, r) for m, r in zip(rng.uniform(0.1, 2, 6), rng.normal(size=(6, 3)), strict=True)]
    parts = [Inertia.point(m, r) for m, r in points]
    whole = sum(parts[1:], parts[0])
    masses, places = (np.array(column) for column in zip(*points, strict=True))
    com = masses @ places / masses.sum()
    close(whole.mass, masses.sum())
    close(whole.com, com)
    close(whole, sum(inertia_matrix(m, r, np.zeros((3, 3))) for m, r in points))
    close(whole * 2.0, 2.0 * as_array(whole))
    assert whole + Inertia.zero() == whole


@given(seeds)
def test_congruence(seed):
    """F5: I_B = X_ABᵀ I_A X_AB keeps symmetry and definiteness, here with motion matrices both ways."""
    draw = Draw(seed)
    X, I = draw.pose(), draw.inertia()
    X_BA = np.linalg.inv(motion_matrix(X))
    close(X @ I, X_BA.T @ dense(I) @ X_BA)
    close(X.inv() @ I, motion_matrix(X).T @ dense(I) @ motion_matrix(X))
    close(X @ I, force_matrix(X) @ dense(I) @ X_BA)
    close(X.inv() @ (X @ I), dense(I))
    assert np.linalg.eigvalsh(as_array(X @ I).astype(float))[0] > 0


@given(seeds)
def test_transformed_inertia_keeps_energy_and_momentum(seed):
    draw = Draw(seed)
    X, I, v = draw.pose(), draw.inertia(), draw.motion()
    close((X @ I).energy(X @ v), I.energy(v))
    close((X @ I) @ (X @ v), X @ (I @ v))
    close((X @ I).com, X @ I.com)


def test_congruence_does_not_keep_eigenvalues():
    """F5's claim: a shift by 2 m makes a unit ball's smallest eigenvalue smaller and its largest larger."""
    I = Inertia.about_com(1.0, (0, 0, 0), (0.4, 0.4, 0.4))
    before = np.linalg.eigvalsh(as_array(I).astype(float))
    after = np.linalg.eigvalsh(as_array(Transform.translation(2.0, 0.0, 0.0) @ I).astype(float))
    assert after[0] < before[0] - 0.1
    assert after[-1] > before[-1] + 3
    assert np.prod(after) == pytest.approx(np.prod(before), rel=1e-12)  # the determinant of X is one


@given(seeds)
def test_rate_is_the_commutator(seed):
    """F4: dI/dt = v×* I - I v×, an inertia of zero mass."""
    draw = Draw(seed)
    I, v = draw.inertia(), draw.motion()
    close(I.rate(v), crf(v) @ dense(I) - dense(I) @ crm(v))
    assert I.rate(v).mass == 0


@given(seeds)
def test_rate_is_the_derivative_along_the_motion(seed):
    """F4 in the inertial frame, by dual numbers: d/dt X(t) I with v the body's velocity in that frame."""
    draw = Draw(seed)
    X, I, v = draw.pose(), draw.inertia(), draw.motion()
    slope = derivative(lambda e: moved(X, v, e[0]) @ I, [1.0])
    close((X @ I).rate(X @ v), as_array(slope))


def test_rate_by_central_differences():
    """h = 1e-5: truncation h² = 1e-10, rounding 1e-16/h = 1e-11, with third derivatives of order ten."""
    h = 1e-5
    for seed in range(10):
        draw = Draw(seed)
        X, I, v = draw.pose(), draw.inertia(), draw.motion()
        ahead, behind = (as_array(moved(X, v, t) @ I).astype(float) for t in (h, -h))
        close((X @ I).rate(X @ v), (ahead - behind) / (2 * h), tolerance=1e-8)


@given(seeds)
def test_newton_euler_is_the_rate_of_momentum(seed):
    """T4, F8: f = d/dt (I v) = I a + v ×* I v, differentiating the momentum in the inertial frame.

    The body's velocity in its own coordinates is v + a t; its pose is X exp(v t) to first order.
    """
    draw = Draw(seed)
    X, I, v, a = draw.pose(), draw.inertia(), draw.motion(), draw.motion()
    rate = derivative(lambda e: moved(X, v, e[0]) @ (I @ (v + a * e[0])), [1.0])
    close(rate, X @ (I @ a + v.cross(I @ v)))


@given(seeds)
def test_newton_and_euler_at_the_centre_of_mass(seed):
    """T4 again, as the textbook's two equations: f = m a_C and n_C = I_C α + ω × I_C ω."""
    draw = Draw(seed)
    I, v, a = draw.inertia(), draw.motion(), draw.motion()
    f = I @ a + v.cross(I @ v)
    w, c = v.ang, I.com
    origin = a.lin + w.cross(v.lin)  # spatial to classical acceleration
    a_C = origin + a.ang.cross(c) + w.cross(w.cross(c))
    close(f.lin, a_C * I.mass)
    close(f.at(c).ang, I.at_com @ a.ang + w.cross(I.at_com @ w))


# ── parameters ───────────────────────────────────────────────────────────────────────────────────


def test_ten_parameters_round_trip():
    """F7; the order is that of the regressor, not of Sym3."""
    ten = tuple(range(1, 11))
    I = Inertia.of_parameters(ten)
    assert I.parameters() == ten
    assert (I.mass, I.moment, I.rotational) == (1, Vec3(2, 3, 4), Sym3(5, 6, 8, 7, 9, 10))


@given(seeds)
def test_parameters_enter_linearly(seed):
    draw = Draw(seed)
    I, v = draw.inertia(), draw.motion()
    columns = [as_array(Inertia.of_parameters(e) @ v) for e in np.eye(10)]
    close(I @ v, np.transpose(columns) @ np.array(I.parameters(), dtype=float))


@pytest.mark.parametrize("size", [0, 9, 11])
def test_other_numbers_of_parameters_are_told(size):
    with pytest.raises(ValueShapeError, match=f"10 parameters .* got {size}"):
        Inertia.of_parameters(range(size))


# ── other scalars ────────────────────────────────────────────────────────────────────────────────


def test_newton_euler_over_symbols():
    """v · (v ×* I v) = 0: gyroscopic forces do no work, as an identity in all sixteen symbols."""
    I = Inertia.of_parameters(sp.symbols("p:10"))
    v = Motion.of(sp.symbols("v:6"))
    assert sp.expand(v.dot(v.cross(I @ v))) == 0


def test_lanes_are_bodies_side_by_side():
    draws = [Draw(seed) for seed in range(5)]
    bodies = [(draw.pose(), draw.inertia(), draw.motion()) for draw in draws]
    I = Inertia.of_parameters(np.array([b.parameters() for _, b, _ in bodies]).T)
    v = Motion.of(np.array([list(m) for *_, m in bodies]).T)
    np.testing.assert_allclose(as_array(I @ v), [as_array(b @ m) for _, b, m in bodies], rtol=0, atol=1e-14)
    np.testing.assert_allclose(as_array(I.rate(v)), [as_array(b.rate(m)) for _, b, m in bodies], rtol=0, atol=1e-14)


def test_lanes_multiply_from_the_left():
    assert isinstance(np.array([1.0, 2.0]) * Inertia.point(1.0), Inertia)
