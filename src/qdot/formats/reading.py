"""What a reader hands on: the description, and where in the file things stand."""

from __future__ import annotations

from typing import NamedTuple

from qdot.description import Description


class Reading(NamedTuple):
    """A description and, by body name, the line that gives the body's inertia."""

    description: Description
    lines: dict[str, int]
