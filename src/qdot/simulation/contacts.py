"""Contacts of a run, looked at afterwards: what touches at a record and how strongly, and how well the law was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalar, Vec3
from qdot.algorithms.kinematics import world_poses
from qdot.collision.pairs import Pair, Part
from qdot.collision.touch import Touch
from qdot.contact.between import by_kind_but_for_friction, filled
from qdot.contact.kinds import Hard, Impulse, Lcp, Penalty
from qdot.contact.penalty import penalty_forces
from qdot.contact.points import Points
from qdot.contact.soft import Soft
from qdot.contact.soft_contacts import MOST_ALONE, contact_frame, parted, touches_of
from qdot.description import WORLD
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.programs.parameters import with_parameters
from qdot.simulation.phase import Phase, along
from qdot.simulation.reporting import COLUMNS
from qdot.simulation.softly import pushes
from qdot.simulation.system import Inputs, System
from qdot.simulation.touching import impulses_of, met

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.simulation.trajectory import Trajectory

    Array = NDArray[np.float64]


ENOUGH = 10**6
"""Places for all contacts that there may be."""


@dataclass(frozen=True, eq=False)
class Contact:
    """Two shapes that touch at a point: the `force` [N] is on the second body, in the world's axes, as are the
    position [m] and the normal, which points from the first to the second; the distance [m] is negative where they
    overlap."""

    bodies: tuple[str, str]
    shapes: tuple[str, str]
    position: Array
    normal: Array
    distance: float
    force: Array

    def __str__(self) -> str:
        pair = " on ".join(
            f"{body}" + (f" ({shape})" if shape else "") for body, shape in zip(self.bodies, self.shapes, strict=True)
        )
        push = float(self.normal @ self.force)
        slip = float(np.linalg.norm(self.force - push * self.normal))
        return f"{pair}: push {push:.4g} N, friction {slip:.4g} N, distance {self.distance:.3g} m"


def residuals_of(run: Trajectory) -> dict[str, Array]:
    """Columns by name."""
    if run.contact.ndim < 2:
        raise ValueShapeError(
            f"this run of model {run.model.name!r} has no residuals of contacts; simulate it with contact='hard', or "
            "with residuals=True where contact is 'soft' or 'penalty'"
        )
    return {name: run.contact[..., k] for k, name in enumerate(COLUMNS)}


def contacts_of(run: Trajectory, record: int) -> list[Contact]:
    """At a record, with the inputs of the step that led to it; forces are those of a step that begins there."""
    if not isinstance(record, (int, np.integer)) or not -run.records <= record < run.records:
        raise ValueShapeError(f"contacts({record!r}): this run has {run.records} records, counted from 0")
    system = run.system
    if system is None or system.setup.contact is None or run.checkpoint is None:
        raise ValueShapeError(
            f"{run!r} does not tell what touches: it was simulated without contact, or resampled, or it was read from "
            "a file, and functions of yours acted in it, which files do not hold; go on from it with these and ask: "
            "qdot.simulate(model, run, seconds, contact=…, forces=…).contacts(0)"
        )
    given_parameters = {path: x.astype(float) for path, x in run.parameters.items()}
    model = with_parameters(run.model, given_parameters) if run.parameters else run.model
    system, dt = replace(system, model=model), run.checkpoint.dt
    inputs = run.inputs[record].tolist()
    given = Inputs(inputs[: model.nu], inputs[model.nu :], dt, guess=[0.0] * model.nv)
    state = (run.q[record].tolist(), run.v[record].tolist(), run.activation[record].tolist())
    phase = Phase(float(run.time[record]), *state, [0.0] * len(system.ledger))
    return _contacts(system, phase, given)


def _contacts(system: System, phase: Phase, inputs: Inputs) -> list[Contact]:
    model, kind = system.model, system.setup.contact
    if isinstance(kind, Soft):
        return _soft_contacts(system, kind, phase, inputs)
    if isinstance(kind, Penalty):
        f, found = penalty_forces(model, phase.q, phase.v, replace(kind, room=None))
    else:
        assert kind is not None
        solver = Hard(resting=kind.resting) if isinstance(kind, Impulse) else replace(kind, room=None)
        inputs = system.engaged(phase, inputs, inputs.dt)
        free = along(phase.v, system.acting(phase, inputs, inputs.dt, chord=True).rates.v, inputs.dt)
        found = met(system, None, phase, free, inputs.dt)
        if not isinstance(solver, Lcp) or solver.level == "velocity":  # accelerations are of all rows
            found = Points([point for point in found.points if point.present], found.missed)
        z = impulses_of(system, solver, found, phase, free, inputs.dt).impulses.z
        f = [x / inputs.dt for x in z]
    listed, first = [], 0
    for point in found.points:
        own = f[first : first + len(point.J)]
        first += len(point.J)
        if point.touch is not None and point.pair is not None and (point.gap <= 0 or own[0] > 0):
            listed.append(_contact(model, phase, point.pair.first, point.pair.second, point.touch, own))
    return listed


def _soft_contacts(system: System, kind: Soft, phase: Phase, inputs: Inputs) -> list[Contact]:
    """In the order of the problem: each on its own, then in places, of which there are enough."""
    model = system.model
    alone, sharing = parted(model, MOST_ALONE)
    problem, all_forces = pushes(system, replace(kind, room=ENOUGH), phase, inputs)
    forces = [force for force, why in zip(all_forces, problem.causes, strict=True) if why == "contacts"]
    X = problem.at.places
    assert X is not None
    listed = [(pair.first, pair.second, touch) for pair in alone for touch in touches_of(pair, X)]
    for alike, those in by_kind_but_for_friction(sharing).items():
        most = sum(len(touches_of(pair, X)) for pair in those)
        for place in filled(model, alike, those, X, most).places:
            touch = place.touch
            listed.append((*_nearest(those, X, int(place.first), int(place.second), touch), touch))
    return [
        _contact(model, phase, first, second, touch, force)
        for (first, second, touch), force in zip(listed, forces, strict=True)
        if force[0] > 0
    ]


def _nearest(those: Sequence[Pair], X: Any, first: int, second: int, touch: Touch) -> tuple[Part, Part]:
    """The shapes of a place: of two bodies, those that touch nearest to it."""

    def off(pair: Pair) -> float:
        same = (pair.first.body, pair.second.body) == (first, second)
        away = [float((other.position - touch.position).norm()) for other in touches_of(pair, X)]
        return min(away) if same else float("inf")

    pair = min(those, key=off)
    return pair.first, pair.second


def _contact(
    model: Model, phase: Phase, first: Part, second: Part, touch: Touch, along_rows: Sequence[Scalar]
) -> Contact:
    names = [WORLD, *(body.name for body in model.bodies)]
    origin = world_poses(model, phase.q)[1].position  # of the frame that touches are in
    axes = contact_frame(touch)
    force = axes @ Vec3(*[*along_rows[:3], 0.0, 0.0][:3])
    return Contact(
        (names[first.body], names[second.body]),
        (first.record.name, second.record.name),
        _array(touch.position + origin),
        _array(touch.normal),
        float(touch.distance),
        _array(force),
    )


def _array(x: Vec3) -> Array:
    return np.array([float(a) for a in x])
