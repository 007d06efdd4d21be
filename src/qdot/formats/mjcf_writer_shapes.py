"""Shapes of a model as MuJoCo's geoms, with their contacts, materials, meshes and terrains."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nextafter
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from qdot.algebra import Vec3
from qdot.description import Contact, Material, Severity, ShapeRecord, Softness
from qdot.errors import GeometryError
from qdot.formats.chains import compose, seen_from
from qdot.formats.mesh_writer import RESOLUTION, Meshes, bare
from qdot.formats.written import Names, Remarks, child, number, unless
from qdot.geometry import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    MeshFile,
    Plane,
    Shape,
    Sphere,
)
from qdot.geometry.mesh import Polyhedron
from qdot.geometry.polyhedron import moments
from qdot.spatial import IDENTITY, Transform

HIDDEN = 3
"""The first group that MuJoCo does not draw unless asked to."""

GRAY = (0.5, 0.5, 0.5, 1.0)
"""What MuJoCo paints in no other color."""

_MOST_FACES = 200_000
"""Of an STL file that MuJoCo reads."""


def posed(X: Transform) -> dict[str, object | None]:
    """The attributes of a pose; those left out mean nothing moved, nothing turned."""
    quat = None if X.rotation == IDENTITY.rotation else tuple(X.quaternion().normalized())
    return {"pos": unless(IDENTITY.position, X.position), "quat": quat}


def soft(softness: Softness, solref: str = "solref", solimp: str = "solimp") -> dict[str, object | None]:
    """The attributes of a softness, under names that differ from place to place."""
    usual = Softness()
    return {solref: unless(usual.solref, softness.solref), solimp: unless(usual.solimp, softness.solimp)}


def interval(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """Bounds as MuJoCo wants them, the upper one above the lower: two equal ones are a rounding apart."""
    return bounds if bounds is None or bounds[0] < bounds[1] else (bounds[0], nextafter(bounds[0], inf))


def sized(shape: Shape) -> tuple[str, tuple[float, ...]] | None:
    """MuJoCo's type and size of a simple shape; its sizes are halves."""
    match shape:
        case Plane():
            return "plane", (float(shape.x), float(shape.y), 1.0)  # the last is the grid that is drawn
        case Sphere():
            return "sphere", shape.dimensions()
        case Capsule() | Cylinder():
            radius, length = shape.dimensions()
            return type(shape).__name__.lower(), (radius, length / 2)
        case Ellipsoid():
            return "ellipsoid", shape.dimensions()
        case Box():
            return "box", tuple(x / 2 for x in shape.dimensions())
    return None


class Geoms:
    """Writes shapes to bodies, and what they refer to among the assets."""

    def __init__(self, asset: Element, model: str, remarks: Remarks, copy_meshes: bool) -> None:
        self.asset, self.remarks, self.copy_meshes = asset, remarks, copy_meshes
        self.meshes = Meshes(model)
        self.names: dict[str, str] = {}
        self._geoms, self._assets, self._materials = Names(), Names(), Names()
        self._named: dict[object, str] = {}

    def add(self, body: Element, owner: str, record: ShapeRecord, frame: Transform, still: bool) -> None:
        """A shape given in the frame that a joint moves, on a body whose own frame is `frame` there; `still` tells
        whether the body never moves."""
        shape, pose = bare(record.shape)
        thing = record.name or f"shape of {owner}"
        pose = seen_from(frame, pose)
        if isinstance(shape, (Plane, HeightField)) and not still:
            self.remarks.lost("shape", thing, "ground on a body that moves, which MuJoCo refuses", record.collision)
            return
        simple = sized(shape)
        if simple is not None:
            what: dict[str, object | None] = {"type": simple[0], "size": simple[1]}
        elif isinstance(shape, HeightField):
            name, shift = self._terrain(shape, thing)
            what, pose = {"type": "hfield", "hfield": name}, compose(pose, shift)
        else:
            if not self._is_mesh(shape, thing, record.collision):
                return
            what = {"type": "mesh", "mesh": self._mesh(shape, thing)}
            if record.collision and not isinstance(shape, ConvexHull):
                done = "contacts in MuJoCo will be with its convex hull"
                self.remarks.add(Severity.NOTE, "shape", thing, "a mesh that collides", done)
        child(
            body, "geom", **self._called(record), **what, **posed(pose), **self._look(record, thing), **_touch(record)
        )

    def _called(self, record: ShapeRecord) -> dict[str, object | None]:
        if not record.name:
            return {"name": None}
        name = self._geoms.free(record.name)
        self.names.setdefault(record.name, name)
        if name != record.name:
            self.remarks.add(
                Severity.NOTE, "shape", record.name, "a name that two shapes have", "numbered the second one"
            )
        return {"name": name}

    def _look(self, record: ShapeRecord, thing: str) -> dict[str, object | None]:
        group = record.group
        if not record.visual and group < HIDDEN:
            group = HIDDEN
            self.remarks.add(Severity.NOTE, "shape", thing, "not to be seen", f"put it into group {HIDDEN}")
        return {
            "group": unless(0, group),
            "material": self._material(record.material) if record.material.name else None,
            "rgba": unless(GRAY, record.material.color),
        }

    def _material(self, material: Material) -> str:
        if material not in self._named:
            self._named[material] = self._materials.free(material.name)
            child(self.asset, "material", name=self._named[material], rgba=material.color)
        return self._named[material]

    def _is_mesh(self, shape: Shape, thing: str, collides: bool) -> bool:
        """Whether MuJoCo takes a mesh: it wants four vertices, and of those that collide that they do not lie flat."""
        if isinstance(shape, MeshFile) and not Path(shape.path).is_file():
            found = f"its file {shape.path!r} is not there, and MuJoCo reads no text that refers to it"
            self.remarks.lost("shape", thing, found, collides)
            return False
        if isinstance(shape, MeshFile) and _reads(shape.path):
            return True
        try:
            vertices, _ = shape.surface(RESOLUTION)
        except GeometryError:
            found = "its file, which cannot be read here; MuJoCo itself reads OBJ, MSH and binary STL"
            self.remarks.lost("shape", thing, found, collides)
            return False
        extent = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
        if len(vertices) >= 4 and not (collides and extent[-1] <= 1e-9 * extent[0]):
            return True
        self.remarks.lost("shape", thing, "a flat mesh, which MuJoCo refuses", collides)
        return False

    def _mesh(self, shape: Shape, thing: str) -> str:
        if shape in self._named:
            return self._named[shape]
        if isinstance(shape, MeshFile) and _reads(shape.path):
            name = self._assets.free(Path(shape.path).stem)
            file = self.meshes.address(shape.path, self.copy_meshes)
            scale = unless((1, 1, 1), shape.scale)
        else:
            given = shape.name if isinstance(shape, Mesh) else None
            name = self._assets.free(Path(given).stem if given else thing)
            file, scale = self.meshes.file_of(shape, name), None
            if not isinstance(shape, (Mesh, ConvexHull)):
                why = "its file" if isinstance(shape, MeshFile) else f"a {type(shape).__name__}"
                self.remarks.add(
                    Severity.NOTE,
                    "shape",
                    thing,
                    f"{why}, which MuJoCo does not read",
                    f"wrote a mesh, round ones with {RESOLUTION} segments around",
                )
        # MuJoCo moves a mesh to its centre of mass; that of a shell is there for open and inside-out ones too.
        filled = isinstance(shape, Polyhedron) and moments(shape.vertices, shape.faces).volume > 0
        child(self.asset, "mesh", name=name, file=file, scale=scale, inertia=None if filled else "shell")
        self._named[shape] = name
        return name

    def _terrain(self, shape: HeightField, thing: str) -> tuple[str, Transform]:
        """MuJoCo stretches heights to 0 … 1; so they are written like that, and the terrain is moved by the lowest."""
        low, high = float(shape.heights.min()), float(shape.heights.max())
        span = high - low
        lift = float(shape.z) * low
        if shape not in self._named:
            self._named[shape] = self._assets.free(thing)
            heights = (shape.heights - low) / span if span else shape.heights * 0.0
            child(
                self.asset,
                "hfield",
                name=self._named[shape],
                nrow=shape.heights.shape[0],
                ncol=shape.heights.shape[1],
                size=(shape.x, shape.y, shape.z * span if shape.z * span > 0 else 1, shape.base + lift),
                elevation=" ".join(number(x) for x in heights[::-1].reshape(-1)),  # the file has the far row first
            )
        return self._named[shape], Transform(IDENTITY.rotation, Vec3(0, 0, lift))


def _touch(record: ShapeRecord) -> dict[str, object | None]:
    """How a geom takes part in contacts."""
    usual = Contact()
    contact = record.contact if record.collision else replace(record.contact, kind=0, affinity=0)
    return {
        "contype": unless(usual.kind, contact.kind),
        "conaffinity": unless(usual.affinity, contact.affinity),
        "condim": unless(usual.dimension, contact.dimension),
        "friction": unless(usual.friction, contact.friction),
        "priority": unless(usual.priority, contact.priority),
        "solmix": unless(usual.mix, contact.mix),
        "margin": unless(usual.margin, contact.margin),
        "gap": unless(usual.gap, contact.gap),
        **soft(contact.softness),
    }


def _reads(path: str) -> bool:
    """Whether MuJoCo reads a mesh file as it is: OBJ, MSH, and binary STL that is not too long."""
    file = Path(path)
    if file.suffix.lower() != ".stl":
        return file.suffix.lower() in (".obj", ".msh")
    with file.open("rb") as content:
        faces = int.from_bytes(content.read(84)[80:84], "little")
    return file.stat().st_size == 84 + 50 * faces and faces <= _MOST_FACES
