"""Transforms against 4 × 4 and 6 × 6 (Plücker) matrices: composition, inverse, power, what a pose may be."""

from math import pi

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st
from scipy.spatial.transform import Rotation

from qdot.algebra import Mat3, Quaternion, Vec3, as_array, derivative
from qdot.errors import ValueShapeError
from qdot.spatial import Basis, Transform, axis_rotation
from qdot.spatial.transform import rotation_error
from tests.spatial.dense import Draw, close, crm, force_matrix, motion_matrix, seeds


@given(seeds)
def test_motions_and_forces_go_by_pluecker_matrices(seed):
    draw = Draw(seed)
    X, v, f = draw.pose(), draw.motion(), draw.force()
    close(X @ v, motion_matrix(X) @ as_array(v))
    close(X @ f, force_matrix(X) @ as_array(f))
    close(X.inv() @ v, np.linalg.solve(motion_matrix(X), as_array(v)))
    close(X.inv() @ f, np.linalg.solve(force_matrix(X), as_array(f)))


@given(seeds)
def test_force_matrix_is_the_inverse_transpose(seed):
    """So power does not depend on the frame."""
    draw = Draw(seed)
    X, v, f = draw.pose(), draw.motion(), draw.force()
    close(force_matrix(X), np.linalg.inv(motion_matrix(X)).T)
    close((X @ v).dot(X @ f), v.dot(f))
    close((X.inv() @ v).dot(X.inv() @ f), v.dot(f))


@given(seeds)
def test_composition_and_inverse(seed):
    draw = Draw(seed)
    X_AB, X_BC, v = draw.pose(), draw.pose(), draw.motion()
    X_AC = X_AB @ X_BC
    close(X_AC, as_array(X_AB).astype(float) @ as_array(X_BC).astype(float))
    close(X_AC @ v, X_AB @ (X_BC @ v))
    close(X_AB.inv() @ X_AC, X_BC)
    close(X_AB.inv().transform() @ X_AB, np.eye(4))
    close(X_AB.inv().transform(), np.linalg.inv(as_array(X_AB).astype(float)))


@given(seeds)
def test_points_move_by_the_homogeneous_matrix(seed):
    draw = Draw(seed)
    X, p = draw.pose(), Vec3.of(draw.rng.normal(size=3))
    close(X @ p, (as_array(X).astype(float) @ [*p, 1])[:3])
    close(X.inv() @ (X @ p), p)


@given(seeds)
def test_cross_products_commute_with_transforms(seed):
    draw = Draw(seed)
    X, u, v, f = draw.pose(), draw.motion(), draw.motion(), draw.force()
    close(X @ u.cross(v), (X @ u).cross(X @ v))
    close(X @ u.cross(f), (X @ u).cross(X @ f))


@given(seeds)
def test_rate_of_the_motion_matrix(seed):
    """d/dt X_AB = X_AB (v ×) when B moves with v, in B's coordinates: by dual numbers through R and p."""
    draw = Draw(seed)
    X, v, m = draw.pose(), draw.motion(), draw.motion()

    def carried(e):
        R = X.rotation + (X.rotation @ v.ang.skew()) * e[0]
        return Transform(R, X.position + (X.rotation @ v.lin) * e[0]) @ m

    close(derivative(carried, [1.0]), motion_matrix(X) @ crm(v) @ as_array(m))


def test_a_basis_is_carried_by_columns():
    draw = Draw(0)
    X, S, T = draw.pose(), Basis.motions(draw.motion(), draw.motion()), Basis.forces(draw.force())
    close(X @ S, motion_matrix(X) @ as_array(S))
    close(X.inv() @ T, np.linalg.solve(force_matrix(X), as_array(T)))
    close(S @ [2.0, -1.0], as_array(S) @ [2, -1])
    assert list(Basis.motions() @ []) == [0] * 6
    assert (len(S), len(Basis.forces())) == (2, 0)


def test_basis_products_need_as_many_coefficients_as_columns():
    draw = Draw(1)
    S, f = Basis.motions(draw.motion(), draw.motion()), draw.force()
    close(S.T @ f, as_array(S).T @ as_array(f))
    with pytest.raises(ValueError, match="shorter"):
        S @ [1.0]


# ── rotations ────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 10**6), st.floats(-10, 10))
def test_about_is_scipys_rotation(seed, angle):
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    R = Transform.about(Vec3.of(axis), angle).rotation
    np.testing.assert_allclose(as_array(R), Rotation.from_rotvec(angle * axis).as_matrix(), rtol=0, atol=5e-15)


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("sign", [1, -1])
def test_coordinate_axes_take_the_short_text_and_agree(k, sign):
    """The short text is for +x, +y, +z; -x takes the general one. Quarter turns are permutations to an ulp."""
    axis = sign * np.eye(3)[k]
    for angle in (0.3, -2.0, pi / 2, pi):
        truth = Rotation.from_rotvec(angle * axis).as_matrix()
        np.testing.assert_allclose(as_array(axis_rotation(Vec3.of(axis), angle)), truth, rtol=0, atol=1e-15)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
def test_rpy_is_about_fixed_axes(roll, pitch, yaw):
    X = Transform.rpy(roll, pitch, yaw, (1, 2, 3))
    truth = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    np.testing.assert_allclose(as_array(X.rotation), truth, rtol=0, atol=2e-15)
    assert X.position == Vec3(1, 2, 3)


def test_rpy_is_exact_for_symbols_and_makes_no_negative_zeros():
    x, y, z = Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)
    r, p, w = sp.symbols("r p w")
    product = axis_rotation(z, w) @ axis_rotation(y, p) @ axis_rotation(x, r)
    difference = Transform.rpy(r, p, w).rotation - product
    assert all(sp.expand(entry) == 0 for row in difference.entries() for entry in row)
    still = as_array(Transform.rpy(0.0, 0.0, 0.0).rotation)
    assert (still == np.eye(3)).all()
    assert not np.signbit(still).any()


@given(seeds)
def test_quaternion_of_a_transform(seed):
    X = Draw(seed).pose()
    close(X.quaternion().rotation(), X.rotation, tolerance=4e-15)


def test_rotation_of_symbols_is_exact():
    t = sp.Symbol("t", real=True)
    R = as_array(Transform.about(Vec3(0, sp.Rational(3, 5), sp.Rational(4, 5)), t).rotation)
    assert all(sp.simplify(e) == 0 for e in (R.T @ R - np.eye(3, dtype=int)).flat)
    assert sp.simplify(sp.Matrix(R).det()) == 1


def test_rotation_error():
    R = Draw(3).pose().rotation
    assert rotation_error(R) < 1e-15
    assert rotation_error(R * 1.001) == pytest.approx(0.002001, rel=1e-9)
    assert rotation_error(Mat3.of(np.diag([1.0, 1.0, -1.0]))) == 2.0
    assert rotation_error(Mat3.of([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])) == pytest.approx(0.1)
    assert rotation_error(Transform.about(Vec3(0, 0, 1), sp.Symbol("t")).rotation) == 0.0


# ── what people write ────────────────────────────────────────────────────────────────────────────


def test_of():
    X = Transform.translation(1, 2, 3)
    assert Transform.of(X) is X
    assert Transform.of(None) == Transform.identity()
    assert Transform.of((1, 2, 3)) == Transform.of(np.array([1, 2, 3])) == X
    assert Transform.of(Quaternion(0, 0, 0, 1)).rotation.entries() == ((-1, 0, 0), (0, -1, 0), (0, 0, 1))


@pytest.mark.parametrize("wrong", [(1, 2), 5, "no", np.eye(3)[:2]])
def test_of_tells_what_a_pose_is(wrong):
    with pytest.raises(ValueShapeError, match=r"pose is a qdot\.spatial\.Transform or a position"):
        Transform.of(wrong)
