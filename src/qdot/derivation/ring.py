"""The normal form of mechanics: sums of number × powers of symbols × the cosine or sine of a sum of angles.

Everything that a tree of joints does is of this kind, and products stay of it, since
    cos a cos b = ½ (cos(a - b) + cos(a + b)),  sin a sin b = ½ (cos(a - b) - cos(a + b)), …
so cos(q₁ + q₂) comes out as such, sin² + cos² is 1, and equal things are the same terms: nothing is left to simplify.
`Sum` is one more scalar: the texts of the algorithms run on it. Numbers are fractions, so what cancels, cancels.

A monomial is one integer, Σ exponent_i · BASE^i over the generators of its ring, and an angle is another; monomials
are multiplied, and angles added, by adding these. What is not a polynomial in sines and cosines (a root, sign(v), one
over a sum) is a generator of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import sympy

from qdot.algebra.scalar import Functions, Scalar, register

BASE = 1 << 12
"""Exponents, and multiples of angles, are less than half of it."""

NOISE_BITS = 40
"""What is smaller than 2⁻⁴⁰, some 1e-12, of what it was added from comes from rounded rotations, not the mechanism."""

Key = tuple[int, int, bool]
"""Of a term: its monomial, its angle, and whether it has the sine of it."""


def exact(x: float, scale: float = 0.0) -> Fraction:
    """The number that was meant: ⅓ for 0.333…3, 0.3 for 0.1 + 0.2, else the decimal that is printed.

    `scale` is the size of what it was computed from: beside 1, cos(π/2) is 0. A small number alone is what it is.
    """
    given = Fraction(x)
    close = max(Fraction(scale), abs(given)) / 10**15
    for meant in (given.limit_denominator(1000), Fraction(f"{x:.14g}")):
        if abs(meant - given) <= close:
            return meant
    return Fraction(repr(float(x)))


def number(x: Fraction) -> Any:
    """A fraction as SymPy writes it: a decimal, unless that does not end or is a half, a quarter or an eighth."""
    n = x.denominator
    decimal = all(n % p for p in (3, 7, 11, 13)) and 8 % n
    return sympy.Float(float(x)) if decimal or n > 1000 else sympy.Rational(x.numerator, n)


class TooLong(Exception):
    """More terms in a product than its ring allows, or a choice that depends on another one: nobody would read it."""


class Ring:
    """The generators that sums are made of, numbered as they appear; products have at most `limit` terms."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.generators: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._unpacked: dict[int, dict[int, int]] = {}
        self._slopes: dict[tuple[int, Any], Sum] = {}

    def generator(self, expression: Any) -> Sum:
        """An expression that is a letter here."""
        return Sum(self, {(BASE ** self._number(expression), 0, False): Fraction(1)})

    def _number(self, expression: Any) -> int:
        if expression not in self._numbers:
            self._numbers[expression] = len(self.generators)
            self.generators.append(expression)
        return self._numbers[expression]

    def unpacked(self, packed: int) -> dict[int, int]:
        """The exponent of each generator of a monomial, or the multiple of each in an angle."""
        found = self._unpacked.get(packed)
        if found is None:
            found, rest, k = {}, packed, 0
            while rest:
                digit = (rest + BASE // 2) % BASE - BASE // 2
                if digit:
                    found[k] = digit
                rest, k = (rest - digit) // BASE, k + 1
            self._unpacked[packed] = found
        return found

    def constant(self, x: Fraction | int) -> Sum:
        return Sum(self, {(0, 0, False): Fraction(x)} if x else {})

    def of(self, x: Any) -> Sum:
        """A number or a SymPy expression in normal form."""
        if isinstance(x, Sum):
            return x
        if isinstance(x, (int, Fraction)):
            return self.constant(x)
        if isinstance(x, float):
            return self.constant(exact(x))
        return self._read(sympy.sympify(x))

    def _read(self, x: Any) -> Sum:
        if x.is_Rational:
            return self.constant(Fraction(int(x.p), int(x.q)))
        if x.is_number and x.is_real:
            return self.constant(exact(float(x)))
        if x.is_Add:
            return self.total(self._read(part) for part in x.args)
        if x.is_Mul:
            product = self.constant(1)
            for part in x.args:
                product = product * self._read(part)
            return product
        if x.is_Pow and x.exp.is_Integer:
            return self._read(x.base) ** int(x.exp)
        if isinstance(x, sympy.sin):
            return _sin(self._read(x.args[0]))
        if isinstance(x, sympy.cos):
            return _cos(self._read(x.args[0]))
        return self.generator(x)

    def total(self, parts: Iterable[Sum]) -> Sum:
        terms: dict[Key, Fraction] = {}
        for part in parts:
            for key, c in part.terms.items():
                _include(terms, key, c)
        return Sum(self, terms)

    def slope(self, k: int, symbol: Any) -> Sum:
        """∂/∂symbol of generator k; steps, as of sign(v), are level almost everywhere."""
        if (k, symbol) not in self._slopes:
            level = {step: sympy.Dummy() for step in self.generators[k].atoms(sympy.sign, sympy.floor)}
            slope = sympy.diff(self.generators[k].xreplace(level), symbol)
            self._slopes[k, symbol] = self.of(slope.xreplace({dummy: step for step, dummy in level.items()}))
        return self._slopes[k, symbol]


class Sum:
    """A sum of terms in normal form, by key; no coefficient is zero."""

    __slots__ = ("ring", "terms")
    __array_ufunc__ = None
    _op_priority = 100  # SymPy's expressions leave the operators to us

    def __init__(self, ring: Ring, terms: dict[Key, Fraction]) -> None:
        self.ring, self.terms = ring, terms

    def __add__(self, other: Scalar) -> Any:
        if not isinstance(other, KNOWN):
            return NotImplemented
        mine, theirs = self.terms, self.ring.of(other).terms
        if len(mine) < len(theirs):
            mine, theirs = theirs, mine
        terms = dict(mine)
        for key, c in theirs.items():
            _include(terms, key, c)
        return Sum(self.ring, terms)

    __radd__ = __add__

    def __neg__(self) -> Sum:
        return Sum(self.ring, {key: -c for key, c in self.terms.items()})

    def __sub__(self, other: Scalar) -> Any:
        return self + -self.ring.of(other) if isinstance(other, KNOWN) else NotImplemented

    def __rsub__(self, other: Scalar) -> Any:
        return -self + other

    def __mul__(self, other: Scalar) -> Any:
        if not isinstance(other, KNOWN):
            return NotImplemented
        if isinstance(other, (int, Fraction)):
            return Sum(self.ring, {key: c * other for key, c in self.terms.items()} if other else {})
        terms: dict[Key, Fraction] = {}
        theirs = self.ring.of(other).terms.items()
        for (m, a, a_odd), x in self.terms.items():
            for (n, b, b_odd), y in theirs:
                if not a:
                    _include(terms, (m + n, b, b_odd), x * y)
                elif not b:
                    _include(terms, (m + n, a, a_odd), x * y)
                else:
                    half, odd = x * y / 2, a_odd != b_odd
                    _include_angle(terms, m + n, a + b, odd, -half if a_odd and b_odd else half)
                    _include_angle(terms, m + n, a - b, odd, -half if b_odd and not a_odd else half)
        if self.ring.limit is not None and len(terms) > self.ring.limit:
            raise TooLong
        return Sum(self.ring, terms)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Sum:
        if exponent < 0:
            return self.reciprocal() ** -exponent
        result = self.ring.constant(1)
        for _ in range(exponent):
            result = result * self
        return result

    def __truediv__(self, other: Scalar) -> Any:
        return self * self.ring.of(other).reciprocal() if isinstance(other, KNOWN) else NotImplemented

    def __rtruediv__(self, other: Scalar) -> Any:
        return self.reciprocal() * other

    def reciprocal(self) -> Sum:
        """1/x: of one product of powers another such, else a new generator."""
        if len(self.terms) == 1:
            ((m, angle, _), c), *_ = self.terms.items()
            if not angle:
                return Sum(self.ring, {(-m, 0, False): 1 / c})
        if not self.terms:
            raise ZeroDivisionError("one over zero")
        content, c = self._content()
        primitive = Sum(self.ring, {(m - content, angle, odd): x / c for (m, angle, odd), x in self.terms.items()})
        (key,) = self.ring.generator(primitive.sympy()).terms
        return Sum(self.ring, {(-content - key[0], 0, False): 1 / c})

    def _content(self) -> tuple[int, Fraction]:
        """The monomial that all terms share, and the number that makes the smallest coefficient one."""
        powers = [self.ring.unpacked(m) for m, _, _ in self.terms]
        shared = (min(p.get(k, 0) for p in powers) * BASE**k for k in powers[0])
        return sum(shared), min(self.terms.values(), key=abs)

    def value(self) -> Fraction | None:
        """The number that this is, if it is one."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get((0, 0, False)) if len(self.terms) == 1 else None

    def _compared(self, other: Scalar) -> Any:
        """The difference: a number, or an expression that SymPy compares with zero."""
        difference = self - other
        known = difference.value()
        return difference.sympy() if known is None else known

    def __lt__(self, other: Scalar) -> Any:
        return self._compared(other) < 0

    def __le__(self, other: Scalar) -> Any:
        return self._compared(other) <= 0

    def __gt__(self, other: Scalar) -> Any:
        return self._compared(other) > 0

    def __ge__(self, other: Scalar) -> Any:
        return self._compared(other) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KNOWN) and not (self - other).terms

    def __hash__(self) -> int:
        known = self.value()
        return hash(frozenset(self.terms.items()) if known is None else known)

    def __repr__(self) -> str:
        return str(self.sympy())

    def diff(self, symbol: Any) -> Sum:
        """∂/∂symbol."""
        parts = []
        for (m, angle, odd), c in self.terms.items():
            for k, power in self.ring.unpacked(m).items():
                slope = self.ring.slope(k, symbol)
                if slope.terms:
                    parts.append(Sum(self.ring, {(m - BASE**k, angle, odd): c * power}) * slope)
            for k, times in self.ring.unpacked(angle).items():
                slope = self.ring.slope(k, symbol)
                if slope.terms:
                    turned = c * times if odd else -c * times
                    parts.append(Sum(self.ring, {(m, angle, not odd): turned}) * slope)
        return self.ring.total(parts)

    def cleaned(self) -> Sum:
        """Without what rounding left beside the same product of symbols; other products have other units."""
        largest: dict[int, int] = {}
        for (m, _, _), c in self.terms.items():
            largest[m] = max(_bits(c), largest.get(m, _bits(c)))
        kept = {key: c for key, c in self.terms.items() if _bits(c) > largest[key[0]] - NOISE_BITS}
        return Sum(self.ring, kept)

    def sympy(self, by: Sequence[Any] = ()) -> Any:
        """As a SymPy expression, collected by products of the symbols `by`, then by sines and cosines."""
        from qdot.derivation.collect import collected

        return collected(self.cleaned(), by)


KNOWN = (Sum, int, float, Fraction, sympy.Basic)
"""Kinds that sums compute with; others (dual numbers) compute with sums."""


def _include(terms: dict[Key, Fraction], key: Key, c: Fraction) -> None:
    """Add a term; one that cancels, but for rounding, goes."""
    if not c:
        return
    total = terms.get(key, 0) + c
    if total and _bits(total) > _bits(c) - NOISE_BITS:
        terms[key] = total
    else:
        del terms[key]


def _bits(x: Fraction) -> int:
    """The logarithm of |x| to base 2, within one."""
    return x.numerator.bit_length() - x.denominator.bit_length()


def _include_angle(terms: dict[Key, Fraction], monomial: int, angle: int, odd: bool, c: Fraction) -> None:
    """Add a term with the sine or cosine of an angle that may be negative or zero."""
    if angle > 0:
        _include(terms, (monomial, angle, odd), c)
    elif angle < 0:
        _include(terms, (monomial, -angle, odd), -c if odd else c)
    elif not odd:
        _include(terms, (monomial, 0, False), c)


# ── functions ────────────────────────────────────────────────────────────────────────────────────


def _angle(x: Sum) -> tuple[int, Fraction] | None:
    """(angle, number) where x is a sum of whole multiples of generators and a number."""
    angle, rest = 0, Fraction(0)
    for (m, turned, _), c in x.terms.items():
        powers = x.ring.unpacked(m)
        if m == 0 and not turned:
            rest = c
        elif turned or c.denominator != 1 or list(powers.values()) != [1]:
            return None
        else:
            angle += m * c.numerator
    return angle, rest


def _turned(x: Sum, odd: bool) -> Sum:
    """sin x where odd, else cos x; of a sum of angle and number by the theorem of addition."""
    found = _angle(x)
    if found is None:
        return x.ring.generator((sympy.sin if odd else sympy.cos)(x.sympy()))
    angle, rest = found
    terms: dict[Key, Fraction] = {}
    _include_angle(terms, 0, angle, odd, exact(math.cos(rest), 1.0))
    _include_angle(terms, 0, angle, not odd, exact(math.sin(rest), 1.0) * (1 if odd else -1))
    return Sum(x.ring, terms)


def _sin(x: Sum) -> Sum:
    return _turned(x, odd=True)


def _cos(x: Sum) -> Sum:
    return _turned(x, odd=False)


def _by_sympy(f: Any) -> Any:
    """A function that SymPy knows; what it makes of its arguments is read again."""

    def call(*args: Scalar) -> Sum:
        ring = next(x.ring for x in args if isinstance(x, Sum))
        return ring.of(f(*(ring.of(x).sympy() for x in args)))

    return call


def _where(condition: Any, x: Scalar, y: Scalar) -> Scalar:
    if isinstance(condition, (bool, sympy.logic.boolalg.BooleanAtom)):
        return x if condition else y
    if condition.has(sympy.Piecewise):
        raise TooLong
    ring = next(value.ring for value in (x, y) if isinstance(value, Sum))
    return ring.generator(sympy.Piecewise((ring.of(x).sympy(), condition), (ring.of(y).sympy(), True)))


NORMAL_FORM = Functions(
    name="sum in normal form",
    rank=3,
    sin=_sin,
    cos=_cos,
    tan=_by_sympy(sympy.tan),
    asin=_by_sympy(sympy.asin),
    acos=_by_sympy(sympy.acos),
    atan2=_by_sympy(sympy.atan2),
    exp=_by_sympy(sympy.exp),
    log=_by_sympy(sympy.log),
    sqrt=_by_sympy(sympy.sqrt),
    absolute=_by_sympy(sympy.Abs),
    sign=_by_sympy(sympy.sign),
    floor=_by_sympy(sympy.floor),
    minimum=_by_sympy(sympy.Min),
    maximum=_by_sympy(sympy.Max),
    where=_where,
)

register(Sum, NORMAL_FORM)
