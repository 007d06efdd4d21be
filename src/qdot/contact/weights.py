"""How easily bodies, freedoms and tendons move, as numbers of the model at home: what scales softness.

A soft constraint is as soft as A = J M⁻¹ Jᵀ says; its diagonal is taken once, at home, averaged over directions, so
that softness does not change with the pose (MuJoCo's `invweight0`). Runs that differ in constants of the model, as
masses, differ in these: they are found once for all runs, on lanes, and are given to the steps as numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from qdot.algebra import Scalar, Scalars, Vec3, as_array, map_scalars
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.frames import Frames, root_frame
from qdot.algorithms.kinematics import way_to_root, world_poses
from qdot.algorithms.tendons import tendons
from qdot.joints import Joint
from qdot.model.model import Body, Model


@dataclass(frozen=True)
class Weights:
    """Accelerations under unit forces: of each body, the world first, along [m/s²/N] and about [rad/s²/(N·m)] axes
    through its centre of mass; of each freedom; and of each tendon. `total` is the trace of M."""

    along: tuple[Scalar, ...]
    about: tuple[Scalar, ...]
    freedoms: tuple[Scalar, ...]
    tendons: tuple[Scalar, ...]
    total: Scalar

    holds_scalars: ClassVar[bool] = True

    @staticmethod
    def of_row(model: Model, row: Scalars) -> Weights:
        """From its numbers, one after the other."""
        bodies, nv = len(model.bodies) + 1, model.nv
        ends = [0, bodies, 2 * bodies, 2 * bodies + nv, 2 * bodies + nv + len(model.tendons)]
        along, about, freedoms, tendons = (tuple(row[i:j]) for i, j in pairwise(ends))
        return Weights(along, about, freedoms, tendons, row[ends[-1]])


@lru_cache(maxsize=64)
def weights(model: Model) -> Weights:
    """Of a model, at home."""
    found: Weights = map_scalars(float, weights_on_lanes(model))
    return found


def weights_on_lanes(model: Model) -> Weights:
    """Of a model whose constants may be lanes, at home."""
    q = model.home().tolist()
    M = as_array(mass_matrix(model, q)) if model.nv else np.zeros((0, 0))
    inverse = np.linalg.inv(M)
    freedoms: list[Scalar] = [inverse[..., k, k] for k in range(model.nv)]
    at = root_frame(model, q)
    along: list[Scalar] = [0.0]
    about: list[Scalar] = [0.0]
    for body in model.bodies:
        J = _jacobian_of_centre(model, at, body)
        diagonal = np.einsum("...ij,...jk,...ik->...i", J, inverse, J)
        about.append(diagonal[..., :3].mean(axis=-1))
        along.append(diagonal[..., 3:].mean(axis=-1))
        for part in _averaged(body.joint):
            own = slice(body.dofs.start + part.start, body.dofs.start + part.stop)
            freedoms[own] = [sum(freedoms[own]) / len(freedoms[own])] * len(freedoms[own])
    for slides in _points(model):  # which move in fewer directions than are averaged over
        light = 1 / slides[0].inertia.mass
        along[slides[0].index], about[slides[0].index] = light, 0.0
        for body in slides:
            freedoms[body.dofs] = [light] * body.joint.nv
    pulls = [as_array(list(t.gradient)) for t in tendons(model, q, world_poses(model, q))]
    loose = [np.einsum("...i,...ij,...j->...", g, inverse, g) for g in pulls]
    return Weights(tuple(along), tuple(about), tuple(freedoms), tuple(loose), np.trace(M, axis1=-2, axis2=-1))


def _jacobian_of_centre(model: Model, at: Frames, body: Body) -> np.ndarray:
    """Of the centre of mass, 6 × nv, angular part first; of the origin where there is no mass."""
    columns: list[list[Scalar]] = [[0.0] * 6 for _ in range(model.nv)]
    place = at.placed(body.index, body.inertia.com if _is_some(body.inertia.mass) else Vec3(0, 0, 0))
    for bound in way_to_root(model, body.index):
        for k, s in zip(range(bound.dofs.start, bound.dofs.stop), at.S[bound.index], strict=True):
            moved = s.at(place)
            columns[k] = [*moved.ang, *moved.lin]
    return np.swapaxes(as_array(columns), -2, -1) if columns else np.zeros((6, 0))


def _is_some(x: Any, than: float = 0.0) -> bool:
    """Whether a number is larger, in any lane."""
    return bool(np.any(np.abs(x) > than))


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
        if body.index not in bears and moving and _is_some(body.inertia.mass) and all(map(_slides, moving)):
            found.append([body, *(b for b in moving if b is not body)])
    return found


def _slides(body: Body) -> bool:
    if body.joint.nq != body.joint.nv or any(_is_some(x, 1e-9) for x in body.inertia.moment):
        return False
    S = body.joint.subspace(body.joint.neutral())
    return all(not any(s.ang) and sum(abs(x) > 1e-9 for x in s.lin) == 1 for s in S)
