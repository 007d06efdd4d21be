"""The tree of a mechanism: numbering from root to leaves (F17)."""

from __future__ import annotations

from collections.abc import Mapping

from qdot.errors import ModelError, UnknownNameError


def root_first(parents: Mapping[str, str], root: str, where: str) -> list[str]:
    """The names with every parent before its children, otherwise in the order given."""
    ordered: list[str] = []
    placed = {root}
    for name in parents:
        path: list[str] = []
        while name not in placed:
            if name in path:
                loop = " → ".join([*path[path.index(name) :], name])
                raise ModelError(
                    f"{where}: the parents run in a circle, {loop}; a tree needs a root, so hang one of these bodies "
                    f"on {root!r} and close the loop with a loop joint"
                )
            if name not in parents:
                raise UnknownNameError("body", name, [root, *parents], f"{where}: the parent of {path[-1]!r}")
            path.append(name)
            name = parents[name]
        ordered.extend(reversed(path))
        placed.update(path)
    return ordered
