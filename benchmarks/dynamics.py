"""qdot's compiled dynamics beside Pinocchio in C++, in one process: `make bench` prints the ratios.

Per evaluation over a batch of 4096 random states, one thread, float64, arrays with the batch next to each other in
memory. Pinocchio is a native loop over the same states, the better of g++ and clang, -O3 -march=native; where it
offers two ways to compute a thing, the better one. Times on a shared machine are noisy: the best of many rounds
counts, the two sides take turns, and only ratios of one run mean something.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks.native import build as native  # noqa: E402
from benchmarks.robots import Missing, arm, humanoid, qdot_model, quadruped  # noqa: E402
from qdot.algorithms import derivatives, inverse_mass  # noqa: E402

BATCH = 4096
ROWS = {
    "ID": ("rnea", qdot.inverse_dynamics),
    "FD": ("aba", qdot.forward_dynamics),
    "M": ("crba", qdot.mass_matrix),
    "dID": ("computeRNEADerivatives", derivatives.inverse_dynamics_derivatives),
    "dFD": ("computeABADerivatives", derivatives.forward_dynamics_derivatives),
    "M⁻¹": ("computeMinverse", inverse_mass.inverse_mass_matrix),
}


def best(call: Callable[[], object], rounds: int) -> float:
    """Seconds of the quickest of many calls."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def batch_of(model: qdot.Model, n: int) -> list[np.ndarray]:
    """Random (q, v, u), batch-contiguous, with columns a little longer than the batch as qdot allocates them."""
    from qdot.model.library import random_state

    rows = [random_state(model, k) for k in range(64)]
    columns = []
    for x in zip(*rows, strict=True):
        full = np.tile(np.array(x), (n // 64, 1))
        room = np.empty((full.shape[1], n + 16))
        room[:, :n] = full.T
        columns.append(room.T[:n])
    return columns


def compare(robot, functions: list[str], rounds: int) -> Iterator[list[str]]:
    """One line for each function: operations, ns in both precisions, the peer's ns, the ratio, seconds to compile."""
    model, _ = qdot_model(robot.model)
    peer = native.measure(robot.model)
    for name in functions:
        peer_name, function = ROWS[name]
        start = time.perf_counter()
        compiled = qdot.compile(function, model)
        seconds = time.perf_counter() - start
        single = qdot.compile(function, model, dtype="float32")
        args = batch_of(model, BATCH)[: len(compiled.inputs)]
        out = {p.name: np.empty((*p.shape, BATCH + 16)) for p in compiled.program.outputs}
        out = {k: np.moveaxis(x, -1, 0)[:BATCH] for k, x in out.items()}
        out32 = {
            k: np.moveaxis(np.empty((*x.shape[1:], BATCH + 16), np.float32), -1, 0)[:BATCH] for k, x in out.items()
        }
        args32 = [np.asfortranarray(x.astype(np.float32)) for x in args]
        ns = best(lambda c=compiled, a=args, o=out: c(*a, out=o, threads=1), rounds) / BATCH * 1e9
        ns32 = best(lambda c=single, a=args32, o=out32: c(*a, out=o, threads=1), rounds) / BATCH * 1e9
        theirs = min(peer[peer_name].values())
        figures = [f"{compiled.operations}", f"{ns:.0f}", f"{ns32:.0f}", f"{theirs:.0f}", f"{theirs / ns:.1f}×"]
        yield [robot.name, name, *figures, f"{ns / ns32:.2f}×", f"{seconds:.2f}"]


HEAD = ("robot", "", "operations", "qdot ns", "float32 ns", "Pinocchio ns", "ratio", "f64/f32", "compile s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="calls of which the quickest counts")
    parser.add_argument("--functions", default=",".join(ROWS), help="which rows, such as ID,FD,M")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, batch {BATCH}, one thread, float64 unless said")
    print(LINE.format(*HEAD))
    for read in (arm, quadruped, humanoid):
        try:
            robot = read()
        except Missing as reason:
            print(f"left out: {reason}", file=sys.stderr)
            continue
        for line in compare(robot, options.functions.split(","), options.rounds):
            print(LINE.format(*line), flush=True)
    return 0


LINE = "{:>8} {:>4} {:>11} {:>9} {:>11} {:>13} {:>8} {:>8} {:>10}"


if __name__ == "__main__":
    sys.exit(main())
