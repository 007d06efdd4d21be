"""The closed table of operations: what each means, how it differentiates, how it is spelled in each target.

The meaning, on NumPy lanes, is the definition; every backend is judged against it. A partial derivative is written
over the operands and the result with ordinary operators, so it is itself made of operations of this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Op:
    """One row. Spellings have a place {0}, {1} … for each operand; LLVM's are an instruction or a function to call."""

    name: str
    arity: int
    meaning: Callable[..., Any]
    c: str
    llvm: str
    partials: Callable[..., tuple[Any, ...]] | None = None
    """(operands …, result) → one partial derivative for each operand; None where it is zero everywhere."""
    commutes: bool = False
    returns_truth: bool = False


def _select(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


_ROWS = (
    Op("add", 2, np.add, "({0} + {1})", "fadd", lambda x, y, z: (1.0, 1.0), commutes=True),
    Op("sub", 2, np.subtract, "({0} - {1})", "fsub", lambda x, y, z: (1.0, -1.0)),
    Op("mul", 2, np.multiply, "({0} * {1})", "fmul", lambda x, y, z: (y, x), commutes=True),
    Op("div", 2, np.divide, "({0} / {1})", "fdiv", lambda x, y, z: (1.0 / y, -z / y)),
    Op("neg", 1, np.negative, "(-{0})", "fneg", lambda x, z: (-1.0,)),
    Op("sqrt", 1, np.sqrt, "sqrt({0})", "@sqrt", lambda x, z: (0.5 / z,)),
    Op("sin", 1, np.sin, "sin({0})", "@sin", lambda x, z: (x.cos(),)),
    Op("cos", 1, np.cos, "cos({0})", "@cos", lambda x, z: (-x.sin(),)),
    Op("tan", 1, np.tan, "tan({0})", "@tan", lambda x, z: (1.0 + z * z,)),
    Op("asin", 1, np.arcsin, "asin({0})", "@asin", lambda x, z: (1.0 / (1.0 - x * x).sqrt(),)),
    Op("acos", 1, np.arccos, "acos({0})", "@acos", lambda x, z: (-1.0 / (1.0 - x * x).sqrt(),)),
    Op("atan2", 2, np.arctan2, "atan2({0}, {1})", "@atan2", lambda y, x, z: _atan2_partials(y, x)),
    Op("exp", 1, np.exp, "exp({0})", "@exp", lambda x, z: (z,)),
    Op("log", 1, np.log, "log({0})", "@log", lambda x, z: (1.0 / x,)),
    Op("pow", 2, np.power, "pow({0}, {1})", "@pow", lambda x, y, z: (y * x.pow(y - 1.0), z * x.log())),
    Op("abs", 1, np.abs, "fabs({0})", "@abs", lambda x, z: (x.sign(),)),
    Op("sign", 1, np.sign, "(({0} > 0) - ({0} < 0))", "@sign"),
    Op("floor", 1, np.floor, "floor({0})", "@floor"),
    Op("min", 2, np.minimum, "fmin({0}, {1})", "@min", lambda x, y, z: _chosen(x < y), commutes=True),
    Op("max", 2, np.maximum, "fmax({0}, {1})", "@max", lambda x, y, z: _chosen(x > y), commutes=True),
    Op("lt", 2, np.less, "({0} < {1})", "fcmp olt", returns_truth=True),
    Op("le", 2, np.less_equal, "({0} <= {1})", "fcmp ole", returns_truth=True),
    Op("eq", 2, np.equal, "({0} == {1})", "fcmp oeq", commutes=True, returns_truth=True),
    Op("and", 2, np.logical_and, "({0} && {1})", "and", commutes=True, returns_truth=True),
    Op("or", 2, np.logical_or, "({0} || {1})", "or", commutes=True, returns_truth=True),
    Op("not", 1, np.logical_not, "(!{0})", "not", returns_truth=True),
    Op("select", 3, _select, "({0} ? {1} : {2})", "select", lambda c, x, y, z: (None, *_chosen(c))),
)

OPS: dict[str, Op] = {row.name: row for row in _ROWS}


def _atan2_partials(y: Any, x: Any) -> tuple[Any, Any]:
    square = x * x + y * y
    return x / square, -y / square


def _chosen(condition: Any) -> tuple[Any, Any]:
    """1 for the operand that the condition picks, 0 for the other."""
    return condition.select(1.0, 0.0), condition.select(0.0, 1.0)
