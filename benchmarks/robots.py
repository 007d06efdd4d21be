"""The robots of the benchmarks, from the PyPI package example-robot-data: an arm, a quadruped, a humanoid.

Each is read by Pinocchio, and `qdot_model` makes qdot's model of what Pinocchio read: both sides have the same tree,
the same numbers and the same joints locked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin


class Robot(NamedTuple):
    name: str
    model: pin.Model
    """As it is benchmarked: free base added, locked joints gone."""
    urdf: Path
    free_flyer: bool
    locked: tuple[str, ...]
    """Joints of the file that are held at zero and merged into the bodies that carry them."""


class Missing(Exception):
    """Something that comes from another package or the system is not installed; the message says what to install."""


def in_wheels(path: str) -> Path | None:
    """Where a path lies in the common prefix of the wheels pin, cmeel-eigen, example-robot-data, …"""
    places = (Path(entry) / "cmeel.prefix" / path for entry in sys.path)
    return next((place for place in places if place.exists()), None)


def arm() -> Robot:
    """Franka's Panda: 7 revolute joints, the two fingers locked."""
    return _read("panda", "panda_description/urdf/panda.urdf", False, "panda_finger_joint1", "panda_finger_joint2")


def quadruped() -> Robot:
    """ANYmal B: free base and 12 joints, nv = 18."""
    return _read("anymal", "anymal_b_simple_description/robots/anymal.urdf", True)


def humanoid() -> Robot:
    """Talos with one joint in each gripper: free base and 32 joints, nv = 38."""
    return _read("talos", "talos_data/robots/talos_reduced.urdf", True)


def each_robot(*readers: Callable[[], Robot]) -> Iterator[Robot]:
    """The robots that can be read; a message on stderr for each that cannot."""
    for read in readers:
        try:
            yield read()
        except Missing as why:
            print(f"left out: {why}", file=sys.stderr)


def states(model: pin.Model, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random (q, v, u) in Pinocchio's conventions, one state per row; u serves as acceleration and as force.

    q lies a random step from neutral: limits of joints are ignored, and a free base has none to draw within.
    """
    random = np.random.default_rng(seed)
    neutral = pin.neutral(model)
    q = np.array([pin.integrate(model, neutral, step) for step in random.normal(size=(n, model.nv))])
    return q, random.normal(size=(n, model.nv)), random.normal(size=(n, model.nv))


def qdot_model(model: pin.Model):
    """(qdot's model, the oracle): `oracle.q_of` and `oracle.T` take q and v from Pinocchio's conventions to qdot's."""
    from tests.oracles.pinocchio_bridge import from_pinocchio  # with the root of the repository on sys.path

    return from_pinocchio(model)


def _read(name: str, path: str, free_flyer: bool, *locked: str) -> Robot:
    urdf = in_wheels(f"share/example-robot-data/robots/{path}")
    if urdf is None:
        raise Missing(f"{path} is not there: pip install example-robot-data")
    model = pin.buildModelFromUrdf(str(urdf), *([pin.JointModelFreeFlyer()] if free_flyer else []))
    if locked:
        model = pin.buildReducedModel(model, [model.getJointId(joint) for joint in locked], pin.neutral(model))
    return Robot(name, model, urdf, free_flyer, locked)
