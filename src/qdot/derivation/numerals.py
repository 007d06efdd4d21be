"""Numbers of a page are all written alike: as fractions or as decimals, exact where either can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import sympy

from qdot.derivation.ring import exact

DIGITS = 6
"""Of decimals on a page; SymPy and code get all of them."""

SHORT = 1000
"""The largest denominator that one wants to read."""


def are_fractions(expressions: Iterable[Any]) -> bool:
    """Whether the numbers in expressions are written as fractions.

    They are where none is a decimal, and where some decimal does not end but all are short fractions: ⅓ beside 0.15.
    """
    numbers = {x for expression in expressions for x in _numbers(expression)}
    if not any(x.is_Float for x in numbers):
        return True
    meant = [_fraction(x) for x in numbers]
    return any(_decimal(x) != x for x in meant) and all(x.denominator <= SHORT for x in meant)


def are_rounded(expressions: Iterable[Any]) -> bool:
    """Whether decimals of DIGITS digits are not all that there is to the numbers."""
    return any(_decimal(_fraction(x)) != _fraction(x) for expression in expressions for x in _numbers(expression))


def spelled(expression: Any, fractions: bool) -> Any:
    """An expression with its numbers as fractions, or as decimals of DIGITS digits."""
    if isinstance(expression, sympy.MatrixBase):
        return expression.applyfunc(lambda x: spelled(x, fractions))
    if expression.is_Float or expression.is_Rational:
        value = _fraction(expression)
        shown = value if fractions else _decimal(value)
        if fractions or shown.denominator == 1:
            return sympy.Rational(shown.numerator, shown.denominator)
        return sympy.Float(f"{float(shown):.{DIGITS}g}", DIGITS)
    if not expression.args:
        return expression
    if expression.is_Pow and expression.exp.is_number:
        changed = [spelled(expression.base, fractions), expression.exp]
    else:
        changed = [spelled(x, fractions) for x in expression.args]
    return expression if tuple(changed) == expression.args else expression.func(*changed)


def _numbers(expression: Any) -> Iterator[Any]:
    """All numbers that are not whole and no exponents."""
    if isinstance(expression, sympy.MatrixBase):
        for x in expression:
            yield from _numbers(x)
    elif expression.is_Float or (expression.is_Rational and not expression.is_Integer):
        yield expression
    else:
        args = expression.args[:1] if expression.is_Pow and expression.exp.is_number else expression.args
        for x in args:
            yield from _numbers(x)


def _fraction(x: Any) -> Fraction:
    return exact(float(x)) if x.is_Float else Fraction(int(x.p), int(x.q))


def _decimal(x: Fraction) -> Fraction:
    return Fraction(f"{float(x):.{DIGITS}g}")
