"""What a writer gives: the text, the files it refers to, and what the format cannot express."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement
from xml.sax.saxutils import quoteattr

import numpy as np

from qdot.algebra import Scalar
from qdot.description import Item, Report, Severity
from qdot.description.leaves import leaves_of
from qdot.errors import ModelError
from qdot.model.model import require_model
from qdot.spatial import Inertia

FAR = 1e10
"""Written where a format demands a bound and the model has none [rad, m, rad/s, m/s, N·m, N]."""

MASSLESS = Inertia.zero()


class Written(NamedTuple):
    """A model as text; `assets` are the files it refers to by relative name, to be put beside it.

    Meshes in memory are OBJ files among the assets. Meshes in files are referred to where they are, or with
    `copy_meshes` are assets too.
    """

    text: str
    assets: dict[str, bytes]
    report: Report


class Remarks:
    """What a format cannot express, or says in another way; things of one kind with one fate share an item."""

    def __init__(self) -> None:
        self._names: dict[tuple[Severity, str, str, str], list[str]] = {}

    def add(self, severity: Severity, kind: str, name: str, found: str, done: str) -> None:
        """A thing, by its kind ("joint") and name, what is the matter with it, and what was written instead."""
        names = self._names.setdefault((severity, kind, found, done), [])
        if name not in names:
            names.append(name)

    def lost(self, kind: str, name: str, found: str, matters: object = True) -> None:
        """A thing that is left out; `matters` tells whether it has a part in the motion."""
        self.add(Severity.PHYSICS if matters else Severity.IGNORED, kind, name, found, "left out")

    def report(self) -> Report:
        return Report(
            tuple(Item(key[0], _subject(key[1], names), key[2], key[3]) for key, names in self._names.items())
        )


def _subject(kind: str, names: list[str]) -> str:
    quoted = [repr(name) for name in names if name]
    if len(quoted) < 2:
        return " ".join([kind, *quoted])
    several = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    more = f" and {len(quoted) - 3} more" if len(quoted) > 3 else ""
    return f"{len(quoted)} {several} {', '.join(quoted[:3])}{more}"


class Names:
    """Names that are taken, and new ones that are free."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def free(self, wanted: str) -> str:
        """The wanted name, or it with a number; it is taken then."""
        name, count = wanted, 1
        while name in self._taken:
            name, count = f"{wanted}_{count}", count + 1
        self._taken.add(name)
        return name


def child(parent: Element, tag: str, **attributes: object) -> Element:
    """A new element below another; attributes that are None are left out."""
    return SubElement(parent, tag, {key: written(value) for key, value in attributes.items() if value is not None})


def unless(default: object, value: object) -> object | None:
    """The value, or None where it is what the format takes by default."""
    return None if value == default else value


def written(value: object) -> str:
    """A value as an attribute: text, yes or no, a number, or numbers in a row."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Iterable):
        return " ".join(number(x) for x in value)
    return number(value)


def number(x: Scalar) -> str:
    """The shortest decimal that reads back as the same number."""
    try:
        value = float(x)
    except TypeError:
        raise ModelError(f"a file holds numbers, and the model has {x!r} in it; give symbols a value first") from None
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def require_writable(model: Any, writer: str) -> None:
    """Raise for what is no model, or has symbols in it, before somebody compares one with zero."""
    require_model(model, writer)
    for kind in ("bodies", "frames", "constraints", "tendons", "actuators", "bushings"):
        for record in getattr(model.description, kind):
            for leaf in leaves_of(record):
                if hasattr(leaf, "free_symbols") and leaf.free_symbols:
                    found = f"{kind}: {record.name!r} has {leaf} in it, and files hold numbers"
                    raise ModelError(f"{model.name!r}, {found}; give symbols a value first")


def text_of(root: Element) -> str:
    """The document, one element a line; of any depth, where ElementTree's own would recurse."""
    lines = ['<?xml version="1.0"?>']
    rest: list[tuple[Element | str, int]] = [(root, 0)]
    while rest:
        element, depth = rest.pop()
        margin = "  " * depth
        if isinstance(element, str):
            lines.append(f"{margin}</{element}>")
            continue
        opening = " ".join([element.tag, *(f"{key}={quoteattr(value)}" for key, value in element.items())])
        if len(element):
            lines.append(f"{margin}<{opening}>")
            rest.append((element.tag, depth))
            rest.extend((below, depth + 1) for below in reversed(element))
        else:
            lines.append(f"{margin}<{opening}/>")
    text = "\n".join(lines) + "\n"
    odd = _NOT_XML.search(text)
    if odd is not None:
        raise ModelError(f"a name in the model has the character {odd.group()!r}, which XML cannot hold; rename it")
    return text


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
