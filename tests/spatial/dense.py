"""Spatial algebra by dense NumPy matrices (Featherstone, RBDA 2008, ch. 2), the second formulation of these tests."""

import numpy as np
from hypothesis import strategies as st

from qdot.algebra import Mat3, Sym3, as_array
from qdot.model.library.random_trees import random_inertia, random_pose
from qdot.spatial import ArticulatedInertia, Force, Motion

seeds = st.integers(0, 2**32 - 1)


class Draw:
    """Random spatial values of one seed, of order one."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def motion(self):
        return Motion.of(self.rng.normal(size=6))

    def force(self):
        return Force.of(self.rng.normal(size=6))

    def pose(self):
        return random_pose(self.rng)

    def inertia(self):
        return random_inertia(self.rng)

    def articulated(self):
        """A definite symmetric 6 × 6 matrix, of which all 21 numbers differ."""
        B = self.rng.normal(size=(6, 6))
        A = B @ B.T + np.eye(6)
        return ArticulatedInertia(Sym3.upper(Mat3.of(A[:3, :3])), Mat3.of(A[:3, 3:]), Sym3.upper(Mat3.of(A[3:, 3:])))


def skew(r):
    x, y, z = r
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def crm(v):
    """v × as a matrix on motions."""
    v = as_array(v)
    w, u = skew(v[:3]), skew(v[3:])
    return np.block([[w, np.zeros((3, 3))], [u, w]])


def crf(v):
    """v ×* as a matrix on forces."""
    v = as_array(v)
    w, u = skew(v[:3]), skew(v[3:])
    return np.block([[w, u], [np.zeros((3, 3)), w]])


def rotation_and_position(X):
    return as_array(X.rotation).astype(float), as_array(X.position).astype(float)


def motion_matrix(X_AB):
    """Takes motions from B's coordinates to A's."""
    R, p = rotation_and_position(X_AB)
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def force_matrix(X_AB):
    """Takes forces from B's coordinates to A's."""
    R, p = rotation_and_position(X_AB)
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])


def inertia_matrix(mass, com, I_C):
    """[[I_C - m c̃c̃, m c̃], [-m c̃, m 1]] (T3)."""
    c = skew(com)
    return np.block([[I_C - mass * c @ c, mass * c], [-mass * c, mass * np.eye(3)]])


def close(actual, expected, tolerance=1e-13):
    """|x - y| ≤ tolerance · (1 + max |y|). The default: some tens of roundings of numbers of order one to ten."""
    x, y = as_array(actual).astype(float), as_array(expected).astype(float)
    assert x.shape == y.shape
    worst = np.max(np.abs(x - y), initial=0.0) / (1 + np.max(np.abs(y), initial=0.0))
    assert worst <= tolerance, f"deviation {worst:.2e} exceeds {tolerance:.0e}"
