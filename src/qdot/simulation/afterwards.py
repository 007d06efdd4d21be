"""What is found out about the records of a run afterwards, on lanes: few look at it, so compiling it would not pay."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import as_array
from qdot.algebra.rounding import rounded_as
from qdot.programs import parameters as constants
from qdot.simulation.controls import Drive
from qdot.simulation.stepping import constraint_forces
from qdot.simulation.system import System

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def inputs_of(part: Mapping[str, Array], following: Mapping[str, Array], drives: Mapping[str, Drive]) -> Array:
    """Controls and joint forces of the steps that led to these records (of the first: of the step from there), side by
    side; zero where a function that is compiled tells them."""
    rows = part["count"].shape[:-1]
    found = []
    for name, drive in drives.items():
        x = part[name] if name in part else following[name][:1] if name in following else drive.held
        found.append(np.broadcast_to(x, (*rows, drive.held.shape[-1])))
    return np.concatenate(found, axis=-1)


def multipliers_of(
    system: System,
    part: Mapping[str, Array],
    inputs: Array,
    parameters: Mapping[str, Array],
    timing: tuple[float, float],
) -> Array:
    """The force of each constraint row at these records, all at once; what rests at a stop does so up to their
    rounding."""
    rows = part["count"].shape[:-1]
    total = prod(rows)

    def lanes(x: Array, shape: tuple[int, ...]) -> Any:
        flat = np.broadcast_to(x, (*rows, *shape)).reshape(total, *shape).astype(float)
        return [*np.moveaxis(flat, -1, 0)] if shape else flat

    model = system.model
    if parameters:
        sizes = {path: constants.shape_of(model, path) for path in parameters}
        model = constants.with_parameters(model, {path: lanes(x, sizes[path]) for path, x in parameters.items()})
    given = lanes(inputs, inputs.shape[-1:])
    state = {name: lanes(part[name], part[name].shape[-1:]) for name in ("q", "v", "activation", "count")}
    with np.errstate(all="ignore"), rounded_as(part["q"].dtype.name):
        found = constraint_forces(
            model, **state, control=given[: model.nu], tau=given[model.nu :], timing=list(timing), setup=system.setup
        )
    return as_array(found, (total,)).reshape(*rows, system.row_count)
