"""How the letters of a page are written: velocities as q̇ where they are the rates of q, and long sums in parts."""

from __future__ import annotations

import re
from typing import Any

import sympy

from qdot.derivation.page import Report
from qdot.derivation.parts import WIDE

_NUMBERED = re.compile(r"(v|a)_(\d+)")


def spoken(symbol: Any, page: Report) -> tuple[str, str, str]:
    """(letter, dots over it, index) of a velocity or acceleration; ("", "", "") of another symbol."""
    found = _NUMBERED.fullmatch(symbol.name)
    if found is None:
        return "", "", ""
    kind, index = found.groups()
    if page.velocities_are_rates:
        return "q", "dot" if kind == "v" else "ddot", index
    return "v", "" if kind == "v" else "dot", index


def lines_of(expression: Any) -> list[Any]:
    """A long sum as parts that each fit a line, in the order in which SymPy prints them; anything else in one piece."""
    if not isinstance(expression, sympy.Add) or len(str(expression)) <= WIDE:
        return [expression]
    lines: list[list[Any]] = [[]]
    width = 0
    for term in expression.as_ordered_terms():
        width += 3 + len(str(term))
        if lines[-1] and width > WIDE:
            lines.append([])
            width = len(str(term))
        lines[-1].append(term)
    return [sympy.Add(*line) for line in lines]
