"""A program as LLVM assembly: one vector register holds one value of several rows of the batch.

`core` computes one vector of rows: it reads column k of an input as a vector at pointer + k · stride, and leaves each
different result in a slot of a small tile as soon as it is known, so that results are not held in registers.
"""

from __future__ import annotations

from itertools import count

from qdot.backends.llvm_kernel import Tile, kernel
from qdot.backends.llvm_math import Vectors, library
from qdot.backends.llvm_parts import is_truth, operands, reads
from qdot.backends.llvm_vectors import table_of
from qdot.compiler.graph import BLOCKS
from qdot.compiler.ops import OPS
from qdot.compiler.program import Block, Instruction, Program, steps

CONTRACT = frozenset(("fadd", "fsub", "fmul"))
INTRINSICS = {"@sqrt": "sqrt", "@abs": "fabs", "@floor": "floor", "@min": "minimum", "@max": "maximum"}


def assembly(program: Program, vectors: Vectors) -> str:
    """The module's text."""
    tile = Tile.of(program)
    writer = _Writer(program, vectors, tile)
    core = writer.core()
    return "\n".join([*core, *kernel(program, vectors, tile), *library(vectors, writer.called)])


class _Writer:
    """Writes the body of a program; values are %v0, %v1 …, and `called` gathers the functions it needs."""

    def __init__(self, program: Program, vectors: Vectors, tile: Tile) -> None:
        self.program = program
        self.tile = tile
        self.vectors = vectors
        self.called: set[str] = set()
        self.lines: list[str] = []
        self.label = "entry"
        self.labels = 0
        self.names: dict[int, str] = {}
        self.constants: dict[int, tuple[int, str]] = {}
        self.places: dict[int, list[int]] = {}
        self.read = {a for step in steps(program.body) for a in operands(step)}
        self.twins = _sines_and_cosines(program.body)
        self.paired: dict[str, str] = {}

    def core(self) -> list[str]:
        parts = self._parts()
        listed = ", ".join(f"{self.vectors.scalar} {x}" for _, x in self.constants.values())
        table = f"@constants = internal constant [{len(self.constants)} x {self.vectors.scalar}] [{listed}]"
        if len(parts) == 1:
            return [table, *self._function("core", "", parts[0])]
        inputs = "".join(f"ptr %p{k}, i64 %s{k}, " for k in range(len(self.program.inputs)))
        calls = [f"  call void @part{k}({inputs}ptr %tile, ptr %constants)" for k in range(len(parts))]
        written = [line for k, lines in enumerate(parts) for line in self._function(f"part{k}", "noinline ", lines)]
        return [table, *written, *self._function("core", "", calls)]

    def _function(self, name: str, kind: str, lines: list[str]) -> list[str]:
        inputs = "".join(f"ptr %p{k}, i64 %s{k}, " for k in range(len(self.program.inputs)))
        bits, bytes_ = self.vectors.bits, self.vectors.bits // 8
        wide = f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
        given = f"{inputs}ptr noalias %tile, ptr noalias readonly %constants"
        head = f"define internal void @{name}({given}) {kind}nounwind alignstack({bytes_}) {wide} {{"
        return [head, "entry:", *lines, "  ret void", "}"]

    def _parts(self) -> list[list[str]]:
        """The body's code, part by part: each first reads what others left for it."""
        body, written = self.program.body, []
        self.places = {r: [self.tile.slots[r]] for r in body.results}
        for value, place in self.tile.carried.items():
            self.places.setdefault(value, []).append(place)
        self._reserve(body)
        defined = {r: step for step in body.code for r in step.results}
        for part in self.tile.parts.code:
            self.lines, self.label, self.paired = [], "entry", {}
            here: set[int] = set()
            for step in part:
                for a in reads(step):
                    if a not in here and a in defined:
                        self._fetch(a, defined[a])
                        here.add(a)
                self._step_and_store(step)
                here.update(step.results)
            written.append(self.lines)
        return written

    def _fetch(self, value: int, step: Instruction) -> None:
        """What another part has computed, from where it lies."""
        if step.op == "input":
            self._input(step)
        elif is_truth(step):
            name = f"%number.{value}"
            self._load(self.tile.carried[value], name)
            T = self.vectors.type
            self.lines.append(f"  {self._name(value)} = fcmp one {T} {name}, zeroinitializer")
        elif step.op not in ("constant", "truth"):
            self._load(self.tile.slots[value] if step.op == "each" else self.tile.carried[value], self._name(value))

    def _code(self, block: Block) -> None:
        self._reserve(block)
        for step in block.code:
            self._step_and_store(step)

    def _reserve(self, block: Block) -> None:
        """What has places in the tile goes there at once, so that it need not stay in a register."""
        defined = {r for step in block.code for r in step.results}
        for step in block.code:
            if step.op == "each":
                for a, place in self._given(step):
                    if a in defined:
                        self.places.setdefault(a, []).append(place)

    def _step_and_store(self, step: Instruction) -> None:
        self.step(step)
        if step.op != "each":  # which leaves its results in the tile by itself
            for value in step.results:
                for place in self.places.get(value, ()):
                    self._store(self._number(value) if is_truth(step) else self.names[value], place)

    def _number(self, truth: int) -> str:
        """1 or 0 for a truth, which has no place in memory."""
        v = self.vectors
        self.labels += 1
        name = f"%truth{self.labels}"
        self.lines.append(
            f"  {name} = select <{v.width} x i1> {self.names[truth]}, {v.type} {v.splat(1.0)}, {v.type} zeroinitializer"
        )
        return name

    def step(self, step: Instruction) -> None:
        if step.op == "constant":
            self.names[step.results[0]] = self.vectors.splat(step.extra)
            if step.extra != 0:  # which costs nothing to make
                self.constants[step.results[0]] = len(self.constants), self.vectors.literal(step.extra)
        elif step.op == "truth":
            self.names[step.results[0]] = f"splat (i1 {'true' if step.extra else 'false'})"
        elif step.op == "input":
            self._input(step)
        elif step.op in BLOCKS:
            getattr(self, f"_{step.op}")(step)
        elif step.op != "item":
            self._operation(step)

    # -- straight-line code --------------------------------------------------------------------------------------------

    def _address(self, port: int, place: int) -> str:
        if place == 0:
            return f"%p{port}"
        self.labels += 1
        offset, address = f"%o{self.labels}", f"%a{self.labels}"
        self.lines.append(f"  {offset} = mul i64 %s{port}, {place}")
        self.lines.append(f"  {address} = getelementptr {self.vectors.scalar}, ptr %p{port}, i64 {offset}")
        return address

    def _input(self, step: Instruction) -> None:
        name, place = step.extra
        port = next(k for k, p in enumerate(self.program.inputs) if p.name == name)
        address = self._address(port, place)
        result = self._name(step.results[0])
        self.lines.append(f"  {result} = load {self.vectors.type}, ptr {address}, align {self.vectors.bytes}")

    def _operand(self, value: int) -> str:
        """A constant is read where it is used: an instruction takes one number from memory for all lanes."""
        if value not in self.constants:
            return self.names[value]
        self.labels += 1
        name = f"constant{self.labels}"
        place, T = self.constants[value][0], self.vectors.scalar
        self.lines.append(f"  %at.{name} = getelementptr {T}, ptr %constants, i64 {place}")
        self.lines.append(f"  %{name} = load {T}, ptr %at.{name}, !invariant.load !1")
        return self._broadcast(f"%{name}", name)

    def _name(self, value: int) -> str:
        self.names[value] = f"%v{value}"
        return self.names[value]

    def _operation(self, step: Instruction) -> None:
        row, T, W = OPS[step.op], self.vectors.type, self.vectors.width
        args = [self._operand(a) for a in step.args]
        if step.op in ("sin", "cos") and step.args[0] in self.twins:
            self.names[step.results[0]] = self._sine_or_cosine(step.op, args[0])
            return
        result = self._name(step.results[0])
        spelled = row.llvm
        if spelled.startswith("@"):
            operands = ", ".join(f"{T} {a}" for a in args)
            if spelled in INTRINSICS:
                function = f"@llvm.{INTRINSICS[spelled]}.{self.vectors.suffix}"
            else:
                function = f"@{step.op}.{self.vectors.suffix}"
                operands += f", ptr {table_of(function)}"
            self.called.add(function)
            self.lines.append(f"  {result} = call {T} {function}({operands})")
        elif spelled == "select":
            self.lines.append(f"  {result} = select <{W} x i1> {args[0]}, {T} {args[1]}, {T} {args[2]}")
        elif spelled == "not":
            self.lines.append(f"  {result} = xor <{W} x i1> {args[0]}, splat (i1 true)")
        else:
            kind = f"<{W} x i1>" if spelled in ("and", "or") else T
            flags = " contract" if spelled in CONTRACT else ""
            self.lines.append(f"  {result} = {spelled}{flags} {kind} {', '.join(args)}")

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

    def _store(self, value: str, place: int | str) -> None:
        v = self.vectors
        self.labels += 1
        self.lines.append(f"  %t{self.labels} = getelementptr {v.type}, ptr %tile, i64 {place}")
        self.lines.append(f"  store {v.type} {value}, ptr %t{self.labels}, align {v.bytes * v.width}")

    def _load(self, place: int | str, into: str) -> None:
        v = self.vectors
        self.labels += 1
        self.lines.append(f"  %t{self.labels} = getelementptr {v.type}, ptr %tile, i64 {place}")
        self.lines.append(f"  {into} = load {v.type}, ptr %t{self.labels}, align {v.bytes * v.width}")

    # -- loops and regions ---------------------------------------------------------------------------------------------

    def _new_label(self, kind: str) -> str:
        self.labels += 1
        return f"{kind}{self.labels}"

    def _open(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def _phi(self, name: str, kind: str, sources: list[tuple[str, str]]) -> int:
        """A phi whose second source is filled in later; returns its line."""
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in sources)
        self.lines.append(f"  {name} = phi {kind} {pairs}")
        return len(self.lines) - 1

    def _extend(self, line: int, value: str, label: str) -> None:
        self.lines[line] += f", [ {value}, %{label} ]"

    def _for(self, step: Instruction) -> None:
        count, block = step.extra
        T = self.vectors.type
        head, end = self._new_label("for"), self._new_label("end")
        before, initial = self.label, [self.names[a] for a in step.args]
        if count == 0:
            self.names.update(zip(step.results, initial, strict=True))
            return
        self.lines.append(f"  br label %{head}")
        self._open(head)
        counter = f"%i.{head}"
        turn = self._phi(counter, "i64", [("0", before)])
        phis = [self._phi(self._name(p), T, [(x, before)]) for p, x in zip(block.parameters[1:], initial, strict=True)]
        scalar = f"%f.{head}"
        self.lines.append(f"  {scalar} = uitofp i64 {counter} to {self.vectors.scalar}")
        self.names[block.parameters[0]] = self._broadcast(scalar, head)
        results = self._inner(block)
        self.lines.append(f"  %n.{head} = add i64 {counter}, 1")
        self.lines.append(f"  %c.{head} = icmp ult i64 %n.{head}, {count}")
        self._extend(turn, f"%n.{head}", self.label)
        for line, value in zip(phis, results, strict=True):
            self._extend(line, value, self.label)
        self.lines.append(f"  br i1 %c.{head}, label %{head}, label %{end}")
        self._open(end)
        self.names.update(zip(step.results, results, strict=True))

    def _while(self, step: Instruction) -> None:
        limit, block = step.extra
        T, W = self.vectors.type, self.vectors.width
        head, go, end = (self._new_label(k) for k in ("while", "go", "end"))
        before, initial = self.label, [self.names[a] for a in step.args]
        self.lines.append(f"  br label %{head}")
        self._open(head)
        turn = self._phi(f"%i.{head}", "i64", [("0", before)])
        mask = self._phi(f"%m.{head}", f"<{W} x i1>", [("splat (i1 true)", before)])
        phis = [self._phi(self._name(p), T, [(x, before)]) for p, x in zip(block.parameters, initial, strict=True)]
        condition, *stepped = self._inner(block)
        self.lines.append(f"  %on.{head} = and <{W} x i1> %m.{head}, {condition}")
        self.lines.append(f"  %n.{head} = add i64 %i.{head}, 1")
        self.lines.append(f"  %left.{head} = icmp ult i64 %i.{head}, {limit}")
        self.lines.append(f"  %any.{head} = {self._any(f'%on.{head}')}")
        self.lines.append(f"  %more.{head} = and i1 %left.{head}, %any.{head}")
        self.lines.append(f"  br i1 %more.{head}, label %{go}, label %{end}")
        self._open(go)
        kept = []
        for k, (p, new) in enumerate(zip(block.parameters, stepped, strict=True)):
            kept.append(f"%k{k}.{head}")
            self.lines.append(f"  {kept[-1]} = select <{W} x i1> %on.{head}, {T} {new}, {T} {self.names[p]}")
        self._extend(turn, f"%n.{head}", go)
        self._extend(mask, f"%on.{head}", go)
        for line, value in zip(phis, kept, strict=True):
            self._extend(line, value, go)
        self.lines.append(f"  br label %{head}")
        self._open(end)
        self.names.update((r, self.names[p]) for r, p in zip(step.results, block.parameters, strict=True))

    def _when(self, step: Instruction) -> None:
        given, block = step.extra
        T, W = self.vectors.type, self.vectors.width
        condition, *rest = (self.names[a] for a in step.args)
        otherwise = rest[given:]
        inside, end = self._new_label("when"), self._new_label("end")
        before = self.label
        self.lines.append(f"  %any.{inside} = {self._any(condition)}")
        self.lines.append(f"  br i1 %any.{inside}, label %{inside}, label %{end}")
        self._open(inside)
        self.names.update(zip(block.parameters, rest[:given], strict=True))
        chosen = []
        for k, (x, y) in enumerate(zip(self._inner(block), otherwise, strict=True)):
            chosen.append(f"%k{k}.{inside}")
            self.lines.append(f"  {chosen[-1]} = select <{W} x i1> {condition}, {T} {x}, {T} {y}")
        last = self.label
        self.lines.append(f"  br label %{end}")
        self._open(end)
        for r, x, y in zip(step.results, chosen, otherwise, strict=True):
            self._phi(self._name(r), T, [(x, last), (y, before)])

    def _given(self, step: Instruction) -> list[tuple[int, int]]:
        """What an `each` finds in the tile: values and their places."""
        key = step.results[0]
        return [*zip(step.args, count(self.tile.operands[key]), strict=False), *self.tile.captured[key].items()]

    def _each(self, step: Instruction) -> None:
        """Whatever it reads and gives is in the tile; only results that code reads are loaded from there."""
        turns, block = step.extra
        width, size = len(block.parameters), len(block.results)
        first, operands = self.tile.slots[step.results[0]], self.tile.operands[step.results[0]]
        for a, place in self._given(step):
            if place not in self.places.get(a, ()):
                self._store(self.names[a], place)
        head, end, before = self._new_label("each"), self._new_label("end"), self.label
        self.lines.append(f"  br label %{head}")
        self._open(head)
        turn = self._phi(f"%i.{head}", "i64", [("0", before)])
        for k, p in enumerate(block.parameters):
            if k == 0:
                self.lines.append(f"  %row.{head} = mul i64 %i.{head}, {width}")
            self.lines.append(f"  %at{k}.{head} = add i64 %row.{head}, {operands + k}")
            self._load(f"%at{k}.{head}", self._name(p))
        captured = self.tile.captured[step.results[0]]
        outside = {a: self.names[a] for a in captured}
        for k, (a, place) in enumerate(captured.items()):
            self.names[a] = f"%shared{k}.{head}"
            self._load(place, self.names[a])
        results = self._inner(block)
        self.names.update(outside)
        self.lines.append(f"  %out.{head} = mul i64 %i.{head}, {size}")
        for k, x in enumerate(results):
            self.lines.append(f"  %to{k}.{head} = add i64 %out.{head}, {first + k}")
            self._store(x, f"%to{k}.{head}")
        self.lines.append(f"  %n.{head} = add i64 %i.{head}, 1")
        self.lines.append(f"  %c.{head} = icmp ult i64 %n.{head}, {turns}")
        self._extend(turn, f"%n.{head}", self.label)
        self.lines.append(f"  br i1 %c.{head}, label %{head}, label %{end}")
        self._open(end)
        for r in step.results:
            own = self.tile.slots[r]
            elsewhere = [place for place in self.places.get(r, ()) if place != own]
            if r in self.read or elsewhere:
                self._load(own, self._name(r))
            for place in elsewhere:
                self._store(self.names[r], place)

    def _inner(self, block: Block) -> list[str]:
        """A nested block; what it pairs is not seen outside."""
        paired, self.paired = self.paired, dict(self.paired)
        self._code(block)
        self.paired = paired
        return [self.names[r] for r in block.results]

    def _broadcast(self, scalar: str, tag: str) -> str:
        v = self.vectors
        self.lines.append(f"  %e.{tag} = insertelement {v.type} poison, {v.scalar} {scalar}, i64 0")
        zeros = f"<{v.width} x i32> zeroinitializer"
        self.lines.append(f"  %b.{tag} = shufflevector {v.type} %e.{tag}, {v.type} poison, {zeros}")
        return f"%b.{tag}"

    def _any(self, mask: str) -> str:
        function = f"@llvm.vector.reduce.or.v{self.vectors.width}i1"
        self.called.add(function)
        return f"call i1 {function}(<{self.vectors.width} x i1> {mask})"


def _sines_and_cosines(block: Block) -> set[int]:
    """Angles of which both the sine and the cosine are wanted."""
    wanted: dict[str, set[int]] = {"sin": set(), "cos": set()}
    for step in steps(block):
        if step.op in wanted:
            wanted[step.op].add(step.args[0])
    return wanted["sin"] & wanted["cos"]
