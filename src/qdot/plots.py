"""Pictures of mechanisms, with matplotlib (the extra `qdot[plots]`), which loads at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import as_array
from qdot.algorithms.kinematics import world_poses
from qdot.description import Material, ShapeRecord
from qdot.errors import PictureError
from qdot.model.model import Model
from qdot.model.vectors import scalars_of
from qdot.spatial import Transform

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

AXIS_COLORS = ("#d04848", "#3f9f5f", "#4070c8")
LIGHT = np.array([0.35, -0.55, 0.76])
LINK_COLORS = ((0.56, 0.64, 0.75), (0.88, 0.62, 0.33))
"""Of bodies whose material says nothing: neighbours in a chain differ, so that joints can be seen."""


def draw(
    model: Model, q: Any = None, *, frames: bool = True, view: tuple[float, float] | None = None, title: str = ""
) -> Figure:
    """A picture of a model at configuration q (neutral if not given): its shapes, its skeleton, its named frames.

    `view` is (elevation, azimuth) in degrees; a mechanism that lies in a plane is looked at along the normal of it.
    """
    pyplot, poly = _matplotlib()
    scalars = scalars_of(model, "q", model.neutral() if q is None else q)
    if any(isinstance(x, np.ndarray) for x in scalars):
        raise PictureError(f"one configuration of model {model.name!r} can be drawn at a time, not a batch")
    X = world_poses(model, scalars)
    triangles, colors = _triangles(model, X)
    points = _landmarks(model, X, triangles)
    flat = flat_axis(points)
    angles = view or {None: (22, -58), 0: (0, 0), 1: (0, -90), 2: (90, -90)}[flat]

    figure = pyplot.figure(figsize=(7.2, 6.4), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d", proj_type="ortho", computed_zorder=False)
    if len(triangles):
        axes.add_collection3d(poly(triangles, facecolors=colors, edgecolors=colors, linewidths=0.25))  # no seams
    _skeleton(axes, model, X, has_shapes=len(triangles) > 0)
    size = float(np.ptp(points, axis=0).max()) or 1.0
    if frames:
        _frames(axes, model, X, 0.07 * size)
    _triad(axes, Transform.identity(), 0.12 * size, width=2.0)
    _frame_view(axes, points, size, flat)
    axes.view_init(*angles)
    axes.set_title(title or model.name.replace("_", " "), loc="left", fontsize=13)
    return figure


def _matplotlib() -> tuple[Any, Any]:
    try:
        from matplotlib import pyplot
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection
    except ImportError as error:
        raise PictureError("pictures need matplotlib; install it with: pip install 'qdot[plots]'") from error
    return pyplot, Poly3DCollection


def _triangles(model: Model, X: list[Transform]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All visible triangles in the world, (n, 3, 3), and their colours under one light, (n, 4)."""
    shown = [(0, s) for s in model.description.world_shapes]
    shown += [(body.index, s) for body in model.bodies for s in body.record.shapes]
    corners, colors = [np.empty((0, 3, 3))], [np.empty((0, 4))]
    for i, record in shown:
        if not record.visual:
            continue
        vertices, faces = record.shape.at(X[i]).surface()
        triangles = vertices[faces]
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = normals / np.where(lengths > 0, lengths, 1.0)
        shade = 0.62 + 0.38 * (normals @ LIGHT)
        rgba = np.array(color_of(record, i))
        color = np.column_stack([np.clip(np.outer(shade, rgba[:3]), 0, 1), np.full(len(shade), rgba[3])])
        corners.append(triangles)
        colors.append(color)
    return np.concatenate(corners), np.concatenate(colors)


def color_of(record: ShapeRecord, body: int) -> tuple[float, ...]:
    """Red, green, blue, opacity of a shape of a body."""
    said = record.material != Material()
    return record.material.color if said else (*LINK_COLORS[body % len(LINK_COLORS)], 1.0)


def _landmarks(model: Model, X: list[Transform], triangles: NDArray[np.float64]) -> NDArray[np.float64]:
    origins = [as_array(X_WB.position) for X_WB in X]
    origins += [as_array((X[f.body] @ f.placement).position) for f in model.frames.values()]
    return np.concatenate([np.array(origins, dtype=float), triangles.reshape(-1, 3)])


def flat_axis(points: NDArray[np.float64]) -> int | None:
    """The axis across which a mechanism has no extent worth a look, if there is one."""
    extents = np.ptp(points, axis=0)
    axis = int(np.argmin(extents))
    return axis if extents[axis] < 0.12 * extents.max() else None


def _skeleton(axes: Any, model: Model, X: list[Transform], *, has_shapes: bool) -> None:
    """Lines from each joint to the next, and a dot at each joint."""
    alpha = 0.35 if has_shapes else 1.0
    for body in model.bodies:
        joint = (X[body.parent] @ body.placement).position
        ends = np.array([tuple(X[body.parent].position), tuple(joint), tuple(X[body.index].position)], dtype=float)
        axes.plot(*ends.T, color="#30343c", linewidth=1.6, alpha=alpha, zorder=5)
        axes.scatter(*ends[1], color="#30343c", s=14, alpha=alpha, zorder=6)


def _frames(axes: Any, model: Model, X: list[Transform], size: float) -> None:
    for record in model.description.frames:
        frame = model.frame(record.name)
        X_WF = X[frame.body] @ frame.placement
        _triad(axes, X_WF, size, width=1.4)
        label = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        beside = np.array(tuple(X_WF.position), dtype=float) + size
        axes.text(*beside, record.name, fontsize=9, color="#30343c", bbox=label, zorder=9)


def _triad(axes: Any, X: Transform, size: float, *, width: float) -> None:
    origin = np.array(tuple(X.position), dtype=float)
    for column, color in zip(as_array(X.rotation).astype(float).T, AXIS_COLORS, strict=True):
        axes.plot(*np.column_stack([origin, origin + size * column]), color=color, linewidth=width, zorder=7)


def _frame_view(axes: Any, points: NDArray[np.float64], size: float, flat: int | None) -> None:
    """Equal scales on all axes, room around the mechanism, quiet panes."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    half = 0.58 * np.maximum(np.ptp(points, axis=0), 0.45 * size)
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - half[k], middle[k] + half[k])
        getattr(axes, f"set_{name}label")("" if k == flat else f"{name} [m]")
        axis = getattr(axes, f"{name}axis")
        axis.pane.set_facecolor("#f6f7f9")
        axis.pane.set_edgecolor("#d9dce2")
        axis._axinfo["grid"].update(color="#e3e6ea", linewidth=0.6)
    if flat is not None:
        getattr(axes, f"set_{'xyz'[flat]}ticks")([])
    axes.set_box_aspect(half)
