"""What a route is, and what all routes to one quantity have in common. The tables are in `motion` and `dynamics`.

A route takes a sample of states and gives an array, (states, …). Those with a limit are too slow for mechanisms beyond
it: their cost grows with the second to fourth power of the freedoms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.certificate.measure import Places
from qdot.certificate.sample import Sample
from qdot.model.model import Model
from qdot.programs.compiled import compile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Route:
    """A way to a quantity. `limit` tells whether it is quick enough for a model; a `physical` one needs inertias that
    bodies can have. `size` is that of its own terms, where it adds and subtracts larger ones than the others do."""

    name: str
    compute: Callable[[Sample], Array]
    limit: Callable[[Model], bool] | None = None
    physical: bool = False
    size: Callable[[Sample], Array] | None = None


@dataclass(frozen=True)
class Quantity:
    """What all its routes must give alike. `size` is that of the terms it is made of."""

    name: str
    routes: tuple[Route, ...]
    size: Callable[[Sample], Array]
    places: Places
    weighed: Callable[[Sample, Array], Array] = lambda sample, deviation: deviation
    """What of a deviation is measured: of an acceleration, the force that is missing."""
    by_inertia: bool = False
    """Whether it needs a mass matrix that is not singular."""

    def too_slow(self, model: Model) -> list[Route]:
        """The routes that take too long for a model."""
        return [route for route in self.routes if route.limit is not None and not route.limit(model)]

    def taken(self, model: Model, physical: bool) -> list[Route]:
        """The routes that fit a model, whose inertias are `physical` or not."""
        slow = self.too_slow(model)
        return [route for route in self.routes if route not in slow and (physical or not route.physical)]


def freedoms(most: int) -> Callable[[Model], bool]:
    """A limit: not more freedoms than that."""
    return lambda model: model.nv <= most


def text(
    function: Callable[..., Any], *vectors: str, pushed: bool = False, **options: Any
) -> Callable[[Sample], Array]:
    """A text of qdot.algorithms, run on all states at once. `vectors` are its arguments after the model; where it is
    `pushed`, external wrenches act too."""

    def call(s: Sample) -> Array:
        given = {"wrenches": s.wrenches, **options} if pushed else options
        return s.packed(function(s.model, *(getattr(s, name) for name in vectors), **given))

    return call


def machine_code(function: Callable[..., Any], *vectors: str, pushed: bool = False) -> Callable[[Sample], Array]:
    """The same text compiled."""

    def call(s: Sample) -> Array:
        wrenches = s.wrenches if pushed else {}
        program = compile(function, s.model, wrenches=wrenches)
        forces = (s.packed(list(wrench)) for wrench in wrenches.values())
        return np.asarray(program(*(s.packed(getattr(s, name)) for name in vectors), *forces))

    return call


def times(A: Array, x: Array) -> Array:
    """A x in each state."""
    return (A @ x[..., None])[..., 0]
