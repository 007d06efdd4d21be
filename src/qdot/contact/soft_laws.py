"""What soft constraints answer to an acceleration: the force, and how it changes. All are gradients of convex costs.

With y = J a - a_ref, the acceleration beyond the one that a constraint asks for, its cost is s(y), its force -s'(y):

    bound      ½ D y² as long as the force -D y lies between two bounds, straight beyond
    pyramid    Σ ½ D min(0, y_n ± μ_k y_k)²    over the edges of a cone with flat sides
    ellipse    ½ Σ D_k y_k²   where the force of that lies in the cone (it sticks),
               ½ D_m (μ y_n - μ |μ_k y_k|)²   where it slides,   0   where it comes apart

Todorov, "Convex and analytically-invertible dynamics with contacts and constraints", ICRA 2014; MuJoCo's documentation,
chapter Computation, "Friction cones". The first entry of a contact's y is along the normal, the others along two
tangents, about the normal, and about the tangents, as many as the contact has dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

from qdot.algebra import Scalar, maximum, minimum, sqrt, where
from qdot.algebra.linalg import Matrix, dot

Line: TypeAlias = Callable[[Scalar], tuple[Scalar, Scalar]]
"""Slope and curvature of s(y + t z), from t."""


class Answer(NamedTuple):
    """The force along each row, and C = s''(y), which tells how it changes: -C dy."""

    force: list[Scalar]
    curvature: Matrix


@dataclass(frozen=True)
class Bound:
    """One row with a force between bounds: an equality has none, a limit only pushes, dry friction holds so far."""

    D: Scalar
    low: Scalar
    high: Scalar

    holds_scalars: ClassVar[bool] = True

    def answer(self, y: Sequence[Scalar]) -> Answer:
        free = -(self.D * y[0])
        held = minimum(maximum(free, self.low), self.high)
        return Answer([held], [[where(held == free, self.D, 0.0)]])

    def line(self, y: Sequence[Scalar], z: Sequence[Scalar]) -> Line:
        def at(t: Scalar) -> tuple[Scalar, Scalar]:
            free = -(self.D * (y[0] + t * z[0]))
            held = minimum(maximum(free, self.low), self.high)
            return -(held * z[0]), where(held == free, self.D, 0.0) * z[0] * z[0]

        return at


@dataclass(frozen=True)
class Pyramid:
    """A contact with a cone of flat sides, D the same for each of its edges; without friction, its normal alone."""

    D: Scalar
    friction: Sequence[Scalar]

    holds_scalars: ClassVar[bool] = True

    def answer(self, y: Sequence[Scalar]) -> Answer:
        n, D = len(y), self.D
        if n == 1:
            push = where(y[0] < 0, D, 0.0)
            return Answer([-(push * y[0])], [[push]])
        force: list[Scalar] = [0] * n
        C: Matrix = [[0] * n for _ in range(n)]
        for k, mu in enumerate(self.friction[: n - 1], start=1):
            up, down = y[0] + mu * y[k], y[0] - mu * y[k]
            d_up, d_down = where(up < 0, D, 0.0), where(down < 0, D, 0.0)
            f_up, f_down = -(d_up * up), -(d_down * down)
            force[0] = force[0] + f_up + f_down
            force[k] = mu * (f_up - f_down)
            C[0][0] = C[0][0] + d_up + d_down
            C[0][k] = C[k][0] = mu * (d_up - d_down)
            C[k][k] = mu * mu * (d_up + d_down)
        return Answer(force, C)

    def line(self, y: Sequence[Scalar], z: Sequence[Scalar]) -> Line:
        edges = [(y[0], z[0])]
        if len(y) > 1:
            signed = [(k, s) for k, mu in enumerate(self.friction[: len(y) - 1], start=1) for s in (mu, -mu)]
            edges = [(y[0] + s * y[k], z[0] + s * z[k]) for k, s in signed]

        def at(t: Scalar) -> tuple[Scalar, Scalar]:
            slope: Scalar = 0
            curvature: Scalar = 0
            for e, de in edges:
                there = e + t * de
                bent = where(there < 0, de, 0.0)
                slope, curvature = slope + bent * there, curvature + bent * de
            return self.D * slope, self.D * curvature

        return at


@dataclass(frozen=True)
class Ellipse:
    """A contact with a round cone; `mu` is its opening where friction is as stiff as the normal: μ₁/√impratio."""

    D: Scalar
    friction: Sequence[Scalar]
    mu: Scalar

    holds_scalars: ClassVar[bool] = True

    def answer(self, y: Sequence[Scalar]) -> Answer:
        n, D, mu = len(y), self.D, self.mu
        if n == 1:
            return Pyramid(D, ()).answer(y)
        scale = [mu, *self.friction[: n - 1]]
        u = [s * x for s, x in zip(scale, y, strict=True)]
        N, square = u[0], dot(u[1:], u[1:])
        slips = square > 0
        T = sqrt(where(slips, square, 1.0))
        T = where(slips, T, 0.0)
        apart, sticks = mu * T <= N, mu * N + T <= 0
        weight = [D * s * s / (mu * mu) for s in scale]  # where it sticks: R μ² is the same for all rows
        # Where it slides: s = ½ D_m g², g = N - μ T.
        D_m = where(apart, 0.0, D / (mu * mu * (1 + mu * mu)))
        g, inverse = N - mu * T, 1 / where(slips, T, 1.0)
        gradient = [mu, *(-(mu * s * x * inverse) for s, x in zip(scale[1:], u[1:], strict=True))]
        force = [where(sticks, -(w * x), -(D_m * g * d)) for w, x, d in zip(weight, y, gradient, strict=True)]
        bend = -(mu * g * inverse)
        C: Matrix = [[0] * n for _ in range(n)]
        for j in range(n):
            for k in range(j + 1):
                slides = gradient[j] * gradient[k]
                if k > 0:
                    across = (1 if j == k else 0) - u[j] * u[k] * inverse * inverse
                    slides = slides + bend * scale[j] * scale[k] * across
                C[j][k] = C[k][j] = where(sticks, weight[j] if j == k else 0.0, D_m * slides)
        return Answer(force, C)

    def line(self, y: Sequence[Scalar], z: Sequence[Scalar]) -> Line:
        n, D, mu = len(y), self.D, self.mu
        if n == 1:
            return Pyramid(D, ()).line(y, z)
        u, w = ([s * x for s, x in zip(self.friction[: n - 1], xs[1:], strict=True)] for xs in (y, z))
        N0, dN, uu, uw, ww = mu * y[0], mu * z[0], dot(u, u), dot(u, w), dot(w, w)
        stiff, D_m = D / (mu * mu), D / (mu * mu * (1 + mu * mu))

        def at(t: Scalar) -> tuple[Scalar, Scalar]:
            N, square = N0 + t * dN, uu + t * (2 * uw + t * ww)
            slips = square > 0
            T = where(slips, sqrt(where(slips, square, 1.0)), 0.0)
            inverse = 1 / where(slips, T, 1.0)
            dT = (uw + t * ww) * inverse
            g, dg = N - mu * T, dN - mu * dT
            sticks, apart = mu * N + T <= 0, mu * T <= N
            slope = where(sticks, stiff * (N0 * dN + uw + t * (dN * dN + ww)), D_m * g * dg)
            curvature = where(sticks, stiff * (dN * dN + ww), D_m * (dg * dg - mu * g * (ww - dT * dT) * inverse))
            return where(apart, 0.0, slope), where(apart, 0.0, curvature)

        return at


Law: TypeAlias = Bound | Pyramid | Ellipse
