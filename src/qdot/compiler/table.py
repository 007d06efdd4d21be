"""A table of constants, of which loops go through a part, and lanes look up what each needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of constants, all of the same length."""

    rows: tuple[tuple[float, ...], ...]

    def __hash__(self) -> int:
        return hash((len(self.rows), self.rows[:1], self.rows[-1:]))  # it may be large, and is asked for often

    @property
    def width(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    def place(self, index: float) -> int:
        """A row that there is: no number is the first."""
        return int(min(max(0.0, index), len(self.rows) - 1))

    def part(self, first: float, count: float) -> tuple[tuple[float, ...], ...]:
        """Rows first … first + count - 1, as far as there are such."""
        start, end = (int(min(max(0.0, x), len(self.rows))) for x in (first, first + count))
        return self.rows[start:end]
