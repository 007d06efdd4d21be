"""Friction that holds: soft contact with sweeps after its solver, beside MuJoCo's, by the conditions of the minimum,
and in time."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import qdot
from qdot.algorithms.rnea import newton_euler
from qdot.contact import Soft
from qdot.contact.constraints import Ground, Rowed
from qdot.contact.gauss import Found, Problem, body_motions
from qdot.contact.soft import soft_problem
from qdot.contact.soft_laws import Ellipse
from qdot.errors import ValueShapeError
from qdot.programs.compiled import Compiled
from qdot.programs.traced import Request
from qdot.simulation.integrators import ImplicitVelocity, SemiImplicitEuler
from qdot.simulation.stepping import shapes, stepped
from qdot.simulation.system import Setup, System
from tests.contact.models import GRAVITY, box, friction, planar, scene

STATES = 24
FLOOR = '<geom type="plane" size="9 9 1" friction="0.6 0.02 0.01"/>'
HEAP = f"""<mujoco><option gravity="2 1 -9.81"/><worldbody>{FLOOR}
  <body name="box" pos="0 0 0.095"><freejoint/><geom type="box" size="0.2 0.15 0.1" mass="2" friction="0.3 0 0"/></body>
  <body name="ball" pos="0.02 0.01 0.285"><freejoint/><geom size="0.1" mass="1" condim="4"/></body>
  <body name="rod" pos="0 0.5 0.045"><freejoint/>
    <geom type="capsule" size="0.05 0.2" euler="90 0 0" mass="0.5" condim="6"/></body>
</worldbody></mujoco>"""
ARM = f"""<mujoco><worldbody>{FLOOR}
  <body pos="0 0 0.352"><joint name="turn" axis="0 0 1" frictionloss="0.2"/>
    <joint name="lift" axis="0 1 0" frictionloss="0.5" armature="0.01"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 -0.1" size="0.03" mass="1"/>
    <body pos="0.3 0 -0.1"><joint name="bend" axis="0 1 0" frictionloss="0.3" range="-90 90"/>
      <geom type="capsule" fromto="0 0 0 0.1 0 -0.23" size="0.03" mass="0.5"/></body></body>
</worldbody><tendon><fixed name="rope" frictionloss="0.4">
  <joint joint="lift" coef="1"/><joint joint="bend" coef="-0.5"/></fixed></tendon></mujoco>"""
INTEGRATORS = {SemiImplicitEuler(implicit_dampers=True): "EULER", ImplicitVelocity(): "IMPLICITFAST"}
SCENES = {"heap": HEAP, "arm": ARM}


def states(m: mujoco.MjModel) -> list[mujoco.MjData]:
    """Little displaced from home, where things touch, and in slow motion, so that some stick and some slide."""
    random, found = np.random.default_rng(3), []
    for _ in range(STATES):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, random.normal(size=m.nv) * 0.005, 1.0)
        d.qvel[:] = random.normal(size=m.nv) * random.choice([0.0, 0.02, 0.3])
        mujoco.mj_forward(m, d)
        found.append(d)
    return found


def found_at(model: qdot.Model, m: mujoco.MjModel, listed: list[mujoco.MjData], noslip: int) -> tuple[Problem, Found]:
    """What is soft in all states at once, and its solution."""
    bridge = qdot.convert.mujoco(model, m)
    qpos, qvel, smooth = (np.array([getattr(d, name) for d in listed]) for name in ("qpos", "qvel", "qfrc_smooth"))
    smooth = smooth + [d.qfrc_bias for d in listed]
    q, v, given = bridge.q_from(qpos), bridge.v_from(qpos, qvel), bridge.tau_from(qpos, smooth)
    q, v, given = (list(x.T) for x in (q, v, given))
    c, _ = newton_euler(model, q, v, [0] * model.nv)
    f = [x - y for x, y in zip(given, c, strict=True)]
    problem = soft_problem(model, q, v, f, m.opt.timestep, Soft(1e-15, 100, room=64, noslip=noslip))
    with np.errstate(all="ignore"):
        return problem, problem.solved([np.zeros(len(listed))] * model.nv)


def both(text: str, cone: str, sweeps: int, tolerance: float) -> tuple[mujoco.MjModel, qdot.Model]:
    m = mujoco.MjModel.from_xml_string(text)
    m.opt.cone = {"pyramidal": 0, "elliptic": 1}[cone]
    m.opt.tolerance, m.opt.iterations, m.opt.ls_tolerance, m.opt.ls_iterations = 0, 300, 1e-10, 300
    m.opt.noslip_iterations, m.opt.noslip_tolerance = sweeps, tolerance
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND  # sweeps end when they gain little in all, as here
    described = qdot.load(text).description
    options = replace(described.options, cone=cone, noslip_tolerance=tolerance)
    return m, qdot.assemble(replace(described, options=options))


def stacked(xs: list) -> np.ndarray:
    return np.array([np.broadcast_to(x, STATES) for x in xs]).T


@pytest.mark.parametrize(
    ("sweeps", "tolerance"), [(300, 0.0), (2, 0.0), (300, 1e-5)], ids=["many", "two", "while worth it"]
)
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", SCENES)
def test_forces_and_accelerations_are_those_of_mujoco(name, cone, sweeps, tolerance):
    """Within 1e-7 of the largest; seen are 1e-9: MuJoCo's friction of a round cone ends where its square is within
    1e-10 of the rim. Sweeps go in the same order and end alike, so few agree as many do. Without them forces are off by
    1e-3 and more."""
    m, model = both(SCENES[name], cone, sweeps, tolerance)
    listed = states(m)
    bridge, qpos = qdot.convert.mujoco(model, m), np.array([d.qpos for d in listed])
    assert sum(d.ncon > 0 for d in listed) > STATES / 2
    wanted = bridge.tau_from(qpos, np.array([d.qfrc_constraint for d in listed]))
    qvel, qacc = (np.array([getattr(d, kind) for d in listed]) for kind in ("qvel", "qacc"))
    accelerations = bridge.a_from(qpos, qvel, qacc)
    problem, found = found_at(model, m, listed, sweeps)
    assert np.all(np.asarray(problem.missed) == 0)
    for ours, theirs in ((found.joint_forces(), wanted), (found.a, accelerations)):
        size = np.maximum(1.0, np.abs(theirs).max(axis=1))
        assert (np.abs(stacked(ours) - theirs).max(axis=1) / size).max() < 1e-7
    _, before = found_at(model, m, listed, 0)
    without = stacked(before.joint_forces())
    assert (np.abs(without - wanted).max(axis=1) / np.abs(wanted).max(axis=1)).max() > 1e-3


WHEELS = f"""<mujoco><option gravity="1 0 -9.81" cone="elliptic"/><worldbody>{FLOOR}<body pos="0 0 0.195">
  <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
  <geom type="capsule" fromto="-0.2 0 0 0.2 0 0" size="0.1" mass="1"/>
  <body pos="0.2 0 -0.05"><joint axis="0 1 0" frictionloss="0.1"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.1" size="0.05" mass="0.3"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("text", [ARM, WHEELS], ids=["arm", "in a plane"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_it_sticks_or_slides_with_all_its_grip(text, cone):
    """The conditions of the minimum, at the accelerations that are found: y = 0, or friction against y as large as it
    may be. In a plane, a round contact has a direction in which nothing moves; MuJoCo takes no step there. y is within
    1e-9 m/s²: sweeps of few contacts end where rounding does."""
    m, model = both(text, cone, 0, 0.0)
    listed = states(m)
    (_, soft), (problem, found) = (found_at(model, m, listed, sweeps) for sweeps in (0, 1000))
    stuck = slid = 0
    for k, (constraint, why) in enumerate(zip(problem.constraints, problem.causes, strict=True)):
        law, f, was = constraint.law, stacked(found.forces[k]), stacked(soft.forces[k])
        if why != "friction" and (why != "contacts" or len(constraint.nothing) == 1):
            np.testing.assert_array_equal(f, was)
            continue
        np.testing.assert_array_equal(f[:, :-1][:, :1], was[:, :-1][:, :1])  # pushes are held
        grip = stacked(law.grip(beyond(problem, soft, constraint)))
        acts, n = grip.min(axis=1) > 1e-6, grip.shape[1]
        y, f, grip = stacked(beyond(problem, found, constraint))[acts, -n:], f[acts, -n:], grip[acts]
        x = f / grip
        if isinstance(law, Ellipse):
            size, y = np.linalg.norm(x, axis=1)[:, None], y * grip / grip.max(axis=1)[:, None]
            along = np.minimum((y * x).sum(axis=1)[:, None], 0) * x
        else:
            size, along = np.abs(x), np.where(x * y < 0, y, 0)
        assert (size < 1 + 1e-12).all()
        slides = size > 1 - 1e-9
        assert np.abs(y - np.where(slides, along, 0)).max(initial=0.0) < 1e-9
        stuck, slid = stuck + np.sum(~slides), slid + np.sum(slides)
    assert stuck > 0
    assert slid > 0


def beyond(problem: Problem, found: Found, constraint: Ground | Rowed) -> list:
    """J a - a_ref."""
    if isinstance(constraint, Ground):
        return constraint.beyond(body_motions(problem.model, problem.at, found.a)[constraint.body])
    return constraint.beyond(found.a)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=INTEGRATORS.values())
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_runs_are_those_of_mujoco(cone, integrator):
    """An arm that falls on the floor and is held by its friction: within 1e-8 after 0.3 s, since both solve to
    rounding, and more than 1e-5 off without sweeps."""
    m, model = both(ARM, cone, 10, 1e-6)
    m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{INTEGRATORS[integrator]}")
    d, bridge = mujoco.MjData(m), qdot.convert.mujoco(model, m)
    d.qvel[:] = 0.5, 0.3, -0.2
    q, v, off = bridge.q_from(d.qpos), bridge.v_from(d.qpos, d.qvel), {}
    mujoco.mj_step(m, d, 150)
    for sweeps in (0, 10):
        kind = Soft(1e-14, 100, noslip=sweeps)
        run = qdot.simulate(model, (q, v), 150 * m.opt.timestep, m.opt.timestep, integrator=integrator, contact=kind)
        off[sweeps] = np.abs(bridge.q_to(run.q[-1]) - d.qpos).max()
    assert d.ncon > 0
    assert off[0] > 1e-5
    assert off[10] < 1e-8


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_block_on_a_slope_stays(cone, dtype):
    """Soft friction lets it creep at 0.3 mm/s and more; after the sweeps it lies still, but for rounding, and friction
    is what its weight asks for. What it moves while it settles is less than 0.1 mm."""
    slope, mu = 0.2, 0.8
    model = scene(box("block", "0 0 0.099", "0.1 0.1 0.1", planar("block"), more=friction(mu)), slope=slope, mu=mu)
    options = replace(model.description.options, cone=cone)
    model = qdot.assemble(replace(model.description, options=options))
    speeds = {}
    for sweeps in (0, 50):
        run = qdot.simulate(model, None, 1.0, 0.002, contact=Soft(noslip=sweeps), dtype=dtype)
        speeds[sweeps] = (run.q[-1, 0] - run.q[-101, 0]) / 0.2
    assert speeds[0] > 1e-4
    assert abs(speeds[50]) < (1e-9 if dtype == "float64" else 1e-5)
    assert abs(run.q[-1, 0]) < 1e-4
    forces = np.sum([contact.force for contact in run.contacts(-1)], axis=0)
    np.testing.assert_allclose(forces, [-GRAVITY * np.sin(slope), 0, GRAVITY * np.cos(slope)], rtol=1e-3, atol=1e-3)


def test_steps_take_what_the_options_say():
    """By themselves, unless told otherwise; and without sweeps the program of a step is what it was."""
    plain = scene(box("block", "0 0 0.099", "0.1 0.1 0.1"), slope=0.2)
    options = replace(plain.description.options, noslip_iterations=5)
    asked = qdot.assemble(replace(plain.description, options=options))

    def program(model: qdot.Model, kind: Soft) -> str:
        setup = Setup(contact=kind)
        integrator = SemiImplicitEuler()
        request = Request(
            stepped, model, (), (), {"setup": setup, "integrator": integrator},
            inputs=shapes(System(model, setup), integrator),
        )  # fmt: skip
        return Compiled(request).program.hash

    without, five, six = (program(plain, Soft(noslip=n)) for n in (None, 5, 6))
    assert program(asked, Soft(noslip=0)) == program(plain, Soft(noslip=0)) == without
    assert program(asked, Soft()) == five
    assert len({without, five, six}) == 3


@pytest.mark.parametrize("sweeps", [-1, 2.0, True, "many"])
def test_sweeps_are_counted(sweeps):
    with pytest.raises(ValueShapeError, match="Soft's noslip is a whole number of sweeps"):
        Soft(noslip=sweeps)
