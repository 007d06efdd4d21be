"""Nothing wrong is given out: what differs from the engine raises, and what was compared is told."""

from __future__ import annotations

import pytest
import sympy

import qdot
from qdot.algorithms import bias, crba
from qdot.derivation.check import STATES
from qdot.derivation.derivation import derive
from qdot.errors import DerivationError, ModelError, QdotError, UnknownNameError
from qdot.model.library import acrobot, puma560, rp_arm, two_link_arm


def test_what_was_compared_is_told() -> None:
    d = derive(two_link_arm())
    assert d.checks == {}
    assert d.M.shape == (2, 2)
    assert list(d.checks) == ["M"]
    assert d.checks["M"].states == STATES
    assert d.checks["M"].error < 1e-14
    assert f"at {STATES} random states" in d.text()


def test_a_wrong_mass_matrix_is_not_given_out(monkeypatch) -> None:
    """The engine's is changed by one part in a million once the derivation has its own."""
    d = derive(two_link_arm(), symbols=("mass",))
    assert d.V.shape == (2, 1)
    _ = d._terms.M
    original = crba.mass_matrix

    def bent(model, q, **options):
        return [[x * (1 + 1e-6) for x in row] for row in original(model, q, **options)]

    monkeypatch.setattr(crba, "mass_matrix", bent)
    with pytest.raises(DerivationError, match=r"M of model 'two_link_arm', as derived, differs .* by 1\.0e-06"):
        _ = d.M
    with pytest.raises(DerivationError, match="M of model"):  # and again: a wrong value is not kept
        d.latex()


def test_wrong_code_is_not_given_out(monkeypatch) -> None:
    """A sign is lost in what is written, not in what is derived."""
    from qdot.derivation import steps

    d = derive(two_link_arm())
    monkeypatch.setitem(steps._SPELLED, "sub", lambda x, y: x + y)
    with pytest.raises(DerivationError, match=r"\(\) of model 'two_link_arm'"):
        d.numpy("recursive")


def test_a_missing_term_is_found(monkeypatch) -> None:
    d = derive(rp_arm(), symbols=("mass",))
    original = bias.velocity_forces
    monkeypatch.setattr(bias, "velocity_forces", lambda m, q, v: [original(m, q, v)[0] - 0.1 * v[0] * v[1], 0])
    assert d._terms.V  # derived without its second entry
    monkeypatch.setattr(bias, "velocity_forces", original)
    with pytest.raises(DerivationError, match="V of model 'rp_arm'"):
        _ = d.V


# ── symbols ──────────────────────────────────────────────────────────────────────────────────────


def test_coordinates_are_numbered_in_equations() -> None:
    """q_1, v_1 … on a page; named after joints where people work with them."""
    d = derive(two_link_arm())
    assert (d.q, d.v, d.a) == tuple(qdot.symbols(two_link_arm(), numbered=True))
    assert [s.name for s in d.q] == ["q_1", "q_2"]
    assert [s.name for s in qdot.symbols(two_link_arm())[0]] == ["q_shoulder", "q_elbow"]


def test_nothing_moves() -> None:
    """Every quantity of a model without freedoms is empty."""
    d = derive(qdot.assemble(qdot.Mechanism("empty")))
    for quantity in (
        "M",
        "M_dot",
        "b",
        "Gamma",
        "h",
        "V",
        "C",
        "B",
        "G",
        "psi",
        "momentum",
        "hamilton",
        "phi_jacobian",
    ):
        assert len(sympy.flatten(getattr(d, quantity))) == 0
    assert (d.K, d.P, d.H, d.equations) == (0, 0, 0, [])


def test_kinds_and_paths() -> None:
    one = derive(acrobot(), symbols=("lower.mass", "elbow.damping", "gravity"))
    assert {s.name: c.value for s, c in one.constants.items()} == {"g": 9.8, "m_2": 1.0, "d_2": 0.0}
    assert "m_2" in str(one.M[0, 0])
    assert "-d_2*v_2" in str(one.psi[1])
    assert one.M.subs(one.values).free_symbols <= set(one.q)


def test_a_kind_leaves_zeros_as_they_are() -> None:
    d = derive(puma560(), symbols=("mass", "damping", "armature"))
    names = {s.name for s in d.constants}
    assert "m_1" not in names  # published without mass
    assert {"m_2", "J_1", "J_6"} <= names
    assert not any(name.startswith("d_") for name in names)


def test_symbols_are_told_apart() -> None:
    """A model that has a symbol called m_1 for something else keeps it."""
    mine = sympy.Symbol("m_1", positive=True)
    d = derive(two_link_arm((mine, 1.0)), symbols=("mass",))
    assert {s.name for s in d.constants} == {"m_1", "m_1_", "m_2"}
    assert d.constants[mine].value is None


def test_one_symbol_may_be_given_as_a_string() -> None:
    assert [s.name for s in derive(two_link_arm(), symbols="gravity").constants] == ["g"]


@pytest.mark.parametrize("choice", ["maas", "forearm.colour", "nobody.mass", "elbow.mass", ""])
def test_unknown_constants(choice: str) -> None:
    with pytest.raises(UnknownNameError, match="has no constant named"):
        derive(two_link_arm(), symbols=(choice,))


def test_other_mistakes() -> None:
    with pytest.raises(ModelError, match=r"derive takes a qdot\.Model"):
        derive(qdot.Mechanism("x"))
    with pytest.raises(QdotError, match="no frame or body named 'foot'"):
        derive(two_link_arm(), wrenches=("foot",))
    with pytest.raises(QdotError, match="no frame or body named 'foot'"):
        derive(two_link_arm()).jacobian("foot")
