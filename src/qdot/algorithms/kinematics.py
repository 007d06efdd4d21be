"""Forward kinematics to second order: poses, velocities and accelerations of bodies, frames and points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, Vec3, scalar_problem
from qdot.errors import ValueShapeError
from qdot.model.model import Body, Model
from qdot.spatial import Motion, Transform


class Coordinates(Enum):
    """In which axes, and about which point, a frame's velocity or force is written."""

    BODY = "the frame's own axes, at its origin"
    WORLD = "the world's axes, at the world's origin"
    ALIGNED = "the world's axes, at the frame's origin"


def local_poses(model: Model, q: Scalars) -> list[Transform]:
    """X_PB of each body in its parent; entry 0, the world's, is the identity."""
    return [
        Transform.identity(),
        *(body.placement @ body.joint.transform(q[body.qs]) for body in model.bodies),
    ]


def world_poses(model: Model, q: Scalars) -> list[Transform]:
    """X_WB of each body in the world; entry 0 is the identity."""
    X = local_poses(model, q)
    for body in model.bodies:
        if body.parent:
            X[body.index] = X[body.parent] @ X[body.index]
    return X


@dataclass(frozen=True)
class PointMotion:
    """Motion of a point of a body, in world axes [m, m/s, m/s²]; its acceleration is the sum of three parts (U2)."""

    position: Vec3
    velocity: Vec3
    linear: Vec3
    """Acceleration of the origin of the frame the point was given in."""
    tangential: Vec3
    """ω̇ × r."""
    centripetal: Vec3
    """ω × (ω × r)."""

    holds_scalars: ClassVar[bool] = True

    @property
    def acceleration(self) -> Vec3:
        return self.linear + self.tangential + self.centripetal


@dataclass(frozen=True)
class Kinematics:
    """Poses, velocities and accelerations of every body, by number; and of every frame and point, by name."""

    model: Model
    poses: tuple[Transform, ...]
    """X_WB."""
    velocities: tuple[Motion, ...]
    """Spatial velocity of each body, in its own coordinates."""
    accelerations: tuple[Motion, ...]
    """Spatial acceleration of each body, in its own coordinates; gravity is not in it."""

    def pose(self, name: str) -> Transform:
        """X_WF: the pose of a frame in the world."""
        frame = self.model.frame(name)
        return self.poses[frame.body] @ frame.placement

    def velocity(self, name: str, coordinates: Coordinates = Coordinates.ALIGNED) -> Motion:
        """Velocity of a frame: angular, and linear of its origin (WORLD: of the body point at the world's origin)."""
        frame = self.model.frame(name)
        return written_in(coordinates, self.pose(name), frame.placement.inv() @ self.velocities[frame.body])

    def acceleration(self, name: str, coordinates: Coordinates = Coordinates.ALIGNED) -> Motion:
        """d/dt of the components of `velocity`: for ALIGNED, ω̇ and the acceleration of the frame's origin."""
        frame = self.model.frame(name)
        V = frame.placement.inv() @ self.velocities[frame.body]
        A = frame.placement.inv() @ self.accelerations[frame.body]
        if coordinates is Coordinates.ALIGNED:
            A = Motion(A.ang, A.lin + V.ang.cross(V.lin))
        return written_in(coordinates, self.pose(name), A)

    def point(self, name: str, r: Vec3 | tuple[float, float, float] = (0, 0, 0)) -> PointMotion:
        """Motion of the point r of a frame, in world axes."""
        X = self.pose(name)
        V, A = self.velocity(name), self.acceleration(name)
        r_W = X.rotation @ point_of(r)
        w = V.ang
        return PointMotion(
            position=X.position + r_W,
            velocity=V.lin + w.cross(r_W),
            linear=A.lin,
            tangential=A.ang.cross(r_W),
            centripetal=w.cross(w.cross(r_W)),
        )


def kinematics(model: Model, q: Scalars, v: Scalars | None = None, a: Scalars | None = None) -> Kinematics:
    """Where everything is, how it moves and how that changes; v and a are zero if not given.

    V_i = V_λ(i) + S_i v_i,  A_i = A_λ(i) + S_i a_i + Ṡ_i v_i,  in body coordinates (RBDA 2008, table 5.1).
    """
    v = [0.0] * model.nv if v is None else v
    a = [0.0] * model.nv if a is None else a
    X = local_poses(model, q)
    V, A = [Motion.zero()], [Motion.zero()]
    for body in model.bodies:
        i, p = body.index, body.parent
        qi, vi, ai = q[body.qs], v[body.dofs], a[body.dofs]
        S = body.joint.subspace(qi)
        VJ = S @ vi
        V.append(X[i].inv() @ V[p] + VJ)
        A.append(X[i].inv() @ A[p] + S @ ai + body.joint.bias(qi, vi) + V[i].cross(VJ))
    return Kinematics(model, tuple(world_poses(model, q)), tuple(V), tuple(A))


def point_of(r: Vec3 | Iterable[Scalar]) -> Vec3:
    """A point that people pass, checked."""
    point = Vec3.of(r)
    for x in point:
        problem = scalar_problem(x)
        if problem is not None:
            raise ValueShapeError(f"a point is three numbers (x, y, z), got {r!r}: {problem}")
    return point


def frame_pose(model: Model, q: Scalars, frame: str) -> Transform:
    """X_WF: the pose of a frame in the world, along the path from the root only."""
    F = model.frame(frame)
    return _carried_to_root(model, q, F.placement, F.body)


def body_pose(model: Model, q: Scalars, i: int) -> Transform:
    """X_WB: the pose of body i in the world, along the path from the root only."""
    return _carried_to_root(model, q, Transform.identity(), i)


def _carried_to_root(model: Model, q: Scalars, X: Transform, i: int) -> Transform:
    for body in way_to_root(model, i):
        X = body.placement @ body.joint.transform(q[body.qs]) @ X
    return X


def way_to_root(model: Model, i: int) -> Iterator[Body]:
    """Body i, its parent and so on; nothing for the world."""
    while i:
        yield model.bodies[i - 1]
        i = model.parents[i]


def written_in(coordinates: Coordinates, X_WF: Transform, motion: Motion) -> Motion:
    """A motion given in a frame's own coordinates, written in others."""
    _require(coordinates)
    if coordinates is Coordinates.BODY:
        return motion
    if coordinates is Coordinates.WORLD:
        return X_WF @ motion
    return Motion(X_WF.rotation @ motion.ang, X_WF.rotation @ motion.lin)


def written_from_world(coordinates: Coordinates, X_WF: Transform, motion: Motion) -> Motion:
    """A motion given in the world's coordinates, written in those of a frame."""
    _require(coordinates)
    if coordinates is Coordinates.BODY:
        return X_WF.inv() @ motion
    return motion if coordinates is Coordinates.WORLD else motion.at(X_WF.position)


def _require(coordinates: Coordinates) -> None:
    if not isinstance(coordinates, Coordinates):
        raise ValueShapeError(f"coordinates are qdot.Coordinates.BODY, WORLD or ALIGNED, got {coordinates!r}")
