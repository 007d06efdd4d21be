"""Exponential, logarithm, power and the inverse functions of angles, as LLVM assembly for vectors.

Each brings its operand to a short interval, adds a polynomial there (minimax fits, made for this file), and puts the
result together with selects, so that no lane waits for another. Sums of a large and a small part keep what rounding
takes from the large one (`sum_of`); the errors in ulp are those that tests/backends/test_accuracy.py finds.
"""

from __future__ import annotations

import math

import numpy as np

from qdot.backends.llvm_vectors import (
    Operand,
    Value,
    Vectors,
    bits,
    copysign,
    floor,
    fma,
    number,
    polynomial,
    polynomial_in_halves,
    power_of_two,
    rint,
    sqrt,
    sum_of,
    where,
)

# Each a sum of two numbers, in double and in single precision.
LN_2 = {
    "double": (0.6931471805599453, 2.3190468138462996e-17),
    "float": (0.6931471824645996, -1.9046542121259336e-09),
}
PI = {
    "double": (3.141592653589793, 1.2246467991473532e-16),
    "float": (3.1415927410125732, -8.742277657347586e-08),
}
THIRD = {
    "double": (0.3333333333333333, 1.850371707708594e-17),
    "float": (0.3333333432674408, -9.934107758624577e-09),
}
EXPONENTS = {"double": (-746.0, 710.0), "float": (-104.0, 89.0)}
"""Below the first the exponential is 0, above the second infinite."""

EXPONENTIAL = {
    # (e^r - 1 - r) / r² in r for |r| ≤ ln 2 / 2: relative errors of e^r 7.3e-19 and 1.1e-9
    "double": (
        0.5,
        0.1666666666666668,
        0.04166666666666676,
        0.008333333333320187,
        0.0013888888888814132,
        0.00019841269897467046,
        2.480158758372735e-05,
        2.755722426473374e-06,
        2.7556930532848583e-07,
        2.511856423426961e-08,
        2.1058096108142488e-09,
    ),
    "float": (
        0.5,
        0.1666666567325592,
        0.04166647419333458,
        0.008333615958690643,
        0.0013928565895184875,
        0.00019647729641292244,
    ),
}
LOGARITHM = {
    # (2 artanh(s) / s - 2) / s² in s² for s² ≤ 0.0295: relative errors of the logarithm 1.3e-18 and 8.2e-10
    "double": (
        0.6666666666666734,
        0.3999999999941654,
        0.2857142874206642,
        0.22222198599848048,
        0.18183563189958435,
        0.15314074266522382,
        0.1479575998251223,
    ),
    "float": (0.6666677594184875, 0.39977580308914185, 0.2987092435359955),
}
ARTANH = {
    # (artanh(s) / s - 1 - s²/3) / s⁴ in s²: relative errors of the logarithm 7.7e-23 and 7.2e-14
    "double": (
        0.1999999999999999,
        0.1428571428572192,
        0.11111111108894801,
        0.09090909422015014,
        0.07692279212304402,
        0.06668132350688775,
        0.058378878164469086,
        0.059909016168722934,
    ),
    "float": (0.19999998807907104, 0.14285986125469208, 0.11089864373207092, 0.09778251498937607),
}
ARCSINE = {
    # (asin s - s) / s³ in s² for s ≤ 1/2: relative errors of the arcsine 3.5e-18 and 3.1e-10
    "double": (
        0.1666666666666676,
        0.07499999999970863,
        0.04464285717456543,
        0.03038194270958143,
        0.022372214945936417,
        0.017351612632535908,
        0.013980814469233717,
        0.01139895221639826,
        0.010780078106416546,
        0.0037068958120447812,
        0.021706662414628458,
        -0.02099851267745259,
        0.03262863820025906,
    ),
    "float": (
        0.16666659712791443,
        0.07500521838665009,
        0.04451335221529007,
        0.031840283423662186,
        0.01430471334606409,
        0.03772013261914253,
    ),
}
ARCTANGENT = {
    # (atan t - t) / t³ in t² for t ≤ 1: relative errors of the arctangent 2.7e-18 and 5.2e-10
    "double": (
        -0.33333333333333287,
        0.19999999999990617,
        -0.14285714285044976,
        0.11111111086670548,
        -0.09090908550995054,
        0.07692299754381818,
        -0.06666584070579895,
        0.058817182626664355,
        -0.05259443535546594,
        0.04744961138180542,
        -0.04286490151554977,
        0.0382123033363798,
        -0.032789475070051734,
        0.026157522233997105,
        -0.018620945577559552,
        0.01132375780781256,
        -0.005616632495374228,
        0.0021537714898867168,
        -0.0005936745633328345,
        0.00010404520520859974,
        -8.672117869896875e-06,
    ),
    "float": (
        -0.333333283662796,
        0.1999971568584442,
        -0.14280343055725098,
        0.11061233282089233,
        -0.08821462094783783,
        0.06763648986816406,
        -0.04498324915766716,
        0.022777577862143517,
        -0.007425304502248764,
        0.0011344950180500746,
    ),
}


def exp(v: Vectors, x: Value) -> Value:
    """Within 0.9 ulp, subnormal results included; see `_exp_of_sum`."""
    return _exp_of_sum(v, x, 0.0)


def log(v: Vectors, x: Value) -> Value:
    """k ln 2 + ln m, and ln m = 2 artanh(s) with s = f / (2 + f), f = m - 1.

    s is rounded, f is not: 2 s = f - f²/2 + s f²/2, in which s only matters a little. Within 0.9 ulp.
    """
    hi, lo = LN_2[v.scalar]
    k, m = _exponent_and_rest(v, x)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    small = fma(s, fma(z, polynomial(z, LOGARITHM[v.scalar]), half), k * lo)
    y = fma(k, hi, f - (half - small))
    return where(x > 0.0, where(x < math.inf, y, x), where(x.equals(0.0), -math.inf, math.nan))


def power(v: Vectors, x: Value, y: Value) -> Value:
    """e^(y ln |x|) with the logarithm and the product as sums of two numbers; a sign where y is odd.

    Within 1 ulp, although an error of the logarithm counts up to 745 times. Special cases are those of C, so of NumPy.
    """
    a = abs(x)
    hi, lo = _log_in_two_parts(v, a)
    hi = where(a < math.inf, where(a > 0.0, hi, -math.inf), a)
    e = y * hi
    tail = fma(y, hi, -e) + y * lo
    least = EXPONENTS[v.scalar][0]
    size = _exp_of_sum(v, e, where(abs(e) < -least, tail, 0.0))  # beyond, the tail may be infinite or NaN
    half = y * 0.5
    whole = floor(y).equals(y)
    odd = whole & (floor(half) < half)
    signed = where(bits(x).is_negative() & odd, -size, size)
    undefined = (x < 0.0) & (x > -math.inf) & ~whole
    one = y.equals(0.0) | x.equals(1.0) | (x.equals(-1.0) & abs(y).equals(math.inf))
    return where(one, 1.0, where(undefined, math.nan, signed))


def asin(v: Vectors, x: Value) -> Value:
    """s + s³ P(s²) to 1/2, beyond it π/2 - 2 asin(√((1 - |x|)/2)). Within 1.2 ulp, half of one from the root."""
    hi, lo = (p / 2 for p in PI[v.scalar])
    beyond, s, tail = _arcsine_parts(v, abs(x))
    factor = where(beyond, -2.0, 1.0)
    y = sum_of(where(beyond, hi, 0.0), where(beyond, lo, 0.0), s * factor, tail * factor)
    return copysign(y, x)


def acos(v: Vectors, x: Value) -> Value:
    """π/2 - asin(x) to |x| = 1/2, beyond it 2 asin(√((1 - |x|)/2)), for negative x taken from π. Within 1.2 ulp."""
    hi, lo = PI[v.scalar]
    beyond, s, tail = _arcsine_parts(v, abs(x))
    left = x < 0.0
    turned = where(left, -1.0, 1.0)
    factor = where(beyond, turned * 2.0, -turned)
    base_hi = where(beyond, where(left, hi, 0.0), hi / 2)
    base_lo = where(beyond, where(left, lo, 0.0), lo / 2)
    return sum_of(base_hi, base_lo, s * factor, tail * factor)


def atan2(v: Vectors, y: Value, x: Value) -> Value:
    """atan t = t + t³ P(t²) with t the smaller of |x| and |y| over the larger, counted from 0, π/2 or π.

    Within 1.6 ulp, half of one from the quotient. On t ≤ 1 the terms of P cancel, so its rule is Horner's.
    """
    hi, lo = PI[v.scalar]
    across, along = abs(y), abs(x)
    steep = across > along
    a, b = where(steep, along, across), where(steep, across, along)
    t = where(a.equals(b), where(b.equals(0.0), 0.0, 1.0), a / b)  # 0/0 and ∞/∞ have an angle too
    z = t * t
    tail = t * z * polynomial(z, ARCTANGENT[v.scalar])
    left = bits(x).is_negative()
    base_hi = where(steep, hi / 2, where(left, hi, 0.0))
    base_lo = where(steep, lo / 2, where(left, lo, 0.0))
    factor = where(steep ^ left, -1.0, 1.0)
    return copysign(sum_of(base_hi, base_lo, t * factor, tail * factor), y)


def _arcsine_parts(v: Vectors, a: Value) -> tuple[Value, Value, Value]:
    """Whether |x| = a lies beyond 1/2; s = a, or √((1 - a)/2) beyond; and asin(s) - s. NaN where a > 1."""
    beyond = a > 0.5
    z = where(beyond, fma(a, -0.5, 0.5), a * a)
    s = where(beyond, sqrt(z), a)
    return beyond, s, s * z * polynomial_in_halves(z, ARCSINE[v.scalar])


def _exp_of_sum(v: Vectors, x: Value, tail: Operand) -> Value:
    """e^(x + tail) for a tail much smaller than x: 2^n e^r, with 2^n in two factors, since it may be subnormal."""
    hi, lo = LN_2[v.scalar]
    least, most = EXPONENTS[v.scalar]
    t = where(x < least, least, where(x > most, most, x))
    n = rint(t * (1 / math.log(2)))
    r0 = fma(n, -hi, t)  # exact
    rest = fma(n, -lo, tail)
    r = r0 + rest
    y = sum_of(1.0, rest - (r - r0), r, r * r * polynomial_in_halves(r, EXPONENTIAL[v.scalar]))
    half = rint(n * 0.5)
    return y * power_of_two(half) * power_of_two(n - half)


def _exponent_and_rest(v: Vectors, x: Value) -> tuple[Value, Value]:
    """k and m of x = 2^k m with √½ ≤ m < √2, for positive finite x."""
    raised = v.fraction + 2  # makes the smallest number normal
    subnormal = x < float(np.finfo(v.dtype).smallest_normal)
    least = v.pattern(math.sqrt(0.5))
    i = bits(where(subnormal, x * 2.0**raised, x)) + (v.pattern(1.0) - least)
    shift = 2.0**v.fraction  # whose last places show an integer as a number
    k = number((i >> v.fraction) | v.pattern(shift))
    m = number((i & (2**v.fraction - 1)) + least)
    return k - where(subnormal, shift + v.bias + raised, shift + v.bias), m


def _log_in_two_parts(v: Vectors, x: Value) -> tuple[Value, Value]:
    """The logarithm of positive finite x as a sum of two numbers, relative error 2^-63 in double, 2^-34 in single.

    artanh(s) = s + s³/3 + s⁵ P(s²): s and the first two terms in two parts each; for the third, which is at most 2^-12
    of the whole, one is enough.
    """
    hi, lo = LN_2[v.scalar]
    third, third_lo = THIRD[v.scalar]
    k, m = _exponent_and_rest(v, x)
    f = m - 1.0
    d = f + 2.0
    inverse = 1.0 / d
    s = f * inverse
    s_lo = (fma(-s, d, f) - s * (f - (d - 2.0))) * inverse  # d lacks f - (d - 2)
    z = s * s
    z_lo = fma(s, s, -z) + (s + s) * s_lo
    w = z * third
    w_lo = fma(z, third, -w) + fma(z, third_lo, z_lo * third)
    w_lo = w_lo + fma(z_lo + z_lo, z, z * z) * polynomial_in_halves(z, ARTANH[v.scalar])
    p = s * w
    p_lo = fma(s, w, -p) + fma(s, w_lo, s_lo * (w + w_lo))
    a = s + p
    a_lo = (p - (a - s)) + (s_lo + p_lo)
    twice, twice_lo = a + a, a_lo + a_lo
    kl = k * hi
    b = kl + twice
    b_lo = (twice - (b - kl)) + (fma(k, hi, -kl) + fma(k, lo, twice_lo))
    y = b + b_lo
    return y, b_lo - (y - b)
