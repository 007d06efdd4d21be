"""What acted in a run, as data for files: how contacts, limits and constraints were treated. Functions of users' are no
data; where there are any, what acted is not known without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from qdot.contact.kinds import Hard, Impulse, Lcp, Penalty
from qdot.contact.soft import Soft
from qdot.simulation.bounds import SoftStops, Stops
from qdot.simulation.stabilisation import Baumgarte, Drifting, GearGuptaLeimkuhler, Projection
from qdot.simulation.system import Setup, System

KINDS = {
    kind.__name__: kind
    for kind in (
        Soft, Hard, Lcp, Impulse, Penalty, Stops, SoftStops, Projection, Baumgarte, Drifting, GearGuptaLeimkuhler
    )
}  # fmt: skip

TREATED = ("stabilisation", "limits", "contact")


def without_functions(system: System | None) -> System | None:
    """A system without events, which only watch; None where functions of users' act."""
    if system is None:
        return None
    setup = system.setup
    parts = [getattr(setup, name) for name in TREATED]
    if setup.constraints or setup.forces or setup.control or setup.tau:
        return None
    if any(part is not None and type(part) not in KINDS.values() for part in parts):
        return None
    return System(system.model, replace(setup, events=()))


def setup_data(setup: Setup) -> dict[str, Any]:
    """Of a setup without functions."""
    parts = {name: getattr(setup, name) for name in TREATED}
    told = {name: None if part is None else [type(part).__name__, asdict(part)] for name, part in parts.items()}
    return told | {"solver": setup.solver, "residuals": setup.residuals, "ledger": setup.ledger}


def setup_of(data: Mapping[str, Any]) -> Setup:
    """From what `setup_data` told."""
    parts = {name: None if data[name] is None else KINDS[data[name][0]](**data[name][1]) for name in TREATED}
    return Setup(**(dict(data) | parts))
