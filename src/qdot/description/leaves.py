"""What records hold in the end, however deep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass


def leaves_of(value: object) -> Iterator[object]:
    """The numbers, symbols, texts and arrays within records, and within lists and tuples of them."""
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves_of(part)
    else:
        yield value
