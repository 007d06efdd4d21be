"""The public functions: the texts of `qdot.algorithms` made ready for what people pass.

Each takes vectors of numbers (lists, tuples, arrays), a batch of them as an array (batch, n), or symbols. Numbers go to
a compiled program, built at first use (see `dispatch`). Anything else is checked against the model, the text runs on
it, and the answer is packed: an array (batch first), a spatial value, or a dict by name. A single vector among batches
is used for every row.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from qdot.algebra import as_array, map_scalars, plain, scalar_problem, scalars_in
from qdot.algorithms import (
    aba,
    actuators,
    bias,
    christoffel,
    closure,
    conditioning,
    configuration,
    coriolis,
    crba,
    derivatives,
    energy as energies,
    hamiltonian as hamilton,
    inverse_mass,
    jacobian as jacobians,
    kinematic_derivatives,
    kinematics as motion,
    momentum as momenta,
    passive,
    regressor as regressors,
    residuals,
    riemann,
    rnea,
    tendons,
)
from qdot.algorithms.constraints import loops
from qdot.errors import ValueShapeError
from qdot.model.model import Model, require_model
from qdot.model.vectors import LAYOUTS, scalars_of
from qdot.programs.dispatch import Programs, merged
from qdot.spatial import Force

P = ParamSpec("P")
R = TypeVar("R")


def function(
    text: Callable[P, R],
    shape: Callable[[Model], tuple[int, ...]] | None = None,
    *,
    compiled: bool = True,
    needs_inertia: bool = False,
) -> Callable[P, Any]:
    """A public function from the text of an algorithm; arguments called q, v, a, tau … are vectors of the model.

    `shape` is that of a matrix whose rows may all be missing, in a model without freedoms. What returns spatial values
    is not `compiled`. What solves with the mass matrix `needs_inertia`: it says which joints move no mass.
    """
    careful = _refusing_singular(_checked(text, shape)) if needs_inertia else _checked(text, shape)
    if not compiled:
        return careful
    programs = Programs(text, functools.partial(_may_be_compiled, shape, needs_inertia))
    quick = programs.quick

    @functools.wraps(text)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        known = quick.get(id(model))
        if known is not None and not kwargs:
            single = known(*args)
            if single is not None:
                return single
        done = programs.result((model, *args), kwargs)
        if done is None:
            return careful(model, *args, **kwargs)
        result, unsound = done
        return result if unsound is None else merged(result, careful(model, *args, **kwargs), unsound)

    call.__module__ = __name__  # where it is found by this name: so it pickles
    return cast("Callable[P, Any]", call)


def _may_be_compiled(shape: Callable[[Model], tuple[int, ...]] | None, needs_inertia: bool, model: Model) -> bool:
    """Not where there is nothing to compute, or what is wrong has to be named."""
    if model.nv == 0 or (shape is not None and 0 in shape(model)):
        return False
    return not (needs_inertia and conditioning.motions_without_inertia(model))


def _checked(text: Callable[P, R], shape: Callable[[Model], tuple[int, ...]] | None) -> Callable[P, Any]:
    """The text for what people pass: vectors checked and split into scalars, the result packed."""
    signature = inspect.signature(text)

    @functools.wraps(text)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        model = bound.arguments["model"]
        require_model(model, text.__name__)
        batch: dict[int, str] = {}
        for name, value in bound.arguments.items():
            if name in LAYOUTS and not (value is None and signature.parameters[name].default is None):
                bound.arguments[name] = scalars_of(model, name, value)
                if np.ndim(value) == 2:
                    batch.setdefault(len(value), name)
            elif name == "wrenches" and value is not None:
                bound.arguments[name] = _forces(model, value)
                lanes = [x for x in scalars_in(bound.arguments[name]) if isinstance(x, np.ndarray)]
                batch.update({len(x): "wrenches" for x in lanes if len(x) not in batch})
        rows = _agreed(batch)
        result = packed(text(*bound.args, **bound.kwargs), rows)
        if shape is None:
            return result
        if isinstance(result, tuple):
            return tuple(x.reshape(rows + shape(model)) for x in result)
        return result.reshape(rows + shape(model))

    return call


def packed(result: Any, batch: tuple[int, ...]) -> Any:
    """Lists of scalars as arrays, batch first; dicts entry by entry; spatial values and scalars as lanes."""
    if isinstance(result, dict):
        return {key: packed(value, batch) for key, value in result.items()}
    if isinstance(result, tuple):
        return tuple(packed(value, batch) for value in result)
    if isinstance(result, list):
        return as_array(result, batch)
    if isinstance(result, motion.Kinematics) or not batch:
        return result
    return map_scalars(lambda x: np.array(np.broadcast_to(x, batch), dtype=float), result)


def _forces(model: Model, wrenches: Any) -> dict[str, Force]:
    if not isinstance(wrenches, Mapping):
        raise ValueShapeError(f"wrenches are given by frame, as {{'hand': (nx, ny, nz, fx, fy, fz)}}, got {wrenches!r}")
    forces = {}
    for name, value in wrenches.items():
        model.frame(name)
        forces[name] = _force(name, value)
        for x in scalars_in(forces[name]):
            problem = scalar_problem(x)
            if problem is not None:
                raise ValueShapeError(f"the wrench on {name!r} has an entry that cannot be: {problem}")
    return forces


def _force(name: str, value: Any) -> Force:
    if isinstance(value, Force):
        return map_scalars(plain, value)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0)
    if array.ndim not in (1, 2) or array.shape[-1] != 6:
        raise ValueShapeError(
            f"the wrench on {name!r} is (6,) or (batch, 6): moment x, y, z, then force x, y, z; got {value!r}"
        )
    return Force.of(array.T)


def _agreed(batch: Mapping[int, str]) -> tuple[int, ...]:
    """(rows,) where an argument is a batch, () where none is."""
    if len(batch) > 1:
        listed = ", ".join(f"{name} has {size} rows" for size, name in batch.items())
        raise ValueShapeError(f"the batches do not fit together: {listed}; they must agree, or be one single vector")
    return tuple(batch)


def _refusing_singular(call: Callable[P, Any]) -> Callable[P, Any]:
    """Forward dynamics that says which joints move no mass, instead of dividing by zero or by rounding errors."""

    @functools.wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Any:
        bound = inspect.signature(call).bind(*args, **kwargs).arguments
        model = bound["model"]
        if isinstance(model, Model) and conditioning.motions_without_inertia(model):
            raise conditioning.singular(model, conditioning.motions_without_inertia(model))
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                result = call(*args, **kwargs)
        except ZeroDivisionError:
            raise conditioning.singular(model, conditioning.null_motions(model, np.atleast_2d(bound["q"]))) from None
        for entries in map(np.asarray, result if isinstance(result, tuple) else (result,)):
            if entries.dtype != object and not np.all(np.abs(entries) < BEYOND_REASON):
                names = conditioning.null_motions(model, np.atleast_2d(bound["q"]))
                if names or not np.all(np.isfinite(entries)):
                    raise conditioning.singular(model, names)
        return result

    return checked


BEYOND_REASON = 1e12
"""Accelerations [rad/s², m/s²] that make the mass matrix suspect."""


kinematics = function(motion.kinematics, compiled=False)
frame_pose = function(motion.frame_pose, compiled=False)
jacobian = function(jacobians.jacobian)
analytic_jacobian = function(jacobians.analytic_jacobian)
point_jacobian = function(jacobians.point_jacobian)
link_jacobians = function(jacobians.link_jacobians, lambda m: (len(m.bodies), 2, 3, m.nv))
bias_acceleration = function(jacobians.bias_acceleration)

inverse_dynamics = function(rnea.inverse_dynamics)
joint_wrenches = function(rnea.joint_wrenches, compiled=False)
forward_dynamics = function(aba.forward_dynamics, needs_inertia=True)
mass_matrix = function(crba.mass_matrix, lambda m: (m.nv, m.nv))
bias_forces = function(bias.bias_forces)
velocity_forces = function(bias.velocity_forces)
gravity_forces = function(bias.gravity_forces)
passive_forces = function(passive.passive_forces)
passive_terms = function(passive.passive_terms)
coriolis_matrix = function(coriolis.coriolis_matrix, lambda m: (m.nv, m.nv))
christoffel_symbols = function(christoffel.christoffel_symbols, lambda m: (m.nv,) * 3)
regressor = function(regressors.regressor, lambda m: (m.nv, 10 * len(m.bodies)))
inertial_parameters = function(regressors.inertial_parameters)

tendon_lengths = function(tendons.tendon_lengths)
tendon_jacobian = function(tendons.tendon_jacobian, lambda m: (len(m.tendons), m.nv))
actuator_lengths = function(actuators.actuator_lengths)
actuator_moments = function(actuators.actuator_moments, lambda m: (m.nu, m.nv))
actuator_forces = function(actuators.actuator_forces)
actuation = function(actuators.actuation)
activation_rates = function(actuators.activation_rates)
constraint_residuals = function(residuals.constraint_residuals)
constraint_jacobian = function(closure.constraint_jacobian, lambda m: (closure.row_count(m), m.nv))
loop_residuals = function(loops.loop_residuals)
constrained_forward_dynamics = function(closure.constrained_forward_dynamics, needs_inertia=True)

generalized_momentum = function(hamilton.generalized_momentum)
velocity_of_momentum = function(hamilton.velocity_of_momentum, needs_inertia=True)
hamiltonian = function(hamilton.hamiltonian, needs_inertia=True)
hamilton_equations = function(hamilton.hamilton_equations, needs_inertia=True)
connection_coefficients = function(christoffel.connection_coefficients, lambda m: (m.nv,) * 3, needs_inertia=True)
inner_product = function(riemann.inner_product)
dual_product = function(riemann.dual_product, needs_inertia=True)
directional_derivative = function(riemann.directional_derivative, compiled=False)
covariant_derivative = function(riemann.covariant_derivative, compiled=False, needs_inertia=True)
parallel_rate = function(riemann.parallel_rate, needs_inertia=True)
covariant_acceleration = function(riemann.covariant_acceleration, needs_inertia=True)
riemann_tensor = function(riemann.riemann_tensor, lambda m: (m.nv,) * 4, needs_inertia=True)
sectional_curvature = function(riemann.sectional_curvature, needs_inertia=True)

inverse_dynamics_derivatives = function(derivatives.inverse_dynamics_derivatives, lambda m: (m.nv, m.nv))
forward_dynamics_derivatives = function(
    derivatives.forward_dynamics_derivatives, lambda m: (m.nv, m.nv), needs_inertia=True
)
inverse_mass_matrix = function(inverse_mass.inverse_mass_matrix, lambda m: (m.nv, m.nv), needs_inertia=True)
frame_velocity_derivatives = function(kinematic_derivatives.frame_velocity_derivatives)
frame_acceleration_derivatives = function(kinematic_derivatives.frame_acceleration_derivatives)

kinetic_energy = function(energies.kinetic_energy)
potential_energy = function(energies.potential_energy)
energy = function(energies.energy)
momentum = function(momenta.momentum, compiled=False)
centroidal_momentum = function(momenta.centroidal_momentum, compiled=False)
centroidal_momentum_matrix = function(momenta.centroidal_momentum_matrix)
center_of_mass = function(momenta.center_of_mass)
com_jacobian = function(momenta.com_jacobian)
total_mass = function(momenta.total_mass)

retract = function(configuration.retract)
difference = function(configuration.difference)
configuration_rate = function(configuration.configuration_rate)
normalized = function(configuration.normalized)
