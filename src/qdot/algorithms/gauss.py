"""Gauss' principle with constraints of both kinds, equalities and inequalities (T10).

    a = argmin (a - a₀)ᵀ D (a - a₀)   where   J a = b,  G a ≥ h.

With D = L Lᵀ and z = Lᵀ (a - a₀) it asks for the shortest z; equalities are taken out by their null space, and a dual
active-set method (Goldfarb, Idnani, Mathematical Programming 27, 1983) does the rest: from the shortest z of all it
takes up the inequality that is violated most, lets go those whose force would become a pull, and goes on. Every step
is longer than the last, so it ends; rows that repeat each other are never active together; where no z is left, it
says so.

Which rows act depends on the numbers, so this is for numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.errors import ModelError, SingularError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DEPENDENT = 1e-10
"""Of the length of a row: less than that beyond the span of others is taken for rounding."""

VIOLATED = 1e-11
"""How far a row may miss its bound, relative to the terms that are compared."""


@dataclass(frozen=True)
class GaussSolution:
    """The acceleration, and the forces of the constraints: D (a - a₀) = Jᵀ λ + Gᵀ μ with μ ≥ 0, and μ = 0 where G a >
    h."""

    acceleration: Any
    equal: Any
    """λ."""
    at_least: Any
    """μ."""


def nearest_allowed(D: Array, free: Array, J: Array, b: Array, G: Array, h: Array) -> GaussSolution:
    """The acceleration nearest to the free one among those with J a = b and G a ≥ h; raises where there is none."""
    try:
        L = np.linalg.cholesky(D)
    except np.linalg.LinAlgError:
        raise SingularError(
            "Gauss' principle: the inertia D is not positive definite; every coordinate needs some inertia"
        ) from None
    N, G_z = np.linalg.solve(L, J.T).T, np.linalg.solve(L, G.T).T
    fixed, basis = _equalities(N, b - J @ free)
    compared = np.abs(h) + np.abs(G) @ np.abs(free) + np.linalg.norm(G_z, axis=1) * np.linalg.norm(fixed)
    beyond = _Shortest.of(G_z, basis, h - G @ free - G_z @ fixed, VIOLATED * compared)
    change, mu = beyond.solution()
    z = fixed + change
    multipliers = np.linalg.lstsq(N.T, z - G_z.T @ mu, rcond=DEPENDENT)[0] if len(N) else np.zeros(0)
    return GaussSolution(free + np.linalg.solve(L.T, z), multipliers, mu)


def _equalities(N: Array, c: Array) -> tuple[Array, Array]:
    """The shortest z with N z = c, and an orthonormal basis of the rows, as columns."""
    size = np.linalg.norm(N, axis=1)
    size = np.where(size > 0, size, 1.0)
    U, s, V = np.linalg.svd(N / size[:, None], full_matrices=False)
    rank = int(np.sum(s > DEPENDENT * max(s, default=0.0)))
    target = c / size
    z = V[:rank].T @ ((U[:, :rank].T @ target) / s[:rank])
    missed = np.abs(N @ z - c) / size
    if (missed > 1e-8 * (np.abs(target).max(initial=0.0) + np.linalg.norm(z))).any():
        raise ModelError(
            f"Gauss' principle: no acceleration obeys all equalities J a = b: row {int(np.argmax(missed))} contradicts "
            "others; take it out, or make b agree where rows of J repeat each other"
        )
    return z, V[:rank].T


@dataclass(frozen=True)
class _Shortest:
    """The shortest z with N z ≥ c, up to `slack`; rows of N are of unit length, or zero, and were `length` long."""

    N: Array
    c: Array
    slack: Array
    length: Array

    @staticmethod
    def of(G: Array, basis: Array, c: Array, slack: Array) -> _Shortest:
        """Of G z ≥ c, for z orthogonal to a basis."""
        N, whole = G - (G @ basis) @ basis.T, np.linalg.norm(G, axis=1)
        length = np.linalg.norm(N, axis=1)
        zero = length <= DEPENDENT * whole
        length = np.where(zero, np.where(whole > 0, whole, 1.0), length)
        return _Shortest(np.where(zero[:, None], 0.0, N / length[:, None]), c / length, slack / length, length)

    def solution(self) -> tuple[Array, Array]:
        """z, and μ ≥ 0 with z = Σ μ_k (row k)."""
        N, c = self.N, self.c
        m, n = N.shape
        active: list[int] = []
        z, mu = np.zeros(n), np.zeros(m)
        for _ in range(50 * (m + n)):
            missed = c - N @ z - self.slack - VIOLATED * np.linalg.norm(z)
            missed[active] = 0.0
            if not (missed > 0).any():
                break
            z = self._taken_up(int(np.argmax(missed)), active, z, mu)
        else:
            if m:
                raise ModelError(
                    "Gauss' principle: these constraints are too badly scaled; write their rows in like units"
                )
        return self._at_once(active)

    def _taken_up(self, row: int, active: list[int], z: Array, mu: Array) -> Array:
        """z with one more row obeyed; those whose force would turn into a pull are let go, in `active` and `mu`."""
        N, c = self.N, self.c
        while True:
            held = N[active].T
            r = np.linalg.lstsq(held, N[row], rcond=None)[0] if active else np.zeros(0)
            step = N[row] - held @ r
            square = float(step @ step)
            full = (c[row] - N[row] @ z) / square if square > DEPENDENT**2 else np.inf
            until = [mu[k] / x if x > DEPENDENT else np.inf for k, x in zip(active, r, strict=True)]
            t = min(full, *until, np.inf)
            if np.isinf(t):
                against = f"inequalities {sorted(active)}" if active else "the equalities"
                raise ModelError(
                    f"Gauss' principle: no acceleration is allowed: inequality {row} of G a ≥ h contradicts {against}; "
                    "take one out, or loosen h"
                )
            mu[active] -= t * r
            mu[row] += t
            if np.isfinite(full):
                z = z + t * step
            if t == full:
                active.append(row)
                return z
            gone = until.index(t)
            mu[active[gone]] = 0.0
            del active[gone]

    def _at_once(self, active: list[int]) -> tuple[Array, Array]:
        """The solution from its active rows, without what rounding added up over the steps."""
        m, n = self.N.shape
        mu = np.zeros(m)
        if not active:
            return np.zeros(n), mu
        z = np.asarray(np.linalg.lstsq(self.N[active], self.c[active], rcond=None)[0], dtype=float)
        forces = np.linalg.lstsq(self.N[active].T, z, rcond=None)[0]
        mu[active] = np.maximum(forces, 0.0) / self.length[active]
        return z, mu
