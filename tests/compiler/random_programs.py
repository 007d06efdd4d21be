"""Random programs for the backends, and how far from the interpreter a backend may be.

A tolerance for a whole program cannot be one number: differences of close values lose digits, and a comparison of equal
values may turn either way. So `bounded` runs the program once more with a bound on the error of each value: an
operation rounds by half an ulp (a function of the library errs by up to 4), and what its operands' errors do to it is
found by evaluating it at the corners of their intervals. A row where a comparison, a pole, an overflow or the end of a
domain lies within the errors is undecided and not compared. Fused multiply-adds round less often, so they stay within
the bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from qdot.compiler.expr import Expr
from qdot.compiler.graph import BLOCKS, Graph
from qdot.compiler.ops import OPS
from qdot.compiler.program import Block, Instruction, Program
from qdot.compiler.table import Table
from qdot.compiler.trace import flattened, trace

TRUTHS = [name for name, row in OPS.items() if row.returns_truth]
COMPARISONS = ["lt", "le", "eq"]
NUMBERS = [name for name in OPS if name not in TRUTHS and name != "select"]
CONSTANTS = [0.0, 1.0, -1.0, 2.0, 0.5, -0.25, 3.0, 0.1, -9.81, 1.75, 1e-3, 100.0]
SHAPES: list[tuple[int, ...]] = [(), (1,), (2,), (2, 2), (1, 2, 2), (0,)]


# -- programs ----------------------------------------------------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn, *, steps: int = 20) -> Program:
    """Programs of several inputs and outputs that use every operation, comparison, loop and region, nested."""
    shapes = {"x": (3,)} | {name: draw(st.sampled_from(SHAPES)) for name in draw(st.sampled_from(["", "y", "yz"]))}

    def build(**inputs: Any) -> dict[str, Any]:
        entries = [e for value in inputs.values() for e in flattened(value)]
        made = _Builder(draw, entries[0].graph, entries)
        for _ in range(draw(st.integers(1, steps))):
            made.step(depth=0)
        outputs: dict[str, Any] = {"last": made.numbers[-1], "all": made.numbers[-draw(st.integers(1, 9)) :]}
        outputs["truths"] = [t.select(1.0, 0.0) for t in made.truths[-2:]]
        if draw(st.booleans()):
            outputs["matrix"] = [[made.number(), made.number()], [1.5, made.chosen()]]
        return outputs

    return trace("random", build, shapes)


class _Builder:
    """Draws operands among what there is, and adds what they make."""

    def __init__(self, draw: st.DrawFn, graph: Graph, numbers: Sequence[Expr], truths: Sequence[Expr] = ()) -> None:
        self.draw = draw
        self.graph = graph
        self.numbers = list(numbers)
        self.truths = list(truths)

    def number(self) -> Expr:
        """One of the last twelve: programs grow deep, not wide."""
        return self.draw(st.sampled_from(self.numbers[-12:]))

    def operand(self) -> Any:
        if self.draw(st.integers(0, 3)) == 0:
            return self.draw(st.sampled_from(CONSTANTS))
        return self.number()

    def truth(self) -> Any:
        if not self.truths or self.draw(st.booleans()):
            self.truths.append(self.number().binary(self.draw(st.sampled_from(COMPARISONS)), self.operand()))
        return self.draw(st.sampled_from(self.truths[-4:]))

    def chosen(self) -> Expr:
        return self.truth().select(self.operand(), self.number())

    def step(self, depth: int) -> None:
        kinds = ["operation"] * 6 + ["safe"] * 4 + ["truth", "select", "entry"]
        kinds += ["for", "while", "when", "each", "scan", "sweep"] if depth < 2 else []
        getattr(self, f"_{self.draw(st.sampled_from(kinds))}")(depth)

    def _operation(self, depth: int) -> None:
        op = self.draw(st.sampled_from(NUMBERS))
        self.numbers.append(self.number().unary(op) if OPS[op].arity == 1 else self.number().binary(op, self.operand()))

    def _safe(self, depth: int) -> None:
        """Operations on values that lie in their domain, so that not all rows end as NaN."""
        x, y = self.number(), self.number()
        inside = x.sin()
        made = self.draw(
            st.sampled_from(
                [
                    lambda: x / (1.0 + y * y),
                    lambda: x.unary("abs").sqrt(),
                    lambda: inside.unary("asin"),
                    lambda: (0.9 * inside).unary("acos"),
                    lambda: inside.unary("exp"),
                    lambda: (1.5 + inside).log(),
                    lambda: (1.5 + inside).pow(y.cos()),
                    lambda: x.sin() + x.cos(),
                    lambda: x.binary("atan2", 2.0 + inside),
                    lambda: (x + 0.3).unary("floor"),
                    lambda: x.binary("min", 5.0).binary("max", -5.0),
                ]
            )
        )
        self.numbers.append(made())

    def _truth(self, depth: int) -> None:
        a, b = self.truth(), self.truth()
        made = self.draw(st.sampled_from([lambda: a & b, lambda: a | b, lambda: ~a]))
        self.truths.append(made())

    def _select(self, depth: int) -> None:
        self.numbers.append(self.chosen())

    def _entry(self, depth: int) -> None:
        width, length = (self.draw(st.integers(1, 3)) for _ in range(2))
        rows = tuple(tuple(0.5 * n - 0.75 * k for k in range(width)) for n in range(length))
        self.numbers += self.graph.row(Table(rows), self.number())

    def _body(self, carried: Sequence[Expr], depth: int, extra: Sequence[Expr] = ()) -> _Builder:
        inner = _Builder(self.draw, self.graph, [*self.numbers[-4:], *extra, *carried], self.truths[-2:])
        for _ in range(self.draw(st.integers(1, 3))):
            inner.step(depth + 1)
        return inner

    def _for(self, depth: int) -> None:
        start = [self.operand() for _ in range(self.draw(st.integers(1, 3)))]

        def build(i: Expr, carried: list[Expr]) -> list[Any]:
            inner = self._body(carried, depth, [i])
            return [inner.operand() for _ in start]

        self.numbers += self.graph.fori(self.draw(st.integers(0, 4)), start, build)

    def _while(self, depth: int) -> None:
        start = [self.operand() for _ in range(self.draw(st.integers(1, 3)))]

        def build(carried: list[Expr]) -> tuple[Any, list[Any]]:
            inner = self._body(carried, depth)
            return inner.truth(), [inner.operand() for _ in start]

        self.numbers += self.graph.while_(self.draw(st.integers(0, 4)), start, build)

    def _when(self, depth: int) -> None:
        given = [self.operand() for _ in range(self.draw(st.integers(0, 2)))]
        otherwise = [self.operand() for _ in range(self.draw(st.integers(1, 2)))]

        def build(inside: list[Expr]) -> list[Any]:
            inner = self._body(inside, depth)
            return [inner.operand() for _ in otherwise]

        self.numbers += self.graph.when(self.truth(), given, build, otherwise)

    def _each(self, depth: int) -> None:
        width, turns, size = (self.draw(st.integers(low, 3)) for low in (0, 1, 1))
        rows = [[self.operand() for _ in range(width)] for _ in range(turns)]

        def build(row: list[Expr]) -> list[Any]:
            inner = self._body(row, depth)
            return [inner.operand() for _ in range(size)]

        self.numbers += [x for row in self.graph.each(rows, build) for x in row]

    def _scan(self, depth: int) -> None:
        width, turns = (self.draw(st.integers(0, 3)) for _ in range(2))
        constant = self.draw(st.integers(0, 2))
        rows = [[1.5 * n + k if k < constant else self.operand() for k in range(width)] for n in range(turns)]
        start = [self.operand() for _ in range(self.draw(st.integers(1, 3)))]

        def build(row: list[Expr], carried: list[Expr]) -> list[Any]:
            inner = self._body(carried, depth, row)
            return [inner.operand() for _ in start]

        self.numbers += self.graph.scan(rows, start, build)

    def _sweep(self, depth: int) -> None:
        """Bounds are constants, within the table or not, or come from the rows of a scan around it."""
        width, length = (self.draw(st.integers(0, 3)) for _ in range(2))
        rows = tuple(tuple(0.5 * n - 0.75 * k for k in range(width)) for n in range(length))
        bounds = [[float(self.draw(st.integers(-1, 4))) for _ in range(2)] for _ in range(self.draw(st.integers(1, 3)))]
        start = [self.operand() for _ in range(self.draw(st.integers(1, 3)))]

        def build(row: list[Expr], carried: list[Expr]) -> list[Any]:
            inner = self._body(carried, depth, row)
            return [inner.operand() for _ in start]

        def swept(bounds: list[Any], carried: list[Any]) -> list[Expr]:
            return self.graph.sweep(Table(rows), *bounds, carried, build)

        if self.draw(st.booleans()):
            self.numbers += self.graph.scan(bounds, start, swept)
        else:
            self.numbers += swept(bounds[0], start)


def rows_for(program: Program, seed: int, batch: int) -> dict[str, np.ndarray]:
    """Inputs that float32 holds exactly: small numbers, zeros, some large ones, and a few infinities and NaN."""
    rng = np.random.default_rng(seed)
    inputs = {}
    for port in program.inputs:
        values = rng.normal(0.0, 2.0, (batch, *port.shape))
        eighths = rng.integers(-24, 25, values.shape) / 8
        values = np.where(rng.random(values.shape) < 0.4, eighths, values)
        values = np.where(rng.random(values.shape) < 0.05, 1000.0 * values, values)
        special = rng.choice([np.nan, np.inf, -np.inf], values.shape)
        values = np.where(rng.random(values.shape) < 0.03, special, values)
        inputs[port.name] = values.astype(np.float32).astype(np.float64)
    return inputs


# -- bounds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounded:
    """Outputs of the interpreter in float64, bounds on their errors in a precision, and which rows they hold for."""

    values: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    decided: np.ndarray

    def deviation(self, actual: Mapping[str, Any]) -> str | None:
        """What differs by more than twice the bounds, in words; None if all is well.

        Twice, because the interpreter errs too.
        """
        for name, expected in self.values.items():
            got, bound = np.asarray(actual[name], dtype=float), 2.0 * self.errors[name]
            assert got.shape == expected.shape, f"{name} has shape {got.shape}, not {expected.shape}"
            with np.errstate(invalid="ignore"):
                same = (got == expected) | (np.isnan(got) & np.isnan(expected)) | (np.abs(got - expected) <= bound)
            wrong = np.argwhere(~same & self.decided.reshape(-1, *[1] * (expected.ndim - 1)))
            if len(wrong):
                at = tuple(wrong[0])
                return f"{name}{list(at)} is {got[at]!r}, not {expected[at]!r} ± {bound[at]:.1e}"
        return None


def bounded(program: Program, inputs: Mapping[str, np.ndarray], dtype: str) -> Bounded:
    batch = len(next(iter(inputs.values())))
    lanes = {p.name: np.asarray(inputs[p.name], dtype=float).reshape(batch, p.size) for p in program.inputs}
    run = _Run(lanes, batch, dtype)
    with np.errstate(all="ignore"):
        results = [run.number(x) for x in run.block(program.body, np.ones(batch, dtype=bool))]
    values, errors, k = {}, {}, 0
    for port in program.outputs:
        mine = results[k : k + port.size]
        values[port.name], errors[port.name] = (
            np.array([pair[j] for pair in mine]).reshape(port.size, batch).T.reshape(batch, *port.shape) for j in (0, 1)
        )
        k += port.size
    return Bounded(values, errors, ~run.undecided)


EXACT = frozenset(("neg", "abs", "sign", "floor", "min", "max"))
ROUNDED = frozenset(("add", "sub", "mul", "div", "sqrt"))
SIGN_OF_ZERO_MATTERS = frozenset(("div", "atan2", "pow"))


class _Run:
    """The interpreter on pairs (value, bound on its error)."""

    def __init__(self, inputs: Mapping[str, np.ndarray], batch: int, dtype: str) -> None:
        self.inputs = inputs
        self.dtype = np.dtype(dtype)
        limits = np.finfo(dtype)
        self.unit = float(limits.eps) / 2
        self.tiny = float(limits.smallest_subnormal)
        self.large = float(limits.max) / 16
        self.undecided = np.zeros(batch, dtype=bool)
        self.values: dict[int, Any] = {}
        self.zeros = np.zeros(batch)

    def number(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        return x if isinstance(x, tuple) else (x + self.zeros, self.zeros)

    def block(self, block: Block, active: np.ndarray) -> list[Any]:
        for step in block.code:
            if step.op == "constant":
                x = float(step.extra)
                value: Any = (x + self.zeros, abs(np.nan_to_num(float(self.dtype.type(x)) - x)) + self.zeros)
            elif step.op == "truth":
                value = self.zeros == (0.0 if step.extra else 1.0)
            elif step.op == "input":
                value = (self.inputs[step.extra[0]][:, step.extra[1]], self.zeros)
            elif step.op == "entry":
                value = self.looked_up(step, active)
            elif step.op in OPS:
                value = self.operation(step.op, [self.values[a] for a in step.args], active)
            else:
                if step.op != "item":
                    results = getattr(self, f"{step.op}_")(step, active)
                    self.values.update(zip(step.results, results, strict=True))
                continue
            self.values[step.results[0]] = value
        return [self.values[r] for r in block.results]

    def operation(self, op: str, args: list[Any], active: np.ndarray) -> Any:
        row = OPS[op]
        if op in ("and", "or", "not"):
            return row.meaning(*args)
        if op == "select":
            return self.chosen(*args)
        xs, es = [x for x, _ in args], [e for _, e in args]
        if op in SIGN_OF_ZERO_MATTERS:
            es = [np.maximum(e, self.tiny) for e in es]
        y = row.meaning(*xs)
        spread, doubtful = self.zeros, ~np.all(np.isfinite(es), axis=0)
        for signs in itertools.product((-1, 0, 1), repeat=len(xs)):
            corner = row.meaning(*(x + s * e for x, s, e in zip(xs, signs, es, strict=True)))
            if row.returns_truth:
                doubtful |= corner != y
            else:
                same = (corner == y) | (np.isnan(corner) & np.isnan(y))
                doubtful |= ~same & ~(np.isfinite(corner) & np.isfinite(y))
                spread = np.fmax(spread, np.abs(corner - y))
        doubtful |= self._beyond_corners(op, xs, es, y)
        self.undecided |= doubtful & active
        if row.returns_truth:
            return y
        inexact = 0.0 if op in EXACT else 1.0 if op in ROUNDED else 8.0
        if op in ("sin", "cos"):
            spread = np.fmax(spread, es[0])
        error = 1.01 * spread + inexact * (self.unit * np.abs(y) + self.tiny)
        return y, np.where(np.isfinite(y), error, 0.0)

    def _beyond_corners(self, op: str, xs: list[Any], es: list[Any], y: Any) -> Any:
        """Where the corners of the operands' intervals do not tell what happens between them."""
        finite = np.all(np.isfinite(xs), axis=0)
        if op == "eq":
            return (np.abs(xs[0] - xs[1]) <= es[0] + es[1]) & (es[0] + es[1] > 0)
        doubtful = finite & ~(np.abs(y) < self.large) & ~np.isnan(y) if op not in ("log", "lt", "le") else False
        if op == "div":
            doubtful |= np.abs(xs[1]) <= es[1]
        if op == "pow":  # NumPy takes x^0.5 with one exponent for all rows as the root, which has no value at -inf
            doubtful |= np.isneginf(xs[0])
        if op in ("pow", "atan2"):
            for x, e in zip(xs, es, strict=True):
                doubtful |= e > 1e-3 * np.maximum(1.0, np.abs(x))
        if op == "tan":  # whose poles are as far as 1/|tan x|, whatever the size of x
            doubtful |= es[0] * np.maximum(1.0, np.abs(np.tan(xs[0]))) > 1e-3
        return doubtful

    def looked_up(self, step: Instruction, active: np.ndarray) -> Any:
        """Of sixteenths, which both precisions hold; undecided where an error may lead to another row."""
        (table, column), (x, error) = step.extra, self.number(self.values[step.args[0]])
        entries, last = np.array([row[column] for row in table.rows]), len(table.rows) - 1
        low, at, high = (np.clip(np.nan_to_num(x + s * error), 0, last).astype(int) for s in (-1, 0, 1))
        self.undecided |= ((low != high) | ~np.isfinite(error)) & active
        return entries[at], self.zeros

    def chosen(self, condition: Any, x: Any, y: Any) -> Any:
        (x, ex), (y, ey) = self.number(x), self.number(y)
        return np.where(condition, x, y), np.where(condition, ex, ey)

    def for_(self, step: Instruction, active: np.ndarray) -> list[Any]:
        count, block = step.extra
        carried = [self.values[a] for a in step.args]
        for i in range(count):
            self.values.update(zip(block.parameters, [(i + self.zeros, self.zeros), *carried], strict=True))
            carried = self.block(block, active)
        return carried

    def while_(self, step: Instruction, active: np.ndarray) -> list[Any]:
        limit, block = step.extra
        carried = [self.values[a] for a in step.args]
        for _ in range(limit):
            self.values.update(zip(block.parameters, carried, strict=True))
            condition, *stepped = self.block(block, active)
            active = active & condition
            if not active.any():
                break
            carried = [self.chosen(active, new, old) for new, old in zip(stepped, carried, strict=True)]
        return carried

    def each_(self, step: Instruction, active: np.ndarray) -> list[Any]:
        count, block = step.extra
        width, results = len(block.parameters), []
        for turn in range(count):
            row = step.args[turn * width : (turn + 1) * width]
            self.values.update(zip(block.parameters, [self.values[a] for a in row], strict=True))
            results += self.block(block, active)
        return results

    def scan_(self, step: Instruction, active: np.ndarray) -> list[Any]:
        count, block = step.extra
        width = len(block.parameters) - len(step.results)
        carried = [self.values[a] for a in step.args[count * width :]]
        for turn in range(count):
            row = [self.values[a] for a in step.args[turn * width : (turn + 1) * width]]
            self.values.update(zip(block.parameters, [*row, *carried], strict=True))
            carried = self.block(block, active)
        return carried

    def sweep_(self, step: Instruction, active: np.ndarray) -> list[Any]:
        table, block = step.extra
        first, count = (int(self.values[a][0][0]) for a in step.args[:2])
        carried = [self.values[a] for a in step.args[2:]]
        for k in range(first, first + count):
            if 0 <= k < len(table.rows):
                row = [(x + self.zeros, self.zeros) for x in table.rows[k]]  # sixteenths, which both precisions hold
                self.values.update(zip(block.parameters, [*row, *carried], strict=True))
                carried = self.block(block, active)
        return carried

    def when_(self, step: Instruction, active: np.ndarray) -> list[Any]:
        given, block = step.extra
        condition, *rest = (self.values[a] for a in step.args)
        self.values.update(zip(block.parameters, rest[:given], strict=True))
        inside = self.block(block, active & condition)
        return [self.chosen(condition, x, y) for x, y in zip(inside, rest[given:], strict=True)]


def used_ops(program: Program) -> set[str]:
    """Every operation, loop and region in a program."""
    found: set[str] = set()

    def visit(block: Block) -> None:
        for step in block.code:
            found.add(step.op)
            if step.op in BLOCKS:
                visit(step.extra[1])

    visit(program.body)
    return found
