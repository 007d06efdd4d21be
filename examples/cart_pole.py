"""A pole on a cart: its hinge has no motor, and yet it is swung up and held there.

The force on the cart pumps energy into the pole until it has as much as when it stands still on top (Åström, Furuta,
Automatica 36, 2000); then a linear regulator catches it. Both are one function that is compiled into the step. The
regulator comes from the exact derivatives of the dynamics at the top.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREY, INK, RED
from scipy.linalg import solve_continuous_are

import qdot
from qdot.algebra import Scalar, Scalars, absolute, atan2, cos, maximum, minimum, sin, where
from qdot.model import library
from qdot.simulation import compilable

GRAVITY, CART, POLE, LENGTH = 9.81, 1.0, 0.2, 1.0  # m/s², kg, kg, m
MOST = 4.0  # N


def regulator(model: qdot.Model) -> np.ndarray:
    """k of the force -k·(x, θ, ẋ, θ̇) that brings the pole back to the top at least cost."""
    da_dq, da_dv, da_dtau = qdot.forward_dynamics_derivatives(model, np.zeros(2), np.zeros(2), np.zeros(2))
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [da_dq, da_dv]])
    B = np.concatenate([np.zeros((2, 1)), da_dtau[:, :1]])
    cost = np.diag([10.0, 10.0, 1.0, 1.0])
    return np.asarray(B.T @ solve_continuous_are(A, B, cost, np.eye(1)))[0]


def main(out: Path, seconds: float = 10.0, dt: float = 1e-3) -> float:
    """Returns the angle from the top at the end [rad]."""
    out.mkdir(parents=True, exist_ok=True)
    model = library.cart_pole(CART, POLE, LENGTH, GRAVITY)
    k = regulator(model).tolist()

    def pole_energy(q: Scalars, v: Scalars) -> Scalar:
        """Of the pole about its hinge [J]; zero where it stands still on top."""
        return POLE * LENGTH**2 / 6 * v[1] ** 2 + POLE * GRAVITY * LENGTH / 2 * (cos(q[1]) - 1)

    @compilable
    def force(q: Scalars, v: Scalars) -> list[Scalar]:
        angle = atan2(sin(q[1]), cos(q[1]))  # from the top, within half a turn
        catch = -(k[0] * q[0] + k[1] * angle + k[2] * v[0] + k[3] * v[1])
        pump = (CART + POLE) * (5 * pole_energy(q, v) * v[1] * cos(q[1]) - 3 * q[0] - v[0])
        chosen = where(absolute(angle) < 0.4, catch, pump)
        return [maximum(-MOST, minimum(MOST, chosen)), 0]  # none at the hinge

    hanging = model.state(hinge=np.pi - 0.05)
    run = qdot.simulate(model, hanging, seconds, dt, tau=force, ledger=True)
    E = pole_energy(run.q.T, run.v.T)
    up = np.abs(np.angle(np.exp(1j * run["hinge"])))
    top = float(up[-1])
    caught = run.time[np.flatnonzero(up > 0.4)[-1] + 1] if top < 0.4 else np.nan
    print(f"cart-pole: on top after {caught:.2f} s, {top:.1e} rad off at the end;")
    print(f"  the motor did {run.works()['joint forces'][-1]:.4f} J of work, the ledger closes within "
          f"{np.abs(run.balance()).max():.1e} J")  # fmt: skip

    figure, axes = plt.subplots(3, 1, figsize=(7, 4.2), sharex=True)
    curves = {
        "angle from\nthe top [rad]": (run["hinge"], RED), "energy of the\npole [J]": (E, INK),
        "cart [m]": (run["slide"], BLUE),
    }  # fmt: skip
    for at, (label, (y, color)) in zip(axes, curves.items(), strict=True):
        at.plot(run.time, y, color=color)
        at.axhline(0, color=GREY, lw=0.6)
        at.axvspan(caught, seconds, color=GREY, alpha=0.12, lw=0)
        at.margins(x=0)
        at.set_ylabel(label)
    axes[0].set_title("grey: the regulator holds it")
    axes[-1].set_xlabel("time [s]")
    figure.align_ylabels()
    figure.savefig(out / "cart_pole.png", dpi=130)
    page = run.replay(out / "cart_pole.html", title="cart and pole", traces="tip")
    print(f"  {out / 'cart_pole.png'}, {page}")
    return top


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
