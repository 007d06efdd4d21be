"""Every URDF file of the package example-robot-data, loaded with fixed and with free base, against Pinocchio's reader.

A file that Pinocchio refuses is refused here for the same reason. Joints are matched by name: Pinocchio numbers
siblings by name, qdot as the file has them.

Tolerance: |x - y| ≤ 1e-9 max|y| + 1e-12. Both sides read the same decimals and compute in double precision; sums of
some hundred products, and rotations that Pinocchio takes through quaternions, leave some 1e-14. A wrong axis, frame,
sign or inertia shows at order one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import qdot
from benchmarks.robots import in_wheels, states
from qdot.algebra import as_array
from qdot.description import Severity
from qdot.errors import ModelError
from tests.oracles.pinocchio_bridge import ANGULAR_FIRST, Oracle, Segment

pytestmark = pytest.mark.no_cover  # measuring what is covered would double the minutes; unit tests cover the code

STATES = 10
LARGE = 40
"""Bodies up to which the Jacobians of all are compared; beyond, of those at the ends of branches."""

REFUSED = {
    "falcon.urdf": "child link 'Z_propeller' of joint 'top_propeller_joint' is not in the file",
    "ur3.urdf": "the robot has no name",
}


def corpus() -> list[Path]:
    folder = in_wheels("share/example-robot-data/robots")
    return sorted(folder.rglob("*.urdf")) if folder else []


FILES = [path for path in corpus() if path.name not in REFUSED]


def short(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


def assert_close(x: object, y: object) -> None:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape
    assert np.isfinite(y).all()
    if y.size:
        assert np.abs(x - y).max() <= 1e-9 * np.abs(y).max() + 1e-12


def test_the_corpus_is_there() -> None:
    assert len(corpus()) >= 70
    assert {path.name for path in corpus()} >= REFUSED.keys()


@pytest.mark.parametrize("name", REFUSED)
def test_what_pinocchio_refuses_is_refused_for_the_same_reason(name: str) -> None:
    path = next(path for path in corpus() if path.name == name)
    with pytest.raises(ValueError, match="does not contain a valid URDF model"):
        pin.buildModelFromUrdf(str(path))
    with pytest.raises(ModelError, match=rf"{name}:\d+: .*{REFUSED[name]}"):
        qdot.load(path)


KINDS = {
    "JointModelFreeFlyer": "free",
    "JointModelPlanar": "planar",
}


def matched(model: qdot.Model, theirs: pin.Model) -> Oracle:
    """Pinocchio's answers in the order of qdot's joints."""
    segments = []
    for body in model.bodies:
        if body.joint.nv:
            joint = theirs.joints[theirs.getJointId(body.joint_name)]
            kind = KINDS.get(joint.shortname(), "circle" if joint.nq > joint.nv else "plain")
            segments.append(Segment(kind, body.qs.start, body.dofs.start, joint.idx_q, joint.idx_v))
    assert sum(joint.nv for joint in list(theirs.joints)[1:]) == model.nv
    links = {body.name: "world" if body.name == "world_link" else body.name for body in model.bodies}
    frames = {name: theirs.getFrameId(link, pin.FrameType.BODY) for name, link in links.items()}
    assert max(frames.values()) < theirs.nframes  # Pinocchio's answer for a name that it does not have
    ground = theirs.inertias[0]
    return Oracle(theirs, theirs.createData(), model.nq, tuple(segments), frames, (), ground if ground.mass else None)


def compared(model: qdot.Model) -> list[str]:
    """Bodies whose Jacobians are compared: those at the ends of branches have every column."""
    parents = {body.parent for body in model.bodies} if len(model.bodies) > LARGE else {}
    return [body.name for body in model.bodies if body.index not in parents]


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("path", FILES, ids=short)
def test_same_numbers_as_pinocchio(path: Path, base: str) -> None:
    model = qdot.load(path, base=base)
    root = [pin.JointModelFreeFlyer()] if base == "free" else []
    theirs = pin.buildModelFromUrdf(str(path), *root)
    assert model.name == theirs.name
    oracle = matched(model, theirs)
    pin_q, pin_v, _ = states(theirs, STATES)
    Q = np.array([oracle.q_of(q) for q in pin_q])
    V = np.array([oracle.T(q).T @ v for q, v in zip(Q, pin_v, strict=True)])
    rows = list(zip(Q, V, strict=True))

    if model.nv:
        assert_close(qdot.mass_matrix(model, Q), [oracle.mass_matrix(q) for q in Q])
        assert_close(qdot.bias_forces(model, Q, V), [oracle.bias_forces(q, v) for q, v in rows])
        assert_close(qdot.gravity_forces(model, Q), [oracle.gravity_forces(q) for q in Q])
        assert_close(qdot.kinetic_energy(model, Q, V), [oracle.kinetic_energy(q, v) for q, v in rows])
        for name in compared(model):
            theirs_J = [oracle.jacobian(q, name, qdot.Coordinates.ALIGNED) for q in Q]
            assert_close(qdot.jacobian(model, Q, name), theirs_J)
    assert_close(qdot.total_mass(model), oracle.total_mass)
    assert_close(qdot.potential_energy(model, Q), [oracle.potential_energy(q) for q in Q])
    if oracle.total_mass:
        assert_close(qdot.center_of_mass(model, Q), [oracle.center_of_mass(q) for q in Q])
    _compare_frames(model, oracle, Q, V)


def _compare_frames(model: qdot.Model, oracle: Oracle, Q: np.ndarray, V: np.ndarray) -> None:
    """Poses and velocities of all bodies."""
    poses = {name: np.empty((STATES, 4, 4)) for name in oracle.frames}
    velocities = {name: np.empty((STATES, 6)) for name in oracle.frames}
    for k, (q, v) in enumerate(zip(Q, V, strict=True)):
        pin.forwardKinematics(oracle.model, oracle.data, oracle.q(q), oracle.T(q) @ v)
        pin.updateFramePlacements(oracle.model, oracle.data)
        for name, frame in oracle.frames.items():
            moving = pin.getFrameVelocity(oracle.model, oracle.data, frame, pin.LOCAL_WORLD_ALIGNED)
            poses[name][k] = oracle.data.oMf[frame].homogeneous
            velocities[name][k] = moving.vector[ANGULAR_FIRST]
    ours = qdot.kinematics(model, Q, V)
    for name in oracle.frames:
        assert_close(as_array(ours.pose(name), (STATES,)), poses[name])
        assert_close(as_array(ours.velocity(name), (STATES,)), velocities[name])


@pytest.mark.parametrize("path", FILES, ids=short)
def test_limits_damping_and_friction_are_those_pinocchio_reads(path: Path) -> None:
    theirs = pin.buildModelFromUrdf(str(path))
    for body in qdot.load(path).bodies:
        if body.joint.nv != 1:
            continue
        joint = theirs.joints[theirs.getJointId(body.joint_name)]
        limits = body.joint.limits
        assert limits.velocity == (theirs.upperVelocityLimit[joint.idx_v],)
        assert limits.effort == (theirs.upperEffortLimit[joint.idx_v],)
        assert body.passive.damping == (theirs.damping[joint.idx_v],)
        assert body.passive.friction == (theirs.upperDryFrictionLimit[joint.idx_v],)
        if joint.nq == 1:
            assert limits.lower == (theirs.lowerPositionLimit[joint.idx_q],)
            assert limits.upper == (theirs.upperPositionLimit[joint.idx_q],)


@pytest.mark.parametrize("path", FILES, ids=short)
def test_every_item_tells_where_it_is_from(path: Path) -> None:
    report = qdot.load(path).report
    lines = len(path.read_bytes().splitlines())
    assert all(item.file == str(path) and 1 <= item.line <= lines for item in report)
    assert report.of(Severity.PHYSICS) == ()
