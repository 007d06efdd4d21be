"""Names of values in LLVM assembly, some of which are given when they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

NEAR = 48
"""Steps for which what was loaded is known."""


class Names(dict[int, str]):
    """By value. What lies in memory is loaded where it is read, and again where that is long after it was: what stays
    known is put aside, in other memory, for registers are few. It is known no longer than to the end of the block of
    code in which it is loaded."""

    def __init__(self, known: Mapping[int, str] | None = None) -> None:
        super().__init__(known or {})
        self.later: dict[int, Callable[[], str]] = {}
        """What loads a value, and tells its name."""
        self.loaded: list[int] = []
        """In the block that is being written."""
        self.recent: deque[tuple[int, int]] = deque()
        """What lies in memory and is known, and since when."""
        self.now = 0
        """Steps that were written."""

    def __missing__(self, value: int) -> str:
        if value not in self.later:
            raise KeyError(value)
        load = self.later[value]
        name = load()
        self.lies(value, name, load)
        self.loaded.append(value)
        return name

    def __setitem__(self, value: int, name: str) -> None:
        super().__setitem__(value, name)
        self.later.pop(value, None)

    def lies(self, value: int, name: str, load: Callable[[], str]) -> None:
        """A value is known, and lies in memory, too."""
        self[value] = name
        self.later[value] = load
        self.recent.append((self.now, value))

    def is_recent(self, since: int) -> bool:
        return since >= self.now - NEAR

    def go_on(self) -> None:
        """A step is written; what lies in memory, and was loaded or put there long before, is not known any more."""
        self.now += 1
        while self.recent and not self.is_recent(self.recent[0][0]):
            _, value = self.recent.popleft()
            if value in self.later:
                self.pop(value, None)

    def copy(self) -> Names:
        names = Names(self)
        names.later = dict(self.later)
        return names

    def give(self, value: int, parameter: int) -> None:
        """A value by another name: what is not loaded yet is so where that is read."""
        if value not in self and value in self.later:
            self.later[parameter] = self.later[value]
            self.pop(parameter, None)
        else:
            self[parameter] = self[value]

    def keep(self, value: int, name: str) -> None:
        """What a block within this one may have loaded."""
        if value not in self:
            super().__setitem__(value, name)
            self.loaded.append(value)

    def enter(self) -> list[int]:
        """A block begins."""
        around, self.loaded = self.loaded, []
        return around

    def leave(self, around: list[int]) -> None:
        """It ends, and what was loaded in it is not known any more."""
        for value in self.loaded:
            self.pop(value, None)
        self.loaded = around
