"""Vectors and touches by condition, and directions that exist whatever the numbers are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from qdot.algebra import Scalar, Vec3, map_scalars, maximum, minimum, scalars_in, sqrt, where, where_needed
from qdot.collision.touch import Touch
from qdot.spatial import Transform

TINY = 1e-15
"""Lengths below it have no direction [m]."""

T = TypeVar("T")
G = TypeVar("G")


def either(condition: Scalar, a: T, b: T) -> T:
    """a where the condition holds, else b, scalar by scalar; both of one structure."""
    others = scalars_in(b)
    chosen: T = map_scalars(lambda x: where(condition, x, next(others)), a)
    return chosen


def clipped(x: Scalar, bound: Scalar) -> Scalar:
    """The number of [-bound, bound] nearest to x."""
    return minimum(maximum(x, -bound), bound)


def direction(v: Vec3, instead: Vec3) -> tuple[Scalar, Vec3]:
    """The length of v and its direction; zero and a unit vector `instead` where v is too short to have one."""
    square = v.dot(v)
    long = square > TINY * TINY
    length = sqrt(where(long, square, 1.0))
    return where(long, length, 0.0), either(long, v * (1 / length), instead)


def touches_where_needed(
    condition: Scalar, given: G, build: Callable[[G], list[Touch]], otherwise: list[Touch]
) -> list[Touch]:
    """As `where_needed`, of touches without tangents: these stay known to be none."""

    def bare(touches: list[Touch]) -> list[tuple[Scalar, Vec3, Vec3]]:
        return [(touch.distance, touch.position, touch.normal) for touch in touches]

    return [Touch(*parts) for parts in where_needed(condition, given, lambda x: bare(build(x)), bare(otherwise))]


def axis(X: Transform, k: int) -> Vec3:
    """Axis k of a frame, in the world."""
    R = X.rotation
    return (Vec3(R.r0.x, R.r1.x, R.r2.x), Vec3(R.r0.y, R.r1.y, R.r2.y), Vec3(R.r0.z, R.r1.z, R.r2.z))[k]
