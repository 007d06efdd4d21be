"""What a plain Python function does to velocities and accelerations (T6, T11).

Of y = h(x): ẏ = J ẋ and ÿ = J ẍ + J̇ ẋ, with J = ∂h/∂x and J̇ = Σ ∂J/∂x_i ẋ_i. Exact, by dual numbers: h is written
over our scalars. Where x is a configuration, `move` says what a small step is, and J is by the freedoms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from qdot.algebra import Scalar, Scalars, derivative, scalar_problem
from qdot.algebra.linalg import Matrix
from qdot.algorithms.configuration import retract
from qdot.errors import ScalarError, ValueShapeError
from qdot.model.model import Model

Map: TypeAlias = Callable[[Scalars], Scalars]
"""A plain Python function of scalars in order: x ↦ h(x), or constraints φ that hold where they are zero."""

Move: TypeAlias = Callable[[Scalars, Scalars], list[Scalar]]
"""Where a step leads."""


def asked(call: str, name: str, h: Any, entries: int | None = None) -> Callable[..., list[Scalar]]:
    """A user's function, with errors that say what is wrong with it; `entries` are those it should return."""
    answer = answered(call, name, h)

    def checked(*args: Scalars) -> list[Scalar]:
        result = answer(*args)
        if isinstance(result, str) or not hasattr(result, "__len__"):
            raise ValueShapeError(f"{call}: {name} returns a list of scalars, got {result!r}")
        if entries is not None and len(result) != entries:
            raise ValueShapeError(f"{call}: {name} returns {len(result)} entries where {entries} are needed")
        for k, x in enumerate(result):
            problem = scalar_problem(x)
            if problem is not None:
                raise ValueShapeError(f"{call}: {name} returns what cannot be at entry {k}: {problem}")
        return list(result)

    return checked


def answered(call: str, name: str, h: Any) -> Callable[..., Any]:
    """A user's function of scalars that may return anything; what it raises is told as an error of ours."""
    if not callable(h):
        raise ValueShapeError(f"{call}: {name} is a function of lists of scalars, got {h!r}")

    def called(*args: Scalars) -> Any:
        try:
            return h(*args)
        except TypeError as error:
            raise ScalarError(
                f"{call}: {name} cannot be differentiated: {error}; write it with + - * / ** and functions of "
                "qdot.algebra, as qdot.algebra.sin, in place of those of math, NumPy or SymPy"
            ) from error
        except (ArithmeticError, LookupError, ValueError) as error:
            raise ScalarError(
                f"{call}: {name} or its derivative has no value there: {type(error).__name__}: {error}; start from "
                "where it is smooth, and index only the entries it is given"
            ) from error

    return called


def is_met(condition: Any) -> bool:
    """Whether a condition on numbers holds, in any row of a batch; of what is traced or symbolic that is not known."""
    return condition is True or (hasattr(condition, "any") and bool(condition.any()))


def added(x: Scalars, step: Scalars) -> list[Scalar]:
    """x + step."""
    return [a + b for a, b in zip(x, step, strict=True)]


def on_manifold(model: Model) -> Move:
    """Steps of a model's configuration: q ⊕ dv."""
    return partial(retract, model)


def partials(h: Map, x: Scalars, freedoms: int | None = None, move: Move = added) -> Matrix:
    """J = ∂h/∂x, a row for each entry of h."""
    n = len(x) if freedoms is None else freedoms
    columns = [derivative(lambda step: list(h(move(x, step))), unit(n, k)) for k in range(n)]
    return transposed(columns, len(h(x)) if not columns else len(columns[0]))


def rate_bias(h: Map, x: Scalars, v: Scalars, move: Move = added) -> list[Scalar]:
    """J̇ ẋ: the second derivative of h along the motion of constant velocity v."""

    def rate(step: Scalars) -> list[Scalar]:
        there = move(x, step)
        return derivative(lambda more: list(h(move(there, more))), v)

    return derivative(rate, v)


def unit(n: int, k: int) -> list[int]:
    return [1 if i == k else 0 for i in range(n)]


def transposed(rows: Matrix, columns: int) -> Matrix:
    """The transpose of a matrix with so many columns, which may have no rows."""
    return [[row[k] for row in rows] for k in range(columns)]
