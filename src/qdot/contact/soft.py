"""Soft contact (Todorov): accelerations by Gauss' principle, with equalities, limits and dry friction made soft
alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, maximum
from qdot.algorithms.configuration import carried_rate
from qdot.algorithms.constraints.rows import Rows
from qdot.algorithms.frames import root_frame
from qdot.algorithms.kinematics import world_poses
from qdot.contact.gauss import Problem, body_motions
from qdot.contact.soft_contacts import Moving, between_bodies, on_ground
from qdot.contact.soft_rows import equalities, frictions, limits
from qdot.contact.weights import Weights, weights
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.spatial import Inertia

CAUSES = ("contacts", "constraints", "friction", "limits")
"""Why soft constraints act."""


@dataclass(frozen=True)
class Soft:
    """`tolerance` is what a step of the solver gains, of the mechanism's inertia, where it stops; `iterations` bounds
    the steps; None: as the model's options say. `room` is for how many contacts of one kind between bodies there is
    room at a time: where there are more, a run stops and says so; without it, a run takes the room that it needs.
    `noslip` bounds the sweeps that make friction hold afterwards, as if it did not give way (see `noslip`); 0: none,
    None: as the model's options say."""

    tolerance: float | None = None
    iterations: int | None = None
    room: int | None = None
    noslip: int | None = None

    def __post_init__(self) -> None:
        n = self.noslip
        if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 0):
            raise ValueShapeError(f"Soft's noslip is a whole number of sweeps, 0 for none, or None, got {n!r}")


def soft_problem(
    model: Model,
    q: Scalars,
    v: Scalars,
    f: Scalars,
    dt: Scalar,
    kind: Soft,
    more: Sequence[Rows] = (),
    known: Weights | None = None,
) -> Problem:
    """What the acceleration minimises under joint forces f, (nv,), that no soft constraint makes, velocity products and
    weight among them. `more` are constraints of users'; `known` is how easily things move, where constants of the model
    are no numbers."""
    known = known or weights(model)
    at = root_frame(model, q)
    X = at.places or world_poses(model, q)
    inertias = [Inertia.zero(), *(at.placed(body.index, body.inertia) for body in model.bodies)]
    turned = carried_rate(model, v)
    V, V_turned = (body_motions(model, at, x) for x in (v, turned))
    of = Moving(at, X, V, V_turned, list(v), turned, known)
    between, ground = between_bodies(model, of, dt, kind.room), on_ground(model, of, dt)
    rare = between.found
    rowed = {
        "constraints": equalities(model, q, v, dt, known, more),
        "friction": frictions(model, q, v, dt, known),
        "limits": limits(model, q, v, dt, known),
    }
    causes = ["contacts"] * len(ground.found) + [cause for cause, rows in rowed.items() for _ in rows]
    options = model.description.options
    return Problem(
        model, at, inertias, list(f), ground.found, [row for rows in rowed.values() for row in rows], rare,
        causes + ["contacts"] * len(rare), 1 / maximum(known.total, 1e-15),
        options.tolerance if kind.tolerance is None else kind.tolerance,
        options.iterations if kind.iterations is None else kind.iterations,
        maximum(between.overlap, ground.overlap), between.missed,
        options.noslip_iterations if kind.noslip is None else kind.noslip, options.noslip_tolerance,
    )  # fmt: skip
