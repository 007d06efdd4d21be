"""Integration over a body, its mass properties by integration (H7, H8, H10), and shapes that carry mass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import isfinite
from numbers import Complex, Real
from typing import Any, Self, TypeAlias

import numpy as np

from qdot.algebra import Scalar
from qdot.errors import GeometryError
from qdot.geometry.quadrature import Floats
from qdot.geometry.shape import Placed, Shape, pose_of
from qdot.spatial import Inertia, inertia_of_moments

Density: TypeAlias = Scalar | Callable[[Floats, Floats, Floats], Any]
"""A number [kg/m³], or a function ρ(x, y, z) of NumPy arrays [m] in the shape's frame."""

_ORDERS = (4, 6, 9, 13, 19, 28, 42, 64)
_MOST_POINTS = 10**8
"""Beyond two orders, no more points than this: a mesh of many faces fails in a minute, not in an hour."""


def integrate(shape: Shape, f: Callable[[Floats, Floats, Floats], Any], rtol: float = 1e-10) -> Floats:
    """∫_B f(x, y, z) dV over a shape, by Gauss rules of rising order until two results in a row agree.

    `f` gets arrays of shape (n,) [m] in the shape's frame and returns (n,), or (…, n) for several integrands at once;
    the result has the shape (…). Results agree when they differ by less than rtol·∫|f| dV in each component.
    A mesh that is not convex is a signed sum of tetrahedra, which may reach out of it: f is evaluated there too.
    """
    values = [_summed(shape, f, _ORDERS[0])[0]]
    for order in _ORDERS[1:]:
        value, size, points = _summed(shape, f, order)
        change = np.abs(value - values[-1])
        values.append(value)
        if (change <= rtol * size).all():
            return value
        if 3 * points > _MOST_POINTS:
            break
    worst = np.unravel_index(np.argmax(change - rtol * size), change.shape)
    raise GeometryError(
        f"an integral over {shape!r} does not converge: {values[-2][worst]:.10g} and then {value[worst]:.10g} with "
        f"{points} points; split the body where the density jumps or has a kink, smooth it, or ask for less with rtol"
    )


def mass_properties(shape: Shape, density: Density, rtol: float = 1e-10) -> Inertia:
    """The inertia of a shape filled with a density, about its frame, by integration whatever the density is.

    m = ∫ρ dV (H7), m c = ∫ρ r dV (H8), E = ∫ρ r rᵀ dV and I_O = tr(E) 1 - E (H10).
    """
    of: Callable[..., Any] = density if is_function(density) else lambda x, y, z: density

    def moments(x: Floats, y: Floats, z: Floats) -> Floats:
        rho: Floats = np.broadcast_to(of(x, y, z), x.shape)
        if (rho < 0).any():
            k = int(np.argmin(rho))
            raise GeometryError(
                f"the density of {shape!r} is negative, {rho[k]:g} kg/m³ at ({x[k]:g}, {y[k]:g}, {z[k]:g}); check its "
                "signs and units; a mesh that is not convex asks for it outside too: split that into convex parts"
            )
        powers = (np.ones_like(x), x, y, z, x * x, x * y, x * z, y * y, y * z, z * z)
        return np.stack(powers) * rho

    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = integrate(shape, moments, rtol)
    return inertia_of_moments(m, np.array([hx, hy, hz]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def is_function(density: Density) -> bool:
    """Whether a density varies: whatever divides is a scalar, even if it can also be called, as some symbols can."""
    return callable(density) and not hasattr(density, "__truediv__")


def require_real(value: Scalar, what: str, *, positive: bool) -> None:
    """Raise unless a number is finite and positive (or not negative); symbols, lanes and dual numbers pass."""
    if isinstance(value, Real):
        number = float(value)
        if isfinite(number) and (number > 0 if positive else number >= 0):
            return
        raise GeometryError(
            f"{what} must be {'positive' if positive else 'zero or more'} and finite, got {value}; check its sign "
            "and units [m, kg, kg/m³]"
        )
    if isinstance(value, Complex) or not hasattr(value, "__truediv__"):
        raise GeometryError(f"{what} must be a number or a symbol, got {value!r}")


@dataclass(frozen=True, slots=True, repr=False)
class Solid(Shape):
    """A shape that may have a `mass` [kg], spread evenly, or a `density` [kg/m³]: a number or a function ρ(x, y, z)."""

    mass: Scalar = field(default=None, kw_only=True)
    density: Density = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._settle()
        if self.mass is None and self.density is None:
            return
        if self.mass is not None and self.density is not None:
            raise GeometryError(f"{self!r} has both a mass and a density; give one of them")
        for name in ("mass", "density"):
            amount = getattr(self, name)
            if amount is not None and not is_function(amount):
                require_real(amount, f"the {name} of {self!r}", positive=False)
        if is_function(self.mass):
            raise GeometryError(f"the mass of {self!r} is a function; give it as the density")

    @abstractmethod
    def _settle(self) -> None:
        """Check the dimensions, and bring them into the form in which they are kept."""

    @abstractmethod
    def uniform(self, mass: Scalar) -> Inertia:
        """The inertia about the frame of this shape evenly filled with a mass [kg], whatever its own mass is."""

    def inertia(self) -> Inertia:
        if self.mass is not None:
            return self.uniform(self.mass)
        if self.density is None:
            return Inertia.zero()
        if is_function(self.density):
            return mass_properties(self, self.density)
        return self.uniform(self.density * self.volume())

    def at(self, *pose: Any) -> Placed:
        return Placed(self, pose_of(*pose))

    @abstractmethod
    def _lengths(self, factor: Scalar) -> dict[str, Any]:
        """The fields that are lengths, each times a factor."""

    def scaled(self, factor: Scalar) -> Self:
        mass = None if self.mass is None else self.mass * factor**3
        density = partial(_at_original, self.density, factor) if is_function(self.density) else self.density
        return replace(self, mass=mass, density=density, **self._lengths(factor))

    def __repr__(self) -> str:
        """As it was written: dimensions first, then mass or density where given."""
        shown = [a for a in fields(self) if a.repr]
        ordered = [a for a in shown if not a.kw_only] + [a for a in shown if a.kw_only]
        entries = [(a.name, getattr(self, a.name)) for a in ordered]
        given = [f"{name}={_text(value)}" for name, value in entries if value is not None]
        return f"{type(self).__name__}({', '.join(given)})"


def _at_original(density: Any, factor: Scalar, x: Floats, y: Floats, z: Floats) -> Any:
    """The density that a point of a scaled body had before."""
    return density(x / factor, y / factor, z / factor)


def _text(value: Any) -> str:
    return f"array{value.shape}" if isinstance(value, np.ndarray) else repr(value)


def _summed(shape: Shape, f: Callable[[Floats, Floats, Floats], Any], order: int) -> tuple[Floats, Floats, int]:
    """Σ w f, Σ |w f| and the number of points of one rule."""
    total, size, count = np.zeros(()), np.zeros(()), 0
    for points, weights in shape.rules(order):
        values = _evaluated(shape, f, points)
        total = total + values @ weights
        size = size + np.abs(values) @ np.abs(weights)
        count += len(weights)
    return total, size, count


def _evaluated(shape: Shape, f: Callable[[Floats, Floats, Floats], Any], points: Floats) -> Floats:
    """f at points, shape (…, n); an error where it is not a finite number."""
    x, y, z = np.ascontiguousarray(points.T)
    try:
        values = np.asarray(f(x, y, z), dtype=np.float64)
    except GeometryError:
        raise
    except (TypeError, ValueError) as error:
        raise GeometryError(
            f"a function to integrate over {shape!r} fails on NumPy arrays: {error}; write it with np.sin, "
            "np.where, …, so that f(x, y, z) takes arrays of shape (n,) and returns (n,) or (k, n)"
        ) from error
    if values.ndim == 0:  # a constant
        values = np.full(len(x), values)
    if values.shape[-1] != len(x):
        raise GeometryError(
            f"a function to integrate over {shape!r} returned shape {values.shape} for {len(x)} points; NumPy arrays "
            "of shape (n,) must give (n,) or (k, n)"
        )
    finite = np.isfinite(values).reshape(-1, len(x)).all(axis=0)
    if not finite.all():
        k = int(np.argmin(finite))
        raise GeometryError(
            f"a function to integrate over {shape!r} is not a finite number at ({x[k]:g}, {y[k]:g}, {z[k]:g}); "
            "integrands and densities must be finite all over the body"
        )
    return values
