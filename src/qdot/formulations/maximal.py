"""One mechanism in two sets of coordinates (U11): reduced, those of its joints, and maximal, those of its bodies.

Reduced coordinates are few, and their mass matrix is dense; maximal ones are many, with matrices that are nearly empty.
The motion is the same: `Maximal` takes states and constraint forces from the one to the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalar, Scalars, as_array, floor, map_scalars
from qdot.algorithms.constraints.loops import gap, nearest_coordinates
from qdot.algorithms.constraints.own import row_counts
from qdot.algorithms.kinematics import kinematics, world_poses
from qdot.algorithms.maximal import unit_drives
from qdot.description import LoopRecord
from qdot.errors import ModelError, ValueShapeError
from qdot.formulations.free_bodies import taken_apart
from qdot.joints import Joint
from qdot.joints.base import AxisLike
from qdot.model.assemble import assemble
from qdot.model.model import Model, require_model
from qdot.model.state import State
from qdot.model.vectors import scalars_of
from qdot.spatial import Basis, Force, Motion, Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

SETTLED = 12
"""Steps of Newton's method for coordinates that no formula gives; near a configuration three or four are enough."""


def to_maximal(model: Model, *, planar: AxisLike | bool | None = None) -> Maximal:
    """The mechanism as free bodies that constraints hold together, with the same names (U5).

    Every joint becomes a loop. Where all motion lies in one plane bodies have three coordinates (U16), else six:
    `planar` is the normal of a plane, True or False; None finds out. Limits of joints no longer act, which the report
    of the new model says; what else needs coordinates of joints is refused.
    """
    require_model(model, "to_maximal")
    apart = Maximal(model, assemble(taken_apart(model, planar)))
    keyframes = tuple(apart._keyframe(k) for k in model.description.keyframes)
    if not keyframes:
        return apart
    return Maximal(model, assemble(replace(apart.model.description, keyframes=keyframes)))


@dataclass(frozen=True, eq=False)
class Maximal:
    """A model in reduced coordinates, `tree`, and in maximal ones, `model`; and the way between them.

    Vectors may be batches, (batch, n). All of this holds where constraints do: a state that has drifted off is taken to
    the one that its joints come nearest to.
    """

    tree: Model
    model: Model

    def state(self, q: Any, v: Any = None) -> tuple[Array, Array]:
        """(q, v) of the free bodies from those of the joints; at rest where no v is given."""
        given = _Vectors(self.tree, q, v)
        return given.packed(*free_state(self.tree, self.model, given.q, given.v))

    def reduced(self, q: Any, v: Any = None, *, near: Any = None) -> tuple[Array, Array]:
        """(q, v) of the joints from those of the free bodies; angles are the ones nearest to `near`, a configuration of
        the joints (the neutral one if not given), as are signs of quaternions."""
        given = _Vectors(self.model, q, v)
        start = scalars_of(self.tree, "q", self.tree.neutral() if near is None else near)
        return given.packed(*joint_state(self.tree, self.model, given.q, given.v, start))

    def wrenches(self, q: Any, multipliers: Any) -> dict[str, Force]:
        """What each joint's bearings carry, by its name, from the force of each constraint row of `model`.

        It acts on the joint's body, in the body's coordinates at its origin, as in `qdot.joint_wrenches`; what springs
        and drives do along the joint is not in it. In a plane, forces across it are not known: they are zero.
        """
        given = _Vectors(self.model, q, None)
        places, rows = self._places(), _columns(multipliers, sum(row_counts(self.model).values()))
        found = {}
        for loop, T in self._bearings(given.q):
            wrench = T @ rows[places[loop.name]]
            found[loop.name] = map_scalars(given.lane, wrench)
        return found

    def multipliers(self, q: Any, wrenches: Mapping[str, Any]) -> Array:
        """The force of each constraint row of `model`, from what the joints' bearings carry: `wrenches` the other way.

        The part along the joint's freedoms is left out; rows of what is not named are zero.
        """
        given = _Vectors(self.model, q, None)
        places, count = self._places(), sum(row_counts(self.model).values())
        unknown = sorted(set(wrenches) - set(places))
        if unknown:
            raise ModelError(
                f"multipliers: model {self.model.name!r} holds nothing by joints named {unknown}; it has {list(places)}"
            )
        rows: list[Scalar] = [0.0] * count
        for loop, T in self._bearings(given.q):
            if loop.name in wrenches:
                wrench = Force.of(_columns(wrenches[loop.name], 6))
                rows[places[loop.name]] = unit_bearings(T).T @ Motion.of(list(wrench))
        return given.packed(rows)[0]

    def _places(self) -> dict[str, slice]:
        """Where the rows of each loop are among all rows."""
        found, start = {}, 0
        for name, count in row_counts(self.model).items():
            found[name] = slice(start, start + count)
            start += count
        return {loop.name: found[loop.name] for loop in self.model.loops}

    def _bearings(self, q: Scalars) -> list[tuple[LoopRecord, Basis[Force]]]:
        X = world_poses(self.model, q)

        def pose(name: str) -> Transform:
            frame = self.model.frame(name)
            return X[frame.body] @ frame.placement

        ends = ((loop, pose(loop.predecessor).inv() @ pose(loop.successor)) for loop in self.model.loops)
        return [(loop, loop.joint.complement(nearest_coordinates(loop.joint, at))) for loop, at in ends]

    def _keyframe(self, record: Any) -> Any:
        q, v = self.state(record.q or self.tree.home(), record.v or np.zeros(self.tree.nv))
        return replace(record, q=tuple(q.tolist()), v=tuple(v.tolist()))


def unit_bearings(T: Basis[Force]) -> Basis[Motion]:
    """T (Tᵀ T)⁻¹, read as motions."""
    drives = unit_drives(Basis.motions(*(Motion.of(list(t)) for t in T)))
    return Basis.motions(*(Motion.of(list(z)) for z in drives))


# ── texts ────────────────────────────────────────────────────────────────────────────────────────


def free_state(tree: Model, model: Model, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """(q, v) of free bodies where the tree's are."""
    motion = kinematics(tree, q, v)
    at: list[Scalar] = []
    speed: list[Scalar] = []
    for body in model.bodies:
        same = tree.body(body.name)
        if same.joint == body.joint and same.joint_name == body.joint_name:
            at += q[same.qs]
            speed += v[same.dofs]
            continue
        own = nearest_coordinates(body.joint, body.placement.inv() @ motion.poses[same.index])
        at += own
        speed += unit_drives(body.joint.subspace(own)).T @ motion.velocities[same.index]
    return at, speed


def joint_state(tree: Model, model: Model, q: Scalars, v: Scalars, near: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """(q, v) of the tree's joints where free bodies are."""
    motion = kinematics(model, q, v)
    places = [0, *(model.body(body.name).index for body in tree.bodies)]
    at: list[Scalar] = []
    speed: list[Scalar] = []
    for body in tree.bodies:
        i, p = places[body.index], places[body.parent]
        X_J = motion.poses[p] @ body.placement
        X = X_J.inv() @ motion.poses[i]
        own = coordinates_near(body.joint, X, near[body.qs])
        V_P = body.placement.inv() @ motion.velocities[p]
        relative = motion.velocities[i] - X.inv() @ V_P
        at += own
        speed += unit_drives(body.joint.subspace(own)).T @ relative
    return at, speed


def coordinates_near(joint: Joint, X: Transform, near: Scalars) -> list[Scalar]:
    """The q of a joint at a pose that is nearest to another: a turn more or less, or the other sign of a quaternion."""
    q = joint.coordinates_at(X)
    if q is None:
        q = list(near)
        for _ in range(SETTLED):
            q = joint.retract(q, unit_drives(joint.subspace(q)).T @ gap(joint, q, X))
    if joint.nq != joint.nv:
        return joint.retract(near, joint.difference(near, q))
    return [
        x + 2 * pi * floor((n - x) / (2 * pi) + 0.5) if turns else x
        for x, n, turns in zip(q, near, full_turns(joint), strict=True)
    ]


def full_turns(joint: Joint) -> list[bool]:
    """Which coordinates lead back to the same pose after a full turn."""

    def returns(k: int) -> bool:
        q = [0.3] * joint.nq
        X, Y = joint.transform(q), joint.transform([x + 2 * pi * (i == k) for i, x in enumerate(q)])
        return bool(np.allclose(X.entries(), Y.entries(), atol=1e-9))

    return [returns(k) for k in range(joint.nq)]


# ── what people pass ─────────────────────────────────────────────────────────────────────────────


class _Vectors:
    """q and v of a model as scalars, or lanes of a batch."""

    def __init__(self, model: Model, q: Any, v: Any) -> None:
        if isinstance(q, State):
            q, v = q.q, q.v if v is None else v
        v = np.zeros(model.nv) if v is None else v
        sizes = {len(x) for x in (q, v) if np.ndim(x) == 2}
        if len(sizes) > 1:
            raise ValueShapeError(f"q and v of model {model.name!r} have {sorted(sizes)} rows; they must agree")
        self.batch = tuple(sizes)
        self.q, self.v = scalars_of(model, "q", q), scalars_of(model, "v", v)

    def packed(self, *rows: Sequence[Scalar]) -> Any:
        return tuple(as_array(list(row), self.batch) for row in rows)

    def lane(self, x: Scalar) -> Any:
        return np.array(np.broadcast_to(x, self.batch), dtype=float) if self.batch else x


def _columns(value: Any, size: int) -> list[Scalar]:
    if isinstance(value, Force):
        return list(value)
    array = np.asarray(value, dtype=float)
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise ValueShapeError(f"{size} numbers are needed, or a batch of them; got shape {array.shape}")
    return list(array.T) if array.ndim == 2 else array.tolist()
