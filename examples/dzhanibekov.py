"""A handle that turns over and over in free flight: spin about the middle axis is unstable (Dzhanibekov 1985).

Euler's equations for a body without moments are solved by elliptic functions. With energy T, angular momentum L and
I₁ < I₂ < I₃, and where L² > 2 T I₂ (else 1 and 3 change places), the spin about the middle axis changes its sign every

    2 K(k) / √((I₃ - I₂)(L² - 2 T I₁) / (I₁ I₂ I₃)),   k² = (I₂ - I₁)(2 T I₃ - L²) / ((I₃ - I₂)(L² - 2 T I₁))

seconds (Landau, Lifshitz, Mechanics, §37). The run finds these times as events.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREEN, INK, ORANGE, RED
from scipy.special import ellipk

import qdot
from qdot.geometry import Cylinder
from qdot.joints import Free
from qdot.simulation import Event
from qdot.spatial import Transform

SPIN = np.array([0.02, 8.0, 0.01])  # rad/s, in the body's axes: nearly all about the middle one


def handle() -> qdot.Model:
    """A T of two rods in the x–y plane, without gravity, turning about its centre of mass."""
    world = qdot.Mechanism("handle", gravity=(0, 0, 0))
    bar, stem = Cylinder(radius=0.012, length=0.20, mass=0.30), Cylinder(radius=0.012, length=0.09, mass=0.135)
    bar_at, stem_at = Transform.rpy(np.pi / 2, 0, 0, (0, 0, 0)), Transform.rpy(0, np.pi / 2, 0, (0.057, 0, 0))
    com = (bar.at(bar_at).inertia() + stem.at(stem_at).inertia()).com
    centred = Transform.translation(*-com)
    part = world.add("handle", Free(), bar.at(centred @ bar_at), stem.at(centred @ stem_at))
    part.frame("foot", at=Transform.translation(0.102 - com.x, 0, 0))
    return qdot.assemble(world)


def half_period(moments: np.ndarray, spin: np.ndarray) -> float:
    """Between two changes of sign [s]; moments and spin in the order of I₁ < I₂ < I₃."""
    L2, T2 = float(np.sum((moments * spin) ** 2)), float(np.sum(moments * spin**2))
    I1, I2, I3 = moments if T2 * moments[1] < L2 else moments[::-1]
    rate = np.sqrt((I3 - I2) * (L2 - T2 * I1) / (I1 * I2 * I3))
    return float(2 * ellipk((I2 - I1) * (T2 * I3 - L2) / ((I3 - I2) * (L2 - T2 * I1))) / rate)


def main(out: Path, seconds: float = 12.0, dt: float = 1e-3) -> float:
    """Returns by how much the time between flips differs from the formula, as a part of it."""
    out.mkdir(parents=True, exist_ok=True)
    model = handle()
    moments = np.diag(np.array(model.bodies[0].inertia.at_com.entries(), dtype=float))
    order = np.argsort(moments)
    start = np.zeros(6)
    start[order[[0, 1, 2]]] = SPIN
    flip = Event("flip", lambda q, v: v[int(order[1])])
    run = qdot.simulate(model, (model.home(), start), seconds, dt, events=[flip])
    times = np.array([event.time for event in run.events])
    wanted = half_period(moments[order], SPIN)
    error = float(np.abs(np.diff(times) / wanted - 1).max())
    L = run.momentum()[:, :3]
    print(f"Dzhanibekov: a flip every {np.diff(times).mean():.6f} s, {wanted:.6f} s by the formula ({error:.0e} off);")
    print(f"  angular momentum kept within {np.ptp(L, axis=0).max() / np.linalg.norm(L[0]):.0e} of itself")

    figure = plt.figure(figsize=(7, 3.1))
    grid = figure.add_gridspec(1, 2, width_ratios=(1.5, 1))
    left, right = figure.add_subplot(grid[0]), figure.add_subplot(grid[1], projection="3d")
    for axis, name, color in zip(order, ("least", "middle", "largest"), (BLUE, RED, GREEN), strict=True):
        left.plot(run.time, run.v[:, axis], color=color, label=name)
    for t in times[0] + wanted * np.arange(len(times)):
        left.axvline(t, color=INK, lw=0.8, ls=":")
    left.set(title="spin [rad/s]; dotted: the formula", xlabel="time [s]")
    left.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.18), title="axis of the moment of inertia")
    body = (run.v[:, :3] * moments)[:, order] / np.linalg.norm(moments * start[:3])
    u, w = np.mgrid[0 : 2 * np.pi : 25j, 0 : np.pi : 13j]
    right.plot_wireframe(np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w), color=INK, lw=0.3, alpha=0.3)
    right.plot(*(1.01 * body.T), color=ORANGE, lw=2)
    right.set_box_aspect((1, 1, 1), zoom=1.6)
    right.view_init(20, 40)
    right.set_axis_off()
    right.set_title("L as the body sees it")
    figure.savefig(out / "dzhanibekov.png", dpi=130)
    page = run.replay(out / "dzhanibekov.html", title="Dzhanibekov's effect", traces="foot", speed=0.5)
    print(f"  {out / 'dzhanibekov.png'}, {page}")
    return error


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
