"""Forces on bodies, brought to the joints: Σ Jᵀ f, in one sweep from the leaves to the root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.model.model import Model
from qdot.spatial import Force, Transform


def force_at(point: Vec3, force: Vec3) -> Force:
    """A force that acts at a point, about the origin: (p × f, f)."""
    return Force(point.cross(force), force)


def joint_forces(model: Model, q: Scalars, X: Sequence[Transform], forces: Mapping[int, Force]) -> list[Scalar]:
    """Σ Jᵀ f, (nv,), of forces on bodies by number, in world coordinates; X are the poses in the world."""
    tau: list[Scalar] = [0] * model.nv
    total = dict(forces)
    for body in reversed(model.bodies):
        i, p = body.index, body.parent
        if i not in total:
            continue
        F = X[i].inv() @ total[i]
        tau[body.dofs] = body.joint.subspace(q[body.qs]).T @ F
        total[p] = total[p] + total[i] if p in total else total[i]
    return tau


def add_force(forces: dict[int, Force], body: int, force: Force) -> None:
    """One more force on a body."""
    forces[body] = forces[body] + force if body in forces else force
