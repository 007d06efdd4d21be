"""Quantities as steps: assignments x₁ = …, x₂ = … that share what they have in common, and results written in them.

What was derived in closed form is taken apart by SymPy's `cse`. What is too long for that comes from the recursive
algorithms themselves: their texts are traced as the compiler does, and each value that is used more than once, or is
long, becomes a step. Such a form grows with the number of bodies, not with what they multiply out to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

from qdot import algebra
from qdot.algorithms import aba, bias, crba, energy, rnea
from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from qdot.derivation.ring import exact
from qdot.derivation.substitution import substituted
from qdot.errors import DerivationError
from qdot.model.model import Model
from qdot.programs import expressions as _expressions  # makes traced expressions scalars  # noqa: F401
from qdot.spatial import Force

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

LONGEST = 10
"""Operations of an expression that is not taken apart in a recursive form, though something uses it only once."""


@dataclass(frozen=True)
class Steps:
    """Assignments in order, and the results by name: expressions of the steps, with the shape of each."""

    assignments: tuple[tuple[Any, Any], ...]
    results: dict[str, tuple[tuple[int, ...], tuple[Any, ...]]]


@dataclass(frozen=True)
class Function:
    """A function that is written as code: its vectors, how many indices it has, its text, and which quantity of a
    derivation is its closed form."""

    words: str
    vectors: tuple[str, ...]
    dimensions: int
    text: Callable[..., Any]
    closed: str | None


FUNCTIONS = {
    "mass_matrix": Function("M(q), n × n", ("q",), 2, crba.mass_matrix, "M"),
    "velocity_forces": Function("V(q, v), (n,)", ("q", "v"), 1, bias.velocity_forces, "V"),
    "gravity_forces": Function("G(q), (n,)", ("q",), 1, bias.gravity_forces, "G"),
    "inverse_dynamics": Function(
        "Joint forces that give the acceleration a, (n,)",
        ("q", "v", "a"),
        1,
        rnea.inverse_dynamics,
        "joint_forces",
    ),
    "forward_dynamics": Function(
        "The acceleration that joint forces tau give, (n,)", ("q", "v", "tau"), 1, aba.forward_dynamics, None
    ),
    "kinetic_energy": Function("K(q, v)", ("q", "v"), 0, energy.kinetic_energy, "K"),
    "potential_energy": Function("P(q)", ("q",), 0, energy.potential_energy, "P"),
}


def steps_of(derivation: Derivation, names: Sequence[str], *, recursive: bool) -> Steps:
    """The steps to some of the FUNCTIONS, shared by them."""
    closed = {name: FUNCTIONS[name].closed for name in names}
    if recursive or None in closed.values():
        return _read(derivation, _traced(derivation, names))
    shapes: dict[str, tuple[tuple[int, ...], slice]] = {}
    flat: list[Any] = []
    for name, of in closed.items():
        value = getattr(derivation, str(of))
        entries = list(value) if isinstance(value, sympy.MatrixBase) else [value]
        shape = (derivation.model.nv,) * FUNCTIONS[name].dimensions
        shapes[name] = shape, slice(len(flat), len(flat) + len(entries))
        flat += entries
    assignments, reduced = sympy.cse(flat, symbols=sympy.numbered_symbols("x_", start=1, real=True))
    return Steps(tuple(assignments), {name: (shape, tuple(reduced[s])) for name, (shape, s) in shapes.items()})


def _traced(derivation: Derivation, names: Sequence[str]) -> Program:
    """The texts run on expressions, for inputs that are called as the symbols are."""
    symbols = [*derivation.constants, *(s for row in derivation.letters.forces.values() for s in row)]
    vectors = {vector for name in names for vector in FUNCTIONS[name].vectors}
    inputs: dict[str, tuple[int, ...]] = {v: (len(getattr(derivation, v)),) for v in sorted(vectors)}
    inputs |= {f"symbol {k}": () for k in range(len(symbols))}

    def run(**given: Any) -> dict[str, Any]:
        values = [given[f"symbol {k}"] for k in range(len(symbols))]
        model = _with_expressions(derivation.named, symbols, values)
        letters = dict(zip(symbols, values, strict=True))
        wrenches = {frame: Force.of([letters[s] for s in row]) for frame, row in derivation.letters.forces.items()}
        found = {}
        for name in names:
            function = FUNCTIONS[name]
            options = {"wrenches": wrenches} if wrenches and name.endswith("dynamics") else {}
            found[name] = function.text(model, *(given[v] for v in function.vectors), **options)
        return found

    return trace("derivation", run, inputs)


def _with_expressions(model: Model, symbols: Sequence[Any], values: Sequence[Any]) -> Model:
    """The model with traced expressions for its symbols."""
    functions = {name: getattr(algebra, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log")}

    def valued(x: Any) -> Any:
        return sympy.lambdify(symbols, x, [functions])(*values) if isinstance(x, sympy.Basic) else float(exact(x))

    return substituted(model, valued)


_SPELLED: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "pow": lambda x, y: x**y,
    "abs": sympy.Abs,
    "min": sympy.Min,
    "max": sympy.Max,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": sympy.Eq,
    "and": sympy.And,
    "or": sympy.Or,
    "not": sympy.Not,
    "select": lambda condition, x, y: sympy.Piecewise((x, condition), (y, True)),
    **{name: getattr(sympy, name) for name in ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log")},
    **{name: getattr(sympy, name) for name in ("sign", "floor")},
}


def _read(derivation: Derivation, program: Program) -> Steps:
    """A traced program as steps of SymPy expressions."""
    symbols = [*derivation.constants, *(s for row in derivation.letters.forces.values() for s in row)]
    uses = Counter(a for step in program.body.code for a in step.args) + Counter(program.body.results)
    values: dict[int, Any] = {}
    sizes: dict[int, int] = {}
    assignments: list[tuple[Any, Any]] = []
    for step in program.body.code:
        if step.op in BLOCKS:
            raise DerivationError(f"model {derivation.model.name!r} is so large that its equations hold loops")
        number = step.results[0]
        if step.op == "constant":
            whole = step.extra == int(step.extra)
            values[number] = sympy.Integer(int(step.extra)) if whole else sympy.Float(step.extra)
        elif step.op == "input":
            name, place = step.extra
            values[number] = symbols[int(name.split()[1])] if " " in name else getattr(derivation, name)[place]
        else:
            expression = _SPELLED[step.op](*(values[a] for a in step.args))
            size = 1 + sum(sizes.get(a, 0) for a in step.args)
            if (uses[number] > 1 and step.op != "neg") or size > LONGEST:
                assignments.append((sympy.Symbol(f"x_{len(assignments) + 1}", real=True), expression))
                expression, size = assignments[-1][0], 0
            values[number], sizes[number] = expression, size
    results, k = {}, 0
    for port in program.outputs:
        results[port.name] = port.shape, tuple(values[r] for r in program.body.results[k : k + port.size])
        k += port.size
    return Steps(tuple(assignments), results)
