"""A four-bar linkage whose crank is driven: what the drive and the closing joint have to give.

Crank, coupler and rocker are a chain; a loop joint holds the end of the rocker to the ground. The crank follows a
function of time, whatever torque that takes. Without friction, the drive gives back on the way down what it gave on the
way up: its mean over a turn is zero.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREY, INK, ORANGE, RED, rods

import qdot
from qdot.algebra import exp
from qdot.geometry import Capsule
from qdot.joints import Revolute
from qdot.simulation import Driven
from qdot.spatial import Transform

LINKS = {"crank": 0.4, "coupler": 1.1, "rocker": 0.8}  # lengths [m]
GROUND, TURN = 1.0, 1.0  # m, and seconds for a turn


def linkage() -> qdot.Model:
    """Links of 1 kg/m in the x–z plane."""
    world = qdot.Mechanism("four_bar")
    part, at = world.world, 0.0
    for (name, length), home in zip(LINKS.items(), (-1.0, 0.6, 2.2), strict=True):
        along = Transform.rpy(0, np.pi / 2, 0, (length / 2, 0, 0))
        rod = Capsule(length=length, radius=0.025, mass=length).at(along)
        part = part.add(name, Revolute("y"), rod, at=(at, 0, 0), home=home)
        part.frame(f"middle of {name}", at=(length / 2, 0, 0))
        at = length
    part.frame("end", at=(at, 0, 0))
    world.frame("pivot", at=(GROUND, 0, 0))
    world.close("closing", Revolute("y"), "pivot", "end")
    return qdot.assemble(world)


def main(out: Path, turns: float = 3.0, dt: float = 1e-3) -> float:
    """Returns the mean torque over the last turn, as a part of the largest."""
    out.mkdir(parents=True, exist_ok=True)
    model = linkage()
    start = qdot.projected(model)  # home, which closes the loop only roughly, made exact
    first, rate = float(start.q[0]), 2 * np.pi / TURN
    drive = Driven("crank", lambda t: first + rate * (t + (exp(-12 * t) - 1) / 12))  # from rest, soon at full speed
    run = qdot.simulate(model, start, turns * TURN, dt, constraints=[drive], ledger=True)
    forces = run.constraint_forces()
    torque, pin = forces["drive of crank"][:, 0], np.linalg.norm(forces["closing"][:, 3:], axis=1)
    last = run.time > run.time[-1] - TURN + dt / 2
    mean = float(torque[last].mean() / np.abs(torque[last]).max())
    print(f"four-bar: mean torque over a turn {mean:.1e} of the largest, {np.nanmax(np.abs(torque)):.1f} N·m;")
    print(f"  loop closed within {np.nanmax(run.drift[:, 0]):.1e} m, ledger within {np.abs(run.balance()).max():.1e} J")

    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.3), width_ratios=(1, 1.15))
    points = np.stack([run.position(name)[:, ::2] for name in ("crank", "coupler", "rocker", "end")], axis=1)
    for k in range(0, int(TURN / dt), int(TURN / dt) // 12):
        left.plot(*points[k - 1 - int(TURN / dt)].T, color=GREY, lw=0.6, alpha=0.6)
    middle = run.position("middle of coupler")[last]
    left.plot(middle[:, 0], middle[:, 2], color=ORANGE, lw=2)
    rods(left, points[0], color=INK, width=4)
    left.set(aspect="equal", title="orange: the middle of the coupler", xlabel="x [m]", ylabel="z [m]")
    turned = (run.time - run.time[last][0]) / TURN * 360
    right.plot(turned[last], torque[last], color=RED, label="drive [N·m]")
    right.plot(turned[last], pin[last], color=BLUE, label="closing joint [N]")
    right.axhline(0, color=INK, lw=0.6)
    right.set(title="forces over a turn", xlabel="crank [°]", xticks=range(0, 361, 90))
    right.legend(loc="upper right")
    figure.savefig(out / "four_bar.png", dpi=130)
    page = run.replay(out / "four_bar.html", title="four-bar linkage", traces="middle of coupler")
    print(f"  {out / 'four_bar.png'}, {page}")
    return mean


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
