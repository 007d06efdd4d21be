"""A program: named inputs and outputs with shapes, and straight-line code with structured loops and regions.

Values are numbered; an instruction defines one or more and uses earlier ones. A block has parameters, code and
results; `for`, `while`, `when`, `each`, `scan` and `sweep` hold a block. `lower` makes a program of a graph: it keeps
what the outputs need (dead code falls away, equal things are one node already) and orders it so that few values are
alive at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import prod
from typing import Any

from qdot.compiler.expr import Expr
from qdot.compiler.graph import BLOCKS, Graph, result_count
from qdot.compiler.ops import OPS
from qdot.compiler.table import Table
from qdot.quick import quick

VERSION = 2
"""Of the meaning of programs: part of their hash."""

EFFORT = "effort"
"""The name of an output, one number of 0 or more, that tells how long a row took: those that take equally long may be
computed side by side."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: its name and the shape of one row; () is a single number."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)


@quick
@dataclass(frozen=True, slots=True)
class Instruction:
    """results = op(args); `extra` is a constant's value, an input's (name, place), an entry's (Table, column), or a
    loop's (number, Block), where a sweep has a Table for the number."""

    op: str
    args: tuple[int, ...]
    results: tuple[int, ...]
    extra: Any = None


@dataclass(frozen=True, slots=True)
class Block:
    """Code with parameters and results, all by value number."""

    parameters: tuple[int, ...]
    code: tuple[Instruction, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Stretch:
    """Code of `turns` turns, alike but for operands; 1 is straight-line code."""

    code: tuple[Instruction, ...]
    turns: int = 1

    @property
    def period(self) -> int:
        """Instructions of a turn."""
        return len(self.code) // self.turns


@dataclass(frozen=True)
class Program:
    """Inputs and outputs in order; the results of the body are the entries of the outputs, end to end, row-major."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    body: Block

    @cached_property
    def hash(self) -> str:
        """The same for programs that compute the same way."""
        return blake2b(self.serialized().encode(), digest_size=16).hexdigest()

    @cached_property
    def stretches(self) -> list[Stretch]:
        """Its code, in stretches that repeat themselves if it is long."""
        from qdot.compiler.rolling import rolled

        return rolled(self)

    def operations(self) -> int:
        """How many arithmetic operations one evaluation takes: a counted loop all its turns, a sweep its whole table,
        any other block once."""
        return _operations(self.body)

    def serialized(self) -> str:
        """The program as JSON; `parsed` reads it."""
        ports = [[[p.name, list(p.shape)] for p in ports] for ports in (self.inputs, self.outputs)]
        tables: dict[Table, int] = {}
        body = _packed(self.body, tables)
        listed = [table.rows for table in tables]
        return json.dumps([VERSION, self.name, *ports, body, listed], separators=(",", ":"))

    @staticmethod
    def parsed(text: str) -> Program:
        from qdot.compiler.verify import verify

        version, *rest = json.loads(text)
        if version != VERSION:
            raise ValueError(f"a program of version {version} cannot be read by version {VERSION}; compile it again")
        name, inputs, outputs, body, listed = rest
        tables = [Table(tuple(map(tuple, rows))) for rows in listed]
        ports = [tuple(Port(n, tuple(shape)) for n, shape in rows) for rows in (inputs, outputs)]
        program = Program(name, ports[0], ports[1], _unpacked(body, tables))
        verify(program)
        return program

    def packed(self) -> tuple[Program, dict[str, list[int]]]:
        """The program with a vector of the different entries of each output for it, and where each entry is in that."""
        outputs: list[Port] = []
        results: list[int] = []
        entries: dict[str, list[int]] = {}
        k = 0
        for port in self.outputs:
            mine = self.body.results[k : k + port.size]
            places = {value: place for place, value in enumerate(dict.fromkeys(mine))}
            outputs.append(Port(port.name, (len(places),)))
            entries[port.name] = [places[value] for value in mine]
            results += places
            k += port.size
        body = Block(self.body.parameters, self.body.code, tuple(results))
        return Program(self.name, self.inputs, tuple(outputs), body), entries

    def __str__(self) -> str:
        takes = ", ".join(f"{p.name}{list(p.shape)}" for p in self.inputs)
        gives = ", ".join(f"{p.name}{list(p.shape)}" for p in self.outputs)
        return "\n".join([f"{self.name}({takes}) -> ({gives})", *_lines(self.body, "  ")])


def lower(name: str, graph: Graph, inputs: Sequence[Port], outputs: Mapping[Port, Sequence[Expr | float]]) -> Program:
    """The program that computes these expressions."""
    from qdot.compiler.verify import verify

    results = [graph.require(x) for entries in outputs.values() for x in entries]
    for port, entries in outputs.items():
        if len(entries) != port.size:
            raise ValueError(f"output {port.name!r} of {name!r} has shape {port.shape} but {len(entries)} entries")
    body = _Lowering(graph).block((), tuple(results), {})
    program = Program(name, tuple(inputs), tuple(outputs), body)
    verify(program)
    return program


class _Lowering:
    """Orders the nodes of a graph into blocks."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.count = 0

    def block(self, parameters: tuple[int, ...], results: tuple[int, ...], outer: dict[int, int]) -> Block:
        values = dict(outer)
        own = tuple(self._new(values, p) for p in parameters)
        code: list[Instruction] = []
        for node in self._ordered(results, values):
            code.append(self._instruction(node, values))
        return Block(own, tuple(code), tuple(values[r] for r in results))

    def _new(self, values: dict[int, int], node: int) -> int:
        values[node] = self.count
        self.count += 1
        return values[node]

    def _ordered(self, results: tuple[int, ...], known: Mapping[int, int]) -> list[int]:
        """What the results need, in the order in which the text made it.

        People write what belongs together in one place: of all orders that were tried (operands that need more
        registers first, after Sethi and Ullman 1970; greedy list scheduling; depth first) this one keeps the fewest
        values alive, by a half and more.
        """
        needed: set[int] = set()
        pending = list(results)
        while pending:
            node = pending.pop()
            if node not in needed and node not in known:
                needed.add(node)
                pending.extend(self.graph.args[node])
        return sorted(needed)

    def _instruction(self, node: int, values: dict[int, int]) -> Instruction:
        graph = self.graph
        op, extra = graph.ops[node], graph.extras[node]
        args = tuple(values[a] for a in graph.args[node])
        if op == "parameter":
            raise ValueError("a value of a loop's body was used outside of it; return it from the body instead")
        if op in BLOCKS:
            number, operands, _, parameters, results = extra
            block = self.block(parameters, results, values)
            first = self.count
            self.count += result_count(op, number, len(results))
            values[node] = first  # its items are first, first + 1, …
            return Instruction(op, args[:operands], tuple(range(first, self.count)), (number, block))
        if op == "item":
            values[node] = args[0] + extra
            return Instruction("item", (values[node],), ())
        if op in ("constant", "truth"):
            extra = graph.constants[node]
        return Instruction(op, args, (self._new(values, node),), extra)


def steps(block: Block) -> Iterator[Instruction]:
    """Every instruction, those of inner blocks after the one that holds them."""
    for step in block.code:
        yield step
        if step.op in BLOCKS:
            yield from steps(step.extra[1])


def columns_of(step: Instruction) -> list[tuple[int, ...]]:
    """The operands of the turns of an `each` or a `scan`, by columns of its rows."""
    turns, block = step.extra
    width = len(block.parameters) - (len(step.results) if step.op == "scan" else 0)
    return [step.args[k : turns * width : width] for k in range(width)]


def read_from_outside(block: Block) -> list[int]:
    """The values of outer blocks that a block reads, in the order in which it first does."""
    own = set(block.parameters)
    found: dict[int, None] = {}
    for step in steps(block):
        if step.op in BLOCKS:
            own.update(step.extra[1].parameters)
        own.update(step.results)
    for step in steps(block):
        found.update((a, None) for a in step.args if a not in own)
        if step.op in BLOCKS:
            found.update((r, None) for r in step.extra[1].results if r not in own)
    found.update((r, None) for r in block.results if r not in own)
    return list(found)


def is_truth(step: Instruction) -> bool:
    """Whether what a step gives is true or false."""
    return step.op in OPS and OPS[step.op].returns_truth


def sines_and_cosines(block: Block) -> set[int]:
    """Angles of which both the sine and the cosine are wanted."""
    wanted: dict[str, set[int]] = {"sin": set(), "cos": set()}
    for step in steps(block):
        if step.op in wanted:
            wanted[step.op].add(step.args[0])
    return wanted["sin"] & wanted["cos"]


def _operations(block: Block) -> int:
    total = 0
    for step in block.code:
        if step.op in BLOCKS:
            number, inner = step.extra
            turns = len(number.rows) if step.op == "sweep" else number
            total += _operations(inner) * (turns if step.op in ("for", "each", "scan", "sweep") else 1)
        elif step.op in OPS or step.op == "entry":
            total += 1
    return total


def _packed(block: Block, tables: dict[Table, int]) -> list[Any]:
    """A block as lists; tables, which many instructions share, are numbered."""
    code = []
    for step in block.code:
        extra = step.extra
        if step.op in BLOCKS:
            number = tables.setdefault(extra[0], len(tables)) if step.op == "sweep" else extra[0]
            extra = [number, _packed(extra[1], tables)]
        elif step.op == "entry":
            extra = [tables.setdefault(extra[0], len(tables)), extra[1]]
        elif step.op == "constant":
            extra = float(extra).hex()
        code.append([step.op, list(step.args), list(step.results), extra])
    return [list(block.parameters), code, list(block.results)]


def _unpacked(rows: list[Any], tables: Sequence[Table]) -> Block:
    parameters, code, results = rows
    steps = []
    for op, args, defined, extra in code:
        if op in BLOCKS:
            extra = (tables[extra[0]] if op == "sweep" else extra[0], _unpacked(extra[1], tables))
        elif op == "entry":
            extra = (tables[extra[0]], extra[1])
        elif op == "constant":
            extra = float.fromhex(extra)
        elif op == "input":
            extra = tuple(extra)
        steps.append(Instruction(op, tuple(args), tuple(defined), extra))
    return Block(tuple(parameters), tuple(steps), tuple(results))


def _lines(block: Block, indent: str) -> Iterator[str]:
    for step in block.code:
        if step.op == "item":
            continue
        defined = ", ".join(f"%{r}" for r in step.results)
        args = " ".join(f"%{a}" for a in step.args)
        if step.op in BLOCKS:
            number, inner = step.extra
            with_ = " ".join(f"%{p}" for p in inner.parameters)
            said = f"{len(number.rows)} rows" if step.op == "sweep" else number
            yield f"{indent}{defined} = {step.op} {said} {args} with {with_}"
            yield from _lines(inner, indent + "  ")
        elif step.op == "input":
            yield f"{indent}{defined} = {step.extra[0]}[{step.extra[1]}]"
        elif step.op in ("constant", "truth"):
            yield f"{indent}{defined} = {step.extra!r}"
        elif step.op == "entry":
            yield f"{indent}{defined} = entry {step.extra[1]} of {len(step.extra[0].rows)} rows {args}"
        else:
            yield f"{indent}{defined} = {step.op} {args}"
    yield f"{indent}return {' '.join(f'%{r}' for r in block.results)}"
