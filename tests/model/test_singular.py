"""Forward dynamics where something moves without inertia: refused by name, alone and in a batch, never guessed."""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot.errors import SingularError
from qdot.joints import Free, Joint, Prismatic, Revolute, Spherical
from qdot.model import edit
from qdot.model.library import n_pendulum
from qdot.spatial import Inertia

AXIS = (1, 2, 3)
POINT = Inertia.point(1.0, (0.3, 0.5, 0.7))
NOTHING = Inertia.zero()


def chain(*links: tuple[Joint, Inertia], at: tuple[float, ...] = (0.1, 0.2, 0.3), **options: object) -> qdot.Model:
    """Bodies b0, b1, …, each at `at` on the one before."""
    world = qdot.Mechanism("rig")
    part = world.world
    for k, (joint, inertia) in enumerate(links):
        part = part.add(f"b{k}", joint, inertia, at=at if k else None, **options)
    return qdot.assemble(world)


SINGULAR = {
    "massless body alone": (chain((Revolute("y"), NOTHING)), "b0"),
    "massless leaf": (chain((Revolute("y"), POINT), (Revolute("y"), NOTHING)), "b1"),
    "massless leaf on a slide": (chain((Prismatic("y"), POINT), (Prismatic("x"), NOTHING)), "b1"),
    "two massless in a row": (
        chain((Revolute("y"), POINT), (Revolute("y"), NOTHING), (Revolute("x"), NOTHING)),
        "b1|b2",
    ),
    "massless ball": (chain((Spherical(), NOTHING)), "b0"),
    "point mass at the centre of a ball joint": (chain((Spherical(), Inertia.point(1))), "b0"),
    "point mass off the centre of a ball joint": (chain((Spherical(), POINT)), "b0"),
    "point mass on the axis": (chain((Revolute("z"), Inertia.point(1, (0, 0, 1)))), "b0"),
    "point mass on a slanted axis": (chain((Revolute(AXIS), Inertia.point(1, (0.1, 0.2, 0.3)))), "b0"),
    "free point mass": (chain((Free(), Inertia.point(1))), "b0"),
    "free point mass off its frame": (chain((Free(), POINT)), "b0"),
    "two turns about one axis": (chain((Revolute(AXIS), NOTHING), (Revolute(AXIS), POINT)), "b0|b1"),
    "two slides along one line": (chain((Prismatic(AXIS), NOTHING), (Prismatic(AXIS), POINT)), "b0|b1"),
}


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_what_moves_no_mass_is_named(name: str, seed: int | None) -> None:
    """At rest, and in any other state: it is the mechanism that is wrong, not the state."""
    model, joints = SINGULAR[name]
    rng = np.random.default_rng(seed or 0)
    q, v, tau = model.neutral(), np.zeros(model.nv), np.zeros(model.nv)
    if seed is not None:
        v, tau = rng.normal(size=(2, model.nv))
        q = qdot.retract(model, q, rng.normal(size=model.nv))
    words = rf"'rig'.*singular.*'({joints})(\[\d\])?'.*(inertia|armature|lock)"
    with pytest.raises(SingularError, match=words):
        qdot.forward_dynamics(model, q, v, tau)
    with pytest.raises(SingularError, match=words):
        qdot.forward_dynamics(model, np.stack([q, q]), v, np.stack([tau, tau]))
    with pytest.raises(SingularError, match=words):
        qdot.forward_dynamics(model, q, v, np.stack([tau, tau]))


def test_singular_in_one_row_of_a_batch() -> None:
    """Two parallel hinges that meet a point mass in line with them … only at q₂ = 0."""
    model = chain((Revolute("y"), NOTHING), (Revolute("y"), Inertia.point(1, (0, 0, -1))), at=(0, 0, -1))
    Q = np.array([[0.3, 1.0], [0.3, 0.0], [0.3, -1.0]])
    zero = np.zeros(2)
    a = qdot.forward_dynamics(model, Q[[0, 2]], zero, zero)
    assert np.isfinite(a).all()
    with pytest.raises(SingularError):
        qdot.forward_dynamics(model, Q[1], zero, zero)
    with pytest.raises(SingularError):
        qdot.forward_dynamics(model, Q, zero, zero)


def test_singular_in_symbols() -> None:
    model, _ = SINGULAR["massless leaf"]
    with pytest.raises(SingularError, match="'b1'"):
        qdot.forward_dynamics(model, *qdot.symbols(model))


@pytest.mark.parametrize("name", SINGULAR)
def test_a_batch_of_no_rows(name: str) -> None:
    """No row is singular, so no error is due; or it is the mechanism that is refused. Not an array of another shape."""
    model, _ = SINGULAR[name]
    try:
        a = qdot.forward_dynamics(model, np.zeros((0, model.nq)), np.zeros(model.nv), np.zeros(model.nv))
    except SingularError:
        return
    assert a.shape == (0, model.nv)


@pytest.mark.parametrize("name", SINGULAR)
def test_the_remedies_work(name: str) -> None:
    """What the message offers: an inertia, an armature, a lock."""
    model, _ = SINGULAR[name]
    links = [(body.joint, body.inertia) for body in model.bodies]
    tau = np.linspace(1, 2, model.nv)
    zero = np.zeros(model.nv)
    solid = chain(*((j, I + Inertia.about_com(1, (0, 0, 0), (0.1, 0.1, 0.1))) for j, I in links))
    driven = chain(*links, armature=0.5)
    for cured in (solid, driven):
        a = qdot.forward_dynamics(cured, cured.neutral(), zero, tau)
        np.testing.assert_allclose(qdot.inverse_dynamics(cured, cured.neutral(), zero, a), tau, atol=1e-9)
    locked = model
    for body in model.bodies:
        locked = edit.lock(locked, body.joint_name)
    assert qdot.forward_dynamics(locked, [], [], []).shape == (0,)


def test_other_functions_do_not_mind() -> None:
    """Only forward dynamics divides by M."""
    for model, _ in SINGULAR.values():
        q, zero = model.neutral(), np.zeros(model.nv)
        assert qdot.mass_matrix(model, q).shape == (model.nv, model.nv)
        assert np.isfinite(qdot.inverse_dynamics(model, q, zero, zero + 1)).all()
        assert np.isfinite(qdot.kinetic_energy(model, q, zero + 1))


@pytest.mark.parametrize("ratio", [1e-9, 1e-6, 1e6, 1e9])
def test_light_and_heavy_bodies_are_not_singular(ratio: float) -> None:
    """Masses that differ much are hard, not impossible: a pendulum of a crane's hook and a feather."""
    model = chain((Revolute("y"), Inertia.point(1, (0, 0, -1))), (Revolute("y"), Inertia.point(ratio, (0, 0, -1))))
    a = qdot.forward_dynamics(model, [0.3, 0.4], [0, 0], [0, 0])
    assert np.isfinite(a).all()
    scaled = chain(
        (Revolute("y"), Inertia.point(1e-12, (0, 0, -1))), (Revolute("y"), Inertia.point(1e-12 * ratio, (0, 0, -1)))
    )
    np.testing.assert_allclose(qdot.forward_dynamics(scaled, [0.3, 0.4], [0, 0], [0, 0]), a, rtol=1e-6)


def test_strong_torques_are_not_singular() -> None:
    model = n_pendulum(2)
    a = qdot.forward_dynamics(model, [0.1, 0.2], [0, 0], [1e14, 0])
    assert np.isfinite(a).all()
    with pytest.raises(SingularError):  # an error can be told from a result
        qdot.forward_dynamics(SINGULAR["massless leaf"][0], [0, 0], [0, 0], [1e14, 0])
