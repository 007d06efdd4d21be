"""Inverse dynamics by the recursive Newton–Euler algorithm (F15–F19, T22). RBDA (2008), table 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.algorithms.frames import Choice, body_frames
from qdot.algorithms.kinematics import frame_pose
from qdot.algorithms.passive import armature, passive_forces
from qdot.model.model import Model
from qdot.spatial import Force, Motion

Wrenches: TypeAlias = Mapping[str, Force]
"""External forces by frame: the moment about the frame's origin and the force, in world axes; τ_ext = Jᵀ f."""


def inverse_dynamics(
    model: Model,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    *,
    wrenches: Wrenches | None = None,
    frames: Choice = body_frames,
) -> list[Scalar]:
    """Joint forces τ = M(q) a + c(q, v) + g(q) - passive(q, v) - Σ Jᵀ f, (nv,) [N·m, N]."""
    tau, _ = newton_euler(model, q, v, a, wrenches=wrenches, frames=frames)
    drives = armature(model)
    passive = passive_forces(model, q, v)
    return [t + d * ai - p for t, d, ai, p in zip(tau, drives, a, passive, strict=True)]


def joint_wrenches(
    model: Model, q: Scalars, v: Scalars, a: Scalars, *, wrenches: Wrenches | None = None
) -> dict[str, Force]:
    """The full wrench each joint transmits to its body, by joint name, in the body's coordinates at its origin (F19).

    Sᵀ of it is the part that works on the joint's motion; the rest is the constraint force that the bearings carry.
    """
    _, F = newton_euler(model, q, v, a, wrenches=wrenches)
    return {body.joint_name: F[body.index] for body in model.bodies}


def newton_euler(
    model: Model,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    *,
    gravity: Vec3 | None = None,
    wrenches: Wrenches | None = None,
    frames: Choice = body_frames,
) -> tuple[list[Scalar], list[Force]]:
    """(τ of the bodies alone, wrench transmitted at each joint); entry 0 of the wrenches is what the world holds.

    Gravity is a fictitious acceleration of the world, A_0 = -g; the model's, unless another is given.
    """
    g = model.gravity if gravity is None else gravity
    at = frames(model, q)
    X, S = at.X, at.S
    V, A, F = [Motion.zero()], [Motion(Vec3.zero(), -g)], [Force.zero()]
    applied = external_forces(model, q, wrenches)
    for body in model.bodies:  # root to leaves
        i, p, I = body.index, body.parent, at.placed(body.index, body.inertia)
        qi, vi, ai = q[body.qs], v[body.dofs], a[body.dofs]
        VJ = S[i] @ vi
        V.append(X[i].inv() @ V[p] + VJ)
        A.append(X[i].inv() @ A[p] + S[i] @ ai + at.placed(i, body.joint.bias(qi, vi)) + V[i].cross(VJ))
        F.append(I @ A[i] + V[i].cross(I @ V[i]))
        if i in applied:
            F[i] = F[i] - at.placed(i, applied[i])
    tau: list[Scalar] = [0] * model.nv
    for body in reversed(model.bodies):  # leaves to root
        i, p = body.index, body.parent
        tau[body.dofs] = S[i].T @ F[i]
        F[p] = F[p] + X[i] @ F[i]
    return tau, F


def external_forces(model: Model, q: Scalars, wrenches: Wrenches | None) -> dict[int, Force]:
    """External forces by body number, in the body's coordinates."""
    total: dict[int, Force] = {}
    for name, wrench in (wrenches or {}).items():
        frame = model.frame(name)
        R_T = frame_pose(model, q, name).rotation.T
        F = frame.placement @ Force(R_T @ wrench.ang, R_T @ wrench.lin)
        total[frame.body] = total[frame.body] + F if frame.body in total else F
    return total
