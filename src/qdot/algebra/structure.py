"""Walk the scalars inside a value: nested lists, tuples, dicts and the frozen types of this package.

And pack them: `as_array` turns nested lists of scalars into one NumPy array, lanes of a batch first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra.scalar import Scalar
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _is_branch(x: Any) -> bool:
    return isinstance(x, (list, tuple, dict)) or (is_dataclass(x) and getattr(x, "holds_scalars", False))


@cache
def _opener(kind: type) -> Callable[[Any], Iterable[Any]] | None:
    """How values of a type are opened into their parts; None for a scalar."""
    if hasattr(kind, "map_scalars"):
        return kind.entries  # type: ignore[attr-defined]
    if issubclass(kind, (list, tuple)):
        return iter
    if issubclass(kind, dict):
        return kind.values
    if is_dataclass(kind) and getattr(kind, "holds_scalars", False):
        names = [a.name for a in fields(kind)]
        return attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]
    return None


def map_scalars(f: Callable[[Scalar], Any], value: Any) -> Any:
    """The same structure with f applied to each scalar in it."""
    if hasattr(value, "map_scalars"):  # keeps more than scalars
        return value.map_scalars(f)
    if isinstance(value, (list, tuple)):
        make = getattr(type(value), "_make", type(value))  # of a tuple with named entries
        return make(map_scalars(f, x) for x in value)
    if isinstance(value, dict):
        return {key: map_scalars(f, x) for key, x in value.items()}
    if _is_branch(value):
        return type(value)(**{a.name: map_scalars(f, getattr(value, a.name)) for a in fields(value)})
    return f(value)


def scalars_in(value: Any) -> Iterator[Scalar]:
    """Each scalar of a structure, in order."""
    found: list[Scalar] = []
    _gather(value, found)
    return iter(found)


def _gather(value: Any, found: list[Scalar]) -> None:
    kind: type = type(value)
    opened = _opener(kind)
    if opened is None:
        found.append(value)
        return
    for part in opened(value):
        if type(part) is float:  # most of them
            found.append(part)
        else:
            _gather(part, found)


def as_array(nested: Any, batch: tuple[int, ...] = ()) -> NDArray[Any]:
    """Nested lists of scalars as an array: (…) for numbers and symbols, (batch, …) when a scalar is lanes or asked for.

    Symbols give an array of objects, so that `M[0, 1]`, `M.T` and `M @ v` work for them too.
    """
    nested = entries_of(nested)
    leaves = list(scalars_in(nested))
    lanes = [x for x in leaves if isinstance(x, np.ndarray) and x.ndim > 0]
    shape = _shape(nested)
    if len(leaves) != prod(shape):
        raise ValueShapeError(f"these lists are ragged, so they are no array of shape {shape}: {nested!r}")
    numeric = all(isinstance(x, (int, float, np.number, np.ndarray)) for x in leaves)
    batch = np.broadcast_shapes(batch, *(x.shape for x in lanes))
    packed = np.empty((*batch, len(leaves)), dtype=float if numeric else object)
    for k, x in enumerate(leaves):
        packed[..., k] = x
    return packed.reshape(batch + shape)


def entries_of(value: Any) -> Any:
    """Spatial values replaced by their entries, nested as they are written down."""
    if hasattr(value, "entries"):
        value = value.entries()
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    return [entries_of(x) for x in value] if isinstance(value, (list, tuple)) else value


def _shape(nested: Any) -> tuple[int, ...]:
    if isinstance(nested, (list, tuple)):
        return (len(nested), *(_shape(nested[0]) if len(nested) else ()))
    return ()
