"""What few look at: found out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """What a function without arguments finds; it is called once."""

    def __init__(self, find: Callable[[], T]) -> None:
        self._find: Callable[[], T] | None = find
        self._found: list[T] = []

    @property
    def value(self) -> T:
        if self._find is not None:
            self._found, self._find = [self._find()], None  # with all that it held
        return self._found[0]


def known(value: T | Later[T]) -> T:
    """What is there already, or is found out now."""
    return value.value if isinstance(value, Later) else value
