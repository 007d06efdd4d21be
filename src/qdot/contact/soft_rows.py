"""Soft constraints of a model that are no contacts: equalities, limits of joints and tendons, and dry friction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf, isfinite

from qdot.algebra import Scalar, Scalars, maximum, sqrt, where
from qdot.algebra.sparse import Row
from qdot.algorithms.constraints.own import own_rows
from qdot.algorithms.constraints.rows import Rows, times
from qdot.algorithms.limits import Limited, limited, rubbing
from qdot.algorithms.residuals import active_constraints
from qdot.contact.constraints import Rowed
from qdot.contact.soft_laws import Bound
from qdot.contact.softness import TINY, Pull, impedance, pull
from qdot.contact.weights import Weights
from qdot.description import CouplingRecord, Softness, TendonRecord, WeldRecord
from qdot.description.constraints import ConstraintRecord
from qdot.model.model import Body, Model


def is_safe(model: Model) -> bool:
    """Whether time constants shorter than two steps are made longer."""
    return "refsafe" not in model.description.options.disabled


def resistance(softness: Softness, violation: Scalar, weight: Scalar) -> tuple[Scalar, Scalar]:
    """(D = 1/R, d): how stiff a row is that a unit force accelerates by `weight`, and its impedance."""
    d = impedance(softness, violation)
    return 1 / maximum((1 - d) / d * weight, TINY), d


def equalities(
    model: Model, q: Scalars, v: Scalars, dt: Scalar, known: Weights, more: Sequence[Rows] = ()
) -> list[Rowed]:
    """Points, poses and coordinates held to each other, loops, and more from outside."""
    all_rows = [*own_rows(model, q, v), *more]
    records: list[ConstraintRecord | None] = [*active_constraints(model)]
    records += [None] * (len(all_rows) - len(records))
    found = []
    for record, rows in zip(records, all_rows, strict=True):
        softness = Softness() if record is None else record.softness
        share = pull(softness.solref, softness, dt, safe=is_safe(model))
        violation = rows.phi[0] if len(rows.phi) == 1 else _norm(rows.phi)
        for k, weight in enumerate(_weights_of(model, known, record, rows)):
            D, d = resistance(softness, violation, weight)
            turning = 0 if isinstance(record, CouplingRecord) else rows.bias[k]
            wanted = -(share.b * rows.rate[k]) - share.k * d * rows.phi[k] - turning
            found.append(Rowed([rows.J[k]], [wanted], Bound(D, -inf, inf)))
    return found


def _weights_of(model: Model, known: Weights, record: ConstraintRecord | None, rows: Rows) -> list[Scalar]:
    if isinstance(record, CouplingRecord):
        names = [name for name in (record.follower, record.driver) if name is not None]
        return [sum(_weight_of(model, known, name, record.tendons) for name in names)]
    if record is None:
        return [_largest_weight(known, row) for row in rows.J]
    bodies = [model.frame(name).body for name in (record.frame1, record.frame2)]
    along, about = sum(known.along[i] for i in bodies), sum(known.about[i] for i in bodies)
    return [along] * 3 + [about] * 3 if isinstance(record, WeldRecord) else [along] * len(rows.J)


def _weight_of(model: Model, known: Weights, name: str, is_tendon: bool) -> Scalar:
    if is_tendon:
        return known.tendons[[t.name for t in model.tendons].index(name)]
    return known.freedoms[model.joint(name).dofs.start]


def _largest_weight(known: Weights, row: Row) -> Scalar:
    return reduce(maximum, (known.freedoms[k] for k in row)) if row else 1.0


def _weight_of_holder(model: Model, known: Weights, holder: Body | TendonRecord) -> Scalar:
    if isinstance(holder, TendonRecord):
        return known.tendons[model.tendons.index(holder)]
    return known.freedoms[holder.dofs.start]


def limits(model: Model, q: Scalars, v: Scalars, dt: Scalar, known: Weights) -> list[Rowed]:
    """The ends of every range, each acting from its margin on; the nearer one of two that cannot both act."""
    found = []
    for limit in limited(model, q):
        weight = _weight_of_holder(model, known, limit.holder)
        share = pull(limit.softness.solref, limit.softness, dt, safe=is_safe(model))
        for side, distance in _ends(limit):
            beyond = distance - limit.margin
            D, d = resistance(limit.softness, beyond, weight)
            row = {k: side * x for k, x in limit.gradient.items()}
            wanted = -(share.b * times([row], v)[0]) - share.k * d * beyond
            found.append(Rowed([row], [wanted], Bound(where(beyond < 0, D, 0.0), 0.0, inf)))
    return found


def _ends(limit: Limited) -> list[tuple[Scalar, Scalar]]:
    """The direction away from an end, along the coordinate, and how far away it is."""
    low, high = limit.value - limit.lower, limit.upper - limit.value
    if isfinite(limit.lower) and isfinite(limit.upper) and limit.upper - limit.lower > 2 * limit.margin:
        is_low = low < high
        return [(where(is_low, 1.0, -1.0), where(is_low, low, high))]
    ends = ((1.0, low, limit.lower), (-1.0, high, limit.upper))
    return [(side, distance) for side, distance, end in ends if isfinite(end)]


def frictions(model: Model, q: Scalars, v: Scalars, dt: Scalar, known: Weights) -> list[Rowed]:
    """Dry friction of joints and tendons."""
    found = []
    for place in rubbing(model, q):
        is_rope = isinstance(place.holder, TendonRecord)
        weight = _weight_of_holder(model, known, place.holder) if is_rope else known.freedoms[min(place.gradient)]
        D, _ = resistance(place.softness, 0.0, weight)
        share: Pull = pull(place.softness.solref, place.softness, dt, safe=is_safe(model))
        wanted = -(share.b * times([place.gradient], v)[0])
        found.append(Rowed([place.gradient], [wanted], Bound(D, -place.force, place.force)))
    return found


def _norm(xs: Scalars) -> Scalar:
    square = sum((x * x for x in xs), start=0)
    apart = square > 0
    return where(apart, sqrt(where(apart, square, 1.0)), 0.0)
