"""From a description to a frozen model: check everything, number the bodies, fill in defaults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isfinite
from types import MappingProxyType
from typing import Any

from qdot.algebra import Scalar, is_number, scalars_in
from qdot.description import WORLD, BodyRecord, Description, Passive
from qdot.description.builder import Mechanism
from qdot.errors import JointError, ModelError, UnknownNameError
from qdot.model.model import Body, Frame, Model
from qdot.model.tree import root_first
from qdot.spatial import Transform, check_physical, rotation_error

ROTATION_TOLERANCE = 1e-6


def assemble(source: Mechanism | Description) -> Model:
    """The model of a mechanism: bodies numbered from the root to the leaves, every record checked."""
    description = source.description() if isinstance(source, Mechanism) else source
    if not isinstance(description, Description):
        raise ModelError(f"assemble takes a qdot.Mechanism or a Description, got {source!r}")
    where = f"mechanism {description.name!r}"
    _finite(description.gravity, f"{where}: its gravity")
    _unique(
        (b.name for b in description.bodies), (f.name for f in description.frames), where=where, kind="bodies or frames"
    )
    _unique((b.joint_name for b in description.bodies), (c.name for c in description.loops), where=where, kind="joints")
    records = {body.name: body for body in description.bodies}
    order = root_first({name: body.parent for name, body in records.items()}, WORLD, where)
    for record in description.bodies:
        _check_body(record, where, description.allow_unphysical)
    bodies = tuple(_numbered([records[name] for name in order], where))
    frames = _frames(description, bodies, where)
    for loop in description.loops:
        for end in (loop.predecessor, loop.successor):
            if end not in frames:
                raise UnknownNameError("frame or body", end, frames, f"{where}: loop joint {loop.name!r}")
    return Model(description, bodies, MappingProxyType(frames))


def _numbered(records: list[BodyRecord], where: str) -> Iterable[Body]:
    index = {WORLD: 0}
    q = v = 0
    for record in records:
        index[record.name] = len(index)
        joint = record.joint
        yield Body(
            index[record.name],
            index[record.parent],
            slice(q, q + joint.nq),
            slice(v, v + joint.nv),
            _filled(record, where),
            record,
        )
        q, v = q + joint.nq, v + joint.nv


def _frames(description: Description, bodies: tuple[Body, ...], where: str) -> dict[str, Frame]:
    index = {WORLD: 0, **{body.name: body.index for body in bodies}}
    frames = {name: Frame(name, i, Transform.identity()) for name, i in index.items()}
    for record in description.frames:
        if record.body not in index:
            raise UnknownNameError("body", record.body, index, f"{where}: frame {record.name!r}")
        _check_pose(record.placement, f"{where}: frame {record.name!r}")
        frames[record.name] = Frame(record.name, index[record.body], record.placement)
    return frames


def _check_body(record: BodyRecord, where: str, allow_unphysical: bool) -> None:
    what = f"{where}: body {record.name!r}"
    _check_pose(record.placement, what)
    _finite(record.inertia, f"{what}: its inertia")
    if not allow_unphysical:
        check_physical(record.inertia, what)


def _filled(record: BodyRecord, where: str) -> Passive:
    """A joint's passive values, one for each freedom, zero where nothing was said."""
    joint, given = record.joint, record.passive
    what = f"{where}: joint {record.joint_name!r}"
    rows: dict[str, tuple[Scalar, ...]] = {}
    for name in ("armature", "damping", "friction", "stiffness"):
        row = getattr(given, name) or (0,) * joint.nv
        if len(row) != joint.nv:
            raise JointError(f"{what}: {joint.nv} values of {name} expected, one for each freedom, got {len(row)}")
        for x in row:
            if is_number(x) and not (isfinite(x) and x >= 0):
                raise JointError(f"{what}: {name} is {x}; it must be zero or positive")
        rows[name] = tuple(row)
    rest = given.rest or tuple(joint.neutral())
    if len(rest) != joint.nq:
        raise JointError(f"{what}: the rest configuration of its spring has {joint.nq} numbers, got {len(rest)}")
    _finite(rest, f"{what}: the rest configuration of its spring")
    return replace(given, rest=rest, **rows)


def _check_pose(placement: Transform, what: str) -> None:
    _finite(placement, f"{what}: its placement")
    error = rotation_error(placement.rotation)
    if error > ROTATION_TOLERANCE:
        cause = "mirrors space" if error == 2.0 else f"is off by {error:.1e}"
        raise ModelError(
            f"{what}: the rotation of its placement is not a rotation matrix ({cause}); its columns must be a "
            "right-handed set of unit vectors: make it with Transform.about, Transform.rpy or a unit Quaternion"
        )


def _finite(value: Any, what: str) -> None:
    for x in scalars_in(value):
        if is_number(x) and not isfinite(x):
            raise ModelError(f"{what} has an entry that is not a finite number: {x}")


def _unique(*names: Iterable[str], where: str, kind: str) -> None:
    seen = {WORLD}
    for group in names:
        for name in group:
            if name in seen:
                raise ModelError(f"{where}: two {kind} are named {name!r}; give one another name")
            seen.add(name)
