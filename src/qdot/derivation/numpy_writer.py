"""Equations as Python source that needs NumPy alone; run and compared with the engine before it is given out."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sympy.printing.numpy import NumPyPrinter

from qdot.backends.c import identifier
from qdot.derivation.check import Case, compared
from qdot.derivation.code import functions_of, keywords_of, written
from qdot.derivation.steps import FUNCTIONS, Steps
from qdot.derivation.words import OF_THE_TREE

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation


def numpy_source(derivation: Derivation, *, recursive: bool) -> str:
    """A module with a function for each of the FUNCTIONS, of one state at a time."""
    functions = functions_of(derivation, recursive=recursive)
    constants = keywords_of(derivation, functions)
    names = written([*(s for v in ("q", "v", "a", "tau") for s in getattr(derivation, v)), *constants])
    required = [str(names[s]) for s, value in constants.items() if value is None]
    given = [f"{names[s]}={value!r}" for s, value in constants.items() if value is not None]
    keywords = ", ".join(["", "*", *required, *given]) if constants else ""
    title = f'"""Equations of motion of {identifier(derivation.model.name)}, derived by qdot.'
    title += f'\n\n{fill(OF_THE_TREE, 100)}\n"""' if derivation.constrained else '"""'
    parts = [_function(derivation, name, steps, names, keywords) for name, steps in functions.items()]
    source = "\n\n\n".join([f"{title}\n\nimport numpy", *parts]) + "\n"
    _compare(derivation, source, list(functions), {s: str(names[s]) for s in constants})
    return source


def _function(derivation: Derivation, name: str, steps: Steps, names: Mapping[Any, Any], keywords: str) -> str:
    function, printer = FUNCTIONS[name], NumPyPrinter()

    def spelled(expression: Any) -> str:
        return str(printer.doprint(expression.xreplace(names)))

    lines = [f"def {name}({', '.join(function.vectors)}{keywords}):", f'    """{function.words}."""']
    for vector in function.vectors:
        lines.append(f"    [{', '.join(str(names[s]) for s in getattr(derivation, vector))}] = {vector}")
    lines += [f"    {symbol} = {spelled(expression)}" for symbol, expression in steps.assignments]
    ((shape, entries),) = steps.results.values()
    if not shape:
        return "\n".join([*lines, f"    return {spelled(entries[0])}"])
    n = shape[0]
    rows = [f"[{', '.join(map(spelled, entries[k * n : k * n + n]))}]" for k in range(n)]
    result = ", ".join(map(spelled, entries)) if len(shape) == 1 else ",\n        ".join(rows)
    return "\n".join([*lines, f"    return numpy.array([\n        {result}\n    ], dtype=float).reshape({shape})"])


def _compare(derivation: Derivation, source: str, functions: list[str], constants: Mapping[Any, str]) -> None:
    module: dict[str, Any] = {}
    exec(compile(source, f"<equations of {derivation.model.name}>", "exec"), module)
    for name in functions:
        function = FUNCTIONS[name]

        def ours(case: Case, name: str = name, vectors: tuple[str, ...] = function.vectors) -> Any:
            letters = derivation.letters.numbers(case)
            keywords = {called: letters[symbol] for symbol, called in constants.items()}
            return module[name](*(getattr(case, vector) for vector in vectors), **keywords)

        def theirs(case: Case, name: str = name) -> Any:
            function = FUNCTIONS[name]
            options = {"wrenches": case.wrenches} if name.endswith("dynamics") else {}
            return function.text(case.model, *(getattr(case, vector) for vector in function.vectors), **options)

        rows = max(1, derivation.model.nv) if function.dimensions == 2 else 1
        derivation.checks[f"{name}()"] = compared(f"{name}()", derivation.cases, ours, theirs, rows=rows)
