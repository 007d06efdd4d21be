"""Where output goes: results to stdout, progress and errors to stderr; plain text where nobody looks on."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from qdot.cli.wording import spoken

PIPED_WIDTH = 100
"""Columns where the output is no terminal and COLUMNS does not say."""


class Terminal:
    """The two streams of a program. Text is shown as it is: names in a file may look like markup."""

    def __init__(self) -> None:
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)

    def show(self, *things: RenderableType) -> None:
        """Results, with an empty line after each."""
        for thing in things:
            self.out.print(thing)
            self.out.print()

    def complain(self, message: str) -> None:
        """An error, in one piece: no line is cut, so that paths can be copied."""
        self.err.print(Text.assemble(("qdot: ", "bold red"), spoken(message)), soft_wrap=True)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the process; `main` decides


def _console(stderr: bool) -> Console:
    stream: Any = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")  # a question mark is better than no answer
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return _Console(stderr=stderr, markup=False, emoji=False, highlight=False, width=width)
