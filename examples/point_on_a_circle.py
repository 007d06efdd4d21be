"""A point on a circle, held by its acceleration alone, leaves it (U8); Baumgarte's feedback or projection keep it (U9).

φ(q) = |q| - 1 = 0 is differentiated twice and solved for the force of the circle at each step. That keeps φ̈ = 0, not φ:
errors of the integrator stay and grow. The steps here are very long, ten a second, so that one sees it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREEN, INK, RED

import qdot
from qdot.algebra import sqrt
from qdot.animation import write_animation
from qdot.geometry import Sphere
from qdot.joints import Compound, Prismatic
from qdot.simulation import Baumgarte, Holonomic


def bead() -> qdot.Model:
    """A point that moves in the x–z plane, at first level with the centre."""
    world = qdot.Mechanism("bead")
    world.add("bead", Compound(Prismatic("x"), Prismatic("z")), Sphere(0.04, mass=1.0), home=(1.0, 0.0))
    return qdot.assemble(world)


def main(out: Path, seconds: float = 10.0, dt: float = 0.1) -> dict[str, float]:
    """Returns how far the point was off the circle at most [m], for each way."""
    out.mkdir(parents=True, exist_ok=True)
    model = bead()
    circle = Holonomic("circle", lambda q: [sqrt(q[0] ** 2 + q[1] ** 2) - 1], unit="m")
    ways = {"none": "none", "Baumgarte": Baumgarte(frequency=1.0), "projection": "projection"}
    runs = {
        name: qdot.simulate(model, None, seconds, dt, constraints=[circle], stabilisation=way)
        for name, way in ways.items()
    }
    worst = {name: float(np.nanmax(run.drift[:, 0])) for name, run in runs.items()}
    print("point on a circle, off by at most: " + ", ".join(f"{name} {d:.1e} m" for name, d in worst.items()))

    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.3), width_ratios=(1, 1.3))
    angle = np.linspace(0, 2 * np.pi, 200)
    left.plot(np.cos(angle), np.sin(angle), ":", color=INK, lw=1)
    times = np.linspace(0, seconds, int(seconds * 100) + 1)
    motions = {name: run.resampled(times).q for name, run in runs.items()}
    for (name, run), color in zip(runs.items(), (RED, BLUE, GREEN), strict=True):
        left.plot(*motions[name].T, color=color, lw=1.2)
        right.semilogy(run.time[1:], np.maximum(run.drift[1:, 0], 1e-16), color=color)
        right.text(seconds * 1.01, np.nanmax(run.drift[-10:, 0]), name, color=color, va="center")
    left.set(aspect="equal", title=f"{seconds:g} s in steps of {dt:g} s", xlabel="x [m]", ylabel="z [m]")
    right.set(title="distance from the circle [m]", xlabel="time [s]", ylim=(2e-17, 5))
    figure.savefig(out / "point_on_a_circle.png", dpi=130)
    page = write_animation(out / "point_on_a_circle.html", model, times, motions, traces="bead")
    print(f"  {out / 'point_on_a_circle.png'}, {page}")
    return worst


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
