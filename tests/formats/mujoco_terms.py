"""Every term of the equations of motion of a loaded model, beside MuJoCo's at the same states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np

import qdot

STATES = 10
ROUNDING = 1e-13
"""Differences [SI] that are no more than rounding of sums of terms of order one."""


class Term(NamedTuple):
    """What both say about one thing at all states, one row a state, in MuJoCo's conventions."""

    name: str
    ours: np.ndarray
    theirs: np.ndarray

    def error(self) -> float:
        """The largest difference, relative to the largest entry of the term; rounding counts as none."""
        if self.ours.shape != self.theirs.shape:
            return np.inf
        apart = float(np.abs(self.ours - self.theirs).max(initial=0.0))
        return apart / float(np.abs(self.theirs).max(initial=0.0) or 1.0) if apart > ROUNDING else 0.0


class Peer:
    """MuJoCo's model and its answers at random states."""

    def __init__(self, model: qdot.Model, peer: mujoco.MjModel, seed: int = 0, states: int = STATES) -> None:
        random = np.random.default_rng(seed)
        self.model, self.peer = model, peer
        self.bridge = qdot.convert.mujoco(model)  # a model that was read has MuJoCo's order
        self.data = []
        for _ in range(states):
            data = mujoco.MjData(peer)
            mujoco.mj_integratePos(peer, data.qpos, random.normal(size=peer.nv) * 0.7, 1.0)
            data.qvel[:] = random.normal(size=peer.nv)
            data.ctrl[:] = random.normal(size=peer.nu) * 2.0
            data.act[:] = random.normal(size=peer.na) * 0.3
            mujoco.mj_forward(peer, data)
            mujoco.mj_energyPos(peer, data)
            mujoco.mj_energyVel(peer, data)
            self.data.append(data)
        self.qpos, self.qvel = self.rows("qpos"), self.rows("qvel")
        self.q, self.v = self.bridge.q_from(self.qpos), self.bridge.v_from(self.qpos, self.qvel)
        self.control, self.activation = self.rows("ctrl"), self.rows("act")
        self.T = self.bridge.velocity_matrix(self.q)

    def rows(self, name: str) -> np.ndarray:
        return np.array([np.array(getattr(d, name)) for d in self.data])

    def forces(self, tau: np.ndarray) -> np.ndarray:
        """Joint forces of qdot in MuJoCo's conventions."""
        return self.bridge.tau_to(self.q, tau)

    def columns(self, J: np.ndarray) -> np.ndarray:
        """Jacobians of qdot in MuJoCo's conventions: J Tᵀ."""
        return J @ np.swapaxes(self.T, -1, -2)


def rigid_body_terms(p: Peer) -> Iterator[Term]:
    """M, bias, gravity, mass, centre of mass and energies."""
    M = qdot.mass_matrix(p.model, p.q)
    yield Term("M", p.T @ M @ np.swapaxes(p.T, -1, -2), np.array([_full(p.peer, d) for d in p.data]))
    # a' = T a + Ṫ v: MuJoCo's bias is what remains at a' = 0, where a = -T⁻¹ Ṫ v.
    zero = np.zeros_like(p.qvel)
    a = p.bridge.a_from(p.qpos, p.qvel, zero)
    bias = np.einsum("bij,bj->bi", M, a) + qdot.bias_forces(p.model, p.q, p.v)
    yield Term("bias", p.forces(bias), p.rows("qfrc_bias"))
    still = []
    for d in p.data:
        at_rest = mujoco.MjData(p.peer)
        at_rest.qpos[:] = d.qpos
        mujoco.mj_forward(p.peer, at_rest)
        still.append(np.array(at_rest.qfrc_bias))
    yield Term("gravity", p.forces(qdot.gravity_forces(p.model, p.q)), np.array(still))
    yield Term("mass", np.array([float(qdot.total_mass(p.model))]), np.array([p.peer.body_mass.sum()]))
    if p.peer.body_mass.sum() > 0:
        masses = p.peer.body_mass[:, None]
        com = np.array([(d.xipos * masses).sum(axis=0) / masses.sum() for d in p.data])
        yield Term("centre of mass", qdot.center_of_mass(p.model, p.q), com)
    energies = np.stack([qdot.potential_energy(p.model, p.q), qdot.kinetic_energy(p.model, p.q, p.v)], axis=-1)
    yield Term("energies", np.broadcast_to(energies, (len(p.data), 2)), p.rows("energy"))


def force_terms(p: Peer) -> Iterator[Term]:
    """Passive forces by cause, tendons, actuators."""
    terms = qdot.passive_terms(p.model, p.q, p.v)
    for ours, theirs in (
        ("springs", "qfrc_spring"),
        ("dampers", "qfrc_damper"),
        ("compensation", "qfrc_gravcomp"),
        ("fluid", "qfrc_fluid"),
    ):
        there = p.rows(theirs)
        if ours == "compensation":  # MuJoCo gives what drives do too
            driven = [k for b in p.model.bodies if b.record.compensated_by_drive for k in range(*b.dofs.indices(99999))]
            there[:, driven] = 0.0
        yield Term(theirs, p.forces(terms[ours]), there)
    passive = qdot.passive_forces(p.model, p.q, p.v) - terms["friction"]  # a constraint there
    yield Term("qfrc_passive", p.forces(passive), p.rows("qfrc_passive"))
    yield Term("tendon lengths", qdot.tendon_lengths(p.model, p.q), p.rows("ten_length"))
    J = qdot.tendon_jacobian(p.model, p.q)
    yield Term("tendon rates", np.einsum("bij,bj->bi", J, p.v), p.rows("ten_velocity"))
    drive = p.control, p.activation
    yield Term("actuator lengths", qdot.actuator_lengths(p.model, p.q), p.rows("actuator_length"))
    moments = p.columns(qdot.actuator_moments(p.model, p.q))
    if "actuation" not in p.model.description.options.disabled:  # MuJoCo does not compute them then
        yield Term("actuator rates", np.einsum("bij,bj->bi", moments, p.qvel), p.rows("actuator_velocity"))
    yield Term("actuator forces", qdot.actuator_forces(p.model, p.q, p.v, *drive), p.rows("actuator_force"))
    yield Term("qfrc_actuator", p.forces(qdot.actuation(p.model, p.q, p.v, *drive)), p.rows("qfrc_actuator"))
    if p.peer.na:
        yield Term("activation rates", qdot.activation_rates(p.model, *drive), p.rows("act_dot"))


def constraint_terms(p: Peer) -> Iterator[Term]:
    """Residuals of equality constraints; the sign of a weld's rotation is that of MuJoCo's quaternions."""
    residuals = qdot.constraint_residuals(p.model, p.q)
    for i in range(p.peer.neq):
        name = p.model.constraints[i].name
        if name not in residuals:
            continue
        rows = []
        for d in p.data:
            of_it = (d.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & (d.efc_id == i)
            rows.append(d.efc_pos[of_it])
        theirs, ours = np.array(rows), residuals[name]
        if ours.shape == theirs.shape and ours.shape[1] == 6:
            same = (np.sign(ours[:, 3:]) == np.sign(theirs[:, 3:])).all(axis=1)
            theirs[~same, 3:] *= -1.0
        yield Term(f"residual of {name}", ours, theirs)


def limit_terms(p: Peer) -> Iterator[Term]:
    """Distances from the limits of joints that are nearer than their margin, in all states, one after the other."""
    off = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    if p.peer.opt.disableflags & off:
        return
    ours, theirs = [], []
    for q, data in zip(p.q, p.data, strict=True):
        for body in p.model.bodies:
            limits, margin = body.joint.limits, body.record.softness.margin
            values = body.joint.limited(q[body.qs].tolist())
            ball = len(values) != body.joint.nv
            for x, low, high in zip(values, limits.lower, limits.upper, strict=True):
                ours += [d for d in ((high - x,) if ball else (x - low, high - x)) if d < margin]
        of_joints = data.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT
        theirs += data.efc_pos[of_joints].tolist()
    yield Term("limits", np.array(ours), np.array(theirs))
    ours, theirs = [], []
    for lengths, data in zip(qdot.tendon_lengths(p.model, p.q), p.data, strict=True):
        for tendon, x in zip(p.model.tendons, lengths, strict=True):
            if tendon.range is not None:
                ours += [d for d in (x - tendon.range[0], tendon.range[1] - x) if d < tendon.margin]
        of_tendons = data.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON
        theirs += data.efc_pos[of_tendons].tolist()
    yield Term("limits of tendons", np.array(ours), np.array(theirs))


def frame_terms(p: Peer) -> Iterator[Term]:
    """Poses and Jacobians of all bodies and sites."""
    motion = qdot.kinematics(p.model, p.q)
    groups = (
        ("body", p.peer.nbody, "xpos", "xmat", mujoco.mj_jacBody),
        ("site", p.peer.nsite, "site_xpos", "site_xmat", mujoco.mj_jacSite),
    )
    for kind, count, position, rotation, jacobian_of in groups:
        positions, rotations = p.rows(position), p.rows(rotation)
        for i in range(1 if kind == "body" else 0, count):
            name = _frame_of(p, kind, i)
            X = motion.pose(name)
            rows = np.shape(p.q)[0]
            yield Term(f"position of {name}", _lanes(X.position, rows), positions[:, i])
            yield Term(f"rotation of {name}", _lanes(X.rotation.entries(), rows).reshape(-1, 9), rotations[:, i])
            theirs = np.array([_jacobian(p.peer, d, jacobian_of, i) for d in p.data])
            yield Term(f"jacobian of {name}", p.columns(qdot.jacobian(p.model, p.q, name)), theirs)


def _frame_of(p: Peer, kind: str, i: int) -> str:
    name = (p.peer.body(i) if kind == "body" else p.peer.site(i)).name or f"{kind}{i}"
    if kind == "site" and f"{name}_site" in p.model.frames:
        return f"{name}_site"
    return name


def _lanes(value: object, rows: int) -> np.ndarray:
    flat = list(qdot.algebra.scalars_in(value))
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), (rows,)) for x in flat], axis=-1)


def _jacobian(peer: mujoco.MjModel, data: mujoco.MjData, of, i: int) -> np.ndarray:
    J = np.zeros((6, peer.nv))
    of(peer, data, J[3:], J[:3], i)
    return J


def _full(peer: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    M = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, data, M)
    return M
