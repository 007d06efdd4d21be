"""Closed loops beside MuJoCo, Drake and Exudyn: what error a second of computing buys. `make bench` prints and draws.

Three mechanisms of the IFToMM library of benchmarks: N windows of four bars (A02; Bayo, Avello 1994), N = 2 and 40,
which pass through configurations where all bars lie flat and the loops could open another way; and Bricard's linkage
(A04), six hinges in space that have no right to move, and do. The error is the distance of one of the hinges from where
it is in truth, at the end. For windows that is a pendulum's tip, since they stay parallelograms; for Bricard's linkage
qdot's reduced and maximal coordinates agree on it, and the published figures with them.

Every engine has the same bars and hinges, no damping, and its methods for hinges that close loops. Times are those of
the processor for the run alone, from a state to the last one, the best of some rounds; what comes before (building,
compiling) is not in them. Drake and Exudyn are left out where they are not installed: pip install drake exudyn.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.loop_engines import Bar, Build, Hinge, Linkage, Prepare, by_drake, by_exudyn, by_mujoco, own  # noqa: E402

STEPS = (0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
PATIENCE = 3.0
"""Seconds: steps so short that a run would take longer are left out."""
WITHIN = (0.01, 0.1, 1.0)
"""Seconds of the table: the least error that each engine reaches within them."""


def windows(count: int) -> Linkage:
    """Posts on the ground and beams between their tops; the first top starts with 1 m/s."""
    up, along = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    bars, hinges, z = {}, [], (0.0, 0.0, 1.0)
    thin = 1e-6
    for k in range(count + 1):
        foot = k * along
        bars[f"post{k}"] = Bar(foot, foot + up, (1 / 12, thin, 1 / 12), (0, 0, -1), (0.5, 0, 0))
        hinges.append(Hinge(None, f"post{k}", tuple(foot), z))
    for k in range(count):
        top = k * along + up
        bars[f"beam{k}"] = Bar(top, top + along, (thin, 1 / 12, 1 / 12), (0, 0, 0), (1, 0, 0))
        hinges.append(Hinge(f"post{k}", f"beam{k}", tuple(top), z))
        hinges.append(Hinge(f"beam{k}", f"post{k + 1}", tuple(top + along), z, closes=True))
    truth, known = pendulum(9.81 * ((count + 1) / 2 + count) / ((count + 1) / 3 + count))
    return Linkage(f"four-bar, {count} windows", 10.0, bars, hinges, True, "post0", truth, known)


def pendulum(stiffness: float, seconds: float = 10.0) -> tuple[np.ndarray, float]:
    """Where the tip of θ̈ = stiffness · sin θ is, from θ = 0 at 1 rad/s, and how well that is known: by Jacobi's
    amplitude, since it goes round, and by integration."""
    fastest = np.sqrt(1 + 4 * stiffness)
    m = 4 * stiffness / fastest**2
    found = 2 * ellipj(fastest * seconds / 2 + ellipk(m), m)[3] - np.pi
    again = solve_ivp(
        lambda t, y: [y[1], stiffness * np.sin(y[0])], (0, seconds), [0, 1], "DOP853", rtol=1e-13, atol=1e-13
    ).y[0, -1]
    return np.array([np.sin(found), np.cos(found), 0.0]), max(abs(found - again), 1e-13)


def bricard() -> Linkage:
    """Five bars with a square section of 0.1 m along edges of a cube, the sixth edge is the ground; falls from rest."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = [np.eye(3)["xyz".index(axis)] for axis in "yzxyzx"]
    bars, hinges = {}, []
    for way in ((0, 1, 2, 3), (5, 4, 3)):  # two chains from the ground, closed where they meet
        before = None
        for a, b in pairwise(way):
            name, along = f"bar{min(a, b)}", np.abs(points[b] - points[a])
            moments = along * (2 * 0.1**2) / 12 + (1 - along) * (1 + 0.1**2) / 12
            bars[name] = Bar(points[a], points[b], tuple(moments))
            hinges.append(Hinge(before, name, tuple(points[a]), tuple(axes[a])))
            before = name
    hinges.append(Hinge("bar2", "bar3", tuple(points[3]), tuple(axes[3]), closes=True))
    linkage = Linkage("Bricard", 2.0, bars, hinges, False, "bar2", np.zeros(3), 0.0)
    fine = [measured(run, 1)[1] for run in (own("rk4", 2e-4)(linkage), own("rk4", 2e-4, maximal=True)(linkage))]
    published = np.array([-0.7781353730333136, -0.9803526834432432, -0.19725267061681162])  # of the library's A04
    known = float(np.abs(fine[0] - fine[1]).max())
    assert known < 1e-10, fine
    assert np.abs(fine[0] - published).max() < 1e-6, fine
    return linkage._replace(truth=fine[0], known=known)


def contestants(linkage: Linkage) -> dict[tuple[str, str], Callable[[float], Build]]:
    """By engine and method; what needs minutes to compile is left out."""
    found = {
        ("qdot", "rk4"): lambda dt: own("rk4", dt),
        ("qdot", "semi-implicit euler"): lambda dt: own("semi-implicit euler", dt),
        ("MuJoCo", "Euler"): lambda dt: by_mujoco("EULER", dt, 2.0),
        ("MuJoCo", "RK4"): lambda dt: by_mujoco("RK4", dt, 1.0),
    }
    if len(linkage.bars) < 20:
        found["qdot", "generalised α"] = lambda dt: own("generalised alpha", dt)
        found["qdot", "rk4, maximal"] = lambda dt: own("rk4", dt, maximal=True)
    if find_spec("pydrake") is not None:
        found["Drake", "SAP"] = by_drake
    if find_spec("exudyn") is not None:
        found["Exudyn", "generalised α"] = by_exudyn
    return found


def measured(prepare: Prepare, rounds: int) -> tuple[float, np.ndarray]:
    """(seconds, the point), of the best round."""
    best, point = np.inf, np.full(3, np.nan)
    for _ in range(rounds):
        run = prepare()
        start = time.process_time()
        look = run()
        best = min(best, time.process_time() - start)
        point = look()
    return best, point


class Row(NamedTuple):
    engine: str
    method: str
    dt: float
    seconds: float
    error: float


def rows(linkage: Linkage, rounds: int) -> Iterator[Row]:
    for (engine, method), make in contestants(linkage).items():
        for dt in STEPS:
            try:
                prepare = make(dt)(linkage)
                seconds, point = measured(prepare, 1)
                if seconds < PATIENCE / 10:
                    again, point = measured(prepare, rounds - 1)
                    seconds = min(seconds, again)
            except Exception as why:
                print(f"{engine}, {method}, dt {dt:g}: {str(why).splitlines()[0]}", file=sys.stderr)
                continue
            yield Row(engine, method, dt, seconds, max(linkage.known, float(np.linalg.norm(point - linkage.truth))))
            if seconds * 2 > PATIENCE:
                break


COLORS = {"qdot": "#0072b2", "MuJoCo": "#d55e00", "Drake": "#009e73", "Exudyn": "#cc79a7"}
MARKS = "os^Dv"


def drawn(figures: dict[str, list[Row]], path: Path) -> None:
    """Error against time, a pane for each linkage; left and down is better."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panes = plt.subplots(1, len(figures), figsize=(3.6 * len(figures), 4.5), layout="constrained", sharey=True)
    shown: dict[str, object] = {}
    for pane, (name, found) in zip(np.atleast_1d(panes), figures.items(), strict=True):
        for engine, method in dict.fromkeys((row.engine, row.method) for row in found):
            line = [row for row in found if (row.engine, row.method) == (engine, method) and row.error < 1]
            others = list(dict.fromkeys(r.method for r in found if r.engine == engine))
            (shown[f"{engine}, {method}"],) = pane.loglog(
                [row.seconds * 1e3 for row in line],
                [row.error for row in line],
                f"-{MARKS[others.index(method)]}",
                color=COLORS[engine],
                ms=5,
                lw=1.2,
                alpha=0.9,
            )
        pane.set(title=name, xlabel="processor time of the run [ms]")
        pane.grid(alpha=0.25)
    np.atleast_1d(panes)[0].set_ylabel("error at the end [m]")
    names = sorted(shown, key=lambda name: list(COLORS).index(name.split(",")[0]))
    figure.legend([shown[name] for name in names], names, loc="outside lower center", ncols=4, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    print(f"drawn: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4, help="of each run; the quickest counts")
    parser.add_argument("--picture", type=Path, default=ROOT / "out" / "closed_loops.png")
    parser.add_argument("--linkages", default="2,40,bricard", help="numbers of windows, bricard")
    options = parser.parse_args()
    figures: dict[str, list[Row]] = {}
    print(f"{'linkage':>22} {'engine':>8} {'method':>20} {'dt':>8} {'ms':>9} {'error m':>9}")
    for which in options.linkages.split(","):
        linkage = bricard() if which == "bricard" else windows(int(which))
        figures[linkage.name] = []
        for row in rows(linkage, options.rounds):
            figures[linkage.name].append(row)
            numbers = f"{row.dt:8g} {row.seconds * 1e3:9.2f} {row.error:9.1e}"
            print(f"{linkage.name:>22} {row.engine:>8} {row.method:>20} {numbers}", flush=True)
    print(f"\nleast error [m] within\n{'linkage':>22} {'engine':>8}", *(f"{t * 1e3:6g} ms" for t in WITHIN))
    for name, found in figures.items():
        for engine in dict.fromkeys(row.engine for row in found):
            least = [
                min((r.error for r in found if r.engine == engine and r.seconds <= t), default=np.nan) for t in WITHIN
            ]
            print(f"{name:>22} {engine:>8}", *(f"{error:9.1e}" for error in least))
    drawn(figures, options.picture)


if __name__ == "__main__":
    main()
