"""A program as one C99 file that needs nothing but <math.h>: one function, which evaluates one row.

It allocates nothing and keeps no state. Each value of the program is one constant of the function, in the program's
order; truths are ints, loops are for loops over variables, regions are ifs. All outputs are written last, so they may
overlap inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qdot.backends.c_names import HELPERS, Names, comment
from qdot.compiler.graph import BLOCKS
from qdot.compiler.ops import OPS
from qdot.compiler.program import Block, Instruction, Program, steps
from qdot.compiler.table import Table


def source(program: Program, *, dtype: str = "float64", name: str | None = None) -> str:
    """The C file. `name` is the function's, made of the program's where none is given."""
    names = Names(program, dtype, name)
    writer = _Writer(program, names)
    body = writer.function()
    helpers = [
        f"static {HELPERS[op].format(T=names.type, name=names.function)}" for op in HELPERS if op in writer.helpers
    ]
    parts = [
        comment(program, names),
        "#include <math.h>",
        "",
        *(line for helper in helpers for line in (helper, "")),
        f"{names.prototype()};",
        "",
        names.prototype(),
        *body,
    ]
    return "\n".join(parts) + "\n"


def header(program: Program, *, dtype: str = "float64", name: str | None = None) -> str:
    """The matching header file."""
    names = Names(program, dtype, name)
    guard = f"{names.function.upper()}_H"
    parts = [
        comment(program, names),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"{names.prototype()};",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
    ]
    return "\n".join(parts) + "\n"


class _Writer:
    """Writes the body; `spelled` is how each value is written where it is used."""

    def __init__(self, program: Program, names: Names) -> None:
        self.program = program
        self.names = names
        self.spelled: dict[int, str] = {}
        self.helpers: set[str] = set()
        self.used = _used(program.body)
        self.loops = 0
        self.tables: dict[Table, str] = {}

    def function(self) -> list[str]:
        code = list(self.block(self.program.body, "    "))
        read = {step.extra[0] for step in steps(self.program.body) if step.op == "input"}
        lines = [
            f"    (void){x};"
            for x, port in zip(self.names.inputs, self.program.inputs, strict=True)
            if port.name not in read
        ]
        lines += [
            f"    (void){x};" for x, p in zip(self.names.outputs, self.program.outputs, strict=True) if p.size == 0
        ]
        lines += [self._table(table, name) for table, name in self.tables.items()]
        lines += code
        results = iter(self.program.body.results)
        for target, port in zip(self.names.outputs, self.program.outputs, strict=True):
            lines += [f"    {target}[{place}] = {self.spelled[next(results)]};" for place in range(port.size)]
        return ["{", *lines, "}"]

    def block(self, block: Block, indent: str) -> Iterator[str]:
        for step in block.code:
            if step.op in BLOCKS:
                yield from getattr(self, f"_{step.op}")(step, indent)
            elif step.op != "item":
                yield from self._value(step, indent)

    def _value(self, step: Instruction, indent: str) -> Iterator[str]:
        number, kind, text, note = step.results[0], self.names.type, "", ""
        if step.op == "truth":
            self.spelled[number] = "1" if step.extra else "0"
            return
        if step.op == "constant":
            text = self._literal(step.extra)
            if not text.startswith(("0x", "-0x")):
                self.spelled[number] = f"({text})" if text.startswith("-") else text
                return
            note = f"  /* {self._rounded(step.extra)} */"
        elif step.op == "input":
            name, place = step.extra
            port = next(k for k, p in enumerate(self.program.inputs) if p.name == name)
            text = f"{self.names.inputs[port]}[{place}]"
        elif step.op == "entry":
            table, column = step.extra
            name = self.tables.setdefault(table, f"t{len(self.tables)}")
            text = f"{name}[{self._within(self.spelled[step.args[0]], len(table.rows) - 1)}][{column}]"
        else:
            kind = "int" if OPS[step.op].returns_truth else kind
            text = self._operation(step)
        self.spelled[number] = f"v{number}"
        yield f"{indent}const {kind} v{number} = {text};{note}"
        if number not in self.used:
            yield f"{indent}(void)v{number};"

    def _operation(self, step: Instruction) -> str:
        args = [self.spelled[a] for a in step.args]
        if step.op in HELPERS:
            self.helpers.add(step.op)
            return f"{self.names.function}_{step.op}({', '.join(args)})"
        text = OPS[step.op].c.format(*args)
        if text.startswith("("):
            return text[1:-1]
        return text if self.names.type == "double" else text.replace("(", "f(", 1)

    def _rounded(self, value: float) -> Any:
        return value if self.names.type == "double" else np.float32(value).item()

    def _literal(self, value: float) -> str:
        """The number without loss: short decimals as they are, anything else in hexadecimal."""
        with np.errstate(over="ignore"):
            x = float(self._rounded(value))
        suffix = "" if self.names.type == "double" else "f"
        if x != x:
            return "NAN"
        if x in (np.inf, -np.inf):
            return "INFINITY" if x > 0 else "-INFINITY"
        if abs(x) < 2**20 and (16.0 * x).is_integer():  # a fraction of sixteenths is exact in decimal
            return f"{x!r}{suffix}"
        return f"{x.hex()}{suffix}"

    # -- loops and regions ---------------------------------------------------------------------------------------------

    def _variables(self, step: Instruction, initial: Sequence[int], indent: str) -> Iterator[str]:
        for r, x in zip(step.results, initial, strict=True):
            yield f"{indent}{self.names.type} v{r} = {self.spelled[x]};"
            self.spelled[r] = f"v{r}"

    def _unread(self, step: Instruction, indent: str) -> Iterator[str]:
        yield from (f"{indent}(void)v{r};" for r in step.results if r not in self.used)

    def _assigned(self, step: Instruction, values: Sequence[int], indent: str) -> Iterator[str]:
        """All variables at once: one that another one needs is kept aside first."""
        pairs = [(f"v{r}", self.spelled[x]) for r, x in zip(step.results, values, strict=True)]
        pairs = [(target, x) for target, x in pairs if target != x]
        targets = {target for target, _ in pairs}
        aside = {x: f"n{x[1:]}" for _, x in pairs if x in targets}
        yield from (f"{indent}const {self.names.type} {new} = {old};" for old, new in aside.items())
        yield from (f"{indent}{target} = {aside.get(x, x)};" for target, x in pairs)

    def _counting(self, limit: int, indent: str) -> tuple[str, str]:
        self.loops += 1
        i = f"i{self.loops}"
        return i, f"{indent}for (long {i} = 0; {i} < {limit}; ++{i}) {{"

    def _for(self, step: Instruction, indent: str) -> Iterator[str]:
        count, block = step.extra
        inner = f"{indent}    "
        yield from self._variables(step, step.args, indent)
        i, head = self._counting(count, indent)
        yield head
        turn = block.parameters[0]
        self.spelled[turn] = f"v{turn}"
        if turn in self.used:
            yield f"{inner}const {self.names.type} v{turn} = ({self.names.type}){i};"
        self.spelled.update((p, f"v{r}") for p, r in zip(block.parameters[1:], step.results, strict=True))
        yield from self.block(block, inner)
        yield from self._assigned(step, block.results, inner)
        yield f"{indent}}}"
        yield from self._unread(step, indent)

    def _turns(self, step: Instruction, width: int, indent: str) -> Iterator[str]:
        """The operands of a loop's turns in a table, the head of the loop, and those of a turn that its body reads."""
        count, block = step.extra
        T, given = self.names.type, f"g{step.results[0]}"
        read = [k for k, p in enumerate(block.parameters[:width]) if p in self.used]
        rows = [[self.spelled[step.args[turn * width + k]] for k in read] for turn in range(count)]
        if read:
            listed = ", ".join(f"{{{', '.join(row)}}}" for row in rows)
            yield f"{indent}const {T} {given}[{count}][{len(read)}] = {{{listed}}};"
        i, head = self._counting(count, indent)
        yield head
        for place, k in enumerate(read):
            p = block.parameters[k]
            self.spelled[p] = f"v{p}"
            yield f"{indent}    const {T} v{p} = {given}[{i}][{place}];"

    def _each(self, step: Instruction, indent: str) -> Iterator[str]:
        block, inner, results = step.extra[1], f"{indent}    ", f"r{step.results[0]}"
        yield f"{indent}{self.names.type} {results}[{len(step.results)}];"
        yield from self._turns(step, len(block.parameters), indent)
        i = f"i{self.loops}"
        yield from self.block(block, inner)
        for k, r in enumerate(block.results):
            yield f"{inner}{results}[{len(block.results)} * {i} + {k}] = {self.spelled[r]};"
        yield f"{indent}}}"
        self.spelled.update((r, f"{results}[{k}]") for k, r in enumerate(step.results))
        if not any(r in self.used for r in step.results):
            yield f"{indent}(void){results};"

    def _scan(self, step: Instruction, indent: str) -> Iterator[str]:
        count, block = step.extra
        width = len(block.parameters) - len(step.results)
        yield from self._variables(step, step.args[count * width :], indent)
        yield from self._turns(step, width, indent)
        self.spelled.update((p, f"v{r}") for p, r in zip(block.parameters[width:], step.results, strict=True))
        yield from self.block(block, f"{indent}    ")
        yield from self._assigned(step, block.results, f"{indent}    ")
        yield f"{indent}}}"
        yield from self._unread(step, indent)

    def _sweep(self, step: Instruction, indent: str) -> Iterator[str]:
        table, block = step.extra
        T, inner = self.names.type, f"{indent}    "
        self.loops += 1
        i, (first, count) = f"i{self.loops}", (self.spelled[a] for a in step.args[:2])
        start, end = (self._within(x, len(table.rows)) for x in (first, f"{first} + {count}"))
        yield from self._variables(step, step.args[2:], indent)
        yield f"{indent}for (long {i} = {start}; {i} < {end}; ++{i}) {{"
        for k, p in enumerate(block.parameters[: table.width]):
            self.spelled[p] = f"v{p}"
            if p in self.used:
                name = self.tables.setdefault(table, f"t{len(self.tables)}")
                yield f"{inner}const {T} v{p} = {name}[{i}][{k}];"
        self.spelled.update((p, f"v{r}") for p, r in zip(block.parameters[table.width :], step.results, strict=True))
        yield from self.block(block, inner)
        yield from self._assigned(step, block.results, inner)
        yield f"{indent}}}"
        yield from self._unread(step, indent)

    def _within(self, x: str, last: int) -> str:
        """A number of 0 … last as a whole one."""
        low, high = ("fmax", "fmin") if self.names.type == "double" else ("fmaxf", "fminf")
        return f"(long){high}({low}({x}, 0), {last})"

    def _table(self, table: Table, name: str) -> str:
        rows = ", ".join(f"{{{', '.join(self._literal(x) for x in row)}}}" for row in table.rows)
        return f"    static const {self.names.type} {name}[{len(table.rows)}][{table.width}] = {{{rows}}};"

    def _while(self, step: Instruction, indent: str) -> Iterator[str]:
        limit, block = step.extra
        inner = f"{indent}    "
        yield from self._variables(step, step.args, indent)
        yield self._counting(limit, indent)[1]
        self.spelled.update((p, f"v{r}") for p, r in zip(block.parameters, step.results, strict=True))
        yield from self.block(block, inner)
        yield f"{inner}if (!{self.spelled[block.results[0]]}) {{"
        yield f"{inner}    break;"
        yield f"{inner}}}"
        yield from self._assigned(step, block.results[1:], inner)
        yield f"{indent}}}"
        yield from self._unread(step, indent)

    def _when(self, step: Instruction, indent: str) -> Iterator[str]:
        given, block = step.extra
        inner = f"{indent}    "
        condition, *rest = step.args
        yield from self._variables(step, rest[given:], indent)
        yield f"{indent}if ({self.spelled[condition]}) {{"
        self.spelled.update((p, self.spelled[x]) for p, x in zip(block.parameters, rest, strict=False))
        yield from self.block(block, inner)
        yield from self._assigned(step, block.results, inner)
        yield f"{indent}}}"
        yield from self._unread(step, indent)


def _used(block: Block) -> set[int]:
    """Values that the C text reads; what a region or a row is given it reads only if the body does."""
    found = set(block.results)
    given: list[tuple[int, int]] = []
    for step in steps(block):
        if step.op == "when":
            number, inner = step.extra
            given += zip(inner.parameters, step.args[1:], strict=False)
            found.update(step.args[:1], step.args[1 + number :], inner.results)
        elif step.op in ("each", "scan"):
            count, inner = step.extra
            width = len(inner.parameters) - (len(step.results) if step.op == "scan" else 0)
            given += zip(inner.parameters[:width] * count, step.args, strict=False)
            found.update(step.args[count * width :], inner.results)
        elif step.op != "item":
            found.update(step.args, step.extra[1].results if step.op in BLOCKS else ())
    found.update(x for p, x in reversed(given) if p in found)  # inner regions first
    return found
