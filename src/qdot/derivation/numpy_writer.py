"""Equations as Python source that needs NumPy alone; run and compared with the engine before it is given out."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy.printing.numpy import NumPyPrinter

from qdot.backends.c_names import identifier
from qdot.derivation.check import Case, compared
from qdot.derivation.code import keywords_of, left_out, lines, written
from qdot.derivation.steps import FUNCTIONS, Steps
from qdot.derivation.terms import VECTORS
from qdot.derivation.words import OF_THE_TREE

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

BATCHES = "Vectors are (..., n): those of one state, or of a batch with a row for each. Results are (..., their shape)."

HELPERS = '''def _components(vector):
    """The entries of a vector, each for all rows of a batch."""
    return numpy.moveaxis(numpy.asarray(vector, dtype=float), -1, 0)


def _array(shape, entries, *vectors):
    """Entries as an array of a shape, one for each row of a batch."""
    batch = numpy.broadcast_shapes(*(numpy.shape(x)[:-1] for x in vectors), *map(numpy.shape, entries))
    out = numpy.empty((*batch, len(entries)))
    for place, entry in enumerate(entries):
        out[..., place] = entry
    return out.reshape((*batch, *shape))[()]'''


class _Printer(NumPyPrinter):  # type: ignore[misc]
    """Spells what SymPy joins into one array by functions of two arguments, which take rows of any shape."""

    def _nested(self, function: str, args: Any) -> str:
        first, *rest = args
        return f"numpy.{function}({self._print(first)}, {self._nested(function, rest)})" if rest else self._print(first)

    def _print_Min(self, x: Any) -> str:
        return self._nested("minimum", x.args)

    def _print_Max(self, x: Any) -> str:
        return self._nested("maximum", x.args)

    def _print_And(self, x: Any) -> str:
        return self._nested("logical_and", x.args)

    def _print_Or(self, x: Any) -> str:
        return self._nested("logical_or", x.args)

    def _print_Piecewise(self, x: Any) -> str:
        (value, condition), *rest = x.args
        if not rest:
            return self._print(value)
        other = self._print(x.func(*rest, evaluate=False))
        return f"numpy.where({self._print(condition)}, {self._print(value)}, {other})"


def numpy_source(derivation: Derivation, *, recursive: bool) -> str:
    """A module with a function for each of the FUNCTIONS that the model has."""
    functions = derivation.functions(recursive=recursive)
    constants = keywords_of(derivation, functions)
    names = written([*(s for v in VECTORS for s in getattr(derivation, v)), *constants])
    required = [str(names[s]) for s, value in constants.items() if value is None]
    given = [f"{names[s]}={value!r}" for s, value in constants.items() if value is not None]
    keywords = ", ".join(["", "*", *required, *given]) if constants else ""
    told = [BATCHES, *([OF_THE_TREE] if derivation.constrained else []), *left_out(derivation, functions)]
    title = f'"""Equations of motion of {identifier(derivation.model.name)}, derived by qdot.'
    title = "\n\n".join([title, *(fill(text, 100) for text in told)]) + '\n"""'
    parts = [_function(derivation, name, steps, names, keywords) for name, steps in functions.items()]
    source = "\n\n\n".join([f"{title}\n\nimport numpy", *parts, HELPERS]) + "\n"
    _compare(derivation, source, list(functions), {s: str(names[s]) for s in constants})
    return source


def _function(derivation: Derivation, name: str, steps: Steps, names: Mapping[Any, Any], keywords: str) -> str:
    function, printer = FUNCTIONS[name], _Printer()

    def spelled(expression: Any) -> str:
        return str(printer.doprint(expression.xreplace(names)))

    arguments = ", ".join("w=()" if v == "w" else v for v in function.vectors)
    code = [*lines(f"def {name}({arguments}{keywords}):", ""), f'    """{function.words}."""']
    for vector in function.vectors:
        symbols = ", ".join(str(names[s]) for s in getattr(derivation, vector))
        code += lines(f"[{symbols}] = _components({vector})")
    for symbol, expression in steps.assignments:
        row = lines(f"{symbol} = {spelled(expression)}")
        code += row if len(row) == 1 else [f"    {symbol} = (", *lines(spelled(expression), " " * 8), "    )"]
    ((shape, entries),) = steps.results.values()
    code += [f"    return _array({shape}, ["]
    for x in entries:
        code += lines(f"{spelled(x)},", " " * 8)
    return "\n".join([*code, f"    ], {', '.join(function.vectors)})"])


def _compare(derivation: Derivation, source: str, functions: list[str], constants: Mapping[Any, str]) -> None:
    """Run the source on all cases at once, as a batch."""
    module: dict[str, Any] = {}
    exec(compile(source, f"<equations of {derivation.model.name}>", "exec"), module)
    rows = {v: np.array([getattr(case, v) for case in derivation.cases]) for v in VECTORS}
    numbers = _numbers(derivation)
    keywords = {called: numbers[symbol] for symbol, called in constants.items()}
    for name in functions:
        _compared(derivation, name, module[name](*(rows[v] for v in FUNCTIONS[name].vectors), **keywords))


def compare_steps(derivation: Derivation, steps: Steps) -> None:
    """Steps that several functions share, line by line on all cases at once, against the engine."""
    printer, numbers = _Printer(), _numbers(derivation)
    names = written(list(numbers))
    values: dict[str, Any] = {"numpy": np, **{str(names[s]): x for s, x in numbers.items()}}

    def value(x: Any) -> Any:
        return eval(printer.doprint(x.xreplace(names)), values)

    for symbol, x in steps.assignments:
        values[str(symbol)] = value(x)
    for name, (_, entries) in steps.results.items():
        columns = [np.broadcast_to(value(x), len(derivation.cases)) for x in entries]
        _compared(derivation, name, np.array(columns).T.reshape(len(derivation.cases), len(entries)))


def _numbers(derivation: Derivation) -> dict[Any, Any]:
    """The numbers of each symbol, in all cases."""
    rows = [derivation.letters.numbers(case) for case in derivation.cases]
    return {symbol: np.array([numbers[symbol] for numbers in rows]) for symbol in rows[0]}


def _compared(derivation: Derivation, name: str, found: Any) -> None:
    """A function as it is written, (cases, …), against the text of the engine."""
    function, ours = FUNCTIONS[name], {id(case): row for case, row in zip(derivation.cases, found, strict=True)}

    def theirs(case: Case) -> Any:
        return function.run(case.model, [getattr(case, v) for v in function.vectors], case.wrenches)

    rows = max(1, derivation.model.nv) if function.dimensions == 2 else 1
    what = f"{name}()"
    derivation.checks[what] = compared(what, derivation.cases, lambda case: ours[id(case)], theirs, rows=rows)
