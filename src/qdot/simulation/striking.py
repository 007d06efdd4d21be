"""A step in which bodies strike each other: it is parted where they meet (U13).

The step is tried as a whole. Where it leads into an overlap, it is done again, shorter, until it ends where the first
point is met; impulses act there by the law of `contact.impact`, and the rest of the step goes on from the velocities
they leave. What touches and approaches more slowly than the resting speed is not struck again and again: it is held,
as in `touching` (U14), where it would not stay by itself. Else bodies fly by the integrator's rule, and its order is
kept across impacts.

When a point is met follows from how deep the trial led, as for stops (`impacts`). In the last part that a step may have
all points are held, so that nothing passes however often it strikes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from qdot.algebra import Scalar, iterated, maximum, minimum, where, where_needed
from qdot.algebra.linalg import dot
from qdot.algebra.rounding import or_rounding
from qdot.algorithms.constraints.rows import times
from qdot.algorithms.energy import kinetic_energy
from qdot.contact.kinds import Hard, Impulse
from qdot.contact.points import Point, Points, smallest
from qdot.simulation.bounds import Stops
from qdot.simulation.impacts import MOST_PARTS, MOST_TRIALS, Part, Stop, brief
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase
from qdot.simulation.reporting import NOTHING, Report, deepest
from qdot.simulation.system import Inputs, System
from qdot.simulation.touching import met, paradox, touching_step

NEAR = 1e-9
"""What is nearer touches [m, rad]; of 32 bits, what a few roundings of a length of one metre may hide."""


@dataclass(frozen=True)
class Striking:
    """A step of dt seconds of a system whose bodies strike each other."""

    system: System
    integrator: Integrator
    kind: Impulse
    inputs: Inputs
    dt: Scalar

    @property
    def near(self) -> float:
        return or_rounding(NEAR, 8)

    def step(self, phase: Phase, memory: Sequence[Scalar]) -> tuple[Stepped, Report]:
        """Settled at its end, and how well it obeys the law."""

        def turn(state: tuple[Part, Report]) -> tuple[Scalar, tuple[Part, Report]]:
            go_on = state[0].left > brief() * self.dt
            return go_on, where_needed(go_on, state, self._tried, state)

        struck, report = self._struck(phase)
        begun = (self._begun(struck, memory, self.dt, 0.0), report)
        last, report = iterated(MOST_PARTS * MOST_TRIALS, begun, turn)
        return Stepped(replace(last.start, time=phase.time + self.dt), last.memory), report

    def _begun(self, start: Phase, memory: Sequence[Scalar], left: Scalar, parts: Scalar) -> Part:
        return Part(start, list(memory), left, left, 0.0, inf, 0.0, parts)

    def _tried(self, state: tuple[Part, Report]) -> tuple[Part, Report]:
        """The next part where this one ends well, else the same with another length to try."""
        part, report = state
        h = part.length
        there, more = self._moved(part, h)
        passed, when = self._first_met(part.start, there.phase, h)
        wrong = (passed > 1) | ((passed < 0) & (part.long < inf))
        again = wrong & (part.parts < MOST_PARTS - 1) & (part.trials < MOST_TRIALS - 1)

        def ended(given: tuple[Stepped, Report]) -> tuple[Part, Report]:
            stepped, more = given
            after, blow = self._struck(stepped.phase)
            begun = self._begun(after, stepped.memory, part.left - h, part.parts + 1)
            return begun, report.joined(more).joined(blow)

        short, long = where(passed < 0, h, part.short), where(passed > 1, h, part.long)
        length = where((when > short) & (when < long), when, (short + long) / 2)
        retried = replace(part, length=length, short=short, long=long, trials=part.trials + 1)
        return where_needed(where(again, 0.0, 1.0) > 0, (there, more), ended, (retried, report))

    def _moved(self, part: Part, h: Scalar) -> tuple[Stepped, Report]:
        """A trial: in free flight, or held where that would lead into what is touched at rest."""
        system, start = self.system, part.start
        inputs, last = replace(self.inputs, dt=h), part.parts >= MOST_PARTS - 1
        engaged = system.engaged(start, inputs, h)
        flown = self.integrator.step(system, start, engaged, h, part.memory)
        phase = system.settled(start, flown.phase, engaged, h)
        needed: Scalar = where(last, 1.0, 0.0)
        for before, after in zip(self._points(start).points, self._points(phase).points, strict=True):
            rests = self._rests(before, times(before.J[:1], start.v)[0])
            needed = needed + where(after.gap < -self.near, rests, 0.0)

        def counts(point: Point, speed: Scalar) -> Scalar:
            return where(last, 1.0, self._rests(point, speed))

        def holding(given: tuple[Phase, list[Scalar]]) -> tuple[Stepped, Report]:
            at, memory = given
            hard = Hard(resting=self.kind.resting, room=None)
            stepped, report = touching_step(system, hard, at, inputs, h, counts)
            return Stepped(stepped.phase, memory), report

        free = (Stepped(phase, list(flown.memory)), NOTHING)
        return where_needed(needed > 0, (start, list(part.memory)), holding, free)

    def _points(self, phase: Phase) -> Points:
        """All that may be met within the step, by what moves or begins to."""
        return met(self.system, None, phase, phase.v, self.dt, smallest(self.system.model))

    def _rests(self, point: Point, speed: Scalar) -> Scalar:
        """1 where it touches and hardly moves along its normal."""
        slow = maximum(speed, -speed) <= self.kind.resting
        return where(slow & (point.gap <= self.near), 1.0, 0.0)

    def _first_met(self, start: Phase, end: Phase, length: Scalar) -> tuple[Scalar, Scalar]:
        """By how much a trial passed the point that it passed furthest, in units of what counts as touching, negative
        before it; and when the first one was met [s]. Looked at are those that are apart, or part, at the start."""
        near = self.near
        passed: Scalar = -inf
        when: Scalar = inf
        for before, after in zip(self._points(start).points, self._points(end).points, strict=True):
            there, here = (
                Stop(-p.gap, -times(p.J[:1], phase.v)[0], near) for p, phase in ((before, start), (after, end))
            )
            leaves = (there.passed <= near) & (there.rate < -self.kind.resting)
            watched = (there.passed < -near) | leaves
            passed = maximum(passed, where(watched, here.passed / near, -inf))
            when = minimum(when, where(watched, here.met(there, length), inf))
        return passed, when

    def _struck(self, phase: Phase) -> tuple[Phase, Report]:
        """With impulses on what touches and approaches faster than what rests."""
        found = self._points(phase)
        touching = [where(point.gap <= self.near, 1.0, 0.0) for point in found.points]
        u = times(found.J, phase.v)
        speeds = [u[n] for n in found.normals]
        fast: Scalar = 0
        for there, speed in zip(touching, speeds, strict=True):
            fast = fast + where((there > 0) & (speed < -self.kind.resting), 1.0, 0.0)

        def blow(given: tuple[Phase, list[Scalar], list[Scalar]]) -> tuple[Phase, Report]:
            at, u, touching = given
            W, answers = self.system.answer(at, found.J)
            e = [self._restitution(point) for point in found.points]
            z = self.kind.impact(W, u, e, found.friction, touching)
            v = [x + dot(column, z.z) for x, column in zip(at.v, zip(*answers, strict=True), strict=True)]
            work = list(at.work)
            if "impacts" in self.system.ledger:
                k = self.system.ledger.index("impacts")
                work[k] = work[k] + kinetic_energy(self.system.model, at.q, v)
                work[k] = work[k] - kinetic_energy(self.system.model, at.q, at.v)
            named = paradox(found, found.J, answers, u, touching)
            report = Report(deepest(found), 0.0, 0.0, 0.0, maximum(z.energy, 0.0), 1 - z.converged, named)
            return replace(at, v=v, work=work), report

        if not found.points:
            return phase, NOTHING
        return where_needed(fast > 0, (phase, u, touching), blow, (phase, NOTHING))

    def _restitution(self, point: Point) -> float:
        limits = self.system.setup.limits
        return limits.restitution if point.limit is not None and isinstance(limits, Stops) else self.kind.restitution
