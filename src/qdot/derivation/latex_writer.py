"""A page in LaTeX: a document that needs amsmath, geometry and longtable, which every LaTeX has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import sympy

from qdot.derivation.letters import lines_of, spoken
from qdot.derivation.page import Equation, Report, Table, symbols_in

HEAD = r"""\documentclass{article}
\usepackage{amsmath}
\usepackage[margin=2.2cm]{geometry}
\usepackage{longtable}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\LTleft}{0pt}
\renewcommand{\arraystretch}{1.2}
\begin{document}"""

_SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "$": r"\$",
    "q̈": r"$\ddot q$", "q̇": r"$\dot q$", "v̇": r"$\dot v$", "ṗ": r"$\dot p$", "ψ": r"$\psi$", "τ": r"$\tau$",
    "φ": r"$\varphi$", "ω": r"$\omega$", "Γ": r"$\Gamma$", "Σ": r"$\sum$", "∂": r"$\partial$", "½": r"$\tfrac12$",
    "⁻¹": r"$^{-1}$", "(∂l/∂q)ᵀ f": r"$(\partial l / \partial q)^T f$", "J_φᵀ λ": r"$J_\varphi^T \lambda$",
    "λ": r"$\lambda$", "²": r"$^2$", "·": r"$\cdot$", "^": r"\^{}", "~": r"\~{}",
}  # fmt: skip
"""Of plain text."""

_INDEXED = re.compile(r"(?<!\w)(q̇|[A-Za-zΓψṗ]|\(M⁻¹\))(\^k)?_([ijks]{1,3}|\d+)(?!\w)")
"""Letters with indices in plain text: b_ijk, Γ^k_ij, q_1."""


def latex_document(page: Report) -> str:
    """The whole document."""
    parts = [HEAD, rf"\section*{{{escaped(page.title)}}}", escaped(page.checked)]
    names = latex_names(page)
    for section in page.sections:
        parts += ["", rf"\subsection*{{{escaped(section.title)}}}", escaped(section.words)]
        for bare, group in groupby(section.items, key=lambda item: isinstance(item, Equation) and not item.words):
            items = list(group)
            parts += _aligned(items, names) if bare else [x for item in items for x in _item(item, names)]
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def latex_names(page: Report) -> dict[Any, str]:
    """How velocities and accelerations are written; SymPy knows the rest."""
    found = {}
    for symbol in symbols_in(page.sections):
        letter, dots, index = spoken(symbol, page)
        if letter:
            found[symbol] = rf"\{dots}{{{letter}}}_{{{index}}}" if dots else f"{letter}_{{{index}}}"
    return found


def rows_of(equation: Equation, names: dict[Any, str]) -> str:
    """left = right, on as many lines as it needs, aligned at the equality."""
    left = sympy.latex(equation.left, symbol_names=names)
    first, *others = [sympy.latex(line, symbol_names=names) for line in lines_of(equation.right)]
    rest = (rf"\\ &\quad {line if line.startswith('-') else f'+ {line}'}" for line in others)
    return "\n".join([f"{left} &= {first}", *rest])


def escaped(text: str) -> str:
    """Plain text as LaTeX; letters with indices are formulas."""
    found, start = [], 0
    for match in _INDEXED.finditer(text):
        letter, above, index = match.groups()
        formula = _signs(letter).replace("$", "") + (above or "")
        found += [_signs(text[start : match.start()]), f"${formula}_{{{index}}}$"]
        start = match.end()
    return "".join([*found, _signs(text[start:])])


def _signs(text: str) -> str:
    for sign in _SIGNS:
        if len(sign) > 1:  # several characters that are one sign
            text = text.replace(sign, f"\0{sign}\0")
    pieces = text.split("\0")
    return "".join(_SIGNS.get(piece) or "".join(_SIGNS.get(letter, letter) for letter in piece) for piece in pieces)


def _item(item: Equation | Table, names: dict[Any, str]) -> list[str]:
    if isinstance(item, Table):
        return _table(item, names)
    return [*_aligned([item], names), rf"\emph{{{escaped(item.words)}}}", ""]


def _aligned(equations: Sequence[Any], names: dict[Any, str]) -> list[str]:
    """Equations one below the other, on as many pages as they need."""
    rows = "\n\\\\\n".join(rows_of(equation, names) for equation in equations)
    return [r"\begin{align*}", rows, r"\end{align*}"]


def _table(table: Table, names: dict[Any, str]) -> list[str]:
    def cell(x: Any) -> str:
        return escaped(x) if isinstance(x, str) else f"${sympy.latex(x, symbol_names=names)}$"

    rows = [r" & ".join(map(cell, row)) + r" \\" for row in (table.columns, *table.rows)]
    columns = rf"l p{{0.6\textwidth}} {'l' * (len(table.columns) - 2)}"
    return ["", rf"\begin{{longtable}}{{{columns}}}", rows[0], r"\hline", *rows[1:], r"\end{longtable}"]
