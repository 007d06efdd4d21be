"""Traced expressions as scalars: importing this module makes them known, so that every text can be traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qdot.algebra import Functions, Scalar, Scalars, register
from qdot.algebra.scalar import Build
from qdot.compiler.expr import Expr
from qdot.compiler.graph import Graph
from qdot.compiler.table import Table


def _unary(op: str) -> Callable[[Scalar], Scalar]:
    return lambda x: x.unary(op)


def _binary(op: str) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(x: Scalar, y: Scalar) -> Scalar:
        graph = x.graph if isinstance(x, Expr) else y.graph
        return graph.expr(graph.apply(op, graph.require(x), graph.require(y)))

    return apply


def _where(condition: Any, x: Scalar, y: Scalar) -> Scalar:
    return condition.select(x, y) if isinstance(condition, Expr) else x if condition else y


def _graph(seen: Sequence[Scalar]) -> Graph:
    return next(x.graph for x in seen if isinstance(x, Expr))


WRITTEN_OUT = 2**16
"""Operations up to which rows are written out one after the other: each keeps its own zeros, and runs a quarter faster.
Beyond, so much code no longer fits the processor's caches, and takes too long to compile: a loop is made."""


def _each(rows: Sequence[Scalars], build: Build) -> list[list[Scalar]]:
    graph = _graph([x for row in rows for x in row])
    before = len(graph.ops)
    first = build(list(rows[0]))
    if (len(graph.ops) - before) * len(rows) <= WRITTEN_OUT:
        return [first, *(build(list(row)) for row in rows[1:])]
    return graph.each([list(row) for row in rows], build)


def _when(
    condition: Scalar, given: list[Scalar], build: Build, otherwise: list[Scalar], seen: list[Scalar]
) -> list[Scalar]:
    if isinstance(condition, Expr) and condition.graph.constants[condition.index] is None:
        return list(condition.graph.when(condition, given, build, otherwise))
    return build(given) if condition else otherwise


EXPRESSION = Functions(
    name="traced expression",
    rank=3,
    sin=_unary("sin"),
    cos=_unary("cos"),
    tan=_unary("tan"),
    asin=_unary("asin"),
    acos=_unary("acos"),
    atan2=_binary("atan2"),
    exp=_unary("exp"),
    log=_unary("log"),
    sqrt=_unary("sqrt"),
    absolute=_unary("abs"),
    sign=_unary("sign"),
    floor=_unary("floor"),
    minimum=_binary("min"),
    maximum=_binary("max"),
    where=_where,
    each=_each,
    repeated=lambda count, state, step, seen: list(_graph(seen).fori(count, state, step)),
    scanned=lambda rows, state, step, seen: list(
        _graph(seen).scan([list(row) for row in rows], state, lambda row, carried: step(carried, row))
    ),
    looked_up=lambda table, index: list(index.graph.row(Table(table), index)),
    swept=lambda table, first, count, state, step, seen: list(
        _graph(seen).sweep(Table(table), first, count, state, lambda row, carried: step(carried, row))
    ),
    iterated=lambda limit, state, step, seen: list(_graph(seen).while_(limit, state, step)),
    where_needed=_when,
)

register(Expr, EXPRESSION)
