"""A page that stands alone in any browser: formulas in MathML, the picture inside, no network."""

from __future__ import annotations

import base64
import re
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import sympy
from sympy.printing.mathml import MathMLPresentationPrinter

from qdot.algorithms.configuration import retract
from qdot.derivation.check import with_values
from qdot.derivation.letters import lines_of, spoken
from qdot.derivation.page import Equation, Report, Table
from qdot.model.model import Model
from qdot.plots import draw

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

STYLE = """
:root { color-scheme: light; --ink: #20242c; --quiet: #667; --line: #dfe3ea; --accent: #3565b0; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.5rem 4rem; color: var(--ink); background: #fff;
       font: 16px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; padding-top: .6rem; border-top: 1px solid var(--line); }
.checked { color: #23713f; background: #eef7f0; padding: .4rem .8rem; border-radius: .4rem; display: inline-block; }
figure { float: right; margin: 0 0 1rem 1.5rem; width: 21rem; }
figure img { width: 100%; }
nav { margin: .8rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
nav a { color: var(--accent); text-decoration: none; white-space: nowrap; }
p { margin: .3rem 0; } .means { color: var(--quiet); margin: 0 0 .9rem 1.2rem; }
.formula { margin: .5rem 0 .1rem 1.2rem; padding: .15rem 0; overflow-x: auto; overflow-y: hidden; }
.formula div { margin: .45rem 0 0 2rem; }
math { font-size: 1.08em; } mtd { padding: .35em .7em; math-style: normal; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem .9rem .15rem 0; vertical-align: top; }
th { color: var(--quiet); font-weight: normal; border-bottom: 1px solid var(--line); }
"""


_SPELLED = {
    "<mo>&InvisibleTimes;</mo><mrow><mi>sin": '<mspace width="0.17em"/><mrow><mi>sin',
    "<mo>&InvisibleTimes;</mo><mrow><mi>cos": '<mspace width="0.17em"/><mrow><mi>cos',
    "&InvisibleTimes;": "&#8290;",
    "<mo>-</mo>": "<mo>&#8722;</mo>",
    "<mn>-": "<mn>&#8722;",
}
"""What SymPy writes, as browsers show it best."""

_DOTTED = re.compile("<mi>(.)&#(775|776);</mi>")
"""A letter with one or two dots over it, as characters."""


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]
    """Writes choices behind a brace, a line for each."""

    def _print_Piecewise(self, x: Any) -> Any:
        table = self.dom.createElement("mtable")
        table.setAttribute("columnalign", "left")
        for value, condition in x.args:
            row = self.dom.createElement("mtr")
            told = self._word("otherwise") if condition == True else self._if(condition)  # noqa: E712
            for part in (self._print(value), told):
                cell = self.dom.createElement("mtd")
                cell.appendChild(part)
                row.appendChild(cell)
            table.appendChild(row)
        brace = self.dom.createElement("mo")
        brace.appendChild(self.dom.createTextNode("{"))
        return self._row(brace, table)

    def _if(self, condition: Any) -> Any:
        return self._row(self._word("if\u00a0"), self._print(condition))

    def _word(self, word: str) -> Any:
        text = self.dom.createElement("mtext")
        text.appendChild(self.dom.createTextNode(word))
        return text

    def _row(self, *parts: Any) -> Any:
        row = self.dom.createElement("mrow")
        for part in parts:
            row.appendChild(part)
        return row


def mathml(expression: Any) -> str:
    """An expression as browsers read it."""
    text = _Printer().doprint(expression)
    for given, shown in _SPELLED.items():
        text = text.replace(given, shown)
    return _DOTTED.sub(lambda found: _over(found[1], {"775": "&#729;", "776": "&#168;"}[found[2]]), text)


def _over(letter: str, dots: str) -> str:
    return f'<mover accent="true"><mi>{letter}</mi><mo>{dots}</mo></mover>'


def html_page(derivation: Derivation, page: Report) -> str:
    """The whole page."""
    anchors = {section.title: f"s{k}" for k, section in enumerate(page.sections)}
    links = "".join(f'<a href="#{anchor}">{escape(title)}</a>' for title, anchor in anchors.items())
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(page.title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(page.title)}</h1>",
        f'<p class="checked">{escape(page.checked)}</p>',
        f"<nav>{links}</nav>",
        f'<figure><img alt="{escape(derivation.model.name)}" src="{picture(derivation)}"></figure>',
    ]
    for section in page.sections:
        parts += [f'<section><h2 id="{anchors[section.title]}">{escape(section.title)}</h2>']
        parts += [f"<p>{escape(section.words)}</p>"] if section.words else []
        for item in section.items:
            parts.append(_table(item, page) if isinstance(item, Table) else _formula(item, page))
        parts.append("</section>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def picture(derivation: Derivation) -> str:
    """The mechanism, its joints a little bent, as the address of an image that is its own content."""
    values = {symbol: 1.0 if c.value is None else c.value for symbol, c in derivation.constants.items()}
    model = with_values(derivation.named, values, shapes=True)
    figure = draw(model, _bent(model))
    from matplotlib.pyplot import close

    image = BytesIO()
    figure.savefig(image, format="png", dpi=110, bbox_inches="tight")
    close(figure)
    return f"data:image/png;base64,{base64.b64encode(image.getvalue()).decode()}"


def _bent(model: Model) -> list[float]:
    """A configuration in which one sees what the joints do."""
    start = model.home().tolist()
    if start != model.neutral().tolist():
        return start
    return [float(x) for x in retract(model, start, [0.45 if k % 2 == 0 else 0.6 for k in range(model.nv)])]


def _formula(equation: Equation, page: Report) -> str:
    first, *others = lines_of(equation.right)
    rows = [_math(sympy.Eq(equation.left, first, evaluate=False), page)]
    rows += [f"<div>{_math(line, page, signed=True)}</div>" for line in others]
    words = f'<p class="means">{escape(equation.words)}</p>' if equation.words else ""
    return f'<div class="formula">{"".join(rows)}</div>{words}'


def _table(table: Table, page: Report) -> str:
    def cell(x: Any) -> str:
        return escape(x) if isinstance(x, str) else _math(x, page)

    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{cell(x)}</td>' for x in row)}</tr>" for row in table.rows)
    return f"<table><tr>{head}</tr>{rows}</table>"


def _math(expression: Any, page: Report, *, signed: bool = False) -> str:
    written = {symbol: _written(symbol, page) for symbol in expression.free_symbols}
    if isinstance(expression, sympy.Eq):
        inner = "<mo>=</mo>".join(mathml(side.xreplace(written)) for side in expression.args)
    else:
        inner = mathml(expression.xreplace(written))
    if signed and not re.match("(<mrow>)*<m[on]>&#8722;", inner):  # as printed, which is not the order of text
        inner = f"<mo>+</mo>{inner}"
    return f'<math displaystyle="true"><mrow>{inner}</mrow></math>'


def _written(symbol: Any, page: Report) -> Any:
    """The symbol as MathML shows it: dots over letters are characters; SymPy does not escape names."""
    letter, dots, index = spoken(symbol, page)
    dot = {"": "", "dot": "\u0307", "ddot": "\u0308"}[dots]
    name = f"{letter}{dot}_{index}" if letter else re.sub(r"^(M|p)dot", "\\1\u0307", symbol.name)
    return sympy.Symbol(escape(name), **symbol.assumptions0)
