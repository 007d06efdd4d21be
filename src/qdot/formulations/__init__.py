"""The laws of motion as they are taught, for a user's own equations: constraints φ(x) = 0, coordinates x = h(q),
Gauss.

φ and h are plain Python functions of a list of scalars that return one, written with + - * / ** and the functions of
qdot.algebra (sin, cos, sqrt, where, …). They are differentiated exactly. Vectors are (n,), batches (batch, n), or
symbols. Inertia is given as a matrix D, or as masses: one for each entry of x, or one for each point, of which x then
holds the coordinates one after the other. All ways give one acceleration; so do `qdot.forward_dynamics` and, for
whole mechanisms, `qdot.algorithms.maximal`, `particles` and `lagrangian`.
"""

from qdot.algorithms.gauss import GaussSolution
from qdot.algorithms.subspaces import by_forces, by_motions
from qdot.formulations.coordinates import Explicit, Transformed, explicit, projection, transformed
from qdot.formulations.points import (
    Constrained,
    closed_form,
    constrained_inverse_inertia,
    gauss,
    kkt,
    partials,
    penalised_inverse_inertia,
    rate_bias,
)

__all__ = [
    "Constrained",
    "Explicit",
    "GaussSolution",
    "Transformed",
    "by_forces",
    "by_motions",
    "closed_form",
    "constrained_inverse_inertia",
    "explicit",
    "gauss",
    "kkt",
    "partials",
    "penalised_inverse_inertia",
    "projection",
    "rate_bias",
    "transformed",
]
