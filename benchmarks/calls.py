"""One evaluation called from Python, two threads, compiling and loading: `make bench` prints this beside `pin`.

Calls are made with NumPy vectors, of qdot's public functions and of Pinocchio's Python module: microseconds, the best
of many rounds in which the two take turns.
"""

from __future__ import annotations

import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks.dynamics import Calls, own_cache  # noqa: E402
from benchmarks.robots import Robot, arm, each_robot, humanoid, qdot_model, quadruped, states  # noqa: E402

CALLS = 2000
ROUNDS = 20
THREADED = 65536
"""Rows of a batch that is worth two threads."""


def taking_turns(*calls: Callable[[], object]) -> list[float]:
    """Microseconds of each call."""
    best = [np.inf] * len(calls)
    for _ in range(ROUNDS):
        for k, call in enumerate(calls):
            best[k] = min(best[k], timeit.timeit(call, number=CALLS) / CALLS * 1e6)
    return best


def single(robot: Robot) -> None:
    """One row."""
    model, oracle = qdot_model(robot.model)
    peer, data = robot.model, robot.model.createData()
    pin_q, pin_v, pin_u = (x[0] for x in states(peer, 1))
    q = oracle.q_of(pin_q)
    v, u = (x @ oracle.T(q) for x in (pin_v, pin_u))
    rows = {
        "ID": (lambda: qdot.inverse_dynamics(model, q, v, u), lambda: pin.rnea(peer, data, pin_q, pin_v, pin_u)),
        "FD": (lambda: qdot.forward_dynamics(model, q, v, u), lambda: pin.aba(peer, data, pin_q, pin_v, pin_u)),
        "M": (lambda: qdot.mass_matrix(model, q), lambda: pin.crba(peer, data, pin_q)),
    }
    for name, (ours, theirs) in rows.items():
        ours()
        mine, other = taking_turns(ours, theirs)
        print(f"{robot.name:>8} {name:>4} {mine:8.2f} {other:8.2f} {other / mine:8.1f}×", flush=True)


def threads(robot: Robot) -> None:
    """A batch on one thread and on two."""
    model, oracle = qdot_model(robot.model)
    q, v, u = (np.tile(x, (THREADED // 64, 1)) for x in states(robot.model, 64))
    q = np.array([oracle.q_of(x) for x in q])
    for name, function in (("ID", qdot.inverse_dynamics), ("FD", qdot.forward_dynamics), ("M", qdot.mass_matrix)):
        compiled = qdot.compile(function, model, packed=True)
        one, two = (Calls(compiled, [q, v, u], threads=n) for n in (1, 2))
        for _ in range(ROUNDS):
            one.round()
            two.round()
        print(f"{robot.name:>8} {name:>4} {one.ns:8.0f} {two.ns:8.0f} {one.ns / two.ns:8.2f}×", flush=True)


def compiling(robot: Robot) -> None:
    """Seconds until inverse dynamics, forward dynamics and M can be called: compiled anew, and from the cache."""
    model, _ = qdot_model(robot.model)
    functions = (qdot.inverse_dynamics, qdot.forward_dynamics, qdot.mass_matrix)
    with tempfile.TemporaryDirectory() as folder, own_cache(folder):
        seconds = []
        for _ in range(4):
            start = time.perf_counter()
            for function in functions:
                qdot.compile(function, model)
            seconds.append(time.perf_counter() - start)
    print(f"{robot.name:>8} {seconds[0]:8.2f} {min(seconds[1:]):12.3f}", flush=True)


def main() -> int:
    robots = list(each_robot(arm, quadruped, humanoid))
    print(f"one evaluation, called from Python [µs]\n{'robot':>8} {'':>4} {'qdot':>8} {'pin':>8} {'ratio':>9}")
    for robot in robots:
        single(robot)
    print(f"\n{THREADED} rows [ns each]\n{'robot':>8} {'':>4} {'1 thread':>8} {'2':>8} {'gain':>9}")
    for robot in robots:
        threads(robot)
    print(f"\nID + FD + M [s]\n{'robot':>8} {'first':>8} {'from cache':>12}")
    for robot in robots:
        compiling(robot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
