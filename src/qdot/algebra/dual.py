"""Dual numbers x + x'ε with ε² = 0: the exact derivative of any text, over any scalar.

`derivative(f, direction)` evaluates `f` at a perturbation `direction * ε` of zero and reads off the ε part, so
`d/dε f(ε·direction)` at ε = 0. Each call has a `level` of its own; numbers of a lower level are constants to a higher
one, so derivatives nest without confusing their perturbations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from qdot.algebra import loops, scalar as sc
from qdot.algebra.scalar import Build, Functions, Rows, RowTurn, Scalar, Scalars, Trial, Turn, register
from qdot.algebra.structure import map_scalars
from qdot.quick import quick

_levels = count(1)


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """value + slope·ε, ε² = 0."""

    value: Scalar
    slope: Scalar
    level: int

    __array_ufunc__ = None  # lanes * dual is ours to compute, not NumPy's

    def __add__(self, other: Scalar) -> Scalar:
        return _combine(self, other, lambda a, b: a + b, lambda a, b: (1, 1))

    def __radd__(self, other: Scalar) -> Scalar:
        return self + other

    def __sub__(self, other: Scalar) -> Scalar:
        return _combine(self, other, lambda a, b: a - b, lambda a, b: (1, -1))

    def __rsub__(self, other: Scalar) -> Scalar:
        return -self + other

    def __mul__(self, other: Scalar) -> Scalar:
        return _combine(self, other, lambda a, b: a * b, lambda a, b: (b, a))

    def __rmul__(self, other: Scalar) -> Scalar:
        return self * other

    def __truediv__(self, other: Scalar) -> Scalar:
        if not isinstance(other, Dual):  # exact where a symbol is divided by a whole number
            return Dual(self.value / other, self.slope / other, self.level)
        return _combine(self, other, lambda a, b: a / b, lambda a, b: (1 / b, -a / (b * b)))

    def __rtruediv__(self, other: Scalar) -> Scalar:
        return Dual(other / self.value, -other * self.slope / (self.value * self.value), self.level)

    def __pow__(self, exponent: int) -> Scalar:
        rate = exponent * self.value ** (exponent - 1) if exponent else 0
        return Dual(self.value**exponent, rate * self.slope, self.level)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope, self.level)

    # Comparisons look at the value: which branch is taken does not depend on an infinitesimal step.
    def __lt__(self, other: Scalar) -> Scalar:
        return _value(self) < _value(other)

    def __le__(self, other: Scalar) -> Scalar:
        return _value(self) <= _value(other)

    def __gt__(self, other: Scalar) -> Scalar:
        return _value(self) > _value(other)

    def __ge__(self, other: Scalar) -> Scalar:
        return _value(self) >= _value(other)


def derivative(f: Callable[[Scalars], Any], direction: Scalars) -> Any:
    """d/dε f(ε·direction) at ε = 0, in the same structure as f's result (lists, tuples, spatial values)."""
    level = next(_levels)
    result = f([Dual(0, d, level) for d in direction])
    return map_scalars(lambda x: _slope(x, level), result)


def _value(x: Scalar) -> Scalar:
    return _value(x.value) if isinstance(x, Dual) else x


def _slope(x: Scalar, level: int) -> Scalar:
    return x.slope if isinstance(x, Dual) and x.level == level else 0


def _split(x: Scalar, level: int) -> tuple[Scalar, Scalar]:
    """(value, slope) of x as seen at a level; slope None for a constant there."""
    if isinstance(x, Dual) and x.level == level:
        return x.value, x.slope
    return x, None


def _combine(
    x: Scalar,
    y: Scalar,
    value: Callable[[Scalar, Scalar], Scalar],
    partials: Callable[[Scalar, Scalar], tuple[Scalar, Scalar]],
) -> Dual:
    """f(x, y) with the chain rule, at the higher level of the two."""
    level = max(x.level if isinstance(x, Dual) else 0, y.level if isinstance(y, Dual) else 0)
    (a, da), (b, db) = _split(x, level), _split(y, level)
    fa, fb = partials(a, b)
    slope = fa * da if db is None else fb * db if da is None else fa * da + fb * db
    return Dual(value(a, b), slope, level)


def _chain(f: Callable[[Scalar], Scalar], df: Callable[[Scalar], Scalar]) -> Callable[[Dual], Dual]:
    return lambda x: Dual(f(x.value), df(x.value) * x.slope, x.level)


def _atan2(y: Scalar, x: Scalar) -> Scalar:
    return _combine(y, x, sc.atan2, lambda a, b: (b / (a * a + b * b), -a / (a * a + b * b)))


def _where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    level = max(x.level if isinstance(x, Dual) else 0, y.level if isinstance(y, Dual) else 0)
    (a, da), (b, db) = _split(x, level), _split(y, level)
    slope = sc.where(condition, 0 if da is None else da, 0 if db is None else db)
    return Dual(sc.where(condition, a, b), slope, level)


# Loops carry values and slopes side by side, so that a scalar of any kind may lie beneath.
def _apart(scalars: Sequence[Scalar], level: int) -> list[Scalar]:
    """All values, then all slopes."""
    parts = [_split(x, level) for x in scalars]
    return [a for a, _ in parts] + [0 if da is None else da for _, da in parts]


def _together(parts: list[Scalar], level: int) -> list[Scalar]:
    half = len(parts) // 2
    return [Dual(a, da, level) for a, da in zip(parts[:half], parts[half:], strict=True)]


def _highest(seen: Sequence[Scalar]) -> int:
    return max(x.level for x in seen if isinstance(x, Dual))


def _repeated(count: int, state: list[Scalar], step: Turn, seen: list[Scalar]) -> list[Scalar]:
    level = _highest(seen)
    parts = loops.repeated(
        count, _apart(state, level), lambda k, parts: _apart(step(k, _together(parts, level)), level)
    )
    return _together(parts, level)


def _swept(
    table: Rows, first: Scalar, count: Scalar, state: list[Scalar], step: RowTurn, seen: list[Scalar]
) -> list[Scalar]:
    level = _highest(seen)
    begin, length = _split(first, level)[0], _split(count, level)[0]  # they do not change

    def both(parts: list[Scalar], row: list[Scalar]) -> list[Scalar]:
        return _apart(step(_together(parts, level), row), level)

    parts = loops.swept(table, begin, length, _apart(state, level), both)
    return _together(parts, level)


def _iterated(limit: int, state: list[Scalar], step: Trial, seen: list[Scalar]) -> list[Scalar]:
    level = _highest(seen)

    def both(parts: list[Scalar]) -> tuple[Scalar, list[Scalar]]:
        go_on, new = step(_together(parts, level))
        return go_on, _apart(new, level)

    return _together(loops.iterated(limit, _apart(state, level), both), level)


def _where_needed(
    condition: Scalar, given: list[Scalar], build: Build, otherwise: list[Scalar], seen: list[Scalar]
) -> list[Scalar]:
    level = _highest(seen)
    parts = loops.where_needed(
        condition,
        _apart(given, level),
        lambda parts: _apart(build(_together(parts, level)), level),
        _apart(otherwise, level),
    )
    return _together(parts, level)


DUAL = Functions(
    name="dual number",
    rank=4,
    sin=_chain(sc.sin, sc.cos),
    cos=_chain(sc.cos, lambda x: -sc.sin(x)),
    tan=_chain(sc.tan, lambda x: 1 + sc.tan(x) ** 2),
    asin=_chain(sc.asin, lambda x: 1 / sc.sqrt(1 - x * x)),
    acos=_chain(sc.acos, lambda x: -1 / sc.sqrt(1 - x * x)),
    atan2=_atan2,
    exp=_chain(sc.exp, sc.exp),
    log=_chain(sc.log, lambda x: 1 / x),
    sqrt=_chain(sc.sqrt, lambda x: 1 / (2 * sc.sqrt(x))),
    absolute=_chain(sc.absolute, sc.sign),
    sign=_chain(sc.sign, lambda x: 0 * x),
    floor=_chain(sc.floor, lambda x: 0 * x),
    minimum=lambda x, y: _where(x < y, x, y),
    maximum=lambda x, y: _where(x > y, x, y),
    where=_where,
    tanh=_chain(sc.tanh, lambda x: 1 - sc.tanh(x) ** 2),
    repeated=_repeated,
    looked_up=lambda table, index: sc.looked_up(table, _split(index, index.level)[0]),
    swept=_swept,
    iterated=_iterated,
    where_needed=_where_needed,
)

register(Dual, DUAL)
