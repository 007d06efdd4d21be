"""Laws between derived quantities, on random chains and trees, as identities of expressions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import sympy

import qdot
from qdot.algebra import Vec3
from qdot.derivation.derivation import derive
from qdot.description import ConnectRecord, CouplingRecord
from qdot.errors import DerivationError
from qdot.joints import Prismatic, Revolute, Universal
from qdot.model.library import cart_pole, five_link_chain, floating_two_link, random_tree, rp_arm, two_link_arm
from qdot.spatial import Inertia

BALL = Inertia.about_com(1.5, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25))


@cache
def chain(seed: int):
    """A random serial chain of turns and slides, in three dimensions."""
    return derive(random_tree(seed, 3, ["revolute", "prismatic"], branching=0, passive=False))


CHAINS = range(6)


@pytest.mark.parametrize("seed", CHAINS)
def test_zeros_of_serial_chains(seed: int) -> None:
    """b_iii = 0, and b_iji = 0 for i > j: no joint is slowed by what it or the joints before it do (K10)."""
    b = chain(seed).b
    n = range(3)
    assert [b[i, i, i] for i in n] == [0, 0, 0]
    assert {b[i, j, i] for i in n for j in n if i > j} == {0}


@pytest.mark.parametrize("seed", CHAINS)
def test_velocity_forces_three_ways(seed: int) -> None:
    """V by Newton–Euler is Σ b v v, Σ h v v and C[v²] + B[vv]: by different routes from M."""
    d = chain(seed)
    n = range(3)
    at = dict(zip([*d.q, *d.v], np.random.default_rng(seed).normal(size=6), strict=True))

    def value(x: object) -> float:
        return float(sympy.sympify(x).subs(at))

    for i in n:
        by_b = sum(d.b[i, j, k] * d.v[j] * d.v[k] for j, k in product(n, n))
        by_h = sum(d.h[i, j, k] * d.v[j] * d.v[k] for j, k in product(n, n))
        by_CB = sum(d.C[i, j] * d.v[j] ** 2 for j in n)
        by_CB += sum(d.B[i, c] * d.v[j] * d.v[k] for c, (j, k) in enumerate(d.pairs))
        for other in (by_b, by_h, by_CB):
            assert value(other) == pytest.approx(value(d.V[i]), abs=1e-10)


@pytest.mark.parametrize("seed", CHAINS)
def test_first_kind_is_symmetric_and_makes_the_rate_of_the_mass_matrix(seed: int) -> None:
    """b_ijk = b_ikj, and Ṁ_ij = Σ (b_ijk + b_jik) q̇_k."""
    d = chain(seed)
    n = range(3)
    assert all(d.b[i, j, k] == d.b[i, k, j] for i, j, k in product(n, n, n))
    at = dict(zip([*d.q, *d.v], np.random.default_rng(seed).normal(size=6), strict=True))
    for i, j in product(n, n):
        rate = sum((d.b[i, j, k] + d.b[j, i, k]) * d.v[k] for k in n)
        assert float(sympy.sympify(rate).subs(at)) == pytest.approx(float(d.M_dot[i, j].subs(at)), abs=1e-10)


def test_a_constant_mass_matrix_makes_no_velocity_forces() -> None:
    """Slides only: Newton's law (T25)."""
    world = qdot.Mechanism("gantry")
    part = world.add("x", Prismatic("x"), BALL)
    part.add("y", Prismatic("y"), BALL).add("slanted", Prismatic((0.6, 0, 0.8)), BALL)
    d = derive(qdot.assemble(world), symbols=("mass",))
    assert d.M.free_symbols <= set(d.constants)
    assert sympy.zeros(3, 1) == d.V
    assert set(sympy.flatten(d.b)) == set(sympy.flatten(d.h)) == {0}
    assert "there are none" in d.text()


@pytest.mark.parametrize("model", [two_link_arm(), rp_arm(), cart_pole()], ids=lambda m: m.name)
def test_hamilton_follows_from_his_function(model) -> None:
    """∂H/∂p and -∂H/∂q + ψ, by SymPy, are the equations; H at p = M q̇ is K + P; L is K - P."""
    d = derive(model, symbols=("mass", "length", "gravity"))
    n = model.nv
    expected = [d.H.diff(p) for p in d.p] + [tau - d.H.diff(q) for q, tau in zip(d.q, d.tau, strict=True)]
    rng = np.random.default_rng(0)
    letters = [*d.q, *d.v, *d.p, *d.tau, *d.constants]
    at = dict(zip(letters, rng.uniform(0.5, 1.5, len(letters)), strict=True))
    for ours, theirs in zip(d.hamilton, expected, strict=True):
        assert float(ours.subs(at)) == pytest.approx(float(theirs.subs(at)), rel=1e-10)
    of_v = d.H.subs(dict(zip(d.p, d.momentum, strict=True)))
    assert float(of_v.subs(at)) == pytest.approx(float((d.K + d.P).subs(at)), rel=1e-10)
    assert sympy.simplify(d.L - d.K + d.P) == 0
    assert len(d.hamilton) == 2 * n


def test_friction_springs_and_external_forces() -> None:
    """ψ = τ + Jᵀ f - d q̇ - k (q - rest) - f sign(q̇) (H6)."""
    world = qdot.Mechanism("door", gravity=(0, 0, 0))
    door = world.add("door", Revolute("z"), BALL, damping=0.5, friction=0.2, stiffness=3.0)
    door.frame("knob", at=(0.8, 0, 0))
    d = derive(qdot.assemble(world), symbols=("damping", "friction", "stiffness", "length"), wrenches=("knob",))
    found = {str(term) for term in sympy.Add.make_args(sympy.expand(d.psi[0]))}
    assert found == {
        "tau_1", "n_knob_z", "-d_1*v_1", "-k_1*q_1", "-f_1*sign(v_1)", "f_knob_y*l_1*cos(q_1)", "-f_knob_x*l_1*sin(q_1)"
    }  # fmt: skip
    assert d.G[0] == 0
    assert str(d.P) == "k_1*q_1**2/2"


def test_constraints() -> None:
    """Two arms that hold one point, and a gear between them: φ, and ∂φ/∂q by differentiating it."""
    world = qdot.Mechanism("closed", gravity=(0, 0, 0))
    left = world.add("left", Revolute("z"), BALL, joint_name="a")
    right = world.add("right", Revolute("z"), BALL, at=(1, 0, 0), joint_name="b")
    left.frame("tip", at=(0.5, 0, 0))
    right.frame("end", at=(0.25, 0, 0))
    described = world.description()
    zero = Vec3(0, 0, 0)
    constraints = (
        ConnectRecord("held", "tip", zero, "end", zero),
        CouplingRecord("geared", "b", "a", (0, 3.0)),
    )
    d = derive(qdot.assemble(replace(described, constraints=constraints)), symbols=("length",))
    assert [str(x) for x in d.phi][2:] == ["0", "-3*q_1 + q_2"]
    assert d.phi_jacobian == d.phi.jacobian(d.q)
    assert "Constraint Jacobian" in d.text()


def test_a_loop_joint_leaves_its_own_motion_free() -> None:
    """A planar four-bar closed by a revolute joint: five rows, of which two say something about the plane."""
    world = qdot.Mechanism("four_bar")
    crank = world.add("crank", Revolute("z"), BALL)
    rod = crank.add("rod", Revolute("z"), BALL, at=(1, 0, 0))
    world.world.frame("ground", at=(2, 0, 0))
    rod.frame("pin", at=(2, 0, 0))
    world.close("loop", Revolute("z"), "ground", "pin")
    d = derive(qdot.assemble(world))
    J = d.phi_jacobian
    assert J.shape == (5, 2)
    moving = [row for row in range(5) if any(x != 0 for x in J[row, :])]
    assert len(moving) == 2
    slip = d.jacobian("pin")[3:5, :]  # what these two rows span: the velocity of the pin in the plane
    at = dict(zip(d.q, (0.4, 0.7), strict=True))
    ours = np.array(J[moving, :].subs(at), dtype=float)
    theirs = np.array(slip.subs(at), dtype=float)
    np.testing.assert_allclose(ours.T @ ours, theirs.T @ theirs, atol=1e-12)


def test_quaternions() -> None:
    """A floating mechanism has equations in body velocities; Hamilton's canonical ones are refused."""
    d = derive(floating_two_link(), symbols=("mass",))
    assert not d.plain
    assert len(d.equations) == 7
    assert not d.M.free_symbols & set(d.q[:7])  # where it is in space does not matter
    with pytest.raises(DerivationError, match="quaternions"):
        _ = d.hamilton


def test_a_large_inverse_is_refused() -> None:
    d = derive(five_link_chain())
    with pytest.raises(DerivationError, match="couples 5 freedoms"):
        _ = d.Gamma


def test_a_loop_joint_whose_motions_turn_is_refused() -> None:
    """The second axis of a universal joint turns with the first, and neither is a coordinate of the model."""
    world = qdot.Mechanism("shafts")
    world.add("in", Revolute("x"), BALL)
    world.add("out", Revolute("x"), BALL)
    world.close("loop", Universal("y", "z"), "in", "out")
    with pytest.raises(DerivationError, match="loop joint 'loop' of model 'shafts'"):
        _ = derive(qdot.assemble(world)).phi_jacobian
