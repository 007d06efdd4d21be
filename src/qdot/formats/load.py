"""`load`: a model from a file or a text, URDF or MJCF, with a report of all that was not taken over as it stood."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path

from qdot.description import Description, Report, Severity
from qdot.errors import ModelError, QdotError
from qdot.formats.inertias import INERTIA_CHOICES, settled_inertias
from qdot.formats.reading import Reading
from qdot.formats.resolve import Find, Resolver
from qdot.formats.source import Source
from qdot.formats.xml import parse
from qdot.model.assemble import assemble
from qdot.model.model import Model

BASES = ("fixed", "free")
SHOWN = 8
"""Items that an error lists; the rest is counted."""


def load(
    source: str | os.PathLike[str],
    *,
    base: str = "fixed",
    strict: bool = True,
    inertia: str = "keep",
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    resolve: Find | None = None,
) -> Model:
    """The model of a URDF, MJCF or xacro file, or of a text of URDF or MJCF; `model.report` tells what was found.

    `base` is how the root of a URDF stands in the world: "fixed", or "free" to float (MJCF says it itself). `strict`
    raises a `ModelError` where the motion would not be what the file says; otherwise that is reported only. `inertia`
    says what happens to inertias that no body can have: "keep" them, "repair" them (the nearest one that a body can
    have) or "refuse". Meshes are looked for as `Resolver` tells: `packages` gives folders of packages by name,
    `resolve` is a function from an address to a path or None, asked first. They are read when they are first needed.

    MJCF is read by MuJoCo (pip install 'qdot[mjcf]'), xacro by xacrodoc (pip install 'qdot[xacro]').
    """
    for what, value, choices in (("base", base, BASES), ("inertia", inertia, INERTIA_CHOICES)):
        if value not in choices:
            raise ModelError(f"load: {what} is one of {', '.join(map(repr, choices))}, got {value!r}")
    text = opened(source)
    reading = _read(text, base, Resolver(text.folder, packages, resolve))
    description, found = settled_inertias(reading, text.file, inertia)
    description = replace(description, report=description.report + found)
    if strict:
        _require_faithful(description.report, text.file)
    return _assembled(description, text.file)


def opened(source: str | os.PathLike[str]) -> Source:
    """The text to read: of a file, of a xacro file as the URDF it stands for, or the string itself."""
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return Source(source.encode(), "text", None)
    if not isinstance(source, (str, os.PathLike)):
        raise ModelError(f"load takes a path or a text of URDF or MJCF, got {type(source).__name__}")
    try:
        path = Path(source)
        content = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{source}: there is no such file; give an absolute path, or one from {Path.cwd()}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelError(f"{str(source)[:200]!r} cannot be read: {reason}") from None
    if path.suffix == ".xacro":
        content = _expanded(path)
    return Source(content, str(source), path.resolve().parent)


def _expanded(path: Path) -> bytes:
    try:
        from xacrodoc import XacroDoc
    except ImportError:
        raise ModelError(f"{path}: xacro files are read by xacrodoc: pip install 'qdot[xacro]'") from None
    try:
        with redirect_stderr(StringIO()):  # where xacro tells of macros that are defined twice
            return str(XacroDoc.from_file(str(path), resolve_packages=False).to_urdf_string()).encode()
    except Exception as error:  # macros may run any Python expression, and fail with anything
        raise ModelError(
            f"{path}: xacro cannot expand it ({type(error).__name__}: {error}); packages it includes from must be "
            "where ROS_PACKAGE_PATH says"
        ) from None


def _read(text: Source, base: str, resolver: Resolver) -> Reading:
    root = parse(text)
    if root.tag == "robot":
        from qdot.formats.urdf_reader import read_urdf

        return read_urdf(root, free_base=base == "free", resolver=resolver)
    if root.tag == "mujoco":
        from qdot.formats.mjcf_reader import read_mjcf

        if base != "fixed":
            raise root.error('base="free" is for URDF; an MJCF file says itself which bodies float, by <freejoint/>')
        return read_mjcf(text, root)
    remedy = {
        "mujocoinclude": "it is a part that other MJCF files include; load one of those",
        "sdf": "SDF is not read; convert it to URDF or MJCF",
    }.get(root.tag, "URDF starts with <robot>, MJCF with <mujoco>")
    raise root.error(f"<{root.tag}> is not the root of a model: {remedy}")


def _require_faithful(report: Report, file: str) -> None:
    changed = report.of(Severity.PHYSICS)
    if changed:
        listed = "\n  ".join(str(item) for item in changed[:SHOWN])
        more = f"\n  … and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        raise ModelError(
            f"{file}: the motion would not be what the file says; strict=False loads it all the same, and model.report "
            f"tells what differs:\n  {listed}{more}"
        )


def _assembled(description: Description, file: str) -> Model:
    try:
        return assemble(description)
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from None
    except QdotError as error:
        raise ModelError(f"{file}: {error}") from error
