"""Memory for the states of runs: rows of records. Of a batch, numbers of one kind lie next to each other, as vectors
read them; where a rollout sorts its runs, the numbers of one run do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.backends.memory import aligned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


MOST_MEMORY = 2**28
"""Bytes of one window."""


class Records:
    """The rows that are kept of a simulation: of its state, and of results that belong to the step before a row."""

    def __init__(
        self,
        state: Mapping[str, Array],
        results: Mapping[str, int],
        batch: int | None,
        dtype: np.dtype[Any],
        *,
        are_sorted: bool = False,
    ) -> None:
        """`state` is the first row, (n,) or (batch, n) of each name; results have none there yet. `are_sorted`: the
        runs of a batch, by a rollout."""
        self.batch, self.dtype, self.are_sorted = batch, dtype, are_sorted
        self.state = {name: array.shape[-1] for name, array in state.items()}
        self.results = dict(results)
        first = self._room(self.state | self.results, 1)
        for name, array in first.items():
            array[0] = state.get(name, np.nan)
        self.parts = [first]
        """Rows that were kept together: of the state, of results, and of what else is added to them."""
        self.last = {name: first[name][0] for name in self.state}
        """The state that was come to, kept or not."""
        self._together: dict[str, Array] = {}
        """Memory in which the first parts follow each other; and how many rows they have."""
        self._rows_there = 0

    @property
    def longest(self) -> int:
        """Steps that a window may have."""
        row = sum(self.state.values()) + sum(self.results.values())
        return max(1, MOST_MEMORY // (self.dtype.itemsize * row * (self.batch or 1)))

    def expect(self, steps: int) -> None:
        """At the start of a run of so many steps, all of which are kept: they will lie together, as far as a window may
        reach, and need not be copied in the end."""
        if len(self.parts) > 1:
            return
        (first,), rows = self.parts, 1 + min(steps, self.longest)
        self._together = self._room({name: x.shape[-1] for name, x in first.items() if name != "memory"}, rows)
        for name, x in self._together.items():
            x[0] = first[name][0]
        self.parts = [first | {name: x[:1] for name, x in self._together.items()}]
        self.last |= {name: x[0] for name, x in self._together.items() if name in self.state}
        self._rows_there = 1

    def window(self, steps: int, *, whole: bool = True) -> dict[str, Array]:
        """Memory for a rollout from the last row: states (steps + 1, …), the first filled in, results (steps, …). Where
        not all is asked for, the integrator's memory, which is not kept, goes on in one row."""
        memory = {name: size for name, size in self.state.items() if name == "memory"}
        found = self._room(memory, steps + 1 if whole else 1)
        state = [name for name in self.state if name not in memory]
        if self._is_room_for(steps):
            end = self._rows_there + steps
            found |= {name: self._together[name][self._rows_there - 1 : end] for name in state}
            found |= {name: self._together[name][self._rows_there : end] for name in self.results}
        else:
            found |= self._room({name: self.state[name] for name in state}, steps + 1)
            found |= self._room(self.results, steps)
        for name, row in self.last.items():
            found[name][0] = row
        return found

    def _is_room_for(self, steps: int) -> bool:
        """Whether a window of so many steps follows what lies together: the state that was come to is the last of it,
        and not one that was not kept."""
        if self._rows_there + steps > len(self._together.get("count", ())):
            return False
        return np.may_share_memory(self.last["count"], self._together["count"][self._rows_there - 1])

    def _is_there(self, part: Mapping[str, Array]) -> bool:
        """Whether a part lies with the first ones, as all before it do."""
        return bool(self._together) and np.may_share_memory(part["count"], self._together["count"])

    def keep(self, window: Mapping[str, Array], rows: Sequence[int] | slice, inputs: Mapping[str, Array]) -> None:
        """Take these steps of a window over, where it lies if they are a slice; of the integrator's memory only the
        last row is needed. `inputs` have a row for each step."""
        part = {name: window[name][1:][rows] for name in self.state if name != "memory"} | {
            name: window[name][rows] for name in self.results
        }
        part |= {name: x[rows] for name, x in inputs.items()}
        if len(part["count"]):
            self._rows_there += len(part["count"]) if self._is_there(part) else 0
            self.parts.append(part)
        self.last = {name: window[name][-1] for name in self.state}

    def remember(self, memory: Array) -> None:
        """Go on with another memory of the integrator's, (n,) or (batch, n)."""
        self.last["memory"], self.state["memory"] = memory, memory.shape[-1]

    def array(self, name: str, parts: int | None = None) -> Array:
        """All rows of a name, or those of the first parts, (records, n) or (batch, records, n); in memory that is used
        on where they lie together."""
        asked = self.parts[:parts]
        found = [part[name] for part in asked]
        together = name in self._together and self._is_there(asked[-1])
        rows = self._together[name][: sum(map(len, found))] if together else np.concatenate(found)
        return rows if self.batch is None else rows.transpose(1, 0, 2)

    def steps(self) -> Array:
        """How many steps were done at each record."""
        first = (slice(None), 0) if self.batch is None else (slice(None), 0, 0)
        return np.concatenate([part["count"][first] for part in self.parts]).astype(float)

    def _room(self, sizes: Mapping[str, int], rows: int) -> dict[str, Array]:
        if self.batch is None:
            return {name: np.empty((rows, size), self.dtype) for name, size in sizes.items()}
        if self.are_sorted:
            return {name: aligned((rows, self.batch, size), self.dtype) for name, size in sizes.items()}
        found = {name: np.empty((rows, size, self.batch), self.dtype) for name, size in sizes.items()}
        return {name: x.transpose(0, 2, 1) for name, x in found.items()}


def first_steps(arrays: Mapping[str, Array], steps: int, state: Collection[str] = ()) -> dict[str, Array]:
    """So many steps of a window: of the state a row more."""
    return {name: x[: steps + (name in state)] for name, x in arrays.items()}
