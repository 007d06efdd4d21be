"""A program as LLVM assembly: one vector register holds one value of several rows of the batch.

`core` computes one vector of rows: column k of a port is a vector at pointer + k · stride. `kernel` runs it over
rows begin to end of arrays with any strides: a port whose rows lie next to each other is read and written in place,
any other goes through a small tile, and so does the last, partly filled vector. Every row is computed by the same
code, so results do not depend on the size of the batch or on how it is split.
"""

from __future__ import annotations

from collections.abc import Iterator

from qdot.backends.llvm_math import Vectors, library
from qdot.compiler.ops import OPS
from qdot.compiler.program import Block, Instruction, Program

CONTRACT = frozenset(("fadd", "fsub", "fmul"))
INTRINSICS = {"@sqrt": "sqrt", "@abs": "fabs", "@floor": "floor", "@min": "minimum", "@max": "maximum"}


def assembly(program: Program, vectors: Vectors) -> str:
    """The module's text."""
    writer = _Writer(program, vectors)
    core = writer.core()
    return "\n".join([*core, *_kernel(program, vectors), *library(vectors, writer.called)])


class _Writer:
    """Writes the body of a program; values are %v0, %v1 …, and `called` gathers the functions it needs."""

    def __init__(self, program: Program, vectors: Vectors) -> None:
        self.program = program
        self.vectors = vectors
        self.called: set[str] = set()
        self.lines: list[str] = []
        self.label = "entry"
        self.labels = 0
        self.names: dict[int, str] = {}
        self.twins = _sines_and_cosines(program.body)
        self.paired: dict[str, str] = {}

    def core(self) -> list[str]:
        T = self.vectors.type
        ports = [*self.program.inputs, *self.program.outputs]
        parameters = ", ".join(f"ptr %p{k}, i64 %s{k}" for k in range(len(ports)))
        results = self.block(self.program.body)
        k = 0
        for port, output in enumerate(self.program.outputs, start=len(self.program.inputs)):
            for place in range(output.size):
                address = self._address(port, place)
                self.lines.append(f"  store {T} {results[k]}, ptr {address}, align {self.vectors.bytes}")
                k += 1
        attributes = (
            f'nounwind "prefer-vector-width"="{self.vectors.bits}" "min-legal-vector-width"="{self.vectors.bits}"'
        )
        head = f"define internal void @core({parameters}) {attributes} {{"
        return [head, "entry:", *self.lines, "  ret void", "}"]

    def block(self, block: Block) -> list[str]:
        for step in block.code:
            self.step(step)
        return [self.names[r] for r in block.results]

    def step(self, step: Instruction) -> None:
        if step.op == "constant":
            self.names[step.results[0]] = self.vectors.splat(step.extra)
        elif step.op == "truth":
            self.names[step.results[0]] = f"splat (i1 {'true' if step.extra else 'false'})"
        elif step.op == "input":
            self._input(step)
        elif step.op in ("for", "while", "when"):
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

    def _name(self, value: int) -> str:
        self.names[value] = f"%v{value}"
        return self.names[value]

    def _operation(self, step: Instruction) -> None:
        row, T, W = OPS[step.op], self.vectors.type, self.vectors.width
        args = [self.names[a] for a in step.args]
        if step.op in ("sin", "cos") and step.args[0] in self.twins:
            self.names[step.results[0]] = self._sine_or_cosine(step.op, args[0])
            return
        result = self._name(step.results[0])
        spelled = row.llvm
        if spelled.startswith("@"):
            if spelled in INTRINSICS:
                function = f"@llvm.{INTRINSICS[spelled]}.{self.vectors.suffix}"
            else:
                function = f"@{step.op}.{self.vectors.suffix}"
            self.called.add(function)
            operands = ", ".join(f"{T} {a}" for a in args)
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
            self.lines.append(f"  {pair} = call {{{T}, {T}}} {function}({T} {angle})")
            for k, name in enumerate(("sin", "cos")):
                self.lines.append(f"  {pair}.{name} = extractvalue {{{T}, {T}}} {pair}, {k}")
            self.paired[angle] = pair
        return f"{pair}.{op}"

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

    def _inner(self, block: Block) -> list[str]:
        """A nested block; what it pairs is not seen outside."""
        paired, self.paired = self.paired, dict(self.paired)
        results = self.block(block)
        self.paired = paired
        return results

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
    for step in _steps(block):
        if step.op in wanted:
            wanted[step.op].add(step.args[0])
    return wanted["sin"] & wanted["cos"]


def _steps(block: Block) -> Iterator[Instruction]:
    for step in block.code:
        yield step
        if step.op in ("for", "while", "when"):
            yield from _steps(step.extra[1])


def _kernel(program: Program, v: Vectors) -> list[str]:
    """void kernel(ports, tiles, begin, end): ports are (pointer, row stride, column stride) each, strides in elements;
    tiles is room for one vector of rows of every port."""
    ports = [*program.inputs, *program.outputs]
    inputs, W, T = len(program.inputs), v.width, v.scalar
    lines = ["define void @kernel(ptr %ports, ptr %tiles, i64 %begin, i64 %end) nounwind {", "entry:"]
    offset = 0
    for k, port in enumerate(ports):
        lines.append(f"  %tile{k} = getelementptr {T}, ptr %tiles, i64 {offset}")
        offset += port.size * W
        for j, (name, kind) in enumerate((("base", "ptr"), ("row", "i64"), ("column", "i64"))):
            lines.append(f"  %at{k}.{j} = getelementptr i64, ptr %ports, i64 {3 * k + j}")
            lines.append(f"  %{name}{k} = load {kind}, ptr %at{k}.{j}")
        lines.append(f"  %packed{k} = icmp eq i64 %row{k}, 1")
    lines += [
        "  %none = icmp uge i64 %begin, %end",
        "  br i1 %none, label %done, label %chunk",
        "chunk:",
        "  %r = phi i64 [ %begin, %entry ], [ %next, %after ]",
        f"  %next = add i64 %r, {W}",
        "  %full = icmp ule i64 %next, %end",
        "  %left0 = sub i64 %end, %r",
        f"  %left = select i1 %full, i64 {W}, i64 %left0",
        "  br label %port0",
    ]
    arguments = []
    for k in range(len(ports)):
        lines += _direct_or_tile(k, ports[k].size, v, copy_in=k < inputs)
        arguments.append(f"ptr %p{k}, i64 %s{k}")
    lines += [f"port{len(ports)}:", f"  call void @core({', '.join(arguments)})", f"  br label %out{inputs}"]
    for k in range(inputs, len(ports)):
        lines += _tile_out(k, ports[k].size, v)
    lines += [
        f"out{len(ports)}:",
        "  br label %after",
        "after:",
        "  br i1 %full, label %more, label %done",
        "more:",
        "  %again = icmp ult i64 %next, %end",
        "  br i1 %again, label %chunk, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return [line.replace("[ %next, %after ]", "[ %next, %more ]") for line in lines]


def _direct_or_tile(k: int, size: int, v: Vectors, *, copy_in: bool) -> list[str]:
    """Where core finds port k: in place, or in a tile that is filled first."""
    W, T = v.width, v.scalar
    lines = [
        f"port{k}:",
        f"  %start{k} = mul i64 %r, %row{k}",
        f"  %here{k} = getelementptr {T}, ptr %base{k}, i64 %start{k}",
        f"  %direct{k} = and i1 %packed{k}, %full",
        f"  br i1 %direct{k}, label %ready{k}, label %fill{k}",
        f"fill{k}:",
    ]
    filled = f"fill{k}"
    if copy_in and size:
        lines += _copy_loop(f"fill{k}", k, size, v, into_tile=True)
        filled = _copy_end(filled)
    lines += [
        f"  br label %ready{k}",
        f"ready{k}:",
        f"  %p{k} = phi ptr [ %here{k}, %port{k} ], [ %tile{k}, %{filled} ]",
        f"  %s{k} = phi i64 [ %column{k}, %port{k} ], [ {W}, %{filled} ]",
        f"  br label %port{k + 1}",
    ]
    return lines


def _tile_out(k: int, size: int, v: Vectors) -> list[str]:
    lines = [f"out{k}:", f"  br i1 %direct{k}, label %out{k + 1}, label %spill{k}", f"spill{k}:"]
    if size:
        lines += _copy_loop(f"spill{k}", k, size, v, into_tile=False)
    return [*lines, f"  br label %out{k + 1}"]


def _copy_end(tag: str) -> str:
    return f"{tag}.end"


def _copy_loop(tag: str, k: int, size: int, v: Vectors, *, into_tile: bool) -> list[str]:
    """Between rows r … r + left of the array and the tile; lanes beyond the last row repeat it on the way in."""
    W, T = v.width, v.scalar
    lanes = str(W) if into_tile else "%left"
    lines = [
        f"  br label %{tag}.lane",
        f"{tag}.lane:",
        f"  %{tag}.l = phi i64 [ 0, %{tag} ], [ %{tag}.l1, %{tag}.next ]",
        f"  %{tag}.last = sub i64 %left, 1",
        f"  %{tag}.within = icmp ult i64 %{tag}.l, %left",
        f"  %{tag}.row = select i1 %{tag}.within, i64 %{tag}.l, i64 %{tag}.last",
        f"  %{tag}.offset = mul i64 %{tag}.row, %row{k}",
        f"  %{tag}.from = getelementptr {T}, ptr %here{k}, i64 %{tag}.offset",
        f"  br label %{tag}.column",
        f"{tag}.column:",
        f"  %{tag}.c = phi i64 [ 0, %{tag}.lane ], [ %{tag}.c1, %{tag}.column ]",
        f"  %{tag}.ci = mul i64 %{tag}.c, %column{k}",
        f"  %{tag}.outside = getelementptr {T}, ptr %{tag}.from, i64 %{tag}.ci",
        f"  %{tag}.ti = mul i64 %{tag}.c, {W}",
        f"  %{tag}.tl = add i64 %{tag}.ti, %{tag}.l",
        f"  %{tag}.inside = getelementptr {T}, ptr %tile{k}, i64 %{tag}.tl",
    ]
    source, target = ("outside", "inside") if into_tile else ("inside", "outside")
    lines += [
        f"  %{tag}.x = load {T}, ptr %{tag}.{source}",
        f"  store {T} %{tag}.x, ptr %{tag}.{target}",
        f"  %{tag}.c1 = add i64 %{tag}.c, 1",
        f"  %{tag}.cm = icmp ult i64 %{tag}.c1, {size}",
        f"  br i1 %{tag}.cm, label %{tag}.column, label %{tag}.next",
        f"{tag}.next:",
        f"  %{tag}.l1 = add i64 %{tag}.l, 1",
        f"  %{tag}.lm = icmp ult i64 %{tag}.l1, {lanes}",
        f"  br i1 %{tag}.lm, label %{tag}.lane, label %{_copy_end(tag)}",
        f"{_copy_end(tag)}:",
    ]
    return lines
