"""From a text and a model to a program: the text run on expressions, in whichever frames take fewer operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from qdot.algebra import Scalar, entries_of
from qdot.algorithms.frames import body_frames, root_frame
from qdot.compiler.nodes import TooLarge
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from qdot.errors import CompileError
from qdot.model.model import Model
from qdot.model.vectors import LAYOUTS
from qdot.programs import (
    expressions as _expressions,  # makes traced expressions scalars  # noqa: F401
    parameters as constants,
)
from qdot.spatial import Force

Check: TypeAlias = Callable[[Model, Mapping[str, Any], Mapping[str, Any]], Scalar]
"""Of a model, inputs and outputs: a number that is small where all is well."""


LARGE = 2**16
"""Operations of a program beyond which it is not written in other frames to compare."""


@dataclass(frozen=True)
class Request:
    """What to make a program of: a text and a model, its vectors being inputs; model constants and wrenches on frames
    that are inputs too, and arguments of the shapes in `inputs`; the other arguments.

    A `check` is computed as one more output of this name. A program of more than `limit` nodes is not made: the
    compiler's `TooLarge` is raised.
    """

    text: Callable[..., Any]
    model: Model
    parameters: tuple[str, ...] = ()
    wrenches: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    check: Check | None = None
    limit: int | None = None
    inputs: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def name(self) -> str:
        return getattr(self.text, "__name__", "function")


@dataclass(frozen=True)
class Form:
    """How the outputs make up a text's result: one "array", or a "tuple" or "dict" of them with these keys."""

    kind: str
    keys: tuple[Any, ...] = ()

    def rebuilt(self, arrays: Mapping[str, Any]) -> Any:
        """The result, of the arrays of the outputs by name."""
        if self.kind == "array":
            return arrays["result"]
        if self.kind == "tuple":
            return tuple(arrays[str(k)] for k in self.keys)
        return {k: arrays[str(k)] for k in self.keys}


class Traced(NamedTuple):
    """A program, and the form of its result."""

    program: Program
    form: Form


def traced(request: Request) -> Traced:
    """The cheapest program there is."""
    ways, reason = [], None
    for options in _formulations(request.text, request.options):
        try:
            ways.append(_traced(request, options))
        except TooLarge as error:
            reason = error
        if ways and ways[-1].program.operations() > LARGE:
            break  # writing it once takes long enough
    if reason is not None and not ways:
        raise reason
    return min(ways, key=lambda way: way.program.operations())


def _formulations(text: Callable[..., Any], options: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The ways to write an algorithm that works in several frames: tracing is quick, so the cheapest is found."""
    choice = inspect.signature(text).parameters.get("frames")
    if choice is not None and choice.default is body_frames and "frames" not in options:
        for frames in (body_frames, root_frame):
            yield {**options, "frames": frames}
    else:
        yield options


def _traced(request: Request, options: Mapping[str, Any]) -> Traced:
    text, model = request.text, request.model
    inputs: dict[str, tuple[int, ...]] = {}
    vectors = []
    for name, parameter in inspect.signature(text).parameters.items():
        if name in LAYOUTS and name not in options and parameter.default in (inspect.Parameter.empty, ()):
            vectors.append(name)
            inputs[name] = (LAYOUTS[name].size(model),)
    inputs |= dict(request.inputs)
    vectors += [name for name, _ in request.inputs]
    for path in request.parameters:
        inputs[path] = constants.shape_of(model, path)
    for frame in request.wrenches:
        model.frame(frame)
        inputs[f"wrench.{frame}"] = (6,)
    forms: list[Form] = []

    def run(**given: Any) -> dict[str, Any]:
        changed = constants.with_parameters(model, {p: given[p] for p in request.parameters})
        extra = dict(options)
        if request.wrenches:
            extra["wrenches"] = {f: Force.of(given[f"wrench.{f}"]) for f in request.wrenches}
        form, named = _outputs(text(changed, **{v: given[v] for v in vectors}, **extra))
        forms.append(form)
        return named if request.check is None else named | {"check": [request.check(model, given, named)]}

    try:
        program = trace(request.name, run, inputs, request.limit)
    except TypeError as error:
        raise CompileError(f"{request.name!r} cannot be compiled for {model.name!r}: {error}") from error
    return Traced(program, forms[0])


def _outputs(result: Any) -> tuple[Form, dict[str, Any]]:
    """The form of a result, and its entries by name."""
    if isinstance(result, Mapping):
        return Form("dict", tuple(result)), {str(k): entries_of(v) for k, v in result.items()}
    if isinstance(result, tuple):
        return Form("tuple", tuple(range(len(result)))), {str(k): entries_of(v) for k, v in enumerate(result)}
    return Form("array"), {"result": entries_of(result)}
