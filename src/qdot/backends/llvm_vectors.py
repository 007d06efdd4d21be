"""Vectors of numbers, and LLVM assembly written as formulas over them.

A `Value` is a register of the function being written; its operators each write one instruction. Nothing is fused or
reordered that is not written so (`fma`), because the functions of `llvm_math` and `llvm_functions` live by the exact
rounding of every step.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np


@dataclass(frozen=True)
class Vectors:
    """Vectors of `width` numbers of a NumPy dtype."""

    dtype: str
    width: int

    @property
    def scalar(self) -> str:
        return {"float64": "double", "float32": "float"}[self.dtype]

    @property
    def bytes(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def bits(self) -> int:
        return 8 * self.bytes * self.width

    @property
    def type(self) -> str:
        return f"<{self.width} x {self.scalar}>"

    @property
    def whole(self) -> str:
        """Integers of the same size."""
        return f"<{self.width} x i{8 * self.bytes}>"

    @property
    def attributes(self) -> str:
        """Of functions of them."""
        wide = f'"prefer-vector-width"="{self.bits}" "min-legal-vector-width"="{self.bits}"'
        return f"nounwind alignstack({self.bits // 8}) {wide}"

    @property
    def truth(self) -> str:
        return f"<{self.width} x i1>"

    @property
    def suffix(self) -> str:
        return f"v{self.width}f{8 * self.bytes}"

    @property
    def fraction(self) -> int:
        """Bits of a number after those of its sign and exponent."""
        return int(np.finfo(self.dtype).nmant)

    @property
    def bias(self) -> int:
        """Exponents are stored with this added."""
        return int(np.finfo(self.dtype).maxexp) - 1

    def literal(self, value: float) -> str:
        """The number nearest to a value, as LLVM spells it."""
        rounded = float(np.dtype(self.dtype).type(value))
        return f"0x{struct.pack('>d', rounded).hex().upper()}"

    def splat(self, value: float) -> str:
        return f"splat ({self.scalar} {self.literal(value)})"

    def pattern(self, value: float) -> int:
        """The bits of a number, as an integer."""
        return int(np.array(value, self.dtype).view(f"i{self.bytes}"))


class Writer:
    """The body of one function: its lines, and the declarations of what it calls."""

    def __init__(self, vectors: Vectors, declared: dict[str, str]) -> None:
        self.vectors = vectors
        self.declared = declared
        self.lines: list[str] = []
        self.constants: dict[str, int] = {}

    def value(self, kind: str, text: str) -> Value:
        """A new register that holds the result of an instruction."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return Value(self, kind, name)

    def spelled(self, kind: str, operand: Operand) -> str:
        """A register, or a number in all lanes."""
        if isinstance(operand, Value):
            return operand.name
        if kind == self.vectors.type:
            return self._constant(operand) if operand else self.vectors.splat(operand)
        return f"splat ({kind.split()[-1].removesuffix('>')} {int(operand)})"

    def _constant(self, value: float) -> str:
        """Read from the function's table: an instruction takes one number from memory for all lanes."""
        v = self.vectors
        place = self.constants.setdefault(v.literal(value), len(self.constants))
        address = self.value("ptr", f"getelementptr {v.scalar}, ptr %constants, i64 {place}")
        one = self.value(v.scalar, f"load {v.scalar}, ptr {address.name}, !invariant.load !1")
        first = self.value(v.type, f"insertelement {v.type} poison, {v.scalar} {one.name}, i64 0")
        zeros = f"<{v.width} x i32> zeroinitializer"
        return self.value(v.type, f"shufflevector {v.type} {first.name}, {v.type} poison, {zeros}").name

    def intrinsic(self, name: str, *operands: Operand) -> Value:
        """A function of numbers that LLVM turns into instructions."""
        v = self.vectors
        function = f"@llvm.{name}.{v.suffix}"
        self.declared[function] = f"declare {v.type} {function}({', '.join([v.type] * len(operands))})"
        given = ", ".join(f"{v.type} {self.spelled(v.type, x)}" for x in operands)
        return self.value(v.type, f"call {v.type} {function}({given})")


@dataclass(frozen=True, eq=False)
class Value:
    """A register: numbers, integers of the same size, or truths."""

    writer: Writer
    kind: str
    name: str

    def _with(self, instruction: str, other: Operand, kind: str | None = None, *, swapped: bool = False) -> Value:
        pair = (self.name, self.writer.spelled(self.kind, other))
        first, second = reversed(pair) if swapped else pair
        return self.writer.value(kind or self.kind, f"{instruction} {self.kind} {first}, {second}")

    def _arithmetic(self, name: str) -> str:
        return f"f{name}" if self.kind == self.writer.vectors.type else name

    def _compared(self, how: str, other: Operand) -> Value:
        """False where either is NaN."""
        return self._with(f"fcmp o{how}", other, self.writer.vectors.truth)

    def __add__(self, other: Operand) -> Value:
        return self._with(self._arithmetic("add"), other)

    def __sub__(self, other: Operand) -> Value:
        return self._with(self._arithmetic("sub"), other)

    def __rsub__(self, other: float) -> Value:
        return self._with(self._arithmetic("sub"), other, swapped=True)

    def __mul__(self, other: Operand) -> Value:
        return self._with(self._arithmetic("mul"), other)

    def __truediv__(self, other: Operand) -> Value:
        return self._with("fdiv", other)

    def __rtruediv__(self, other: float) -> Value:
        return self._with("fdiv", other, swapped=True)

    def __neg__(self) -> Value:
        return self.writer.value(self.kind, f"fneg {self.kind} {self.name}")

    def __abs__(self) -> Value:
        return self.writer.intrinsic("fabs", self)

    def __lt__(self, other: Operand) -> Value:
        return self._compared("lt", other)

    def __gt__(self, other: Operand) -> Value:
        return self._compared("gt", other)

    def equals(self, other: Operand) -> Value:
        return self._compared("eq", other)

    def __and__(self, other: Value | int) -> Value:
        return self._with("and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._with("or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._with("xor", other)

    def __lshift__(self, places: int) -> Value:
        return self._with("shl", places)

    def __rshift__(self, places: int) -> Value:
        return self._with("lshr", places)

    def __invert__(self) -> Value:
        return self.writer.value(self.kind, f"xor {self.kind} {self.name}, splat (i1 true)")

    def is_odd(self) -> Value:
        """Of integers."""
        truth = self.writer.vectors.truth
        return self.writer.value(truth, f"trunc {self.kind} {self.name} to {truth}")

    def is_negative(self) -> Value:
        """Of integers, and so of the sign bit of numbers."""
        return self._with("icmp slt", 0, self.writer.vectors.truth)


Operand: TypeAlias = Value | float


def fma(x: Value, y: Operand, z: Operand) -> Value:
    """x y + z, rounded once."""
    return x.writer.intrinsic("fma", x, y, z)


def rint(x: Value) -> Value:
    """The nearest whole number."""
    return x.writer.intrinsic("rint", x)


def floor(x: Value) -> Value:
    return x.writer.intrinsic("floor", x)


def sqrt(x: Value) -> Value:
    return x.writer.intrinsic("sqrt", x)


def copysign(x: Value, y: Value) -> Value:
    """|x| with the sign of y."""
    return x.writer.intrinsic("copysign", x, y)


def where(condition: Value, x: Operand, y: Operand) -> Value:
    w, T = condition.writer, condition.writer.vectors.type
    return w.value(T, f"select {condition.kind} {condition.name}, {T} {w.spelled(T, x)}, {T} {w.spelled(T, y)}")


def bits(x: Value) -> Value:
    """The integers whose bits are those of x."""
    w = x.writer
    return w.value(w.vectors.whole, f"bitcast {x.kind} {x.name} to {w.vectors.whole}")


def number(k: Value) -> Value:
    """The numbers whose bits are those of k."""
    w = k.writer
    return w.value(w.vectors.type, f"bitcast {k.kind} {k.name} to {w.vectors.type}")


def integer(n: Value, offset: int = 0) -> Value:
    """n + offset for whole numbers n in the lower bits of integers, whose upper bits mean nothing.

    Added to 1.5 · 2^52 (or 2^23) they stand in the last places; unlike a conversion this is one instruction on every
    processor, and harmless for NaN.
    """
    return bits(n + (1.5 * 2.0**n.writer.vectors.fraction + offset))


def power_of_two(n: Value) -> Value:
    """2^n for whole numbers n whose power is a normal number."""
    v = n.writer.vectors
    return number(integer(n, v.bias) << v.fraction)


def polynomial(z: Value, coefficients: Sequence[float]) -> Value:
    """Σ c_k z^k by Horner's rule, fused."""
    *rest, second, last = coefficients
    p = fma(z, last, second)
    for c in reversed(rest):
        p = fma(p, z, c)
    return p


def polynomial_in_halves(z: Value, coefficients: Sequence[float]) -> Value:
    """The same by even and odd powers side by side, which takes half as long; for sums in which they do not cancel."""
    even, odd = (polynomial(z * z, coefficients[k::2]) for k in (0, 1))
    return fma(odd, z, even)


def sum_of(hi: Operand, lo: Operand, x: Value, tail: Value) -> Value:
    """(hi + lo) + (x + tail) with |hi| ≥ |x| or hi = 0, where lo and tail are small: one rounding that counts."""
    s = x + hi
    return s + ((x - (s - hi)) + (tail + lo))


def defined(
    v: Vectors, name: str, arity: int, text: Callable[..., Value | tuple[Value, ...]], declared: dict[str, str]
) -> list[str]:
    """The definition of a function: `text` takes one value for each operand and returns one, or several together."""
    w = Writer(v, declared)
    operands = [Value(w, v.type, f"%x{k}") for k in range(arity)]
    results = text(*operands)
    T = v.type
    if isinstance(results, tuple):
        T, together = f"{{{', '.join([v.type] * len(results))}}}", "poison"
        for k, y in enumerate(results):
            together = w.value(T, f"insertvalue {T} {together}, {y.kind} {y.name}, {k}").name
    else:
        together = results.name
    function = f"@{name}.{v.suffix}"
    given = ", ".join(f"{v.type} {x.name}" for x in operands)
    return [
        f"{table_of(function)} = internal constant [{len(w.constants)} x {v.scalar}] "
        f"[{', '.join(f'{v.scalar} {x}' for x in w.constants)}]",
        f"define internal {T} {function}({given}, ptr noalias readonly %constants) nounwind {{",
        "entry:",
        *w.lines,
        f"  ret {T} {together}",
        "}",
    ]


def table_of(function: str) -> str:
    """The table of constants of a function, which callers hand to it."""
    return f"{function}.constants"
