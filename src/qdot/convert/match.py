"""Which joint of the peer is which joint of the model: by name, each exactly once.

A joint of several freedoms may be one joint there or several, which then have the names that the writers of
`qdot.formats` give them: those of the moves of its chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from qdot.algebra import Mat3
from qdot.convert.bridge import Bridge, Convention, Segment
from qdot.errors import ModelError
from qdot.formats.chains import Move, Split, chain_of
from qdot.model.model import Body, Model
from qdot.spatial import Transform


class Unit(NamedTuple):
    """An elementary joint of the peer: what it is called there, and of what it moves what its numbers depend on."""

    kind: str
    body: str = ""
    axes: Mat3 | None = None
    """Its own in the world's, where the whole robot is at neutral."""


class Place(NamedTuple):
    """A joint of the peer, and what it is made of; unknown where only the order is."""

    name: str
    units: tuple[Unit, ...] | None = None


Writing: TypeAlias = Callable[[Move, Unit | None], Convention | None]
"""How the peer writes an elementary joint, given its unit there if known; None for one that it does not have."""


def places_in_order(model: Model, peer: str, order: Any, usual: Iterable[Body]) -> list[Place]:
    """Places from a list of joint names; for None those of all bodies, in the usual order."""
    if order is None:
        return [Place(body.joint_name) for body in usual if body.joint.nv]
    names = list(order) if isinstance(order, Iterable) and not isinstance(order, str) else [order]
    if isinstance(order, str) or not all(isinstance(name, str) for name in names):
        raise ModelError(
            f"model {model.name!r}: the order of the joints in {peer} is given by its own model object or by a list of "
            f"joint names, got {order!r}"
        )
    return [Place(name) for name in names]


def bridge(model: Model, peer: str, places: list[Place], split: Split, writing: Writing) -> Bridge:
    """The bridge to a peer with these joints, one after the other in its vectors; it takes joints apart by `split`."""
    segments: list[Segment] = []
    q = v = 0
    for place, moves in zip(places, _matched(model, peer, places, split), strict=True):
        units = list(place.units or ())
        for move in moves:
            convention = writing(move, units[0] if units else None)
            if convention is None:
                raise _no_counterpart(model, peer, move)
            if place.units is not None and (not units or units.pop(0).kind != convention.unit):
                raise _other_kind(model, peer, place, move.body)
            q0, v0 = move.body.qs.start + move.q0, move.body.dofs.start + move.v0
            here = slice(q0, q0 + move.joint.nq), slice(v0, v0 + move.joint.nv)
            there = slice(q, q + convention.nq), slice(v, v + move.joint.nv)
            segments.append(Segment(move.name, move.joint, convention, *here, *there))
            q, v = there[0].stop, there[1].stop
        if units:
            raise _other_kind(model, peer, place, moves[0].body)
    nq = sum(segment.convention.nq for segment in segments)
    return Bridge(model, peer, nq, model.nv, tuple(segments))


def _matched(model: Model, peer: str, places: list[Place], split: Split) -> list[list[Move]]:
    """The elementary joints at each place."""
    theirs = [place.name for place in places]
    at: dict[str, list[Move]] = {}
    missing = []
    for body in model.bodies:
        if not body.joint.nv:
            continue  # it has no entries in any vector
        moves = list(chain_of(body, Transform.identity(), split).moves)
        if body.joint_name in theirs:
            at[body.joint_name] = moves
        elif all(move.name in theirs for move in moves):
            at.update({move.name: [move] for move in moves})
        else:
            missing.append(body.joint_name)
    problems = [
        ("twice in the order", sorted({name for name in theirs if theirs.count(name) > 1})),
        (f"in {peer} only", [name for name in theirs if name not in at]),
        ("in the model only", missing),
    ]
    told = "; ".join(f"{what}: {_listed(names)}" for what, names in problems if names)
    if told:
        raise ModelError(f"model {model.name!r} and {peer} must have the same joints with freedoms, by name; {told}")
    return [at[name] for name in theirs]


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _no_counterpart(model: Model, peer: str, move: Move) -> ModelError:
    return ModelError(
        f"model {model.name!r}: joint {move.body.joint_name!r} is {type(move.joint).__name__}, which {peer} does not "
        "have; replace it by joints that it has"
    )


def _other_kind(model: Model, peer: str, place: Place, body: Body) -> ModelError:
    there = " + ".join(unit.kind for unit in place.units or ()) or "without coordinates"
    return ModelError(
        f"model {model.name!r}: joint {place.name!r} is {type(body.joint).__name__} here and {there} in {peer}; these "
        "are not the same joint"
    )
