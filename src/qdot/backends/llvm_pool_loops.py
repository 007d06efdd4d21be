"""A pooled `scan` as LLVM assembly: a loop for each part, see `llvm_pool`, and queues of whole numbers between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qdot.backends.llvm_pool import Pool, read_by
from qdot.backends.llvm_pool_items import ItemLoops
from qdot.compiler.program import Instruction

if TYPE_CHECKING:
    from qdot.backends.llvm_text import Writer


def pooled(w: Writer, step: Instruction, pool: Pool, place: int) -> list[str]:
    """The code of a `scan`, in parts, and the names of its results; `place` is where its memory begins."""
    loops = _Loops(w, step, pool, place)
    loops.reach("0")
    loops.note()
    loops.search()
    return loops.take()


def searching(w: Writer, step: Instruction, pool: Pool, place: int) -> None:
    """Of a `scan` that is pooled for a group of %g vectors, the first of whose tiles is %tile, what is done for all."""
    loops = _Loops(w, step, pool, place)
    loops.reach("0")
    loops.note()
    loops.search()


def taking(w: Writer, step: Instruction, pool: Pool, place: int) -> list[str]:
    """What is done for each vector, number %g, afterwards; the names of the results."""
    loops = _Loops(w, step, pool, place)
    loops.reach("%g")
    return loops.take()


class _Loops(ItemLoops):
    """Writes the first part, and the last."""

    def note(self) -> None:
        """The first part."""
        with self.names_of_its_own(0):
            self._noted()

    def take(self) -> list[str]:
        """The last; the names of the results."""
        carried = len(self.step.results)
        initial = [self.w.names[a] for a in self.step.args[len(self.step.args) - carried :]]
        with self.names_of_its_own(3):
            return self._taken(self.count("noted"), initial)

    # -- the tests -----------------------------------------------------------------------------------------------------

    def _noted(self) -> None:
        """The first loop: notes items, and turns with any. In a group each turn is looked at for all vectors, one after
        the other, so that items that are alike lie side by side."""
        w, W, in_group = self.w, self.lanes, self.pool.group > 1
        around, known = w.memory, dict(self.at)
        head, pushed, end = (w.new_label(k) for k in ("tests", "pushed", "end"))
        before = w.label
        for k in range(self.pool.group):
            w.lines.append(f"  %none{k}.{head} = getelementptr i64, ptr {self.at['counts']}, i64 {2 + k}")
            w.lines.append(f"  store i64 0, ptr %none{k}.{head}")
        w.lines.append(f"  br label %{head}")
        w.open(head)
        turn = w.phi(f"%i.{head}", "i64", [("0", before)])
        outer = w.phi(f"%outer.{head}", "i64", [("0", before)])
        each = w.new_label("each")
        w.lines.append(f"  br label %{each}")
        w.open(each)
        vector = w.phi(f"%vector.{head}", "i64", [("0", head)])
        inner = w.phi(f"%items.{head}", "i64", [(f"%outer.{head}", head)])
        if in_group:
            stride = sum(port.size for port in w.program.inputs) + w.tile.size
            w.lines.append(f"  %apart.{head} = mul i64 %vector.{head}, {stride}")
            w.lines.append(f"  %tile.{head} = getelementptr {w.vectors.type}, ptr %tile, i64 %apart.{head}")
            w.memory = f"%tile.{head}"
            self.reach(f"%vector.{head}")
        w.row(head, self.step)
        leaving: list[str] = []
        for k, test in enumerate(self.pool.tests):
            for step in test.code:
                w.step_and_store(step)
            condition = w.names[test.region.args[0]]
            if w.active:
                w.lines.append(f"  %mask{k}.{head} = and <{W} x i1> {w.active}, {condition}")
                condition = f"%mask{k}.{head}"
            inside = w.new_label("test")
            w.lines.append(f"  %any{k}.{head} = {w.any(condition)}")
            w.lines.append(f"  br i1 %any{k}.{head}, label %{inside}, label %{pushed}")
            leaving.append(w.label)
            w.open(inside)
            w.active = condition
            self.given(test.region)
        noted = self.count("noted")
        w.lines += [
            *self.stored(f"%i.{head}", "numbers", noted, f"number.{head}"),
            f"  %turn.{head} = mul i64 %i.{head}, {self.pool.group}",
            f"  %of.{head} = add i64 %turn.{head}, {self.vector}",
            f"  %first.{head} = shl i64 %of.{head}, {self.shift}",
            f"  %own.{head} = shl i64 {noted}, {self.shift}",
        ]
        stores = [
            f"  %known.{head} = add i64 %first.{head}, %lane.{head}",
            *self.stored(f"%known.{head}", "items", f"%item.{head}", f"item.{head}"),
            f"  %own.lane.{head} = add i64 %own.{head}, %lane.{head}",
            *self.stored(f"%item.{head}", "own", f"%own.lane.{head}", f"own.{head}"),
        ]
        after = self.each_lane(head, w.active, f"%items.{head}", stores)
        w.lines += [
            *self.stored(f"%lanes.{head}", "masks", noted, f"mask.{head}"),
            f"  %noted1.{head} = add i64 {noted}, 1",
            f"  store i64 %noted1.{head}, ptr {self.at['noted']}",
            f"  br label %{pushed}",
        ]
        last, vectors, turned = w.label, "%g" if in_group else "1", w.new_label("turned")
        w.open(pushed)
        w.phi(f"%items1.{head}", "i64", [*((f"%items.{head}", x) for x in leaving), (after, last)])
        w.lines += [
            f"  %vector1.{head} = add i64 %vector.{head}, 1",
            f"  %further.{head} = icmp ult i64 %vector1.{head}, {vectors}",
            f"  br i1 %further.{head}, label %{each}, label %{turned}",
        ]
        w.extend(vector, f"%vector1.{head}", pushed)
        w.extend(inner, f"%items1.{head}", pushed)
        w.open(turned)
        w.lines += [
            f"  %n.{head} = add i64 %i.{head}, 1",
            f"  %c.{head} = icmp ult i64 %n.{head}, {self.step.extra[0]}",
            f"  br i1 %c.{head}, label %{head}, label %{end}",
        ]
        w.extend(turn, f"%n.{head}", turned)
        w.extend(outer, f"%items1.{head}", turned)
        w.open(end)
        w.memory = around
        self.at = known
        w.lines.append(f"  store i64 %items1.{head}, ptr {self.at['all']}")

    # -- what depends on the state -------------------------------------------------------------------------------------

    def _taken(self, noted: str, initial: list[str]) -> list[str]:
        """The last loop, over so many turns; the names of the results."""
        w, W, T = self.w, self.lanes, self.w.vectors.type
        head, end, before = w.new_label("taken"), w.new_label("end"), w.label
        state = self.step.extra[1].parameters[-len(initial) :]
        w.lines += [
            f"  %none.{head} = icmp eq i64 {noted}, 0",
            f"  br i1 %none.{head}, label %{end}, label %{head}",
        ]
        w.open(head)
        count = w.phi(f"%r.{head}", "i64", [("0", before)])
        phis = [w.phi(w.name(p), T, [(x, before)]) for p, x in zip(state, initial, strict=True)]
        w.lines += [
            f"  %at.number.{head} = getelementptr i32, ptr {self.at['numbers']}, i64 %r.{head}",
            f"  %number.{head} = load i32, ptr %at.number.{head}",
            f"  %i.{head} = zext i32 %number.{head} to i64",
            f"  %at.mask.{head} = getelementptr i32, ptr {self.at['masks']}, i64 %r.{head}",
            f"  %lanes.{head} = load i32, ptr %at.mask.{head}",
            f"  %bits.{head} = trunc i32 %lanes.{head} to i{W}",
            f"  %mask.{head} = bitcast i{W} %bits.{head} to <{W} x i1>",
            f"  %own.{head} = shl i64 %r.{head}, {self.shift}",
            f"  %at.own.{head} = getelementptr i32, ptr {self.at['own']}, i64 %own.{head}",
            f"  %item.{head} = load <{W} x i32>, ptr %at.own.{head}, align 4",
            f"  %entry.{head} = zext <{W} x i32> %item.{head} to <{W} x i64>",
        ]
        places = self.of_items(f"%entry.{head}", head)
        for k, value in enumerate(self.pool.left):
            w.gather(self.place_of(places, k, head), w.name(value), f"%mask.{head}")
        w.row(head, self.step)
        w.active = f"%mask.{head}"
        self.again(set(read_by(self.pool.after, self.pool.inside.results)))
        around, w.before = w.before, {}
        for step in self.pool.after:
            w.step_and_store(step)
        stepped = []
        for k, (r, p) in enumerate(zip(self.pool.inside.results, state, strict=True)):
            x, y = w.names[r], w.names[p]
            stepped.append(x if w.is_kept(x, y) else f"%k{k}.{head}")
            if stepped[-1] != x:
                w.lines.append(f"  {stepped[-1]} = select <{W} x i1> %mask.{head}, {T} {x}, {T} {y}")
        w.before = around
        w.lines += [
            f"  %n.{head} = add i64 %r.{head}, 1",
            f"  %c.{head} = icmp ult i64 %n.{head}, {noted}",
            f"  br i1 %c.{head}, label %{head}, label %{end}",
        ]
        last = w.label
        w.extend(count, f"%n.{head}", last)
        for line, new in zip(phis, stepped, strict=True):
            w.extend(line, new, last)
        w.open(end)
        results = [f"%v{r}{w.again}" for r in self.step.results]
        for name, x, y in zip(results, stepped, initial, strict=True):
            w.phi(name, T, [(x, last), (y, before)])
        return results
