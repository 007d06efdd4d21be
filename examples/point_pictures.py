"""The pictures of docs/formulations that show points and coordinates, on Todorov's arm."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from picture_style import BLUE, GREEN, INK, ORANGE, PALE, PAPER, RED, arrow, bare, ellipse, legend, rods

import qdot
from qdot import formulations
from qdot.algebra import Scalars, acos, atan2, cos, sin
from qdot.model.library import two_link_arm

L1, L2, M1, M2, G = 0.8, 0.5, 1.3, 0.7, 9.81
"""Todorov's arm (T13): two point masses on two rods."""

ARM = two_link_arm((L1, L2), (M1, M2), G)
MASSES, D = [M1, M2], np.repeat([M1, M2], 2)
WEIGHT = np.array([0, -M1 * G, 0, -M2 * G])
Q, V = np.array([0.4, -1.1]), np.array([0.7, 1.9])


def phi(x: Scalars) -> list:
    """Both rods keep their length."""
    return [x[0] ** 2 + x[1] ** 2 - L1**2, (x[2] - x[0]) ** 2 + (x[3] - x[1]) ** 2 - L2**2]


def h(q: Scalars) -> list:
    """Where the points are, by the angles of the joints."""
    x, y = L1 * cos(q[0]), L1 * sin(q[0])
    return [x, y, x + L2 * cos(q[0] + q[1]), y + L2 * sin(q[0] + q[1])]


def arm_points(q: Scalars) -> np.ndarray:
    """Shoulder, elbow and hand."""
    return np.array([0, 0, *h(q)], float).reshape(3, 2)


def point_masses() -> Figure:
    """What the rods add to free fall, one after the other."""
    figure, axes = plt.subplots(figsize=(7, 4.2))
    x, fast = np.array(h(Q)), np.array([3.0, 0.5])
    rows = formulations.partials(phi, x)
    found = formulations.kkt(MASSES, phi, x, formulations.partials(h, Q) @ fast, WEIGHT)
    scale, points = 0.035, arm_points(Q)
    shares = rows * found.multipliers[:, None] / D * scale  # D⁻¹ Jᵀ λ, of each rod
    rods(axes, points, ground=0.04)
    for k in (0, 1):
        here, own = points[k + 1], np.s_[2 * k : 2 * k + 2]
        free = WEIGHT[own] / MASSES[k] * scale
        steps = [(free, BLUE), (shares[0, own], ORANGE), (shares[1, own], GREEN)]
        tip = here
        for step, color in steps:
            if np.any(step):
                arrow(axes, tip, step, color)
            tip = tip + step
        arrow(axes, here, found.acceleration[own] * scale, RED, zorder=5)
        axes.annotate(f"m{'₁₂'[k]}", here, (8, 8), textcoords="offset points")
    names = {
        "free fall: D⁻¹ f": BLUE,
        "+ the first rod: D⁻¹ Jᵀ λ₁": ORANGE,
        "+ the second rod: D⁻¹ Jᵀ λ₂": GREEN,
        "= the acceleration: ẍ": RED,
    }
    legend(axes, names, loc="upper right")
    bare(axes, "Two points on two rods: free fall, and what the rods add to it")
    axes.set(xlim=(-0.1, 2.0), ylim=(-0.42, 0.72))
    return figure


def inverse_inertia() -> Figure:
    """Left: how near the penalised inverse comes. Right: one mass on a rod, which gives way less and less along it."""
    figure, (near, give) = plt.subplots(1, 2, figsize=(7, 3.7), width_ratios=(1.1, 1))
    rows = formulations.partials(phi, np.array(h(Q)))
    A = formulations.constrained_inverse_inertia(MASSES, rows)
    penalties = np.logspace(-2, 14, 65)
    off = [np.abs(formulations.penalised_inverse_inertia(MASSES, rows, e) - A).max() for e in penalties]
    near.loglog(penalties, off, color=BLUE, lw=2.2)
    line = penalties[(penalties > 3e1) & (penalties < 3e5)]
    near.loglog(line, 8 / line, color=INK, lw=1, ls="--")
    near.text(3e3, 8e-3, "as 1/ε")
    near.text(3e8, 5e-5, "then rounding", color=BLUE, ha="center")
    near.set(xlabel="ε", title="largest entry of (D + ε JᵀJ)⁻¹ − A,\nfor the arm")

    rod = np.array([np.cos(0.6), np.sin(0.6)])
    for e, color in ((0.3, BLUE), (2, ORANGE), (10, GREEN)):
        inverse = formulations.penalised_inverse_inertia([1.0], [rod], e)
        give.plot(*ellipse(np.linalg.inv(inverse @ inverse)).T, color=color, lw=2, label=f"ε = {e}")
    across = formulations.constrained_inverse_inertia([1.0], [rod]) @ [-rod[1], rod[0]]
    give.plot(*np.array([-across, across]).T, color=RED, lw=3, label="A", solid_capstyle="round")
    rods(give, np.array([-1.6 * rod, [0, 0]]), ground=0.1)
    give.plot(0, 0, "o", color=INK, ms=9)
    bare(give, "1 kg on a rod: its accelerations\nunder 1 N in every direction")
    give.set(xlim=(-1.5, 1.0), ylim=(-1.75, 0.95))
    give.legend(loc="lower center", ncols=4, columnspacing=0.9, handlelength=1.1, handletextpad=0.4)
    return figure


def gauss() -> Figure:
    """Joint accelerations of the arm: the free one, and the nearest with the hand on a plank, or above a floor."""
    figure, panes = plt.subplots(1, 2, figsize=(7, 3.9), sharex=True, sharey=True)
    M, J = qdot.mass_matrix(ARM, Q), formulations.partials(h, Q)[2:]
    a1, a2 = np.meshgrid(np.linspace(-32, 12, 160), np.linspace(-27, 50, 160))
    grid = np.stack([a1, a2], axis=-1)
    falling, lifted = (qdot.forward_dynamics(ARM, Q, [0, 0], tau) for tau in ([0, 0], [20, 6]))
    plank, floor = [0.8, 0.6] @ J, J[1]
    cases = (
        (panes[0], plank, {"J": [plank], "b": [0]}, {"": falling}),
        (panes[1], floor, {"at_least": ([floor], [0])}, {"": falling, "a = a₀:\nlifted off": lifted}),
    )
    for pane, row, constraint, free in cases:
        z = np.einsum("...i,ij,...j", grid - falling, M, grid - falling)
        pane.contour(a1, a2, z, levels=np.linspace(1.5, 18, 8) ** 2, colors=[PALE], linewidths=1)
        pane.plot(a1[0], -row[0] / row[1] * a1[0], color=INK, lw=1.6)
        for name, a0 in free.items():
            a = formulations.gauss(M, a0, **constraint).acceleration
            pane.plot(*a0, "o", color=BLUE, ms=8)
            pane.plot(*a, "o", color=RED, ms=6, zorder=6)
            if name:
                pane.annotate(name, a, (9, -4), textcoords="offset points", color=RED, bbox=PAPER)
                continue
            size = np.sqrt((a - a0) @ M @ (a - a0))
            pane.plot(*(a0 + ellipse(M, size)).T, color=BLUE, lw=1.5)
            arrow(pane, a0, a - a0, INK)
            pane.annotate("a", a, (8, 2), textcoords="offset points", color=RED, bbox=PAPER)
            pane.annotate("a₀", a0, (-18, -4), textcoords="offset points", color=BLUE, bbox=PAPER)
    panes[1].contourf(a1, a2, grid @ floor, levels=[0, 1e9], colors=[ORANGE], alpha=0.18)
    panes[0].text(-6, 13, "J a = b", bbox=PAPER)
    panes[1].text(10.5, 44, "allowed: G a ≥ h", color="#7a5500", ha="right")
    panes[0].set(xlabel="a₁ [rad/s²]", ylabel="a₂ [rad/s²]", title="Equality: the hand slides along a plank")
    panes[1].set(xlabel="a₁ [rad/s²]", title="Inequality: the hand lies on a floor", xlim=(-32, 12), ylim=(-27, 50))
    return figure


def projection() -> Figure:
    """Left: x = h(q) and the columns of J. Right: a force along the tangent moves, one across it is met by f_c."""
    figure, (places, split) = plt.subplots(1, 2, figsize=(7, 3.4), width_ratios=(1.25, 1))
    points, J = arm_points(Q), formulations.partials(h, Q)
    for q1 in np.linspace(-0.25, 0.25, 5):
        places.plot(*arm_points(Q + [q1, 0]).T, color=BLUE, lw=1, alpha=0.25)
        places.plot(*arm_points(Q + [0, 1.6 * q1]).T, color=RED, lw=1, alpha=0.25)
    rods(places, points, ground=0.04)
    for k, color, name in ((0, BLUE, "∂h/∂q₁"), (1, RED, "∂h/∂q₂")):
        for i in (1, 2):
            step = 0.45 * J[2 * i - 2 : 2 * i, k]
            if np.any(step):
                arrow(places, points[i], step, color)
                if i == 2:
                    places.annotate(name, points[2] + step, (4, 3), textcoords="offset points", color=color)
    places.text(0.17, 0.0, "q₁")
    places.text(*(points[1] + [0.0, -0.15]), "q₂")
    bare(places, "x = h(q): a column of J is how\nthe points move with one angle")
    places.set(xlim=(-0.1, 1.6), ylim=(-0.35, 0.72))

    def bob(q: Scalars) -> list:
        return [sin(q[0]), -cos(q[0])]

    q, v, f = [0.8], [1.6], np.array([0, -G])
    found = formulations.explicit([1.0], bob, q, v, f)
    at, scale = np.array(bob(q)), 0.062
    turn = np.linspace(-0.5, 2.1, 80)
    split.plot(np.sin(turn), -np.cos(turn), color=INK, lw=1, ls="--")
    rods(split, np.array([[0, 0], at]))
    split.plot(0, 0, "s", color=INK, ms=8)
    along = scale * found.joint_acceleration[0] * formulations.partials(bob, q)[:, 0]
    arrow(split, at, scale * f, BLUE)
    arrow(split, at + scale * f, scale * found.constraint_force, ORANGE)
    arrow(split, at, scale * found.acceleration, RED)
    split.plot(*np.array([at - 0.9 * along, at + 1.4 * along]).T, color=INK, lw=1)
    split.text(*(at - 0.9 * along + [0.03, 0.0]), "J")
    split.text(*(at + scale * f + [0.03, -0.05]), "f", color=BLUE)
    split.text(*(at + scale * (f + found.constraint_force / 2) + [-0.14, -0.12]), "$f_c$", color="#a36f00")
    split.text(*(at + scale * found.acceleration + [-0.28, 0.08]), "D ẍ", color=RED)
    bare(split, "D ẍ = f + $f_c$, and the rod's force\n$f_c$ lies across J: Jᵀ $f_c$ = 0")
    split.set(xlim=(-0.55, 1.2), ylim=(-1.42, 0.12))
    return figure


def coordinates() -> Figure:
    """The metric of one arm in two charts: every ellipse is what one kinetic energy allows."""
    figure, (joints, hands) = plt.subplots(1, 2, figsize=(7, 3.9), width_ratios=(1, 1.1))
    grid = [np.array([a, b]) for a in (-0.2, 0.45, 1.1) for b in (0.5, 1.1, 1.7, 2.3)]
    for q in grid:
        M = qdot.mass_matrix(ARM, q)
        y = np.array(h(q)[2:], float)
        M_hand = formulations.transformed(from_hand, y, [0, 0], M).mass
        assert np.allclose(from_hand(y), q)
        color = plt.get_cmap("cividis")(q[1] / 2.6)
        joints.fill(*(q + ellipse(M, 0.13)).T, color=color, alpha=0.75)
        hands.fill(*(y + ellipse(M_hand, 0.1)).T, color=color, alpha=0.75)
        joints.plot(*q, ".", color=INK, ms=4)
        hands.plot(*y, ".", color=INK, ms=4)
    way = qdot.geodesic_between(ARM, grid[0], grid[-1])(np.linspace(0, 1, 60))[0]
    joints.plot(*way.T, color=RED, lw=2)
    hands.plot(*np.array([h(q)[2:] for q in way]).T, color=RED, lw=2)
    rods(hands, arm_points(grid[5]), ground=0.04)
    joints.set(xlabel="q₁ [rad]", ylabel="q₂ [rad]", title="by joint angles: M", aspect="equal")
    hands.text(0.42, -0.03, "the shortest way,\none in both", color=RED)
    bare(hands, "by the place of the hand: $M_y$ = Jᵀ M J")
    return figure


def from_hand(y: Scalars) -> list:
    """The joint angles of a place of the hand, elbow to the right."""
    q2 = acos((y[0] ** 2 + y[1] ** 2 - L1**2 - L2**2) / (2 * L1 * L2))
    return [atan2(y[1], y[0]) - atan2(L2 * sin(q2), L1 + L2 * cos(q2)), q2]
