"""Every derived quantity is compared with the engine's at random states before anyone sees it.

The constants that are symbols are drawn at random too, so an equation that holds for one set of values only is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import sympy

from qdot.algebra.linalg import Matrix, matvec
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.rnea import Wrenches, inverse_dynamics
from qdot.derivation.constants import Constant
from qdot.derivation.substitution import substituted
from qdot.errors import DerivationError
from qdot.model.library import random_state
from qdot.model.model import Model
from qdot.spatial import Force

STATES = 5
TOLERANCE = 1e-8
"""Of an error beside the largest entry: rounding stays far below it, a wrong term far above."""

SMALL = 1e-6
"""Of the inertia and weight of a model: where all entries are smaller, errors are compared with that instead. What is
zero as derived is rounding in the engine."""


@dataclass(frozen=True)
class Case:
    """A state of the model with numbers for all its symbols; tau are the joint forces that give the acceleration a,
    p the momenta, u and w what actuators are told."""

    model: Model
    q: list[float]
    v: list[float]
    a: list[float]
    tau: list[float]
    p: list[float]
    u: list[float]
    w: list[float]
    wrenches: Wrenches
    constants: Mapping[Any, float]
    size: float
    """Of inertia and weight: the largest entry of M, and m g l with the length l that m l² gives it."""


Reading: TypeAlias = Callable[[Case], Any]
"""Numbers of a case, nested in any way."""


@dataclass(frozen=True)
class Check:
    """How far a derived quantity is from the engine's, at most, beside its largest entry."""

    error: float
    states: int = STATES


def with_values(model: Model, values: Mapping[Any, float], *, shapes: bool = False) -> Model:
    """The model with numbers for its symbols."""

    def valued(x: Any) -> Any:
        return float(x.subs(values)) if isinstance(x, sympy.Basic) else x

    return substituted(model, valued, shapes=shapes)


def cases(model: Model, constants: Mapping[Any, Constant], frames: Sequence[str]) -> list[Case]:
    """Random states, the same ones each time."""
    rng = np.random.default_rng(1)
    found = []
    for seed in range(STATES):
        values = {symbol: (constant.value or 1.0) * rng.uniform(0.5, 1.5) for symbol, constant in constants.items()}
        numeric = with_values(model, values)
        q, v, a = (x.tolist() for x in random_state(numeric, seed))
        wrenches = {frame: Force.of(rng.normal(size=6).tolist()) for frame in frames}
        tau = inverse_dynamics(numeric, q, v, a, wrenches=wrenches)
        M = mass_matrix(numeric, q)
        u, w = rng.normal(size=model.nu).tolist(), rng.normal(size=model.na).tolist()
        found.append(Case(numeric, q, v, a, tau, matvec(M, v), u, w, wrenches, values, _size(numeric, M)))
    return found


def _size(model: Model, M: Matrix) -> float:
    inertia = max((abs(x) for row in M for x in row), default=0.0)
    mass = sum(abs(body.inertia.mass) for body in model.bodies)
    return float(inertia + math.sqrt(mass * inertia) * math.hypot(*model.gravity))


def compared(what: str, found: Sequence[Case], ours: Reading, theirs: Reading, *, rows: int = 1) -> Check:
    """How far ours(case) is from theirs(case), at most, each of so many rows by itself; raises where they differ."""
    worst = 0.0
    for case in found:
        x, y = (np.array(reading(case), dtype=float).ravel() for reading in (ours, theirs))
        if x.shape != y.shape or not np.isfinite(x).all():
            worst = np.inf
        elif x.size:
            errors, sizes = (np.abs(z).reshape(rows, -1).max(axis=1) for z in (x - y, y))
            scale = np.maximum(sizes, SMALL * case.size)
            wrong = np.where(errors > 0, np.inf, 0.0)  # where nothing has a size, nothing may differ
            worst = max(worst, float(np.max(np.divide(errors, scale, out=wrong, where=scale > 0))))
    if worst > TOLERANCE:
        raise DerivationError(
            f"{what} of model {found[0].model.name!r}, as derived, differs from the engine's by {worst:.1e} of its "
            "largest entry; this is a defect of qdot, please report it with the model"
        )
    return Check(worst)
