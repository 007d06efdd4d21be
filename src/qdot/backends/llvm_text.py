"""A program as LLVM assembly: one vector register holds one value of several rows of the batch.

`core` computes one vector of rows: it reads column k of an input as a vector at pointer + k · stride, and leaves each
different result in a slot of a small tile as soon as it is known, so that results are not held in registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count

from qdot.backends.llvm_group_kernel import grouped_kernel
from qdot.backends.llvm_kernel import kernel
from qdot.backends.llvm_lists import make_list, through_list
from qdot.backends.llvm_lookup import asking_ahead, entry, kept
from qdot.backends.llvm_loops import loop
from qdot.backends.llvm_math import Vectors, library
from qdot.backends.llvm_parts import operands
from qdot.backends.llvm_pool_loops import pooled, searching, taking
from qdot.backends.llvm_regions import Region, Regions
from qdot.backends.llvm_row import TAG, spread
from qdot.backends.llvm_tile import Tile
from qdot.compiler.graph import BLOCKS
from qdot.compiler.program import Block, Instruction, Program, columns_of, is_truth, steps


def assembly(program: Program, vectors: Vectors, tile: Tile) -> str:
    """The module's text."""
    writer = Writer(program, vectors, tile)
    core = writer.core()
    if tile.parts.in_groups:
        around = grouped_kernel(program, vectors, tile)
    else:
        around = kernel(program, vectors, tile, writer.called)
    text = [*core, *around, *library(vectors, writer.called)]
    if tile.parts.turns is not None:
        number = Vectors(vectors.dtype, 1)
        row = Writer(program, number, tile, TAG)
        known = {line for line in text if line.startswith("declare")}
        text += [*row.core(), spread(number)]
        text += [line for line in library(number, row.called) if line not in known]
    return "\n".join(text)


class Writer(Regions):
    """Writes the body of a program."""

    def __init__(self, program: Program, vectors: Vectors, tile: Tile, tag: str = "") -> None:
        super().__init__(program, vectors, tile, tag)
        self.active = ""
        """The lanes that the regions and loops around need, where that are not all."""
        self.places: dict[int, list[int | str]] = {}
        """Of values: where in the tile they belong, numbers, or names of numbers."""
        self.more: list[str] = []
        """Functions beside those of parts."""
        self.read = {a for step in steps(program.body) for a in operands(step)}

    def core(self) -> list[str]:
        parts = self._parts()
        listed = ", ".join(f"{self.vectors.scalar} {x}" for x in self.numbers)
        table = f"@constants{self.tag} = internal constant [{len(self.numbers)} x {self.vectors.scalar}] [{listed}]"
        if len(parts) == 1:
            return [table, *self.tables, *self._function(f"core{self.tag}", "", parts[0])]
        inputs = "".join(f"ptr %p{k}, i64 %s{k}, " for k in range(len(self.program.inputs)))
        given = f"{inputs}ptr %tile, ptr %scratch, ptr %constants"
        calls = [f"  call void @part{k}{self.tag}({given})" for k in range(len(parts))]
        number = ", i64 %g" if self.tile.parts.in_groups else ""
        written = [
            line
            for k, lines in enumerate(parts)
            for line in self._function(f"part{k}{self.tag}", "noinline ", lines, number)
        ]
        if number:
            return [table, *self.tables, *self.more, *written]
        return [table, *self.tables, *written, *self._function(f"core{self.tag}", "", calls)]

    def _function(self, name: str, kind: str, lines: list[str], more: str = "") -> list[str]:
        inputs = "".join(f"ptr %p{k}, i64 %s{k}, " for k in range(len(self.program.inputs)))
        given = f"{inputs}ptr noalias %tile, ptr noalias %scratch, ptr noalias readonly %constants{more}"
        head = f"define internal void @{name}({given}) {kind}{self.vectors.attributes} {{"
        return [head, "entry:", *lines, "  ret void", "}"]

    def _parts(self) -> list[list[str]]:
        """The body's code, part by part: each first reads what others left for it."""
        body, parts, written = self.program.body, self.tile.parts, []
        self.places = {r: [self.tile.slots[r]] for r in body.results}
        for value, place in (*self.tile.carried.items(), *self.tile.beyond):
            self.places.setdefault(value, []).append(place)
        straight = [step for stretch in parts.code if stretch.turns == 1 for step in stretch.code]
        for step in steps(Block((), tuple(straight), ())):
            for value in step.results:
                if value in self.tile.rows and self.tile.rows[value] not in self.places.get(value, ()):
                    self.places.setdefault(value, []).append(self.tile.rows[value])
        self._reserve(straight)
        defined = {r: step for step in body.code for r in step.results}
        for k, stretch in enumerate(parts.code):
            for scan in parts.pools.get(k, ()):
                self._searched(next(step for step in straight if scan in step.results))
            self.begin()
            if stretch.turns > 1:
                loop(self, k, defined, self.places)
            else:
                self._straight(stretch.code, defined)
            written.append(self.lines)
        return written

    def _searched(self, step: Instruction) -> None:
        """What a pooled scan finds for a whole group: a function of its own."""
        scan = step.results[0]
        self.begin()
        searching(self, step, *self.tile.pools[scan])
        self.more += self._function(f"searched{scan}", "noinline ", self.lines, ", i64 %g")

    def _straight(self, code: Sequence[Instruction], defined: Mapping[int, Instruction]) -> None:
        here: set[int] = set()
        for step in code:
            for a in self.tile.parts.reads(step):
                if a not in here and a in defined:
                    self.fetch_later(a, defined[a])
                    here.add(a)
            for scan, place in self.tile.lists.made.get(step.results[0], ()) if step.results else ():
                make_list(self, scan, place)
            self.step_and_store(step)
            here.update(step.results)

    def step(self, step: Instruction) -> None:
        if step.op in BLOCKS:
            getattr(self, f"_{step.op}")(step)
        else:
            super().step(step)

    def _code(self, block: Block) -> None:
        self._reserve(block.code)
        for step in asking_ahead(block.code):
            self.step_and_store(step)

    def _reserve(self, code: Sequence[Instruction]) -> None:
        """What has places in the tile goes there at once, so that it need not stay in a register."""
        defined = {r for step in code for r in step.results}
        for step in code:
            if step.op == "each":
                for a, place in self._given(step):
                    if a in defined:
                        self.places.setdefault(a, []).append(place)

    def step_and_store(self, step: Instruction) -> None:
        self.step(step)
        self.names.go_on()
        for value in step.results:
            self.choose(value)
        if step.op not in ("each", "when"):  # which leave their results in the tile by themselves
            for value in step.results:
                for place in self.places.get(value, ()):
                    self.store(self.number(value) if is_truth(step) else self.names[value], place)
        for value in step.results if not (step.op in ("each", "constant", "truth") or is_truth(step)) else ():
            if (kept := self._lasting(value)) is not None:
                self.names.lies(value, self.names[value], partial(self.loaded, self.memory, kept))

    def _lasting(self, value: int) -> int | None:
        """Where in the tile a value lies that is not put elsewhere, or replaced, as long as somebody reads it."""
        own = [places.get(value) for places in (self.tile.slots, self.tile.rows, self.tile.carried)]
        return next((place for place in self.places.get(value, ()) if place in own), None)

    # -- loops and regions ---------------------------------------------------------------------------------------------

    def _for(self, step: Instruction) -> None:
        count, block = step.extra
        T = self.vectors.type
        head, end = self.new_label("for"), self.new_label("end")
        before, initial = self.label, [self.names[a] for a in step.args]
        if count == 0:
            self.names.update(zip(step.results, initial, strict=True))
            return
        self.lines.append(f"  br label %{head}")
        self.open(head)
        counter = f"%i.{head}"
        turn = self.phi(counter, "i64", [("0", before)])
        phis = [self.phi(self.name(p), T, [(x, before)]) for p, x in zip(block.parameters[1:], initial, strict=True)]
        scalar = f"%f.{head}"
        self.lines.append(f"  {scalar} = uitofp i64 {counter} to {self.vectors.scalar}")
        self.names[block.parameters[0]] = self.broadcast(scalar, head)
        results = self.inner(block)
        self.lines.append(f"  %n.{head} = add i64 {counter}, 1")
        self.lines.append(f"  %c.{head} = icmp ult i64 %n.{head}, {count}")
        self.extend(turn, f"%n.{head}", self.label)
        for line, value in zip(phis, results, strict=True):
            self.extend(line, value, self.label)
        self.lines.append(f"  br i1 %c.{head}, label %{head}, label %{end}")
        self.open(end)
        self.names.update(zip(step.results, results, strict=True))
        self.keep(step, results, initial)

    def _while(self, step: Instruction) -> None:
        limit, block = step.extra
        T, W = self.vectors.type, self.vectors.width
        head, go, end = (self.new_label(k) for k in ("while", "go", "end"))
        before, initial = self.label, [self.names[a] for a in step.args]
        self.lines.append(f"  br label %{head}")
        self.open(head)
        turn = self.phi(f"%i.{head}", "i64", [("0", before)])
        mask = self.phi(f"%m.{head}", f"<{W} x i1>", [(self.active or "splat (i1 true)", before)])
        phis = [self.phi(self.name(p), T, [(x, before)]) for p, x in zip(block.parameters, initial, strict=True)]
        condition, *stepped = self.inner(block, f"%m.{head}")
        self.lines.append(f"  %on.{head} = and <{W} x i1> %m.{head}, {condition}")
        self.lines.append(f"  %n.{head} = add i64 %i.{head}, 1")
        self.lines.append(f"  %left.{head} = icmp ult i64 %i.{head}, {limit}")
        self.lines.append(f"  %any.{head} = {self.any(f'%on.{head}')}")
        self.lines.append(f"  %more.{head} = and i1 %left.{head}, %any.{head}")
        self.lines.append(f"  br i1 %more.{head}, label %{go}, label %{end}")
        self.open(go)
        kept = []
        for k, (p, new) in enumerate(zip(block.parameters, stepped, strict=True)):
            kept.append(f"%k{k}.{head}")
            self.lines.append(f"  {kept[-1]} = select <{W} x i1> %on.{head}, {T} {new}, {T} {self.names[p]}")
        self.extend(turn, f"%n.{head}", go)
        self.extend(mask, f"%on.{head}", go)
        for line, value in zip(phis, kept, strict=True):
            self.extend(line, value, go)
        self.lines.append(f"  br label %{head}")
        self.open(end)
        self.names.update((r, self.names[p]) for r, p in zip(step.results, block.parameters, strict=True))
        self.before.update(zip((self.names[r] for r in step.results), initial, strict=True))

    def _when(self, step: Instruction) -> None:
        given, block = step.extra
        T, W = self.vectors.type, self.vectors.width
        condition, otherwise = self.names[step.args[0]], [self.names[a] for a in step.args[1 + given :]]
        inside, end = self.new_label("when"), self.new_label("end")
        places: list[Sequence[int | str]] = [self.places.get(r, ()) for r in step.results]
        before = self.label
        skipped = self.new_label("else") if any(places) else before
        if self.active:
            self.lines.append(f"  %needed.{inside} = and <{W} x i1> {condition}, {self.active}")
            condition = f"%needed.{inside}"
        self.lines.append(f"  %any.{inside} = {self.any(condition)}")
        self.lines.append(f"  br i1 %any.{inside}, label %{inside}, label %{end if skipped == before else skipped}")
        self.open(inside)
        outside = self.names.enter()
        for a, p in zip(step.args[1:], block.parameters, strict=False):
            self.names.give(a, p)
        around = self.enter(Region.of(inside, condition, places, block, otherwise, self.sums_of(block, otherwise)))
        for r, x in zip(block.results, self.inner(block, condition), strict=True):
            self.names.keep(r, x)
        chosen = self.leave(around)
        self.names.leave(outside)
        last = self.label
        self.lines.append(f"  br label %{end}")
        if skipped != before:
            self.open(skipped)
            for y, there in zip(otherwise, places, strict=True):
                for place in there if not self.is_unread(y) else ():
                    self.store(y, place)
            self.lines.append(f"  br label %{end}")
        self.open(end)
        for k, (r, y) in enumerate(zip(step.results, otherwise, strict=True)):
            self.phi(self.name(r), T, [(chosen[k], last), (y, skipped)])
            self.before[self.names[r]] = y

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
                self.store(self.names[a], place)
        head, end, before = self.new_label("each"), self.new_label("end"), self.label
        self.lines.append(f"  br label %{head}")
        self.open(head)
        turn = self.phi(f"%i.{head}", "i64", [("0", before)])
        for k, p in enumerate(block.parameters):
            if k == 0:
                self.lines.append(f"  %row.{head} = mul i64 %i.{head}, {width}")
            self.lines.append(f"  %at{k}.{head} = add i64 %row.{head}, {operands + k}")
            self.load(f"%at{k}.{head}", self.name(p))
        captured = self.tile.captured[step.results[0]]
        outside = {a: self.names[a] for a in captured}
        for k, (a, place) in enumerate(captured.items()):
            self.names[a] = f"%shared{k}.{head}"
            self.load(place, self.names[a])
        self.lines.append(f"  %out.{head} = mul i64 %i.{head}, {size}")
        self.lines += [f"  %to{k}.{head} = add i64 %out.{head}, {first + k}" for k in range(size)]
        made = {r for inner in block.code for r in inner.results}
        for k, r in enumerate(block.results):
            if r in made:
                self.places.setdefault(r, []).append(f"%to{k}.{head}")
        results = self.inner(block)
        self.names.update(outside)
        for k, (r, x) in enumerate(zip(block.results, results, strict=True)):
            if r in made:
                self.places[r].remove(f"%to{k}.{head}")
            else:
                self.store(x, f"%to{k}.{head}")
        self.lines.append(f"  %n.{head} = add i64 %i.{head}, 1")
        self.lines.append(f"  %c.{head} = icmp ult i64 %n.{head}, {turns}")
        self.extend(turn, f"%n.{head}", self.label)
        self.lines.append(f"  br i1 %c.{head}, label %{head}, label %{end}")
        self.open(end)
        for r in step.results:
            own = self.tile.slots[r]
            elsewhere = [place for place in self.places.get(r, ()) if place != own]
            if r in self.read or elsewhere:
                self.load(own, self.name(r))
            for other in elsewhere:
                self.store(self.names[r], other)

    def _scan(self, step: Instruction) -> None:
        """A counted loop; tables tell for each turn where in the tile its operands lie, or what constants they are.
        Where few lanes need a turn, and it is long, turns are pooled; where it is known which turns are needed, the
        loop goes through these."""
        turns, block = step.extra
        pool = self.tile.pools.get(step.results[0])
        if pool is not None and pool[0].group > 1:  # it was searched before this part
            self.names.update(zip(step.results, taking(self, step, *pool), strict=True))
            return
        T, columns = self.vectors.type, columns_of(step)
        carried = [self.names[a] for a in step.args[turns * len(columns) :]]
        for a in dict.fromkeys(self.tile.same.get(a, a) for column in columns for a in column):
            if a not in self.values and self.tile.rows[a] not in self.places.get(a, ()):
                self.store(self.names[a], self.tile.rows[a])
        if pool is not None:
            self.names.update(zip(step.results, pooled(self, step, *pool), strict=True))
            return
        if step.results[0] in self.tile.lists.read:
            through_list(self, step, self.tile.lists.read[step.results[0]], carried)
            return
        head, end, before = self.new_label("scan"), self.new_label("end"), self.label
        self.lines.append(f"  br label %{head}")
        self.open(head)
        turn = self.phi(f"%i.{head}", "i64", [("0", before)])
        own = zip(block.parameters[len(columns) :], carried, strict=True)
        phis = [self.phi(self.name(p), T, [(x, before)]) for p, x in own]
        self.row(head, step)
        results = self.inner(block)
        self.lines.append(f"  %n.{head} = add i64 %i.{head}, 1")
        self.lines.append(f"  %c.{head} = icmp ult i64 %n.{head}, {turns}")
        self.extend(turn, f"%n.{head}", self.label)
        for line, value in zip(phis, results, strict=True):
            self.extend(line, value, self.label)
        self.lines.append(f"  br i1 %c.{head}, label %{head}, label %{end}")
        self.open(end)
        self.names.update(zip(step.results, results, strict=True))
        self.keep(step, results, carried)

    def _sweep(self, step: Instruction) -> None:
        """A loop over rows of a table; its bounds, the same in all lanes, are those of the first."""
        table, block = step.extra
        T, S, length = self.vectors.type, self.vectors.scalar, float(len(table.rows))
        head, end, before = self.new_label("sweep"), self.new_label("end"), self.label
        carried, own = [self.names[a] for a in step.args[2:]], block.parameters[table.width :]
        for k, a in enumerate(step.args[:2]):
            self.lines.append(f"  %at{k}.{head} = extractelement {T} {self.names[a]}, i64 0")
        self.lines.append(f"  %at2.{head} = fadd {S} %at0.{head}, %at1.{head}")
        for name, bound in (("first", "%at0"), ("last", "%at2")):
            low = self.bounded("ogt", f"{bound}.{head}", 0.0, f"low.{name}.{head}")
            cut = self.bounded("olt", low, length, f"cut.{name}.{head}")
            self.lines.append(f"  %{name}.{head} = fptoui {S} {cut} to i64")
        self.lines.append(f"  %some.{head} = icmp ult i64 %first.{head}, %last.{head}")
        self.lines.append(f"  br i1 %some.{head}, label %{head}, label %{end}")
        self.open(head)
        turn = self.phi(f"%i.{head}", "i64", [(f"%first.{head}", before)])
        phis = [self.phi(self.name(p), T, [(x, before)]) for p, x in zip(own, carried, strict=True)]
        self.lines.append(f"  %row.{head} = mul i64 %i.{head}, {table.width}")
        kind = kept(self.vectors, table).scalar
        self.lines.append(f"  %where.{head} = getelementptr {kind}, ptr {self.rows(table)}, i64 %row.{head}")
        for k, p in enumerate(block.parameters[: table.width]):
            self.lines.append(f"  %where{k}.{head} = getelementptr {kind}, ptr %where.{head}, i64 {k}")
            self.lines += entry(self.vectors, table, f"%where{k}.{head}", f"%entry{k}.{head}")
            self.names[p] = self.broadcast(f"%entry{k}.{head}", f"{k}.{head}")
        results = self.inner(block)
        self.lines.append(f"  %n.{head} = add i64 %i.{head}, 1")
        self.lines.append(f"  %c.{head} = icmp ult i64 %n.{head}, %last.{head}")
        self.extend(turn, f"%n.{head}", self.label)
        for line, value in zip(phis, results, strict=True):
            self.extend(line, value, self.label)
        last = self.label
        self.lines.append(f"  br i1 %c.{head}, label %{head}, label %{end}")
        self.open(end)
        for r, x, y in zip(step.results, results, carried, strict=True):
            self.phi(self.name(r), T, [(x, last), (y, before)])
        self.keep(step, results, carried)

    def inner(self, block: Block, active: str = "") -> list[str]:
        """A nested block, for lanes that are active; what it pairs or loads is not seen outside."""
        paired, self.paired = self.paired, dict(self.paired)
        around, self.active = self.active, active or self.active
        outside = self.names.enter()
        self._code(block)
        self.paired, self.active = paired, around
        results = [self.names[r] for r in block.results]
        self.names.leave(outside)
        return results
