"""The certificate: sound models are certified to rounding; whatever is broken is caught, named and told in words."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import qdot
from qdot.algebra import Vec3
from qdot.algorithms import lagrangian
from qdot.certificate import Certificate, dynamics, verification, verify
from qdot.certificate.measure import relative
from qdot.certificate.sample import Sample
from qdot.errors import ModelError, ValueShapeError
from qdot.geometry import Box
from qdot.joints import Helical, Joint, Revolute, Spherical, Universal
from qdot.model import library
from qdot.spatial import Basis, Force, Inertia, Motion, Transform
from tests.laws.trees import MOVING

ROUNDING = 1e-11
"""Relative to the terms: chains of twenty bodies lose three or four digits of sixteen, short ones one."""

SOUND = {
    "pendulum": library.pendulum,
    "two links": library.two_link_arm,
    "sliding arm": library.rp_arm,
    "cart and pole": library.cart_pole,
    "floating links": library.floating_two_link,
    "all kinds of joints": lambda: library.random_tree(3, 6),
    "long chain": lambda: library.n_pendulum(20),
    "a published table that no bodies have": library.puma560,
}


def rig(joint: Joint, **options: object) -> qdot.Model:
    """An arm of three bodies; the joint in question holds the forearm."""
    world = qdot.Mechanism("rig", **options)
    upper = world.add("upper", Revolute("y"), Box(0.1, 0.1, 0.5, mass=2.0), joint_name="shoulder")
    forearm = upper.add("forearm", joint, Box(0.1, 0.1, 0.4, mass=1.0), at=(0, 0, 0.5), joint_name="elbow")
    forearm.add("hand", Universal("x", "y"), Box(0.1, 0.05, 0.1, mass=0.3), at=(0, 0.1, 0.4), joint_name="wrist")
    return qdot.assemble(world)


def with_inertia(inertia: Inertia) -> qdot.Model:
    """The arm with another inertia of its forearm, as a description gives it."""
    described = rig(Revolute("x")).description
    bodies = tuple(replace(b, inertia=inertia) if b.name == "forearm" else b for b in described.bodies)
    return qdot.assemble(replace(described, bodies=bodies, allow_unphysical=True))


def broken(kind: type, **methods: object) -> type:
    """A kind of joint or inertia with some of its answers replaced."""
    return type(f"Broken{kind.__name__}", (kind,), {"__slots__": (), **methods})


def failed_laws(certificate: Certificate) -> set[str]:
    """The questions whose answers were wrong; all of them on the forearm."""
    failures = [c for c in certificate.failures if c.part]
    assert {name for c in failures for name in c.off} == {"forearm"}
    return {c.route.partition("(")[0] for c in failures}


# ── what is right ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", SOUND)
def test_sound_models_are_certified(name: str) -> None:
    certificate = verify(SOUND[name](), states=3)
    assert certificate.agreed, str(certificate)
    assert certificate.disagreement < ROUNDING
    assert certificate.failures == certificate.suspects == ()
    assert "agree to" in certificate.verdict


@pytest.mark.parametrize("kind", MOVING)
def test_every_kind_of_joint_is_certified(kind: str) -> None:
    certificate = verify(library.random_tree(11, 2, [kind]), states=2)
    assert certificate.agreed, str(certificate)
    assert certificate.disagreement < ROUNDING


def test_all_formulations_are_among_the_routes() -> None:
    routes = verify(library.two_link_arm(), states=1).routes
    for words in (
        "ABA",
        "RNEA",
        "CRBA",
        "Lagrange",
        "Hamilton",
        "KKT",
        "d'Alembert",
        "covariant",
        "compiled",
        "energy rate",
    ):
        assert any(words in route for route in routes), words


def test_the_seed_decides_the_states() -> None:
    model = library.two_link_arm()
    first, again, other = (verify(model, states=2, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.comparisons != other.comparisons


def test_lanes_are_the_states_one_by_one() -> None:
    """The routes run on all states at once; the accelerations of each state are those of the public function."""
    model = library.random_tree(4, 4)
    sample = Sample.drawn(model, 3, 0)
    wrenches = {name: sample.packed(list(wrench)) for name, wrench in sample.wrenches.items()}
    rows = (sample.packed(x) for x in (sample.q, sample.v, sample.tau))
    found = qdot.forward_dynamics(model, *rows, wrenches=wrenches)
    np.testing.assert_allclose(found, sample.packed(sample.a), rtol=0, atol=1e-10)  # of order one; M costs four digits


def test_motions_from_poses_are_those_of_kinematics() -> None:
    """The route by poses on its own: against the public Jacobian and M."""
    model = library.random_tree(6, 5)
    sample = Sample.drawn(model, 2, 3)
    q = sample.packed(sample.q)
    for body in model.bodies:
        J = sample.motions.jacobian(model.frame(body.name))
        np.testing.assert_allclose(J, qdot.jacobian(model, q, body.name), rtol=0, atol=1e-13)
    M = qdot.mass_matrix(model, q)
    np.testing.assert_allclose(sample.motions.mass_matrix(), M, rtol=0, atol=1e-12 * np.abs(M).max())


# ── what is broken ───────────────────────────────────────────────────────────────────────────────

JOINTS = {
    "sign of S": (
        broken(Revolute, subspace=lambda j, q: Basis.motions(*(s * -1 for s in Revolute.subspace(j, q))))("x"),
        {"subspace"},
    ),
    "scale of S": (
        broken(Helical, subspace=lambda j, q: Basis.motions(*(s * 1.01 for s in Helical.subspace(j, q))))("x", 0.1),
        {"subspace"},
    ),
    "no bias": (broken(Universal, bias=lambda j, q, v: Motion.zero())("x", "y"), {"bias"}),
    "rate of S": (
        broken(Universal, subspace_rate=lambda j, q, v: Basis.motions(Motion.zero(), Motion.zero()))("x", "y"),
        {"subspace_rate"},
    ),
    "half a step": (
        broken(Spherical, retract=lambda j, q, dv: Spherical.retract(j, q, [x / 2 for x in dv]))(),
        {"retract", "difference"},
    ),
    "off the manifold": (
        broken(Spherical, retract=lambda j, q, dv: [x + y for x, y in zip(q, j.rate(q, dv), strict=True)])(),
        {"retract", "difference", "normalized"},
    ),
    "backwards": (broken(Revolute, retract=lambda j, q, dv: [q[0] - dv[0]])("x"), {"retract", "difference"}),
    "rate twice as fast": (
        broken(Spherical, rate=lambda j, q, v: [2 * x for x in Spherical.rate(j, q, v)])(),
        {"subspace", "retract", "bracket"},
    ),
    "difference turned round": (broken(Revolute, difference=lambda j, a, b: [a[0] - b[0]])("x"), {"difference"}),
    "no bracket": (broken(Spherical, bracket=lambda j, u, w: [0, 0, 0])(), {"bracket"}),
    "stretching": (
        broken(Revolute, transform=lambda j, q: Transform(Revolute.transform(j, q).rotation * 1.001, Vec3.zero()))("x"),
        {"transform", "subspace"},
    ),
    "counted from elsewhere": (broken(Revolute, neutral=lambda j: [1.0])("x"), {"neutral"}),
    "bearings that work": (
        broken(Revolute, complement=lambda j, q: Basis.forces(*(Force.of(row) for row in np.eye(6)[:5].tolist())))("x"),
        {"complement"},
    ),
}


@pytest.mark.parametrize("fault", JOINTS)
def test_a_broken_joint_is_caught_and_named(fault: str) -> None:
    joint, laws = JOINTS[fault]
    certificate = verify(rig(joint), states=2)
    assert not certificate.agreed
    assert failed_laws(certificate) == laws
    assert certificate.suspects == ("forearm",)
    assert "joint 'elbow' of body 'forearm'" in certificate.verdict


@pytest.mark.parametrize("fault", ["sign of S", "scale of S", "no bias", "half a step", "no bracket"])
def test_formulations_feel_a_broken_joint(fault: str) -> None:
    """Not only its own laws: accelerations by other formulations differ too, since those ask other questions."""
    certificate = verify(rig(JOINTS[fault][0]), states=2)
    assert any(c.quantity == "accelerations" and not c.agrees for c in certificate.comparisons)
    assert certificate.by_body["forearm"] > certificate.tolerance


def test_a_joint_that_raises_is_told() -> None:
    joint = broken(Universal, bias=lambda j, q, v: 1 / 0)("x", "y")
    certificate = verify(rig(joint), states=2)
    assert "joint 'elbow' of body 'forearm': bias(q, v) cannot be used: ZeroDivisionError" in certificate.verdict
    assert certificate.suspects == ("forearm",)


def test_a_joint_with_answers_of_the_wrong_length_is_told() -> None:
    joint = broken(Revolute, rate=lambda j, q, v: [*v, 0.0])("x")
    assert verify(rig(joint), states=2).suspects == ("forearm",)


ROD = Inertia.about_com(1.0, (0.05, 0, 0.2), (0.02, 0.02, 0.001))
INERTIAS = {
    "momentum": broken(Inertia, __matmul__=lambda I, v: Force(Inertia.__matmul__(I, v).ang, v.lin)),
    "carrying": broken(Inertia, outward=lambda I, X: Inertia.outward(replace_moment(I, -1.0), X)),
    "rate": broken(Inertia, rate=lambda I, v: Inertia.rate(replace_moment(I, 0.5), v)),
}


def replace_moment(I: Inertia, factor: float) -> Inertia:
    return Inertia(I.mass, I.moment * factor, I.rotational)


@pytest.mark.parametrize("fault", INERTIAS)
def test_a_broken_inertia_is_caught_and_named(fault: str) -> None:
    certificate = verify(with_inertia(INERTIAS[fault](ROD.mass, ROD.moment, ROD.rotational)), states=2)
    failures = [c for c in certificate.failures if c.part]
    assert {c.part for c in failures} == {"inertia"}
    assert certificate.suspects == ("forearm",)
    assert "inertia of body 'forearm'" in certificate.verdict


def test_an_inertia_that_no_body_has_is_doubted_and_caught_where_it_matters() -> None:
    """All routes agree on what a negative mass does; that M is not positive tells, and the body is named."""
    certificate = verify(with_inertia(Inertia.about_com(-30.0, (0, 0, 0.2), (-1, -1, -1))), states=2)
    assert not certificate.agreed
    assert certificate.suspects == tuple(certificate.doubts) == ("forearm",)
    assert {c.quantity for c in certificate.failures} == {"negative part of the mass matrix"}
    assert "negative" in str(certificate)


def test_a_wrong_formulation_is_told_from_the_right_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """One route of many is off: it is the one that is named, whichever comes first in the table."""
    accelerations = dynamics.OF_FREEDOMS[-1]
    assert accelerations.name == "accelerations"
    wrong = dynamics.Route("wrong", lambda s: 1.001 * s.packed(s.a))
    changed = replace(accelerations, routes=(wrong, *accelerations.routes))
    monkeypatch.setattr("qdot.certificate.verification.QUANTITIES", (changed,))
    (failure,) = verify(library.two_link_arm(), states=2).failures
    assert (failure.quantity, failure.route) == ("accelerations", "wrong")


def test_a_defect_of_a_formulation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explicit Lagrange without its potential forces: its routes disagree, on the bodies that their joints hold up."""
    monkeypatch.setattr(lagrangian, "potential_forces", lambda model, q: [0] * model.nv)
    certificate = verify(rig(Revolute("x")), states=2)
    assert {c.route for c in certificate.failures} == {"explicit Lagrange"}
    assert {name for c in certificate.failures for name in c.off} == {"upper", "forearm"}  # the hand hangs in balance


# ── models of any kind ───────────────────────────────────────────────────────────────────────────


def test_without_freedoms_and_without_bodies() -> None:
    empty = verify(qdot.assemble(qdot.Mechanism("nothing")))
    assert empty.agreed
    assert empty.comparisons[0].by_body == {}
    world = qdot.Mechanism("block")
    world.add("block", qdot.joints.Fixed(), Box(1, 1, 1, mass=1.0))
    block = verify(qdot.assemble(world))
    assert block.agreed
    assert any("nothing in it moves" in note for note in block.notes)


def test_massless_ends() -> None:
    """M is singular, so forces are compared, and the certificate says so."""
    world = qdot.Mechanism("tool")
    world.add("arm", Revolute("y"), Box(0.1, 0.1, 0.5, mass=1.0)).add("tip", Revolute("x"), at=(0, 0, 0.5))
    certificate = verify(qdot.assemble(world))
    assert certificate.agreed, str(certificate)
    assert not any(c.quantity == "accelerations" for c in certificate.comparisons)
    assert any("tip" in note and "accelerations" in note for note in certificate.notes)


def test_closed_loops_are_certified_as_trees() -> None:
    world = qdot.Mechanism("closed")
    a = world.add("a", Revolute("y"), Box(0.1, 0.1, 0.5, mass=1.0))
    a.add("b", Revolute("y"), Box(0.1, 0.1, 0.5, mass=1.0), at=(0, 0, 0.5))
    world.close("latch", Revolute("y"), "world", "b")
    certificate = verify(qdot.assemble(world))
    assert certificate.agreed
    assert any("of the tree" in note and "latch" in note for note in certificate.notes)


def test_large_models_leave_slow_routes_out_and_say_so() -> None:
    model = library.random_tree(1, 30)
    certificate = verify(model, states=2)
    assert certificate.agreed
    (note,) = certificate.notes
    assert f"{model.nv} freedoms" in note
    assert "explicit Lagrange" in note
    assert not any("explicit Lagrange" in route for route in certificate.routes)


def test_what_cannot_be_verified_is_refused() -> None:
    model = library.pendulum()
    with pytest.raises(ValueShapeError, match="states"):
        verify(model, states=0)
    with pytest.raises(ValueShapeError, match="seed"):
        verify(model, seed=-1)
    with pytest.raises(ValueShapeError, match="tolerance"):
        verify(model, tolerance=float("nan"))
    with pytest.raises(ModelError, match=r"qdot\.assemble"):
        verify(qdot.Mechanism("raw"))
    with pytest.raises(ModelError, match=r"numbers.* m "):
        verify(library.pendulum(mass=sp.Symbol("m", positive=True)))


# ── how it is told ───────────────────────────────────────────────────────────────────────────────


def test_plain_values_for_machines() -> None:
    joint, _ = JOINTS["no bias"]
    found = json.loads(json.dumps(verify(rig(joint), states=2).as_dict(), allow_nan=False))
    assert found["agreed"] is False
    assert found["suspects"] == ["forearm"]
    (bias,) = (c for c in found["comparisons"] if c["route"] == "bias(q, v)")
    assert bias["by_body"]["forearm"] > bias["tolerance"] > bias["by_body"]["hand"]
    raising = verify(rig(broken(Universal, bias=lambda j, q, v: 1 / 0)("x", "y")), states=2).as_dict()
    assert raising["disagreement"] is None
    json.dumps(raising, allow_nan=False)


def test_progress_is_told() -> None:
    seen: list[tuple[str, int, int]] = []
    verify(library.pendulum(), states=1, watch=lambda *step: seen.append(step))
    assert [done for _, done, _ in seen] == list(range(len(seen)))
    assert {total for _, _, total in seen} == {len(seen)}
    assert {"mass matrix", "accelerations"} <= {name for name, _, _ in seen}


def test_disagreements_are_relative_to_terms() -> None:
    np.testing.assert_array_equal(
        relative([0.0, 1.0, -2.0, 1.0, np.nan], [0.0, 2.0, 4.0, 0.0, 1.0]), [0, 0.5, 0.5, np.inf, np.inf]
    )


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_size_of_a_mechanism_does_not_matter(factor: float) -> None:
    """A watch and a crane: what is broken is as far off, what is sound agrees as well."""
    sound = qdot.model.edit.scale(library.two_link_arm(), factor)
    certificate = verify(sound, states=2)
    assert certificate.agreed, str(certificate)


def crane(lengths: tuple[float, ...], masses: tuple[float, ...], kind: type = Revolute) -> qdot.Model:
    """Links one after the other, each as wide as it is long."""
    world = qdot.Mechanism("crane")
    part, at = world.world, 0.0
    for k, (length, mass) in enumerate(zip(lengths, masses, strict=True)):
        inertia = Inertia.about_com(mass, (0.1 * length, 0, 0.5 * length), (mass * length**2 / 3,) * 3)
        part, at = part.add(f"link{k}", kind("xy"[k % 2]), inertia, at=(0, 0, at)), length
    return qdot.assemble(world)


@pytest.mark.parametrize(
    ("lengths", "masses"),
    [((10, 1, 1e-2), (1, 1, 1)), ((30, 1, 1e-3), (100, 1, 1e-3)), ((100, 1, 1e-3), (1e4, 1, 1e-3))],
)
def test_mixed_sizes_raise_no_false_alarm(lengths: tuple[float, ...], masses: tuple[float, ...]) -> None:
    """A crane that holds a watch: in one frame the watch has m r² added and taken away, a billion times its inertia.

    A length of 1e-3 at the end of 100 keeps 1e-16 · 1e5 of itself, so 1e-10 is asked for.
    """
    certificate = verify(crane(lengths, masses), tolerance=1e-10)
    assert certificate.agreed, str(certificate)


@pytest.mark.parametrize("lengths", [(1e6, 1e-6), (1e6, 1, 1e-6), (1e-6, 1e6), (1e4, 1e-6)])
def test_lengths_beyond_double_precision_are_told(lengths: tuple[float, ...]) -> None:
    """A micrometre at the end of a thousand kilometres is known to 1e-16 · 1e12 of itself: no route is to blame."""
    model = crane(lengths, (1,) * len(lengths))
    certificate = verify(model, states=2)
    assert certificate.agreed, str(certificate)
    assert 1e-9 < certificate.tolerance <= 1e-3
    (note,) = certificate.notes
    assert "lengths in it differ by" in note
    assert "the tolerance is" in note
    strict = verify(model, states=2, tolerance=1e-12)  # who asks for more gets it, and is told why it fails
    assert strict.tolerance == 1e-12
    assert not strict.agreed
    assert "smaller disagreements are rounding" in strict.notes[0]


def test_a_broken_joint_is_caught_among_lengths_that_differ() -> None:
    """The laws of a joint alone know nothing of lengths, and keep their tolerance; S is off by a millionth."""
    slight = broken(Revolute, subspace=lambda j, q: Basis.motions(*(s * (1 + 1e-6) for s in Revolute.subspace(j, q))))
    certificate = verify(crane((1e6, 1e-6), (1, 1), slight), states=2)
    assert {c.part for c in certificate.failures} == {"joint"}


def test_a_wrong_route_in_one_frame_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its larger terms excuse its rounding, not its mistakes; and no other route is measured by them."""
    model = library.two_link_arm()
    sample = Sample.drawn(model, 2, 0)
    assert (sample.motions.in_one_frame.mass_sizes >= sample.motions.mass_sizes).all()
    mass = next(quantity for quantity in dynamics.OF_FREEDOMS if quantity.name == "mass matrix")
    routes = [replace(r, compute=lambda s: 1.01 * s.M) if r.size is not None else r for r in mass.routes]
    monkeypatch.setattr(verification, "QUANTITIES", (replace(mass, routes=tuple(routes)),))
    failed = [c for c in verify(model).comparisons if not c.agrees]
    assert [c.route for c in failed] == ["composite bodies in one frame"]
