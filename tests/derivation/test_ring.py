"""The normal form: equal things are the same terms, and computing with it is computing."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import sympy
from sympy import cos, sin

from qdot.algebra import derivative, sqrt, where
from qdot.derivation.ring import Ring, TooLong, exact, number

x, y, m, l = sympy.symbols("x y m l", positive=True)
q = sympy.Symbol("q", real=True)
SYMBOLS = (x, y, m, l)


def random_expression(random: Random, depth: int) -> sympy.Expr:
    """Sums and products of symbols, numbers, and waves of sums of angles."""
    if depth == 0:
        angle = random.randint(-2, 2) * x + random.randint(-2, 2) * y
        return random.choice([m, l, x, sin(angle), cos(angle), sympy.Rational(random.randint(-9, 9), 4)])
    a, b = (random_expression(random, depth - 1) for _ in range(2))
    return random.choice([a + b, a * b, a - b, a**2])


@pytest.mark.parametrize("seed", range(30))
def test_the_value_stays(seed: int) -> None:
    random = Random(seed)
    expression = random_expression(random, 4)
    at = {s: random.uniform(0.5, 2) for s in SYMBOLS}
    normal = Ring().of(expression)
    expected = float(expression.subs(at))
    for written in (normal.sympy(), normal.sympy(by=[m]), normal.sympy(by=[l, x])):
        assert float(written.subs(at)) == pytest.approx(expected, rel=1e-9, abs=1e-9)  # sums of large terms cancel


@pytest.mark.parametrize("seed", range(30))
def test_equal_things_are_the_same_terms(seed: int) -> None:
    """An expression and its expansion by SymPy have one normal form, so their difference is nothing at all."""
    expression = random_expression(Random(seed), 3)
    ring = Ring()
    assert ring.of(expression).terms == ring.of(sympy.expand(expression, trig=True)).terms


@pytest.mark.parametrize("seed", range(30))
def test_slopes(seed: int) -> None:
    expression = random_expression(Random(seed), 3)
    ring = Ring()
    for s in SYMBOLS:
        assert ring.of(expression).diff(s).terms == ring.of(sympy.diff(expression, s)).terms


def test_textbook_identities() -> None:
    ring = Ring()
    assert ring.of(sin(x) ** 2 + cos(x) ** 2).value() == 1
    assert str(ring.of(cos(x) * cos(y) - sin(x) * sin(y)).sympy()) == "cos(x + y)"
    assert str(ring.of(2 * sin(x) * cos(x)).sympy()) == "sin(2*x)"
    assert str(ring.of(cos(x - sympy.pi / 2)).sympy()) == "sin(x)"
    assert str(ring.of(m * l**2 * (1 - cos(x) ** 2) + m * l**2 * cos(x) ** 2).sympy()) == "l**2*m"


def test_what_the_terms_share_is_taken_out() -> None:
    ring = Ring()
    assert str(ring.of(m * x * sin(y) + l * x * sin(y)).sympy()) == "x*(l + m)*sin(y)"
    assert str(ring.of(m * x / 2 + l * x / 2).sympy()) == "x*(l + m)/2"
    assert str(ring.of(m * x**2 + l * x**2 + m * y).sympy(by=[x])) == "m*y + x**2*(l + m)"


def test_one_over() -> None:
    ring = Ring()
    assert str((ring.of(m * l) / ring.of(m * x)).sympy()) == "l/x"
    total = ring.of(m * l + m * x)
    assert str((ring.of(m) / total).sympy()) == "1/(l + x)"  # what cancels, cancels
    slope = (1 / total).diff(x)
    assert slope.sympy().subs({m: 2, l: 3, x: 1}) == sympy.diff(1 / (m * l + m * x), x).subs({m: 2, l: 3, x: 1})
    with pytest.raises(ZeroDivisionError):
        _ = 1 / (total - total)


def test_other_functions_are_letters() -> None:
    ring = Ring()
    root = sqrt(ring.of(m + l))
    assert (root * root).diff(m).sympy().subs({m: 2, l: 7}) == 1
    chosen = where(ring.of(x) < 0, ring.of(m), ring.of(l))
    assert chosen.sympy() == sympy.Piecewise((m, x < 0), (l, True))
    assert where(ring.constant(1) < 2, ring.of(m), ring.of(l)).sympy() == m


def test_steps_are_level() -> None:
    """sign and floor change nothing by an infinitesimal step; |x| has the slope sign(x)."""
    ring = Ring()
    assert (ring.of(sympy.sign(q)) * ring.of(m)).diff(q) == 0
    assert ring.of(q - 2 * sympy.floor(q / 2)).diff(q) == 1
    assert ring.of(sympy.Abs(q)).diff(q).sympy() == sympy.sign(q)


def test_dual_numbers_differentiate_sums() -> None:
    angle = Ring().of(x)
    (slope,) = derivative(lambda d: [(angle + d[0]) ** 2 * 3], [1])
    assert slope == 6 * angle


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (0.1 + 0.2, "3/10"),
        (1 / 3, "1/3"),
        (6.1e-17, "61e-18"),
        (0.4318, "2159/5000"),
        (9.81, "981/100"),
        (-2.5, "-5/2"),
    ],
)
def test_numbers_that_were_meant(given: float, meant: str) -> None:
    assert exact(given) == Fraction(meant)


def test_a_number_beside_what_it_was_computed_from() -> None:
    assert exact(6.1e-17, 1.0) == 0  # cos(π/2)
    assert exact(6.1e-17, 1e-16) == Fraction("61e-18")


def test_numbers_as_they_are_written() -> None:
    assert str(number(Fraction(1, 2))) == "1/2"
    assert str(number(Fraction(7, 24))) == "7/24"
    assert float(number(Fraction("4.905"))) == 4.905
    assert isinstance(number(Fraction("4.905")), sympy.Float)


def test_rounding_leaves_nothing() -> None:
    """A rotation of irrational entries times its inverse is the identity, not 1.0000000000000002."""
    ring, r = Ring(), 0.7071067811865476
    residue = ring.of(m) * exact(r) * exact(r) * 2 - ring.of(m) + ring.of(l)
    assert residue.cleaned() == ring.of(l)


def test_small_is_not_noise() -> None:
    """1e3 q and 1e-11 v have units of their own; beside 1e3 cos x, 1e-11 cos y is what rounding leaves."""
    ring = Ring()
    both = ring.of(x) * 1000 + ring.of(y) * 1e-11
    assert both.cleaned() == both
    waves = ring.of(cos(x)) * 1000 + ring.of(cos(y)) * 1e-11
    assert waves.cleaned() == ring.of(cos(x)) * 1000


def test_a_limit_stops_long_products() -> None:
    ring = Ring(limit=3)
    with pytest.raises(TooLong):
        _ = ring.of(m + l) * ring.of(x + y)
