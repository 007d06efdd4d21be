"""What becomes of tendons, couplings, actuators and keyframes when a joint is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qdot.algebra import Scalar
from qdot.description import (
    ActuatorRecord,
    CouplingRecord,
    Description,
    Item,
    OnJoint,
    OnTendon,
    Report,
    SensorRecord,
    Severity,
    TendonRecord,
    Weighted,
)
from qdot.description.constraints import ConstraintRecord
from qdot.errors import ModelError
from qdot.joints import Fixed
from qdot.model.model import Body, Model


def locked(model: Model, body: Body, q: Sequence[Scalar]) -> Description:
    """The description with the joint of a body held at configuration q.

    A fixed tendon over it gets a constant part; one that ran over it alone, and actuators that drove it, are gone, and
    the report says so. A coupling with it holds the other joint.
    """
    old, joint = model.description, body.joint_name
    held = replace(
        body.record,
        joint=Fixed(),
        placement=body.placement @ body.joint.transform(q),
        passive=type(body.record.passive)(),
        home=(),
        drive_range=None,
    )
    tendons = tuple(_over(t, joint, q) for t in old.tendons)
    gone = {t.name for t in tendons if not t.path}
    actuators = tuple(a for a in old.actuators if not _drives(a, joint, gone))
    constraints = (_coupled(c, joint, q, gone, model.name) for c in old.constraints)
    lost = [f"tendon {name!r}" for name in sorted(gone)]
    lost += [f"actuator {a.name!r}" for a in old.actuators if a not in actuators]
    driven = {a.name for a in actuators}
    blind = {s.name for s in old.sensors if _is_blind(s, joint, gone, driven)}
    lost += [f"sensor {name!r}" for name in sorted(blind)]
    items = tuple(Item(Severity.NOTE, what, f"joint {joint!r} is locked", "removed with it") for what in lost)
    shortened = replace(
        old,
        bodies=tuple(held if b.name == body.name else b for b in old.bodies),
        tendons=tuple(t for t in tendons if t.path),
        actuators=actuators,
        constraints=tuple(c for c in constraints if c is not None),
        sensors=tuple(s for s in old.sensors if s.name not in blind),
        report=old.report + Report(items),
    )
    return _with_shorter_keyframes(shortened, model, body)


def _over(tendon: TendonRecord, joint: str, q: Sequence[Scalar]) -> TendonRecord:
    terms = [e for e in tendon.path if isinstance(e, Weighted) and e.joint == joint]
    if not terms:
        return tendon
    path = tuple(e for e in tendon.path if e not in terms)
    return replace(tendon, path=path, offset=tendon.offset + sum(e.coefficient for e in terms) * q[0])


def _drives(actuator: ActuatorRecord, joint: str, tendons: set[str]) -> bool:
    drive = actuator.transmission
    return (isinstance(drive, OnJoint) and drive.joint == joint) or (
        isinstance(drive, OnTendon) and drive.tendon in tendons
    )


def _is_blind(sensor: SensorRecord, joint: str, tendons: set[str], driven: set[str]) -> bool:
    """Whether what a sensor is on has gone, or cannot move any more."""
    name = sensor.object_name
    gone = {"joint": name == joint, "tendon": name in tendons, "actuator": name not in driven}
    return gone.get(sensor.object_kind, False)


def _coupled(
    record: ConstraintRecord, joint: str, q: Sequence[Scalar], gone: set[str], model: str
) -> ConstraintRecord | None:
    """The constraint with the joint held: none where it holds nothing any more."""
    if not isinstance(record, CouplingRecord):
        return record
    if record.tendons:
        return None if record.follower in gone or record.driver in gone else record
    if record.driver == joint:
        x, total = q[0] - record.reference[1], record.coefficients[-1]
        for a in reversed(record.coefficients[:-1]):
            total = total * x + a
        return replace(record, driver=None, coefficients=(total,))
    if record.follower != joint:
        return record
    if record.driver is None:
        return None
    a = (*record.coefficients, 0, 0)
    if any(a[2:]) or a[1] == 0:
        raise ModelError(
            f"model {model!r}: joint {joint!r} follows {record.driver!r} by a polynomial (constraint {record.name!r}); "
            f"lock {record.driver!r} instead, or both"
        )
    y0, x0 = record.reference
    return replace(
        record, follower=record.driver, driver=None, reference=(0, 0), coefficients=(x0 + (q[0] - y0 - a[0]) / a[1],)
    )


def _with_shorter_keyframes(new: Description, model: Model, body: Body) -> Description:
    """Keyframes without the entries of the joint, and of actuators that are gone."""
    old = model.description
    kept = [k for k, a in enumerate(old.actuators) if a in new.actuators]
    dynamic = [a for a in old.actuators if a.dynamics is not None]
    active = [k for k, a in enumerate(dynamic) if a in new.actuators]

    def without(row: tuple[Scalar, ...], place: slice) -> tuple[Scalar, ...]:
        return row[: place.start] + row[place.stop :]

    keyframes = tuple(
        replace(
            k,
            q=without(k.q, body.qs),
            v=without(k.v, body.dofs),
            control=tuple(k.control[i] for i in kept if k.control),
            activation=tuple(k.activation[i] for i in active if k.activation),
        )
        for k in old.keyframes
    )
    return replace(new, keyframes=keyframes)
