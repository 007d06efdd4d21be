"""Masses under constraints φ(x) = 0, and Gauss' principle (T5–T10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Scalars
from qdot.algebra.linalg import Matrix, matvec
from qdot.algorithms import constrained, maps
from qdot.algorithms.gauss import GaussSolution, nearest_allowed
from qdot.errors import ModelError, ScalarError, ValueShapeError
from qdot.formulations.arguments import Arguments, numeric, require_smooth


class Constrained(NamedTuple):
    """Acceleration ẍ, and the force λ of each constraint: D ẍ = f + Jᵀ λ."""

    acceleration: Any
    multipliers: Any


def partials(h: maps.Map, x: Any) -> Any:
    """J = ∂h/∂x, a row for each entry of h (T6)."""
    given = Arguments("partials")
    return given.packed(maps.partials(maps.asked("partials", "h", h), given.vector("x", x)))


def rate_bias(h: maps.Map, x: Any, v: Any) -> Any:
    """J̇ ẋ with J̇ = Σ ∂J/∂x_i ẋ_i (T6): where y = h(x), ÿ = J ẍ + J̇ ẋ."""
    given = Arguments("rate_bias")
    at = given.vector("x", x)
    return given.packed(maps.rate_bias(maps.asked("rate_bias", "h", h), at, given.vector("v", v, len(at))))


def kkt(masses: Any, phi: maps.Map, x: Any, v: Any, f: Any) -> Constrained:
    """ẍ and λ of masses held by φ(x) = 0, together: [D -Jᵀ; -J 0] [ẍ; λ] = [f; J̇ ẋ] (T5–T7).

    Constraints may repeat each other; one that does carries no force.
    """
    return _constrained("kkt", constrained.saddle_point, masses, phi, x, v, f)


def closed_form(masses: Any, phi: maps.Map, x: Any, v: Any, f: Any) -> Constrained:
    """The same by D ẍ = f - Jᵀ (J D⁻¹ Jᵀ)⁻¹ (J̇ ẋ + J D⁻¹ f) (T8)."""
    return _constrained("closed_form", constrained.closed_form, masses, phi, x, v, f)


def constrained_inverse_inertia(masses: Any, J: Any) -> Any:
    """A = D⁻¹ - D⁻¹ Jᵀ (J D⁻¹ Jᵀ)⁻¹ J D⁻¹ (T9): at rest ẍ = A f. J A = 0, and its rank is the number of freedoms."""
    given, D, rows = _inertia_and_rows("constrained_inverse_inertia", masses, J)
    return given.packed(constrained.constrained_inverse_inertia(D, rows))


def penalised_inverse_inertia(masses: Any, J: Any, epsilon: Scalar) -> Any:
    """(D + ε Jᵀ J)⁻¹, which tends to A as ε grows (T9)."""
    given, D, rows = _inertia_and_rows("penalised_inverse_inertia", masses, J)
    return given.packed(constrained.penalised_inverse_inertia(D, rows, given.number("epsilon", epsilon)))


def gauss(
    masses: Any, free: Any, J: Any = (), b: Any = (), *, at_least: tuple[Any, Any] | None = None
) -> GaussSolution:
    """The acceleration a with J a = b that is nearest to the free one in the metric of inertia (T10).

    `at_least` is (G, h), for inequalities G a ≥ h: contacts that push and do not pull, joints at their limits. Rows
    may repeat each other; where they contradict each other, a ModelError says which. Symbols take equalities only.
    """
    given = Arguments("gauss")
    a0 = given.vector("free", free)
    n = len(a0)
    D, rows = given.inertia(masses, n), given.matrix("J", J, n)
    G, h = _pair(at_least)
    bounded = given.matrix("G", G, n)
    side, bounds = given.vector("b", b, len(rows)), given.vector("h", h, len(bounded))
    if not numeric([D, a0, rows, side, bounded, bounds]):
        if bounded:
            raise ScalarError("gauss: which inequalities act depends on their values: give numbers, not symbols")
        a, multipliers = constrained.closed_form(D, matvec(D, a0), rows, [-x for x in side])
        return GaussSolution(given.packed(a), given.packed(multipliers), given.packed([]))
    m, k = len(rows), len(bounded)
    arrays = [
        given.array(value, shape)
        for value, shape in (
            (D, (n, n)), (a0, (n,)), (rows, (m, n)), (side, (m,)), (bounded, (k, n)), (bounds, (k,))
        )
    ]  # fmt: skip
    found = [nearest_allowed(*row) for row in zip(*arrays, strict=True)]
    return GaussSolution(
        np.reshape([s.acceleration for s in found], (*given.batch, n)),
        np.reshape([s.equal for s in found], (*given.batch, m)),
        np.reshape([s.at_least for s in found], (*given.batch, k)),
    )


def _pair(at_least: tuple[Any, Any] | None) -> tuple[Any, Any]:
    if at_least is None:
        return (), ()
    if not isinstance(at_least, (tuple, list)) or len(at_least) != 2:
        raise ValueShapeError(f"gauss: at_least is a pair (G, h), for G a ≥ h; got {at_least!r}")
    return at_least[0], at_least[1]


def _inertia_and_rows(call: str, masses: Any, J: Any) -> tuple[Arguments, Matrix, Matrix]:
    given = Arguments(call)
    rows = given.matrix("J", J)
    size = len(rows[0]) if rows else len(masses) if isinstance(masses, (list, tuple)) or np.ndim(masses) else 0
    return given, given.inertia(masses, size), rows


def _constrained(
    call: str,
    solve: Callable[[Sequence[Scalars], Scalars, Sequence[Scalars], Scalars], tuple[list[Scalar], list[Scalar]]],
    masses: Any,
    phi: maps.Map,
    x: Any,
    v: Any,
    f: Any,
) -> Constrained:
    given = Arguments(call)
    at = given.vector("x", x)
    n = len(at)
    speed, force, D = given.vector("v", v, n), given.vector("f", f, n), given.inertia(masses, n)
    constraint = maps.asked(call, "phi", phi)
    J, bias = maps.partials(constraint, at), maps.rate_bias(constraint, at, speed)
    require_smooth(call, "phi", [J, bias])
    a, multipliers = solve(D, force, J, bias)
    _require_obeyed(call, J, a, bias)
    return Constrained(given.packed(a), given.packed(multipliers))


def _require_obeyed(call: str, J: Matrix, a: Scalars, bias: Scalars) -> None:
    """Rows that repeat others, and were passed over, must agree with them."""
    for k, off in enumerate(constrained.missed(J, a, bias)):
        if numeric(off) and np.any(off > constrained.CONTRADICTED):
            raise ModelError(
                f"{call}: constraint {k} of phi contradicts those before it: nothing obeys all of them; take it "
                "out, or start from a state in which phi(x) and its rate are zero"
            )
