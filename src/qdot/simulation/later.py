"""Arrays that few look at: computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Later:
    """What a function without arguments finds; it is called once."""

    def __init__(self, find: Callable[[], Array]) -> None:
        self._find: Callable[[], Array] | None = find
        self._found = np.empty(0)

    @property
    def array(self) -> Array:
        if self._find is not None:
            self._found, self._find = self._find(), None  # with all that it held
        return self._found
