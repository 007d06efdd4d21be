"""SymPy expressions as scalars. Loaded when the first one appears, so that `import qdot` does not load SymPy."""

from __future__ import annotations

import sympy

from qdot.algebra.scalar import Functions, Scalar, register


def _where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    return sympy.Piecewise((x, condition), (y, True))


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
)

register(sympy.Basic, SYMBOLIC)  # expressions, and the relations that `where` decides by
