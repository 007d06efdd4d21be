"""Programs made ready to call, through LLVM and through the C compiler of the machine."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qdot.backends import c, llvm
from qdot.backends.runtime import Interface, Loaded
from qdot.compiler.program import Program
from qdot.compiler.trace import trace

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_c = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2")

Rows = Mapping[str, np.ndarray]


def by_llvm(program: Program, dtype: str = "float64") -> Loaded:
    vectors = llvm.host().vectors(dtype)
    return Loaded(Interface.of(program), llvm.Kernel(llvm.compiled_object(program, vectors)), dtype, vectors.width)


def run(loaded: Loaded, inputs: Rows, threads: int | None = 1) -> dict[str, np.ndarray]:
    """Inputs (batch, …) in the program's dtype."""
    batch = len(next(iter(inputs.values())))
    arrays = {name: np.asarray(x, dtype=loaded.dtype) for name, x in inputs.items()}
    return loaded.batch(arrays, batch, {}, threads)


_libraries = itertools.count()


def by_c(folder: Path, *programs: tuple[Program, str]) -> list[Callable[[Rows], dict[str, np.ndarray]]]:
    """Each (program, dtype), compiled together, as functions of inputs (batch, …); rows one by one."""
    assert COMPILER is not None
    number = next(_libraries)  # a library that is loaded once is not loaded anew
    library, files = folder / f"programs{number}.so", []
    for k, (program, dtype) in enumerate(programs):
        files.append(folder / f"program{number}_{k}.c")
        files[-1].write_text(c.source(program, dtype=dtype, name=f"program_{k}"), encoding="utf-8")
    command = [COMPILER, *STRICT, "-shared", "-fPIC", "-o", str(library), *map(str, files), "-lm"]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    return [_by_rows(loaded[f"program_{k}"], program, dtype) for k, (program, dtype) in enumerate(programs)]


def _by_rows(function: Any, program: Program, dtype: str) -> Callable[[Rows], dict[str, np.ndarray]]:
    function.restype = None

    def call(inputs: Rows) -> dict[str, np.ndarray]:
        batch = len(next(iter(inputs.values())))
        given = [np.ascontiguousarray(inputs[p.name], dtype=dtype) for p in program.inputs]
        made = [np.full((batch, *p.shape), 77.0, dtype) for p in program.outputs]
        for row in range(batch):
            function(*(ctypes.c_void_p(x.ctypes.data + row * x.strides[0]) for x in (*given, *made)))
        return {p.name: x for p, x in zip(program.outputs, made, strict=True)}

    return call


def unary(op: str) -> Program:
    """y = op(x)."""
    return trace(op, lambda x: {"y": x.unary(op)}, {"x": ()})


def binary(op: str) -> Program:
    """z = op(x, y); a truth as 0 or 1."""

    def build(x: Any, y: Any) -> dict[str, Any]:
        z = x.binary(op, y)
        return {"z": z.select(1.0, 0.0) if op in ("lt", "le", "eq") else z}

    return trace(op, build, {"x": (), "y": ()})
