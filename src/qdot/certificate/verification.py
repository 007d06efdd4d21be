"""`verify`: every route to the same thing, at random states, against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from qdot.algebra import is_number, scalars_in
from qdot.algorithms.conditioning import motions_without_inertia
from qdot.certificate.dynamics import OF_FREEDOMS
from qdot.certificate.measure import relative
from qdot.certificate.motion import OF_BODIES, OF_THE_WHOLE
from qdot.certificate.parts import part_comparisons
from qdot.certificate.quantity import Quantity, Route
from qdot.certificate.record import WHOLE, Certificate, Comparison
from qdot.certificate.sample import Sample
from qdot.errors import CompileError, ModelError, ValueShapeError
from qdot.model.model import Model, require_model
from qdot.spatial import physical_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Rounding adds up to some 1e-15 of the terms for an arm and 1e-12 for chains of a hundred bodies; a wrong sign, factor
or term is of their own order, 1. Anything between is suspect, and this leaves a factor of a thousand to both sides."""

EPS = float(np.finfo(float).eps)
MARGIN = 10
"""A small length at the end of a large one is rounded to EPS of the large one, a few times."""

COARSEST = 1e-3
"""A tolerance beyond which mistakes would pass."""

QUANTITIES = (*OF_BODIES, *OF_FREEDOMS, *OF_THE_WHOLE)

Watch = Callable[[str, int, int], None]
"""Told of each step before it is taken: its name, how many are done, and how many there are."""


def verify(
    model: Model, *, states: int = 5, seed: int = 0, tolerance: float | None = None, watch: Watch | None = None
) -> Certificate:
    """Compute accelerations, forces, M, energy and momentum by every formulation at random states, and compare.

    The certificate tells the largest disagreement, on which body it is, and a verdict; print it. Each joint and each
    inertia is also asked alone, so that a wrong one is named. `tolerance` is relative to the size of the terms: 1e-9
    unless lengths differ so much that double precision does not know the smallest so well; then a note says so.
    """
    require_model(model, "verify")
    _check(model, states, seed, tolerance)
    own = TOLERANCE if tolerance is None else tolerance
    rounding = min(MARGIN * EPS * _length_ratio(model), COARSEST)
    raised = tolerance is None and rounding > own
    tolerance = rounding if raised else own
    sample = Sample.drawn(model, states, seed)
    problems = {body.name: physical_problem(body.inertia) for body in model.bodies}
    doubts = {name: problem for name, problem in problems.items() if problem is not None}
    notes = list(_notes(model, physical=not doubts))
    if rounding > own:
        notes.append(_of_rounding(model, tolerance, raised))
    laws = list(part_comparisons(sample, own, seed))
    chosen = [quantity for quantity in QUANTITIES if _applies(quantity, model)]
    found: list[Comparison] = []
    with np.errstate(all="ignore"):  # a route that divides by zero is told as one without an answer
        for done, law in enumerate(laws):
            _tell(watch, "joints and inertias", done, len(laws) + len(chosen))
            found.append(law())
        for done, quantity in enumerate(chosen, start=len(laws)):
            _tell(watch, quantity.name, done, len(laws) + len(chosen))
            found.extend(_compared(sample, quantity, quantity.taken(model, not doubts), tolerance, notes))
    return Certificate(
        model.name,
        tuple(body.name for body in model.bodies),
        {body.name: body.joint_name for body in model.bodies},
        states,
        seed,
        tolerance,
        tuple(found),
        tuple(notes),
        doubts,
    )


def _length_ratio(model: Model) -> float:
    """How far from the root a body may be, beside the smallest size of one: the root of I/m about its own origin."""
    reach, sizes = [0.0], [inf]
    for body in model.bodies:
        mass, inertia = abs(float(body.inertia.mass)), body.inertia.rotational
        reach.append(reach[body.parent] + float(body.placement.position.norm()))
        spread = abs(float(inertia.xx)) + abs(float(inertia.yy)) + abs(float(inertia.zz))
        sizes += [sqrt(spread / (2 * mass))] if mass * spread > 0 else []
    return (max(reach) + max((x for x in sizes if x < inf), default=0.0)) / min(sizes)


def _of_rounding(model: Model, tolerance: float, raised: bool) -> str:
    ratio = _length_ratio(model)
    known = f"lengths in it differ by {ratio:.0e}, double precision knows the smallest to {ratio * EPS:.0e} of itself"
    return f"{known}: smaller disagreements are rounding" + (f", the tolerance is {tolerance:.0e}" if raised else "")


def _check(model: Model, states: int, seed: int, tolerance: float | None) -> None:
    for name, value, least in (("states", states, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueShapeError(f"verify: {name} is a whole number from {least} on, got {value!r}")
    if tolerance is not None and not (is_number(tolerance) and 0 < tolerance < inf):
        raise ValueShapeError(f"verify: tolerance is a positive number, got {tolerance!r}")
    constants = [
        model.gravity,
        [[b.inertia, b.placement, b.passive.armature, b.passive.damping, b.passive.stiffness] for b in model.bodies],
    ]
    symbol = next((x for x in scalars_in(constants) if not is_number(x)), None)
    if symbol is not None:
        raise ModelError(
            f"verify computes with numbers, but model {model.name!r} has {symbol} in it; build it with a number there"
        )


def _applies(quantity: Quantity, model: Model) -> bool:
    if not model.bodies or (quantity in OF_FREEDOMS and not model.nv):
        return False
    return not (quantity.by_inertia and _massless_motions(model))


def _notes(model: Model, physical: bool) -> Iterator[str]:
    """What the certificate does not say, and why."""
    if not model.nv:
        yield "nothing in it moves: only its parts could be compared"
    closed = [*model.loops, *model.constraints]
    if closed:
        names = ", ".join(record.name for record in closed[:5]) + (", …" if len(closed) > 5 else "")
        yield f"the certificate is of the tree: what closes its loops was left out ({names})"
    without = _massless_motions(model)
    if without:
        names = ", ".join(without)
        yield f"accelerations were left out, as M is not positive for motions of {names}; forces were compared instead"
    slow = dict.fromkeys(route.name for quantity in QUANTITIES for route in quantity.too_slow(model))
    if slow:
        yield f"left out as too slow for {model.nv} freedoms: {'; '.join(slow)}"
    if not physical:
        left = dict.fromkeys(r.name for quantity in QUANTITIES for r in quantity.routes if r.physical)
        yield f"left out, as they need inertias that bodies can have: {'; '.join(left)}"


def _compared(
    sample: Sample, quantity: Quantity, routes: list[Route], tolerance: float, notes: list[str]
) -> Iterator[Comparison]:
    """Each route against the one with which most agree."""
    values: dict[str, Array] = {}
    for route in routes:
        try:
            values[route.name] = route.compute(sample)
        except CompileError as error:  # its text may be right all the same
            notes.append(f"{quantity.name} by {route.name} left out: {error}")
        except Exception as error:  # a joint may be anyone's: what it raises is the finding
            yield _unanswered(quantity, route.name, error, tolerance)
    if len(values) < 2:
        return
    try:
        size = quantity.size(sample)
        own = {route.name: route.size(sample) for route in routes if route.size is not None}
    except Exception as error:
        yield _unanswered(quantity, "the size of its terms", error, tolerance)
        return

    def measured(name: str, other: str) -> dict[str, float]:
        deviation = quantity.weighed(sample, values[name] - values[other])
        terms = np.maximum(own.get(name, size), own.get(other, size))
        return quantity.places(sample.model, relative(deviation, terms))

    def friends(name: str) -> int:
        return sum(max(measured(other, name).values(), default=0.0) <= tolerance for other in values)

    reference = max([name for name in values if name not in own] or values, key=friends)
    for name in values:
        if name != reference:
            yield Comparison(quantity.name, name, reference, measured(name, reference), tolerance)


def _unanswered(quantity: Quantity, route: str, error: Exception, tolerance: float) -> Comparison:
    problem = {WHOLE: f"{type(error).__name__}: {error}"}
    return Comparison(quantity.name, route, "an answer", {WHOLE: inf}, tolerance, problems=problem)


def _massless_motions(model: Model) -> tuple[str, ...]:
    try:
        return motions_without_inertia(model)
    except Exception:  # a joint that cannot be moved is told by its own laws
        return ()


def _tell(watch: Watch | None, name: str, done: int, total: int) -> None:
    if watch is not None:
        watch(name, done, total)
