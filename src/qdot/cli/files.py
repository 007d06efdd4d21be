"""Model files: the options for loading them, which all commands share, and what kind a file is."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any
from xml.parsers import expat

from qdot.formats.inertias import INERTIA_CHOICES
from qdot.formats.load import BASES
from qdot.formats.xacro import ENDING as XACRO

FORMATS = {"robot": "URDF", "mujoco": "MJCF", "mujocoinclude": "part of MJCF"}
"""By the root tag of a file."""


def add_load_options(parser: ArgumentParser) -> None:
    """Those of `qdot.load`."""
    parser.add_argument("--base", choices=BASES, default="fixed", help="how the root of a URDF stands in the world")
    parser.add_argument("--lenient", action="store_true", help="load also what would not move as the file says")
    parser.add_argument(
        "--inertia", choices=INERTIA_CHOICES, default="keep", help="what to do with inertias that no body can have"
    )
    parser.add_argument(
        "--package", metavar="NAME=FOLDER", type=_named, action="append", default=[], help="where package:// leads"
    )
    parser.add_argument(
        "--xacro", metavar="NAME=VALUE", type=_named, action="append", default=[], help="an argument of a xacro file"
    )


def add_masses_option(parser: ArgumentParser) -> None:
    """For commands that show the report."""
    parser.add_argument(
        "--masses", action="store_true", help="compare the mass of each body with its shapes (reads mesh files)"
    )


def load_options(arguments: Namespace) -> dict[str, Any]:
    """What was chosen, as keywords of `qdot.load`."""
    return {
        "base": arguments.base,
        "strict": not arguments.lenient,
        "inertia": arguments.inertia,
        "masses": getattr(arguments, "masses", False),
        "packages": dict(arguments.package) or None,
        "xacro": dict(arguments.xacro) or None,
    }


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ArgumentTypeError(f"{text!r} is no name and value, as in NAME=VALUE")
    return name, value


def format_of(path: Path) -> str | None:
    """ "URDF", "MJCF", "xacro" …; None for a file that is no model, or cannot be read."""
    return "xacro" if path.suffix.lower() == XACRO else FORMATS.get(_root_tag(path) or "")


def _root_tag(path: Path) -> str | None:
    """The first tag of an XML file; no more of it is read than that takes."""
    tags: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, _: tags.append(tag)
    try:
        with path.open("rb") as file:
            while not tags and (text := file.read(4096)):
                parser.Parse(text)
    except (OSError, expat.ExpatError, LookupError, ValueError):
        pass  # it may be broken after the first tag
    return tags[0] if tags else None
