"""The same mechanisms written by hand in MJCF and in qdot: inertia, bias, passive forces, energies, poses, Jacobians.

Tolerance: |x - y| ≤ 1e-10 (1 + max|y|). MuJoCo works in double precision too, the models have fewer than ten bodies,
and the decimals in both texts are the same; what differs is rounding, also that of MuJoCo's principal axes of inertia,
some 1e-16 times the largest number in each sum.

Conventions: MuJoCo's q of a free joint is (position, quaternion), its v is (velocity of the origin in world axes, ω in
body axes). So v_mj = T(q) v with T = [[0, R], [1, 0]] there, forces are Tᵀ those of MuJoCo, and a_mj = T a + Ṫ v with
Ṫ v = (R (ω × v), 0). Several joints on one body of MuJoCo are one joint of qdot with as many freedoms.
"""

from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np
import pytest

import qdot
from qdot import Mechanism, Model
from qdot.algebra import Quaternion, Sym3, Vec3, as_array
from qdot.joints import Compound, Cylindrical, Fixed, Free, Planar, Prismatic, Revolute, Spherical, Universal
from qdot.model.library import random_state
from qdot.spatial import Inertia, Transform

TOLERANCE = 1e-10


def assert_close(x, y):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape
    assert np.isfinite(y).all()
    assert np.abs(x - y).max() <= TOLERANCE * (1 + np.abs(y).max())


# ── the mechanisms ───────────────────────────────────────────────────────────────────────────────

HEAD = """
<mujoco>
  <compiler angle="radian" autolimits="false"/>
  <option gravity="{gravity}" integrator="RK4"><flag contact="disable" constraint="disable" energy="enable"/></option>
  <worldbody>"""
TAIL = """
  </worldbody>
</mujoco>"""

CHAIN = """
    <body name="arm" pos="0.1 -0.2 0.9" quat="0.8 0 0.6 0">
      <joint name="shoulder" type="hinge" axis="0 1 0" armature="0.11" damping="0.3" stiffness="2.5" springref="0.4"/>
      <inertial pos="0.05 0.02 -0.2" mass="1.3" fullinertia="0.05 0.06 0.03 0.004 -0.003 0.002"/>
      <site name="elbow_site" pos="0 0.1 -0.4" quat="0.6 0.8 0 0"/>
      <body name="rail" pos="0 0.1 -0.4" quat="0.6 0 0 0.8">
        <joint name="slider" type="slide" axis="0.6 0 0.8" armature="0.2" damping="1.1" stiffness="30"
               springref="-0.1"/>
        <inertial pos="0 0 0.1" mass="0.7" diaginertia="0.01 0.02 0.015"/>
        <body name="ball" pos="0.2 0 0.1">
          <joint name="socket" type="ball" armature="0.07" damping="0.2" stiffness="1.7"/>
          <inertial pos="0 -0.1 -0.15" mass="0.9" fullinertia="0.02 0.025 0.012 -0.002 0.001 0.003"/>
          <body name="lever" pos="0 0 -0.3" quat="0.5 0.5 0.5 0.5">
            <joint name="pivot" type="hinge" axis="0 0.6 -0.8" pos="0.05 0.1 -0.02" armature="0.03" damping="0.05"
                   stiffness="0.8" springref="-0.3"/>
            <inertial pos="0.1 0.05 0" mass="0.4" diaginertia="0.004 0.005 0.003"/>
            <site name="tip" pos="0.3 0 0.1" quat="0 0.6 0 0.8"/>
          </body>
        </body>
      </body>
    </body>"""


def chain() -> Model:
    """A chain of hinge, slide, ball and an eccentric hinge, with drives, dampers and springs."""
    world = Mechanism("chain", gravity=(0.3, -0.4, -9.7))
    arm = world.add(
        "arm",
        Revolute("y"),
        Inertia.about_com(1.3, (0.05, 0.02, -0.2), Sym3(0.05, 0.004, -0.003, 0.06, 0.002, 0.03)),
        at=pose((0.1, -0.2, 0.9), (0.8, 0, 0.6, 0)),
        joint_name="shoulder",
        armature=0.11,
        damping=0.3,
        stiffness=2.5,
        rest=0.4,
    )
    rail = arm.add(
        "rail",
        Prismatic((0.6, 0, 0.8)),
        Inertia.about_com(0.7, (0, 0, 0.1), (0.01, 0.02, 0.015)),
        at=pose((0, 0.1, -0.4), (0.6, 0, 0, 0.8)),
        joint_name="slider",
        armature=0.2,
        damping=1.1,
        stiffness=30,
        rest=-0.1,
    )
    ball = rail.add(
        "ball",
        Spherical(),
        Inertia.about_com(0.9, (0, -0.1, -0.15), Sym3(0.02, -0.002, 0.001, 0.025, 0.003, 0.012)),
        at=(0.2, 0, 0.1),
        joint_name="socket",
        armature=0.07,
        damping=0.2,
        stiffness=1.7,
    )
    anchor = Transform.translation(0.05, 0.1, -0.02)
    lever = ball.add(
        "lever",
        Compound(Fixed(anchor), Revolute((0, 0.6, -0.8)), Fixed(anchor.inv().transform())),
        Inertia.about_com(0.4, (0.1, 0.05, 0), (0.004, 0.005, 0.003)),
        at=pose((0, 0, -0.3), (0.5, 0.5, 0.5, 0.5)),
        joint_name="pivot",
        armature=0.03,
        damping=0.05,
        stiffness=0.8,
        rest=-0.3,
    )
    arm.frame("elbow_site", at=pose((0, 0.1, -0.4), (0.6, 0.8, 0, 0)))
    lever.frame("tip", at=pose((0.3, 0, 0.1), (0, 0.6, 0, 0.8)))
    return qdot.assemble(world)


FLOATING = """
    <body name="trunk" pos="0 0 1">
      <joint name="base" type="free" damping="0.4"/>
      <inertial pos="0.02 0 0.05" mass="5" fullinertia="0.2 0.15 0.1 0.01 0.02 -0.01"/>
      <site name="imu" pos="0.1 0 0.2" quat="0.6 0 0.8 0"/>
      <body name="thigh" pos="0.1 0.1 -0.1">
        <joint name="hip" type="ball" armature="0.02" damping="0.1" stiffness="0.5"/>
        <inertial pos="0 0 -0.2" mass="1.2" diaginertia="0.02 0.02 0.004"/>
        <body name="shin" pos="0 0 -0.4">
          <joint name="knee" type="hinge" axis="0 1 0" armature="0.05" damping="0.2" stiffness="1.5" springref="0.6"/>
          <inertial pos="0.01 0 -0.2" mass="0.8" diaginertia="0.01 0.012 0.003"/>
          <site name="foot" pos="0 0 -0.4"/>
        </body>
      </body>
      <body name="mast" pos="0 -0.1 0.2" quat="0.8 0.6 0 0">
        <joint name="turn" type="hinge" axis="0 0 1" armature="0.04" damping="0.1" stiffness="0.7" springref="0.2"/>
        <inertial pos="0 0 0.1" mass="0.5" diaginertia="0.004 0.004 0.002"/>
        <body name="plate" pos="0 0 0.2">
          <inertial pos="0 0.1 0" mass="0.3" diaginertia="0.002 0.001 0.003"/>
          <body name="head" pos="0 0.1 0.1" quat="0 0 1 0">
            <joint name="lift" type="slide" axis="0 0 -1" armature="0.3" damping="2" stiffness="15" springref="0.05"/>
            <inertial pos="0 0 0.05" mass="0.6" diaginertia="0.003 0.003 0.003"/>
            <site name="eye" pos="0.05 0 0.1" quat="0.5 -0.5 0.5 0.5"/>
          </body>
        </body>
      </body>
    </body>"""


def floating() -> Model:
    """A floating trunk with two branches; the leg's bodies are added last, so the numbering differs from MuJoCo's.

    The trunk has no armature: MuJoCo's would act on accelerations in world axes, qdot's on those in body axes.
    """
    world = Mechanism("floating", gravity=(0, 0, -9.81))
    trunk = world.add(
        "trunk",
        Free(),
        Inertia.about_com(5, (0.02, 0, 0.05), Sym3(0.2, 0.01, 0.02, 0.15, -0.01, 0.1)),
        joint_name="base",
        damping=0.4,
    )
    mast = trunk.add(
        "mast",
        Revolute("z"),
        Inertia.about_com(0.5, (0, 0, 0.1), (0.004, 0.004, 0.002)),
        at=pose((0, -0.1, 0.2), (0.8, 0.6, 0, 0)),
        joint_name="turn",
        armature=0.04,
        damping=0.1,
        stiffness=0.7,
        rest=0.2,
    )
    plate = mast.add("plate", Fixed(), Inertia.about_com(0.3, (0, 0.1, 0), (0.002, 0.001, 0.003)), at=(0, 0, 0.2))
    head = plate.add(
        "head",
        Prismatic("-z"),
        Inertia.about_com(0.6, (0, 0, 0.05), (0.003, 0.003, 0.003)),
        at=pose((0, 0.1, 0.1), (0, 0, 1, 0)),
        joint_name="lift",
        armature=0.3,
        damping=2,
        stiffness=15,
        rest=0.05,
    )
    thigh = trunk.add(
        "thigh",
        Spherical(),
        Inertia.about_com(1.2, (0, 0, -0.2), (0.02, 0.02, 0.004)),
        at=(0.1, 0.1, -0.1),
        joint_name="hip",
        armature=0.02,
        damping=0.1,
        stiffness=0.5,
    )
    shin = thigh.add(
        "shin",
        Revolute("y"),
        Inertia.about_com(0.8, (0.01, 0, -0.2), (0.01, 0.012, 0.003)),
        at=(0, 0, -0.4),
        joint_name="knee",
        armature=0.05,
        damping=0.2,
        stiffness=1.5,
        rest=0.6,
    )
    trunk.frame("imu", at=pose((0.1, 0, 0.2), (0.6, 0, 0.8, 0)))
    shin.frame("foot", at=(0, 0, -0.4))
    head.frame("eye", at=pose((0.05, 0, 0.1), (0.5, -0.5, 0.5, 0.5)))
    return qdot.assemble(world)


SEVERAL = """
    <body name="table" pos="0.1 0.2 0.3" quat="0.8 0 0 0.6">
      <joint name="across" type="slide" axis="1 0 0" armature="0.3" damping="0.5" stiffness="8" springref="0.1"/>
      <joint name="up" type="slide" axis="0 1 0" armature="0.2" damping="0.6" stiffness="9" springref="-0.2"/>
      <joint name="angle" type="hinge" axis="0 0 1" armature="0.1" damping="0.7" stiffness="3" springref="0.3"/>
      <inertial pos="0.1 0 0.05" mass="2" diaginertia="0.05 0.06 0.08"/>
      <body name="quill" pos="0.2 0 0.1">
        <joint name="spin" type="hinge" axis="0 0.6 0.8" armature="0.02" damping="0.1"/>
        <joint name="feed" type="slide" axis="0 0.6 0.8" armature="0.4" damping="1.5" stiffness="12"/>
        <inertial pos="0 0.03 0.1" mass="0.8" fullinertia="0.01 0.012 0.006 0.001 -0.001 0.002"/>
        <site name="drill" pos="0 0 0.3" quat="0.6 0 0.8 0"/>
      </body>
      <body name="fork" pos="-0.2 0.1 0">
        <joint name="yaw" type="hinge" axis="0 0 1" damping="0.2"/>
        <joint name="pitch" type="hinge" axis="0.6 0.8 0" armature="0.05" stiffness="1.1" springref="0.25"/>
        <inertial pos="0 0 -0.1" mass="0.6" diaginertia="0.004 0.005 0.003"/>
        <body name="gimbal" pos="0 0 -0.2">
          <joint name="slip" type="slide" axis="0 0 1" damping="0.9" stiffness="20"/>
          <joint name="swivel" type="ball" armature="0.01" damping="0.3"/>
          <inertial pos="0.02 0 0.05" mass="0.5" diaginertia="0.002 0.003 0.0025"/>
          <site name="lens" pos="0.1 -0.1 0"/>
        </body>
      </body>
    </body>"""


def several() -> Model:
    """Bodies with several joints in MuJoCo, which are planar, cylindrical, universal and compound joints in qdot."""
    world = Mechanism("several", gravity=(0, 1.5, -9.81))
    table = world.add(
        "table",
        Planar("z", "x"),
        Inertia.about_com(2, (0.1, 0, 0.05), (0.05, 0.06, 0.08)),
        at=pose((0.1, 0.2, 0.3), (0.8, 0, 0, 0.6)),
        armature=(0.1, 0.3, 0.2),
        damping=(0.7, 0.5, 0.6),
        stiffness=(3, 8, 9),
        rest=(0.3, 0.1, -0.2),
    )
    quill = table.add(
        "quill",
        Cylindrical((0, 0.6, 0.8)),
        Inertia.about_com(0.8, (0, 0.03, 0.1), Sym3(0.01, 0.001, -0.001, 0.012, 0.002, 0.006)),
        at=(0.2, 0, 0.1),
        armature=(0.02, 0.4),
        damping=(0.1, 1.5),
        stiffness=(0, 12),
    )
    fork = table.add(
        "fork",
        Universal("z", (0.6, 0.8, 0)),
        Inertia.about_com(0.6, (0, 0, -0.1), (0.004, 0.005, 0.003)),
        at=(-0.2, 0.1, 0),
        armature=(0, 0.05),
        damping=(0.2, 0),
        stiffness=(0, 1.1),
        rest=(0, 0.25),
    )
    gimbal = fork.add(
        "gimbal",
        Compound(Prismatic("z"), Spherical()),
        Inertia.about_com(0.5, (0.02, 0, 0.05), (0.002, 0.003, 0.0025)),
        at=(0, 0, -0.2),
        armature=(0, 0.01, 0.01, 0.01),
        damping=(0.9, 0.3, 0.3, 0.3),
        stiffness=(20, 0, 0, 0),
    )
    quill.frame("drill", at=pose((0, 0, 0.3), (0.6, 0, 0.8, 0)))
    gimbal.frame("lens", at=(0.1, -0.1, 0))
    return qdot.assemble(world)


def pose(position, quaternion) -> Transform:
    """As MJCF's pos and quat."""
    return Transform(Quaternion(*quaternion).rotation(), Vec3(*position))


MECHANISMS = {
    # The joints in MuJoCo's order, by body, and where the entries of each are in q and v of qdot.
    "chain": (CHAIN, "0.3 -0.4 -9.7", chain, [("arm", None), ("rail", None), ("ball", None), ("lever", None)]),
    "floating": (
        FLOATING,
        "0 0 -9.81",
        floating,
        [("trunk", "free"), ("thigh", None), ("shin", None), ("mast", None), ("head", None)],
    ),
    "several": (
        SEVERAL,
        "0 1.5 -9.81",
        several,
        [("table", (1, 2, 0)), ("quill", None), ("fork", None), ("gimbal", None)],
    ),
}


@dataclass(frozen=True)
class Case:
    """A mechanism on both sides in one state, and MuJoCo's vectors in qdot's conventions."""

    model: Model
    mj: mujoco.MjModel
    data: mujoco.MjData
    q: np.ndarray
    v: np.ndarray
    T: np.ndarray
    drift: np.ndarray
    """v_mj = T v, a_mj = T a + drift."""

    def forces(self, tau_mj: np.ndarray) -> np.ndarray:
        return self.T.T @ tau_mj

    def mass_matrix(self) -> np.ndarray:
        """In MuJoCo's order, column by column."""
        columns = np.zeros((self.mj.nv, self.mj.nv))
        for column, unit in zip(columns, np.eye(self.mj.nv), strict=True):
            mujoco.mj_mulM(self.mj, self.data, column, unit)
        return columns.T


@cache
def both(name: str) -> tuple[Model, mujoco.MjModel]:
    text, gravity, build, _ = MECHANISMS[name]
    return build(), mujoco.MjModel.from_xml_string(HEAD.format(gravity=gravity) + text + TAIL)


def case_of(name: str, seed: int) -> Case:
    model, mj = both(name)
    q, v, _ = random_state(model, seed)
    data = mujoco.MjData(mj)
    qpos, T, drift = [], np.zeros((mj.nv, mj.nv)), np.zeros(mj.nv)
    row = 0
    for body_name, kind in MECHANISMS[name][3]:
        body = model.body(body_name)
        qi, vi, nv = q[body.qs], v[body.dofs], body.joint.nv
        block = np.eye(nv)
        if kind == "free":
            R = np.array(Quaternion(*qi[:4]).rotation().entries(), dtype=float)
            block = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
            drift[row : row + 3] = R @ np.cross(vi[:3], vi[3:])
            qi = [*qi[4:], *qi[:4]]
        elif kind is not None:
            block, qi = block[list(kind)], qi[list(kind)]
        qpos.extend(qi)
        T[row : row + nv, body.dofs] = block
        row += nv
    data.qpos[:] = qpos
    data.qvel[:] = T @ v
    mujoco.mj_forward(mj, data)
    return Case(model, mj, data, q, v, T, drift)


@pytest.fixture(params=[(name, seed) for name in MECHANISMS for seed in range(4)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    return case_of(*request.param)


# ── the comparisons ──────────────────────────────────────────────────────────────────────────────


def test_sizes_and_masses(case):
    assert (case.model.nq, case.model.nv) == (case.mj.nq, case.mj.nv)
    assert_close(qdot.total_mass(case.model), case.mj.body_mass.sum())


def test_mass_matrix(case):
    assert_close(qdot.mass_matrix(case.model, case.q), case.T.T @ case.mass_matrix() @ case.T)


def test_bias_forces(case):
    # MuJoCo's are those at rest of its own accelerations: M Ṫ v comes on top.
    bias = case.forces(case.data.qfrc_bias + case.mass_matrix() @ case.drift)
    assert_close(qdot.bias_forces(case.model, case.q, case.v), bias)


def test_passive_forces(case):
    assert_close(qdot.passive_forces(case.model, case.q, case.v), case.forces(case.data.qfrc_passive))


def test_energies(case):
    potential, kinetic = case.data.energy
    assert_close(qdot.potential_energy(case.model, case.q), potential)
    assert_close(qdot.kinetic_energy(case.model, case.q, case.v), kinetic)


def test_body_poses(case):
    motion = qdot.kinematics(case.model, case.q)
    for body in case.model.bodies:
        i = case.mj.body(body.name).id
        X = as_array(motion.pose(body.name))
        assert_close(X[:3, 3], case.data.xpos[i])
        assert_close(X[:3, :3], case.data.xmat[i].reshape(3, 3))


def test_sites_and_their_jacobians(case):
    assert case.mj.nsite >= 2
    for k in range(case.mj.nsite):
        name = case.mj.site(k).name
        X = as_array(qdot.frame_pose(case.model, case.q, name))
        assert_close(X[:3, 3], case.data.site_xpos[k])
        assert_close(X[:3, :3], case.data.site_xmat[k].reshape(3, 3))
        linear, angular = np.zeros((3, case.mj.nv)), np.zeros((3, case.mj.nv))
        mujoco.mj_jacSite(case.mj, case.data, linear, angular, k)
        assert_close(qdot.jacobian(case.model, case.q, name), np.vstack([angular, linear]) @ case.T)


def test_velocities_of_sites(case):
    motion = qdot.kinematics(case.model, case.q, case.v)
    for k in range(case.mj.nsite):
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(case.mj, case.data, mujoco.mjtObj.mjOBJ_SITE, k, velocity, 0)
        assert_close(list(motion.velocity(case.mj.site(k).name)), velocity)


def test_center_of_mass_and_momentum(case):
    mujoco.mj_subtreeVel(case.mj, case.data)
    assert_close(qdot.center_of_mass(case.model, case.q), case.data.subtree_com[0])
    h = qdot.centroidal_momentum(case.model, case.q, case.v)
    assert_close(list(h.lin), case.data.subtree_linvel[0] * case.mj.body_mass.sum())
    assert_close(list(h.ang), case.data.subtree_angmom[0])


def test_forward_dynamics(case):
    # Joint forces, springs and dampers, and a wrench on each body, which MuJoCo takes about its centre of mass.
    rng = np.random.default_rng(5)
    tau = rng.normal(size=case.model.nv)
    case.data.qfrc_applied[:] = np.linalg.solve(case.T.T, tau)
    wrenches = {}
    for body in case.model.bodies:
        i = case.mj.body(body.name).id
        moment, force = rng.normal(size=3), rng.normal(size=3)
        case.data.xfrc_applied[i] = [*force, *moment]
        arm = case.data.xipos[i] - case.data.xpos[i]
        wrenches[body.name] = [*(moment + np.cross(arm, force)), *force]
    mujoco.mj_forward(case.mj, case.data)
    a = np.linalg.solve(case.T, case.data.qacc - case.drift)
    assert_close(qdot.forward_dynamics(case.model, case.q, case.v, tau, wrenches=wrenches), a)


def test_inverse_dynamics(case):
    a = np.random.default_rng(6).normal(size=case.model.nv)
    case.data.qacc[:] = case.T @ a + case.drift
    mujoco.mj_inverse(case.mj, case.data)
    tau = qdot.inverse_dynamics(case.model, case.q, case.v, a)
    assert_close(tau, case.forces(case.data.qfrc_inverse))


@pytest.mark.parametrize("name", MECHANISMS)
def test_moving_on_the_manifold(name):
    # Only rotations and lines: MuJoCo moves a free body's position on a straight line, qdot along the screw.
    case = case_of(name, seed=9)
    qpos = case.data.qpos.copy()
    mujoco.mj_integratePos(case.mj, qpos, case.data.qvel, 1.0)
    q = qdot.retract(case.model, case.q, case.v)
    moved = []
    for body_name, kind in MECHANISMS[name][3]:
        qi = q[case.model.body(body_name).qs]
        if kind == "free":
            qi = [*qpos[:3], *qi[:4]]
        elif kind is not None:
            qi = qi[list(kind)]
        moved.extend(qi)
    assert_close(moved, qpos)
