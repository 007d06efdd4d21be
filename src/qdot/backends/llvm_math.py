"""Vector types, and the mathematical functions that LLVM has no instruction for, as LLVM assembly.

sin and cos: the angle is brought to |r| ≤ π/4 by subtracting n · π/2 with π/2 as a sum of three numbers, each step
a fused multiply-add, of which the first is exact; then polynomials in r² (Chebyshev fits, relative error under
2e-17 in double and 2e-8 · r² in single precision). Beyond `LARGE`, and for the functions that dynamics seldom
needs, each lane calls the C library.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

HALF_PI = {
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    "float": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
}
SINE = {
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
LARGE = {"double": 2.0**28, "float": 2.0**17}
LIBRARY = {"tan": 1, "asin": 1, "acos": 1, "atan2": 2, "exp": 1, "log": 1, "pow": 2}
"""Functions of the C library that are called lane by lane, with their number of operands."""


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
    def suffix(self) -> str:
        return f"v{self.width}f{8 * self.bytes}"

    def splat(self, value: float) -> str:
        rounded = float(np.dtype(self.dtype).type(value))
        return f"splat ({self.scalar} 0x{struct.pack('>d', rounded).hex().upper()})"


def library(v: Vectors, called: set[str]) -> list[str]:
    """Definitions and declarations of everything that is called."""
    lines: list[str] = []
    declared: dict[str, str] = {}
    names = {name.removeprefix("@").removesuffix(f".{v.suffix}") for name in called}
    if names & {"sin", "cos", "sincos"}:
        lines += _sincos(v, declared)
        for k, name in enumerate(("sin", "cos")):
            if name in names:
                lines += _one_of_sincos(v, name, k)
    if "sign" in names:
        lines += _sign(v)
    for name, arity in LIBRARY.items():
        if name in names:
            lines += _lane_by_lane(v, name, arity, declared)
    for name in sorted(called):
        if name.startswith("@llvm.vector.reduce"):
            declared[name] = f"declare i1 {name}(<{v.width} x i1>)"
        elif name.startswith("@llvm."):
            operands = ", ".join([v.type] * (2 if name.split(".")[1] in ("minimum", "maximum") else 1))
            declared[name] = f"declare {v.type} {name}({operands})"
    return [*lines, *declared.values()]


def _sign(v: Vectors) -> list[str]:
    T, zero = v.type, v.splat(0.0)
    return [
        f"define internal {T} @sign.{v.suffix}({T} %x) alwaysinline nounwind {{",
        f"  %p = fcmp ogt {T} %x, {zero}",
        f"  %n = fcmp olt {T} %x, {zero}",
        f"  %z = fadd {T} %x, {zero}",  # -0 becomes 0, NaN stays
        f"  %a = select <{v.width} x i1> %n, {T} {v.splat(-1.0)}, {T} %z",
        f"  %s = select <{v.width} x i1> %p, {T} {v.splat(1.0)}, {T} %a",
        f"  ret {T} %s",
        "}",
    ]


def _polynomial(v: Vectors, name: str, coefficients: tuple[float, ...], z: str) -> list[str]:
    """%name.0 = Σ c_k z^k by Horner's rule, fused."""
    T, fma = v.type, f"@llvm.fma.{v.suffix}"
    lines, last = [], v.splat(coefficients[-1])
    for k in reversed(range(len(coefficients) - 1)):
        lines.append(f"  %{name}.{k} = call {T} {fma}({T} {last}, {T} {z}, {T} {v.splat(coefficients[k])})")
        last = f"%{name}.{k}"
    return lines


def _sincos(v: Vectors, declared: dict[str, str]) -> list[str]:
    T, W, s = v.type, v.width, v.scalar
    fma, rint, fabs = (f"@llvm.{f}.{v.suffix}" for f in ("fma", "rint", "fabs"))
    any_lane = f"@llvm.vector.reduce.or.v{W}i1"
    declared[fma] = f"declare {T} {fma}({T}, {T}, {T})"
    declared[rint] = f"declare {T} {rint}({T})"
    declared[fabs] = f"declare {T} {fabs}({T})"
    declared[any_lane] = f"declare i1 {any_lane}(<{W} x i1>)"
    h, m, low = (v.splat(-x) for x in HALF_PI[s])
    ints = f"<{W} x i32>"
    lines = [
        f"define internal {{{T}, {T}}} @sincos.{v.suffix}({T} %x) nounwind {{",
        "entry:",
        f"  %size = call {T} {fabs}({T} %x)",
        f"  %small = fcmp olt {T} %size, {v.splat(LARGE[s])}",
        f"  %t = select <{W} x i1> %small, {T} %x, {T} {v.splat(0.0)}",
        f"  %q = fmul {T} %t, {v.splat(2 / np.pi)}",
        f"  %n = call {T} {rint}({T} %q)",
        f"  %r0 = call {T} {fma}({T} %n, {T} {h}, {T} %t)",
        f"  %r1 = call {T} {fma}({T} %n, {T} {m}, {T} %r0)",
        f"  %r = call {T} {fma}({T} %n, {T} {low}, {T} %r1)",
        f"  %z = fmul {T} %r, %r",
        *_polynomial(v, "ps", SINE[s], "%z"),
        f"  %rz = fmul {T} %r, %z",
        f"  %s = call {T} {fma}({T} %rz, {T} %ps.0, {T} %r)",
        *_polynomial(v, "pc", COSINE[s], "%z"),
        f"  %zz = fmul {T} %z, %z",
        f"  %half = fmul {T} %z, {v.splat(0.5)}",
        f"  %w = fsub {T} {v.splat(1.0)}, %half",
        f"  %w1 = fsub {T} {v.splat(1.0)}, %w",
        f"  %err = fsub {T} %w1, %half",
        f"  %tail = call {T} {fma}({T} %zz, {T} %pc.0, {T} %err)",
        f"  %c = fadd {T} %w, %tail",
        f"  %k = fptosi {T} %n to {ints}",
        f"  %k1 = and {ints} %k, splat (i32 1)",
        f"  %odd = icmp ne {ints} %k1, zeroinitializer",
        f"  %k2 = and {ints} %k, splat (i32 2)",
        f"  %flip = icmp ne {ints} %k2, zeroinitializer",
        f"  %j = add {ints} %k, splat (i32 1)",
        f"  %j2 = and {ints} %j, splat (i32 2)",
        f"  %flop = icmp ne {ints} %j2, zeroinitializer",
        f"  %s0 = select <{W} x i1> %odd, {T} %c, {T} %s",
        f"  %c0 = select <{W} x i1> %odd, {T} %s, {T} %c",
        f"  %s1 = fneg {T} %s0",
        f"  %c1 = fneg {T} %c0",
        f"  %sn = select <{W} x i1> %flip, {T} %s1, {T} %s0",
        f"  %null = fcmp oeq {T} %x, {v.splat(0.0)}",
        f"  %sf = select <{W} x i1> %null, {T} %x, {T} %sn",  # the sign of zero
        f"  %cf = select <{W} x i1> %flop, {T} %c1, {T} %c0",
        f"  %large = xor <{W} x i1> %small, splat (i1 true)",
        f"  %any = call i1 {any_lane}(<{W} x i1> %large)",
        "  br i1 %any, label %slow, label %done",
        "slow:",
    ]
    for name, start in (("sin", "%sf"), ("cos", "%cf")):
        function = name if s == "double" else f"{name}f"
        declared[function] = f"declare {s} @{function}({s})"
        last = start
        for k in range(W):
            lines += [
                f"  %{name}.x{k} = extractelement {T} %x, i64 {k}",
                f"  %{name}.y{k} = call {s} @{function}({s} %{name}.x{k})",
                f"  %{name}.v{k} = insertelement {T} {last}, {s} %{name}.y{k}, i64 {k}",
            ]
            last = f"%{name}.v{k}"
    return [
        *lines,
        f"  %sin.l = select <{W} x i1> %large, {T} %sin.v{W - 1}, {T} %sf",
        f"  %cos.l = select <{W} x i1> %large, {T} %cos.v{W - 1}, {T} %cf",
        "  br label %done",
        "done:",
        f"  %sin.d = phi {T} [ %sf, %entry ], [ %sin.l, %slow ]",
        f"  %cos.d = phi {T} [ %cf, %entry ], [ %cos.l, %slow ]",
        f"  %one = insertvalue {{{T}, {T}}} poison, {T} %sin.d, 0",
        f"  %both = insertvalue {{{T}, {T}}} %one, {T} %cos.d, 1",
        f"  ret {{{T}, {T}}} %both",
        "}",
    ]


def _one_of_sincos(v: Vectors, name: str, k: int) -> list[str]:
    T = v.type
    return [
        f"define internal {T} @{name}.{v.suffix}({T} %x) alwaysinline nounwind {{",
        f"  %both = call {{{T}, {T}}} @sincos.{v.suffix}({T} %x)",
        f"  %y = extractvalue {{{T}, {T}}} %both, {k}",
        f"  ret {T} %y",
        "}",
    ]


def _lane_by_lane(v: Vectors, name: str, arity: int, declared: dict[str, str]) -> list[str]:
    T, s = v.type, v.scalar
    function = name if s == "double" else f"{name}f"
    operands = [f"%x{j}" for j in range(arity)]
    declared[function] = f"declare {s} @{function}({', '.join([s] * arity)})"
    lines = [f"define internal {T} @{name}.{v.suffix}({', '.join(f'{T} {x}' for x in operands)}) nounwind {{"]
    last = "poison"
    for k in range(v.width):
        lines += [f"  %a{k}.{j} = extractelement {T} {x}, i64 {k}" for j, x in enumerate(operands)]
        arguments = ", ".join(f"{s} %a{k}.{j}" for j in range(arity))
        lines.append(f"  %y{k} = call {s} @{function}({arguments})")
        lines.append(f"  %v{k} = insertelement {T} {last}, {s} %y{k}, i64 {k}")
        last = f"%v{k}"
    return [*lines, f"  ret {T} {last}", "}"]
