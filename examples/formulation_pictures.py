"""The pictures of docs/formulations, one for each page."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from picture_style import BLUE, GREEN, GREY, INK, ORANGE, PALE, PAPER, PINK, RED, arrow, bare, draw, legend, rods
from point_pictures import ARM, coordinates, gauss, inverse_inertia, point_masses, projection
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import qdot
from qdot import formulations
from qdot.algebra import Scalars, cos, sin
from qdot.algorithms import constrained, hamiltonian, maximal
from qdot.description.builder import Part
from qdot.geometry import Box
from qdot.joints import Cylindrical, Revolute
from qdot.model.library import double_pendulum, pendulum
from qdot.spatial import Inertia

GRAVITY = 9.81


def chain(name: str, lengths: list[float], masses: list[float]) -> tuple[qdot.Mechanism, Part]:
    """Uniform rods in the x–y plane, y up, and the last of them."""
    world = qdot.Mechanism(name, gravity=(0, -GRAVITY, 0))
    part, at = world.world, 0.0
    for k, (length, mass) in enumerate(zip(lengths, masses, strict=True), start=1):
        I = mass * length**2 / 12
        rod = Inertia.about_com(mass, (length / 2, 0, 0), (0, I, I))
        part, at = part.add(f"link{k}", Revolute("z"), rod, at=(at, 0, 0)), length
    return world, part


def subspaces() -> Figure:
    """A sleeve on a rail: the two motions of a cylindrical joint, and the four forces it can carry."""
    figure, joint = plt.figure(figsize=(7, 3.5)), Cylindrical("z")
    cases = (
        ("S: what the joint allows", joint.subspace([0, 0]), GREEN, BLUE, "turn and slide"),
        ("T: what its bearings can carry", joint.complement([0, 0]), ORANGE, RED, "moments and forces across the rail"),
    )
    for place, (title, basis, turning, straight, words) in enumerate(cases, start=1):
        pane = figure.add_subplot(1, 2, place, projection="3d", computed_zorder=False)
        pane.plot([0, 0], [0, 0], [-1.25, 1.35], color=INK, lw=3, zorder=1)
        pane.bar3d(-0.35, -0.35, -0.5, 0.7, 0.7, 1.0, color=PALE, edgecolor=GREY, alpha=0.35, shade=False, zorder=2)
        for column in basis:
            angular, linear = (np.array([*part], float) for part in (column.ang, column.lin))
            if np.any(linear):
                pane.quiver(0, 0, 0, *(1.5 * linear), color=straight, lw=2.8, arrow_length_ratio=0.16, zorder=5)
            if np.any(angular):
                ring = 0.45 * _round(angular, np.linspace(0, 5.2, 60)) + 1.1 * angular
                pane.plot(*ring.T, color=turning, lw=2.8, zorder=4)
                pane.quiver(*ring[-1], *(5 * (ring[-1] - ring[-2])), color=turning, lw=2.8, arrow_length_ratio=0.9)
        pane.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1.2, 1.2), box_aspect=(1, 1, 1.2))
        pane.view_init(20, -52)
        pane.set_axis_off()
        pane.set_title(f"{title}\n{words}: {len(basis)}", y=0.97)
    return figure


def _round(axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Points of the unit circle about an axis, (n, 3)."""
    e1 = np.cross(axis, [0.3, 0.5, 0.8])
    e1 /= np.linalg.norm(e1)
    return np.cos(angles)[:, None] * e1 + np.sin(angles)[:, None] * np.cross(axis, e1)


def newton_euler() -> Figure:
    """Three rods: accelerations from the world outwards, then forces body by body from the tip inwards."""
    figure, (out, back) = plt.subplots(1, 2, figsize=(7, 3.4), width_ratios=(1, 1.5))
    lengths, masses = [0.6, 0.5, 0.4], [1.2, 1.0, 0.8]
    world, _ = chain("chain", lengths, masses)
    model = qdot.assemble(world)
    q, v, a = np.array([0.9, -0.7, -0.9]), np.array([1.0, -2.0, 3.0]), np.array([6.0, 5.0, -9.0])
    angles = np.cumsum(q)
    along = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    pins = np.vstack([[0, 0], np.cumsum(np.array(lengths)[:, None] * along, axis=0)])
    wrenches = [np.array([*w.lin], float) for w in qdot.joint_wrenches(model, q, v, a).values()]
    forces = [np.array([x * c - y * s, x * s + y * c]) for (x, y, _), (c, s) in zip(wrenches, along, strict=True)]
    forces.append(np.zeros(2))
    motion, scale, apart = qdot.kinematics(model, q, v, a), 0.018, np.array([0.3, 0.0])
    for k, mass in enumerate(masses):
        own, shift = pins[k : k + 2], k * apart
        middle = own.mean(axis=0)
        pull = np.array([*motion.point(f"link{k + 1}", (lengths[k] / 2, 0, 0)).acceleration], float)[:2]
        rods(out, own, ground=0.04 * (k == 0))
        arrow(out, middle, 0.05 * pull, GREEN, width=0.012)
        rods(back, own + shift, ground=0.04 * (k == 0))
        arrow(back, own[0] + shift, scale * forces[k], BLUE)
        if k < 2:
            arrow(back, own[1] + shift, -scale * forces[k + 1], ORANGE)
        arrow(back, middle + shift, [0, -scale * mass * GRAVITY], GREY)
        arrow(back, middle + shift, scale * mass * pull, GREEN, zorder=5)
        assert np.allclose(forces[k] - forces[k + 1] + [0, -mass * GRAVITY], mass * pull)
    bare(out, "out from the world:\naccelerations")
    bare(back, "back from the tip: what a joint gives its body\nit takes from the body before")
    out.set(xlim=(-0.1, 1.3), ylim=(-0.4, 1.0))
    back.set(xlim=(-0.2, 1.9), ylim=(-0.4, 1.0))
    names = {"from the joint: F": BLUE, "to the next: −F": ORANGE, "weight": GREY, "sum: m a": GREEN}
    legend(back, names, loc="lower center", ncols=2)
    return figure


def lagrange() -> Figure:
    """An arm reaches: at every moment the terms of its first equation add up to the joint force."""
    figure, axes = plt.subplots(figsize=(7, 3.6))
    t = np.linspace(0, 0.7, 300)
    shape = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])  # from 0 to 1 with the least jerk
    start, way = np.array([-0.9, 0.3]), np.array([1.7, 1.6])
    q, v, a = (start * (k == 0) + way * shape.deriv(k)(t / t[-1])[:, None] / t[-1] ** k for k in (0, 1, 2))
    M, tau = qdot.mass_matrix(ARM, q), qdot.inverse_dynamics(ARM, q, v, a)[:, 0]
    terms = {
        "M₁₁ a₁\nown inertia": (M[:, 0, 0] * a[:, 0], BLUE),
        "M₁₂ a₂\ncoupling": (M[:, 0, 1] * a[:, 1], "#56b4e9"),
        "V₁ centrifugal\nand Coriolis": (qdot.velocity_forces(ARM, q, v)[:, 0], ORANGE),
        "G₁ gravity": (qdot.gravity_forces(ARM, q)[:, 0], GREEN),
    }
    values, colors = np.array([value for value, _ in terms.values()]), [color for _, color in terms.values()]
    axes.stackplot(t, np.maximum(values, 0), colors=colors, labels=list(terms))
    axes.stackplot(t, np.minimum(values, 0), colors=colors)
    axes.plot(t, tau, color="white", lw=4)
    axes.plot(t, tau, color=INK, lw=2, label="τ₁, their sum")
    assert np.allclose(values.sum(axis=0), tau)
    axes.set(xlabel="t [s]", ylabel="[N·m]", xlim=(0, t[-1]), title="A quick reach: the terms of the shoulder's law")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), handlelength=1.2)
    return figure


def hamilton() -> Figure:
    """Left: a pendulum follows the level lines of H. Right: H of a driven double pendulum grows by the work done."""
    figure, (portrait, work) = plt.subplots(1, 2, figsize=(7, 3.4), width_ratios=(1.2, 1))
    model = pendulum()
    q, p = np.meshgrid(np.linspace(-np.pi, np.pi, 91), np.linspace(-9, 9, 91))
    at = q.reshape(-1, 1), p.reshape(-1, 1)
    H = qdot.hamiltonian(model, *at).reshape(q.shape)
    portrait.contour(q, p, H, levels=np.linspace(-8, 45, 14), cmap="cividis", linewidths=1.1)
    portrait.contour(q, p, H, levels=[GRAVITY], colors=[RED], linewidths=2)
    v, rate = (x.reshape(q.shape) for x in qdot.hamilton_equations(model, *at, 0 * at[0]))
    some = np.s_[5::10, 5::10]
    size = 1.7 * np.hypot(v / 6, rate / 18) + 1e-9  # arrows of one length
    portrait.quiver(
        q[some], p[some], (v / size)[some], (rate / size)[some], color=INK, angles="xy", scale_units="xy", scale=10,
        width=0.006, pivot="mid", zorder=3
    )  # fmt: skip
    portrait.text(0, 6.9, "H = m g l: over the top", color=RED, ha="center", bbox=PAPER, zorder=5)
    portrait.set(xlabel="q [rad]", ylabel="p [N·m·s]", title="(v, ṗ) runs along lines of equal H")

    arm, torque = double_pendulum(), np.array([3.0, -1.5])
    field = qdot.compile(hamiltonian.hamilton_equations, arm)

    def moved(t: float, y: np.ndarray) -> np.ndarray:
        tau = torque * np.sin(3 * t)
        v, p_dot = field(y[:2], y[2:4], tau)
        return np.concatenate([v, p_dot, [v @ tau]])

    times = np.linspace(0, 6, 300)
    y = solve_ivp(moved, (0, 6), np.zeros(5), t_eval=times, rtol=1e-8, atol=1e-8).y.T
    energy = qdot.hamiltonian(arm, y[:, :2], y[:, 2:4])
    work.plot(times, energy - energy[0], color=BLUE, lw=4, alpha=0.5, label="H(t) − H(0)")
    work.plot(times, y[:, 4], color=INK, lw=1.2, ls="--", label="∫ vᵀτ dt")
    work.set(xlabel="t [s]", ylabel="[J]", title="Ḣ = vᵀτ, driven double pendulum")
    work.legend(loc="upper left")
    work.set_ylim(top=5.2)
    return figure


def maximal_coordinates() -> Figure:
    """The same tree: unknowns of every body and joint, ordered by kind and by the tree; and the joints' alone."""
    figure, panes = plt.subplots(1, 3, figsize=(7, 3.1))
    world = qdot.Mechanism("tree")
    parts, solid = [world.world], Box(0.2, 0.1, 0.3, mass=1.0).at(0.1, 0.05, 0.2)
    for k, (parent, axis) in enumerate(zip((0, 1, 2, 1, 4, 4), "zxyxyx", strict=True), start=1):
        parts.append(parts[parent].add(f"b{k}", Revolute(axis), solid, at=(0.3, 0.2, 0.4)))
    model = qdot.assemble(world)
    q = 0.3 + 0.2 * np.arange(6)
    system = maximal.equations(list(maximal.held_bodies(model, q, 0 * q)), 0 * q)
    n, m = len(system.F), len(system.J)
    matrix = np.array(constrained.saddle_system(system.D, system.F, system.rows(), system.b)[0], float)
    kind = np.zeros_like(matrix)
    kind[:n, :n], kind[n:, :n], kind[:n, n:] = 1, 2, 2
    tree = [k for i in range(6) for k in (*range(n + 5 * i, n + 5 * i + 5), *range(6 * i, 6 * i + 6))]
    colors = ListedColormap(["white", BLUE, ORANGE, GREEN])
    shown = (
        (kind * (np.abs(matrix) > 1e-12), f"bodies, then joints:\n{n} + {m} unknowns"),
        ((kind * (np.abs(matrix) > 1e-12))[np.ix_(tree, tree)], "joint by joint, along\nthe tree: no fill-in"),
        (3 * (np.abs(qdot.mass_matrix(model, q)) > 1e-12), "the reduced M:\n6 unknowns"),
    )
    for pane, (pattern, title) in zip(panes, shown, strict=True):
        pane.imshow(pattern, cmap=colors, vmin=0, vmax=3, interpolation="nearest")
        pane.set(xticks=[], yticks=[], title=title)
        for side in pane.spines.values():
            side.set(visible=True, color=PALE)
    names = {"D: inertias": BLUE, "J: joints": ORANGE, "M": GREEN}
    legend(panes[1], names, loc="upper center", ncols=3, bbox_to_anchor=(0.5, -0.03))
    return figure


def constraints() -> Figure:
    """A four-bar: the force in the pin that closes it, drawn and against time."""
    figure, (shape, force) = plt.subplots(1, 2, figsize=(7, 3.5), width_ratios=(1.15, 1))
    lengths, base = [0.3, 0.7, 0.55], 0.75
    world, last = chain("four_bar", lengths, [0.5, 1.0, 0.8])
    last.frame("end", at=(lengths[-1], 0, 0))
    world.frame("pivot", at=(base, 0, 0))
    model = qdot.assemble(world)

    def places(q: Scalars) -> list[list]:
        x, y, angle, found = 0, 0, 0, [[0, 0]]
        for length, turn in zip(lengths, q, strict=True):
            angle = angle + turn
            x, y = x + length * cos(angle), y + length * sin(angle)
            found.append([x, y])
        return found

    def closed(q: Scalars) -> list:
        x, y = places(q)[-1]
        return [x - base, y]

    step = qdot.compile(qdot.constrained_forward_dynamics, model, holonomic=closed)
    q0 = np.array([2.2, *fsolve(lambda rest: closed([2.2, *rest]), [-1.7, -1.5])])
    J = formulations.partials(closed, q0)
    v0 = 5.0 * np.array([1, *np.linalg.solve(J[:, 1:], -J[:, 0])])
    rate = lambda _, y: np.concatenate([y[3:], step(y[:3], y[3:], np.zeros(3))[0]])  # noqa: E731
    times = np.linspace(0, 1.6, 240)
    y = solve_ivp(rate, (0, times[-1]), [*q0, *v0], t_eval=times, rtol=1e-9, atol=1e-9).y.T
    pin = step(y[:, :3], y[:, 3:], np.zeros((len(y), 3)))[1]
    now = 100
    paths = np.array([places(q) for q in y[:, :3]], float)
    shape.plot(*paths[:, 1:3].mean(axis=1).T, color=PINK, lw=1.4)
    rods(shape, paths[now], ground=0.03)
    rods(shape, paths[now, -1:], ground=0.03)
    arrow(shape, paths[now, -1], 0.02 * pin[now], RED)
    arrow(shape, np.array([base, 0]), -0.02 * pin[now], BLUE)
    names = {"on the rocker: λ": RED, "on the ground: −λ": BLUE, "path of the coupler's middle": PINK}
    legend(shape, names, loc="lower left")
    shape.set(xlim=(-0.1, 0.95), ylim=(-0.45, 0.63))
    bare(shape, "A loop is closed by the force in one pin")
    for k, style in enumerate(("-", "--")):
        force.plot(times, pin[:, k], color=RED, lw=1.8, ls=style, label=f"λ{'₁₂'[k]}")
    force.axvline(times[now], color=GREY, lw=1)
    force.set(xlabel="t [s]", ylabel="[N]", title="λ of φ(q) = 0 while it turns")
    force.legend()
    return figure


PICTURES = [
    point_masses, inverse_inertia, gauss, projection, coordinates, subspaces, newton_euler, lagrange, hamilton,
    maximal_coordinates, constraints
]  # fmt: skip

if __name__ == "__main__":
    draw(__doc__, "formulations", PICTURES)
