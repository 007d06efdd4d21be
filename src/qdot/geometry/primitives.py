"""Simple solids about the centre of their extent, round ones about z, with their inertias in closed form.

Dimensions are lengths [m] and masses [kg] of any scalar, symbols included; where a number can be exact, it stays so.
Moments of inertia: Meriam, Kraige, Bolton, Engineering Mechanics: Dynamics (2015), table D/4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from math import inf, pi
from typing import Any, final

import numpy as np

from qdot.algebra import Scalar
from qdot.errors import GeometryError
from qdot.geometry import quadrature, surface
from qdot.geometry.quadrature import Rule, scaled
from qdot.geometry.solid import Solid, require_real
from qdot.geometry.surface import Surface
from qdot.spatial import Inertia

_CENTRE = (0, 0, 0)


class Primitive(Solid):
    """A solid of a few dimensions [m], each positive."""

    __slots__ = ()

    def _settle(self) -> None:
        for name in self._names():
            value = getattr(self, name)
            if type(value) is not float or not 0 < value < inf:  # else what the message says need not be made up
                require_real(value, f"the {name} of {self!r}", positive=True)

    def dimensions(self) -> tuple[float, ...]:
        """The dimensions [m] as floats; an error where one is a symbol."""
        try:
            return tuple(float(getattr(self, name)) for name in self._names())
        except TypeError as error:
            raise GeometryError(
                f"{self!r} has symbols for dimensions, and points in space need numbers; substitute them first"
            ) from error

    def _lengths(self, factor: Scalar) -> dict[str, Any]:
        return {name: getattr(self, name) * factor for name in self._names()}

    @classmethod
    @cache
    def _names(cls) -> tuple[str, ...]:
        return tuple(a.name for a in fields(cls) if not a.kw_only)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Box(Primitive):
    """A box of side lengths x, y, z [m]: I_xx = m (y² + z²)/12, V = x y z."""

    x: Scalar
    y: Scalar
    z: Scalar

    def volume(self) -> Scalar:
        return self.x * self.y * self.z

    def uniform(self, mass: Scalar) -> Inertia:
        return Inertia.about_com(mass, _CENTRE, _crosswise(mass, self.x, self.y, self.z, 12))

    def rules(self, order: int) -> Iterator[Rule]:
        yield scaled(quadrature.cube(order), self.dimensions())

    def surface(self, resolution: int = 24) -> Surface:
        x, y, z = self.dimensions()
        return surface.box(x, y, z)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Sphere(Primitive):
    """A ball of a radius r [m]: I = 2/5 m r², V = 4/3 π r³."""

    radius: Scalar

    def volume(self) -> Scalar:
        return 4 * pi * self.radius**3 / 3

    def uniform(self, mass: Scalar) -> Inertia:
        r = self.radius
        return Inertia.about_com(mass, _CENTRE, _crosswise(mass, r, r, r, 5))

    def rules(self, order: int) -> Iterator[Rule]:
        (r,) = self.dimensions()
        yield scaled(quadrature.ball(order), (r, r, r))

    def surface(self, resolution: int = 24) -> Surface:
        (r,) = self.dimensions()
        return _spheroid(r, r, r, resolution)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Ellipsoid(Primitive):
    """An ellipsoid of semi-axes x, y, z [m]: I_xx = m (y² + z²)/5, V = 4/3 π x y z."""

    x: Scalar
    y: Scalar
    z: Scalar

    def volume(self) -> Scalar:
        return 4 * pi * self.x * self.y * self.z / 3

    def uniform(self, mass: Scalar) -> Inertia:
        return Inertia.about_com(mass, _CENTRE, _crosswise(mass, self.x, self.y, self.z, 5))

    def rules(self, order: int) -> Iterator[Rule]:
        yield scaled(quadrature.ball(order), self.dimensions())

    def surface(self, resolution: int = 24) -> Surface:
        x, y, z = self.dimensions()
        return _spheroid(x, y, z, resolution)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Cylinder(Primitive):
    """A cylinder of a radius r and a length l along z [m]: I_zz = m r²/2, I_xx = m (3r² + l²)/12, V = π r² l."""

    radius: Scalar
    length: Scalar

    def volume(self) -> Scalar:
        return pi * self.radius**2 * self.length

    def uniform(self, mass: Scalar) -> Inertia:
        rr, ll = self.radius**2, self.length**2
        across = mass * (3 * rr + ll) / 12
        return Inertia.about_com(mass, _CENTRE, (across, across, mass * rr / 2))

    def rules(self, order: int) -> Iterator[Rule]:
        r, l = self.dimensions()
        yield scaled(quadrature.cylinder(order), (r, r, l))

    def surface(self, resolution: int = 24) -> Surface:
        r, l = self.dimensions()
        return surface.revolved([(0.0, -l / 2), (r, -l / 2), (r, l / 2), (0.0, l / 2)], resolution)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Capsule(Primitive):
    """A cylinder of a radius r and a length l along z [m] between two half balls; it is l + 2r long.

    With the masses m_c = 3l/(3l + 4r) m of the cylinder and m_b = m - m_c of both halves,
    I_zz = m_c r²/2 + 2/5 m_b r² and I_xx = m_c (3r² + l²)/12 + m_b (2/5 r² + 3/8 r l + l²/4).
    """

    radius: Scalar
    length: Scalar

    def volume(self) -> Scalar:
        return pi * self.radius**2 * (3 * self.length + 4 * self.radius) / 3

    def uniform(self, mass: Scalar) -> Inertia:
        r, l = self.radius, self.length
        whole = 3 * l + 4 * r
        m_c, m_b = 3 * l * mass / whole, 4 * r * mass / whole
        across = m_c * (3 * r**2 + l**2) / 12 + m_b * (16 * r**2 + 15 * r * l + 10 * l**2) / 40
        return Inertia.about_com(mass, _CENTRE, (across, across, m_c * r**2 / 2 + 2 * m_b * r**2 / 5))

    def rules(self, order: int) -> Iterator[Rule]:
        r, l = self.dimensions()
        half = quadrature.ball(order, lowest=0.0)
        yield scaled(quadrature.cylinder(order), (r, r, l))
        yield scaled(half, (r, r, r), (0.0, 0.0, l / 2))
        yield scaled(half, (r, r, -r), (0.0, 0.0, -l / 2))

    def surface(self, resolution: int = 24) -> Surface:
        r, l = self.dimensions()
        quarter = max(1, surface.segments(resolution) // 4)
        below, above = (
            surface.arc(r, -pi / 2, 0.0, quarter, -l / 2),
            surface.arc(r, 0.0, pi / 2, quarter, l / 2),
        )
        return surface.revolved(below + above, resolution)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Cone(Primitive):
    """A cone with its base of a radius r at z = -l/2 and its apex at z = l/2 [m].

    Centre of mass at z = -l/4; about it I_zz = 3/10 m r² and I_xx = 3/80 m (4r² + l²); V = π r² l/3.
    """

    radius: Scalar
    length: Scalar

    def volume(self) -> Scalar:
        return pi * self.radius**2 * self.length / 3

    def uniform(self, mass: Scalar) -> Inertia:
        rr, ll = self.radius**2, self.length**2
        across = 3 * mass * (4 * rr + ll) / 80
        return Inertia.about_com(mass, (0, 0, -self.length / 4), (across, across, 3 * mass * rr / 10))

    def rules(self, order: int) -> Iterator[Rule]:
        r, l = self.dimensions()
        yield scaled(quadrature.cone(order), (r, r, l))

    def surface(self, resolution: int = 24) -> Surface:
        r, l = self.dimensions()
        return surface.revolved([(0.0, -l / 2), (r, -l / 2), (0.0, l / 2)], resolution)


def _crosswise(mass: Scalar, x: Scalar, y: Scalar, z: Scalar, divisor: int) -> tuple[Scalar, Scalar, Scalar]:
    """m (y² + z²)/k, m (z² + x²)/k, m (x² + y²)/k."""
    xx, yy, zz = x * x, y * y, z * z
    return mass * (yy + zz) / divisor, mass * (zz + xx) / divisor, mass * (xx + yy) / divisor


def _spheroid(x: float, y: float, z: float, resolution: int) -> Surface:
    """The unit sphere's surface, stretched to semi-axes x, y, z [m]."""
    profile = surface.arc(1.0, -pi / 2, pi / 2, max(2, surface.segments(resolution) // 2))
    vertices, faces = surface.revolved(profile, resolution)
    return vertices * np.array([x, y, z]), faces
