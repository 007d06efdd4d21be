"""Expressions: nodes of a graph in which equal things are one node, folded while they are built.

A `Graph` belongs to one trace. Asking it for a node that it has returns that node (hash consing), and asking for
one that is a constant, a zero, a one or a double sign in disguise returns the simpler thing, so structure in a
mechanism (an axis along z, a zero offset) vanishes by itself. x · 0 is 0 and x - x is 0, whatever x is: a NaN in x
does not survive there.

Loops and regions: the nodes of a body hang on the body's parameters, which open a scope. Each node lies in the
innermost scope of its operands, so what does not depend on the carried state lies outside the loop: it is hoisted
by construction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from qdot.compiler.expr import Expr
from qdot.compiler.ops import OPS

BLOCKS = ("for", "while", "when", "each", "scan")
"""Loops and regions: operations that hold a body."""


class TooLarge(Exception):
    """A trace made more nodes than it was allowed to."""


class Graph:
    """The nodes of one trace, by number: operation, operands, and what else there is to know."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = math.inf if limit is None else limit
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.extras: list[Any] = []
        self.constants: list[float | bool | None] = []
        self.scopes: list[int] = []
        self.scope_parents: list[int] = [-1]
        self._open = 0
        self._memo: dict[tuple[Any, ...], int] = {}
        self._numbers: dict[float, int] = {}
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def node(self, op: str, args: tuple[int, ...], extra: Any = None, constant: float | bool | None = None) -> int:
        """The one node with this operation and operands."""
        key = (op, args, extra)
        found = self._memo.get(key)
        if found is not None:
            return found
        index = self._memo[key] = len(self.ops)
        if index >= self._limit:
            raise TooLarge(f"more than {self._limit} nodes")
        self.ops.append(op)
        self.args.append(args)
        self.extras.append(extra)
        self.constants.append(constant)
        self.scopes.append(self._innermost(args))
        return index

    def _innermost(self, args: tuple[int, ...]) -> int:
        scope = 0
        for a in args:
            scope = max(scope, self.scopes[a])  # scopes nest and are numbered as they open, so the largest is innermost
        return scope

    def expr(self, index: int) -> Expr:
        return Expr(self, index)

    def index_of(self, value: Any) -> int | None:
        """The node of an expression of this graph, or of a number; None for anything else."""
        kind = type(value)
        if kind is float or kind is int:
            return self._number(value)
        if isinstance(value, Expr):
            if value.graph is not self:
                raise ValueError(
                    "two traced expressions of different traces met; each compiled function is traced alone"
                )
            return value.index
        if isinstance(value, (bool, np.bool_)):
            return self.truth(bool(value))
        if isinstance(value, (int, float, np.integer, np.floating, Fraction)):
            return self.constant(float(value))
        return None

    def _number(self, value: float) -> int:
        """The node of a constant, most of which come again and again; zeros, which have signs, are another matter."""
        if not value:
            return self.constant(value) if math.copysign(1.0, value) < 0 else self.zero
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = self.constant(value)
        return found

    def require(self, value: Any) -> int:
        index = self.index_of(value)
        if index is None:
            raise TypeError(f"a number or a traced expression is expected here, got {value!r}")
        return index

    def constant(self, value: float) -> int:
        value = float(value)
        key = value.hex() if value == value else "nan"  # tells -0.0 from 0.0, and finds NaN again
        return self.node("constant", (), key, value)

    def truth(self, value: bool) -> int:
        return self.node("truth", (), value, value)

    def input(self, name: str, place: int) -> Expr:
        return Expr(self, self.node("input", (), (name, place)))

    # -- folding -------------------------------------------------------------------------------------------------------

    def add(self, a: int, b: int) -> int:
        x, y = self.constants[a], self.constants[b]
        if x is not None and y is not None:
            return self.constant(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        if self.ops[b] == "neg":
            return self.sub(a, self.args[b][0])
        if self.ops[a] == "neg":
            return self.sub(b, self.args[a][0])
        return self.node("add", (a, b) if a <= b else (b, a))

    def sub(self, a: int, b: int) -> int:
        x, y = self.constants[a], self.constants[b]
        if x is not None and y is not None:
            return self.constant(x - y)
        if a == b:
            return self.zero
        if x == 0:
            return self.neg(b)
        if y == 0:
            return a
        if self.ops[b] == "neg":
            return self.add(a, self.args[b][0])
        if self.ops[a] == "neg":
            return self.neg(self.add(self.args[a][0], b))
        return self.node("sub", (a, b))

    def neg(self, a: int) -> int:
        x = self.constants[a]
        if x is not None:
            return self.constant(-x)
        if self.ops[a] == "neg":
            return self.args[a][0]
        if self.ops[a] == "sub":
            return self.sub(self.args[a][1], self.args[a][0])
        return self.node("neg", (a,))

    def mul(self, a: int, b: int) -> int:
        x, y = self.constants[a], self.constants[b]
        if x is None and y is not None:
            a, b, x, y = b, a, y, x
        if x is not None:
            return self.constant(x * y) if y is not None else self._times(x, a, b)
        if self.ops[a] == "neg":
            return self.neg(self.mul(self.args[a][0], b))
        if self.ops[b] == "neg":
            return self.neg(self.mul(a, self.args[b][0]))
        return self.node("mul", (a, b) if a <= b else (b, a))

    def _times(self, x: float, a: int, b: int) -> int:
        """The constant x, node a, times the node b, which is none."""
        if x == 0:
            return self.zero
        if x == 1:
            return b
        if x < 0:
            return self.neg(self.mul(self.constant(-x), b))
        if self.ops[b] == "neg":
            return self.neg(self.mul(a, self.args[b][0]))
        if self.ops[b] == "mul":
            inner = self.constants[self.args[b][0]]
            if inner is not None and 1e-290 < abs(x * inner) < 1e290:  # constants stand first; their product must do
                return self.mul(self.constant(x * inner), self.args[b][1])
        return self.node("mul", (a, b))

    def div(self, a: int, b: int) -> int:
        x, y = self.constants[a], self.constants[b]
        if y is not None and y != 0 and (x is not None or abs(y) > 1e-300):  # below it 1/y is not a number
            return self.constant(x / y) if x is not None else self.mul(a, self.constant(1.0 / y))
        if x == 0 and y is None:
            return self.zero
        if self.ops[a] == "neg":
            return self.neg(self.div(self.args[a][0], b))
        if self.ops[b] == "neg":
            return self.neg(self.div(a, self.args[b][0]))
        return self.node("div", (a, b))

    def select(self, condition: int, a: int, b: int) -> int:
        known = self.constants[condition]
        if known is not None:
            return a if known else b
        if a == b:
            return a
        if self.ops[condition] == "not":
            return self.select(self.args[condition][0], b, a)
        return self.node("select", (condition, a, b))

    def whole_power(self, a: int, exponent: int) -> int:
        if exponent < 0:
            return self.div(self.one, self.whole_power(a, -exponent))
        result, square = self.one, a
        while exponent:
            if exponent % 2:
                result = self.mul(result, square)
            exponent //= 2
            if exponent:
                square = self.mul(square, square)
        return result

    def apply(self, op: str, *args: int) -> int:
        """Any operation of the table, folded where its operands are constants."""
        row = OPS[op]
        values = [self.constants[a] for a in args]
        if all(v is not None for v in values):
            with np.errstate(all="ignore"):
                result = row.meaning(*values)
            return self.truth(bool(result)) if row.returns_truth else self.constant(float(result))
        fold: Callable[..., int] | None = _FOLDED.get(op)
        if fold is not None:
            return fold(self, *args)
        if op in ("min", "max", "and", "or") and args[0] == args[1]:
            return args[0]
        if row.commutes and args[0] > args[1]:
            args = args[::-1]
        return self.node(op, args)

    def _even(self, op: str, a: int) -> int:
        """cos(-x) = cos(x), |-x| = |x|."""
        return self.node(op, (self.args[a][0] if self.ops[a] == "neg" else a,))

    def _odd(self, op: str, a: int) -> int:
        """sin(-x) = -sin(x)."""
        if self.ops[a] == "neg":
            return self.neg(self.node(op, (self.args[a][0],)))
        return self.node(op, (a,))

    # -- loops and regions ---------------------------------------------------------------------------------------------

    def fori(
        self, count: int, carried: Sequence[Any], build: Callable[[Expr, list[Expr]], Sequence[Any]]
    ) -> list[Expr]:
        """carried = build(i, carried) for i = 0 … count - 1."""
        return self._block("for", int(count), [], carried, lambda p: build(p[0], p[1:]), leading=1)

    def while_(
        self, limit: int, carried: Sequence[Any], build: Callable[[list[Expr]], tuple[Any, Sequence[Any]]]
    ) -> list[Expr]:
        """carried = step while condition, for (condition, step) = build(carried); `limit` turns at most.

        A lane whose condition has failed keeps its state while others go on.
        """

        def flat(p: list[Expr]) -> list[Any]:
            condition, step = build(p)
            return [condition, *step]

        return self._block("while", int(limit), [], carried, flat)

    def when(
        self,
        condition: Any,
        given: Sequence[Any],
        build: Callable[[list[Expr]], Sequence[Any]],
        otherwise: Sequence[Any],
    ) -> list[Expr]:
        """build(given) where the condition holds, `otherwise` elsewhere; skipped where no lane needs it.

        Only what depends on `given` lies in the region, so pass what the costly part starts from. What is the same in
        the region and elsewhere is that.
        """
        built: list[int] = []

        def noted(parameters: list[Expr]) -> list[Expr]:
            built.extend(self.require(x) for x in build(parameters))
            return [self.expr(x) for x in built]

        items = self._block("when", len(given), [condition, *given], otherwise, noted)
        elsewhere = [self.require(x) for x in otherwise]
        return [self.expr(x) if x == y else item for item, x, y in zip(items, built, elsewhere, strict=True)]

    def each(self, rows: Sequence[Sequence[Any]], build: Callable[[list[Expr]], Sequence[Any]]) -> list[list[Expr]]:
        """[build(row) for row in rows], as one loop: the code of one row, however many there are."""
        if not rows:
            return []
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            raise ValueError("the rows of an 'each' have different lengths")
        items = self._block("each", len(rows), [x for row in rows for x in row], [], build, width)
        size = len(items) // len(rows)
        return [items[k * size : (k + 1) * size] for k in range(len(rows))]

    def scan(
        self,
        rows: Sequence[Sequence[Any]],
        carried: Sequence[Any],
        build: Callable[[list[Expr], list[Expr]], Sequence[Any]],
    ) -> list[Expr]:
        """carried = build(row, carried) for each row, as one loop: the code of one row, however many there are."""
        if not rows:
            return [self.expr(self.require(x)) for x in carried]
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            raise ValueError("the rows of a 'scan' have different lengths")
        flat = [x for row in rows for x in row]
        return self._block("scan", len(rows), flat, carried, lambda p: build(p[:width], p[width:]), leading=width)

    def _block(
        self,
        op: str,
        number: int,
        before: Sequence[Any],
        carried: Sequence[Any],
        build: Callable[[list[Expr]], Sequence[Any]],
        leading: int = 0,
    ) -> list[Expr]:
        scope = len(self.scope_parents)
        self.scope_parents.append(self._open)
        outer, self._open = self._open, scope
        count = number if op == "when" else leading + len(carried)
        parameters = []
        for k in range(count):
            parameters.append(self.node("parameter", (), (scope, k)))
            self.scopes[parameters[-1]] = scope
        try:
            results = tuple(self.require(x) for x in build([Expr(self, p) for p in parameters]))
        finally:
            self._open = outer
        if op != "each" and len(results) != len(carried) + (op == "while"):
            raise ValueError(f"the body of a {op!r} returned {len(results)} values for {len(carried)} carried ones")
        if number < 0:
            raise ValueError(f"a {op!r} runs {number} times; the count must be zero or more")
        operands = tuple(self.require(x) for x in (*before, *carried))
        for x in (*operands[op == "when" :], *results[op == "while" :]):
            if self.is_truth(x):
                raise ValueError(f"a {op!r} carries numbers; turn a truth into one with select(1.0, 0.0)")
        captured = self._captured(results, scope)
        node = self.node(op, operands + captured, (number, len(operands), scope, tuple(parameters), results))
        count = result_count(op, number, len(results))
        return [Expr(self, self.node("item", (node,), k)) for k in range(count)]

    def is_truth(self, node: int) -> bool:
        row = OPS.get(self.ops[node])
        return self.ops[node] == "truth" or (row is not None and row.returns_truth)

    def _captured(self, results: Sequence[int], scope: int) -> tuple[int, ...]:
        """Nodes of outer scopes that the body uses."""
        outside: dict[int, None] = {}
        seen: set[int] = set()
        pending = list(results)
        while pending:
            n = pending.pop()
            if n in seen:
                continue
            seen.add(n)
            if self.scopes[n] < scope:
                if self.constants[n] is None:
                    outside[n] = None
            else:
                pending.extend(self.args[n])
        return tuple(sorted(outside))

    def text(self, index: int, depth: int = 4) -> str:
        op, args = self.ops[index], self.args[index]
        if op == "constant":
            return f"{self.constants[index]:g}"
        if op == "input":
            name, place = self.extras[index]
            return f"{name}[{place}]"
        if depth == 0:
            return "…"
        return f"{op}({', '.join(self.text(a, depth - 1) for a in args)})"


def result_count(op: str, number: int, results: int) -> int:
    """How many values a loop or region gives whose body has so many results."""
    return number * results if op == "each" else results - (op == "while")


_FOLDED: dict[str, Callable[..., int]] = {
    "add": Graph.add,
    "sub": Graph.sub,
    "neg": Graph.neg,
    "mul": Graph.mul,
    "div": Graph.div,
    "select": Graph.select,
    "sin": lambda graph, a: graph._odd("sin", a),
    "tan": lambda graph, a: graph._odd("tan", a),
    "asin": lambda graph, a: graph._odd("asin", a),
    "sign": lambda graph, a: graph._odd("sign", a),
    "cos": lambda graph, a: graph._even("cos", a),
    "abs": lambda graph, a: graph._even("abs", a),
}
