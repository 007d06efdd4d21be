"""What is seen of a model: meshes of its shapes, bones of bodies that have none, and lines.

Equal shapes share a mesh, and each sits at a pose on its body: what moves is the poses of bodies alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qdot.algebra import Quaternion, Vec3, is_number
from qdot.description import Pulley, ShapeRecord, Via
from qdot.errors import GeometryError
from qdot.geometry import Capsule, Placed, Plane, Shape, Sphere
from qdot.model.model import Body, Model
from qdot.plots import AXIS_COLORS, color_of
from qdot.spatial import IDENTITY, Transform

if TYPE_CHECKING:
    from qdot.geometry.surface import Surface

TRIANGLES = 250_000
"""Of all different meshes; beyond it they are made coarser."""

Z = Vec3(0, 0, 1)


class Part(NamedTuple):
    """A shape at a pose on a body."""

    shape: Shape
    body: int
    placement: Transform
    color: tuple[float, ...]


class Link(NamedTuple):
    """A straight line between two points of bodies, so many pixels wide; without a color it is that of text."""

    bodies: tuple[int, int]
    points: tuple[Vec3, Vec3]
    color: str | None
    width: float


@dataclass(frozen=True)
class Scene:
    """Parts, the meshes of their shapes, links, and notes on what is not shown as it is."""

    parts: list[Part]
    meshes: dict[Shape, Surface]
    links: list[Link]
    ground: list[Part]
    """Planes of the world, which are drawn as a grid."""
    notes: list[str]


def scene_of(model: Model, size: float) -> Scene:
    """All that is seen of a model that is about `size` large [m]."""
    seen, notes = _shapes(model)
    parts = [part for part in seen if not isinstance(part.shape, Plane)]
    ground = [part for part in seen if isinstance(part.shape, Plane) and part.body == 0]
    bare = _bare(model, {part.body for part in parts})
    parts += [_part(i, ShapeRecord(bone)) for i, bone in _bones(model, bare, size)]
    meshes, coarser = _coarser({part.shape: part.shape.surface() for part in parts})
    links = [*_triad(size), *_guides(model, bare), *_tendons(model)]
    return Scene(parts, meshes, links, ground, notes + coarser)


def com_of(body: Body) -> Vec3 | None:
    """The centre of mass on a body, where it is known in numbers."""
    I = body.inertia
    return I.com if is_number(I.mass) and I.mass != 0 and all(is_number(x) for x in I.moment) else None


def turn(a: Vec3, b: Vec3) -> Quaternion:
    """The shortest turn that takes one unit vector to another; one of both is along z."""
    w = 1 + a.dot(b)
    return Quaternion(w, *a.cross(b)).normalized() if w > 1e-9 else Quaternion(0, 1, 0, 0)


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────


def _shapes(model: Model) -> tuple[list[Part], list[str]]:
    """The visible shapes that can be drawn, and a note about others."""
    records = [(0, s) for s in model.description.world_shapes]
    records += [(body.index, s) for body in model.bodies for s in body.record.shapes]
    parts, refused = [], []
    for i, record in records:
        try:
            if record.visual:
                record.shape.surface()
                parts.append(_part(i, record))
        except GeometryError as error:
            refused.append(error)
    several = f"{len(refused)} shapes are not drawn, the first" if len(refused) > 1 else "A shape is not drawn"
    return parts, [f"{several}: {refused[0]}"] if refused else []


def _part(body: int, record: ShapeRecord) -> Part:
    shape, color = record.shape, color_of(record, body)
    if isinstance(shape, Placed):
        return Part(shape.shape, body, shape.placement, color)
    return Part(shape, body, IDENTITY, color)


def _coarser(meshes: dict[Shape, Surface]) -> tuple[dict[Shape, Surface], list[str]]:
    """Meshes of fewer triangles, where there are too many, and a note that says so."""
    whole = count = sum(len(faces) for _, faces in meshes.values())
    cells = 512
    while count > TRIANGLES and cells >= 8:
        meshes = {
            shape: _clustered(surface, cells) if len(surface[1]) > TRIANGLES / len(meshes) else surface
            for shape, surface in meshes.items()
        }
        count, cells = sum(len(faces) for _, faces in meshes.values()), cells // 2
    note = f"Meshes are shown coarser than they are, by {count:,} of {whole:,} triangles."
    return meshes, [note] if count < whole else []


def _clustered(surface: Surface, cells: int) -> Surface:
    """Vertices in one cell of a grid become one, their mean; triangles that lose their extent go."""
    vertices, faces = surface
    places = np.floor(vertices / (np.ptp(vertices, axis=0).max() / cells))
    _, cluster, sizes = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    cluster = cluster.reshape(-1)  # NumPy 2.0 alone gives a column
    mean = np.column_stack([np.bincount(cluster, weights=x) for x in vertices.T]) / sizes[:, None]
    corners = cluster[faces]
    a, b, c = corners.T
    return mean, corners[(a != b) & (b != c) & (c != a)]


# ── bodies without shapes ────────────────────────────────────────────────────────────────────────


def _bare(model: Model, drawn: set[int]) -> set[int]:
    """Bodies that need a skeleton: those without shapes; among others that have some, only those with mass."""
    without = [body for body in model.bodies if body.index not in drawn]
    return {body.index for body in without if not drawn or com_of(body) is not None}


def _bones(model: Model, bare: set[int], size: float) -> list[tuple[int, Shape]]:
    """A knob where a body begins, and bones to what it carries: joints and frames, or else its centre of mass."""
    carried = [(body.parent, body.placement.position) for body in model.bodies]
    carried += [(f.body, f.placement.position) for f in (model.frame(r.name) for r in model.description.frames)]
    bones: list[tuple[int, Shape]] = []
    for body in model.bodies:
        if body.index in bare:
            com = com_of(body)
            ends = [p for i, p in carried if i == body.index] or ([] if com is None else [com])
            bones.append((body.index, Sphere(0.022 * size)))
            bones += [(body.index, bone) for p in ends for bone in _bone(p, size)]
    return bones


def _bone(p: Vec3, size: float) -> Sequence[Shape]:
    """From the origin to a point; none where that is no way."""
    length = float(np.linalg.norm(np.array(tuple(p), dtype=float)))
    if length < 1e-6 * size:
        return []
    return [Capsule(radius=0.012 * size, length=length).at(Transform(turn(Z, p / length).rotation(), p / 2))]


# ── lines ────────────────────────────────────────────────────────────────────────────────────────


def _triad(size: float) -> list[Link]:
    """The axes of the world."""
    axes = (Vec3(1, 0, 0), Vec3(0, 1, 0), Z)
    return [Link((0, 0), (Vec3.zero(), e * (0.1 * size)), c, 2.0) for e, c in zip(axes, AXIS_COLORS, strict=True)]


def _guides(model: Model, bare: set[int]) -> list[Link]:
    """From joint to body, which a sliding joint moves apart; a body that flies is on no guide."""
    guided = [body for body in model.bodies if body.index in bare and body.joint.nv < 3]
    return [Link((b.parent, b.index), (b.placement.position, Vec3.zero()), None, 2.0) for b in guided]


def _tendons(model: Model) -> list[Link]:
    """Straight from frame to frame: what a tendon is wound round is left out."""
    links = []
    for tendon in model.tendons:
        color = "#" + "".join(f"{round(255 * min(max(float(x), 0), 1)):02x}" for x in tendon.color[:3])
        for one, other in pairwise(e for e in tendon.path if isinstance(e, (Via, Pulley))):
            if isinstance(one, Via) and isinstance(other, Via):
                a, b = model.frame(one.frame), model.frame(other.frame)
                links.append(Link((a.body, b.body), (a.placement.position, b.placement.position), color, 2.5))
    return links
