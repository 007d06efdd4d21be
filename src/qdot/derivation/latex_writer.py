"""A page in LaTeX: a document that needs amsmath alone."""

from __future__ import annotations

from typing import Any

import sympy

from qdot.derivation.letters import lines_of, spoken
from qdot.derivation.report import Equation, Report, Table, symbols_in

_SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "$": r"\$",
    "q̈": r"$\ddot q$", "q̇": r"$\dot q$", "v̇": r"$\dot v$", "ψ": r"$\psi$", "τ": r"$\tau$", "φ": r"$\varphi$",
    "ω": r"$\omega$", "Γ": r"$\Gamma$", "Σ": r"$\sum$", "∂": r"$\partial$", "½": r"$\tfrac12$", "⁻¹": r"$^{-1}$",
    "J_φᵀ λ": r"$J_\varphi^T \lambda$", "λ": r"$\lambda$", "²": r"$^2$", "·": r"$\cdot$", "^": r"\^{}", "~": r"\~{}",
}  # fmt: skip
"""Of plain text."""


def latex_document(page: Report) -> str:
    """The whole document."""
    parts = [r"\documentclass{article}", r"\usepackage{amsmath}", r"\allowdisplaybreaks", r"\begin{document}"]
    parts += [rf"\section*{{{escaped(page.title)}}}", escaped(page.checked)]
    names = latex_names(page)
    for section in page.sections:
        parts += ["", rf"\subsection*{{{escaped(section.title)}}}", escaped(section.words)]
        for item in section.items:
            parts += _table(item, names) if isinstance(item, Table) else _equation(item, names)
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def latex_names(page: Report) -> dict[Any, str]:
    """How velocities and accelerations are written; SymPy knows the rest."""
    found = {}
    for symbol in symbols_in(page.sections):
        letter, dots, index = spoken(symbol, page)
        if letter:
            found[symbol] = rf"\{dots}{{{letter}}}_{{{index}}}" if dots else f"{letter}_{{{index}}}"
    return found


def aligned(equation: Equation, names: dict[Any, str]) -> str:
    """left = right, on as many lines as it needs."""
    left = sympy.latex(equation.left, symbol_names=names)
    first, *others = [sympy.latex(line, symbol_names=names) for line in lines_of(equation.right)]
    if not others:
        return f"{left} = {first}"
    rest = (rf"\\ &\quad {line if line.startswith('-') else f'+ {line}'}" for line in others)
    return "\n".join([r"\begin{aligned}", f"{left} &= {first}", *rest, r"\end{aligned}"])


def escaped(text: str) -> str:
    """Plain text as LaTeX."""
    for sign in _SIGNS:
        if len(sign) > 1:  # several characters that are one sign
            text = text.replace(sign, f"\0{sign}\0")
    pieces = text.split("\0")
    return "".join(_SIGNS.get(piece) or "".join(_SIGNS.get(letter, letter) for letter in piece) for piece in pieces)


def _equation(equation: Equation, names: dict[Any, str]) -> list[str]:
    words = [f"{escaped(equation.words)}:"] if equation.words else []
    return ["", *words, r"\[", aligned(equation, names), r"\]"]


def _table(table: Table, names: dict[Any, str]) -> list[str]:
    def cell(x: Any) -> str:
        return escaped(x) if isinstance(x, str) else f"${sympy.latex(x, symbol_names=names)}$"

    rows = [r" & ".join(map(cell, row)) + r" \\" for row in (table.columns, *table.rows)]
    return [rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}", rows[0], r"\hline", *rows[1:], r"\end{tabular}"]
