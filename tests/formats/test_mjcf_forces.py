"""Tendons, transmissions, equality constraints, weight compensation and drag of small MJCF models, beside MuJoCo's.

All agree to rounding, 1e-9 of the largest entry; where a tendon runs inside a sphere, MuJoCo stops its search at 1e-6
of an angle, and lengths are stationary there, so they agree as well.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import qdot
from tests.formats.mjcf_forces import MODELS, TENDONS
from tests.formats.mujoco_terms import (
    Peer,
    constraint_terms,
    force_terms,
    frame_terms,
    limit_terms,
    rigid_body_terms,
)

STATES = 100
"""So that strings are wound and straight, cranks reach and do not, limits are met and not."""


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("terms", [rigid_body_terms, force_terms, constraint_terms, limit_terms, frame_terms])
def test_terms_are_those_of_mujoco(text: str, terms) -> None:
    both = Peer(qdot.load(text), mujoco.MjModel.from_xml_string(text), states=STATES)
    assert {term.name: term.error() for term in terms(both) if not term.error() < 1e-9} == {}


def test_every_tendon_is_wound_in_some_states() -> None:
    both = Peer(qdot.load(TENDONS), mujoco.MjModel.from_xml_string(TENDONS), states=STATES)
    points = both.rows("ten_wrapnum")
    wound = [t.name for t, n in zip(both.model.tendons, points.T, strict=True) if len(np.unique(n)) > 1]
    assert set(wound) >= {"over_sphere", "beside_sphere", "through_sphere", "over_cylinder", "under_cylinder", "tackle"}


def test_compiled_forces_are_those_of_mujoco() -> None:
    """The same through machine code: `qdot.compile` of the whole actuation and of all passive forces."""
    for text in MODELS.values():
        model = qdot.load(text)
        both = Peer(model, mujoco.MjModel.from_xml_string(text))
        passive = qdot.compile(qdot.passive_terms, model)(both.q, both.v)
        np.testing.assert_allclose(both.forces(passive["springs"]), both.rows("qfrc_spring"), atol=1e-8)
        np.testing.assert_allclose(both.forces(passive["fluid"]), both.rows("qfrc_fluid"), atol=1e-8)
        if model.nu:
            drive = qdot.compile(qdot.actuation, model)
            tau = drive(both.q, both.v, both.control, both.activation)
            np.testing.assert_allclose(both.forces(tau), both.rows("qfrc_actuator"), atol=1e-7)
