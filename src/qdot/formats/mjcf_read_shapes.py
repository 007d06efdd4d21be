"""Geoms and sites of a compiled MuJoCo model: what bodies look like, what they touch with, and frames on them.

A geom is drawn if it is in one of the groups 0, 1, 2 that MuJoCo's viewer shows unless asked otherwise, and collides
if it shares bits with other geoms (contype, conaffinity) or a <pair> names it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.description import Contact, FrameRecord, Material, ShapeRecord, Softness
from qdot.formats.mjcf_read_names import Names
from qdot.formats.mjcf_read_poses import Places
from qdot.geometry import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Placed, Plane, Shape, Sphere
from qdot.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROUPS_SHOWN = 3
_UNPAINTED = (0.5, 0.5, 0.5, 1.0)
"""The colour that lets a material's show."""


class Geom:
    """MuJoCo's numbers for kinds of geoms; SDF is a distance field, which is drawn as a mesh."""

    PLANE, HEIGHT_FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)


def read_shapes(m: Any, names: Names, placements: list[Transform]) -> list[list[ShapeRecord]]:
    """The geoms of each body, the world's first, at these placements."""
    look = Look(m, names)
    shapes: list[list[ShapeRecord]] = [[] for _ in range(m.nbody)]
    for body, kind, size, data, matter, color, group, pose, name, collides, contact in zip(
        m.geom_bodyid.tolist(),
        m.geom_type.tolist(),
        m.geom_size.tolist(),
        m.geom_dataid.tolist(),
        m.geom_matid.tolist(),
        colors(m.geom_rgba),
        m.geom_group.tolist(),
        placements,
        names.of["geom"],
        _colliding(m),
        _contacts(m),
        strict=True,
    ):
        material, shown = look.material(matter, color), group < _GROUPS_SHOWN
        placed = Placed(look.shape(kind, size, data), pose)
        shapes[body].append(ShapeRecord(placed, shown, collides, material, name, contact, group))
    return shapes


def _colliding(m: Any) -> list[bool]:
    collides = (m.geom_contype | m.geom_conaffinity) != 0
    collides[m.pair_geom1] = collides[m.pair_geom2] = True
    flags: list[bool] = collides.tolist()
    return flags


def _contacts(m: Any) -> list[Contact]:
    """How each geom takes part in contacts; one record for all that are alike."""
    columns = (
        *(m.geom_contype, m.geom_conaffinity, m.geom_condim, m.geom_priority),
        *(m.geom_margin, m.geom_gap, m.geom_solmix, m.geom_friction, m.geom_solref, m.geom_solimp),
    )
    rows = [*map(tuple, np.column_stack(columns).tolist())]
    made = {row: _contact(*row) for row in {*rows}}
    return [made[row] for row in rows]


def _contact(
    kind: float, affinity: float, dimension: float, priority: float, margin: float, gap: float, mix: float, *rest: float
) -> Contact:
    (sliding, torsional, rolling), softness = rest[:3], Softness(rest[3:5], rest[5:])
    friction = (sliding, torsional, rolling)
    return Contact(int(kind), int(affinity), int(dimension), friction, softness, margin, gap, int(priority), mix)


def read_frames(m: Any, names: Names, places: Places) -> tuple[FrameRecord, ...]:
    """Sites, each with the region that it is drawn as, and frames at the geoms that tendons wrap."""
    look, bodies = Look(m, names), names.of["body"]
    frames = [
        FrameRecord(
            name,
            bodies[body],
            pose,
            ShapeRecord(
                look.shape(kind, size, data), group < _GROUPS_SHOWN, False, look.material(matter, color), group=group
            ),
        )
        for name, body, pose, kind, size, data, matter, color, group in zip(
            names.of["site"],
            m.site_bodyid.tolist(),
            places.sites,
            m.site_type.tolist(),
            m.site_size.tolist(),
            m.site_dataid.tolist(),
            m.site_matid.tolist(),
            colors(m.site_rgba),
            m.site_group.tolist(),
            strict=True,
        )
    ]
    holders = m.geom_bodyid.tolist()
    frames += (
        FrameRecord(name, bodies[holders[geom]], places.geoms[geom]) for geom, name in sorted(names.wraps.items())
    )
    return tuple(frames)


class Look:
    """What the assets of a model look like; equal things are made once."""

    def __init__(self, m: Any, names: Names) -> None:
        self._m, self._names = m, names
        self._shapes: dict[tuple[Any, ...], Shape] = {}
        self._materials: dict[tuple[Any, ...], Material] = {}

    def shape(self, kind: int, size: list[float], data: int) -> Shape:
        """A geom or site about its own frame; MuJoCo's sizes are halves."""
        key = (kind, *size) if data < 0 else (kind, data)
        if key not in self._shapes:
            self._shapes[key] = self._made(kind, size, data)
        return self._shapes[key]

    def material(self, number: int, color: list[float]) -> Material:
        """The geom's own colour counts, unless it was left as it is at first."""
        key = (number, *color)
        if key not in self._materials:
            name = self._names.of["material"][number] if number >= 0 else ""
            red, green, blue, opacity = self._painted[number] if name and tuple(color) == _UNPAINTED else color
            self._materials[key] = Material(name, (red, green, blue, opacity))
        return self._materials[key]

    @cached_property
    def _painted(self) -> list[list[float]]:
        return colors(self._m.mat_rgba)

    def _made(self, kind: int, size: list[float], data: int) -> Shape:
        x, y, z = size
        match kind:
            case Geom.PLANE:
                return Plane(x, y)
            case Geom.HEIGHT_FIELD:
                return self._height_field(data)
            case Geom.SPHERE:
                return Sphere(x)
            case Geom.CAPSULE:
                return Capsule(x, 2 * y)
            case Geom.ELLIPSOID:
                return Ellipsoid(x, y, z)
            case Geom.CYLINDER:
                return Cylinder(x, 2 * y)
            case Geom.BOX:
                return Box(2 * x, 2 * y, 2 * z)
            case _:
                return self._mesh(data)

    def _mesh(self, k: int) -> Mesh:
        """In the frame of MuJoCo's geoms, which is that of the mesh's inertia."""
        m = self._m
        vertices, faces = m.mesh_vertadr[k], m.mesh_faceadr[k]
        return Mesh(
            m.mesh_vert[vertices : vertices + m.mesh_vertnum[k]],
            m.mesh_face[faces : faces + m.mesh_facenum[k]],
            name=self._names.of["mesh"][k],
        )

    def _height_field(self, k: int) -> HeightField:
        m = self._m
        start, rows, columns = m.hfield_adr[k], m.hfield_nrow[k], m.hfield_ncol[k]
        heights = m.hfield_data[start : start + rows * columns].reshape(rows, columns)
        return HeightField(heights, *m.hfield_size[k].tolist())


def colors(rgba: NDArray[np.float32]) -> list[list[float]]:
    """As the file has them, not as single precision keeps them: 0.8, not 0.800000012."""
    colors: list[list[float]] = rgba.astype(np.float64).round(6).tolist()
    return colors
