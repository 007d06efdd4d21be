"""Nothing wrong is given out: what differs from the engine raises, and what was compared is told."""

from __future__ import annotations

import pytest
import sympy

import qdot
from qdot.algorithms import bias, crba
from qdot.derivation.check import STATES
from qdot.derivation.derivation import derive
from qdot.errors import DerivationError, ModelError, QdotError, SingularError, UnknownNameError
from qdot.joints import Revolute
from qdot.model.library import acrobot, puma560, rp_arm, two_link_arm
from qdot.spatial import Inertia


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
    with pytest.raises(DerivationError, match="symbols are names"):
        derive(two_link_arm(), symbols=None)
    with pytest.raises(DerivationError, match="wrenches are names"):
        derive(two_link_arm(), wrenches=(1,))
    with pytest.raises(UnknownNameError, match="no function named 'mass_matrx'; did you mean: 'mass_matrix'"):
        derive(two_link_arm()).steps("mass_matrx")


def test_one_frame_may_be_given_as_a_string() -> None:
    assert list(derive(two_link_arm(), wrenches="forearm").letters.forces) == ["forearm"]


@pytest.mark.parametrize("name", ["tau_1", "q_1", "v_7", "x_1", "f_forearm_x"])
def test_symbols_called_as_the_equations_call_their_own(name: str) -> None:
    with pytest.raises(DerivationError, match=f"has a symbol '{name}'.*another name"):
        derive(two_link_arm((sympy.Symbol(name, positive=True), 1.0)), wrenches="forearm")


# ── small and large ──────────────────────────────────────────────────────────────────────────────


def pendulum(inertia: Inertia, **passive: float) -> qdot.Model:
    world = qdot.Mechanism("pendulum")
    world.add("bob", Revolute("y"), inertia, **passive)
    return qdot.assemble(world)


def test_small_bodies_have_inertia() -> None:
    """A tenth of a millimetre, a microgram: M = I + m l² = 1.1e-16, G = m g l sin q."""
    d = derive(pendulum(Inertia.about_com(1e-9, (0, 0, -1e-4), (1e-16,) * 3)))
    assert float(d.M[0]) == pytest.approx(1.1e-16, rel=1e-14)
    assert float(d.G[0].subs(d.q[0], sympy.pi / 2)) == pytest.approx(9.81e-13, rel=1e-14)


@pytest.mark.parametrize("large", [1e-9, 1e-2])
def test_a_small_quantity_that_is_lost_is_found(large: float) -> None:
    """Alone, and in a row of its own beside one that is 1e11 times larger."""
    world = qdot.Mechanism("two")
    world.add("large", Revolute("y"), Inertia.point(large, (1e-2, 0, 0)))
    world.add("small", Revolute("y"), Inertia.point(1e-9, (1e-4, 0, 0)))
    d = derive(qdot.assemble(world))
    d._terms.M[1][1] = d._terms.ring.constant(0)
    with pytest.raises(DerivationError, match=r"M of model 'two', as derived, differs"):
        _ = d.M


@pytest.mark.parametrize(("stiffness", "damping"), [(1e3, 1e-11), (1e7, 1e-7)])
def test_weak_dampers_beside_stiff_springs(stiffness: float, damping: float) -> None:
    d = derive(pendulum(Inertia.point(1.0, (0, 0, -1)), stiffness=stiffness, damping=damping))
    assert -float(d.psi[0].diff(d.q[0])) == stiffness
    assert -float(d.psi[0].diff(d.v[0])) == damping


SPATIAL_TENDON = """<mujoco><worldbody><site name="above" pos="0 0 1"/>
  <body name="a"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05"/>
    <site name="on" pos="0 0 -.3"/></body></worldbody>
  <tendon><spatial name="t" stiffness="10" springlength=".1" damping="1"><site site="above"/><site site="on"/>
  </spatial></tendon></mujoco>"""


def test_joint_forces_have_no_joint_forces_in_them(tmp_path) -> None:
    """A spring along a straight line has a root in a denominator, which τ does not share."""
    file = tmp_path / "tendon.xml"
    file.write_text(SPATIAL_TENDON)
    d = derive(qdot.load(file))
    assert d.joint_forces.free_symbols == {*d.q, *d.v, *d.a}
    assert "def inverse_dynamics" in d.numpy("closed")  # which has been run


def test_no_inverse_of_a_singular_mass_matrix() -> None:
    """All mass is on the axis; the page says so and has the rest."""
    d = derive(pendulum(Inertia.point(1.0, (0, 0, 0))))
    with pytest.raises(SingularError, match="some motion of 'bob' moves no mass"):
        _ = d.H
    assert "They are left out: the mass matrix is singular" in d.text()
    assert "H = " not in d.text()
