"""The arguments of the library's functions, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qdot.algebra import Scalar, scalar_problem
from qdot.errors import ModelError


def scalars(function: str, **named: Any) -> None:
    """Raise where an argument is not a number or a symbol."""
    for name, value in named.items():
        problem = scalar_problem(value)
        if problem is not None:
            raise ModelError(f"{function}: {name} is a number or a symbol, got {value!r}: {problem}")


def pairs(function: str, **named: Any) -> list[Sequence[Scalar]]:
    """Raise where an argument is not two numbers or symbols, one for each of two links."""
    for name, value in named.items():
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ModelError(f"{function}: {name} are two values, one for each link, got {value!r}")
        scalars(function, **{f"{name}[{k}]": x for k, x in enumerate(value)})
    return list(named.values())


def count(function: str, **named: Any) -> None:
    """Raise where an argument is not a whole number, zero or more."""
    for name, value in named.items():
        if not isinstance(value, int) or value < 0:
            raise ModelError(f"{function}: {name} is a whole number, zero or more, got {value!r}")
