"""Hard contact with Coulomb's cone: the law itself, closed forms, a second solver, hard cases, other scalars.

Tolerances are of the units of each contact, in which W has entries of the size of one: u is then in √J, and 1e-10 of
the largest velocity before is ten times what the solver stops at.
"""

import numpy as np
import pytest
from scipy.optimize import nnls

from qdot.algebra import derivative, map_scalars
from qdot.compiler.interpret import interpret
from qdot.compiler.trace import trace
from qdot.contact.coulomb import coulomb
from qdot.contact.residuals import residuals
from qdot.programs import expressions  # noqa: F401  (makes traced expressions scalars)
from tests.backends.loading import by_llvm, run
from tests.contact.scenes import faces, lists


def solved(W, b, mu, present=None, **options):
    """z and u as arrays, one row for each contact, and the answer."""
    present = [1.0] * len(mu) if present is None else present
    found = coulomb(*lists(W, b), list(mu), present, **options)
    return np.reshape(found.z, (len(mu), -1)), np.reshape(found.u, (len(mu), -1)), found


def units(W):
    """1 / √(mean of W_ii) of each contact with three rows: what turns its velocities into √J."""
    return 1 / np.sqrt(np.diag(W).reshape(-1, 3).mean(axis=1))


def assert_law(W, b, mu, z, u, tolerance=1e-10):
    """Signorini's and Coulomb's conditions, each written as the books do."""
    D = units(W)
    speed, push = D[:, None] * u, z / D[:, None]
    small = tolerance * np.abs(D[:, None] * b.reshape(-1, 3)).max() * max(1, np.abs(push).max())
    np.testing.assert_allclose(u.ravel(), W @ z.ravel() + b, rtol=0, atol=1e-13 * (np.abs(W) @ np.abs(z).ravel()).max())
    assert (z[:, 0] >= 0).all()
    assert (speed[:, 0] >= -small).all()
    assert (np.minimum(np.abs(speed[:, 0]), push[:, 0]) <= small).all()
    bound, friction = mu * push[:, 0], np.linalg.norm(push[:, 1:], axis=1)
    assert (friction <= bound * (1 + 1e-14) + 1e-300).all()
    slip = np.linalg.norm(speed[:, 1:], axis=1)
    slides = (slip > 10 * small) & (mu > 0)
    opposite = -(bound / np.where(slides, slip, 1))[:, None] * speed[:, 1:]
    np.testing.assert_allclose(
        push[slides, 1:], opposite[slides], rtol=0, atol=small * (1 + (bound / np.where(slides, slip, 1)).max())
    )


KINDS = {
    "a face": {"bodies": 1, "points": 4},
    "eight points": {"bodies": 1, "points": 8},
    "two bodies, 1e6": {"bodies": 2, "points": 4, "ratio": 1e6},
    "three bodies, 1e6": {"bodies": 3, "points": 4, "ratio": 1e6},
    "squeezed, 1e6": {"bodies": 2, "points": 4, "ratio": 1e6, "squeezed": True},
    "rough": {"bodies": 2, "points": 4, "ratio": 1e3, "friction": (1.0, 4.0)},
    "no friction": {"bodies": 2, "points": 4, "ratio": 1e6, "friction": (0.0, 0.0)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_law_holds(kind):
    for seed in range(6):
        W, b, mu, _, _ = faces(seed, **KINDS[kind])
        z, u, found = solved(W, b, mu.tolist())
        assert found.converged == 1, (kind, seed, found.error)
        assert found.error <= 1e-11
        assert_law(W, b, mu, z, u)


@pytest.mark.parametrize("kind", ["a face", "two bodies, 1e6", "squeezed, 1e6"])
def test_energy_is_never_given(kind):
    """½ zᵀ (u⁻ + u⁺) ≤ 0, to 1e-10 of the energy that moves there."""
    for seed in range(6, 10):
        W, b, mu, _, _ = faces(seed, **KINDS[kind])
        z, u, _ = solved(W, b, mu.tolist())
        moving = b @ np.linalg.lstsq(W, b, rcond=1e-12)[0]
        assert z.ravel() @ (b + u.ravel()) / 2 <= 1e-10 * moving


@pytest.mark.parametrize("ratio", [1.0, 1e6])
def test_least_squares_agree_without_friction(ratio):
    """½ |Rᵀ z + c|², W = R Rᵀ, by SciPy's exact method for z ≥ 0: Rᵀ z to 1e-9, for it runs on R itself."""
    for seed in range(6):
        W, b, _, J, M = faces(seed, bodies=2, points=4, ratio=ratio)
        normal = J[::3]
        root = np.linalg.solve(np.linalg.cholesky(M), normal.T)  # Rᵀ
        z, _, found = solved(W[::3, ::3], b[::3], [()] * len(normal))
        assert found.converged == 1
        c = np.linalg.lstsq(root.T, b[::3], rcond=1e-13)[0]
        expected = root @ nnls(root, -c, maxiter=1000)[0]
        np.testing.assert_allclose(root @ z.ravel(), expected, rtol=0, atol=1e-9 * np.abs(c).max())


# ── closed forms ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("mu", "sticks"), [(0.5, False), (0.6, True)])
def test_block_on_an_incline(mu, sticks):
    """30°: tan = 0.577. In a time h a block of 2 kg gets g h sin - μ g h cos, or stays; to 1e-14 of g h."""
    m, gh, angle = 2.0, 9.81 * 0.01, np.pi / 6
    b = np.array([-gh * np.cos(angle), gh * np.sin(angle), 0.0])
    z, u, found = solved(np.eye(3) / m, b, [mu])
    assert found.converged == 1
    slip = 0.0 if sticks else gh * (np.sin(angle) - mu * np.cos(angle))
    np.testing.assert_allclose(u[0], [0, slip, 0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(z[0], [m * gh * np.cos(angle), m * (slip - gh * np.sin(angle)), 0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("mu", [0.1, 0.9])
def test_spinning_ball(mu):
    """A ball, I = 2/5 m r²: the floor takes 2/7 of what its lowest point slides, or μ times the push; to 1e-13."""
    m, down, slip = 3.0, 2.0, np.array([1.2, -0.9])
    W = np.diag([1, 3.5, 3.5]) / m
    z, u, _ = solved(W, np.array([-down, *slip]), [mu])
    needed = -2 / 7 * m * slip
    size = np.linalg.norm(needed)
    expected = needed * min(1, mu * m * down / size)
    np.testing.assert_allclose(z[0], [m * down, *expected], rtol=1e-13)
    np.testing.assert_allclose(u[0], [0, *(slip + 3.5 / m * expected)], rtol=0, atol=1e-13)


def test_what_slides_does_not_lift():
    """The convex problem nearby would give u_n = μ |u_t|, half of a metre a second here."""
    _, u, _ = solved(np.eye(3), np.array([-0.1, 1.0, 0.0]), [0.5])
    np.testing.assert_allclose(u[0], [0, 0.95, 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("points", [4, 8, 16])
def test_block_rests_on_many_points(points):
    """W has rank 6 of up to 48: the load is shared in some way, the sum is the weight, nothing creeps; to 1e-11."""
    angles = 2 * np.pi * np.arange(points) / points
    corners = np.stack([0.5 * np.cos(angles), 0.5 * np.sin(angles), np.full(points, -0.5)], axis=1)
    J = np.zeros((3 * points, 6))
    for k, r in enumerate(corners):  # normal z, tangents x and y
        J[3 * k : 3 * k + 3] = np.array(
            [[0, 0, 1, r[1], -r[0], 0], [1, 0, 0, 0, r[2], -r[1]], [0, 1, 0, -r[2], 0, r[0]]]
        )
    W = J @ np.diag([1 / 2] * 3 + [6 / 2] * 3) @ J.T
    z, u, found = solved(W, J @ [0.01, 0, -0.0981, 0, 0, 0], [0.5] * points)
    assert found.converged == 1
    np.testing.assert_allclose(u, 0, rtol=0, atol=1e-11)
    np.testing.assert_allclose(z.sum(axis=0), [2 * 0.0981, -0.02, 0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("ratio", [1e-6, 1.0, 1e6])
def test_stack_of_points(ratio):
    """A column of six balls, 1 and `ratio` kg in turn: each contact carries what lies above, to 1e-7 of it.

    Impulses are worse than velocities by the condition of W, 1e6, so these are asked for to the last: what is left is
    the rounding of impulses of 1e3, in the units of the contacts.
    """
    masses = np.array([1.0, ratio] * 3)
    n = len(masses)
    difference = np.eye(n) - np.eye(n, k=-1)  # contact k is under ball k
    J = np.zeros((3 * n, 3 * n))
    for k in range(3):
        J[k::3, k::3] = difference
    W = J @ np.diag(np.repeat(1 / masses, 3)) @ J.T
    b = J @ np.tile([-0.1, 0.0, 0.0], n)
    z, _, found = solved(W, b, [0.5] * n, tolerance=1e-13)
    assert found.error < 1e-12
    np.testing.assert_allclose(z[:, 0], 0.1 * np.cumsum(masses[::-1])[::-1], rtol=1e-7)


def test_spinning_and_rolling_friction():
    """A puck pushed down by 1 N s: rows for spinning [rad/s] and rolling stop what they can, 0.01 and 0.02 N m s.

    With several coefficients impulses share one bound, the ellipse: here each row moves alone. To 1e-10, ten times what
    the solver stops at.
    """
    W = np.diag([1.0, 1, 1, 10, 10, 10])
    for row, coefficient in [(3, 0.01), (4, 0.02), (5, 0.02)]:
        for spin in (0.05, 1.0):
            b = np.zeros(6)
            b[0], b[row] = -1.0, spin
            found = coulomb(*lists(W, b), [[0.5, 0.5, 0.01, 0.02, 0.02]], [1.0])
            assert found.converged == 1
            np.testing.assert_allclose(found.z[row], -min(spin / 10, coefficient), rtol=1e-10)
            np.testing.assert_allclose(found.u[row], max(0, spin - 10 * coefficient), rtol=0, atol=1e-11)


def test_friction_that_depends_on_the_direction():
    """μ = 0.2 along one tangent, 0.8 along the other: the ellipse is obeyed, and no impulse in it takes more energy."""
    mu = np.array([0.2, 0.8])
    found = coulomb(*lists(np.eye(3), [-1.0, 3.0, 2.0]), [mu.tolist()], [1.0])
    z, u = np.array(found.z), np.array(found.u)
    assert np.linalg.norm(z[1:] / mu) == pytest.approx(z[0], rel=1e-14)
    angles = np.linspace(0, 2 * np.pi, 1000)
    others = z[0] * mu * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert (others @ u[1:] >= z[1:] @ u[1:] - 1e-14).all()
    assert found.residuals.dissipation < 1e-14


# ── options, and what a problem may lack ─────────────────────────────────────────────────────────


def test_absent_contacts_bear_nothing():
    """And the others bear what they do without them; rows of absent contacts may hold anything finite. To 1e-9."""
    W, b, mu, _, _ = faces(3, bodies=2, points=4)
    present = np.array([1.0, 0, 1, 1, 0, 0, 1, 1])
    z, u, _ = solved(W, b, mu.tolist(), present.tolist())
    kept = np.repeat(present > 0, 3)
    _, alone, _ = solved(W[np.ix_(kept, kept)], b[kept], mu[present > 0].tolist())
    assert (z[present == 0] == 0).all()
    np.testing.assert_allclose(u[present > 0], alone, rtol=0, atol=1e-9)
    nobody = coulomb(*lists(W, b), mu.tolist(), [0.0] * 8)
    assert (nobody.z, nobody.converged) == ([0.0] * 24, 1.0)


def test_nothing_to_do():
    assert coulomb([], [], [], []).converged == 1
    assert solved(np.eye(3), np.array([0.5, 3.0, 0.0]), [1.0])[0].tolist() == [[0, 0, 0]]  # parts
    assert solved(np.zeros((3, 3)), np.array([0.0, 0.0, 0.0]), [1.0])[2].error == 0


def test_what_cannot_be_is_told():
    """A point between two walls that both come nearer: no impulse helps, and none is infinite."""
    W = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag([1.0, 0, 0])) + np.diag([0, 1.0, 1, 0, 1, 1])
    _, _, found = solved(W, np.array([-1.0, 0, 0, -1.0, 0, 0]), [0.3, 0.3], steps=60)
    assert found.converged == 0
    assert found.residuals.penetration >= 1.0 - 1e-6
    assert np.isfinite(found.z).all()


def test_sweeps_alone_come_near():
    """One contact is exact; several come nearer with each sweep, and their cone is always obeyed."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        B = rng.normal(size=(3, 3))
        W, b, mu = B @ B.T + 0.01 * np.eye(3), rng.normal(size=3) - [1, 0, 0], rng.uniform(0, 2)
        z, u, found = solved(W, b, [mu], sweeps=2, steps=0)
        assert found.error < 1e-12
        assert_law(W, b, np.array([mu]), z, u, 1e-11)
    W, b, mu, _, _ = faces(1, bodies=1, points=4)
    coarse, fine = (solved(W, b, mu.tolist(), sweeps=k, steps=0)[2] for k in (2, 200))
    assert fine.error < 1e-2 * coarse.error
    assert coarse.residuals.cone <= 1e-14


def test_least_push():
    """A normal that bears 3 N s anyway: it parts, and friction may use all of that."""
    z, u, found = solved(np.eye(3), np.array([-1.0, 2.0, 0.0]), [0.5], least=[3.0])
    assert found.converged == 1
    np.testing.assert_allclose(z, [[3, -1.5, 0]], rtol=1e-14)
    np.testing.assert_allclose(u, [[2, 0.5, 0]], rtol=1e-14)
    np.testing.assert_allclose(
        solved(np.eye(3), np.array([-4.0, 0, 0]), [0.5], least=[3.0])[0], [[4, 0, 0]], atol=1e-13
    )


def test_residuals_name_what_is_wrong():
    """Each of the four, of impulses made to be wrong in one way."""

    def of(z, u):
        found = residuals(z, u, [0.5], [1.0])
        return [found.penetration, found.cone, found.complementarity, found.dissipation]

    assert of([1.0, -0.5, 0], [0.0, 2, 0]) == [0, 0, 0, 0]
    assert of([0.0, 0, 0], [-3.0, 0, 0]) == [3, 0, 0, 0]
    assert of([1.0, 0.75, 0], [0.0, 0, 0]) == [0, 0.5, 0, 0]
    assert of([-1.0, 0, 0], [0.0, 0, 0]) == [0, 1, 0, 0]
    assert of([2.0, 0, 0], [3.0, 0, 0]) == [0, 0, 6, 0]
    assert of([2.0, 0.5, 0], [0.0, 2, 0]) == [0, 0, 0, 3]


# ── symmetries ───────────────────────────────────────────────────────────────────────────────────


def test_turned_tangents_and_other_units():
    """Velocities turn with the tangents; masses times 8 give impulses times 8. To 1e-9 of the velocities."""
    W, b, mu, _, _ = faces(4, bodies=1, points=4)
    _, u, _ = solved(W, b, mu.tolist())
    cosine, sine = np.cos(0.7), np.sin(0.7)
    turn = np.kron(np.eye(4), [[1, 0, 0], [0, cosine, sine], [0, -sine, cosine]])
    _, turned, _ = solved(turn @ W @ turn.T, turn @ b, mu.tolist())
    np.testing.assert_allclose(turned.ravel(), turn @ u.ravel(), rtol=0, atol=1e-9)
    _, heavy, _ = solved(W / 8, b, mu.tolist())
    np.testing.assert_allclose(heavy, u, rtol=0, atol=1e-9)


# ── other scalars ────────────────────────────────────────────────────────────────────────────────


def batch(rows):
    scenes = [faces(seed, bodies=1, points=2, ratio=1e6) for seed in range(rows)]
    W, b, mu = (np.array([scene[k] for scene in scenes]) for k in range(3))
    present = np.random.default_rng(0).random((rows, 2)) < 0.9
    return {"W": W, "b": b, "mu": mu, "present": present.astype(float)}


def test_lanes_and_programs_give_what_floats_do():
    """Velocities to 1e-9: two routes to one solution stop at 1e-11 of it, in units that are up to 1e2 apart."""

    def text(W, b, mu, present):
        found = coulomb(W, b, mu, present)
        return {"u": found.u, "error": found.error}

    inputs = batch(16)
    expected = np.array([coulomb(*map(np.ndarray.tolist, row)).u for row in zip(*inputs.values(), strict=True)])
    W, b, mu, present = (np.moveaxis(x, 0, -1) for x in inputs.values())
    lanes = coulomb([list(row) for row in W], list(b), list(mu), list(present))
    np.testing.assert_allclose(np.stack(lanes.u, axis=1), expected, rtol=0, atol=1e-9)
    program = trace("coulomb", text, {"W": (6, 6), "b": (6,), "mu": (2,), "present": (2,)})
    for found in (interpret(program, inputs), run(by_llvm(program), inputs)):
        np.testing.assert_allclose(found["u"], expected, rtol=0, atol=1e-9)
        assert found["error"].max() <= 1e-11


def test_numbers_of_32_bits():
    """They reach 1e-5 of the velocities before, a hundred times their rounding."""

    def text(W, b, mu, present):
        found = coulomb(W, b, mu, present, tolerance=1e-5)
        return {"error": found.error, "iterations": found.iterations}

    program = trace("coulomb", text, {"W": (6, 6), "b": (6,), "mu": (2,), "present": (2,)})
    found = run(by_llvm(program, "float32"), batch(32))
    assert found["error"].max() <= 1e-5
    assert found["iterations"].max() < 100


@pytest.mark.parametrize("mu", [0.2, 2.0])
def test_derivatives_are_differences(mu):
    """Along a change of all, over 1e-6; what slides slides on, and what sticks sticks. To 1e-6."""
    W, b, _, _, _ = faces(2, bodies=1, points=1)
    b[0] = -abs(b[0]) - 1
    rng = np.random.default_rng(2)
    B = rng.normal(size=(3, 3))
    changes = [*(B + B.T).ravel(), *rng.normal(size=4)]

    def moved(step):
        change = iter(changes)
        return coulomb(*map_scalars(lambda x: x + step * next(change), [*lists(W, b), [mu]]), [1.0]).u

    expected = (np.array(moved(1e-6), dtype=float) - np.array(moved(-1e-6), dtype=float)) / 2e-6
    found = np.array(derivative(lambda e: moved(e[0]), [1.0]), dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * (1 + np.abs(expected).max()))
