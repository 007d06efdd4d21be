"""Bushings: springs and dampers that draw frame 2 to a pose on frame 1.

Of the pose of frame 2 seen from there, with rotation vector φ and position p, and of its velocity, ω and ṗ:

    U = ½ φᵀ K_r φ + ½ pᵀ K_t p,   n = -J(φ)⁻ᵀ K_r φ - D_r ω,   f = -K_t p - D_t ṗ.

J is the left Jacobian of rotations, φ̇ = J(φ)⁻¹ ω (Barfoot 2017, ch. 7), so that springs give back what they hold:
n·ω + f·ṗ = -U̇. The moment n and the force f act on frame 2 at its origin, and their opposite, at the same point, on
the body of frame 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qdot.algebra import Scalar, Scalars, Vec3, is_zero
from qdot.algebra.lie import left_jacobian_inverse_so3, log_so3
from qdot.algorithms.applied import add_force, joint_forces
from qdot.algorithms.kinematics import kinematics
from qdot.description import BushingRecord
from qdot.description.bushings import Three
from qdot.model.model import Model
from qdot.spatial import Force, Transform


class Held(NamedTuple):
    """A bushing where it is: the bodies it holds, the pose of its rest in the world, and that of frame 2 seen from
    there."""

    record: BushingRecord
    body1: int
    body2: int
    rest: Transform
    apart: Transform


def bushing_energy(model: Model, X: Sequence[Transform]) -> Scalar:
    """U of all bushings of a model whose bodies are at poses X in the world [J]."""
    total: Scalar = 0
    for held in _all_held(model, X):
        rotational, translational = held.record.rotational, held.record.translational
        if _acts(rotational):
            phi = log_so3(held.apart.quaternion())
            total = total + phi.dot(_times(rotational, phi)) / 2
        if _acts(translational):
            p = held.apart.position
            total = total + p.dot(_times(translational, p)) / 2
    return total


def bushing_springs(model: Model, q: Scalars, X: Sequence[Transform]) -> list[Scalar]:
    """The joint forces of their springs, (nv,) [N·m, N]: -∂U/∂q."""
    forces: dict[int, Force] = {}
    for held in _all_held(model, X):
        moment = force = Vec3.zero()
        if _acts(held.record.rotational):
            phi = log_so3(held.apart.quaternion())
            moment = left_jacobian_inverse_so3(-phi) @ _times(held.record.rotational, phi)  # J(-φ) is J(φ)ᵀ
        if _acts(held.record.translational):
            force = _times(held.record.translational, held.apart.position)
        _oppose(forces, held, moment, force)
    return joint_forces(model, q, X, forces)


def bushing_dampers(model: Model, q: Scalars, v: Scalars, X: Sequence[Transform]) -> list[Scalar]:
    """The joint forces of their dampers, (nv,) [N·m, N]."""
    forces: dict[int, Force] = {}
    damped = [b for b in model.bushings if _acts(b.rotational_damping) or _acts(b.translational_damping)]
    if not damped:
        return [0] * model.nv
    V = [pose @ motion for pose, motion in zip(X, kinematics(model, q, v).velocities, strict=True)]
    for held in _all_held(model, X):
        slip = held.rest.inv() @ (V[held.body2] - V[held.body1])
        rate = slip.lin + slip.ang.cross(held.apart.position)
        _oppose(
            forces,
            held,
            _times(held.record.rotational_damping, slip.ang),
            _times(held.record.translational_damping, rate),
        )
    return joint_forces(model, q, X, forces)


def _all_held(model: Model, X: Sequence[Transform]) -> list[Held]:
    found = []
    for record in model.bushings:
        one, two = model.frame(record.frame1), model.frame(record.frame2)
        rest = X[one.body] @ one.placement @ record.rest
        found.append(Held(record, one.body, two.body, rest, rest.inv() @ (X[two.body] @ two.placement)))
    return found


def _oppose(forces: dict[int, Force], held: Held, moment: Vec3, force: Vec3) -> None:
    """Minus a moment and a force, in axes of the rest, on frame 2; and both on the body of frame 1."""
    p = held.apart.position
    wrench = held.rest @ Force(moment + p.cross(force), force)
    add_force(forces, held.body2, -wrench)
    add_force(forces, held.body1, wrench)


def _acts(row: Three) -> bool:
    return not all(is_zero(x) for x in row)


def _times(row: Three, x: Vec3) -> Vec3:
    """A diagonal matrix times a vector."""
    return Vec3(*(k * c for k, c in zip(row, x, strict=True)))
