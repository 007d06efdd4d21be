"""A traced expression: a scalar that writes down what is done with it, as a node of a `Graph`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qdot.compiler.graph import Graph


class Expr:
    """A scalar expression: a node of a graph. Adds, multiplies, compares … with others and with numbers."""

    __slots__ = ("graph", "index")
    __array_ufunc__ = None  # NumPy's numbers leave the operators to us

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def _with(self, op: Callable[[int, int], int], other: Any, swap: bool = False) -> Any:
        graph = self.graph
        if type(other) is Expr and other.graph is graph:  # nearly always
            return Expr(graph, op(other.index, self.index) if swap else op(self.index, other.index))
        if isinstance(other, bool) and not graph.is_truth(self.index):
            other = float(other)  # True is 1 among numbers, as in Python
        i = graph.index_of(other)
        if i is None:
            return NotImplemented
        return Expr(graph, op(i, self.index) if swap else op(self.index, i))

    def __add__(self, other: Any) -> Any:
        return self._with(self.graph.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._with(self.graph.add, other, swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._with(self.graph.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(self.graph.sub, other, swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(self.graph.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with(self.graph.mul, other, swap=True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(self.graph.div, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(self.graph.div, other, swap=True)

    def __neg__(self) -> Expr:
        return Expr(self.graph, self.graph.neg(self.index))

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, (int, float)) and float(exponent).is_integer() and abs(exponent) <= 16:
            return Expr(self.graph, self.graph.whole_power(self.index, int(exponent)))
        return self.pow(exponent)

    def __rpow__(self, base: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply("pow", a, b), base, swap=True)

    def __abs__(self) -> Expr:
        return self.unary("abs")

    def __lt__(self, other: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply("lt", a, b), other)

    def __le__(self, other: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply("le", a, b), other)

    def __gt__(self, other: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply("lt", b, a), other)

    def __ge__(self, other: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply("le", b, a), other)

    def __eq__(self, other: object) -> Any:
        """A truth of its own, as of <: so `if x == 0:` is refused where x is not known, and not taken for false."""
        return self._with(lambda a, b: self.graph.apply("eq", a, b), other)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return ~same if isinstance(same, Expr) else same if same is NotImplemented else not same

    __hash__ = object.__hash__

    def __and__(self, other: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply("and", a, b), other)

    def __rand__(self, other: Any) -> Any:
        return self & other

    def __ror__(self, other: Any) -> Any:
        return self | other

    def __or__(self, other: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply("or", a, b), other)

    def __invert__(self) -> Expr:
        return self.unary("not")

    def unary(self, op: str) -> Expr:
        return Expr(self.graph, self.graph.apply(op, self.index))

    def binary(self, op: str, other: Any) -> Any:
        return self._with(lambda a, b: self.graph.apply(op, a, b), other)

    def sqrt(self) -> Expr:
        return self.unary("sqrt")

    def sin(self) -> Expr:
        return self.unary("sin")

    def cos(self) -> Expr:
        return self.unary("cos")

    def log(self) -> Expr:
        return self.unary("log")

    def sign(self) -> Expr:
        return self.unary("sign")

    def pow(self, exponent: Any) -> Any:
        return self.binary("pow", exponent)

    def select(self, x: Any, y: Any) -> Expr:
        """x where this condition holds, else y."""
        return self.graph.expr(self.graph.select(self.index, self.graph.require(x), self.graph.require(y)))

    def __bool__(self) -> bool:
        value = self.graph.constants[self.index]
        if value is None:
            raise TypeError(
                "the truth of a traced expression is not known while tracing; use qdot.algebra.where(condition, x, y) "
                "instead of if or and/or"
            )
        return bool(value)

    def __float__(self) -> float:
        value = self.graph.constants[self.index]
        if value is None:
            raise TypeError(
                "a traced expression has no value yet; keep to operators and the functions of qdot.algebra "
                "(not math, float or int) in functions that are compiled"
            )
        return float(value)

    def __repr__(self) -> str:
        return self.graph.text(self.index)
