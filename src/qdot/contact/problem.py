"""A contact problem in its plainest form: every cone is the round one, |x_t| ≤ x_n, and every contact weighs the same.

Contacts answer to impulses z by the velocities u = W z + b, W = J M⁻¹ Jᵀ, each with its normal row first and then its
tangential ones: two that slide, perhaps one that spins and two that roll. With coefficients μ_k for those rows the
impulses may be

    z_n ≥ 0,    Σ_k (z_k / μ_k)² ≤ z_n²,

and z = E x, E = diag(1, μ …), turns W into A = E W E and this cone into the round one; without friction A has zeros
there, and x_k does nothing. Each contact is then measured in units of its own, so that its block of A has entries of
the size of one however heavy the bodies are. An absent contact has E = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, absolute, maximum, sqrt, where
from qdot.algebra.linalg import Matrix, dot, matvec


@dataclass(frozen=True)
class Problem:
    """y = A x + c, where z = unit · x are the impulses, and the rows of each contact."""

    A: Matrix
    c: list[Scalar]
    contacts: list[range]
    unit: list[Scalar]

    @staticmethod
    def of(
        W: Sequence[Scalars],
        b: Scalars,
        mu: Sequence[Scalar | Scalars],
        present: Scalars,
        least: Scalars | None = None,
    ) -> Problem:
        """`mu` has one coefficient for each contact, for both of its tangents, or one for each tangential row; `least`
        are normal impulses that there are in any case. Numbers are near one: the largest of b, or of what those do."""
        contacts = rows_of(mu)
        unit: list[Scalar] = []
        for rows, coefficients, there in zip(contacts, mu, present, strict=True):
            E = [there, *(there * m for m in each_tangent(coefficients))]
            size = sum(W[i][i] * e * e for i, e in zip(rows, E, strict=True)) / len(rows)
            unit += [e / sqrt(where(size > 0, size, 1.0)) for e in E]
        c = [x * e for x, e in zip(b, unit, strict=True)]
        size = largest(c)
        for rows, push in zip(contacts, least or [], strict=least is not None):
            e = unit[rows[0]]
            size = maximum(size, where(e > 0, push / where(e > 0, e, 1.0), 0.0))
        size = where(size > 0, size, 1.0)
        A = [[x * e * f for x, f in zip(row, unit, strict=True)] for row, e in zip(W, unit, strict=True)]
        return Problem(A, [x / size for x in c], contacts, [e * size for e in unit])

    def velocities(self, x: Scalars) -> list[Scalar]:
        """y = A x + c."""
        return [a + b for a, b in zip(matvec(self.A, x), self.c, strict=True)]

    def impulses(self, x: Scalars) -> list[Scalar]:
        return [e * a for e, a in zip(self.unit, x, strict=True)]


def each_tangent(mu: Scalar | Scalars) -> Scalars:
    """The coefficients of a contact's tangential rows: one number is that of both."""
    return mu if isinstance(mu, (list, tuple)) else (mu, mu)


def rows_of(mu: Sequence[Scalar | Scalars]) -> list[range]:
    """The rows of each contact: its normal, then its tangents."""
    contacts: list[range] = []
    for m in mu:
        first = contacts[-1].stop if contacts else 0
        contacts.append(range(first, first + 1 + len(each_tangent(m))))
    return contacts


def length(x: Scalars) -> Scalar:
    """|x|; at zero its derivative is taken to be zero."""
    square = dot(x, x)
    return where(square > 0, sqrt(where(square > 0, square, 1.0)), 0.0)


def largest(x: Scalars) -> Scalar:
    """The largest magnitude; zero of nothing."""
    found: Scalar = 0.0
    for a in x:
        found = maximum(found, absolute(a))
    return found


def first_of(marks: Scalars) -> list[Scalar]:
    """Of marks 1 among zeros the first alone."""
    found: list[Scalar] = []
    before: Scalar = 0.0
    for x in marks:
        found.append(where(before > 0, 0.0, x))
        before = before + x
    return found
