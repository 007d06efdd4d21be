"""The worked examples of the textbooks come out as they are printed there, as strings, term by term."""

from __future__ import annotations

import re

import pytest
import sympy

from qdot.derivation.derivation import derive
from qdot.model.library import cart_pole, n_pendulum, pendulum, rp_arm, two_link_arm

l1, l2, m1, m2, g = sympy.symbols("l_1 l_2 m_1 m_2 g", positive=True)


def terms(expression: object) -> set[str]:
    """The terms of a sum as strings, factors in order of their names: how it is read, whoever printed it."""
    expanded = sympy.Add.make_args(sympy.expand(expression))
    return {"*".join(sorted(str(factor) for factor in sympy.Mul.make_args(term))) for term in expanded}


def printed(text: str) -> set[str]:
    """The same of a formula as the textbook prints it."""
    names = "l_1 l_2 m_1 m_2 g q_1 q_2 v_1 v_2 a_1 a_2 I_zz1 I_zz2"
    letters = {s.name: sympy.Symbol(s.name, **_assumptions(s.name)) for s in sympy.symbols(names)}
    return terms(sympy.sympify(re.sub(r"\bc1\b", "cos(q_1)", text), locals=letters))


def _assumptions(name: str) -> dict[str, bool]:
    return {"real": True} if name[0] in "qva" and name[1] == "_" else {"positive": True}


# ── Todorov's arm of two point masses (T13) ──────────────────────────────────────────────────────

TODOROV = {
    "M": [
        ["m_1*l_1**2 + m_2*(l_1**2 + l_2**2 + 2*l_1*l_2*cos(q_2))", "m_2*(l_2**2 + l_1*l_2*cos(q_2))"],
        ["m_2*(l_2**2 + l_1*l_2*cos(q_2))", "m_2*l_2**2"],
    ],
    "V": [["-m_2*l_1*l_2*sin(q_2)*(2*v_1*v_2 + v_2**2)"], ["m_2*l_1*l_2*sin(q_2)*v_1**2"]],
    "G": [["(m_1 + m_2)*g*l_1*cos(q_1) + m_2*g*l_2*cos(q_1 + q_2)"], ["m_2*g*l_2*cos(q_1 + q_2)"]],
    "C": [["0", "-m_2*l_1*l_2*sin(q_2)"], ["m_2*l_1*l_2*sin(q_2)", "0"]],
    "B": [["-2*m_2*l_1*l_2*sin(q_2)"], ["0"]],
}


@pytest.fixture(scope="module", params=["its own symbols", "symbols asked for"])
def todorov(request):
    if request.param == "its own symbols":
        return derive(two_link_arm((l1, l2), (m1, m2), g))
    return derive(two_link_arm(), symbols=("mass", "length", "gravity"))


@pytest.mark.parametrize("letter", TODOROV)
def test_two_link_arm(todorov, letter: str) -> None:
    derived = getattr(todorov, letter)
    expected = TODOROV[letter]
    assert derived.shape == (len(expected), len(expected[0]))
    for i, row in enumerate(expected):
        for j, text in enumerate(row):
            assert terms(derived[i, j]) == printed(text)


def test_two_link_arm_as_strings(todorov) -> None:
    """What a reader sees: sums of angles, not products of sines; nothing left to simplify."""
    assert str(todorov.M[0, 0]) == "l_1**2*(m_1 + m_2) + 2*l_1*l_2*m_2*cos(q_2) + l_2**2*m_2"
    assert str(todorov.M[0, 1]) == "l_2*m_2*(l_1*cos(q_2) + l_2)"
    assert str(todorov.V[0]) == "-2*l_1*l_2*m_2*v_1*v_2*sin(q_2) - l_1*l_2*m_2*v_2**2*sin(q_2)"
    assert str(todorov.G[0]) == "g*(l_1*(m_1 + m_2)*cos(q_1) + l_2*m_2*cos(q_1 + q_2))"
    assert str(todorov.P) == "g*(l_1*(m_1 + m_2)*sin(q_1) + l_2*m_2*sin(q_1 + q_2))"


def test_two_link_arm_jacobian_is_as_printed(todorov) -> None:
    """J_h of the document, rows of the hand."""
    J = todorov.jacobian("hand")
    expected = [
        ["-l_1*sin(q_1) - l_2*sin(q_1 + q_2)", "-l_2*sin(q_1 + q_2)"],
        ["l_1*cos(q_1) + l_2*cos(q_1 + q_2)", "l_2*cos(q_1 + q_2)"],
    ]
    assert [[str(x) for x in J[row, :]] for row in (3, 4)] == expected


# ── Khatib's revolute–prismatic arm (K12) ────────────────────────────────────────────────────────

KHATIB = {
    "M": [["m_1*l_1**2 + I_zz1 + m_2*q_2**2 + I_zz2", "0"], ["0", "m_2"]],
    "B": [["2*m_2*q_2"], ["0"]],
    "C": [["0", "0"], ["-m_2*q_2", "0"]],
    "V": [["2*m_2*q_2*v_1*v_2"], ["-m_2*q_2*v_1**2"]],
    "G": [["(m_1*l_1 + m_2*q_2)*g*c1"], ["m_2*g*sin(q_1)"]],
}


@pytest.fixture(scope="module")
def khatib():
    inertias = sympy.symbols("I_zz1 I_zz2", positive=True)
    return derive(rp_arm(l1, (m1, m2), inertias, g))


@pytest.mark.parametrize("letter", KHATIB)
def test_rp_arm(khatib, letter: str) -> None:
    derived, expected = getattr(khatib, letter), KHATIB[letter]
    for i, row in enumerate(expected):
        for j, text in enumerate(row):
            assert terms(derived[i, j]) == printed(text)


def test_rp_arm_as_strings(khatib) -> None:
    assert str(khatib.M[0, 0]) == "I_zz1 + I_zz2 + l_1**2*m_1 + m_2*q_2**2"
    assert str(khatib.G[0]) == "g*(l_1*m_1 + m_2*q_2)*cos(q_1)"
    assert [str(eq) for eq in khatib.equations] == [
        "Eq(a_1*(I_zz1 + I_zz2 + l_1**2*m_1 + m_2*q_2**2) + g*(l_1*m_1 + m_2*q_2)*cos(q_1) + 2*m_2*q_2*v_1*v_2, tau_1)",
        "Eq(a_2*m_2 + g*m_2*sin(q_1) - m_2*q_2*v_1**2, tau_2)",
    ]


def test_rp_arm_christoffel_symbols(khatib) -> None:
    """b₁₁₂ = b₁₂₁ = m₂d₂, b₂₁₁ = -m₂d₂, no other; Γ follows, with M diagonal."""
    found = {place: str(khatib.b[place]) for place in _places(2) if khatib.b[place] != 0}
    assert found == {(0, 0, 1): "m_2*q_2", (0, 1, 0): "m_2*q_2", (1, 0, 0): "-m_2*q_2"}
    assert str(khatib.Gamma[1, 0, 0]) == "-q_2"
    assert str(khatib.Gamma[0, 0, 1]) == "m_2*q_2/(I_zz1 + I_zz2 + l_1**2*m_1 + m_2*q_2**2)"


def _places(n: int) -> list[tuple[int, int, int]]:
    return [(i, j, k) for i in range(n) for j in range(n) for k in range(n)]


def test_rp_arm_hamilton(khatib) -> None:
    assert str(khatib.H) == (
        "g*(l_1*m_1 + m_2*q_2)*sin(q_1) + p_1**2/(2*(I_zz1 + I_zz2 + l_1**2*m_1 + m_2*q_2**2)) + p_2**2/(2*m_2)"
    )
    assert str(khatib.hamilton[2]) == "-g*(l_1*m_1 + m_2*q_2)*cos(q_1) + tau_1"


# ── others ───────────────────────────────────────────────────────────────────────────────────────


def test_pendulum() -> None:
    derived = derive(pendulum(), symbols=("mass", "length", "gravity"))
    assert str(derived.equations[0]) == "Eq(a_1*l_1**2*m_1 + g*l_1*m_1*sin(q_1), tau_1)"
    assert str(derived.H) == "-g*l_1*m_1*cos(q_1) + p_1**2/(2*l_1**2*m_1)"


def test_numbers_are_as_they_were_meant() -> None:
    """Decimals of the model, fractions of the mechanics: no 0.333…3, no 0.09999…."""
    derived = derive(cart_pole(pole_mass=0.3, length=1.0))
    assert derived.M[1, 1] == sympy.Float(0.1)  # m l²/3, computed from a rod about its centre
    assert derived.M[0, 1] == sympy.Float(0.15) * sympy.cos(derived.q[1])
    assert str(derive(cart_pole(pole_mass=1, length=1.0)).M[1, 1]) == "1/3"


def test_three_links_are_collected_by_velocities() -> None:
    derived = derive(n_pendulum(3), symbols=("rod1.mass",))
    for product in derived.V[0].args:
        assert len(product.free_symbols & set(derived.v)) in (1, 2)  # one term for each square or product of velocities


@pytest.mark.parametrize("model", [two_link_arm(), cart_pole()], ids=lambda m: m.name)
def test_lagrange_by_sympy(model) -> None:
    """SymPy's own LagrangesMethod, from our K and P, gives the same mass matrix and forcing."""
    from sympy.physics.mechanics import LagrangesMethod, ReferenceFrame, dynamicsymbols

    derived = derive(model, symbols=("mass", "gravity"))
    t = dynamicsymbols._t
    q = [sympy.Function(f"q{k}")(t) for k in range(model.nv)]
    letters = dict(zip([*derived.v, *derived.q], [*(x.diff(t) for x in q), *q], strict=True))
    method = LagrangesMethod(derived.L.subs(letters), q, frame=ReferenceFrame("N"))
    method.form_lagranges_equations()
    back = [(y, x) for x, y in letters.items()]
    theirs = (method.mass_matrix.subs(back), -method.forcing.subs(back))
    for found, ours in zip(theirs, (derived.M, derived.V + derived.G), strict=True):
        assert sympy.simplify(found - ours) == sympy.zeros(*found.shape)
