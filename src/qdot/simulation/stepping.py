"""One step of a simulation as a text that is compiled: from the state that a record holds to the next record's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qdot.algebra import Scalar, Scalars, scalars_in
from qdot.algorithms.frames import Choice, body_frames, root_frame
from qdot.algorithms.limits import limited
from qdot.compiler.program import EFFORT
from qdot.contact.kinds import Hard, Impulse, Lcp, Penalty
from qdot.contact.recall import remembered_size
from qdot.contact.soft import Soft
from qdot.contact.weights import Weights, weights
from qdot.model.model import Model
from qdot.simulation.bounds import Stops
from qdot.simulation.impacts import Bouncing
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase
from qdot.simulation.reporting import COLUMNS, Report, pushing_report
from qdot.simulation.softly import solved_at
from qdot.simulation.stabilisation import Drifting
from qdot.simulation.striking import Striking
from qdot.simulation.system import Inputs, Setup, System
from qdot.simulation.touching import met, touching_step
from qdot.simulation.tunnelling import crossings


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
    weights: Scalars = (),
    *,
    setup: Setup,
    integrator: Integrator,
    frames: Choice = body_frames,
) -> dict[str, Any]:
    """The state after one step. `timing` is (start, dt) [s], and `count`, one number, how many steps were done since
    the start: time is counted, not summed up, so that it does not drift. `weights`, of soft contact, are given where
    constants of the model are inputs."""
    if isinstance(setup.contact, Soft):  # which needs all in one frame
        frames = root_frame
    system = System(model, setup, frames, Weights.of_row(model, weights) if weights else None)
    if integrator.settles and not system.is_bounded:
        system = replace(system, setup=replace(setup, stabilisation=Drifting()))
    start, dt = timing
    own, guess = memory_parts(system, integrator, memory)
    inputs = Inputs(list(control), list(tau), dt, guess=guess)
    before = Phase(start + count[0] * dt, list(q), list(v), list(activation), list(work))
    stepped, report = settled_step(system, integrator, before, inputs, dt, own)
    after = stepped.phase
    remembered = list(stepped.memory)
    if system.soft is not None:
        problem, solution = solved_at(system, system.soft, before, inputs)
        remembered += problem.remembered(solution)
    found = {
        "q": after.q, "v": after.v, "activation": after.activation, "count": [count[0] + 1], "work": after.work,
        "memory": remembered[: len(memory)],
    }  # fmt: skip
    if system.soft is not None:
        found[EFFORT] = [problem.effort(solution)]
    if system.row_count:
        found |= {"drift": system.drift(after)}
    if report is not None:
        found["contact"] = report.row()
    elif setup.residuals and isinstance(setup.contact, (Soft, Penalty)):
        found["contact"] = pushing_report(system, setup.contact, before, inputs, after.v).row()
    if system.may_tunnel:
        found["crossings"] = [crossings(model, before.q, before.v, dt, after.q)]
    if setup.events:
        found["events"] = [event.value(after.time, after.q, after.v) for event in setup.events]
    return found


def settled_step(
    system: System, integrator: Integrator, phase: Phase, inputs: Inputs, dt: Scalar, memory: list[Scalar]
) -> tuple[Stepped, Report | None]:
    """A step with what happens at its end, or within it where things bounce; and how well contacts obey their law."""
    contact = system.setup.contact
    if isinstance(contact, (Hard, Lcp)):
        return touching_step(system, contact, phase, inputs, dt)
    if isinstance(contact, Impulse):
        return Striking(system, integrator, contact, inputs, dt).step(phase, memory)
    kind = system.setup.limits
    if isinstance(kind, Stops) and kind.restitution > 0 and limited(system.model, phase.q):
        return Bouncing(system, integrator, inputs, dt, kind).step(phase, memory), None
    inputs = system.engaged(phase, inputs, dt)
    stepped = integrator.step(system, phase, inputs, dt, memory)
    return replace(stepped, phase=system.settled(phase, stepped.phase, inputs, dt)), None


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


def memory_of(system: System, integrator: Integrator) -> list[float]:
    """What is remembered from step to step, as it is at the start: by the integrator, and a guess where contacts are
    solved from one, of accelerations or of impulses."""
    kind = system.setup.contact
    size = 0
    if isinstance(kind, Soft):
        size = system.model.nv + remembered_size(system.model)
    elif isinstance(kind, (Hard, Lcp)) and kind.solver == "pgs":
        home = Phase(0.0, system.model.home().tolist(), [0.0] * system.model.nv, [], [])
        size = len(met(system, kind.room, home, home.v, 0.0).J)
    return [*integrator.memory(system), *[0.0] * size]


def memory_parts(system: System, integrator: Integrator, memory: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """What the integrator remembers, and the guess."""
    size = len(integrator.memory(system))
    return list(memory[:size]), list(memory[size:])


def results_of(system: System) -> dict[str, int]:
    """What a step tells beside the state that it leads to, and how many numbers each is."""
    found = {"drift": 2} if system.row_count else {}
    if system.setup.residuals or isinstance(system.setup.contact, (Hard, Lcp, Impulse)):
        found["contact"] = len(COLUMNS)
    if system.may_tunnel:
        found["crossings"] = 1
    return found | ({"events": len(system.setup.events)} if system.setup.events else {})


def shapes(system: System, integrator: Integrator, *, varied: bool = False) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Of the inputs that are no vectors of the model; `varied`: where constants of it are inputs."""
    memory = len(memory_of(system, integrator))
    own = ("count", (1,)), ("work", (len(system.ledger),)), ("memory", (memory,)), ("timing", (2,))
    if not varied or system.soft is None:
        return own
    return (*own, ("weights", (len(list(scalars_in(weights(system.model)))),)))
