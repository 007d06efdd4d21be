"""A page in Markdown, with formulas between dollar signs as GitHub and notebooks read them; and as plain text."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from qdot.derivation.latex_writer import latex_names, rows_of
from qdot.derivation.letters import lines_of
from qdot.derivation.page import Equation, Report, Table


def markdown_page(page: Report) -> str:
    """The whole page."""
    names = latex_names(page)
    parts = [f"# {page.title}", "", page.checked]
    for section in page.sections:
        parts += ["", f"## {section.title}"]
        parts += ["", section.words] if section.words else []
        for item in section.items:
            if isinstance(item, Table):
                parts += ["", *_table(item, names)]
            else:
                parts += ["", "$$", _formula(item, names), "$$", *(["", f"*{item.words}*"] if item.words else [])]
    return "\n".join(parts) + "\n"


def _formula(equation: Equation, names: dict[Any, str]) -> str:
    rows = rows_of(equation, names)
    if r"\\ &\quad" not in rows:
        return rows.replace("&= ", "= ", 1)
    return "\n".join([r"\begin{aligned}", rows, r"\end{aligned}"])


def _table(table: Table, names: dict[Any, str]) -> list[str]:
    def cell(x: Any) -> str:
        return x.replace("|", r"\|") if isinstance(x, str) else f"${sympy.latex(x, symbol_names=names)}$"

    rows = [f"| {' | '.join(map(cell, row))} |" for row in table.rows]
    return [f"| {' | '.join(table.columns)} |", f"|{'---|' * len(table.columns)}", *rows]


class _Printer(StrPrinter):  # type: ignore[misc]
    """Choices in words."""

    def _print_Piecewise(self, x: Any) -> str:
        *cases, (last, _) = x.args
        told = [f"{self._print(value)} if {self._print(condition)}" for value, condition in cases]
        return ", ".join([*told, f"{self._print(last)} otherwise"])


def plain_text(page: Report) -> str:
    """The page for a terminal: expressions as SymPy prints them."""
    spelled = _Printer().doprint
    parts = [page.title, page.checked]
    for section in page.sections:
        parts += ["", section.title, "-" * len(section.title)]
        parts += [section.words] if section.words else []
        for item in section.items:
            if isinstance(item, Table):
                parts += ["  ".join(str(cell) for cell in row if str(cell)) for row in item.rows]
            else:
                first, *others = map(spelled, lines_of(item.right))
                parts += [f"{item.left} = {first}", *(f"    {x if x.startswith('-') else f'+ {x}'}" for x in others)]
                parts += [f"    {item.words}"] if item.words else []
    return "\n".join(parts) + "\n"
