"""Expressions of one trace: its nodes, and the loops and regions among them.

The nodes of a body hang on the body's parameters, which open a scope. Each node lies in the innermost scope of its
operands, so what does not depend on the carried state lies outside the loop: it is hoisted by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qdot.compiler.expr import Expr
from qdot.compiler.nodes import Nodes
from qdot.compiler.table import Table

BLOCKS = ("for", "while", "when", "each", "scan", "sweep")
"""Loops and regions: operations that hold a body."""


class Graph(Nodes):
    """The nodes of one trace, and what holds some of them as a body."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.scope_parents: list[int] = [-1]
        self._open = 0

    def expr(self, index: int) -> Expr:
        return Expr(self, index)

    def input(self, name: str, place: int) -> Expr:
        return Expr(self, self.node("input", (), (name, place)))

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
        the region and elsewhere is that. Where `otherwise` is the constant NaN, nobody reads it there, and a backend
        may leave anything.
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

    def row(self, table: Table, index: Any) -> list[Expr]:
        """The row of a table that each lane names by a number: the first where that is below, the last beyond."""
        if not table.rows:
            raise ValueError("a table without rows has none to look up")
        place = self.require(index)
        return [self.expr(self.entry(table, k, place)) for k in range(table.width)]

    def sweep(
        self,
        table: Table,
        first: Any,
        count: Any,
        carried: Sequence[Any],
        build: Callable[[list[Expr], list[Expr]], Sequence[Any]],
    ) -> list[Expr]:
        """carried = build(row, carried) for the rows first … first + count - 1 of a table of constants, as far as there
        are such; both numbers are the same in all lanes: constants, or those of an enclosing scan's rows."""
        width = table.width
        if any(len(row) != width for row in table.rows):
            raise ValueError("the rows of a table have different lengths")
        return self._block("sweep", table, [first, count], carried, lambda p: build(p[:width], p[width:]), width)

    def _block(
        self,
        op: str,
        number: Any,
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
        if op != "sweep" and number < 0:
            raise ValueError(f"a {op!r} runs {number} times; the count must be zero or more")
        operands = tuple(self.require(x) for x in (*before, *carried))
        for x in (*operands[op == "when" :], *results[op == "while" :]):
            if self.is_truth(x):
                raise ValueError(f"a {op!r} carries numbers; turn a truth into one with select(1.0, 0.0)")
        captured = self._captured(results, scope)
        node = self.node(op, operands + captured, (number, len(operands), scope, tuple(parameters), results))
        count = result_count(op, number, len(results))
        return [Expr(self, self.node("item", (node,), k)) for k in range(count)]

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


def result_count(op: str, number: Any, results: int) -> int:
    """How many values a loop or region gives whose body has so many results."""
    return number * results if op == "each" else results - (op == "while")
