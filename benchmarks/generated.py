"""Pinocchio as generated C, for one robot at a time: `python benchmarks/generated.py` prints ns per evaluation.

Pinocchio's templates run once over CasADi's symbols (native/casadi_graph.cpp, built by g++ from the headers of the
wheels `pin` and `casadi`); what they did becomes straight-line C, with common subexpressions merged and nothing
written that is always zero or below the diagonal of a symmetric matrix. gcc and clang (zig's, from the wheel
`ziglang`) compile it with -O3 -march=native, and the better of the two counts.

Derivatives are Pinocchio's own, recorded like the rest: `casadi.jacobian` of the recorded rnea and aba takes 1.3 to
2.2 times as many operations. Builds are kept under `.bench/`; the first run takes minutes, most of them for the
derivatives of forward dynamics of the humanoid, 180 000 lines of C. Where a package or a compiler is missing, a
message says so and the others go on.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pinocchio as pin

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.native import build as native  # noqa: E402
from benchmarks.robots import Missing, arm, each_robot, humanoid, quadruped, states  # noqa: E402

RECORDER = ROOT / "benchmarks" / "native" / "casadi_graph.cpp"
LOOP = ROOT / "benchmarks" / "native" / "generated_loop.c"
RECORDER_FLAGS = ["-std=c++17", "-O0", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-g0", "-w"]
FLAGS = ["-O3", "-march=native", *native.FUSED, "-fPIC", "-shared", "-w", "-lm"]
TOLERANCE = 1e-10
"""Of a result, relative to its largest entry: rounding stays far below, a wrong graph far above."""

# ── recording ────────────────────────────────────────────────────────────────────────────────────


def casadi_folder() -> Path:
    """The wheel `casadi`: it holds the headers and the library too."""
    found = importlib.util.find_spec("casadi")
    folder = Path(found.origin).parent if found and found.origin else None
    if folder is None or not (folder / "include" / "casadi" / "casadi.hpp").exists():
        raise Missing("the package casadi is not there, or without its headers: pip install casadi")
    return folder


@cache
def recorder() -> ctypes.CDLL:
    """native/casadi_graph.cpp as a library; by g++ only, since libcasadi speaks g++'s standard library."""
    gcc = shutil.which("g++")
    if gcc is None:
        raise Missing("g++ is not there, and no other compiler can link the library of the wheel casadi: install g++")
    folder = casadi_folder()
    link = [f"-L{folder}", "-lcasadi", f"-Wl,-rpath,{folder}"]
    flags = [*RECORDER_FLAGS, *native.LIMITS, *native.include_flags(), "-isystem", str(folder / "include"), *link]
    depends_on = [*native.versions("pin", "casadi", "cmeel-eigen", "cmeel-boost")]
    return ctypes.CDLL(
        str(native.kept_library("casadi_graph", [RECORDER, native.HANDED_OVER], [gcc], flags, depends_on))
    )


@contextmanager
def recordable(model: pin.Model) -> Iterator[ctypes.c_void_p]:
    """The model over CasADi's scalar, in the recorder."""
    handle = native.hand_over(recorder(), model)
    try:
        yield handle
    finally:
        recorder().model_delete(handle)


def graph(handle: ctypes.c_void_p, algorithm: str):
    """The algorithm as a casadi.Function of (q, v, u), of as few operations and results as CasADi can make it."""
    import casadi

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.casadi"
        if recorder().record(handle, algorithm.encode(), str(path).encode()):
            raise ValueError(f"{algorithm} is not known in {RECORDER.name}")
        recorded = casadi.Function.load(str(path))
    arguments = recorded.sx_in()
    results = recorded.call(arguments)
    if results[-1].is_square():  # M, or its inverse
        results[-1] = casadi.triu(results[-1])
    return casadi.Function("evaluate", arguments, [casadi.sparsify(x) for x in results], {"cse": True})


def operations(function) -> int:
    """The arithmetic of a graph: its instructions but those that read, write or name a constant."""
    import casadi

    moves = {casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST}
    return sum(function.instruction_id(i) not in moves for i in range(function.n_instructions()))


def c_text(function) -> str:
    """The graph as CasADi writes it in C."""
    import casadi

    generator = casadi.CodeGenerator("generated", {"with_header": False})
    generator.add(function)
    return generator.dump()


# ── building ─────────────────────────────────────────────────────────────────────────────────────


def build(compiler: str, command: list[str], name: str, text: str, model: pin.Model) -> Path:
    """The loop around the generated C as a shared library; its text is kept beside it."""
    source = native.CACHE / f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}.c"
    native.CACHE.mkdir(exist_ok=True)
    if not source.exists():
        unfinished = source.with_suffix(f".{os.getpid()}_{compiler}")
        unfinished.write_text(text)
        unfinished.replace(source)
    flags = [*FLAGS, f"-DNQ={model.nq}", f"-DNV={model.nv}", f'-DGENERATED="{source}"']
    return native.kept_library(f"{name}_{compiler}", [LOOP, source], command, flags, [])


# ── running ──────────────────────────────────────────────────────────────────────────────────────


class Program:
    """One algorithm for one robot in generated C, by one compiler."""

    def __init__(self, library: Path, model: pin.Model) -> None:
        self.path = library
        self._library = ctypes.CDLL(str(library))
        self._library.nanoseconds.restype = ctypes.c_double
        self._out = np.empty(3 * model.nv**2)

    def nanoseconds(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> float:
        """ns per evaluation of one sweep over the states, which are rows; timed inside the library."""
        arrays = (native.doubles(x) for x in (q, v, u, self._out))
        return self._library.nanoseconds(ctypes.c_long(len(q)), *arrays)

    def error(self, algorithm: str, model: pin.Model, n: int = 8) -> float:
        """The largest difference from the Python module pin, relative to the largest entry of each result."""
        import casadi

        evaluate, data = casadi.external("evaluate", str(self.path)), model.createData()
        worst = 0.0
        for x in zip(*states(model, n, seed=1), strict=True):
            for found, right in zip(evaluate.call(x), _expected(algorithm, model, data, *x), strict=True):
                worst = max(worst, np.abs(found.full() - right).max() / np.abs(right).max())
        return float(worst)


class Generated:
    """All algorithms for one robot in generated C: their operations, and a program by each compiler there is."""

    def __init__(self, model: pin.Model) -> None:
        commands = native.compilers("c")
        if not commands:
            raise Missing("there is no C compiler")
        self.model = model
        with recordable(model) as handle:
            graphs = {algorithm: graph(handle, algorithm) for algorithm in native.ALGORITHMS}
        self.operations = {algorithm: operations(function) for algorithm, function in graphs.items()}
        texts = {algorithm: c_text(function) for algorithm, function in graphs.items()}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting = {
                (algorithm, compiler): pool.submit(build, compiler, command, algorithm, text, model)
                for algorithm, text in reversed(texts.items())  # the long ones first
                for compiler, command in commands.items()
            }
        self.programs: dict[str, dict[str, Program]] = {algorithm: {} for algorithm in texts}
        self.error = 0.0
        for (algorithm, compiler), result in waiting.items():
            try:
                program = Program(result.result(), model)
            except Missing as why:
                print(why, file=sys.stderr)
                continue
            error = program.error(algorithm, model)
            if not error < TOLERANCE:
                raise ValueError(f"{algorithm} by {compiler} differs from the Python module pin by {error:.0e}")
            self.error = max(self.error, error)
            self.programs[algorithm][compiler] = program

    def timers(self, algorithm: str, at: tuple[np.ndarray, ...]) -> list[native.Best]:
        """One for each compiler.

        Let programs take turns: one that meets the same states again and again, with nothing in between, is quicker by
        up to 15 % than on states it has not seen, and no user has such states.
        """
        return [native.Best(p.nanoseconds, native.blocks_of(*at)) for p in self.programs[algorithm].values()]


def _expected(algorithm: str, model: pin.Model, data: pin.Data, q: np.ndarray, v: np.ndarray, u: np.ndarray):
    """The results of the Python module pin, in the shapes of the generated ones."""
    if algorithm in ("rnea", "aba"):
        return [getattr(pin, algorithm)(model, data, q, v, u)[:, None]]
    if algorithm in ("crba", "computeMinverse"):
        return [np.triu(getattr(pin, algorithm)(model, data, q))]
    by_q, by_v, last = getattr(pin, algorithm)(model, data, q, v, u)
    return [by_q, by_v, np.triu(last)]


def main() -> int:
    casadi_folder()
    print(f"Pinocchio {pin.__version__} as C by CasADi {version('casadi')}, ns per evaluation, 4096 states, one thread")
    for robot in each_robot(arm, quadruped, humanoid):
        generated = Generated(robot.model)
        print(f"\n{robot.name}, nv = {robot.model.nv}, differs from the Python module by {generated.error:.0e}")
        timers = {name: generated.timers(name, states(robot.model, 4096)) for name in native.ALGORITHMS}
        for _ in range(20):
            for timer in (t for found in timers.values() for t in found):
                timer.round()
        for name, found in timers.items():
            best = min((t.ns for t in found), default=np.nan)
            print(f"  {name:24}{generated.operations[name]:12}{best:12.0f}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as why:
        sys.exit(str(why))
