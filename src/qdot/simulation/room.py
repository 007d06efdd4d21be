"""Room for contacts between bodies: a run in which more touch at a time than there are places for takes more.

A step that finds no room leads to no finite state, so it cannot pass for one. It is taken again on numbers, to know how
much was missing, and then with a program that has more places; those that are empty change nothing, so the run is the
one that it would have been with so much room from the start (to rounding where there is room for all contacts that may
be, for `points` lists them then). Other runs of a model begin with what one has needed. Where room was asked for, that
is all there is, and the run stops.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import is_number
from qdot.algebra.rounding import rounded_as
from qdot.collision.narrow import meeting
from qdot.contact.between import by_kind
from qdot.contact.kinds import Impulse, Kind
from qdot.contact.points import MOST_ALONE
from qdot.contact.soft import Soft
from qdot.contact.soft_contacts import first_room, parted
from qdot.errors import SimulationError
from qdot.model.model import Model
from qdot.simulation.explain import Bad, own_inputs, own_system
from qdot.simulation.integrators import Integrator
from qdot.simulation.phase import Phase
from qdot.simulation.stepping import memory_of, memory_parts, settled_step
from qdot.simulation.system import Inputs, System
from qdot.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FIRST = 8
"""Places that runs begin with, unless contacts are soft: what is solved for impulses grows with their square."""

log = logging.getLogger("qdot.simulation")


def with_room(model: Model, asked: Kind | None, least: int | None = None) -> Kind | None:
    """What a run begins with: the room asked for, or what runs of this model have needed, and at least so much."""
    if asked is None or isinstance(asked, Impulse) or asked.room is not None:
        return asked
    needed = _needed(model, asked)
    needed["room"] = max(needed["room"], least or 0)
    return replace(asked, room=needed["room"])


def with_more_room(model: Model, asked: Kind | None, had: Kind | None, missed: int) -> Kind | None:
    """After a step in which so many contacts found no room; None where none did, or room was asked for."""
    room = room_of(had)
    if not missed or room is None or room_of(asked) is not None:
        return None
    more = enough(room, missed)
    log.info(
        "model %r: %d contacts between bodies found no room beside %d others; now there is room for %d, and the step "
        "is compiled again",
        model.name, missed, room, more,
    )  # fmt: skip
    return with_room(model, asked, more)


def enough(room: int, missed: int) -> int:
    """A quarter more than was needed: places that are empty are carried along."""
    return -(-5 * (room + missed) // 4)


def room_of(kind: Kind | None) -> int | None:
    return None if kind is None or isinstance(kind, Impulse) else kind.room


@lru_cache(maxsize=64)
def _needed(model: Model, asked: Kind) -> dict[str, int]:
    """What is known of a model, changed as runs need more."""
    if isinstance(asked, Soft):
        return {"room": first_room(model)}
    return {"room": FIRST}


def missed_in_step(
    bad: Bad,
    window: Mapping[str, Array],
    system: System,
    integrator: Integrator,
    held: Mapping[str, Any],
    driven: Mapping[str, Any],
) -> int:
    """How many contacts found no room in a bad step, which begins at the last row of a window: at any of its stages up
    to the first where some did not.

    They are counted on numbers, whose rounding is another one, and a touch whose gap is all but zero is there or not by
    rounding. So where more than half of the room was taken, and what was solved for is finite but the state is not, as
    a step is left that finds no room, that counts as a few more than there is room for."""
    room = room_of(system.setup.contact)
    if bad.kind != "not finite" or room is None:
        return 0
    half = room // 2
    found = half + _beyond(half, bad, window, system, integrator, held, driven)
    is_solved = bool(np.isfinite(bad.after["memory"]).all())
    return max(found - room, 1 + room // 8 if found > half and is_solved else 0)


def _beyond(
    room: int,
    bad: Bad,
    window: Mapping[str, Array],
    system: System,
    integrator: Integrator,
    held: Mapping[str, Any],
    driven: Mapping[str, Any],
) -> int:
    """How many contacts of a bad step would find no room, if there were so much."""
    contact = system.setup.contact
    assert contact is not None
    assert not isinstance(contact, Impulse)
    system = replace(system, setup=replace(system.setup, contact=replace(contact, room=max(room, 1))))
    q, v, w, count, memory = (
        (x[-1] if x.ndim == 2 else x[-1, bad.row]).astype(float).tolist()
        for x in (window[name] for name in ("q", "v", "activation", "count", "memory"))
    )
    start, dt = (float(x) for x in held["timing"])
    own, given = own_system(system, bad, held), own_inputs(bad, held, driven)
    remembered, guess = memory_parts(own, integrator, memory)
    control, tau = ([float(x[0]) for x in row] for row in (given.control, given.tau))
    phase = Phase(start + count[0] * dt, q, v, w, [])
    # What comes after such a stage is not finite, and functions of it may be none.
    with suppress(ArithmeticError, ValueError), np.errstate(all="ignore"), rounded_as(window["q"].dtype.name):
        settled_step(own, integrator, phase, Inputs(control, tau, dt, guess=guess), dt, remembered)
    return max((int(x) for x in own.missed if is_number(x)), default=0)  # others are seen along a derivative, again


def found_no_room(run: Trajectory, row: int, kind: Kind | None, missed: int) -> SimulationError:
    """What to raise where room was asked for."""
    name, room = type(kind).__name__, room_of(kind) or 0
    return SimulationError(
        f"model {run.model.name!r}: at t = {run.time[-1]:.6g} s {missed} contacts between bodies found no room; take "
        f"more: contact=qdot.contact.{name}(room={enough(room, missed)}), or leave it out: a run takes what it needs",
        time=float(run.time[-1]),
        run=run,
        row=None if run.batch is None else row,
        cause="too many contacts",
    )


def memory_with_room(memory: Array, system: System, integrator: Integrator, before: int | None) -> Array:
    """What a run remembers, (…, n), with room for as many contacts as a system has: before, there was so much. Impulses
    stay with their places; of those that are new there are none."""
    kind = system.setup.contact
    if kind is None or isinstance(kind, Impulse) or before is None or before == kind.room:
        return memory
    old = System(system.model, replace(system.setup, contact=replace(kind, room=before)))
    sizes = [len(memory_of(x, integrator)) for x in (old, system)]
    if sizes[0] == sizes[1] or memory.shape[-1] != sizes[0]:
        return memory
    names = [_row_names(x, integrator, size) for x, size in zip((old, system), sizes, strict=True)]
    kept = {name: k for k, name in enumerate(names[0])}
    none = np.zeros((*memory.shape[:-1], 1), memory.dtype)
    return np.concatenate([memory, none], axis=-1)[..., [kept.get(name, -1) for name in names[1]]]


def _row_names(system: System, integrator: Integrator, size: int) -> list[tuple[Any, ...]]:
    """What each number of a memory belongs to: the integrator and the ground, places of a kind or pairs of it, see
    `points`, and limits."""
    model, room = system.model, room_of(system.setup.contact) or 0
    alone, sharing = parted(model, MOST_ALONE)

    def rows(of: Any) -> int:
        return sum(meeting(pair.first.shape, pair.second.shape).count * pair.dimension for pair in of)

    names: list[tuple[Any, ...]] = [("first", k) for k in range(len(integrator.memory(system)) + rows(alone))]
    for kind, alike in by_kind(sharing).items():
        most = rows(alike)
        in_places = most > room * kind.dimension
        names += [(kind, in_places, k) for k in range(room * kind.dimension if in_places else most)]
    return names + [("limit", k) for k in range(size - len(names))]
