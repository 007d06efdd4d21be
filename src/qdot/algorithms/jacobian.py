"""Jacobians: how velocities of frames, points, links and the centre of mass depend on the joint velocities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum

from qdot.algebra import Scalar, Scalars, Vec3, asin, atan2, derivative, is_number, maximum, minimum
from qdot.algebra.lie import log_so3
from qdot.algebra.linalg import Matrix
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.algorithms.kinematics import (
    Coordinates,
    frame_pose,
    kinematics,
    point_of,
    way_to_root,
    world_poses,
    written_from_world,
)
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.spatial import Motion, Transform


def jacobian(model: Model, q: Scalars, frame: str, *, coordinates: Coordinates = Coordinates.ALIGNED) -> Matrix:
    """The geometric Jacobian J, 6 × nv, of a frame: its velocity (ω, v) is J v (H13).

    Column k is the motion that freedom k alone makes, carried to the frame; zero for joints that do not move it.
    """
    F = model.frame(frame)
    X = world_poses(model, q)
    X_WF = X[F.body] @ F.placement
    columns: list[Motion] = [Motion.zero()] * model.nv
    for k, s in motions_of(model, q, frame, X):
        columns[k] = written_from_world(coordinates, X_WF, s)
    return rows_of(columns, 6)


def motions_of(model: Model, q: Scalars, frame: str, X: Sequence[Transform]) -> Iterator[tuple[int, Motion]]:
    """The freedoms that move a frame, and the motion that each alone makes, in the world's coordinates; X are the poses
    of all bodies."""
    for body in way_to_root(model, model.frame(frame).body):
        for k, s in enumerate(body.joint.subspace(q[body.qs]), start=body.dofs.start):
            yield k, X[body.index] @ s


def bias_acceleration(
    model: Model, q: Scalars, v: Scalars, frame: str, *, coordinates: Coordinates = Coordinates.ALIGNED
) -> list[Scalar]:
    """J̇ v, (6,): the acceleration of a frame when the joints do not accelerate; in general it is J a + J̇ v."""
    return list(kinematics(model, q, v).acceleration(frame, coordinates))


def point_jacobian(model: Model, q: Scalars, frame: str, point: Vec3 | tuple[float, float, float]) -> Matrix:
    """∂p/∂q, 3 × nv: the velocity in the world of a point, given in a frame's coordinates, is this times v."""
    J = columns_of(jacobian(model, q, frame))
    r = frame_pose(model, q, frame).rotation @ point_of(point)
    return rows_of([s.at(r).lin for s in J], 3)


def link_jacobians(model: Model, q: Scalars) -> list[tuple[Matrix, Matrix]]:
    """(J_v, J_ω), each 3 × nv, of every body: velocity of its centre of mass, angular velocity; world axes (K6, H13).

    A body without mass has no centre of mass; its origin stands in.
    """
    X = world_poses(model, q)
    columns: list[list[Motion]] = [[Motion.zero()] * model.nv]
    pairs = []
    for body in model.bodies:
        own = list(columns[body.parent])
        S = body.joint.subspace(q[body.qs])
        own[body.dofs] = [X[body.index] @ s for s in S]
        columns.append(own)
        massless = is_number(body.inertia.mass) and body.inertia.mass == 0
        c = X[body.index] @ (Vec3.zero() if massless else body.inertia.com)
        pairs.append((rows_of([s.at(c).lin for s in own], 3), rows_of([s.ang for s in own], 3)))
    return pairs


class Orientation(Enum):
    """Coordinates of a rotation, for analytic Jacobians."""

    RPY = "roll, pitch, yaw about fixed axes: R = Rz Ry Rx"
    QUATERNION = "unit quaternion (w, x, y, z)"
    ROTATION_VECTOR = "axis times angle"


def analytic_jacobian(model: Model, q: Scalars, frame: str, *, orientation: Orientation = Orientation.RPY) -> Matrix:
    """∂f/∂q of the forward kinematics f(q) = (orientation coordinates, position), (3 + 3 or 4 + 3) × nv (H12).

    Differentiated directly, by dual numbers along each freedom; it does not come from the geometric Jacobian.
    """
    if not isinstance(orientation, Orientation):
        raise ValueShapeError(
            f"orientation is one of qdot.Orientation: {[o.name for o in Orientation]}, got {orientation!r}"
        )
    coordinates_of = _COORDINATES_OF[orientation]

    def f(dv: Scalars) -> list[Scalar]:
        X = frame_pose(model, retract(model, q, dv), frame)
        return [*coordinates_of(X), *X.position]

    columns = [derivative(f, unit_velocity(model, k)) for k in range(model.nv)]
    return rows_of(columns, 7 if orientation is Orientation.QUATERNION else 6)


def rpy_of(X: Transform) -> list[Scalar]:
    """(roll, pitch, yaw) of a pose; pitch within ±π/2, singular at its ends."""
    R = X.rotation
    sine = minimum(maximum(-R.r2.x, -1.0), 1.0)  # rounding may leave it a hair beyond 1
    return [atan2(R.r2.y, R.r2.z), asin(sine), atan2(R.r1.x, R.r0.x)]


_COORDINATES_OF: dict[Orientation, Callable[[Transform], list[Scalar]]] = {
    Orientation.RPY: rpy_of,
    Orientation.QUATERNION: lambda X: list(X.quaternion()),
    Orientation.ROTATION_VECTOR: lambda X: list(log_so3(X.quaternion())),
}


def rows_of(columns: Sequence[Iterable[Scalar]], count: int) -> Matrix:
    """A matrix by its rows, so many of them, from its columns, of which there may be none."""
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(count)]


def columns_of(J: Matrix) -> list[Motion]:
    """The columns of a 6 × n matrix, as motions."""
    return [Motion.of(column) for column in zip(*J, strict=True)]
