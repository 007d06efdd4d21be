"""A description as plain data, and back: for files that hold a model and from which nothing is ever run.

A record becomes {"is": its class, field: value, …}, a tuple a list, an array a number by which it is found beside the
text. Only classes of qdot's own are written and made: those that a mechanism is described with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import Parameter, signature
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot import algebra, description, geometry, joints, spatial
from qdot.description import Description
from qdot.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

KIND = "is"
KNOWN: dict[str, type] = {
    name: kind
    for package in (algebra, spatial, geometry, joints, description)
    for name, kind in vars(package).items()
    if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Enum))
}
"""Every class that may stand in a file, by name."""


class Unwritable(Exception):
    """Something that is no data; the text says what and where."""


def data_of(value: Description) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """A description as data for JSON, and the arrays in it; raises `Unwritable`."""
    arrays: list[NDArray[Any]] = []
    data: dict[str, Any] = _data(value, "", arrays)
    if description_of(data, arrays) != value:
        raise Unwritable(f"mechanism {value.name!r} does not come back as it was")
    return data, arrays


def description_of(data: Any, arrays: Sequence[NDArray[Any]]) -> Description:
    """The description in data; raises `ModelError` where it is no such thing."""
    try:
        found = _value(data, arrays)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"this is no description of a mechanism: {error}") from error
    if not isinstance(found, Description):
        raise ModelError("this is no description of a mechanism")
    return found


def _data(value: Any, where: str, arrays: list[NDArray[Any]]) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if isfinite(value) else {KIND: "float", "text": repr(float(value))}
    if isinstance(value, (list, tuple)):
        return [_data(x, where, arrays) for x in value]
    if isinstance(value, frozenset):
        return {KIND: "set", "entries": sorted(value)}
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays.append(value)
        return {KIND: "array", "number": len(arrays) - 1}
    kind = type(value)
    if KNOWN.get(kind.__name__) is not kind:
        raise Unwritable(f"{where}is of class {kind.__module__}.{kind.__qualname__}, which is not one of qdot's")
    if isinstance(value, Enum):
        return {KIND: kind.__name__, "name": value.name}
    here = f"{type(value).__name__} {value.name!r}: its " if getattr(value, "name", "") else where
    parts = {f.name: _data(getattr(value, f.name), f"{here}{f.name} ", arrays) for f in fields(value) if _is_given(f)}
    return {KIND: kind.__name__, **parts}


def _is_given(f: Any) -> bool:
    """Whether a field is set by who makes the record: not what it works out for itself."""
    return f.init and not f.name.startswith("_")


def _value(data: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    if isinstance(data, list):
        return tuple(_value(x, arrays) for x in data)
    if not isinstance(data, dict):
        return data
    parts = dict(data)
    kind = parts.pop(KIND)
    if kind == "float":
        return float(parts["text"])
    if kind == "set":
        return frozenset(parts["entries"])
    if kind == "array":
        return arrays[parts["number"]]
    made = KNOWN[kind]
    if issubclass(made, Enum):
        return made[parts["name"]]
    return _made(made, {name: _value(x, arrays) for name, x in parts.items()})


def _made(kind: type, parts: dict[str, Any]) -> Any:
    """By its constructor, so that what a file says is checked; a field may be given as all arguments by position."""
    listed = [p.name for p in signature(kind).parameters.values() if p.kind is Parameter.VAR_POSITIONAL]
    given = [x for name in listed for x in parts.pop(name)]
    return kind(*given, **parts)
