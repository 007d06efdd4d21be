"""Random programs that repeat themselves: sweeps over a row of bodies, forward and backward, as algorithms have them.

Each sweep applies a few operations to each body in turn. Their operands are what the turn has made, what the turn
before has, entries of inputs, constants, and what earlier sweeps made of this body, of a neighbour, or of any body.
Nothing but the operations is regular at the ends, and folding makes some of those irregular too.
"""

from __future__ import annotations

from random import Random
from typing import Any

from qdot.compiler.program import Program
from qdot.compiler.trace import trace

EAGER = {"SHORTEST": 0, "SHARE": 0.0, "LENGTH": 8, "GRAM": 3, "TURNS": 5}
"""Settings of `rolling` with which short programs are rolled too, wherever there is something to roll."""

OPERATIONS = ["add", "sub", "mul", "mul", "add", "sub", "add", "div", "sin", "cos", "max", "abs", "lt", "and", "select"]
ORDERS = ["same", "same", "next", "last", "reversed", "shuffled", "pairs"]


def repeated(seed: int, bodies: int = 24) -> Program:
    draw = Random(seed)
    sweeps = [_Sweep(draw, bodies) for _ in range(draw.randint(2, 5))]

    blocks = [draw.choice(["", "", "each", "when", "for"]) for _ in sweeps]

    def build(x: list[Any], y: list[list[Any]], z: Any) -> dict[str, Any]:
        numbers = [x, [row[0] for row in y], [row[1] for row in y]]
        truths: list[list[Any]] = [[a < z for a in x]]
        given: list[list[Any]] = [x]  # by blocks: what is not read LLVM leaves out, and then fuses what was read twice
        for sweep, block in zip(sweeps, blocks, strict=True):
            sweep.run(numbers, truths, z)
            given += _block(block, numbers, truths, z)
            numbers += given[-1:]
        total = z
        for a, b in zip(numbers[-1], numbers[-2], strict=True):
            total = total + a * b
        marked = [t.select(a, z) for t, a in zip(truths[-1], numbers[-1], strict=True)]
        kept = [list(row) for row in numbers[-draw.randint(1, 4) :]]
        return {"given": given, "kept": kept, "marked": marked, "total": total, "one": numbers[-1][bodies // 3]}

    return trace("repeated", build, {"x": (bodies,), "y": (bodies, 2), "z": ()})


def _block(kind: str, numbers: list[list[Any]], truths: list[list[Any]], z: Any) -> list[list[Any]]:
    """What a loop or region between sweeps makes of bodies, seen from and by the sweeps around it."""
    graph, (a, b) = z.graph, numbers[-2:]
    middle = a[len(a) // 2]
    if kind == "each":
        return [[row[0] for row in graph.each(list(zip(a, b, strict=True)), lambda p: [p[0] * middle + p[1]])]]
    if kind == "when":
        return [graph.when(truths[-1][0], b, lambda p: [x * y + middle for x, y in zip(p, a, strict=True)], a)]
    if kind == "for":
        return [graph.fori(3, a, lambda i, p: [0.5 * x + i * y for x, y in zip(p, b, strict=True)])]
    return []


class _Sweep:
    """Operations on each body in turn; drawn when it is made, so that all bodies have the same."""

    def __init__(self, draw: Random, bodies: int) -> None:
        self.draw = draw
        self.order = list(range(bodies))
        if draw.random() < 0.4:
            self.order.reverse()
        self.shuffled = draw.sample(range(bodies), bodies)
        vary = draw.choice([0.0, 0.01])
        self.constants = [draw.choice([0.5, 1.25, -0.75]) + vary * k for k in range(bodies)]
        self.steps = [(draw.choice(OPERATIONS), draw.getrandbits(64)) for _ in range(draw.randint(3, 12))]

    def run(self, numbers: list[list[Any]], truths: list[list[Any]], z: Any) -> None:
        before: list[Any] = []
        made: dict[int, list[Any]] = {}
        for k in self.order:
            mine: list[Any] = []
            for op, seed in self.steps:
                mine.append(self._made(op, Random(seed), k, mine, before, numbers, truths, z))
            before = made[k] = mine
        for place, (op, _) in enumerate(self.steps):
            (truths if op in ("lt", "and") else numbers).append([made[k][place] for k in range(len(made))])

    def _made(
        self, op: str, draw: Random, k: int, mine: list, before: list, numbers: list, truths: list, z: Any
    ) -> Any:
        def number() -> Any:
            return self._chosen(draw, k, mine, before, numbers, z, truth=False)

        def truth() -> Any:
            return self._chosen(draw, k, mine, before, truths, z, truth=True)

        if op == "select":
            return truth().select(number(), number())
        if op == "and":
            return truth() & truth()
        if op in ("sin", "cos", "abs"):
            return (number() + 0.125).unary(op)
        if op == "div":
            x = number()
            return number() / (1.0 + x * x)
        return (number() + z).binary(op, number())

    def _chosen(self, draw: Random, k: int, mine: list, before: list, rows: list, z: Any, *, truth: bool) -> Any:
        places = [j for j, (op, _) in enumerate(self.steps) if (op in ("lt", "and")) == truth]
        kind = draw.choice(["mine", "mine", "mine", "before", "row", "row", "row", "constant", "same"])
        fallback = rows[draw.randrange(len(rows))]
        j = draw.choice(places) if places else 0
        if kind == "mine" and places and j < len(mine):
            return mine[j]
        if kind == "before" and places:
            return before[j] if before else fallback[0]
        if kind == "constant" and not truth:
            return 0.0 * z + self.constants[k]  # folded to a constant
        if kind == "same":
            return fallback[len(fallback) // 2] if draw.random() < 0.5 or truth else z
        count = len(fallback)
        return fallback[self._place(draw.choice(ORDERS), k, count)]

    def _place(self, order: str, k: int, count: int) -> int:
        if order == "next":
            return min(k + 1, count - 1)
        if order == "last":
            return max(k - 1, 0)
        if order == "reversed":
            return count - 1 - k
        if order == "pairs":
            return k // 2
        return self.shuffled[k] if order == "shuffled" else k
