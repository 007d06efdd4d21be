"""`simulate`: from a state through time. The whole step is compiled; Python looks in between pieces of a run only."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.contact.kinds import Kind
from qdot.model.model import Model, require_model
from qdot.programs import parameters as constants
from qdot.programs.compiled import Compiled
from qdot.simulation import arguments
from qdot.simulation.afterwards import inputs_of, multipliers_of
from qdot.simulation.bounds import LimitKind, Stops
from qdot.simulation.checkpoint import Checkpoint
from qdot.simulation.controls import Drive
from qdot.simulation.events import Event, Watch, events_of
from qdot.simulation.explain import Ordinary, explained
from qdot.simulation.forces import AppliedForce
from qdot.simulation.integrators import Integrator
from qdot.simulation.later import Later
from qdot.simulation.pieces import FIRST_PIECE, first_piece, next_piece
from qdot.simulation.precision import dtype_of, require_countable, require_enough_digits
from qdot.simulation.progress import Progress
from qdot.simulation.projecting import Redundancy, redundancy_of
from qdot.simulation.records import Records, first_steps
from qdot.simulation.room import found_no_room, memory_with_room, missed_in_step, room_of, with_more_room, with_room
from qdot.simulation.softly import weights_of
from qdot.simulation.stabilisation import Projection, Stabilisation
from qdot.simulation.step_program import step_program
from qdot.simulation.stepping import memory_of, results_of
from qdot.simulation.system import Constraint, Setup, System
from qdot.simulation.trajectory import Trajectory
from qdot.simulation.tunnelling import Crossed, all_passed
from qdot.simulation.units import constraint_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Indices = NDArray[np.int64]

FEW_STEPS = 8
"""That a single run takes quicker one by one: arranging a rollout costs as much."""


def simulate(
    model: Model,
    state: Any = None,
    seconds: float = 1.0,
    dt: float | None = None,
    *,
    record: int = 1,
    progress: bool | None = None,
    threads: int | None = None,
    **options: Any,
) -> Trajectory:
    """The motion of a model from a state, for so many seconds in steps of dt; options are those of `Simulation`.

    `record` keeps every so manieth state; the first and the last are always kept.
    """
    run = Simulation(model, state, dt, **options)
    run.advance(seconds, record=record, progress=progress, threads=threads)
    return run._recorded()


class Simulation:
    """A simulation that can be run on: `advance` runs it for some seconds more, `trajectory` is all that was recorded.

    `state` is a `State`, a pair (q, v), the model's home at rest, or a `Trajectory`, which goes on from its last record
    (control, forces, constraints and integrator are to be given again). q (batch, nq) and v (batch, nv) start many runs
    at once, and so do `parameters`, model constants by path with a value for each run. `control` are the signals of the
    actuators, (nu,), `tau` joint forces, (nv,): constants, a row for each step, or functions of (t, q, v).

    `contact` is how bodies touch, not at all unless given: "soft", "hard", "lcp", "impulse", "penalty", or one of
    `qdot.contact` with settings. Its `residuals` have to be asked for where they cost, for soft and penalty.

    `dtype` is of the numbers that steps compute with and records hold: "float64" unless given, or that of a trajectory
    which it goes on from; "float32" takes half the time and memory of many runs, and keeps seven digits.
    """

    def __init__(
        self,
        model: Model,
        state: Any = None,
        dt: float | None = None,
        *,
        integrator: str | Integrator | None = None,
        control: Any = None,
        tau: Any = None,
        forces: Iterable[AppliedForce] = (),
        constraints: Iterable[Constraint] = (),
        solver: str = "auto",
        stabilisation: str | Stabilisation = "projection",
        limits: str | LimitKind = "stops",
        contact: str | Kind | None = None,
        residuals: bool = False,
        events: Iterable[Event] = (),
        ledger: bool = False,
        activation: Any = None,
        start: float = 0.0,
        parameters: Mapping[str, Any] | None = None,
        dtype: Any = None,
    ) -> None:
        require_model(model, "simulate")
        arguments.require_inertia(model)
        self.model = model
        before = state if isinstance(state, Trajectory) else None
        if before is not None:
            arguments.require_no_other_start(start, activation)
            state, activation, dt, start = before.resumption(model, dt)
            parameters = before.parameters if parameters is None else parameters
        self._dt, self._start = arguments.step_of(model, dt), arguments.start_of(start)
        self._asked = arguments.contact_of(model, contact)
        room = None if before is None or before.checkpoint is None else before.checkpoint.room
        kind = with_room(model, self._asked, room)
        self.integrator = arguments.integrator_for(kind, integrator)
        self.dtype = dtype_of(dtype, None if before is None else before.q)
        require_enough_digits(self.dtype, self.integrator)
        q, v = arguments.state_of(model, state)
        w = arguments.vector(model, "activation", np.zeros(model.na) if activation is None else activation)
        self._parameters = {p: x.astype(self.dtype) for p, x in arguments.parameters_of(parameters).items()}
        rows = {name: len(x) if x.ndim == 2 else None for name, x in (("q", q), ("v", v), ("activation", w))}
        for path, x in self._parameters.items():
            rows[path] = arguments.rows_of(x, constants.shape_of(model, path), path)
        batch = arguments.batch_of(rows)
        self._control = Drive.of(control, "control", model.nu, batch, self.dtype)
        self._tau = Drive.of(tau, "tau", model.nv, batch, self.dtype)
        self.setup = Setup(
            constraints=arguments.constraints_of(model, constraints),
            forces=arguments.forces_of(forces),
            control=self._control.compiled,
            tau=self._tau.compiled,
            solver=arguments.solver_name(solver),
            stabilisation=arguments.stabilisation_of(stabilisation),
            limits=arguments.limits_of(limits),
            contact=kind,
            residuals=residuals and kind is not None,
            events=events_of(events),
            ledger=ledger,
        )
        self._system = System(model, self.setup).starting(self.start, np.atleast_2d(q)[0].tolist())
        self.setup = self._system.setup
        if before is None:
            arguments.require_consistent(self._system, self.start, q, v, self.dtype)
            if isinstance(self.setup.limits, Stops) and self.setup.contact is None:
                arguments.require_within_limits(self._system, q, self.dtype)
        first = {
            "q": q, "v": v, "activation": w, "count": np.zeros(1), "work": np.zeros(len(self._system.ledger)),
            "memory": np.array(memory_of(self._system, self.integrator), dtype=float),
        }  # fmt: skip
        if before is not None:
            kept = before.carried(self.dt, self._system.ledger, self.integrator.name)
            if "memory" in kept:
                kept["memory"] = memory_with_room(kept["memory"], self._system, self.integrator, room)
            first |= {name: x for name, x in kept.items() if x.shape[-1] == first[name].shape[-1]}
        sorts = self._system.soft is not None
        self._records = Records(first, results_of(self._system), batch, self.dtype, are_sorted=sorts)
        last = self._records.last
        self._watch = Watch(model, self.setup.events, batch, self.time, last["q"], last["v"])
        self._spent, self._warned = 0.0, False
        self._crossed: list[Crossed] = []
        projected = self.integrator.settles or isinstance(self.setup.stabilisation, Projection)
        driven = control is not None or tau is not None or bool(self._parameters)
        self._ordinary = Ordinary.of(self._system, self.dt, projected, q, v, driven=driven)
        self._program, self._weights = self._compiled(), weights_of(self._system, self._parameters, self.dtype)
        self._known: dict[str, Array] = {}
        """What functions of Python's said for the next step already."""

    def _compiled(self) -> Compiled:
        return step_program(self.model, self.setup, self.integrator, tuple(self._parameters), self.dtype.name)

    @property
    def dt(self) -> float:
        """The length of a step [s]."""
        return self._dt

    @property
    def start(self) -> float:
        """When the run began [s]."""
        return self._start

    @property
    def time(self) -> float:
        """Where the run has come to [s]."""
        return self.start + float(self._records.last["count"].flat[0]) * self.dt

    @property
    def trajectory(self) -> Trajectory:
        """All that was recorded so far."""
        found, names = self._recorded(), ("q", "v", "activation", "work", "drift")
        return replace(found, **{name: getattr(found, name).copy("K") for name in names})

    def _recorded(self) -> Trajectory:
        """The same, in memory which the run goes on to use."""
        records, system = self._records, self._system
        drives, given = {"control": self._control, "tau": self._tau}, (self._parameters, (self.start, self.dt))
        count, memory = (records.last[name].copy() for name in ("count", "memory"))
        room = room_of(self.setup.contact) if room_of(self._asked) is None else None
        return Trajectory(
            self.model,
            self.start + records.steps() * self.dt,
            records.array("q"),
            records.array("v"),
            records.array("activation"),
            records.array("work"),
            tuple(system.ledger),
            multipliers_of(records, drives, system, *given) if system.row_count else np.empty(0),
            tuple(system.row_names),
            records.array("drift") if system.row_count else np.empty(0),
            constraint_units=constraint_units(self.model, self.setup.constraints),
            parameters=self._parameters,
            contact=np.nan_to_num(records.array("contact")) if "contact" in records.results else np.empty(0),
            driven=inputs_of(records, drives) if self.setup.contact is not None else np.empty(0),
            passed=Later(partial(all_passed, self.model, tuple(self._crossed))) if self._crossed else (),
            system=self._system,
            checkpoint=Checkpoint(self.start, self.dt, self.integrator.name, count, memory, room),
            computing=self._spent,
            events=tuple(self._watch.happened),
            ended=self._watch.ended.copy() if records.batch is not None else self._watch.ended[0],
        )

    @property
    def redundancy(self) -> Redundancy:
        """Which constraints repeat each other where the run is (the first of a batch)."""
        return redundancy_of(self._system, self.time, np.atleast_2d(self._records.last["q"])[0])

    def advance(
        self, seconds: float, *, record: int = 1, progress: bool | None = None, threads: int | None = None
    ) -> None:
        """Run on for so many seconds, or until a terminal event.

        After a terminal event a single run goes on from there; runs of a batch that have ended stay where they are.
        """
        steps = arguments.steps_of(seconds, self.dt, record)
        require_countable(self.dtype, float(self._records.last["count"].flat[0]) + steps)
        self._control.require_rows(steps, "control")
        self._tau.require_rows(steps, "tau")
        first = FIRST_PIECE if self._called else first_piece(self._program.operations, self._records.batch)
        done, size = 0, min(first, self._records.longest)
        if record == 1:
            self._records.expect(steps)
        self._watch.resume()
        with Progress(steps, self.dt, progress) as shown:
            while done < steps and not self._watch.over:
                size = min(size, steps - done)
                began = clock.perf_counter()
                window, held, driven = self._rolled(done, size, threads)
                window = self._watched(window, held, driven)
                bad = self._ordinary.first_bad(window)
                missed, more = 0, None
                if bad is not None and "memory" not in bad.after:  # which explains it
                    window, held, driven = self._rolled(done, size, threads, whole=True)
                    bad = self._ordinary.first_bad(window)
                if bad is not None:
                    window = bad.before(window)
                    self._watch.forget(window, self.start + float(window["count"][-1].flat[0]) * self.dt)
                    missed = missed_in_step(bad, window, self._system, self.integrator, held, driven)
                    more = with_more_room(self.model, self._asked, self.setup.contact, missed)
                self._look_for_tunnels(window)
                came = len(window["count"]) - 1
                ends = list(range(record - 1 - done % record, came, record)) if record > 1 else []
                done += came
                at_end = done == steps or self._watch.over or (bad is not None and more is None)
                if record > 1 and came and at_end and ends[-1:] != [came - 1]:
                    ends.append(came - 1)
                self._records.keep(window, slice(came) if record == 1 else ends, driven)
                if bad is not None and more is not None:
                    self._make_room(more, {name: driven[name][came] for name in self._called})
                elif bad is not None:
                    if missed:
                        raise found_no_room(self.trajectory, bad.row, self.setup.contact, missed)
                    drives = {"control": self._control, "tau": self._tau}
                    raise explained(
                        bad, self.trajectory, self._system, self.integrator, self._ordinary, (held, driven), drives
                    )
                shown.at(done)
                took = clock.perf_counter() - began
                self._spent += took
                size = min(next_piece(size, took), self._records.longest)

    def _make_room(self, kind: Kind, known: dict[str, Array]) -> None:
        """Go on with more room for contacts; what functions of Python's say in the next step is known."""
        before = room_of(self.setup.contact)
        self.setup = replace(self.setup, contact=kind)
        self._system = replace(self._system, setup=self.setup)
        memory = self._records.last["memory"]
        self._records.remember(memory_with_room(memory, self._system, self.integrator, before))
        self._watch.remember(np.array(memory_of(self._system, self.integrator), dtype=float))
        self._program, self._known = self._compiled(), known

    @property
    def _called(self) -> dict[str, Drive]:
        """What functions of Python's drive."""
        return {n: d for n, d in (("control", self._control), ("tau", self._tau)) if d.called is not None}

    def _look_for_tunnels(self, window: Mapping[str, Array]) -> None:
        """Warn of shapes that passed through each other; hard contacts look ahead."""
        crossed = Crossed.of(window, self.start, self.dt) if self._system.may_tunnel else None
        if crossed is None:
            return
        if not self._warned:
            found = crossed.passed(self.model, slice(1)) or crossed.passed(self.model)
            self._warned = bool(found)
            if found:
                warnings.warn(found[0].told(self.model, self.dt), RuntimeWarning, stacklevel=4)
        self._crossed.append(crossed)

    def _rolled(
        self, done: int, size: int, threads: int | None, *, whole: bool = False
    ) -> tuple[dict[str, Array], dict[str, Any], dict[str, Any]]:
        """A window of so many steps, run after `done` steps of this call; what was held in it, and what had a row for
        each step. Functions of Python's are called before each step, and their rows kept. Each row of the integrator's
        memory is there where the `whole` is asked for, or needed."""
        called = self._called
        whole = whole or bool(called or self.setup.events) or self._records.batch is None
        window, (held, driven) = self._records.window(size, whole=whole), self._inputs(done, size)
        if not called and (size > FEW_STEPS or self._records.batch is not None):
            self._program.rollout(size, window, held, driven, threads)
            return window, held, driven
        batch = () if self._records.batch is None else (self._records.batch,)
        driven |= {name: np.empty((size, *batch, drive.held.shape[-1]), self.dtype) for name, drive in called.items()}
        for k in range(size):
            q, v, time = window["q"][k], window["v"][k], self.start + float(window["count"][k].flat[0]) * self.dt
            try:
                for name, drive in called.items():
                    known = self._known.pop(name, None)
                    driven[name][k] = drive.value(time, q, v, name) if known is None else known
            except BaseException:
                self._records.keep(first_steps(window, k, self._records.state), slice(k), first_steps(driven, k))
                raise
            self._step(window, k, held, driven, threads)
            if not np.isfinite(window["v"][k + 1]).all():
                return first_steps(window, k + 1, self._records.state), held, first_steps(driven, k + 1)
        return window, held, driven

    def _step(
        self,
        window: Mapping[str, Array],
        k: int,
        held: Mapping[str, Any],
        driven: Mapping[str, Any],
        threads: int | None,
    ) -> None:
        """Step k of a window: a single run by the quick way to call a program, see `Compiled.quick`."""
        state = self._records.state
        if self._records.batch is None:
            now = {name: window[name][k] for name in state} | dict(held) | {name: x[k] for name, x in driven.items()}
            for name, row in self._program(*(now[name] for name in self._program.inputs)).items():
                if name in window:
                    window[name][k + (name in state)] = row
            return
        piece = {name: x[k : k + 1 + (name in state)] for name, x in window.items()}
        self._program.rollout(1, piece, held, {name: x[k : k + 1] for name, x in driven.items()}, threads)

    def _watched(
        self, window: dict[str, Array], held: Mapping[str, Any], driven: Mapping[str, Any]
    ) -> dict[str, Array]:
        """What events leave of a window."""
        single = self._records.batch is None
        state = {name: window[name][:, None] if single else window[name] for name in self._records.state}
        sizes = {name: len(shape) for name, shape in self._program.inputs.items()}

        def shorter(steps: Indices, runs: Indices, shares: Array) -> Mapping[str, Array]:
            """Steps of this window again, for a share of their time each."""
            given: dict[str, Any] = {name: x[steps, runs] for name, x in state.items()}
            for name, x in held.items():
                given[name] = x[runs] if x.ndim > sizes[name] else x
            for name, x in driven.items():
                given[name] = x[steps, runs] if x.ndim > sizes[name] + 1 else x[steps]
            count, dt = given["count"][:, 0], shares * self.dt
            given["timing"] = np.stack([self.start + count * (self.dt - dt), dt], axis=1).astype(self.dtype)
            found: Mapping[str, Array] = self._program(**given)
            return found

        times = self.start + state["count"][:, 0, 0].astype(float) * self.dt
        fresh = np.array(memory_of(self._system, self.integrator), dtype=float)
        return self._watch.look(window, times, self.dt, fresh, shorter)

    def _inputs(self, done: int, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is held, and what has a row for each step, of the piece that begins after `done` steps of this run."""
        timing = np.array([self.start, self.dt], self.dtype)
        held: dict[str, Any] = {"timing": timing, **self._parameters, **self._weights}
        driven: dict[str, Any] = {}
        for name, drive in (("control", self._control), ("tau", self._tau)):
            if drive.rows is not None:
                driven[name] = drive.rows[done : done + size]
            elif drive.called is None:
                held[name] = drive.held
        return held, driven
