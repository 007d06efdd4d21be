"""A body on a joint by S and by T (F13 = F14), for every joint kind.

Tolerance 1e-11: 6 × 6 systems, some of them ill-conditioned.
"""

from __future__ import annotations

import numpy as np
import pytest

import qdot
from qdot.algorithms.subspaces import by_forces, by_motions
from qdot.joints import Joint
from qdot.model.library import KINDS, random_state
from qdot.model.library.random_trees import random_inertia
from qdot.spatial import Basis, Force, Inertia, Motion
from tests.laws.trees import close

TOLERANCE = 1e-11


def single(kind: str, seed: int) -> tuple[qdot.Model, Joint, Inertia, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    world = qdot.Mechanism("single", gravity=(0, 0, 0))
    joint, inertia = KINDS[kind](rng), random_inertia(rng)
    world.add("body", joint, inertia)
    model = qdot.assemble(world)
    q, v, _ = random_state(model, seed)
    return model, joint, inertia, q, v


def moving(joint: Joint, inertia: Inertia, q: np.ndarray, v: np.ndarray) -> tuple[Force, Motion]:
    """v ×* I v, and Ṡ α + V × S α; V is S α, so the last is zero for a body on the ground."""
    V = joint.subspace(q) @ v
    return V.cross(inertia @ V), joint.bias(q, v)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", list(KINDS))
def test_both_routes_agree_at_rest(kind: str, seed: int) -> None:
    _, joint, inertia, q, _ = single(kind, seed)
    f = Force.of(np.random.default_rng(seed).normal(size=6))
    S, T = joint.subspace(q), joint.complement(q)
    (a, rates), (b, multipliers) = by_motions(inertia, S, f), by_forces(inertia, T, f)
    close(list(b), list(a), TOLERANCE)
    close(list(f + T @ multipliers), list(inertia @ a), TOLERANCE)
    close(T.T @ a, [0.0] * len(T), TOLERANCE)
    close(list(S @ rates), list(a), TOLERANCE)
    # F14 as it is printed
    if len(T):
        I, B, six = np.array(inertia.entries(), float), np.array(T.entries(), float), np.array(list(f), float)
        I_inv = np.linalg.inv(I)
        D = np.linalg.inv(B.T @ I_inv @ B)
        close((I_inv - I_inv @ B @ D @ B.T @ I_inv) @ six, list(a), TOLERANCE)
        close(-D @ B.T @ I_inv @ six, multipliers, TOLERANCE)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "fixed"])
def test_both_routes_are_forward_dynamics_in_motion(kind: str) -> None:
    model, joint, inertia, q, v = single(kind, 5)
    p, c = moving(joint, inertia, q, v)
    tau = np.random.default_rng(6).normal(size=model.nv)
    S, T = joint.subspace(q), joint.complement(q)
    matrix = np.array(S.entries(), float)
    f = Force.of(matrix @ np.linalg.solve(matrix.T @ matrix, tau)) - p
    expected = qdot.forward_dynamics(model, q, v, tau)
    a, rates = by_motions(inertia, S, f, c)
    close(rates, expected, TOLERANCE)
    close(list(by_forces(inertia, T, f, c)[0]), list(a), TOLERANCE)
    close(list(a), list(qdot.kinematics(model, q, v, expected).accelerations[1]), TOLERANCE)


def test_any_basis_will_do() -> None:
    """S and T times any regular matrix: the same motion (F11)."""
    _, joint, inertia, q, _ = single("universal", 8)
    rng = np.random.default_rng(9)
    f = Force.of(rng.normal(size=6))
    S, T = joint.subspace(q), joint.complement(q)
    other_S = Basis.motions(*(S @ column for column in rng.normal(size=(2, 2))))
    other_T = Basis.forces(*(T @ column for column in rng.normal(size=(4, 4))))
    a = by_motions(inertia, S, f)[0]
    close(list(by_motions(inertia, other_S, f)[0]), list(a), TOLERANCE)
    b, multipliers = by_forces(inertia, other_T, f)
    close(list(b), list(a), TOLERANCE)
    close(list(other_T @ multipliers), list(T @ by_forces(inertia, T, f)[1]), 1e-10)
