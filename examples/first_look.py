"""A first look: two mechanisms in motion, what the energy ledger says of them, and the equations of a third.

Everything lands in one folder: pictures as PNG, and motions as pages that open in a browser, without a server.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import sympy
from picture_style import BLUE, GREY
from rich import box
from rich.console import Console
from rich.table import Table

import qdot
from qdot.algebra import Scalar, Scalars, exp
from qdot.animation import write_animation
from qdot.model import library
from qdot.plots import draw
from qdot.simulation import JointForce
from qdot.simulation.pictures import plot_ledger, plot_trajectory

DT = 5e-4  # s
POSE = (1.4, 0.7, -0.3, 1.3, 0.5, -0.9, 0.2)  # rad, where the arm is drawn to
STIFFNESS = (300, 300, 150, 100, 15, 15, 0.2)  # N·m/rad
DAMPING = (20, 20, 6, 4, 0.3, 0.3, 0.003)  # N·m·s/rad

console = Console(highlight=False, width=min(100, Console().width))


def row(table: Table, name: str, coordinates: str, simulation: qdot.Simulation, seconds: float) -> qdot.Trajectory:
    """Run a simulation, which is compiled by now, and tell what came out."""
    simulation.advance(seconds)
    run = simulation.trajectory
    steps, closes = run.records - 1, f"{np.abs(run.balance()).max():.0e} J"
    drift = f"{np.nanmax(run.drift[:, 0]):.0e} m" if run.row_names else "none"
    table.add_row(name, coordinates, f"{steps:,}", f"{steps / run.computing:,.0f}", closes, drift)
    return run


def chain(table: Table, out: Path) -> list[Path]:
    """Five links that swing freely, in joint angles and as free bodies (U10, U11)."""
    model = library.five_link_chain()
    free = qdot.to_maximal(model)
    start = np.array([1.2, 0.3, 0.3, 0.3, 0.3])
    console.print("  five-link chain, reduced coordinates: joint angles …")
    simulation = qdot.Simulation(model, (start, np.zeros(5)), DT, ledger=True)
    reduced = row(table, "five-link chain", "5 angles", simulation, 3.0)
    console.print("  five-link chain, maximal coordinates: free bodies and constraints …")
    simulation = qdot.Simulation(free.model, free.state(start), DT, ledger=True)
    maximal = row(table, "", f"{free.model.nv} of bodies", simulation, 3.0)
    q, _ = free.reduced(maximal.q, maximal.v, near=reduced.q)
    console.print("  pictures of the chain …")
    paths = [out / f"five_link_chain{kind}" for kind in (".png", "_energy.png", ".html")]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4))
    points = np.stack([reduced.position(f)[:, ::2] for f in (*(f"link{k}" for k in range(1, 6)), "tip")], axis=1)
    for k in np.linspace(0, len(points) - 1, 20).astype(int):
        left.plot(*points[k].T, "-o", color=plt.cm.viridis(k / len(points)), ms=2.5, lw=1.6)
    left.set(aspect="equal", title="five-link chain, dark to light", xlabel="x [m]", ylabel="z [m]")
    apart, drift = np.abs(q - reduced.q).max(axis=1), np.maximum(maximal.drift[:, 0], 1e-17)
    right.semilogy(reduced.time[1:], apart[1:], color=BLUE, label="angles apart [rad]")
    right.semilogy(maximal.time[1:], drift[1:], color=GREY, lw=0.6, label="joints apart [m]")
    right.set(title="reduced against maximal", xlabel="time [s]")
    right.legend()
    figure.savefig(paths[0], dpi=130)
    plot_trajectory(reduced, ("q", "energy")).savefig(paths[1], dpi=130)
    write_animation(paths[2], model, reduced.time, {"reduced": reduced.q, "maximal": q}, traces="tip")
    return paths


def arm(table: Table, out: Path) -> list[Path]:
    """Drives draw seven joints to a pose like springs, brakes take energy out, and gravity pulls all the while."""

    def drives(t: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        way = 1 - exp(-4 * t * t)
        return [k * (way * there - x) for k, there, x in zip(STIFFNESS, POSE, q, strict=True)]

    def brakes(q: Scalars, v: Scalars) -> list[Scalar]:
        return [-d * x for d, x in zip(DAMPING, v, strict=True)]

    console.print("  seven-joint arm …")
    model = library.seven_joint_arm()
    forces = [JointForce("drives", drives), JointForce("brakes", brakes)]
    simulation = qdot.Simulation(model, None, DT, forces=forces, ledger=True)
    run = row(table, "seven-joint arm", "7 angles", simulation, 3.0)
    console.print("  pictures of the arm …")
    paths = [out / f"seven_joint_arm{kind}" for kind in (".png", "_ledger.png", ".html")]
    plot_trajectory(run, ("q", "v")).savefig(paths[0], dpi=130)
    plot_ledger(run).savefig(paths[1], dpi=130)
    run.replay(paths[2], traces="flange")
    return paths


def equations(out: Path) -> list[Path]:
    """The same functions on symbols: the equations of the two-link arm."""
    lengths, masses = sympy.symbols("l1 l2", positive=True), sympy.symbols("m1 m2", positive=True)
    symbols = library.two_link_arm(lengths, masses, sympy.Symbol("g"))
    q, _, _ = qdot.symbols(symbols)
    M = sympy.Matrix(qdot.mass_matrix(symbols, q)).applyfunc(sympy.expand)
    console.print("\nthe same code on symbols: the mass matrix of the two-link arm", style="bold")
    for i, j in ((0, 0), (0, 1), (1, 1)):
        console.print(f"  M[{i},{j}] = {M[i, j]}", markup=False)
    path = out / "two_link_arm.png"
    draw(library.two_link_arm(), [0.5, 0.9]).savefig(path, dpi=130)
    return [path]


def main() -> None:
    began = perf_counter()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for pictures and pages")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("model", "coordinates", "steps", "steps/s", "energy closes", "drift"):
        table.add_column(name, justify="left" if name in ("model", "coordinates") else "right", no_wrap=True)
    console.print(f"qdot {qdot.__version__}: the first run compiles each model, later ones find it compiled")
    paths = chain(table, out) + arm(table, out)
    console.print(table)
    console.print("[dim]energy closes: its change less the work of all forces; drift: of constraints[/]")
    paths += equations(out)
    pages = [path for path in paths if path.suffix == ".html"]
    console.print(f"\nall of it took {perf_counter() - began:.1f} s; look at", style="bold")
    for path in [path for path in paths if path.suffix == ".png"]:
        console.print(f"  {path}", markup=False, soft_wrap=True)
    console.print("and open in a browser", style="bold")
    for path in pages:
        console.print(f"  {path}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
