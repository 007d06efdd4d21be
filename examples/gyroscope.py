"""A gyroscope that leans and does not fall: one wheel, three starts.

A wheel spins on an axle, one end of which rests on a point. Where the axle at angle θ from the vertical goes round at a
steady rate Ω, the moments balance:

    I₃ ω₃ Ω - I₁ Ω² cos θ = m g l,   ω₃ the spin along the axle, I₁ about the point, I₃ about the axle.

Let go from rest, it falls a little and then nods on its way round; pushed backwards, it draws loops.
"""

from __future__ import annotations

import sys
from math import cos, sin, sqrt
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREEN, INK, RED

import qdot
from qdot.geometry import Capsule, Cylinder
from qdot.joints import Spherical

LENGTH, SPIN, LEAN = 0.15, 350.0, 1.1  # m, rad/s, rad


def gyroscope() -> qdot.Model:
    """The axle is z of the wheel."""
    world = qdot.Mechanism("gyroscope")
    wheel, axle = Cylinder(radius=0.06, length=0.012, mass=0.5), Capsule(radius=0.004, length=LENGTH, mass=0.02)
    part = world.add("wheel", Spherical(), wheel.at(0, 0, LENGTH), axle.at(0, 0, LENGTH / 2))
    part.show(Capsule(radius=0.007, length=0.02).at(0.05, 0, LENGTH))  # a mark, so that one sees it spin
    part.frame("tip", at=(0, 0, LENGTH))
    return qdot.assemble(world)


def steady_rate(model: qdot.Model) -> float:
    """Ω [rad/s], the slower of the two."""
    body = model.bodies[0].inertia
    a, b, c = body.rotational.xx * cos(LEAN), -body.rotational.zz * SPIN, 9.81 * body.moment.z
    return float((-b - sqrt(b * b - 4 * a * c)) / (2 * a))


def main(out: Path, seconds: float = 3.0, dt: float = 2e-4) -> float:
    """Returns by how much the rate of the steady start differs from the formula, as a part of it."""
    out.mkdir(parents=True, exist_ok=True)
    model = gyroscope()
    rate = steady_rate(model)
    starts = {"steady": (rate, BLUE), "let go": (0.0, RED), "pushed back": (-rate / 2, GREEN)}
    q = [[cos(LEAN / 2), 0, sin(LEAN / 2), 0]] * 3
    v = [[-first * sin(LEAN), 0, SPIN] for first, _ in starts.values()]  # in the wheel's coordinates
    run = qdot.simulate(model, (np.array(q), np.array(v)), seconds, dt, record=10)

    x, y, z = np.moveaxis(run.position("tip"), -1, 0)
    round_, lean = np.unwrap(np.arctan2(y, x)), np.arccos(z / LENGTH)
    rates = round_[:, -1] / seconds
    error = float(abs(rates[0] / rate - 1))
    print(f"gyroscope: Ω = {rate:.6f} rad/s by the formula, {rates[0]:.6f} in the run ({error:.0e} off);")
    print(f"  let go {rates[1]:.3f}, pushed back {rates[2]:.3f} rad/s in the mean")

    figure = plt.figure(figsize=(7, 3.1))
    left = figure.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
    right = figure.add_subplot(1, 2, 2)
    for k, (name, (_, color)) in enumerate(starts.items()):
        left.plot(x[k], y[k], z[k], color=color, lw=1)
        right.plot(np.degrees(round_[k]), np.degrees(lean[k]), color=color, lw=1.2, label=name)
    left.plot([0, x[0, 0]], [0, y[0, 0]], [0, z[0, 0]], color=INK, lw=3)
    left.set_box_aspect((1, 1, 0.6), zoom=1.3)
    left.set(xticks=[], yticks=[], zticks=[], title="the path of the tip")
    right.invert_yaxis()
    right.set(xlabel="way round [°]", title="angle from the vertical [°]")
    right.set_xlim(0, min(360, np.degrees(rate * seconds)))
    right.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    figure.savefig(out / "gyroscope.png", dpi=130)
    page = run[1].replay(out / "gyroscope.html", title="gyroscope, let go", traces="tip", speed=0.25)
    print(f"  {out / 'gyroscope.png'}, {page}")
    return error


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
