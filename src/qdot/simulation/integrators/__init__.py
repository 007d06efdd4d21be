"""Rules for one step of a simulation, one a file; `INTEGRATORS` has them by name."""

from __future__ import annotations

from qdot.errors import UnknownNameError
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.integrators.dormand_prince import DormandPrince
from qdot.simulation.integrators.euler import ExplicitEuler
from qdot.simulation.integrators.generalised_alpha import GeneralisedAlpha
from qdot.simulation.integrators.implicit_velocity import ImplicitVelocity
from qdot.simulation.integrators.rattle import Rattle
from qdot.simulation.integrators.rk4 import RungeKutta4
from qdot.simulation.integrators.semi_implicit_euler import SemiImplicitEuler
from qdot.simulation.integrators.variational import Variational

__all__ = [
    "INTEGRATORS",
    "DormandPrince",
    "ExplicitEuler",
    "GeneralisedAlpha",
    "ImplicitVelocity",
    "Integrator",
    "Rattle",
    "RungeKutta4",
    "SemiImplicitEuler",
    "Stepped",
    "Variational",
    "integrator_of",
]

INTEGRATORS: dict[str, type[Integrator]] = {
    kind.name: kind
    for kind in (
        ExplicitEuler,
        SemiImplicitEuler,
        ImplicitVelocity,
        RungeKutta4,
        DormandPrince,
        GeneralisedAlpha,
        Variational,
        Rattle,
    )
}


def integrator_of(given: str | Integrator) -> Integrator:
    """From a name or an integrator with settings of its own."""
    if isinstance(given, Integrator):
        return given
    if not isinstance(given, str) or given not in INTEGRATORS:
        raise UnknownNameError("integrator", given, INTEGRATORS, "qdot.simulate")
    return INTEGRATORS[given]()
