"""The compiled step of a simulation, kept for other runs of the same model with the same setup."""

from __future__ import annotations

from functools import lru_cache

from qdot.errors import CompileError, QdotError
from qdot.model.model import Model
from qdot.programs.compiled import Compiled
from qdot.programs.traced import Request
from qdot.simulation.integrators import Integrator
from qdot.simulation.stepping import shapes, stepped
from qdot.simulation.system import Setup, System


def step_program(
    model: Model, setup: Setup, integrator: Integrator, parameters: tuple[str, ...], dtype: str
) -> Compiled:
    """The step, for constants of the model by path as inputs; compiled anew where users' functions are in it, which may
    have changed since."""
    users = (setup.constraints, setup.forces, setup.events, setup.control, setup.tau)
    make = _compiled.__wrapped__ if any(users) else _compiled
    return make(model, setup, integrator, parameters, dtype)


@lru_cache(maxsize=64)
def _compiled(model: Model, setup: Setup, integrator: Integrator, parameters: tuple[str, ...], dtype: str) -> Compiled:
    inputs = shapes(System(model, setup), integrator, varied=bool(parameters))
    options = {"setup": setup, "integrator": integrator}
    try:
        return Compiled(Request(stepped, model, parameters, (), options, inputs=inputs), dtype=dtype)
    except ValueError as error:
        if isinstance(error, QdotError):
            raise
        raise CompileError(
            f"simulate: a function of a control, force, constraint or event cannot be compiled: {error}; where it "
            "compares numbers, use qdot.algebra.where(condition, x, y) and not the truth itself"
        ) from error
