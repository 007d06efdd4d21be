"""Convex shapes by their support points: the point of a shape that is farthest in a direction.

A shape is a core and a ball of radius r rolled over it: a sphere is a point so rounded, a capsule a segment. Distances
between rounded shapes are those of their cores less both radii, so that what is round costs no iterations.

    sphere    0                                    with r
    capsule   (0, 0, ±l)                           with r
    ellipsoid (a² x, b² y, c² z) / |(a x, b y, c z)|
    cylinder  (r x/ρ, r y/ρ, ±l),  ρ² = x² + y²
    box       (±a, ±b, ±c)
    cone      its apex (0, 0, l), or (r x/ρ, r y/ρ, -l) of its base, whichever is farther
    hull      the vertex with the largest v·n

for a direction n = (x, y, z) of any length. Where a whole face or edge is farthest, its middle stands for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from qdot.algebra import Mat3, Rows, Scalar, Scalars, Vec3, sign, sqrt, swept, where
from qdot.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Shape, Sphere
from qdot.spatial import Transform

S = TypeVar("S")

Support: TypeAlias = Callable[[Vec3], Vec3]
"""From a direction, not zero and of any length, to the farthest point."""

Sought: TypeAlias = Callable[[Vec3], Callable[[], Vec3]]
"""From such a direction to what gives that point: between the two is time to wait for tables."""

X, Y, Z = Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)

NOTHING = 1e-36
"""Below this a square is that of no length."""


@dataclass(frozen=True, slots=True)
class Directions:
    """Unit vectors, in a frame: a part of a table, gone through by a loop."""

    table: Rows
    first: Scalar
    count: Scalar
    rotation: Mat3 = field(default_factory=Mat3.identity)

    def at(self, pose: Transform) -> Directions:
        """The same in the outer frame of a pose."""
        return replace(self, rotation=pose.rotation @ self.rotation)

    def through(self, state: S, step: Callable[[S, Vec3], S]) -> S:
        """state = step(state, direction) for each."""
        R = self.rotation
        return swept(self.table, self.first, self.count, state, lambda state, row: step(state, R @ Vec3(*row)))


@dataclass(frozen=True, slots=True)
class Convex:
    """A convex shape: the support of its core, a point inside that, the radius that rounds it [m], and unit directions
    in which it is often thinnest: its axes, so few that their cross products with another's are too, and normals of
    further faces; how wide its core is [m], where that is known; and where it lies in tables, how support is sought,
    and what is quicker, a bound of how far its core reaches in a unit direction [m], from the origin."""

    support: Support
    centre: Vec3
    radius: Scalar = 0.0
    axes: tuple[Vec3, ...] = ()
    normals: Directions | None = None
    width: Scalar | None = None
    sought: Sought | None = None
    reach: Callable[[Vec3], Scalar] | None = None

    def at(self, pose: Transform) -> Convex:
        """The same shape in the outer frame of a pose."""
        R, p = pose.rotation, pose.position
        R_T = R.T
        axes, normals = tuple(R @ n for n in self.axes), self.normals and self.normals.at(pose)

        def sought(n: Vec3) -> Callable[[], Vec3]:
            found = self.begun(R_T @ n)
            return lambda: R @ found() + p

        own = pose @ self.centre, self.radius, axes, normals, self.width
        return Convex(lambda n: sought(n)(), *own, sought, lambda n: self.reaching(R_T @ n) + n.dot(p))

    def reaching(self, n: Vec3) -> Scalar:
        """Not less than how far its core reaches in a unit direction."""
        return self.reach(n) if self.reach else n.dot(self.support(n))

    def begun(self, n: Vec3) -> Callable[[], Vec3]:
        """What gives the support point, whose search has begun."""
        return self.sought(n) if self.sought else lambda: self.support(n)


def supports(a: Convex, b: Convex, n: Vec3) -> tuple[Vec3, Vec3]:
    """The support point of A, and that of B in the opposite direction: both searches begin before one ends."""
    on_a, on_b = a.begun(n), b.begun(-n)
    return on_a(), on_b()


def sphere(sizes: Scalars) -> Convex:
    (r,) = sizes
    return Convex(lambda n: Vec3.zero(), Vec3.zero(), r)


def capsule(sizes: Scalars) -> Convex:
    r, l = sizes
    return Convex(lambda n: Vec3(0, 0, l * sign(n.z)), Vec3.zero(), r, (Z,))


def ellipsoid(sizes: Scalars) -> Convex:
    a, b, c = sizes

    def support(n: Vec3) -> Vec3:
        x, y, z = a * n.x, b * n.y, c * n.z
        length = root(x * x + y * y + z * z)
        return Vec3(a * x / length, b * y / length, c * z / length)

    return Convex(support, Vec3.zero(), axes=(X, Y, Z))


def cylinder(sizes: Scalars) -> Convex:
    r, l = sizes

    def support(n: Vec3) -> Vec3:
        across = r / root(n.x * n.x + n.y * n.y)
        return Vec3(across * n.x, across * n.y, l * sign(n.z))

    return Convex(support, Vec3.zero(), axes=(Z,))


def box(sizes: Scalars) -> Convex:
    a, b, c = sizes
    return Convex(lambda n: Vec3(a * sign(n.x), b * sign(n.y), c * sign(n.z)), Vec3.zero(), axes=(X, Y, Z))


def cone(sizes: Scalars) -> Convex:
    r, l = sizes

    def support(n: Vec3) -> Vec3:
        across = r / root(n.x * n.x + n.y * n.y)
        base = Vec3(across * n.x, across * n.y, -l)
        return chosen(l * n.z >= n.dot(base), Vec3(0.0, 0.0, l), base)

    return Convex(support, Vec3(0, 0, -l / 2), axes=(Z,))


CONVEX: dict[type[Shape], Callable[[Scalars], Convex]] = {
    Sphere: sphere,
    Capsule: capsule,
    Ellipsoid: ellipsoid,
    Cylinder: cylinder,
    Box: box,
    Cone: cone,
}
"""By kind of shape: how it is made of its sizes, in its own frame: radii, semi-axes, halves of lengths."""


def height(a: Convex, b: Convex, n: Vec3) -> Scalar:
    """How far the core of A reaches beyond that of B in a unit direction: h(n) of all differences of their points."""
    on_a, on_b = supports(a, b, n)
    return n.dot(on_a - on_b)


def root(square: Scalar) -> Scalar:
    """√ of a square, of 1 where it is zero: safe to divide by."""
    return sqrt(where(square > NOTHING, square, 1.0))


def chosen(condition: Scalar, u: Vec3, v: Vec3) -> Vec3:
    """u where the condition holds, else v: `either` for vectors alone, as it is asked thousands of times a query."""
    return Vec3(where(condition, u.x, v.x), where(condition, u.y, v.y), where(condition, u.z, v.z))
