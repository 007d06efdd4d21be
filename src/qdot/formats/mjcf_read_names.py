"""Names of the things in a compiled MuJoCo model, as qdot calls them.

MuJoCo has a namespace for each kind of thing, and lets names be empty. In qdot bodies and frames share one namespace,
joints another, and everything has a name: an unnamed third body is "body3", and a site that is called like a body gets
a "_site" after its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from qdot.description import WORLD

_KINDS = {  # by the name of their table of addresses in MuJoCo's model
    "body": "body",
    "jnt": "joint",
    "site": "site",
    "geom": "geom",
    "tendon": "tendon",
    "actuator": "actuator",
    "sensor": "sensor",
    "eq": "equality",
    "pair": "pair",
    "exclude": "exclude",
    "key": "key",
    "cam": "camera",
    "mat": "material",
    "mesh": "mesh",
    "flex": "flex",
}


@dataclass(frozen=True, slots=True)
class Names:
    """Names by kind and number in MuJoCo's model; `renamed` tells what could not keep its own: (kind, old, new).

    Made for qdot alone: `links`, the bodies between the joints of one body, by all its joints but the last; `fixed`,
    the joints of bodies that have none; `wraps`, frames at the geoms that tendons wrap.
    """

    model: str
    of: dict[str, list[str]]
    links: dict[int, str]
    fixed: dict[int, str]
    wraps: dict[int, str]
    renamed: list[tuple[str, str, str]]


def read_names(m: Any, wrapped_geoms: Iterable[int]) -> Names:
    """The names of a model whose tendons wrap these geoms."""
    text: bytes = m.names
    frames, joints = {WORLD}, {WORLD}
    renamed: list[tuple[str, str, str]] = []
    of: dict[str, list[str]] = {}
    for table, kind in _KINDS.items():
        given = [text[a : text.index(0, a)].decode("utf-8", "replace") for a in getattr(m, f"name_{table}adr").tolist()]
        if kind == "body":
            of[kind] = [WORLD, *_claimed(kind, given, 1, frames, renamed)]
            continue
        if kind == "site":  # after the bodies that qdot adds
            links, fixed = _added(m, of["body"], of["joint"], frames, joints)
        taken = frames if kind == "site" else joints if kind == "joint" else set()
        of[kind] = _claimed(kind, given, 0, taken, renamed)
    wraps = {geom: _unique(of["geom"][geom], frames, "_wrap") for geom in sorted(set(wrapped_geoms))}
    return Names(text[: text.index(0)].decode("utf-8", "replace"), of, links, fixed, wraps, renamed)


def _added(
    m: Any, body_names: list[str], joint_names: list[str], frames: set[str], joints: set[str]
) -> tuple[dict[int, str], dict[int, str]]:
    """Links between the joints of one body, and fixed joints."""
    links: dict[int, str] = {}
    fixed: dict[int, str] = {}
    for body, (start, count) in enumerate(zip(m.body_jntadr.tolist(), m.body_jntnum.tolist(), strict=True)):
        for joint in range(start, start + count - 1):
            links[joint] = _unique(f"{body_names[body]}:{joint_names[joint]}", frames)
        if body > 0 and count == 0:
            fixed[body] = _unique(f"{body_names[body]}:fixed", joints)
    return links, fixed


def _claimed(
    kind: str, given: list[str], first: int, taken: set[str], renamed: list[tuple[str, str, str]]
) -> list[str]:
    """A name of its own for each thing from the first on: the given one if it is free; then names for the unnamed."""
    result = given[first:]
    if all(result) and len({*result}) == len(result) and taken.isdisjoint(result):
        taken.update(result)
        return result
    for k, name in enumerate(result):
        if name:
            result[k] = _unique(name, taken, f"_{kind}")
            if result[k] != name:
                renamed.append((kind, name, result[k]))
    for k, name in enumerate(result):
        if not name:
            result[k] = _unique(f"{kind}{first + k}", taken, f"_{kind}")
    return result


def _unique(name: str, taken: set[str], ending: str = "") -> str:
    """The name, or it with an ending, or that with a number: the first that is free; then it is taken."""
    free, count = name, 1
    while free in taken:
        free = f"{name}{ending}{'' if ending and count == 1 else count}"
        count += 1
    taken.add(free)
    return free
