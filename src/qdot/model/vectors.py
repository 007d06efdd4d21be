"""The vectors q, v, a, tau that people pass: checked against the model, and split into scalars.

A vector of n numbers becomes n floats; an array (batch, n) becomes n lanes of the batch; symbols pass as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Scalars, is_number, plain, scalar_problem
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.model.model import Body, Model

UNIT_TOLERANCE = 1e-6
"""How far a quaternion may be from unit length: more than rounding or a file's decimals, less than any mistake."""

CONFIGURATIONS = ("q", "q0", "q1")
NEAR_CONFIGURATIONS = ("near_q",)  # as long as a configuration, but perhaps off the manifold
VELOCITIES = ("v", "a", "tau", "dv", "p")
CONTROLS = ("control",)
ACTIVATIONS = ("activation",)


class Layout(NamedTuple):
    """Of a kind of vector: what its size is called, how large it is and what its entries are called in a model."""

    called: str
    size: Callable[[Model], int]
    names: Callable[[Model], list[str]]


_KINDS = (
    (CONFIGURATIONS + NEAR_CONFIGURATIONS, Layout("nq", lambda m: m.nq, lambda m: m.coordinate_names())),
    (VELOCITIES, Layout("nv", lambda m: m.nv, lambda m: m.dof_names())),
    (CONTROLS, Layout("nu", lambda m: m.nu, lambda m: m.control_names())),
    (ACTIVATIONS, Layout("na", lambda m: m.na, lambda m: m.activation_names())),
)
LAYOUTS = {name: layout for names, layout in _KINDS for name in names}
"""By the name of an argument: those called so are vectors of the model."""


def scalars_of(model: Model, name: str, value: Any) -> list[Scalar]:
    """The scalars of a vector argument called `name`; raises a `ValueShapeError` that says what is wrong with it."""
    size = LAYOUTS[name].size(model)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        raise ValueShapeError(f"{name} of model {model.name!r} is ragged: its rows have different lengths") from None
    if array.dtype.kind == "O" and all(is_number(x) for x in array.flat):
        array = array.astype(float)
    if array.dtype.kind not in "Ofiub" or array.ndim == 0:
        raise ValueShapeError(f"{name} of model {model.name!r} must be a vector of numbers or symbols, got {value!r}")
    if array.ndim > 2 or array.shape[-1] != size or (array.dtype.kind == "O" and array.ndim != 1):
        raise ValueShapeError(_length_message(model, name, array.shape, size))
    if array.dtype.kind == "O":
        return _symbols(model, name, list(array))
    array = array.astype(float, copy=False)
    _check_finite(model, name, array)
    scalars: list[Scalar] = array.tolist() if array.ndim == 1 else list(np.ascontiguousarray(array.T))
    if name in CONFIGURATIONS:
        check_on_manifold(model, name, scalars)
    elif name in NEAR_CONFIGURATIONS:
        _check_not_zero(model, name, scalars)
    return scalars


def _symbols(model: Model, name: str, entries: list[Scalar]) -> list[Scalar]:
    for entry, x in zip(LAYOUTS[name].names(model), entries, strict=True):
        problem = scalar_problem(x)
        if problem is not None:
            raise ValueShapeError(f"{name} of model {model.name!r} at {entry!r}: {problem}")
    return entries


def _length_message(model: Model, name: str, shape: tuple[int, ...], size: int) -> str:
    kind = LAYOUTS[name].called
    names = LAYOUTS[name].names(model)
    listed = ", ".join(names[:12]) + (", …" if size > 12 else "")
    return (
        f"{name} has shape {shape}, but model {model.name!r} needs ({size},) or (batch, {size}): {kind} = {size}, one "
        f"entry for each of: {listed}"
    )


def _check_finite(model: Model, name: str, array: NDArray[np.float64]) -> None:
    if np.isfinite(array).all():
        return
    place = tuple(np.argwhere(~np.isfinite(array))[0])
    names = LAYOUTS[name].names(model)
    row = f" in row {place[0]} of the batch" if array.ndim == 2 else ""
    raise ValueShapeError(
        f"{name} of model {model.name!r} is {array[place]} at {names[place[-1]]!r}{row}; entries must be finite numbers"
    )


def _check_not_zero(model: Model, name: str, q: Scalars) -> None:
    """A quaternion of zeros has no nearest rotation."""
    for body in model.bodies:
        if body.joint.nq != body.joint.nv:
            given = np.stack(np.broadcast_arrays(*q[body.qs]), axis=-1)
            with np.errstate(invalid="ignore", divide="ignore"):
                near = body.joint.normalized(list(np.atleast_2d(given).T))
            if not all(np.isfinite(x).all() for x in near):
                raise ValueShapeError(
                    f"{name} of model {model.name!r}: the quaternion of joint {body.joint_name!r} is zero, which is "
                    "near no rotation; (1, 0, 0, 0) is none at all"
                )


def configuration_of(model: Model, joint: str, value: Any) -> list[Scalar]:
    """The coordinates of one joint that people pass, checked."""
    body = model.joint(joint)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    entries = [plain(x) for x in value] if isinstance(value, (list, tuple, np.ndarray)) else [plain(value)]
    what = f"joint {joint!r} of model {model.name!r}"
    for x in entries:
        problem = "it is an array" if isinstance(x, np.ndarray) else scalar_problem(x)
        if problem is not None:
            raise ValueShapeError(f"{what} takes {body.joint.nq} numbers, got {value!r}: {problem}")
    if len(entries) != body.joint.nq:
        raise ValueShapeError(f"{what} takes {body.joint.nq} numbers, got {value!r}")
    if all(is_number(x) for x in entries):
        _check_unit(model, "q", body, entries)
    return entries


def check_on_manifold(model: Model, name: str, q: Scalars) -> None:
    """Raise where the quaternion of a joint is not of unit length."""
    for body in model.bodies:
        if body.joint.nq != body.joint.nv:
            _check_unit(model, name, body, q[body.qs])


def _check_unit(model: Model, name: str, body: Body, q: Scalars) -> None:
    if body.joint.nq == 0:
        return
    given = np.atleast_2d(np.stack(np.broadcast_arrays(*q), axis=-1).astype(float))
    with np.errstate(invalid="ignore", divide="ignore"):
        near = np.stack(body.joint.normalized(list(given.T)), axis=-1)
    off = ~(np.abs(given - near) <= UNIT_TOLERANCE).all(axis=-1)
    if off.any():
        row = int(np.argmax(off))
        where = f" in row {row} of the batch" if len(given) > 1 else ""
        raise ValueShapeError(
            f"{name} of model {model.name!r}: the quaternion (w, x, y, z) of joint {body.joint_name!r} is not of "
            f"unit length{where}: {given[row].tolist()}; use qdot.normalized(model, {name}), and mind that other "
            "libraries order quaternions (x, y, z, w) or put the position first"
        )
