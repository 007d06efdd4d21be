"""How easily bodies, freedoms and tendons move, as numbers of the model at home: what scales softness.

A soft constraint is as soft as A = J M⁻¹ Jᵀ says; its diagonal is taken once, at home, averaged over directions, so
that softness does not change with the pose (MuJoCo's `invweight0`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from qdot.algebra import Vec3
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.frames import Frames, root_frame
from qdot.algorithms.kinematics import way_to_root, world_poses
from qdot.algorithms.tendons import tendons
from qdot.joints import Joint
from qdot.model.model import Body, Model


@dataclass(frozen=True)
class Weights:
    """Accelerations under unit forces: of each body, the world first, along [m/s²/N] and about [rad/s²/(N·m)] axes
    through its centre of mass; of each freedom; and of each tendon."""

    along: tuple[float, ...]
    about: tuple[float, ...]
    freedoms: tuple[float, ...]
    tendons: tuple[float, ...]


@lru_cache(maxsize=64)
def weights(model: Model) -> Weights:
    """Of a model, at home."""
    q = model.home().tolist()
    inverse = np.linalg.inv(np.array(mass_matrix(model, q), dtype=float)) if model.nv else np.zeros((0, 0))
    freedoms, at = np.diag(inverse).copy(), root_frame(model, q)
    along, about = [0.0], [0.0]
    for body in model.bodies:
        J = _jacobian_of_centre(model, at, body)
        diagonal = np.einsum("ij,jk,ik->i", J, inverse, J)
        about.append(float(diagonal[:3].mean()))
        along.append(float(diagonal[3:].mean()))
        own = freedoms[body.dofs]
        for part in _averaged(body.joint):
            own[part] = own[part].mean()
    for slides in _points(model):  # which move in fewer directions than are averaged over
        light = 1 / slides[0].inertia.mass
        along[slides[0].index], about[slides[0].index] = light, 0.0
        for body in slides:
            freedoms[body.dofs] = light
    pulls = [np.array(t.gradient, dtype=float) for t in tendons(model, q, world_poses(model, q))]
    return Weights(tuple(along), tuple(about), tuple(freedoms.tolist()), tuple(float(g @ inverse @ g) for g in pulls))


def _jacobian_of_centre(model: Model, at: Frames, body: Body) -> np.ndarray:
    """Of the centre of mass, 6 × nv, angular part first; of the origin where there is no mass."""
    J = np.zeros((6, model.nv))
    place = at.placed(body.index, body.inertia.com if body.inertia.mass else Vec3(0, 0, 0))
    for bound in way_to_root(model, body.index):
        for k, s in zip(range(bound.dofs.start, bound.dofs.stop), at.S[bound.index], strict=True):
            moved = s.at(place)
            J[:, k] = [*moved.ang, *moved.lin]
    return J


def _averaged(joint: Joint) -> list[slice]:
    """Freedoms that stand for all directions: three turns of a ball, and three turns and three slides of a free
    body."""
    return [slice(k, k + 3) for k in range(0, joint.nv, 3)] if joint.nq > joint.nv else []


def _points(model: Model) -> list[list[Body]]:
    """Bodies that only slide on the ground along their own axes, and bear nothing: each with those it slides on."""
    bears = {body.parent for body in model.bodies}
    found = []
    for body in model.bodies:
        way = list(way_to_root(model, body.index))
        moving = [b for b in way if b.joint.nv]
        if body.index not in bears and moving and body.inertia.mass and all(map(_slides, moving)):
            found.append([body, *(b for b in moving if b is not body)])
    return found


def _slides(body: Body) -> bool:
    if body.joint.nq != body.joint.nv or any(abs(x) > 1e-9 for x in body.inertia.moment):
        return False
    S = body.joint.subspace(body.joint.neutral())
    return all(not any(s.ang) and sum(abs(x) > 1e-9 for x in s.lin) == 1 for s in S)
