"""Every mechanism of the library is derived: small ones in closed form, larger ones as steps, all like the engine."""

from __future__ import annotations

import pytest

from qdot.derivation.derivation import derive
from tests.model.test_library import BUILDERS, SYMBOLIC

QUANTITIES = ("K", "P", "L", "M", "M_dot", "V", "C", "B", "b", "h", "G", "psi", "momentum", "phi", "phi_jacobian")
LARGE = ("puma560", "seven_joint_arm", "n_pendulum")
"""Those that are written as steps."""


@pytest.mark.parametrize("name", [name for name in BUILDERS if name not in LARGE])
def test_closed(name: str) -> None:
    """In symbols for every constant there is."""
    derivation = derive(BUILDERS[name][0](), symbols=("mass", "length", "com", "inertia", "gravity"))
    for quantity in QUANTITIES:
        getattr(derivation, quantity)
    assert len(derivation.equations) == derivation.model.nv
    assert max(check.error for check in derivation.checks.values()) < 1e-11


@pytest.mark.parametrize("name", [name for name in SYMBOLIC if name not in LARGE])
def test_closed_in_symbols_of_the_model(name: str) -> None:
    derivation = derive(SYMBOLIC[name]())
    assert len(derivation.equations) == derivation.model.nv
    assert derivation.constants
    assert derivation.values == {}


@pytest.mark.parametrize("name", LARGE)
def test_steps(name: str) -> None:
    derivation = derive(BUILDERS[name][0](), symbols=("gravity",))
    assert not derivation.readable
    page = derivation.text()
    assert "x_1 = " in page
    assert "the largest error is" in page
    assert {"mass_matrix()", "inverse_mass_matrix()", "christoffel_symbols()"} <= derivation.checks.keys()
    assert "M^-1_11 = " in page
    assert "b_112 = " in page
    for left in ("Γ^k_ij = Σ (M⁻¹)_ks b_sij", "H = ½ Σ (M⁻¹)_ij p_i p_j + P", "P = "):
        assert left in page


def test_puma_in_closed_form_too() -> None:
    """Full Christoffel symbols and Khatib's matrices of six joints, each like the engine's."""
    derivation = derive(BUILDERS["puma560"][0]())
    for quantity in ("M", "V", "G", "b", "C", "B"):
        getattr(derivation, quantity)
    assert derivation.B.shape == (6, 15)
    assert derivation.b[5, 5, 5] == 0
    assert max(check.error for check in derivation.checks.values()) < 1e-11
