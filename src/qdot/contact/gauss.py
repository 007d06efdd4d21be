"""Gauss' principle with soft constraints: of all accelerations the one that costs least,

    min_a  ½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - a_ref),   M a₀ = f,

f all joint forces that do not depend on a. Newton's method with a search along each step; the minimum is where
M a = f + Σ Jᵀ f_c. Of many contacts that are possible few are there at a time: whatever belongs to one is computed
where it acts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

from qdot.algebra import Scalar, Scalars, absolute, iterated, where, where_needed
from qdot.algebra.linalg import dot
from qdot.algorithms.frames import Frames
from qdot.algorithms.passive import armature
from qdot.contact.constraints import Ground, Rates, Rowed
from qdot.contact.newton import newton_step
from qdot.contact.noslip import without_slip
from qdot.contact.soft_laws import Law
from qdot.model.model import Model
from qdot.spatial import Force, Inertia, Motion

SEARCH = 0.01
"""Of the slope at the start of a search: what is left of it where the search ends."""

SEARCHES = 30
"""Turns of a search, at most: between sticking and sliding a slope may change from one side to the other at once, and
the place is found by halves."""

FURTHEST = 1e10
"""No search goes so far, and no step gains so much."""


_Lines: TypeAlias = list[tuple[Law, list[Scalar]]]
"""Laws that act together, and what each keeps of a line."""


@dataclass(frozen=True)
class Found:
    """An acceleration, and the force along each row of every constraint there."""

    a: list[Scalar]
    forces: Rates


class Meeting(NamedTuple):
    """What an acceleration meets: J a - a_ref of every constraint, the forces that move the bodies, and the slope of
    the cost."""

    ys: Rates
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
    scale: float
    """Of costs and forces that are no longer worth a step: 1/(trace of M)."""
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

    def solved(self, guess: Scalars) -> tuple[Found, Scalar]:
        """The acceleration that costs least, from a guess of it, with friction that holds where that is asked for; and
        how many steps that took."""

        def turn(state: tuple[list[Scalar], Scalar, Scalar]) -> tuple[Scalar, tuple[list[Scalar], Scalar, Scalar]]:
            a, gain, steps = state
            met = self._met(a)
            left = self.scale * sum((absolute(x) for x in met.g), start=0)
            more = where(gain > self.tolerance, left, 0.0) > self.tolerance
            a, gain = where_needed(more, (a, met), lambda given: self._improved(*given), (a, 0.0))
            return more, (a, gain, steps + 1)

        a, _, steps = iterated(self.limit, (list(guess), FURTHEST, 0.0), turn)
        ys = self._rates(a)
        forces = self.forces(ys)
        if self.noslip:
            a, forces = without_slip(self, a, ys, forces)
        return Found(a, forces), steps

    def forces(self, ys: Rates) -> Rates:
        """The force along each row of every constraint."""
        return [c.law.force(y) for c, y in zip(self.constraints, ys, strict=True)]

    def joint_forces(self, forces: Rates, cause: str | None = None) -> list[Scalar]:
        """Σ Jᵀ f of all constraints, or of those that act for one cause."""
        if cause is not None:
            kept = zip(forces, self.causes, strict=True)
            forces = [force if why == cause else [0] * len(force) for force, why in kept]
        F = [Force.zero() for _ in self.inertias]
        left = iter(forces)
        for c in self.ground:
            F[c.body] = where_needed(c.acts, (next(left), F[c.body]), c.pushed, F[c.body])
        total = self._at_joints(F)
        for row in self.rowed:
            total = row.pushed((next(left), total))
        for row in self.rare:
            total = where_needed(row.acts, (next(left), total), row.pushed, total)
        return total

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _rates(self, a: Scalars) -> Rates:
        """J a - a_ref of every constraint."""
        U = body_motions(self.model, self.at, a)
        ys = [where_needed(c.acts, U[c.body], c.beyond, c.nothing) for c in self.ground]
        ys += [row.beyond(a) for row in self.rowed]
        return ys + [where_needed(row.acts, list(a), row.beyond, row.nothing) for row in self.rare]

    def _met(self, a: Scalars) -> Meeting:
        """What an acceleration meets."""
        U = body_motions(self.model, self.at, a)
        IU = [I @ u for I, u in zip(self.inertias, U, strict=True)]
        ys, F = [], list(IU)
        for c in self.ground:
            y, F[c.body] = where_needed(c.acts, (U[c.body], F[c.body]), c.lessened, (c.nothing, F[c.body]))
            ys.append(y)
        drives = zip(self._at_joints(F), armature(self.model), a, self.f, strict=True)
        g = [x + d * y - f for x, d, y, f in drives]
        for row in self.rowed:
            y, g = row.lessened((a, g))
            ys.append(y)
        for row in self.rare:
            y, g = where_needed(row.acts, (list(a), g), row.lessened, (row.nothing, g))
            ys.append(y)
        return Meeting(ys, IU, g)

    def _at_joints(self, forces: Sequence[Force]) -> list[Scalar]:
        """Σ Sᵀ f, in one sweep from the leaves to the root."""
        model, F = self.model, list(forces)
        total: list[Scalar] = [0] * model.nv
        for body in reversed(model.bodies):
            total[body.dofs] = self.at.S[body.index].T @ F[body.index]
            F[body.parent] = F[body.parent] + F[body.index]
        return total

    def _improved(self, a: list[Scalar], met: Meeting) -> tuple[list[Scalar], Scalar]:
        """After one step of Newton's method; and what that gained."""
        p = newton_step(self, met.g, met.ys)
        P, drive = body_motions(self.model, self.at, p), armature(self.model)
        slope = sum((_power(F, u) for F, u in zip(met.IU, P, strict=True)), start=0)
        slope = slope + sum((x * (d * y - f) for x, d, y, f in zip(p, drive, a, self.f, strict=True)), start=0)
        curvature = sum((_power(I @ u, u) for I, u in zip(self.inertias, P, strict=True)), start=0)
        curvature = curvature + sum((d * x * x for x, d in zip(p, drive, strict=True)), start=0)
        descent = dot(met.g, p)
        lines = self._lines(met.ys, p, P)

        def at(t: Scalar) -> tuple[Scalar, Scalar]:
            total = slope + t * curvature, curvature
            for together in lines:
                acts = sum((law.D for law, _ in together), start=0) > 0
                total = where_needed(acts, (t, total), partial(_along, together), total)
            return total

        t = searched(at, descent)
        return [x + t * y for x, y in zip(a, p, strict=True)], -(self.scale * t * descent) / 2

    def _lines(self, ys: Rates, p: list[Scalar], P: Sequence[Motion]) -> list[_Lines]:
        """What the laws of constraints keep of a line along p."""
        left = iter(ys)

        def line(c: Ground | Rowed, moving: Any) -> _Lines:
            y = next(left)
            nothing = [0.0] * len(c.law.line(y, y))
            return [(c.law, where_needed(c.acts, (y, moving), c.line, nothing))]

        ground = [line(c, P[c.body]) for c in self.ground]
        always = [(row.law, row.line((next(left), p))) for row in self.rowed]
        return [*ground, always, *(line(row, p) for row in self.rare)]


# -- motion ------------------------------------------------------------------------------------------------------------


def body_motions(model: Model, at: Frames, v: Scalars) -> list[Motion]:
    """How each body moves where joints do at these rates, the world first, in the one frame of `at`."""
    U = [Motion.zero()]
    for body in model.bodies:
        U.append(U[body.parent] + at.S[body.index] @ v[body.dofs])
    return U


def searched(at: Callable[[Scalar], tuple[Scalar, Scalar]], slope: Scalar) -> Scalar:
    """Where a convex function of t, with this slope at 0, is least: `at` gives its slope and curvature. From t = 1,
    where Newton's step ends; steps of Newton's method, or halves where one would leave the interval known to hold
    it."""

    def turn(state: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
        t, low, high = state
        first, second = at(t)
        low, high = where(first < 0, t, low), where(first < 0, high, t)
        step = t - first / second
        halved = where(high < FURTHEST, (low + high) / 2, 2 * t)
        inside = where(step > low, where(step < high, 1.0, 0.0), 0.0)
        return absolute(first) > SEARCH * absolute(slope), (where(inside > 0, step, halved), low, high)

    return iterated(SEARCHES, (1.0, 0.0, FURTHEST), turn)[0]


def _power(F: Force, u: Motion) -> Scalar:
    return F.ang.dot(u.ang) + F.lin.dot(u.lin)


def _along(together: _Lines, given: tuple[Scalar, tuple[Scalar, Scalar]]) -> tuple[Scalar, Scalar]:
    """Slope and curvature at t with those of some constraints added."""
    t, (slope, curvature) = given
    for law, line in together:
        d1, d2 = law.along(line, t)
        slope, curvature = slope + d1, curvature + d2
    return slope, curvature
