"""A bar for runs that take their time."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

SHOWN_AFTER = 1.0
"""Seconds after which a bar is worth a look."""


class Progress:
    """A bar on standard error, unless it is no terminal or the run is over soon; `wanted` decides otherwise."""

    def __init__(self, steps: int, dt: float, wanted: bool | None) -> None:
        self._steps, self._dt = steps, dt
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def at(self, done: int) -> None:
        """So many steps are done."""
        if not self._wanted or (self._bar is None and time.perf_counter() - self._began < SHOWN_AFTER):
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%")
            self._bar = Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True))
            self._task = self._bar.add_task("simulating", total=self._steps)
            self._bar.start()
        rate = done / (time.perf_counter() - self._began)
        text = f"{done * self._dt:.3g} of {self._steps * self._dt:.3g} s, {rate:,.0f} steps/s"
        self._bar.update(self._task, completed=done, description=text)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
