"""Joints as values: they compare, hash, pickle and cannot change; limits and scales are read as people write them."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from math import inf

import numpy as np
import pytest

from qdot.algebra import Vec3
from qdot.joints import (
    Compound,
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Limits,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from qdot.model.library.random_trees import KINDS
from qdot.spatial import Transform
from tests.joints.cases import case, cases, numbers


@cases(draws=2)
def test_they_pickle_copy_and_hash(c):
    for twin in (pickle.loads(pickle.dumps(c.joint)), copy.copy(c.joint), copy.deepcopy(c.joint)):
        assert twin == c.joint
        assert hash(twin) == hash(c.joint)
        assert type(twin) is type(c.joint)
        assert numbers(twin.transform(c.q)).tolist() == numbers(c.joint.transform(c.q)).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_equality_tells_joints_apart(kind):
    joint, again = case(kind, 0).joint, case(kind, 0).joint
    assert joint == again
    assert len({joint, again}) == 1
    others = [case(other, 0).joint for other in KINDS if other != kind]
    assert all(joint != other for other in others)


def test_what_equality_looks_at():
    assert Revolute("z") == Revolute((0, 0, 5)) == Revolute(np.array([0.0, 0.0, 1.0]))
    assert Revolute("z") != Revolute("-z")
    assert Revolute("z") != Revolute("z", limits=(-1, 1))
    assert Revolute("z") != Continuous("z")
    assert Helical("z", 0.1) != Helical("z", 0.2)
    assert Compound(Revolute(), Prismatic()) != Compound(Prismatic(), Revolute())
    assert Fixed() != Fixed(Transform.translation(0, 0, 1))


@pytest.mark.parametrize(
    ("joint", "field"),
    [
        (Revolute(), "axis"),
        (Helical(), "pitch"),
        (Planar(), "normal"),
        (Universal(), "first"),
        (Compound(Free()), "parts"),
        (Fixed(), "placement"),
        (Spherical(), "limits"),
    ],
)
def test_they_are_frozen(joint, field):
    with pytest.raises(FrozenInstanceError):
        setattr(joint, field, None)


@pytest.mark.parametrize("kind", [Revolute, Continuous, Prismatic, Helical, Cylindrical])
def test_axes_are_made_unit(kind):
    assert kind("-y").axis == Vec3(0, -1, 0)
    assert kind((0, 3, 4)).axis == Vec3(0, 0.6, 0.8)
    assert kind(Vec3(0, 0, 1e-9)).axis == Vec3(0, 0, 1)
    exact = Vec3(0.6, 0.0, 0.8)
    assert kind(exact).axis is exact  # an axis that is unit already is not rounded again


# ── limits ───────────────────────────────────────────────────────────────────────────────────────

UNBOUNDED = (inf,)


@pytest.mark.parametrize("kind", [Revolute, Prismatic, Helical])
def test_limits_of_one_freedom(kind):
    assert kind().limits == Limits((-inf,), (inf,), UNBOUNDED, UNBOUNDED)
    written = [(-1, 2), [-1, 2], ((-1,), (2,)), np.array([-1, 2]), Limits((-1,), (2,)), Limits(-1, 2)]
    assert all(kind(limits=w).limits == Limits((-1.0,), (2.0,), UNBOUNDED, UNBOUNDED) for w in written)
    assert kind(limits=Limits(velocity=3, effort=(5,))).limits == Limits((-inf,), (inf,), (3.0,), (5.0,))
    assert kind(limits=(1, 1)).limits.lower == kind(limits=(1, 1)).limits.upper == (1.0,)


def test_limits_of_several_freedoms():
    bounds = Universal(limits=((-1, -2), (1, 2))).limits
    assert (bounds.lower, bounds.upper, bounds.velocity) == ((-1.0, -2.0), (1.0, 2.0), (inf, inf))
    assert Spherical(limits=(0, 1.2)).limits == Limits((0.0,), (1.2,), (inf,) * 3, (inf,) * 3)
    assert Free(limits=Limits(effort=range(6))).limits == Limits((), (), (inf,) * 6, (0.0, 1.0, 2.0, 3.0, 4.0, 5.0))
    assert Continuous(limits=Limits(velocity=3)).limits == Limits((), (), (3.0,), UNBOUNDED)
    assert Fixed().limits == Limits()


def test_limits_of_a_compound_follow_its_parts():
    parts = (Revolute(limits=(-1, 1)), Fixed(), Spherical(limits=(0, 1.2)), Continuous(limits=Limits(velocity=3)))
    assert Compound(*parts).limits == Limits((-1.0, 0.0), (1.0, 1.2), (inf,) * 4 + (3.0,), (inf,) * 5)


def test_stretched():
    stretched = Limits((-1.0, -2.0), (1.0, inf), (7.0, 8.0), (5.0, 6.0)).stretched(1, 3)
    assert stretched == Limits((-1.0, -6.0), (1.0, inf), (7.0, 8.0), (5.0, 6.0))


# ── scaled ───────────────────────────────────────────────────────────────────────────────────────

SLIDES = {
    "prismatic": [True],
    "cylindrical": [False, True],
    "planar": [False, True, True],
    "free": [False] * 4 + [True] * 3,
    "compound": [False] * 5 + [True],
}
"""Which coordinates are lengths."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_scaled_joint_moves_the_body_as_far_in_proportion(kind):
    c = case(kind, 1)
    factor = 2.5
    slides = SLIDES.get(kind, [False] * c.joint.nq)
    q = [x * factor if slide else x for x, slide in zip(c.q, slides, strict=True)]
    X, Y = c.joint.transform(c.q), c.joint.scaled(factor).transform(q)
    np.testing.assert_allclose(numbers(Y.rotation), numbers(X.rotation), rtol=0, atol=1e-15)
    np.testing.assert_allclose(numbers(Y.position), factor * numbers(X.position), rtol=0, atol=4e-15)
    assert type(c.joint.scaled(factor)) is type(c.joint)


def test_scaled_limits_stretch_lengths_and_leave_angles():
    assert Revolute(limits=(-1, 1)).scaled(3) == Revolute(limits=(-1, 1))
    assert Continuous(limits=Limits(velocity=2)).scaled(3) == Continuous(limits=Limits(velocity=2))
    assert Universal(limits=((-1, -1), (1, 1))).scaled(3) == Universal(limits=((-1, -1), (1, 1)))
    assert Spherical(limits=(0, 1)).scaled(3) == Spherical(limits=(0, 1))
    assert Helical("z", 0.1, limits=(-1, 1)).scaled(3) == Helical("z", 0.1 * 3, limits=(-1, 1))
    assert Prismatic(limits=(-1, inf)).scaled(3) == Prismatic(limits=(-3, inf))
    assert Cylindrical(limits=((-1, -1), (1, 1))).scaled(3) == Cylindrical(limits=((-1, -3), (1, 3)))
    assert Planar(limits=((-1, -1, -2), (1, 1, 2))).scaled(3) == Planar(limits=((-1, -3, -6), (1, 3, 6)))
    offset = Transform.translation(1, 2, 3)
    assert Fixed(offset).scaled(2) == Fixed(Transform.translation(2, 4, 6))
    assert Compound(Fixed(offset), Prismatic(limits=(0, 1))).scaled(2) == Compound(
        Fixed(Transform.translation(2, 4, 6)), Prismatic(limits=(0, 2))
    )
