"""Events: a function of the state that passes zero, found to the accuracy of the integrator.

Steps are looked at for a change of sign; then the step is done again, shorter, until the function is zero at its end:
g(step(x, θ dt)) = 0. So events are exact for every integrator, and a step that passes zero twice shows none of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qdot.algebra import Scalar, Scalars
from qdot.algorithms.constraints.kinds import with_time
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.model.state import State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Indices = NDArray[np.int64]

Shorter: TypeAlias = "Callable[[Indices, Indices, Array], Mapping[str, Array]]"
"""What steps of a window lead to in a share of their time: of the numbers of steps, of runs, and the shares."""

NARROW = 4
"""Roundings of a share of a step between which an event is known to lie."""


@dataclass(frozen=True)
class Event:
    """g(q, v) or g(t, q, v) passes zero: upwards (`direction` 1), downwards (-1) or either way (0).

    It is written over any scalar and compiled with the step. A `terminal` event ends its run there.
    """

    name: str
    g: Callable[..., Any]
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise ValueShapeError(
                f"event {self.name!r}: direction is 1 (upwards), -1 (downwards) or 0 (either), got {self.direction!r}"
            )

    def value(self, time: Scalar, q: Scalars, v: Scalars) -> Scalar:
        return with_time(self.g, 2, f"event {self.name!r}")(time, q, v)


class Happened(NamedTuple):
    """An event that was met: which, in which run of a batch (None for a single run), when [s], and the state then."""

    name: str
    run: int | None
    time: float
    state: State


def events_of(given: Iterable[Event]) -> tuple[Event, ...]:
    """Events as people pass them, each with a name of its own."""
    wanted = "events is a list of qdot.simulation.Event(name, g): events=[…]"
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ValueShapeError(f"{wanted}; got {given!r}")
    events = tuple(given)
    for event in events:
        if not isinstance(event, Event):
            raise ValueShapeError(f"{wanted}; it has {event!r} in it")
    names = [event.name for event in events]
    for name in names:
        if names.count(name) > 1:
            raise ValueShapeError(f"two events are called {name!r}; give each a name of its own")
    return events


class Watch:
    """Looks at the windows of a run for events, and keeps what it found."""

    def __init__(
        self, model: Model, events: Sequence[Event], batch: int | None, time: float, q: Array, v: Array
    ) -> None:
        self.happened: list[Happened] = []
        self.ended = np.full(batch or 1, np.nan)
        """When each run met a terminal event [s]."""
        self._model, self._events, self._batch = model, events, batch
        self._terminal = np.array([event.terminal for event in events], dtype=bool)
        self._narrow = NARROW * np.finfo(q.dtype).eps
        self._values = np.empty((batch or 1, len(events)))
        for k, event in enumerate(events):
            self._values[:, k] = _number(event, event.value(time, list(q.T), list(v.T)))
        self._began = self._values
        """Where the last window began."""
        self._held: dict[str, Array] = {}
        """State and results of runs that have ended, (batch, n)."""

    @property
    def over(self) -> bool:
        """Whether no run goes on."""
        return bool(np.isfinite(self.ended).all())

    def resume(self) -> None:
        """A single run goes on after its end; runs of a batch share one clock, and those that have ended stay."""
        if self._batch is None:
            self.ended[:] = np.nan

    def forget(self, window: Mapping[str, Array], time: float) -> None:
        """Nothing happened after this time, to which the good rows of the last window lead: what followed was no
        motion."""
        if self._events:
            last = window["events"][-1:].copy()
            self._values = last.reshape(self._values.shape) if len(last) else self._began
        self.happened = [event for event in self.happened if event.time <= time]
        self.ended[self.ended > time] = np.nan

    def remember(self, fresh: Array) -> None:
        """From now on an integrator's memory is as long as this, which runs that have ended hold."""
        if "memory" in self._held:
            self._held["memory"] = np.tile(fresh, (len(self.ended), 1))

    def look(
        self, window: dict[str, Array], times: Array, dt: float, fresh: Array, shorter: Shorter
    ) -> dict[str, Array]:
        """What is left of a window that begins at each of these times: up to the end of a single run, or with the runs
        of a batch that have ended held where they are, an integrator's memory `fresh`."""
        if not self._events:
            return window
        rows = {name: x if self._batch is not None else x[:, None] for name, x in window.items()}
        self._hold(rows, 0, np.flatnonzero(np.isfinite(self.ended)))
        self._began = self._values
        g = np.concatenate([self._values[None], rows["events"]])
        steps, runs, which = self._crossings(g)
        ends = np.concatenate([rows[name][steps + 1, runs] for name in ("q", "v")], axis=1)
        sound = np.isfinite(ends).all(axis=1)  # what is no state is looked at elsewhere
        steps, runs, which = steps[sound], runs[sound], which[sound]
        shares, found = self._located(g, steps, runs, which, shorter)
        terminal = self._terminal[which]
        for n in np.lexsort((runs, terminal, shares, steps)):
            run, step = int(runs[n]), int(steps[n])
            if np.isfinite(self.ended[run]):
                continue
            time = float(times[step] + shares[n] * dt)
            name, number = self._events[which[n]].name, None if self._batch is None else run
            self.happened.append(Happened(name, number, time, State.of(self._model, found["q"][n], found["v"][n])))
            if terminal[n]:
                self.ended[run] = time
                end = {name: x[n] for name, x in found.items() if name in window}
                if self._batch is None:
                    end["count"] = window["count"][step] + shares[n]
                else:
                    end["memory"] = fresh
                    del end["count"]  # the clock goes on for all
                self._keep(run, end)
                self._hold(rows, step, np.array([run]))
                if self.over:
                    window = {name: x[: step + 1 + _lead(window, name)] for name, x in window.items()}
        self._values = window["events"][-1].copy().reshape(self._values.shape)
        return window

    def _crossings(self, g: Array) -> tuple[Indices, Indices, Indices]:
        """(step, run, event) of each change of sign that counts, none after the first step in which its run ends."""
        before, after = g[:-1], g[1:]
        direction = np.array([event.direction for event in self._events])
        up = (before < 0) & (after >= 0) & (direction >= 0)
        down = (before > 0) & (after <= 0) & (direction <= 0)
        crossed = up | down
        ends = (crossed & self._terminal).any(axis=2)
        crossed &= (np.cumsum(ends, axis=0) - ends == 0)[:, :, None]
        steps, runs, which = np.nonzero(crossed)
        return steps, runs, which

    def _located(
        self, g: Array, steps: Indices, runs: Indices, which: Indices, shorter: Shorter
    ) -> tuple[Array, Mapping[str, Array]]:
        """The share of its step after which each event is met, and what there is then.

        The false position, halving the value of an end that stays (Illinois), and every third time the middle: as
        quick as secants where g is smooth, and sure where it is not. Found is the end at which g has changed its sign,
        so that a run that goes on from there does not meet the event again.
        """
        if not len(steps):
            return np.empty(0), {}
        each = np.arange(len(steps))
        low, high = np.zeros(len(steps)), np.ones(len(steps))
        below, above = g[steps, runs, which], g[steps + 1, runs, which]
        side, moved = np.sign(below), np.zeros(len(steps))
        for turn in range(200):
            open_ = (high - low > self._narrow) & (above != 0)
            if not open_.any():
                break
            with np.errstate(all="ignore"):
                between = (low * above - high * below) / np.where(open_, above - below, 1.0)
            middle = (low + high) / 2
            inside = (between > low) & (between < high) & (turn % 3 != 2)
            share = np.where(open_, np.where(inside, between, middle), high)
            value = shorter(steps, runs, share)["events"][each, which]
            passed = open_ & (value * side <= 0)
            short = open_ & ~passed
            below = np.where(short, value, np.where(passed & (moved > 0), below / 2, below))
            above = np.where(passed, value, np.where(short & (moved < 0), above / 2, above))
            low, high = np.where(short, share, low), np.where(passed, share, high)
            moved = np.where(passed, 1.0, np.where(short, -1.0, moved))
        return high, shorter(steps, runs, high)

    def _keep(self, run: int, end: Mapping[str, Array]) -> None:
        for name, x in end.items():
            self._held.setdefault(name, np.zeros((len(self.ended), len(x))))[run] = x

    def _hold(self, rows: Mapping[str, Array], step: int, runs: Indices) -> None:
        """From the end of a step on, these runs stay where they ended."""
        if len(runs):
            for name, x in self._held.items():
                rows[name][step + _lead(rows, name) :, runs] = x[runs]


def _lead(window: Mapping[str, Array], name: str) -> int:
    """The row of the first step's end: states begin with the start of the window, results do not."""
    return len(window[name]) - len(window["events"])


def _number(event: Event, value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    if kind == "b":
        raise ValueShapeError(
            f"event {event.name!r}: g returns a truth; return the number that passes zero there: q[0] - 0.3, not "
            "q[0] > 0.3"
        )
    if kind not in "fiu" or np.ndim(value) > 1 or isinstance(value, (list, tuple)):
        raise ValueShapeError(f"event {event.name!r}: g returns one number, got {value!r}")
    return value
