"""Walking the scalars of a value, and packing them into arrays."""

import numpy as np
import pytest
import sympy as sp

from qdot.algebra import Dual, Mat3, Quaternion, Sym3, Vec3, as_array, map_scalars, scalars_in
from qdot.spatial import ArticulatedInertia, Basis, Force, Inertia, Motion, Transform

NESTED = {"a": [1, (2, 3)], "b": Vec3(4, 5, 6), "c": {"d": Motion(Vec3(7, 8, 9), Vec3(10, 11, 12))}}
VALUES = [
    Vec3(1, 2, 3),
    Mat3.of([[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
    Sym3(1, 2, 3, 4, 5, 6),
    Quaternion(1, 2, 3, 4),
    Motion.of(range(6)),
    Force.of(range(6)),
    Inertia.of_parameters(range(10)),
    ArticulatedInertia(Sym3(1, 2, 3, 4, 5, 6), Mat3.identity(), Sym3(6, 5, 4, 3, 2, 1)),
    Transform.translation(1, 2, 3),
]


def test_scalars_in_goes_in_order():
    assert list(scalars_in(NESTED)) == list(range(1, 13))
    assert list(scalars_in(5)) == [5]
    assert list(scalars_in([])) == []


def test_map_scalars_keeps_the_structure():
    doubled = map_scalars(lambda s: 2 * s, NESTED)
    assert list(scalars_in(doubled)) == list(range(2, 26, 2))
    assert doubled["a"] == [2, (4, 6)]
    assert type(doubled["a"][1]) is tuple
    assert doubled["c"]["d"] == Motion(Vec3(14, 16, 18), Vec3(20, 22, 24))
    assert NESTED["a"] == [1, (2, 3)]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_map_scalars_rebuilds_every_value(value):
    assert map_scalars(lambda s: s, value) == value
    shifted = map_scalars(lambda s: s + 1, value)
    assert list(scalars_in(shifted)) == [s + 1 for s in scalars_in(value)]


def test_lanes_and_duals_are_leaves():
    lanes, dual = np.array([1.0, 2.0]), Dual(1.0, 2.0, 1)
    assert list(scalars_in([lanes, dual])) == [lanes, dual]


# ── arrays ───────────────────────────────────────────────────────────────────────────────────────


def test_numbers():
    packed = as_array([[1, 2.5], (np.float64(3), np.int32(4))])
    assert packed.dtype == float
    assert packed.tolist() == [[1, 2.5], [3, 4]]
    assert as_array(2).shape == ()
    assert as_array(np.eye(2)).tolist() == np.eye(2).tolist()


@pytest.mark.parametrize(("nested", "shape"), [([], (0,)), ([[], []], (2, 0)), (Basis.motions(), (6, 0))])
def test_empty(nested, shape):
    assert as_array(nested).shape == shape
    assert as_array(nested).dtype == float


def test_lanes_come_first_and_numbers_broadcast():
    packed = as_array([[np.array([1.0, 2.0, 3.0]), 7], [0, np.array([4.0, 5.0, 6.0])]])
    assert packed.shape == (3, 2, 2)
    assert packed[1].tolist() == [[2, 7], [0, 5]]


def test_lanes_of_several_axes_broadcast_together():
    row, column = np.array([1.0, 2.0]), np.array([[10.0], [20.0], [30.0]])
    packed = as_array([row, column, 5.0])
    assert packed.shape == (3, 2, 3)
    assert packed[2, 1].tolist() == [2, 30, 5]


def test_lanes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="broadcast"):
        as_array([np.zeros(2), np.zeros(3)])


def test_symbols_give_objects_that_compute():
    a, b = sp.symbols("a b")
    M = as_array([[a, 1], [3, b]])
    assert M.dtype == object
    assert (M.T @ np.array([b, 2]) == np.array([a * b + 6, b + 2 * b], dtype=object)).all()


def test_spatial_values_are_written_as_their_matrices():
    assert as_array(Vec3(1, 2, 3)).tolist() == [1, 2, 3]
    assert as_array([Vec3(1, 2, 3), Vec3(4, 5, 6)]).shape == (2, 3)
    assert as_array(Sym3(1, 2, 3, 4, 5, 6)).tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
    assert as_array(Transform.translation(1, 2, 3)).tolist() == [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    assert as_array(Basis.motions(Motion.of(range(6)), Motion.zero()))[:, 0].tolist() == list(range(6))
    assert as_array(Inertia.point(2.0, (1, 0, 0))).shape == (6, 6)
