"""Motions and forces: shifts (T1, T2), power, cross products (F8), against 6 × 6 matrices."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given

from qdot.algebra import Vec3, as_array
from qdot.errors import ValueShapeError
from qdot.spatial import Force, Motion
from tests.spatial.dense import Draw, close, crf, crm, seeds


def test_velocity_shift_of_todorov():
    """T1: v_O = v_P + OP × ω. A wheel that turns about P has its hub's velocity at O."""
    at_P = Motion(Vec3(0, 0, 2), Vec3(0, 0, 0))
    OP = Vec3(1, 0, 0)
    assert at_P.at(-OP) == Motion(Vec3(0, 0, 2), OP.cross(Vec3(0, 0, 2)))
    assert at_P.at(-OP).lin == Vec3(0, -2, 0)


def test_wrench_shift_of_todorov():
    """T2: n_O = n_P + OP × f. A force along y at a lever of 3 along x has a moment of 3 about z."""
    at_P = Force(Vec3(0, 0, 0), Vec3(0, 1, 0))
    assert at_P.at(Vec3(-3, 0, 0)) == Force(Vec3(0, 0, 3), Vec3(0, 1, 0))


@given(seeds)
def test_shifts_preserve_power(seed):
    draw = Draw(seed)
    v, f, (a, b) = draw.motion(), draw.force(), (Vec3.of(r) for r in draw.rng.normal(size=(2, 3)))
    close(v.at(a).dot(f.at(a)), v.dot(f))
    close(v.at(a).at(b), v.at(a + b))
    close(f.at(a).at(b), f.at(a + b))
    close(v.at(a).at(-a), v)


@given(seeds)
def test_power_is_a_pairing(seed):
    draw = Draw(seed)
    v, f = draw.motion(), draw.force()
    close(v.dot(f), as_array(v) @ as_array(f))
    assert f.dot(v) == v.dot(f)


@given(seeds)
def test_cross_products_are_the_matrices(seed):
    draw = Draw(seed)
    v, m, f = draw.motion(), draw.motion(), draw.force()
    assert isinstance(v.cross(m), Motion)
    assert isinstance(v.cross(f), Force)
    close(v.cross(m), crm(v) @ as_array(m))
    close(v.cross(f), crf(v) @ as_array(f))


@given(seeds)
def test_force_cross_is_minus_the_transpose(seed):
    """F8: v ×* = -(v ×)ᵀ, so that power is not changed by moving along: (v × m)·f + m·(v ×* f) = 0."""
    draw = Draw(seed)
    v, m, f = draw.motion(), draw.motion(), draw.force()
    np.testing.assert_array_equal(crf(v), -crm(v).T)
    close(v.cross(m).dot(f) + m.dot(v.cross(f)), 0.0)


@given(seeds)
def test_motions_form_a_lie_algebra(seed):
    draw = Draw(seed)
    u, v, w, f = draw.motion(), draw.motion(), draw.motion(), draw.force()
    close(u.cross(v), -v.cross(u))
    close(u.cross(v.cross(w)) + v.cross(w.cross(u)) + w.cross(u.cross(v)), np.zeros(6))
    close(u.cross(v).cross(f), u.cross(v.cross(f)) - v.cross(u.cross(f)))


@pytest.mark.parametrize("kind", [Motion, Force])
def test_they_are_vectors(kind):
    a, b = np.arange(1.0, 7.0), np.array([3.0, -1, 4, 1, -5, 9])
    x, y = kind.of(a), kind.of(b)
    for got, expected in ((x + y, a + b), (x - y, a - b), (-x, -a), (x * 2, a * 2), (2 * x, a * 2)):
        assert type(got) is kind
        assert list(got) == expected.tolist()
    assert list(kind.zero()) == [0] * 6
    assert kind.of(x) is x
    lanes = np.array([2.0, 3.0]) * x
    assert type(lanes) is kind
    np.testing.assert_array_equal(as_array(lanes), np.outer([2, 3], a))


@pytest.mark.parametrize("kind", [Motion, Force])
@pytest.mark.parametrize("entries", [(), (1, 2, 3), range(7)])
def test_wrong_lengths_are_told(kind, entries):
    with pytest.raises(ValueShapeError, match=f"6 entries .* got {len(entries)}"):
        kind.of(entries)


def test_laws_over_symbols():
    """Power invariance and ×* = -(×)ᵀ as identities, not at sample points."""
    v, m = (Motion.of(sp.symbols(f"{name}:6")) for name in "vm")
    f, r = Force.of(sp.symbols("f:6")), Vec3(*sp.symbols("r:3"))
    assert sp.expand(v.at(r).dot(f.at(r)) - v.dot(f)) == 0
    assert sp.expand(v.cross(m).dot(f) + m.dot(v.cross(f))) == 0
