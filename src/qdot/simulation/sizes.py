"""Sizes of a mechanism: by what its errors and speeds are large or small.

A length of the mechanism [m] stands beside a turn of one radian: what is off by a millionth of it is off by as much,
whether the mechanism is a watch or a crane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qdot.algorithms.constraints.kinds import Driven
from qdot.algorithms.kinematics import world_poses
from qdot.algorithms.residuals import active_constraints
from qdot.description import WORLD, CouplingRecord, WeldRecord
from qdot.model.model import Model
from qdot.simulation.system import System
from qdot.simulation.units import constraint_units, freedom_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


def size_of(model: Model, q: Sequence[float]) -> float:
    """A length of the model [m]: how far its frames, other than the world's, are apart at a configuration, or a body
    reaches from its joint; 1 where that is nothing."""
    poses = world_poses(model, q)
    found = 0.0
    for body in model.bodies:
        I = body.inertia
        if I.mass > 0:
            com = I.moment / I.mass
            found = max(found, float(com.norm() + abs(I.rotational.trace() / I.mass) ** 0.5))
    places = [[*(poses[f.body] @ f.placement).position] for name, f in model.frames.items() if name != WORLD]
    apart = np.ptp(np.array(places, dtype=float), axis=0) if places else np.zeros(3)
    return max(found, float(np.linalg.norm(apart))) or 1.0


@lru_cache(maxsize=256)
def home_size(model: Model) -> float:
    """The size of the model at home [m]."""
    return size_of(model, model.home().tolist())


@lru_cache(maxsize=256)
def freedom_sizes(model: Model) -> Array:
    """For each freedom, (nv,), what is a large motion: a radian, or the size of the model at home; not to be written
    to."""
    size = home_size(model)
    found = np.array([size if unit == "m" else 1.0 for unit in freedom_units(model)])
    found.flags.writeable = False
    return found


def speed_of(model: Model, v: Array) -> float:
    """How fast the fastest freedom of all runs is, in radians or sizes of the model a second."""
    return float(np.abs(np.atleast_2d(v) / freedom_sizes(model)).max(initial=0.0))


def row_sizes(system: System) -> Array:
    """For each row of the constraints, (rows,): a radian, or the size of the model at home where it is a length.

    Rows of a user are lengths where their unit says so.
    """
    model, counts = system.model, Counter(system.row_names)
    size, sizes = home_size(model), freedom_sizes(model)
    found: list[float] = []
    for record in active_constraints(model):
        if isinstance(record, WeldRecord):
            found += [size] * 3 + [abs(record.torque_scale) or 1.0] * 3
        elif isinstance(record, CouplingRecord) and not record.tendons:
            found.append(sizes[model.joint(record.follower).dofs.start])
        else:
            found += [size] * counts[record.name]
    for loop in model.loops:
        held = loop.joint.complement(loop.joint.neutral())
        found += [float(f.ang.norm() + f.lin.norm() * size) for f in held]
    units = constraint_units(model, system.setup.constraints)
    for constraint in system.setup.constraints:
        if isinstance(constraint, Driven):
            found += sizes[model.joint(constraint.joint).dofs].tolist()
        else:
            found += [size if units[constraint.name] == "N" else 1.0] * counts[constraint.name]
    return np.array(found)
