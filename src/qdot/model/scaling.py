"""A description of the same mechanism, larger or smaller: lengths × s, masses × s³, inertias × s⁵."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qdot.algebra import Scalar
from qdot.description import (
    ActuatorRecord,
    BodyRecord,
    ConnectRecord,
    CouplingRecord,
    Description,
    DistanceRecord,
    DragBox,
    KeyframeRecord,
    OnSliderCrank,
    TendonRecord,
    Weighted,
    Wrap,
)
from qdot.description.constraints import ConstraintRecord
from qdot.joints import Joint
from qdot.model.model import Body, Model
from qdot.spatial import Inertia, Transform


def scaled(model: Model, s: Scalar) -> Description:
    """All lengths times s, of bodies of the same stuff."""
    old = model.description
    joints = {b.joint_name: b.joint for b in old.bodies}
    return replace(
        old,
        bodies=tuple(_body(b, s) for b in old.bodies),
        frames=tuple(replace(f, placement=_pose(f.placement, s), region=_shape(f.region, s)) for f in old.frames),
        loops=tuple(replace(c, joint=c.joint.scaled(s)) for c in old.loops),
        world_shapes=tuple(_shape(x, s) for x in old.world_shapes),
        constraints=tuple(_constraint(c, s, joints) for c in old.constraints),
        tendons=tuple(_tendon(t, s, joints) for t in old.tendons),
        actuators=tuple(_actuator(a, s) for a in old.actuators),
        bushings=tuple(replace(b, rest=_pose(b.rest, s)) for b in old.bushings),
        pairs=tuple(replace(p, margin=p.margin * s, gap=p.gap * s) for p in old.pairs),
        keyframes=tuple(_keyframe(k, s, model.bodies) for k in old.keyframes),
    )


def _body(b: BodyRecord, s: Scalar) -> BodyRecord:
    I = b.inertia
    return replace(
        b,
        joint=b.joint.scaled(s),
        placement=_pose(b.placement, s),
        frame=_pose(b.frame, s),
        inertia=Inertia(I.mass * s**3, I.moment * s**4, I.rotational * s**5),
        shapes=tuple(_shape(x, s) for x in b.shapes),
        home=tuple(b.joint.stretched(b.home, s)) if b.home else (),
        passive=replace(b.passive, rest=tuple(b.joint.stretched(b.passive.rest, s)) if b.passive.rest else ()),
        softness=replace(b.softness, margin=b.softness.margin * (_unit(b.joint, s) if b.joint.nv == 1 else 1)),
        drag=tuple(DragBox(_pose(d.placement, s), d.x * s, d.y * s, d.z * s) for d in b.drag),
    )


def _constraint(c: ConstraintRecord, s: Scalar, joints: Mapping[str, Joint]) -> ConstraintRecord:
    if isinstance(c, CouplingRecord):
        y = s if c.tendons else _unit(joints[c.follower], s)
        x = s if c.tendons else 1 if c.driver is None else _unit(joints[c.driver], s)
        coefficients = tuple(a * y / x**k for k, a in enumerate(c.coefficients))
        return replace(c, coefficients=coefficients, reference=(c.reference[0] * y, c.reference[1] * x))
    if isinstance(c, ConnectRecord):
        return replace(c, point1=c.point1 * s, point2=c.point2 * s)
    if isinstance(c, DistanceRecord):
        return replace(c, point1=c.point1 * s, point2=c.point2 * s, length=c.length * s)
    return replace(c, placement1=_pose(c.placement1, s), point2=c.point2 * s)


def _tendon(t: TendonRecord, s: Scalar, joints: Mapping[str, Joint]) -> TendonRecord:
    def element(e: Any) -> Any:
        if isinstance(e, Weighted):  # what multiplies an angle is an arm; slides grow by themselves
            return replace(e, coefficient=e.coefficient * s / _unit(joints[e.joint], s))
        return replace(e, radius=e.radius * s) if isinstance(e, Wrap) else e

    return replace(
        t,
        path=tuple(element(e) for e in t.path),
        rest=(t.rest[0] * s, t.rest[1] * s),
        offset=t.offset * s,
        range=None if t.range is None else (t.range[0] * s, t.range[1] * s),
        margin=t.margin * s,
        width=t.width * s,
    )


def _actuator(a: ActuatorRecord, s: Scalar) -> ActuatorRecord:
    drive = a.transmission
    return replace(a, transmission=replace(drive, rod=drive.rod * s)) if isinstance(drive, OnSliderCrank) else a


def _keyframe(k: KeyframeRecord, s: Scalar, bodies: tuple[Body, ...]) -> KeyframeRecord:
    if not k.q:
        return k
    return replace(k, q=tuple(x for b in bodies for x in b.joint.stretched(k.q[b.qs], s)))


def _unit(joint: Joint, s: Scalar) -> Scalar:
    """What the coordinate of a joint of one freedom is multiplied by: s for a slide, 1 for a turn."""
    return joint.stretched([1], s)[0]


def _shape(record: Any, s: Scalar) -> Any:
    if record is None:
        return None
    contact = replace(record.contact, margin=record.contact.margin * s, gap=record.contact.gap * s)
    return replace(record, shape=record.shape.scaled(s), contact=contact)


def _pose(X: Transform, s: Scalar) -> Transform:
    return replace(X, position=X.position * s)
