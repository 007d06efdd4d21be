"""A model as MJCF, the format of MuJoCo: every record, with numbers that mean the same there.

Nothing is left for MuJoCo to guess: angles are radians, inertias explicit, limits said to be limits. Coordinates of
joints of one freedom, of balls and of free joints are those of qdot (`qdot.convert` knows the order of a free joint's).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import compress
from typing import Any
from xml.etree.ElementTree import Element

from qdot.algebra import Quaternion, Scalar, Scalars, Vec3
from qdot.description import WORLD, Fluid, KeyframeRecord, Options, SensorRecord, Severity
from qdot.errors import GeometryError
from qdot.formats.chains import Move, compose
from qdot.formats.mjcf_writer_bodies import Bodies
from qdot.formats.mjcf_writer_constraints import Constraints
from qdot.formats.mjcf_writer_forces import Forces, Wraps
from qdot.formats.mjcf_writer_shapes import Geoms
from qdot.formats.written import Remarks, Written, child, require_writable, text_of, unless
from qdot.geometry import Box
from qdot.joints import Free
from qdot.model.model import Body, Model
from qdot.spatial import IDENTITY

_SECTIONS = ("asset", "worldbody", "contact", "equality", "tendon", "actuator", "sensor", "keyframe")


def to_mjcf(model: Model, *, copy_meshes: bool = False) -> Written:
    """The model as MJCF text; mechanisms that MuJoCo has no joints for are refused with a `ModelError`."""
    require_writable(model, "to_mjcf")
    writer = _Writer(model, copy_meshes)
    writer.write()
    return Written(text_of(writer.root), writer.geoms.meshes.assets, writer.remarks.report())


class _Writer:
    def __init__(self, model: Model, copy_meshes: bool) -> None:
        self.model, self.remarks = model, Remarks()
        self.root = Element("mujoco", model=model.name)
        child(
            self.root,
            "compiler",
            angle="radian",
            autolimits=False,
            inertiafromgeom=False,
            boundmass=0,
            boundinertia=0,
            balanceinertia=False,
            fusestatic=False,
            discardvisual=False,
            strippath=False,
            alignfree=False,
        )
        self._options()
        self.sections = {tag: child(self.root, tag) for tag in _SECTIONS}
        self.geoms = Geoms(self.sections["asset"], model.name, self.remarks, copy_meshes)
        self.bodies = Bodies(model, self.geoms, self.remarks)

    def write(self) -> None:
        d, s = self.model.description, self.sections
        wraps = Wraps(self.model, self.remarks)
        self.bodies.write(s["worldbody"], wraps.shapes, wraps.frames)
        forces = Forces(s["tendon"], s["actuator"], self.bodies, wraps, self.remarks)
        constraints = Constraints(s["equality"], s["contact"], self.bodies, self.geoms, forces, self.remarks)
        steps: list[tuple[tuple[Any, ...], Callable[[Any], None]]] = [
            (d.tendons, forces.add_tendon),
            (d.actuators, forces.add_actuator),
            (d.bushings, forces.report_bushing),
            (d.constraints, constraints.add),
            (d.loops, constraints.add_loop),
            (d.pairs, constraints.add_pair),
            (d.exclusions, constraints.add_exclusion),
            (d.sensors, self._sensor),
            (d.keyframes, self._keyframe),
        ]
        for records, write in steps:
            for record in records:
                write(record)
        self._report_order()
        self._report_drag()
        for tag, section in s.items():
            if not len(section) and tag != "worldbody":
                self.root.remove(section)

    def _options(self) -> None:
        o, usual, fluid, still = self.model.description.options, Options(), self.model.description.fluid, Fluid()
        option = child(
            self.root,
            "option",
            gravity=self.model.gravity,
            timestep=unless(usual.timestep, o.timestep),
            integrator=unless(usual.integrator, o.integrator),
            cone=unless(usual.cone, o.cone),
            solver=unless(usual.solver, o.solver),
            iterations=unless(usual.iterations, o.iterations),
            tolerance=unless(usual.tolerance, o.tolerance),
            impratio=unless(usual.impratio, o.impratio),
            noslip_iterations=unless(usual.noslip_iterations, o.noslip_iterations),
            noslip_tolerance=unless(usual.noslip_tolerance, o.noslip_tolerance),
            density=unless(still.density, fluid.density),
            viscosity=unless(still.viscosity, fluid.viscosity),
            wind=unless(still.wind, fluid.wind),
        )
        flags = {**dict.fromkeys(sorted(o.disabled), "disable"), **dict.fromkeys(sorted(o.enabled), "enable")}
        if flags:
            child(option, "flag", **flags)

    def _sensor(self, record: SensorRecord) -> None:
        kind = record.kind
        several_rays = kind == "rangefinder" and record.size > 1
        if kind in _UNSAID or several_rays or "camera" in (record.object_kind, record.reference_kind):
            found = f"a sensor of kind {kind}, whose parameters or objects have no records"
            self.remarks.lost("sensor", record.name, found, False)
            return
        for thing, name in ((record.object_kind, record.object_name), (record.reference_kind, record.reference_name)):
            if thing in self._written and name not in self._written[thing]:
                self.remarks.lost("sensor", record.name, f"its {thing} {name!r}, which the text does not have", False)
                return
        site_of = self.bodies.site_of
        one = site_of(record.object_name) if record.object_kind == "site" else record.object_name
        two = site_of(record.reference_name) if record.reference_kind == "site" else record.reference_name
        objects: dict[str, object] = {}
        if kind.startswith("frame"):
            objects = {"objtype": record.object_kind, "objname": one}
            if two:
                objects |= {"reftype": record.reference_kind, "refname": two}
        elif kind == "insidesite":
            objects = {"site": two, "objtype": record.object_kind, "objname": one}
        elif kind in ("distance", "normal", "fromto"):
            objects = {f"{record.object_kind}1": one, f"{record.reference_kind}2": two}
        elif one:
            objects = {record.object_kind: one}
        size = {"cutoff": unless(0, record.cutoff), "noise": unless(0, record.noise)}
        child(self.sections["sensor"], kind, name=record.name, **objects, **size)

    @cached_property
    def _written(self) -> dict[str, set[str | None]]:
        """By the kind of thing that a sensor may be on: the names in the text; sites are made where they are needed."""
        things: dict[str, Iterator[Element]] = {
            kind: self.sections["worldbody"].iter(kind) for kind in ("body", "joint", "geom")
        }
        things |= {kind: iter(self.sections[kind]) for kind in ("tendon", "actuator")}
        names = {kind: {element.get("name") for element in elements} for kind, elements in things.items()}
        names["body"].add(WORLD)
        return names | {"xbody": names["body"]}

    def _keyframe(self, record: KeyframeRecord) -> None:
        moves = list(self.bodies.joints.names)
        actuators = self.model.description.actuators
        driven, active = (
            [actuator.name in self._written["actuator"] for actuator in some]
            for some in (actuators, [actuator for actuator in actuators if actuator.dynamics is not None])
        )
        q = record.q or [x for body in self.model.bodies for x in body.record.home or body.joint.neutral()]
        child(
            self.sections["keyframe"],
            "key",
            name=record.name,
            time=unless(0, record.time),
            qpos=[x for move in moves for x in _position(move, q)] if record.q else None,
            qvel=[x for move in moves for x in _velocity(move, q, record.v)] if record.v else None,
            act=tuple(compress(record.activation, active)) or None,
            ctrl=tuple(compress(record.control, driven)) or None,
        )

    def _report_order(self) -> None:
        moves = list(self.bodies.joints.names)
        places = [move.body.index for move in moves]
        if places != sorted(places):
            found, done = "not in the order of the tree, branch by branch", "MuJoCo orders q and v so"
            self.remarks.add(Severity.NOTE, "joints", "", found, done)

    def _report_drag(self) -> None:
        """MuJoCo takes the box that has a body's inertia for what the fluid meets."""
        fluid = self.model.description.fluid
        if not (fluid.density or fluid.viscosity):
            return
        for body in self.model.bodies:
            if body.inertia.mass > 0 and not _is_its_box(body):
                found, done = "a drag of its own in the fluid", "MuJoCo takes that of the box with its inertia"
                self.remarks.add(Severity.PHYSICS, "body", body.name, found, done)


_UNSAID = ("camprojection", "contact", "plugin", "tactile", "user")


def _position(move: Move, q: Scalars) -> tuple[Scalar, ...]:
    """A joint's part of a configuration, as MuJoCo has it: a free joint's is the pose in the world, position first."""
    own = move.configuration(q[move.body.qs])
    if not isinstance(move.joint, Free):
        return own
    if move.before != IDENTITY:
        X = compose(move.before, move.joint.transform(own))
        own = (*X.quaternion().normalized(), *X.position)
    return (*own[4:], *own[:4])


def _velocity(move: Move, q: Scalars, v: Scalars) -> tuple[Scalar, ...]:
    """A joint's part of a velocity, as MuJoCo has it: a free joint's is linear in the world, then angular."""
    own = move.per_freedom(v[move.body.dofs])
    if not isinstance(move.joint, Free):
        return own
    R = move.before.rotation @ Quaternion(*move.configuration(q[move.body.qs])[:4]).rotation()
    return (*(R @ Vec3(*own[3:])), *own[:3])


def _is_its_box(body: Body) -> bool:
    """Whether the fluid meets the box that would have the body's mass and inertia."""
    if len(body.record.drag) != 1:
        return False
    (drag,) = body.record.drag
    try:
        box = drag.placement @ Box(drag.x, drag.y, drag.z, mass=body.inertia.mass).inertia()
    except GeometryError:  # a side of zero, which MuJoCo's box never has
        return False
    pairs = zip(box.parameters(), body.inertia.parameters(), strict=True)
    return all(abs(x - y) <= 1e-9 * max(map(abs, body.inertia.parameters())) for x, y in pairs)
