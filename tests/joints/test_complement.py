"""Constraint forces: SᵀT = 0 (F10–F12), and Featherstone's constrained body at rest by S and by T (F11, F13, F14)."""

import numpy as np
import pytest
import sympy as sp

from qdot.algebra import as_array, derivative
from qdot.joints import Compound, Fixed, Free, Prismatic, Revolute, Universal
from qdot.joints.base import complement_of
from qdot.spatial import Basis, Motion
from tests.joints.cases import MOVING, cases, numbers
from tests.spatial.dense import Draw

ROUNDING = 1e-14
"""Six reflections of orthonormal columns, against subspaces of length below ten."""


@cases()
def test_constraint_forces_do_no_work(c):
    """F10, F12: SᵀT = 0, with 6 - rank S independent columns; the reflections make them orthonormal."""
    S, T = numbers(c.joint.subspace(c.q)), numbers(c.joint.complement(c.q))
    assert T.shape == (6, 6 - np.linalg.matrix_rank(S) if c.joint.nv else 6)
    np.testing.assert_allclose(S.T @ T, np.zeros((c.joint.nv, T.shape[1])), rtol=0, atol=ROUNDING * 10)
    np.testing.assert_allclose(T.T @ T, np.eye(T.shape[1]), rtol=0, atol=ROUNDING)
    for v in (c.v, c.u):
        np.testing.assert_allclose(c.joint.complement(c.q).T @ (c.joint.subspace(c.q) @ v), 0, atol=ROUNDING * 100)


def test_of_all_and_of_no_freedom():
    assert numbers(Fixed().complement([])).tolist() == np.eye(6).tolist()
    assert as_array(Free().complement(Free().neutral())).shape == (6, 0)
    assert len(Compound(Free(), Revolute()).complement([1, 0, 0, 0, 0, 0, 0, 0.2])) == 0


def test_any_subspace_has_a_complement():
    for size in range(7):
        for seed in range(10):
            columns = np.random.default_rng([size, seed]).normal(size=(size, 6))
            T = numbers(complement_of(Basis.motions(*(Motion.of(s) for s in columns))))
            assert np.linalg.matrix_rank(T) == T.shape[1] == 6 - size if size < 6 else T.shape == (6, 0)
            np.testing.assert_allclose(columns @ T, np.zeros((size, T.shape[1])), rtol=0, atol=ROUNDING * 10)


def test_first_columns_of_either_sign_and_along_the_axes():
    """The reflection's sign avoids cancellation: (±1, tiny) and exact axes are where the other sign fails."""
    for first in (1.0, -1.0):
        for tiny in (0.0, 1e-9, -1e-200):
            s = Motion.of([first, tiny, 0, 0, 0, 0])
            T = numbers(complement_of(Basis.motions(s)))
            np.testing.assert_allclose(numbers(s) @ T, np.zeros(5), rtol=0, atol=1e-16)
            np.testing.assert_allclose(T.T @ T, np.eye(5), rtol=0, atol=1e-15)


def test_where_freedoms_coincide_the_columns_still_do_no_work():
    """Two turns about one axis: rank 1 with nv = 2. T keeps its shape, 6 × (6 - nv), orthonormal and without work."""
    joint = Compound(Revolute("z"), Revolute("z"))
    S, T = numbers(joint.subspace([0.3, 0.4])), numbers(joint.complement([0.3, 0.4]))
    assert T.shape == (6, 4)
    np.testing.assert_allclose(S.T @ T, np.zeros((2, 4)), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(T.T @ T, np.eye(4), rtol=0, atol=ROUNDING)


def test_over_rationals_it_is_exact():
    axis = (sp.Rational(2, 7), sp.Rational(-3, 7), sp.Rational(6, 7))
    for joint in (Revolute(axis), Prismatic(axis), Compound(Revolute(axis), Prismatic("x"))):
        q = [sp.Integer(0)] * joint.nv
        S, T = sp.Matrix(as_array(joint.subspace(q))), sp.Matrix(as_array(joint.complement(q)))
        assert T.shape == (6, 6 - joint.nv)
        assert sp.simplify(S.T * T) == sp.zeros(joint.nv, 6 - joint.nv)
        assert T.rank() == 6 - joint.nv


def test_over_symbols_it_is_right_in_every_branch():
    a, b = sp.symbols("a b", real=True)
    joint = Universal("x", "y")
    S, T = sp.Matrix(as_array(joint.subspace([a, b]))), sp.Matrix(as_array(joint.complement([a, b])))
    for angle in (0.3, 2.0, -2.5, 4.0):
        at = {a: 0.2, b: angle}
        s, t = (np.array(M.subs(at).evalf(), dtype=float) for M in (S, T))
        np.testing.assert_allclose(s.T @ t, np.zeros((2, 4)), rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(t, numbers(joint.complement([0.2, angle])), rtol=0, atol=ROUNDING)


@cases(("revolute", "universal", "planar", "compound"), draws=3)
def test_it_differentiates(c):
    """d/dt (SᵀT) = ṠᵀT + SᵀṪ = 0 along v."""
    S, T = numbers(c.joint.subspace(c.q)), numbers(c.joint.complement(c.q))
    S_rate = numbers(c.joint.subspace_rate(c.q, c.v))
    T_rate = np.transpose([numbers(t) for t in derivative(lambda dv: c.joint.complement(c.at(dv)).columns, c.v)])
    np.testing.assert_allclose(S_rate.T @ T + S.T @ T_rate, np.zeros((c.joint.nv, T.shape[1])), rtol=0, atol=1e-12)


# ── a constrained body at rest ───────────────────────────────────────────────────────────────────

CONDITIONED = 1e-10
"""Inverses of inertias with condition numbers up to some thousand."""


def by_freedoms(I, S, f):
    """F13: a = S (SᵀIS)⁻¹ Sᵀ f."""
    return S @ np.linalg.solve(S.T @ I @ S, S.T @ f)


def by_constraints(I, T, f):
    """F14: λ = -D TᵀI⁻¹f with D = (TᵀI⁻¹T)⁻¹, a = I⁻¹ (f + T λ)."""
    inverse = np.linalg.inv(I)
    multipliers = -np.linalg.solve(T.T @ inverse @ T, T.T @ inverse @ f)
    return inverse @ (f + T @ multipliers), T @ multipliers


@cases(MOVING)
def test_by_freedoms_and_by_constraints_agree(c):
    """F13 = F14; and the constraint force does no work."""
    draw = Draw(len(c.q))
    I, f = numbers(draw.inertia()), numbers(draw.force())
    S, T = numbers(c.joint.subspace(c.q)), numbers(c.joint.complement(c.q))
    a, constraint = by_constraints(I, T, f) if T.shape[1] else (np.linalg.solve(I, f), np.zeros(6))
    scale = 1 + np.abs(a).max()
    np.testing.assert_allclose(by_freedoms(I, S, f), a, rtol=0, atol=CONDITIONED * scale)
    np.testing.assert_allclose(S.T @ constraint, np.zeros(c.joint.nv), rtol=0, atol=CONDITIONED * scale)
    np.testing.assert_allclose(I @ a, f + constraint, rtol=0, atol=CONDITIONED * scale)


@cases([kind for kind in MOVING if kind != "free"], draws=4)
def test_the_result_does_not_depend_on_the_basis(c):
    """F11: any S A and T B of invertible A, B describe the same joint."""
    draw = Draw(7)
    I, f = numbers(draw.inertia()), numbers(draw.force())
    S, T = numbers(c.joint.subspace(c.q)), numbers(c.joint.complement(c.q))
    A, B = (np.eye(n) * 2 + draw.rng.uniform(-0.3, 0.3, (n, n)) for n in (S.shape[1], T.shape[1]))
    a = by_freedoms(I, S, f)
    scale = 1 + np.abs(a).max()
    np.testing.assert_allclose(by_freedoms(I, S @ A, f), a, rtol=0, atol=CONDITIONED * scale)
    np.testing.assert_allclose(by_constraints(I, T @ B, f)[0], a, rtol=0, atol=CONDITIONED * scale)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_door(axis):
    """A force on a hinged body about a principal axis: α = τ / I, by hand."""
    I = np.diag([2.0, 3.0, 4.0, 5.0, 5.0, 5.0])
    k = "xyz".index(axis)
    f = np.array([1.0, 2.0, 3.0, 9.0, 9.0, 9.0])
    a = by_constraints(I, numbers(Revolute(axis).complement([0.0])), f)[0]
    np.testing.assert_allclose(a, np.eye(6)[k] * f[k] / I[k, k], rtol=0, atol=1e-14)
