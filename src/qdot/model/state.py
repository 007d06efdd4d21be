"""A state (q, v) of a model, read and changed by joint name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import is_number
from qdot.errors import ValueShapeError
from qdot.model.vectors import scalars_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class JointState:
    """The part of a state that belongs to one joint."""

    q: NDArray[np.float64]
    v: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Configuration q (nq,) and velocity v (nv,): `state["elbow"].q` reads, `state.set(...)` makes a new one."""

    model: Model
    q: NDArray[np.float64]
    v: NDArray[np.float64]

    @staticmethod
    def of(model: Model, q: Any, v: Any) -> State:
        """A state from two vectors, checked."""
        return State(model, _vector(model, "q", q), _vector(model, "v", v))

    def __getitem__(self, joint: str) -> JointState:
        body = self.model.joint(joint)
        return JointState(self.q[body.qs], self.v[body.dofs])

    def __iter__(self) -> Iterator[str]:
        return iter(body.joint_name for body in self.model.bodies)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.model == other.model and bool(np.all(self.q == other.q) and np.all(self.v == other.v))

    def __hash__(self) -> int:
        return hash((self.model, tuple(self.q.tolist()), tuple(self.v.tolist())))

    def __reduce__(self) -> tuple[Any, ...]:
        return State.of, (self.model, self.q, self.v)  # made anew, for unpickled arrays could be written to

    def set(self, q: Mapping[str, Any] | None = None, v: Mapping[str, Any] | None = None, **positions: Any) -> State:
        """A new state with these joints changed: `state.set(elbow=0.3)`, `state.set(v={"elbow": -1.0})`."""
        new_q, new_v = self.q.copy(), self.v.copy()
        for name, value in {**(q or {}), **positions}.items():
            self._assign(new_q, self.model.joint(name).qs, name, value)
        for name, value in (v or {}).items():
            self._assign(new_v, self.model.joint(name).dofs, name, value)
        return State.of(self.model, new_q, new_v)

    def _assign(self, row: NDArray[np.float64], place: slice, joint: str, value: Any) -> None:
        size = place.stop - place.start
        listed = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)
        entries = list(value) if listed else [value]
        if len(entries) != size or not all(is_number(x) for x in entries):
            raise ValueShapeError(
                f"joint {joint!r} of model {self.model.name!r} takes {size} numbers here, got {value!r}"
            )
        row[place] = entries

    def __repr__(self) -> str:
        rows = (f"{name}: q={self[name].q.tolist()}, v={self[name].v.tolist()}" for name in self)
        return f"<State of {self.model.name!r}: {'; '.join(rows)}>"


def _vector(model: Model, name: str, value: Any) -> NDArray[np.float64]:
    scalars = scalars_of(model, name, value)
    if np.ndim(value) != 1 or not all(isinstance(x, (int, float)) for x in scalars):
        raise ValueShapeError(
            f"a state of model {model.name!r} holds one vector {name} of numbers, not a batch or symbols"
        )
    vector = np.array(scalars, dtype=float)
    vector.flags.writeable = False
    return vector
