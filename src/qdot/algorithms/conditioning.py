"""Where the mass matrix is singular: motions that move no mass, found numerically and told by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from qdot.algebra import is_number, scalars_in
from qdot.algorithms.configuration import retract
from qdot.algorithms.crba import composite_inertias, mass_matrix
from qdot.algorithms.frames import body_frames
from qdot.errors import SingularError
from qdot.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOLERANCE = 1e-13
"""Of an eigenvalue of M, made of unit size by what each joint carries: below it lie rounding errors only."""


@lru_cache(maxsize=256)
def motions_without_inertia(model: Model) -> tuple[str, ...]:
    """Freedoms of a motion that moves no mass wherever the mechanism is; none where the model has symbols in it.

    A mechanism that is singular at random configurations is so everywhere.
    """
    constants = [[body.inertia, body.placement, body.passive.armature] for body in model.bodies]
    if model.nv == 0 or not all(is_number(x) for x in scalars_in(constants)):
        return ()
    rng = np.random.default_rng(0)
    found: tuple[str, ...] = ()
    for _ in range(2):
        q = retract(model, model.neutral().tolist(), rng.normal(size=model.nv).tolist())
        found = _null_names(model, q)
        if not found:
            return ()
    return found


def null_motions(model: Model, q: NDArray[np.float64]) -> tuple[str, ...]:
    """The same at given configurations, (batch, nq): of the first row where M is singular."""
    for row in q:
        names = _null_names(model, row.tolist())
        if names:
            return names
    return ()


def _null_names(model: Model, q: list[float]) -> tuple[str, ...]:
    M = np.array(mass_matrix(model, q), dtype=float)
    sizes = np.sqrt(_sizes(model, q))
    scaled = M / np.outer(sizes, sizes)
    try:
        np.linalg.cholesky(scaled - TOLERANCE * np.eye(len(M)))
    except np.linalg.LinAlgError:
        pass
    else:  # all eigenvalues are larger, and none need be found
        return ()
    values, vectors = np.linalg.eigh(scaled)
    if values[0] > TOLERANCE:
        return ()
    motion = np.abs(vectors[:, 0])
    return tuple(name for name, x in zip(model.dof_names(), motion, strict=True) if x > 0.1 * motion.max())


def _sizes(model: Model, q: list[float]) -> NDArray[np.float64]:
    """How large M's diagonal could be at each freedom, by the inertia that hangs on it, before anything cancels."""
    sizes = np.ones(model.nv)
    Ic = composite_inertias(model, body_frames(model, q))
    for body in model.bodies:
        I = Ic[body.index]
        for k, s in enumerate(body.joint.subspace(q[body.qs])):
            size = s.ang.dot(s.ang) * I.rotational.trace() + s.lin.dot(s.lin) * I.mass + body.passive.armature[k]
            sizes[body.dofs.start + k] = abs(size) or 1.0
    return sizes


def singular(model: Model, names: Sequence[str]) -> SingularError:
    """What to say where these freedoms move no mass."""
    return SingularError(
        f"model {model.name!r}: the mass matrix is singular: moving {', '.join(map(repr, names)) or 'the joints'} "
        "moves no mass; give the bodies there an inertia, the joints an armature, or lock them (qdot.model.edit.lock)"
    )
