"""What the writers of code share: names that may be written, which symbols a function needs, and where lines end."""

from __future__ import annotations

import keyword
from contextlib import suppress
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import sympy

from qdot.backends.c_names import identifier
from qdot.derivation.steps import MOST, Steps, TooManySteps, available, steps_of
from qdot.derivation.terms import VECTORS

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

OWN = (*VECTORS, "numpy", "constants", "out")
"""Names that the functions themselves use."""

WIDTH = 120
"""Characters of a line of code."""


def functions_of(derivation: Derivation, *, recursive: bool) -> dict[str, Steps]:
    """The steps of each function that the model has and that is not too long to write."""
    found = {}
    for name in available(derivation):
        with suppress(TooManySteps):
            found[name] = steps_of(derivation, [name], recursive=recursive)
    return found


def left_out(derivation: Derivation, functions: dict[str, Steps]) -> list[str]:
    """A sentence about functions that are too long to write, if there are any."""
    missing = [name for name in available(derivation) if name not in functions]
    return [f"Left out, as they would take more than {MOST} steps: {', '.join(missing)}."] if missing else []


def keywords_of(derivation: Derivation, functions: dict[str, Steps]) -> dict[Any, float | None]:
    """The symbols that are no vectors and that some function needs, with their values; external forces are zero."""
    used = {s for steps in functions.values() for x in steps.expressions for s in x.free_symbols}
    values = {s: c.value for s, c in derivation.constants.items()}
    values |= {s: 0.0 for row in derivation.letters.forces.values() for s in row}
    return {s: value for s, value in values.items() if s in used}


def written(symbols: list[Any]) -> dict[Any, Any]:
    """Symbols with names that are identifiers of Python and C, each its own."""
    found: dict[Any, Any] = {}
    taken = set(OWN)
    for symbol in symbols:
        name = identifier(symbol.name)
        while name in taken or keyword.iskeyword(name):
            name += "_"
        taken.add(name)
        found[symbol] = sympy.Symbol(name, real=True)
    return found


def lines(code: str, indent: str = "    ") -> list[str]:
    """Code that may be broken at any space, on as many lines as it needs; those after the first stand further in."""
    return wrap(
        code,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
