"""The vectors q, v, a, tau that people pass: checked against the model, and split into scalars.

A vector of n numbers becomes n floats; an array (batch, n) becomes n lanes of the batch; symbols pass as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalar, Scalars
from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.model.model import Model

UNIT_TOLERANCE = 1e-6
"""How far a quaternion may be from unit length: more than rounding or a file's decimals, less than any mistake."""

CONFIGURATIONS = ("q", "q0", "q1")
NEAR_CONFIGURATIONS = ("near_q",)  # as long as a configuration, but perhaps off the manifold
VELOCITIES = ("v", "a", "tau", "dv")


def scalars_of(model: Model, name: str, value: Any) -> list[Scalar]:
    """The scalars of a vector argument called `name`; raises a `ValueShapeError` that says what is wrong with it."""
    is_configuration = name in CONFIGURATIONS
    size = model.nv if name in VELOCITIES else model.nq
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueShapeError(f"{name} of model {model.name!r} is ragged: its rows have different lengths") from None
    if array.dtype.kind == "O" and array.ndim >= 1:
        return _symbols(model, name, list(array), size)
    if array.dtype.kind not in "fiub":
        raise ValueShapeError(f"{name} of model {model.name!r} must be real numbers or symbols, got {value!r}")
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise ValueShapeError(_length_message(model, name, array.shape, size))
    array = array.astype(float, copy=False)
    _check_finite(model, name, array)
    scalars: list[Scalar] = array.tolist() if array.ndim == 1 else list(np.ascontiguousarray(array.T))
    if is_configuration and model.nq != model.nv:
        _check_on_manifold(model, name, scalars)
    return scalars


def _symbols(model: Model, name: str, entries: list[Scalar], size: int) -> list[Scalar]:
    if len(entries) != size or any(isinstance(x, (np.ndarray, str, list, tuple, type(None))) for x in entries):
        if any(isinstance(x, (str, type(None))) for x in entries):
            raise ValueShapeError(f"{name} of model {model.name!r} must be numbers or symbols, got {entries!r}")
        raise ValueShapeError(_length_message(model, name, (len(entries),), size))
    return entries


def _length_message(model: Model, name: str, shape: tuple[int, ...], size: int) -> str:
    kind = "nv" if name in VELOCITIES else "nq"
    names = _names(model, name)
    listed = ", ".join(names[:12]) + (", …" if size > 12 else "")
    return (
        f"{name} has shape {shape}, but model {model.name!r} needs ({size},) or (batch, {size}): {kind} = {size}, one "
        f"entry for each of: {listed}"
    )


def _names(model: Model, name: str) -> list[str]:
    return model.dof_names() if name in VELOCITIES else model.coordinate_names()


def _check_finite(model: Model, name: str, array: NDArray[np.float64]) -> None:
    if np.isfinite(array).all():
        return
    place = tuple(np.argwhere(~np.isfinite(array))[0])
    names = _names(model, name)
    row = f" in row {place[0]} of the batch" if array.ndim == 2 else ""
    raise ValueShapeError(
        f"{name} of model {model.name!r} is {array[place]} at joint {names[place[-1]]!r}{row}; entries must be finite "
        "numbers"
    )


def _check_on_manifold(model: Model, name: str, q: Scalars) -> None:
    for body in model.bodies:
        if body.joint.nq == body.joint.nv:
            continue
        given = q[body.qs]
        with np.errstate(invalid="ignore", divide="ignore"):
            try:
                near = body.joint.normalized(given)
            except ZeroDivisionError:
                near = [np.nan] * len(given)
        off = max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(given, near, strict=True))
        if not off <= UNIT_TOLERANCE:
            raise ValueShapeError(
                f"{name} of model {model.name!r}: the quaternion (w, x, y, z) of joint {body.joint_name!r} is not of "
                f"unit length ({[float(np.ravel(x)[0]) for x in given]}); use qdot.normalized(model, {name}), and mind "
                "that other libraries order quaternions (x, y, z, w) or put the position first"
            )
