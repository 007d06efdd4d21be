"""Articulated-body inertia (21 numbers, F7) against its dense 6 × 6 matrix."""

import numpy as np
from hypothesis import given

from qdot.algebra import as_array, scalars_in
from qdot.spatial import ArticulatedInertia, Force
from tests.spatial.dense import Draw, close, motion_matrix, seeds


def dense(A):
    return as_array(A).astype(float)


def test_blocks_and_parameters():
    A = Draw(0).articulated()
    M = dense(A)
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_array_equal(M[:3, 3:], as_array(A.coupling))
    assert len(set(scalars_in(A))) == 21
    assert not dense(ArticulatedInertia.zero()).any()


@given(seeds)
def test_of_a_rigid_body(seed):
    draw = Draw(seed)
    I, v = draw.inertia(), draw.motion()
    close(ArticulatedInertia.of(I), I)
    close(ArticulatedInertia.of(I) @ v, I @ v)


@given(seeds)
def test_maps_motion_to_force_and_adds(seed):
    draw = Draw(seed)
    A, B, v = draw.articulated(), draw.articulated(), draw.motion()
    assert isinstance(A @ v, Force)
    close(A @ v, dense(A) @ as_array(v))
    close(A + B, dense(A) + dense(B))


@given(seeds)
def test_minus_square(seed):
    draw = Draw(seed)
    A, w, d = draw.articulated(), draw.force(), draw.rng.uniform(0.5, 2)
    row = as_array(w)
    close(A.minus_square(w, d), dense(A) - np.outer(row, row) / d)


@given(seeds)
def test_a_yielding_motion_meets_no_resistance(seed):
    """I - I s sᵀI / sᵀIs maps s to zero and stays semidefinite: the articulated inertia across a free joint."""
    draw = Draw(seed)
    A, s = draw.articulated(), draw.motion()
    left = A.minus_square(A @ s, s.dot(A @ s))
    close(left @ s, np.zeros(6))
    values = np.linalg.eigvalsh(dense(left))
    assert values[0] > -1e-12  # one zero, to the rounding of eigenvalues up to some tens
    assert values[1] > 1e-3


@given(seeds)
def test_congruence(seed):
    draw = Draw(seed)
    X, A = draw.pose(), draw.articulated()
    inverse = np.linalg.inv(motion_matrix(X))
    close(X @ A, inverse.T @ dense(A) @ inverse)
    close(X.inv() @ A, motion_matrix(X).T @ dense(A) @ motion_matrix(X))
    assert np.linalg.eigvalsh(dense(X @ A))[0] > 0


@given(seeds)
def test_congruence_agrees_with_the_rigid_one(seed):
    draw = Draw(seed)
    X, I = draw.pose(), draw.inertia()
    close(X @ ArticulatedInertia.of(I), ArticulatedInertia.of(X @ I))
    close(X.inv() @ ArticulatedInertia.of(I), ArticulatedInertia.of(X.inv() @ I))
