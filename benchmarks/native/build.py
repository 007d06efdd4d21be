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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pinocchio as pin

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.robots import Missing, arm, each_robot, humanoid, in_wheels, quadruped, states  # noqa: E402

SOURCE = Path(__file__).with_name("pinocchio_loop.cpp")
HANDED_OVER = Path(__file__).with_name("handed_over.hpp")
CACHE = ROOT / ".bench"
BLOCK = 256
"""States that are timed together; divides the size of a batch."""

FUSED = ["-ffp-contract=fast", "-fno-math-errno"]  # gcc's default for the first; both make the peer quicker
FLAGS = ["-O3", "-march=native", *FUSED, "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-g0", "-w"]
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


def compilers(language: str = "c++") -> dict[str, list[str]]:
    """The commands of the compilers there are for c++ or c."""
    gcc, clang = {"c++": ("g++", "clang++"), "c": ("gcc", "clang")}[language]
    found = {}
    if command := shutil.which(gcc):
        found["gcc"] = [command]
    if importlib.util.find_spec("ziglang"):
        found["clang"] = [sys.executable, "-m", "ziglang", {"c++": "c++", "c": "cc"}[language]]
    elif command := shutil.which(clang):
        found["clang"] = [command]
    for missing in {"gcc", "clang"} - set(found):
        print(f"{missing} is not there: {'install it' if missing == 'gcc' else 'pip install ziglang'}", file=sys.stderr)
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


def kept_library(name: str, sources: list[Path], command: list[str], flags: list[str], depends_on: list[str]) -> Path:
    """The shared library that a compiler makes of the first source; built if none of all this is kept."""
    parts = [*(source.read_text() for source in sources), *flags, _version_of(*command), *depends_on, processor()]
    library = CACHE / f"{name}_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}.so"
    if not library.exists():
        CACHE.mkdir(exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}")
        print(f"building {library.name}", file=sys.stderr)
        line = [*command, str(sources[0]), *flags, "-o", str(unfinished)]
        run = subprocess.run(line, capture_output=True, text=True)
        if run.returncode:
            errors = [told for told in run.stderr.splitlines() if "error" in told] or [f"exit code {run.returncode}"]
            raise Missing(f"{name} does not build: {errors[0]}")
        unfinished.replace(library)
    return library


def build(compiler: str, command: list[str]) -> Path:
    """The loop as a shared library."""
    flags = ["-std=c++17", *FLAGS, *LIMITS, *include_flags()]
    return kept_library(
        f"pinocchio_{compiler}", [SOURCE, HANDED_OVER], command, flags, [*versions("pin", "cmeel-eigen", "cmeel-boost")]
    )


@cache
def libraries() -> dict[str, Path]:
    """The loop by each compiler that can build it; a message on stderr for each that cannot."""
    built = {}
    with ThreadPoolExecutor() as pool:
        waiting = {compiler: pool.submit(build, compiler, command) for compiler, command in compilers().items()}
    for compiler, result in waiting.items():
        try:
            built[compiler] = result.result()
        except Missing as why:
            print(why, file=sys.stderr)
    if not built:
        raise Missing("no compiler here builds the native loop of Pinocchio")
    return built


@cache
def _version_of(*command: str) -> str:
    return subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout


def versions(*packages: str) -> Iterator[str]:
    for package in packages:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:  # a header of the system takes its place
            yield f"{package} of the system"


def processor() -> str:
    """What -march=native looks at: a build for one machine may not run on another."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    chosen = [line for line in lines if line.startswith(("model", "vendor_id", "cpu family", "flags", "Features"))]
    return platform.machine() + "\n".join(dict.fromkeys(chosen))


# ── running ──────────────────────────────────────────────────────────────────────────────────────


def hand_over(library: ctypes.CDLL, model: pin.Model) -> ctypes.c_void_p:
    """The model, joint by joint, to a library that has handed_over.hpp."""
    library.model_new.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.model_new(doubles(model.gravity.linear)))
    for i in range(1, model.njoints):
        joint, placement, inertia = model.joints[i], model.jointPlacements[i], model.inertias[i]
        index = library.model_add(
            handle,
            ctypes.c_int(model.parents[i]),
            joint.shortname().encode(),
            doubles(_axis(joint)),
            doubles(placement.rotation),
            doubles(placement.translation),
            ctypes.c_double(inertia.mass),
            doubles(inertia.lever),
            doubles(inertia.inertia),
            doubles(model.armature[joint.idx_v : joint.idx_v + joint.nv]),
        )
        if index != i:
            raise ValueError(f"{joint.shortname()} is not known in {HANDED_OVER.name}")
    return handle


class Loop:
    """A model in the native loop of one compiler. States are rows, in the conventions of Pinocchio."""

    def __init__(self, library: Path, model: pin.Model) -> None:
        self.model = model
        self._robot = None
        self._library = ctypes.CDLL(str(library))
        self._library.robot_new.restype = ctypes.c_void_p
        self._library.nanoseconds.restype = self._library.evaluate.restype = ctypes.c_double
        self._robot = ctypes.c_void_p(self._library.robot_new(hand_over(self._library, model)))

    def __del__(self) -> None:
        if self._robot:
            self._library.robot_delete(self._robot)

    def evaluate(self, algorithm: str, q: np.ndarray, v: np.ndarray, u: np.ndarray, out: np.ndarray) -> float:
        """Writes all results to `out`, in full: (n, nv), (n, nv, nv), or (n, 3, nv, nv) for the derivatives.

        These are by q (as a step of the tangent space), by v, and M or its inverse. Returns ns per evaluation.
        """
        rows = ALGORITHMS[algorithm.removesuffix(" (world)")][0](self.model.nv)
        arguments = ctypes.c_long(len(q)), ctypes.c_long(rows), *self._checked(q, v, u), doubles(out)
        return self._known(algorithm, self._library.evaluate(self._robot, algorithm.encode(), *arguments))

    def room(self, algorithm: str, n: int) -> np.ndarray:
        """An array for `evaluate` to write to."""
        nv, rows = self.model.nv, ALGORITHMS[algorithm.removesuffix(" (world)")][0](self.model.nv)
        return np.zeros((n, nv) if rows == 1 else (n, nv, nv) if rows == nv else (n, 3, nv, nv))

    def nanoseconds(self, algorithm: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> float:
        """ns per evaluation of a sweep over the states, results left in Pinocchio's Data."""
        checksum = ctypes.c_double()
        arguments = ctypes.c_long(len(q)), *self._checked(q, v, u), ctypes.byref(checksum)
        return self._known(algorithm, self._library.nanoseconds(self._robot, algorithm.encode(), *arguments))

    def _known(self, algorithm: str, ns: float) -> float:
        if ns < 0:
            raise ValueError(f"{algorithm} is not known in {SOURCE.name}")
        return ns

    def _checked(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> list[ctypes._Pointer]:
        shapes = (len(q), self.model.nq), (len(q), self.model.nv), (len(q), self.model.nv)
        if (q.shape, v.shape, u.shape) != shapes:
            raise ValueError(f"q, v, u must have the shapes {shapes}, not {(q.shape, v.shape, u.shape)}")
        return [doubles(x) for x in (q, v, u)]


class Best:
    """The best time of each block of states, over as many rounds as are run; `ns` is their mean.

    A block lasts a few milliseconds at most, so that some of its rounds go undisturbed on a busy machine where a whole
    sweep never does.
    """

    def __init__(self, run: Callable[..., float], blocks: list[list[np.ndarray]]) -> None:
        self._run = run
        self._blocks = blocks
        self._best = np.full(len(blocks), np.inf)

    def round(self) -> None:
        self._best = np.minimum(self._best, [self._run(*block) for block in self._blocks])

    @property
    def ns(self) -> float:
        return float(self._best.mean())


def blocks_of(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> list[list[np.ndarray]]:
    return [[x[i : i + BLOCK] for x in (q, v, u)] for i in range(0, len(q), BLOCK)]


def timers(model: pin.Model, algorithm: str, at: tuple[np.ndarray, ...], *, kept: bool) -> list[Best]:
    """One for each compiler and way; with `kept`, results are written out in full, each to its own place."""
    found = []
    for library in libraries().values():
        loop = Loop(library, model)
        for way in ALGORITHMS[algorithm][1]:
            if not kept:
                found.append(Best(lambda *x, loop=loop, way=way: loop.nanoseconds(way, *x), blocks_of(*at)))
                continue
            room = loop.room(way, len(at[0]))
            blocks = [[*b, room[k * BLOCK : (k + 1) * BLOCK]] for k, b in enumerate(blocks_of(*at))]
            found.append(Best(lambda *x, loop=loop, way=way: loop.evaluate(way, *x), blocks))
    return found


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
            out = loop.room(way, n)
            loop.evaluate(way, q, v, u, out)
            worst = max(worst, np.abs(out - right).max() / np.abs(right).max())
    return float(worst)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return np.triu(matrix) + np.triu(matrix, 1).T


def _blocks(dq: np.ndarray, dv: np.ndarray, last: np.ndarray) -> np.ndarray:
    return np.array([dq, dv, _symmetric(last)])


def _axis(joint: pin.JointModel) -> np.ndarray:
    inner = joint.extract() if hasattr(joint, "extract") else joint
    return inner.axis if inner.shortname().endswith("Unaligned") else np.zeros(3)


def doubles(array: np.ndarray) -> ctypes._Pointer:
    """A pointer to the numbers in C order; it keeps them alive."""
    array = np.ascontiguousarray(array, dtype=float)
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def main() -> int:
    print(f"Pinocchio {pin.__version__}, ns per evaluation, 4096 states, one thread: results in its Data, results kept")
    for robot in each_robot(arm, quadruped, humanoid):
        print(f"\n{robot.name}, nv = {robot.model.nv}")
        for compiler, library in libraries().items():
            print(f"  {compiler} differs from the Python module by {error(Loop(library, robot.model)):.0e}")
        for algorithm in ALGORITHMS:
            sides = [timers(robot.model, algorithm, states(robot.model, 4096), kept=kept) for kept in (False, True)]
            for _ in range(20):
                for timer in (*sides[0], *sides[1]):
                    timer.round()
            print(f"  {algorithm:24}" + "".join(f"{min(t.ns for t in side):10.0f}" for side in sides), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as why:
        sys.exit(str(why))
