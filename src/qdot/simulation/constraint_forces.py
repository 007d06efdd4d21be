"""Forces of constraints from the multipliers of their rows: λ does the work of φ, so what it means follows from φ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from qdot.algebra import Scalars, Vec3, as_array
from qdot.algorithms.constraints.loops import nearest_coordinates
from qdot.algorithms.kinematics import frame_pose
from qdot.algorithms.residuals import active_constraints
from qdot.description import LoopRecord, WeldRecord
from qdot.description.constraints import ConstraintRecord, CouplingRecord
from qdot.model.model import Model
from qdot.simulation.afterwards import model_at_records
from qdot.simulation.units import OF_FORCES, freedom_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.simulation.trajectory import Trajectory

    Array = NDArray[np.float64]

WRENCH = "N·m, N"
"""The unit of what has a moment and a force."""


def forces_along(run: Trajectory) -> dict[str, Array]:
    """By name, at every record of a run."""
    if not run.row_names:
        return {}
    flat = run.q.reshape(-1, run.model.nq).astype(float)
    model = model_at_records(run.model, run.parameters, len(run), run.records)
    found = forces_of(model, run.row_names, list(flat.T), run.multipliers.reshape(-1, len(run.row_names)))
    return {name: x.reshape(*run.q.shape[:-1], x.shape[-1]) for name, x in found.items()}


def forces_of(model: Model, row_names: tuple[str, ...], q: Scalars, multipliers: Array) -> dict[str, Array]:
    """By name, from configurations as lanes and λ, (states, rows).

    Of a loop the wrench, (states, 6), that its joint applies on the successor: moment, then force, in the successor's
    coordinates. Of a point held, the force on the point of frame 1 in world axes, (states, 3). Of a weld the moment and
    the force on frame 1 at the weld, in world axes, (states, 6). Of a rod the force that pushes its ends apart, of a
    coupling that on the follower, of others one number for each row: (states, rows).
    """
    named = np.array(row_names)
    rows = {name: multipliers[:, named == name] for name in dict.fromkeys(row_names)}
    for record in active_constraints(model):
        if isinstance(record, WeldRecord):
            rows[record.name] = _weld_wrench(model, q, record, rows[record.name])
    for loop in model.loops:
        rows[loop.name] = _loop_wrench(model, q, loop, rows[loop.name])
    return rows


def _loop_wrench(model: Model, q: Scalars, loop: LoopRecord, multipliers: Array) -> Array:
    """T λ."""
    X = frame_pose(model, q, loop.predecessor).inv() @ frame_pose(model, q, loop.successor)
    T = loop.joint.complement(nearest_coordinates(loop.joint, X))
    if not len(T.columns):
        return np.zeros((len(multipliers), 6))
    return as_array(T @ list(multipliers.T), (len(multipliers),))


def _weld_wrench(model: Model, q: Scalars, record: WeldRecord, multipliers: Array) -> Array:
    """Three rows are p₁ - p₂, three `torque_scale` times half the turn of frame 1 in the axes of frame 2."""
    force, turn = Vec3(*multipliers[:, :3].T), Vec3(*multipliers[:, 3:].T)
    moment = frame_pose(model, q, record.frame2).rotation @ (turn * (record.torque_scale / 2))
    return as_array([*moment, *force], (len(multipliers),))


def force_units(model: Model, users: Mapping[str, str]) -> dict[str, str]:
    """The units of `forces_of`, by name; those of users' constraints are given."""
    own = {record.name: _unit(model, record) for record in active_constraints(model)}
    return own | {loop.name: WRENCH for loop in model.loops} | dict(users)


def _unit(model: Model, record: ConstraintRecord) -> str:
    if isinstance(record, WeldRecord):
        return WRENCH
    if isinstance(record, CouplingRecord) and not record.tendons:
        return OF_FORCES[freedom_units(model)[model.joint(record.follower).dofs.start]]
    return "N"
