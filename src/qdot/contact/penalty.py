"""Springs and dampers between shapes that overlap (T19), as joint forces.

    f_n = max(0, k δ + c δ̇),   f_t = -μ f_n u_t / max(|u_t|, slip)

Its errors are of its kind: the overlap that carries a weight m g is m g / k, friction creeps by a share of `slip`, and
a step longer than about √(m / k) of the lightest body throws it off, so that a light body under a heavy one needs
either a soft spring, and sinks in, or short steps.
"""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, maximum, where
from qdot.algorithms.constraints.rows import times, transposed_times
from qdot.contact.kinds import Penalty
from qdot.contact.points import Points, points
from qdot.contact.problem import length
from qdot.model.model import Model


def penalty_forces(model: Model, q: Scalars, v: Scalars, kind: Penalty) -> tuple[list[Scalar], Points]:
    """The force along each row of all points [N], and the points."""
    found = points(model, q, 0.0, kind.room)
    forces: list[Scalar] = []
    for point in found.points:
        u = times(point.J, v)
        push = maximum(-(kind.stiffness * point.gap) - kind.damping * u[0], 0.0)
        push = where(point.gap < 0, push, 0.0)
        slip = [m * x for m, x in zip(point.friction, u[1:], strict=True)]
        most = maximum(length(slip), kind.slip * (max(point.friction) if point.friction else 1.0))
        share = push / where(most > 0, most, 1.0)
        forces += [push, *(-(m * x * share) for m, x in zip(point.friction, slip, strict=True))]
    return forces, found


def penalty(model: Model, q: Scalars, v: Scalars, kind: Penalty) -> tuple[list[Scalar], Scalar]:
    """Joint forces of all contacts, (nv,), and how many found no room."""
    forces, found = penalty_forces(model, q, v, kind)
    return transposed_times(found.J, forces, model.nv), found.missed
