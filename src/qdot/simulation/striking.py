"""A step in which bodies strike each other: it is parted where they meet (U13).

The step is tried as a whole. Where it leads into an overlap, it is done again, shorter, until it ends where the first
point is met; impulses act there by the law of `contact.impact`, and the rest of the step goes on from the velocities
they leave. What touches and approaches more slowly than the resting speed is not struck again and again: where it would
not stay by itself, forces hold it during the part (U14), and what is left of its approach is stopped at the end. With
these forces or without, bodies move by the integrator's rule, so that its order, up to the second, is kept.

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
from qdot.algebra.sparse import Row
from qdot.algorithms.constraints.rows import times, transposed_times
from qdot.contact.coulomb import coulomb
from qdot.contact.kinds import Hard, Impulse
from qdot.contact.points import Point, Points, reach_of, smallest
from qdot.simulation.bounds import Holding, Stops
from qdot.simulation.impacts import MOST_PARTS, MOST_TRIALS, Part, Stop, brief
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase
from qdot.simulation.reporting import NOTHING, Report, deepest
from qdot.simulation.system import Inputs, System
from qdot.simulation.touching import Law, met, moved_apart, paradox

NEAR = 1e-9
"""What is nearer touches [m, rad]; of 32 bits, what a few roundings of a length of one metre may hide."""

STILL = 1e-10
"""What approaches more slowly is not worth stopping [m/s]."""

NEARBY = 0.05
"""Of the smallest shape: a touch that has moved further than that, and than bodies can move, has jumped."""

CREEP = 1e-4
SHALLOW = 1e-6
"""How fast held bodies leave what they overlap [m/s]; what they overlap by more [m], as a bad start can make them, or
touches that jump, they leave at once."""


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

        begun = Part.rest(phase, memory, self.dt, 0.0)
        begun = replace(begun, length=where(self._approaching(phase) > 0, brief() * self.dt, self.dt))
        last, report = iterated(MOST_PARTS * MOST_TRIALS, (begun, NOTHING), turn)
        return Stepped(replace(last.start, time=phase.time + self.dt), last.memory), report

    def _approaching(self, phase: Phase) -> Scalar:
        """How many points there are that touch and approach, and so are to be struck at once."""
        speeds = [
            where(point.gap <= self.near, times(point.J[:1], phase.v)[0], 0.0) for point in self._points(phase).points
        ]
        return sum((where(speed < -or_rounding(STILL, 32), 1.0, 0.0) for speed in speeds), start=0.0)

    def _tried(self, state: tuple[Part, Report]) -> tuple[Part, Report]:
        """The next part where this one ends well, else the same with another length to try."""
        part, report = state
        h = part.length
        there, more = self._moved(part, h)
        passed, when = self._first_met(part.start, there.phase, h)

        def ended(given: tuple[Stepped, Report]) -> tuple[Part, Report]:
            stepped, more = given
            begun = Part.rest(stepped.phase, stepped.memory, part.left - h, part.parts + 1)
            after, blow = self._struck(begun)
            begun = replace(begun, start=after)
            return begun, report.joined(more).joined(blow)

        return where_needed(part.goes_on(passed) <= 0, (there, more), ended, (part.retried(passed, when), report))

    def _moved(self, part: Part, h: Scalar) -> tuple[Stepped, Report]:
        """A trial: in free flight, or held where that would lead into what is touched at rest."""
        start, inputs = part.start, replace(self.inputs, dt=h)
        last = part.parts >= MOST_PARTS - 1
        free = self._flown(start, inputs, h, part.memory)
        before, after = self._points(start), self._points(free.phase)
        if not before.points:
            return free, NOTHING
        rests = [self._rests(point, times(point.J[:1], start.v)[0]) for point in before.points]
        needed: Scalar = where(last, 1.0, 0.0)
        for there, point in zip(rests, after.points, strict=True):
            needed = needed + where(point.gap < -self.near, there, 0.0)

        def held(given: tuple[Phase, list[Scalar]]) -> tuple[Stepped, Report]:
            at, memory = given
            return self._held(at, memory, inputs, h, before, [where(last, 1.0, x) for x in rests], after, free.phase)

        return where_needed(needed > 0, (start, list(part.memory)), held, (free, NOTHING))

    def _flown(self, start: Phase, inputs: Inputs, h: Scalar, memory: Sequence[Scalar]) -> Stepped:
        """By the integrator's rule."""
        system = self.system
        inputs = system.engaged(start, inputs, h)
        flown = self.integrator.step(system, start, inputs, h, memory)
        return Stepped(system.settled(start, flown.phase, inputs, h), list(flown.memory))

    def _held(
        self,
        start: Phase,
        memory: Sequence[Scalar],
        inputs: Inputs,
        h: Scalar,
        before: Points,
        counts: list[Scalar],
        after: Points,
        free: Phase,
    ) -> tuple[Stepped, Report]:
        """Flown again, with forces at the points that count, the same during the whole part: those that take back by
        how much free flight led into them, h/2 (u + u') if speeds change evenly. They act along the mean of both ends'
        rows: so they do no work, to second order, where points stay in touch and stick."""
        system, model, bearing = self.system, self.system.model, before.chosen(counts)
        end = self._in_place(start, bearing, after, h)
        J = [{k: (x + later[k]) / 2 for k, x in row.items()} for row, later in zip(bearing.J, end, strict=True)]
        W, answers = system.answer(start, J)
        u, b = times(bearing.J, start.v), times(end, free.v)
        for n, point in zip(bearing.normals, bearing.points, strict=True):
            b[n] = b[n] + u[n] + maximum(2 * point.gap / h, -CREEP)
        found = coulomb(W, b, bearing.friction, bearing.present)
        holding = _joint_forces(bearing, J, [x / h for x in found.z], model.nv)
        there = self._flown(start, inputs.holding(holding), h, memory)
        work = dot(found.z, times(J, [(x + y) / 2 for x, y in zip(start.v, there.phase.v, strict=True)]))
        shallow = or_rounding(SHALLOW, 64)
        ahead = [where(p.gap < 0, minimum(p.gap + shallow, 0.0), p.gap) for p in before.points]
        ahead = [where(counted > 0, gap, 0.0) for counted, gap in zip(before.present, ahead, strict=True)]
        shift = Law(Hard(), J, answers, before.present).parted(before.normals, ahead)
        parted, raised = moved_apart(model, there.phase, shift)
        report = Report(
            deepest(bearing),
            found.residuals.cone,
            found.residuals.complementarity,
            found.residuals.dissipation,
            maximum(work, 0.0) + maximum(raised, 0.0),
            1 - found.converged,
            paradox(bearing, J, answers, u, bearing.present),
        )
        return Stepped(system.accounted("contacts", there.phase, parted), there.memory), report

    def _in_place(self, start: Phase, before: Points, after: Points, h: Scalar) -> list[Row]:
        """The rows of points at the end of a part; of those that have jumped elsewhere since, the ones at its start."""
        model = self.system.model
        far = reach_of(model, start.q, start.v, h) + NEARBY * smallest(model)
        rows = []
        for then, now in zip(before.points, after.points, strict=True):
            stays: Scalar = 1.0
            if then.touch is not None and now.touch is not None:
                way = now.touch.position - then.touch.position
                stays = where(way.dot(way) <= far * far, 1.0, 0.0)
            rows += [{k: where(stays > 0, b[k], a[k]) for k in a} for a, b in zip(then.J, now.J, strict=True)]
        return rows

    def _points(self, phase: Phase) -> Points:
        """All that may be met within the step, by what moves or begins to."""
        return met(self.system, None, phase, phase.v, self.dt, smallest(self.system.model), ahead=True)

    def _rests(self, point: Point, speed: Scalar) -> Scalar:
        """1 where it touches and hardly moves along its normal."""
        slow = maximum(speed, -speed) <= self.kind.resting
        return where(slow & (point.gap <= self.near), 1.0, 0.0)

    def _first_met(self, start: Phase, end: Phase, length: Scalar) -> tuple[Scalar, Scalar]:
        """By how much a trial passed the point that it passed furthest, in units of what counts as touching, negative
        before it; and when the first one was met [s]. Looked at are those that are apart, or part, at the start; and
        those that bodies rest on, or nearly part from, where they lead into an overlap: the place where they touch has
        changed, and they strike there."""
        near = self.near
        passed: Scalar = -inf
        when: Scalar = inf
        for before, after in zip(self._points(start).points, self._points(end).points, strict=True):
            there, here = (
                Stop(-p.gap, -times(p.J[:1], phase.v)[0], near) for p, phase in ((before, start), (after, end))
            )
            here = here._replace(passed=here.passed - maximum(there.passed, 0.0))  # an overlap may stay as it is
            leaves = (there.passed <= near) & (there.rate < -self.kind.resting)
            strikes = (here.passed > near) & (here.rate > self.kind.resting)
            watched = (there.passed < -near) | leaves | strikes
            passed = maximum(passed, where(watched, here.passed / near, -inf))
            when = minimum(when, where(watched, here.met(there, length), inf))
        return passed, when

    def _struck(self, part: Part) -> tuple[Phase, Report]:
        """The start of a part, with impulses on what touches and approaches. Before the last one they act on all that
        would be met within it, and leave as much approach as leads up to there."""
        phase, found = part.start, self._points(part.start)
        if not found.points:
            return phase, NOTHING
        u = times(found.J, phase.v)
        left, is_last = part.left + brief() * self.dt, part.parts >= MOST_PARTS - 1
        touching: list[Scalar] = []
        approaching: Scalar = 0.0
        for n, point in zip(found.normals, found.points, strict=True):
            u[n] = where(is_last, u[n] + maximum(point.gap, 0.0) / left, u[n])
            touching.append(where((point.gap <= self.near) | is_last, point.present, 0.0))
            approaching = approaching + where(u[n] < -or_rounding(STILL, 32), touching[-1], 0.0)

        def blow(given: tuple[Phase, list[Scalar], list[Scalar]]) -> tuple[Phase, Report]:
            at, u, touching = given
            W, answers = self.system.answer(at, found.J)
            e = [self._restitution(point) for point in found.points]
            z = self.kind.impact(W, u, e, found.friction, touching)
            v = [x + dot(column, z.z) for x, column in zip(at.v, zip(*answers, strict=True), strict=True)]
            named = paradox(found, found.J, answers, u, touching)
            report = Report(deepest(found), 0.0, 0.0, 0.0, maximum(z.energy, 0.0), 1 - z.converged, named)
            return self.system.accounted("impacts", at, at.changed(v=v)), report

        return where_needed(approaching > 0, (phase, u, touching), blow, (phase, NOTHING))

    def _restitution(self, point: Point) -> float:
        limits = self.system.setup.limits
        return limits.restitution if point.limit is not None and isinstance(limits, Stops) else self.kind.restitution


def _joint_forces(points: Points, J: list[Row], forces: list[Scalar], nv: int) -> Holding:
    """Of forces along rows."""
    of_limits = [point.limit is not None for point in points.points for _ in point.J]
    contacts, limits = (
        transposed_times(
            [row for row, limit in zip(J, of_limits, strict=True) if limit is kind],
            [force for force, limit in zip(forces, of_limits, strict=True) if limit is kind],
            nv,
        )
        for kind in (False, True)
    )
    return Holding([], limits, contacts)
