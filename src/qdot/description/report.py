"""What a loader, a writer or a check has to say: every thing that was not taken over as it stood, item by item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from qdot.quick import quick


class Severity(Enum):
    """What an item means for the motion, from nothing to everything."""

    NOTE = "nothing is lost; good to know"
    IGNORED = "left out; it has no part in the motion"
    KEPT = "kept in the records; it acts in a simulation, not in the terms of the equations of motion"
    PHYSICS = "the motion would not be what the file says"


@quick
@dataclass(frozen=True, slots=True)
class Item:
    """One finding: what it is about, what was found, what was done, and where (file and line, if known)."""

    severity: Severity
    subject: str
    found: str
    done: str
    file: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        """ "robot.urdf:12", as far as it is known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.subject}: {self.found}; {self.done}"


@dataclass(frozen=True, slots=True)
class Report:
    """All items, in the order in which they were found."""

    items: tuple[Item, ...] = ()

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __add__(self, other: Report) -> Report:
        return Report(self.items + other.items)

    def of(self, severity: Severity) -> tuple[Item, ...]:
        """The items of one severity."""
        return tuple(item for item in self.items if item.severity is severity)

    def __str__(self) -> str:
        return "\n".join(f"{item.severity.name:<8}{item}" for item in self.items) or "nothing to report"
