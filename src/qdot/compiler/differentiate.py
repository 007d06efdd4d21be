"""Derivatives of traced expressions, by the partials in the table of operations.

Forward, `pushforward`: the change of expressions for a change of others (a Jacobian–vector product), through loops and
regions, which are run once more with the changes carried along. Backward, `pullback`: the sensitivities of a weighted
sum of expressions to others (a vector–Jacobian product); counted loops are unrolled and regions computed throughout.
`jacobian` takes whichever needs fewer passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from qdot.compiler.expr import Expr
from qdot.compiler.graph import BLOCKS, Graph, result_count
from qdot.compiler.ops import OPS

X = TypeVar("X")


def pushforward(outputs: Sequence[Expr], changes: Mapping[Expr, Expr | float]) -> list[Expr]:
    """d outputs, when each expression in `changes` changes by what it maps to."""
    graph = next(iter(changes)).graph
    forward = _Forward(graph, {x.index: graph.require(dx) for x, dx in changes.items()})
    return [graph.expr(forward.of(graph.require(y))) for y in outputs]


def pullback(outputs: Sequence[Expr], weights: Sequence[Expr | float], inputs: Sequence[Expr]) -> list[Expr]:
    """Σ weight · ∂output/∂input for each input."""
    graph = inputs[0].graph
    unroll = _Copy(graph, {}, unroll=True)
    roots = [unroll.of(graph.require(y)) for y in outputs]
    adjoint: dict[int, int] = {}
    for y, w in zip(roots, weights, strict=True):
        adjoint[y] = graph.add(adjoint.get(y, graph.zero), graph.require(w))
    wanted = {x.index for x in inputs}
    for node in reversed(_needed(graph, roots, wanted)):
        bar = adjoint.get(node, graph.zero)
        if bar == graph.zero or node in wanted:
            continue
        for a, p in zip(graph.args[node], _partials(graph, node), strict=True):
            if p != graph.zero:
                adjoint[a] = graph.add(adjoint.get(a, graph.zero), graph.mul(bar, p))
    return [graph.expr(adjoint.get(x.index, graph.zero)) for x in inputs]


def jacobian(outputs: Sequence[Expr], inputs: Sequence[Expr]) -> list[list[Expr]]:
    """∂output_i/∂input_j as rows of expressions; the constant zero where an output does not depend on an input."""
    if not outputs or not inputs:
        return [[] for _ in outputs]
    graph = inputs[0].graph
    roots = [graph.require(y) for y in outputs]
    if len(outputs) < len(inputs) and not any(graph.ops[n] in BLOCKS for n in _needed(graph, roots, ())):
        return [pullback([y], [1.0], inputs) for y in outputs]
    columns = [pushforward(outputs, {x: 1.0}) for x in inputs]
    return [list(row) for row in zip(*columns, strict=True)]


def sparsity(outputs: Sequence[Expr], inputs: Sequence[Expr]) -> list[list[bool]]:
    """Which outputs depend on which inputs."""
    graph = inputs[0].graph
    reached = [set(_needed(graph, [graph.require(y)], ())) for y in outputs]
    return [[x.index in nodes for x in inputs] for nodes in reached]


def _needed(graph: Graph, roots: Sequence[int], known: Mapping[int, int] | Sequence[int] | set[int]) -> list[int]:
    """The nodes that the roots depend on, operands before users; what is known is not looked behind."""
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        n = pending.pop()
        if n not in seen:
            seen.add(n)
            if n not in known:
                pending.extend(graph.args[n])
    return sorted(seen)  # a node is made after its operands


def _partials(graph: Graph, node: int) -> list[int]:
    """∂node/∂operand for each operand, as nodes."""
    op, args = graph.ops[node], graph.args[node]
    row = OPS.get(op)
    if row is None or row.partials is None:
        return [graph.zero] * len(args)
    found = row.partials(*(graph.expr(a) for a in args), graph.expr(node))
    return [graph.zero if p is None else graph.require(p) for p in found]


class _Forward:
    """Changes of nodes, each found once."""

    def __init__(self, graph: Graph, known: dict[int, int]) -> None:
        self.graph = graph
        self.change = known
        self.blocks: dict[int, list[int]] = {}

    def of(self, root: int) -> int:
        for node in _needed(self.graph, [root], self.change):
            if node not in self.change:
                self.change[node] = self._of_node(node)
        return self.change[root]

    def _of_node(self, node: int) -> int:
        graph, args = self.graph, self.graph.args[node]
        if all(self.change[a] == graph.zero for a in args) and graph.ops[node] not in ("item", *BLOCKS):
            return graph.zero
        if graph.ops[node] in BLOCKS:
            moves = any(self.change[a] != graph.zero for a in args)
            number, _, _, _, results = graph.extras[node]
            count = result_count(graph.ops[node], number, len(results))
            self.blocks[node] = self._of_block(node) if moves else [graph.zero] * count
            return graph.zero
        if graph.ops[node] == "item":
            return self.blocks[args[0]][graph.extras[node]]
        total = graph.zero
        for a, p in zip(args, _partials(graph, node), strict=True):
            if self.change[a] != graph.zero:
                total = graph.add(total, graph.mul(p, self.change[a]))
        return total

    def _of_block(self, block: int) -> list[int]:
        """The block run once more, with each carried value followed by its change: the changes of its results."""
        graph, op = self.graph, self.graph.ops[block]
        number, operands, _, parameters, results = graph.extras[block]
        own, captured = graph.args[block][:operands], graph.args[block][operands:]
        lead = 1 if op == "for" else number.width if op == "sweep" else 0

        def body(values: Sequence[Expr]) -> list[Expr]:
            """(results, their changes) for (a loop's counter or row of constants, values, their changes)."""
            count = len(parameters)
            plain, moved = [v.index for v in values[:count]], [v.index for v in values[count:]]
            new = [_Copy(graph, dict(zip(parameters, plain, strict=True))).of(r) for r in results]
            known = {c: self.change[c] for c in captured} | dict.fromkeys(plain[:lead], graph.zero)
            inner = _Forward(graph, known | dict(zip(plain[lead:], moved, strict=True)))
            numbers = new[1:] if op == "while" else new
            return [graph.expr(x) for x in (*new, *(inner.of(x) for x in numbers))]

        if op == "each":
            rows = graph.each([self._with_changes(row) for row in _rows_of(own, number)], body)
            return [x.index for row in rows for x in row[len(results) :]]
        carried = len(results) - (op == "while")
        if op == "scan":
            rows = [self._with_changes(row) for row in _rows_of(own[: operands - carried], number)]

            def turn(row: Sequence[Expr], state: Sequence[Expr]) -> list[Expr]:
                (x, dx), (s, ds) = _halves(row), _halves(state)
                return body([*x, *s, *dx, *ds])

            done = graph.scan(rows, self._with_changes(own[operands - carried :]), turn)
            return [x.index for x in done[carried:]]
        start, given = own[operands - carried :], own[1 : operands - carried]
        done = _run(graph, op, number, own[:1], self._with_changes(given), self._with_changes(start), body)
        return [x.index for x in done[carried:]]

    def _with_changes(self, nodes: Sequence[int]) -> list[Expr]:
        return [self.graph.expr(n) for n in (*nodes, *(self.change[n] for n in nodes))]


class _Copy:
    """Nodes made again with some of them replaced; with `unroll`, counted loops and regions become plain nodes."""

    def __init__(self, graph: Graph, replaced: dict[int, int], *, unroll: bool = False) -> None:
        self.graph = graph
        self.made = replaced
        self.unroll = unroll
        self.blocks: dict[int, list[int]] = {}

    def of(self, root: int) -> int:
        graph = self.graph
        for node in _needed(graph, [root], self.made):
            if node not in self.made:
                args = tuple(self.made[a] for a in graph.args[node])
                self.made[node] = self._again(node, args)
        return self.made[root]

    def _again(self, node: int, args: tuple[int, ...]) -> int:
        graph, op = self.graph, self.graph.ops[node]
        if op in BLOCKS and (self.unroll or args != graph.args[node]):
            self.blocks[node] = self._unrolled(node, args) if self.unroll else self._block(node, args)
            return node
        if op == "item" and graph.args[node][0] in self.blocks:
            return self.blocks[graph.args[node][0]][graph.extras[node]]
        if args == graph.args[node]:
            return node
        if op == "entry":
            table, column = graph.extras[node]
            return graph.entry(table, column, args[0])
        return graph.apply(op, *args)

    def _body(self, parameters: Sequence[int], results: Sequence[int], values: Sequence[int]) -> list[int]:
        inner = _Copy(self.graph, self.made | dict(zip(parameters, values, strict=True)), unroll=self.unroll)
        return [inner.of(r) for r in results]

    def _block(self, node: int, args: tuple[int, ...]) -> list[int]:
        graph, op = self.graph, self.graph.ops[node]
        number, operands, _, parameters, results = graph.extras[node]
        own = [graph.expr(a) for a in args[:operands]]

        def body(values: Sequence[Expr]) -> list[Expr]:
            return [graph.expr(x) for x in self._body(parameters, results, [v.index for v in values])]

        if op == "each":
            return [x.index for row in graph.each(_rows_of(own, number), body) for x in row]
        carried = len(results) - (op == "while")
        if op == "scan":
            rows = _rows_of(own[: operands - carried], number)
            done = graph.scan(rows, own[operands - carried :], lambda row, state: body([*row, *state]))
            return [x.index for x in done]
        done = _run(graph, op, number, args[:1], own[1 : operands - carried], own[operands - carried :], body)
        return [x.index for x in done]

    def _unrolled(self, node: int, args: tuple[int, ...]) -> list[int]:
        graph, op = self.graph, self.graph.ops[node]
        number, operands, _, parameters, results = graph.extras[node]
        if op == "while":
            raise ValueError(
                "a backward derivative does not go through a while loop, whose number of turns is not known; use a "
                "counted loop (fori), or the forward derivative"
            )
        own = list(args[:operands])
        if op == "when":
            inside = self._body(parameters, results, own[1 : 1 + number])
            return [graph.select(own[0], x, y) for x, y in zip(inside, own[1 + number :], strict=True)]
        if op == "each":
            return [x for row in _rows_of(own, number) for x in self._body(parameters, results, row)]
        if op == "scan":
            state = own[operands - len(results) :]
            for row in _rows_of(own[: operands - len(results)], number):
                state = self._body(parameters, results, [*row, *state])
            return state
        if op == "sweep":
            first, count = (graph.constants[x] for x in own[:2])
            if first is None or count is None:
                raise ValueError("a backward derivative goes through a sweep only if its bounds are known")
            state = own[2:]
            for constants in number.part(first, count):
                state = self._body(parameters, results, [*map(graph.constant, constants), *state])
            return state
        for i in range(number):
            own = self._body(parameters, results, [graph.constant(float(i)), *own])
        return own


def _rows_of(operands: Sequence[X], count: int) -> list[Sequence[X]]:
    """The operands of each turn of an `each` or a `scan`."""
    width = len(operands) // count
    return [operands[k * width : (k + 1) * width] for k in range(count)]


def _halves(values: Sequence[X]) -> tuple[Sequence[X], Sequence[X]]:
    return values[: len(values) // 2], values[len(values) // 2 :]


def _run(
    graph: Graph,
    op: str,
    number: Any,
    condition: Sequence[int],
    given: list[Expr],
    start: list[Expr],
    body: Callable[[Sequence[Expr]], list[Expr]],
) -> list[Expr]:
    """A loop or region of this kind around a body of flat values."""
    if op == "for":
        return graph.fori(number, start, lambda i, carried: body([i, *carried]))
    if op == "while":

        def step(carried: list[Expr]) -> tuple[Expr, list[Expr]]:
            holds, *rest = body(carried)
            return holds, rest

        return graph.while_(number, start, step)
    if op == "sweep":  # from its first bound, with its second
        return graph.sweep(number, graph.expr(condition[0]), given[0], start, lambda row, state: body([*row, *state]))
    return graph.when(graph.expr(condition[0]), given, body, start)
