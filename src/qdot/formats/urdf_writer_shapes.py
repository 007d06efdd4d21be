"""Shapes of a model as URDF's visuals and collisions, and materials."""

from __future__ import annotations

from math import atan2, cos, sin
from xml.etree.ElementTree import Element

from qdot.algebra import Mat3
from qdot.description import Contact, Material, Severity, ShapeRecord
from qdot.formats.chains import seen_from
from qdot.formats.mesh_writer import RESOLUTION, Meshes, bare
from qdot.formats.written import Names, Remarks, child, unless
from qdot.geometry import Box, Capsule, ConvexHull, Cylinder, Mesh, MeshFile, Plane, Shape, Sphere
from qdot.spatial import IDENTITY, Transform


class Shapes:
    """Writes shapes to links; meshes in memory become files, those in files are copied or stay where they are."""

    def __init__(self, robot: Element, remarks: Remarks, copy_meshes: bool) -> None:
        self.robot, self.remarks, self.copy_meshes = robot, remarks, copy_meshes
        self.meshes, self.materials = Meshes(robot.attrib["name"]), _Materials(robot)

    @property
    def assets(self) -> dict[str, bytes]:
        return self.meshes.assets

    def add(self, link: Element, owner: str, record: ShapeRecord, frame: Transform) -> None:
        shape, pose = bare(record.shape)
        thing = record.name or f"shape of {owner}"
        if isinstance(shape, Plane):
            severity = Severity.PHYSICS if record.collision else Severity.IGNORED
            self.remarks.add(severity, "shape", thing, "a plane without end, which URDF does not have", "left it out")
            return
        for tag in ("visual",) * record.visual + ("collision",) * record.collision:
            element = child(link, tag, name=record.name or None)
            origin(element, seen_from(frame, pose))
            self._geometry(child(element, "geometry"), shape, thing)
            if tag == "visual" and record.material != Material():
                child(element, "material", name=self.materials.name_of(record.material))
        if record.collision and record.contact != Contact():
            self.remarks.add(
                Severity.PHYSICS,
                "shape",
                thing,
                "parameters of its contacts, which URDF does not have",
                "left them out",
            )
        if record.group:
            self.remarks.add(Severity.IGNORED, "shape", thing, "a group, which URDF does not have", "left it out")

    def _geometry(self, parent: Element, shape: Shape, thing: str) -> None:
        if isinstance(shape, Box):
            child(parent, "box", size=shape.dimensions())
        elif isinstance(shape, Sphere):
            child(parent, "sphere", radius=shape.radius)
        elif isinstance(shape, Cylinder):
            child(parent, "cylinder", radius=shape.radius, length=shape.length)
        elif isinstance(shape, Capsule):
            child(parent, "capsule", radius=shape.radius, length=shape.length)
            self.robot.set("version", "1.2")
            self.remarks.add(
                Severity.NOTE,
                "shape",
                thing,
                "a capsule",
                "wrote <capsule>, which URDF has from version 1.2 on; older programs refuse it",
            )
        elif isinstance(shape, MeshFile):
            name = self.meshes.address(shape.path, self.copy_meshes, "file://")
            child(parent, "mesh", filename=name, scale=unless((1, 1, 1), shape.scale))
        else:
            child(parent, "mesh", filename=self.meshes.file_of(shape, thing))
            if not isinstance(shape, (Mesh, ConvexHull)):
                self.remarks.add(
                    Severity.NOTE,
                    "shape",
                    thing,
                    f"a {type(shape).__name__}, which URDF does not have",
                    f"wrote a mesh, round ones with {RESOLUTION} segments around",
                )


class _Materials:
    """Materials at the top of the file, each name for one color."""

    def __init__(self, robot: Element) -> None:
        self._robot, self._names, self._known = robot, Names(), dict[Material, str]()

    def name_of(self, material: Material) -> str:
        if material not in self._known:
            code = "".join(f"{round(255 * min(max(x, 0), 1)):02x}" for x in material.color)
            name = self._names.free(material.name or f"color_{code}")
            self._known[material] = name
            element = Element("material", name=name)
            child(element, "color", rgba=material.color)
            self._robot.insert(len(self._known) - 1, element)
        return self._known[material]


def origin(parent: Element, X: Transform) -> None:
    """The pose of an element, where it has one."""
    if X != IDENTITY:
        child(parent, "origin", xyz=X.position, rpy=unless((0, 0, 0), roll_pitch_yaw(X.rotation)))


def roll_pitch_yaw(R: Mat3) -> tuple[float, float, float]:
    """The angles of R = Rz(yaw) Ry(pitch) Rx(roll) [rad]; where pitch is ±π/2 any yaw will do, and the roll fits it."""
    (a, b, c), (d, e, f), (g, _, _) = (tuple(map(float, row)) for row in (R.r0, R.r1, R.r2))
    yaw = atan2(d, a)
    C, S = cos(yaw), sin(yaw)
    return atan2(S * c - C * f, C * e - S * b), atan2(-g, C * a + S * d), yaw
