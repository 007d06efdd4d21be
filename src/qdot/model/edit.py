"""Edits of a model. Each returns a new model; the one given is not changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qdot.algebra import Scalar, is_number, plain, scalar_problem
from qdot.description import WORLD, BodyRecord, Description, FrameRecord, Passive
from qdot.errors import InertiaError, ModelError
from qdot.joints import Fixed
from qdot.model.assemble import assemble
from qdot.model.model import Model, require_model
from qdot.model.vectors import configuration_of
from qdot.spatial import Inertia, Transform

SMALL, LARGE = 1e-30, 1e30
"""Factors beyond these leave the range in which fifth powers are numbers."""

__all__ = ["attach", "lock", "scale", "weld", "with_inertia", "with_mass"]


def lock(model: Model, joint: str, q: Any = None) -> Model:
    """The joint held at configuration q (neutral if not given); its body keeps its name, and its wrench can be read."""
    require_model(model, "lock")
    body = model.joint(joint)
    held = body.joint.transform(body.joint.neutral() if q is None else configuration_of(model, joint, q))

    def locked(record: BodyRecord) -> BodyRecord:
        return replace(record, joint=Fixed(), placement=record.placement @ held, passive=Passive())

    return _with_body(model, body.name, locked)


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
    require_model(model, "attach")
    require_model(other, "attach")
    if not isinstance(prefix, str):
        raise ModelError(f"attach: the prefix of names is a string, got {prefix!r}")
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
    taken = {f.name for f in old.frames} | {b.name for b in old.bodies}
    twice = sorted(taken & ({b.name for b in bodies} | {f.name for f in frames}))
    if twice:
        raise ModelError(
            f"attach: both models have bodies or frames named {twice[0]!r}; give a prefix=, such as 'left_'"
        )
    return assemble(
        replace(
            merged,
            allow_unphysical=old.allow_unphysical or new.allow_unphysical,
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
    require_model(model, "scale")
    factor = plain(factor)
    problem = "it is an array" if isinstance(factor, np.ndarray) else scalar_problem(factor)
    if problem is None and getattr(factor, "is_nonpositive", is_number(factor) and not SMALL < factor < LARGE):
        problem = f"it must be a positive number between {SMALL:g} and {LARGE:g}"
    if problem is not None:
        raise ModelError(f"a model cannot be scaled by {factor!r}: {problem}")
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


def _stretched(X: Transform, factor: Scalar) -> Transform:
    return replace(X, position=X.position * factor)
