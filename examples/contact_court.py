"""One block on a slope, five models of contact; and why springs between bodies are hard to tune (T19).

A block slides down a slope of 15° with μ = 0.5 > tan 15°, and stops after v₀² / (2 g (μ cos a - sin a)). Hard contact,
the textbook's LCP and impulses then hold it still to rounding; soft contact and springs let it creep.

Below: a light ball carries a heavy one, with springs in between. The overlap that bears a weight is M g / k, so a heavy
ball asks for a stiff spring; but steps of dt are stable up to k ≈ m / dt² of the light one only. At a ratio of 1000
nothing is left between.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_style import BLUE, GREEN, INK, ORANGE, PINK, RED

import qdot
from qdot.contact import Hard, Penalty
from qdot.errors import SimulationError

SLOPE, MU, SPEED, GRAVITY = np.radians(15), 0.5, 2.0, 9.81
RATIOS = {1: BLUE, 10: GREEN, 100: ORANGE, 1000: RED}
STIFFNESSES = np.geomspace(1e3, 1e8, 11)
RADIUS, DT = 0.1, 1e-3
COLORS = dict(zip(("soft", "hard", "lcp", "impulse", "penalty"), (ORANGE, BLUE, GREEN, PINK, RED), strict=True))


def block() -> qdot.Model:
    """Seen along the slope: weight is tilted, and the floor is level."""
    weight = GRAVITY * np.sin(SLOPE), 0, -GRAVITY * np.cos(SLOPE)
    return qdot.load(
        f"""<mujoco model="block"><option gravity="{weight[0]} 0 {weight[2]}" cone="elliptic"/><worldbody>
        <geom type="plane" size="5 5 0.1" friction="{MU} 0 0"/>
        <body name="block" pos="0 0 0.1"><freejoint/>
        <geom type="box" size="0.1 0.1 0.1" mass="1" friction="{MU} 0 0"/></body></worldbody></mujoco>"""
    )


def balls() -> qdot.Model:
    """One above the other, on a floor."""
    ball = """<body name="{0}" pos="0 0 {1}"><joint name="{0}" type="slide" axis="0 0 1"/>
        <geom type="sphere" size="0.1" mass="1" condim="1"/></body>"""
    bodies = ball.format("light", RADIUS) + ball.format("heavy", 3 * RADIUS)
    return qdot.load(f'<mujoco><worldbody><geom type="plane" size="1 1 0.1"/>{bodies}</worldbody></mujoco>')


def overlap(model: qdot.Model, ratio: float, contact: Hard | Penalty) -> float:
    """The deepest, as a part of the radius, when all should have come to rest; NaN where it went out of hand."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # balls that passed through each other
            run = qdot.simulate(model, None, 1.0, DT, contact=contact, parameters={"heavy.mass": float(ratio)})
    except (SimulationError, RuntimeWarning):
        return float("nan")
    z = run.q[len(run.q) // 2 :] + [RADIUS, 3 * RADIUS]
    deep = max((RADIUS - z[:, 0]).max(), (2 * RADIUS - (z[:, 1] - z[:, 0])).max()) / RADIUS
    restless = np.abs(run.v[len(run.v) // 2 :]).max() > 0.5
    return float("nan") if restless else max(float(deep), 1e-9)


def main(out: Path) -> dict[str, float]:
    """Returns how fast the block is at the end under each model [m/s], and how many springs carry the heaviest ball."""
    out.mkdir(parents=True, exist_ok=True)
    model = block()
    start = model.home(), np.array([0, 0, 0, SPEED, 0, 0])
    court = qdot.contact.compare(model, start, 1.5, DT)
    print(court)
    wanted = SPEED**2 / (2 * GRAVITY * (MU * np.cos(SLOPE) - np.sin(SLOPE)))

    figure, axes = plt.subplots(2, 2, figsize=(7, 5.6))
    (path, speed), (deep, tuning) = axes
    for name, run in court.runs.items():
        style = {"color": COLORS[name], "label": name, "lw": 1.8, "ls": (0, (3, 3)) if name == "impulse" else "-"}
        path.plot(run.time, run.position("block")[:, 0], **style)
        speed.semilogy(run.time, np.maximum(np.linalg.norm(run.v, axis=1), 1e-16), **style)
        deep.semilogy(run.time, np.maximum(run.contact_residuals["penetration"], 1e-17), **style)
    path.axhline(wanted, color=INK, lw=0.8, ls=":")
    path.set(title="way down the slope [m]; dotted: formula", xlabel="time [s]")
    speed.set(title="speed [m/s, rad/s]: what creeps", xlabel="time [s]")
    deep.set(title="overlap [m]", xlabel="time [s]")
    speed.legend(fontsize=8, loc="lower left")

    pair, good = balls(), 0
    for ratio, color in RATIOS.items():
        found = np.array([overlap(pair, ratio, Penalty(k, 2 * 0.3 * np.sqrt(k))) for k in STIFFNESSES])
        tuning.loglog(STIFFNESSES, found, "o-", color=color, ms=3.5, label=f"{ratio}")
        good = int(np.count_nonzero(found < 0.01))
    hard = max(overlap(pair, ratio, Hard()) for ratio in RATIOS)
    tuning.axhline(0.01, color=INK, lw=0.8, ls=":")
    tuning.axvspan(1 / DT**2, STIFFNESSES[-1], color=INK, alpha=0.1, lw=0)
    tuning.text(1e7, 1e-3, "unstable", ha="center")
    tuning.set(title="springs: overlap / radius, where stable", xlabel="stiffness [N/m]", ylim=(1e-4, 3))
    tuning.set_xlim(STIFFNESSES[0] / 2, STIFFNESSES[-1])
    tuning.legend(fontsize=8, title="mass ratio", loc="upper right")
    figure.savefig(out / "contact_court.png", dpi=130)
    print(f"  springs that carry 1000 times the mass with an overlap below 1 %: {good}; hard contact: {hard:.0e}")
    print(f"  {out / 'contact_court.png'}")
    ends = {name: float(np.abs(run.v[-1]).max()) for name, run in court.runs.items()}
    return ends | {"springs": good, "hard overlap": hard}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
