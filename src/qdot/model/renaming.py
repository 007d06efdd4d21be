"""A description with a prefix before all its names, hung at a pose on a body of another mechanism."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from qdot.description import (
    WORLD,
    ActuatorRecord,
    BushingRecord,
    CouplingRecord,
    Description,
    FrameRecord,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
    SensorRecord,
    ShapeRecord,
    TendonRecord,
)
from qdot.description.constraints import ConstraintRecord
from qdot.description.leaves import leaves_of
from qdot.spatial import Transform

Holds = TypeVar("Holds", bound=ConstraintRecord | BushingRecord)

REFERENCES: dict[type, tuple[str, ...]] = {
    OnJoint: ("joint",),
    OnTendon: ("tendon",),
    OnFrame: ("frame", "reference"),
    OnSliderCrank: ("crank", "slider"),
    OnContacts: ("body",),
}
"""The fields of a transmission that are names."""


def hung(other: Description, host: str, X: Transform, prefix: str) -> Description:
    """The records of `other` as they are on body `host`, at pose X of its world, with a prefix before their names.

    What was held to the world of `other` is held to a new frame, prefix + "base".
    """
    base = prefix + "base"

    def body(name: str) -> str:
        return host if name == WORLD else prefix + name

    def frame(name: str) -> str:
        return base if name == WORLD else prefix + name

    bodies = tuple(
        replace(
            b,
            name=prefix + b.name,
            joint_name=prefix + b.joint_name,
            parent=body(b.parent),
            placement=X @ b.placement if b.parent == WORLD else b.placement,
            shapes=tuple(_shape(s, prefix) for s in b.shapes),
        )
        for b in other.bodies
    )
    frames = tuple(
        replace(
            f,
            name=prefix + f.name,
            body=body(f.body),
            placement=X @ f.placement if f.body == WORLD else f.placement,
        )
        for f in other.frames
    )
    loops = tuple(
        replace(c, name=prefix + c.name, predecessor=frame(c.predecessor), successor=frame(c.successor))
        for c in other.loops
    )
    constraints = tuple(_held(c, prefix, frame) for c in other.constraints)
    bushings = tuple(_held(b, prefix, frame) for b in other.bushings)
    tendons = tuple(_tendon(t, prefix, frame) for t in other.tendons)
    actuators = tuple(_actuator(a, prefix, body, frame) for a in other.actuators)
    sensors = tuple(_sensor(s, prefix, body) for s in other.sensors)
    grounded = base in leaves_of((loops, constraints, tendons, actuators, bushings))
    return replace(
        other,
        bodies=bodies,
        frames=(*frames, FrameRecord(base, host, X)) if grounded else frames,
        loops=loops,
        world_shapes=tuple(replace(_shape(s, prefix), shape=s.shape.at(X)) for s in other.world_shapes),
        constraints=constraints,
        tendons=tendons,
        actuators=actuators,
        bushings=bushings,
        pairs=tuple(
            replace(p, name=prefix + p.name, shape1=prefix + p.shape1, shape2=prefix + p.shape2) for p in other.pairs
        ),
        exclusions=tuple(
            replace(e, name=prefix + e.name, body1=body(e.body1), body2=body(e.body2)) for e in other.exclusions
        ),
        sensors=sensors,
        keyframes=tuple(replace(k, name=prefix + k.name) for k in other.keyframes),
    )


def _shape(record: ShapeRecord, prefix: str) -> ShapeRecord:
    return replace(record, name=prefix + record.name) if record.name else record


def _held(record: Holds, prefix: str, frame: Any) -> Holds:
    if isinstance(record, CouplingRecord):
        driver = None if record.driver is None else prefix + record.driver
        return replace(record, name=prefix + record.name, follower=prefix + record.follower, driver=driver)
    return replace(record, name=prefix + record.name, frame1=frame(record.frame1), frame2=frame(record.frame2))


def _tendon(record: TendonRecord, prefix: str, frame: Any) -> TendonRecord:
    def moved(element: Any) -> Any:
        if hasattr(element, "joint"):
            return replace(element, joint=prefix + element.joint)
        if not hasattr(element, "frame"):
            return element
        changed = replace(element, frame=frame(element.frame))
        side = getattr(element, "side", None)
        return changed if side is None else replace(changed, side=frame(side))

    return replace(record, name=prefix + record.name, path=tuple(moved(e) for e in record.path))


def _actuator(record: ActuatorRecord, prefix: str, body: Any, frame: Any) -> ActuatorRecord:
    drive = record.transmission
    kinds = {OnContacts: body, OnFrame: frame, OnSliderCrank: frame}
    renamed = kinds.get(type(drive), partial(_prefixed, prefix))
    names = {k: getattr(drive, k) for k in REFERENCES[type(drive)]}
    changed: Any = {k: None if name is None else renamed(name) for k, name in names.items()}
    return replace(record, name=prefix + record.name, transmission=replace(drive, **changed))


def _sensor(record: SensorRecord, prefix: str, body: Any) -> SensorRecord:
    seen, reference = (body(name) if name else "" for name in (record.object_name, record.reference_name))
    return replace(record, name=prefix + record.name, object_name=seen, reference_name=reference)


def _prefixed(prefix: str, name: str) -> str:
    return prefix + name
