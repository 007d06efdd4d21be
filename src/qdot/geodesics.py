"""Geodesics of the mass matrix (T31): the paths of unforced motion, from a start and a velocity or between two ends.

    ∇_v v = 0, that is v̇ = -M⁻¹ c(q, v): constant speed √(vᵀ M v), and locally the shortest way

The right-hand side is a compiled text; SciPy's eighth-order Runge–Kutta method chooses the steps. Quaternions are
brought back to unit length inside the right-hand side, so what the steps add off the manifold does not change the path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qdot.action import (
    chain_solution,
    numbers_of,
    path_gradient,
    require_moving,
    require_seconds,
    step_energies,
    weighted,
)
from qdot.algebra import Scalar, Scalars
from qdot.algorithms import bias, configuration, hamiltonian, riemann
from qdot.errors import ConvergenceError, ValueShapeError
from qdot.model.model import Model
from qdot.programs.functions import difference, function, mass_matrix, normalized, retract

Numbers = NDArray[np.float64]
MOST_NEWTON_STEPS = 20
MOST_RELAXATIONS = 100
SEGMENTS = 40
"""Of the bent way that a shot is aimed by."""
KINETIC = (1.0, 0.0)
"""Weights of the energies of a step: without the potential."""


def _geodesic_rate(model: Model, near_q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """(q̇, v̇) of unforced motion."""
    q = configuration.normalized(model, near_q)
    bent = hamiltonian.velocity_of_momentum(model, q, bias.velocity_forces(model, q, v))
    return configuration.configuration_rate(model, q, v), [-x for x in bent]


_rate = function(_geodesic_rate, needs_inertia=True)
_parallel_rate = function(riemann.parallel_rate, needs_inertia=True)
_inner_product = function(riemann.inner_product)


@dataclass(frozen=True)
class Geodesic:
    """A path of unforced motion from time 0 to `time`, or a batch of them: call it with a time to have (q, v)."""

    model: Model
    time: float
    shape: tuple[int, ...]
    """Of the batch: () for one path."""
    solution: Callable[[Any], Numbers]
    """Of SciPy: all coordinates and velocities against time."""

    def __call__(self, t: Any) -> tuple[Numbers, Numbers]:
        """(q, v) at a time from 0 to `time`, or at each of an array of times, times first."""
        t = self._within(t)
        flat = self.solution(t.ravel()).T.reshape(-1, self.model.nq + self.model.nv)
        q, v = flat[:, : self.model.nq], flat[:, self.model.nq :]
        shape = t.shape + self.shape
        return normalized(self.model, q).reshape(*shape, -1), v.reshape(*shape, -1)

    def _within(self, t: Any) -> Numbers:
        """Times that people pass; beyond the ends nothing was followed, and a polynomial would run away."""
        try:
            times = np.asarray(t, dtype=float)
        except (TypeError, ValueError):
            raise ValueShapeError(f"a time of the path is a number or an array of them, got {t!r}") from None
        slack = 1e-12 * self.time
        outside = times[~((times >= -slack) & (times <= self.time + slack))]  # so that nan is outside too
        if outside.size:
            raise ValueShapeError(
                f"the path of model {self.model.name!r} runs from time 0 to {self.time:g}, got {outside[0]:g}; give a "
                "time between, or follow the geodesic for longer"
            )
        return np.clip(times, 0.0, self.time)

    @property
    def speed(self) -> Any:
        """√(vᵀ M v), the same all along."""
        q, v = self(0.0)
        return np.sqrt(_inner_product(self.model, q, v, v))

    @property
    def length(self) -> Any:
        """Of the path, in the metric M [√(kg)·m]."""
        return self.speed * self.time


def geodesic(model: Model, q: Any, v: Any, *, time: float = 1.0, tolerance: float = 1e-11) -> Geodesic:
    """The geodesic that starts at q with velocity v: the motion without any force. At time 1 it is the exponential map.

    `tolerance` bounds the relative error of each step. A batch of starts, (batch, n), gives a batch of paths.
    """
    require_moving(model, "geodesic")
    require_seconds(time)
    rows = [numbers_of(model, "q", q), numbers_of(model, "v", v)]
    batches = {len(row) for row in rows if row.ndim == 2}
    if len(batches) > 1:
        raise ValueShapeError(f"q has {len(rows[0])} rows and v has {len(rows[1])}; give as many, or one of either")
    start = np.concatenate([np.broadcast_to(row, (*batches, row.shape[-1])) for row in rows], axis=-1)

    def rate(_: float, state: Numbers) -> Numbers:
        y = state.reshape(start.shape)
        return np.concatenate(_rate(model, y[..., : model.nq], y[..., model.nq :]), axis=-1).ravel()

    return Geodesic(
        model, float(time), start.shape[:-1], _solved(rate, start.ravel(), time, tolerance, "the geodesic").sol
    )


def geodesic_between(model: Model, q0: Any, q1: Any, *, guess: Any = None, tolerance: float = 1e-10) -> Geodesic:
    """A geodesic from q0 at time 0 to q1 at time 1, by shooting: Newton's method for the velocity at the start.

    Between two points there may be many, around and around a joint, say. By default it is the one that the straight way
    q1 ⊖ q0 becomes when it is pulled tight, so a locally shortest one; `guess` is the velocity at the start of another.
    """
    require_moving(model, "geodesic_between")
    start, end = numbers_of(model, "q0", q0), numbers_of(model, "q1", q1)
    if start.ndim != 1 or end.ndim != 1:
        raise ValueShapeError("geodesic_between joins one q0 and one q1, not batches of them")
    aim = _aim(model, start, end) if guess is None else numbers_of(model, "v", guess)
    v = _shot(model, start, aim, end, tolerance)
    if v is None:
        raise ConvergenceError(
            f"model {model.name!r}: no geodesic was found from q0 to q1; give a guess of its velocity at the start, or "
            "ends that are nearer to each other"
        )
    return geodesic(model, start, v, tolerance=tolerance / 10)


def geodesic_distance(model: Model, q0: Any, q1: Any, *, guess: Any = None) -> float:
    """The length of `geodesic_between` [√(kg)·m]: the distance of two configurations, if no way far off is shorter."""
    return float(geodesic_between(model, q0, q1, guess=guess).length)


def parallel_transport(
    model: Model,
    curve: Callable[[float], tuple[Any, Any]],
    vector: Any,
    *,
    time: float = 1.0,
    tolerance: float = 1e-11,
) -> Numbers:
    """A vector, or each row of several, carried along a curve from time 0 to `time` without turning: ∇_v u = 0.

    `curve(t)` gives (q, v), where it is and how fast; a `Geodesic` is one. Lengths and angles of vectors stay the same.
    """
    require_moving(model, "parallel_transport")
    require_seconds(time)
    start = numbers_of(model, "dv", vector)
    if not callable(curve):
        raise ValueShapeError(f"parallel_transport: a curve is a function of time that gives (q, v), got {curve!r}")

    def rate(t: float, state: Numbers) -> Numbers:
        at = curve(t)
        if not isinstance(at, (tuple, list)) or len(at) != 2:
            raise ValueShapeError(f"parallel_transport: a curve gives (q, v) at each time, got {at!r} at {t:g}")
        return np.asarray(_parallel_rate(model, *at, state.reshape(start.shape))).ravel()

    carried = _solved(rate, start.ravel(), time, tolerance, "parallel transport").y[:, -1]
    return np.asarray(carried).reshape(start.shape)


def _aim(model: Model, start: Numbers, end: Numbers) -> Numbers:
    """The velocity at the start of the straight way pulled tight: the sum of ½ dᵀ M d over its segments d made least.

    A step solves with M alone, without its derivatives: it always points downhill.
    """
    ahead = np.linspace(0, 1, SEGMENTS + 1)[:, None] * difference(model, start, end)
    q = retract(model, np.tile(start, (SEGMENTS + 1, 1)), ahead)
    energy = _energy(model, q)
    for _ in range(MOST_RELAXATIONS):
        M = mass_matrix(model, retract(model, q[:-1], difference(model, q[:-1], q[1:]) / 2))
        pull = chain_solution(M[:-1] + M[1:], -M[1:-1], -path_gradient(model, q, KINETIC)[1:-1])
        tried, before = q, energy
        for shorter in (1.0, 0.5, 0.25, 0.125) if np.isfinite(pull).all() else ():
            tried = np.concatenate([q[:1], retract(model, q[1:-1], shorter * pull), q[-1:]])
            energy = _energy(model, tried)
            if energy < before:
                break
        if not energy < before * (1 - 1e-5):
            break
        q = tried
    near, far = difference(model, q[0], q[1]), difference(model, q[0], q[2])
    return np.asarray(SEGMENTS * (2 * near - far / 2))


def _energy(model: Model, q: Numbers) -> float:
    return float(weighted(step_energies(model, q[:-1], q[1:]), KINETIC).sum())


def _shot(model: Model, start: Numbers, v: Numbers, target: Numbers, tolerance: float) -> Numbers | None:
    """The velocity that leads from start to target in one second; None where Newton's method does not get there.

    The columns of its matrix are paths beside the one shot, all in one batch.
    """
    step = 1e-6 * (1 + np.abs(v).max())
    missed, matrix = _aimed(model, start, v, target, step, tolerance)
    for _ in range(MOST_NEWTON_STEPS):
        if np.abs(missed).max() < tolerance:
            return v
        try:
            change = np.linalg.solve(matrix, missed)
        except np.linalg.LinAlgError:
            return None
        for shorter in (1.0, 0.5, 0.25, 0.125):
            tried = v + shorter * change
            nearer, matrix_there = _aimed(model, start, tried, target, step, tolerance)
            if np.abs(nearer).max() < np.abs(missed).max():
                break
        else:
            return None
        v, missed, matrix = tried, nearer, matrix_there
    return None


def _aimed(
    model: Model, start: Numbers, v: Numbers, target: Numbers, step: float, tolerance: float
) -> tuple[Numbers, Numbers]:
    """(what is missing to the target, how the end moves with the velocity at the start)."""
    paths = geodesic(model, start, np.vstack([v, v + step * np.eye(model.nv)]), tolerance=tolerance / 10)
    ends, _ = paths(1.0)
    moved = difference(model, np.tile(ends[0], (model.nv, 1)), ends[1:])
    return difference(model, ends[0], target), moved.T / step


def _solved(rate: Callable[[float, Numbers], Numbers], start: Numbers, time: float, tolerance: float, what: str) -> Any:
    from scipy.integrate import solve_ivp

    rtol = max(tolerance, 1e-13)
    found = solve_ivp(rate, (0.0, time), start, method="DOP853", rtol=rtol, atol=rtol, dense_output=True)
    if not found.success:
        raise ConvergenceError(f"{what} could not be followed to time {time:g}: {found.message}")
    return found
