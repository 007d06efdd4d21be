"""The mathematical functions that LLVM has no instruction for, as LLVM assembly: here those of angles.

The angle is brought to |r| ≤ π/4 by subtracting n · π/2 with π/2 as a sum of three numbers, of which the first step
is exact; then come polynomials in r². Angles beyond `LARGE`, infinite or NaN go to the C library, lane by lane. The
other functions are in `llvm_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from qdot.backends.llvm_functions import acos, asin, atan2, exp, log, power
from qdot.backends.llvm_vectors import (
    Value,
    Vectors,
    bits,
    defined,
    fma,
    integer,
    number,
    polynomial,
    polynomial_in_halves,
    rint,
    table_of,
    where,
)
from qdot.compiler.ops import OPS

__all__ = ["Vectors", "library"]

HALF_PI = {
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    "float": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
}
SINE = {
    # (sin r - r) / r³ in r²: Chebyshev fits; the relative errors of sine and cosine are under 2e-17 and 2e-8 · r²
    "double": (
        -0.16666666666666666,
        0.008333333333330827,
        -0.0001984126983657571,
        2.755731600817155e-06,
        -2.5051112272573243e-08,
        1.5916726193889336e-10,
    ),
    "float": (-0.16666664601754114, 0.00833273655917713, -0.0001958537320669302),
}
COSINE = {
    # (cos r - 1 + r²/2) / r⁴ in r²
    "double": (
        0.041666666666666664,
        -0.0013888888888887322,
        2.4801587298651292e-05,
        -2.755731721268659e-07,
        2.0876134024090145e-09,
        -1.1381754653662937e-11,
    ),
    "float": (0.04166666459882798, -0.0013888291300556933, 2.4545419078353295e-05),
}
TANGENT = {
    # (tan r - r) / r³ in r²: minimax fits; the relative errors of r + r³ P(r²) are 5.1e-18 and 1.3e-9
    "double": (
        0.33333333333333376,
        0.1333333333332608,
        0.05396825397253624,
        0.021869488408815196,
        0.008863237774340454,
        0.0035921023870506305,
        0.0014560350455366119,
        0.0005889162928370632,
        0.00024356860854658348,
        8.402158232057276e-05,
        6.638798299686731e-05,
        -2.4594370271416323e-05,
        4.778709017355485e-05,
        -2.3866660314230392e-05,
        9.712316232727246e-06,
    ),
    "float": (
        0.33333349227905273,
        0.13332675397396088,
        0.05405891314148903,
        0.021286210045218468,
        0.010827450081706047,
        9.81920602498576e-05,
        0.004372761119157076,
    ),
}
LARGE = {"double": 2.0**28, "float": 2.0**17}


GATHERED = {"i32": "i32", "f32": "float", "f64": "double"}
"""What may be gathered, by how intrinsics spell it."""


def library(v: Vectors, called: set[str]) -> list[str]:
    """Definitions and declarations of everything that is called."""
    lines: list[str] = []
    declared: dict[str, str] = {}
    names = {name.removeprefix("@").removesuffix(f".{v.suffix}") for name in called}
    if names & {"sin", "cos", "sincos"}:
        lines += defined(v, "sincos", 1, partial(sincos, v), declared)
        for k, name in enumerate(("sin", "cos")):
            if name in names:
                lines += _one_of_sincos(v, name, k)
    for name, text in FUNCTIONS.items():
        if name in names:
            lines += defined(v, name, OPS[name].arity, partial(text, v), declared)
    for name in sorted(called):
        if name.startswith("@llvm.vector.reduce"):
            declared[name] = f"declare i1 {name}(<{v.width} x i1>)"
        elif name.startswith("@llvm.masked.gather"):
            kind = f"<{v.width} x {GATHERED[name.split('.')[3].removeprefix(f'v{v.width}')]}>"
            declared[name] = f"declare {kind} {name}(<{v.width} x ptr>, i32, <{v.width} x i1>, {kind})"
        elif name.startswith("@llvm.masked.scatter"):
            declared[name] = f"declare void {name}({v.type}, <{v.width} x ptr>, i32, <{v.width} x i1>)"
        elif name.startswith("@llvm.prefetch"):
            declared[name] = f"declare void {name}(ptr, i32, i32, i32)"
        elif name == "@llvm.cttz.i64":
            declared[name] = f"declare i64 {name}(i64, i1)"
        elif name.startswith("@llvm."):
            operands = ", ".join([v.type] * (2 if name.split(".")[1] in ("minimum", "maximum") else 1))
            declared[name] = f"declare {v.type} {name}({operands})"
    return [*lines, *declared.values()]


def sign(v: Vectors, x: Value) -> Value:
    """-1, 0 or 1; -0 becomes 0, NaN stays."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, x + 0.0))


def sincos(v: Vectors, x: Value) -> tuple[Value, ...]:
    """Sine and cosine, within 2 ulp."""
    h, m, low = HALF_PI[v.scalar]
    near, n = _quarter_turns(v, x)
    r = fma(n, -low, fma(n, -m, fma(n, -h, x)))
    z = r * r
    s = fma(r * z, polynomial(z, SINE[v.scalar]), r)
    c = fma(fma(z, polynomial(z, COSINE[v.scalar]), -0.5), z, 1.0)
    k = integer(n)
    odd = k.is_odd()
    sine = _flipped(v, where(odd, c, s), k)
    cosine = _flipped(v, where(odd, s, c), k + 1)
    return _or_by_library(v, near, x, {"sin": where(x.equals(0.0), x, sine), "cos": cosine})


def tan(v: Vectors, x: Value) -> Value:
    """Within 1.4 ulp: what rounding takes from r is kept as a small second number, through the division too."""
    h, m, low = HALF_PI[v.scalar]
    near, n = _quarter_turns(v, x)
    r0 = fma(n, -h, x)
    nm = n * m
    r1 = r0 - nm
    back = r1 - r0
    lost = (r0 - (r1 - back)) - (nm + back)  # r0 - nm = r1 + lost, whichever is larger
    rest = fma(n, -low, lost - fma(n, m, -nm))
    r = r1 + rest
    z = r * r
    c = r * z * polynomial_in_halves(z, TANGENT[v.scalar])
    u = r + c
    c = fma(rest - (r - r1), fma(u, u, 1.0), c)  # the slope of the tangent is 1 + tan²
    y = r + c
    tail = c - (y - r)
    q = -1.0 / y
    cotangent = fma(fma(q, y, 1.0) + q * tail, q, q)
    near_value = where(integer(n).is_odd(), cotangent, y)
    return _or_by_library(v, near, x, {"tan": where(x.equals(0.0), x, near_value)})[0]


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sign": sign,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan2": atan2,
    "exp": exp,
    "log": log,
    "pow": power,
}


def _quarter_turns(v: Vectors, x: Value) -> tuple[Value, Value]:
    """Where |x| < LARGE, and how many times π/2 goes into x there."""
    return abs(x) < LARGE[v.scalar], rint(x * (2 / np.pi))


def _flipped(v: Vectors, x: Value, k: Value) -> Value:
    """-x where the last but one bit of k is set."""
    places = 8 * v.bytes - 2
    return number(bits(x) ^ ((k << places) & (2 << places)))


def _or_by_library(v: Vectors, near: Value, x: Value, results: dict[str, Value]) -> tuple[Value, ...]:
    """The results of functions of x, in lanes that are not `near` by the C library; it is called if there are any."""
    w, s = near.writer, v.scalar
    far = ~near
    reduce = f"@llvm.vector.reduce.or.v{v.width}i1"
    w.declared[reduce] = f"declare i1 {reduce}({v.truth})"
    any_far = w.value("i1", f"call i1 {reduce}({far.kind} {far.name})")
    w.lines += [f"  br i1 {any_far.name}, label %slow, label %done", "slow:"]
    slow = []
    for name, result in results.items():
        function = f"@{name}" if s == "double" else f"@{name}f"
        w.declared[function] = f"declare {s} {function}({s})"
        y = result
        for k in range(v.width):
            one = w.value(s, f"extractelement {x.kind} {x.name}, i64 {k}")
            called = w.value(s, f"call {s} {function}({s} {one.name})")
            y = w.value(v.type, f"insertelement {v.type} {y.name}, {s} {called.name}, i64 {k}")
        slow.append(where(far, y, result))
    w.lines += ["  br label %done", "done:"]
    pairs = [(a.name, b.name) for a, b in zip(results.values(), slow, strict=True)]
    return tuple(w.value(v.type, f"phi {v.type} [ {a}, %entry ], [ {b}, %slow ]") for a, b in pairs)


def _one_of_sincos(v: Vectors, name: str, k: int) -> list[str]:
    T = v.type
    return [
        f"{table_of(f'@{name}.{v.suffix}')} = internal alias i8, ptr {table_of(f'@sincos.{v.suffix}')}",
        f"define internal {T} @{name}.{v.suffix}({T} %x, ptr %constants) alwaysinline nounwind {{",
        f"  %both = call {{{T}, {T}}} @sincos.{v.suffix}({T} %x, ptr %constants)",
        f"  %y = extractvalue {{{T}, {T}}} %both, {k}",
        f"  ret {T} %y",
        "}",
    ]
