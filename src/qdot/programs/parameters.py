"""Model constants as inputs of a compiled program, named by path: "link7.mass", "hand.com", "elbow.damping",
"gravity".

A path is the name of a body and one of mass, com, parameters (all ten) or position (of its joint on the parent); or
the name of a joint and one of armature, damping, friction, stiffness (a value for each freedom); or gravity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.description import BodyRecord
from qdot.errors import UnknownNameError
from qdot.model.assemble import assemble
from qdot.model.model import Model
from qdot.spatial import Inertia, Transform

Change = Callable[[BodyRecord, Scalars], BodyRecord]


def _mass(record: BodyRecord, x: Scalars) -> BodyRecord:
    old, m = record.inertia, x[0]
    return replace(record, inertia=Inertia(m, old.com * m, old.rotational * (m / old.mass)))


def _com(record: BodyRecord, x: Scalars) -> BodyRecord:
    old = record.inertia
    return replace(record, inertia=Inertia.about_com(old.mass, Vec3(*x), old.at_com))


def _parameters(record: BodyRecord, x: Scalars) -> BodyRecord:
    return replace(record, inertia=Inertia.of_parameters(x))


def _position(record: BodyRecord, x: Scalars) -> BodyRecord:
    return replace(record, placement=Transform(record.placement.rotation, Vec3(*x)))


def _passive(name: str) -> Change:
    return lambda record, x: replace(record, passive=replace(record.passive, **{name: tuple(x)}))


OF_BODIES: dict[str, tuple[int, Change]] = {
    "mass": (1, _mass),
    "com": (3, _com),
    "parameters": (10, _parameters),
    "position": (3, _position),
}
OF_JOINTS: dict[str, Change] = {name: _passive(name) for name in ("armature", "damping", "friction", "stiffness")}


def shape_of(model: Model, path: str) -> tuple[int, ...]:
    """How many numbers a path stands for, () for one; raises where the model has no such constant."""
    if path == "gravity":
        return (3,)
    owner, _, constant = path.rpartition(".")
    if constant in OF_JOINTS:
        nv = model.joint(owner).joint.nv
        return () if nv == 1 else (nv,)
    if constant in OF_BODIES:
        model.body(owner)
        size = OF_BODIES[constant][0]
        return () if size == 1 else (size,)
    raise UnknownNameError("constant", path, _paths(model), f"model {model.name!r}")


def with_parameters(model: Model, values: dict[str, Any]) -> Model:
    """The model with these constants replaced, by scalars of any kind."""
    description = model.description
    for path, value in values.items():
        row: Sequence[Scalar] = value if isinstance(value, (list, tuple)) else [value]
        if path == "gravity":
            description = replace(description, gravity=Vec3(*row))
            continue
        owner, _, constant = path.rpartition(".")
        change = OF_JOINTS[constant] if constant in OF_JOINTS else OF_BODIES[constant][1]
        held = model.joint(owner).name if constant in OF_JOINTS else owner
        bodies = tuple(change(b, row) if b.name == held else b for b in description.bodies)
        description = replace(description, bodies=bodies)
    return assemble(description)


def _paths(model: Model) -> list[str]:
    of_bodies = [f"{body.name}.{constant}" for body in model.bodies for constant in OF_BODIES]
    return ["gravity", *of_bodies, *(f"{body.joint_name}.{c}" for body in model.bodies for c in OF_JOINTS)]
