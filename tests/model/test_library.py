"""Every function of the library builds what it says, from numbers and from symbols; random trees do as asked."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import qdot
from qdot.errors import ModelError, QdotError
from qdot.model import library
from qdot.model.library import (
    KINDS,
    acrobot,
    cart_pole,
    double_pendulum,
    five_link_chain,
    floating_two_link,
    n_pendulum,
    pendulum,
    puma560,
    random_inertia,
    random_pose,
    random_state,
    random_tree,
    rp_arm,
    seven_joint_arm,
    two_link_arm,
)
from qdot.spatial import physical_problem, pose_problem

BUILDERS = {
    "acrobot": (acrobot, 2),
    "cart_pole": (cart_pole, 2),
    "double_pendulum": (double_pendulum, 2),
    "five_link_chain": (five_link_chain, 5),
    "floating_two_link": (floating_two_link, 7),
    "floating_two_link planar": (lambda: floating_two_link(planar=True), 4),
    "n_pendulum": (lambda: n_pendulum(6), 6),
    "pendulum": (pendulum, 1),
    "puma560": (puma560, 6),
    "rp_arm": (rp_arm, 2),
    "seven_joint_arm": (seven_joint_arm, 7),
    "two_link_arm": (two_link_arm, 2),
}

a, b, c, d, e, f, g, h, k = sympy.symbols("a b c d e f g h k", positive=True)

SYMBOLIC = {
    "acrobot": lambda: acrobot((a, b), (c, d), (e, f), (g, h), k),
    "cart_pole": lambda: cart_pole(a, b, c, g),
    "double_pendulum": lambda: double_pendulum((a, b), (c, d), g),
    "five_link_chain": lambda: five_link_chain(a, b, g),
    "floating_two_link": lambda: floating_two_link(a, b, g),
    "floating_two_link planar": lambda: floating_two_link(a, b, g, planar=True),
    "n_pendulum": lambda: n_pendulum(3, a, b, g),
    "pendulum": lambda: pendulum(a, b, g),
    "puma560": lambda: puma560(g),
    "rp_arm": lambda: rp_arm(a, (b, c), (d, e), g),
    "seven_joint_arm": lambda: seven_joint_arm(g),
    "two_link_arm": lambda: two_link_arm((a, b), (c, d), g),
}


def test_the_tables_above_hold_the_whole_library() -> None:
    built = {name.split()[0] for name in BUILDERS}
    assert built == {x for x in library.__all__ if x != "KINDS" and not x.startswith("random")}


@pytest.mark.parametrize(("build", "nv"), BUILDERS.values(), ids=BUILDERS.keys())
def test_builds_from_numbers(build, nv: int) -> None:
    model = build()
    assert model.nv == nv
    q, v, tau = random_state(model, 0)
    accelerations = qdot.forward_dynamics(model, q, v, tau)
    np.testing.assert_allclose(qdot.inverse_dynamics(model, q, v, accelerations), tau, atol=1e-8)
    assert np.linalg.eigvalsh(qdot.mass_matrix(model, q))[0] > 0
    assert build() == model


@pytest.mark.parametrize("name", SYMBOLIC)
def test_builds_from_symbols_and_agrees_with_numbers(name: str) -> None:
    symbolic = SYMBOLIC[name]()
    assert symbolic == SYMBOLIC[name]()
    values = dict(zip((a, b, c, d, e, f, g, h, k), np.random.default_rng(1).uniform(0.5, 2, 9), strict=True))
    q, v, acc = random_state(symbolic, 2)
    tau = qdot.inverse_dynamics(symbolic, q, v, acc)
    assert tau.dtype == object
    assert set().union(*(x.free_symbols for x in tau if isinstance(x, sympy.Basic))) <= set(values)
    substituted = [float(sympy.sympify(x).subs(values)) for x in tau]
    A, B, C, D, E, F, G, H, K = (values[s] for s in (a, b, c, d, e, f, g, h, k))
    numeric = {
        "acrobot": lambda: acrobot((A, B), (C, D), (E, F), (G, H), K),
        "cart_pole": lambda: cart_pole(A, B, C, G),
        "double_pendulum": lambda: double_pendulum((A, B), (C, D), G),
        "five_link_chain": lambda: five_link_chain(A, B, G),
        "floating_two_link": lambda: floating_two_link(A, B, G),
        "floating_two_link planar": lambda: floating_two_link(A, B, G, planar=True),
        "n_pendulum": lambda: n_pendulum(3, A, B, G),
        "pendulum": lambda: pendulum(A, B, G),
        "puma560": lambda: puma560(G),
        "rp_arm": lambda: rp_arm(A, (B, C), (D, E), G),
        "seven_joint_arm": lambda: seven_joint_arm(G),
        "two_link_arm": lambda: two_link_arm((A, B), (C, D), G),
    }[name]()
    np.testing.assert_allclose(qdot.inverse_dynamics(numeric, q, v, acc), substituted, rtol=1e-9, atol=1e-9)


def test_frames_at_the_ends() -> None:
    assert list(qdot.frame_pose(pendulum(2.0), [0.0], "tip").position) == [0, 0, -2]
    np.testing.assert_allclose(list(qdot.frame_pose(n_pendulum(4, 0.5), [0] * 4, "tip").position), [0, 0, -2])
    np.testing.assert_allclose(list(qdot.frame_pose(two_link_arm(), [0, 0], "hand").position), [2, 0, 0])
    np.testing.assert_allclose(list(qdot.frame_pose(seven_joint_arm(), [0] * 7, "flange").position), [0, 0, 1.47])


BAD = {
    "too few lengths": (lambda: two_link_arm(lengths=(1.0,)), "lengths"),
    "no tuple of lengths": (lambda: two_link_arm(lengths=1.0), "lengths"),
    "too many masses": (lambda: double_pendulum(masses=(1, 2, 3)), "masses"),
    "too few inertias": (lambda: rp_arm(inertias=(1,)), "inertias"),
    "too many coms": (lambda: acrobot(coms=(1, 2, 3)), "coms"),
    "negative mass": (lambda: pendulum(mass=-1), "mass"),
    "one negative mass": (lambda: double_pendulum(masses=(1, -1)), "rod2"),
    "no length": (lambda: pendulum(length=0), "length"),
    "negative length": (lambda: five_link_chain(length=-1), "length"),
    "text": (lambda: pendulum(length="long"), "length"),
    "nothing": (lambda: pendulum(length=None), "length"),
    "nan gravity": (lambda: cart_pole(gravity=float("nan")), "gravity"),
    "negative number of links": (lambda: n_pendulum(-1), "n_pendulum"),
    "half a link": (lambda: n_pendulum(2.5), "n_pendulum"),
    "unknown kind": (lambda: random_tree(0, 3, ["wheel"]), "wheel.*choose from.*revolute"),
    "kind as text": (lambda: random_tree(0, 3, "revolute"), "random_tree"),
    "no kinds": (lambda: random_tree(0, 3, []), "random_tree"),
    "negative bodies": (lambda: random_tree(0, -1), "bodies"),
    "half a body": (lambda: random_tree(0, 2.5), "bodies"),
}


@pytest.mark.parametrize(("call", "word"), BAD.values(), ids=BAD.keys())
def test_arguments_that_make_no_mechanism(call, word: str) -> None:
    with pytest.raises(QdotError, match=word):
        call()


# ── random trees ─────────────────────────────────────────────────────────────────────────────────


def test_random_trees_are_reproducible() -> None:
    assert random_tree(5) == random_tree(5)
    assert random_tree(5) != random_tree(6)
    assert random_tree(5, 3) != random_tree(5, 4)
    model = random_tree(5)
    for x, y in zip(random_state(model, 1), random_state(model, 1), strict=True):
        np.testing.assert_array_equal(x, y)


def test_branching_is_from_chain_to_bush() -> None:
    chain = random_tree(1, 20, branching=0)
    assert chain.parents == (0, *range(20))
    bush = random_tree(1, 60, ["revolute"], branching=1)
    assert len(set(bush.parents)) < 50
    assert max(bush.parents) < 60


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_kinds_asked_for(kind: str) -> None:
    model = random_tree(2, 4, [kind])
    assert {type(b.joint).__name__.lower() for b in model.bodies} == {kind}
    q, *_ = random_state(model, 0)
    assert qdot.mass_matrix(model, q).shape == (model.nv, model.nv)


def test_without_passive_terms_there_are_none() -> None:
    model = random_tree(3, 6, passive=False)
    q, v, _ = random_state(model, 0)
    assert not qdot.passive_forces(model, q, v).any()
    assert all(x == 0 for body in model.bodies for x in body.passive.armature)


@pytest.mark.parametrize("bodies", [0, 1, 2, 30])
def test_as_many_bodies_as_asked_for(bodies: int) -> None:
    assert len(random_tree(4, bodies).bodies) == bodies


def test_random_parts_are_possible_ones() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert physical_problem(random_inertia(rng)) is None
        assert pose_problem(random_pose(rng)) is None


def test_the_message_about_kinds_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="'hover', 'wheel'"):
        random_tree(0, 3, ["wheel", "revolute", "hover"])
