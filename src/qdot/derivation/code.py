"""What the writers of code share: names that may be written, and which symbols a function needs."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

import sympy

from qdot.algorithms.conditioning import motions_without_inertia
from qdot.backends.c import identifier
from qdot.derivation.steps import FUNCTIONS, Steps, steps_of

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

OWN = ("q", "v", "a", "tau", "numpy", "constants", "out")
"""Names that the functions themselves use."""


def functions_of(derivation: Derivation, *, recursive: bool) -> dict[str, Steps]:
    """The steps of each function; no forward dynamics where a joint moves no mass."""
    singular = motions_without_inertia(derivation.cases[0].model)
    names = [name for name in FUNCTIONS if not (singular and name == "forward_dynamics")]
    return {name: steps_of(derivation, [name], recursive=recursive) for name in names}


def keywords_of(derivation: Derivation, functions: dict[str, Steps]) -> dict[Any, float | None]:
    """The symbols that are no vectors and that some function needs, with their values; external forces are zero."""
    used: set[Any] = set()
    for steps in functions.values():
        for expression in [*(x for _, x in steps.assignments), *(x for _, row in steps.results.values() for x in row)]:
            used |= sympy.sympify(expression).free_symbols
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
