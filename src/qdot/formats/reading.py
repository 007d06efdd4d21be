"""What a reader hands on: the description, and where in the file things stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from qdot.description import Description


class Reading(NamedTuple):
    """A description and, a function from a body's name to the line that gives its inertia."""

    description: Description
    line_of: Callable[[str], int | None]
