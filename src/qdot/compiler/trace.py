"""Tracing: run a function on expressions and keep what it computed as a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qdot.compiler.expr import Expr
from qdot.compiler.graph import Graph
from qdot.compiler.program import Port, Program, lower


def trace(
    name: str,
    function: Callable[..., Mapping[str, Any]],
    inputs: Mapping[str, tuple[int, ...]],
    limit: int | None = None,
) -> Program:
    """The program of a function from named inputs to named outputs, each nested lists of expressions.

    A trace that makes more than `limit` nodes stops with a `TooLarge`.
    """
    graph = Graph(limit)
    ports = [Port(n, tuple(shape)) for n, shape in inputs.items()]
    arguments = {p.name: shaped([graph.input(p.name, k) for k in range(p.size)], p.shape) for p in ports}
    outputs = {Port(n, shape_of(value)): flattened(value) for n, value in function(**arguments).items()}
    return lower(name, graph, ports, outputs)


def shaped(entries: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """A flat, row-major sequence as nested lists."""
    if not shape:
        return entries[0]
    if len(shape) == 1:
        return list(entries)
    step = len(entries) // shape[0] if shape[0] else 0
    return [shaped(entries[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of nested lists; they must not be ragged."""
    if hasattr(value, "shape") and not isinstance(value, Expr):
        return tuple(value.shape)
    if not isinstance(value, (list, tuple)):
        return ()
    inner = {shape_of(x) for x in value}
    if len(inner) > 1:
        raise ValueError(f"an output is ragged: its rows have shapes {sorted(inner)}")
    return (len(value), *(inner.pop() if inner else ()))


def flattened(value: Any) -> list[Any]:
    """Nested lists or an array of expressions as a flat, row-major list."""
    if hasattr(value, "ravel"):
        return list(value.ravel())
    if not isinstance(value, (list, tuple)):
        return [value]
    return [entry for x in value for entry in flattened(x)]
