"""The constraints that a model has of its own: points, poses and coordinates held to each other, and loops."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars
from qdot.algorithms.constraints.loops import loop_rows
from qdot.algorithms.constraints.rows import Rows, of_positions
from qdot.algorithms.kinematics import body_pose, kinematics, way_to_root
from qdot.algorithms.residuals import active_constraints, residual
from qdot.algorithms.tendons import tendon_lengths
from qdot.description import ConnectRecord, CouplingRecord, DistanceRecord, WeldRecord
from qdot.description.constraints import ConstraintRecord
from qdot.model.model import Model

COUNTS = {ConnectRecord: 3, WeldRecord: 6, CouplingRecord: 1, DistanceRecord: 1}


def own_rows(model: Model, q: Scalars, v: Scalars, *, positions: bool = True) -> list[Rows]:
    """Of every constraint of the model that is switched on, then of its loops; with φ of these where it is wanted."""
    found = [_of_record(model, q, v, record) for record in active_constraints(model)]
    if model.loops:
        motion = kinematics(model, q, v)
        found += [loop_rows(model, q, motion, loop, positions) for loop in model.loops]
    return found


def row_counts(model: Model) -> dict[str, int]:
    """How many rows each constraint that is switched on and each loop has, by name."""
    counts = {record.name: COUNTS[type(record)] for record in active_constraints(model)}
    return counts | {loop.name: 6 - loop.joint.nv for loop in model.loops}


def _of_record(model: Model, q: Scalars, v: Scalars, record: ConstraintRecord) -> Rows:
    bodies, freedoms = _touched(model, record)

    def phi(time: Scalar, at: Scalars) -> list[Scalar]:
        X = {i: body_pose(model, at, i) for i in bodies}
        lengths = tendon_lengths(model, at) if isinstance(record, CouplingRecord) and record.tendons else []
        return residual(model, at, X, lengths, record)

    return of_positions(model, 0, q, v, phi, freedoms)


def _touched(model: Model, record: ConstraintRecord) -> tuple[set[int], list[int]]:
    """The bodies whose poses a constraint looks at, and the freedoms that it depends on."""
    if not isinstance(record, CouplingRecord):
        bodies = {model.frame(name).body for name in (record.frame1, record.frame2)}
        dofs = {k for i in bodies for body in way_to_root(model, i) for k in range(body.dofs.start, body.dofs.stop)}
        return bodies, sorted(dofs)
    if record.tendons:
        return set(), list(range(model.nv))
    names = [name for name in (record.follower, record.driver) if name is not None]
    return set(), sorted({model.joint(name).dofs.start for name in names})
