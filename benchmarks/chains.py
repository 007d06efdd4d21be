"""How the cost of a step grows with the length of a chain: reduced coordinates against maximal ones.

Planar chains of 5 to 500 uniform rods, semi-implicit Euler. Reduced: the articulated-body algorithm. Maximal: three
coordinates a rod, two constraint rows a hinge, a sparse factorisation, and a projection on the constraints after each
step. Both are linear in the rods: so many operations each. Prints seconds to trace and compile and µs a step, of
processor time, operations a rod, and slopes of straight lines through the logarithms; draws both. Programs of more
than 32,768 instructions are rolled into loops: from 50 rods on in maximal coordinates, from 500 in reduced ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from qdot.formulations.maximal import to_maximal  # noqa: E402
from qdot.joints import Revolute  # noqa: E402
from qdot.simulation.simulate import Simulation  # noqa: E402
from qdot.spatial import Inertia  # noqa: E402

LINKS = (5, 10, 20, 50, 100, 200, 500)
DT = 1e-3


def chain(n: int, length: float = 0.2, mass: float = 0.1) -> qdot.Model:
    """n uniform rods hanging from each other along -z, turning about y."""
    world = qdot.Mechanism(f"chain_{n}", gravity=(0, 0, -9.81))
    part, at = world.world, (0.0, 0.0, 0.0)
    moment = mass * length**2 / 12
    for k in range(n):
        rod = Inertia.about_com(mass, (0, 0, -length / 2), (moment, moment, 0))
        part = part.add(f"link{k}", Revolute("y"), rod, at=at, joint_name=f"joint{k}")
        at = (0.0, 0.0, -length)
    return qdot.assemble(world)


Figures = tuple[float, float, int]


def measured(model: qdot.Model, state: tuple[np.ndarray, np.ndarray], rounds: int) -> Figures:
    """(s to trace and compile or to find in the cache, µs a step, operations of one): the least of some rounds."""
    start = time.process_time()
    run = Simulation(model, state, DT, integrator="semi-implicit euler", solver="sparse")
    built = time.process_time() - start
    steps = max(10, 20_000 // model.nv)
    run.advance(steps * DT, record=steps)
    took = []
    for _ in range(rounds):
        start = time.process_time()
        run.advance(steps * DT, record=steps)
        took.append((time.process_time() - start) / steps)
    return built, 1e6 * min(took), run._program.operations


def drawn(links: list[int], found: dict[str, list[Figures]], slopes: dict[str, float], path: Path) -> None:
    """µs a step against links, and lines of slope one."""
    _, pane = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, rows), mark, color in zip(found.items(), "os", ("#0072b2", "#d55e00"), strict=True):
        costs = np.array([row[1] for row in rows])
        pane.loglog(links, costs, mark, color=color, label=f"{name}, slope {slopes[name]:.2f}")
        pane.loglog(links, costs[0] * np.array(links) / links[0], color=color, lw=1, ls="--")
    pane.set(xlabel="rods", ylabel="µs a step", xticks=links, xticklabels=links)
    pane.minorticks_off()
    pane.grid(alpha=0.3)
    pane.legend(title="dashed: proportional to rods", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(path, dpi=150)
    print(f"drawn: {path}")


def _slope(links: list[int], values: list[float]) -> float:
    return float(np.polyfit(np.log(links), np.log(values), 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=LINKS[-1], help="the longest chain")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "chains.png")
    given = parser.parse_args()
    links = [n for n in LINKS if n <= given.most]
    found: dict[str, list[Figures]] = {"reduced": [], "maximal": []}
    print(f"{'rods':>5} {'coordinates':>16} {'compiled [s]':>14} {'step [µs]':>12} {'operations a rod':>18}")
    for n in links:
        model = chain(n)
        apart = to_maximal(model)
        start = np.zeros(n), np.zeros(n)
        start[0][0] = 0.5
        for name, which, state in (("reduced", model, start), ("maximal", apart.model, apart.state(*start))):
            found[name].append(measured(which, state, given.rounds))
            built, cost, operations = found[name][-1]
            print(f"{n:5} {f'{name}, {which.nv}':>16} {built:14.1f} {cost:12.1f} {operations / n:18.0f}", flush=True)
    slopes = {}
    for name, rows in found.items():
        slopes[name], of_operations = (_slope(links, [row[k] for row in rows]) for k in (1, 2))
        print(f"{name}: time of a step ~ rods^{slopes[name]:.2f}, its operations ~ rods^{of_operations:.2f}")
    drawn(links, found, slopes, given.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
