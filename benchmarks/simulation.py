"""Simulations without contact beside MuJoCo, in one process: `make bench` prints the ratios.

Both sides read the same MJCF file, take the same steps from the same states under the same forces, and keep every
state. Contact, limits, dry friction and sensors are switched off in the file; so is the implicit treatment of dampers
in MuJoCo's Euler, so that it is the same method as qdot's. MuJoCo is asked in two ways: `mujoco.rollout`, its own loop
in C over runs and steps, and `mujoco.mj_step` in a loop of Python.

Seconds are those of the processor in this process, the least of many rounds in which all sides take turns: what other
programs do on a shared machine matters little to them. Two threads are measured by the clock.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import mujoco
import mujoco.rollout
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks.dynamics import own_cache  # noqa: E402
from benchmarks.robots import Missing, arm, qdot_model  # noqa: E402

RUNS = 1024
PEER_RUNS = 32
"""MuJoCo runs one after the other, so that its time for a step does not depend on how many there are."""
STEPS = 100
DT = 0.002
SINGLE = 10.0
"""Seconds of a single simulation."""

METHODS = {
    "semi-implicit euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}
OFF = '<option><flag contact="disable" limit="disable" frictionloss="disable" sensor="disable" eulerdamp="disable"/>'

DAMPED = '<default><joint damping="0.1"/></default>'
"""[N·m·s/rad]: without it a constant torque drives the arm's last joint faster and faster."""


class Case(NamedTuple):
    """A model on both sides, and where runs of it start, in the numbers of each."""

    name: str
    model: qdot.Model
    peer: mujoco.MjModel
    q: np.ndarray
    v: np.ndarray
    forces: dict[str, np.ndarray]
    """What drives it, for each run: `tau` of its joints, or `control` of its actuators."""

    @staticmethod
    def of(name: str, file: Path) -> Case:
        model, peer = qdot.load(file), mujoco.MjModel.from_xml_path(str(file))
        peer.opt.timestep = DT
        random = np.random.default_rng(0)
        step, v = random.normal(size=(2, RUNS, model.nv)) * 0.3
        q = np.array([qdot.retract(model, model.home(), x) for x in step])
        driven, size = ("control", model.nu) if model.nu else ("tau", model.nv)
        return Case(name, model, peer, q, v, {driven: random.uniform(-1, 1, size=(RUNS, size))})

    def simulate(self, method: str, rows: slice | int = slice(None), **options: object) -> qdot.Trajectory:
        state, given = (self.q[rows], self.v[rows]), {key: x[rows] for key, x in self.forces.items()}
        seconds = options.pop("seconds", STEPS * DT)
        return qdot.simulate(
            self.model, state, seconds, DT, integrator=method, limits="none", progress=False, **given, **options
        )

    @property
    def starts(self) -> np.ndarray:
        """MuJoCo's states: time, positions, velocities."""
        bridge = qdot.convert.mujoco(self.model, self.peer)
        return np.hstack([np.zeros((RUNS, 1)), bridge.q_to(self.q), bridge.v_to(self.q, self.v)])

    def rollout(self, data: mujoco.MjData | list[mujoco.MjData], starts: np.ndarray) -> np.ndarray:
        ((driven, given),) = self.forces.items()
        kind = mujoco.mjtState.mjSTATE_CTRL if driven == "control" else mujoco.mjtState.mjSTATE_QFRC_APPLIED
        control = given[: len(starts), None]
        return mujoco.rollout.rollout(self.peer, data, starts, control, control_spec=int(kind), nstep=STEPS)[0]

    def put(self, data: mujoco.MjData, start: np.ndarray, run: int = 0) -> None:
        mujoco.mj_resetData(self.peer, data)
        data.qpos[:], data.qvel[:] = np.split(start[1:], [self.peer.nq])
        ((driven, given),) = self.forces.items()
        (data.ctrl if driven == "control" else data.qfrc_applied)[:] = given[run]


def files(folder: Path) -> dict[str, Path]:
    """An arm of 7 joints, Franka's Panda as qdot writes it, and dm_control's humanoid of 27 freedoms."""
    found = {"panda": folder / "panda.xml"}
    qdot.save(qdot_model(arm().model)[0], found["panda"])
    text = found["panda"].read_text()
    found["panda"].write_text(text.replace("</mujoco>", f"{OFF}</option>{DAMPED}</mujoco>"))
    place = find_spec("dm_control")
    if place is None or not place.submodule_search_locations:
        print("left out: the humanoid, dm_control is not there: pip install dm_control", file=sys.stderr)
        return found
    found["humanoid"] = folder / "humanoid_alone.xml"  # MuJoCo takes one of the same name for the file itself
    original = Path(place.submodule_search_locations[0]) / "suite" / "humanoid.xml"
    found["humanoid"].write_text(f'<mujoco><include file="{original}"/>{OFF}</option></mujoco>')
    return found


def taking_turns(
    rounds: int, *calls: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Seconds of each call, the best of all rounds."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = clock()
            call()
            best[k] = min(best[k], clock() - start)
    return best


def compiling(case: Case, method: str) -> tuple[float, float]:
    """Seconds until a simulation can run: compiled anew, and from the cache."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder, own_cache(folder):
        for _ in range(3):
            start = time.process_time()
            case.simulate(method, seconds=0.0)
            seconds.append(time.process_time() - start)
    return seconds[0], min(seconds[1:])


def difference(case: Case, method: str, starts: np.ndarray, data: mujoco.MjData) -> float:
    """The largest difference of the last states of all runs that both did, in qdot's numbers."""
    few = slice(PEER_RUNS)
    ours, theirs = case.simulate(method, few, threads=1), case.rollout(data, starts)[:, -1, 1:]
    qpos, qvel = theirs[:, : case.peer.nq], theirs[:, case.peer.nq :]
    bridge = qdot.convert.mujoco(case.model, case.peer)
    dq = qdot.difference(case.model, bridge.q_from(qpos), ours.q[:, -1])
    return float(max(np.abs(dq).max(), np.abs(bridge.v_from(qpos, qvel) - ours.v[:, -1]).max()))


def batch(case: Case, method: str, rounds: int) -> str:
    """One row: nanoseconds for a step of one run."""
    case.peer.opt.integrator = METHODS[method]
    data, starts = mujoco.MjData(case.peer), case.starts[:PEER_RUNS]
    first, cached = compiling(case, method)
    run = qdot.Simulation(case.model, (case.q, case.v), DT, integrator=method, limits="none", **case.forces)
    few = starts[:4]

    def python_loop() -> None:
        for k, start in enumerate(few):
            case.put(data, start, k)
            for _ in range(STEPS):
                mujoco.mj_step(case.peer, data)

    ours, last, theirs, loop = taking_turns(
        rounds,
        lambda: case.simulate(method, threads=1),
        lambda: case.simulate(method, threads=1, record=STEPS),
        lambda: case.rollout(data, starts),
        python_loop,
    )
    ours, last = (x / (RUNS * STEPS) * 1e9 for x in (ours, last))
    theirs, loop = theirs / (PEER_RUNS * STEPS) * 1e9, loop / (len(few) * STEPS) * 1e9
    cells = (
        *(case.name, case.model.nv, method, run._program.operations, f"{ours:.0f}", f"{last:.0f}", f"{theirs:.0f}"),
        *(f"{loop:.0f}", f"{theirs / ours:.1f}×", f"{theirs / last:.1f}×", f"{loop / ours:.1f}×"),
        *(f"{difference(case, method, starts, data):.1e}", f"{first:.2f}", f"{cached * 1e3:.0f}"),
    )
    return LINE.format(*map(str, cells))


def single(case: Case, method: str, rounds: int) -> str:
    """One row: milliseconds for one simulation of some seconds."""
    case.peer.opt.integrator = METHODS[method]
    data, start, steps = mujoco.MjData(case.peer), case.starts[0], round(SINGLE / DT)

    def python_loop() -> None:
        case.put(data, start)
        for _ in range(steps):
            mujoco.mj_step(case.peer, data)

    def c_loop() -> None:
        case.put(data, start)
        mujoco.mj_step(case.peer, data, nstep=steps)

    ours, loop, c = taking_turns(rounds, lambda: case.simulate(method, 0, seconds=SINGLE), python_loop, c_loop)
    cells = case.name, method, f"{ours * 1e3:.1f}", f"{loop * 1e3:.1f}", f"{c * 1e3:.1f}", f"{loop / ours:.1f}×"
    return ONE.format(*cells, f"{c / ours:.1f}×")


def threads(case: Case, method: str, rounds: int) -> str:
    """One row: a batch on one thread and on two, by the clock."""
    one, two = taking_turns(
        rounds,
        lambda: case.simulate(method, threads=1, record=STEPS),
        lambda: case.simulate(method, threads=2, record=STEPS),
        clock=time.perf_counter,
    )
    one, two = (x / (RUNS * STEPS) * 1e9 for x in (one, two))
    return f"{case.name:>9} {method:>20} {one:9.0f} {two:9.0f} {one / two:8.2f}×"


LINE = "{:>9} {:>3} {:>20} {:>11} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>11} {:>9} {:>9}"
HEAD = [
    *("model", "nv", "method", "operations", "qdot", "last", "rollout", "mj_step", "ratio", "last", "loop"),
    *("difference", "first s", "cached ms"),
]
ONE = "{:>9} {:>20} {:>9} {:>12} {:>15} {:>8} {:>8}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="turns of each side; the quickest counts")
    rounds = parser.parse_args().rounds
    print(f"{platform.processor() or platform.machine()}, float64, dt {DT} s, MuJoCo {mujoco.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        cases = [Case.of(name, file) for name, file in files(Path(folder)).items()]
    print(f"\n{RUNS} runs of {STEPS} steps, one thread [ns a step]; every state kept, or the last alone")
    print(LINE.format(*HEAD))
    for case in cases:
        for method in METHODS:
            print(batch(case, method, rounds), flush=True)
    print(f"\none simulation of {SINGLE:g} s from Python [ms]; qdot keeps every state")
    print(ONE.format("model", "method", "qdot", "mj_step loop", "mj_step(nstep)", "ratio", "C loop"))
    for case in cases:
        for method in METHODS:
            print(single(case, method, rounds), flush=True)
    print(f"\n{'model':>9} {'method':>20} {'1 thread':>9} {'2':>9} {'gain':>9}")
    for case in cases:
        for method in METHODS:
            print(threads(case, method, rounds), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Missing as why:
        sys.exit(str(why))
