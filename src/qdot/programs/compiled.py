"""`compile`: a function of a model traced once, and turned into machine code or C."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import entries_of
from qdot.algorithms.frames import body_frames, root_frame
from qdot.backends.cache import cached
from qdot.compiler.program import Port, Program
from qdot.compiler.trace import trace
from qdot.errors import CompileError, ValueShapeError
from qdot.model.model import Model, require_model
from qdot.model.vectors import CONFIGURATIONS, NEAR_CONFIGURATIONS, VELOCITIES
from qdot.programs import (
    expressions as _expressions,  # makes traced expressions scalars  # noqa: F401
    parameters as constants,
)
from qdot.spatial import Force

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.backends.runtime import Loaded

TARGETS = ("llvm", "c", "interpreter")
SLOW = 1.0
"""Seconds of compiling after which a note is due."""


def compile(
    function: Callable[..., Any],
    model: Model,
    *,
    target: str = "llvm",
    dtype: str = "float64",
    parameters: Iterable[str] = (),
    wrenches: Iterable[str] = (),
    **options: Any,
) -> Compiled:
    """The function of this model as a program for a target: "llvm" (this processor), "c", or "interpreter".

    `function` is one of qdot's, or any function of (model, q, v, …) written with the operators and the functions of
    qdot.algebra. Its arguments called q, v, a, tau … become inputs; so do the model constants named in `parameters`
    (see qdot.programs.parameters), a value for each row, and external wrenches on the frames named in `wrenches`, as
    inputs "wrench.NAME". Other arguments are given here, as `frame="hand"`.
    """
    require_model(model, "compile")
    if target not in TARGETS:
        raise CompileError(f"target {target!r} is unknown; choose from {', '.join(TARGETS)}")
    if np.dtype(dtype) not in (np.dtype("float64"), np.dtype("float32")):
        raise CompileError(f"dtype {dtype!r} cannot be compiled; choose float64 or float32")
    text = inspect.unwrap(function)
    given = (tuple(parameters), tuple(wrenches))
    program, rebuild = min(
        (_traced(text, model, *given, choice) for choice in _formulations(text, options)),
        key=lambda traced: traced[0].operations(),
    )
    return Compiled(program, rebuild, target, np.dtype(dtype).name)


def _formulations(text: Callable[..., Any], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The ways to write an algorithm that works in several frames: tracing is quick, so the cheapest is found."""
    if "frames" in inspect.signature(text).parameters and "frames" not in options:
        for frames in (body_frames, root_frame):
            yield {**options, "frames": frames}
    else:
        yield options


def _traced(
    text: Callable[..., Any], model: Model, paths: tuple[str, ...], frames: tuple[str, ...], options: Mapping[str, Any]
) -> tuple[Program, Any]:
    inputs: dict[str, tuple[int, ...]] = {}
    vectors = []
    for name, parameter in inspect.signature(text).parameters.items():
        is_vector = name in (*CONFIGURATIONS, *NEAR_CONFIGURATIONS, *VELOCITIES)
        if is_vector and name not in options and parameter.default is inspect.Parameter.empty:
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
        return named

    try:
        program = trace(getattr(text, "__name__", "function"), run, inputs)
    except TypeError as error:
        raise CompileError(
            f"{getattr(text, '__name__', text)!r} cannot be compiled for {model.name!r}: {error}"
        ) from error
    return program, structure[0]


def _outputs(result: Any) -> tuple[dict[str, Any], Callable[[Mapping[str, Any]], Any]]:
    """Named outputs of a result, and how to put their arrays back into its form."""
    if isinstance(result, Mapping):
        return {str(k): entries_of(v) for k, v in result.items()}, lambda arrays: {k: arrays[str(k)] for k in result}
    if isinstance(result, tuple):
        named = {str(k): entries_of(v) for k, v in enumerate(result)}
        return named, lambda arrays: tuple(arrays[str(k)] for k in range(len(result)))
    return {"result": entries_of(result)}, lambda arrays: arrays["result"]


class Compiled:
    """A compiled function: call it with arrays by position or name, `(…)` for one row or `(batch, …)` for many.

    Rows are computed independently and alike, so results do not depend on the batch, its memory layout or the threads.
    """

    def __init__(self, program: Program, rebuild: Callable[[Mapping[str, Any]], Any], target: str, dtype: str) -> None:
        self.program = program
        self.target = target
        self.dtype = np.dtype(dtype)
        self._rebuild = rebuild
        self._code: Loaded | None = _load(program, dtype) if target == "llvm" else None
        self._names = tuple(p.name for p in program.inputs)
        self._shapes = tuple(p.shape for p in program.inputs)
        self._one_result = [p.name for p in program.outputs] == ["result"]

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The shape of one row of each input."""
        return {p.name: p.shape for p in self.program.inputs}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The shape of one row of each output."""
        return {p.name: p.shape for p in self.program.outputs}

    @property
    def operations(self) -> int:
        """Arithmetic operations in one evaluation."""
        return self.program.operations()

    def __repr__(self) -> str:
        takes = ", ".join(f"{n}{list(s)}" for n, s in self.inputs.items())
        return f"<compiled {self.program.name}({takes}) for {self.target}, {self.dtype}, {self.operations} operations>"

    def __call__(
        self,
        *args: Any,
        out: NDArray[Any] | Mapping[str, NDArray[Any]] | None = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Evaluate. `out` is an array, or arrays by output name, to write into; `threads` bounds how many are used."""
        if self._code is not None and out is None and not kwargs and self._are_rows(args):
            return self._single(args)
        if self.target == "c":
            raise CompileError("a program compiled to C is written to a file with write(path), not called")
        values = self._bound(args, kwargs)
        arrays = [self._array(p, x) for p, x in zip(self.program.inputs, values, strict=True)]
        batch = self._batch(arrays)
        if batch is None and out is None and self._code is not None:
            return self._single(arrays)
        targets = self._targets(out, batch, arrays)
        results = self._evaluate(arrays, 1 if batch is None else batch, targets, threads)
        if batch is None:
            results = {name: x[0] for name, x in results.items()}
        return self._rebuild(results)

    def _are_rows(self, args: Sequence[Any]) -> bool:
        """Whether these are arrays of one row each, which need no further look."""
        if len(args) != len(self._shapes):
            return False
        for a, shape in zip(args, self._shapes):  # noqa: B905  counted above, and this loop is what a call costs
            if type(a) is not np.ndarray or a.shape != shape or a.dtype is not self.dtype:
                return False
        return True

    def _single(self, arrays: Sequence[Any]) -> Any:
        assert self._code is not None
        rows = self._code.single(arrays)
        if self._one_result:
            return rows[0]
        return self._rebuild({p.name: r for p, r in zip(self.program.outputs, rows, strict=True)})

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the program as one self-contained C file; returns its path."""
        from qdot.backends.c import source

        file = Path(path)
        file.write_text(source(self.program, dtype=self.dtype.name), encoding="utf-8")
        return file

    def _evaluate(
        self, arrays: Sequence[NDArray[Any]], batch: int, out: dict[str, NDArray[Any]], threads: int | None
    ) -> dict[str, Any]:
        named = dict(zip(self._names, arrays, strict=True))
        if self._code is not None:
            return self._code.batch(named, batch, out, threads)
        from qdot.compiler.interpret import interpret

        full = {p.name: np.broadcast_to(named[p.name], (batch, *p.shape)) for p in self.program.inputs}
        results = interpret(self.program, full, self.dtype)
        for name, target in out.items():
            target[...] = results[name]
        return {**results, **out}

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        unknown = sorted(set(kwargs) - set(self._names))
        if unknown or len(args) > len(self._names):
            what = f"{unknown[0]!r}" if unknown else f"{len(args)} positional arguments"
            raise ValueShapeError(f"{self.program.name} takes {', '.join(self._names)}; it has no place for {what}")
        given = {**dict(zip(self._names, args, strict=False)), **kwargs}
        twice = set(self._names[: len(args)]) & set(kwargs)
        missing = [n for n in self._names if n not in given]
        if twice or missing:
            raise ValueShapeError(
                f"{self.program.name} takes {', '.join(self._names)}; "
                + (f"{min(twice)!r} was given twice" if twice else f"{missing[0]!r} is missing")
            )
        return [given[n] for n in self._names]

    def _array(self, port: Port, value: Any) -> NDArray[Any]:
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.empty(0, dtype=object)
        if array.dtype.kind not in "fiub":
            raise ValueShapeError(f"{self.program.name}: {port.name} must be an array of real numbers, got {value!r}")
        rows = array.ndim == len(port.shape) + 1
        if (array.shape[1:] if rows else array.shape) != port.shape:
            raise ValueShapeError(
                f"{self.program.name}: {port.name} has shape {array.shape}, needs {port.shape} or (batch, "
                f"{', '.join(map(str, port.shape))})"
            )
        return array

    def _batch(self, arrays: Sequence[NDArray[Any]]) -> int | None:
        sizes = {len(a): n for a, n, s in zip(arrays, self._names, self._shapes, strict=True) if a.ndim > len(s)}
        if len(sizes) > 1:
            listed = ", ".join(f"{name} has {size} rows" for size, name in sizes.items())
            raise ValueShapeError(f"{self.program.name}: the batches do not fit together: {listed}")
        return next(iter(sizes), None)

    def _targets(self, out: Any, batch: int | None, arrays: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
        if out is None:
            return {}
        if not isinstance(out, Mapping):
            if len(self.program.outputs) != 1:
                raise ValueShapeError(
                    f"{self.program.name} has outputs {list(self.outputs)}: give out= as a dict of arrays"
                )
            out = {self.program.outputs[0].name: out}
        targets = {}
        for name, array in out.items():
            targets[name] = self._target(name, array, batch, arrays)
        return targets

    def _target(self, name: str, array: Any, batch: int | None, inputs: Sequence[NDArray[Any]]) -> NDArray[Any]:
        what = f"{self.program.name}: out {name!r}"
        if name not in self.outputs:
            raise ValueShapeError(f"{what} is no output; they are {list(self.outputs)}")
        shape = self.outputs[name] if batch is None else (batch, *self.outputs[name])
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != self.dtype:
            kind = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
            raise ValueShapeError(f"{what} must be an array of {self.dtype} and shape {shape}, got {kind}")
        if not array.flags.writeable:
            raise ValueShapeError(f"{what} is read-only; give an array that can be written to")
        if any(np.may_share_memory(array, x) for x in inputs):
            raise ValueShapeError(f"{what} shares memory with an input; give an array of its own")
        return array if batch is not None else array[None]


def _load(program: Program, dtype: str) -> Loaded:
    """Machine code for a program, from the cache if it is there."""
    import llvmlite

    from qdot.backends import llvm, runtime

    host = llvm.host()
    vectors = host.vectors(dtype)
    parts = (program.hash, dtype, host.triple, host.cpu, host.features, llvm.VERSION, llvmlite.__version__)
    key = "-".join((re.sub(r"\W+", "_", program.name), llvm.digest(parts)))

    def build() -> bytes:
        start = time.perf_counter()
        code = llvm.compiled_object(program, vectors)
        seconds = time.perf_counter() - start
        if seconds > SLOW:
            print(
                f"qdot: compiled {program.name} ({program.operations()} operations) in {seconds:.1f} s", file=sys.stderr
            )
        return code

    return runtime.Loaded(program, llvm.Kernel(cached(key, build)), dtype, vectors.width)
