"""Long equations in parts: what a reader cannot take in at once gets a name, x₁, and a line of its own.

Such are choices and roots (the length of a tendon), long denominators (the determinant of M), and sums within a term
that does not fit a line. The same part has the same name all over a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import sympy

from qdot.derivation.page import Equation, Section, symbols_in

WIDE = 90
"""Characters of an expression that fits a line, as SymPy prints it."""

LONG = 30
"""Characters of a denominator, or of a sum within a long term, that gets a name."""


def in_parts(sections: Iterable[Section]) -> list[Section]:
    """The sections with names for long parts; a part stands before the equation that is the first to use it."""
    listed = list(sections)
    naming = _Naming(symbols_in(listed))
    found = []
    for section in listed:
        items: list[Any] = []
        for item in section.items:
            if isinstance(item, Equation):
                item = replace(item, right=naming.shortened(item.right))
                items += naming.taken()
            items.append(item)
        found.append(replace(section, items=tuple(items)))
    return found


class _Naming:
    """The parts of a page, as they are found."""

    def __init__(self, used: set[Any]) -> None:
        steps = (s.name.removeprefix("x_") for s in used if s.name.startswith("x_"))
        self.last = max((int(place) for place in steps if place.isdigit()), default=0)
        self.names: dict[Any, Any] = {}
        self.new: list[Equation] = []

    def taken(self) -> list[Equation]:
        """The parts that were named since this was asked last, in an order in which they can be computed."""
        found, self.new = self.new, []
        return found

    def shortened(self, x: Any) -> Any:
        if isinstance(x, sympy.MatrixBase):
            return x.applyfunc(self.shortened)
        return sympy.Add(*(self._term(term) for term in sympy.Add.make_args(self._named(x))))

    def _named(self, x: Any) -> Any:
        """With the names that there are, and those of choices and roots."""
        if x.is_Atom:
            return x
        if x in self.names:
            return self.names[x]
        if isinstance(x, sympy.Piecewise):
            return self.name(x)
        if x.is_Pow and x.exp.is_Rational and not x.exp.is_Integer and x.base.is_Add:
            return self.name(sympy.Pow(x.base, sympy.Rational(1, x.exp.q))) ** x.exp.p
        changed = x.func(*(self._named(y) for y in x.args))
        long = isinstance(x, (sympy.Max, sympy.Min)) and len(str(changed)) > LONG
        return self.name(x) if long else changed

    def _term(self, term: Any) -> Any:
        """With names for denominators, and in a long term for all sums in it."""
        long = len(str(term)) > WIDE
        factors = []
        for factor in sympy.Mul.make_args(term):
            base, power = factor.as_base_exp()
            if base.is_Add and (long or power.could_extract_minus_sign()) and len(str(base)) > LONG:
                factor = self.name(base) ** power
            factors.append(factor)
        return sympy.Mul(*factors)

    def name(self, x: Any) -> Any:
        """The letter of a part; its equation is noted, and those of its own parts before it."""
        if x not in self.names:
            if isinstance(x, sympy.Piecewise):
                cases = ((self._fitting(value), self._clear(condition)) for value, condition in x.args)
                body = sympy.Piecewise(*cases, evaluate=False)
            elif x.is_Add:
                body = self.shortened(x)
            elif x.is_Pow:
                body = sympy.Pow(self.name(x.base), x.exp)
            else:
                body = x.func(*(self._fitting(y) for y in x.args))
            self.last += 1
            self.names[x] = sympy.Symbol(f"x_{self.last}", real=True)
            self.new.append(Equation(self.names[x], body))
        return self.names[x]

    def _fitting(self, x: Any) -> Any:
        """A value of a choice; long ones by their names."""
        short = self.shortened(x)
        return short if short.is_Atom or len(str(short)) <= WIDE else self.name(x)

    def _clear(self, condition: Any) -> Any:
        sides = {side for told in condition.atoms(sympy.core.relational.Relational) for side in told.args}
        return condition.xreplace({side: self._fitting(side) for side in sides})
