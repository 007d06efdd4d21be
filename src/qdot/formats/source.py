"""Where the text of a model comes from: a file, or a string."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Source:
    """A text; `file` is the name that messages show, `folder` where relative paths start (None for a string).

    `encoding` is the text's where that is known, whatever it declares itself.
    """

    text: bytes
    file: str
    folder: Path | None
    encoding: str | None = None

    def at(self, line: int | None) -> str:
        """ "robot.urdf:12", for the start of a message."""
        return self.file if line is None else f"{self.file}:{line}"
