"""Reduced against maximal coordinates (U11, U16): small and dense, or large and nearly empty; and what a step costs.

A mechanism is simulated by its joint coordinates and by those of its bodies. The table counts unknowns (coordinates
and constraint rows), entries of the matrix that is factorised, and measures a step; the picture shows the matrices.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from picture_style import BLUE, RED

import qdot
from qdot.joints import Revolute
from qdot.model import library
from qdot.spatial import Inertia

DT = 1e-3
EMPTY = 1e-12


def chain(n: int = 20, length: float = 0.2, mass: float = 0.1) -> qdot.Model:
    """Rods that hang from each other, some thickness to them, turning about y."""
    world = qdot.Mechanism("chain of 20", gravity=(0, 0, -9.81))
    part, at, moment = world.world, (0.0, 0.0, 0.0), mass * length**2 / 12
    for k in range(n):
        solid = Inertia.about_com(mass, (0, 0, -length / 2), (moment, moment, 0.1 * moment))
        part = part.add(f"link{k}", Revolute("y"), solid, at=at)
        at = (0.0, 0.0, -length)
    return qdot.assemble(world)


def tree(branches: int = 4, links: int = 4) -> qdot.Model:
    """A hub on a hinge with fingers, their hinges across each other."""
    world = qdot.Mechanism("hand")
    solid = Inertia.about_com(0.2, (0, 0, 0.05), (2e-4, 2e-4, 1e-4))
    hub = world.add("hub", Revolute("z"), Inertia.about_com(1.0, (0, 0, 0), (0.01, 0.01, 0.01)))
    for b in range(branches):
        part, at = hub, (0.1 * np.cos(1.57 * b), 0.1 * np.sin(1.57 * b), 0.0)
        for k in range(links):
            part = part.add(f"finger{b}_{k}", Revolute("xy"[k % 2]), solid, at=at)
            at = (0.0, 0.0, 0.1)
    return qdot.assemble(world)


def saddle(free: qdot.Maximal, q: np.ndarray) -> np.ndarray:
    """[M Jᵀ; J 0] of the free bodies, body by body from the root: each with the rows that hold it."""
    M, J = qdot.mass_matrix(free.model, q), qdot.constraint_jacobian(free.model, q)
    J = J[np.abs(J).max(axis=1) > EMPTY]  # in a plane, the rows across it say nothing
    n = len(M)
    full = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    last = [int(np.flatnonzero(np.abs(row) > EMPTY)[-1]) for row in J]  # the body that a row holds to its parent
    order = sorted(range(len(full)), key=lambda k: (last[k - n], 0) if k >= n else (k, 1))
    return full[np.ix_(order, order)]


def step_cost(model: qdot.Model, state: tuple[np.ndarray, np.ndarray]) -> float:
    """µs for one step of RK4, the least of five runs."""
    run = qdot.Simulation(model, state, DT, limits="none")
    run.advance(100 * DT, record=100)
    took = []
    for _ in range(5):
        start = time.perf_counter()
        run.advance(100 * DT, record=100)
        took.append((time.perf_counter() - start) / 100)
    return 1e6 * min(took)


def spy(axes: Axes, matrix: np.ndarray, color: str, title: str) -> None:
    filled = np.abs(matrix) > EMPTY
    i, j = np.nonzero(filled)
    axes.scatter(j, i, s=max(0.4, 2400 / len(matrix) ** 2), marker="s", color=color, linewidths=0)
    axes.set(xlim=(-1, len(matrix)), ylim=(len(matrix), -1), aspect="equal", xticks=[], yticks=[], title=title)
    axes.set_xlabel(f"{len(matrix)} × {len(matrix)}, {filled.mean():.0%} full")
    axes.spines[:].set_visible(True)


def main(out: Path) -> dict[str, float]:
    """Returns by mechanism how far joint coordinates of both are apart after a tenth of a second [rad, m]."""
    out.mkdir(parents=True, exist_ok=True)
    models = [library.five_link_chain(), chain(), tree(), library.seven_joint_arm()]
    figure, panes = plt.subplots(2, len(models), figsize=(7, 3.9))
    print(f"{'mechanism':>16} {'unknowns':>16} {'entries':>16} {'µs a step':>16}   apart")
    apart = {}
    for model, (above, below) in zip(models, panes.T, strict=True):
        free = qdot.to_maximal(model)
        q, v = np.full(model.nq, 0.2), np.full(model.nv, 0.1)
        state = free.state(q, v)
        small, large = qdot.mass_matrix(model, q), saddle(free, state[0])
        reduced = qdot.simulate(model, (q, v), 0.1, DT, record=100, limits="none")
        maximal = qdot.simulate(free.model, state, 0.1, DT, record=100, limits="none")
        back, _ = free.reduced(maximal.q[-1], maximal.v[-1], near=reduced.q[-1])
        apart[model.name] = float(np.abs(back - reduced.q[-1]).max())
        unknowns = f"{len(small)} | {len(large)}"
        entries = " | ".join(str(np.count_nonzero(np.abs(matrix) > EMPTY)) for matrix in (small, large))
        costs = f"{step_cost(model, (q, v)):.1f} | {step_cost(free.model, state):.1f}"
        print(f"{model.name:>16} {unknowns:>16} {entries:>16} {costs:>16}   {apart[model.name]:.1e}")
        spy(above, small, RED, model.name.replace("_", " "))
        spy(below, large, BLUE, "")
    panes[0, 0].set_ylabel("reduced: M", color=RED)
    panes[1, 0].set_ylabel("maximal: M, J", color=BLUE)
    figure.savefig(out / "reduced_and_maximal.png", dpi=130)
    print(f"  {out / 'reduced_and_maximal.png'}")
    return apart


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
