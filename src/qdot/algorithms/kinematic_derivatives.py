"""Derivatives of the velocity and acceleration of a frame along the freedoms.

Only the joints between the root and the frame move it, each as `motion_partials` says. Carpentier, Mansard, RSS 2018,
section III; here in all three coordinates, for joints of any freedom.
"""

from __future__ import annotations

from collections.abc import Iterator

from qdot.algebra import Scalars, Vec3
from qdot.algebra.linalg import Matrix
from qdot.algorithms.jacobian import rows_of
from qdot.algorithms.kinematics import Coordinates, written_in
from qdot.algorithms.motion_partials import MotionPartials, motion_partials
from qdot.model.model import Body, Model
from qdot.spatial import Motion, Transform


def frame_velocity_derivatives(
    model: Model, q: Scalars, v: Scalars, frame: str, coordinates: Coordinates = Coordinates.ALIGNED
) -> tuple[Matrix, Matrix]:
    """(∂V/∂q, ∂V/∂v), each 6 × nv, of `Kinematics.velocity`; the latter is the Jacobian."""
    path = _Path(model, q, v, [0] * model.nv, frame, coordinates)
    by_q, by_v = [Motion.zero()] * model.nv, [Motion.zero()] * model.nv
    for k, s, psi1, _, _ in path.columns():
        by_q[k] = psi1 + path.turned(s, path.V)
        by_v[k] = s
    return rows_of(by_q, 6), rows_of(by_v, 6)


def frame_acceleration_derivatives(
    model: Model, q: Scalars, v: Scalars, a: Scalars, frame: str, coordinates: Coordinates = Coordinates.ALIGNED
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂A/∂q, ∂A/∂v, ∂A/∂a), each 6 × nv, of `Kinematics.acceleration`; the last is the Jacobian."""
    path = _Path(model, q, v, a, frame, coordinates)
    V, A = path.V, path.A
    if coordinates is Coordinates.ALIGNED:
        A = Motion(A.ang, A.lin + V.ang.cross(V.lin))
    by_q, by_v, by_a = ([Motion.zero()] * model.nv for _ in range(3))
    for k, s, psi1, psi2, c in path.columns():
        by_q[k] = psi2 - V.cross(psi1) + path.of_origin(psi1) + path.turned(s, A)
        by_v[k] = c - V.cross(s) + path.of_origin(s)
        by_a[k] = s
    return rows_of(by_q, 6), rows_of(by_v, 6), rows_of(by_a, 6)


class _Path:
    """The joints between the root and a frame, with their motions written in the coordinates asked for."""

    def __init__(self, model: Model, q: Scalars, v: Scalars, a: Scalars, frame: str, coordinates: Coordinates) -> None:
        end = model.frame(frame)
        self.coordinates = coordinates
        self.bodies = _path_to(model, end.body)
        self.motions: list[MotionPartials] = []
        poses: list[Transform] = []
        V, A, pose = Motion.zero(), Motion.zero(), Transform.identity()
        for body in self.bodies:
            X = body.placement @ body.joint.transform(q[body.qs])
            m = motion_partials(body.joint, X.inv() @ V, X.inv() @ A, q[body.qs], v[body.dofs], a[body.dofs])
            V, A, pose = m.V, m.A, pose @ X if poses else X
            self.motions.append(m)
            poses.append(pose)
        X_WF, X_FB = pose @ end.placement, end.placement.inv()
        self.into = [_carrier(coordinates, X_WF, X) for X in poses]
        self.V, self.A = (written_in(coordinates, X_WF, X_FB @ x) for x in (V, A))

    def columns(self) -> Iterator[tuple[int, Motion, Motion, Motion, Motion]]:
        """(freedom, s, Ψ̇, Ψ̈, c) of each freedom that moves the frame."""
        for body, X, m in zip(self.bodies, self.into, self.motions, strict=True):
            for k, (s, psi1, psi2, c) in enumerate(zip(m.S, m.psi1, m.psi2, m.c, strict=True), start=body.dofs.start):
                yield k, X @ s, X @ psi1, X @ psi2, X @ c

    def turned(self, s: Motion, motion: Motion) -> Motion:
        """How the components of a motion that moves along with s vary: not at all if the axes and the origin do too."""
        if self.coordinates is Coordinates.BODY:
            return Motion.zero()
        if self.coordinates is Coordinates.WORLD:
            return s.cross(motion)
        return Motion(s.ang.cross(motion.ang), s.ang.cross(motion.lin))

    def of_origin(self, dV: Motion) -> Motion:
        """∂(ω × u), where the acceleration is the one of the frame's origin."""
        if self.coordinates is not Coordinates.ALIGNED:
            return Motion.zero()
        return Motion(Vec3.zero(), dV.ang.cross(self.V.lin) + self.V.ang.cross(dV.lin))


def _path_to(model: Model, i: int) -> list[Body]:
    """The bodies from the root to body i."""
    path: list[Body] = []
    while i:
        path.append(model.bodies[i - 1])
        i = model.parents[i]
    return path[::-1]


def _carrier(coordinates: Coordinates, X_WF: Transform, X_WB: Transform) -> Transform:
    """What takes motions from a body's coordinates to those of a frame."""
    if coordinates is Coordinates.BODY:
        return X_WF.inv() @ X_WB
    if coordinates is Coordinates.WORLD:
        return X_WB
    return Transform(X_WB.rotation, X_WB.position - X_WF.position)
