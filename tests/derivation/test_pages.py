"""What is on a page: numbers written alike, long parts by name, actuators, and steps for what is too long to read."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy

import qdot
from qdot.derivation import steps
from qdot.derivation.derivation import Derivation, derive
from qdot.derivation.numerals import are_fractions, are_rounded, spelled
from qdot.derivation.page import Equation
from qdot.derivation.parts import WIDE
from qdot.derivation.report import report
from qdot.errors import DerivationError, SingularError
from qdot.joints import Revolute
from qdot.model.library import (
    acrobot,
    cart_pole,
    five_link_chain,
    floating_two_link,
    puma560,
    random_state,
    rp_arm,
    two_link_arm,
)
from qdot.spatial import Inertia

x, y = sympy.symbols("x y", real=True)
HALF, THIRD = sympy.Rational(1, 2), sympy.Rational(1, 3)


def rights(derivation: Derivation) -> dict[str, sympy.Basic]:
    """The right-hand sides of a page in closed form, by what stands on the left."""
    page = report(derivation, recursive=False)
    items = [item for section in page.sections for item in section.items if isinstance(item, Equation)]
    return {str(item.left): item.right for item in items}


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("numbers", "fractions"),
    [
        ((HALF, THIRD), True),
        ((HALF, sympy.Float(0.15)), False),  # both end
        ((THIRD, sympy.Float(0.15)), True),  # one does not, but both are short fractions
        ((THIRD, sympy.Float(0.12345)), False),  # 2469/20000 is not
        ((), True),
    ],
)
def test_how_numbers_are_written(numbers: tuple[sympy.Expr, ...], fractions: bool) -> None:
    assert are_fractions([a * x for a in numbers]) is fractions


def test_numbers_keep_their_values() -> None:
    expression = x / 2 + 0.15 * sympy.sqrt(y) + 3.0 * y**2 + sympy.Float(1 / 3)
    assert spelled(expression, fractions=True) == x / 2 + 3 * sympy.sqrt(y) / 20 + 3 * y**2 + THIRD
    assert str(spelled(expression, fractions=False)) == "0.5*x + 0.15*sqrt(y) + 3*y**2 + 0.333333"
    assert are_rounded([expression])
    assert not are_rounded([x / 2, 0.15 * y])
    assert spelled(sympy.Matrix([[0.5]]), fractions=True) == sympy.Matrix([[HALF]])


@pytest.mark.parametrize(
    "model", [cart_pole(), cart_pole(pole_mass=0.3), acrobot(), rp_arm(), floating_two_link()], ids=str
)
def test_a_page_has_fractions_or_decimals(model) -> None:
    found = rights(derive(model)).values()
    numbers = [n for right in found for n in right.atoms(sympy.Float, sympy.Rational)]
    kinds = {n.is_Float for n in numbers if not n.is_Integer and n not in (HALF, -HALF)}  # a half may be an exponent
    assert len(kinds) <= 1


def test_rounding_is_told() -> None:
    told = "Decimals are rounded to 6 digits"
    assert told in derive(puma560()).text()
    assert told not in derive(two_link_arm(), symbols=("mass", "length", "gravity")).text()


# ── parts ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("model", [acrobot(), floating_two_link(planar=True)], ids=lambda m: m.name)
def test_parts_put_back_are_the_whole(model) -> None:
    """H, Γ and Hamilton's equations by names of their parts; with these put back they are what was derived."""
    d = derive(model, symbols=("mass", "length", "gravity"))
    found = rights(d)
    named = {name: right for name, right in found.items() if re.fullmatch(r"x_\d+", name)}
    assert named
    sums = [right for right in found.values() if not isinstance(right, sympy.MatrixBase)]
    assert max(len(str(term)) for right in sums for term in sympy.Add.make_args(right)) <= WIDE
    n = model.nv
    derived = {"H": d.H, "M^-1_11": d.M_inverse[0, 0], f"pdot_{n}": d.hamilton[2 * n - 1]}
    rng = np.random.default_rng(0)
    letters = [*d.q, *d.v, *d.p, *d.tau, *d.constants]
    at = dict(zip(letters, rng.uniform(0.5, 1.5, len(letters)), strict=True))
    for name, right in named.items():  # in the order in which they stand
        at[sympy.Symbol(name, real=True)] = float(right.subs(at))
    for left, expected in derived.items():
        assert float(found[left].subs(at)) == pytest.approx(float(expected.subs(at)), rel=1e-9)


TENDON = """<mujoco><worldbody><site name="above" pos="0 .1 1"/>
  <body name="a"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05"/>
    <site name="on" pos=".1 0 -.3"/>
    <body name="b" pos="0 0 -.5"><joint name="k" axis="0 1 0"/><geom name="ball" type="sphere" size=".06"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05"/><site name="end" pos=".1 0 -.3"/>
    </body></body></worldbody>
  <tendon><spatial name="t" stiffness="10" springlength=".1 .3" damping="1">{way}</spatial></tendon>
  <actuator><motor name="m" joint="j" gear="20" ctrlrange="-1 1"/><position name="servo" joint="k" kp="30" kv="2"/>
    <intvelocity name="filtered" joint="k" kp="5" actrange="-1 1"/></actuator></mujoco>"""
STRAIGHT = TENDON.format(way='<site site="above"/><site site="on"/>')
WOUND = TENDON.format(way='<site site="on"/><geom geom="ball"/><site site="end"/>')


@pytest.fixture
def loaded(tmp_path):
    def load(text: str) -> qdot.Model:
        file = tmp_path / "model.xml"
        file.write_text(text)
        return qdot.load(file)

    return load


def test_choices_have_lines_of_their_own(loaded) -> None:
    d = derive(loaded(STRAIGHT))
    text = d.text()
    assert re.search(r"\nx_\d = sqrt\(x_\d\)\n", text)  # the length of the tendon
    assert re.search(r"\nx_\d = 1/x_\d if x_\d > 0, 1 otherwise\n", text)
    assert "Piecewise" not in text
    assert re.search(r"x_{\d} &= \\begin{cases}", d.latex())
    assert "piecewise" not in d.html()


def test_choices_within_choices_are_steps(loaded) -> None:
    """A tendon that winds round a ball: closed forms are refused, pages and source are steps, like the engine."""
    d = derive(loaded(WOUND))
    assert not d.readable
    with pytest.raises(DerivationError, match=r"P of model .* choices within choices"):
        _ = d.P
    assert "psi_1 = " in d.text()
    module: dict[str, object] = {}
    exec(d.numpy(), module)
    q, v, tau = np.array([0.3, -0.4]), np.array([0.5, 0.6]), np.zeros(2)
    expected = qdot.passive_forces(d.model, q, v)
    np.testing.assert_allclose(module["applied_forces"](q, v, tau), expected, rtol=1e-12)


# ── actuators ────────────────────────────────────────────────────────────────────────────────────


def test_actuators_by_their_controls(loaded) -> None:
    """A motor within its range; a servo k (u - q) - c q̇ and one that follows its activation."""
    d = derive(loaded(STRAIGHT))
    assert [str(s) for s in (*d.u, *d.w)] == ["u_1", "u_2", "u_3", "w_1"]
    motor, servos = d.actuation
    assert motor == 20 * sympy.Min(1, sympy.Max(-1, d.u[0]))
    assert sympy.expand(servos - (30 * (d.u[1] - d.q[1]) - 2 * d.v[1] + 5 * (d.w[0] - d.q[1]))) == 0
    text = d.text()
    assert "u_2  control of actuator servo" in text
    assert "w_1  activation of actuator filtered" in text
    assert "\nActuators\n" in text


@pytest.mark.parametrize("form", ["closed", "recursive"])
def test_actuators_in_the_source(loaded, form: str) -> None:
    d = derive(loaded(STRAIGHT))
    module: dict[str, object] = {}
    exec(d.numpy(form), module)
    q, v, u, w = np.array([0.3, -0.4]), np.array([0.5, 0.6]), np.array([-3.0, 0.2, 0.1]), np.array([0.7])
    expected = qdot.actuation(d.model, q, v, u, w)
    np.testing.assert_allclose(module["actuation"](q, v, u, w), expected, rtol=1e-13)
    assert "const double *u, const double *w" in d.c(form)


def test_without_actuators() -> None:
    d = derive(two_link_arm())
    assert "Actuators" not in d.text()
    assert "def actuation" not in d.numpy()
    with pytest.raises(DerivationError, match="has no actuators"):
        d.steps("actuation")


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


def test_hamilton_as_the_page_tells_it() -> None:
    """H = ½ Σ (M⁻¹)_ij p_i p_j + P and ṗ_k = Σ b_ijk q̇_i q̇_j - G_k + ψ_k, from the steps of the page alone."""
    model = five_link_chain()
    d = derive(model)
    names = ("inverse_mass_matrix", "christoffel_symbols", "gravity_forces", "applied_forces", "potential_energy")
    found = d.steps(*names)
    q, v, _ = random_state(model, 2)
    p, tau = qdot.generalized_momentum(model, q, v), np.linspace(-1, 1, 5)
    at = dict(zip([*d.q, *d.v, *d.tau], [*q, *v, *tau], strict=True))
    for symbol, right in found.assignments:
        at[symbol] = float(right.subs(at))
    M_inv, b, G, psi, P = (
        np.array([float(e.subs(at)) for e in entries]).reshape(shape) for shape, entries in found.results.values()
    )
    rates, p_dot = qdot.hamilton_equations(model, q, p, tau)
    np.testing.assert_allclose(M_inv @ p, rates, rtol=1e-9)
    np.testing.assert_allclose(np.einsum("ijk,i,j->k", b, v, v) - G + psi, p_dot, rtol=1e-9, atol=1e-9)
    assert p @ M_inv @ p / 2 + P == pytest.approx(qdot.hamiltonian(model, q, p), rel=1e-9)


def test_sections_give_each_step_once_and_before_it_is_used() -> None:
    known = set()
    for section in report(derive(puma560()), recursive=True).sections[1:]:
        for item in section.items:
            used = {s.name for s in item.right.free_symbols if s.name.startswith("x_")}
            assert used <= known
            if item.left.name.startswith("x_"):
                assert item.left.name not in known
                known.add(item.left.name)
    assert len(known) > 100


def test_a_large_inverse_on_a_page_in_closed_form() -> None:
    """Seven coupled freedoms: the rest is in closed form, M⁻¹ is steps; momenta of quaternions are told of."""
    d = derive(floating_two_link(), symbols=("mass",))
    assert d.readable
    assert not d.invertible
    text = d.text()
    assert "M_77 = " in text
    assert "M^-1_77 = " in text
    assert "Momenta of quaternions obey Euler's equations" in text


def test_no_steps_to_an_inverse_that_is_not_there() -> None:
    world = qdot.Mechanism("still")
    world.add("bob", Revolute("y"), Inertia.point(1.0, (0, 0, 0)))
    d = derive(qdot.assemble(world))
    with pytest.raises(SingularError, match="motions of 'bob' move no mass"):
        d.steps("hamiltonian")
    assert "def hamiltonian" not in d.numpy()
    assert "def gravity_forces" in d.numpy()
    assert "They are left out: " in d.text("recursive")


def test_what_is_too_long_to_write_is_told(monkeypatch) -> None:
    monkeypatch.setattr(steps, "MOST", 100)
    d = derive(puma560())
    for code in (d.numpy(), d.c()):
        assert "christoffel_symbols, connection_coefficients." in " ".join(code.replace("\n *", "").split())
    assert "would take too many steps to be read here" in d.text()
    with pytest.raises(DerivationError, match=r"qdot\.christoffel_symbols"):
        d.steps("christoffel_symbols")
