"""Numbers go to compiled programs: one for each public function, model and choice of options, built at first use.

Along with its results such a program computes a check: the sum of the magnitudes of all inputs and results, infinite
where a quaternion is not of unit length. Rows for which it is not small (something is infinite, no number, or beyond
reason) go on to the text with its checks, which find the cause and name it, or answer. So sound rows pay next to
nothing for them.

Not everything is compiled: what cannot be traced, what would be very large, options that are numbers (a new program for
each would not pay), and models beyond the first `MANY`, for a loop over models would compile for longer than it runs.
Their texts run on numbers as they are. `QDOT_COMPILE=off` runs all texts so, which is slower, and easier to follow in a
debugger.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.algebra import Scalar, Scalars, absolute, as_array, is_number, maximum, scalars_in, where
from qdot.backends.cache import OFF
from qdot.compiler.expr import Expr
from qdot.compiler.nodes import TooLarge
from qdot.description.leaves import leaves_of
from qdot.errors import QdotError, ValueShapeError
from qdot.model.model import Model
from qdot.model.vectors import CONFIGURATIONS, LAYOUTS, UNIT_TOLERANCE
from qdot.programs.traced import Request
from qdot.spatial import Force

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.programs.compiled import Compiled


def _enabled() -> bool:
    """What QDOT_COMPILE says: on, unless it says off."""
    said = os.environ.get("QDOT_COMPILE", "").strip().lower()
    if said not in ("", "on", "1", "yes", "true", *OFF):
        warnings.warn(f"QDOT_COMPILE={said!r} is neither on nor off; functions compile themselves", stacklevel=2)
    return said not in OFF


ENABLED = _enabled()
MANY = 64
"""Programs that a function builds."""

LARGE = 150_000
"""Nodes of a trace beyond which compiling would take half a minute and more."""

Unsound: TypeAlias = "NDArray[np.bool_]"
"""Which rows of a batch failed the check."""


class Programs:
    """The compiled programs of one public function."""

    def __init__(self, text: Callable[..., Any], fits: Callable[[Model], bool]) -> None:
        """`fits` tells whether the text may be compiled for a model at all."""
        self._text = text
        self._fits = fits
        self._signature = inspect.signature(text)
        parameters = self._signature.parameters
        needed = (inspect.Parameter.empty, ())  # what may be empty is an input too: models differ in what they need
        self._vectors = [n for n, p in parameters.items() if n in LAYOUTS and p.default in needed]
        self._optional = [n for n, p in parameters.items() if n in LAYOUTS and p.default is None]
        self._vectors_first = list(parameters)[1 : 1 + len(self._vectors)] == self._vectors
        self._built: dict[Any, Compiled | None] = {}
        self._models: dict[int, Model] = {}
        self.quick: dict[int, Callable[..., Any]] = {}
        """By a model's identity: a built-in function of single vectors, see `Compiled.quick`."""

    def result(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Unsound | None] | None:
        """What the compiled program gives, and which rows of a batch are not sound; None where there is no program for
        these arguments, or a single row is not sound."""
        if not ENABLED or not self._vectors:
            return None
        if self._vectors_first and not kwargs and len(args) == 1 + len(self._vectors):
            given = dict(zip(("model", *self._vectors), args, strict=True))
        else:
            try:
                given = dict.fromkeys(self._vectors, ()) | self._signature.bind(*args, **kwargs).arguments
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
        if not all(_is_a_choice(x) for _, x in options):
            return None
        key = model, tuple((name, type(x), x) for name, x in options), frames
        try:
            known = key in self._built
        except TypeError:  # a model that holds arrays has no hash
            return None
        if not known and len(self._built) >= MANY:
            self._say_that_there_are_many()
            return None
        if not known:
            self._built[key] = self._build(model, dict(options), frames)
        found = self._built[key]
        if found is not None and not options and not frames and id(model) not in self.quick and len(self.quick) < MANY:
            self._models[id(model)] = model  # alive, so that its identity stays its own
            self.quick[id(model)] = found.quick
        return found

    def _build(self, model: Model, options: dict[str, Any], frames: tuple[str, ...]) -> Compiled | None:
        from qdot.programs.compiled import Compiled

        if not is_numeric(model) or not self._fits(model) or any(frame not in model.frames for frame in frames):
            return None
        try:
            return Compiled(Request(self._text, model, (), frames, options, _check, LARGE), layout="rows")
        except (TooLarge, QdotError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None  # the text says what is wrong, or runs where expressions do not

    def _say_that_there_are_many(self) -> None:
        warnings.warn(
            f"{self._text.__name__} was compiled for {MANY} models; further ones run their text, which is slower. To "
            "vary a model's constants, make them inputs: qdot.compile(…, parameters=[…])",
            stacklevel=5,
        )


def merged(result: Any, text: Any, rows: Unsound) -> Any:
    """The result with these rows of the batch taken from that of the text."""
    if isinstance(result, tuple):
        return tuple(merged(x, y, rows) for x, y in zip(result, text, strict=True))
    if isinstance(result, dict):
        return {key: merged(x, text[key], rows) for key, x in result.items()}
    result[rows] = text[rows]
    return result


def _is_a_choice(x: Any) -> bool:
    """Whether an option is one of few: a name, a switch, one of an enumeration."""
    return x is None or isinstance(x, (str, bool, Enum)) or (isinstance(x, tuple) and all(map(_is_a_choice, x)))


def _check(model: Model, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Scalar:
    """Σ |x| over all different inputs and outputs; infinite off the manifold."""
    different = {x.index: x for x in scalars_in([*inputs.values(), *outputs.values()]) if isinstance(x, Expr)}
    check = _in_pairs([absolute(x) for x in different.values()])
    for name in inputs:
        if name in CONFIGURATIONS and model.nq != model.nv:
            check = check + where(_off_manifold(model, inputs[name]) <= UNIT_TOLERANCE, 0.0, np.inf)
    return check


def _in_pairs(terms: Sequence[Scalar]) -> Scalar:
    """The sum, of pairs of pairs: one row waits for as many additions in a row as the levels, not for one each."""
    if len(terms) < 2:
        return terms[0] if terms else 0
    half = len(terms) // 2
    return _in_pairs(terms[:half]) + _in_pairs(terms[half:])


def _off_manifold(model: Model, q: Scalars) -> Scalar:
    """The largest |q - nearest| of the joints with quaternions, as the text measures it."""
    largest: Scalar = 0
    for body in model.bodies:
        if body.joint.nq != body.joint.nv:
            for x, near in zip(q[body.qs], body.joint.normalized(q[body.qs]), strict=True):
                largest = maximum(largest, absolute(x - near))
    return largest


def is_numeric(model: Model) -> bool:
    """Whether all constants of a model are plain numbers, so that a program can be made of it and kept."""
    constants = [
        [b.inertia, b.placement, [b.passive.armature, b.passive.damping, b.passive.friction, b.passive.stiffness]]
        for b in model.bodies
    ]
    frames = [frame.placement for frame in model.frames.values()]
    extra = [(b.record.gravity_compensation, b.record.drag) for b in model.bodies]
    records = (model.description.fluid, model.tendons, model.actuators, model.constraints, model.bushings, tuple(extra))
    return all(is_number(x) for x in scalars_in([model.gravity, constants, frames])) and all(
        x is None or isinstance(x, str) or is_number(x) for x in leaves_of(records)
    )


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
