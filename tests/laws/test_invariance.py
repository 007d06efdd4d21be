"""What must not depend on how a mechanism is written down: the order of bodies, the choice of frames, the root."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qdot
from qdot.joints import Compound, Fixed, Free, Revolute
from qdot.model.library import random_inertia, random_pose, random_state, random_tree
from tests.laws.trees import case, close

TOLERANCE = 1e-10  # as in test_dynamics


def by_joint(model: qdot.Model, names: list[str]) -> tuple[list[int], list[int]]:
    """Where the coordinates and freedoms of these joints stand in the model's q and v."""
    bodies = [model.joint(name) for name in names]
    qs = [i for b in bodies for i in range(b.qs.start, b.qs.stop)]
    return qs, [i for b in bodies for i in range(b.dofs.start, b.dofs.stop)]


@pytest.mark.parametrize("seed", range(60))
def test_order_of_bodies_does_not_matter(seed: int) -> None:
    c = case(seed)
    records = list(c.model.description.bodies)
    np.random.default_rng(seed).shuffle(records)
    other = qdot.assemble(replace(c.model.description, bodies=tuple(records)))
    qs, dofs = by_joint(other, [body.joint_name for body in c.model.bodies])
    q, v, a = np.empty(other.nq), np.empty(other.nv), np.empty(other.nv)
    q[qs], v[dofs], a[dofs] = c.q, c.v, c.a
    tau = qdot.inverse_dynamics(other, q, v, a)
    close(tau[dofs], qdot.inverse_dynamics(c.model, c.q, c.v, c.a), TOLERANCE)
    close(qdot.forward_dynamics(other, q, v, tau)[dofs], c.a, TOLERANCE)
    close(qdot.mass_matrix(other, q)[np.ix_(dofs, dofs)], qdot.mass_matrix(c.model, c.q), TOLERANCE)
    close(qdot.coriolis_matrix(other, q, v)[np.ix_(dofs, dofs)], qdot.coriolis_matrix(c.model, c.q, c.v), TOLERANCE)
    close(qdot.energy(other, q, v), qdot.energy(c.model, c.q, c.v), TOLERANCE)


@pytest.mark.parametrize("seed", range(60))
def test_choice_of_body_frames_does_not_matter(seed: int) -> None:
    """Each body gets another frame B' at pose Y on it: joints end in B', inertias, frames and children move along."""
    c = case(seed)
    rng = np.random.default_rng(seed)
    Y = {body.name: random_pose(rng) for body in c.model.bodies}
    old = c.model.description
    bodies = tuple(
        replace(
            b,
            joint=Compound(b.joint, Fixed(Y[b.name])),
            placement=Y[b.parent].inv() @ b.placement if b.parent in Y else b.placement,
            inertia=Y[b.name].inv() @ b.inertia,
        )
        for b in old.bodies
    )
    frames = tuple(replace(f, placement=Y[f.body].inv() @ f.placement) for f in old.frames)
    other = qdot.assemble(replace(old, bodies=bodies, frames=frames))
    tau = qdot.inverse_dynamics(c.model, c.q, c.v, c.a)
    close(qdot.inverse_dynamics(other, c.q, c.v, c.a), tau, TOLERANCE)
    close(qdot.forward_dynamics(other, c.q, c.v, tau), c.a, TOLERANCE)
    close(qdot.mass_matrix(other, c.q), qdot.mass_matrix(c.model, c.q), TOLERANCE)  # K13
    close(qdot.coriolis_matrix(other, c.q, c.v), qdot.coriolis_matrix(c.model, c.q, c.v), TOLERANCE)
    for frame in (f.name for f in frames):
        close(qdot.jacobian(other, c.q, frame), qdot.jacobian(c.model, c.q, frame), TOLERANCE)


@pytest.mark.parametrize("seed", range(30))
def test_choice_of_root_does_not_matter(seed: int) -> None:
    """Two floating bodies and a hinge, written from either body: the same forces make the same accelerations."""
    rng = np.random.default_rng(seed)
    axis, P = rng.normal(size=3), random_pose(rng)
    I_A, I_B = random_inertia(rng), random_inertia(rng)
    gravity = rng.normal(size=3)

    first = qdot.Mechanism("from_a", gravity=gravity)
    first.add("A", Free(), I_A, joint_name="base").add("B", Revolute(axis), I_B, at=P, joint_name="hinge")
    second = qdot.Mechanism("from_b", gravity=gravity)
    reversed_hinge = Compound(Revolute(-axis), Fixed(P.inv().transform()))
    second.add("B", Free(), I_B, joint_name="base").add("A", reversed_hinge, I_A, joint_name="hinge")
    from_a, from_b = qdot.assemble(first), qdot.assemble(second)

    q, v, _ = random_state(from_a, seed)
    motion = qdot.kinematics(from_a, q, v)
    X, V = motion.pose("B"), motion.velocity("B", qdot.Coordinates.BODY)
    q_b = np.array([*X.quaternion(), *X.position, q[7]])
    v_b = np.array([*V, v[6]])
    close(qdot.energy(from_b, q_b, v_b), qdot.energy(from_a, q, v), TOLERANCE)
    close(list(qdot.momentum(from_b, q_b, v_b)), list(qdot.momentum(from_a, q, v)), TOLERANCE)

    wrenches = {"A": rng.normal(size=6), "B": rng.normal(size=6)}
    tau = np.array([0, 0, 0, 0, 0, 0, rng.normal()])
    a = qdot.forward_dynamics(from_a, q, v, tau, wrenches=wrenches)
    b = qdot.forward_dynamics(from_b, q_b, v_b, tau, wrenches=wrenches)
    close(b[6], a[6], TOLERANCE)
    for body in "AB":
        close(
            list(qdot.kinematics(from_b, q_b, v_b, b).acceleration(body)),
            list(qdot.kinematics(from_a, q, v, a).acceleration(body)),
            TOLERANCE,
        )


@pytest.mark.parametrize("seed", range(20))
def test_turning_the_world_does_not_matter(seed: int) -> None:
    """The whole mechanism and gravity turned and moved: joint space sees no difference."""
    c = case(seed)
    X = random_pose(np.random.default_rng(seed))
    old = c.model.description
    bodies = tuple(replace(b, placement=X @ b.placement) if b.parent == "world" else b for b in old.bodies)
    turned = qdot.assemble(replace(old, bodies=bodies, gravity=X.rotation @ old.gravity))
    close(qdot.inverse_dynamics(turned, c.q, c.v, c.a), qdot.inverse_dynamics(c.model, c.q, c.v, c.a), TOLERANCE)


def test_random_trees_are_reproducible() -> None:
    assert random_tree(3, 6) == random_tree(3, 6)
    assert random_tree(3, 6) != random_tree(4, 6)
