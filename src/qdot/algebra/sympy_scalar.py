"""SymPy expressions as scalars. Loaded when the first one appears, so that `import qdot` does not load SymPy."""

from __future__ import annotations

import sympy

from qdot.algebra.scalar import Build, Functions, Scalar, Trial, register
from qdot.errors import ScalarError


def _where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    return sympy.Piecewise((x, condition), (y, True))


def _decided(condition: Scalar, what: str) -> bool:
    if isinstance(condition, sympy.Basic) and condition not in (sympy.true, sympy.false):
        raise ScalarError(
            f"{what} hangs on {condition}, which symbols do not decide; put numbers for them, or compile the function"
        )
    return bool(condition)


def _iterated(limit: int, state: list[Scalar], step: Trial, seen: list[Scalar]) -> list[Scalar]:
    for _ in range(limit):
        go_on, new = step(state)
        if not _decided(go_on, "how often a loop turns"):
            break
        state = new
    return state


def _where_needed(
    condition: Scalar, given: list[Scalar], build: Build, otherwise: list[Scalar], seen: list[Scalar]
) -> list[Scalar]:
    return build(given) if _decided(condition, "whether a part is computed") else otherwise


SYMBOLIC = Functions(
    name="SymPy expression",
    rank=2,
    sin=sympy.sin,
    cos=sympy.cos,
    tan=sympy.tan,
    asin=sympy.asin,
    acos=sympy.acos,
    atan2=sympy.atan2,
    exp=sympy.exp,
    log=sympy.log,
    sqrt=sympy.sqrt,
    absolute=sympy.Abs,
    sign=sympy.sign,
    floor=sympy.floor,
    minimum=sympy.Min,
    maximum=sympy.Max,
    where=_where,
    tanh=sympy.tanh,
    iterated=_iterated,
    where_needed=_where_needed,
)

register(sympy.Basic, SYMBOLIC)  # expressions, and the relations that `where` decides by
