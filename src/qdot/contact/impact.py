"""Impacts: all at once or one after another, by Newton's or Poisson's law of restitution, and never with more energy.

Of the velocities u⁻ before an impact, u⁺ = W z + u⁻ after it:

    Newton    what approaches parts at e times that speed:  0 ≤ z_n ⊥ u⁺_n + e u⁻_n ≥ 0 (Moreau, 1988), and what this
              makes approach is stopped;
    Poisson   the push while bodies part is e times the push while they approached: impulses that bring approach to
              an end, then impulses that bear at least e times their normal ones (Glocker, Pfeiffer, 1995),

both with Coulomb's friction. All at once is one such problem for all contacts. One after another is a chain of impacts
of single contacts, those of the fastest approach first, until none approaches: so a row of equal balls hands its motion
on to the last, where all at once would move them together. Chains may go on for ever, as those of a block that
rocks on a floor do; when they have grown too long, or are slow, what still approaches is stopped without restitution,
all at once.

With friction both laws may give energy away that was not there (Kane, 1984). The impulses z⁰ without restitution never
do. So restitution is cut down to the share θ of the way from z⁰ to z at which the energy is what it was:

    T⁺ - T⁻ = ½ zᵀ W z + zᵀ u⁻ ≤ 0  for  z⁰ + θ (z - z⁰);

nothing approaches there, and friction stays in its cone, as both ends do. Where bodies are squeezed, no velocities may
part all contacts as Newton's law asks; then there is no restitution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, iterated, maximum, minimum, sqrt, where, where_needed
from qdot.algebra.linalg import dot, matvec
from qdot.algebra.rounding import or_rounding
from qdot.contact.coulomb import TOLERANCE, coulomb
from qdot.contact.problem import each_tangent, first_of, largest, rows_of

CHAIN = 50
"""Impacts at most for each contact, one after another."""

STILL = 1e-12
"""Of the fastest approach at the start: less is none."""


@dataclass(frozen=True)
class Impact:
    """Impulses z [N s], the velocities u [m/s] after them, and what they did to the kinetic energy [J].

    `cut` is 1 where there was less restitution than asked for, `converged` 1 where the impulses without it were found;
    `impacts` counts those of a chain.
    """

    holds_scalars: ClassVar[bool] = True
    z: list[Scalar]
    u: list[Scalar]
    energy: Scalar
    cut: Scalar
    converged: Scalar
    impacts: Scalar


def impact(
    W: Sequence[Scalars],
    before: Scalars,
    e: Scalars,
    mu: Sequence[Scalar | Scalars],
    present: Scalars,
    law: str = "newton",
    tolerance: float = TOLERANCE,
) -> Impact:
    """All contacts at once, with the velocities `before` and a coefficient of restitution for each contact.

    `law` is "newton" or "poisson"; rows, friction and tolerance are those of `coulomb`.
    """
    normals = [rows[0] for rows in rows_of(mu)]
    stopped = coulomb(W, before, mu, present, tolerance=tolerance)
    if law == "newton":
        wanted = list(before)
        for n, share in zip(normals, e, strict=True):
            wanted[n] = (1 + share) * before[n]
        first = coulomb(W, wanted, mu, present, tolerance=tolerance)
        reached = [x + y for x, y in zip(matvec(W, first.z), before, strict=True)]
        last = coulomb(W, reached, mu, present, tolerance=tolerance)  # what parted before may approach now
    else:
        first = stopped
        least = [share * stopped.z[n] for n, share in zip(normals, e, strict=True)]
        last = coulomb(W, stopped.u, mu, present, least=least, tolerance=tolerance)
    z = [x + y for x, y in zip(first.z, last.z, strict=True)]
    share = where(minimum(first.converged, last.converged) > 0, share_without_gain(W, before, stopped.z, z), 0.0)
    z = [x + share * (y - x) for x, y in zip(stopped.z, z, strict=True)]
    u = [x + y for x, y in zip(matvec(W, z), before, strict=True)]
    cut = where(share < 1 - or_rounding(1e-9, 4), 1.0, 0.0)
    return Impact(z, u, _energy(W, before, z), cut, stopped.converged, 1.0)


def impacts(
    W: Sequence[Scalars],
    before: Scalars,
    e: Scalars,
    mu: Sequence[Scalar | Scalars],
    present: Scalars,
    law: str = "newton",
    limit: int | None = None,
    tolerance: float = TOLERANCE,
    resting: float = 0.0,
) -> Impact:
    """One after another, at most `limit` of them, 50 for each contact unless given, until no approach is faster than
    `resting` [m/s]: what is left is stopped, all at once. Other arguments are those of `impact`."""
    contacts = rows_of(mu)

    def fastest(u: Scalars) -> tuple[Scalar, list[Scalar]]:
        """How fast the fastest approach is, and a 1 for it among zeros."""
        speeds = [
            where(there > 0, maximum(-u[rows[0]], 0.0), 0.0) for rows, there in zip(contacts, present, strict=True)
        ]
        most = largest(speeds)
        return most, first_of([where(speed >= most, 1.0, 0.0) for speed in speeds])

    still = or_rounding(STILL, 16) * fastest(before)[0]

    def hit(state: Impact) -> Impact:
        _, marks = fastest(state.u)
        one = _Single.of(W, state.u, e, mu, marks)
        found = impact(one.W, one.u, one.e, one.mu, [1.0], law, tolerance)
        z = list(state.z)
        for rows, mark in zip(contacts, marks, strict=True):
            for i, x in zip(rows, found.z, strict=False):
                z[i] = z[i] + mark * x
        u = [x + y for x, y in zip(matvec(W, z), before, strict=True)]
        return Impact(
            z,
            u,
            state.energy + found.energy,
            maximum(state.cut, found.cut),
            minimum(state.converged, found.converged),
            state.impacts + 1,
        )

    def step(state: Impact) -> tuple[Scalar, Impact]:
        go_on = fastest(state.u)[0] > maximum(still, resting)
        return go_on, where_needed(go_on, state, hit, state)

    def stopped(state: Impact) -> Impact:
        found = coulomb(W, state.u, mu, present, tolerance=tolerance)
        z = [x + y for x, y in zip(state.z, found.z, strict=True)]
        return Impact(
            z, found.u, _energy(W, before, z), state.cut, minimum(state.converged, found.converged), state.impacts
        )

    start = Impact([0.0] * len(before), list(before), 0.0, 0.0, 1.0, 0.0)
    chain = iterated(CHAIN * len(contacts) if limit is None else limit, start, step)
    return where_needed(fastest(chain.u)[0] > still, chain, stopped, chain)


def _energy(W: Sequence[Scalars], before: Scalars, z: Scalars) -> Scalar:
    return dot(z, matvec(W, z)) / 2 + dot(z, before)


def share_without_gain(W: Sequence[Scalars], before: Scalars, least: Scalars, z: Scalars) -> Scalar:
    """How much of the way from `least` to z may be gone without giving energy: 1 is all of it."""
    way = [x - y for x, y in zip(z, least, strict=True)]
    lost = minimum(_energy(W, before, least), 0.0)
    slope = dot(way, [x + y for x, y in zip(matvec(W, least), before, strict=True)])
    bend = maximum(dot(way, matvec(W, way)), 0.0)
    gains = lost + slope + bend / 2 > 0
    # lost + slope θ + bend θ²/2 = 0, by whichever form has no difference of equals in it.
    root = sqrt(where(gains, slope * slope - 2 * bend * lost, 1.0))
    rising = slope + root
    share = where(
        slope > 0,
        -2 * lost / where(rising > 0, rising, 1.0),
        (root - slope) / where(bend > 0, bend, 1.0),
    )
    return where(gains, minimum(share, 1.0), 1.0)


@dataclass(frozen=True)
class _Single:
    """The contact that is marked, alone; rows that others have more of than it has are zero."""

    W: list[list[Scalar]]
    u: list[Scalar]
    e: list[Scalar]
    mu: list[list[Scalar]]

    @staticmethod
    def of(W: Sequence[Scalars], u: Scalars, e: Scalars, mu: Sequence[Scalar | Scalars], marks: Scalars) -> _Single:
        contacts = rows_of(mu)
        size = max(map(len, contacts))
        chosen = list(zip(contacts, marks, strict=True))

        def entry(i: int, j: int) -> Scalar:
            return sum(mark * W[rows[i]][rows[j]] for rows, mark in chosen if max(i, j) < len(rows))

        frictions = [(each_tangent(m), mark) for m, mark in zip(mu, marks, strict=True)]
        return _Single(
            [[entry(i, j) for j in range(size)] for i in range(size)],
            [sum(mark * u[rows[i]] for rows, mark in chosen if i < len(rows)) for i in range(size)],
            [dot(e, marks)],
            [[sum(mark * m[k] for m, mark in frictions if k < len(m)) for k in range(size - 1)]],
        )
