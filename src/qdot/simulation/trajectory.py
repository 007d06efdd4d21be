"""What a simulation leaves: the states at the recorded times, and all that follows from them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from qdot.algebra import as_array, is_number
from qdot.description import Report
from qdot.errors import ModelError, ValueShapeError
from qdot.model.model import Model
from qdot.model.state import State
from qdot.programs import functions
from qdot.programs.parameters import shape_of
from qdot.simulation import constraint_forces as of_constraints, contacts as of_contacts, ledger
from qdot.simulation.afterwards import model_at_records
from qdot.simulation.between import rows_between, states_between, times_within
from qdot.simulation.checkpoint import Checkpoint
from qdot.simulation.events import Happened
from qdot.simulation.later import Later, known
from qdot.simulation.setup_data import without_functions
from qdot.simulation.system import System
from qdot.simulation.tunnelling import Passed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

    Array = NDArray[np.float64]

ROWS = ("q", "v", "activation", "work", "drift", "contact")
LATER = {"row_forces": "multipliers", "driven": "inputs"}
"""What has a row for each record; and where what is found out later is kept, by what it is."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Recorded states of one run: q is (records, nq). Of a batch of runs: q is (batch, records, nq), `run[3]` is one of
    them, and `for one in run` goes over all. `time` is (records,), the same for all.

    `run["elbow"]` is the position of a joint over time. All that is computed has the records, or batch and records,
    first.
    """

    model: Model
    time: Array
    q: Array
    v: Array
    activation: Array
    work: Array
    """Work done since the start [J], by entry of the `ledger`."""
    ledger: tuple[str, ...]
    row_forces: Array | Later[Array]
    """What `multipliers` are, or will be."""
    row_names: tuple[str, ...]
    drift: Array
    """The largest |φ| and |φ̇| of all constraint rows."""
    constraint_units: Mapping[str, str] = field(default_factory=dict)
    """Units of the forces of constraints that the simulation added, by name."""
    contact: Array = field(default_factory=lambda: np.empty(0))
    """How well the step before a record obeys the law of contact, see `contact_residuals`."""
    driven: Array | Later[Array] = field(default_factory=lambda: np.empty(0))
    """What `inputs` are, or will be."""
    passed: tuple[Passed, ...] | Later[tuple[Passed, ...]] = ()
    """What `tunnels` are, or will be."""
    system: System | None = None
    """What was simulated; neither saved nor pickled where users' functions are in it."""
    parameters: Mapping[str, Array] = field(default_factory=dict)
    """Constants that replaced those of the model, by path: one value, or one for each run."""
    checkpoint: Checkpoint | None = None
    computing: float | None = None
    """How long it took [s], where that is known."""
    events: tuple[Happened, ...] = ()
    """What was met on the way, in order."""
    ended: Any = math.nan
    """When a terminal event was met [s], (batch,) of a batch; NaN where none was."""

    def __repr__(self) -> str:
        runs = "" if self.batch is None else f"{self.batch} runs, "
        span = f"{self.time[0]:g} to {self.time[-1]:g} s"
        return f"<Trajectory of {self.model.name!r}: {runs}{self.records} records, {span}>"

    def __getstate__(self) -> dict[str, Any]:
        found = {field: getattr(self, name) for field, name in LATER.items()} | {"passed": self.tunnels}
        return self.__dict__ | {"system": without_functions(self.system)} | found

    # ── parts ────────────────────────────────────────────────────────────────────────────────────

    @property
    def batch(self) -> int | None:
        """How many runs; None for a single one."""
        return len(self.q) if self.q.ndim == 3 else None

    @property
    def records(self) -> int:
        """How many states are recorded of each run."""
        return len(self.time)

    def __len__(self) -> int:
        """How many runs."""
        return 1 if self.batch is None else self.batch

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[k] for k in range(len(self)))

    @overload
    def __getitem__(self, which: str) -> Array: ...

    @overload
    def __getitem__(self, which: int | slice | Sequence[int]) -> Trajectory: ...

    def __getitem__(self, which: Any) -> Array | Trajectory:
        """By name the position of a joint over time, (records,) or (records, n); by number one run, or several."""
        if isinstance(which, str):
            return _alone(self.q[..., self.model.joint(which).qs])
        return self._runs(which)

    def velocity(self, joint: str) -> Array:
        """The velocity of a joint over time, (records,) or (records, n)."""
        return _alone(self.v[..., self.model.joint(joint).dofs])

    def _runs(self, which: Any) -> Trajectory:
        try:
            chosen = np.arange(len(self))[which]
            if np.ndim(chosen) > 1:
                raise IndexError
        except (IndexError, TypeError, ValueError):
            raise ValueShapeError(
                f"run[{which!r}]: this trajectory has {len(self)} runs, counted from 0; a joint is asked for by name"
            ) from None
        if self.batch is None:
            return self
        point, one = self.checkpoint, np.ndim(chosen) == 0
        if point is not None:
            point = replace(point, count=point.count[chosen], memory=point.memory[chosen])
        numbers: dict[int | None, int] = {int(k): n for n, k in enumerate(np.atleast_1d(chosen))}
        events = [e for e in self.events if e.run in numbers]
        return replace(
            self,
            **self._changed(lambda x: x[chosen]),
            parameters={
                path: x if x.shape == shape_of(self.model, path) else x[chosen] for path, x in self.parameters.items()
            },
            checkpoint=point,
            computing=None,
            events=tuple(e._replace(run=None if one else numbers[e.run]) for e in events),
            ended=np.asarray(self.ended)[chosen],
        )

    def _changed(self, change: Callable[[Array], Array], names: Sequence[str] = ROWS) -> dict[str, Any]:
        """What has a row for each record, changed: some of it when it is asked for."""

        def changed(name: str) -> Array:
            x: Array = getattr(self, name)
            return change(x) if x.ndim > 1 else x

        rows: dict[str, Any] = {name: changed(name) for name in names}
        return rows | {field: Later(partial(changed, name)) for field, name in LATER.items()}

    # ── times ────────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> State:
        """The last state of a single run."""
        self._require_single("state")
        return State.of(self.model, self.q[-1], self.v[-1])

    def at(self, time: float) -> State:
        """The state of a single run at a time [s], between records on a cubic."""
        self._require_single("at")
        q, v = states_between(self.model, self.time, self.q, self.v, times_within([time], self.time))
        return State.of(self.model, q[0], v[0])

    def resampled(self, times: Any) -> Trajectory:
        """The same motion at other times [s], (n,): states on cubics through the recorded ones (errors shrink as dt⁴ of
        positions, dt³ of velocities), all else along straight lines. It cannot be run on."""
        asked = times_within(times, self.time)
        runs = [states_between(self.model, self.time, one.q, one.v, asked) for one in self]
        q, v = (np.stack(x) if self.batch is not None else x[0] for x in zip(*runs, strict=True))

        def between(x: Array) -> Array:
            if x.ndim == 3:
                return np.stack([rows_between(self.time, one, asked) for one in x])
            return rows_between(self.time, x, asked)

        return replace(self, time=asked, **(self._changed(between, ROWS[2:]) | {"q": q, "v": v}), checkpoint=None)

    def thinned(self, every: int) -> Trajectory:
        """Every so manieth record, and the last."""
        if not isinstance(every, (int, np.integer)) or isinstance(every, bool) or every < 1:
            raise ValueShapeError(f"thinned(n) keeps every n-th record, n is 1 or more; got {every!r}")
        kept = np.unique([*range(0, self.records, every), self.records - 1])
        return replace(self, time=self.time[kept], **self._changed(lambda x: x[..., kept, :]))

    def joined(self, later: Trajectory) -> Trajectory:
        """This run and one that went on from its last record, as one."""
        same = self.model == later.model and self.batch == later.batch and self.row_names == later.row_names
        if not same or self.ledger != later.ledger or later.time[0] != self.time[-1]:
            raise ValueShapeError(
                f"{later!r} does not go on where {self!r} ends; make it with qdot.simulate(model, run, seconds), "
                "the same constraints and the same ledger"
            )

        def both(name: str) -> Array:
            before, after = getattr(self, name), getattr(later, name)
            return np.concatenate([before, after[..., 1:, :]], axis=-2) if before.ndim > 1 else before

        rows: dict[str, Any] = {name: both(name) for name in ROWS}
        rows |= {field: Later(partial(both, name)) for field, name in LATER.items()}
        known = self.computing is not None and later.computing is not None
        computing = self.computing + later.computing if known else None  # type: ignore[operator]
        time = np.concatenate([self.time, later.time[1:]])
        return replace(later, time=time, **rows, computing=computing, events=self.events + later.events)

    # ── running on ───────────────────────────────────────────────────────────────────────────────

    def resumption(self, model: Model, dt: Any) -> tuple[tuple[Array, Array], Array, float, float]:
        """What a simulation that goes on from here begins with: (q, v), activations, dt, the time it counts from."""
        if model != self.model:
            raise ModelError(f"this run is one of model {self.model.name!r}, not of {model.name!r}")
        over = np.flatnonzero(np.isfinite(self.ended))
        if self.batch is not None and len(over):
            raise ValueShapeError(
                f"run {over[0]} of these met a terminal event and does not go on; choose those that do: run[[…]]"
            )
        point = self._point()
        state = self.q[..., -1, :], self.v[..., -1, :]
        start, step = (point.start, point.dt) if dt is None or dt == point.dt else (float(self.time[-1]), dt)
        return state, self.activation[..., -1, :], step, start

    def carried(self, dt: float, ledger: Sequence[str], integrator: str) -> dict[str, Array]:
        """What it carries on with beside its state, as far as the same is kept: steps done, works, and memory."""
        point = self._point()
        found = {}
        if dt == point.dt:
            found["count"] = point.count
            if integrator == point.integrator:
                found["memory"] = point.memory
        if tuple(ledger) == self.ledger:
            found["work"] = self.work[..., -1, :]
        return found

    def _point(self) -> Checkpoint:
        if self.checkpoint is None:
            raise ValueShapeError(f"{self!r} was resampled and cannot be run on; start from its last state, run.state")
        return self.checkpoint

    # ── what follows from the states ─────────────────────────────────────────────────────────────

    def pose(self, frame: str) -> Array:
        """The pose of a frame in the world as matrices, (records, 4, 4)."""
        return self._everywhere(functions.frame_pose, "q", frame=frame)

    def position(self, frame: str) -> Array:
        """The origin of a frame in the world [m], (records, 3)."""
        return self.pose(frame)[..., :3, 3]

    def point(self, frame: str, point: Any) -> Array:
        """Where a point of a frame is in the world [m], (records, 3)."""
        at = np.asarray(point, dtype=object)
        if at.shape != (3,) or not all(is_number(x) and np.isfinite(x) for x in at):
            raise ValueShapeError(f"a point of frame {frame!r} is three numbers [m], got {point!r}")
        X = self.pose(frame)
        return np.asarray(X[..., :3, :3] @ at.astype(float) + X[..., :3, 3])

    def energy(self) -> Array:
        """Kinetic and potential energy together [J], (records,)."""
        return self._everywhere(functions.energy, "q", "v")

    def kinetic_energy(self) -> Array:
        """[J], (records,)."""
        return self._everywhere(functions.kinetic_energy, "q", "v")

    def potential_energy(self) -> Array:
        """Of gravity and springs [J], (records,)."""
        return self._everywhere(functions.potential_energy, "q")

    def momentum(self) -> Array:
        """Angular momentum about the world's origin [kg·m²/s], then linear momentum [kg·m/s], (records, 6)."""
        return self._everywhere(functions.momentum, "q", "v")

    def center_of_mass(self) -> Array:
        """[m], (records, 3)."""
        return self._everywhere(functions.center_of_mass, "q")

    @property
    def multipliers(self) -> Array:
        """Force of each constraint row at a record, with the control of the step that led to it; found out when it is
        first asked for."""
        return known(self.row_forces)

    @property
    def inputs(self) -> Array:
        """Controls and joint forces of the step before a record, where bodies touch."""
        return known(self.driven)

    @property
    def tunnels(self) -> tuple[Passed, ...]:
        """Shapes that passed through each other within a step, unseen; found out when asked for, and not saved."""
        return known(self.passed)

    def constraint_forces(self) -> dict[str, Array]:
        """The force of each constraint at every record, by name.

        Of a loop the wrench that its joint applies on the successor, (records, 6): moment, then force, in the
        successor's coordinates. Of a point held, the force on the point of frame 1 in world axes, (records, 3). Of a
        weld the moment and the force on frame 1 at the weld, in world axes, (records, 6). Of a rod the force that
        pushes its ends apart, of a coupling that on the follower; of others one number for each row, (records, rows).
        """
        return of_constraints.forces_along(self)

    def force_units(self) -> dict[str, str]:
        """The units of `constraint_forces`, by name; empty where a user's constraint does not tell."""
        return of_constraints.force_units(self.model, self.constraint_units)

    def _everywhere(self, function: Callable[..., Any], *vectors: str, **options: Any) -> Array:
        """A public function of the model at every record, in one call."""
        shape = self.q.shape[:-1]
        count = math.prod(shape)
        rows = [x.reshape(count, x.shape[-1]) for x in (getattr(self, name) for name in vectors)]
        found = function(model_at_records(self.model, self.parameters, len(self), self.records), *rows, **options)
        array = found if isinstance(found, np.ndarray) else as_array(found, (count,))
        return np.asarray(array.reshape(shape + array.shape[1:]))

    # ── contacts ─────────────────────────────────────────────────────────────────────────────────

    @property
    def contact_residuals(self) -> dict[str, Array]:
        """How well each step obeys the law of contact, by name, (records,): what they are is in
        `qdot.simulation.reporting.COLUMNS`."""
        return of_contacts.residuals_of(self)

    def contacts(self, record: int = -1) -> list[of_contacts.Contact]:
        """What touches at a record of a single run, and with which force."""
        self._require_single("contacts(…)")
        return of_contacts.contacts_of(self, record)

    # ── energy ledger ────────────────────────────────────────────────────────────────────────────

    def works(self) -> dict[str, Array]:
        """Work since the first record of all that acted [J], by name, (records,)."""
        return ledger.works(self)

    def balance(self) -> Array:
        """E(t) - E(0) - Σ work [J], (records,): what the ledger does not account for, the integrator's error."""
        return ledger.balance(self)

    def ledger_table(self) -> Table:
        """Work of each entry, change of energy, and what does not close, for `rich.print`."""
        return ledger.ledger_table(self)

    def table(self) -> Table:
        """A short summary, for `rich.print`."""
        return ledger.summary_table(self)

    # ── files ────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Report:
        """Write all of it, with the model, to a file that ends in .npz or .h5 (HDF5, the extra `qdot[hdf5]`).

        The report tells where a model cannot be written as data, since a joint is of a class of the user's: then the
        file is read with `Trajectory.load(path, model=…)`.
        """
        from qdot.simulation.saving import save

        return save(self, path, overwrite=overwrite)

    @staticmethod
    def load(path: str | os.PathLike[str], model: Model | None = None) -> Trajectory:
        """Read what `save` wrote. Files hold data only: nothing in them is run."""
        from qdot.simulation.saving import load

        return load(path, model)

    def replay(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a page that shows the motion in a browser; options are those of `qdot.animation.write_animation`. Runs
        of a batch are shown over each other."""
        from qdot.animation import write_animation

        shown = self.q if self.batch is None else {f"run {k}": one.q for k, one in enumerate(self)}
        return write_animation(path, self.model, self.time, shown, **options)

    def _require_single(self, what: str) -> None:
        if self.batch is not None:
            raise ValueShapeError(f"these are {self.batch} runs; choose one: run[0].{what}")


def _alone(array: Array) -> Array:
    """Without the last axis where it has one entry."""
    return array[..., 0] if array.shape[-1] == 1 else array
