"""Motion in time: a model, what acts on it, and an integrator make a compiled step; runs of it make trajectories.

`qdot.simulate` and `qdot.Simulation` run it; here is what they may be given: constraints and forces of a user's own,
events, and how constraints, limits and steps are treated.
"""

from __future__ import annotations

from qdot.algorithms.constraints.kinds import Driven, Holonomic, Nonholonomic, Rolling
from qdot.simulation import integrators
from qdot.simulation.bounds import SoftStops, Stops
from qdot.simulation.controls import compilable
from qdot.simulation.events import Event, Happened
from qdot.simulation.forces import FrameForce, JointForce
from qdot.simulation.stabilisation import Baumgarte, Drifting, GearGuptaLeimkuhler, Projection

__all__ = [
    "Baumgarte",
    "Drifting",
    "Driven",
    "Event",
    "FrameForce",
    "GearGuptaLeimkuhler",
    "Happened",
    "Holonomic",
    "JointForce",
    "Nonholonomic",
    "Projection",
    "Rolling",
    "SoftStops",
    "Stops",
    "compilable",
    "integrators",
]
