"""How far constraints are from holding: the left side of φ(q) = 0, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qdot.algebra import Scalar, Scalars, Vec3, sqrt, where
from qdot.algorithms.kinematics import world_poses
from qdot.algorithms.tendons import tendon_lengths
from qdot.description import ConnectRecord, CouplingRecord, DistanceRecord, WeldRecord
from qdot.description.constraints import ConstraintRecord
from qdot.model.model import Model
from qdot.spatial import Transform


def constraint_residuals(model: Model, q: Scalars) -> dict[str, list[Scalar]]:
    """φ of every active constraint, by name: three rows for a point [m], six for a weld [m], one for a rod [m] or a
    coupling."""
    X = world_poses(model, q)
    active = active_constraints(model)
    lengths = tendon_lengths(model, q) if any(isinstance(r, CouplingRecord) and r.tendons for r in active) else []
    return {record.name: residual(model, q, X, lengths, record) for record in active}


def active_constraints(model: Model) -> list[ConstraintRecord]:
    """Those that are switched on, by themselves and by the model's options."""
    off = model.description.options.disabled & {"constraint", "equality"}
    return [] if off else [record for record in model.constraints if record.active]


def residual(
    model: Model,
    q: Scalars,
    X: Sequence[Transform] | Mapping[int, Transform],
    lengths: Sequence[Scalar],
    record: ConstraintRecord,
) -> list[Scalar]:
    """φ of one constraint; X holds the poses of the bodies that it needs, `lengths` are those of tendons."""
    if isinstance(record, CouplingRecord):
        return [_coupled(model, q, lengths, record)]
    X1, X2 = (X[f.body] @ f.placement for f in (model.frame(record.frame1), model.frame(record.frame2)))
    if isinstance(record, ConnectRecord):
        return list(X1 @ record.point1 - X2 @ record.point2)
    if isinstance(record, DistanceRecord):
        return [_length(X1 @ record.point1 - X2 @ record.point2) - record.length]
    return _welded(X1, X2, record)


def _length(d: Vec3) -> Scalar:
    """|d|, with no gradient where d is zero: no direction is along it there."""
    square = d.dot(d)
    apart = square > 0
    return where(apart, sqrt(where(apart, square, 1.0)), 0.0)


def _welded(X1: Transform, X2: Transform, record: WeldRecord) -> list[Scalar]:
    held = X1 @ record.placement1
    turn = (X2.inv() @ held).quaternion()
    vector = turn.vector * (where(turn.w < 0, -1.0, 1.0) * record.torque_scale)
    return [*(held.position - X2 @ record.point2), *vector]


def _coupled(model: Model, q: Scalars, lengths: Sequence[Scalar], record: CouplingRecord) -> Scalar:
    """y - y₀ - Σ aₖ (x - x₀)ᵏ."""
    places = {t.name: k for k, t in enumerate(model.tendons)}

    def value(name: str) -> Scalar:
        return lengths[places[name]] if record.tendons else q[model.joint(name).qs.start]

    y0, x0 = record.reference
    x = 0 if record.driver is None else value(record.driver) - x0
    total: Scalar = 0
    for a in reversed(record.coefficients):
        total = total * x + a
    return value(record.follower) - y0 - total
