"""Axes of joints as files write them: those along x, y and z have names, by which a joint knows them at once."""

from __future__ import annotations

from qdot.joints.base import AXES, AxisLike

_NAMES = {tuple(axis): name for name, axis in AXES.items()}

WRITTEN = {" ".join(map(str, axis)): name for name, axis in AXES.items()}
"""Their names by how most files write them: "0 0 -1"."""


def named_axis(xyz: tuple[float, ...]) -> AxisLike:
    """The name of an axis, or the axis itself where it has none."""
    return _NAMES.get(xyz, xyz)
