"""Tendons and actuators of a model as MuJoCo's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import nextafter
from xml.etree.ElementTree import Element

from qdot.algebra import Scalar
from qdot.description import (
    WORLD,
    ActuatorRecord,
    Affine,
    BushingRecord,
    Contact,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
    Pulley,
    Severity,
    ShapeRecord,
    TendonRecord,
    Via,
    Weighted,
    Wrap,
)
from qdot.formats.mesh_writer import bare
from qdot.formats.mjcf_writer_bodies import Bodies, frames_named
from qdot.formats.mjcf_writer_shapes import interval, soft
from qdot.formats.written import Names, Remarks, child, unless
from qdot.geometry import Cylinder, Sphere
from qdot.joints import Free
from qdot.model.model import Model
from qdot.spatial import IDENTITY


class Wraps:
    """The geoms that tendons wind round: MuJoCo has a geom where qdot has a frame and a radius.

    `shapes` are those of each body, with names and additions where tendons need them; `frames` are those to be written
    as sites: not the ones that are there only for tendons to wind round, which a reader finds at the geoms again.
    """

    def __init__(self, model: Model, remarks: Remarks) -> None:
        self.model = model
        d = model.description
        self.shapes = {body.name: list(body.record.shapes) for body in model.bodies}
        self.shapes[WORLD] = list(d.world_shapes)
        self._names = Names(shape.name for shapes in self.shapes.values() for shape in shapes)
        self._geoms: dict[tuple[str, Scalar, bool], str] = {}
        elements = [element for tendon in d.tendons for element in tendon.path]
        for element in elements:
            if isinstance(element, Wrap):
                self._find(element, remarks)
        wound = {element.frame for element in elements if isinstance(element, Wrap)}
        needed = frames_named(d, wound=False)
        self.frames = [f for f in d.frames if f.name not in wound or f.name in needed or f.region is not None]

    def geom(self, element: Wrap) -> str:
        return self._geoms[element.frame, element.radius, element.cylinder]

    def _find(self, element: Wrap, remarks: Remarks) -> None:
        """A geom at the frame with the radius: one that is there already, or a new one."""
        key = (element.frame, element.radius, element.cylinder)
        if key in self._geoms:
            return
        frame = self.model.frame(element.frame)
        shapes = self.shapes[WORLD if frame.body == 0 else self.model.bodies[frame.body - 1].name]
        kind = Cylinder if element.cylinder else Sphere
        for k, record in enumerate(shapes):
            shape, pose = bare(record.shape)
            if isinstance(shape, kind) and shape.radius == element.radius and pose == frame.placement:
                shapes[k] = record if record.name else replace(record, name=self._names.free(element.frame))
                self._geoms[key] = shapes[k].name
                return
        solid = Cylinder(element.radius, 2 * element.radius) if element.cylinder else Sphere(element.radius)
        name = self._names.free(element.frame)
        shapes.append(ShapeRecord(solid.at(frame.placement), collision=False, name=name, contact=Contact(0, 0)))
        self._geoms[key] = name
        remarks.add(Severity.NOTE, "frame", element.frame, "a tendon winds round it", "added a geom for that")


class Forces:
    """Writes tendons and actuators."""

    def __init__(self, tendon: Element, actuator: Element, bodies: Bodies, wraps: Wraps, remarks: Remarks) -> None:
        self.tendon, self.actuator = tendon, actuator
        self.bodies, self.wraps, self.remarks = bodies, wraps, remarks
        self.model = bodies.model
        self._offsets = {t.name: t.offset for t in self.model.description.tendons}
        self._tendons = Names(self._offsets)

    def add_tendon(self, record: TendonRecord) -> None:
        """A tendon; MuJoCo's length has no offset, so that its ranges are moved instead."""
        winds = any(isinstance(element, Wrap) for element in record.path)
        if winds and record.armature:
            found = "armature of a tendon that winds round something, which MuJoCo refuses"
            self.remarks.lost("tendon", record.name, found)
        low, high = (x - record.offset for x in record.rest)
        if (low, high) == (-1, -1):
            high = nextafter(-1.0, 0.0)  # two times -1 means the length at home
        element = child(
            self.tendon,
            "fixed" if record.fixed else "spatial",
            name=record.name,
            stiffness=unless(0, record.stiffness),
            damping=unless(0, record.damping),
            springlength=(low, high) if record.stiffness else None,
            frictionloss=unless(0, record.friction),
            armature=None if winds else unless(0, record.armature),
            limited=record.range and True,
            range=interval(record.range and (record.range[0] - record.offset, record.range[1] - record.offset)),
            margin=unless(0, record.margin),
            actuatorfrclimited=record.force_range and True,
            actuatorfrcrange=interval(record.force_range),
            width=None if record.fixed else record.width,
            rgba=None if record.fixed else record.color,
            **soft(record.limit_softness, "solreflimit", "solimplimit"),
            **soft(record.friction_softness, "solreffriction", "solimpfriction"),
        )
        for part in record.path:
            match part:
                case Weighted():
                    child(element, "joint", joint=part.joint, coef=part.coefficient)
                case Via():
                    child(element, "site", site=self.bodies.site_of(part.frame))
                case Pulley():
                    child(element, "pulley", divisor=part.divisor)
                case Wrap():
                    side = None if part.side is None else self.bodies.site_of(part.side)
                    child(element, "geom", geom=self.wraps.geom(part), sidesite=side)

    def add_string(self, wanted: str, sites: Iterable[str]) -> str:
        """A tendon through sites, without forces of its own; returns its name."""
        name = self._tendons.free(wanted)
        element = child(self.tendon, "spatial", name=name)
        for site in sites:
            child(element, "site", site=site)
        return name

    def report_bushing(self, record: BushingRecord) -> None:
        self.remarks.lost("bushing", record.name, "springs that hold a pose, which MuJoCo does not have")

    def add_actuator(self, record: ActuatorRecord) -> None:
        where = self._transmission(record)
        if where is None:
            return
        gain, bias = self._settled(record, record.gain), self._settled(record, record.bias)
        affine = bool(gain.length or gain.velocity)
        dynamics = record.dynamics
        child(
            self.actuator,
            "general",
            name=record.name,
            **where,
            gaintype="affine" if affine else "fixed",
            gainprm=(gain.constant, gain.length, gain.velocity) if affine else (gain.constant,),
            biastype="none" if bias == Affine() else "affine",
            biasprm=None if bias == Affine() else (bias.constant, bias.length, bias.velocity),
            dyntype=dynamics and dynamics.kind,
            dynprm=dynamics and (dynamics.time,),
            actlimited=dynamics and dynamics.range and True,
            actrange=dynamics and interval(dynamics.range),
            actearly=dynamics and unless(False, dynamics.early),
            ctrllimited=record.control_range and True,
            ctrlrange=interval(record.control_range),
            forcelimited=record.force_range and True,
            forcerange=interval(record.force_range),
            group=unless(0, record.group),
        )

    def _settled(self, record: ActuatorRecord, law: Affine) -> Affine:
        """A law of the tendon's length without its offset: l of qdot is l of MuJoCo + gear · offset."""
        on = record.transmission
        offset = self._offsets[on.tendon] * on.gear if isinstance(on, OnTendon) else 0
        return replace(law, constant=law.constant + law.length * offset) if offset else law

    def _transmission(self, record: ActuatorRecord) -> dict[str, object] | None:
        on, site = record.transmission, self.bodies.site_of
        match on:
            case OnJoint():
                return self._at_joint(record.name, on)
            case OnTendon():
                return {"tendon": on.tendon, "gear": (on.gear,)}
            case OnFrame(reference=None):
                return {"site": site(on.frame), "gear": on.gear}
            case OnFrame():
                return {"site": site(on.frame), "refsite": site(str(on.reference)), "gear": on.gear}
            case OnSliderCrank():
                crank, slider = site(on.crank), site(on.slider)
                return {"cranksite": crank, "slidersite": slider, "cranklength": on.rod, "gear": (on.gear,)}
            case OnContacts():
                return {"body": on.body, "gear": (on.gear,)}

    def _at_joint(self, name: str, on: OnJoint) -> dict[str, object] | None:
        """At a joint that MuJoCo has as several, a tendon of them: l = Σ gear · q."""
        body = self.model.joint(on.joint)
        moves = [move for move in self.bodies.joints.names if move.body is body]
        if len(moves) == 1:
            if isinstance(moves[0].joint, Free) and moves[0].before.rotation != IDENTITY.rotation:
                self.remarks.lost("actuator", name, "at a free joint whose axes are not the world's")
                return None
            return {"jointinparent" if on.in_parent else "joint": on.joint, "gear": on.gear}
        tendon = self._tendons.free(name)
        element = child(self.tendon, "fixed", name=tendon)
        for move in moves:
            child(element, "joint", joint=self.bodies.joints.names[move], coef=on.gear[move.v0])
        done = f"wrote it at a tendon of them, {tendon!r}"
        self.remarks.add(Severity.NOTE, "actuator", name, "at a joint that MuJoCo has as several", done)
        return {"tendon": tendon, "gear": (1,)}
