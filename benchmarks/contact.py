"""Simulations with soft contact beside MuJoCo, in one process: robots that stand, and robots that tumble.

Both sides read the same file, with its time step, integrator, friction cone, tolerance of the solver, and collisions of
a robot with itself. They start from the same states under the same controls, and keep every state. Sensors are switched
off in MuJoCo, since qdot computes none. MuJoCo runs in `mujoco.rollout`, its own loop in C, on one thread as qdot does.

"standing" starts at the keyframe, or at home set down on the floor, with the keyframe's controls or none; small random
velocities tell the runs apart. "tumbling" was dropped with random velocities and controls that change every 20 steps:
MuJoCo runs the fall, and each start is a moment of it after the landing. A robot that is bolted down does not fall.

Microseconds for a step are of the processor, the least of rounds in which both take turns. "error" is what the speed is
worth: how far positions are off after 0.1 s, from a run of the same engine with a tenth of the step, in metres or
radians. It is the median of the runs, since some are chaotic; "apart", how far the engines are from each other, is too.
"contacts" are MuJoCo's, "turns" those of Newton's method, both the mean of a step. "first" is the time to compile a
step, "cached" that to find it in the cache.

Of two convex shapes without closed forms MuJoCo looks for several touches, where qdot has one: "one touch" is the ratio
where MuJoCo, too, is told to look for one (its flag multiccd).
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import mujoco.rollout
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks.dynamics import own_cache  # noqa: E402
from benchmarks.robots import Missing  # noqa: E402
from benchmarks.simulation import taking_turns  # noqa: E402
from qdot.errors import QdotError  # noqa: E402
from qdot.simulation.integrators import ImplicitVelocity, RungeKutta4, SemiImplicitEuler  # noqa: E402
from qdot.simulation.phase import Phase  # noqa: E402
from qdot.simulation.softly import problem_of  # noqa: E402
from qdot.simulation.system import Inputs  # noqa: E402

RUNS = 512
PEER_RUNS = 32
"""MuJoCo runs one after the other, so that its time for a step does not depend on how many there are."""
STEPS = 100
HELD = 20
"""Steps for which a random control is held."""
COMPARED = 0.1
"""Seconds after which runs are compared."""
FALLS = 32
LANDED, OVER = 0.4, 1.4
"""Seconds of a fall: starts are moments between these."""
PRESSED = 1e-3
"""[m]: how deep a robot is set into the floor, so that no contact hangs on rounding."""
INSIDE = 0.01
"""Of the range of a joint: how far from its ends it starts."""
FINER = 10

METHODS = {
    mujoco.mjtIntegrator.mjINT_EULER: SemiImplicitEuler(implicit_dampers=True),
    mujoco.mjtIntegrator.mjINT_RK4: RungeKutta4(),
    mujoco.mjtIntegrator.mjINT_IMPLICITFAST: ImplicitVelocity(),
}
SCENARIOS = ("standing", "tumbling")

ROBOTS: dict[str, tuple[str | None, str]] = {
    "humanoid": ("dm_control", "suite/humanoid.xml"),
    "go1": (None, "go1/go1.xml"),
    "anymal_c": (None, "anymal_c/anymal_c.xml"),
    "panda": (None, "panda/panda.xml"),
    "g1": (None, "g1/g1.xml"),
    "ant": ("gymnasium", "envs/mujoco/assets/ant.xml"),
    "half_cheetah": ("gymnasium", "envs/mujoco/assets/half_cheetah.xml"),
    "hopper": ("gymnasium", "envs/mujoco/assets/hopper.xml"),
    "walker2d": ("gymnasium", "envs/mujoco/assets/walker2d.xml"),
}
"""The package that has a robot's file, None for the folder of models beside the repository; and the path in there."""


class Start(NamedTuple):
    """Where runs begin, and what drives them."""

    states: np.ndarray
    """MuJoCo's, a row for each run: time, positions, velocities."""
    control: np.ndarray
    """(runs, STEPS, nu)."""


class Case:
    """A robot on both sides."""

    def __init__(self, name: str) -> None:
        file = file_of(name)
        self.name = name
        self.model = qdot.load(file, strict=False)
        self.peer = mujoco.MjModel.from_xml_path(str(file))
        self.peer.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
        self.dt = self.peer.opt.timestep
        self.bridge = qdot.convert.mujoco(self.model, self.peer)
        self.data = mujoco.MjData(self.peer)

    # -- where runs start ----------------------------------------------------------------------------------------------

    def start(self, scenario: str) -> Start:
        random = np.random.default_rng(0)
        return self._standing(random) if scenario == "standing" else self._tumbling(random)

    def _standing(self, random: np.random.Generator) -> Start:
        velocities = 0.01 * random.normal(size=(RUNS, self.peer.nv))
        control = np.zeros((RUNS, STEPS, self.peer.nu))
        if self.peer.nkey:
            control[:] = self.peer.key_ctrl[0]
        return Start(self._states(np.tile(self._home, (RUNS, 1)), velocities), control)

    def _tumbling(self, random: np.random.Generator) -> Start:
        peer, total = self.peer, round(OVER / self.dt)
        positions = np.tile(self._home, (FALLS, 1))
        if self._height is not None:
            positions[:, self._height] += random.uniform(0.5, 1, size=FALLS)
        states = self._states(positions, 0.5 * random.normal(size=(FALLS, peer.nv)))
        falls, _ = mujoco.rollout.rollout(peer, self.data, states, self._random_control(random, FALLS, total))
        which, when = random.integers(FALLS, size=RUNS), random.integers(round(LANDED / self.dt), total, size=RUNS)
        starts = falls[which, when]
        if not np.isfinite(starts).all() or self.data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            raise Unable("MuJoCo's fall diverges")
        return Start(self._states(*np.split(starts[:, 1:], [peer.nq], axis=1)), self._random_control(random, RUNS))

    def _random_control(self, random: np.random.Generator, runs: int, steps: int = STEPS) -> np.ndarray:
        limited = self.peer.actuator_ctrllimited[:, None] == 1
        low, high = np.where(limited, self.peer.actuator_ctrlrange, [-1.0, 1.0]).T
        drawn = random.uniform(low, high, size=(runs, -(-steps // HELD), self.peer.nu))
        return np.repeat(drawn, HELD, axis=1)[:, :steps]

    def _states(self, positions: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        return np.hstack([np.zeros((len(positions), 1)), positions, velocities])

    @cached_property
    def _height(self) -> int | None:
        """The coordinate that lifts the robot: of a free joint, or of one that slides upwards from the world."""
        peer, free, slide = self.peer, mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_SLIDE
        for joint in range(peer.njnt):
            if peer.jnt_type[joint] == free:
                return int(peer.jnt_qposadr[joint]) + 2
            if peer.jnt_type[joint] == slide and peer.jnt_axis[joint][2] == 1:
                return int(peer.jnt_qposadr[joint])
        return None

    @cached_property
    def _home(self) -> np.ndarray:
        """The keyframe; or the home of the file, led within the limits of the joints and set down on the floor."""
        peer, data = self.peer, self.data
        if peer.nkey:
            return peer.key_qpos[0].copy()
        mujoco.mj_resetData(peer, data)
        for joint in np.flatnonzero(peer.jnt_limited):
            (low, high), at = peer.jnt_range[joint], peer.jnt_qposadr[joint]
            data.qpos[at] = np.clip(data.qpos[at], low + INSIDE * (high - low), high - INSIDE * (high - low))
        mujoco.mj_forward(peer, data)
        planes = peer.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        solid = ~planes & (peer.geom_contype | peer.geom_conaffinity > 0)
        (floor,) = np.flatnonzero(planes)
        home = data.qpos.copy()
        if self._height is not None:
            gaps = [mujoco.mj_geomDistance(peer, data, floor, geom, 10.0, None) for geom in np.flatnonzero(solid)]
            home[self._height] -= min(gaps) + PRESSED
        return home

    # -- runs ----------------------------------------------------------------------------------------------------------

    def simulate(self, start: Start, steps: int = STEPS, finer: int = 1, **options: Any) -> qdot.Trajectory:
        """So many of the file's steps, each parted in `finer`."""
        qpos, qvel = np.split(start.states[:, 1:], [self.peer.nq], axis=1)
        control = {"control": np.repeat(start.control[:, :steps], finer, axis=1)} if steps else {}
        state = self.bridge.q_from(qpos), self.bridge.v_from(qpos, qvel)
        method = METHODS[self.peer.opt.integrator]
        given = {"contact": "soft", "integrator": method, "threads": 1, "progress": False} | control | options
        return qdot.simulate(self.model, state, steps * self.dt, self.dt / finer, **given)

    def rollout(self, start: Start, steps: int = STEPS, finer: int = 1, *, one_touch: bool = False) -> np.ndarray:
        opt, flags = self.peer.opt, self.peer.opt.disableflags
        opt.timestep = self.dt / finer
        opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD if one_touch else 0
        control = np.repeat(start.control[:, :steps], finer, axis=1)
        states, _ = mujoco.rollout.rollout(self.peer, self.data, start.states, control, nstep=steps * finer)
        opt.timestep, opt.disableflags = self.dt, flags
        return states

    def errors(self, start: Start, **options: Any) -> tuple[float, float, float]:
        """How far both are from runs of their own with shorter steps, and from each other."""
        steps = round(COMPARED / self.dt)
        ours = self.simulate(start, steps, **options).q[:, -1]
        ours_finer = self.simulate(start, steps, FINER).q[:, -1]
        theirs, theirs_finer = (self._q(self.rollout(start, steps, finer)) for finer in (1, FINER))

        def apart(p: np.ndarray, q: np.ndarray) -> float:
            return float(np.median(np.abs(qdot.difference(self.model, p, q)).max(axis=1)))

        return apart(ours, ours_finer), apart(theirs, theirs_finer), apart(ours, theirs)

    def _q(self, states: np.ndarray) -> np.ndarray:
        return self.bridge.q_from(states[:, -1, 1 : 1 + self.peer.nq])

    def counts(self, start: Start) -> tuple[float, float]:
        """MuJoCo's contacts and turns of Newton's method, the mean of a step."""
        peer, data = self.peer, self.data
        contacts, turns = [], []
        for state, controls in zip(*start, strict=True):
            mujoco.mj_resetData(peer, data)
            data.qpos[:], data.qvel[:] = np.split(state[1:], [peer.nq])
            for control in controls:
                data.ctrl[:] = control
                mujoco.mj_step(peer, data)
                contacts.append(data.ncon)
                turns.append(max(data.solver_niter))  # of the islands, the one that took longest
        return float(np.mean(contacts)), float(np.mean(turns))


class Unable(Exception):
    """A row cannot be measured; the message says why."""


def file_of(name: str) -> Path:
    package, path = ROBOTS[name]
    if package is None:
        file = ROOT.parent / "shared" / "models" / path
        if not file.exists():
            raise Missing(f"no folder of models beside the repository has {path}")
        return file
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise Missing(f"{package} is not there: pip install {package}")
    return Path(found.submodule_search_locations[0]) / path


def compiling(case: Case) -> float:
    """Seconds until a simulation can run."""
    start = case.start("standing")
    began = time.process_time()
    case.simulate(start, 0)
    return time.process_time() - began


def compiling_anew(name: str, patience: float) -> float:
    """The same in a process of its own, which is ended where it takes longer than patience."""
    text = f"from benchmarks.contact import Case, compiling; print(compiling(Case({name!r})))"
    try:
        command = [sys.executable, "-c", text]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        raise Unable(f"its step takes more than {patience:g} s to compile (--patience)") from None
    if done.returncode:
        raise Unable(done.stderr.strip().splitlines()[-1])
    return float(done.stdout.split()[-1])


def robot(name: str, scenarios: list[str], patience: float, seconds: float) -> Iterator[str]:
    """The rows of a robot."""
    try:
        file_of(name)  # said here where it is missing, and not by the other process
        first = compiling_anew(name, patience)
        case = Case(name)
        cells = f"{first:.1f}", f"{compiling(case) * 1e3:.0f}"
    except Exception as why:  # whatever it is, other robots go on
        yield f"{name:>12} left out: {reason(why)}"
        return
    for scenario in scenarios:
        try:
            start = case.start(scenario)
            for dtype in NUMBERS:
                yield LINE.format(name, scenario, *measured(case, start, dtype, seconds), *cells)
        except Exception as why:
            yield f"{name:>12} {scenario:>9} left out: {reason(why)}"


def measured(case: Case, start: Start, dtype: str, seconds: float) -> list[str]:
    options = {"dtype": dtype}
    few = Start(*(x[:PEER_RUNS] for x in start))

    def ours() -> qdot.Trajectory:
        return case.simulate(start, **options)

    def theirs() -> np.ndarray:
        return case.rollout(few)

    def theirs_with_one_touch() -> np.ndarray:
        return case.rollout(few, one_touch=True)

    sides = ours, theirs, theirs_with_one_touch
    first = taking_turns(1, *sides)
    best = np.minimum(first, taking_turns(int(np.clip(seconds / sum(first), 1, 30)), *sides))
    qdot_step, peer_step, peer_step_with_one_touch = best / (np.array([RUNS, PEER_RUNS, PEER_RUNS]) * STEPS) * 1e6
    contacts, peer_turns = case.counts(few)
    turns = newton_turns(case, few, case.simulate(few, **options))
    return [
        *(METHODS[case.peer.opt.integrator].name, f"{case.dt * 1e3:g}", dtype, f"{qdot_step:.2f}", f"{peer_step:.1f}"),
        *(f"{peer_step / qdot_step:.1f}×", f"{peer_step_with_one_touch / qdot_step:.1f}×"),
        *(f"{contacts:.1f}", f"{turns:.1f}", f"{peer_turns:.1f}"),
        *(f"{x:.1e}" for x in case.errors(few, **options)),
    ]


def newton_turns(case: Case, start: Start, run: qdot.Trajectory) -> float:
    """qdot's turns of Newton's method in a step, the mean of a moment of each run: solved once more, in Python, from
    what the step before it remembered."""
    model, system, found = case.model, run.system, []
    for row in range(0, PEER_RUNS, 2):
        last = row * (STEPS - 1) // PEER_RUNS
        guess = [0.0] * model.nv
        for k in (last, last + 1):
            phase = Phase(k * case.dt, run.q[row, k].tolist(), run.v[row, k].tolist(), [], [])
            inputs = Inputs(start.control[row, k].tolist(), [0.0] * model.nv, case.dt, guess=guess)
            total = [sum(column) for column in zip(*system.forces(phase, inputs).values(), strict=True)]
            problem = problem_of(system, system.setup.contact, phase, inputs, total)
            solution = problem.solved(guess)
            guess = problem.remembered(solution)
        found.append(solution.turns)
    return float(np.mean(found))


def reason(why: Exception) -> str:
    first = next(iter(str(why).splitlines()), "")
    text = first if isinstance(why, (Missing, Unable, QdotError)) else f"{type(why).__name__}: {first}"
    return text if len(text) <= 150 else f"{text[:149]}…"


NUMBERS = ("float64", "float32")

LINE = "{:>12} {:>9} {:>20} {:>6} {:>8} {:>8} {:>8} {:>7} {:>9} {:>9} {:>6} {:>7} {:>9} {:>9} {:>9} {:>8} {:>9}"
HEAD = (
    *("model", "scenario", "method", "dt ms", "numbers", "qdot µs", "MuJoCo", "ratio", "one touch"),
    *("contacts", "turns", "MuJoCo"),
    *("error", "MuJoCo", "apart", "first s", "cached ms"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(ROBOTS), help=f"which robots, of {', '.join(ROBOTS)}")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="which scenarios")
    parser.add_argument("--seconds", type=float, default=2.0, help="that both sides take turns, for each row")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that a robot's step may take to compile")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, MuJoCo {mujoco.__version__}, load {os.getloadavg()[0]:.1f}")
    print(f"{RUNS} runs of {STEPS} steps, one thread; every state kept")
    print(LINE.format(*HEAD))
    with tempfile.TemporaryDirectory() as folder, own_cache(folder):
        for name in options.only.split(","):
            for row in robot(name, options.scenarios.split(","), options.patience, options.seconds):
                print(row, flush=True)


if __name__ == "__main__":
    main()
