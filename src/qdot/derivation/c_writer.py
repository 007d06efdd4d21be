"""Equations as one C99 file that needs nothing but <math.h>."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import sympy
from sympy.codegen.rewriting import create_expand_pow_optimization
from sympy.printing.c import C99CodePrinter

from qdot.backends.c import identifier
from qdot.derivation.code import functions_of, keywords_of, written
from qdot.derivation.steps import FUNCTIONS, Steps
from qdot.derivation.words import OF_THE_TREE

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

_multiplied = create_expand_pow_optimization(6)
"""x*x*x for pow(x, 3)."""

_SPELLED = str.maketrans({"φ": "phi", "ᵀ": "^T", "λ": "lambda"})


def c_source(derivation: Derivation, *, recursive: bool) -> str:
    """A file with a function for each of the FUNCTIONS: vectors in, constants in, one array out, row by row."""
    functions = functions_of(derivation, recursive=recursive)
    constants = keywords_of(derivation, functions)
    stem = identifier(derivation.model.name)
    names = written(list(constants))
    vectors = {v: getattr(derivation, v) for v in ("q", "v", "a", "tau")}
    places = {s: sympy.Symbol(f"{v}[{k}]", real=True) for v, row in vectors.items() for k, s in enumerate(row)}
    values = [f"    {names[s]}{'' if value is None else f' = {value!r}'}" for s, value in constants.items()]
    listed = ["constants, in this order:", *values] if values else ["There are no constants: pass a null pointer."]
    head = [f"Equations of motion of {stem}, derived by qdot. Arrays lie row by row.", "", *listed]
    if derivation.constrained:
        head[1:1] = wrap(OF_THE_TREE.translate(_SPELLED), 100)
    lines = ["/*", *(f" * {line}".rstrip() for line in head), " */", "#include <math.h>"]
    for name, steps in functions.items():
        lines += _function(f"{stem}_{name}", name, steps, places, names)
    return "\n".join(lines) + "\n"


def _function(called: str, name: str, steps: Steps, places: dict[Any, Any], constants: dict[Any, Any]) -> list[str]:
    function, printer = FUNCTIONS[name], C99CodePrinter()
    letters = {**places, **constants}

    def spelled(expression: Any) -> str:
        return str(printer.doprint(_multiplied(expression.xreplace(letters))))

    ((_, entries),) = steps.results.values()
    expressions = [*(x for _, x in steps.assignments), *entries]
    used = {s for x in expressions for s in sympy.sympify(x).free_symbols}
    arguments = ", ".join([*(f"const double *{v}" for v in function.vectors), "const double *constants", "double *out"])
    code = [f"    const double {c} = constants[{k}];" for k, (s, c) in enumerate(constants.items()) if s in used]
    code += [f"    const double {symbol} = {spelled(x)};" for symbol, x in steps.assignments]
    code += [f"    out[{k}] = {spelled(x)};" for k, x in enumerate(entries)]
    unread = [v for v in (*function.vectors, "constants") if f"{v}[" not in "\n".join(code)]
    code = [f"    (void){v};" for v in unread] + code
    return ["", f"/* {function.words.replace('×', 'x')} */", f"void {called}({arguments})", "{", *code, "}"]
