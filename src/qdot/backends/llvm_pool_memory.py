"""Memory of a pooled `scan`, see `llvm_pool`, and what all its parts do, as LLVM assembly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from qdot.backends.llvm_pool import COUNTS, Pool, names_in
from qdot.compiler.program import Instruction

if TYPE_CHECKING:
    from qdot.backends.llvm_text import Writer


class PoolMemory:
    """Where a pool keeps what one part leaves to the next: how many items there are, how many need more, and how many
    turns of each vector were noted; items, by turn, vector and lane; for turns that were noted their numbers, lanes,
    and the item of each lane; items that need more; and what is left and kept of each."""

    def __init__(self, w: Writer, step: Instruction, pool: Pool, place: int) -> None:
        self.w = w
        self.step = step
        self.pool = pool
        self.place = place
        self.at: dict[str, str] = {}
        self.vector = "0"
        self.lanes = w.vectors.width
        self.shift = self.lanes.bit_length() - 1
        self.size = len(pool.left) + len(pool.kept)
        """Numbers that are left and kept of an item."""

    def reach(self, vector: str) -> None:
        """Pointers to the memory, where the vector with this number is at work."""
        w, turns, group, place = self.w, self.step.extra[0], self.pool.group, self.place
        tag, size, self.vector = w.new_label("pool"), w.vectors.type, vector
        own = turns * group
        sizes = {
            "counts": COUNTS, "items": own + 1, "numbers": own, "masks": own, "own": own, "deeper": own + 1, "left": 0
        }  # fmt: skip
        w.lines.append(f"  %far.{tag} = mul i64 {vector}, {turns}")
        for name, many in sizes.items():
            self.at[name] = f"%{name}.{tag}"
            if name in ("numbers", "masks", "own"):  # of each vector
                w.lines.append(f"  %{name}.far.{tag} = add i64 %far.{tag}, {place}")
                w.lines.append(f"  {self.at[name]} = getelementptr {size}, ptr %scratch, i64 %{name}.far.{tag}")
            else:
                w.lines.append(f"  {self.at[name]} = getelementptr {size}, ptr %scratch, i64 {place}")
            place += many
        w.lines.append(f"  %noted.at.{tag} = add i64 {vector}, 2")
        for name, which in (("all", "0"), ("more", "1"), ("noted", f"%noted.at.{tag}")):
            self.at[name] = f"%count.{name}.{tag}"
            w.lines.append(f"  {self.at[name]} = getelementptr i64, ptr {self.at['counts']}, i64 {which}")

    @contextmanager
    def names_of_its_own(self, part: int) -> Iterator[None]:
        """While one part is written."""
        w = self.w
        known, paired, again, active = w.names, w.paired, w.again, w.active
        w.names, w.paired, w.again = known.copy(), {}, f"{again}.{part}"
        yield
        w.names, w.paired, w.again, w.active = known, paired, again, active

    def count(self, name: str) -> str:
        """A number from memory."""
        number = f"%{self.w.new_label('many')}"
        self.w.lines.append(f"  {number} = load i64, ptr {self.at[name]}")
        return number

    def given(self, region: Instruction) -> None:
        """What a region is given, by the names that it has outside; the state has none where it is not asked for."""
        number, inner = region.extra
        names = self.w.names
        for p, a in zip(inner.parameters, region.args[1 : 1 + number], strict=True):
            if a in names or a in names.later:
                names.give(a, p)

    def again(self, wanted: set[int]) -> None:
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
            self.given(test.region)

    def each_lane(self, tag: str, mask: str, count: str, stores: Sequence[str]) -> str:
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

    def stored(self, value: str, to: str, index: str, tag: str) -> list[str]:
        """A whole number, in its place."""
        return [
            f"  %short.{tag} = trunc i64 {value} to i32",
            f"  %to.{tag} = getelementptr i32, ptr {self.at[to]}, i64 {index}",
            f"  store i32 %short.{tag}, ptr %to.{tag}",
        ]

    def of_items(self, item: str, tag: str) -> str:
        """Where what is left of items begins, in numbers."""
        I, W = f"<{self.lanes} x i64>", self.lanes
        self.w.lines += [
            f"  %vector.{tag} = lshr {I} {item}, splat (i64 {self.shift})",
            f"  %begin.{tag} = mul {I} %vector.{tag}, splat (i64 {self.size * W})",
            f"  %own.lane.{tag} = and {I} {item}, splat (i64 {W - 1})",
            f"  %places.of.{tag} = add {I} %begin.{tag}, %own.lane.{tag}",
        ]
        return f"%places.of.{tag}"

    def place_of(self, places: str, k: int, tag: str) -> str:
        """Pointers to number k of what is left."""
        I = f"<{self.lanes} x i64>"
        self.w.lines += [
            f"  %number{k}.of.{tag} = add {I} {places}, splat (i64 {k * self.lanes})",
            f"  %ptr{k}.of.{tag} = getelementptr {self.w.vectors.scalar}, ptr {self.at['left']}, {I} "
            f"%number{k}.of.{tag}",
        ]
        return f"%ptr{k}.of.{tag}"
