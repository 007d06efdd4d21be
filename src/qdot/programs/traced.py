"""From a text and a model to a program: the text run on expressions, in whichever frames take fewer operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from qdot.algebra import Scalar, entries_of
from qdot.algorithms.frames import body_frames, root_frame
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from qdot.errors import CompileError
from qdot.model.model import Model
from qdot.model.vectors import CONFIGURATIONS, NEAR_CONFIGURATIONS, VELOCITIES
from qdot.programs import (
    expressions as _expressions,  # makes traced expressions scalars  # noqa: F401
    parameters as constants,
)
from qdot.spatial import Force

VECTORS = frozenset(CONFIGURATIONS + NEAR_CONFIGURATIONS + VELOCITIES)
"""Names of arguments that are vectors of the model."""


Check: TypeAlias = Callable[[Model, Mapping[str, Any], Mapping[str, Any]], Scalar]
"""Of a model, inputs and outputs: a number that is small where all is well."""


class Traced(NamedTuple):
    """A program, and how to put the arrays of its outputs, by name, into the form of the text's result."""

    program: Program
    rebuild: Callable[[Mapping[str, Any]], Any]


def traced(
    text: Callable[..., Any],
    model: Model,
    *,
    parameters: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    options: Mapping[str, Any],
    check: Check | None = None,
    limit: int | None = None,
) -> Traced:
    """The cheapest program of a text: its vectors are inputs, and so are these model constants and wrenches.

    A `check` is computed as one more output of this name. Beyond `limit` nodes the compiler's `TooLarge` is raised.
    """
    ways = [_traced(text, model, parameters, wrenches, choice, check, limit) for choice in _formulations(text, options)]
    return min(ways, key=lambda way: way.program.operations())


def _formulations(text: Callable[..., Any], options: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The ways to write an algorithm that works in several frames: tracing is quick, so the cheapest is found."""
    if "frames" in inspect.signature(text).parameters and "frames" not in options:
        for frames in (body_frames, root_frame):
            yield {**options, "frames": frames}
    else:
        yield options


def _traced(
    text: Callable[..., Any],
    model: Model,
    paths: Sequence[str],
    frames: Sequence[str],
    options: Mapping[str, Any],
    check: Check | None,
    limit: int | None,
) -> Traced:
    inputs: dict[str, tuple[int, ...]] = {}
    vectors = []
    for name, parameter in inspect.signature(text).parameters.items():
        if name in VECTORS and name not in options and parameter.default is inspect.Parameter.empty:
            vectors.append(name)
            inputs[name] = (model.nv if name in VELOCITIES else model.nq,)
    for path in paths:
        inputs[path] = constants.shape_of(model, path)
    for frame in frames:
        model.frame(frame)
        inputs[f"wrench.{frame}"] = (6,)
    structure: list[Any] = []

    def run(**given: Any) -> dict[str, Any]:
        changed = constants.with_parameters(model, {p: given[p] for p in paths}) if paths else model
        extra = dict(options)
        if frames:
            extra["wrenches"] = {f: Force.of(given[f"wrench.{f}"]) for f in frames}
        named, rebuild = _outputs(text(changed, *(given[v] for v in vectors), **extra))
        structure.append(rebuild)
        return named if check is None else named | {"check": check(model, given, named)}

    try:
        program = trace(getattr(text, "__name__", "function"), run, inputs, limit)
    except TypeError as error:
        raise CompileError(
            f"{getattr(text, '__name__', text)!r} cannot be compiled for {model.name!r}: {error}"
        ) from error
    return Traced(program, structure[0])


def _outputs(result: Any) -> tuple[dict[str, Any], Callable[[Mapping[str, Any]], Any]]:
    """Named outputs of a result, and how to put their arrays back into its form."""
    if isinstance(result, Mapping):
        return {str(k): entries_of(v) for k, v in result.items()}, lambda arrays: {k: arrays[str(k)] for k in result}
    if isinstance(result, tuple):
        named = {str(k): entries_of(v) for k, v in enumerate(result)}
        return named, lambda arrays: tuple(arrays[str(k)] for k in range(len(result)))
    return {"result": entries_of(result)}, lambda arrays: arrays["result"]
