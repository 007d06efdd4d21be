"""The public functions: the texts of `qdot.algorithms` made ready for what people pass.

Each takes vectors of numbers (lists, tuples, arrays), a batch of them as an array (batch, n), or symbols; checks them
against the model; runs the text; and packs the answer: an array (batch first), a spatial value, or a dict by name.
A single vector among batches is used for every row.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from qdot.algebra import as_array, map_scalars, scalars_in
from qdot.algorithms import (
    aba,
    bias,
    configuration,
    coriolis,
    crba,
    lagrangian,
    passive,
    rnea,
)
from qdot.algorithms import (
    energy as energies,
)
from qdot.algorithms import (
    jacobian as jacobians,
)
from qdot.algorithms import (
    kinematics as motion,
)
from qdot.algorithms import (
    momentum as momenta,
)
from qdot.algorithms import (
    regressor as regressors,
)
from qdot.errors import SingularError, ValueShapeError
from qdot.model.model import Model
from qdot.model.vectors import CONFIGURATIONS, NEAR_CONFIGURATIONS, VELOCITIES, scalars_of
from qdot.spatial import Force

if TYPE_CHECKING:
    from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")

VECTORS = frozenset(CONFIGURATIONS + NEAR_CONFIGURATIONS + VELOCITIES)


def function(text: Callable[P, R], shape: Callable[[Model], tuple[int, ...]] | None = None) -> Callable[P, Any]:
    """A public function from the text of an algorithm; arguments called q, v, a, tau … are vectors of the model.

    `shape` is that of a matrix whose rows may all be missing, in a model without freedoms.
    """
    signature = inspect.signature(text)

    @functools.wraps(text)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        bound = signature.bind(*args, **kwargs)
        model = bound.arguments["model"]
        if not isinstance(model, Model):
            raise ValueShapeError(f"{text.__name__} takes a qdot.Model first (made by qdot.assemble), got {model!r}")
        for name, value in bound.arguments.items():
            if name in VECTORS and value is not None:
                bound.arguments[name] = scalars_of(model, name, value)
            elif name == "wrenches" and value is not None:
                bound.arguments[name] = _forces(model, value)
        batch = _batch_of(bound.arguments)
        result = packed(text(*bound.args, **bound.kwargs), batch)
        return result if shape is None else result.reshape(batch + shape(model))

    return call


def packed(result: Any, batch: tuple[int, ...]) -> Any:
    """Lists of scalars as arrays, batch first; dicts entry by entry; spatial values and scalars as lanes."""
    if isinstance(result, dict):
        return {key: packed(value, batch) for key, value in result.items()}
    if isinstance(result, list):
        return as_array(result, batch)
    if isinstance(result, motion.Kinematics) or not batch:
        return result
    return map_scalars(lambda x: np.broadcast_to(x, batch), result)


def _forces(model: Model, wrenches: Any) -> dict[str, Force]:
    if not isinstance(wrenches, Mapping):
        raise ValueShapeError(f"wrenches are given by frame, as {{'hand': (nx, ny, nz, fx, fy, fz)}}, got {wrenches!r}")
    forces = {}
    for name, value in wrenches.items():
        model.frame(name)
        array = value if isinstance(value, Force) else np.asarray(value)
        if isinstance(array, np.ndarray) and (array.ndim not in (1, 2) or array.shape[-1] != 6):
            raise ValueShapeError(
                f"the wrench on {name!r} has shape {array.shape}; it is (6,) or (batch, 6): moment x, y, z, then force "
                "x, y, z"
            )
        forces[name] = array if isinstance(array, Force) else Force.of(array.T)
        for x in scalars_in(forces[name]):
            if isinstance(x, (float, np.ndarray)) and not np.all(np.isfinite(x)):
                raise ValueShapeError(f"the wrench on {name!r} has an entry that is not a finite number")
    return forces


def _batch_of(arguments: Mapping[str, Any]) -> tuple[int, ...]:
    """(rows,) where an argument is a batch, () where none is."""
    sizes: dict[int, str] = {}
    for name, value in arguments.items():
        if name not in VECTORS and name != "wrenches":
            continue
        for x in scalars_in(value):
            if isinstance(x, np.ndarray) and x.ndim:
                sizes.setdefault(len(x), name)
    if len(sizes) > 1:
        listed = ", ".join(f"{name} has {size} rows" for size, name in sizes.items())
        raise ValueShapeError(f"the batches do not fit together: {listed}; they must agree, or be one single vector")
    return tuple(sizes)


def _singularity_explained(call: Callable[P, Any]) -> Callable[P, Any]:
    """Forward dynamics that says which joints move no mass, instead of dividing by zero or by rounding errors."""

    @functools.wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                result = call(*args, **kwargs)
        except ZeroDivisionError:
            result = np.array([np.nan])
        if result.dtype != object and not np.all(np.abs(result) < BEYOND_REASON):
            bound = inspect.signature(call).bind(*args, **kwargs).arguments
            _raise_if_singular(bound["model"], np.atleast_2d(bound["q"]))
        return result

    return checked


BEYOND_REASON = 1e12
"""Accelerations [rad/s², m/s²] that make the mass matrix suspect."""


def _raise_if_singular(model: Model, q: NDArray[np.float64]) -> None:
    for M in np.atleast_3d(mass_matrix(model, q)):
        inertias, directions = np.linalg.eigh(M)
        if inertias[0] <= 1e-13 * inertias[-1]:
            weights = np.abs(directions[:, 0])
            names = [n for n, w in zip(model.dof_names(), weights, strict=True) if w > 0.1 * weights.max()]
            raise SingularError(
                f"model {model.name!r}: the mass matrix is singular: moving {', '.join(map(repr, names))} moves no "
                "mass; give the bodies there an inertia, the joints an armature, or lock them (qdot.model.edit.lock)"
            )


kinematics = function(motion.kinematics)
frame_pose = function(motion.frame_pose)
jacobian = function(jacobians.jacobian)
analytic_jacobian = function(jacobians.analytic_jacobian)
point_jacobian = function(jacobians.point_jacobian)
link_jacobians = function(jacobians.link_jacobians)
bias_acceleration = function(jacobians.bias_acceleration)

inverse_dynamics = function(rnea.inverse_dynamics)
joint_wrenches = function(rnea.joint_wrenches)
forward_dynamics = _singularity_explained(function(aba.forward_dynamics))
mass_matrix = function(crba.mass_matrix, lambda m: (m.nv, m.nv))
bias_forces = function(bias.bias_forces)
velocity_forces = function(bias.velocity_forces)
gravity_forces = function(bias.gravity_forces)
passive_forces = function(passive.passive_forces)
coriolis_matrix = function(coriolis.coriolis_matrix, lambda m: (m.nv, m.nv))
christoffel_symbols = function(lagrangian.christoffel_symbols, lambda m: (m.nv, m.nv, m.nv))
regressor = function(regressors.regressor, lambda m: (m.nv, 10 * len(m.bodies)))
inertial_parameters = function(regressors.inertial_parameters)

kinetic_energy = function(energies.kinetic_energy)
potential_energy = function(energies.potential_energy)
energy = function(energies.energy)
momentum = function(momenta.momentum)
centroidal_momentum = function(momenta.centroidal_momentum)
centroidal_momentum_matrix = function(momenta.centroidal_momentum_matrix)
center_of_mass = function(momenta.center_of_mass)
com_jacobian = function(momenta.com_jacobian)
total_mass = function(momenta.total_mass)

retract = function(configuration.retract)
difference = function(configuration.difference)
configuration_rate = function(configuration.configuration_rate)
normalized = function(configuration.normalized)
