"""A point at which two shapes meet, or come nearest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.spatial import Transform

FAR = 1e10
"""The distance of a point that a manifold could have, but has not [m]; no mechanism is so large."""


NOT_TOLD = Vec3(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Touch:
    """Signed distance [m], negative where the shapes overlap; the position halfway between both surfaces; and the
    unit normal from the first shape to the second, both in the world's frame.

    `tangent`, where it is not zero, is a direction that friction is measured along; any will do for round cones.
    """

    distance: Scalar
    position: Vec3
    normal: Vec3
    tangent: Vec3 = NOT_TOLD

    holds_scalars: ClassVar[bool] = True


Narrow: TypeAlias = Callable[[Scalars, Transform, Scalars, Transform, Scalar], list[Touch]]
"""A narrow phase: from the sizes and poses of two shapes, and a margin, to their touches."""
