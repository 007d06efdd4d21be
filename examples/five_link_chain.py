"""A chain of five links in reduced and in maximal coordinates (U10, U11): one motion, computed twice.

Reduced: five joint angles, whose mass matrix is small and dense. Maximal: three coordinates for each of five bodies,
and two constraint rows for each joint, which hold them together; the matrix of both is large and nearly empty. The two
motions differ by the errors of the integrator, which a chain makes larger with time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREY, PALE, RED

import qdot
from qdot.animation import write_animation
from qdot.model import library

START = np.array([1.2, 0.3, 0.3, 0.3, 0.3])  # rad; hanging straight down is zero
JOINTS = ("link1", "link2", "link3", "link4", "link5", "tip")


def main(out: Path, seconds: float = 3.0, dt: float = 5e-4) -> float:
    """Returns the largest difference of joint angles within the first second [rad]."""
    out.mkdir(parents=True, exist_ok=True)
    chain = library.five_link_chain()
    free = qdot.to_maximal(chain)
    reduced = qdot.simulate(chain, (START, np.zeros(5)), seconds, dt)
    maximal = qdot.simulate(free.model, free.state(START), seconds, dt)
    q, _ = free.reduced(maximal.q, maximal.v, near=reduced.q)
    apart = np.abs(q - reduced.q).max(axis=1)
    early = float(apart[reduced.time <= 1.0].max())
    drift = np.nanmax(maximal.drift[:, 0])
    print(f"five-link chain: {chain.nv} coordinates, or {free.model.nv} and constraints that hold to {drift:.1e} m;")
    print(f"  angles differ by {early:.1e} rad in the first second")

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7, 2.9), width_ratios=(1.3, 0.8, 1.1))
    points = np.stack([reduced.position(name)[:, ::2] for name in JOINTS], axis=1)  # x and z
    for k in np.linspace(0, len(points) - 1, 16).astype(int):
        left.plot(*points[k].T, "-o", color=plt.cm.viridis(k / len(points)), ms=2.5, lw=1.6)
    left.plot(*points[:, -1].T, color=PALE, lw=1, zorder=0)
    left.set(aspect="equal", title="the chain, dark to light", xlabel="x [m]", ylabel="z [m]")

    M, J = qdot.mass_matrix(free.model, maximal.q[0]), qdot.constraint_jacobian(free.model, maximal.q[0])
    J = J[np.abs(J).max(axis=1) > 1e-12]  # in a plane, the rows across it say nothing
    filled = np.abs(np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])) > 1e-12
    middle.imshow(filled, cmap="Greys", vmax=1.6)
    middle.add_patch(plt.Rectangle((-0.5, -0.5), 5, 5, fc=RED, alpha=0.6))
    middle.set(title=f"{len(filled)} × {len(filled)}, {filled.mean():.0%} full", xticks=[], yticks=[])
    middle.set_xlabel("red: the reduced M,\n5 × 5, 100% full", color=RED)
    middle.spines[:].set_visible(True)

    right.semilogy(reduced.time[1:], apart[1:], color=BLUE, label="angles apart [rad]")
    right.semilogy(maximal.time[1:], maximal.drift[1:, 0], color=GREY, lw=0.6, label="joints apart [m]")
    right.set(title="reduced against maximal", xlabel="time [s]", ylim=(1e-18, 1e1))
    right.legend(fontsize=8, loc="upper left")
    figure.savefig(out / "five_link_chain.png", dpi=130)
    motions = {"reduced": reduced.q, "maximal": q}
    page = write_animation(out / "five_link_chain.html", chain, reduced.time, motions, traces="tip")
    print(f"  {out / 'five_link_chain.png'}, {page}")
    return early


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
