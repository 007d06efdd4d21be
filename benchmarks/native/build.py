"""Builds and runs Pinocchio's native loop: `python benchmarks/native/build.py` prints ns per evaluation.

The loop is compiled from the headers of the wheel `pin`, once by g++ and once by clang (zig's, from the wheel
`ziglang`), both -O3 -march=native; the better of the two counts. A build takes a minute or more and is kept under
`.bench/`. Where a compiler or a header is missing, a message says so and the others go on.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.robots import Missing, arm, humanoid, in_wheels, quadruped, states  # noqa: E402

SOURCE = Path(__file__).with_name("pinocchio_loop.cpp")
CACHE = ROOT / ".bench"
BLOCK = 256
"""States that are timed together; divides the size of a batch."""

FLAGS = ["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-g0", "-w"]
LIMITS = [  # pin's own targets set these: its joints are more than Boost's lists hold by default
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
]
HEADERS = {  # a header, and where it is if not among the wheels
    "include/pinocchio/multibody.hpp": (None, "pip install 'pin>=4'"),
    "include/eigen3/Eigen/Core": ("/usr/include/eigen3/Eigen/Core", "pip install cmeel-eigen"),
    "include/boost/variant.hpp": ("/usr/include/boost/variant.hpp", "pip install cmeel-boost"),
}

ALGORITHMS = {  # rows of each result, and the ways Pinocchio offers to compute it: the best counts
    "rnea": (lambda nv: 1, ["rnea"]),
    "aba": (lambda nv: 1, ["aba", "aba (world)"]),
    "crba": (lambda nv: nv, ["crba", "crba (world)"]),
    "computeRNEADerivatives": (lambda nv: 3 * nv, ["computeRNEADerivatives"]),
    "computeABADerivatives": (lambda nv: 3 * nv, ["computeABADerivatives"]),
    "computeMinverse": (lambda nv: nv, ["computeMinverse"]),
}

# ── building ─────────────────────────────────────────────────────────────────────────────────────


def compilers() -> dict[str, list[str]]:
    """The commands of the compilers there are."""
    found = {}
    if gcc := shutil.which("g++"):
        found["gcc"] = [gcc]
    if importlib.util.find_spec("ziglang"):
        found["clang"] = [sys.executable, "-m", "ziglang", "c++"]
    elif clang := shutil.which("clang++"):
        found["clang"] = [clang]
    return found


def include_flags() -> list[str]:
    """The folders of the headers, each found among the wheels or on the system."""
    folders = []
    for header, (otherwise, advice) in HEADERS.items():
        place = in_wheels(header) or (Path(otherwise) if otherwise and Path(otherwise).exists() else None)
        if place is None:
            raise Missing(f"the header {header} is not there: {advice}")
        folders.append(place.parents[1])
    return [flag for folder in dict.fromkeys(folders) for flag in ("-isystem", str(folder))]


def build(compiler: str) -> Path:
    """The loop as a shared library; built if no build of this source, compiler, Pinocchio and processor is kept."""
    if compiler not in compilers():
        advice = {"gcc": "install g++", "clang": "pip install ziglang"}
        raise Missing(f"{compiler} is not there: {advice.get(compiler, 'choose gcc or clang')}")
    command = compilers()[compiler]
    flags = FLAGS + LIMITS
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    parts = [SOURCE.read_text(), *flags, version, pin.__version__, _processor()]
    library = CACHE / f"pinocchio_{compiler}_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}.so"
    if not library.exists():
        CACHE.mkdir(exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}")
        print(f"{compiler} compiles {SOURCE.name}: a minute or more", file=sys.stderr)
        line = [*command, *flags, *include_flags(), str(SOURCE), "-o", str(unfinished)]
        run = subprocess.run(line, capture_output=True, text=True)
        if run.returncode:
            raise Missing(f"{compiler} does not build {SOURCE.name}:\n{run.stderr[-2000:]}")
        unfinished.replace(library)
    return library


@cache
def libraries() -> dict[str, Path]:
    """The loop by each compiler that can build it; a message on stderr for each that cannot."""
    built = {}
    with ThreadPoolExecutor() as pool:
        waiting = {compiler: pool.submit(build, compiler) for compiler in ("gcc", "clang")}
    for compiler, result in waiting.items():
        try:
            built[compiler] = result.result()
        except Missing as why:
            print(why, file=sys.stderr)
    return built


def _processor() -> str:
    """What -march=native looks at: a build for one machine may not run on another."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    chosen = [line for line in lines if line.startswith(("model", "vendor_id", "cpu family", "flags", "Features"))]
    return platform.machine() + "\n".join(dict.fromkeys(chosen))


# ── running ──────────────────────────────────────────────────────────────────────────────────────


class Loop:
    """A model in the native loop of one compiler. States are rows, in the conventions of Pinocchio."""

    def __init__(self, library: Path, model: pin.Model) -> None:
        self.model = model
        self._robot = None
        self._library = ctypes.CDLL(str(library))
        self._library.model_new.restype = self._library.robot_new.restype = ctypes.c_void_p
        self._library.nanoseconds.restype = ctypes.c_double
        handle = ctypes.c_void_p(self._library.model_new(_doubles(model.gravity.linear)))
        for i in range(1, model.njoints):
            joint, placement, inertia = model.joints[i], model.jointPlacements[i], model.inertias[i]
            index = self._library.model_add(
                handle,
                ctypes.c_int(model.parents[i]),
                joint.shortname().encode(),
                _doubles(_axis(joint)),
                _doubles(placement.rotation),
                _doubles(placement.translation),
                ctypes.c_double(inertia.mass),
                _doubles(inertia.lever),
                _doubles(inertia.inertia),
                _doubles(model.armature[joint.idx_v : joint.idx_v + joint.nv]),
            )
            if index != i:
                raise ValueError(f"{joint.shortname()} is not known in {SOURCE.name}")
        self._robot = ctypes.c_void_p(self._library.robot_new(handle))

    def __del__(self) -> None:
        if self._robot:
            self._library.robot_delete(self._robot)

    def evaluate(self, algorithm: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The results for each state: (n, nv), (n, nv, nv), or (n, 3, nv, nv) for the derivatives.

        The three are by q (as a step of the tangent space), by v, and M or its inverse.
        """
        n, nv = v.shape
        rows = ALGORITHMS[algorithm.removesuffix(" (world)")][0](nv)
        out = np.empty((n, rows, nv))
        arguments = ctypes.c_long(n), ctypes.c_long(rows), *self._checked(q, v, u), _doubles(out)
        if self._library.evaluate(self._robot, algorithm.encode(), *arguments):
            raise ValueError(f"{algorithm} is not known in {SOURCE.name}")
        return out.reshape((n, nv) if rows == 1 else (n, nv, nv) if rows == nv else (n, 3, nv, nv))

    def nanoseconds(
        self, algorithm: str, q: np.ndarray, v: np.ndarray, u: np.ndarray, repeats: int = 1
    ) -> tuple[float, float]:
        """(ns per evaluation, checksum): the best of so many sweeps over the states, timed inside the library."""
        checksum = ctypes.c_double()
        arguments = ctypes.c_long(len(q)), *self._checked(q, v, u), ctypes.c_int(repeats), ctypes.byref(checksum)
        best = self._library.nanoseconds(self._robot, algorithm.encode(), *arguments)
        if best < 0:
            raise ValueError(f"{algorithm} is not known in {SOURCE.name}")
        return best, checksum.value

    def _checked(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> list[ctypes._Pointer]:
        shapes = (len(q), self.model.nq), (len(q), self.model.nv), (len(q), self.model.nv)
        if (q.shape, v.shape, u.shape) != shapes:
            raise ValueError(f"q, v, u must have the shapes {shapes}, not {(q.shape, v.shape, u.shape)}")
        return [_doubles(x) for x in (q, v, u)]


def loops(model: pin.Model) -> dict[str, Loop]:
    """The model in the loop of each compiler there is."""
    return {compiler: Loop(library, model) for compiler, library in libraries().items()}


def measure(model: pin.Model, n: int = 4096, rounds: int = 20) -> dict[str, dict[str, float]]:
    """ns per evaluation by algorithm and compiler.

    Each block of states is timed on its own and its best time kept; the result is their mean. A block lasts a few
    milliseconds at most, so that some of its rounds go undisturbed on a busy machine where a whole sweep never does.
    """
    running = loops(model)
    blocks = [[x[i : i + BLOCK] for x in states(model, n)] for i in range(0, n, BLOCK)]
    times = {algorithm: {} for algorithm in ALGORITHMS}
    for algorithm, (_, ways) in ALGORITHMS.items():
        best = {(compiler, way): np.full(len(blocks), np.inf) for compiler in running for way in ways}
        for _ in range(rounds):
            for (compiler, way), kept in best.items():
                kept[:] = np.minimum(kept, [running[compiler].nanoseconds(way, *block)[0] for block in blocks])
        for compiler in running:
            times[algorithm][compiler] = min(float(best[compiler, way].mean()) for way in ways)
    return times


def error(loop: Loop, n: int = 8) -> float:
    """The largest difference from the Python module pin, relative to the largest entry of each result."""
    model, data = loop.model, loop.model.createData()
    q, v, u = states(model, n, seed=1)
    expected = {
        "rnea": lambda *x: pin.rnea(model, data, *x),
        "aba": lambda *x: pin.aba(model, data, *x),
        "crba": lambda *x: _symmetric(pin.crba(model, data, x[0])),
        "computeMinverse": lambda *x: _symmetric(pin.computeMinverse(model, data, x[0])),
        "computeRNEADerivatives": lambda *x: _blocks(*pin.computeRNEADerivatives(model, data, *x)),
        "computeABADerivatives": lambda *x: _blocks(*pin.computeABADerivatives(model, data, *x)),
    }
    worst = 0.0
    for algorithm, (_, ways) in ALGORITHMS.items():
        right = np.array([expected[algorithm](*x).copy() for x in zip(q, v, u, strict=True)])
        for way in ways:
            worst = max(worst, np.abs(loop.evaluate(way, q, v, u) - right).max() / np.abs(right).max())
    return float(worst)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return np.triu(matrix) + np.triu(matrix, 1).T


def _blocks(dq: np.ndarray, dv: np.ndarray, last: np.ndarray) -> np.ndarray:
    return np.array([dq, dv, _symmetric(last)])


def _axis(joint: pin.JointModel) -> np.ndarray:
    inner = joint.extract() if hasattr(joint, "extract") else joint
    return inner.axis if inner.shortname().endswith("Unaligned") else np.zeros(3)


def _doubles(array: np.ndarray) -> ctypes._Pointer:
    """A pointer to the numbers in C order; it keeps them alive."""
    array = np.ascontiguousarray(array, dtype=float)
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def main() -> int:
    if not libraries():
        return 1
    print(f"Pinocchio {pin.__version__}, ns per evaluation, 4096 states, one thread")
    for robot in (arm(), quadruped(), humanoid()):
        columns = list(libraries())
        print(f"\n{robot.name}, nv = {robot.model.nv}")
        for compiler, loop in loops(robot.model).items():
            print(f"  {compiler} differs from the Python module by {error(loop):.0e}")
        print(f"  {'':24}" + "".join(f"{column:>10}" for column in [*columns, "best"]))
        for algorithm, times in measure(robot.model).items():
            values = [*times.values(), min(times.values())]
            print(f"  {algorithm:24}" + "".join(f"{value:10.0f}" for value in values))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as why:
        sys.exit(str(why))
