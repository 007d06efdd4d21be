"""Visual and collision shapes of URDF, and their materials."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from qdot.description import Contact, Material, Severity, ShapeRecord
from qdot.errors import GeometryError
from qdot.formats.resolve import Resolver
from qdot.formats.urdf_poses import Poses
from qdot.formats.urdf_schema import Findings
from qdot.formats.xml import ElementError, number, numbers, required
from qdot.geometry import Box, Capsule, Cylinder, MeshFile, Placed, Shape, Sphere
from qdot.geometry.mesh_reference import UNSCALED
from qdot.spatial import IDENTITY

_UNPAINTED = Material()
_CONTACT = Contact()
_UNSCALED = "1 1 1"


class Shapes:
    """Reads the shapes of links; it knows the materials of the robot, and those that links define on the way."""

    def __init__(self, robot: Element, poses: Poses, resolver: Resolver, findings: Findings) -> None:
        self._poses = poses
        self._resolver = resolver
        self._findings = findings
        self._materials: dict[str, Material] = {}
        self._meshes: dict[tuple[str, str], MeshFile] = {}
        self._scales: dict[str, tuple[float, ...]] = {_UNSCALED: UNSCALED}
        for element in robot.findall("material"):
            name = element.get("name")
            if name in self._materials:
                raise ElementError(element, f"two materials are named {name!r}; give one another name")
            self._material(element)

    def of(self, link: Element) -> tuple[ShapeRecord, ...]:
        """What a link is seen as, and what it collides with, in its frame."""
        records = []
        for element in link[:]:
            visual = element.tag == "visual"
            if not visual and element.tag != "collision":
                continue
            shape = self._shape(element)
            if shape is None:
                continue
            X = self._poses.of(element)
            if X is not IDENTITY:
                shape = Placed(shape, X)
            painted = element.find("material") if visual else None
            material = _UNPAINTED if painted is None else self._material(painted)
            name = element.get("name", "")
            records.append(ShapeRecord(shape, visual, not visual, material, name, _CONTACT))
        return tuple(records)

    def _material(self, element: Element) -> Material:
        """The material that an element defines or names; the first definition of a name counts."""
        name = element.get("name", "")
        if name in self._materials:
            return self._materials[name]
        color = element.find("color")
        if color is None:
            if element.find("texture") is None:
                done = "it is drawn in qdot's own color"
                self._findings.add(Severity.NOTE, f"material {name!r}", "it has no color in this file", done, element)
            return Material(name)
        try:
            red, green, blue, opacity = numbers(color, "rgba", 4)
        except ElementError as error:  # no reason to refuse a robot
            self._findings.add(Severity.IGNORED, f"material {name!r}", str(error), "its color is left out", color)
            return Material(name)
        material = Material(name, (red, green, blue, opacity))
        if name:
            self._materials[name] = material
        return material

    def _shape(self, element: Element) -> Shape | None:
        """The shape of a <visual> or <collision>; None, and a finding, for one that is nothing.

        What does not collide as the file says changes the motion; what is not seen does not.
        """
        severity = Severity.PHYSICS if element.tag == "collision" else Severity.IGNORED
        geometry = element.find("geometry")
        kind = geometry[0] if geometry is not None and len(geometry) else None
        if geometry is not None and len(geometry) > 1:
            done = "the first one counts, as for ROS"
            self._findings.add(Severity.IGNORED, "<geometry>", "more shapes than one", done, geometry)
        try:
            if kind is not None and kind.tag == "mesh":
                return self._mesh(kind, severity)
            shape = None if kind is None else _primitive(kind)
        except GeometryError as error:
            found = f"a shape that is none: {error}"
            self._findings.add(severity, f"<{element.tag}>", found, "left out", element)
            return None
        if shape is None:
            found = "no <geometry> with a shape in it" if kind is None else f"a shape <{kind.tag}>"
            done = "left out: URDF has box, sphere, cylinder, capsule and mesh"
            self._findings.add(severity, f"<{element.tag}>", found, done, element)
        return shape

    def _mesh(self, element: Element, severity: Severity) -> MeshFile:
        """A mesh in a file; one that is seen and collides is one object, so that it is read once."""
        address, scale = required(element, "filename", "the mesh file"), element.get("scale", _UNSCALED)
        path = self._resolver.path(address)
        if path is None:
            self._report_missing(address, element, severity)
        mesh = self._meshes.get((address, scale))
        if mesh is None:
            if scale not in self._scales:
                self._scales[scale] = numbers(element, "scale", 3)
            mesh = self._meshes[address, scale] = MeshFile(path or address, self._scales[scale])
        return mesh

    def _report_missing(self, address: str, element: Element, severity: Severity) -> None:
        scheme, separator, rest = address.partition("://")
        if scheme in ("package", "model") and separator:
            name = rest.lstrip("/").partition("/")[0]
            where, remedy = f"package {name!r}", f"tell where it is with packages={{{name!r}: folder}}"
        elif scheme in ("http", "https") and separator:
            where, remedy = "the network", "qdot fetches nothing: download them"
        else:
            where, remedy = "the file", "put them where it says, or find them with resolve=function"
        done = f"kept by their addresses; to draw them or collide with them, {remedy}"
        what = "a mesh file to collide with" if severity is Severity.PHYSICS else "a mesh file"
        self._findings.add(severity, f"meshes of {where}", f"{what} is not there", done, element)


def _primitive(element: Element) -> Shape | None:
    match element.tag:
        case "box":
            return Box(*numbers(element, "size", 3))
        case "sphere":
            return Sphere(number(element, "radius"))
        case "cylinder":
            return Cylinder(number(element, "radius"), number(element, "length"))
        case "capsule":
            return Capsule(number(element, "radius"), number(element, "length"))
    return None
