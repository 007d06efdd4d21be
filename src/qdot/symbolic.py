"""Where mechanics meets SymPy: symbols for the coordinates of a model."""

from __future__ import annotations

from typing import Any

from qdot.model.model import Model, require_model


def symbols(model: Model, *, numbered: bool = False) -> tuple[list[Any], list[Any], list[Any]]:
    """SymPy symbols (q, v, a) of a model, real, named after its joints; pass them to any function of qdot.

    Where they are to be short, `numbered` calls them q_1, v_1, a_1 …. Numbers in the model stay numbers; build it with
    symbols for masses and lengths to keep those too.
    """
    require_model(model, "symbols")
    import sympy

    def named(prefix: str, names: list[str]) -> list[Any]:
        called = [str(k) for k in range(1, len(names) + 1)] if numbered else names
        return [sympy.Symbol(f"{prefix}_{name}", real=True) for name in called]

    dofs = model.dof_names()
    return named("q", model.coordinate_names()), named("v", dofs), named("a", dofs)
