"""Poses and inertias as URDF writes them."""

from __future__ import annotations

from math import sqrt
from xml.etree.ElementTree import Element

from qdot.algebra import Mat3, Quaternion, Sym3, Vec3
from qdot.description import Severity
from qdot.formats.urdf_schema import Findings
from qdot.formats.xml import ElementError, each, number, numbers
from qdot.spatial import IDENTITY, Inertia, Transform

MASSLESS = Inertia.zero()
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class Poses:
    """Reads `<origin>`; one that is written again is the same object, for most of a robot's rotations repeat."""

    def __init__(self, findings: Findings, *, quaternions: bool) -> None:
        self._findings = findings
        self._quaternions = quaternions
        self._known: dict[tuple[str | None, str | None], Transform] = {}
        self._rotations: dict[str | None, Mat3] = {None: IDENTITY.rotation}

    def of(self, owner: Element) -> Transform:
        """The pose of `owner`'s origin: position, and roll, pitch, yaw about fixed axes; the identity without one."""
        origin = owner.find("origin")
        if origin is None:
            return IDENTITY
        if "quat_xyzw" in origin.attrib:
            if self._quaternions:
                return _by_quaternion(origin)
            done = 'left out, as ROS does; give the robot version="1.1"'
            self._findings.add(Severity.PHYSICS, "<origin>", "'quat_xyzw', which URDF 1.0 does not have", done, origin)
        written = origin.get("xyz"), origin.get("rpy")
        known = self._known.get(written)
        if known is None:
            known = self._known[written] = self._read(origin, *written)
        return known

    def _read(self, origin: Element, xyz: str | None, rpy: str | None) -> Transform:
        rotation = self._rotation(origin, rpy)
        position = (0.0, 0.0, 0.0) if xyz is None else numbers(origin, "xyz", 3)
        if any(position):
            return Transform(rotation, Vec3(*position))
        return IDENTITY if rotation is IDENTITY.rotation else Transform(rotation, IDENTITY.position)

    def _rotation(self, origin: Element, rpy: str | None) -> Mat3:
        if rpy not in self._rotations:
            roll, pitch, yaw = numbers(origin, "rpy", 3)
            X = Transform.rpy(roll, pitch, yaw, IDENTITY.position) if roll or pitch or yaw else IDENTITY
            self._rotations[rpy] = X.rotation
        return self._rotations[rpy]


def _by_quaternion(origin: Element) -> Transform:
    """URDF 1.1: a quaternion (x, y, z, w) in place of roll, pitch, yaw."""
    if "rpy" in origin.attrib:
        raise ElementError(origin, "<origin> has both 'rpy' and 'quat_xyzw'; give one of them")
    x, y, z, w = numbers(origin, "quat_xyzw", 4)
    length = sqrt(x * x + y * y + z * z + w * w)
    if abs(length - 1) > 1e-3:
        raise ElementError(
            origin, f"<origin>: 'quat_xyzw' has length {length:g}; a rotation needs a quaternion of length 1"
        )
    turned = Quaternion(w / length, x / length, y / length, z / length).rotation()
    position = Vec3(*numbers(origin, "xyz", 3)) if "xyz" in origin.attrib else IDENTITY.position
    return Transform(turned, position)


def inertia_of(inertial: Element, poses: Poses) -> Inertia:
    """Mass, centre of mass at the origin's place, and moments about it in the origin's axes: I_O = R I Rᵀ - m c̃c̃."""
    mass, moments = inertial.find("mass"), inertial.find("inertia")
    if mass is None or moments is None:
        missing = "mass" if mass is None else "inertia"
        raise ElementError(
            inertial, f"<inertial> has no <{missing}>; give both, or leave <inertial> out for a massless link"
        )
    m = number(mass, "value")
    at_com = Sym3(*each(moments, _MOMENTS))
    X = poses.of(inertial)
    if X.rotation is not IDENTITY.rotation:
        at_com = at_com.congruence(X.rotation)
    if X.position is IDENTITY.position:
        return Inertia(m, X.position, at_com)
    return Inertia.about_com(m, X.position, at_com)
