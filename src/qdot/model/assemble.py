"""From a description to a frozen model: check everything, number the bodies, fill in defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, isfinite
from types import MappingProxyType
from typing import Any

from qdot.algebra import Scalar, is_number, scalar_problem, scalars_in
from qdot.description import WORLD, ActuatorRecord, BodyRecord, Description, KeyframeRecord, LoopRecord, Passive
from qdot.description.builder import Mechanism
from qdot.errors import JointError, ModelError, UnknownNameError
from qdot.joints import Joint
from qdot.model.model import Body, Frame, Model
from qdot.model.references import References, check_pose
from qdot.model.tree import root_first
from qdot.model.vectors import UNIT_TOLERANCE
from qdot.spatial import Inertia, Transform, check_physical, surely_physical


def assemble(source: Mechanism | Description) -> Model:
    """The model of a mechanism: bodies numbered from the root to the leaves, every record checked."""
    description = source.description() if isinstance(source, Mechanism) else source
    if not isinstance(description, Description):
        raise ModelError(f"assemble takes a qdot.Mechanism or a Description, got {source!r}")
    return assembled(description)


def assembled(description: Description, *, inertias_settled: bool = False) -> Model:
    """The model of a description, in which somebody may have looked at all inertias already."""
    where = f"mechanism {description.name!r}"
    _scalars(description.gravity, f"{where}: its gravity")
    for record in description.bodies:
        _check_body(record, where)
        if not inertias_settled:
            _check_inertia(record, where, description.allow_unphysical)
    _names([b.name for b in description.bodies] + [f.name for f in description.frames], where, "bodies or frames")
    _names([b.joint_name for b in description.bodies] + [c.name for c in description.loops], where, "joints")
    records = {body.name: body for body in description.bodies}
    order = root_first({name: body.parent for name, body in records.items()}, WORLD, where)
    bodies = tuple(_numbered([records[name] for name in order], where))
    frames = _frames(description, bodies, where)
    for loop in description.loops:
        _check_loop(loop, frames, where)
    References(description, frames, where).check()
    for keyframe in description.keyframes:
        _check_keyframe(keyframe, bodies, description.actuators, where)
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
    frames = {WORLD: Frame(WORLD, 0, Transform.identity())}
    frames |= {body.name: Frame(body.name, body.index, body.record.frame) for body in bodies}
    for record in description.frames:
        if not isinstance(record.body, str) or record.body not in index:
            raise UnknownNameError("body", record.body, index, f"{where}: frame {record.name!r}")
        check_pose(record.placement, f"{where}: frame {record.name!r}")
        frames[record.name] = Frame(record.name, index[record.body], record.placement)
    return frames


def _check_body(record: BodyRecord, where: str) -> None:
    what = f"{where}: body {record.name!r}"
    if not isinstance(record.joint, Joint):
        raise ModelError(f"{what}: its joint is one of qdot.joints, got {record.joint!r}")
    if not isinstance(record.parent, str):
        raise ModelError(f"{what}: its parent is the name of a body, got {record.parent!r}")
    check_pose(record.placement, what)
    check_pose(record.frame, what)
    if record.gravity_compensation != 0:
        _scalars([record.gravity_compensation], f"{what}: its gravity compensation")
    if record.home:
        _check_configuration(record.joint, record.home, f"{what}: the configuration it starts in")


def _check_inertia(record: BodyRecord, where: str, allow_unphysical: bool) -> None:
    what = f"{where}: body {record.name!r}"
    if not isinstance(record.inertia, Inertia):
        raise ModelError(f"{what}: its inertia is a qdot.spatial.Inertia, got {record.inertia!r}")
    if surely_physical(record.inertia):
        return
    _scalars(record.inertia, f"{what}: its inertia")
    if not allow_unphysical:
        check_physical(record.inertia, what)


def _check_loop(loop: LoopRecord, frames: Mapping[str, Frame], where: str) -> None:
    what = f"{where}: loop joint {loop.name!r}"
    if not isinstance(loop.joint, Joint):
        raise ModelError(f"{what} is one of qdot.joints, got {loop.joint!r}")
    for end in (loop.predecessor, loop.successor):
        if not isinstance(end, str) or end not in frames:
            raise UnknownNameError("frame or body", end, frames, what)
    if loop.predecessor == loop.successor:
        raise ModelError(f"{what} holds frame {loop.successor!r} to itself; give it two frames")


def _filled(record: BodyRecord, where: str) -> Passive:
    """A joint's passive values, one for each freedom, zero where nothing was said."""
    joint, given = record.joint, record.passive
    if given.rest:
        _check_configuration(joint, given.rest, f"{_joint(record, where)}: the rest configuration of its spring")
    none = (0,) * joint.nv
    return Passive(
        _row("armature", given.armature, record, where) if given.armature else none,
        _row("damping", given.damping, record, where) if given.damping else none,
        _row("friction", given.friction, record, where) if given.friction else none,
        _row("stiffness", given.stiffness, record, where) if given.stiffness else none,
        given.rest or tuple(joint.neutral()),
    )


def _row(name: str, row: tuple[Scalar, ...], record: BodyRecord, where: str) -> tuple[Scalar, ...]:
    nv = record.joint.nv
    if len(row) != nv:
        wanted = f"{nv} values of {name} expected, one for each freedom"
        raise JointError(f"{_joint(record, where)}: {wanted}, got {len(row)}")
    for x in row:
        if type(x) is float and 0 <= x < inf:  # as in files
            continue
        problem = scalar_problem(x) or ("it is negative" if is_number(x) and x < 0 else None)
        if problem is not None:
            raise JointError(f"{_joint(record, where)}: {name} must be zero or positive, got {x!r}: {problem}")
    return tuple(row)


def _joint(record: BodyRecord, where: str) -> str:
    """How messages call the joint of a body."""
    return f"{where}: joint {record.joint_name!r}"


def _check_configuration(joint: Joint, q: tuple[Scalar, ...], what: str) -> None:
    if len(q) != joint.nq:
        raise JointError(f"{what} has {joint.nq} numbers, got {len(q)}")
    if not all(type(x) is float and isfinite(x) for x in q):
        _scalars(list(q), what)
        if not all(is_number(x) for x in q):
            return
    try:
        near = joint.normalized(q)
    except ZeroDivisionError:
        near = [inf] * len(q)
    if any(abs(x - y) > UNIT_TOLERANCE for x, y in zip(q, near, strict=True)):
        raise JointError(f"{what}, {q}, has a quaternion that is not of unit length")


def _check_keyframe(
    record: KeyframeRecord, bodies: tuple[Body, ...], actuators: tuple[ActuatorRecord, ...], where: str
) -> None:
    sizes = {
        "q": sum(b.joint.nq for b in bodies),
        "v": sum(b.joint.nv for b in bodies),
        "control": len(actuators),
        "activation": sum(a.dynamics is not None for a in actuators),
    }
    for name, size in sizes.items():
        row = getattr(record, name)
        if row and len(row) != size:
            raise ModelError(f"{where}: keyframe {record.name!r}: {name} has {len(row)} numbers, the model {size}")


def _scalars(value: Any, what: str) -> None:
    for x in scalars_in(value):
        problem = scalar_problem(x)
        if problem is not None:
            raise ModelError(f"{what} has an entry that cannot be: {problem}")


def _names(names: Iterable[Any], where: str, kind: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError(f"{where}: {kind} have names that are strings, got {name!r}")
        if name == WORLD:
            raise ModelError(
                f"{where}: the name {WORLD!r} is the world's own; give the body, frame or joint another name"
            )
        if name in seen:
            raise ModelError(f"{where}: two {kind} are named {name!r}; give one another name")
        seen.add(name)
