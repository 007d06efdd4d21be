"""`compile`: a function of a model traced once, and turned into machine code or C; and calling that with arrays."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.backends.memory import LINE, allocate, share_memory
from qdot.backends.rollout import arranged, how_many
from qdot.compiler.program import Port, Program
from qdot.errors import CompileError, ValueShapeError
from qdot.model.model import Model, require_model
from qdot.programs.built import Built, compiled_or_kept, loaded, traced_program
from qdot.programs.traced import Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGETS = ("llvm", "c", "interpreter")
LAYOUTS = ("auto", "batch", "rows")


def compile(
    function: Callable[..., Any],
    model: Model,
    *,
    target: str = "llvm",
    dtype: str = "float64",
    layout: str = "auto",
    packed: bool = False,
    parameters: Iterable[str] = (),
    wrenches: Iterable[str] = (),
    **options: Any,
) -> Compiled:
    """The function of this model as a program for a target: "llvm" (this processor), "c", or "interpreter".

    `function` is one of qdot's, or any function of (model, q, v, …) written with the operators and the functions of
    qdot.algebra. Its arguments called q, v, a, tau … become inputs; so do the model constants named in `parameters`
    (see qdot.programs.parameters), a value for each row, and external wrenches on the frames named in `wrenches`, as
    inputs "wrench.NAME". Other arguments are given here, as `frame="hand"`.

    `layout` is how the arrays of results lie in memory: "batch" with the rows of the batch next to each other, which
    vectors over the batch write fastest; "rows" with each row's numbers next to each other, as NumPy does; "auto" is
    the first for short vectors and the second for matrices. Inputs may lie in any way. `packed` results are vectors of
    the different entries only: a mass matrix without its mirror image and zeros, see `Compiled.unpacked`.
    """
    require_model(model, "compile")
    for what, value, choices in (("target", target, TARGETS), ("layout", layout, LAYOUTS)):
        if value not in choices:
            raise CompileError(f"{what} {value!r} is unknown; choose from {', '.join(choices)}")
    try:
        known = np.dtype(dtype) in (np.dtype("float64"), np.dtype("float32"))
    except TypeError:
        known = False
    if not known:
        raise CompileError(f"dtype {dtype!r} cannot be compiled; choose float64 or float32")
    request = Request(inspect.unwrap(function), model, tuple(parameters), tuple(wrenches), options)
    return Compiled(request, target=target, dtype=np.dtype(dtype).name, layout=layout, packed=packed)


class Compiled:
    """A compiled function: call it with arrays by position or name, `(…)` for one row or `(batch, …)` for many.

    Rows are computed independently and alike, so results do not depend on the batch, its memory layout or the threads.
    """

    def __init__(
        self,
        request: Request,
        *,
        target: str = "llvm",
        dtype: str = "float64",
        layout: str = "auto",
        packed: bool = False,
    ) -> None:
        self._request = request
        self.target = target
        self.dtype = np.dtype(dtype)
        self.layout = layout
        build = compiled_or_kept if target == "llvm" else Built.of
        built = build(request, dtype, packed)
        self._built = built
        self._code = None if built.code is None else loaded(built, dtype)
        self.name = built.interface.name
        self._inputs, self._outputs = built.interface.inputs, built.interface.outputs
        self._names = tuple(p.name for p in self._inputs)
        self._shapes = tuple(p.shape for p in self._inputs)
        self._rebuilt = built.form.rebuilt

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it was made of; it is built again, or found in the cache, where it is read."""
        packed = self._built.entries is not None
        options = {"target": self.target, "dtype": self.dtype.name, "layout": self.layout, "packed": packed}
        return _restored, (self._request, options)

    @cached_property
    def program(self) -> Program:
        """The program itself; where the machine code came from the cache, it is traced now."""
        found = self._built.program
        packed = self._built.entries is not None
        return traced_program(self._request, self.dtype.name, packed) if found is None else found

    @cached_property
    def quick(self) -> Callable[..., Any]:
        """One row of vectors of the program's own type, in the least time: None where they are anything else, or where
        the check fails."""
        names = list(self.outputs)

        def maker(rows: list[NDArray[Any]]) -> Callable[[], Any]:
            if self._built.form.kind == "array":
                return rows[0].copy if rows[0].ndim else rows[0].item
            return lambda: self._rebuilt({n: _own(x) for n, x in zip(names, rows, strict=True)})

        check = None if self._request.check is None else names.index("check")
        found = None if self._code is None else self._code.quick(maker, check)
        return _refused if found is None else found

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The shape of one row of each input."""
        return {p.name: p.shape for p in self._inputs}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The shape of one row of each output."""
        return {p.name: p.shape for p in self._outputs}

    @property
    def operations(self) -> int:
        """Arithmetic operations in one evaluation."""
        return self._built.interface.operations

    def __repr__(self) -> str:
        takes = ", ".join(f"{n}{list(s)}" for n, s in self.inputs.items())
        return f"<compiled {self.name}({takes}) for {self.target}, {self.dtype}, {self.operations} operations>"

    def __call__(
        self,
        *args: Any,
        out: NDArray[Any] | Mapping[str, NDArray[Any]] | None = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Evaluate. `out` is an array, or arrays by output name, to write into; `threads` bounds how many are used."""
        self._check_threads(threads)
        if not kwargs and self._code is not None:
            done = self.quick(*args) if out is None else None
            if done is not None:
                return done
            outputs = self._quick_batch(args, out, threads)
            if outputs is not None:
                return self._rebuilt(outputs)
        self._check_target()
        values = self._bound(args, kwargs)
        arrays = [self._array(p, x) for p, x in zip(self._inputs, values, strict=True)]
        batch = self._batch(arrays)
        targets = self._targets(out, batch, arrays)
        if batch is None and self._code is not None and not targets:
            rows = self._code.single(arrays)
            return self._rebuilt({p.name: _own(x) for p, x in zip(self._outputs, rows, strict=True)})
        results = self._evaluate(arrays, 1 if batch is None else batch, targets, threads)
        if batch is None:
            results = {name: x[0] for name, x in results.items()}
        return self._rebuilt(results)

    def rollout(
        self,
        steps: int,
        records: Mapping[str, NDArray[Any]],
        held: Mapping[str, Any] = MappingProxyType({}),
        driven: Mapping[str, Any] = MappingProxyType({}),
        threads: int | None = None,
    ) -> None:
        """Run the program `steps` times in a row, each step's outputs being the next one's inputs, into `records`.

        Names that are both inputs and outputs are the state: its records are (steps + 1, batch, *shape), row 0 is
        given, step k reads row k and writes row k + 1; or (1, batch, *shape), of a state that is not kept and goes on
        in its place. Records of other outputs are (steps, batch, *shape): row k is what step k gave; those not asked
        for are dropped. Other inputs are `held`, (batch, *shape), or `driven`, (steps, batch, *shape); without the axis
        of the batch they serve all runs. Records without that axis are of one run. Arrays may lie in any way; quickest
        is a batch whose rows lie next to each other, as in the transpose of memory (steps + 1, *shape, batch).
        """
        self._check_threads(threads)
        self._check_target()
        run = arranged(self._built.interface, self.dtype, steps, records, held, driven)
        if self._code is not None:
            self._code.rollout(run, threads)
            return
        from qdot.compiler.interpret import interpret

        read = {name: run.read(name) for name in self._names}
        written = {name: run.written(name) for name in run.records}
        for k in range(run.steps):
            results = interpret(self.program, {name: x[k] for name, x in read.items()}, self.dtype)
            for name, x in written.items():
                x[min(k, len(x) - 1)] = results[name]

    def records(self, steps: int, batch: int | None = None) -> dict[str, NDArray[Any]]:
        """New arrays for a rollout of all outputs, in memory that suits it; row 0 of the state is still to be given."""
        steps = how_many(f"{self.name}.records: steps", steps)
        runs = 1 if batch is None else how_many(f"{self.name}.records: batch", batch)
        layout = "rows" if runs < LINE // self.dtype.itemsize else self.layout  # too few to fill a vector
        made = {}
        for p in self._outputs:
            rows = steps + 1 if p.name in self._names else steps
            array = allocate(p, runs, self.dtype, layout, (rows,))
            made[p.name] = array[:, 0] if batch is None else array
        return made

    def _check_threads(self, threads: int | None) -> None:
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise ValueShapeError(f"{self.name}: threads is how many to use at most, 1 or more; got {threads!r}")

    def _check_target(self) -> None:
        if self.target == "c":
            raise CompileError("a program compiled to C is written to a file with write(path), not called")

    def _quick_batch(self, args: Sequence[Any], out: Any, threads: int | None) -> dict[str, NDArray[Any]] | None:
        """The outputs of a batch of vectors of the program's own type, in the least time; None where it is anything
        else."""
        assert self._code is not None
        if not args or type(args[0]) is not np.ndarray or args[0].ndim != 2:
            return None
        rows = len(args[0])
        if not self._code.runs_at_once(rows, threads):
            return None
        targets: list[Any]
        if out is None:
            targets = [allocate(p, rows, self.dtype, self.layout) for p in self._outputs]
        elif isinstance(out, Mapping):
            targets = [out.get(p.name) for p in self._outputs]
            if len(targets) != len(out):
                return None
        else:
            targets = [out]
        if not self._code.at_once(args, targets):
            return None
        return {p.name: x for p, x in zip(self._outputs, targets, strict=True)}

    def sound(
        self, arrays: Sequence[NDArray[Any]], batch: int | None = None
    ) -> tuple[Any, NDArray[np.bool_] | None] | None:
        """The result for arrays that are known to fit, one row (…) or (batch, …) of each input in order, and which rows
        of a batch fail the check; None where a single row does."""
        from qdot.backends.python_call import CHECKED

        results = None if batch is None else self._quick_batch(arrays, None, None)
        if results is None:
            results = self._evaluate(arrays, 1 if batch is None else batch, {}, None)
        unsound = ~(results["check"][:, 0] < CHECKED)
        if batch is None:
            single = {name: _own(x[0]) for name, x in results.items()}
            return None if unsound[0] else (self._rebuilt(single), None)
        return self._rebuilt(results), unsound if unsound.any() else None

    def unpacked(self, result: Any) -> Any:
        """The full arrays of a packed result, which may be a row or a batch."""
        if self._built.entries is None:
            return result
        if isinstance(result, Mapping):
            return {name: self._full(str(name), x) for name, x in result.items()}
        if isinstance(result, tuple):
            return tuple(self._full(str(k), x) for k, x in enumerate(result))
        return self._full("result", result)

    def _full(self, name: str, packed: NDArray[Any]) -> NDArray[Any]:
        assert self._built.entries is not None
        places, shape = self._built.entries[name]
        return packed[..., places].reshape((*packed.shape[:-1], *shape))

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
            return self._code.batch(named, batch, out, threads, self.layout)
        from qdot.compiler.interpret import interpret

        full = {p.name: np.broadcast_to(named[p.name], (batch, *p.shape)) for p in self._inputs}
        results = interpret(self.program, full, self.dtype)
        for name, target in out.items():
            target[...] = results[name]
        return {**results, **out}

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        if not kwargs and len(args) == len(self._names):
            return args
        unknown = sorted(set(kwargs) - set(self._names))
        if unknown or len(args) > len(self._names):
            what = f"{unknown[0]!r}" if unknown else f"{len(args)} positional arguments"
            raise ValueShapeError(f"{self.name} takes {', '.join(self._names)}; it has no place for {what}")
        given = {**dict(zip(self._names, args, strict=False)), **kwargs}
        twice = set(self._names[: len(args)]) & set(kwargs)
        missing = [n for n in self._names if n not in given]
        if twice or missing:
            raise ValueShapeError(
                f"{self.name} takes {', '.join(self._names)}; "
                + (f"{min(twice)!r} was given twice" if twice else f"{missing[0]!r} is missing")
            )
        return [given[n] for n in self._names]

    def _array(self, port: Port, value: Any) -> NDArray[Any]:
        if type(value) is np.ndarray and value.dtype is self.dtype and value.shape[1:] == port.shape:
            return value
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.empty(0, dtype=object)
        if array.dtype.kind not in "fiub":
            raise ValueShapeError(f"{self.name}: {port.name} must be an array of real numbers, got {value!r}")
        rows = array.ndim == len(port.shape) + 1
        if (array.shape[1:] if rows else array.shape) != port.shape:
            raise ValueShapeError(
                f"{self.name}: {port.name} has shape {array.shape}, needs {port.shape} or (batch, "
                f"{', '.join(map(str, port.shape))})"
            )
        return array

    def _batch(self, arrays: Sequence[NDArray[Any]]) -> int | None:
        sizes = {len(a): n for a, n, s in zip(arrays, self._names, self._shapes, strict=True) if a.ndim > len(s)}
        if len(sizes) > 1:
            listed = ", ".join(f"{name} has {size} rows" for size, name in sizes.items())
            raise ValueShapeError(f"{self.name}: the batches do not fit together: {listed}")
        return next(iter(sizes), None)

    def _targets(self, out: Any, batch: int | None, arrays: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
        if out is None:
            return {}
        if not isinstance(out, Mapping):
            if len(self._outputs) != 1:
                raise ValueShapeError(f"{self.name} has outputs {list(self.outputs)}: give out= as a dict of arrays")
            out = {self._outputs[0].name: out}
        targets: dict[str, NDArray[Any]] = {}
        for name, array in out.items():
            targets[name] = self._target(name, array, batch, [*arrays, *targets.values()])
        return targets

    def _target(self, name: str, array: Any, batch: int | None, others: Sequence[NDArray[Any]]) -> NDArray[Any]:
        what = f"{self.name}: out {name!r}"
        if name not in self.outputs:
            raise ValueShapeError(f"{what} is no output; they are {list(self.outputs)}")
        shape = self.outputs[name] if batch is None else (batch, *self.outputs[name])
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != self.dtype:
            kind = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
            raise ValueShapeError(f"{what} must be an array of {self.dtype} and shape {shape}, got {kind}")
        if not array.flags.writeable:
            raise ValueShapeError(f"{what} is read-only; give an array that can be written to")
        if any(share_memory(array, x) for x in others):
            raise ValueShapeError(f"{what} shares memory with an input or another output; give an array of its own")
        return array if batch is not None else array[None]


def _restored(request: Request, options: dict[str, Any]) -> Compiled:
    return Compiled(request, **options)


def _own(row: NDArray[Any]) -> Any:
    """A row of memory that stays, as the caller's own: a number, or an array."""
    return row.copy() if row.ndim else row.item()


def _refused(*args: Any) -> None:
    return None
