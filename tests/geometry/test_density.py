"""Bodies by integration: quadrature rules, varying densities, and the laws H7–H10 and H15."""

from dataclasses import replace
from itertools import product
from math import cosh, pi, sinh

import numpy as np
import pytest
from hypothesis import given, strategies as st
from solids import PRIMITIVES, assert_same, ell, kind, monomial, parameters

from qdot.algebra import Vec3, as_array
from qdot.errors import GeometryError
from qdot.geometry import Box, ConvexHull, Cylinder, Mesh, Sphere, integrate, mass_properties
from qdot.spatial import Motion, Transform, inertia_of_moments, physical_problem


def varying(x, y, z):
    return 1 + x + 2 * z**2


def cloud():
    return np.random.default_rng(5).normal(size=(30, 3)) * (0.3, 0.2, 0.4)


BODIES = [*PRIMITIVES, ell(), ConvexHull(cloud()), Box(0.4, 0.7, 0.2).at(Transform.rpy(0.3, 0.4, 0.5, (0.1, 0.2, 0)))]

# ── rules ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
@pytest.mark.parametrize("order", [1, 2, 3, 4, 7])
def test_rules_are_exact_up_to_their_degree(shape, order):
    points, weights = shape.quadrature(order)
    assert points.shape == (len(weights), 3)
    assert (weights > 0).all()
    for a, b, c in product(range(2 * order), repeat=3):
        if a + b + c < 2 * order:
            x, y, z = points.T
            got, size = weights @ (x**a * y**b * z**c), weights @ np.abs(x**a * y**b * z**c)
            # quad's tolerances, and the rounding of a few hundred terms.
            assert got == pytest.approx(monomial(shape, a, b, c), abs=1e-12 * size + 1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_rules_are_not_exact_one_degree_further(order):
    points, weights = Box(2, 2, 2).quadrature(order)
    assert abs(weights @ points[:, 0] ** (2 * order) - monomial(Box(2, 2, 2), 2 * order, 0, 0)) > 1e-3


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_rules_of_meshes_are_exact_up_to_their_degree(order):
    box = Box(0.4, 0.7, 0.2)
    points, weights = Mesh(*box.surface()).quadrature(order)
    x, y, z = points.T
    for a, b, c in product(range(2 * order), repeat=3):
        if a + b + c < 2 * order:
            size = weights @ np.abs(x**a * y**b * z**c)
            assert weights @ (x**a * y**b * z**c) == pytest.approx(monomial(box, a, b, c), abs=1e-13 * size)


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
def test_rules_stay_within_the_shape(shape):
    points, _ = shape.quadrature(9)
    hull, _ = shape.surface(60)
    # The surface has its vertices on the body; no point passes its extent.
    assert (points.min(axis=0) > hull.min(axis=0)).all()
    assert (points.max(axis=0) < hull.max(axis=0) * (1 + 1e-2)).all()


@pytest.mark.parametrize("order", [0, -1, 1.5, 2.0, "2"])
def test_a_bad_order_is_an_error(order):
    with pytest.raises(GeometryError, match="order"):
        Sphere(1.0).quadrature(order)


# ── densities ────────────────────────────────────────────────────────────────────────────────────


def moments_by_monomials(shape, terms):
    """The inertia of the density Σ k xᵃ yᵇ zᶜ by the reference integrals."""

    def moment(i, j, k):
        return sum(w * monomial(shape, a + i, b + j, c + k) for w, (a, b, c) in terms)

    unit = np.eye(3, dtype=int)
    first = np.array([moment(*e) for e in unit])
    second = np.array([[moment(*(e + f)) for e in unit] for f in unit])
    return inertia_of_moments(moment(0, 0, 0), first, second)


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
def test_polynomial_density_is_exact(shape):
    expected = moments_by_monomials(shape, [(1, (0, 0, 0)), (1, (1, 0, 0)), (2, (0, 0, 2))])
    solid = replace(shape, density=varying)
    assert_same(solid.inertia(), expected, rtol=1e-11)  # quad's 1e-12; the rules are exact
    assert physical_problem(solid.inertia()) is None


def test_polynomial_density_on_a_mesh_that_is_not_convex():
    parts = [
        Box(2, 1, 1).at(1, 0.5, 0.5),
        Box(1, 1, 1).at(0.5, 1.5, 0.5),
    ]
    expected = mass_properties(parts[0], varying) + mass_properties(parts[1], varying)
    assert_same(ell(density=varying).inertia(), expected, rtol=1e-13)  # both exact: rounding


def test_smooth_density_converges():
    R = 0.9
    I = Sphere(R, density=lambda x, y, z: np.exp(z)).inertia()
    # ∫ exp(z) dV over a ball is 4π (R cosh R - sinh R); 1e-10 is what was asked for.
    assert I.mass == pytest.approx(4 * pi * (R * cosh(R) - sinh(R)), rel=1e-10)
    assert I.com.x == pytest.approx(0, abs=1e-12)
    assert I.com.z > 0


def test_constant_functions_may_return_one_number():
    assert_same(
        Sphere(0.5, density=lambda x, y, z: 3).inertia(), Sphere(0.5, density=3.0).inertia(), rtol=1e-13
    )  # rounding
    assert integrate(Box(1, 2, 3), lambda x, y, z: 2) == pytest.approx(12, rel=1e-14)  # rounding


def test_integrands_may_be_several():
    value = integrate(Box(1, 2, 3), lambda x, y, z: np.stack([np.ones_like(x), x * x, np.abs(z) * 0]))
    np.testing.assert_allclose(value, [6, 0.5, 0], rtol=1e-14)  # exact but for rounding
    value = integrate(Box(1, 2, 3), lambda x, y, z: np.stack([[x, y], [z, x * x]]))
    np.testing.assert_allclose(value, [[0, 0], [0, 0.5]], atol=1e-14)
    assert np.shape(integrate(Box(1, 2, 3), lambda x, y, z: x)) == ()


def test_a_jump_does_not_converge_and_splitting_helps():
    with pytest.raises(GeometryError, match=r"Cylinder.*does not converge.*split the body"):
        Cylinder(0.3, 2.0, density=lambda x, y, z: np.where(z > 0.1, 7800.0, 2700.0)).inertia()
    with pytest.raises(GeometryError, match=r"Sphere.*does not converge: [0-9.]+ and then [0-9.]+ with"):
        integrate(Sphere(1.0), lambda x, y, z: x > 0.1)
    parts = [Cylinder(0.3, 0.9, density=7800.0).at(0, 0, 0.55), Cylinder(0.3, 1.1, density=2700.0).at(0, 0, -0.45)]
    whole = parts[0].inertia() + parts[1].inertia()
    rough = mass_properties(Cylinder(0.3, 2.0), lambda x, y, z: np.where(z > 0.1, 7800.0, 2700.0), rtol=0.05)
    assert_same(rough, whole, rtol=0.1)  # asked for 5 % between orders


def test_many_points_are_given_up_early(monkeypatch):
    monkeypatch.setattr("qdot.geometry.solid._MOST_POINTS", 1000)
    with pytest.raises(GeometryError, match=r"with 432 points"):  # 2·6³: the second order
        integrate(Sphere(1.0), lambda x, y, z: np.abs(x))
    assert integrate(Sphere(1.0), lambda x, y, z: x * x) == pytest.approx(4 * pi / 15, rel=1e-13)  # rounding


@given(
    bad=st.sampled_from([-1.0, float("nan"), float("inf"), -float("inf")]),
    body=st.sampled_from([Sphere(1.0), ell()]),
)
def test_bad_densities_are_errors_that_name_the_shape(bad, body):
    def density(x, y, z):
        return np.where(x > 0.2, bad, 1.0)

    with pytest.raises(GeometryError, match=r"(Sphere|Mesh)\(.*(negative|not a finite)"):
        replace(body, density=density).inertia()
    with pytest.raises(GeometryError, match=r"negative|finite"):
        mass_properties(body, bad)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y, z: __import__("math").sin(x),
        lambda x, y, z: 1 if x > 0 else 2,
        lambda x, y, z: np.ones(3),
        lambda x, y, z: x[:, None],
    ],
)
def test_functions_that_fail_on_arrays_are_explained(f):
    with pytest.raises(GeometryError, match="NumPy arrays"):
        integrate(Sphere(1.0), f)


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────

GRAVITY = np.array([0.3, -0.7, -9.81])
OMEGA, V_C = np.array([0.7, -1.3, 0.4]), np.array([0.2, 0.9, -0.5])


@pytest.mark.parametrize("body", BODIES, ids=kind)
def test_mass_and_centre_of_mass_are_integrals(body):  # H7, H8
    I = mass_properties(body, varying)
    m = integrate(body, varying)
    h = integrate(body, lambda x, y, z: varying(x, y, z) * np.stack([x, y, z]))
    assert I.mass == pytest.approx(m, rel=1e-14)  # the same sums
    np.testing.assert_allclose(as_array(I.com), h / m, atol=1e-14)


@pytest.mark.parametrize("body", BODIES, ids=kind)
def test_kinetic_energy_is_an_integral(body):  # H9
    I = mass_properties(body, varying)
    c = as_array(I.com)

    def energies(x, y, z):
        r = np.stack([x, y, z]) - c[:, None]
        turning = np.cross(OMEGA, r, axisb=0, axisc=0)
        v = V_C[:, None] + turning
        rho = varying(x, y, z)
        return np.stack([0.5 * rho * (v * v).sum(axis=0), rho * (V_C @ turning)])

    energy, cross = integrate(body, energies)
    v_O = V_C - np.cross(OMEGA, c)
    expected = I.energy(Motion(Vec3(*OMEGA), Vec3(*v_O)))
    assert energy == pytest.approx(expected, rel=1e-12)  # a polynomial of degree 4: rounding only
    assert cross == pytest.approx(0, abs=1e-12 * energy)  # the cross term vanishes about the centre of mass
    # König: ½ m v_C² + ½ ω·I_C ω.
    about_com = 0.5 * I.mass * V_C @ V_C + 0.5 * OMEGA @ as_array(I.at_com) @ OMEGA
    assert energy == pytest.approx(about_com, rel=1e-12)


@pytest.mark.parametrize("body", BODIES, ids=kind)
def test_euler_matrix_gives_the_inertia(body):  # H10
    def squares(x, y, z):
        r = np.stack([x, y, z])
        return varying(x, y, z) * r[:, None] * r[None, :]

    E = integrate(body, squares)
    I = as_array(mass_properties(body, varying).rotational)
    assert np.trace(I) == pytest.approx(2 * np.trace(E), rel=1e-13)  # rounding
    np.testing.assert_allclose(I, np.trace(E) * np.eye(3) - E, atol=1e-13 * np.trace(E))
    np.testing.assert_allclose(E, 0.5 * np.trace(I) * np.eye(3) - I, atol=1e-13 * np.trace(E))


@pytest.mark.parametrize("body", BODIES, ids=kind)
def test_potential_energy_is_an_integral(body):  # H15
    I = mass_properties(body, varying)
    energy = integrate(body, lambda x, y, z: -varying(x, y, z) * (GRAVITY @ np.stack([x, y, z])))
    # 1e-13 of the energy's own scale: the com may lie near the origin, where the sum cancels.
    assert energy == pytest.approx(-I.mass * GRAVITY @ as_array(I.com), abs=1e-13 * 10 * I.mass)


@pytest.mark.parametrize("body", [b for b in BODIES if kind(b) != "Placed"], ids=kind)
def test_density_scales_mass_does_too(body):
    once, twice = replace(body, density=2.0).inertia(), replace(body, density=4.0).inertia()
    np.testing.assert_allclose(parameters(twice), 2 * parameters(once), rtol=1e-14)  # powers of two
    assert_same(replace(body, mass=once.mass).inertia(), once, rtol=1e-14)
