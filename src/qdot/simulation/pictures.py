"""Pictures of runs, with matplotlib (the extra `qdot[plots]`), which loads at first use.

Batches are drawn as bands: the line is the median, the darker band holds half of the runs, the lighter one all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.errors import PictureError, UnknownNameError
from qdot.programs import functions
from qdot.simulation import ledger
from qdot.simulation.constraint_forces import WRENCH
from qdot.simulation.trajectory import Trajectory
from qdot.simulation.units import coordinate_units, freedom_units

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

COLORS = ("#2f7fd0", "#d1495b", "#2f9e6b", "#c08a1e", "#7a5bc7", "#3aa7b3", "#c06aa8", "#6b7280", "#94a03a", "#8a5a3c")
INK = "#30343c"
WIDTH, HEIGHT = 8.4, 2.3
LISTED = 12
"""Curves that a legend names."""

LEAST = 1e-17
"""The lower end of logarithmic axes: what is smaller is zero."""

COMPARED = 6
"""Coordinates that a comparison draws."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes: curves by name, (records,) or (batch, records), over time."""

    label: str
    curves: Mapping[str, Array]
    logarithmic: bool = False


def plot_trajectory(run: Trajectory, what: Sequence[str] = ("q", "v", "energy", "drift")) -> Figure:
    """A run over time: "q", "v", "activation", "energy", "momentum", "forces" (of constraints), "drift".

    What a run does not have, such as the drift of constraints, is left out.
    """
    _require_run(run)
    chosen = [what] if isinstance(what, str) else list(what)
    for name in chosen:
        if name not in PANELS:
            raise UnknownNameError("quantity", name, PANELS, "plot_trajectory")
    panels = [panel for name in chosen for panel in PANELS[name](run) if panel.curves]
    if not panels:
        raise PictureError(f"this run of model {run.model.name!r} has nothing of {', '.join(chosen)} to draw")
    figure, axes = axes_for(len(panels), _title(run))
    for panel, at in zip(panels, axes, strict=True):
        draw(at, run.time, panel)
    return figure


def plot_ledger(run: Trajectory) -> Figure:
    """Work of each entry, stacked on both sides of zero, the change of energy that it adds up to, and below what does
    not close. Of a batch, means."""
    _require_run(run)
    works = {name: _mean(run, w) for name, w in ledger.works(run).items()}
    E = run.energy()
    change, residual = _mean(run, E - E[..., :1]), ledger.balance(run)
    figure, (above, below) = axes_for(2, _title(run, "means"), heights=(2.4, 1.0))
    high, low = np.zeros_like(run.time), np.zeros_like(run.time)
    for color, (name, w) in zip(_colors(len(works)), works.items(), strict=True):
        up, down = np.maximum(w, 0), np.minimum(w, 0)
        above.fill_between(run.time, high, high + up, color=color, alpha=0.55, linewidth=0, label=name)
        above.fill_between(run.time, low, low + down, color=color, alpha=0.55, linewidth=0)
        high, low = high + up, low + down
    above.plot(run.time, change, color=INK, linewidth=1.8, label="change of energy")
    above.axhline(0, color=INK, linewidth=0.6)
    above.set_ylabel("since the start [J]")
    _legend(above)
    draw(below, run.time, Panel("residual [J]", {"what does not close": residual}))
    return figure


def plot_compare(runs: Mapping[str, Trajectory]) -> Figure:
    """Several runs by name: coordinates that all of them have, the change of energy, and the distance from the first
    run where the model is the same. Runs of other models are compared by the names of their coordinates."""
    if not isinstance(runs, Mapping) or not runs:
        raise PictureError(f"plot_compare takes runs by name, {{'rk4': run, …}}, got {runs!r}")
    for run in runs.values():
        _require_run(run)
        if run.batch is not None:
            raise PictureError("plot_compare draws single runs; choose one of a batch: run[0]")
    first = next(iter(runs.values()))
    named = {key: dict(zip(run.model.coordinate_names(), run.q.T, strict=True)) for key, run in runs.items()}
    units = dict(zip(first.model.coordinate_names(), coordinate_units(first.model), strict=True))
    shared = [name for name in units if all(name in own for own in named.values())]
    panels = [
        (_unit(name, units[name]), {key: own[name] for key, own in named.items()}, False) for name in shared[:COMPARED]
    ]
    energies = {key: run.energy() for key, run in runs.items()}
    panels.append(("change of\nenergy [J]", {key: E - E[0] for key, E in energies.items()}, False))
    apart = {key: d for key, run in list(runs.items())[1:] if (d := _distance(first, run)) is not None}
    if apart:
        panels.append((f"distance from\n{next(iter(runs))}", apart, True))
    more = len(shared) - COMPARED
    title = "Comparison" + (f" ({more} more coordinates are not drawn)" if more > 0 else "")
    figure, axes = axes_for(len(panels), title)
    dashes = ["-", *[(0, (4, 2))] * (len(runs) - 1)]  # over the first run, so that both are seen
    styles = {key: {"color": c, "linestyle": d} for key, c, d in zip(runs, _colors(len(runs)), dashes, strict=True)}
    for at, (label, curves, logarithmic) in zip(axes, panels, strict=True):
        for key, y in curves.items():
            at.plot(runs[key].time, _positive(y) if logarithmic else y, label=key, **styles[key])
        at.set_ylabel(label)
        if logarithmic and any((y > 0).any() for y in curves.values()):
            at.set_yscale("log")
    _legend(axes[0])
    return figure


def _distance(first: Trajectory, run: Trajectory) -> Array | None:
    """|q ⊖ q of the first run| at the times that both have; None where they are no motions of one model."""
    if first.model != run.model or first is run or run.time[-1] > first.time[-1] or run.time[0] < first.time[0]:
        return None
    there = first.resampled(run.time)
    return np.asarray(np.linalg.norm(functions.difference(run.model, there.q, run.q), axis=-1))


# ── what can be drawn ────────────────────────────────────────────────────────────────────────────


def _by_unit(letter: str, names: Sequence[str], units: Sequence[str], rows: Array) -> list[Panel]:
    """A panel for each unit, so that angles and lengths do not share an axis."""
    return [
        Panel(_unit(letter, unit), {n: rows[..., k] for k, n in enumerate(names) if units[k] == unit})
        for unit in dict.fromkeys(units)
    ]


def _positions(run: Trajectory) -> list[Panel]:
    return _by_unit("q", run.model.coordinate_names(), coordinate_units(run.model), run.q)


def _velocities(run: Trajectory) -> list[Panel]:
    return _by_unit("v", run.model.dof_names(), [f"{u}/s" for u in freedom_units(run.model)], run.v)


def _activations(run: Trajectory) -> list[Panel]:
    names = run.model.activation_names()
    return [Panel("activation", {name: run.activation[..., k] for k, name in enumerate(names)})]


def _energies(run: Trajectory) -> list[Panel]:
    K, P = run.kinetic_energy(), run.potential_energy()
    return [Panel("energy [J]", {"kinetic": K, "potential": P, "together": K + P})]


def _momenta(run: Trajectory) -> list[Panel]:
    rows = run.momentum()
    angular = {f"about {axis}": rows[..., k] for k, axis in enumerate("xyz")}
    linear = {f"along {axis}": rows[..., 3 + k] for k, axis in enumerate("xyz")}
    return [Panel("angular momentum\n[kg·m²/s]", angular), Panel("momentum\n[kg·m/s]", linear)]


def _forces(run: Trajectory) -> list[Panel]:
    units = run.force_units()
    found = []
    for name, rows in run.constraint_forces().items():
        unit = units.get(name, "")
        if unit == WRENCH:
            moment, force = ({axis: rows[..., at + k] for k, axis in enumerate("xyz")} for at in (0, 3))
            found += [Panel(f"moment of\n{name} [N·m]", moment), Panel(f"force of\n{name} [N]", force)]
        else:
            found.append(Panel(_unit(name, unit), {f"row {k}": rows[..., k] for k in range(rows.shape[-1])}))
    return found


def _drift(run: Trajectory) -> list[Panel]:
    curves = {"positions": run.drift[..., 0], "velocities": run.drift[..., 1]} if run.row_names else {}
    return [Panel("largest error of\nconstraints", curves, logarithmic=True)]


PANELS: dict[str, Callable[[Trajectory], list[Panel]]] = {
    "q": _positions,
    "v": _velocities,
    "activation": _activations,
    "energy": _energies,
    "momentum": _momenta,
    "forces": _forces,
    "drift": _drift,
}


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────


def draw(axes: Any, time: Array, panel: Panel) -> None:
    for color, (name, y) in zip(_colors(len(panel.curves)), panel.curves.items(), strict=True):
        rows = np.maximum(y, LEAST) if panel.logarithmic else y
        if rows.ndim == 1:
            axes.plot(time, rows, color=color, label=name)
            continue
        known = ~np.isnan(rows).all(axis=0)
        at, rows = time[known], rows[:, known]
        least, lower, middle, upper, most = np.nanpercentile(rows, (0, 25, 50, 75, 100), axis=0)
        axes.fill_between(at, least, most, color=color, alpha=0.13, linewidth=0)
        axes.fill_between(at, lower, upper, color=color, alpha=0.25, linewidth=0)
        axes.plot(at, middle, color=color, label=name)
    axes.set_ylabel(panel.label)
    if panel.logarithmic and any(np.isfinite(y).any() for y in panel.curves.values()):
        axes.set_yscale("log")
    _legend(axes)


def _legend(axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    shown = labels[:LISTED] if len(labels) <= LISTED else [*labels[: LISTED - 1], f"… {len(labels)} in all"]
    axes.legend(handles[: len(shown)], shown, loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False, fontsize=8.5)


def axes_for(count: int, title: str, heights: Sequence[float] | None = None) -> tuple[Figure, list[Any]]:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise PictureError("pictures need matplotlib; install it with: pip install 'qdot[plots]'") from error
    size = WIDTH, 0.7 + HEIGHT * (count if heights is None else sum(heights) * 0.85)
    figure, axes = pyplot.subplots(
        count, 1, sharex=True, squeeze=False, figsize=size, layout="constrained", height_ratios=heights
    )
    for at in axes[:, 0]:
        at.grid(True, color="#d9dce1", linewidth=0.6)
        at.set_axisbelow(True)
        at.spines[["top", "right"]].set_visible(False)
        at.margins(x=0)
    axes[-1, 0].set_xlabel("time [s]")
    axes[0, 0].set_title(title, loc="left", fontsize=13)
    figure.align_ylabels()
    return figure, list(axes[:, 0])


def _colors(count: int) -> list[Any]:
    """Different ones as far as they go, then shades along a scale."""
    if count <= len(COLORS):
        return list(COLORS[:count])
    from matplotlib import colormaps

    return [colormaps["viridis"](x) for x in np.linspace(0, 0.92, count)]


def _title(run: Trajectory, lines: str = "median, half of them, all") -> str:
    runs = "" if run.batch is None else f", {run.batch} runs: {lines}"
    return run.model.name.replace("_", " ") + runs


def _unit(label: str, unit: str) -> str:
    return f"{label} [{unit}]" if unit else label


def _mean(run: Trajectory, rows: Array) -> Array:
    return rows if run.batch is None else np.asarray(rows.mean(axis=0))


def _positive(y: Array) -> Array:
    """Zeros left out, which have no logarithm."""
    return np.where(y > 0, y, np.nan)


def _require_run(run: object) -> None:
    if not isinstance(run, Trajectory):
        raise PictureError(f"a picture of a run needs the Trajectory that qdot.simulate returns, got {run!r}")
