"""Joints of every kind with random axes, at random configurations and velocities; and how velocities are found."""

from dataclasses import dataclass

import numpy as np
import pytest

from qdot.algebra import Vec3, as_array
from qdot.joints import Joint
from qdot.model.library.random_trees import KINDS

DRAWS = 8


@dataclass(frozen=True)
class Case:
    """A joint at configuration q, with velocities v, u, w whose entries are at most 1.7, so three stay below π."""

    joint: Joint
    q: list
    v: list
    u: list
    w: list

    def at(self, dv):
        return self.joint.retract(self.q, dv)

    def along(self, t):
        """The configuration after t seconds of velocity v."""
        return self.at([x * t for x in self.v])


def case(kind, draw):
    rng = np.random.default_rng([draw, list(KINDS).index(kind)])
    joint = KINDS[kind](rng)
    q = joint.retract(joint.neutral(), rng.normal(size=joint.nv).tolist())
    v, u, w = np.clip(rng.normal(size=(3, joint.nv)), -1.7, 1.7).tolist()
    return Case(joint, q, v, u, w)


def cases(kinds=tuple(KINDS), draws=DRAWS):
    """A pytest parameter `c` over these kinds of joints."""
    drawn = [(kind, k) for kind in kinds for k in range(draws)]
    return pytest.mark.parametrize("c", [case(*d) for d in drawn], ids=[f"{kind}-{k}" for kind, k in drawn])


MOVING = tuple(kind for kind in KINDS if kind != "fixed")


def rotation(X):
    return as_array(X.rotation).astype(float)


def position(X):
    return as_array(X.position).astype(float)


def body_velocity(X, X_rate):
    """(ω, v) of a pose in its own coordinates from the pose's rate: ω̃ = RᵀṘ, v = Rᵀṗ."""
    W = rotation(X).T @ rotation(X_rate)
    np.testing.assert_allclose(W, -W.T, rtol=0, atol=1e-13)  # a rotation's rate; some tens of roundings
    return np.array([W[2, 1], W[0, 2], W[1, 0], *(rotation(X).T @ position(X_rate))])


def numbers(structure):
    return as_array(structure).astype(float)


def unit(*entries):
    a = np.array(entries, dtype=float)
    return Vec3.of(a / np.linalg.norm(a))
