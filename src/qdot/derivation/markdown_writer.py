"""A page in Markdown, with formulas between dollar signs as GitHub and notebooks read them; and as plain text."""

from __future__ import annotations

from typing import Any

import sympy

from qdot.derivation.latex_writer import aligned, latex_names
from qdot.derivation.letters import lines_of
from qdot.derivation.report import Report, Table


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
                parts += ["", *([f"{item.words}:", ""] if item.words else []), "$$", aligned(item, names), "$$"]
    return "\n".join(parts) + "\n"


def _table(table: Table, names: dict[Any, str]) -> list[str]:
    def cell(x: Any) -> str:
        return x.replace("|", r"\|") if isinstance(x, str) else f"${sympy.latex(x, symbol_names=names)}$"

    rows = [f"| {' | '.join(map(cell, row))} |" for row in table.rows]
    return [f"| {' | '.join(table.columns)} |", f"|{'---|' * len(table.columns)}", *rows]


def plain_text(page: Report) -> str:
    """The page for a terminal: expressions as SymPy prints them."""
    parts = [page.title, page.checked]
    for section in page.sections:
        parts += ["", section.title, "-" * len(section.title)]
        parts += [section.words] if section.words else []
        for item in section.items:
            if isinstance(item, Table):
                parts += ["  ".join(str(cell) for cell in row if str(cell)) for row in item.rows]
            else:
                first, *others = map(str, lines_of(item.right))
                parts += [f"{item.left} = {first}", *(f"    {x if x.startswith('-') else f'+ {x}'}" for x in others)]
                parts += [f"    {item.words}"] if item.words else []
    return "\n".join(parts) + "\n"
