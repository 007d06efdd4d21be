"""The frozen model: the description, numbered from root to leaves. No workspace, no caches: algorithms use locals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Vec3
from qdot.description import (
    ActuatorRecord,
    BodyRecord,
    BushingRecord,
    Description,
    LoopRecord,
    Passive,
    Report,
    TendonRecord,
)
from qdot.description.constraints import ConstraintRecord
from qdot.errors import ModelError, UnknownNameError
from qdot.joints import Joint
from qdot.model.state import State
from qdot.quick import quick
from qdot.spatial import Inertia, Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray


@quick
@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """A body by its number: `qs` and `dofs` are its joint's places in q and v; `parent` < `index`, 0 is the world."""

    index: int
    parent: int
    qs: slice
    dofs: slice
    passive: Passive
    record: BodyRecord

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def joint(self) -> Joint:
        return self.record.joint

    @property
    def joint_name(self) -> str:
        return self.record.joint_name

    @property
    def placement(self) -> Transform:
        """Pose of the joint's frame in the parent's."""
        return self.record.placement

    @property
    def inertia(self) -> Inertia:
        return self.record.inertia


@quick
@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A frame fixed on a body: a body's own, the world's, or a named one."""

    name: str
    body: int
    placement: Transform


@dataclass(frozen=True, eq=False)
class Model:
    """A mechanism ready for computation; made by `qdot.assemble`. Equal descriptions make equal models."""

    description: Description
    bodies: tuple[Body, ...]
    frames: Mapping[str, Frame]

    def __getstate__(self) -> dict[str, object]:
        return {"description": self.description, "bodies": self.bodies, "frames": dict(self.frames)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, frames=MappingProxyType(state["frames"]))

    def __eq__(self, other: object) -> bool:
        return self.description == other.description if isinstance(other, Model) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.description)

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.bodies)} bodies, nq={self.nq}, nv={self.nv}>"

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def gravity(self) -> Vec3:
        """Acceleration of free fall in the world's frame [m/s²]."""
        return self.description.gravity

    @property
    def loops(self) -> tuple[LoopRecord, ...]:
        """The joints that close loops, in addition to the tree."""
        return self.description.loops

    @property
    def constraints(self) -> tuple[ConstraintRecord, ...]:
        """Points, poses and coordinates held to each other."""
        return self.description.constraints

    @property
    def tendons(self) -> tuple[TendonRecord, ...]:
        return self.description.tendons

    @property
    def bushings(self) -> tuple[BushingRecord, ...]:
        """Springs and dampers between two frames."""
        return self.description.bushings

    @property
    def actuators(self) -> tuple[ActuatorRecord, ...]:
        return self.description.actuators

    @property
    def report(self) -> Report:
        """What the loader of this model has to say; empty for a model built in Python."""
        return self.description.report

    @cached_property
    def nq(self) -> int:
        return sum(body.joint.nq for body in self.bodies)

    @cached_property
    def nv(self) -> int:
        return sum(body.joint.nv for body in self.bodies)

    @property
    def nu(self) -> int:
        """How many controls: one for each actuator."""
        return len(self.actuators)

    @cached_property
    def na(self) -> int:
        """How many activations: one for each actuator with dynamics of its own."""
        return sum(actuator.dynamics is not None for actuator in self.actuators)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """λ: the parent of each body; the world, body 0, is its own."""
        return (0, *(body.parent for body in self.bodies))

    @cached_property
    def dof_parents(self) -> tuple[int, ...]:
        """For each freedom the one before it on the way to the root, -1 for none: the sparsity of M (RBDA §6.5)."""
        last = {0: -1}
        parents: list[int] = []
        for body in self.bodies:
            previous = last[body.parent]
            for dof in range(body.dofs.start, body.dofs.stop):
                parents.append(previous)
                previous = dof
            last[body.index] = previous
        return tuple(parents)

    @cached_property
    def _joints(self) -> dict[str, Body]:
        return {body.joint_name: body for body in self.bodies}

    def frame(self, name: str) -> Frame:
        """The frame of this name: of a body, of the world, or a named one."""
        try:
            return self.frames[name]
        except (KeyError, TypeError):
            raise UnknownNameError("frame or body", name, self.frames, f"model {self.name!r}") from None

    def body(self, name: str) -> Body:
        """The body of this name."""
        frame = self.frame(name)
        if frame.body == 0 or self.bodies[frame.body - 1].name != name:
            raise UnknownNameError("body", name, [body.name for body in self.bodies], f"model {self.name!r}")
        return self.bodies[frame.body - 1]

    def joint(self, name: str) -> Body:
        """The body that the joint of this name holds."""
        try:
            return self._joints[name]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", name, self._joints, f"model {self.name!r}") from None

    def neutral(self) -> NDArray[np.float64]:
        """The configuration with every joint at zero, (nq,)."""
        return np.array([x for body in self.bodies for x in body.joint.neutral()], dtype=float)

    def home(self) -> NDArray[np.float64]:
        """The configuration that the description starts in, (nq,); neutral where it says nothing."""
        rows = (body.record.home or body.joint.neutral() for body in self.bodies)
        return np.array([x for row in rows for x in row], dtype=float)

    def state(self, q: object = None, v: object = None, **positions: object) -> State:
        """A state: neutral and at rest but for what is given, as vectors or by joint name (dicts; keywords for q)."""
        named_q = dict(q) if isinstance(q, Mapping) else {}
        named_v = v if isinstance(v, Mapping) else {}
        start = self.neutral() if q is None or isinstance(q, Mapping) else q
        speed = np.zeros(self.nv) if v is None or isinstance(v, Mapping) else v
        return State.of(self, start, speed).set({**named_q, **positions}, named_v)

    def keyframe(self, name: str) -> State:
        """The state that the description keeps by this name; its controls, activations and time are in
        `description.keyframes`."""
        known = {record.name: record for record in self.description.keyframes}
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError("keyframe", name, known, f"model {self.name!r}")
        record = known[name]
        return State.of(self, record.q or self.home(), record.v or np.zeros(self.nv))

    def coordinate_names(self) -> list[str]:
        """A name for each entry of q: the joint's, numbered where it has several."""
        return _numbered((body.joint_name, body.joint.nq) for body in self.bodies)

    def dof_names(self) -> list[str]:
        """A name for each entry of v, a, tau."""
        return _numbered((body.joint_name, body.joint.nv) for body in self.bodies)

    def control_names(self) -> list[str]:
        """A name for each control: the actuator's."""
        return [actuator.name for actuator in self.actuators]

    def activation_names(self) -> list[str]:
        """A name for each activation: the actuator's."""
        return [actuator.name for actuator in self.actuators if actuator.dynamics is not None]


def require_model(value: object, what: str) -> None:
    """Raise where a model is expected and something else, often the mechanism it is made from, was given."""
    if not isinstance(value, Model):
        raise ModelError(f"{what} takes a qdot.Model, made by qdot.assemble(mechanism); got {value!r}")


def _numbered(sizes: Iterable[tuple[str, int]]) -> list[str]:
    return [name if size == 1 else f"{name}[{k}]" for name, size in sizes for k in range(size)]
