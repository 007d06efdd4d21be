"""Two capsules: balls about the nearest points of their axes.

Points p + x u, |x| ≤ h, and c + y w, |y| ≤ k, of two segments come nearest where, with s = c - p,
    x - (u·w) y = u·s,    y - (u·w) x = -w·s,
cut off at the ends one after the other (Ericson, Real-Time Collision Detection, 5.1.9). Parallel capsules touch at both
ends of the stretch that they have in common; where there is none, both are the two nearest ends, as in MuJoCo 4.

Of two that are nearly parallel, the nearest points go from one end of that stretch to the other as soon as one turns a
little. What looks for when bodies meet has to know of both ends before (`capsules_ahead`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra import Scalar, Scalars, Vec3, absolute, where, where_needed
from qdot.algebra.rounding import or_rounding
from qdot.collision.spheres import between_balls
from qdot.collision.touch import FAR, Touch
from qdot.collision.vectors import TINY, axis, clipped, direction, either, touches_where_needed
from qdot.spatial import Transform

PARALLEL = 1e-8
"""Axes are parallel up to this sin² of the angle between them."""

ALONG = 0.9
"""Capsules lie along each other where the cosine of that angle is larger."""


def capsule_capsule(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """The nearest points; of parallel capsules, two touches."""
    lines, axes, first = _nearest(a, X_a, b, X_b)

    def second(given: tuple[Segments, list[Vec3]]) -> list[Touch]:
        lines, axes = given
        return [_touch(axes, *lines.end_of_overlap(1), a[0], b[0])]

    none = [Touch(FAR, first.position, first.normal)]
    return [first, *touches_where_needed(lines.parallel(), (lines, axes), second, none)]


def capsules_ahead(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform, margin: Scalar) -> list[Touch]:
    """The nearest points; where capsules lie along each other, also both ends of what they have in common."""
    lines, axes, first = _nearest(a, X_a, b, X_b)

    def ends(given: tuple[Segments, list[Vec3]]) -> list[Touch]:
        lines, axes = given
        along = [lines.end_of_overlap(side)[0] for side in (-1, 1)]
        return [_touch(axes, x, lines.y_of(x), a[0], b[0]) for x in along]

    none = [Touch(FAR, first.position, first.normal)] * 2
    return [first, *touches_where_needed(absolute(lines.uw) > ALONG, (lines, axes), ends, none)]


def _nearest(a: Scalars, X_a: Transform, b: Scalars, X_b: Transform) -> tuple[Segments, list[Vec3], Touch]:
    """Two axes: as segments, as `_touch` takes them, and the touch where they come nearest."""
    p, c, u, w = X_a.position, X_b.position, axis(X_a, 2), axis(X_b, 2)
    lines, axes = Segments.of(p, u, a[1], c, w, b[1]), [p, c, u, w, axis(X_b, 0)]
    x, y = either(lines.parallel(), lines.end_of_overlap(-1), lines.nearest())
    return lines, axes, _touch(axes, x, y, a[0], b[0])


@dataclass(frozen=True, slots=True)
class Segments:
    """Two segments: u·w, u·s, w·s of the equations above, and their half lengths."""

    uw: Scalar
    us: Scalar
    ws: Scalar
    h: Scalar
    k: Scalar

    holds_scalars: ClassVar[bool] = True

    @staticmethod
    def of(p: Vec3, u: Vec3, h: Scalar, c: Vec3, w: Vec3, k: Scalar) -> Segments:
        s = c - p
        return Segments(u.dot(w), u.dot(s), w.dot(s), h, k)

    def parallel(self) -> Scalar:
        return 1 - self.uw * self.uw <= or_rounding(PARALLEL, 8)

    def nearest(self) -> tuple[Scalar, Scalar]:
        """(x, y) of the nearest points of segments that are not parallel."""
        free = (self.us - self.uw * self.ws) / where(self.parallel(), 1.0, 1 - self.uw * self.uw)
        x = clipped(free, self.h)
        y = self.y_of(x)
        ends = absolute(self.uw * x - self.ws) > self.k
        return where(ends, clipped(self.uw * y + self.us, self.h), x), y

    def end_of_overlap(self, side: int) -> tuple[Scalar, Scalar]:
        """(x, y) of parallel segments where their common stretch ends to one side: at the end of one of them."""
        free = self.us + side * self.k
        x = clipped(free, self.h)
        return x, where(absolute(free) > self.h, self.y_of(x), side * self.k * where(self.uw < 0, -1, 1))

    def y_of(self, x: Scalar) -> Scalar:
        """Where the second comes nearest to a point of the first."""
        return clipped(self.uw * x - self.ws, self.k)


def _touch(axes: list[Vec3], x: Scalar, y: Scalar, r: Scalar, s: Scalar) -> Touch:
    """Balls about points p + x u and c + y w of two axes; where these cross, the normal is across both."""
    p, c, u, w, instead = axes
    p, c = p + u * x, c + w * y
    apart = c - p

    def across(axes: list[Vec3]) -> Vec3:
        return direction(axes[0].cross(axes[1]), axes[2])[1]

    crossing = apart.dot(apart) <= TINY * TINY
    return between_balls(p, r, c, s, where_needed(crossing, [u, w, instead], across, instead))
