"""Soft contact against MuJoCo, converged: constraint forces and accelerations of whole models at random states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import qdot
from qdot.algorithms.configuration import retract
from qdot.algorithms.rnea import newton_euler
from qdot.contact import soft_contacts
from qdot.contact.between import by_kind, by_kind_but_for_friction
from qdot.contact.soft import Soft, soft_problem
from qdot.contact.soft_contacts import parted, parting_freedoms
from tests.formats.corpora import mjcf_files

MODELS = [
    "suite/ball_in_cup",
    "suite/cheetah",
    "suite/dog",
    "suite/finger",
    "suite/hopper",
    "suite/humanoid",
    "suite/manipulator",
    "suite/point_mass",
    "suite/quadruped",
    "suite/stacker",
    "suite/walker",
    "assets/ant",
    "assets/half_cheetah",
    "assets/hopper",
    "assets/humanoid",
    "assets/humanoidstandup",
    "assets/pusher_v5",
    "assets/walker2d",
]
"""Of the suite's others, fish, acrobot and lqr switch constraints off, and swimmer, reacher, cartpole and pendulum
contacts."""
FILES = [file for file in mjcf_files() if str(file.path.with_suffix("")).endswith(tuple(MODELS))]
CASES = [
    (file, cone)
    for file in FILES
    for cone in ("pyramidal", "elliptic")
    if (file.path.stem, cone) != ("dog", "elliptic")
]
"""Of dog, with 6,277 pairs of shapes, its own cone alone: a minute and a half."""
STATES, CROWDED = 100, 200


def levelled(path: Path) -> str:
    """The text of a file without terrain, of which MuJoCo has touches with every triangle."""
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in spec.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_HFIELD:
            spec.delete(geom)
    for field in spec.hfields:
        spec.delete(field)
    return spec.to_xml()


def states(m: mujoco.MjModel, random: np.random.Generator):
    """Configurations around home, free bodies lowered until something touches, and fast motion. What has very many
    shapes, as a dog of 120, stays nearer to home: else hundreds are in each other."""
    d = mujoco.MjData(m)
    is_free = m.njnt and m.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    for _ in range(STATES):
        mujoco.mj_resetData(m, d)
        d.qvel[:] = random.normal(size=m.nv)
        d.ctrl[:] = random.uniform(-1, 1, size=m.nu)
        far = 1.5 if not is_free else 0.6 if m.ngeom < CROWDED else 0.1
        mujoco.mj_integratePos(m, d.qpos, random.normal(size=m.nv) * far, 1.0)
        mujoco.mj_kinematics(m, d)
        if is_free:
            moving = m.body_weldid[m.geom_bodyid] > 0
            d.qpos[2] -= max(0.0, d.geom_xpos[moving, 2].min() - 0.02)
        mujoco.mj_forward(m, d)
        yield d


def is_curved(m: mujoco.MjModel, d: mujoco.MjData) -> bool:
    """Whether an ellipsoid meets something that is no plane, or a capsule a cylinder."""
    kinds = m.geom_type[d.contact.geom]
    oval = (kinds == mujoco.mjtGeom.mjGEOM_ELLIPSOID).any(axis=1) & (kinds[:, 0] != mujoco.mjtGeom.mjGEOM_PLANE)
    round_ones = [mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER]
    return bool((oval | (kinds == round_ones).all(axis=1)).any())


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("file", "cone"), CASES, ids=[f"{file.path.parent.name}-{file.path.stem}-{cone}" for file, cone in CASES]
)
def test_forces_are_those_of_mujoco(file, cone):
    m = mujoco.MjModel.from_xml_path(str(file.path))
    given_as: Path | str = file.path
    if m.nhfield:
        given_as = levelled(file.path)
        m = mujoco.MjModel.from_xml_string(given_as)
    m.opt.cone = {"pyramidal": 0, "elliptic": 1}[cone]
    m.opt.ccd_tolerance, m.opt.ccd_iterations = 1e-13, 1000
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD  # two convex shapes have one touch here
    m.geom_sameframe[:] = 0  # else a shape turned by 1e-6 from its body's principal axes lies along them
    m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    m.opt.tolerance, m.opt.iterations, m.opt.ls_tolerance, m.opt.ls_iterations = 0, 300, 1e-10, 300
    model = qdot.load(given_as)
    described = model.description
    if m.ngeom >= CROWDED:  # with dozens of contacts, a few sweeps against slip end at other forces by a hair
        m.opt.noslip_iterations = 0
    options = replace(described.options, cone=cone, noslip_iterations=int(m.opt.noslip_iterations))
    model = qdot.assemble(replace(described, options=options))
    bridge = qdot.convert.mujoco(model)
    rows = [
        (d.qpos.copy(), d.qvel.copy(), d.qfrc_smooth + d.qfrc_bias, d.qfrc_constraint.copy(), d.nefc, is_curved(m, d))
        for d in states(m, np.random.default_rng(1))
    ]
    qpos, qvel, smooth, constraint, counts, curved = (np.array(column) for column in zip(*rows, strict=True))
    q, v = bridge.q_from(qpos), bridge.v_from(qpos, qvel)
    given, wanted = bridge.tau_from(qpos, smooth), bridge.tau_from(qpos, constraint)
    q, v, given = (list(x.T) for x in (q, v, given))
    c, _ = newton_euler(model, q, v, [0] * model.nv)
    f = [x - y for x, y in zip(given, c, strict=True)]
    problem = soft_problem(model, q, v, f, model.description.options.timestep, Soft(1e-15, 100, room=40))
    assert np.all(np.asarray(problem.missed) == 0)
    with np.errstate(all="ignore"):
        found = problem.solved([np.zeros(STATES)] * model.nv)
    pushed = found.joint_forces()
    found_forces = np.array([np.broadcast_to(x, STATES) for x in pushed]).T
    # Both stop where rounding does; forces of contacts are up to 1e4 times those of motion.
    size = np.maximum(1.0, np.abs(wanted).max(axis=1))
    error = np.abs(found_forces - wanted).max(axis=1) / size
    assert counts.sum() > STATES / 4
    assert error[~curved].max() < 1e-6, (error.argmax(), error.max())
    # Where an ellipsoid meets a body, as a quadruped's trunk its legs, MuJoCo's collider ends up to 3e-11 m above the
    # least distance (ours 1e-12, by the closed form for points), so its points are micrometres beside the nearest.
    assert error.max() < 1e-5, (error.argmax(), error.max())


SCENE = """
<mujoco><option cone="{cone}"/><worldbody>
  <geom type="plane" size="2 2 1" zaxis="0.1 0.2 1" pos="0 0 -0.1"/>
  <geom type="box" size="0.3 0.3 0.05" pos="0.2 0 0.05" euler="10 5 0"/>
  <body pos="0 0 0.1"><freejoint/><geom type="capsule" size="0.05 0.1"/><geom type="box" size="0.1 0.05 0.04"/>
    <body pos="0.15 0 0"><joint axis="0 1 0" range="-20 20" limited="true" frictionloss="0.1"/>
      <geom type="capsule" size="0.04 0.08" condim="4"/>
      <geom type="sphere" size="0.06" pos="0.05 0 0" condim="6"/></body>
    <body pos="-0.15 0 0"><joint axis="1 0 0"/><geom type="cylinder" size="0.04 0.06" condim="1"/></body></body>
  <body pos="0.1 0.1 0.12"><freejoint/><geom type="ellipsoid" size="0.08 0.05 0.06"/></body>
</worldbody></mujoco>"""


def thrown_about(model):
    """Configurations, velocities and forces of the scene, in lanes."""
    random = np.random.default_rng(3)
    steps = random.uniform(-0.1, 0.1, (STATES, model.nv)) * np.array([20, 20, 20, 1, 1, 1, 4, 10, 20, 20, 20, 1, 1, 1])
    q = np.array([retract(model, model.home().tolist(), list(step)) for step in steps])
    v, f = (random.normal(size=(STATES, model.nv)) for _ in range(2))
    return list(q.T), list(v.T), list(f.T)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_loops_over_contacts_push_as_each_contact_does(cone):
    """Joint forces of contacts gone through in loops by body are the sum of those that each tells alone: planes with
    frames that are known and turned, other ground, bodies, every dimension."""
    model = qdot.load(SCENE.format(cone=cone))
    problem = soft_problem(model, *thrown_about(model), 0.002, Soft(room=32))
    assert len(problem.grounded) < len(problem.ground), "contacts of a body that differ in numbers go in one loop"
    with np.errstate(all="ignore"):
        found = problem.solved([np.zeros(STATES)] * model.nv)
        for cause in (None, "contacts", "limits", "friction"):
            together = found.joint_forces(cause)
            alone = problem.pushed(found.forces, cause)
            for x, y in zip(together, alone, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-10)
    acting = sum((np.asarray(c.law.D) > 0).sum() for c in problem.ground)
    assert acting > STATES


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_contacts_that_share_places_push_as_those_that_do_not(cone, monkeypatch):
    """Of many contacts with the ground some share places. That changes nothing, friction along a capsule's own tangents
    included, by which a cone with flat sides is turned."""
    model = qdot.load(SCENE.format(cone=cone))
    given = thrown_about(model)
    alone = soft_problem(model, *given, 0.002, Soft(1e-15, room=32))
    monkeypatch.setattr(soft_contacts, "MOST_ALONE", 0)
    shared = soft_problem(model, *given, 0.002, Soft(1e-15, room=32))
    assert alone.ground
    assert not shared.ground
    with np.errstate(all="ignore"):
        one, two = (problem.solved([np.zeros(STATES)] * model.nv).joint_forces() for problem in (alone, shared))
    # Newton's method ends where rounding does; forces are up to 1e4.
    np.testing.assert_allclose(np.array(one), np.array(two), rtol=1e-7, atol=1e-6)


ROUGH_AND_SMOOTH = """
<mujoco><option cone="{cone}" timestep="0.002" integrator="implicitfast"/><worldbody>
  <geom type="plane" size="2 2 1" friction="0.7"/>
  <body pos="0 0 0.099"><freejoint/><geom type="sphere" size="0.1" friction="0.1"/></body>
  <body pos="0.15 0.02 0.098"><freejoint/><geom type="sphere" size="0.1" friction="0.3"/></body>
  <body pos="0.07 0.1 0.21"><freejoint/><geom type="sphere" size="0.09" friction="0.5"/></body>
  <body pos="0.07 -0.06 0.23"><freejoint/><geom type="sphere" size="0.09" friction="1.5"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_pairs_that_differ_by_friction_share_places(cone):
    """Each with its own, against MuJoCo: balls that lie on each other and slide, 30 steps."""
    text = ROUGH_AND_SMOOTH.format(cone=cone)
    model, m = qdot.load(text), mujoco.MjModel.from_xml_string(text)
    sharing = parted(model, 256).sharing
    assert len(by_kind(sharing)) == 3
    assert len(by_kind_but_for_friction(sharing)) == 1
    m.opt.tolerance, m.opt.iterations, m.opt.ls_tolerance, m.opt.ls_iterations = 0, 100, 1e-10, 100
    d, bridge = mujoco.MjData(m), qdot.convert.mujoco(model, m)
    d.qvel[:] = np.random.default_rng(5).normal(size=m.nv) * 0.3
    start = bridge.q_from(d.qpos), bridge.v_from(d.qpos, d.qvel)
    run = qdot.simulate(model, start, 30 * 0.002, 0.002, contact=Soft(1e-13), integrator="implicit velocity")
    slid = 0
    for k in range(1, 31):
        mujoco.mj_step(m, d)
        slid += d.ncon
        np.testing.assert_allclose(run.v[k], bridge.v_from(d.qpos, d.qvel), atol=1e-7)
    assert slid > 60


def test_rows_between_bodies_leave_out_what_moves_both():
    """A robot's base cannot part its own limbs; two loose bodies have all their freedoms."""
    model = qdot.load(SCENE.format(cone="pyramidal"))
    limbs, loose = [], []
    for pair in parted(model, 256).sharing:
        bodies = {pair.first.body, pair.second.body}
        if 0 not in bodies:  # the ground
            (loose if len(model.bodies) in bodies else limbs).append(pair)
    assert parting_freedoms(model, limbs) == [6, 7]
    assert parting_freedoms(model, loose) == list(range(model.nv))
