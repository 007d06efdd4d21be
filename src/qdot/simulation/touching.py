"""A step of bodies that touch, solved for the velocities at its end (Moreau, 1988; Stewart, Trinkle, 1996).

    v' = v + dt a + A Jᵀ z,   u = J v',   0 ≤ z_n ⊥ u_n + gap / dt ≥ 0,   z_t by Coulomb's law,   q' = q ⊕ dt v'

a is the acceleration under all that is no contact, A = M⁻¹, or under constraints what T9 makes of it, and J the rows of
all points that may be met within the step, limits among them. Because the gap is in the law, a point is stopped where
it touches, however fast it comes: nothing tunnels. What approaches faster than the resting speed parts at once with
e times its speed, or as much of it as gives no energy. Overlaps, which only turning or a bad start can make, are taken
out at the end: displacements along normals, like velocities without friction, which leave velocities as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, derivative, is_zero, maximum, minimum, where, where_needed
from qdot.algebra.linalg import dot
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row
from qdot.algorithms.configuration import carried, retract
from qdot.algorithms.constraints.rows import times
from qdot.algorithms.energy import potential_energy
from qdot.contact.coulomb import Impulses
from qdot.contact.impact import share_without_gain
from qdot.contact.kinds import Hard, Lcp, Stepping
from qdot.contact.pgs import projected
from qdot.contact.points import Points, handed_on, limit_points, points, reach_of, smallest
from qdot.contact.problem import length
from qdot.contact.residuals import Residuals, residuals
from qdot.model.model import Model
from qdot.simulation.bounds import Stops
from qdot.simulation.integrators.base import Stepped
from qdot.simulation.integrators.semi_implicit_euler import along_chord
from qdot.simulation.phase import Phase, along
from qdot.simulation.reporting import Report, deepest
from qdot.simulation.system import Inputs, System

SHARE = 0.2
"""Of an overlap that Baumgarte's way takes out in a step."""

TOUCHES = 1e-7
STRIKES = 1e-10
"""Where forces hold: what is nearer touches [m], and what approaches faster is struck [m/s]."""

SLIPS = 1e-6
"""What slides is faster, times its coefficient of friction [m/s]."""

OVERLAP = 1e-10
"""What is not worth taking out [m]."""


def touching_step(
    system: System,
    kind: Stepping,
    phase: Phase,
    inputs: Inputs,
    dt: Scalar,
) -> tuple[Stepped, Report]:
    """Settled at its end, with its impulses to remember, and how well it obeys the law."""
    model = system.model
    inputs = system.engaged(phase, inputs, dt)
    acting = system.acting(phase, inputs, dt, chord=True)
    led_back = [x - y for x, y in zip(acting.rates.q, phase.v, strict=True)]
    free = along(phase.v, acting.rates.v, dt)
    found = met(system, kind.room, phase, free, dt)
    system.missed.append(found.missed)
    solved = impulses_of(system, kind, found, phase, free, dt, inputs.guess)
    v = [x + y for x, y in zip(free, solved.change, strict=True)]
    v = [where(found.missed > 0, inf, x) for x in v]
    mean = [(x + y) / 2 for x, y in zip(phase.v, v, strict=True)]
    work = {name: dt * dot(force, mean) for name, force in acting.forces.items()}
    for name, done in zip(("contacts", "limits"), _works(found, solved.impulses.z, mean), strict=True):
        if name in work:
            work[name] = work[name] + done
    given = sum(_works(found, solved.impulses.z, [(x + y) / 2 for x, y in zip(free, v, strict=True)]))
    after = along_chord(system, phase, v, led_back, [w / dt for w in work.values()], inputs, dt)
    parted, raised = moved_apart(model, after, solved.shift)
    report = Report(
        deepest(found),
        solved.residuals.cone,
        solved.residuals.complementarity,
        solved.residuals.dissipation,
        maximum(given, 0.0) + maximum(raised, 0.0),
        1 - solved.impulses.converged,
        solved.paradox,
    )
    return Stepped(system.settled(phase, parted, inputs, dt), solved.impulses.z), report


def moved_apart(model: Model, phase: Phase, shift: Scalars) -> tuple[Phase, Scalar]:
    """After a displacement, (nv,), and by how much that raises it [J]."""
    parted = phase.changed(q=retract(model, phase.q, shift), v=carried(model, phase.v, shift))
    return parted, potential_energy(model, parted.q) - potential_energy(model, phase.q)


def met(
    system: System,
    room: int | None,
    phase: Phase,
    v: Scalars,
    dt: Scalar,
    more: float = 0.0,
    *,
    ahead: bool = False,
) -> Points:
    """The points of a state that may be met within a step, at these velocities, or are nearer than that and `more` [m];
    limits are the last. `ahead` is that of `points`."""
    found = points(system.model, phase.q, reach_of(system.model, phase.q, v, dt) + more, room, ahead=ahead)
    if not isinstance(system.setup.limits, Stops):
        return found
    return Points([*found.points, *limit_points(system.model, phase.q, v, dt)], found.missed)


@dataclass(frozen=True)
class Solved:
    """Impulses, how they change velocities, and the displacement that parts what overlaps."""

    impulses: Impulses
    change: list[Scalar]
    shift: list[Scalar]
    paradox: Scalar

    holds_scalars: ClassVar[bool] = True

    @property
    def residuals(self) -> Residuals:
        return self.impulses.residuals


def impulses_of(
    system: System, kind: Stepping, found: Points, phase: Phase, free: Scalars, dt: Scalar, start: Scalars = ()
) -> Solved:
    """Worked out where anything is near; `start` are impulses that sweeps begin with."""
    model, J, normals = system.model, found.J, found.normals
    nothing = Solved(
        Impulses([0.0] * len(J), [0.0] * len(J), Residuals(0.0, 0.0, 0.0, 0.0), 0.0, 1.0, 0.0),
        [0.0] * model.nv,
        [0.0] * model.nv,
        0.0,
    )
    if not J:
        return nothing
    start = handed_on(found, start) if start else [0.0] * len(J)

    def solved(given: tuple[Phase, list[Scalar], list[Scalar], list[Scalar], list[Scalar]]) -> Solved:
        at, free, gaps, present, start = given
        before, u = times(J, at.v), times(J, free)
        more: list[Scalar] = [0.0] * len(J)
        still, bounces = list(more), False
        for n, point, gap in zip(normals, found.points, gaps, strict=True):
            e = _restitution(system, kind, point.limit is not None)
            more[n] = _allowed(kind, gap, before[n], u[n], e, dt)
            still[n] = _allowed(kind, gap, before[n], u[n], 0.0, dt)
            bounces = bounces or e > 0
        law = Law(kind, J, system.answers(at, J), present)
        held = _held(system, law, found, at, free, before, gaps, dt, start)
        free = [x + y for x, y in zip(free, law.change(held), strict=True)]
        striking = _striking(law, normals, free, more)
        impulses = striking.impulses(free, more, found.friction, start)
        if bounces:
            impulses, more = striking.without_gain(impulses, free, more, still, found.friction, start)
        impulses = replace(impulses, z=[x + y for x, y in zip(held, impulses.z, strict=True)])
        change = law.change(impulses.z)
        after = [x + y for x, y in zip(u, times(J, change), strict=True)]
        told = residuals(impulses.z, [x + y for x, y in zip(after, more, strict=True)], found.friction, present)
        impulses = replace(impulses, residuals=told)
        ahead = [
            where(there > 0, gap + dt * after[n], 0.0) for n, gap, there in zip(normals, gaps, present, strict=True)
        ]
        return Solved(impulses, change, law.parted(normals, ahead), paradox(found, J, law.answers, before, present))

    gaps, present = [point.gap for point in found.points], found.present
    return where_needed(sum(present, start=0) > 0, (phase, list(free), gaps, present, list(start)), solved, nothing)


@dataclass(frozen=True)
class Law:
    """How points are solved: from rows J and the rows of J A, which are what impulses do to velocities."""

    kind: Stepping
    J: list[Row]
    answers: list[list[Scalar]]
    present: list[Scalar]

    @property
    def sweeps(self) -> int | None:
        return self.kind.sweeps if isinstance(self.kind, Hard) and self.kind.solver == "pgs" else None

    def change(self, z: Scalars) -> list[Scalar]:
        return [dot(column, z) for column in zip(*self.answers, strict=True)]

    def impulses(self, v: Scalars, more: Scalars, friction: Sequence[Scalars], start: Scalars) -> Impulses:
        """Of the law u + more, u = J v."""
        if self.sweeps is not None:
            return projected(self.J, _sparse(self.answers), v, more, friction, self.present, start, self.sweeps)
        W = [times(self.J, column) for column in self.answers]
        b = [x + y for x, y in zip(times(self.J, v), more, strict=True)]
        return self.kind.impulses(W, b, friction, self.present, start)

    def without_gain(
        self, full: Impulses, v: Scalars, more: Scalars, still: Scalars, friction: Sequence[Scalars], start: Scalars
    ) -> tuple[Impulses, list[Scalar]]:
        """With as much of their restitution as gives no energy, on the way from those of the law u + still (see
        `contact.impact`); and the law that these obey."""
        bouncing = sum((where(x == y, 0.0, 1.0) for x, y in zip(more, still, strict=True)), start=0.0)

        def cut(given: tuple[Impulses, list[Scalar], list[Scalar], list[Scalar]]) -> tuple[Impulses, list[Scalar]]:
            full, v, more, still = given
            least = self.impulses(v, still, friction, start)
            W = [times(self.J, column) for column in self.answers]
            share = where(full.converged > 0, share_without_gain(W, times(self.J, v), least.z, full.z), 0.0)
            z = [x + share * (y - x) for x, y in zip(least.z, full.z, strict=True)]
            law = [x + share * (y - x) for x, y in zip(still, more, strict=True)]
            return replace(full, z=z, converged=maximum(full.converged, least.converged)), law

        given = (full, list(v), list(more), list(still))
        return where_needed(bouncing > 0, given, cut, (full, list(more)))

    def parted(self, normals: list[int], ahead: list[Scalar]) -> list[Scalar]:
        """The displacement that takes overlaps out of the end of a step, where gaps will be `ahead`, zero where a point
        is not present."""
        size = len(self.answers[0])
        if self.kind.position != "projection":
            return [0.0] * size
        worst: Scalar = 0.0
        for x in ahead:
            worst = maximum(worst, -x)

        def displaced(given: tuple[list[list[Scalar]], list[Scalar], list[Scalar]]) -> list[Scalar]:
            answers, ahead, present = given
            along_normals = Law(self.kind, [self.J[n] for n in normals], answers, present)
            none: list[tuple[Scalar, ...]] = [()] * len(ahead)
            z = along_normals.impulses([0.0] * size, ahead, none, [0.0] * len(ahead)).z
            return along_normals.change(z)

        given = ([list(self.answers[n]) for n in normals], ahead, self.present)
        return where_needed(worst > or_rounding(OVERLAP, 8), given, displaced, [0.0] * size)


def _held(
    system: System,
    law: Law,
    found: Points,
    at: Phase,
    free: Scalars,
    before: list[Scalar],
    gaps: list[Scalar],
    dt: Scalar,
    start: Scalars,
) -> list[Scalar]:
    """Impulses of a step by forces that hold what touches, found from accelerations, where the kind asks for them."""
    kind = law.kind
    if not isinstance(kind, Lcp) or kind.level == "velocity":
        return [0.0] * len(law.J)
    touching: list[Scalar] = []
    for n, gap, there in zip(found.normals, gaps, law.present, strict=True):
        speed = maximum(before[n], -before[n])
        touching.append(where((gap <= or_rounding(TOUCHES, 16)) & (speed <= kind.resting), there, 0.0))
    a = [(x - y) / dt for x, y in zip(free, at.v, strict=True)]
    b = [x + y for x, y in zip(times(law.J, a), turning_rows(system, kind.room, at, dt), strict=True)]
    W = [times(law.J, column) for column in law.answers]
    return [dt * x for x in kind.forces(W, b, found.friction, touching, before, [x / dt for x in start])]


def _striking(law: Law, normals: list[int], v: Scalars, more: Scalars) -> Law:
    """Without any points where forces hold all of them already: what rounding leaves is nothing to be solved."""
    if not isinstance(law.kind, Lcp) or law.kind.level == "velocity":
        return law
    u = times(law.J, v)
    least = or_rounding(STRIKES, 32)
    strikes = sum(
        (there * where(u[n] + more[n] < -least, 1.0, 0.0) for n, there in zip(normals, law.present, strict=True)),
        start=0,
    )
    return replace(law, present=[where(strikes > 0, x, 0.0) for x in law.present])


def turning_rows(system: System, room: int | None, at: Phase, dt: Scalar) -> list[Scalar]:
    """J̇ v less what axes that turn do to velocities, which a step along a chord leaves out."""
    model = system.model

    def rates(s: Scalars) -> list[Scalar]:
        there = at.changed(q=retract(model, at.q, [s[0] * x for x in at.v]))
        return times(
            met(system, room, there, at.v, dt, smallest(model)).J, carried(model, at.v, [s[0] * x for x in at.v])
        )

    return derivative(rates, [1])


def _sparse(rows: Sequence[Scalars]) -> list[Row]:
    return [{k: x for k, x in enumerate(row) if not is_zero(x)} for row in rows]


def _restitution(system: System, kind: Stepping, is_limit: bool) -> float:
    limits = system.setup.limits
    return limits.restitution if is_limit and isinstance(limits, Stops) else kind.restitution


def _allowed(kind: Stepping, gap: Scalar, before: Scalar, u: Scalar, e: float, dt: Scalar) -> Scalar:
    """How fast a point may approach, negative where it has to part, in the law u_n + allowed ≥ 0."""
    inside = SHARE * gap / dt if kind.position == "baumgarte" else 0.0
    allowed = where(gap > 0, gap / dt, inside)
    if e == 0:
        return allowed
    meets = (gap + dt * u < 0) & (before < -kind.resting)
    return where(meets, e * before, allowed)


def paradox(found: Points, J: list[Row], answers: list[list[Scalar]], u: Scalars, present: Scalars) -> Scalar:
    """1 where a push at a point that slides, with its friction, makes the point approach."""
    lowest: Scalar = 0.0
    for n, point, there in zip(found.normals, found.points, present, strict=True):
        rows = range(n + 1, n + len(point.J))
        slip = [m * u[i] for m, i in zip(point.friction, rows, strict=True)]
        size = length(slip)
        slips = size > or_rounding(SLIPS, 64)
        share = where(slips, 1.0, 0.0) / where(slips, size, 1.0)
        push = list(answers[n])
        for m, x, i in zip(point.friction, slip, rows, strict=True):
            push = [a - share * m * x * b for a, b in zip(push, answers[i], strict=True)]
        lowest = minimum(lowest, where(there > 0, times([J[n]], push)[0], 0.0))
    return where(lowest < 0, 1.0, 0.0)


def _works(found: Points, z: Scalars, v: Scalars) -> tuple[Scalar, Scalar]:
    """Of impulses at some velocity [J]: at contacts, and at limits."""
    done: list[Scalar] = [0, 0]
    first = 0
    for point in found.points:
        own = z[first : first + len(point.J)]
        k = 0 if point.limit is None else 1
        done[k] = done[k] + dot(own, times(point.J, v))
        first += len(point.J)
    return done[0], done[1]
