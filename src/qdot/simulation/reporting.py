"""How well a step obeys the law of contact: the same numbers for every kind.

Kinds that are solved for impulses know them. Of those that push by forces f during a step (soft, penalty), impulses
are dt f at its start, and velocities those at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from qdot.algebra import Scalar, Scalars, maximum, scalars_in, where_needed
from qdot.algebra.linalg import dot
from qdot.algorithms.constraints.rows import times
from qdot.contact.constraints import Ground
from qdot.contact.gauss import body_motions
from qdot.contact.kinds import Penalty
from qdot.contact.penalty import penalty_forces
from qdot.contact.points import Points
from qdot.contact.residuals import residuals
from qdot.contact.soft import Soft
from qdot.contact.soft_laws import Bound
from qdot.simulation.phase import Phase
from qdot.simulation.softly import pushes, solved_at
from qdot.simulation.system import Inputs, System

COLUMNS = {
    "penetration": "m",
    "cone": "N s",
    "complementarity": "J",
    "dissipation": "J",
    "energy": "J",
    "unsolved": "",
    "paradox": "",
}
"""Residuals of a step and their units: the deepest overlap where it began; by how much impulses leave their cones; push
times parting speed; what friction should have taken and did not; energy that contacts gave; 1 where the solver did not
come to its tolerance; 1 where a push at a sliding point would make it approach (Painlevé), so that forces alone would
be none or several, and impulses act."""


@dataclass(frozen=True)
class Report:
    """What is recorded of each step."""

    penetration: Scalar
    cone: Scalar
    complementarity: Scalar
    dissipation: Scalar
    energy: Scalar
    unsolved: Scalar = 0.0
    paradox: Scalar = 0.0

    holds_scalars: ClassVar[bool] = True

    def row(self) -> list[Scalar]:
        return list(scalars_in(self))

    def joined(self, later: Report) -> Report:
        """Of two parts of a step: the worst of each, and all energy."""
        worst = [maximum(x, y) for x, y in zip(self.row(), later.row(), strict=True)]
        return replace(Report(*worst), energy=self.energy + later.energy)


NOTHING = Report(0.0, 0.0, 0.0, 0.0, 0.0)


def deepest(found: Points) -> Scalar:
    """The deepest overlap [m]."""
    depth: Scalar = 0.0
    for point in found.points:
        depth = maximum(depth, -point.gap)
    return depth


def pushing_report(system: System, kind: Soft | Penalty, phase: Phase, inputs: Inputs, after: Scalars) -> Report:
    """Of a step from this phase to the velocities `after`."""
    if isinstance(kind, Penalty):
        f, found = penalty_forces(system.model, phase.q, phase.v, kind)
        pushed = _Pushed(f, list(found.friction), times(found.J, phase.v), times(found.J, after))
        depth = deepest(found)
    else:
        depth = solved_at(system, kind, phase, inputs)[0].overlap
        pushed = _softly(system, kind, phase, inputs, after)
    z = [inputs.dt * x for x in pushed.f]
    worst = residuals(z, pushed.after, pushed.friction, [1.0] * len(pushed.friction))
    mean = [(x + y) / 2 for x, y in zip(pushed.before, pushed.after, strict=True)]
    given = maximum(dot(z, mean), 0.0) if z else 0.0
    return Report(depth, worst.cone, worst.complementarity, worst.dissipation, given)


class _Pushed(NamedTuple):
    """Forces along all rows of contacts, their friction, and the velocities of rows before and after a step."""

    f: list[Scalar]
    friction: list[Scalars]
    before: list[Scalar]
    after: list[Scalar]


def _softly(system: System, kind: Soft, phase: Phase, inputs: Inputs, after: Scalars) -> _Pushed:
    problem, forces = pushes(system, kind, phase, inputs)
    motions = [body_motions(system.model, problem.at, v) for v in (phase.v, after)]
    found = _Pushed([], [], [], [])
    for constraint, why, force in zip(problem.constraints, problem.causes, forces, strict=True):
        law = constraint.law
        if why != "contacts" or isinstance(law, Bound):
            continue
        found.f.extend(force)
        found.friction.append(list(law.friction[: len(force) - 1]))
        for own, U, v in zip((found.before, found.after), motions, (phase.v, after), strict=True):
            moving: Any = U[constraint.body] if isinstance(constraint, Ground) else list(v)
            motion: Callable[[Any], list[Scalar]] = constraint.motion
            own += where_needed(constraint.acts, moving, motion, constraint.nothing)
    return found
