"""Linear complementarity by walks and by sweeps: every choice of sides, degenerate cases, Murty's worst case, rays,
pyramids, Painlevé."""

from itertools import product

import numpy as np
import pytest

from qdot.compiler.interpret import interpret
from qdot.compiler.trace import trace
from qdot.contact.coulomb import coulomb
from qdot.contact.lcp import gauss_seidel, lemke
from qdot.contact.polyhedral import RELIABLE, polyhedral, polyhedral_forces
from qdot.programs import expressions  # noqa: F401  (makes traced expressions scalars)
from tests.backends.loading import by_llvm, run
from tests.contact.scenes import faces, lists


def every_side(A, q):
    """All z with one of each pair at zero and nothing below it, by NumPy; 1e-9 is rounding times a condition."""
    n = len(q)
    found = []
    for sides in product((False, True), repeat=n):
        free = np.array(sides)
        z = np.zeros(n)
        block = A[np.ix_(free, free)]
        if free.any():
            if np.linalg.matrix_rank(block) < free.sum():
                continue
            z[free] = np.linalg.solve(block, -q[free])
        if (z >= -1e-9).all() and (A @ z + q >= -1e-9).all():
            found.append(z)
    return found


def matrix(kind, n, rng):
    B = rng.normal(size=(n, n))
    if kind == "definite":
        return B @ B.T + 0.1 * np.eye(n)
    if kind == "not symmetric":
        return B @ B.T + 0.1 * np.eye(n) + 3 * (B - B.T)
    thin = B[:, : (n + 1) // 2]
    return thin @ thin.T


# ── Lemke ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["definite", "not symmetric"])
@pytest.mark.parametrize("n", [1, 2, 4, 6, 8])
def test_only_solution(n, kind):
    """A matrix that is definite in its symmetric part has one solution: the one among all sides, to 1e-9."""
    rng = np.random.default_rng([n, len(kind)])
    for _ in range(4):
        A, q = matrix(kind, n, rng), rng.normal(size=n)
        found = lemke(*lists(A, q))
        assert (found.converged, found.ray) == (1, 0)
        for expected in every_side(A, q):
            np.testing.assert_allclose(found.z, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))
        assert found.error < 1e-10


@pytest.mark.parametrize("n", [3, 6, 12])
def test_semidefinite(n):
    """q = A y of a rank-deficient A: many z, one w. To 1e-10."""
    rng = np.random.default_rng(n)
    for _ in range(6):
        A = matrix("semidefinite", n, rng)
        q = A @ rng.normal(size=n)
        found = lemke(*lists(A, q))
        assert found.converged == 1
        assert found.error < 1e-10
        sweeps = gauss_seidel(*lists(A, q), sweeps=20000, tolerance=1e-12)
        np.testing.assert_allclose(sweeps.w, found.w, rtol=0, atol=1e-6)  # Gauss–Seidel converges slowly
        for z in every_side(A, q) if n < 12 else ():
            np.testing.assert_allclose(found.w, A @ z + q, rtol=0, atol=1e-8)


def test_small_whole_numbers():
    """Ties everywhere, and matrices of any kind: a walk ends in a solution, or on a ray, as it must where none is."""
    rng = np.random.default_rng(5)
    ends = set()
    for _ in range(300):
        n = rng.integers(1, 6)
        A, q = rng.integers(-1, 3, (n, n)).astype(float), rng.integers(-2, 2, n).astype(float)
        found = lemke(*lists(A, q))
        ends.add((found.converged, found.ray))
        assert found.converged + found.ray == 1
        if found.converged:
            assert found.error < 1e-12
        if not every_side(A, q):
            assert found.ray == 1
    assert ends == {(1, 0), (0, 1)}


def test_ties_do_not_go_round():
    """All q equal and all rows alike: each step has as many ties as rows."""
    for n in (4, 10):
        A = np.ones((n, n)) + np.eye(n)
        found = lemke(*lists(A, -np.ones(n)))
        np.testing.assert_allclose(found.z, 1 / (n + 1), rtol=1e-14)
        assert found.iterations <= 2 * n


@pytest.mark.parametrize("n", [2, 5, 8])
def test_murty_takes_all_edges(n):
    """Murty's matrix (Mathematical Programming Study 7, 1978): 2ⁿ - 1 edges, and the right end of them."""
    A = np.eye(n) + 2 * np.tril(np.ones((n, n)), -1)
    found = lemke(*lists(A, -np.ones(n)), limit=2**n - 1)
    assert (found.iterations, found.converged, found.error) == (2**n - 1, 1, 0)
    np.testing.assert_array_equal(found.z, np.eye(n)[0])
    short = lemke(*lists(A, -np.ones(n)), limit=2**n - 2)
    assert (short.converged, short.ray) == (0, 0)


@pytest.mark.parametrize("n", [2, 5, 8, 40])
def test_murty_is_nothing_to_sweeps(n):
    """No row depends on later ones: the first sweep solves it, and the second finds nothing to do."""
    found = gauss_seidel((np.eye(n) + 2 * np.tril(np.ones((n, n)), -1)).tolist(), [-1.0] * n)
    assert (found.iterations, found.converged, found.error) == (2, 1, 0)
    np.testing.assert_array_equal(found.z, np.eye(n)[0])


def test_rays():
    """Two walls that a point cannot leave: w = (z₁ - z₂ - 1, z₂ - z₁ - 1)."""
    found = lemke([[1.0, -1], [-1, 1]], [-1.0, -1])
    assert (found.converged, found.ray) == (0, 1)
    assert lemke([[1.0]], [3.0]).iterations == 0
    assert lemke([[1.0]], [3.0]).z == [0.0]


def test_sweeps_agree_with_walks():
    rng = np.random.default_rng(2)
    for n in (1, 3, 9):
        A, q = matrix("definite", n, rng) + n * np.eye(n), rng.normal(size=n)
        walk, sweeps = lemke(*lists(A, q)), gauss_seidel(*lists(A, q), sweeps=500, tolerance=1e-14)
        assert sweeps.converged == 1
        np.testing.assert_allclose(sweeps.z, walk.z, rtol=0, atol=1e-12)
    assert gauss_seidel(*lists(A, q), sweeps=1).converged == 0


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_sweeps_find_the_only_solution(n):
    """Of all sides, to the tolerance of 1e-10 times a condition of 1e3; begun there, one sweep is enough."""
    rng = np.random.default_rng(n)
    for _ in range(4):
        A, q = matrix("definite", n, rng), rng.normal(size=n)
        found = gauss_seidel(*lists(A, q), sweeps=5000)
        assert found.converged == 1
        for expected in every_side(A, q):
            np.testing.assert_allclose(found.z, expected, rtol=0, atol=1e-7 * (1 + np.abs(expected).max()))
        assert gauss_seidel(*lists(A, q), sweeps=5000, start=found.z).iterations == 1


@pytest.mark.parametrize("n", [1, 2, 4, 6])
@pytest.mark.parametrize("bound", [0.0, 0.3, 100.0])
def test_rows_with_a_bound_in_common(n, bound):
    """All z ≥ 0 with Σ z ≤ bound, between a row before and one after: as Lemke and all sides find them, to 1e-7."""
    rng = np.random.default_rng([n, int(bound)])
    for _ in range(4):
        A, q = np.zeros((n + 3, n + 3)), np.append(rng.normal(size=n + 2), bound)
        A[:-1, :-1] = matrix("definite", n + 2, rng)
        A[1 : n + 1, -1], A[-1, 1 : n + 1] = 1, -1
        order = [0, *range(1, n + 1), n + 2, n + 1]  # the bound's row follows its own
        A, q = A[np.ix_(order, order)], q[order]
        found = gauss_seidel(*lists(A, q), sweeps=20000, shared=[range(1, n + 2)])
        assert found.converged == 1
        assert sum(found.z[1 : n + 1]) <= bound + 1e-12
        np.testing.assert_allclose(found.w, np.array(A) @ found.z + q, rtol=0, atol=1e-12)
        own = [k for k in range(n + 3) if k != n + 1]  # λ is not unique where the bound is zero
        for expected in [np.array(lemke(*lists(A, q)).z), *every_side(A, q)]:
            np.testing.assert_allclose(np.array(found.z)[own], expected[own], rtol=0, atol=1e-7)


def test_lanes_and_programs_give_what_floats_do():
    """To 1e-12; one lane is finished at once, one ends on a ray, the others walk on."""
    rng = np.random.default_rng(7)
    A = np.array([matrix("definite", 3, rng) for _ in range(12)])
    q = rng.normal(size=(12, 3))
    q[0] = 1.0
    A[1], q[1] = -np.eye(3), -1.0
    expected = [lemke(*lists(*row)) for row in zip(A, q, strict=True)]
    z, ray = np.array([x.z for x in expected]), np.array([x.ray for x in expected])
    assert ray.tolist() == [0, 1] + [0] * 10
    lanes = lemke([list(row) for row in np.moveaxis(A, 0, -1)], list(q.T))
    np.testing.assert_allclose(np.stack(lanes.z, axis=1), z, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(lanes.ray, ray)

    def text(A, q):
        found = lemke(A, q)
        return {"z": found.z, "ray": found.ray}

    program = trace("lemke", text, {"A": (3, 3), "q": (3,)})
    for found in (interpret(program, {"A": A, "q": q}), run(by_llvm(program), {"A": A, "q": q})):
        np.testing.assert_allclose(found["z"], z, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(found["ray"], ray)


# ── pyramids ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("ratio", "sweeps"), [(1.0, None), (1e6, None), (1.0, 5000)])
@pytest.mark.parametrize("directions", [4, 8])
def test_pyramids_of_faces(directions, ratio, sweeps):
    """Always solved; nothing approaches, the cone is obeyed, in which the pyramid lies, no energy is given, and of all
    that the pyramid has friction takes the most. To 1e-9."""
    angles = 2 * np.pi * np.arange(directions) / directions
    fan = np.array([np.cos(angles), np.sin(angles)])
    for seed in range(1, 4):
        W, b, mu, _, _ = faces(seed, bodies=2, points=3, ratio=ratio)
        found = polyhedral(*lists(W, b, mu), [1.0] * 6, directions, sweeps=sweeps)
        z, u = np.array(found.z), np.array(found.u)
        assert found.converged == 1
        assert found.error < RELIABLE
        taken = -(z * u).reshape(-1, 3)[:, 1:].sum(axis=1)
        most = mu * z[::3] * (u.reshape(-1, 3)[:, 1:] @ fan).max(axis=1)
        np.testing.assert_allclose(taken, most, rtol=0, atol=1e-9 * np.abs(z).max() * np.abs(b).max())
        assert found.residuals.penetration <= 1e-9 * np.abs(b).max()
        assert found.residuals.cone <= 1e-12 * np.abs(z).max()
        assert z @ (b + u) <= 1e-9 * np.abs(z).max() * np.abs(b).max()


@pytest.mark.parametrize("directions", [4, 6, 8, 32])
def test_sweeps_go_on_from_impulses(directions):
    """Impulses tell the pushes along directions, whatever friction's own: begun at a solution, one sweep is enough."""
    for angle in np.linspace(0, 6, 7):
        b = [-1.0, 4 * np.cos(angle), 4 * np.sin(angle)]
        for mu in (0.5, 10.0):  # slides, sticks
            given = (np.eye(3) / 2).tolist(), b, [mu], [1.0], directions
            z = polyhedral(*given).z
            again = polyhedral(*given, sweeps=100, start=z)
            assert (again.iterations, again.converged) == (1, 1)
            np.testing.assert_allclose(again.z, z, rtol=0, atol=1e-9)
    few = polyhedral(*lists(*faces(2, bodies=2, points=3)[:3]), [1.0] * 6, sweeps=3)
    assert few.converged == 0


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 4])
def test_pyramid_error(angle):
    """A block that slides at an angle to the directions: exact along one, too weak by 1 - cos(π/n) at most between."""
    m, mu = 2.0, 0.5
    b = np.array([-1.0, 4 * np.cos(angle), 4 * np.sin(angle)])
    exact = np.array(coulomb(*lists(np.eye(3) / m, b), [mu], [1.0]).z)
    previous = np.inf
    for directions in (4, 8, 32):
        found = polyhedral(*lists(np.eye(3) / m, b), [mu], [1.0], directions)
        z, u = np.array(found.z), np.array(found.u)
        missing = found.residuals.dissipation / (mu * z[0] * np.linalg.norm(u[1:]))
        assert missing <= 1 - np.cos(np.pi / directions) + 1e-12
        error = np.abs(z - exact).max()
        assert error <= previous + 1e-13
        previous = error
        if angle == 0:
            np.testing.assert_allclose(z, exact, rtol=0, atol=1e-13)


def test_pyramids_without_friction_and_with_spin():
    """Contacts of one and of four rows side by side; each alone is a closed form."""
    W = np.diag([1.0, 1, 1, 1, 10])
    found = polyhedral(*lists(W, [-2.0, -1.0, 0, 0, 3.0]), [(), [0.5, 0.5, 0.01]], [1.0, 1.0])
    np.testing.assert_allclose(found.z, [2, 1, 0, 0, -0.01], rtol=0, atol=1e-13)
    gone = polyhedral(*lists(W, [-2.0, -1.0, 0, 0, 3.0]), [(), [0.5, 0.5, 0.01]], [0.0, 1.0])
    np.testing.assert_allclose(gone.z, [0, 1, 0, 0, -0.01], rtol=0, atol=1e-13)
    swept = polyhedral(*lists(W, [-2.0, -1.0, 0, 0, 3.0]), [(), [0.5, 0.5, 0.01]], [1.0, 1.0], sweeps=100)
    np.testing.assert_allclose(swept.z, [2, 1, 0, 0, -0.01], rtol=0, atol=1e-9)


def test_pyramids_on_lanes_and_in_programs():
    """Velocities and accelerations, what slides beside what rests; to 1e-10 of what floats give."""
    scenes = [faces(seed, bodies=1, points=1) for seed in range(8)]
    inputs = {name: np.array([scene[k] for scene in scenes]) for k, name in enumerate(("W", "b", "mu"))}
    inputs["velocities"] = np.random.default_rng(0).normal(size=(8, 3)) * np.tile([0, 1], 4)[:, None]

    def text(W, b, mu, velocities):
        forces = polyhedral_forces(W, b, mu, [1.0], velocities)
        swept = polyhedral(W, b, mu, [1.0], sweeps=500, start=[1.0, 0.1, 0.2])
        return {"u": polyhedral(W, b, mu, [1.0]).u, "f": forces.f, "swept": swept.u, "sweeps": [swept.iterations]}

    rows = [text(*lists(*row)) for row in zip(*inputs.values(), strict=True)]
    W, b, mu, velocities = (np.moveaxis(x, 0, -1) for x in inputs.values())
    lanes = text([list(row) for row in W], list(b), list(mu), list(velocities))
    program = trace("pyramids", text, {name: x.shape[1:] for name, x in inputs.items()})
    compiled = run(by_llvm(program), inputs)
    for name in ("u", "f", "swept", "sweeps"):
        expected = np.array([row[name] for row in rows])
        np.testing.assert_allclose(np.stack(lanes[name], axis=1), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(compiled[name], expected, rtol=0, atol=1e-10)


# ── accelerations ────────────────────────────────────────────────────────────────────────────────


def test_block_slides_and_rests():
    """Forces of a block of 2 kg: against its slip, whatever pulls it; at rest against the pull as far as μ allows."""
    m, mu, g = 2.0, 0.5, 9.81
    for velocity, pull, friction in [
        ([0.0, 3, 4], [0.0, 0], [-0.6 * mu * m * g, -0.8 * mu * m * g]),
        ([0.0, 0, 0], [3.0, 0], [-3.0, 0]),
        ([0.0, 0, 0], [30.0, 0], [-mu * m * g, 0]),
        ([0.0, 1, 0], [30.0, 0], [-mu * m * g, 0]),
    ]:
        b = np.array([-g, pull[0] / m, pull[1] / m])
        for sweeps, error in ((None, 1e-12), (100, 1e-8)):
            found = polyhedral_forces(*lists(np.eye(3) / m, b), [mu], [1.0], velocity, sweeps=sweeps)
            assert (found.converged, found.paradox) == (1, 0)
            np.testing.assert_allclose(found.f, [m * g, *friction], rtol=0, atol=error)


def rod(angle):
    """W of the tip of a rod, 1 kg and half-length 1 m, that leans so much from the floor: normal and tangents."""
    x, y = -np.cos(angle), -np.sin(angle)  # from the centre to the tip
    return np.array([[1 + 3 * x * x, -3 * x * y, 0], [-3 * x * y, 1 + 3 * y * y, 0], [0, 0, 1]])


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_painleve(direction):
    """A steep rod, μ = 2: sliding one way no forces keep its tip from approaching, and two let it part.

    The other way is harmless, and so is the velocity level both ways.
    """
    mu, W = 2.0, rod(1.1)
    slip = [0.0, direction, 0.0]
    answer = W[0, 0] - mu * direction * W[0, 1]  # of the normal to a push with friction against the slip
    approaching = polyhedral_forces(*lists(W, [-9.81, 0, 0]), [mu], [1.0], slip)
    parting = polyhedral_forces(*lists(W, [2.0, 0, 0]), [mu], [1.0], slip)
    assert approaching.paradox == parting.paradox == (answer < 0)
    assert approaching.ray == (answer < 0)
    assert approaching.converged == (answer >= 0)
    assert (parting.converged, parting.f) == (1, [0.0] * 3)  # one of two
    assert np.isfinite(approaching.f).all()
    swept = polyhedral_forces(*lists(W, [-9.81, 0, 0]), [mu], [1.0], slip, sweeps=1000)
    assert swept.converged == approaching.converged
    if swept.converged:
        np.testing.assert_allclose(swept.f, approaching.f, rtol=1e-8)
    for b in ([-0.1, direction, 0.0], [-1.0, 0.2 * direction, 0.3]):
        for found in (coulomb(*lists(W, b), [mu], [1.0]), polyhedral(*lists(W, b), [mu], [1.0])):
            assert found.converged == 1
            assert found.residuals.penetration < 1e-11


def test_one_way_of_sliding_is_a_paradox():
    """So the test above sees both."""
    W = rod(1.1)
    assert {bool(W[0, 0] - 2.0 * s * W[0, 1] < 0) for s in (1, -1)} == {True, False}
