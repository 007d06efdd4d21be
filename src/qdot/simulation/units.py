"""Units of coordinates, freedoms and forces, as the joints themselves tell: what turns is in radians, what slides in
metres."""

from __future__ import annotations

from collections.abc import Iterable

from qdot.algebra import is_zero
from qdot.algorithms.constraints.kinds import Driven, Rolling
from qdot.joints import Joint
from qdot.model.model import Model
from qdot.simulation.system import Constraint

OF_FORCES = {"m": "N", "rad": "N·m", "m/s": "N", "rad/s": "N·m"}
"""The unit of a force whose work, or power, is that of a length, an angle or a rate."""


def coordinate_units(model: Model) -> list[str]:
    """The unit of each entry of q, (nq,); none for a quaternion's."""
    return [unit for body in model.bodies for unit in _of_coordinates(body.joint)]


def freedom_units(model: Model) -> list[str]:
    """The unit of each entry of v, less the one over a second, (nv,)."""
    return [unit for body in model.bodies for unit in _of_freedoms(body.joint)]


def _of_coordinates(joint: Joint) -> list[str]:
    ones = [1.0] * joint.nq
    grown = joint.stretched(ones, 2.0)
    angle = "rad" if joint.nq == joint.nv else ""
    return [angle if a == b else "m" for a, b in zip(ones, grown, strict=True)]


def _of_freedoms(joint: Joint) -> list[str]:
    columns = joint.subspace(joint.neutral()).columns
    return ["m" if all(is_zero(x) for x in s.ang) else "rad" for s in columns]


def constraint_units(model: Model, constraints: Iterable[Constraint]) -> dict[str, str]:
    """The unit of the forces of users' constraints, by name."""
    return {c.name: _of_constraint(model, c) for c in constraints}


def _of_constraint(model: Model, constraint: Constraint) -> str:
    if isinstance(constraint, Driven):
        units = dict.fromkeys(OF_FORCES[x] for x in _of_freedoms(model.joint(constraint.joint).joint))
        return ", ".join(units)
    if isinstance(constraint, Rolling):
        return "N"
    unit = getattr(constraint, "unit", "")
    return OF_FORCES.get(unit, f"J/({unit})" if unit else "")
