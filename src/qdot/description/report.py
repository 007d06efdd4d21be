"""What a loader, a writer or a check has to say: every thing that was not taken over as it stood, item by item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True, slots=True, init=False)
class Report:
    """All items, in the order in which they were found.

    It takes time to find lines in a file, and most reports are never read: `lines` gives them for items that have none
    yet. It is asked when somebody looks at an item, and then let go.
    """

    items: tuple[Item, ...]
    _found: tuple[Item, ...] = field(init=False, repr=False, compare=False)
    _lines: Callable[[], Iterable[int | None]] | None = field(init=False, repr=False, compare=False)

    def __init__(self, items: Iterable[Item] = (), lines: Callable[[], Iterable[int | None]] | None = None) -> None:
        found = tuple(items)
        object.__setattr__(self, "_found", found)
        object.__setattr__(self, "_lines", lines)
        if lines is None:
            object.__setattr__(self, "items", found)

    def __getattr__(self, name: str) -> tuple[Item, ...]:
        """`items`, as long as nobody has looked at them."""
        if name != "items":
            raise AttributeError(f"a Report has no {name!r}")
        lines = self._lines
        if lines is not None:  # else another thread has just found them
            placed = tuple(replace(item, line=line) for item, line in zip(self._found, lines(), strict=True))
            object.__setattr__(self, "items", placed)
            object.__setattr__(self, "_lines", None)
        return self.items

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self._found)

    def __add__(self, other: Report) -> Report:
        if not len(self) or not len(other):
            return self if len(self) else other
        return Report(self._found + other._found, lambda: [item.line for item in self.items + other.items])

    def __reduce__(self) -> tuple[type[Report], tuple[tuple[Item, ...]]]:
        return Report, (self.items,)

    def of(self, severity: Severity) -> tuple[Item, ...]:
        """The items of one severity."""
        if all(item.severity is not severity for item in self._found):
            return ()
        return tuple(item for item in self.items if item.severity is severity)

    def __str__(self) -> str:
        return "\n".join(f"{item.severity.name:<8}{item}" for item in self.items) or "nothing to report"
