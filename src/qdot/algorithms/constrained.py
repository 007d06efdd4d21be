"""The acceleration of a system under constraints J a + J̇ v = 0 (T7–T10): D a = f + Jᵀ λ.

By the saddle point of T7, by the closed form of T8, and at rest by the constrained inverse inertia A of T9. The
closed form is Gauss' principle for equalities: of all accelerations that the constraints allow, the one nearest to
the free one in the metric D.

Rows may repeat each other, as those of a planar mechanism closed by spatial joints do. So rows are made conjugate in
the metric D⁻¹ one after the other (Gram and Schmidt, modified), and one of which nothing is left is passed over: it
carries no force. Jᵀλ and a do not depend on which row that is. Symbols stand for values in general: rows repeat each
other where they do so at an arbitrary point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, absolute, functions_of, maximum, where
from qdot.algebra.linalg import Matrix, dot, ldlt, ldlt_solve, matvec
from qdot.algebra.rounding import or_rounding
from qdot.algorithms.maps import unit

REPEATED = 1e-18
"""Of the squared length of a row: what is left of one that repeats others is rounding, (1e-16)² and some growth."""

NOISE = 1e-13
"""Of the longest row: one that is shorter is rounding."""


@dataclass(frozen=True)
class Conjugates:
    """J = L G with G D⁻¹ Gᵀ diagonal: `images` are the rows of G D⁻¹, `weights` the inverse of that diagonal, zero
    for a row that repeats those before it, which `kept` tells as 0."""

    L: Matrix
    images: Matrix
    weights: list[Scalar]
    kept: list[Scalar]

    @staticmethod
    def of(J: Sequence[Scalars], solve: Callable[[Scalars], list[Scalar]], repeated: float = REPEATED) -> Conjugates:
        """`solve(b)` is D⁻¹ b; of a row that repeats others less than `repeated` of its squared length is left."""
        rows: Matrix = []
        images: Matrix = []
        L: Matrix = []
        weights: list[Scalar] = []
        kept: list[Scalar] = []
        solved = [solve(given) for given in J]
        lengths = [dot(given, y) for given, y in zip(J, solved, strict=True)]
        noise = noise_of(lengths)
        for k, (given, length) in enumerate(zip(J, lengths, strict=True)):
            g, y = list(given), solved[k]
            coefficients = unit(len(J), k)
            for i in range(k):
                c = coefficients[i] = dot(g, images[i]) * weights[i]
                g = [a - c * b for a, b in zip(g, rows[i], strict=True)]
                y = [a - c * b for a, b in zip(y, images[i], strict=True)]
            left = dot(g, y)
            new = is_new(left, length, repeated)
            if noise is not None:
                new = new & (length > noise)
            rows.append(g)
            images.append(y)
            L.append(coefficients)
            weights.append(where(new, 1 / where(new, left, 1), 0))
            kept.append(where(new, 1, 0))
        return Conjugates(L, images, weights, kept)

    def correction(self, r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """(D⁻¹ Jᵀ λ, λ) with J D⁻¹ Jᵀ λ = r."""
        m = len(self.L)
        z = list(r)
        for k in range(m):
            z[k] = z[k] - dot(self.L[k][:k], z[:k])
        w = [x * weight for x, weight in zip(z, self.weights, strict=True)]
        change = [dot(column, w) for column in zip(*self.images, strict=True)]
        for k in reversed(range(m)):
            for i in range(k):
                w[i] = w[i] - self.L[k][i] * w[k]
        return change, w


def is_new(left: Scalar, length: Scalar, repeated: float = REPEATED) -> Scalar:
    """Whether something is left of a row; of symbols, at an arbitrary point."""
    if is_symbolic(left):
        left, length = (_somewhere(x) for x in (left, length))
    return left > repeated * length


def noise_of(lengths: Scalars) -> Scalar | None:
    """Squared length up to which a row says nothing, 0 = 0 up to rounding, as most rows do that hold a planar mechanism
    in space; None for symbols, which do not round."""
    if any(is_symbolic(x) for x in lengths):
        return None
    largest: Scalar = 0
    for x in lengths:
        largest = maximum(largest, x)
    return or_rounding(NOISE, 64) ** 2 * largest


def is_symbolic(x: Scalar) -> bool:
    return functions_of(x).name == "SymPy expression"


def _somewhere(x: Scalar) -> float:
    """The value of an expression where its symbols, and functions of time among them, are some positive numbers."""
    from sympy import Derivative, Symbol, sympify
    from sympy.core.function import AppliedUndef

    expression = sympify(x)
    names = sorted(expression.atoms(Symbol, AppliedUndef, Derivative), key=str)
    point = {name: sympify(0.4 + (0.618034 * k) % 1) for k, name in enumerate(names, start=1)}
    return float(abs(expression.xreplace(point).evalf()))


CONTRADICTED = 1e-6
"""Of the terms of J a + J̇ v: beyond it a row is not obeyed, since it contradicts those that it repeats."""


def missed(J: Sequence[Scalars], a: Scalars, bias: Scalars) -> list[Scalar]:
    """|J a + J̇ v| of each row, of the size of its terms: not zero for a row that was passed over and is not obeyed."""
    found = []
    for row, b in zip(J, bias, strict=True):
        terms = [*(x * y for x, y in zip(row, a, strict=True)), b]
        found.append(absolute(sum(terms)) / (1 + sum(absolute(x) for x in terms)))
    return found


def nearest(
    solve: Callable[[Scalars], list[Scalar]], free: Scalars, J: Sequence[Scalars], b: Scalars
) -> tuple[list[Scalar], list[Scalar]]:
    """(a, λ): the a with J a = b that is nearest to the free acceleration in the metric D, D (a - free) = Jᵀ λ
    (T10)."""
    if not J:
        return list(free), []
    r = [x - y for x, y in zip(b, matvec(J, free), strict=True)]
    change, multipliers = Conjugates.of(J, solve).correction(r)
    return [x + y for x, y in zip(free, change, strict=True)], multipliers


def closed_form(
    D: Sequence[Scalars], f: Scalars, J: Sequence[Scalars], bias: Scalars
) -> tuple[list[Scalar], list[Scalar]]:
    """(a, λ) with D a = f - Jᵀ (J D⁻¹ Jᵀ)⁻¹ (J̇ v + J D⁻¹ f); `bias` is J̇ v (T8)."""
    factors = ldlt(D)
    return nearest(lambda b: ldlt_solve(factors, b), ldlt_solve(factors, f), J, [-x for x in bias])


def saddle_system(D: Sequence[Scalars], f: Scalars, J: Sequence[Scalars], bias: Scalars) -> tuple[Matrix, list[Scalar]]:
    """The matrix and the right-hand side of [D -Jᵀ; -J 0] [a; λ] = [f; J̇ v] (T7)."""
    m = len(J)
    top = [[*row, *(-j[k] for j in J)] for k, row in enumerate(D)]
    return [*top, *([*(-x for x in j), *([0] * m)] for j in J)], [*f, *bias]


def saddle_point(
    D: Sequence[Scalars], f: Scalars, J: Sequence[Scalars], bias: Scalars
) -> tuple[list[Scalar], list[Scalar]]:
    """(a, λ) by solving the system of T7 as it stands, without pivoting: D first, then -J D⁻¹ Jᵀ, both definite.

    A row that repeats others gives way to λ_k = 0.
    """
    n, factors = len(D), ldlt(D)
    kept = Conjugates.of(J, lambda b: ldlt_solve(factors, b)).kept
    rows = [[x * new for x in row] for row, new in zip(J, kept, strict=True)]
    A, b = saddle_system(D, f, rows, [x * new for x, new in zip(bias, kept, strict=True)])
    for k, new in enumerate(kept, start=n):
        A[k][k] = new - 1
    x = ldlt_solve(ldlt(A), b)
    return x[:n], x[n:]


def constrained_inverse_inertia(D: Sequence[Scalars], J: Sequence[Scalars]) -> Matrix:
    """A = D⁻¹ - D⁻¹ Jᵀ (J D⁻¹ Jᵀ)⁻¹ J D⁻¹, n × n: at rest, a = A f (T9). J A = 0; its rank is the freedoms'."""
    factors = ldlt(D)
    A = inverse(D)
    conjugates = Conjugates.of(J, lambda b: ldlt_solve(factors, b))
    for y, weight in zip(conjugates.images, conjugates.weights, strict=True):
        A = [[a - y[i] * y[j] * weight for j, a in enumerate(row)] for i, row in enumerate(A)]
    return A


def penalised_inverse_inertia(D: Sequence[Scalars], J: Sequence[Scalars], epsilon: Scalar) -> Matrix:
    """(D + ε Jᵀ J)⁻¹, n × n: very heavy along what the constraints forbid; A is its limit for ε → ∞ (T9)."""
    heavy = [
        [x + epsilon * dot((j[i] for j in J), (j[k] for j in J)) for k, x in enumerate(D[i])] for i in range(len(D))
    ]
    return inverse(heavy)


def inverse(D: Sequence[Scalars]) -> Matrix:
    """D⁻¹ of a symmetric matrix, positive definite."""
    factors = ldlt(D)
    return [ldlt_solve(factors, unit(len(D), k)) for k in range(len(D))]
