"""Gauss' principle with soft constraints: of all accelerations the one that costs least,

    min_a  ½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - a_ref),   M a₀ = f,

f all joint forces that do not depend on a. Newton's method with a search along each step; the minimum is where
M a = f + Σ Jᵀ f_c. Of a state of the method only a is kept: what a constraint makes of it is computed where it acts,
and anew where it is asked for again, for that is less than to keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

from qdot.algebra import Scalar, Scalars, where, where_needed
from qdot.algebra.linalg import dot, matvec
from qdot.algorithms.frames import Frames
from qdot.algorithms.passive import armature
from qdot.contact.constraints import Alike, Ground, Rates, Rowed, plus
from qdot.contact.descent import minimised, searched
from qdot.contact.newton import is_bushy, solved_by
from qdot.contact.noslip import without_slip
from qdot.contact.recall import Recalled, remembered
from qdot.model.model import Model
from qdot.spatial import Force, Inertia, Motion

S = TypeVar("S")

BETWEEN, ITSELF, JOINED = 2, 128.0, 128.0
"""Of efforts: turns that count as a contact between bodies; more than what has none comes to; and more again, than
sixty contacts come to, where limbs are joined."""


@dataclass(frozen=True)
class Found:
    """An acceleration, found in so many turns of Newton's method, and the force along each row of every constraint
    there: by its law, or as `held` says."""

    problem: Problem
    a: list[Scalar]
    turns: Scalar
    held: Rates | None = None

    @cached_property
    def forces(self) -> Rates:
        return self.held or self.problem.forces(self.problem.rates(self.a))

    def joint_forces(self, cause: str | None = None) -> list[Scalar]:
        """Σ Jᵀ f of all constraints, or of those that act for one cause."""
        if self.held is None:
            return self.problem.joint_forces(self.a, cause)
        return self.problem.pushed(self.held, cause)


class Meeting(NamedTuple):
    """How bodies move at an acceleration, the forces that move them, and the slope of the cost."""

    U: list[Motion]
    IU: list[Force]
    g: list[Scalar]


@dataclass(frozen=True)
class Problem:
    """All that acts at one state. `at` are the motions of the joints in one frame, see `root_frame`, and `inertias`
    those of the bodies there, the world first.

    Of what is given by rows, `rare` acts only now and then.
    """

    model: Model
    at: Frames
    inertias: list[Inertia]
    f: list[Scalar]
    ground: list[Ground]
    rowed: list[Rowed]
    rare: list[Rowed]
    causes: list[str]
    """Of each constraint on the ground, by rows, rare: why it acts."""
    scale: Scalar
    """Of costs and forces that are no longer worth a step: 1/(trace of M at home)."""
    tolerance: float = 1e-8
    limit: int = 100
    overlap: Scalar = 0.0
    """The deepest of all contacts [m]."""
    missed: Scalar = 0.0
    """Contacts that found no room."""
    noslip: int = 0
    noslip_tolerance: float = 1e-6
    """Sweeps that make friction hold, at most, and what one gains where they stop, in units of `scale`."""

    @cached_property
    def constraints(self) -> list[Ground | Rowed]:
        return [*self.ground, *self.rowed, *self.rare]

    @cached_property
    def grounded(self) -> list[Alike[Ground]]:
        return Alike.among(self.ground)

    @cached_property
    def joining(self) -> list[Alike[Rowed]]:
        return Alike.among(self.rare)

    @cached_property
    def joined(self) -> Scalar:
        """More than 0 where a rare constraint joins limbs, or loose bodies."""
        return sum((row.law.D * row.across for row in self.rare), start=0)

    def solved(self, memory: Scalars) -> Found:
        """The acceleration that costs least, with friction that holds where that is asked for: from a guess of it,
        (nv,), or from what the step before remembered, see `recall`."""
        a, turns = list(memory[: self.model.nv]), 0.0
        if len(memory) > len(a):
            a, turns = self._by_tangents(a, Recalled.of(self, memory[len(a) :])), 1.0
        a, more = minimised(a, self._met, self._improved, scale=self.scale, tolerance=self.tolerance, limit=self.limit)
        turns = turns + more
        if not self.noslip:
            return Found(self, a, turns)
        ys = self.rates(a)
        a, forces = without_slip(self, a, ys, self.forces(ys))
        return Found(self, a, turns, forces)

    def remembered(self, found: Found) -> list[Scalar]:
        """What the next step is to know."""
        return [*found.a, *remembered(self, found.a)]

    def effort(self, found: Found) -> Scalar:
        """How long that took, roughly, as a number to sort by: turns, and contacts between bodies, for each of which
        there is work to do in a turn. What has any, and so needs H, is kept apart from what has none, and what needs it
        in full from what does not."""
        rare = sum((where(c.acts, 1.0, 0.0) for c in self.rare), start=0.0)
        apart = where(rare > 0, ITSELF, 0.0)
        if is_bushy(self.model):
            apart = apart + where(self.joined > 0, JOINED, 0.0)
        return found.turns + BETWEEN * rare + apart

    # -- at an acceleration --------------------------------------------------------------------------------------------

    def rates(self, a: Scalars) -> Rates:
        """J a - a_ref of every constraint."""
        U = body_motions(self.model, self.at, a)
        ys = [where_needed(c.acts, U[c.body], c.beyond, c.nothing) for c in self.ground]
        ys += [row.beyond(a) for row in self.rowed]
        return ys + [where_needed(row.acts, list(a), row.beyond, row.nothing) for row in self.rare]

    def forces(self, ys: Rates) -> Rates:
        """The force along each row of every constraint."""
        return [c.law.force(y) for c, y in zip(self.constraints, ys, strict=True)]

    def pushed(self, forces: Rates, cause: str | None) -> list[Scalar]:
        """Σ Jᵀ f, of forces that are given."""
        F = [Force.zero() for _ in self.inertias]
        known = zip(self.constraints, forces, self.causes, strict=True)
        acting = [(c, force) for c, force, why in known if cause in (None, why)]
        for c, force in acting:
            if isinstance(c, Ground):
                F[c.body] = where_needed(c.acts, (force, F[c.body]), partial(_together, c), F[c.body])
        total = self._at_joints(F)
        for c, force in acting:
            if isinstance(c, Rowed):
                total = where_needed(c.acts, (force, total), partial(_together, c), total)
        return total

    def joint_forces(self, a: Scalars, cause: str | None) -> list[Scalar]:
        """Σ Jᵀ f, of the forces at an acceleration."""
        total: list[Scalar] = [0] * self.model.nv
        if cause in (None, "contacts"):
            U = body_motions(self.model, self.at, a)
            total = self._at_joints(self.with_ground(U, [Force.zero() for _ in U], _pushed))
            total = self.with_joining(a, total, _pushed)
        for row, why in zip(self.rowed, self.causes[len(self.ground) :], strict=False):
            total = _pushed(a, row, total) if cause in (None, why) else total
        return total

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _met(self, a: Scalars) -> Meeting:
        """What an acceleration meets."""
        U = body_motions(self.model, self.at, a)
        IU = [I @ u for I, u in zip(self.inertias, U, strict=True)]
        F = self.with_ground(U, IU, _lessened)
        drives = zip(self._at_joints(F), armature(self.model), a, self.f, strict=True)
        g = [x + d * y - f for x, d, y, f in drives]
        for row in self.rowed:
            g = _lessened(a, row, g)
        return Meeting(U, IU, self.with_joining(a, g, _lessened))

    def with_ground(self, U: Sequence[Motion], of: Sequence[S], step: Callable[[Motion, Ground, S], S]) -> list[S]:
        """What belongs to each body, after a step for each contact with the ground, where bodies move like this."""
        of = list(of)
        for alike in self.grounded:
            k = alike.all[0].body
            of[k] = alike.over(of[k], partial(step, U[k]))
        return of

    def with_joining(self, a: Scalars, state: S, step: Callable[[Scalars, Rowed, S], S]) -> S:
        """A state after a step for each rare constraint, at this acceleration."""
        for alike in self.joining:
            state = alike.over(state, partial(step, a))
        return state

    def over_contacts(self, a: Scalars, state: S, step: Callable[[Any, Any, S], S]) -> S:
        """A state after a step for each contact, at this acceleration."""
        U = body_motions(self.model, self.at, a)
        for alike in self.grounded:
            state = alike.over(state, partial(step, U[alike.all[0].body]))
        return self.with_joining(a, state, step)

    def _at_joints(self, forces: Sequence[Force]) -> list[Scalar]:
        """Σ Sᵀ f, in one sweep from the leaves to the root."""
        model, F = self.model, list(forces)
        total: list[Scalar] = [0] * model.nv
        for body in reversed(model.bodies):
            total[body.dofs] = self.at.S[body.index].T @ F[body.index]
            F[body.parent] = F[body.parent] + F[body.index]
        return total

    def _by_tangents(self, a: list[Scalar], last: Recalled) -> list[Scalar]:
        """Where the cost would be least if each constraint answered along the tangent to its law, at the y of the step
        before; of what was not there yet, at the y of an acceleration."""
        U = body_motions(self.model, self.at, a)

        def held(moving: Any, c: Any, state: S) -> S:
            y = last.seen(c, moving)
            back = matvec(c.law.curvature(y), plus(c.wanted, y))
            pushed: S = c.pushed(plus(c.law.force(y), back), state)
            return pushed

        side = plus(self.f, self._at_joints(self.with_ground(U, [Force.zero() for _ in U], held)))
        for row in self.rowed:
            side = held(a, row, side)
        side = self.with_joining(a, side, held)
        return solved_by(self, last.seen, (a, U), side)

    def _improved(self, a: list[Scalar], met: Meeting) -> tuple[list[Scalar], Scalar]:
        """After one step of Newton's method; and what it promised to gain, half the slope along it."""
        p = solved_by(self, _beyond, (a, met.U), [-x for x in met.g])
        P, drive = body_motions(self.model, self.at, p), armature(self.model)
        slope = sum((_power(F, u) for F, u in zip(met.IU, P, strict=True)), start=0)
        slope = slope + sum((x * (d * y - f) for x, d, y, f in zip(p, drive, a, self.f, strict=True)), start=0)
        curvature = sum((_power(I @ u, u) for I, u in zip(self.inertias, P, strict=True)), start=0)
        curvature = curvature + sum((d * x * x for x, d in zip(p, drive, strict=True)), start=0)
        descent = dot(met.g, p)
        always = [(row.law, row.line(a, p)) for row in self.rowed]

        def at(t: Scalar) -> tuple[Scalar, Scalar]:
            total = slope + t * curvature, curvature
            for law, line in always:
                total = _plus(total, law.along(line, t))
            for ground in self.grounded:
                k = ground.all[0].body
                total = ground.over(total, partial(_along, met.U[k], P[k], t))
            for joining in self.joining:
                total = joining.over(total, partial(_along, a, p, t))
            return total

        t = searched(at, descent)
        return [x + t * y for x, y in zip(a, p, strict=True)], -(self.scale * descent) / 2


# -- motion ------------------------------------------------------------------------------------------------------------


def body_motions(model: Model, at: Frames, v: Scalars) -> list[Motion]:
    """How each body moves where joints do at these rates, the world first, in the one frame of `at`."""
    U = [Motion.zero()]
    for body in model.bodies:
        U.append(U[body.parent] + at.S[body.index] @ v[body.dofs])
    return U


def _power(F: Force, u: Motion) -> Scalar:
    return F.ang.dot(u.ang) + F.lin.dot(u.lin)


def _plus(one: tuple[Scalar, Scalar], two: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
    return one[0] + two[0], one[1] + two[1]


# -- what a constraint adds --------------------------------------------------------------------------------------------


def _beyond(c: Any, moving: Any) -> list[Scalar]:
    y: list[Scalar] = c.beyond(moving)
    return y


def _together(c: Any, given: tuple[list[Scalar], S]) -> S:
    """A force of its own, added."""
    pushed: S = c.pushed(*given)
    return pushed


def _pushed(moving: Any, c: Any, state: S) -> S:
    """Its force, where things move like this, added."""
    pushed: S = c.pushed(c.law.force(c.beyond(moving)), state)
    return pushed


def _lessened(moving: Any, c: Any, state: S) -> S:
    """Its force, where things move like this, taken off."""
    lessened: S = c.pushed([-x for x in c.law.force(c.beyond(moving))], state)
    return lessened


def _along(
    moving: Any, along: Any, t: Scalar, c: Ground | Rowed, total: tuple[Scalar, Scalar]
) -> tuple[Scalar, Scalar]:
    """Slope and curvature at t of a line added."""
    return _plus(total, c.law.along(c.line(moving, along), t))
