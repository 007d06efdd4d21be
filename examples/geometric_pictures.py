"""The pictures of docs/geometric, one for each page."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from picture_style import BLUE, GREEN, GREY, INK, ORANGE, PALE, PAPER, RED, arrow, bare, draw, ellipse, legend, rods
from scipy.integrate import solve_ivp

import qdot
from qdot.joints import Prismatic, Revolute, Universal
from qdot.model.library import double_pendulum, pendulum
from qdot.spatial import Inertia

SPEED = 4.5
"""Of the geodesics of a fan [√J]: their length after one second."""


def metric() -> Figure:
    """A velocity and its momentum: the tangent of one ellipse is the arrow of the other."""
    figure, (vectors, covectors) = plt.subplots(1, 2, figsize=(7, 3.7))
    model, q = double_pendulum(), np.array([0.0, 2.0])
    M = qdot.mass_matrix(model, q)
    v = ellipse(M)[12]  # of length 1
    p = qdot.generalized_momentum(model, q, v)
    for pane, matrix, x, color in ((vectors, M, v, BLUE), (covectors, np.linalg.inv(M), p, RED)):
        pane.plot(*ellipse(matrix).T, color=color, lw=2)
        pane.plot(0, 0, "o", color=INK, ms=4)
        arrow(pane, np.zeros(2), x, color, width=0.012)
    across = np.array([-p[1], p[0]]) / np.linalg.norm(p)
    for level in (0.0, 0.5, 1.0):
        foot = level * v
        vectors.plot(*np.array([foot - 3 * across, foot + 3 * across]).T, color=RED, lw=1, ls="-" if level else ":")
        vectors.text(*(foot - 1.1 * across), f"pᵀu = {level:g}", color=RED, ha="center", va="center", bbox=PAPER)
    vectors.annotate("v", v, (-3, 6), textcoords="offset points", color=BLUE, weight="bold")
    covectors.annotate("p = M v", p, (4, 4), textcoords="offset points", color=RED, weight="bold", bbox=PAPER)
    vectors.set(title="velocities, vᵀ M v = 1", xlabel="v₁ [rad/s]", ylabel="v₂ [rad/s]", aspect="equal")
    vectors.set(xlim=(-1.4, 1.6), ylim=(-1.4, 1.6))
    covectors.set(title="momenta, pᵀ M⁻¹ p = 1", xlabel="p₁ [N·m·s]", ylabel="p₂ [N·m·s]", aspect="equal")
    covectors.set(xlim=(-2, 2), ylim=(-2, 2))
    return figure


def connection() -> Figure:
    """A point in polar coordinates: a constant vector has components that change, as the basis turns."""
    figure, (plane, rates) = plt.subplots(2, 1, figsize=(7, 5.0), height_ratios=(1, 1.1))
    world = qdot.Mechanism("polar", gravity=(0, 0, 0))
    world.add("turn", Revolute("z")).add("slide", Prismatic("x"), Inertia.point(1.0, (0, 0, 0)))
    model = qdot.assemble(world)
    constant, height = np.array([0.25, 0.32]), 0.8

    def basis(q: np.ndarray) -> np.ndarray:
        """∂/∂q of the point, as columns."""
        return np.array([[-q[1] * np.sin(q[0]), np.cos(q[0])], [q[1] * np.cos(q[0]), np.sin(q[0])]])

    xs = np.linspace(-1.3, 1.3, 81)
    q = np.stack([np.arctan2(height, xs), np.hypot(xs, height)], axis=-1)
    u = np.array([np.linalg.solve(basis(row), constant) for row in q])
    v = np.array([np.linalg.solve(basis(row), [1, 0]) for row in q])
    plane.plot(xs, 0 * xs + height, color=INK, lw=1)
    plane.plot(0, 0, "o", color=INK, ms=7)
    for k in range(4, 81, 18):
        at = np.array([xs[k], height])
        plane.plot(*np.array([[0, 0], at]).T, color=PALE, lw=1, ls="--")
        for column, color in zip(basis(q[k]).T, (ORANGE, GREEN), strict=True):
            arrow(plane, at, 0.38 * column, color, width=0.005)
        arrow(plane, at, constant, BLUE, width=0.006)
    names = {"∂/∂q₁ (turn)": ORANGE, "∂/∂q₂ (slide)": GREEN, "u: the same everywhere": BLUE}
    legend(plane, names, loc="lower left")
    bare(plane, "A vector that does not change, and a basis that does")
    plane.set(xlim=(-3.1, 1.8), ylim=(-0.1, 1.25))
    turned, slope = qdot.parallel_rate(model, q, v, u), np.gradient(u, xs, axis=0)
    for k, color in enumerate((ORANGE, GREEN)):
        rates.plot(xs, slope[:, k], color=color, lw=4, alpha=0.45, label=f"v(u){'₁₂'[k]}")
        rates.plot(xs, turned[:, k], color=color, lw=1.4, ls="--", label=f"−(M⁻¹C u){'₁₂'[k]}")
    rates.set(xlabel="x [m]", title="So its components change, as C tells: v(u) = −M⁻¹C u, hence ∇u = 0")
    rates.legend(loc="upper left")
    rates.set_ylim(top=0.75)
    return figure


def geodesics() -> Figure:
    """Left: geodesics from a point, and the shortest way between two. Right: the arm on it, and on the straight one."""
    figure, (chart, arms) = plt.subplots(1, 2, figsize=(7, 3.9), width_ratios=(1.2, 1))
    model = double_pendulum()
    start, end, times = np.array([0.0, 0.0]), np.array([2.2, 1.2]), np.linspace(0, 1, 80)
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        chart.plot(*fan(model, start, angle)(times)[0].T, color=GREY, lw=0.8)
    found = qdot.geodesic_between(model, start, end)
    shortest, straight = found(times)[0], start + times[:, None] * (end - start)
    ways = (shortest, RED, "geodesic", found.length), (straight, BLUE, "straight", length(model, straight))
    for line, color, name, long in ways:
        chart.plot(*line.T, color=color, lw=2.6, label=f"{name}: length {long:.2f}")
    chart.plot(*np.array([start, end]).T, "o", color=INK, ms=6, zorder=4)
    chart.set(xlabel="q₁ [rad]", ylabel="q₂ [rad]", xlim=(-1.2, 3.0), ylim=(-2.6, 3.3))
    chart.set_title("Lengths are measured by M(q)")
    chart.legend(loc="upper right", frameon=True, edgecolor="none", framealpha=0.9)
    for line, color, shift, name in (
        (shortest, RED, 0.0, "geodesic: how it\nswings without forces"),
        (straight, BLUE, 3.2, "straight in q"),
    ):
        for k in range(0, 80, 8):
            x, z = np.cumsum([np.sin(np.cumsum(line[k])), -np.cos(np.cumsum(line[k]))], axis=1)
            joints = np.array([[shift, *(shift + x)], [0, *z]]).T
            rods(arms, joints, color, width=1.6, alpha=0.25 + 0.75 * k / 80)
        arms.text(shift + 0.5, -2.3, name, color=color, ha="center", va="top")
    bare(arms, "The arm on the two ways")
    arms.set(xlim=(-1.1, 5.3), ylim=(-3.2, 1.6))
    return figure


def curvature() -> Figure:
    """Left: curvature, and neighbours from two starts. Right: how far apart they are, beside a flat space."""
    figure, (chart, apart) = plt.subplots(1, 2, figsize=(7, 3.8), width_ratios=(1.25, 1))
    model = double_pendulum()
    q = np.stack(np.meshgrid(np.linspace(-3, 3, 40), np.linspace(-0.9, 4.1, 90)), axis=-1)
    rows = q.reshape(-1, 2)
    K = qdot.sectional_curvature(model, rows, np.tile([1.0, 0], (len(rows), 1)), np.tile([0.0, 1], (len(rows), 1)))
    levels = np.abs(K).max() * np.linspace(-1, 1, 22)
    shown = chart.contourf(q[..., 0], q[..., 1], K.reshape(q.shape[:2]), levels=levels, cmap="RdBu_r", alpha=0.7)
    figure.colorbar(shown, ax=chart, ticks=[-0.8, 0, 0.8], pad=0.02).ax.set_title("K", fontsize=10)
    times, narrow = np.linspace(0, 1, 80), 1e-4
    for start, color in (([-2.2, 0.0], RED), ([-1.5, np.pi], BLUE)):
        for turn in (-0.2, -0.1, 0.0, 0.1, 0.2):
            chart.plot(*fan(model, np.array(start), turn)(times)[0].T, color=INK, lw=1)
        chart.plot(*start, "o", color=color, ms=7)
        one, other = (fan(model, np.array(start), turn)(times)[0] for turn in (0.0, narrow))
        gap = np.sqrt(2 * qdot.kinetic_energy(model, one, other - one)) / narrow
        apart.plot(SPEED * times, gap, color=color, lw=2.4)
    apart.plot([0, SPEED], [0, SPEED], color=GREY, lw=1.4, ls="--")
    apart.text(2.5, 7, "K < 0\nthey part", color=BLUE, ha="right")
    apart.text(3.1, 4.1, "K = 0", color=GREY, ha="right")
    apart.text(1.6, 0.25, "K > 0: meet", color=RED, ha="center")
    chart.set(xlabel="q₁ [rad]", ylabel="q₂ [rad]", xlim=(-3, 3), ylim=(-0.9, 4.1))
    chart.set_title("curvature of a double pendulum's space")
    apart.set(xlabel="length run [√kg·m]", title="distance of neighbours / angle", ylim=(0, 10), xlim=(0, SPEED))
    return figure


def parallel_transport() -> Figure:
    """Left: a vector carried round a triangle on a sphere. Right: round circles of latitude, beside the closed form."""
    figure = plt.figure(figsize=(7, 3.6))
    sphere = figure.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
    turning = figure.add_subplot(1, 2, 2)
    world = qdot.Mechanism("spherical pendulum", gravity=(0, 0, 0))
    world.add("bob", Universal("z", "y"), Inertia.point(1.0, (1.0, 0, 0)))
    model = qdot.assemble(world)
    a, b = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(-np.pi / 2, np.pi / 2, 20))
    grid = on_sphere(np.stack([a, b], axis=-1)).transpose(2, 0, 1)
    sphere.plot_surface(*grid, color="#e6ebf0", alpha=0.35, linewidth=0, antialiased=False)
    corners = [np.array(c) for c in ((-0.9, 0.1), (0.7, 0.1), (-0.1, -1.15))]
    u = first = np.array([0.0, -0.42])
    for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
        way = qdot.geodesic_between(model, start, end)
        sphere.plot(*on_sphere(way(np.linspace(0, 1, 60))[0]).T, color=INK, lw=1.8, zorder=4)
        for t in np.linspace(0, 1, 6)[1:]:
            carried(sphere, way(t)[0], qdot.parallel_transport(model, way, u, time=t), BLUE, 1.4)
        u = qdot.parallel_transport(model, way, u)
    carried(sphere, corners[0], first, GREEN, 3)
    carried(sphere, corners[0], u, RED, 3)
    angle = np.degrees(np.arccos(qdot.inner_product(model, corners[0], first, u) / 0.42**2))
    sphere.set_title(f"carried round, it comes back\nturned by {angle:.0f}°")
    sphere.set(xlim=(-0.62, 0.62), ylim=(-0.62, 0.62), zlim=(-0.62, 0.62), box_aspect=(1, 1, 1))
    sphere.view_init(24, -6)
    sphere.set_axis_off()

    height = np.linspace(0.05, 1.4, 10)
    turns = []
    for b in height:
        back = qdot.parallel_transport(model, lambda t, b=b: ([t, b], [1.0, 0.0]), [0.0, 1.0], time=2 * np.pi)
        turns.append(np.arctan2(-back[0] * np.cos(b), back[1]) % (2 * np.pi))
    area = 2 * np.pi * (1 - np.sin(height))
    turning.plot([0, 2 * np.pi], [0, 360], color=GREY, lw=1.4, label="area × curvature")
    turning.plot(area, np.degrees(turns), "o", color=RED, label="carried round a circle")
    turning.set(xlabel="area enclosed [m²]", ylabel="turned by [°]", yticks=[0, 90, 180, 270, 360])
    turning.set_title("curvature × area is the turn\n(sphere of radius 1, K = 1)")
    turning.legend(loc="upper left")
    return figure


def least_action() -> Figure:
    """A pendulum's path among others with the same ends, for a short and a long time, and the action of each."""
    figure, panes = plt.subplot_mosaic([["short", "long"], ["action", "action"]], figsize=(7, 5.2))
    model, steps, sizes = pendulum(), 120, np.linspace(-0.6, 0.6, 25)
    colors = [plt.get_cmap("viridis")(0.5 + e / 1.3) for e in sizes]
    step = qdot.compile(qdot.forward_dynamics, model)
    rate = lambda _, y: np.array([y[1], step(y[:1], y[1:], np.zeros(1))[0]])  # noqa: E731
    for name, time, color in (("short", 0.8, BLUE), ("long", 1.7, RED)):
        t, pane = np.linspace(0, time, steps + 1), panes[name]
        true = solve_ivp(rate, (0, time), [0.3, 3.0], t_eval=t, rtol=1e-10, atol=1e-10).y[:1].T
        found = qdot.stationary_path(model, true[0], true[-1], time=time, steps=steps, guess=true)
        paths = [found + e * np.sin(np.pi * t / time)[:, None] for e in sizes]
        S = np.array([qdot.discrete_action(model, path, time=time) for path in paths])
        for k in range(0, 25, 3):
            pane.plot(t, paths[k], color=colors[k], lw=1.1)
        pane.plot(t, true, color=INK, lw=3, label="simulated")
        pane.plot(t, found, color=ORANGE, lw=1.3, ls="--", label="stationary S")
        pane.set(xlabel="t [s]", ylabel="q [rad]", title=f"paths with the same ends, {time:g} s")
        panes["action"].plot(sizes, S - S[12], color=color, lw=2, label=f"{time:g} s")
        panes["action"].scatter(sizes[::3], (S - S[12])[::3], color=colors[::3], zorder=3, s=26)
    panes["long"].legend(loc="lower left")
    panes["action"].axhline(0, color=INK, lw=0.7)
    panes["action"].set(xlabel="size of the variation [rad]", ylabel="S − S(true) [J·s]")
    panes["action"].set_title("stationary at the true path: least for a short time, not beyond half a swing")
    panes["action"].legend(loc="upper center")
    return figure


def fan(model: qdot.Model, start: np.ndarray, angle: float) -> qdot.Geodesic:
    """The geodesic from a start, at one speed for all; the angle from ∂/∂q₁ is measured by the metric."""
    frame = np.linalg.inv(np.linalg.cholesky(qdot.mass_matrix(model, start)).T)
    return qdot.geodesic(model, start, SPEED * frame @ [np.cos(angle), np.sin(angle)])


def length(model: qdot.Model, line: np.ndarray) -> float:
    d = np.diff(line, axis=0)
    return float(np.sqrt(2 * qdot.kinetic_energy(model, line[:-1] + d / 2, d)).sum())


def on_sphere(q: np.ndarray) -> np.ndarray:
    """Where the bob of the spherical pendulum is."""
    a, b = np.asarray(q, dtype=float).T
    return np.stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), -np.sin(b)], axis=-1)


def carried(axes: Axes, q: np.ndarray, u: np.ndarray, color: str, width: float) -> None:
    """An arrow on the sphere."""
    step = (on_sphere(q + 1e-6 * u) - on_sphere(q - 1e-6 * u)) / 2e-6
    axes.quiver(*on_sphere(q), *step, color=color, lw=width, arrow_length_ratio=0.28, zorder=6)


PICTURES = [metric, connection, geodesics, curvature, parallel_transport, least_action]

if __name__ == "__main__":
    draw(__doc__, "geometric", PICTURES)
