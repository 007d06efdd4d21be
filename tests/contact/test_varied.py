"""Soft contact of runs that differ in constants of the model: each is as soft as a model built with them."""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot.contact import Soft
from qdot.contact.weights import weights, weights_on_lanes
from qdot.programs.parameters import with_parameters

SCENE = """
<mujoco><option timestep="0.002"/><worldbody>
  <geom type="plane" size="2 2 1"/>
  <body name="trunk" pos="0 0 0.09"><freejoint/><geom type="box" size="0.1 0.06 0.04" mass="2"/>
    <body name="arm" pos="0.15 0 0"><joint name="elbow" axis="0 1 0" range="-5 5" limited="true" frictionloss="0.1"/>
      <geom type="capsule" size="0.03 0.05" pos="0.05 0 0" mass="0.5"/></body>
    <body name="leg" pos="-0.15 0 0"><joint name="knee" axis="1 0 0" damping="0.1"/>
      <geom type="sphere" size="0.05" mass="0.4"/></body></body>
  <body name="slider" pos="0.4 0 0.2"><joint name="rail" type="slide" axis="0 0 1"/>
    <geom type="sphere" size="0.04"/></body>
</worldbody>
<tendon><fixed name="rope" range="-0.05 0.05" limited="true">
  <joint joint="elbow" coef="1"/><joint joint="knee" coef="2"/></fixed></tendon>
<equality><joint joint1="rail" polycoef="-0.02 0 0 0 0"/></equality></mujoco>"""

PATHS = {
    "trunk.mass": [1.0, 2.0, 8.0],
    "slider.mass": [0.1, 1.0, 3.0],
    "arm.com": [[0.05, 0.0, 0.0], [0.0, 0.02, 0.01], [0.1, 0.0, 0.0]],
    "elbow.armature": [0.0, 0.01, 1.0],
    "leg.position": [[-0.15, 0.0, 0.0], [-0.1, 0.05, 0.0], [-0.2, 0.0, 0.1]],
    "gravity": [[0.0, 0.0, -9.81], [0.0, 0.0, -1.6], [1.0, 0.0, -3.7]],
}


@pytest.mark.parametrize("path", PATHS)
def test_weights_on_lanes_are_those_of_each_model(path: str) -> None:
    """Equal to rounding."""
    model, values = qdot.load(SCENE), np.array(PATHS[path])
    given = list(values.T) if values.ndim == 2 else values
    found = weights_on_lanes(with_parameters(model, {path: given}))
    for k, value in enumerate(values):
        own = weights(with_parameters(model, {path: value.tolist()}))
        for name in ("along", "about", "freedoms", "tendons"):
            lanes, alone = getattr(found, name), getattr(own, name)
            np.testing.assert_allclose([np.broadcast_to(x, 3)[k] for x in lanes], alone, rtol=1e-12)
        np.testing.assert_allclose(np.broadcast_to(found.total, 3)[k], own.total, rtol=1e-12)


@pytest.mark.parametrize("path", ["trunk.mass", "elbow.armature"])
def test_runs_with_constants_of_their_own(path: str) -> None:
    """As runs of models built with them, while things fall, touch, rest and reach their limits: both solve to 1e-14 of
    the cost, so they part by rounding, which 0.3 s of contact make some thousand times larger."""
    model, values = qdot.load(SCENE), np.array(PATHS[path])
    state = np.tile(model.home(), (3, 1)), np.zeros((3, model.nv))
    options = {"contact": Soft(tolerance=1e-14), "progress": False}
    many = qdot.simulate(model, state, 0.3, 0.002, parameters={path: values}, **options)
    for k, value in enumerate(values):
        own = with_parameters(model, {path: value.tolist()})
        alone = qdot.simulate(own, (state[0][k], state[1][k]), 0.3, 0.002, **options)
        np.testing.assert_allclose(many.q[k], alone.q, atol=1e-9)
        one = qdot.simulate(model, (state[0][k], state[1][k]), 0.3, 0.002, parameters={path: value}, **options)
        assert np.array_equal(many.q[k], one.q), "bit for bit the run that it would be alone"
    apart = np.abs(many.q[0, -1] - many.q[2, -1]).max()
    assert apart > 1e-4, "the constant matters"


def test_in_32_bits_and_one_run() -> None:
    """One run with a constant of its own, and many of which all have the same one."""
    model = qdot.load(SCENE)
    one = qdot.simulate(model, None, 0.05, 0.002, contact="soft", parameters={"trunk.mass": 3.0}, progress=False)
    many = qdot.simulate(
        model, (np.tile(model.home(), (9, 1)), np.zeros((9, model.nv))), 0.05, 0.002,
        contact="soft", parameters={"trunk.mass": 3.0}, progress=False, dtype="float32",
    )  # fmt: skip
    assert many.q.dtype == np.float32
    np.testing.assert_allclose(many.q, np.broadcast_to(one.q, many.q.shape), atol=1e-4)
