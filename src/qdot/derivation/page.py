"""What a page is made of: sections of words, tables and equations, which the writers spell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sympy import Symbol


@dataclass(frozen=True)
class Equation:
    """left = right, and what it means."""

    left: Any
    right: Any
    words: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of texts and expressions."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Section:
    """A part of a page: its words, then its tables and equations."""

    title: str
    words: str
    items: tuple[Equation | Table, ...] = ()


@dataclass(frozen=True)
class Report:
    """A page; `velocities_are_rates` tells whether v is q̇, and so is written."""

    title: str
    checked: str
    sections: tuple[Section, ...]
    velocities_are_rates: bool


def symbols_in(sections: Iterable[Section]) -> set[Any]:
    """All symbols in the equations and tables of a page."""
    found: set[Any] = set()
    for section in sections:
        for item in section.items:
            cells = [item.left, item.right] if isinstance(item, Equation) else [x for row in item.rows for x in row]
            for cell in cells:
                found |= getattr(cell, "free_symbols", set())
    return found


def letter(stem: str, *places: int) -> Any:
    """M₁₂, of places counted from 0; with commas where a place has two digits."""
    comma = "," if any(place > 8 for place in places) else ""
    return Symbol(f"{stem}_{comma.join(str(place + 1) for place in places)}")
