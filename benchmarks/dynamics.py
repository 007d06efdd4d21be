"""qdot's compiled dynamics beside Pinocchio in C++ and as generated C, in one process: `make bench` prints the ratios.

Per evaluation over a batch of 4096 random states, one thread, float64. Pinocchio is a native loop over the same
states, the better of g++ and clang, -O3 -march=native; where it offers two ways to compute a thing, the better one.
Generated C is Pinocchio's own text recorded by CasADi, see generated.py.

Results are compared like with like. "packed": each different entry once. qdot keeps those of all states in memory;
Pinocchio leaves them in its Data (the upper triangle of a symmetric matrix), the next state's over the last one's, and
so does generated C. "full": both sides keep every entry of every result, zeros and mirror images too.

Times on a shared machine are noisy: all sides take turns, and only ratios of one run mean something. Of the peers the
best time of each block of 256 states counts, of qdot the best whole batch.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks import generated  # noqa: E402
from benchmarks.native import build as native  # noqa: E402
from benchmarks.robots import Missing, Robot, arm, each_robot, humanoid, qdot_model, quadruped, states  # noqa: E402
from qdot.backends.runtime import allocate  # noqa: E402

BATCH = 4096
ROWS = {
    "ID": ("rnea", qdot.inverse_dynamics),
    "FD": ("aba", qdot.forward_dynamics),
    "M": ("crba", qdot.mass_matrix),
    "∂ID": ("computeRNEADerivatives", qdot.inverse_dynamics_derivatives),
    "∂FD": ("computeABADerivatives", qdot.forward_dynamics_derivatives),
    "M⁻¹": ("computeMinverse", qdot.inverse_mass_matrix),
}


class Calls:
    """Whole batches of a compiled function, into arrays that are there already; `ns` is of the best."""

    def __init__(self, compiled: qdot.Compiled, columns: list[np.ndarray], threads: int = 1) -> None:
        given = [x.astype(compiled.dtype) for x in columns[: len(compiled.inputs)]]
        self._n = len(given[0])
        self._args = [_by_batch(x) for x in given]
        self._out = {p.name: allocate(p, self._n, compiled.dtype) for p in compiled.program.outputs}
        self._call: Callable[[], object] = lambda: compiled(*self._args, out=self._out, threads=threads)
        self._best = np.inf

    def round(self) -> None:
        for _ in range(3):
            start = time.perf_counter()
            self._call()
            self._best = min(self._best, time.perf_counter() - start)

    @property
    def ns(self) -> float:
        return self._best / self._n * 1e9


def _by_batch(x: np.ndarray) -> np.ndarray:
    """The rows of the batch next to each other, as qdot allocates vectors."""
    from qdot.compiler.program import Port

    room = allocate(Port("x", x.shape[1:]), len(x), x.dtype)
    room[...] = x
    return room


def compare(robot: Robot, functions: list[str], rounds: int) -> Iterator[list[str]]:
    """One line for each function."""
    model, oracle = qdot_model(robot.model)
    at = states(robot.model, BATCH)
    q = np.array([oracle.q_of(x) for x in at[0]])
    v, u = (x @ oracle.T(q[0]) for x in at[1:])  # a permutation: v_pin = T v
    try:
        c_code = generated.Generated(robot.model)
    except Missing as why:
        print(f"no generated C: {why}", file=sys.stderr)
        c_code = None
    for name in functions:
        peer, function = ROWS[name]
        start = time.perf_counter()
        full = qdot.compile(function, model)
        seconds = time.perf_counter() - start
        is_matrix = any(len(s) > 1 for s in full.outputs.values())
        packed = qdot.compile(function, model, packed=True) if is_matrix else full
        single = qdot.compile(function, model, packed=is_matrix, dtype="float32")
        ours = {k: Calls(c, [q, v, u]) for k, c in (("packed", packed), ("full", full), ("float32", single))}
        theirs = {"packed": native.timers(robot.model, peer, at, kept=False)}
        theirs["full"] = native.timers(robot.model, peer, at, kept=True) if is_matrix else []
        theirs["c"] = c_code.timers(peer, at) if c_code else []
        for _ in range(rounds):
            for timer in (*ours.values(), *(t for side in theirs.values() for t in side)):
                timer.round()
        best = {side: min((t.ns for t in found), default=np.nan) for side, found in theirs.items()}
        ns = {side: timer.ns for side, timer in ours.items()}
        yield [
            *(robot.name, name, f"{full.operations}", f"{ns['packed']:.0f}", f"{best['packed']:.0f}"),
            *(f"{best['packed'] / ns['packed']:.1f}×", f"{best['c']:.0f}", f"{best['c'] / ns['packed']:.1f}×"),
            *(
                (f"{ns['full']:.0f}", f"{best['full']:.0f}", f"{best['full'] / ns['full']:.1f}×")
                if is_matrix
                else [""] * 3
            ),
            *(f"{ns['float32']:.0f}", f"{ns['packed'] / ns['float32']:.2f}×", f"{seconds:.2f}"),
        ]


HEAD = [
    *("robot", "", "operations", "qdot ns", "Pinocchio", "ratio", "C code", "ratio"),
    *("full ns", "Pinocchio", "ratio", "float32 ns", "gain", "compile s"),
]
LINE = "{:>7} {:>4} {:>11} {:>8} {:>10} {:>7} {:>8} {:>7} {:>8} {:>10} {:>7} {:>11} {:>7} {:>10}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="turns of each side; the quickest counts")
    parser.add_argument("--functions", default=",".join(ROWS), help="which rows, such as ID,FD,M")
    parser.add_argument("--robots", default="arm,quadruped,humanoid", help="which robots")
    options = parser.parse_args()
    readers = {read.__name__: read for read in (arm, quadruped, humanoid)}
    print(f"{platform.processor() or platform.machine()}, batch {BATCH}, one thread, float64 unless said")
    print(LINE.format(*HEAD))
    with tempfile.TemporaryDirectory() as folder, own_cache(folder):
        for robot in each_robot(*(readers[name] for name in options.robots.split(","))):
            for line in compare(robot, options.functions.split(","), options.rounds):
                print(LINE.format(*line), flush=True)
    return 0


def own_cache(folder: str):
    """Compiled code in a folder of its own, so that the seconds to compile are real."""
    from unittest.mock import patch

    return patch.dict("os.environ", {"QDOT_CACHE": folder})


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as why:
        sys.exit(str(why))
