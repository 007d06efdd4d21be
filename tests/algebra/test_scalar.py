"""Which kind of scalar computes, and that every kind computes the same functions."""

import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
import sympy as sp

from qdot import algebra
from qdot.algebra import Dual, Functions, functions_of, is_number, maximum, minimum, plain, register, sin, where
from qdot.compiler.interpret import interpret
from qdot.compiler.trace import trace
from qdot.errors import QdotError, ScalarError
from qdot.programs import expressions  # noqa: F401  (makes traced expressions scalars)
from tests.algebra.high_precision import mp
from tests.backends.loading import by_llvm, run

x = sp.Symbol("x", real=True)
LANES = np.array([0.25, 0.75])
DUAL = Dual(0.25, 1.0, 1)

# ── dispatch ─────────────────────────────────────────────────────────────────────────────────────


class Metres(float):
    """A caller's own float."""


@pytest.mark.parametrize(
    ("scalar", "kind"),
    [
        (0.5, "real number"),
        (1, "real number"),
        (True, "real number"),
        (Metres(0.5), "real number"),
        (np.float64(0.5), "real number"),
        (np.bool_(True), "real number"),
        (np.float32(0.5), "NumPy lanes"),
        (np.int64(1), "NumPy lanes"),
        (np.array(0.5), "NumPy lanes"),
        (LANES, "NumPy lanes"),
        (x, "SymPy expression"),
        (sp.Rational(1, 2), "SymPy expression"),
        (x > 0, "SymPy expression"),
        (sp.true, "SymPy expression"),
        (DUAL, "dual number"),
    ],
)
def test_kind_of(scalar, kind):
    assert functions_of(scalar).name == kind


@pytest.mark.parametrize(
    ("scalars", "kind"),
    [
        ((1.0, 2), "real number"),
        ((1.0, LANES), "NumPy lanes"),
        ((LANES, x, 1.0), "SymPy expression"),
        ((DUAL, x), "dual number"),
        ((LANES, DUAL), "dual number"),
    ],
)
def test_the_higher_kind_computes(scalars, kind):
    assert functions_of(*scalars).name == kind
    assert functions_of(*reversed(scalars)).name == kind


@pytest.mark.parametrize("thing", ["0.5", None, 1j, Decimal("0.5"), [0.5], object()])
def test_unknown_kinds_are_named(thing):
    with pytest.raises(ScalarError) as caught:
        sin(thing)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, QdotError)
    assert type(thing).__qualname__ in str(caught.value)
    assert "qdot.algebra.register" in str(caught.value)


def test_a_registered_kind_and_its_subclasses_compute():
    class Named:
        pass

    class Renamed(Named):
        pass

    def answer(*_):
        return "mine"

    with pytest.raises(ScalarError):
        sin(Named())
    names = [field for field in Functions.__dataclass_fields__ if field not in ("name", "rank")]
    register(Named, Functions(name="named", rank=9, **dict.fromkeys(names, answer)))
    assert sin(Renamed()) == "mine"
    assert maximum(Named(), x) == "mine"


def test_sympy_loads_with_the_first_symbol():
    program = (
        "import sys, numpy as np\n"
        "from qdot.algebra import sin, where\n"
        "from qdot.algebra.lie import exp_so3\n"
        "from qdot.algebra import Vec3\n"
        "sin(0.5), sin(np.array([0.5])), exp_so3(Vec3(0.1, 0.2, 0.3)), where(True, 1.0, 2.0)\n"
        "assert 'sympy' not in sys.modules\n"
        "import sympy\n"
        "assert 'qdot.algebra.sympy_scalar' not in sys.modules\n"
        "x = sympy.Symbol('x')\n"
        "assert sin(x) == sympy.sin(x)\n"
        "assert 'qdot.algebra.sympy_scalar' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# ── values ───────────────────────────────────────────────────────────────────────────────────────

ONE_ARGUMENT = {
    "sin": (mp.sin, 0.7),
    "cos": (mp.cos, 0.7),
    "tan": (mp.tan, 0.7),
    "tanh": (mp.tanh, 0.7),
    "asin": (mp.asin, 0.7),
    "acos": (mp.acos, 0.7),
    "exp": (mp.exp, 0.7),
    "log": (mp.log, 0.7),
    "sqrt": (mp.sqrt, 0.7),
    "absolute": (abs, -0.7),
    "sign": (mp.sign, -0.7),
    "floor": (mp.floor, -0.7),
}


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_functions_of_one_argument(name):
    """Against 50 digits; 4e-16 is two roundings of a double, 2e-7 of a single."""
    truth, at = ONE_ARGUMENT[name]
    f = getattr(algebra, name)
    value = float(truth(mp.mpf(at)))
    assert f(at) == pytest.approx(value, rel=4e-16)
    assert f(np.float64(at)) == pytest.approx(value, rel=4e-16)
    np.testing.assert_allclose(f(np.array([at, at])), [value, value], rtol=4e-16)
    single = f(np.float32(at))
    assert single.dtype == np.float32
    assert single == pytest.approx(float(truth(mp.mpf(float(np.float32(at))))), rel=2e-7)
    assert float(f(x).subs(x, sp.Float(at, 40)).evalf(30)) == pytest.approx(value, rel=4e-16)
    assert f(Dual(at, 1.0, 1)).value == pytest.approx(value, rel=4e-16)


def test_tanh_is_exact_near_zero_and_far_away():
    """Relative to the value, 1e-15 is some ten roundings; compiled, it is made of other functions."""
    near = np.concatenate([np.logspace(-300, -2, 50), np.linspace(0.01, 2, 500), [np.nextafter(0.4, 0), 0.4]])
    xs = np.concatenate([near, -near, [5.0, -30.0, 400.0, -1e4, 1e200]])
    truth = np.array([float(mp.tanh(mp.mpf(float(a)))) for a in xs])
    made = trace("tanh", lambda x: {"y": [algebra.tanh(x)]}, {"x": ()})
    by_numpy = interpret(made, {"x": xs})["y"][:, 0]
    compiled = run(by_llvm(made), {"x": xs})["y"][:, 0]
    for got in ([algebra.tanh(float(a)) for a in xs], algebra.tanh(xs), by_numpy, compiled):
        np.testing.assert_allclose(got, truth, rtol=1e-15, atol=0)
    assert algebra.tanh(x) == sp.tanh(x)
    assert algebra.tanh(0.0) == 0
    assert run(by_llvm(made), {"x": np.zeros(1)})["y"][0, 0] == 0


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0), (0.0, -1.0), (1.0, 0.0)])
def test_atan2_knows_all_quadrants(a, b):
    angle = math.atan2(a, b)
    assert algebra.atan2(a, b) == angle
    assert algebra.atan2(np.array([a]), b)[0] == angle
    assert float(algebra.atan2(sp.Integer(int(a)), sp.Integer(int(b)))) == pytest.approx(angle, rel=4e-16)
    assert algebra.atan2(Dual(a, 0.0, 1), b).value == angle


@pytest.mark.parametrize(("at", "sign", "floor"), [(-1.5, -1, -2), (-0.0, 0, 0), (0, 0, 0), (2.0, 1, 2), (2.5, 1, 2)])
def test_sign_and_floor_of_every_kind(at, sign, floor):
    for kind in (float, np.float64, np.float32, lambda a: np.array([a]), sp.Float, lambda a: Dual(a, 1.0, 1)):
        for f, expected in ((algebra.sign, sign), (algebra.floor, floor)):
            result = f(kind(at))
            assert getattr(result, "value", result) == expected


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (2.0, 1.0), (-1.0, -2.0), (3.0, 3.0)])
def test_minimum_and_maximum_of_every_kind(a, b):
    for f, expected in ((minimum, min(a, b)), (maximum, max(a, b))):
        assert f(a, b) == expected
        assert f(np.float32(a), b) == expected
        np.testing.assert_array_equal(f(np.array([a, b]), np.array([b, a])), [expected, expected])
        np.testing.assert_array_equal(f(np.array([a, b]), b), [f(a, b), b])
        assert f(x, sp.Float(b)).subs(x, a) == expected
        assert f(Dual(a, 1.0, 1), b).value == expected
        assert f(a, Dual(b, 1.0, 1)).value == expected


def test_where_of_every_kind():
    assert (where(True, 1.0, 2.0), where(False, 1.0, 2.0)) == (1.0, 2.0)
    assert (where(np.float64(1) > 0, 1.0, 2.0), where(np.float64(-1) > 0, 1.0, 2.0)) == (1.0, 2.0)
    np.testing.assert_array_equal(where(np.array([True, False]), 1.0, np.array([2.0, 3.0])), [1.0, 3.0])
    np.testing.assert_array_equal(where(True, LANES, 0.0), LANES)
    chosen = where(x > 0, x, 2 * x)
    assert (chosen.subs(x, 3), chosen.subs(x, -3)) == (3, -6)
    assert where(True, x, 1.0) == x
    assert where(sp.false, x, 1.0) == 1.0
    assert where(False, DUAL, 3.0).value == 3.0


# ── plain numbers ────────────────────────────────────────────────────────────────────────────────


def test_is_number():
    assert all(is_number(a) for a in (1, 1.0, True, np.float64(1), np.float32(1), np.int8(1)))
    assert not any(is_number(a) for a in (LANES, np.array(1.0), x, sp.Integer(1), DUAL, "1", None))


def test_plain_makes_python_numbers_and_leaves_the_rest():
    assert [type(plain(a)) for a in (np.float64(1), np.float32(1), np.int64(1))] == [float, float, int]
    assert all(plain(a) is a for a in (1.0, x, LANES, DUAL))
