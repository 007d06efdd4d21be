"""`write_animation`: a motion sampled, and written into the page with all that it needs.

The page holds the poses X_WB of all bodies at evenly spaced times. Between the rows given, configurations are
interpolated on the manifold, q_k ⊕ s (q_k+1 ⊖ q_k), so that joints stay joints.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.algebra import Scalar, Scalars, as_array, is_number, scalars_in
from qdot.algorithms.configuration import difference, retract
from qdot.algorithms.kinematics import world_poses
from qdot.animation.scene import Scene, scene_of
from qdot.animation.view import size_of, view_of
from qdot.errors import PictureError, ValueShapeError
from qdot.model.model import Model, require_model
from qdot.model.vectors import scalars_of
from qdot.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

RATE = 60
"""Frames for each second on the screen."""

POSES = 500_000
"""Of all bodies in all frames; beyond it frames are fewer, for a page of more than some 20 MB opens slowly."""

FILES = ("page.html", "drawing.js", "controls.js")
COLORS = ("#d1495b", "#2f7fd0", "#2f9e6b", "#c08a1e", "#7a5bc7")
"""Of paths, from the first on; of motions beside the first, from the last on."""


def write_animation(
    path: str | os.PathLike[str],
    model: Model,
    time: Any,
    q: Any,
    *,
    title: str = "",
    traces: str | Sequence[str] = (),
    speed: float = 1.0,
) -> Path:
    """Write a page that shows a motion: `time` [s], shape (n,), and `q`, shape (n, nq); returns its path.

    Several motions of the model over the same times may be given by name, as {"reduced": q, "maximal": q_too}: the
    first is shown as it is, the others transparent. `traces` names frames whose paths are drawn. `speed` is that of the
    clock at first: 0.1 shows ten times as slowly. In the page, space plays and ? tells the rest; its address with
    #t=2.5 opens it at that time. Tendons are drawn straight from frame to frame.
    """
    require_model(model, "write_animation")
    _require_numbers(model)
    times = _times(time)
    if not (is_number(speed) and speed > 0 and isfinite(speed)):
        raise PictureError(f"the speed of an animation is a positive number, 1 for real time, got {speed!r}")
    motions = q if isinstance(q, Mapping) else {model.name: q}
    if not motions:
        raise PictureError(f"an animation of model {model.name!r} shows one motion or more, but q names none")
    rows = {str(name): _configurations(model, times, value) for name, value in motions.items()}
    shown = _shown_times(times, speed, len(rows) * len(model.bodies))
    poses = [_poses(model, _between(model, times, row, shown), len(shown)) for row in rows.values()]
    scene = scene_of(model, size_of(model, poses[0][0]))
    content = {
        "title": title or model.name.replace("_", " "),
        "time": [float(shown[0]), float(shown[-1])],
        "frames": len(shown),
        "speed": float(speed),
        "bodies": len(model.bodies),
        "runs": [
            {"name": name, "color": COLORS[-k % len(COLORS)] if k else None, "poses": _packed(X[:, 1:], "<f4")}
            for k, (name, X) in enumerate(zip(rows, poses, strict=True))
        ],
        "traces": [
            {"name": name, "color": COLORS[k % len(COLORS)], **_origin(model, name)}
            for k, name in enumerate([traces] if isinstance(traces, str) else traces)
        ],
        **_drawn(scene),
        **view_of(model, scene, poses),
    }
    return _written(path, content)


# ── time and configurations ──────────────────────────────────────────────────────────────────────


def _require_numbers(model: Model) -> None:
    places = {name: frame.placement for name, frame in model.frames.items()}
    places |= {body.joint_name: body.placement for body in model.bodies}
    for name, X in places.items():
        if not all(is_number(x) for x in scalars_in(X)):
            raise PictureError(
                f"the place of {name!r} in model {model.name!r} holds symbols, and a motion is shown by numbers; "
                "substitute them first"
            )


def _times(time: Any) -> Floats:
    try:
        times = np.asarray(time, dtype=float)
    except (TypeError, ValueError):
        raise ValueShapeError(f"the times of an animation are numbers [s], got {time!r}") from None
    if times.ndim != 1 or len(times) == 0:
        raise ValueShapeError(f"the times of an animation have shape (n,), n ≥ 1, got {times.shape}")
    if not np.isfinite(times).all():
        k = int(np.argmin(np.isfinite(times)))
        raise ValueShapeError(f"time[{k}] is {times[k]}; the times of an animation must be finite")
    if (np.diff(times) < 0).any():
        k = int(np.argmax(np.diff(times) < 0))
        raise ValueShapeError(f"time goes back from {times[k]:g} s to {times[k + 1]:g} s at row {k + 1}; sort the rows")
    return times


def _configurations(model: Model, times: Floats, q: Any) -> list[Floats]:
    """The columns of q, checked."""
    columns = scalars_of(model, "q", q)
    if np.ndim(q) != 2 or len(q) != len(times):
        raise ValueShapeError(
            f"q has shape {np.shape(q)}, but an animation of model {model.name!r} at {len(times)} times needs "
            f"({len(times)}, {model.nq}), a row for each time; several motions are given as {{name: q, …}}"
        )
    return columns


def _shown_times(times: Floats, speed: float, moving: int) -> Floats:
    """Evenly spaced, the first and the last among them."""
    seconds = (times[-1] - times[0]) / speed
    if seconds == 0:
        return times[:1]
    most = max(2, POSES // max(moving, 1))
    return np.linspace(times[0], times[-1], int(np.clip(np.floor(seconds * RATE + 1e-6) + 1, 2, most)))


def _between(model: Model, times: Floats, q: Sequence[Floats], shown: Floats) -> Scalars:
    """Configurations at other times, on the manifold between the neighbours."""
    if len(times) == 1:
        return q
    k = np.clip(np.searchsorted(times, shown, side="right") - 1, 0, len(times) - 2)
    step = times[k + 1] - times[k]
    s = (shown - times[k]) / np.where(step > 0, step, 1.0)
    start = [x[k] for x in q]
    to = difference(model, start, [x[k + 1] for x in q])
    return retract(model, start, [s * x for x in to])


def _poses(model: Model, q: Scalars, count: int) -> Floats:
    """Position and quaternion (w, x, y, z) of every body, the world's first, (count, bodies + 1, 7)."""
    return as_array([_entries(X) for X in world_poses(model, q)], (count,))


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def _drawn(scene: Scene) -> dict[str, Any]:
    numbers = {shape: k for k, shape in enumerate(scene.meshes)}
    return {
        "notes": scene.notes,
        "meshes": [{"vertices": _packed(p, "<f4"), "faces": _packed(f, "<u4")} for p, f in scene.meshes.values()],
        "parts": [
            {
                "mesh": numbers[part.shape],
                "body": part.body,
                "pose": _floats(_entries(part.placement)),
                "color": part.color,
            }
            for part in scene.parts
        ],
        "links": [
            {
                "bodies": link.bodies,
                "points": [_floats(p) for p in link.points],
                "color": link.color,
                "width": link.width,
            }
            for link in scene.links
        ],
    }


def _origin(model: Model, name: str) -> dict[str, Any]:
    """Of a frame, on its body."""
    frame = model.frame(name)
    return {"body": frame.body, "point": _floats(frame.placement.position)}


def _entries(X: Transform) -> list[Scalar]:
    """Position, and quaternion (w, x, y, z)."""
    return [*X.position, *X.quaternion()]


def _floats(values: Iterable[Scalar]) -> list[float]:
    return [float(x) for x in values]


def _packed(array: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def _written(path: str | os.PathLike[str], content: dict[str, Any]) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise PictureError(f"an animation is written to a path, got {path!r}")
    target = Path(path)
    if not target.parent.is_dir():
        raise PictureError(
            f"{str(target)!r} cannot be written: there is no folder {str(target.parent)!r}; make it first"
        )
    scene = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")  # ends no script
    source = {file.name: file.read_text("utf-8") for file in map(files("qdot.animation").joinpath, FILES)}
    filled = {"title": escape(content["title"]), "scene": scene, **source}
    page = re.sub(r"\{\{([\w.]+)\}\}", lambda found: filled[found[1]], source["page.html"])
    try:
        target.write_text(page, "utf-8")
    except (OSError, ValueError) as error:  # a ValueError for a null character in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise PictureError(f"{str(target)!r} cannot be written: {reason}") from None
    return target
