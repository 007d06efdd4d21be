"""Closed forms of the primitives: textbook values, quadrature, symbols, and what a value must be able to do."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from math import pi

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st
from solids import PRIMITIVES, assert_same, kind, monomial

from qdot.algebra import Vec3, as_array, derivative
from qdot.errors import GeometryError
from qdot.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Placed, Shape, Sphere, mass_properties
from qdot.spatial import Inertia, Transform

lengths = st.floats(0.01, 100.0)
angles = st.floats(-3.0, 3.0)


def varying(x, y, z):
    return 1 + x + 2 * z**2


# ── values ───────────────────────────────────────────────────────────────────────────────────────


def test_sphere_has_two_fifths():
    I = Sphere(3, mass=5).inertia()
    assert as_array(I.rotational).tolist() == np.diag([18.0, 18.0, 18.0]).tolist()  # exact in binary
    assert I.moment == Vec3(0, 0, 0)


def test_box_of_the_example():
    I = Box(0.4, 0.2, 0.2, mass=1.0).inertia()
    # 1e-15: three roundings.
    np.testing.assert_allclose(np.diag(as_array(I.rotational)), [0.08 / 12, 0.2 / 12, 0.2 / 12], rtol=1e-15)


def test_cone_about_its_apex_has_the_textbook_moment():
    r, l, m = 0.5, 1.2, 2.0
    about_apex = Cone(r, l, mass=m).at(0, 0, -l / 2).inertia()
    # 3/5 m (r²/4 + l²) and 3/10 m r² (Meriam, table D/4); 1e-14: the shift rounds a few times.
    assert about_apex.rotational.xx == pytest.approx(0.6 * m * (r * r / 4 + l * l), rel=1e-14)
    assert about_apex.rotational.zz == pytest.approx(0.3 * m * r * r, rel=1e-14)
    assert about_apex.com.z == pytest.approx(-3 * l / 4, rel=1e-14)


def test_capsule_is_a_cylinder_and_two_half_balls():
    r, l, rho = 0.25, 0.8, 3.0
    m = 2 / 3 * pi * r**3 * rho
    half = Inertia.about_com(m, (0, 0, 3 * r / 8), (83 / 320 * m * r * r,) * 2 + (0.4 * m * r * r,))
    turned = Transform.rpy(pi, 0, 0, (0, 0, -l / 2))
    whole = Cylinder(r, l, density=rho).inertia() + Transform.translation(0, 0, l / 2) @ half + turned @ half
    assert_same(Capsule(r, l, density=rho).inertia(), whole, rtol=1e-14)  # sums of a few roundings


def test_capsule_of_no_length_is_a_sphere():
    assert_same(Capsule(0.3, 1e-14, mass=2.0).inertia(), Sphere(0.3, mass=2.0).inertia(), rtol=1e-12)  # l/r = 3e-14


def test_ellipsoid_with_equal_axes_is_a_sphere():
    assert Ellipsoid(0.3, 0.3, 0.3, mass=2.0).inertia() == Sphere(0.3, mass=2.0).inertia()  # one formula


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
def test_closed_form_equals_integration(shape):
    assert shape.volume() == pytest.approx(monomial(shape, 0, 0, 0), rel=1e-11)  # quad's own 1e-12
    solid = replace(shape, density=700.0)
    assert_same(solid.inertia(), mass_properties(shape, 700.0), rtol=1e-13)  # rounding of some hundred terms


@given(x=lengths, y=lengths, z=lengths)
def test_closed_form_equals_integration_for_any_size(x, y, z):
    for shape in (Box(x, y, z), Ellipsoid(x, y, z), Cylinder(x, z), Capsule(x, z), Cone(x, z)):
        by_density = replace(shape, density=2.0).inertia()
        assert_same(by_density, mass_properties(shape, 2.0), rtol=1e-12)  # rounding; lengths differ up to 1e4 times
        assert_same(replace(shape, mass=by_density.mass).inertia(), by_density, rtol=1e-13)


def test_a_shape_without_mass_has_none():
    for shape in PRIMITIVES:
        assert shape.inertia() == Inertia.zero()
        assert shape.at(1, 2, 3).inertia() == Inertia.zero()


# ── placement ────────────────────────────────────────────────────────────────────────────────────


@given(roll=angles, pitch=angles, yaw=angles, position=st.tuples(*[st.floats(-5, 5)] * 3))
def test_placed_inertia_is_transformed(roll, pitch, yaw, position):
    X = Transform.rpy(roll, pitch, yaw, position)
    for shape in (Box(0.4, 0.7, 0.2, mass=2.0), Cone(0.5, 1.2, density=varying)):
        placed = shape.at(X)
        assert isinstance(placed, Placed)
        assert isinstance(placed, Shape)
        assert placed.inertia() == X @ shape.inertia()


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
def test_placed_inertia_equals_integration_in_the_outer_frame(shape):
    X = Transform.rpy(0.3, -0.7, 1.1, (0.5, -0.2, 0.9))
    placed = replace(shape, density=3.0).at(X)
    assert placed.volume() == shape.volume()
    assert_same(placed.inertia(), mass_properties(placed, 3.0), rtol=1e-13)  # rounding
    R, p = as_array(X.rotation), as_array(X.position)

    def density_outside(x, y, z):
        return varying(*(R.T @ (np.stack([x, y, z]) - p[:, None])))

    inside = replace(shape, density=varying).at(X).inertia()
    assert_same(inside, mass_properties(placed, density_outside), rtol=1e-12)  # a polynomial: exact but for rounding


def test_placements_compose():
    X, Y = Transform.rpy(0.1, 0.2, 0.3, (1, 2, 3)), Transform.rpy(-0.5, 0.4, 0.9, (0, -1, 2))
    box = Box(1, 2, 3, mass=1.0)
    assert box.at(X).at(Y) == box.at(Y @ X)
    assert box.at(1, 2, 3) == box.at((1, 2, 3)) == box.at(Transform.translation(1, 2, 3))
    assert_same(Placed(box.at(X), Y).inertia(), box.at(Y @ X).inertia(), rtol=1e-13)  # rounding


@pytest.mark.parametrize(
    "pose",
    [
        (),
        (1, 2),
        (None,),
        (1, 2, 3, 4),
        (float("nan"), 0, 0),
        (Transform(Transform.identity().rotation * 2, Vec3.zero()),),
        (Transform(-Transform.identity().rotation, Vec3.zero()),),
    ],
)
def test_a_bad_placement_is_an_error(pose):
    with pytest.raises(GeometryError):
        Box(1, 1, 1).at(*pose)


# ── symbols and other scalars ────────────────────────────────────────────────────────────────────


def test_symbols_give_the_textbook_formulas():
    m, x, y, z, r, l = sp.symbols("m x y z r l", positive=True)
    assert sp.expand(Box(x, y, z, mass=m).inertia().rotational.xx - m * (y**2 + z**2) / 12) == 0
    assert Sphere(r, mass=m).inertia().rotational.zz == 2 * m * r**2 / 5
    cone = Cone(r, l, mass=m).inertia()
    assert cone.com.z == -l / 4
    assert sp.simplify(cone.at_com.xx - sp.Rational(3, 80) * m * (4 * r**2 + l**2)) == 0
    capsule = Capsule(r, l, mass=m).inertia()
    assert sp.simplify(capsule.rotational.xx.subs(l, 0) - 2 * m * r**2 / 5) == 0
    assert not capsule.rotational.xx.has(sp.Float)


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
@pytest.mark.parametrize("amount", ["mass", "density"])
def test_symbols_agree_with_numbers(shape, amount):
    names = shape._names()
    symbols = sp.symbols(names, positive=True)
    rho = sp.Symbol("rho", positive=True)
    symbolic = type(shape)(*symbols, **{amount: rho}).inertia()
    values = dict(zip(symbols, shape.dimensions(), strict=True)) | {rho: 3.0}
    numbers = Inertia.of_parameters([float(sp.sympify(p).subs(values)) for p in symbolic.parameters()])
    assert_same(numbers, replace(shape, **{amount: 3.0}).inertia(), rtol=1e-14)  # the same operations


def test_symbols_move():
    m, r, d = sp.symbols("m r d", positive=True)
    assert sp.simplify(Sphere(r, mass=m).at(d, 0, 0).inertia().rotational.zz - (2 * m * r**2 / 5 + m * d**2)) == 0


def test_exact_numbers_stay_exact():
    assert Box(Fraction(1, 3), 1, 2, mass=Fraction(6)).inertia().rotational.zz == Fraction(5, 9)
    assert Sphere(sp.Rational(1, 2), mass=sp.Integer(1)).inertia().rotational.xx == sp.Rational(1, 10)


def test_symbols_have_no_points_in_space():
    r, d = sp.symbols("r d")
    for ask in (
        lambda: Sphere(r).quadrature(2),
        lambda: Sphere(r).surface(),
        lambda: Sphere(1.0).at(d, 0, 0).surface(),
        lambda: Sphere(r, density=varying).inertia(),
    ):
        with pytest.raises(GeometryError, match="substitute"):
            ask()


def test_dual_numbers_differentiate_the_inertia():
    slope = derivative(lambda e: Cylinder(1 + e[0], 2.0, mass=3.0).inertia().rotational.zz, [1.0])
    assert slope == pytest.approx(3.0, rel=1e-15)  # d(m r²/2)/dr = m r


# ── values behave as values ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
def test_equal_by_content_hashable_and_picklable(shape):
    for value in (replace(shape, mass=1.0), replace(shape, density=varying), shape.at(1, 2, 3)):
        for same in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert same == value
            assert hash(same) == hash(value)
            assert repr(same) == repr(value)
    assert shape != replace(shape, mass=1.0)
    assert replace(shape, mass=1.0) != replace(shape, density=1.0)
    with pytest.raises(FrozenInstanceError):
        shape.mass = 2.0


def test_kinds_of_equal_dimensions_differ():
    assert len({Cylinder(1, 2), Capsule(1, 2), Cone(1, 2), Box(1, 2, 3), Ellipsoid(1, 2, 3)}) == 5


def test_repr_is_the_text_that_makes_it():
    box = Box(0.4, 0.2, 0.2, mass=1.0)
    assert repr(box) == "Box(x=0.4, y=0.2, z=0.2, mass=1.0)"
    assert eval(repr(box)) == box
    assert repr(Capsule(length=1.0, radius=0.03)) == "Capsule(radius=0.03, length=1.0)"


# ── bad input ────────────────────────────────────────────────────────────────────────────────────

not_positive = st.one_of(
    st.floats(max_value=0.0), st.just(float("nan")), st.just(float("inf")), st.integers(max_value=0), st.just("1"),
    st.none(), st.just([1.0]), st.just(1j),
)  # fmt: skip


@given(bad=not_positive, data=st.data())
def test_bad_dimensions_are_named(bad, data):
    shape = data.draw(st.sampled_from(PRIMITIVES))
    name = data.draw(st.sampled_from(shape._names()))
    with pytest.raises(GeometryError, match=f"the {name} of {kind(shape)}"):
        replace(shape, **{name: bad})


@given(bad=st.one_of(st.floats(max_value=-1e-300), st.just(float("nan")), st.just(float("inf")), st.just("steel")))
@pytest.mark.parametrize("name", ["mass", "density"])
def test_bad_amounts_are_named(name, bad):
    with pytest.raises(GeometryError, match=f"the {name} of Sphere"):
        Sphere(1.0, **{name: bad})


def test_mass_and_density_exclude_each_other():
    with pytest.raises(GeometryError, match="both"):
        Sphere(1.0, mass=1.0, density=1.0)
    with pytest.raises(GeometryError, match="density"):
        Sphere(1.0, mass=varying)


def test_mass_is_given_by_name():
    with pytest.raises(TypeError):
        Sphere(1.0, 2.0)
