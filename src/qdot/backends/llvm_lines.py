"""Straight-line code as LLVM assembly: one vector register holds one value of several rows of the batch.

Values are %v0, %v1 …; column k of an input is a vector at pointer + k · stride; constants are read from one table,
where they are used; what later code finds in memory lies in places of a tile.
"""

from __future__ import annotations

from functools import partial

from qdot.backends.llvm_lookup import fetched, looked_up, places, written
from qdot.backends.llvm_math import Vectors
from qdot.backends.llvm_names import Names
from qdot.backends.llvm_tile import Tile
from qdot.backends.llvm_vectors import table_of
from qdot.compiler.ops import OPS
from qdot.compiler.program import Instruction, Program, is_truth, sines_and_cosines
from qdot.compiler.table import Table

CONTRACT = frozenset(("fadd", "fsub", "fmul"))
INTRINSICS = {"@sqrt": "sqrt", "@abs": "fabs", "@floor": "floor", "@min": "minimum", "@max": "maximum"}


class Lines:
    """Writes instructions; `called` gathers the functions that they need."""

    def __init__(self, program: Program, vectors: Vectors, tile: Tile, tag: str = "") -> None:
        self.program = program
        self.tile = tile
        self.tag = tag
        self.vectors = vectors
        self.called: set[str] = set()
        self.lines: list[str] = []
        self.labels = 0
        self.label = "entry"
        self.memory = "%tile"
        """Where the tile begins."""
        self.names = Names()
        self.again = ""
        """What names of values end with where their code is written more than once."""
        self.constants: dict[int, int] = {}
        self.values: dict[int, float] = {}
        """What constants are."""
        self.numbers: list[str] = []
        self.tables: list[str] = []
        self.listed: dict[Table, str] = {}
        """Tables that are written, by name."""
        self.twins = sines_and_cosines(program.body)
        self.paired: dict[str, str] = {}
        self.addresses: dict[tuple[str, str], tuple[int, str]] = {}
        """By label and address: since when it goes by which name there."""

    def begin(self) -> None:
        """A function begins."""
        self.lines, self.label, self.paired, self.addresses = [], "entry", {}, {}

    def step(self, step: Instruction) -> None:
        if step.op == "constant":
            self.names[step.results[0]] = self.vectors.splat(step.extra)
            self.values[step.results[0]] = step.extra
            if step.extra != 0:  # which costs nothing to make
                self.constants[step.results[0]] = len(self.numbers)
                self.numbers.append(self.vectors.literal(step.extra))
        elif step.op == "truth":
            self.names[step.results[0]] = f"splat (i1 {'true' if step.extra else 'false'})"
        elif step.op == "input":
            self._input(step, self.name(step.results[0]))
        elif step.op == "entry":
            self._entry(step)
        elif step.op == "fetch":
            self._fetch(step)
        elif step.op != "item":
            self._operation(step)

    def fetch(self, value: int, step: Instruction) -> None:
        """What a step in another part has computed, from where it lies."""
        if step.op not in ("constant", "truth"):
            self._bring(value, step, self.name(value))

    def fetch_later(self, value: int, step: Instruction) -> None:
        """The same, where it is read."""
        if step.op not in ("constant", "truth"):
            self.names.pop(value, None)
            self.names.later[value] = partial(self._fetched, value, step)

    def _fetched(self, value: int, step: Instruction) -> str:
        self.labels += 1
        name = f"%v{value}{self.again}.{self.labels}"
        self._bring(value, step, name, self.anew(self.memory))
        return name

    def _bring(self, value: int, step: Instruction, into: str, memory: str = "") -> None:
        if step.op == "input":
            self._input(step, into)
        else:
            self.load(self.tile.place(value), into, memory, truth=is_truth(step))

    def anew(self, base: str) -> str:
        """An address from which what is loaded a while later is loaded again: LLVM does not know that it is the same,
        and would keep what was loaded first."""
        since, name = self.addresses.get((self.label, base), (self.names.now, base))
        if not self.names.is_recent(since):
            self.labels += 1
            since, name = self.names.now, f"%anew{self.labels}"
            self.lines.append(f'  {name} = call ptr asm "", "=r,0"(ptr {base})')
        self.addresses[self.label, base] = since, name
        return name

    def number(self, truth: int) -> str:
        """1 or 0 for a truth, which has no place in memory."""
        v = self.vectors
        self.labels += 1
        name = f"%truth{self.labels}"
        self.lines.append(
            f"  {name} = select <{v.width} x i1> {self.names[truth]}, {v.type} {v.splat(1.0)}, {v.type} zeroinitializer"
        )
        return name

    def broadcast(self, scalar: str, tag: str) -> str:
        v = self.vectors
        self.lines.append(f"  %e.{tag} = insertelement {v.type} poison, {v.scalar} {scalar}, i64 0")
        zeros = f"<{v.width} x i32> zeroinitializer"
        self.lines.append(f"  %b.{tag} = shufflevector {v.type} %e.{tag}, {v.type} poison, {zeros}")
        return f"%b.{tag}"

    def _address(self, port: int, place: int) -> str:
        if place == 0:
            return f"%p{port}"
        self.labels += 1
        offset, address = f"%o{self.labels}", f"%a{self.labels}"
        self.lines.append(f"  {offset} = mul i64 %s{port}, {place}")
        self.lines.append(f"  {address} = getelementptr {self.vectors.scalar}, ptr %p{port}, i64 {offset}")
        return address

    def port(self, name: str) -> int:
        """The number of an input."""
        return next(k for k, p in enumerate(self.program.inputs) if p.name == name)

    def _input(self, step: Instruction, into: str) -> None:
        name, place = step.extra
        address = self._address(self.port(name), place)
        self.lines.append(f"  {into} = load {self.vectors.type}, ptr {address}, align {self.vectors.bytes}")

    def operand(self, value: int) -> str:
        """A constant is read where it is used: an instruction takes one number from memory for all lanes."""
        if value not in self.constants:
            return self.names[value]
        self.labels += 1
        name = f"constant{self.labels}"
        place, T = self.constants[value], self.vectors.scalar
        self.lines.append(f"  %at.{name} = getelementptr {T}, ptr %constants, i64 {place}")
        self.lines.append(f"  %{name} = load {T}, ptr %at.{name}, !invariant.load !1")
        return self.broadcast(f"%{name}", name)

    def name(self, value: int) -> str:
        self.names[value] = f"%v{value}{self.again}"
        return self.names[value]

    def _operation(self, step: Instruction) -> None:
        row, T, W = OPS[step.op], self.vectors.type, self.vectors.width
        args = [self.operand(a) for a in step.args]
        if step.op in ("sin", "cos") and step.args[0] in self.twins:
            self.names[step.results[0]] = self._sine_or_cosine(step.op, args[0])
            return
        result = self.name(step.results[0])
        spelled = row.llvm
        if spelled.startswith("@"):
            operands = ", ".join(f"{T} {a}" for a in args)
            if spelled in INTRINSICS:
                function = f"@llvm.{INTRINSICS[spelled]}.{self.vectors.suffix}"
            else:
                function = f"@{step.op}.{self.vectors.suffix}"
                operands += f", ptr {table_of(function)}"
            self.called.add(function)
            flags = "nsz " if step.op in ("min", "max") else ""  # which of two zeros it is would take as long again
            self.lines.append(f"  {result} = call {flags}{T} {function}({operands})")
        elif spelled == "select":
            self.lines.append(f"  {result} = select <{W} x i1> {args[0]}, {T} {args[1]}, {T} {args[2]}")
        elif spelled == "not":
            self.lines.append(f"  {result} = xor <{W} x i1> {args[0]}, splat (i1 true)")
        else:
            kind = f"<{W} x i1>" if spelled in ("and", "or") else T
            flags = " contract" if spelled in CONTRACT else ""
            self.lines.append(f"  {result} = {spelled}{flags} {kind} {', '.join(args)}")

    def _entry(self, step: Instruction) -> None:
        """Each lane reads what it names: all entries of its row at once, which others ask for, too."""
        (table, column), (a,) = step.extra, step.args
        key, name = f"entries of {self.names[a]} in {self.rows(table)}", self._places(table, a)
        if key not in self.paired:
            self.paired[key] = name
            self.lines += looked_up(self.vectors, self.rows(table), table, name, self.called)
        self.names[step.results[0]] = f"%c{column}.{name}"

    def _fetch(self, step: Instruction) -> None:
        self.lines += fetched(self.vectors, self._places(step.extra, step.args[0]), self.called)

    def _places(self, table: Table, index: int) -> str:
        """The mark of names that tell where the rows of a table are that lanes name."""
        key = f"{self.names[index]} in {self.rows(table)}"
        if key not in self.paired:
            self.labels += 1
            self.paired[key] = f"row{self.labels}"
            self.lines += places(self.vectors, self.rows(table), table, self.names[index], self.paired[key])
        return self.paired[key]

    def rows(self, table: Table) -> str:
        """The rows of a table, end to end, in memory once."""
        if table not in self.listed:
            self.listed[table] = f"@rows{self.tag}.{len(self.listed)}"
            self.tables.append(written(self.vectors, table, self.listed[table]))
        return self.listed[table]

    def _sine_or_cosine(self, op: str, angle: str) -> str:
        """Where both are wanted of one angle, one call gives both."""
        T = self.vectors.type
        pair = self.paired.get(angle)
        if pair is None:
            self.labels += 1
            pair = f"%pair{self.labels}"
            function = f"@sincos.{self.vectors.suffix}"
            self.called.add(function)
            self.lines.append(f"  {pair} = call {{{T}, {T}}} {function}({T} {angle}, ptr {table_of(function)})")
            for k, name in enumerate(("sin", "cos")):
                self.lines.append(f"  {pair}.{name} = extractvalue {{{T}, {T}}} {pair}, {k}")
            self.paired[angle] = pair
        return f"{pair}.{op}"

    def store(self, value: str, place: int | str, base: str = "") -> None:
        v, base = self.vectors, base or self.memory
        self.labels += 1
        self.lines.append(f"  %t{self.labels} = getelementptr {v.type}, ptr {base}, i64 {place}")
        self.lines.append(f"  store {v.type} {value}, ptr %t{self.labels}, align {v.bytes * v.width}")

    def load(self, place: int | str, into: str, base: str = "", *, truth: bool = False) -> None:
        v, base = self.vectors, base or self.memory
        self.labels += 1
        number = f"%number.{into[1:]}" if truth else into
        self.lines.append(f"  %t{self.labels} = getelementptr {v.type}, ptr {base}, i64 {place}")
        self.lines.append(f"  {number} = load {v.type}, ptr %t{self.labels}, align {v.bytes * v.width}")
        if truth:
            self.lines.append(f"  {into} = fcmp one {v.type} {number}, zeroinitializer")

    def any(self, mask: str) -> str:
        """Whether a truth holds in some lane."""
        function = f"@llvm.vector.reduce.or.v{self.vectors.width}i1"
        self.called.add(function)
        return f"call i1 {function}(<{self.vectors.width} x i1> {mask})"

    def bounded(self, holds: str, x: str, bound: float, tag: str) -> str:
        """A number if it compares so with a bound, else the bound."""
        S, limit = self.vectors.scalar, self.vectors.literal(bound)
        self.lines.append(f"  %is.{tag} = fcmp {holds} {S} {x}, {limit}")
        self.lines.append(f"  %{tag} = select i1 %is.{tag}, {S} {x}, {S} {limit}")
        return f"%{tag}"
