"""Equations as one C99 file that needs nothing but <math.h>."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import sympy
from sympy.codegen.rewriting import create_expand_pow_optimization
from sympy.printing.c import C99CodePrinter

from qdot.backends.c_names import identifier
from qdot.derivation.code import keywords_of, left_out, lines, written
from qdot.derivation.steps import FUNCTIONS, Steps
from qdot.derivation.terms import VECTORS
from qdot.derivation.words import OF_THE_TREE

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

_multiplied = create_expand_pow_optimization(6)
"""x*x*x for pow(x, 3)."""

_SPELLED = {
    "φ": "phi",
    "ᵀ": "^T",
    "λ": "lambda",
    "ψ": "psi",
    "τ": "tau",
    "×": "x",
    "⁻¹": "^-1",
    "Γ": "Gamma",
    "Σ": "sum",
}
"""C compilers of all ages read ASCII."""


def c_source(derivation: Derivation, *, recursive: bool) -> str:
    """A file with a function for each of the FUNCTIONS: vectors in, constants in, one array out, row by row."""
    functions = derivation.functions(recursive=recursive)
    constants = keywords_of(derivation, functions)
    stem = identifier(derivation.model.name)
    names = written(list(constants))
    vectors = {v: getattr(derivation, v) for v in VECTORS}
    places = {s: sympy.Symbol(f"{v}[{k}]", real=True) for v, row in vectors.items() for k, s in enumerate(row)}
    values = [f"    {names[s]}{'' if value is None else f' = {value!r}'}" for s, value in constants.items()]
    listed = ["constants, in this order:", *values] if values else ["There are no constants: pass a null pointer."]
    head = [f"Equations of motion of {stem}, derived by qdot. Arrays lie row by row.", "", *listed]
    told = [*([OF_THE_TREE] if derivation.constrained else []), *left_out(derivation, functions)]
    head[1:1] = [line for text in told for line in wrap(_ascii(text), 100)]
    code = ["/*", *(f" * {line}".rstrip() for line in head), " */", "#include <math.h>"]
    for name, steps in functions.items():
        code += _function(f"{stem}_{name}", name, steps, places, names)
    return "\n".join(code) + "\n"


def _ascii(text: str) -> str:
    for sign, spelled in _SPELLED.items():
        text = text.replace(sign, spelled)
    return text


def _function(called: str, name: str, steps: Steps, places: dict[Any, Any], constants: dict[Any, Any]) -> list[str]:
    function, printer = FUNCTIONS[name], C99CodePrinter()
    letters = {**places, **constants}

    def spelled(expression: Any) -> str:
        return str(printer.doprint(_multiplied(expression.xreplace(letters))))

    ((_, entries),) = steps.results.values()
    used = {s for x in steps.expressions for s in x.free_symbols}
    arguments = ", ".join([*(f"const double *{v}" for v in function.vectors), "const double *constants", "double *out"])
    code = [f"    const double {c} = constants[{k}];" for k, (s, c) in enumerate(constants.items()) if s in used]
    for symbol, x in steps.assignments:
        code += lines(f"const double {symbol} = {spelled(x)};")
    for k, x in enumerate(entries):
        code += lines(f"out[{k}] = {spelled(x)};")
    unread = [v for v in (*function.vectors, "constants") if f"{v}[" not in "\n".join(code)]
    code = [f"    (void){v};" for v in unread] + code
    return ["", f"/* {_ascii(function.words)} */", *lines(f"void {called}({arguments})", ""), "{", *code, "}"]
