"""Andrews' squeezer: seven links in a plane, three loops, a spring, and a motor whose torque stays the same.

The standard test of programs for closed loops: Hairer, Wanner, Solving Ordinary Differential Equations II, 2nd edition,
section VII.7. The end is compared with the reference solution of the Test Set for Initial Value Problem Solvers
(Mazzia, Magherini, Bari 2008).
"""

from __future__ import annotations

import sys
from math import atan2, hypot
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREEN, INK, ORANGE, PALE, RED

import qdot
from qdot.geometry import Capsule
from qdot.joints import Revolute
from qdot.spatial import Inertia, Transform

TORQUE = 0.033  # N·m, on K1
START = (-0.0617138900142764496, 0.0, 0.45527981916307038, 0.487364979543842550, 0.222668390165885885,
         1.23054744454982119, -0.222668390165885885)  # fmt: skip
END = (15.81077119629904, -15.75637105984298, 0.04082224013073101, 0.5244099658805304, -0.5347301163226948,
       1.048080741042263, 0.5347301163226948)  # fmt: skip
"""After 0.03 s: β, Θ, γ, δ, Φ, ε, Ω of the book."""

A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
LINKS = {  # on, at [m], mass [kg], inertia [kg·m²], centre of mass [m], and the points that it is drawn through [m]
    "K1": ("world", (0, 0), 0.04325, 2.194e-6, (0.00092, 0), [(0.007, 0)]),
    "K2": ("K1", (0.007, 0), 0.00365, 4.410e-7, (-0.0115, 0), [(-0.028, 0)]),
    "K3": ("world", B, 0.02373, 5.255e-6, (0.01043, -0.01874), [(0, -0.035), (0.02, -0.018), (0, 0)]),
    "K5": ("world", A, 0.07050, 1.169e-5, (0.02308, 0.00916), [(0.04, 0)]),
    "K4": ("K5", (0.04, 0), 0.00706, 5.667e-7, (0, -0.00579), [(0, -0.02)]),
    "K7": ("world", A, 0.05498, 1.912e-5, (-0.00449, -0.01228), [(0, -0.04)]),
    "K6": ("K7", (0, -0.04), 0.00706, 5.667e-7, (0.00579, 0), [(0.02, 0)]),
}
COLORS = dict(zip(LINKS, (RED, ORANGE, GREEN, BLUE, BLUE, INK, INK), strict=True))


def squeezer() -> qdot.Model:
    """Flat on a table: without gravity. K2, K3, K4 and K6 meet in one point, which three loop joints hold together."""
    world = qdot.Mechanism("squeezer", gravity=(0, 0, 0))
    parts = {"world": world.world}
    for (name, (on, at, mass, inertia, com, path)), start in zip(LINKS.items(), START, strict=True):
        solid = Inertia.about_com(mass, (*com, 0), (inertia / 2, inertia / 2, inertia))
        parts[name] = parts[on].add(name, Revolute("z"), solid, at=(*at, 0), home=start)
        for (x0, y0), (x1, y1) in zip([(0, 0), *path], path, strict=False):
            along = Transform.rpy(0, np.pi / 2, atan2(y1 - y0, x1 - x0), ((x0 + x1) / 2, (y0 + y1) / 2, 0))
            parts[name].show(Capsule(length=hypot(x1 - x0, y1 - y0), radius=0.0012).at(along))
        if name in ("K2", "K3", "K4", "K6"):
            parts[name].frame(f"{name} meets", at=(*path[0], 0))
    for name in ("K3", "K4", "K6"):
        world.close(f"K2 to {name}", Revolute("z"), "K2 meets", f"{name} meets")
    hook, arm = world.frame("hook", at=(*C, 0)), parts["K3"].frame("arm", at=(0.02, -0.018, 0))
    world.spring("spring", hook, arm, stiffness=4530, rest=0.07785)
    return qdot.assemble(world)


def main(out: Path, dt: float = 1e-5) -> float:
    """Returns how far the angles are from the reference at the end [rad]."""
    out.mkdir(parents=True, exist_ok=True)
    model = squeezer()
    run = qdot.simulate(model, None, 0.03, dt, tau=[TORQUE, 0, 0, 0, 0, 0, 0], ledger=True)
    error = float(np.abs(run.q[-1] - END).max())
    print(f"Andrews' squeezer, 0.03 s in {run.records - 1} steps: {error:.1e} rad from the reference,")
    print(f"  loops closed within {np.nanmax(run.drift):.1e} m, ledger within {np.abs(run.balance()).max():.1e} J")

    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4), width_ratios=(1, 1.15))
    for k, alpha in ((int(run["K3"].argmin()), 0.3), (0, 1.0)):
        for name, (*_, path) in LINKS.items():
            points = [run.point(name, (*p, 0))[k] for p in [(0, 0), *path]]
            left.plot(*np.transpose(points)[:2], "-o", ms=3, lw=2.5, color=COLORS[name], alpha=alpha)
        ends = [run.position(name)[k] for name in ("hook", "arm")]
        left.plot(*np.transpose(ends)[:2], ":", color=INK, alpha=alpha)
    left.plot(*run.position("K2 meets").T[:2], color=PALE, lw=5, zorder=0)
    left.set(aspect="equal", title="at the start; pale: squeezed", xlabel="x [m]", ylabel="y [m]")
    left.set_xticks((-0.06, -0.03, 0))
    for name, label in (("K3", "γ"), ("K5", "δ"), ("K4", "Φ"), ("K7", "ε"), ("K6", "Ω")):
        right.plot(1e3 * run.time, run[name], color=COLORS[name], ls="--" if name in ("K4", "K6") else "-", label=label)
    right.plot([30] * 5, END[2:], "o", mfc="none", color=INK, ms=6, clip_on=False, label="reference")
    right.set(title=f"angles [rad]; {error:.0e} from the reference", xlabel="time [ms]")
    right.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    figure.savefig(out / "andrews.png", dpi=130)
    page = run.replay(out / "andrews.html", title="Andrews' squeezer", traces="K2 meets", speed=0.003)
    print(f"  {out / 'andrews.png'}, {page}")
    return error


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
