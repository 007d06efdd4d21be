"""States that obey constraints, and what constraints leave free.

`projected` goes the way of Levenberg and Marquardt in the metric M: each round moves q by

    x = M⁻¹ Jᵀ (J M⁻¹ Jᵀ + μ)⁻¹ (-φ),

the shortest motion that takes the error away as far as one can see from here, and no longer than one can see: half a
radian, a fifth of the mechanism's size. μ grows where that was too far and shrinks where it was not, so the end is
Newton's. Then v loses its part across: what is left is the nearest velocity that the constraints allow.

Errors are measured by the size of the mechanism where they are lengths, and by a radian where they are angles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.algebra import as_array
from qdot.algorithms.configuration import difference, normalized, retract
from qdot.algorithms.constraints.rows import dense
from qdot.algorithms.crba import mass_matrix
from qdot.errors import ConvergenceError
from qdot.model.model import Model, require_model
from qdot.model.state import State
from qdot.simulation import arguments
from qdot.simulation.sizes import freedom_sizes, row_sizes, speed_of
from qdot.simulation.system import Constraint, Setup, System
from qdot.simulation.units import freedom_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

ROUNDS = 100
FIRST_DAMPING, LEAST_DAMPING = 1e-3, 1e-14
MASSLESS = 1e-9
"""Of the largest inertia: added to each, so that what moves no mass has a metric too."""

INDEPENDENT = 1e-7
"""Of the largest singular value of J in the metric M: below it rows repeat each other. States that obey constraints to
1e-10 leave that much of a row that repeats others."""

NOTHING = 1e-12
"""Of the longest row: a shorter one asks for nothing."""

NEARBY = 0.02
"""How far off other states are looked at [rad, or sizes of the mechanism]."""

TURN, SHIFT = 0.5, 0.2
"""The longest step [rad, or sizes of the mechanism]."""


@dataclass(frozen=True)
class _Across:
    """Constraints at a batch of states: errors, (batch, rows), by the sizes of the rows, and J in coordinates in which
    M is 1."""

    phi: Array
    rate: Array
    G: Array
    L: Array
    """M = L Lᵀ; G = J L⁻ᵀ."""

    @staticmethod
    def of(system: System, time: float, q: Array, v: Array) -> _Across:
        batch, n = (len(q),), system.model.nv
        rows = system.rows(time, list(q.T), list(v.T))
        M = as_array(mass_matrix(system.model, list(q.T)), batch)
        most = np.einsum("bii->bi", M).max(axis=1, initial=0.0)
        metric = M + (MASSLESS * np.where(most > 0, most, 1.0))[:, None, None] * np.eye(n)
        L = np.asarray(np.linalg.cholesky(metric), dtype=float)
        sizes = row_sizes(system)
        J = as_array(dense(rows.J, n), batch) / sizes[:, None]
        G = np.linalg.solve(L, J.transpose(0, 2, 1)).transpose(0, 2, 1)
        return _Across(as_array(rows.phi, batch) / sizes, as_array(rows.rate, batch) / sizes, G, L)

    def shortest(self, r: Array, damping: Array, cut: float = 0.0) -> Array:
        """x with J x = r as far as damping lets it, (batch, nv)."""
        U, s, V = np.linalg.svd(self.G, full_matrices=False)
        most = np.maximum(s[:, :1], np.finfo(float).tiny)
        weights = s / (s * s + damping[:, None] * most * most + (s <= cut * most))
        y = np.einsum("bki,bk,bmk,bm->bi", V, weights * (s > cut * most), U, r)
        return np.linalg.solve(self.L.transpose(0, 2, 1), y[..., None])[..., 0]

    def chosen(self, which: Array, other: _Across) -> _Across:
        """The other's in these rows of the batch."""
        pairs = ((getattr(other, name), getattr(self, name)) for name in ("phi", "rate", "G", "L"))
        return _Across(*(np.where(which.reshape(-1, *[1] * (x.ndim - 1)), x, y) for x, y in pairs))


def projected(
    model: Model,
    state: Any = None,
    *,
    constraints: Iterable[Constraint] = (),
    time: float = 0.0,
    tolerance: float = 1e-10,
) -> Any:
    """A state near the given one that obeys the model's constraints and these, each row to within `tolerance`: radians,
    or that much of the mechanism's size where it is a length (users' rows say so by their unit).

    `state` is a `State`, and so is the result; or a pair (q, v), of one state or a batch of them, which gives a pair.
    It is the model's home at rest where nothing is given.
    """
    require_model(model, "projected")
    arguments.require_numbers(model)
    system = System(model, Setup(constraints=arguments.constraints_of(model, constraints)))
    at, wanted = arguments.start_of(time), arguments.tolerance_of(tolerance)
    q, v = arguments.state_of(model, state)
    runs = arguments.batch_of({name: len(x) if x.ndim == 2 else None for name, x in (("q", q), ("v", v))})
    q, v = (np.broadcast_to(x, (1 if runs is None else runs, x.shape[-1])) for x in (q, v))
    system = system.starting(at, q[0].tolist()) if len(q) else system
    if system.row_count:
        try:
            q = positions_obeying(system, at, q, wanted)
        except ConvergenceError as error:
            if state is None or (q == model.home()).all():
                raise
            raise ConvergenceError(f"{error}. Without a state, qdot.projected(model) starts from its home") from None
        v = _with_velocities(system, at, q, v, wanted)
    if runs is not None:
        return np.array(q), np.array(v)
    return (np.array(q[0]), np.array(v[0])) if isinstance(state, (tuple, list)) else State.of(model, q[0], v[0])


def positions_obeying(system: System, time: float, q: Array, tolerance: float) -> Array:
    """Configurations near these, (batch, nq), at which no constraint is off by more."""
    model, rest = system.model, np.zeros((len(q), system.model.nv))
    here = _Across.of(system, time, q, rest)
    began = np.abs(here.phi).max(axis=1)
    damping = np.full(len(q), FIRST_DAMPING)
    longest = _longest_steps(model)
    for _ in range(ROUNDS):
        off = np.abs(here.phi).max(axis=1) > tolerance
        if not off.any():
            return as_array(normalized(model, list(q.T)), (len(q),))
        x = here.shortest(-here.phi, damping)
        x = x / np.maximum(1.0, np.abs(x / longest).max(axis=1, initial=0.0))[:, None]
        moved = as_array(retract(model, list(q.T), list(x.T)), (len(q),))
        there = _Across.of(system, time, moved, rest)
        better = off & (np.linalg.norm(there.phi, axis=1) < np.linalg.norm(here.phi, axis=1))
        q, here = np.where(better[:, None], moved, q), here.chosen(better, there)
        damping = np.clip(np.where(better, damping / 10, damping * 10), LEAST_DAMPING, 1 / LEAST_DAMPING)
    raise _given_up(system, "positions", here.phi, began)


def _longest_steps(model: Model) -> Array:
    """Of each freedom, (nv,)."""
    turns = [unit == "rad" for unit in freedom_units(model)]
    return np.where(turns, TURN, SHIFT) * freedom_sizes(model)


def _with_velocities(system: System, time: float, q: Array, v: Array, tolerance: float) -> Array:
    here = _Across.of(system, time, q, v)
    began = np.abs(here.rate).max(axis=1)
    for _ in range(ROUNDS):
        if np.abs(here.rate).max() <= tolerance * (1 + speed_of(system.model, v)):
            return v
        v = v + here.shortest(-here.rate, np.zeros(len(q)), INDEPENDENT)
        here = _Across.of(system, time, q, v)
    raise _given_up(system, "velocities", here.rate, began)


def _given_up(system: System, what: str, errors: Array, began: Array) -> ConvergenceError:
    row, worst = np.unravel_index(np.abs(errors).argmax(), errors.shape)
    size = row_sizes(system)[worst]
    which = f" of state {row} of the batch" if len(errors) > 1 else ""
    return ConvergenceError(
        f"projected: the {what}{which} came from {began[row] * size:.3g} off to "
        f"{abs(errors[row, worst]) * size:.3g} in {ROUNDS} rounds; constraint {system.row_names[worst]!r} is "
        "the farthest from holding. No state near this one obeys all constraints: begin nearer to one that does, or "
        "look for constraints that contradict each other (qdot.redundancy shows which depend on each other)"
    )


# -- what is left free -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Redundancy:
    """How many rows the constraints of a model have at a configuration, and how many are independent.

    `repeats` tells for each constraint how many of its rows ask for nothing that joints and constraints before it do
    not keep already. Motion does not depend on which of such rows carries a force; the forces do. `nearby` is the rank
    at other states close by that obey the constraints, None where there is none: a higher one says that the
    configuration is singular.
    """

    model: str
    rows: int
    rank: int
    freedoms: int
    """Left by constraints, at this configuration."""
    repeats: dict[str, int]
    counts: dict[str, int]
    """Rows of each constraint."""
    nearby: int | None

    @property
    def singular(self) -> bool:
        """Whether rows repeat each other here, but not at states nearby."""
        return self.nearby is not None and self.nearby > self.rank

    def __bool__(self) -> bool:
        """Whether anything is redundant."""
        return self.rank < self.rows

    def __str__(self) -> str:
        left = f"{self.freedoms} freedom{'' if self.freedoms == 1 else 's'} left"
        if not self:
            return f"{self.model}: {self.rows} constraint rows, all independent; {left}"
        lines = [f"{self.model}: {self.rows} constraint rows of rank {self.rank}; {left}"]
        for name, count in self.repeats.items():
            lines.append(f"  {name!r}: {count} of its {self.counts[name]} rows repeat what is kept already")
        if self.nearby is None:
            lines.append("  no other state nearby obeys the constraints, so this may hold here alone")
        elif self.singular:
            here = f"{(self.nearby or 0) - self.rank} of them here alone, for nearby the rank is {self.nearby}"
            lines.append(f"  {here}: this configuration is singular")
        else:
            lines.append("  at states nearby too: forces along these rows are not determined, motion is")
        return "\n".join(lines)


def redundancy(model: Model, q: Any = None, constraints: Iterable[Constraint] = (), *, time: float = 0.0) -> Redundancy:
    """Which constraints of the model and of these repeat each other at a configuration, (nq,), or at its home."""
    require_model(model, "redundancy")
    arguments.require_numbers(model)
    at = arguments.one_vector(model, "q", model.home() if q is None else q)
    system = System(model, Setup(constraints=arguments.constraints_of(model, constraints)))
    now = arguments.start_of(time)
    return redundancy_of(system.starting(now, at.tolist()), now, at)


def redundancy_of(system: System, time: float, q: Array) -> Redundancy:
    """The same of a system."""
    names, n = system.row_names, system.model.nv
    counts = {name: names.count(name) for name in names}
    if not names:
        return Redundancy(system.model.name, 0, 0, n, {}, {}, 0)
    here = _Across.of(system, time, q[None], np.zeros((1, n)))
    rows = _unit_rows(here.G[0])
    repeats, rank, end = {}, 0, 0
    for name, count in counts.items():
        end += count
        new = _rank(rows[:end])
        if new - rank < count:
            repeats[name] = count - (new - rank)
        rank = new
    nearby = _rank_nearby(system, time, q, here)
    return Redundancy(system.model.name, len(names), rank, n - rank, repeats, counts, nearby)


def _rank_nearby(system: System, time: float, q: Array, here: _Across) -> int | None:
    """The largest rank at some states that motions which the constraints allow lead to."""
    _, s, V = np.linalg.svd(_unit_rows(here.G[0]))
    allowed = V[int((s > INDEPENDENT).sum()) :]
    found: list[int] = []
    rng, sizes = np.random.default_rng(0), freedom_sizes(system.model)
    for _ in range(3 if len(allowed) else 0):
        x = np.linalg.solve(here.L[0].T, rng.normal(size=len(allowed)) @ allowed)
        moved = np.array(retract(system.model, q.tolist(), (x * NEARBY / np.abs(x / sizes).max()).tolist()))
        try:
            there = positions_obeying(system, time, moved[None], 1e-10)
        except ConvergenceError:
            continue
        if np.abs(np.array(difference(system.model, q.tolist(), there[0].tolist())) / sizes).max() > NEARBY / 10:
            across = _Across.of(system, time, there, np.zeros((1, system.model.nv)))
            found.append(_rank(_unit_rows(across.G[0])))
    return max(found, default=None)


def _unit_rows(G: Array) -> Array:
    """Each of unit length, whatever its unit; those that ask for nothing are zero."""
    lengths = np.linalg.norm(G, axis=1, keepdims=True)
    some = lengths > NOTHING * max(lengths.max(initial=0.0), np.finfo(float).tiny)
    return np.where(some, G / np.where(some, lengths, 1.0), 0.0)


def _rank(rows: Array) -> int:
    if not rows.size:
        return 0
    return int((np.linalg.svd(rows, compute_uv=False) > INDEPENDENT).sum())
