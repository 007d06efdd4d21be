"""Impacts: balls, rows of balls, faces; energy that never grows; both laws, all at once and one after another."""

import numpy as np
import pytest

from qdot.compiler.trace import trace
from qdot.contact.impact import impact, impacts
from qdot.programs import expressions  # noqa: F401  (makes traced expressions scalars)
from tests.backends.loading import by_llvm, run
from tests.contact.scenes import faces, lists

LAWS = ["newton", "poisson"]
ORDERS = [impact, impacts]


def row(masses, v):
    """A row of balls in touch, without friction: W and u⁻ of its contacts, and J and M⁻¹."""
    n = len(masses)
    J = np.eye(n - 1, n, k=1) - np.eye(n - 1, n)
    inverse = np.diag(1 / np.asarray(masses, dtype=float))
    return J @ inverse @ J.T, J @ v, J, inverse


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_ball_bounces(e, law, order):
    """A ball with spin that meets the floor and sticks: it leaves at e times its speed, and rolls. To 1e-12.

    For such a contact both laws are one, as its normal does not answer to friction.
    """
    m, W = 2.0, np.diag([1.0, 3.5, 3.5]) / 2.0
    found = order(*lists(W, [-3.0, 1.0, 0.5]), [e], [0.8], [1.0], law=law)
    assert (found.converged, found.cut) == (1, 0)
    np.testing.assert_allclose(found.u, [3 * e, 0, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.z[0], (1 + e) * 3 * m, rtol=1e-12)
    z, before = np.array(found.z), np.array([-3.0, 1.0, 0.5])
    assert found.energy == pytest.approx(z @ W @ z / 2 + z @ before, rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_newtons_cradle(law):
    """One after another, motion is handed on to the last ball; two balls that come in are two that leave. To 1e-12."""
    for v, after in [([1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1]), ([1.0, 1, 0, 0, 0], [0, 0, 0, 1, 1])]:
        W, u, J, inverse = row(np.ones(5), v)
        found = impacts(*lists(W, u), [1.0] * 4, [()] * 4, [1.0] * 4, law=law)
        np.testing.assert_allclose(v + inverse @ J.T @ found.z, after, rtol=0, atol=1e-12)
        assert found.energy == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_all_at_once_is_another_law(law):
    """Three equal balls: the first turns back at 1/3, and the others go on together; energy and momentum stay."""
    v = np.array([1.0, 0, 0])
    W, u, J, inverse = row(np.ones(3), v)
    found = impact(*lists(W, u), [1.0] * 2, [()] * 2, [1.0] * 2, law=law)
    np.testing.assert_allclose(v + inverse @ J.T @ found.z, [-1 / 3, 2 / 3, 2 / 3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_row_of_different_balls(order):
    """Momentum stays; no two approach any more; energy does not grow, and stays for e = 1 in a chain. To 1e-10."""
    rng = np.random.default_rng(3)
    for e in (0.3, 1.0):
        masses, v = 10 ** rng.uniform(-1, 1, 5), rng.normal(size=5)
        W, u, J, inverse = row(masses, v)
        found = order(*lists(W, u), [e] * 4, [()] * 4, [1.0] * 4)
        after = v + inverse @ J.T @ found.z
        assert found.converged == 1
        assert masses @ after == pytest.approx(masses @ v, abs=1e-10)
        assert (J @ after >= -1e-10).all()
        lost = masses @ (v**2 - after**2) / 2
        assert -found.energy == pytest.approx(lost, abs=1e-10)
        assert lost >= -1e-10
        if order is impacts and e == 1:
            assert lost == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("law", LAWS)
def test_energy_never_grows(law, order):
    """Faces with friction, any e up to 1, squeezed ones too: nothing approaches, no cone is left. To 1e-9."""
    for seed in range(4):
        W, before, mu, _, _ = faces(seed, bodies=1 + seed % 2, points=3, ratio=1e3, squeezed=seed == 3)
        e = np.random.default_rng(seed).uniform(0.5, 1, len(mu))
        found = order(*lists(W, before, e, mu), [1.0] * len(mu), law=law)
        z, u = np.reshape(found.z, (-1, 3)), np.reshape(found.u, (-1, 3))
        moving = before @ np.linalg.lstsq(W, before, rcond=1e-12)[0]
        assert found.converged == 1
        assert found.energy <= 1e-10 * moving
        assert found.energy == pytest.approx(z.ravel() @ (before + u.ravel()) / 2, abs=1e-9 * moving)
        assert (u[:, 0] >= -1e-9 * np.abs(before).max()).all()
        assert (np.linalg.norm(z[:, 1:], axis=1) <= mu * z[:, 0] + 1e-12 * np.abs(z).max()).all()


@pytest.mark.parametrize("law", LAWS)
def test_gain_is_cut(law):
    """A slanted rod that slides fast: friction turns slip into a push, and e = 1 would give energy (Kane, 1984)."""
    cut = []
    for angle in np.linspace(0.2, 1.4, 13):
        x, y = -np.cos(angle), -np.sin(angle)
        W = np.array([[1 + 3 * x * x, -3 * x * y, 0], [-3 * x * y, 1 + 3 * y * y, 0], [0, 0, 1]])
        for slip in (-1.0, -0.2, 0.2, 1.0):
            found = impact(*lists(W, [-1.0, slip, 0]), [1.0], [0.6], [1.0], law=law)
            assert found.energy <= 1e-14
            assert found.u[0] >= -1e-12
            cut.append(found.cut)
    assert 0 in cut
    if law == "newton":  # Poisson's law gives none at a single contact
        assert 1 in cut


def test_poisson_restores_a_share_of_the_push():
    """A single contact whose normal answers to friction: its push is 1 + e times that of the approach. To 1e-11."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(3, 3))
    W, before = B @ B.T + np.eye(3), np.array([-2.0, 0.4, -0.3])
    stopped = impact(*lists(W, before), [0.0], [0.3], [1.0], law="poisson")
    found = impact(*lists(W, before), [0.5], [0.3], [1.0], law="poisson")
    assert stopped.u[0] == pytest.approx(0, abs=1e-12)
    assert found.z[0] == pytest.approx(1.5 * stopped.z[0], rel=1e-11)


def test_squeezed_bodies_may_have_no_restitution():
    """A point between two walls: both approach, none can part at once; it stops, and that is told."""
    W = np.array([[1.0, -1.0], [-1.0, 1.0]])
    found = impact(W.tolist(), [-1.0, 1.0], [1.0, 1.0], [(), ()], [1.0, 1.0])
    np.testing.assert_allclose(found.u, [0, 0], rtol=0, atol=1e-12)  # the wall behind stops what it turned back
    chain = impacts(W.tolist(), [-1.0, 1.0], [1.0, 1.0], [(), ()], [1.0, 1.0], limit=20)
    assert chain.impacts == 20  # to and fro between both
    np.testing.assert_allclose(chain.u, [0, 0], rtol=0, atol=1e-12)


def test_rows_of_different_length_one_after_another():
    """A contact without friction beside one with: each does what it does alone."""
    W = np.diag([1.0, 2, 2, 2])
    found = impacts(*lists(W, [-1.0, -2.0, 0.5, 0.0]), [0.5, 1.0], [(), 0.9], [1.0, 1.0])
    np.testing.assert_allclose(found.u, [0.5, 2, 0, 0], rtol=0, atol=1e-12)
    assert found.impacts == 2
    absent = impacts(*lists(W, [-1.0, -2.0, 0.5, 0.0]), [0.5, 1.0], [(), 0.9], [0.0, 1.0])
    np.testing.assert_allclose(absent.u, [-1, 2, 0, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("law", LAWS)
def test_lanes_and_programs_give_what_floats_do(order, law):
    """To 1e-9; chains of different length side by side, of two contacts with friction."""
    scenes = [faces(seed, bodies=1, points=2) for seed in range(8)]
    W, before, mu = (np.array([scene[k] for scene in scenes]) for k in range(3))
    rest = {"e": [0.8, 0.5], "present": [1.0, 1.0]}
    rows = zip(W, before, mu, strict=True)
    expected = np.array([order(*lists(A, b), mu=m.tolist(), **rest, law=law).u for A, b, m in rows])
    lanes = order([list(row) for row in np.moveaxis(W, 0, -1)], list(before.T), mu=list(mu.T), **rest, law=law).u
    np.testing.assert_allclose(np.stack(lanes, axis=1), expected, rtol=0, atol=1e-9)

    def text(W, before, mu):
        return {"u": order(W, before, mu=mu, **rest, law=law).u}

    program = trace("impact", text, {"W": (6, 6), "before": (6,), "mu": (2,)})
    found = run(by_llvm(program), {"W": W, "before": before, "mu": mu})["u"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
