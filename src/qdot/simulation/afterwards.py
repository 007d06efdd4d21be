"""What is found out about the records of a run afterwards, on lanes: few look at it, so compiling it would not pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import as_array
from qdot.algebra.rounding import rounded_as
from qdot.model.model import Model
from qdot.programs import parameters as constants
from qdot.simulation.controls import Drive
from qdot.simulation.later import Later
from qdot.simulation.records import Records
from qdot.simulation.stepping import constraint_forces
from qdot.simulation.system import System

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def model_at_records(model: Model, parameters: Mapping[str, Array], runs: int, records: int) -> Model:
    """A model whose constants that were replaced, by one value or one for each run, have one for every record."""
    axes = {path: len(constants.shape_of(model, path)) for path in parameters}
    each = {path: x[:, None] if x.ndim > axes[path] else x for path, x in parameters.items()}
    return _model_on_lanes(model, each, (runs, records))


def inputs_of(records: Records, drives: Mapping[str, Drive]) -> Later[Array]:
    """Controls and joint forces of the steps that led to all records that there are now (of the first: of the step from
    there), side by side."""
    count = len(records.parts)

    def found() -> Array:
        _add_inputs(records.parts[:count], drives)
        return records.array("inputs", count)

    return Later(found)


def multipliers_of(
    records: Records,
    drives: Mapping[str, Drive],
    system: System,
    parameters: Mapping[str, Array],
    timing: tuple[float, float],
) -> Later[Array]:
    """The force of each constraint row at all records that there are now; each is found out once."""
    count = len(records.parts)

    def found() -> Array:
        parts = records.parts[:count]
        _add_inputs(parts, drives)
        for part in parts:
            if "multipliers" not in part:
                part["multipliers"] = _multipliers(system, part, part["inputs"], parameters, timing)
        return records.array("multipliers", count)

    return Later(found)


def _add_inputs(parts: Sequence[dict[str, Array]], drives: Mapping[str, Drive]) -> None:
    for part, following in zip(parts, [*parts[1:], parts[-1]], strict=True):
        if "inputs" not in part:
            part["inputs"] = _inputs(part, following, drives)


def _inputs(part: Mapping[str, Array], following: Mapping[str, Array], drives: Mapping[str, Drive]) -> Array:
    """Of a part; zero where a function that is compiled tells them."""
    rows = part["count"].shape[:-1]
    found = []
    for name, drive in drives.items():
        x = part[name] if name in part else following[name][:1] if name in following else drive.held
        found.append(np.broadcast_to(x, (*rows, drive.held.shape[-1])))
    return np.concatenate(found, axis=-1)


def _multipliers(
    system: System,
    part: Mapping[str, Array],
    inputs: Array,
    parameters: Mapping[str, Array],
    timing: tuple[float, float],
) -> Array:
    """Of a part, all at once; what rests at a stop does so up to the rounding of the records."""
    rows = part["count"].shape[:-1]
    model = _model_on_lanes(system.model, parameters, rows)
    given = _lanes(inputs, rows, inputs.shape[-1:])
    state = {name: _lanes(part[name], rows, part[name].shape[-1:]) for name in ("q", "v", "activation", "count")}
    with np.errstate(all="ignore"), rounded_as(part["q"].dtype.name):
        found = constraint_forces(
            model, **state, control=given[: model.nu], tau=given[model.nu :], timing=list(timing), setup=system.setup
        )
    return as_array(found, (prod(rows),)).reshape(*rows, system.row_count)


def _model_on_lanes(model: Model, parameters: Mapping[str, Array], rows: tuple[int, ...]) -> Model:
    """A model with constants that were replaced, each by what can be broadcast to these rows."""
    values = {path: _lanes(x, rows, constants.shape_of(model, path)) for path, x in parameters.items()}
    return constants.with_parameters(model, values) if values else model


def _lanes(x: Array, rows: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """A number of this shape for each of these rows, as lanes of all of them."""
    flat = np.broadcast_to(x, (*rows, *shape)).reshape(prod(rows), *shape).astype(float)
    return [*np.moveaxis(flat, -1, 0)] if shape else flat
