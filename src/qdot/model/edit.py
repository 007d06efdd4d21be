"""Edits of a model. Each returns a new model; the one given is not changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from qdot.algebra import Scalar, is_number, scalars_in
from qdot.description import WORLD, BodyRecord, Description, FrameRecord, Passive
from qdot.errors import ModelError, ValueShapeError
from qdot.joints import Fixed
from qdot.model.assemble import assemble
from qdot.model.model import Model
from qdot.spatial import Inertia, Transform

__all__ = ["attach", "lock", "scale", "weld", "with_inertia", "with_mass"]


def lock(model: Model, joint: str, q: Scalar | Sequence[Scalar] | None = None) -> Model:
    """The joint held at configuration q (neutral if not given); its body keeps its name, and its wrench can be read."""
    body = model.joint(joint)
    value = body.joint.neutral() if q is None else list(q) if isinstance(q, Sequence) else [q]
    if len(value) != body.joint.nq:
        raise ValueShapeError(f"joint {joint!r} has {body.joint.nq} coordinates, got {value!r} to lock it at")
    held = body.joint.transform(body.joint.normalized(value))

    def locked(record: BodyRecord) -> BodyRecord:
        return replace(record, joint=Fixed(), placement=record.placement @ held, passive=Passive())

    return _with_body(model, body.name, locked)


def weld(model: Model, body: str) -> Model:
    """A body on a fixed joint made part of its parent: their inertias add, its name stays as that of a frame."""
    welded = model.body(body)
    if welded.joint.nv != 0:
        raise ModelError(
            f"body {body!r} can move: joint {welded.joint_name!r} has {welded.joint.nv} freedoms; lock it first"
        )
    old = model.description
    record = welded.record
    X = record.placement @ record.joint.transform(())
    shapes = tuple(replace(s, shape=s.shape.at(X)) for s in record.shapes)

    def hosted(host: BodyRecord) -> BodyRecord:
        return replace(host, inertia=host.inertia + X @ record.inertia, shapes=host.shapes + shapes)

    def moved(other: BodyRecord) -> BodyRecord:
        if other.name == record.parent:
            return hosted(other)
        if other.parent == body:
            return replace(other, parent=record.parent, placement=X @ other.placement)
        return other

    def carried(frame: FrameRecord) -> FrameRecord:
        return replace(frame, body=record.parent, placement=X @ frame.placement) if frame.body == body else frame

    return assemble(
        replace(
            old,
            bodies=tuple(moved(b) for b in old.bodies if b.name != body),
            frames=(*(carried(f) for f in old.frames), FrameRecord(body, record.parent, X)),
            world_shapes=old.world_shapes + (shapes if record.parent == WORLD else ()),
        )
    )


def attach(model: Model, other: Model, *, to: str = WORLD, at: Any = None, prefix: str = "") -> Model:
    """Another model hung on a body or frame of this one; `prefix` goes before its names, gravity stays this one's."""
    frame = model.frame(to)
    host = WORLD if frame.body == 0 else model.bodies[frame.body - 1].name
    X = frame.placement @ Transform.of(at)
    old, new = model.description, other.description

    def named(name: str) -> str:
        return host if name == WORLD else prefix + name

    bodies = tuple(
        replace(
            b,
            name=named(b.name),
            joint_name=prefix + b.joint_name,
            parent=named(b.parent),
            placement=X @ b.placement if b.parent == WORLD else b.placement,
        )
        for b in new.bodies
    )
    frames = tuple(
        replace(
            f, name=named(f.name), body=named(f.body), placement=X @ f.placement if f.body == WORLD else f.placement
        )
        for f in new.frames
    )
    grounded = [c.name for c in new.loops if WORLD in (c.predecessor, c.successor)]
    base = (FrameRecord(f"{prefix}base", host, X),) if grounded else ()
    loops = tuple(
        replace(
            c,
            name=prefix + c.name,
            predecessor=f"{prefix}base" if c.predecessor == WORLD else named(c.predecessor),
            successor=f"{prefix}base" if c.successor == WORLD else named(c.successor),
        )
        for c in new.loops
    )
    shown = tuple(replace(s, shape=s.shape.at(X)) for s in new.world_shapes)
    merged = _with_shapes(old, host, shown)
    return assemble(
        replace(
            merged,
            bodies=merged.bodies + bodies,
            frames=merged.frames + frames + base,
            loops=merged.loops + loops,
        )
    )


def scale(model: Model, factor: Scalar) -> Model:
    """The same mechanism of the same stuff, `factor` times as long: lengths × s, masses × s³, inertias × s⁵.

    Shapes, frames, offsets within joints and the limits of slides scale; drives, springs and friction are not bodies of
    that stuff and stay as they are.
    """
    if is_number(factor) and not factor > 0:
        raise ModelError(f"a model cannot be scaled by {factor!r}; the factor must be a positive number")
    old = model.description
    return assemble(
        replace(
            old,
            bodies=tuple(
                replace(
                    b,
                    joint=b.joint.scaled(factor),
                    placement=_stretched(b.placement, factor),
                    inertia=Inertia(
                        b.inertia.mass * factor**3, b.inertia.moment * factor**4, b.inertia.rotational * factor**5
                    ),
                    shapes=tuple(replace(s, shape=s.shape.scaled(factor)) for s in b.shapes),
                )
                for b in old.bodies
            ),
            frames=tuple(replace(f, placement=_stretched(f.placement, factor)) for f in old.frames),
            loops=tuple(replace(c, joint=c.joint.scaled(factor)) for c in old.loops),
            world_shapes=tuple(replace(s, shape=s.shape.scaled(factor)) for s in old.world_shapes),
        )
    )


def with_mass(model: Model, body: str, mass: Scalar) -> Model:
    """The body with another mass, distributed as before: its inertia scales with it, its centre of mass stays."""
    old = model.body(body).inertia
    if all(is_number(x) and x == 0 for x in scalars_in(old)):
        raise ModelError(f"body {body!r} has no mass to scale; give it an inertia with qdot.model.edit.with_inertia")
    ratio = mass / old.mass
    return with_inertia(model, body, Inertia(mass, old.moment * ratio, old.rotational * ratio))


def with_inertia(model: Model, body: str, inertia: Inertia) -> Model:
    """The body with another inertia, about its own frame."""
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


def _stretched(X: Transform, factor: Scalar) -> Transform:
    return replace(X, position=X.position * factor)
