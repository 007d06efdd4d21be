"""A pooled `scan` as LLVM assembly: a loop for each part, see `llvm_pool`, and queues of whole numbers between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from qdot.backends.llvm_pool import Pool, inside, names_in, read_by
from qdot.compiler.program import Instruction

if TYPE_CHECKING:
    from qdot.backends.llvm_text import Writer


def pooled(w: Writer, step: Instruction, pool: Pool, place: int) -> list[str]:
    """The code of a `scan`, in parts, and the names of its results; `place` is where its memory begins in the tile."""
    turns, _ = step.extra
    size, tag = w.vectors.type, w.new_label("pool")
    names = {}
    for name, many in zip(_PARTS, (turns + 1, turns, turns, turns, turns + 1, 0), strict=True):
        names[name] = f"%{name}.{tag}"
        w.lines.append(f"  {names[name]} = getelementptr {size}, ptr %tile, i64 {place}")
        place += many
    return _Loops(w, step, pool, names).written()


_PARTS = ("items", "numbers", "masks", "own", "deeper", "left")
"""Memory: of items, by turn and lane; for turns that were noted their numbers, lanes, and the item of each lane; items
that need more; and what is left and kept of each."""


class _Loops:
    """Writes the parts, one after the other."""

    def __init__(self, w: Writer, step: Instruction, pool: Pool, at: dict[str, str]) -> None:
        self.w = w
        self.step = step
        self.pool = pool
        self.at = at
        self.lanes = w.vectors.width
        self.shift = self.lanes.bit_length() - 1
        self.size = len(pool.left) + len(pool.kept)
        """Numbers that are left and kept of an item."""

    def written(self) -> list[str]:
        w, carried = self.w, len(self.step.results)
        initial = [w.names[a] for a in self.step.args[len(self.step.args) - carried :]]
        known, paired, again, active = dict(w.names), w.paired, w.again, w.active
        items, noted, deeper, results = "", "", "", initial
        for k in range(4):  # each has names of its own
            w.names, w.paired, w.again = dict(known), {}, f"{again}.{k}"
            if k == 0:
                items, noted = self._noted()
            elif k == 1:
                deeper = self._computed(items)
            elif k == 2 and self.pool.deeper is not None:
                self._deepened(self.pool.deeper, deeper)
            elif k == 3:
                results = self._taken(noted, initial)
            w.active = active
        w.names, w.paired, w.again = known, paired, again
        return results

    def _given(self, region: Instruction) -> None:
        """What a region is given, by the names that it has outside; the state has none where it is not asked for."""
        number, inner = region.extra
        names, passed = self.w.names, zip(inner.parameters, region.args[1 : 1 + number], strict=True)
        names.update({p: names[a] for p, a in passed if a in names})

    def _again(self, wanted: set[int]) -> None:
        """What tests compute once more, as far as other code wants it."""
        needed: set[int] = set()
        for test in reversed(self.pool.tests):
            number, inner = test.region.extra
            passed = zip(inner.parameters, test.region.args[1 : 1 + number], strict=True)
            wanted = wanted | {a for p, a in passed if p in wanted}
            for step in reversed(test.code):
                if wanted & set(step.results):
                    needed.update(step.results)
                    wanted |= set(names_in(step))
        for test in self.pool.tests:
            for step in test.code:
                if needed & set(step.results):
                    self.w.step_and_store(step)
            self._given(test.region)

    def _each_lane(self, tag: str, mask: str, count: str, stores: Sequence[str]) -> str:
        """Stores for each lane of a mask, %lane.tag, the first of them with the number `count`, %item.tag; the number
        after the last."""
        w, W, before = self.w, self.lanes, self.w.label
        bit, end = w.new_label("lane"), w.new_label("end")
        w.called.add("@llvm.cttz.i64")
        w.lines += [
            f"  %bits.{tag} = bitcast <{W} x i1> {mask} to i{W}",
            f"  %lanes.{tag} = zext i{W} %bits.{tag} to i64",
            f"  %some.{tag} = icmp ne i64 %lanes.{tag}, 0",
            f"  br i1 %some.{tag}, label %{bit}, label %{end}",
        ]
        w.open(bit)
        w.lines += [
            f"  %left.{tag} = phi i64 [ %lanes.{tag}, %{before} ], [ %rest.{tag}, %{bit} ]",
            f"  %item.{tag} = phi i64 [ {count}, %{before} ], [ %item1.{tag}, %{bit} ]",
            f"  %lane.{tag} = call i64 @llvm.cttz.i64(i64 %left.{tag}, i1 true)",
            *stores,
            f"  %item1.{tag} = add i64 %item.{tag}, 1",
            f"  %less.{tag} = sub i64 %left.{tag}, 1",
            f"  %rest.{tag} = and i64 %left.{tag}, %less.{tag}",
            f"  %more.{tag} = icmp ne i64 %rest.{tag}, 0",
            f"  br i1 %more.{tag}, label %{bit}, label %{end}",
        ]
        w.open(end)
        w.phi(f"%after.{tag}", "i64", [(count, before), (f"%item1.{tag}", bit)])
        return f"%after.{tag}"

    def _stored(self, value: str, to: str, index: str, tag: str) -> list[str]:
        """A whole number, in its place."""
        return [
            f"  %short.{tag} = trunc i64 {value} to i32",
            f"  %to.{tag} = getelementptr i32, ptr {self.at[to]}, i64 {index}",
            f"  store i32 %short.{tag}, ptr %to.{tag}",
        ]

    # -- the tests -----------------------------------------------------------------------------------------------------

    def _noted(self) -> tuple[str, str]:
        """The first loop; how many items there are, and turns with any."""
        w, W = self.w, self.lanes
        head, pushed, end = (w.new_label(k) for k in ("tests", "pushed", "end"))
        before = w.label
        w.lines.append(f"  br label %{head}")
        w.open(head)
        counters = [w.phi(f"%{name}.{head}", "i64", [("0", before)]) for name in ("i", "items", "noted")]
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
            self._given(test.region)
        w.lines += [
            *self._stored(f"%i.{head}", "numbers", f"%noted.{head}", f"number.{head}"),
            f"  %first.{head} = shl i64 %i.{head}, {self.shift}",
            f"  %own.{head} = shl i64 %noted.{head}, {self.shift}",
        ]
        stores = [
            f"  %known.{head} = add i64 %first.{head}, %lane.{head}",
            *self._stored(f"%known.{head}", "items", f"%item.{head}", f"item.{head}"),
            f"  %own.lane.{head} = add i64 %own.{head}, %lane.{head}",
            *self._stored(f"%item.{head}", "own", f"%own.lane.{head}", f"own.{head}"),
        ]
        after = self._each_lane(head, w.active, f"%items.{head}", stores)
        w.lines += [
            *self._stored(f"%lanes.{head}", "masks", f"%noted.{head}", f"mask.{head}"),
            f"  br label %{pushed}",
        ]
        last = w.label
        w.open(pushed)
        w.phi(f"%items1.{head}", "i64", [*((f"%items.{head}", x) for x in leaving), (after, last)])
        w.phi(f"%one.{head}", "i64", [*(("0", x) for x in leaving), ("1", last)])
        w.lines += [
            f"  %noted1.{head} = add i64 %noted.{head}, %one.{head}",
            f"  %n.{head} = add i64 %i.{head}, 1",
            f"  %c.{head} = icmp ult i64 %n.{head}, {self.step.extra[0]}",
            f"  br i1 %c.{head}, label %{head}, label %{end}",
        ]
        for line, name in zip(counters, ("n", "items1", "noted1"), strict=True):
            w.extend(line, f"%{name}.{head}", pushed)
        w.open(end)
        return f"%items1.{head}", f"%noted1.{head}"

    # -- vectors of items ----------------------------------------------------------------------------------------------

    def _begun(self, count: str, of: str) -> _Queue:
        """The head of a loop over a queue of whole numbers, a vector of them at a time: %entry.head; lanes beyond its
        end have the first, and are not active."""
        w, W, I = self.w, self.lanes, f"<{self.lanes} x i64>"
        head, fill, end = (w.new_label(k) for k in ("pooled", "fill", "end"))
        before, numbered = w.label, ", ".join(f"i64 {k}" for k in range(W))
        w.lines += [
            f"  %none.{head} = icmp eq i64 {count}, 0",
            f"  br i1 %none.{head}, label %{end}, label %{fill}",
        ]
        w.open(fill)
        w.lines += [
            f"  %beyond.{head} = getelementptr i32, ptr {self.at[of]}, i64 {count}",
            f"  store <{W} x i32> zeroinitializer, ptr %beyond.{head}, align 4",
            *_spread(I, count, f"count.{head}", W),
            f"  br label %{head}",
        ]
        w.open(head)
        phis = [w.phi(f"%{name}.{head}", "i64", [("0", fill)]) for name in ("q", "deeper")]
        w.lines += [
            f"  %from.{head} = getelementptr i32, ptr {self.at[of]}, i64 %q.{head}",
            f"  %short.{head} = load <{W} x i32>, ptr %from.{head}, align 4",
            f"  %entry.{head} = zext <{W} x i32> %short.{head} to {I}",
            *_spread(I, f"%q.{head}", f"first.{head}", W),
            f"  %place.{head} = add {I} %first.{head}, <{numbered}>",
            f"  %there.{head} = icmp ult {I} %place.{head}, %count.{head}",
        ]
        w.active = f"%there.{head}"
        return _Queue(head, end, before, count, phis)

    def _ended(self, queue: _Queue, deeper: str = "0") -> None:
        """Its end; so many items that need more were found by then."""
        w, head = self.w, queue.head
        w.lines += [
            f"  %n.{head} = add i64 %q.{head}, {self.lanes}",
            f"  %c.{head} = icmp ult i64 %n.{head}, {queue.many}",
            f"  br i1 %c.{head}, label %{head}, label %{queue.end}",
        ]
        for line, value in zip(queue.phis, (f"%n.{head}", deeper), strict=True):
            w.extend(line, value, w.label)
        last = w.label
        w.open(queue.end)
        w.phi(f"%all.{head}", "i64", [("0", queue.before), (deeper, last)])

    def _rows(self, item: str, head: str) -> None:
        """The rows of items, each by its turn and lane."""
        I = f"<{self.lanes} x i64>"
        self.w.lines += [
            f"  %turn.{head} = lshr {I} {item}, splat (i64 {self.shift})",
            f"  %lane.of.{head} = and {I} {item}, splat (i64 {self.lanes - 1})",
        ]
        self.w.rows_of_lanes(head, self.step, f"%turn.{head}", f"%lane.of.{head}")

    def _computed(self, items: str) -> str:
        """The second loop, over so many items; how many of these need more."""
        w, pool, deeper = self.w, self.pool, self.pool.deeper
        queue = self._begun(items, "items")
        head = queue.head
        self._rows(f"%entry.{head}", head)
        self._again(set(read_by(pool.alone)))
        for step in pool.alone:
            w.step_and_store(step)
        otherwise = dict(zip(deeper.results, deeper.args[1 + deeper.extra[0] :], strict=True)) if deeper else {}
        w.lines += [
            f"  %vector.{head} = lshr i64 %q.{head}, {self.shift}",
            f"  %begin.{head} = mul i64 %vector.{head}, {self.size}",
        ]
        for k, value in enumerate((*pool.left, *pool.kept)):
            w.lines.append(f"  %to{k}.{head} = add i64 %begin.{head}, {k}")
            w.store(w.names[otherwise.get(value, value)], f"%to{k}.{head}", self.at["left"])
        if deeper is None:
            self._ended(queue)
            return "0"
        mask = w.names[deeper.args[0]]
        w.lines.append(f"  %needed.{head} = and <{self.lanes} x i1> %there.{head}, {mask}")
        stores = [
            f"  %number.{head} = add i64 %q.{head}, %lane.{head}",
            *self._stored(f"%number.{head}", "deeper", f"%item.{head}", f"deeper.{head}"),
        ]
        count = self._each_lane(head, f"%needed.{head}", f"%deeper.{head}", stores)
        self._ended(queue, count)
        return f"%all.{head}"

    def _deepened(self, region: Instruction, count: str) -> None:
        """The third loop, over so many items that need more: what is left of them is replaced."""
        w, pool = self.w, self.pool
        queue = self._begun(count, "deeper")
        head = queue.head
        self._rows(w.whole_numbers(self.at["items"], f"%entry.{head}", f"known.{head}"), head)
        places = self._of_items(f"%entry.{head}", head)
        asked = {*inside(region), *read_by(pool.truths)}
        for k, value in enumerate((*pool.left, *pool.kept)):
            if value in asked:
                w.gather(self._place(places, k, head), w.name(value))
        self._again(asked)
        for step in pool.truths:
            w.step_and_store(step)
        self._given(region)
        for step in region.extra[1].code:
            w.step_and_store(step)
        first = len(pool.left) - len(region.results)
        for k, value in enumerate(region.extra[1].results, start=first):
            w.scatter(w.names[value], self._place(places, k, f"to.{head}"), f"%there.{head}")
        self._ended(queue)

    def _of_items(self, item: str, tag: str) -> str:
        """Where what is left of items begins, in numbers."""
        I, W = f"<{self.lanes} x i64>", self.lanes
        self.w.lines += [
            f"  %vector.{tag} = lshr {I} {item}, splat (i64 {self.shift})",
            f"  %begin.{tag} = mul {I} %vector.{tag}, splat (i64 {self.size * W})",
            f"  %own.lane.{tag} = and {I} {item}, splat (i64 {W - 1})",
            f"  %places.of.{tag} = add {I} %begin.{tag}, %own.lane.{tag}",
        ]
        return f"%places.of.{tag}"

    def _place(self, places: str, k: int, tag: str) -> str:
        """Pointers to number k of what is left."""
        I = f"<{self.lanes} x i64>"
        self.w.lines += [
            f"  %number{k}.of.{tag} = add {I} {places}, splat (i64 {k * self.lanes})",
            f"  %ptr{k}.of.{tag} = getelementptr {self.w.vectors.scalar}, ptr {self.at['left']}, {I} "
            f"%number{k}.of.{tag}",
        ]
        return f"%ptr{k}.of.{tag}"

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
        places = self._of_items(f"%entry.{head}", head)
        for k, value in enumerate(self.pool.left):
            w.gather(self._place(places, k, head), w.name(value), f"%mask.{head}")
        w.row(head, self.step)
        w.active = f"%mask.{head}"
        self._again(set(read_by(self.pool.after, self.pool.inside.results)))
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


class _Queue(NamedTuple):
    """A loop over a queue: its labels, the one before it, how many entries there are, and the lines of its phis: %q,
    where it is, and %deeper, how many of its items need more."""

    head: str
    end: str
    before: str
    many: str
    phis: list[int]


def _spread(I: str, number: str, name: str, W: int) -> list[str]:
    """A whole number in all lanes."""
    return [
        f"  %one.{name} = insertelement {I} poison, i64 {number}, i64 0",
        f"  %{name} = shufflevector {I} %one.{name}, {I} poison, <{W} x i32> zeroinitializer",
    ]
