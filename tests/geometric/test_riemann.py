"""The connection and the curvature of M: what defines them (T28–T32), and spaces whose curvature is known."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import qdot
from qdot.algebra import cos, sin
from qdot.algorithms import riemann
from qdot.errors import QdotError, SingularError, ValueShapeError
from qdot.joints import Revolute, Spherical
from qdot.model.library import double_pendulum, random_state
from qdot.programs import dispatch
from qdot.programs.functions import function
from qdot.spatial import Force, Inertia
from tests.geometric.cases import TOLERANCE, alone, arm, rotor, slides, small_trees, sphere, weightless
from tests.laws.trees import SEEDS, case, close

inner_product = function(riemann.inner_product)
dual_product = function(riemann.dual_product)
covariant_derivative = function(riemann.covariant_derivative, needs_inertia=True)
directional_derivative = function(riemann.directional_derivative)
covariant_acceleration = function(riemann.covariant_acceleration, needs_inertia=True)
riemann_tensor = function(riemann.riemann_tensor, lambda m: (m.nv,) * 4, needs_inertia=True)
sectional_curvature = function(riemann.sectional_curvature)


def field(model: qdot.Model, seed: int):
    """A smooth field of vectors u(q), different for each seed."""
    A, shift = np.random.default_rng(seed).normal(size=(model.nv, model.nq)), 0.3 * seed

    def u(q: list) -> list:
        return [sin(sum(a * x for a, x in zip(row, q, strict=True)) + shift) + cos(q[0]) for row in A.tolist()]

    return u


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_products_of_vectors_and_covectors_agree(seed: int) -> None:
    """⟨u, w⟩ = ⟨M u, M w⟩, and ⟨v, v⟩ = 2 K."""
    c = case(seed)
    M = qdot.mass_matrix(c.model, c.q)
    product = inner_product(c.model, c.q, c.v, c.a)
    close(product, c.v @ M @ c.a, TOLERANCE)
    close(dual_product(c.model, c.q, M @ c.v, M @ c.a), product, TOLERANCE)
    close(inner_product(c.model, c.q, c.v, c.v), 2 * qdot.kinetic_energy(c.model, c.q, c.v), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_connection_keeps_the_metric(seed: int) -> None:
    """∇M = 0: v⟨u, w⟩ = ⟨∇_v u, w⟩ + ⟨u, ∇_v w⟩ for any fields; with drives too."""
    c = case(seed, most_freedoms=12)
    m, q, v = c.model, list(c.q), list(c.v)
    u, w = field(m, 1), field(m, 2)
    change = directional_derivative(m, q, v, lambda at: riemann.inner_product(m, at, u(at), w(at)))
    du, dw = covariant_derivative(m, q, v, u), covariant_derivative(m, q, v, w)
    close(change, inner_product(m, q, du, w(q)) + inner_product(m, q, u(q), dw), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_connection_has_no_torsion(seed: int) -> None:
    """∇_u w - ∇_w u = [u, w], where [u, w] f = u(w(f)) - w(u(f)) says what a bracket of fields is."""
    c = case(seed, passive=False, most_freedoms=12)
    m, q = c.model, list(c.q)
    u, w = field(m, 1), field(m, 2)
    torsion = covariant_derivative(m, q, u(q), w) - covariant_derivative(m, q, w(q), u)
    f = field(m, 3)

    def along(g, x):  # the function x(g) of q
        return lambda at: riemann.directional_derivative(m, at, x(at), g)

    expected = np.array(along(along(f, w), u)(q), dtype=float) - np.array(along(along(f, u), w)(q), dtype=float)
    close(directional_derivative(m, q, torsion, f), expected, TOLERANCE)


def test_drives_of_a_ball_make_torsion() -> None:
    """The equations of motion count armature in M alone: ∇_u w - ∇_w u = [u, w] - M⁻¹ D [u, w]."""
    D = np.array([0.3, 0.1, 0.2])
    model = alone(Spherical(), Inertia.about_com(1.0, (0, 0, 0), (1.0, 1.5, 2.0)), armature=D)
    q, (u, w) = model.neutral(), np.random.default_rng(0).normal(size=(2, 3))
    torsion = covariant_derivative(model, q, u, lambda at: w) - covariant_derivative(model, q, w, lambda at: u)
    bracket = np.cross(u, w)
    close(torsion, bracket - np.linalg.solve(qdot.mass_matrix(model, q), D * bracket), 1e-14)


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_newtons_law_is_forward_dynamics(seed: int) -> None:
    """M ∇_v v = τ - g + passive + Jᵀf (T32)."""
    c = case(seed)
    wrenches = {"site0": Force.of(np.random.default_rng(seed).normal(size=6))}
    a = qdot.forward_dynamics(c.model, c.q, c.v, c.a, wrenches=wrenches)
    close(riemann.forward_dynamics(c.model, list(c.q), list(c.v), list(c.a), wrenches=wrenches), a, TOLERANCE)
    force = c.a - qdot.gravity_forces(c.model, c.q) + qdot.passive_forces(c.model, c.q, c.v)
    force += qdot.jacobian(c.model, c.q, "site0").T @ list(wrenches["site0"])
    M = qdot.mass_matrix(c.model, c.q)
    close(M @ covariant_acceleration(c.model, c.q, c.v, a), force, TOLERANCE)


def test_flat_space_has_the_ordinary_derivative() -> None:
    """Constant M: no connection, no curvature (T25, T29)."""
    model = slides()
    q, v, _ = random_state(model, 1)
    u = field(model, 1)
    close(covariant_derivative(model, q, v, u), directional_derivative(model, q, v, u), 1e-14)
    close(riemann_tensor(model, q), np.zeros((3, 3, 3, 3)), 1e-13)


@pytest.mark.parametrize("seed", SEEDS[::6])
def test_symmetries_of_riemann(seed: int) -> None:
    """R_lkij = -R_klij = -R_lkji = R_ijlk, and R_l[kij] = 0 (the first identity of Bianchi)."""
    c = case(seed, passive=False, most_freedoms=8)
    R = riemann_tensor(c.model, c.q)
    close(R, -R.transpose(1, 0, 2, 3), TOLERANCE)
    close(R, -R.transpose(0, 1, 3, 2), TOLERANCE)
    close(R, R.transpose(2, 3, 0, 1), TOLERANCE)
    close(R + R.transpose(0, 2, 3, 1) + R.transpose(0, 3, 1, 2), np.zeros_like(R), TOLERANCE)


@pytest.mark.parametrize("k", range(5))
def test_riemann_is_what_second_derivatives_do_not_commute_by(k: int) -> None:
    """R(u, w) x = ∇_u ∇_w x - ∇_w ∇_u x - ∇_[u, w] x for fields, and the sectional curvature is its own."""
    model, q, _ = small_trees()[k]
    q = list(q)
    u, w = (list(x) for x in np.random.default_rng(k).normal(size=(2, model.nv)))
    x = field(model, 3)

    def nabla(along: list, of):
        return lambda at: riemann.covariant_derivative(model, at, along, of)

    turn = riemann.bracket(model, u, w)
    second = [nabla(a, nabla(b, x))(q) for a, b in ((u, w), (w, u))]
    expected = np.array(second[0], dtype=float) - np.array(second[1], dtype=float) - nabla(turn, x)(q)
    R, M = riemann_tensor(model, q), qdot.mass_matrix(model, q)
    close(np.linalg.solve(M, np.einsum("lkij,k,i,j->l", R, x(q), u, w)), expected, TOLERANCE)
    area = inner_product(model, q, u, u) * inner_product(model, q, w, w) - inner_product(model, q, u, w) ** 2
    close(sectional_curvature(model, q, u, w), np.einsum("lkij,l,k,i,j", R, u, w, u, w) / area, TOLERANCE)


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (0.5, 1.0), (2.0, 3.0)])
def test_spherical_pendulum_is_a_sphere(length: float, mass: float) -> None:
    """Curvature 1 / (m l²) everywhere."""
    model = sphere(length, mass)
    for latitude in (-1.2, 0.0, 0.4):
        q = [0.7, latitude]
        close(qdot.mass_matrix(model, q), mass * length**2 * np.diag([np.cos(latitude) ** 2, 1]), 1e-14)
        close(sectional_curvature(model, q, [1.0, 0.2], [0.3, -1.0]), 1 / (mass * length**2), 1e-12)


def test_ball_is_half_of_a_sphere_of_three_dimensions() -> None:
    """Equal moments I: a metric that both sides keep, of curvature 1/(4 I) in every plane."""
    model = rotor(1.7, 1.7, 1.7)
    rng = np.random.default_rng(0)
    for u, w in rng.normal(size=(5, 2, 3)):
        close(sectional_curvature(model, random_state(model, 1)[0], u, w), 1 / (4 * 1.7), 1e-13)


def test_rotor_has_the_curvature_of_milnor() -> None:
    """K(e₁, e₂) = λ₃μ₃ - μ₁μ₂ with λ_i = I_i/√(I₁I₂I₃), μ_i = ½Σλ - λ_i. Milnor, Advances in Mathematics 21 (1976)."""
    moments = np.array([1.0, 2.0, 2.5])
    lambdas = moments / np.sqrt(moments.prod())
    mu = lambdas.sum() / 2 - lambdas
    model = rotor(*moments)
    q = random_state(model, 3)[0]
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        close(sectional_curvature(model, q, np.eye(3)[a], np.eye(3)[b]), lambdas[c] * mu[c] - mu[a] * mu[b], 1e-13)


def test_double_pendulum_has_the_curvature_of_gauss() -> None:
    """In two dimensions K is Gauss's, by Brioschi's formula from M in symbols."""
    model = weightless(double_pendulum((1.0, 0.7), (1.2, 0.8)))
    x, y = sp.symbols("x y")
    M = sp.Matrix(qdot.mass_matrix(model, [x, y]))
    E, F, G = M[0, 0], M[0, 1], M[1, 1]
    half = sp.Rational(1, 2)
    first = sp.Matrix([
        [F.diff(x, y) - half * (E.diff(y, 2) + G.diff(x, 2)), half * E.diff(x), F.diff(x) - half * E.diff(y)],
        [F.diff(y) - half * G.diff(x), E, F],
        [half * G.diff(y), F, G],
    ])  # fmt: skip
    second = sp.Matrix([[0, half * E.diff(y), half * G.diff(x)], [half * E.diff(y), E, F], [half * G.diff(x), F, G]])
    gauss = sp.lambdify([x, y], (first.det() - second.det()) / (E * G - F**2) ** 2)
    for q in ([0.3, 0.4], [-1.0, 2.0], [0.2, -1.4]):
        close(sectional_curvature(model, q, [1.0, 0.0], [0.0, 1.0]), gauss(*q), 1e-12)
        close(sectional_curvature(model, q, [1.0, 0.5], [0.3, -1.0]), gauss(*q), 1e-12)


def test_batches_and_compiled_programs_are_the_text() -> None:
    model = rotor(1.0, 2.0, 2.5)
    q, u, w = (np.array(x) for x in zip(*(random_state(model, seed) for seed in range(4)), strict=True))
    compiled = qdot.compile(riemann.sectional_curvature, model)(q, u, w)
    R = qdot.compile(riemann.riemann_tensor, model)(q)
    close(sectional_curvature(model, q, u, w), compiled, TOLERANCE)
    for row in range(4):
        close(compiled[row], riemann.sectional_curvature(model, list(q[row]), list(u[row]), list(w[row])), TOLERANCE)
        close(R[row], riemann.riemann_tensor(model, list(q[row])), TOLERANCE)
    flow = field(model, 2)
    nabla = qdot.compile(riemann.covariant_derivative, model, field=flow)(q, u)
    close(nabla[2], covariant_derivative(model, q[2], u[2], flow), TOLERANCE)


def test_directions_that_span_no_surface_are_refused() -> None:
    with pytest.raises(ValueShapeError, match="parallel"):
        sectional_curvature(arm(), [0.1, 0.2], [1.0, 0.5], [-2.0, -1.0])


@pytest.mark.parametrize("compiling", [True, False])
def test_they_are_refused_by_programs_and_in_batches_too(compiling: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "ENABLED", compiling)
    for model, q, v, dv in (
        (arm(), [0.1, 0.2], [1.0, 0.3], [0.1, 0.03]),
        (arm(), [0.1, 0.2], np.array([[1.0, 0.3], [1.0, 0.0]]), [0.1, 0.03]),
        (alone(Revolute("y"), Inertia.point(1.0, (1, 0, 0))), [0.1], [1.0], [2.0]),
    ):
        with pytest.raises(ValueShapeError, match="parallel"):
            qdot.sectional_curvature(model, q, v, dv)
    program = qdot.compile(riemann.sectional_curvature, arm())
    assert np.isnan(program([0.1, 0.2], [1.0, 0.5], [-2.0, -1.0]))


@pytest.mark.parametrize(
    ("derive", "flow", "words"),
    [
        (qdot.covariant_derivative, lambda q: [q[0]], "1 entries where 2"),
        (qdot.covariant_derivative, lambda q: q[0], "returns a list"),
        (qdot.directional_derivative, lambda q: np.sin(q[0]), "qdot.algebra.sin"),
        (qdot.directional_derivative, lambda q: "a", "neither a number"),
        (qdot.directional_derivative, 5, "field is a function"),
    ],
)
def test_fields_that_are_refused(derive, flow, words: str) -> None:
    with pytest.raises(QdotError, match=words):
        derive(arm(), [0.1, 0.2], [1.0, 0.5], flow)


def test_a_joint_that_moves_no_mass_is_named() -> None:
    with pytest.raises(SingularError, match="body"):
        covariant_acceleration(alone(Revolute("y"), Inertia.zero()), [0.0], [1.0], [1.0])
