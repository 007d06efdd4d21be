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
from qdot.algorithms import aba, actuators, bias, christoffel, crba, energy, hamiltonian, inverse_mass, rnea
from qdot.algorithms.conditioning import motions_without_inertia
from qdot.compiler.graph import BLOCKS
from qdot.compiler.nodes import TooLarge
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from qdot.derivation import engine
from qdot.derivation.ring import exact
from qdot.derivation.substitution import substituted
from qdot.errors import DerivationError, SingularError, UnknownNameError
from qdot.model.model import Model
from qdot.programs import expressions as _expressions  # makes traced expressions scalars  # noqa: F401
from qdot.spatial import Force

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

MOST = 20_000
"""Operations of a tensor over all triples of freedoms that is written as steps; arms and legged robots have fewer."""

LONGEST = 10
"""Operations of an expression that is not taken apart in a recursive form, though something uses it only once."""


class TooManySteps(DerivationError):
    """Nobody would want to read, or compile, what was asked for."""


CONDITIONS = ("lt", "le", "eq", "and", "or", "not")
"""Operations whose results are no numbers: they are written where they decide something."""


@dataclass(frozen=True)
class Steps:
    """Assignments in order, and the results by name: expressions of the steps, with the shape of each."""

    assignments: tuple[tuple[Any, Any], ...]
    results: dict[str, tuple[tuple[int, ...], tuple[Any, ...]]]

    @property
    def expressions(self) -> list[Any]:
        """All there is on the right-hand sides."""
        return [*(x for _, x in self.assignments), *(x for _, row in self.results.values() for x in row)]

    def first_used(self) -> dict[str, list[tuple[Any, Any]]]:
        """For each result the steps that it needs and that none before it did."""
        made, shown = dict(self.assignments), set[Any]()
        found = {}
        for name, (_, entries) in self.results.items():
            needed, pending = set[Any](), [s for x in entries for s in x.free_symbols]
            while pending:
                symbol = pending.pop()
                if symbol in made and symbol not in shown and symbol not in needed:
                    needed.add(symbol)
                    pending += made[symbol].free_symbols
            found[name] = [(s, x) for s, x in self.assignments if s in needed]
            shown |= needed
        return found


@dataclass(frozen=True)
class Function:
    """A function that is written as code: its vectors, how many indices it has, its text, and which quantity of a
    derivation is its closed form. External forces act where it is `pushed`."""

    words: str
    vectors: tuple[str, ...]
    dimensions: int
    text: Callable[..., Any]
    closed: str | None = None
    pushed: bool = False
    by_inertia: bool = False
    """Whether it needs a mass matrix that is not singular."""
    driven: bool = False
    """Whether it is of actuators."""

    def run(self, model: Model, vectors: Sequence[Any], wrenches: Any) -> Any:
        """Its text, of vectors in their order."""
        return self.text(model, *vectors, **({"wrenches": wrenches} if self.pushed and wrenches else {}))


FUNCTIONS = {
    "mass_matrix": Function("M(q), n × n", ("q",), 2, crba.mass_matrix, "M"),
    "velocity_forces": Function("V(q, v), (n,)", ("q", "v"), 1, bias.velocity_forces, "V"),
    "gravity_forces": Function("G(q), (n,)", ("q",), 1, bias.gravity_forces, "G"),
    "applied_forces": Function(
        "ψ(q, v, τ) = τ and what springs, friction and external forces do, (n,)",
        ("q", "v", "tau"),
        1,
        engine.applied_forces,
        "psi",
        pushed=True,
    ),
    "actuation": Function(
        "τ of the actuators for controls u and activations w, (n,)",
        ("q", "v", "u", "w"),
        1,
        actuators.actuation,
        "actuation",
        driven=True,
    ),
    "inverse_dynamics": Function(
        "Joint forces that give the acceleration a, (n,)",
        ("q", "v", "a"),
        1,
        rnea.inverse_dynamics,
        "joint_forces",
        pushed=True,
    ),
    "forward_dynamics": Function(
        "The acceleration that joint forces tau give, (n,)",
        ("q", "v", "tau"),
        1,
        aba.forward_dynamics,
        pushed=True,
        by_inertia=True,
    ),
    "kinetic_energy": Function("K(q, v)", ("q", "v"), 0, energy.kinetic_energy, "K"),
    "potential_energy": Function("P(q)", ("q",), 0, energy.potential_energy, "P"),
    "inverse_mass_matrix": Function("M(q)⁻¹, n × n", ("q",), 2, inverse_mass.inverse_mass_matrix, by_inertia=True),
    "christoffel_symbols": Function(
        "b_ijk of the first kind: V_i = Σ b_ijk v_j v_k, n × n × n", ("q",), 3, christoffel.christoffel_symbols, "b"
    ),
    "connection_coefficients": Function(
        "Γ^i_jk = Σ (M⁻¹)_is b_sjk of the second kind, n × n × n",
        ("q",),
        3,
        christoffel.connection_coefficients,
        by_inertia=True,
    ),
    "hamiltonian": Function("H(q, p)", ("q", "p"), 0, hamiltonian.hamiltonian, by_inertia=True),
    "hamilton_equations": Function(
        "The velocity M⁻¹ p and the rate of p, 2 × n",
        ("q", "p", "tau"),
        2,
        hamiltonian.hamilton_equations,
        pushed=True,
        by_inertia=True,
    ),
}


def available(derivation: Derivation) -> list[str]:
    """The functions that a model has: none that need M⁻¹ where a joint moves no mass, none of actuators without any."""
    return [name for name in FUNCTIONS if _missing(derivation, name) is None]


def require(derivation: Derivation, name: str) -> None:
    """Tell why there is no such function."""
    if name not in FUNCTIONS:
        raise UnknownNameError("function", name, FUNCTIONS, f"the derivation of {derivation.model.name!r}")
    problem = _missing(derivation, name)
    if problem is not None:
        raise problem


def _missing(derivation: Derivation, name: str) -> Exception | None:
    function, model = FUNCTIONS[name], derivation.cases[0].model
    if function.driven and not model.nu:
        return DerivationError(f"model {model.name!r} has no actuators, so there is no {name}; joint forces are tau")
    without = motions_without_inertia(model) if function.by_inertia else ()
    if without:
        return SingularError(
            f"the mass matrix of model {model.name!r} is singular, as motions of {', '.join(map(repr, without))} move "
            f"no mass, so there is no {name}; give the bodies an inertia or the joints an armature"
        )
    return None


def steps_of(derivation: Derivation, names: Sequence[str], *, recursive: bool) -> Steps:
    """The steps to some of the FUNCTIONS, shared by them."""
    closed = {name: _closed(derivation, FUNCTIONS[name]) for name in names}
    if recursive or None in closed.values():
        return _tidied(_read(derivation, _traced(derivation, names)))
    shapes: dict[str, tuple[tuple[int, ...], slice]] = {}
    flat: list[Any] = []
    for name, of in closed.items():
        value = getattr(derivation, str(of))
        entries = list(sympy.flatten(value)) if FUNCTIONS[name].dimensions else [value]
        shape = (derivation.model.nv,) * FUNCTIONS[name].dimensions
        shapes[name] = shape, slice(len(flat), len(flat) + len(entries))
        flat += entries
    assignments, reduced = sympy.cse(flat, symbols=sympy.numbered_symbols("x_", start=1, real=True))
    results = {name: (shape, tuple(reduced[s])) for name, (shape, s) in shapes.items()}
    return _tidied(Steps(tuple(assignments), results))


def _closed(derivation: Derivation, function: Function) -> str | None:
    """The quantity that is its closed form; velocities of quaternions have other symbols b than derivatives of M."""
    return None if function.closed == "b" and not derivation.plain else function.closed


def _tidied(steps: Steps) -> Steps:
    """Without steps that are conditions, that only give another name or a sign to one thing, or that nothing needs; the
    others numbered again, in the order in which results need them."""
    uses = Counter(s for x in steps.expressions for s in x.free_symbols)
    last = {x for _, entries in steps.results.values() for x in entries if uses[x] == 1}
    meant: dict[Any, Any] = {}
    for symbol, given in steps.assignments:
        x = given.xreplace(meant)
        if isinstance(x, sympy.logic.boolalg.Boolean) or symbol in last or x.is_Atom or (-x).is_Atom:
            meant[symbol] = x
    kept = _replaced(steps, meant, [(s, x) for s, x in steps.assignments if s not in meant])
    rest = [step for row in kept.first_used().values() for step in row]
    numbers = {s: sympy.Symbol(f"x_{k}", real=True) for k, (s, _) in enumerate(rest, start=1)}
    return _replaced(kept, numbers, [(numbers[s], x) for s, x in rest])


def _replaced(steps: Steps, meant: dict[Any, Any], assignments: Sequence[tuple[Any, Any]]) -> Steps:
    """These assignments to the results of the steps, in other letters."""
    results = {
        name: (shape, tuple(x.xreplace(meant) for x in entries)) for name, (shape, entries) in steps.results.items()
    }
    return Steps(tuple((s, x.xreplace(meant)) for s, x in assignments), results)


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
            found[name] = function.run(model, [given[v] for v in function.vectors], wrenches)
        return found

    limit = MOST if any(FUNCTIONS[name].dimensions == 3 for name in names) else None
    try:
        return trace("derivation", run, inputs, limit)
    except TooLarge:
        raise TooManySteps(
            f"{' and '.join(names)} of model {derivation.model.name!r} would take more than {MOST} steps; "
            "qdot.christoffel_symbols and qdot.connection_coefficients give them in numbers"
        ) from None


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
    "select": lambda condition, x, y: sympy.Piecewise((x, condition), (y, True), evaluate=False),
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
            if step.op not in CONDITIONS and ((uses[number] > 1 and step.op != "neg") or size > LONGEST):
                assignments.append((sympy.Symbol(f"x_{len(assignments) + 1}", real=True), expression))
                expression, size = assignments[-1][0], 0
            values[number], sizes[number] = expression, size
    results, k = {}, 0
    for port in program.outputs:
        entries = program.body.results[k : k + port.size]
        results[port.name] = port.shape, tuple(sympy.sympify(values[r]) for r in entries)
        k += port.size
    return Steps(tuple(assignments), results)
