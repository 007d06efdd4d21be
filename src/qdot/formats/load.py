"""`load`: a model from a file or a text, URDF or MJCF, with a report of all that was not taken over as it stood."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from qdot.description import Description, Item, Report, Severity
from qdot.errors import ModelError, QdotError
from qdot.formats.faithful import require_faithful
from qdot.formats.inertias import INERTIA_CHOICES, doubtful_inertias, settled_inertias
from qdot.formats.reading import Reading
from qdot.formats.resolve import Find, Packages, Resolver
from qdot.formats.source import Source
from qdot.formats.xacro import ENDING as XACRO, expanded
from qdot.formats.xml import ElementError, parse
from qdot.model.assemble import assembled
from qdot.model.model import Model

BASES = ("fixed", "free")


def load(
    source: str | os.PathLike[str],
    *,
    base: str = "fixed",
    strict: bool = True,
    inertia: str = "keep",
    shapes: bool = True,
    masses: bool = False,
    packages: Packages | None = None,
    resolve: Find | None = None,
    xacro: Mapping[str, Any] | None = None,
) -> Model:
    """The model of a URDF, MJCF or xacro file, or of a text of URDF or MJCF; `model.report` tells what was found.

    `base` is how the root of a URDF stands in the world: "fixed", or "free" to float (MJCF says it itself). `strict`
    raises a `ModelError` where the motion would not be what the file says; otherwise that is reported only. `inertia`
    says what happens to inertias that no body can have: "keep" them, "repair" them (the nearest one that a body can
    have) or "refuse". Without `shapes`, what is only seen or collided with is left out, and no mesh has to be there.
    With `masses`, bodies whose mass does not fit their shapes are reported; meshes are read for it.

    Meshes are looked for as `Resolver` tells: `packages` gives folders of packages by name, `resolve` is a function
    from an address to a path or None, asked first. They are read when they are first needed. Relative paths start at
    the folder of the file (that of the link, for a link to a file). A text lies in no folder: in URDF they lead
    nowhere then, so give `packages` or `resolve`; in MJCF they start at the current directory, as MuJoCo has it.

    MJCF is read by MuJoCo (pip install 'qdot[mjcf]'), xacro by xacrodoc (pip install 'qdot[xacro]'); `xacro` gives the
    arguments of a xacro file by name. Lines in messages about it are those of the URDF text that it expands to.
    """
    for what, value, choices in (("base", base, BASES), ("inertia", inertia, INERTIA_CHOICES)):
        if value not in choices:
            raise ModelError(f"load: {what} is one of {', '.join(map(repr, choices))}, got {value!r}")
    text = opened(source, packages, xacro)
    collecting = gc.isenabled()
    gc.disable()  # what is made here stays; to look for garbage in it meanwhile is lost time
    try:
        description = _described(text, base, inertia, shapes, masses, Resolver(text.folder, packages, resolve))
        if strict:
            remedy = "strict=False loads it all the same, and model.report tells what differs"
            require_faithful(description.report, f"{text.file}: the motion would not be what the file says", remedy)
        return _assembled(description, text.file, inertias_settled=inertia != "repair")
    finally:
        if collecting:
            gc.enable()


def opened(
    source: str | os.PathLike[str], packages: Packages | None = None, xacro: Mapping[str, Any] | None = None
) -> Source:
    """The text to read: of a file, of a xacro file as the URDF it stands for, or the string itself."""
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        path, text = None, Source(_utf8(source), "text", None, "utf-8")
    else:
        path, text = _file(source)
    if path is not None and path.suffix.lower() == XACRO:
        parse(text)  # what is not well-formed or not safe to read goes no further
        urdf = expanded(path, text.file, packages, xacro)
        return replace(text, text=urdf, file=f"{text.file} (expanded)", encoding="utf-8")
    if xacro is not None:
        raise ModelError(f"{text.file}: xacro={xacro!r} is for files that end in {XACRO}; leave it out")
    return text


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ModelError(
            f"text:{line}: {text[error.start]!r} is half a character; read the file as UTF-8, or give its path to load"
        ) from None


def _file(source: str | os.PathLike[str]) -> tuple[Path, Source]:
    if not isinstance(source, (str, os.PathLike)) or not isinstance(os.fspath(source), str):
        raise ModelError(f"load takes a path or a text of URDF or MJCF, got {type(source).__name__}")
    if not os.fspath(source).strip():
        raise ModelError("load takes a path or a text of URDF or MJCF, and this is neither: it is empty")
    try:
        path = Path(source).absolute()
        return path, Source(path.read_bytes(), str(source), path.parent)
    except FileNotFoundError:
        raise ModelError(f"{source}: there is no such file; give an absolute path, or one from {Path.cwd()}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelError(f"{str(source)[:200]!r} cannot be read: {reason}") from None


def _described(text: Source, base: str, inertia: str, shapes: bool, masses: bool, resolver: Resolver) -> Description:
    reading = _read(text, base, shapes, resolver)
    description, found = settled_inertias(reading, text.file, inertia)
    if masses:
        found += doubtful_inertias(Reading(description, reading.line_of), text.file)
    if not shapes:
        found += Report((Item(Severity.NOTE, "shapes", "not asked for", "left out", text.file),))
    return replace(description, report=description.report + found)


def _read(text: Source, base: str, shapes: bool, resolver: Resolver) -> Reading:
    document = parse(text)
    root = document.root
    if root.tag == "robot":
        from qdot.formats.urdf_reader import read_urdf

        return read_urdf(document, free_base=base == "free", resolver=resolver, with_shapes=shapes)
    if root.tag == "mujoco":
        from qdot.formats.mjcf_reader import read_mjcf

        if base != "fixed":
            cause = 'base="free" is for URDF; an MJCF file says itself which bodies float, by <freejoint/>'
            raise ElementError(root, cause).placed(document)
        reading = read_mjcf(document, resolver)
        return reading if shapes else Reading(_without_shapes(reading.description), reading.line_of)
    remedy = {
        "mujocoinclude": "it is a part that other MJCF files include; load one of those",
        "sdf": "SDF is not read; convert it to URDF or MJCF",
    }.get(root.tag, "URDF starts with <robot>, MJCF with <mujoco>")
    raise ElementError(root, f"<{root.tag}> is not the root of a model: {remedy}").placed(document)


def _without_shapes(description: Description) -> Description:
    bodies = tuple(replace(body, shapes=()) for body in description.bodies)
    return replace(description, bodies=bodies, world_shapes=(), pairs=())


def _assembled(description: Description, file: str, *, inertias_settled: bool) -> Model:
    try:
        return assembled(description, inertias_settled=inertias_settled)
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from None
    except QdotError as error:
        raise ModelError(f"{file}: {error}") from error
