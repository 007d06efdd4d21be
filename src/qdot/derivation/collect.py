"""How a sum in normal form is written: collected as a textbook does.

First by products of given symbols (velocities, accelerations), then by sines and cosines of sums of angles; the
coefficient of each, a polynomial, has taken out what the most terms share: g (l₁ m₁ + d₂ m₂) cos q₁.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy

from qdot.derivation.ring import Ring, Sum, number

Monomials = dict[tuple[tuple[int, int], ...], Fraction]
"""Coefficients by (generator, exponent) pairs in order."""


def collected(x: Sum, by: Sequence[Any] = ()) -> Any:
    """A sum as a SymPy expression."""
    ring = x.ring
    first = {k for k, generator in enumerate(ring.generators) if generator in set(by)}
    groups: dict[Any, dict[Any, Monomials]] = defaultdict(lambda: defaultdict(dict))
    for (m, angle, odd), c in x.terms.items():
        powers = sorted(ring.unpacked(m).items())
        outer = tuple(p for p in powers if p[0] in first)
        inner = tuple(p for p in powers if p[0] not in first)
        groups[outer][angle, odd][inner] = c
    return sympy.Add(*(_product(ring, outer, waves) for outer, waves in groups.items()))


def _product(ring: Ring, outer: Sequence[tuple[int, int]], waves: Mapping[Any, Monomials]) -> Any:
    """outer × Σ polynomial × wave, with the number and the powers that all terms share taken out.

    A negative power is shared by all once the others are expanded: so fractions get one denominator.
    """
    powers = [dict(row) for terms in waves.values() for row in terms]
    shared = {k: min(row.get(k, 0) for row in powers) for row in powers for k in row}
    coefficients = [c for terms in waves.values() for c in terms.values()]
    unit = min(coefficients, key=abs)
    if any((c / unit).denominator != 1 for c in coefficients):
        unit = Fraction(1)
    if sum(c / unit < 0 for c in coefficients) * 2 > len(coefficients):
        unit = -unit
    total = sympy.Add(
        *(
            _factored(ring, {_without(row, shared): c / unit for row, c in terms.items()}) * _wave(ring, *wave)
            for wave, terms in waves.items()
        )
    )
    return sympy.Mul(number(unit), _monomial(ring, outer), _monomial(ring, sorted(shared.items())), total)


def _without(powers: Sequence[tuple[int, int]], shared: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    given = dict(powers)
    rest = ((k, given.get(k, 0) - shared.get(k, 0)) for k in sorted({*given, *shared}))
    return tuple((k, power) for k, power in rest if power)


def _wave(ring: Ring, angle: int, odd: bool) -> Any:
    """sin or cos of an angle, in which SymPy puts the signs."""
    if not angle:
        return sympy.Integer(1)
    total = sympy.Add(*(times * ring.generators[k] for k, times in ring.unpacked(angle).items()))
    return (sympy.sin if odd else sympy.cos)(total)


def _monomial(ring: Ring, powers: Sequence[tuple[int, int]]) -> Any:
    return sympy.Mul(*(ring.generators[k] ** power for k, power in powers))


def _factored(ring: Ring, terms: Mapping[Any, Fraction]) -> Any:
    """A polynomial with what the most terms share taken out, again and again."""
    if len(terms) == 1:
        ((powers, c),) = terms.items()
        return number(c) * _monomial(ring, powers)
    if len({abs(c) for c in terms.values()}) == 1:  # ½ (a - b), not a/2 - b/2
        ratio = next(iter(terms.values()))
        if abs(ratio) != 1:
            inner = _factored(ring, {powers: c / ratio for powers, c in terms.items()})
            return number(ratio) * inner
    shared = Counter(pair for powers in terms for pair in powers if pair[1] > 0)
    if not shared or max(shared.values()) == 1:
        return sympy.Add(*(number(c) * _monomial(ring, powers) for powers, c in terms.items()))
    (k, power), _ = max(shared.items(), key=lambda item: (item[1], item[0][1], -item[0][0]))
    having = {p: c for p, c in terms.items() if (k, power) in p}
    others = {p: c for p, c in terms.items() if (k, power) not in p}
    inner = _factored(ring, {tuple(x for x in p if x[0] != k): c for p, c in having.items()})
    outer = ring.generators[k] ** power * inner
    return outer + _factored(ring, others) if others else outer
