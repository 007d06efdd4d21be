"""The rule of `load` and `save`: a motion other than the one that was asked for is refused, or it is wanted so."""

from __future__ import annotations

from qdot.description import Report, Severity
from qdot.errors import ModelError

SHOWN = 8
"""Items that an error lists; the rest is counted."""


def require_faithful(report: Report, cause: str, remedy: str) -> None:
    """Raise a `ModelError` that lists the items of severity PHYSICS, if there are any."""
    changed = report.of(Severity.PHYSICS)
    if changed:
        listed = "\n  ".join(str(item) for item in changed[:SHOWN])
        more = f"\n  … and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        raise ModelError(f"{cause}; {remedy}:\n  {listed}{more}")
