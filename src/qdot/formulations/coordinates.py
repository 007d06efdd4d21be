"""Masses at x = h(q), and equations of motion in other coordinates (T11, T12, T14)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qdot.algebra.linalg import Matrix, matvec
from qdot.algorithms import maps, projection as projections
from qdot.errors import SingularError
from qdot.formulations.arguments import Arguments, numeric, require_smooth


class Explicit(NamedTuple):
    """ẍ, the constraint forces f_c on x, and q̈."""

    acceleration: Any
    constraint_force: Any
    joint_acceleration: Any


class Transformed(NamedTuple):
    """M, c and τ of M q̈ + c = τ; and the rows of constraints on q̈, where such were given."""

    mass: Any
    velocity_forces: Any
    force: Any
    rows: Any = None


def explicit(masses: Any, h: maps.Map, q: Any, v: Any, f: Any) -> Explicit:
    """ẍ, f_c and q̈ of masses at x = h(q), from one system: D ẍ = f + f_c, ẍ = J q̈ + J̇ q̇, Jᵀ f_c = 0 (T11)."""
    given = Arguments("explicit")
    at = given.vector("q", q)
    speed, force = given.vector("v", v, len(at)), given.vector("f", f)
    D = given.inertia(masses, len(force))
    place = maps.asked("explicit", "h", h, len(force))
    _require_independent(given, maps.partials(place, at), len(at))
    found = projections.explicit(D, force, place, at, speed)
    return Explicit(*(given.packed(x) for x in found))


def projection(masses: Any, h: maps.Map, q: Any, v: Any, f: Any) -> Transformed:
    """M = Jᵀ D J, c = Jᵀ D J̇ q̇ and τ = Jᵀ f of masses at x = h(q) (T12)."""
    return _transformed("projection", h, q, v, masses, force=("f", f))


def transformed(
    h: maps.Map, q: Any, v: Any, masses: Any, *, velocity_forces: Any = None, force: Any = None, rows: Any = None
) -> Transformed:
    """D ẍ + c = f, and rows J_φ of constraints, in other coordinates q with x = h(q) (T14).

    M = Jᵀ D J, Jᵀ (c + D J̇ q̇), τ = Jᵀ f and J_φ J: kinetic energy and power stay what they are. D, c, f and J_φ are
    those at x = h(q), ẋ = J q̇; what is not given is zero.
    """
    return _transformed("transformed", h, q, v, masses, velocity_forces, ("force", force), rows)


def _transformed(
    call: str,
    h: maps.Map,
    q: Any,
    v: Any,
    masses: Any,
    velocity_forces: Any = None,
    force: tuple[str, Any] = ("force", None),
    rows: Any = None,
) -> Transformed:
    """`force` comes with the name it has in the call."""
    given = Arguments(call)
    at = given.vector("q", q)
    speed, place = given.vector("v", v, len(at)), maps.asked(call, "h", h)
    J = maps.partials(place, at)
    require_smooth(call, "h", J)
    n = len(J)
    c = [0] * n if velocity_forces is None else given.vector("velocity_forces", velocity_forces, n)
    f = [0] * n if force[1] is None else given.vector(*force, n)
    D = given.inertia(masses, n)
    found = projections.projected(D, c, f, J, maps.rate_bias(place, at, speed), len(at))
    taken = None
    if rows is not None:
        columns = maps.transposed(J, len(at))
        taken = given.packed([matvec(columns, row) for row in given.matrix("rows", rows, n)])
    mass, velocity, forces = (given.packed(x) for x in found)
    return Transformed(mass, velocity, forces, taken)


def _require_independent(given: Arguments, J: Matrix, freedoms: int) -> None:
    """Raise where some motion of q moves no mass: q̈ is not determined then."""
    require_smooth(given.call, "h", J)
    if numeric(J) and np.any(np.linalg.matrix_rank(given.array(J, (len(J), freedoms))) < freedoms):
        raise SingularError(
            f"{given.call}: h does not move with every q: its {len(J)} × {freedoms} Jacobian has a lower rank, so q̈ is "
            "not determined; take the coordinates out that x does not depend on, or leave the singular place"
        )
