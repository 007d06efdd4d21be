"""Hamilton's principle (H5): of all paths between two ends, the one that is run makes the action stationary.

    S = ∫ L dt,  L = K - P,  on a path q_0 … q_N in equal steps h by the midpoint rule:
    S = Σ h L(q_k ⊕ ½ d_k, d_k / h) with d_k = q_{k+1} ⊖ q_k, an error of order h²

∂S/∂q_k = 0 between the ends are the discrete Euler–Lagrange equations; Newton's method solves them, a matrix of blocks
along the diagonal. Stationary is not always least: beyond the first conjugate point the action has a saddle there. All
forces must have a potential: weight and springs count, friction has no action. Marsden, West, Acta Numerica 10 (2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qdot.algebra import Scalar, Scalars, as_array, is_number
from qdot.algorithms import configuration, energy
from qdot.errors import ConvergenceError, ModelError, ValueShapeError
from qdot.model.model import Model, require_model
from qdot.model.vectors import scalars_of
from qdot.programs.derivatives import derivative
from qdot.programs.functions import difference, function, retract

Numbers = NDArray[np.float64]
MOST_NEWTON_STEPS = 50


def _step_energies(model: Model, q0: Scalars, q1: Scalars) -> list[Scalar]:
    """(K, P) at the middle of a step from q0 to q1 in one second; in h seconds K is 1/h² of that, (2,) [J]."""
    d = configuration.difference(model, q0, q1)
    middle = configuration.retract(model, q0, [x / 2 for x in d])
    return [energy.kinetic_energy(model, middle, d), energy.potential_energy(model, middle)]


step_energies = function(_step_energies)
_by_start, _by_end = derivative(_step_energies, "q0"), derivative(_step_energies, "q1")
_by_start_twice, _by_both, _by_end_twice = (
    derivative(_by_start, "q0"), derivative(_by_start, "q1"), derivative(_by_end, "q1")
)  # fmt: skip


def discrete_action(model: Model, path: Any, *, time: float) -> float:
    """S = Σ h L of a path (steps + 1, nq) that is run in `time` seconds, in equal steps [J·s]."""
    q, h = _checked(model, path, time)
    return float(weighted(step_energies(model, q[:-1], q[1:]), _of_action(h)).sum())


def action_gradient(model: Model, path: Any, *, time: float) -> Numbers:
    """∂S along the freedoms of each point of a path, (steps + 1, nv); between the ends it is zero for a true motion.

    At the ends it is the momentum: -p at the first, p at the last.
    """
    q, h = _checked(model, path, time)
    return path_gradient(model, q, _of_action(h))


def stationary_path(
    model: Model,
    q0: Any,
    q1: Any,
    *,
    time: float,
    steps: int = 100,
    guess: Any = None,
    tolerance: float = 1e-10,
) -> Numbers:
    """The path from q0 to q1 in `time` seconds whose action is stationary, (steps + 1, nq): a motion without friction.

    It differs from the exact motion by an order of (time / steps)². Newton's method starts from a `guess`, a path of as
    many steps, by default the straight way, and ends when no equation is off by more than `tolerance` of its terms.
    """
    require_moving(model, "stationary_path")
    if not isinstance(steps, (int, np.integer)) or steps < 2:
        raise ValueShapeError(f"a path has 2 steps or more, got {steps!r}")
    start, end = numbers_of(model, "q0", q0), numbers_of(model, "q1", q1)
    if start.ndim != 1 or end.ndim != 1:
        raise ValueShapeError("stationary_path joins one q0 and one q1, not batches of them")
    way = difference(model, start, end)
    straight = retract(model, np.tile(start, (steps + 1, 1)), np.linspace(0, 1, steps + 1)[:, None] * way)
    q, h = _checked(model, straight if guess is None else guess, time)
    if q.shape != straight.shape:
        raise ValueShapeError(f"a guess of {steps} steps has shape {straight.shape}, got {q.shape}")
    q = np.concatenate([start[None], q[1:-1], end[None]])
    for _ in range(MOST_NEWTON_STEPS):
        wrong = path_gradient(model, q, _of_action(h))[1:-1]
        scale = np.abs(_slopes(model, q, _of_action(h))).max()
        if np.abs(wrong).max() <= tolerance * scale:
            return q
        first, mixed, last = (
            weighted(f(model, q[:-1], q[1:]), _of_action(h)) for f in (_by_start_twice, _by_both, _by_end_twice)
        )  # of each step, nv × nv
        step = chain_solution(last[:-1] + first[1:], mixed[1:-1], -wrong)
        if not np.isfinite(step).all():
            break
        q[1:-1] = retract(model, q[1:-1], step)
    raise ConvergenceError(
        f"model {model.name!r}: Newton's method found no stationary path; give a guess that is nearer to one, such as "
        "that of a shorter time, or more steps"
    )


def weighted(energies: Numbers, weights: tuple[float, float]) -> Numbers:
    """Σ weight · energy of each step, from its energies (steps, 2, …) or their derivatives."""
    return np.asarray(energies[:, 0] * weights[0] + energies[:, 1] * weights[1])


def path_gradient(model: Model, q: Numbers, weights: tuple[float, float]) -> Numbers:
    """The derivative of the weighted energies of all steps along the freedoms of each point, (steps + 1, nv)."""
    by_start, by_end = _slopes(model, q, weights)
    gradient = np.zeros((len(q), model.nv))
    gradient[:-1] += by_start
    gradient[1:] += by_end
    return gradient


def chain_solution(diagonal: Numbers, beside: Numbers, right: Numbers) -> Numbers:
    """x of a symmetric system whose blocks (n, nv, nv) lie on the diagonal and (n - 1, nv, nv) beside it: the points
    of a path meet only their neighbours. Not finite where it is singular."""
    from scipy.sparse import block_array, coo_array
    from scipy.sparse.linalg import splu

    n = len(diagonal)
    blocks: list[list[Any]] = [[None] * n for _ in range(n)]
    for k in range(n):
        blocks[k][k] = coo_array(diagonal[k])
        if k + 1 < n:
            blocks[k][k + 1], blocks[k + 1][k] = coo_array(beside[k]), coo_array(beside[k].T)
    try:
        found = splu(block_array(blocks, format="csc")).solve(right.ravel())
    except RuntimeError:
        return np.full_like(right, np.nan)
    return np.asarray(found).reshape(right.shape)


def _of_action(h: float) -> tuple[float, float]:
    """Weights of the energies in the action of a step: h L = h (K / h² - P)."""
    return 1 / h, -h


def _slopes(model: Model, q: Numbers, weights: tuple[float, float]) -> tuple[Numbers, Numbers]:
    """Of each step's weighted energies, by its start and by its end."""
    return weighted(_by_start(model, q[:-1], q[1:]), weights), weighted(_by_end(model, q[:-1], q[1:]), weights)


def numbers_of(model: Model, name: str, value: Any) -> Numbers:
    """A vector of the model, or a batch of them, that people pass: checked, as an array."""
    array = as_array(scalars_of(model, name, value))
    if array.dtype == object:
        raise ValueShapeError(f"{name} of model {model.name!r} must be numbers here, not symbols")
    return array


def require_moving(model: Model, what: str) -> None:
    """Raise where it is no model, or one that cannot move."""
    require_model(model, what)
    if model.nv == 0:
        raise ModelError(f"{what}: model {model.name!r} has no freedom, so it has no paths; give it a joint that moves")


def require_seconds(time: Any) -> None:
    if not is_number(time) or not 0 < time < np.inf:
        raise ValueShapeError(f"time is a positive number of seconds, got {time!r}")


def _checked(model: Model, path: Any, time: float) -> tuple[Numbers, float]:
    """A path that people pass, and its step in seconds."""
    require_moving(model, "the action of a path")
    require_seconds(time)
    q = numbers_of(model, "q", path)
    if q.ndim != 2 or len(q) < 2:
        raise ValueShapeError(f"a path is an array (steps + 1, {model.nq}) of configurations, got shape {q.shape}")
    return q, time / (len(q) - 1)
