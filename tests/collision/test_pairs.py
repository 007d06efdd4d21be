"""Pairs that may touch, and their parameters: those of MuJoCo for every model of dm_control and gymnasium.

MuJoCo is asked itself: with margins of hundreds of meters, every pair that its filters let through is in contact.
"""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import qdot
from qdot.collision.pairs import Pair, pairs
from qdot.description import Contact, ExclusionRecord, Options, PairRecord, ShapeRecord, Softness
from qdot.errors import UnknownNameError
from qdot.formats.mjcf_read_names import read_names
from qdot.geometry import Box, Capsule, HeightField, Sphere
from qdot.joints import Free, Revolute
from tests.collision.mujoco_touches import compiled
from tests.formats.corpora import mjcf_files

WIDE = 250.0
"""What is added to each margin [m]."""
LEAST_FRICTION = 1e-5
"""MuJoCo's friction is never smaller."""


def contacts(m: mujoco.MjModel) -> dict[tuple[int, int], mujoco.MjContact]:
    """One contact of each pair of geoms that may touch."""
    m.geom_margin += WIDE
    m.pair_margin += 2 * WIDE
    m.body_margin += WIDE
    m.geom_size[m.geom_type == mujoco.mjtGeom.mjGEOM_BOX] = WIDE  # boxes beside each other have no face in common
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    mujoco.mj_collision(m, d)
    return {tuple(d.contact[k].geom.tolist()): d.contact[k] for k in range(d.ncon)}


def parameters(pair: Pair) -> np.ndarray:
    """As MuJoCo has them in a contact."""
    friction = np.maximum(pair.friction, LEAST_FRICTION)
    return np.array([pair.dimension, *friction, *pair.softness.solref, *pair.softness.solimp, pair.margin])


@pytest.mark.no_cover
@pytest.mark.parametrize("file", mjcf_files(), ids=lambda file: file.name)
def test_pairs_and_their_parameters_are_those_of_mujoco(file):
    m = compiled(file)
    if m is None:
        pytest.skip("a file that is included by others")
    ours = pairs(qdot.load(file.path))
    names = read_names(m, []).of["geom"]
    theirs = contacts(m)
    found = {}
    for pair in ours:
        numbers = names.index(pair.first.record.name), names.index(pair.second.record.name)
        found[numbers] = pair
    on_terrain = {key for key, pair in found.items() if isinstance(pair.first.shape, HeightField)}  # it has an end
    assert len(found) == len(ours)
    assert theirs.keys() - found.keys() == set()
    assert found.keys() - theirs.keys() <= on_terrain
    for key, c in theirs.items():
        there = np.array([c.dim, *c.friction, *c.solref, *c.solimp, c.includemargin - 2 * WIDE])
        assert np.abs(parameters(found[key]) - there).max() < 1e-12 * WIDE


def test_both_packages_are_here():
    assert len(mjcf_files()) > 60


# ── rules, one by one ────────────────────────────────────────────────────────────────────────────────────────────────


def two_balls(one: Contact, two: Contact, **changes: object) -> tuple[Pair, ...]:
    """Pairs of two free balls."""
    world = qdot.Mechanism("balls")
    world.add("a", Free(), Sphere(0.1, mass=1.0))
    world.add("b", Free(), Sphere(0.2, mass=1.0))
    old = qdot.assemble(world).description
    bodies = tuple(
        replace(body, shapes=(ShapeRecord(Sphere(0.1), contact=contact, name=body.name),))
        for body, contact in zip(old.bodies, (one, two), strict=True)
    )
    return pairs(qdot.assemble(replace(old, bodies=bodies, **changes)))


def test_bits_of_kind_and_affinity_decide():
    assert len(two_balls(Contact(kind=2, affinity=0), Contact(kind=0, affinity=6))) == 1
    assert len(two_balls(Contact(kind=0, affinity=2), Contact(kind=2, affinity=0))) == 1
    assert len(two_balls(Contact(kind=2, affinity=4), Contact(kind=2, affinity=4))) == 0


def test_the_higher_priority_counts():
    soft = Softness((0.5, 0.7), (0.1, 0.2, 0.3, 0.4, 1.0))
    low = Contact(dimension=6, friction=(3.0, 2.0, 1.0), margin=0.25, gap=0.5)
    high = Contact(dimension=1, friction=(0.5, 0.25, 0.125), softness=soft, priority=1, margin=0.5)
    for one, two in ((low, high), (high, low)):
        (pair,) = two_balls(one, two)
        assert (pair.dimension, pair.friction, pair.softness) == (1, (0.5, 0.5, 0.25, 0.125, 0.125), soft)
        assert (pair.margin, pair.gap) == (0.75, 0.5)


def test_equal_priorities_mix_by_weight_and_take_the_larger_friction():
    one = Contact(friction=(1.0, 0.25, 0.5), softness=Softness((0.5, 1.0)), mix=1.0)
    two = Contact(dimension=4, friction=(2.0, 0.125, 0.25), softness=Softness((0.25, 2.0)), mix=3.0)
    (pair,) = two_balls(one, two)
    assert (pair.dimension, pair.friction) == (4, (2.0, 2.0, 0.25, 0.5, 0.5))
    assert pair.softness.solref == (0.3125, 1.75)
    weightless, stiff = replace(two, mix=0.0), replace(two, softness=Softness((-100.0, -3.0)))
    assert two_balls(one, weightless)[0].softness.solref == (0.5, 1.0)
    assert two_balls(replace(one, mix=0.0), weightless)[0].softness.solref == (0.375, 1.5)
    assert two_balls(one, stiff)[0].softness.solref == (-100.0, -3.0)


def test_a_pair_told_by_name_is_taken_in_any_case():
    record = PairRecord("pair", "b", "a", dimension=1, friction=(0.1, 0.2, 0.3, 0.4, 0.5), margin=0.5, gap=0.25)
    apart = ExclusionRecord("apart", "a", "b")
    assert two_balls(Contact(), Contact(), exclusions=(apart,)) == ()
    (pair,) = two_balls(Contact(kind=0), Contact(), exclusions=(apart,), pairs=(record,))
    assert (pair.dimension, pair.friction, pair.margin, pair.gap) == (1, record.friction, 0.5, 0.25)
    assert {pair.first.record.name, pair.second.record.name} == {"a", "b"}
    with pytest.raises(UnknownNameError, match="shape"):
        two_balls(Contact(), Contact(), pairs=(replace(record, shape1="nobody"),))


@pytest.mark.parametrize("flag", ["contact", "constraint"])
def test_flags_switch_contacts_off(flag):
    assert two_balls(Contact(), Contact(), options=Options(disabled=frozenset({flag}))) == ()


def test_parents_do_not_touch_children_unless_that_is_switched_off():
    world = qdot.Mechanism("chain")
    a = world.add("a", Revolute("x"), Sphere(0.1, mass=1.0))
    b = a.add("b", Revolute("y"), Capsule(0.1, 0.2, mass=1.0), at=(0, 0, 1))
    b.add("c", Revolute("x"), Box(1, 1, 1, mass=1.0), at=(0, 0, 1))
    model = qdot.assemble(world)

    def bodies(disabled: frozenset[str]) -> set[tuple[int, int]]:
        found = pairs(qdot.assemble(replace(model.description, options=Options(disabled=disabled))))
        return {(pair.first.body, pair.second.body) for pair in found}

    assert bodies(frozenset()) == {(1, 3)}
    assert bodies(frozenset({"filterparent"})) == {(1, 2), (1, 3), (2, 3)}
