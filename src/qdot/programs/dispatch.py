"""Numbers go to compiled programs: one for each public function, model and choice of options, built at first use.

Along with its results such a program computes a check: the sum of the magnitudes of all inputs and results, infinite
where a quaternion is not of unit length. Where it is not small (something is infinite, no number, or beyond reason) the
call goes on to the text with its checks, which find the cause and name it. So sound calls pay nothing for them.

Programs that would be very large are not built; their texts run on numbers as they are. `QDOT_COMPILE=off` runs all
texts so, which is slower, and easier to follow in a debugger.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalar, Scalars, absolute, as_array, is_number, scalars_in, where
from qdot.compiler.expr import Expr
from qdot.compiler.graph import TooLarge
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.model.vectors import CONFIGURATIONS, UNIT_TOLERANCE
from qdot.programs.traced import VECTORS, Request
from qdot.spatial import Force

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.programs.compiled import Compiled

ENABLED = os.environ.get("QDOT_COMPILE", "").lower() not in ("off", "0", "no", "none", "false")
KEPT = 256
"""Programs kept by each function; those built first go first."""

LARGE = 150_000
"""Nodes of a trace beyond which compiling would take half a minute and more."""


class Programs:
    """The compiled programs of one public function."""

    def __init__(self, text: Callable[..., Any], fits: Callable[[Model], bool]) -> None:
        """`fits` tells whether the text may be compiled for a model at all."""
        self._text = text
        self._fits = fits
        self._signature = inspect.signature(text)
        parameters = self._signature.parameters
        self._vectors = [n for n, p in parameters.items() if n in VECTORS and p.default is inspect.Parameter.empty]
        self._optional = [n for n, p in parameters.items() if n in VECTORS and p.default is None]
        self._vectors_first = list(parameters)[1 : 1 + len(self._vectors)] == self._vectors
        self._built: dict[Any, Compiled | None] = {}
        self._models: dict[int, Model] = {}
        self._lock = threading.Lock()
        self.quick: dict[int, Callable[..., Any]] = {}
        """By a model's identity: a built-in function of single vectors, see `Compiled.quick`."""

    def result(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any | None:
        """What the compiled program gives; None where the text has to run, or has to say what is wrong."""
        if not ENABLED or not self._vectors:
            return None
        if self._vectors_first and not kwargs and len(args) == 1 + len(self._vectors):
            given = dict(zip(("model", *self._vectors), args, strict=True))
        else:
            try:
                given = self._signature.bind(*args, **kwargs).arguments
            except TypeError:
                return None
        model = given.pop("model")
        if not isinstance(model, Model) or any(given.get(name) is not None for name in self._optional):
            return None
        arrays = _numeric({name: given.pop(name) for name in self._vectors})
        forces = _wrenches(given.pop("wrenches", None))
        if arrays is None or forces is None:
            return None
        compiled = self._program(model, tuple(given.items()), tuple(forces))
        if compiled is None:
            return None
        values = [*arrays.values(), *forces.values()]
        batch = _batch(values, compiled)
        return None if batch is None else compiled.sound(values, *batch)

    def _program(self, model: Model, options: tuple[tuple[str, Any], ...], frames: tuple[str, ...]) -> Compiled | None:
        key = model, options, frames
        try:
            hash(key)
        except TypeError:  # an option that is an array, say
            return None
        with self._lock:
            if key not in self._built:
                fits = is_numeric(model) and self._fits(model)
                self._built[key] = self._build(model, dict(options), frames) if fits else None
                if len(self._built) > KEPT:
                    del self._built[next(iter(self._built))]
            found = self._built[key]
            if found is not None and not options and not frames and id(model) not in self.quick:
                self._models[id(model)] = model  # alive, so that its identity stays its own
                self.quick[id(model)] = found.quick
                if len(self.quick) > KEPT:
                    oldest = next(iter(self.quick))
                    del self.quick[oldest], self._models[oldest]
        return found

    def _build(self, model: Model, options: dict[str, Any], frames: tuple[str, ...]) -> Compiled | None:
        from qdot.programs.compiled import Compiled

        if any(frame not in model.frames for frame in frames):
            return None
        try:
            return Compiled(Request(self._text, model, (), frames, options, _check, LARGE))
        except TooLarge:
            return None


def _check(model: Model, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Scalar:
    """Σ |x| over all different inputs and outputs; infinite off the manifold."""
    different = {x.index: x for x in scalars_in([*inputs.values(), *outputs.values()]) if isinstance(x, Expr)}
    check: Scalar = sum((absolute(x) for x in different.values()), start=0)
    for name in inputs:
        if name in CONFIGURATIONS and model.nq != model.nv:
            check = check + where(_off_manifold(model, inputs[name]) <= UNIT_TOLERANCE**2, 0.0, np.inf)
    return check


def _off_manifold(model: Model, q: Scalars) -> Scalar:
    """Σ (q - nearest)² over the joints with quaternions."""
    total: Scalar = 0
    for body in model.bodies:
        if body.joint.nq != body.joint.nv:
            near = body.joint.normalized(q[body.qs])
            total = total + sum((a - b) * (a - b) for a, b in zip(q[body.qs], near, strict=True))
    return total


def is_numeric(model: Model) -> bool:
    """Whether all constants of a model are plain numbers, so that a program can be made of it and kept."""
    constants = [
        [b.inertia, b.placement, [b.passive.armature, b.passive.damping, b.passive.friction, b.passive.stiffness]]
        for b in model.bodies
    ]
    return all(is_number(x) for x in scalars_in([model.gravity, constants]))


def _numeric(values: Mapping[str, Any]) -> dict[str, NDArray[Any]] | None:
    arrays = {}
    for name, value in values.items():
        try:
            array = np.asarray(value)
        except (ValueError, TypeError):
            return None
        if array.dtype.kind not in "fiu":
            return None
        arrays[name] = array
    return arrays


def _wrenches(given: Any) -> dict[str, NDArray[Any]] | None:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return None
    try:
        values = {name: as_array(w) if isinstance(w, Force) else w for name, w in given.items()}
    except (TypeError, ValueShapeError):
        return None
    return _numeric(values)


def _batch(arrays: Sequence[NDArray[Any]], compiled: Compiled) -> tuple[int, ...] | None:
    """() for single rows, (rows,) for a batch, None where shapes do not fit."""
    sizes = set()
    for array, shape in zip(arrays, compiled.inputs.values(), strict=True):
        if array.shape == shape:
            continue
        if array.shape[1:] != shape:
            return None
        sizes.add(len(array))
    return tuple(sizes) if len(sizes) < 2 else None
