"""Accelerations under soft contact: what `System.acting` asks where contacts, limits, dry friction and constraints are
all soft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalar, as_array, scalars_in, where
from qdot.algebra.rounding import or_rounding
from qdot.algorithms.frames import root_frame
from qdot.algorithms.rnea import newton_euler
from qdot.contact.gauss import Found, Problem
from qdot.contact.soft import CAUSES, Soft, soft_problem
from qdot.contact.weights import weights_on_lanes
from qdot.programs import parameters as constants
from qdot.simulation.phase import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.simulation.system import Inputs, System

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Softly:
    """The acceleration, and joint forces by cause, (nv,) each."""

    a: list[Scalar]
    forces: dict[str, list[Scalar]]


def softly(system: System, kind: Soft, phase: Phase, inputs: Inputs, total: list[Scalar] | None = None) -> Softly:
    """Under joint forces that no contact or constraint makes, (nv,). Infinite where a contact found no room: such a
    step must not pass for one."""
    problem, found = solved_at(system, kind, phase, inputs, total)
    system.missed.append(problem.missed)

    def with_all(xs: Sequence[Scalar]) -> list[Scalar]:
        return [where(problem.missed > 0, inf, x) for x in xs]

    return Softly(with_all(found.a), {cause: with_all(found.joint_forces(cause)) for cause in CAUSES})


def pushes(system: System, kind: Soft, phase: Phase, inputs: Inputs) -> tuple[Problem, list[list[Scalar]]]:
    """All that is soft at a phase, and the forces along the rows of each."""
    problem, found = solved_at(system, kind, phase, inputs)
    return problem, found.forces


def solved_at(
    system: System, kind: Soft, phase: Phase, inputs: Inputs, total: list[Scalar] | None = None
) -> tuple[Problem, Found]:
    """What is soft at a phase, and its solution; solved once for each phase, whoever asks."""
    known = system.softened
    if id(phase) not in known:
        if total is None:
            total = [sum(column) for column in zip(*system.forces(phase, inputs).values(), strict=True)]
        problem = problem_of(system, kind, phase, inputs, total)
        known[id(phase)] = phase, problem, problem.solved(inputs.guess)
    return known[id(phase)][1:]


def weights_of(system: System, parameters: Mapping[str, Array], dtype: np.dtype[Any]) -> dict[str, Array]:
    """What steps are told of runs with constants of their own, by name: how easily things move, a row for each run, or
    one for all."""
    if not parameters or system.soft is None:
        return {}
    given: dict[str, Any] = {}
    for path, x in parameters.items():
        axes = len(constants.shape_of(system.model, path))
        lanes = np.moveaxis(x.astype(float), -1, 0) if axes else x.astype(float)
        given[path] = x.tolist() if x.ndim == axes else [*lanes] if axes else lanes
    found = weights_on_lanes(constants.with_parameters(system.model, given))
    return {"weights": as_array(list(scalars_in(found))).astype(dtype)}


def problem_of(system: System, kind: Soft, phase: Phase, inputs: Inputs, total: list[Scalar]) -> Problem:
    """Under these joint forces beside velocity products and weight."""
    model = system.model
    c, _ = newton_euler(model, phase.q, phase.v, [0] * model.nv, frames=root_frame)
    more = [constraint.rows(model, phase.time, phase.q, phase.v) for constraint in system.setup.constraints]
    f = [x - y for x, y in zip(total, c, strict=True)]
    problem = soft_problem(model, phase.q, phase.v, f, inputs.dt, kind, more, system.weights)
    return replace(problem, tolerance=or_rounding(problem.tolerance, 128))  # of less, rounding decides
