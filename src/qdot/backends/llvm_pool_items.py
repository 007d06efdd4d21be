"""Vectors of the items of a pooled `scan`, see `llvm_pool`, from whatever turn and lane, as LLVM assembly."""

from __future__ import annotations

from typing import NamedTuple

from qdot.backends.llvm_pool import inside, read_by
from qdot.backends.llvm_pool_memory import PoolMemory
from qdot.compiler.program import Instruction


class ItemLoops(PoolMemory):
    """Writes the second part, and the third."""

    def search(self) -> None:
        """Both, one after the other."""
        with self.names_of_its_own(1):
            self._computed(self.count("all"))
        if self.pool.deeper is not None:
            with self.names_of_its_own(2):
                self._deepened(self.pool.deeper, self.count("more"))

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
        """The rows of items, each by its turn, vector and lane."""
        I, w, lane = f"<{self.lanes} x i64>", self.w, f"%lane.of.{head}"
        w.lines += [
            f"  %which.{head} = lshr {I} {item}, splat (i64 {self.shift})",
            f"  %turn.{head} = udiv {I} %which.{head}, splat (i64 {self.pool.group})",
            f"  {lane} = and {I} {item}, splat (i64 {self.lanes - 1})",
        ]
        if self.pool.group > 1:
            apart = self.lanes * (sum(port.size for port in w.program.inputs) + w.tile.size)
            w.lines += [
                f"  %vector.of.{head} = urem {I} %which.{head}, splat (i64 {self.pool.group})",
                f"  %far.{head} = mul {I} %vector.of.{head}, splat (i64 {apart})",
                f"  {lane}.all = add {I} {lane}, %far.{head}",
            ]
            lane += ".all"
        w.rows_of_lanes(head, self.step, f"%turn.{head}", lane)

    def _computed(self, items: str) -> None:
        """The second loop, over so many items; notes how many of these need more."""
        w, pool, deeper = self.w, self.pool, self.pool.deeper
        queue = self._begun(items, "items")
        head = queue.head
        self._rows(f"%entry.{head}", head)
        self.again(set(read_by(pool.alone)))
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
            return
        mask = w.names[deeper.args[0]]
        w.lines.append(f"  %needed.{head} = and <{self.lanes} x i1> %there.{head}, {mask}")
        stores = [
            f"  %number.{head} = add i64 %q.{head}, %lane.{head}",
            *self.stored(f"%number.{head}", "deeper", f"%item.{head}", f"deeper.{head}"),
        ]
        count = self.each_lane(head, f"%needed.{head}", f"%deeper.{head}", stores)
        self._ended(queue, count)
        w.lines.append(f"  store i64 %all.{head}, ptr {self.at['more']}")

    def _deepened(self, region: Instruction, count: str) -> None:
        """The third loop, over so many items that need more: what is left of them is replaced."""
        w, pool = self.w, self.pool
        queue = self._begun(count, "deeper")
        head = queue.head
        self._rows(w.whole_numbers(self.at["items"], f"%entry.{head}", f"known.{head}"), head)
        places = self.of_items(f"%entry.{head}", head)
        asked = {*inside(region), *read_by(pool.truths)}
        for k, value in enumerate((*pool.left, *pool.kept)):
            if value in asked:
                w.gather(self.place_of(places, k, head), w.name(value))
        self.again(asked)
        for step in pool.truths:
            w.step_and_store(step)
        self.given(region)
        for step in region.extra[1].code:
            w.step_and_store(step)
        first = len(pool.left) - len(region.results)
        for k, value in enumerate(region.extra[1].results, start=first):
            w.scatter(w.names[value], self.place_of(places, k, f"to.{head}"), f"%there.{head}")
        self._ended(queue)


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
