"""How bodies touch: five kinds of contact on the same points, for `qdot.simulate(…, contact=…)`.

`Soft` gives way by Todorov's law, as MuJoCo's contacts do. `Hard` obeys Signorini's and Coulomb's laws with the round
cone, `Lcp` those of the textbook with a pyramid; `Impulse` parts steps where bodies strike each other; `Penalty` puts
springs between them. `compare` runs a scene with all of them.
"""

from importlib import import_module
from typing import Any

_PLACES = {
    "Hard": "qdot.contact.kinds",
    "Impulse": "qdot.contact.kinds",
    "Lcp": "qdot.contact.kinds",
    "Penalty": "qdot.contact.kinds",
    "Soft": "qdot.contact.soft",
    "compare": "qdot.simulation.court",
}

__all__ = ["Hard", "Impulse", "Lcp", "Penalty", "Soft", "compare"]


def __getattr__(name: str) -> Any:
    # Loaded when first used: `compare` simulates, and what simulates builds on this package.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
