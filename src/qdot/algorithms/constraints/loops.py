"""Joints that close loops: what they hold, asked as a tree's joint is asked.

Of the frames that a loop's joint holds, P and S, the constraint is Tᵀ (V_S - V_P) = 0 for velocities and
Tᵀ (A_S - A_P - Ṡ α - V_S × S α) = 0 for accelerations, in the coordinates of S.
"""

from __future__ import annotations

from functools import lru_cache

from qdot.algebra import Scalar, Scalars, is_number
from qdot.algebra.lie import log_se3
from qdot.algebra.sparse import Row
from qdot.algorithms.constraints.rows import Rows
from qdot.algorithms.jacobian import motions_of
from qdot.algorithms.kinematics import Coordinates, Kinematics, kinematics
from qdot.algorithms.maximal import unit_drives
from qdot.description import LoopRecord
from qdot.joints import Joint
from qdot.model.model import Model
from qdot.spatial import Motion, Transform


def loop_rows(model: Model, q: Scalars, motion: Kinematics, loop: LoopRecord, positions: bool = True) -> Rows:
    """In the coordinates of the successor, S: what the predecessor, P, does is carried there; φ where it is wanted."""
    ends = loop.predecessor, loop.successor
    X_P, X_S = (motion.pose(end) for end in ends)
    X = X_P.inv() @ X_S
    anywhere = has_constant_subspace(loop.joint) and not positions
    at = loop.joint.neutral() if anywhere else nearest_coordinates(loop.joint, X)
    T = loop.joint.complement(at)
    V_P, V_S = (motion.velocity(end, Coordinates.BODY) for end in ends)
    A_P, A_S = (motion.acceleration(end, Coordinates.BODY) for end in ends)
    VJ = V_S - X.inv() @ V_P
    rates = unit_drives(loop.joint.subspace(at)).T @ VJ
    bias = A_S - X.inv() @ A_P - loop.joint.bias(at, rates) - V_S.cross(VJ)
    columns: dict[int, Motion] = {k: -(X_S.inv() @ s) for k, s in motions_of(model, q, loop.predecessor, motion.poses)}
    for k, s in motions_of(model, q, loop.successor, motion.poses):
        there = X_S.inv() @ s
        columns[k] = columns[k] + there if k in columns else there
    J: list[Row] = [{} for _ in T]
    for k, column in sorted(columns.items()):
        for row, x in zip(J, T.T @ column, strict=True):
            row[k] = x
    phi = T.T @ small_gap(loop.joint, at, X) if positions else [0] * len(T)
    return Rows(J, T.T @ bias, phi, T.T @ VJ)


def loop_residuals(model: Model, q: Scalars) -> dict[str, list[Scalar]]:
    """How far each loop is from closed, by name: 6 less the freedoms of its joint, zero where it is closed.

    It is measured from where the joint comes nearest, so a millimetre reads as one however far the joint has turned.
    """
    motion = kinematics(model, q)
    found = {}
    for loop in model.loops:
        X = motion.pose(loop.predecessor).inv() @ motion.pose(loop.successor)
        at = nearest_coordinates(loop.joint, X)
        found[loop.name] = loop.joint.complement(at).T @ gap(loop.joint, at, X)
    return found


def small_gap(joint: Joint, q: Scalars, X: Transform) -> Motion:
    """The same up to third order, without a logarithm: the sine of the angle for the angle."""
    missed = joint.transform(q).inv() @ X
    return Motion(missed.rotation.twist() / 2, missed.position)


def gap(joint: Joint, q: Scalars, X: Transform) -> Motion:
    """The twist that leads from where the joint says to X in one second, in the body's coordinates."""
    missed = joint.transform(q).inv() @ X
    return Motion(*log_se3(missed.quaternion(), missed.position))


SETTLED = 12
"""Steps of Newton's method: from the neutral configuration it needs four to six."""


def nearest_coordinates(joint: Joint, X: Transform) -> list[Scalar]:
    """The q of a joint at which it comes nearest to a pose: by the joint's formula, or by Newton's method."""
    known = joint.coordinates_at(X)
    if known is not None:
        return known
    q: list[Scalar] = list(joint.neutral())
    for _ in range(SETTLED):
        q = joint.retract(q, unit_drives(joint.subspace(q)).T @ gap(joint, q, X))
    return q


@lru_cache(maxsize=256)
def has_constant_subspace(joint: Joint) -> bool:
    """Whether S does not depend on q, in the body's coordinates."""
    here = joint.neutral()
    there = joint.retract(here, [0.3 + 0.1 * k for k in range(joint.nv)])
    pairs = zip(joint.subspace(here), joint.subspace(there), strict=True)
    return all(_same(x, y) for s, t in pairs for x, y in zip(s, t, strict=True))


def _same(x: Scalar, y: Scalar) -> bool:
    return bool(abs(x - y) < 1e-12 if is_number(x - y) else x == y)
