"""Laws of bushings on random trees: springs give back what they hold, dampers take, action is reaction.

The forces are a formula with the Jacobian of the logarithm; the tests differentiate the energy and the pose by dual
numbers, which know nothing of it. Tolerances are those of rounding in some hundred operations on numbers of the size
of the largest entry (`close`): 1e-11, unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

import qdot
from qdot.algebra import Mat3, Quaternion, Vec3, derivative
from qdot.algebra.lie import exp_so3
from qdot.algorithms import energy as energies, lagrangian
from qdot.algorithms.configuration import retract
from qdot.algorithms.kinematics import frame_pose
from qdot.algorithms.passive import passive_forces, spring_energy
from qdot.description import BushingRecord
from qdot.errors import QdotError
from qdot.joints import Free, Prismatic, Revolute
from qdot.model.library import random_pose, random_state, random_tree
from qdot.spatial import Transform
from tests.laws.trees import close
from tests.model.samples import SOLID, THING

SEEDS = range(24)


def held(seed: int) -> qdot.Model:
    """A tree without springs of its own, and bushings: to the world, across it, and one alike for all axes."""
    rng = np.random.default_rng(seed)
    model = random_tree(seed, 2 + seed % 4, branching=(seed % 3) / 2, passive=False)
    rows = [tuple(row) for row in rng.uniform(0.2, 9.0, (8, 3))]
    last = f"site{len(model.bodies) - 1}"
    bushings = (
        BushingRecord("mount", "world", last, *rows[:4], random_pose(rng)),
        BushingRecord("across", "site0", last, *rows[4:], random_pose(rng)),
        BushingRecord("round", last, "body0", (2.0,) * 3, (7.0,) * 3),
    )
    return qdot.assemble(replace(model.description, bushings=bushings))


def state(model: qdot.Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    q, v, _ = random_state(model, seed)
    return q, v


@pytest.mark.parametrize("seed", SEEDS)
def test_springs_are_the_gradient_of_their_energy(seed: int) -> None:
    model = held(seed)
    q, v = state(model, seed)
    slope = qdot.derivative(qdot.potential_energy, "q")(model, q) - qdot.gravity_forces(model, q)
    close(qdot.passive_terms(model, q, v)["springs"], -slope, 1e-10)  # near half a turn the logarithm is steep


@pytest.mark.parametrize("seed", SEEDS)
def test_dampers_take_what_they_resist(seed: int) -> None:
    """Their power is -Σ d ω² - Σ d ṗ², with ω and ṗ by differentiating the pose of frame 2 seen from its rest."""
    model = held(seed)
    q, v = state(model, seed)
    taken = 0.0
    for record in model.bushings:

        def apart(dv: list, record: BushingRecord = record) -> tuple[Mat3, Vec3]:
            moved = retract(model, q, dv)
            rest = frame_pose(model, moved, record.frame1) @ record.rest
            X = rest.inv() @ frame_pose(model, moved, record.frame2)
            return X.rotation, X.position

        R, _ = apart([0.0] * model.nv)
        R_dot, p_dot = derivative(apart, v)
        W = R_dot @ R.T  # ω̃
        for d, x in zip(
            (*record.rotational_damping, *record.translational_damping),
            (W.r2.y, W.r0.z, W.r1.x, *p_dot),
            strict=True,
        ):
            taken += d * x * x
    power = np.dot(qdot.passive_terms(model, q, v)["dampers"], v)
    assert power == pytest.approx(-taken, rel=1e-10, abs=1e-12)
    assert power <= 0


@pytest.mark.parametrize("seed", SEEDS)
def test_within_a_floating_mechanism_they_move_nothing_as_a_whole(seed: int) -> None:
    """Action is reaction: on the free joint that carries all of it, bushings between its bodies do nothing."""
    tree = random_tree(seed, 3, ["revolute", "spherical", "prismatic"], branching=0.0).description
    first, *others = tree.bodies
    free = replace(first, joint=Free(), passive=type(first.passive)())
    records = (
        BushingRecord("a", "site0", "site2", (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
        BushingRecord("b", "body2", "site1", (3.0, 1.0, 2.0), (1.0, 5.0, 0.0), (0.0, 2.0, 3.0), (4.0, 0.0, 6.0)),
    )
    model = qdot.assemble(replace(tree, bodies=(free, *others), bushings=records))
    q, v = state(model, seed)
    terms = qdot.passive_terms(model, q, v)
    for name in ("springs", "dampers"):
        size = np.abs(terms[name]).max()
        np.testing.assert_allclose(terms[name][:6], 0, atol=1e-12 * (1 + size))
        assert size > 1e-3 or model.nv == 6  # otherwise there is nothing to see


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_all_routes_have_them(seed: int) -> None:
    """The Lagrangian differentiates the energy; the articulated bodies take the forces."""
    model = held(seed)
    q, v = state(model, seed)
    tau = np.linspace(-1, 1, model.nv)
    expected = lagrangian.forward_dynamics(model, list(q), list(v), list(tau))
    close(qdot.forward_dynamics(model, q, v, tau), expected, 1e-8)  # M amplifies by its condition


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_energy_falls_by_what_dampers_take(seed: int) -> None:
    model = held(seed)
    q, v = state(model, seed)
    a = qdot.forward_dynamics(model, q, v, np.zeros(model.nv))

    def energy(step: list) -> float:
        moved = retract(model, q, [x * step[0] for x in v])
        return energies.energy(model, moved, [x + y * step[0] for x, y in zip(v, a, strict=True)])

    power = np.dot(qdot.passive_terms(model, q, v)["dampers"], v)
    assert derivative(energy, [1.0]) == pytest.approx(power, rel=1e-8, abs=1e-8)


def test_a_batch_and_compiled_code_are_the_text() -> None:
    model = held(7)
    rng = np.random.default_rng(0)
    q = qdot.retract(model, model.neutral(), rng.normal(size=(9, model.nv)))
    v = rng.normal(size=(9, model.nv))
    expected = [qdot.passive_forces(model, q[k], v[k]) for k in range(9)]
    for target in ("interpreter", "llvm"):
        close(qdot.compile(qdot.passive_forces, model, target=target)(q, v), expected, 1e-11)


# ── closed forms ─────────────────────────────────────────────────────────────────────────────────


def floating(**options: object) -> qdot.Model:
    world = qdot.Mechanism("rig", gravity=(0, 0, 0))
    world.add("link", Free(), SOLID)
    world.bushing("mount", "world", "link", **options)
    return qdot.assemble(world)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.5, 2.0, 3.14])
def test_one_stiffness_for_all_axes_turns_straight_back(angle: float) -> None:
    """J(φ)⁻ᵀ φ = φ: the moment is -k φ, in axes of the body as in those of the rest."""
    phi = Vec3(0.6, 0.0, -0.8) * angle
    q = [*exp_so3(phi), 0.3, -0.2, 0.1]
    model = floating(rotational=2.0, translational=(5.0, 6.0, 7.0))
    R = Quaternion(*q[:4]).rotation()
    force = R.T @ Vec3(-5.0 * 0.3, 6.0 * 0.2, -7.0 * 0.1)
    expected = [*(phi * -2.0), *force]
    np.testing.assert_allclose(qdot.passive_forces(model, q, np.zeros(6)), expected, rtol=0, atol=1e-12)
    held = angle**2 + (5 * 0.09 + 6 * 0.04 + 7 * 0.01) / 2
    assert qdot.potential_energy(model, q) == pytest.approx(held, abs=1e-12)


def test_at_rest_nothing_pulls() -> None:
    rest = Transform.rpy(0.3, -0.2, 0.5, (0.2, 0.02, 0.03))
    model = floating(rotational=2.0, translational=5.0, rest=rest)
    q = [*rest.quaternion(), *rest.position]
    np.testing.assert_allclose(qdot.passive_forces(model, q, np.zeros(6)), 0, atol=1e-15)
    assert qdot.potential_energy(model, q) == pytest.approx(0, abs=1e-30)


def test_half_a_turn_is_a_number() -> None:
    """There the shorter way round is not told; one of the two is taken."""
    model = floating(rotational=(1.0, 2.0, 3.0))
    forces = qdot.passive_forces(model, [0.0, 0.6, 0.8, 0.0, 0.0, 0.0, 0.0], np.zeros(6))
    assert np.isfinite(forces).all()
    assert np.linalg.norm(forces) > 1


def test_over_symbols_it_is_a_spring_and_a_damper() -> None:
    k, d, x, u = sympy.symbols("k d x u", positive=True)
    world = qdot.Mechanism("slide", gravity=(0, 0, 0))
    world.add("cart", Prismatic("x"), SOLID)
    world.bushing("buffer", "world", "cart", translational=(k, 0, 0), translational_damping=(d, 0, 0))
    model = qdot.assemble(world)
    assert sympy.simplify(passive_forces(model, [x], [u])[0] + k * x + d * u) == 0
    assert sympy.simplify(spring_energy(model, [x]) - k * x**2 / 2) == 0


def test_a_torsion_spring_between_two_turns() -> None:
    """Two pendulums about one axis, of angles α and α + β: the second turns against the first by β."""
    world = qdot.Mechanism("pair", gravity=(0, 0, 0))
    first = world.add("first", Revolute("y"), SOLID)
    second = first.add("second", Revolute("y"), SOLID)
    world.bushing("torsion", first, second, rotational=(0, 3.0, 0), rotational_damping=(0, 0.5, 0))
    model = qdot.assemble(world)
    np.testing.assert_allclose(
        qdot.passive_forces(model, [0.4, 0.7], [2.0, -1.5]), [0.0, -3.0 * 0.7 + 0.5 * 1.5], rtol=0, atol=1e-14
    )


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────

BAD = {
    "unknown frame": {"frame2": "lnk"},
    "negative stiffness": {"rotational": (1.0, -1.0, 0.0)},
    "negative damping": {"translational_damping": (-1e-9, 0.0, 0.0)},
    "two numbers": {"translational": (1.0, 2.0)},
    "no number": {"rotational_damping": (float("nan"), 0.0, 0.0)},
    "no pose": {"rest": THING},
    "a mirror": {"rest": Transform(Mat3(Vec3(-1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)), Vec3(0, 0, 0))},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_bushings_that_cannot_be(change: dict[str, object]) -> None:
    description = floating().description
    bad = replace(description.bushings[0], **change)
    with pytest.raises(QdotError, match=r"'rig'.*bushing 'mount'"):
        qdot.assemble(replace(description, bushings=(bad,)))


def test_two_of_one_name() -> None:
    description = floating().description
    with pytest.raises(QdotError, match="two bushings are named 'mount'"):
        qdot.assemble(replace(description, bushings=description.bushings * 2))
