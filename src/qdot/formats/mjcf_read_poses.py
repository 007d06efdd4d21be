"""Poses and inertias of a compiled MuJoCo model, many at once: NumPy makes the matrices, qdot's types hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qdot.algebra import Mat3, Sym3, Vec3
from qdot.description.scene import DragBox
from qdot.spatial import IDENTITY, Inertia, Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDING = 1e-15
"""An entry of a rotation that is this near to 0 or ±1 is what roundings left of a right angle: it is taken for that, so
that programs need not compute with it."""

_LIGHTEST = 1e-15
"""MuJoCo's mjMINVAL: a mass [kg] or a moment below it counts for nothing."""


class Places(NamedTuple):
    """Poses of bodies, geoms and sites, each by its number."""

    bodies: list[Transform]
    geoms: list[Transform]
    sites: list[Transform]


def anchors_of(m: Any) -> NDArray[np.float64]:
    """Where B's origin is in MuJoCo's frame of each body [m], shape (bodies, 3): the anchor of its last joint."""
    anchors = np.zeros((m.nbody, 3))
    anchors[m.jnt_bodyid] = m.jnt_pos  # of several joints, the last one stays
    return anchors


def places_of(m: Any, anchors: NDArray[np.float64]) -> Places:
    """Where in B of its body each geom and site is; and in B of its parent each body with all joints at their
    reference, moved to the anchor of its first joint."""
    first = np.zeros((m.nbody, 3))
    holds = m.body_jntnum > 0
    first[holds] = m.jnt_pos[m.body_jntadr[holds]]
    shift = np.einsum("bij,bj->bi", matrices(m.body_quat), first) if first.any() else 0.0
    bodies = m.body_pos - anchors[m.body_parentid] + shift
    geoms, sites = m.geom_pos - anchors[m.geom_bodyid], m.site_pos - anchors[m.site_bodyid]
    placed = poses(np.concatenate((bodies, geoms, sites)), np.concatenate((m.body_quat, m.geom_quat, m.site_quat)))
    end = m.nbody + m.ngeom
    return Places(placed[: m.nbody], placed[m.nbody : end], placed[end:])


def rotations(quaternions: NDArray[np.float64]) -> list[Mat3]:
    """Rotation matrices of unit quaternions (w, x, y, z), shape (n, 4)."""
    R = matrices(quaternions)
    R[np.abs(R) < _ROUNDING] = 0.0
    R = np.where(np.abs(np.abs(R) - 1) < _ROUNDING, np.sign(R), R)
    turned: list[bool] = np.any(np.abs(quaternions[:, 1:]) >= _ROUNDING, axis=1).tolist()
    return [_mat3(rows) if turn else IDENTITY.rotation for turn, rows in zip(turned, R.tolist(), strict=True)]


def poses(positions: NDArray[np.float64], quaternions: NDArray[np.float64]) -> list[Transform]:
    """Transforms by positions, shape (n, 3) [m], and unit quaternions, shape (n, 4)."""
    return [_pose(R, p) for R, p in zip(rotations(quaternions), (positions + 0.0).tolist(), strict=True)]


def shifts(positions: NDArray[np.float64]) -> list[Transform]:
    """Transforms by positions alone, shape (n, 3) [m]."""
    if not positions.any():
        return [IDENTITY] * len(positions)
    return [_pose(IDENTITY.rotation, p) for p in (positions + 0.0).tolist()]


def inertias(m: Any, anchors: NDArray[np.float64]) -> list[Inertia]:
    """The inertia of each body about a point on it [m], shape (n, 3), in the axes of the body's frame.

    MuJoCo gives principal moments D about the centre of mass c with axes R: I_O = R D Rᵀ + m (c·c 1 - c cᵀ).
    """
    mass, R = m.body_mass, matrices(m.body_iquat)
    c = m.body_ipos - anchors
    I_C = np.einsum("bij,bj,bkj->bik", R, m.body_inertia, R)
    steiner = np.einsum("bi,bi->b", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    rotational = (I_C + mass[:, None, None] * steiner).tolist()
    moments = (mass[:, None] * c + 0.0).tolist()
    return [
        Inertia(weight, Vec3(*h), Sym3(xx, xy, xz, yy, yz, zz))
        for weight, h, ((xx, xy, xz), (_, yy, yz), (_, _, zz)) in zip(mass.tolist(), moments, rotational, strict=True)
    ]


def drag_boxes(m: Any, anchors: NDArray[np.float64]) -> list[tuple[DragBox, ...]]:
    """What the fluid meets of each body: the box of even density that has the body's mass and principal moments.

    A box of sides x, y, z has I_xx = m (y² + z²)/12, so x² = 6 (I_yy + I_zz - I_xx)/m.
    """
    mass, moments = m.body_mass, m.body_inertia
    heavy = mass > _LIGHTEST
    squares = 6 * (moments.sum(axis=1, keepdims=True) - 2 * moments)
    sides = np.sqrt(np.maximum(squares, 6 * _LIGHTEST) / np.where(heavy, mass, 1.0)[:, None])
    placements = poses(m.body_ipos - anchors, m.body_iquat)
    return [
        (DragBox(X, *row),) if is_heavy else ()
        for is_heavy, X, row in zip(heavy.tolist(), placements, sides.tolist(), strict=True)
    ]


def matrices(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation matrices, shape (n, 3, 3), of unit quaternions (w, x, y, z), shape (n, 4)."""
    w, x, y, z = quaternions.T
    rows = (
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.array(rows).T.reshape(-1, 3, 3)


def _pose(R: Mat3, p: list[float]) -> Transform:
    return IDENTITY if R is IDENTITY.rotation and not any(p) else Transform(R, Vec3(*p))


def _mat3(rows: list[list[float]]) -> Mat3:
    return Mat3(Vec3(*rows[0]), Vec3(*rows[1]), Vec3(*rows[2]))
