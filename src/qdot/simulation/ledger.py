"""The energy ledger of a run: what its energy changed by, what each force did, and what does not close.

    E(t) - E(0) = Σ W(t) + residual,   W = ∫ f·v dt

Work is integrated with the motion, by the same method, so the residual is the integrator's error and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qdot.errors import ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

    from qdot.simulation.trajectory import Trajectory

    Array = NDArray[np.float64]


def require_ledger(run: Trajectory) -> None:
    """Raise where a run kept no account of work."""
    if not run.ledger:
        raise ValueShapeError(
            f"this run of model {run.model.name!r} has no energy ledger; simulate it with ledger=True"
        )


def works(run: Trajectory) -> dict[str, Array]:
    """Work since the first record [J], by name, (records,) or (batch, records); of what acted."""
    require_ledger(run)
    since = _since_first(run)
    return {name: since[..., k] for k, name in enumerate(run.ledger) if since[..., k].any()}


def balance(run: Trajectory) -> Array:
    """E(t) - E(0) - Σ W [J]."""
    require_ledger(run)
    E = run.energy()
    done = _since_first(run).sum(axis=-1)
    return np.asarray(E - E[..., :1] - done)


def _since_first(run: Trajectory) -> Array:
    """Work since the first record [J]."""
    work = run.work.astype(float)
    return work - work[..., :1, :]


def turnover(run: Trajectory) -> float:
    """What a residual is measured by: the largest kinetic energy, change of potential energy, or work of a run [J]."""
    potential = run.potential_energy()
    sizes = [run.kinetic_energy().max(), np.ptp(potential, axis=-1).max()]
    sizes += [np.abs(w).max() for w in works(run).values()]
    return float(max(sizes))


def ledger_table(run: Trajectory) -> Table:
    """Work of each entry, the change of energy, and the residual; of a batch the least, the mean and the most."""
    rows = {name: w[..., -1] for name, w in works(run).items()}
    E = run.energy()
    residual = balance(run)
    worst = np.abs(residual).max()
    scale = turnover(run)
    found = _table("Energy ledger", ["entry", *_columns(run)])
    for name, w in rows.items():
        found.add_row(name, *_cells(run, w))
    found.add_section()
    found.add_row("sum of work", *_cells(run, np.asarray(sum(rows.values())) + np.zeros(E[..., -1].shape)))
    found.add_row("change of energy", *_cells(run, E[..., -1] - E[..., 0]))
    found.add_row("residual", *_cells(run, residual[..., -1]))
    part = f", {worst / scale:.1e} of the largest energy" if scale > 0 else ""
    found.caption = f"largest residual at any time {worst:.2e} J{part}"
    return found


def summary_table(run: Trajectory) -> Table:
    """Records, speed, energy and drift, a line each."""
    found = _table(f"Run of {run.model.name}", ["", "value"])
    first, last = float(run.time[0]), float(run.time[-1])
    found.add_row("time", f"{first:g} to {last:g} s")
    runs = "" if run.batch is None else f" of each of {run.batch} runs"
    found.add_row("records", f"{run.records}{runs}")
    if run.checkpoint is not None:
        point = run.checkpoint
        steps = round((last - first) / point.dt)
        found.add_row("steps", f"{steps} of {point.dt:g} s, {point.integrator}")
        if run.computing:
            found.add_row("speed", f"{steps * len(run) / run.computing:,.0f} steps/s")
    E = run.energy()
    change = E[..., -1] - E[..., 0]
    found.add_row("energy", f"{np.mean(E[..., 0]):.6g} J at first, changed by {_range(change)} J")
    if run.ledger:
        residual = np.abs(balance(run)).max()
        found.add_row("ledger", f"closes within {residual:.1e} J")
    if run.row_names:
        position, velocity = np.nanmax(run.drift.reshape(-1, 2), axis=0, initial=0)
        found.add_row("drift", f"at most {position:.1e} of positions, {velocity:.1e} of velocities")
    for event in run.events:
        found.add_row(f"event {event.name}", f"{event.time:.6g} s")
    return found


def _columns(run: Trajectory) -> list[str]:
    return ["[J]"] if run.batch is None else ["least [J]", "mean [J]", "most [J]"]


def _cells(run: Trajectory, values: Array) -> list[str]:
    shown = [values] if run.batch is None else [np.min(values), np.mean(values), np.max(values)]
    return [f"{float(x):.6g}" for x in shown]


def _range(values: Array) -> str:
    least, most = float(np.min(values)), float(np.max(values))
    return f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"


def _table(title: str, columns: list[str]) -> Table:
    from rich import box
    from rich.table import Table

    found = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    for k, column in enumerate(columns):
        found.add_column(column, justify="right" if "[J]" in column else "left", style="bold" if k == 0 else "")
    return found
