"""One step of a simulation as a text that is compiled: from the state that a record holds to the next record's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qdot.algebra import Scalar, Scalars
from qdot.algorithms.frames import Choice, body_frames
from qdot.algorithms.limits import limited
from qdot.model.model import Model
from qdot.simulation.bounds import Stops
from qdot.simulation.impacts import Bouncing
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase
from qdot.simulation.stabilisation import Drifting
from qdot.simulation.system import Inputs, Setup, System


def stepped(
    model: Model,
    q: Scalars,
    v: Scalars,
    activation: Scalars,
    count: Scalars,
    work: Scalars,
    memory: Scalars,
    control: Scalars,
    tau: Scalars,
    timing: Scalars,
    *,
    setup: Setup,
    integrator: Integrator,
    frames: Choice = body_frames,
) -> dict[str, Any]:
    """The state after one step. `timing` is (start, dt) [s], and `count`, one number, how many steps were done since
    the start: time is counted, not summed up, so that it does not drift."""
    system = System(model, setup, frames)
    if integrator.settles and not system.is_bounded:
        system = System(model, replace(setup, stabilisation=Drifting()), frames)
    start, dt = timing
    inputs = Inputs(list(control), list(tau), dt)
    before = Phase(start + count[0] * dt, list(q), list(v), list(activation), list(work))
    stepped = settled_step(system, integrator, before, inputs, dt, list(memory))
    after = stepped.phase
    found = {
        "q": after.q, "v": after.v, "activation": after.activation, "count": [count[0] + 1], "work": after.work,
        "memory": stepped.memory,
    }  # fmt: skip
    if system.row_count:
        found |= {"drift": system.drift(after)}
    if setup.events:
        found["events"] = [event.value(after.time, after.q, after.v) for event in setup.events]
    return found


def settled_step(
    system: System, integrator: Integrator, phase: Phase, inputs: Inputs, dt: Scalar, memory: list[Scalar]
) -> Stepped:
    """A step with what happens at its end, or within it where things bounce."""
    kind = system.setup.limits
    if isinstance(kind, Stops) and kind.restitution > 0 and limited(system.model, phase.q):
        return Bouncing(system, integrator, inputs, dt, kind).step(phase, memory)
    inputs = system.engaged(phase, inputs, dt)
    stepped = integrator.step(system, phase, inputs, dt, memory)
    return replace(stepped, phase=system.settled(phase, stepped.phase, inputs, dt))


def constraint_forces(
    model: Model,
    q: Scalars,
    v: Scalars,
    activation: Scalars,
    count: Scalars,
    control: Scalars,
    tau: Scalars,
    timing: Scalars,
    *,
    setup: Setup,
    frames: Choice = body_frames,
) -> list[Scalar]:
    """The force of each constraint row at a state, with the inputs of the step that led to it."""
    system, (start, dt) = System(model, setup, frames), timing
    phase = Phase(start + count[0] * dt, list(q), list(v), list(activation), [0] * len(system.ledger))
    inputs = system.engaged(phase, Inputs(list(control), list(tau), dt), dt)
    return system.acting(phase, inputs, dt).multipliers


def shapes(system: System, integrator: Integrator) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Of the inputs that are no vectors of the model."""
    memory = len(integrator.memory(system))
    return ("count", (1,)), ("work", (len(system.ledger),)), ("memory", (memory,)), ("timing", (2,))
