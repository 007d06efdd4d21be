"""What bounds the motion of a mechanism: limits of joints and tendons, and places where dry friction rubs."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from qdot.algebra import Scalar, Scalars, is_zero
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row
from qdot.algorithms.kinematics import world_poses
from qdot.algorithms.passive import has_friction
from qdot.algorithms.tendons import tendons
from qdot.description import Softness, TendonRecord
from qdot.model.model import Body, Model

NEAR = 1e-12
"""Of the way between two limits: what is nearer to one rests on it."""


class Limited(NamedTuple):
    """A quantity with bounds, and its gradient along the freedoms; `place` is its coordinate in q, if it is one.

    `holder` is the body or the tendon that it belongs to.
    """

    value: Scalar
    gradient: Row
    lower: Scalar
    upper: Scalar
    holder: Body | TendonRecord
    place: int | None = None

    @property
    def near(self) -> Scalar:
        """What is nearer to a bound than this rests on it."""
        return or_rounding(NEAR, 16) * (self.upper - self.lower if isfinite(self.upper - self.lower) else 1.0)

    @property
    def softness(self) -> Softness:
        holder = self.holder
        return holder.limit_softness if isinstance(holder, TendonRecord) else holder.record.softness.limit

    @property
    def margin(self) -> float:
        """How far before a limit it acts, where it is soft [rad, m]."""
        return self.holder.margin if isinstance(self.holder, TendonRecord) else self.holder.record.softness.margin


class Rubbing(NamedTuple):
    """A rate that dry friction opposes with at most this force; `place` is its coordinate in q, if it has one."""

    gradient: Row
    force: Scalar
    holder: Body | TendonRecord
    place: int | None = None

    @property
    def softness(self) -> Softness:
        holder = self.holder
        return holder.friction_softness if isinstance(holder, TendonRecord) else holder.record.softness.friction


def limited(model: Model, q: Scalars) -> list[Limited]:
    """All limits of joints and tendons that are switched on and finite."""
    if model.description.options.disabled & {"constraint", "limit"}:
        return []
    found = [limit for body in model.bodies for limit in _of_joint(body, q)]
    if any(record.range is not None for record in model.tendons):
        ropes = tendons(model, q, world_poses(model, q))
        for record, tendon in zip(model.tendons, ropes, strict=True):
            if record.range is not None:
                found.append(Limited(tendon.length, _row(tendon.gradient), *record.range, record))
    return found


def _of_joint(body: Body, q: Scalars) -> list[Limited]:
    joint, own = body.joint, list(q[body.qs])
    bounds = list(zip(joint.limits.lower, joint.limits.upper, strict=True))
    if not any(isfinite(x) for pair in bounds for x in pair):
        return []
    gradients = [_row(row, body.dofs.start) for row in joint.limited_gradients(own)]
    places = list(range(body.qs.start, body.qs.stop)) if joint.nq == joint.nv else [None] * len(bounds)
    values = zip(joint.limited(own), gradients, bounds, places, strict=True)
    return [Limited(x, row, *pair, body, place) for x, row, pair, place in values if any(map(isfinite, pair))]


def rubbing(model: Model, q: Scalars) -> list[Rubbing]:
    """All dry friction of joints and tendons."""
    if not has_friction(model):
        return []
    found = []
    for body in model.bodies:
        for k, f in enumerate(body.passive.friction):
            if not is_zero(f):
                place = body.qs.start + k if body.joint.nq == body.joint.nv else None
                found.append(Rubbing({body.dofs.start + k: 1.0}, f, body, place))
    if any(not is_zero(record.friction) for record in model.tendons):
        ropes = tendons(model, q, world_poses(model, q))
        for record, tendon in zip(model.tendons, ropes, strict=True):
            if not is_zero(record.friction):
                found.append(Rubbing(_row(tendon.gradient), record.friction, record))
    return found


def _row(gradient: Sequence[Scalar], start: int = 0) -> Row:
    return {k: x for k, x in enumerate(gradient, start=start) if not is_zero(x)}
