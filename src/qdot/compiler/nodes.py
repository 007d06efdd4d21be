"""Nodes of a graph in which equal things are one node, folded while they are built.

Asking for a node that is there returns that node (hash consing), and asking for one that is a constant, a zero, a one
or a double sign in disguise returns the simpler thing, so structure in a mechanism (an axis along z, a zero offset)
vanishes by itself. x · 0 is 0 and x - x is 0, whatever x is: a NaN in x does not survive there. Each node lies in the
innermost scope of its operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from qdot.compiler.expr import Expr
from qdot.compiler.ops import OPS
from qdot.compiler.table import Table


class TooLarge(Exception):
    """A trace made more nodes than it was allowed to."""


class Nodes:
    """The nodes of one trace, by number: operation, operands, and what else there is to know."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = math.inf if limit is None else limit
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.extras: list[Any] = []
        self.constants: list[float | bool | None] = []
        self.scopes: list[int] = []
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

    def is_truth(self, node: int) -> bool:
        row = OPS.get(self.ops[node])
        return self.ops[node] == "truth" or (row is not None and row.returns_truth)

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
        if self.constants[a] == 0 and self.constants[b] == 0:  # of either sign
            return self.zero
        if self.ops[condition] == "not":
            return self.select(self.args[condition][0], b, a)
        return self.node("select", (condition, a, b))

    def entry(self, table: Table, column: int, index: int) -> int:
        """The entry of a table in the row that each lane names: the first where that is below, the last beyond."""
        known = self.constants[index]
        if known is not None:
            return self.constant(table.rows[table.place(known)][column])
        return self.node("entry", (index,), (table, column))

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


_FOLDED: dict[str, Callable[..., int]] = {
    "add": Nodes.add,
    "sub": Nodes.sub,
    "neg": Nodes.neg,
    "mul": Nodes.mul,
    "div": Nodes.div,
    "select": Nodes.select,
    "sin": lambda nodes, a: nodes._odd("sin", a),
    "tan": lambda nodes, a: nodes._odd("tan", a),
    "asin": lambda nodes, a: nodes._odd("asin", a),
    "sign": lambda nodes, a: nodes._odd("sign", a),
    "cos": lambda nodes, a: nodes._even("cos", a),
    "abs": lambda nodes, a: nodes._even("abs", a),
}
