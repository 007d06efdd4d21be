"""Gauss' principle with soft constraints: of all accelerations the one that costs least,

    min_a  ½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - a_ref),   M a₀ = f,

f all joint forces that do not depend on a. Newton's method with a search along each step; the minimum is where
M a = f + Σ Jᵀ f_c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, TypeAlias

from qdot.algebra import Scalar, Scalars, Vec3, absolute, iterated, where, where_needed
from qdot.algebra.linalg import dot
from qdot.algebra.sparse import Row
from qdot.algorithms.constraints.rows import times, transposed_times
from qdot.algorithms.frames import Frames
from qdot.algorithms.passive import armature
from qdot.contact.newton import newton_step
from qdot.contact.soft_laws import Law
from qdot.model.model import Model
from qdot.spatial import Force, Inertia, Motion, Transform

SEARCH = 0.01
"""Of the slope at the start of a search: what is left of it where the search ends."""

SEARCHES = 30
"""Turns of a search, at most: between sticking and sliding a slope may change from one side to the other at once, and
the place is found by halves."""

FURTHEST = 1e10
"""No search goes so far, and no step gains so much."""

Rates: TypeAlias = list[list[Scalar]]
"""A number for each row of each constraint."""


@dataclass(frozen=True)
class Ground:
    """A contact between a body and what stands still: at the pose X, whose axes are the normal and two tangents."""

    body: int
    X: Transform
    wanted: list[Scalar]
    law: Law

    def motion(self, U: Sequence[Motion]) -> list[Scalar]:
        """How the body moves there, along the rows."""
        return six(self.X.inv() @ U[self.body])[: len(self.wanted)]

    def wrench(self, force: Sequence[Scalar]) -> Force:
        """What forces along the rows do to the body."""
        full = [*force, *[0] * (6 - len(force))]
        return self.X @ Force(Vec3(*full[3:]), Vec3(*full[:3]))


@dataclass(frozen=True)
class Rowed:
    """A constraint by its rows over the freedoms."""

    J: list[Row]
    wanted: list[Scalar]
    law: Law


@dataclass(frozen=True)
class Found:
    """An acceleration, J a - a_ref of every constraint there, and M a."""

    a: list[Scalar]
    ys: Rates
    Ma: list[Scalar]

    holds_scalars: ClassVar[bool] = True

    def moved(self, t: Scalar, p: Found) -> Found:
        def along(xs: Sequence[Scalar], dxs: Sequence[Scalar]) -> list[Scalar]:
            return [x + t * dx for x, dx in zip(xs, dxs, strict=True)]

        ys = [along(y, z) for y, z in zip(self.ys, p.ys, strict=True)]
        return Found(along(self.a, p.a), ys, along(self.Ma, p.Ma))


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

    def solved(self, guess: Scalars) -> tuple[Found, Scalar]:
        """The acceleration that costs least, from a guess of it; and how many steps that took."""

        def turn(state: tuple[Found, Scalar, Scalar]) -> tuple[Scalar, tuple[Found, Scalar, Scalar]]:
            found, gain, steps = state
            g = self._gradient(found)
            left = self.scale * sum((absolute(x) for x in g), start=0)
            more = where(gain > self.tolerance, left, 0.0) > self.tolerance
            needed = where(more, 1.0, 0.0)
            found, gain = where_needed(more, (found, g, needed), lambda given: self._improved(*given), (found, 0.0))
            return more, (found, gain, steps + 1)

        start = self._at(guess, [c.wanted for c in self._all])
        found, _, steps = iterated(self.limit, (start, FURTHEST, 0.0), turn)
        return found, steps

    def forces(self, ys: Rates) -> Rates:
        """The force along each row of every constraint."""
        return [c.law.answer(y).force for c, y in zip(self._all, ys, strict=True)]

    def joint_forces(self, forces: Rates, cause: str | None = None) -> list[Scalar]:
        """Σ Jᵀ f of all constraints, or of those that act for one cause."""
        if cause is not None:
            kept = zip(forces, self.causes, strict=True)
            forces = [force if why == cause else [0] * len(force) for force, why in kept]
        pushed = [Force.zero() for _ in self.inertias]
        for contact, force in zip(self.ground, forces, strict=False):
            pushed[contact.body] = pushed[contact.body] + contact.wrench(force)
        total = self._at_joints(pushed)
        nv, first, last = self.model.nv, len(self.ground), len(self.ground) + len(self.rowed)
        more = [transposed_times(row.J, force, nv) for row, force in zip(self.rowed, forces[first:last], strict=True)]
        for c, force in zip(self.rare, forces[last:], strict=True):
            more.append(where_needed(c.law.D > 0, force, partial(_at_freedoms, c.J, nv), [0.0] * nv))
        return [sum(column) for column in zip(total, *more, strict=True)]

    # -- parts ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _all(self) -> list[Ground | Rowed]:
        return [*self.ground, *self.rowed, *self.rare]

    def _at(self, a: Scalars, wanted: Rates) -> Found:
        """With J a - wanted of all constraints, and M a."""
        U = body_motions(self.model, self.at, a)
        rates = [*(c.motion(U) for c in self.ground), *(times(c.J, a) for c in self.rowed)]
        rates += [where_needed(c.law.D > 0, list(a), partial(times, c.J), [0.0] * len(c.J)) for c in self.rare]
        ys = [[x - w for x, w in zip(xs, ws, strict=True)] for xs, ws in zip(rates, wanted, strict=True)]
        opposed = self._at_joints([I @ u for I, u in zip(self.inertias, U, strict=True)])
        drives = zip(opposed, armature(self.model), a, strict=True)
        return Found(list(a), ys, [x + d * y for x, d, y in drives])

    def _at_joints(self, forces: Sequence[Force]) -> list[Scalar]:
        """Σ Sᵀ f, in one sweep from the leaves to the root."""
        model, F = self.model, list(forces)
        total: list[Scalar] = [0] * model.nv
        for body in reversed(model.bodies):
            total[body.dofs] = self.at.S[body.index].T @ F[body.index]
            F[body.parent] = F[body.parent] + F[body.index]
        return total

    def _gradient(self, found: Found) -> list[Scalar]:
        pushed = self.joint_forces(self.forces(found.ys))
        return [x - f - p for x, f, p in zip(found.Ma, self.f, pushed, strict=True)]

    def _improved(self, found: Found, g: list[Scalar], needed: Scalar) -> tuple[Found, Scalar]:
        """After one step of Newton's method; and what that gained. Where it is not needed (0), nothing is searched."""
        answers = [c.law.answer(y) for c, y in zip(self._all, found.ys, strict=True)]
        step = newton_step(self, g, [answer.curvature for answer in answers])
        p = self._at(step, [[0] * len(y) for y in found.ys])
        slope = dot(p.a, [x - f for x, f in zip(found.Ma, self.f, strict=True)])
        curvature, descent = dot(p.a, p.Ma), dot(g, p.a)

        lines = [c.law.line(y, z) for c, y, z in zip(self._all, found.ys, p.ys, strict=True)]

        def at(t: Scalar) -> tuple[Scalar, Scalar]:
            first, second = slope + t * curvature, curvature
            for line in lines:
                d1, d2 = line(t)
                first, second = first + d1, second + d2
            return first, second

        t = searched(at, descent, needed)
        return found.moved(t, p), -(self.scale * t * descent) / 2


def body_motions(model: Model, at: Frames, v: Scalars) -> list[Motion]:
    """How each body moves where joints do at these rates, the world first, in the one frame of `at`."""
    U = [Motion.zero()]
    for body in model.bodies:
        U.append(U[body.parent] + at.S[body.index] @ v[body.dofs])
    return U


def searched(at: Callable[[Scalar], tuple[Scalar, Scalar]], slope: Scalar, needed: Scalar) -> Scalar:
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
        return needed * absolute(first) > SEARCH * absolute(slope), (where(inside > 0, step, halved), low, high)

    return iterated(SEARCHES, (1.0, 0.0, FURTHEST), turn)[0]


def six(motion: Motion) -> list[Scalar]:
    """Along, then about the axes: the order of a contact's rows."""
    return [*motion.lin, *motion.ang]


def _at_freedoms(J: Sequence[Row], nv: int, force: Scalars) -> list[Scalar]:
    """Jᵀ f."""
    return transposed_times(J, force, nv)
