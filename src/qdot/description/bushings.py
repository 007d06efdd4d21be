"""Bushings: springs and dampers that hold two frames at each other, in place and in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from qdot.algebra import Scalar
from qdot.spatial import IDENTITY, Transform

Three: TypeAlias = tuple[Scalar, Scalar, Scalar]
"""One number for each of the axes x, y, z."""

NONE: Three = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class BushingRecord:
    """Frame 2 drawn to a pose on frame 1, `rest`, by springs and dampers along and about the axes of that pose.

    Of the pose of frame 2 seen from there, a rotation vector φ and a position p, springs hold the energy
    ½ Σ rotational φ² + ½ Σ translational p² [J]; their stiffness is [N·m/rad] and [N/m]. Dampers resist its velocity,
    with rotational_damping [N·m·s/rad] and translational_damping [N·s/m]. φ is the shorter way round: a spring that is
    turned by half a turn snaps over.
    """

    name: str
    frame1: str
    frame2: str
    rotational: Three = NONE
    translational: Three = NONE
    rotational_damping: Three = NONE
    translational_damping: Three = NONE
    rest: Transform = IDENTITY
