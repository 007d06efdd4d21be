"""What soft constraints answer to an acceleration: the force, and how it changes. All are gradients of convex costs.

With y = J a - a_ref, the acceleration beyond the one that a constraint asks for, its cost is s(y), its force -s'(y):

    bound      ½ D y² as long as the force -D y lies between two bounds, straight beyond
    pyramid    Σ ½ D min(0, y_n ± μ_k y_k)²    over the edges of a cone with flat sides
    ellipse    ½ Σ D_k y_k²   where the force of that lies in the cone (it sticks),
               ½ D_m (μ y_n - μ |μ_k y_k|)²   where it slides,   0   where it comes apart

Todorov, "Convex and analytically-invertible dynamics with contacts and constraints", ICRA 2014; MuJoCo's documentation,
chapter Computation, "Friction cones". The first entry of a contact's y is along the normal, the others along two
tangents, about the normal, and about the tangents, as many as the contact has dimensions.

Each law tells its `force` -s'(y); its `curvature` C = s''(y), by which the force changes: -C dy; slope and curvature
of s(y + t z) `along` a line, of which it keeps what does not depend on t (`line`); and its `grip`, how much friction
there may be along each row that has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

from qdot.algebra import Scalar, maximum, minimum, sqrt, where
from qdot.algebra.linalg import Matrix, dot

_Edge: TypeAlias = tuple[Scalar, Scalar]
"""How far inside an edge of a cone, and how stiff it is there."""


@dataclass(frozen=True)
class Bound:
    """One row with a force between bounds: an equality has none, a limit only pushes, dry friction holds so far."""

    D: Scalar
    low: Scalar
    high: Scalar

    holds_scalars: ClassVar[bool] = True

    def force(self, y: Sequence[Scalar]) -> list[Scalar]:
        return [minimum(maximum(-(self.D * y[0]), self.low), self.high)]

    def grip(self, y: Sequence[Scalar]) -> list[Scalar]:
        return [self.high]

    def curvature(self, y: Sequence[Scalar]) -> Matrix:
        free = -(self.D * y[0])
        return [[where(self.force(y)[0] == free, self.D, 0.0)]]

    def line(self, y: Sequence[Scalar], z: Sequence[Scalar]) -> list[Scalar]:
        return [y[0], z[0]]

    def along(self, line: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar]:
        y, z = line
        there = [y + t * z]
        return -(self.force(there)[0] * z), self.curvature(there)[0][0] * z * z


@dataclass(frozen=True)
class Pyramid:
    """A contact with a cone of flat sides, D the same for each of its edges; without friction, its normal alone."""

    D: Scalar
    friction: Sequence[Scalar]

    holds_scalars: ClassVar[bool] = True

    def force(self, y: Sequence[Scalar]) -> list[Scalar]:
        if len(y) == 1:
            return [-(where(y[0] < 0, self.D, 0.0) * y[0])]
        force: list[Scalar] = [0] * len(y)
        for k, mu, (up, d_up), (down, d_down) in self._edges(y):
            f_up, f_down = -(d_up * up), -(d_down * down)
            force[0] = force[0] + f_up + f_down
            force[k] = mu * (f_up - f_down)
        return force

    def grip(self, y: Sequence[Scalar]) -> list[Scalar]:
        return [-(mu * (d_up * up + d_down * down)) for _, mu, (up, d_up), (down, d_down) in self._edges(y)]

    def curvature(self, y: Sequence[Scalar]) -> Matrix:
        n = len(y)
        if n == 1:
            return [[where(y[0] < 0, self.D, 0.0)]]
        C: Matrix = [[0] * n for _ in range(n)]
        for k, mu, (_, d_up), (_, d_down) in self._edges(y):
            C[0][0] = C[0][0] + d_up + d_down
            C[0][k] = C[k][0] = mu * (d_up - d_down)
            C[k][k] = mu * mu * (d_up + d_down)
        return C

    def _edges(self, y: Sequence[Scalar]) -> Iterator[tuple[int, Scalar, _Edge, _Edge]]:
        """Of each row with friction: its number, its friction, and both edges along it."""
        for k, mu in enumerate(self.friction[: len(y) - 1], start=1):
            up, down = y[0] + mu * y[k], y[0] - mu * y[k]
            yield k, mu, (up, where(up < 0, self.D, 0.0)), (down, where(down < 0, self.D, 0.0))

    def line(self, y: Sequence[Scalar], z: Sequence[Scalar]) -> list[Scalar]:
        if len(y) == 1:
            return [y[0], z[0]]
        signed = [(k, s) for k, mu in enumerate(self.friction[: len(y) - 1], start=1) for s in (mu, -mu)]
        return [x[0] + s * x[k] for k, s in signed for x in (y, z)]

    def along(self, line: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar]:
        slope: Scalar = 0
        curvature: Scalar = 0
        for e, de in zip(line[::2], line[1::2], strict=True):
            there = e + t * de
            bent = where(there < 0, de, 0.0)
            slope, curvature = slope + bent * there, curvature + bent * de
        return self.D * slope, self.D * curvature


@dataclass(frozen=True)
class Ellipse:
    """A contact with a round cone; `mu` is its opening where friction is as stiff as the normal: μ₁/√impratio."""

    D: Scalar
    friction: Sequence[Scalar]
    mu: Scalar

    holds_scalars: ClassVar[bool] = True

    def force(self, y: Sequence[Scalar]) -> list[Scalar]:
        if len(y) == 1:
            return Pyramid(self.D, ()).force(y)
        at = self._at(y)
        return [
            where(at.sticks, -(w * x), -(at.D_m * at.g * d)) for w, x, d in zip(at.weight, y, at.gradient, strict=True)
        ]

    def grip(self, y: Sequence[Scalar]) -> list[Scalar]:
        push = self.force(y)[0]
        return [mu * push for mu in self.friction[: len(y) - 1]]

    def curvature(self, y: Sequence[Scalar]) -> Matrix:
        n = len(y)
        if n == 1:
            return Pyramid(self.D, ()).curvature(y)
        at = self._at(y)
        bend = -(self.mu * at.g * at.inverse)
        C: Matrix = [[0] * n for _ in range(n)]
        for j in range(n):
            for k in range(j + 1):
                slides = at.gradient[j] * at.gradient[k]
                if k > 0:
                    across = (1 if j == k else 0) - at.u[j] * at.u[k] * at.inverse * at.inverse
                    slides = slides + bend * at.scale[j] * at.scale[k] * across
                C[j][k] = C[k][j] = where(at.sticks, at.weight[j] if j == k else 0.0, at.D_m * slides)
        return C

    def _at(self, y: Sequence[Scalar]) -> _Round:
        """Where it sticks, R μ² is the same for all rows; where it slides, s = ½ D_m g², g = N - μ T."""
        D, mu = self.D, self.mu
        scale = [mu, *self.friction[: len(y) - 1]]
        u = [s * x for s, x in zip(scale, y, strict=True)]
        N, square = u[0], dot(u[1:], u[1:])
        slips = square > 0
        T = sqrt(where(slips, square, 1.0))
        T = where(slips, T, 0.0)
        apart, sticks = mu * T <= N, mu * N + T <= 0
        weight = [D * s * s / (mu * mu) for s in scale]
        D_m = where(apart, 0.0, D / (mu * mu * (1 + mu * mu)))
        g, inverse = N - mu * T, 1 / where(slips, T, 1.0)
        gradient = [mu, *(-(mu * s * x * inverse) for s, x in zip(scale[1:], u[1:], strict=True))]
        return _Round(sticks, scale, u, weight, D_m, g, inverse, gradient)

    def line(self, y: Sequence[Scalar], z: Sequence[Scalar]) -> list[Scalar]:
        if len(y) == 1:
            return [y[0], z[0]]
        D, mu = self.D, self.mu
        u, w = ([s * x for s, x in zip(self.friction[: len(y) - 1], xs[1:], strict=True)] for xs in (y, z))
        N, dN, uu, uw, ww = mu * y[0], mu * z[0], dot(u, u), dot(u, w), dot(w, w)
        stiff = D / (mu * mu)
        return [N, dN, uu, uw, ww, stiff * (N * dN + uw), stiff * (dN * dN + ww), stiff / (1 + mu * mu)]

    def along(self, line: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar]:
        mu = self.mu
        if len(line) == 2:
            return Pyramid(self.D, ()).along(line, t)
        N0, dN, uu, uw, ww, stuck, stiff, D_m = line
        N, r = N0 + t * dN, uw + t * ww
        square = uu + t * (uw + r)
        slips = square > 0
        T = where(slips, sqrt(where(slips, square, 1.0)), 0.0)
        inverse = 1 / where(slips, T, 1.0)
        dT = r * inverse
        g, dg = N - mu * T, dN - mu * dT
        sticks, apart = mu * N + T <= 0, mu * T <= N
        slope = where(sticks, stuck + t * stiff, D_m * g * dg)
        curvature = where(sticks, stiff, D_m * (dg * dg - mu * g * (ww - dT * dT) * inverse))
        return where(apart, 0.0, slope), where(apart, 0.0, curvature)


class _Round(NamedTuple):
    """Where a point lies on a round cone."""

    sticks: Scalar
    scale: list[Scalar]
    u: list[Scalar]
    weight: list[Scalar]
    D_m: Scalar
    g: Scalar
    inverse: Scalar
    gradient: list[Scalar]


Law: TypeAlias = Bound | Pyramid | Ellipse
