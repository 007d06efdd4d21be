"""The contact court: one scene under all kinds of contact, and what each of them does to the laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.contact.kinds import BY_NAME, Kind, kind_of
from qdot.errors import ModelError, SimulationError
from qdot.model.model import Model, require_model
from qdot.simulation.pictures import Panel, axes_for, draw
from qdot.simulation.reporting import COLUMNS
from qdot.simulation.simulate import simulate
from qdot.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

SHOWN = ("penetration", "cone", "complementarity", "dissipation", "energy")
"""Residuals that are compared."""

SMALLEST = 1e-16
"""The lower end of logarithmic axes."""


@dataclass(frozen=True, eq=False)
class Court:
    """Runs of one scene by the name of the kind of contact, and what stopped those that failed."""

    runs: Mapping[str, Trajectory]
    failures: Mapping[str, str]

    def table(self) -> Table:
        """The worst residuals of each run, how its energy changed, how fast it is at the end, and how long it took to
        compute, for `rich.print`."""
        from rich.table import Table

        table = Table(title="contact court", caption="worst of all steps; energy: given by contacts, in all")
        for name in ("contact", *(f"{x} [{COLUMNS[x]}]" for x in SHOWN), "ΔE [J]", "fastest at end", "computing [s]"):
            table.add_column(name, justify="left" if name == "contact" else "right")
        for name, run in self.runs.items():
            table.add_row(name, *self._row(run))
        for name, why in self.failures.items():
            table.add_row(name, f"stopped: {why}")
        return table

    def _row(self, run: Trajectory) -> list[str]:
        found = run.contact_residuals
        worst = [found[x].sum() if x == "energy" else found[x].max() for x in SHOWN]
        energy = run.energy()
        numbers = [*worst, energy[-1] - energy[0], np.abs(run.v[-1]).max(), run.computing or 0.0]
        return [f"{x:.2g}" for x in numbers]

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=160)
        with console.capture() as shown:
            console.print(self.table())
        return shown.get()

    def plot(self) -> Figure:
        """Energies, overlap and what friction failed to take, over time."""

        def curves(of: Any) -> dict[str, Any]:
            return {name: of(run) for name, run in self.runs.items()}

        def residual(which: str) -> dict[str, Any]:
            return curves(lambda run: np.maximum(run.contact_residuals[which], SMALLEST))

        panels = [
            Panel("energy [J]", curves(lambda run: run.energy())),
            Panel("kinetic energy [J]", curves(lambda run: np.maximum(run.kinetic_energy(), SMALLEST)), True),
            Panel("overlap [m]", residual("penetration"), True),
            Panel("error of friction [J]", residual("dissipation"), True),
        ]
        name = next(iter(self.runs.values())).model.name.replace("_", " ") if self.runs else ""
        figure, axes = axes_for(len(panels), f"contact court: {name}")
        for at, panel in zip(axes, panels, strict=True):
            times = {len(run.time): run.time for run in self.runs.values()}
            draw(at, times[max(times)], panel)
        return figure


def compare(
    model: Model,
    state: Any = None,
    seconds: float = 1.0,
    dt: float | None = None,
    *,
    kinds: Mapping[str, str | Kind] | None = None,
    **options: Any,
) -> Court:
    """A scene, a model at a state, under all kinds of contact, or under `kinds` by names of your own.

    Options are those of `qdot.simulate`. A run that goes out of hand does not stop the others.
    """
    require_model(model, "compare")
    chosen = {name: name for name in BY_NAME} if kinds is None else dict(kinds)
    if not chosen:
        raise ModelError("compare needs a kind of contact at least; leave kinds out for all")
    runs, failures = {}, {}
    for name, given in chosen.items():
        kind = kind_of(given)
        if kind is None:
            raise ModelError(f"compare: {name!r} is no kind of contact; take one of {', '.join(BY_NAME)}")
        try:
            runs[name] = simulate(model, state, seconds, dt, contact=kind, residuals=True, **options)
        except SimulationError as error:
            failures[name] = f"{error.cause} at {error.time:.4g} s"
    return Court(runs, failures)
