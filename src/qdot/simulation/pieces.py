"""How many steps a run takes between looks of Python at what came out."""

from __future__ import annotations

BETWEEN_LOOKS = 0.1
"""Seconds of computing after which Python looks."""

FIRST_PIECE = 64
SECONDS_PER_OPERATION = 1e-9
"""At most, of eight runs side by side: loops turn more often than once."""


def first_piece(operations: int, batch: int | None) -> int:
    """Steps that should take half of the time between looks, by the operations of one."""
    seconds = SECONDS_PER_OPERATION * operations * max(1.0, (batch or 1) / 8)
    return max(FIRST_PIECE, int(BETWEEN_LOOKS / 2 / max(seconds, 1e-9)))


def next_piece(steps: int, seconds: float) -> int:
    """Steps of the piece after one of so many, which took so long."""
    return 2 * steps if seconds < BETWEEN_LOOKS / 2 else steps
