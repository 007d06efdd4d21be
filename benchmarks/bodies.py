"""How the cost of inverse and forward dynamics grows with the number of bodies: `make bench` prints and draws it.

Chains of 8 to 128 bodies, revolute joints about general axes: nothing vanishes because an axis is x, y or z. Operations
of the programs, and ns per evaluation over a batch on one thread. Both grow linearly: a program of twice the bodies has
twice the operations. Code beyond the processor's caches costs a little more per operation.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks.dynamics import Calls  # noqa: E402
from qdot.model.library import random_state, random_tree  # noqa: E402

BODIES = (8, 16, 32, 64, 128)
BATCH = 1024
FUNCTIONS = {"inverse dynamics": qdot.inverse_dynamics, "forward dynamics": qdot.forward_dynamics}


def measured(function, bodies: int, rounds: int) -> tuple[int, float]:
    """(operations, ns per evaluation)."""
    model = random_tree(1, bodies, ["revolute"], branching=0.0)
    rows = [random_state(model, seed) for seed in range(64)]
    columns = [np.tile(np.array(x), (BATCH // 64, 1)) for x in zip(*rows, strict=True)]
    compiled = qdot.compile(function, model)
    calls = Calls(compiled, columns)
    for _ in range(rounds):
        calls.round()
    return compiled.operations, calls.ns


def drawn(figures: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Both against the number of bodies, with the straight line through the first point."""
    panes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")[1]
    for pane, what, k in ((panes[0], "operations", 0), (panes[1], "ns per evaluation", 1)):
        for (name, rows), mark in zip(figures.items(), "os", strict=True):
            values = np.array([row[k] for row in rows], dtype=float)
            (line,) = pane.loglog(BODIES, values, mark, label=name)
            pane.loglog(BODIES, values[0] * np.array(BODIES) / BODIES[0], color=line.get_color(), lw=1, ls="--")
        pane.set(xlabel="bodies", ylabel=what, xticks=BODIES, xticklabels=BODIES)
        pane.minorticks_off()
        pane.grid(alpha=0.3)
    panes[0].legend(title="dashed: proportional to bodies")
    path.parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(path)
    print(f"drawn: {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--picture", type=Path, default=ROOT / "out" / "cost_against_bodies.svg")
    options = parser.parse_args()
    print(f"{'':>18} {'bodies':>7} {'operations':>11} {'per body':>9} {'ns':>8} {'per body':>9}")
    figures: dict[str, list[tuple[int, float]]] = {}
    for name, function in FUNCTIONS.items():
        figures[name] = [measured(function, n, options.rounds) for n in BODIES]
        for n, (operations, ns) in zip(BODIES, figures[name], strict=True):
            print(f"{name:>18} {n:>7} {operations:>11} {operations / n:>9.0f} {ns:>8.0f} {ns / n:>9.1f}", flush=True)
    drawn(figures, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
