"""Edits of a model. Each returns a new model; the one given is not changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qdot.algebra import Scalar, is_number, plain, scalar_problem
from qdot.description import (
    WORLD,
    BodyRecord,
    Description,
    Fluid,
    FrameRecord,
    Item,
    KeyframeRecord,
    OnContacts,
    Report,
    Severity,
)
from qdot.errors import InertiaError, ModelError
from qdot.model.assemble import assemble
from qdot.model.locking import locked
from qdot.model.model import Model, require_model
from qdot.model.renaming import hung
from qdot.model.scaling import scaled
from qdot.model.vectors import configuration_of
from qdot.spatial import Inertia, Transform

SMALL, LARGE = 1e-30, 1e30
"""Factors beyond these leave the range in which fifth powers are numbers."""

JOINED = (
    "bodies", "frames", "loops", "constraints", "tendons", "actuators", "bushings", "pairs", "exclusions", "sensors",
)  # fmt: skip
"""What the union of two models has of both."""

__all__ = ["attach", "lock", "scale", "weld", "with_inertia", "with_mass"]


def lock(model: Model, joint: str, q: Any = None) -> Model:
    """The joint held at configuration q (neutral if not given); its body keeps its name, and its wrench can be read.

    Actuators that drove it alone are removed, which the model's report says.
    """
    require_model(model, "lock")
    body = model.joint(joint)
    at = body.joint.neutral() if q is None else configuration_of(model, joint, q)
    return assemble(locked(model, body, at))


def weld(model: Model, body: str) -> Model:
    """A body on a fixed joint made part of its parent: their inertias add, its name stays as that of a frame."""
    require_model(model, "weld")
    welded = model.body(body)
    if welded.joint.nv != 0:
        raise ModelError(
            f"body {body!r} can move: joint {welded.joint_name!r} has {welded.joint.nv} freedoms; lock it first"
        )
    old = model.description
    record = welded.record
    X = record.placement @ record.joint.transform(())
    shapes = tuple(replace(s, shape=s.shape.at(X)) for s in record.shapes)
    boxes = tuple(replace(d, placement=X @ d.placement) for d in record.drag)

    def hosted(host: BodyRecord) -> BodyRecord:
        if record.inertia.mass != 0 and host.gravity_compensation != record.gravity_compensation:
            raise ModelError(
                f"body {body!r} and its parent {host.name!r} have different shares of their weight compensated; make "
                "them equal before they become one body"
            )
        return replace(
            host,
            inertia=host.inertia + X @ record.inertia,
            shapes=host.shapes + shapes,
            drag=host.drag + boxes,
        )

    def moved(other: BodyRecord) -> BodyRecord:
        if other.name == record.parent:
            return hosted(other)
        if other.parent == body:
            return replace(other, parent=record.parent, placement=X @ other.placement)
        return other

    def carried(frame: FrameRecord) -> FrameRecord:
        return replace(frame, body=record.parent, placement=X @ frame.placement) if frame.body == body else frame

    def renamed(name: str) -> str:
        return record.parent if name == body else name

    exclusions = (replace(e, body1=renamed(e.body1), body2=renamed(e.body2)) for e in old.exclusions)
    adhesive = {
        a.name: replace(a, transmission=replace(a.transmission, body=renamed(a.transmission.body)))
        for a in old.actuators
        if isinstance(a.transmission, OnContacts)
    }
    on_bodies = ("body", "xbody")
    lost = [
        s.name
        for s in old.sensors
        if (s.object_kind in on_bodies and s.object_name == body)
        or (s.reference_kind in on_bodies and s.reference_name == body)
    ]
    items = tuple(
        Item(Severity.NOTE, f"sensor {name!r}", f"body {body!r} is welded to {record.parent!r}", "removed with it")
        for name in lost
    )
    return assemble(
        replace(
            old,
            bodies=tuple(moved(b) for b in old.bodies if b.name != body),
            frames=(*(carried(f) for f in old.frames), FrameRecord(body, record.parent, X @ record.frame)),
            world_shapes=old.world_shapes + (shapes if record.parent == WORLD else ()),
            exclusions=tuple(e for e in exclusions if e.body1 != e.body2),
            actuators=tuple(adhesive.get(a.name, a) for a in old.actuators),
            sensors=tuple(s for s in old.sensors if s.name not in lost),
            report=old.report + Report(items),
        )
    )


def attach(model: Model, other: Model, *, to: str = WORLD, at: Any = None, prefix: str = "") -> Model:
    """Another model hung on a body or frame of this one; `prefix` goes before its names.

    Gravity, fluid and options stay this one's.
    """
    require_model(model, "attach")
    require_model(other, "attach")
    if not isinstance(prefix, str):
        raise ModelError(f"attach: the prefix of names is a string, got {prefix!r}")
    frame = model.frame(to)
    host = WORLD if frame.body == 0 else model.bodies[frame.body - 1].name
    X = frame.placement @ Transform.of(at)
    old = model.description
    new = hung(other.description, host, X, prefix)
    taken = {f.name for f in old.frames} | {b.name for b in old.bodies}
    twice = sorted(taken & ({b.name for b in new.bodies} | {f.name for f in new.frames}))
    if twice:
        raise ModelError(
            f"attach: both models have bodies or frames named {twice[0]!r}; give a prefix=, such as 'left_'"
        )
    merged = _with_shapes(old, host, new.world_shapes)
    joined = {key: getattr(merged, key) + getattr(new, key) for key in JOINED}
    return assemble(
        replace(
            merged,
            allow_unphysical=old.allow_unphysical or new.allow_unphysical,
            keyframes=_joint_keyframes(model, other, new.keyframes),
            report=old.report + new.report + _without_drag(old, new),
            **joined,
        )
    )


def _without_drag(host: Description, added: Description) -> Report:
    """What to say of bodies that come into a fluid without anything for it to meet."""
    dry = [b.name for b in added.bodies if b.inertia.mass != 0 and not b.drag]
    if host.fluid == Fluid() or not dry:
        return Report()
    found = f"{len(dry)} bodies, {dry[0]!r} the first, come into a fluid without drag boxes"
    return Report((Item(Severity.PHYSICS, "fluid", found, "it does not act on them; give them BodyRecord.drag"),))


def _joint_keyframes(model: Model, other: Model, added: tuple[KeyframeRecord, ...]) -> tuple[KeyframeRecord, ...]:
    """Keyframes of both models for their union: where one says nothing, it is at home, at rest, and not driven."""
    return tuple(_padded(k, model, before=None, after=other) for k in model.description.keyframes) + tuple(
        _padded(k, other, before=model, after=None) for k in added
    )


def _padded(k: KeyframeRecord, of: Model, *, before: Model | None, after: Model | None) -> KeyframeRecord:
    def row(given: tuple[Scalar, ...], absent: Callable[[Model], Any]) -> tuple[Scalar, ...]:
        own = given or tuple(absent(of))
        first, last = (() if m is None else tuple(absent(m)) for m in (before, after))
        return first + own + last

    return replace(
        k,
        q=row(k.q, Model.home),
        v=row(k.v, lambda m: (0.0,) * m.nv),
        activation=row(k.activation, lambda m: (0.0,) * m.na),
        control=row(k.control, lambda m: (0.0,) * m.nu),
    )


def scale(model: Model, factor: Scalar) -> Model:
    """The same mechanism of the same stuff, `factor` times as long: lengths × s, masses × s³, inertias × s⁵.

    Shapes, frames, offsets within joints, tendons and the limits of slides scale; drives, springs and friction are not
    bodies of that stuff and stay as they are.
    """
    require_model(model, "scale")
    factor = plain(factor)
    problem = "it is an array" if isinstance(factor, np.ndarray) else scalar_problem(factor)
    if problem is None and getattr(factor, "is_nonpositive", is_number(factor) and not SMALL < factor < LARGE):
        problem = f"it must be a positive number between {SMALL:g} and {LARGE:g}"
    if problem is not None:
        raise ModelError(f"a model cannot be scaled by {factor!r}: {problem}")
    return assemble(scaled(model, factor))


def with_mass(model: Model, body: str, mass: Scalar) -> Model:
    """The body with another mass, distributed as before: its inertia scales with it, its centre of mass stays.

    The inertia of the body is what counts; the shapes that it may have been made from are kept as they are.
    """
    require_model(model, "with_mass")
    old = model.body(body).inertia
    mass = plain(mass)
    problem = "it is an array" if isinstance(mass, np.ndarray) else scalar_problem(mass)
    if problem is not None:
        raise InertiaError(f"body {body!r} cannot have the mass {mass!r}: {problem}")
    if is_number(old.mass) and old.mass == 0:
        raise ModelError(f"body {body!r} has no mass to scale; give it an inertia with qdot.model.edit.with_inertia")
    ratio = mass / old.mass
    return with_inertia(model, body, Inertia(mass, old.moment * ratio, old.rotational * ratio))


def with_inertia(model: Model, body: str, inertia: Inertia) -> Model:
    """The body with another inertia, about its own frame."""
    require_model(model, "with_inertia")
    model.body(body)
    return _with_body(model, body, lambda record: replace(record, inertia=inertia))


def _with_body(model: Model, name: str, change: Callable[[BodyRecord], BodyRecord]) -> Model:
    old = model.description
    return assemble(replace(old, bodies=tuple(change(b) if b.name == name else b for b in old.bodies)))


def _with_shapes(description: Description, body: str, shapes: tuple[Any, ...]) -> Description:
    if body == WORLD:
        return replace(description, world_shapes=description.world_shapes + shapes)
    bodies = tuple(replace(b, shapes=b.shapes + shapes) if b.name == body else b for b in description.bodies)
    return replace(description, bodies=bodies)
