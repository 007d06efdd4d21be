"""One mechanism in qdot and in Pinocchio, and Pinocchio's answers written in qdot's conventions.

`from_pinocchio` makes a qdot model of a Pinocchio one, `to_pinocchio` the reverse; both give an `Oracle`, whose methods
take q, v, a of qdot and return what qdot should. The conventions differ in these places:

- Pinocchio writes spatial vectors linear part first, quaternions (x, y, z, w), the free joint's q position first;
- its unbounded revolute joint has q = (cos θ, sin θ);
- its planar joint has q = (x, y, cos θ, sin θ) and v along the axes of the body, where qdot has v = q̇;
- bodies held by no joint have no number of their own: they are part of the body that carries them.

Velocities are therefore related by v_pin = T(q) v; forces by τ = Tᵀ τ_pin, accelerations by a_pin = T a + Ṫ v. T is a
permutation but for Pinocchio's planar joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import atan2, cos, sin

import numpy as np
import pinocchio as pin

from qdot import Coordinates, Model, assemble
from qdot.algebra import Mat3, Sym3, Vec3, as_array
from qdot.description import WORLD, BodyRecord, Description, FrameRecord, Passive
from qdot.joints import (
    Compound,
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from qdot.model.model import Body
from qdot.spatial import Inertia, Transform

REFERENCES = {
    Coordinates.BODY: pin.LOCAL,
    Coordinates.WORLD: pin.WORLD,
    Coordinates.ALIGNED: pin.LOCAL_WORLD_ALIGNED,
}

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
"""Exchanges the halves of a spatial vector."""

SIZES = {"plain": (1, 1, 1), "circle": (1, 2, 1), "ball": (4, 4, 3), "free": (7, 7, 6), "planar": (3, 4, 3)}
"""Numbers in q of qdot, in q of Pinocchio, and in v, of each kind of segment."""


@dataclass(frozen=True)
class Segment:
    """Entries of q and v that belong together, by their first places on both sides."""

    kind: str
    q: int
    v: int
    pin_q: int
    pin_v: int

    @property
    def places(self) -> tuple[slice, slice, slice, slice]:
        """Those of q and v in qdot, of q and v in Pinocchio."""
        nq, pin_nq, nv = SIZES[self.kind]
        return (
            slice(self.q, self.q + nq),
            slice(self.v, self.v + nv),
            slice(self.pin_q, self.pin_q + pin_nq),
            slice(self.pin_v, self.pin_v + nv),
        )


def _to_pin(kind: str, q: np.ndarray) -> list[float]:
    match kind:
        case "circle":
            return [cos(q[0]), sin(q[0])]
        case "ball":
            return [*q[1:], q[0]]
        case "free":
            return [*q[4:], *q[1:4], q[0]]
        case "planar":
            return [q[1], q[2], cos(q[0]), sin(q[0])]
    return list(q)


def _from_pin(kind: str, q: np.ndarray) -> list[float]:
    match kind:
        case "circle":
            return [atan2(q[1], q[0])]
        case "ball":
            return [q[3], *q[:3]]
        case "free":
            return [q[6], *q[3:6], *q[:3]]
        case "planar":
            return [atan2(q[3], q[2]), q[0], q[1]]
    return list(q)


@dataclass(frozen=True)
class Oracle:
    """Pinocchio's model, how its vectors correspond to qdot's, and its answers in qdot's conventions."""

    model: pin.Model
    data: pin.Data
    nq: int
    segments: tuple[Segment, ...]
    frames: Mapping[str, int]
    """Pinocchio's frame for each frame and body of qdot."""
    carriers: tuple[tuple[int, pin.SE3], ...]
    """For each body of qdot the joint of Pinocchio that carries it, and its pose in that joint's frame."""
    ground: pin.Inertia | None = None
    """Bodies fixed to the world: qdot counts their mass and weight, Pinocchio does not."""

    # ── vectors ──────────────────────────────────────────────────────────────────────────────────

    def q(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's configuration."""
        out = np.full(self.model.nq, np.nan)
        for segment in self.segments:
            place, _, pin_place, _ = segment.places
            out[pin_place] = _to_pin(segment.kind, q[place])
        return out

    def q_of(self, pin_q: np.ndarray) -> np.ndarray:
        """qdot's configuration from Pinocchio's."""
        out = np.full(self.nq, np.nan)
        for segment in self.segments:
            place, _, pin_place, _ = segment.places
            out[place] = _from_pin(segment.kind, pin_q[pin_place])
        return out

    def T(self, q: np.ndarray) -> np.ndarray:
        """v_pin = T(q) v."""
        T = np.zeros((self.model.nv, self.model.nv))
        for segment in self.segments:
            place, v, _, pin_v = segment.places
            block = np.eye(SIZES[segment.kind][2])
            if segment.kind == "free":
                block = block[ANGULAR_FIRST]
            elif segment.kind == "planar":
                c, s = cos(q[place][0]), sin(q[place][0])
                block = np.array([[0, c, s], [0, -s, c], [1, 0, 0]])
            T[pin_v, v] = block
        return T

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṫ v."""
        out = np.zeros(self.model.nv)
        for segment in self.segments:
            place, v_place, _, pin_v = segment.places
            if segment.kind == "planar":
                c, s = cos(q[place][0]), sin(q[place][0])
                turn, x, y = v[v_place]
                out[pin_v] = [turn * (-s * x + c * y), turn * (-c * x - s * y), 0]
        return out

    @property
    def is_permutation(self) -> bool:
        return all(segment.kind != "planar" for segment in self.segments)

    def _state(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        T = self.T(q)
        return self.q(q), T @ v, T @ a + self.drift(q, v)

    def _full(self, matrix: np.ndarray) -> np.ndarray:
        """A matrix with a column for each freedom, as one: Pinocchio gives a vector where there is one column only."""
        nv = self.model.nv
        return matrix.reshape(-1, nv) if nv else matrix.reshape(len(matrix), 0)

    # ── dynamics ─────────────────────────────────────────────────────────────────────────────────

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        upper = np.triu(self._full(pin.crba(self.model, self.data, self.q(q))))  # the rest need not be filled
        T = self.T(q)
        return T.T @ (upper + np.triu(upper, 1).T) @ T

    def bias_forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self.is_permutation:
            return self.T(q).T @ pin.nonLinearEffects(self.model, self.data, self.q(q), self.T(q) @ v)
        return self.inverse_dynamics(q, v, np.zeros(len(v)))

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, np.ndarray] | None = None
    ) -> np.ndarray:
        state = self._state(q, v, a)
        return self.T(q).T @ pin.rnea(self.model, self.data, *state, self._forces(q, wrenches or {}))

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Mapping[str, np.ndarray] | None = None
    ) -> np.ndarray:
        T = self.T(q)
        forces = self._forces(q, wrenches or {})
        pin_tau = np.linalg.solve(T.T, tau)
        a = pin.aba(self.model, self.data, self.q(q), T @ v, pin_tau, forces)
        return np.linalg.solve(T, a - self.drift(q, v))

    def _forces(self, q: np.ndarray, wrenches: Mapping[str, np.ndarray]) -> pin.StdVec_Force:
        """External forces in the coordinates of each joint, from wrenches in world axes at the origins of frames."""
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        total = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, wrench in wrenches.items():
            frame = self.model.frames[self.frames[name]]
            aligned = pin.SE3(np.eye(3), self.data.oMf[self.frames[name]].translation)
            force = aligned.act(pin.Force(wrench[3:], wrench[:3]))
            total[frame.parentJoint] += self.data.oMi[frame.parentJoint].actInv(force)
        forces = pin.StdVec_Force()
        forces.extend(total)
        return forces

    def gravity_forces(self, q: np.ndarray) -> np.ndarray:
        return self.T(q).T @ pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Pinocchio's C, where T is constant."""
        T = self.T(q)
        return T.T @ self._full(pin.computeCoriolisMatrix(self.model, self.data, self.q(q), T @ v)) @ T

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        Y = pin.computeJointTorqueRegressor(self.model, self.data, *self._state(q, v, a))
        Y = self.T(q).T @ Y.reshape(self.model.nv, 10 * (self.model.njoints - 1))
        columns = [
            Y[:, 10 * (i - 1) : 10 * i] @ moved_parameters(X) if i else np.zeros((self.model.nv, 10))
            for i, X in self.carriers
        ]
        return np.hstack(columns)

    # ── kinematics ───────────────────────────────────────────────────────────────────────────────

    def frame_pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self.frames[frame]].homogeneous.copy()

    def jacobian(self, q: np.ndarray, frame: str, coordinates: Coordinates) -> np.ndarray:
        if self.model.frames[self.frames[frame]].parentJoint == 0:  # Pinocchio reads beyond its arrays here
            return np.zeros((6, self.model.nv))
        pin.computeJointJacobians(self.model, self.data, self.q(q))
        pin.updateFramePlacements(self.model, self.data)
        J = pin.getFrameJacobian(self.model, self.data, self.frames[frame], REFERENCES[coordinates])
        return self._full(J)[ANGULAR_FIRST] @ self.T(q)

    def velocity(self, q: np.ndarray, v: np.ndarray, frame: str, coordinates: Coordinates) -> np.ndarray:
        pin.forwardKinematics(self.model, self.data, self.q(q), self.T(q) @ v)
        V = pin.getFrameVelocity(self.model, self.data, self.frames[frame], REFERENCES[coordinates])
        return V.vector[ANGULAR_FIRST]

    def acceleration(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, frame: str, coordinates: Coordinates
    ) -> np.ndarray:
        """The spatial acceleration in BODY and WORLD, the one of the frame's origin in ALIGNED."""
        pin.forwardKinematics(self.model, self.data, *self._state(q, v, a))
        classical = coordinates is Coordinates.ALIGNED
        acceleration = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration
        return acceleration(self.model, self.data, self.frames[frame], REFERENCES[coordinates]).vector[ANGULAR_FIRST]

    # ── the whole mechanism ──────────────────────────────────────────────────────────────────────

    @property
    def moving_mass(self) -> float:
        return sum(inertia.mass for inertia in list(self.model.inertias)[1:])

    @property
    def total_mass(self) -> float:
        return self.moving_mass + (self.ground.mass if self.ground else 0.0)

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        if not self.moving_mass:
            return self.ground.lever.copy()
        c = self.moving_mass * pin.centerOfMass(self.model, self.data, self.q(q))
        return (c + (self.ground.mass * self.ground.lever if self.ground else 0.0)) / self.total_mass

    def com_jacobian(self, q: np.ndarray) -> np.ndarray:
        J = pin.jacobianCenterOfMass(self.model, self.data, self.q(q))
        return self._full(J) @ self.T(q) * (self.moving_mass / self.total_mass)

    def centroidal_momentum_matrix(self, q: np.ndarray) -> np.ndarray:
        A = self._full(pin.ccrba(self.model, self.data, self.q(q), np.zeros(self.model.nv))) @ self.T(q)
        offset = self.data.com[0] - self.center_of_mass(q)  # what stands still shifts the centre of mass
        A[3:] += np.cross(offset, A[:3], axisb=0, axisc=0)
        return A[ANGULAR_FIRST]

    def centroidal_momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        pin.ccrba(self.model, self.data, self.q(q), self.T(q) @ v)
        h = self.data.hg.vector.copy()
        h[3:] += np.cross(self.data.com[0] - self.center_of_mass(q), h[:3])
        return h[ANGULAR_FIRST]

    def kinetic_energy(self, q: np.ndarray, v: np.ndarray) -> float:
        """Of the bodies, and ½ Σ armature v²: Pinocchio 4.1 leaves this out at its unaligned revolute joints."""
        armature = self.model.armature.copy()
        self.model.armature = np.zeros_like(armature)
        pin_v = self.T(q) @ v
        bodies = pin.computeKineticEnergy(self.model, self.data, self.q(q), pin_v)
        self.model.armature = armature
        return bodies + armature @ pin_v**2 / 2

    def potential_energy(self, q: np.ndarray) -> float:
        energy = pin.computePotentialEnergy(self.model, self.data, self.q(q))
        return energy - (self.ground.mass * self.model.gravity.linear @ self.ground.lever if self.ground else 0.0)

    # ── the configuration manifold ───────────────────────────────────────────────────────────────

    def retract(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """As a configuration of Pinocchio: some of it determines qdot's up to full turns only."""
        return pin.integrate(self.model, self.q(q), self.T(q) @ dv)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return self.T(q0).T @ pin.difference(self.model, self.q(q0), self.q(q1))


def moved_parameters(X: pin.SE3) -> np.ndarray:
    """The 10 × 10 matrix that takes the inertial parameters about the origin of B to those about A, for X = X_AB.

    By the pseudo-inertia P = ∫ [r; 1][r; 1]ᵀ dm, which moves as X P Xᵀ and holds all ten numbers linearly.
    """
    H = X.homogeneous
    return np.column_stack([_parameters(H @ _pseudo_inertia(unit) @ H.T) for unit in np.eye(10)])


def _pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = parameters
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    P = np.zeros((4, 4))
    P[:3, :3] = np.trace(I) / 2 * np.eye(3) - I
    P[:3, 3] = P[3, :3] = hx, hy, hz
    P[3, 3] = m
    return P


def _parameters(P: np.ndarray) -> np.ndarray:
    I = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


# ── Pinocchio to qdot ────────────────────────────────────────────────────────────────────────────


def from_pinocchio(source: pin.Model) -> tuple[Model, Oracle]:
    """The qdot model of a Pinocchio model: a body for each joint, a frame for each frame."""
    bodies, frames, segments, taken = [], [], [], {}
    q = v = 0
    for i in range(1, source.njoints):
        joint, kinds = _joint_of(source.joints[i])
        name = source.names[i]
        pin_q, pin_v = source.joints[i].idx_q, source.joints[i].idx_v
        start = v
        for kind in kinds:
            segments.append(Segment(kind, q, v, pin_q, pin_v))
            nq, pin_nq, nv = SIZES[kind]
            q, v, pin_q, pin_v = q + nq, v + nv, pin_q + pin_nq, pin_v + nv
        parent = source.names[source.parents[i]] if source.parents[i] else WORLD
        armature = _permuted_armature(source, segments, start, v)
        inertia = _inertia_of(source.inertias[i])
        placement = _transform_of(source.jointPlacements[i])
        bodies.append(BodyRecord(name, parent, joint, name, placement, inertia, Passive(armature=armature)))
        taken[name] = source.getFrameId(name, pin.FrameType.JOINT)
    for index, frame in enumerate(source.frames):
        if frame.type == pin.FrameType.JOINT or index == 0:  # the bodies themselves, and the world
            continue
        name = frame.name if frame.name not in taken else f"{frame.name}/{frame.type}"
        carrier = source.names[frame.parentJoint] if frame.parentJoint else WORLD
        frames.append(FrameRecord(name, carrier, _transform_of(frame.placement)))
        taken[name] = index
    gravity = Vec3(*map(float, source.gravity.linear))
    # Pinocchio's random inertias need not be those of bodies.
    model = assemble(Description(source.name, gravity, tuple(bodies), tuple(frames), allow_unphysical=True))
    carriers = tuple((source.getJointId(body.name), pin.SE3.Identity()) for body in model.bodies)
    return model, Oracle(source, source.createData(), q, tuple(segments), {**taken, WORLD: 0}, carriers)


def _permuted_armature(source: pin.Model, segments: list[Segment], start: int, stop: int) -> tuple[float, ...]:
    row = np.zeros(stop - start)
    for segment in segments:
        if segment.v < start:
            continue
        _, v, _, pin_v = segment.places
        values = source.armature[pin_v]
        if segment.kind == "planar" and values.any():
            raise ValueError("the armature of a planar joint acts along the body's axes there, along the world's here")
        row[v.start - start : v.stop - start] = values[ANGULAR_FIRST] if segment.kind == "free" else values
    return tuple(map(float, row))


def _joint_of(model: pin.JointModel) -> tuple[Joint, list[str]]:
    """qdot's joint, and the kinds of segments its q and v are made of."""
    x, y, z = "xyz"
    name = model.shortname()
    match name:
        case "JointModelFreeFlyer":
            return Free(), ["free"]
        case "JointModelSpherical":
            return Spherical(), ["ball"]
        case "JointModelPlanar":
            return Planar(z, x), ["planar"]
        case "JointModelSphericalZYX":
            return Compound(Revolute(z), Revolute(y), Revolute(x)), ["plain"] * 3
        case "JointModelTranslation":
            return Compound(Prismatic(x), Prismatic(y), Prismatic(z)), ["plain"] * 3
        case "JointModelUniversal":
            joint = _extracted(model)
            return Universal(joint.axis1.tolist(), joint.axis2.tolist()), ["plain"] * 2
        case "JointModelComposite":
            parts, kinds = [], []
            joint = _extracted(model)
            for part, placement in zip(joint.joints, joint.jointPlacements, strict=True):
                inner, inner_kinds = _joint_of(part)
                parts += [Fixed(_transform_of(placement)), inner]
                kinds += inner_kinds
            return Compound(*parts), kinds
    if model.nv != 1 or "Mimic" in name:
        raise ValueError(f"no joint of qdot is known for {name}")
    linear, angular = _screw(model)
    if "RUB" in name or "Unbounded" in name:
        return Continuous(angular.tolist()), ["circle"]
    if not angular.any():
        return Prismatic(linear.tolist()), ["plain"]
    if linear.any():
        return Helical(angular.tolist(), float(linear @ angular)), ["plain"]
    return Revolute(angular.tolist()), ["plain"]


def _extracted(model: pin.JointModel) -> pin.JointModel:
    """The joint of its own class, where it is given as a variant."""
    return model.extract() if hasattr(model, "extract") else model


def _screw(model: pin.JointModel) -> tuple[np.ndarray, np.ndarray]:
    """(linear, angular) part of the motion of a joint of one freedom, the same at every q."""
    alone = pin.Model()
    alone.addJoint(0, model, pin.SE3.Identity(), "joint")
    data = alone.createData()
    pin.computeJointJacobians(alone, data, pin.neutral(alone))
    S = pin.getJointJacobian(alone, data, 1, pin.LOCAL).ravel()
    return S[:3], S[3:]


def _transform_of(X: pin.SE3) -> Transform:
    return Transform(Mat3.of(X.rotation.tolist()), Vec3.of(X.translation.tolist()))


def _inertia_of(inertia: pin.Inertia) -> Inertia:
    I = inertia.inertia
    at_com = Sym3(*(float(I[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))
    return Inertia.about_com(float(inertia.mass), inertia.lever.tolist(), at_com)


# ── qdot to Pinocchio ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Step:
    """A joint of Pinocchio, and for each of its segments the kind and the places in q and v of the joint in qdot."""

    joint: pin.JointModel
    segments: tuple[tuple[str, int, int], ...]


def to_pinocchio(model: Model) -> tuple[pin.Model, Oracle]:
    """The Pinocchio model of a qdot model. Damping, friction and springs of its joints are left out."""
    target = pin.Model()
    target.name = model.name
    target.gravity = pin.Motion(np.array(list(model.gravity), dtype=float), np.zeros(3))
    segments: list[Segment] = []
    carriers: dict[int, tuple[int, pin.SE3]] = {0: (0, pin.SE3.Identity())}
    ground: pin.Inertia | None = None
    for body in _depth_first(model):
        carrier, offset = carriers[body.parent]
        offset = offset * _se3(body.placement)
        steps = list(_steps(body.joint))
        if any(isinstance(step, Step) for step in steps):
            carrier, offset = _add_joint(target, carrier, offset, steps, body.joint_name)
            pin_q, pin_v = target.joints[carrier].idx_q, target.joints[carrier].idx_v
            for step in steps:
                for kind, q, v in step.segments if isinstance(step, Step) else ():
                    segments.append(Segment(kind, body.qs.start + q, body.dofs.start + v, pin_q, pin_v))
                    pin_q, pin_v = pin_q + SIZES[kind][1], pin_v + SIZES[kind][2]
        else:
            for X in steps:
                offset = offset * X
        carriers[body.index] = carrier, offset
        inertia = _pin_inertia(body.inertia)
        if carrier:
            target.appendBodyToJoint(carrier, inertia, offset)
        else:
            ground = offset.act(inertia) if ground is None else ground + offset.act(inertia)
    frames = {}
    for name, frame in model.frames.items():
        carrier, offset = carriers[frame.body]
        placement = offset * _se3(frame.placement)
        frames[name] = target.addFrame(pin.Frame(name, carrier, placement, pin.FrameType.OP_FRAME), False)
    bodies = tuple(carriers[body.index] for body in model.bodies)
    oracle = Oracle(target, target.createData(), model.nq, tuple(segments), frames, bodies, ground)
    # Drives: armature is about axes that both sides share, in another order.
    target.armature = oracle.T(model.neutral()) @ [x for b in model.bodies for x in b.passive.armature]
    return target, oracle


def _depth_first(model: Model) -> list[Body]:
    """The bodies branch by branch: Pinocchio's crba takes the freedoms of a subtree to be consecutive."""
    children: dict[int, list[Body]] = {}
    for body in model.bodies:
        children.setdefault(body.parent, []).append(body)
    ordered, waiting = [], children.get(0, [])[::-1]
    while waiting:
        body = waiting.pop()
        ordered.append(body)
        waiting.extend(children.get(body.index, [])[::-1])
    return ordered


def _add_joint(
    target: pin.Model, parent: int, base: pin.SE3, steps: list[Step | pin.SE3], name: str
) -> tuple[int, pin.SE3]:
    """Add the steps as one joint, a composite if they are several; the joint, and the pose of the body in its frame."""
    parts: list[tuple[pin.JointModel, pin.SE3]] = []
    pending = pin.SE3.Identity()
    for step in steps:
        if isinstance(step, Step):
            parts.append((step.joint, pending))
            pending = pin.SE3.Identity()
        else:
            pending = pending * step
    if len(parts) == 1:
        joint, placement = parts[0]
        return target.addJoint(parent, joint, base * placement, name), pending
    composite = pin.JointModelComposite()
    for joint, placement in parts:
        composite.addJoint(joint, placement)
    return target.addJoint(parent, composite, base, name), pending


def _steps(joint: Joint) -> Iterator[Step | pin.SE3]:
    """A joint as joints of Pinocchio and constant poses, one after the other from the parent to the body."""
    match joint:
        case Fixed():
            yield _se3(joint.placement)
        case Revolute():
            yield Step(pin.JointModelRevoluteUnaligned(_array(joint.axis)), (("plain", 0, 0),))
        case Continuous():  # the unbounded joint about any axis cannot be made from Python: turn z to it and back
            turned = pin.SE3(pin.Quaternion.FromTwoVectors(np.array([0, 0, 1.0]), _array(joint.axis)), np.zeros(3))
            yield turned
            yield Step(pin.JointModelRUBZ(), (("circle", 0, 0),))
            yield turned.inverse()
        case Prismatic():
            yield Step(pin.JointModelPrismaticUnaligned(_array(joint.axis)), (("plain", 0, 0),))
        case Helical():
            yield Step(pin.JointModelHelicalUnaligned(_array(joint.axis), float(joint.pitch)), (("plain", 0, 0),))
        case Cylindrical():
            yield Step(pin.JointModelRevoluteUnaligned(_array(joint.axis)), (("plain", 0, 0),))
            yield Step(pin.JointModelPrismaticUnaligned(_array(joint.axis)), (("plain", 1, 1),))
        case Universal():
            places = (("plain", 0, 0), ("plain", 1, 1))
            yield Step(pin.JointModelUniversal(_array(joint.first), _array(joint.second)), places)
        case Planar():
            yield Step(pin.JointModelPrismaticUnaligned(_array(joint.across)), (("plain", 1, 1),))
            yield Step(pin.JointModelPrismaticUnaligned(_array(joint.up)), (("plain", 2, 2),))
            yield Step(pin.JointModelRevoluteUnaligned(_array(joint.normal)), (("plain", 0, 0),))
        case Spherical():
            yield Step(pin.JointModelSpherical(), (("ball", 0, 0),))
        case Free():
            yield Step(pin.JointModelFreeFlyer(), (("free", 0, 0),))
        case Compound():
            q = v = 0
            for part in joint.parts:
                for step in _steps(part):
                    if isinstance(step, Step):
                        step = Step(step.joint, tuple((kind, q + i, v + j) for kind, i, j in step.segments))
                    yield step
                q, v = q + part.nq, v + part.nv
        case _:
            raise ValueError(f"no joint of Pinocchio is known for {joint!r}")


def _array(a: Vec3) -> np.ndarray:
    return np.array(list(a), dtype=float)


def _se3(X: Transform) -> pin.SE3:
    return pin.SE3(np.asarray(as_array(X), dtype=float))


def _pin_inertia(inertia: Inertia) -> pin.Inertia:
    if inertia.mass == 0:
        return pin.Inertia.Zero()
    return pin.Inertia(float(inertia.mass), _array(inertia.com), np.asarray(as_array(inertia.at_com), dtype=float))
