"""Names of values in LLVM assembly, some of which are given when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping


class Names(dict[int, str]):
    """By value. What lies in memory is loaded where it is first read: what is loaded long before is put aside again,
    for registers are few. It is known to the end of the block of code in which that is."""

    def __init__(self, known: Mapping[int, str] | None = None) -> None:
        super().__init__(known or {})
        self.later: dict[int, Callable[[], str]] = {}
        """What loads a value, and tells its name."""
        self.loaded: list[int] = []
        """In the block that is being written."""

    def __missing__(self, value: int) -> str:
        if value not in self.later:
            raise KeyError(value)
        self[value] = name = self.later[value]()
        self.loaded.append(value)
        return name

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
            self[value] = name
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
