"""A step in which things bounce off their stops: it is parted where they do.

The step is tried as a whole. Where it leads beyond a stop, it is done again, shorter, until it ends where the first
stop is met; impulses act there (`System.settled`), and the rest of the step goes on from the velocities they leave.
So the motion has the order of its integrator, across impacts and however joints are coupled.

When a stop is met follows from how far the trial passed it, by p, at the rate u: with the mean acceleration a, the rate
at the stop was w = √(u² - 2 a p), and that was 2 p / (u + w) before the end. Two or three trials of this kind find it
to rounding; where one leads out of what is known already, or they do not, the middle is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import ClassVar, NamedTuple

from qdot.algebra import Scalar, Scalars, floor, iterated, maximum, minimum, sqrt, where, where_needed
from qdot.algebra.rounding import or_rounding
from qdot.algorithms.constraints.rows import times
from qdot.algorithms.limits import limited
from qdot.model.model import Model
from qdot.simulation.bounds import Stops
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase
from qdot.simulation.system import Inputs, System

MOST_PARTS = 16
"""Of a step: what bounces more often is stopped at its end, like what does not bounce at all."""

MOST_TRIALS = 40
CLOSE = 1e-6
"""Of a part: then it ends where the last one led; or where it is known to so much of its length."""

MOST_GUESSES = 10
"""Trials whose length is guessed, one after another; then every second one halves what is left."""

BRIEF = 1e-9
"""Of a step: the part in which something is struck that moves out of its stop from the start. A rest that is shorter is
left out."""


def brief() -> float:
    """BRIEF, or what rounding leaves of it."""
    return or_rounding(BRIEF, 8)


class Stop(NamedTuple):
    """One side of a limit: by how much it is passed (negative within), at which rate, and what counts as touching."""

    passed: Scalar
    rate: Scalar
    near: Scalar

    def met(self, before: Stop, length: Scalar) -> Scalar:
        """When this was just passed, by half of `near`, in a part of this length that ended here [s]; infinite where it
        was not."""
        p, u = self.passed - self.near / 2, self.rate
        square = u * u - 2 * p * (u - before.rate) / length
        twice = u + sqrt(maximum(square, 0.0))
        known = (square >= 0) & (twice > 0)
        return where(known, length - 2 * p / where(known, twice, 1.0), inf)


def stops(model: Model, q: Scalars, v: Scalars) -> list[Stop]:
    """All finite sides of all limits."""
    found = []
    for limit in limited(model, q):
        (rate,) = times([limit.gradient], v)
        if isfinite(limit.lower):
            found.append(Stop(limit.lower - limit.value, -rate, limit.near))
        if isfinite(limit.upper):
            found.append(Stop(limit.value - limit.upper, rate, limit.near))
    return found


@dataclass(frozen=True)
class Part:
    """Where a part of a step begins, and what is known about its length."""

    start: Phase
    memory: Sequence[Scalar]
    left: Scalar
    """Of the step [s]."""
    length: Scalar
    """To be tried next [s]."""
    short: Scalar
    long: Scalar
    """The longest that met no stop, and the shortest that did, infinite before it is known [s]."""
    trials: Scalar
    parts: Scalar
    """How many there were."""

    holds_scalars: ClassVar[bool] = True

    @staticmethod
    def rest(start: Phase, memory: Sequence[Scalar], left: Scalar, parts: Scalar) -> Part:
        """All that is left, to be tried as a whole."""
        return Part(start, list(memory), left, left, 0.0, inf, 0.0, parts)

    def goes_on(self, passed: Scalar) -> Scalar:
        """1 where it is to be tried again: it has passed a stop by more than what counts as touching, or there is one
        and it was not reached; `passed` in units of that."""
        wrong = (passed > 1) | ((passed < 0) & (self.long < inf))
        undecided = (self.trials < MOST_TRIALS - 1) & (self.long - self.short > or_rounding(CLOSE, 8) * self.length)
        return where(wrong & undecided & (self.parts < MOST_PARTS - 1), 1.0, 0.0)

    def retried(self, passed: Scalar, when: Scalar) -> Part:
        """With the next length to try; `when` is a guess [s]."""
        short, long = where(passed < 0, self.length, self.short), where(passed > 1, self.length, self.long)
        is_odd = self.trials - 2 * floor(self.trials / 2) > 0
        guessed = (self.trials < MOST_GUESSES) | is_odd
        length = where((when > short) & (when < long) & guessed, when, (short + long) / 2)
        return replace(self, length=length, short=short, long=long, trials=self.trials + 1)


@dataclass(frozen=True)
class Bouncing:
    """A step of dt seconds of a system with stops that give some of the speed back."""

    system: System
    integrator: Integrator
    inputs: Inputs
    dt: Scalar
    kind: Stops

    def step(self, phase: Phase, memory: Sequence[Scalar]) -> Stepped:
        """Settled at its end."""

        def turn(part: Part) -> tuple[Scalar, Part]:
            go_on = part.left > brief() * self.dt
            return go_on, where_needed(go_on, part, self._tried, part)

        begun = self._begun(phase, memory, self.dt, 0.0)
        last = iterated(MOST_PARTS * MOST_TRIALS, begun, turn)
        return Stepped(replace(last.start, time=phase.time + self.dt), last.memory)

    def _begun(self, start: Phase, memory: Sequence[Scalar], left: Scalar, parts: Scalar) -> Part:
        """The rest of the step, to be tried as a whole; or next to nothing of it, where something is to be struck at
        once: what touches its stop and moves out, because it starts so or was thrown there."""
        struck: Scalar = 0.0
        for stop in stops(self.system.model, start.q, start.v):
            far = where(parts > 0, stop.near, inf)  # a blow that did not help is not tried again
            out = (stop.rate > self.kind.resting) & (stop.passed >= -stop.near) & (stop.passed <= far)
            struck = struck + where(out, 1.0, 0.0)
        length = where((struck > 0) & (parts < MOST_PARTS - 1), brief() * left, left)
        return replace(Part.rest(start, memory, left, parts), length=length)

    def _tried(self, part: Part) -> Part:
        """The next part where this one ends well, else the same with another length to try."""
        system, h = self.system, part.length
        inputs = system.engaged(part.start, replace(self.inputs, dt=h), part.left)
        there = self.integrator.step(system, part.start, inputs, h, part.memory)
        passed, met = self._first_met(part.start, there.phase, h)

        def settled(ended: Stepped) -> Part:
            after = system.settled(part.start, ended.phase, inputs, h)
            return self._begun(after, ended.memory, part.left - h, part.parts + 1)

        return where_needed(part.goes_on(passed) <= 0, there, settled, part.retried(passed, met))

    def _first_met(self, start: Phase, end: Phase, length: Scalar) -> tuple[Scalar, Scalar]:
        """By how much a trial passed the stop that it passed furthest, in units of what counts as touching, negative
        before it; and when the first one was met [s]. Looked at are those that the part begins within, or that it
        leaves inwards: what touches a stop is held there, and what is beyond is led back (`bounds`)."""
        model = self.system.model
        passed: Scalar = -inf
        met: Scalar = inf
        for before, after in zip(stops(model, start.q, start.v), stops(model, end.q, end.v), strict=True):
            leaves = (before.passed <= before.near) & (before.rate < -self.kind.resting)
            watched = (before.passed < -before.near) | leaves
            passed = maximum(passed, where(watched, after.passed / after.near, -inf))
            met = minimum(met, where(watched, after.met(before, length), inf))
        return passed, met
