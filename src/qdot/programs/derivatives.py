"""`derivative`: the Jacobian of any function of a model with respect to one of its vectors, on the manifold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from qdot.algebra import Scalars, derivative as along, entries_of, map_scalars, scalars_in
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.model.vectors import CONFIGURATIONS, VELOCITIES
from qdot.programs.functions import function


def derivative(of: Callable[..., Any], wrt: str) -> Callable[..., Any]:
    """∂of/∂wrt as a function of the same arguments: its result has one more axis at the end, an entry for each freedom.

    `wrt` is the name of a vector argument: q, v, a, tau … . By a configuration the derivative is along each freedom,
    d/dε of(q ⊕ ε e_k), nv of them, for joints with quaternions too. Exact, by dual numbers; it can be compiled, and
    called with numbers, batches and symbols.
    """
    return _derivative(inspect.unwrap(of), wrt)


@lru_cache(maxsize=256)  # asked for again, it is the same function, with its programs
def _derivative(text: Callable[..., Any], wrt: str) -> Callable[..., Any]:
    signature = inspect.signature(text)
    name = getattr(text, "__name__", "function")
    if wrt not in signature.parameters or wrt not in (*CONFIGURATIONS, *VELOCITIES):
        vectors = [p for p in signature.parameters if p in (*CONFIGURATIONS, *VELOCITIES)]
        raise ValueShapeError(
            f"{name} has no vector {wrt!r} to differentiate by; it has {', '.join(vectors) or 'none'}"
        )

    def differentiated(model: Model, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(model, *args, **kwargs)
        at: Scalars = bound.arguments[wrt]

        def moved(dv: Scalars) -> Any:
            there = retract(model, at, dv) if wrt in CONFIGURATIONS else [x + d for x, d in zip(at, dv, strict=True)]
            bound.arguments[wrt] = there
            return entries_of(text(*bound.args, **bound.kwargs))

        columns = [along(moved, unit_velocity(model, k)) for k in range(model.nv)]
        like = columns[0] if columns else moved([])
        rows = iter([list(x) for x in zip(*(scalars_in(c) for c in columns), strict=True)])
        return map_scalars(lambda _: next(rows, []), like)

    differentiated.__name__ = f"{name}_by_{wrt}"
    differentiated.__doc__ = f"∂/∂{wrt} of: {inspect.getdoc(text)}"
    differentiated.__signature__ = signature  # type: ignore[attr-defined]
    # A function of a user's may depend on anything, at each call anew: it is compiled only where that is asked for.
    return function(differentiated, compiled=getattr(text, "__module__", "").startswith("qdot."))
