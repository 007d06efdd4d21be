"""The pictures of docs/geometric.md: phase space, geodesics on a curved space, parallel transport, least action."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import qdot
from qdot.action import discrete_action, stationary_path
from qdot.algorithms import hamiltonian, riemann
from qdot.geodesics import geodesic, geodesic_between, parallel_transport
from qdot.joints import Universal
from qdot.model.library import double_pendulum, pendulum
from qdot.spatial import Inertia

INK, WARM, COOL, GREEN = "#30343c", "#c8553d", "#2f6fb0", "#3f8f5f"
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2}
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11, "font.size": 10})


def phase_space(path: Path) -> None:
    """Left: a pendulum follows the level lines of H. Right: H of a driven double pendulum grows by the work done."""
    panes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")[1]
    model = pendulum()
    q, p = np.meshgrid(np.linspace(-np.pi, np.pi, 121), np.linspace(-9, 9, 101))
    at = q.reshape(-1, 1), p.reshape(-1, 1)
    H = qdot.compile(hamiltonian.hamiltonian, model)(*at).reshape(q.shape)
    panes[0].contourf(q, p, H, levels=18, cmap="Blues_r", alpha=0.55)
    panes[0].contour(q, p, H, levels=[9.81], colors=WARM, linewidths=1.6)
    v, rate = (x.reshape(q.shape) for x in qdot.compile(hamiltonian.hamilton_equations, model)(*at, 0 * at[0]))
    some = np.s_[4::8, 6::9]
    size = np.hypot(v / 6, rate / 18) + 1e-9  # arrows of one length: half a radian, or 1.5 N·m·s
    arrows = {"color": INK, "angles": "xy", "scale_units": "xy", "scale": 12, "width": 0.0032, "pivot": "mid"}
    panes[0].quiver(q[some], p[some], (v / size)[some], (rate / size)[some], **arrows)
    panes[0].text(0, 6.7, "H = m g l: just over the top", color=WARM, ha="center", bbox=PAPER)
    panes[0].set(xlabel="q [rad]", ylabel="p [N·m·s]", title="Hamilton's field runs along the lines of equal H")

    arm, torque = double_pendulum(), np.array([3.0, -1.5])
    field = qdot.compile(hamiltonian.hamilton_equations, arm)

    def moved(t: float, y: np.ndarray) -> np.ndarray:
        tau = torque * np.sin(3 * t)
        v, p_dot = field(y[:2], y[2:4], tau)
        return np.concatenate([v, p_dot, [v @ tau]])

    times = np.linspace(0, 6, 400)
    y = solve_ivp(moved, (0, 6), np.zeros(5), t_eval=times, rtol=1e-9, atol=1e-9).y.T
    H = qdot.compile(hamiltonian.hamiltonian, arm)(y[:, :2], y[:, 2:4])
    panes[1].plot(times, H - H[0], color=COOL, lw=3.5, alpha=0.5, label="H(t) - H(0)")
    panes[1].plot(times, y[:, 4], color=INK, lw=1.1, ls="--", label="∫ vᵀτ dt")
    panes[1].set(xlabel="t [s]", ylabel="[J]", title="Ḣ = vᵀτ: a double pendulum, driven")
    panes[1].legend(frameon=False)
    save(path)


def geodesics(path: Path) -> None:
    """Left: the curvature of a double pendulum's space, geodesics and a straight line. Right: the arm along both."""
    panes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(1.25, 1))[1]
    model = double_pendulum()
    q = np.stack(np.meshgrid(np.linspace(-1.2, 3.2, 90), np.linspace(-3.1, 3.1, 110)), axis=-1)
    rows = q.reshape(-1, 2)
    K = qdot.compile(riemann.sectional_curvature, model)(rows, np.tile([1.0, 0], (len(rows), 1)), [0.0, 1.0])
    levels = np.abs(K).max() * np.linspace(-1, 1, 42)
    shown = panes[0].contourf(q[..., 0], q[..., 1], K.reshape(q.shape[:2]), levels=levels, cmap="RdBu_r", alpha=0.75)
    plt.colorbar(shown, ax=panes[0], label="curvature [1/(kg·m²)]", ticks=[-0.8, -0.4, 0, 0.4, 0.8])
    start, end, times = np.array([0.0, 0.0]), np.array([2.2, 1.2]), np.linspace(0, 1, 80)
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        direction = np.array([np.cos(angle), np.sin(angle)])
        speed = np.sqrt(2 * qdot.kinetic_energy(model, start, direction))
        fan, _ = geodesic(model, start, 4.5 * direction / speed)(times)
        panes[0].plot(*fan.T, color=INK, lw=0.6, alpha=0.7)
    found = geodesic_between(model, start, end)
    shortest, straight = found(times)[0], start + times[:, None] * (end - start)
    ways = (shortest, WARM, "geodesic", found.length), (straight, GREEN, "straight", _length(model, straight))
    for line, color, name, length in ways:
        panes[0].plot(*line.T, color=color, lw=2.6, label=f"{name}, length {length:.2f}")
    panes[0].plot(*np.array([start, end]).T, "o", color=INK, ms=6)
    panes[0].set(xlabel="q₁ [rad]", ylabel="q₂ [rad]", xlim=(-1.2, 3.2), ylim=(-3.1, 3.1))
    panes[0].set_title("The metric is M(q): geodesics bend")
    panes[0].legend(frameon=True, loc="lower left")

    for line, color, shift in ((shortest, WARM, 0.0), (straight, GREEN, 4.2)):
        for k in range(0, 80, 8):
            first = np.array([np.sin(line[k, 0]), -np.cos(line[k, 0])])
            second = first + [np.sin(line[k].sum()), -np.cos(line[k].sum())]
            joints = np.array([[0, 0], first, second]) + [shift, 0]
            panes[1].plot(*joints.T, "-o", color=color, ms=3, lw=1.6, alpha=0.25 + 0.75 * k / 80)
    panes[1].text(0.5, -2.6, "geodesic: how it swings\nwithout any force", color=WARM, ha="center")
    panes[1].text(4.7, -2.6, "straight in q", color=GREEN, ha="center")
    panes[1].set(aspect="equal", title="The arm on the two ways")
    panes[1].axis("off")
    save(path)


def _length(model: qdot.Model, line: np.ndarray) -> float:
    d = np.diff(line, axis=0)
    K = qdot.kinetic_energy(model, line[:-1] + d / 2, d)
    return float(np.sqrt(2 * K).sum())


def transport(path: Path) -> None:
    """A vector carried round a triangle of geodesics on a sphere comes back turned, by curvature times area."""
    world = qdot.Mechanism("spherical pendulum", gravity=(0, 0, 0))
    world.add("bob", Universal("z", "y"), Inertia.point(1.0, (1.0, 0, 0)))
    model = qdot.assemble(world)

    def point(q: np.ndarray) -> np.ndarray:
        a, b = np.asarray(q, dtype=float).T
        return np.stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), -np.sin(b)], axis=-1)

    def arrow(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return (point(q + 1e-6 * u) - point(q - 1e-6 * u)) / 2e-6

    axes = plt.figure(figsize=(6.4, 5.6), layout="constrained").add_subplot(projection="3d", computed_zorder=False)
    a, b = np.meshgrid(np.linspace(0, 2 * np.pi, 60), np.linspace(-np.pi / 2, np.pi / 2, 30))
    axes.plot_surface(*point(np.stack([a, b], axis=-1)).transpose(2, 0, 1), color="#dfe6ee", alpha=0.35, linewidth=0)
    corners = [np.array(c) for c in ((-0.9, 0.1), (0.7, 0.1), (-0.1, -1.15))]
    u = first = np.array([0.0, -0.42])
    for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
        way = geodesic_between(model, start, end)
        times = np.linspace(0, 1, 60)
        axes.plot(*point(way(times)[0]).T, color=INK, lw=1.8, zorder=4)
        for t in np.linspace(0, 1, 7):
            here = u if t == 0 else parallel_transport(model, way, u, time=t)
            q = way(t)[0]
            axes.quiver(*point(q), *arrow(q, here), color=COOL, lw=1.4, arrow_length_ratio=0.25, zorder=5)
        u = parallel_transport(model, way, u)
    for vector, color in ((first, GREEN), (u, WARM)):
        place = *point(corners[0]), *arrow(corners[0], vector)
        axes.quiver(*place, color=color, lw=3, arrow_length_ratio=0.25, zorder=6)
    M = qdot.mass_matrix(model, corners[0])
    angle = np.degrees(np.arccos((first @ M @ u) / (first @ M @ first)))
    axes.set_title(f"Carried round without turning, and turned by {angle:.1f}°\n= area × curvature")
    axes.set_box_aspect((1, 1, 1))
    axes.view_init(24, -6)
    axes.set_axis_off()
    axes.set(xlim=(-0.75, 0.75), ylim=(-0.75, 0.75), zlim=(-0.75, 0.75))
    save(path)


def least_action(path: Path) -> None:
    """A pendulum's true path among others with the same ends, and the action of each; then a longer time."""
    panes = plt.subplots(1, 3, figsize=(12.5, 4.0), layout="constrained")[1]
    model, steps = pendulum(), 120
    colors = plt.get_cmap("viridis")
    for pane, time, speed in ((panes[0], 0.8, 3.0), (panes[1], 1.7, 3.0)):
        t = np.linspace(0, time, steps + 1)
        true = _simulated(model, [0.3], [speed], t)
        found = stationary_path(model, true[0], true[-1], time=time, steps=steps, guess=true)
        shape = np.sin(np.pi * t / time)[:, None]
        S = discrete_action(model, found, time=time)
        sizes = np.linspace(-0.6, 0.6, 25)
        actions = np.array([discrete_action(model, found + e * shape, time=time) - S for e in sizes])
        for e in sizes[::3]:
            pane.plot(t, found + e * shape, color=colors(0.5 + e / 1.3), lw=1)
        pane.plot(t, true, color=INK, lw=3, label="simulated")
        pane.plot(t, found, color=WARM, lw=1.2, ls="--", label="stationary action")
        pane.set(xlabel="t [s]", ylabel="q [rad]", title=f"paths with the same ends, {time:g} s")
        pane.legend(frameon=False, loc="lower left" if time > 1 else "lower right")
        line = {"color": COOL if time < 1 else GREEN, "label": f"{time:g} s"}
        panes[2].plot(sizes, actions, **line, lw=2)
        panes[2].scatter(sizes[::3], actions[::3], c=[colors(0.5 + e / 1.3) for e in sizes[::3]], zorder=3, s=22)
    panes[2].axhline(0, color=INK, lw=0.6)
    panes[2].set(xlabel="size of the variation [rad]", ylabel="S - S(true) [J·s]")
    panes[2].set_title("stationary at the true path: least for a\nshort time, not beyond half a swing")
    panes[2].legend(frameon=False)
    save(path)


def _simulated(model: qdot.Model, q: list[float], v: list[float], times: np.ndarray) -> np.ndarray:
    a = qdot.compile(qdot.forward_dynamics, model)
    n, rest = model.nv, np.zeros(model.nv)
    rate = lambda _, y: np.concatenate([y[n:], a(y[:n], y[n:], rest)])  # noqa: E731
    return solve_ivp(rate, (0, times[-1]), [*q, *v], t_eval=times, rtol=1e-10, atol=1e-10).y[:n].T


def save(path: Path) -> None:
    plt.savefig(path, dpi=110)
    plt.close("all")
    print(f"picture: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs") / "images", help="folder for the pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    phase_space(out / "hamilton_phase_space.png")
    geodesics(out / "geodesics.png")
    transport(out / "parallel_transport.png")
    least_action(out / "least_action.png")


if __name__ == "__main__":
    main()
