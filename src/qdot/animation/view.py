"""Where a motion is looked at from: gravity points down the screen, and what moves in a plane is seen along its normal.

A pose is a row (x, y, z, w, x, y, z), position [m] and quaternion. Boxes, grid and view are told in a frame with z up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.algebra import Quaternion, Vec3, as_array, is_number
from qdot.animation.scene import Part, Scene, Z, com_of, turn
from qdot.model.model import Model
from qdot.plots import flat_axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

ANGLES = {None: (-58, 18), 0: (0, 0), 1: (-90, 0), 2: (-90, 90)}
"""Azimuth and elevation [°] by the axis across which a mechanism is flat."""

LOOKS = 100
"""Frames that are looked at to find out how far a motion reaches."""


def size_of(model: Model, pose: Floats) -> float:
    """How far frames and centres of mass are apart [m]."""
    marks = [(f.body, f.placement.position) for f in model.frames.values() if f.body]
    marks += [(body.index, com) for body in model.bodies if (com := com_of(body)) is not None]
    if not marks:
        return 1.0
    points = _placed(pose[None], [(i, np.array([tuple(p)], dtype=float)) for i, p in marks])
    return float(np.ptp(points.reshape(-1, 3), axis=0).max()) or 1.0


def view_of(model: Model, scene: Scene, poses: Sequence[Floats]) -> dict[str, Any]:
    """The turn that makes gravity point down, boxes about the whole motion and about the mechanism as one moves along
    with it, the grid, and the first view."""
    upright = turn(_up(model), Z)
    R = as_array(upright.rotation()).astype(float)
    boxes = [(part.body, _corners(part, scene)) for part in scene.parts]
    boxes += [
        (f.body, np.array([tuple(f.placement.position)] * 8, dtype=float)) for f in model.frames.values() if f.body
    ]
    moving = [box for box in boxes if box[0]] or boxes or [(0, np.array([[-0.5] * 3, [0.5] * 3] * 4))]
    few = [X[:: max(1, len(X) // LOOKS)] for X in poses]
    points = np.stack([_placed(X, moving) for X in few]) @ R.T
    middle = few[0][:, 1 if model.bodies else 0 :, :3].mean(axis=1) @ R.T
    along = (points - middle[:, None, None]).reshape(-1, 3)
    reach = float(np.ptp(points.reshape(-1, 3), axis=0).max())
    standing = [corners @ R.T for i, corners in boxes if i == 0 and np.ptp(corners, axis=0).max() <= 2 * reach]
    whole = np.concatenate([points.reshape(-1, 3), *standing])
    flat = flat_axis(along)
    return {
        "upright": [float(x) for x in upright],
        "whole": [whole.min(axis=0).tolist(), whole.max(axis=0).tolist()],
        "mechanism": [along.min(axis=0).tolist(), along.max(axis=0).tolist()],
        "follow": reach > 4 * float(np.ptp(along, axis=0).max()),
        "view": ANGLES[flat],
        "grid": _grid(scene, whole, R, flat),
    }


def _up(model: Model) -> Vec3:
    g = model.gravity
    strength = float(np.linalg.norm(np.array(tuple(g), dtype=float))) if all(is_number(x) for x in g) else 0.0
    return g / -strength if strength > 0 else Z


def _grid(scene: Scene, whole: Floats, R: Floats, flat: int | None) -> dict[str, Any]:
    """The ground, or a wall behind what is flat: its normal is an axis, and it crosses that at `at` [m]."""
    axis = 2 if flat is None else flat
    if axis == 2 and scene.ground:
        return {"axis": axis, "at": float((R @ as_array(scene.ground[0].placement.position))[2])}
    return {"axis": axis, "at": float(whole[:, axis].max() if axis == 1 else whole[:, axis].min())}


def _corners(part: Part, scene: Scene) -> Floats:
    """Of the box about a part, on its body, (8, 3)."""
    vertices = scene.meshes[part.shape][0]
    ends = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
    corners = np.stack(np.meshgrid(*ends.T), axis=-1).reshape(8, 3)
    moved: Floats = corners @ as_array(part.placement.rotation).T + as_array(part.placement.position)
    return moved


def _placed(poses: Floats, points: Sequence[tuple[int, Floats]]) -> Floats:
    """Points on bodies, each (k, 3), in the world: (frames, bodies, k, 3)."""
    X = poses[:, [i for i, _ in points]]
    R = as_array(Quaternion(*np.moveaxis(X[..., 3:], -1, 0)).rotation())
    placed: Floats = np.einsum("nmij,mkj->nmki", R, np.array([p for _, p in points])) + X[..., None, :3]
    return placed
